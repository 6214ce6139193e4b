"""Guarded training of a round of Dudo in plain Python, hand by hand.

In game p the policy of role p, which has stored claims only, learns against an
adversary in the other role, who may also make claims that are not stored.
"""

from oracles import growing_oracle

DUDO = growing_oracle.DUDO
UNSTORED = "unstored"  # the adversary's best claim that is not stored
NEGATIVE = 0.75  # the discount of negative regrets


class GuardedOracle(growing_oracle.GrowingOracle):
  """Guarded training; its arguments are those of the `GrowingOracle`.

  `regret` and `cumulative` are those of the policies.
  """

  def __init__(self, *args):
    super().__init__(*args)
    self.unstored_claim = {}  # (history, hand): a claim

  def iterate(self):
    """Runs one iteration of both games."""
    self.iteration += 1
    for role in range(2):
      for learner in (1 - role, role):
        updates = {}
        self._walk((), role, learner, [list(x) for x in self.chances], updates)
        self._update(updates, learner == role)

  def weight(self):
    """Returns the weight of the present iteration in the average."""
    return self.iteration**2 * (self.size() / 2**20)**2

  def total_weight(self):
    """Returns the weight of all iterations, as if the tree never grew."""
    return self.iteration * (self.iteration + 1)**2 / 3 * (
        self.size() / 2**20)**2

  def grow(self, share):
    """Stores claims; regrets for them as claims that are not stored end."""
    super().grow(share)
    for (history, hand), claim in self.unstored_claim.items():
      if claim in self.nodes.get(history, []):
        regrets = self.adversary_regret[history, hand]
        regrets[UNSTORED] = min(regrets.get(UNSTORED, 0.0), 0.0)

  def _strategy(self, history, role, hand):
    """Returns {action: probability} in the game of a role's policy."""
    if len(history) % 2 == role:
      return self.strategy(history, hand)
    regrets = self.adversary_regret[history, hand]
    result = self._normalized(history, regrets)
    total = sum(max(x, 0.0) for x in regrets.values())
    if total > 0.0:
      result = {a: max(regrets.get(a, 0.0), 0.0) / total for a in (
          *self.actions(history), UNSTORED)}
    return result

  def _walk(self, history, role, learner, reaches, updates):
    """Returns the values of all hands of the learner.

    Args:
      history: claims.
      role: whose policy it is.
      learner: the role that learns.
      reaches: for each role the reach probabilities of its hands.
      updates: dict of updates, modified.
    """
    actor = len(history) % 2
    other = 1 - learner
    hands = range(len(self.chances[learner]))
    if history not in self.nodes:
      return self._end(history, role, learner, reaches)
    strategies = [self._strategy(history, role, h)
                  for h in range(len(self.chances[actor]))]
    after = {}
    for action in self.actions(history):
      next_reaches = list(reaches)
      next_reaches[actor] = [x * s.get(action, 0.0) for x, s in zip(
          reaches[actor], strategies)]
      if action == DUDO:
        after[action] = [self._leaf(learner, actor, history[-1], h,
                                    next_reaches[other]) for h in hands]
      else:
        after[action] = self._walk((*history, action), role, learner,
                                   next_reaches, updates)
    if actor != learner:
      if actor != role:
        after[UNSTORED] = self._meet(history, learner, reaches, strategies)
      return [sum(x[h] for x in after.values()) for h in hands]
    claims = [None] * len(self.chances[learner])
    if actor != role:
      new = [self._best_new(history, self.actions(history), learner, h,
                            reaches[other], None) for h in hands]
      if any(new):
        after[UNSTORED] = [value for value, _ in new]
        claims = [claim for _, claim in new]
    means = []
    for h, strategy in enumerate(strategies):
      mean = sum(strategy.get(a, 0.0) * x[h] for a, x in after.items())
      updates[history, h] = (
          strategy, reaches[learner][h],
          {a: x[h] - mean for a, x in after.items()},
          claims[h] if any(reaches[other]) else None)
      means.append(mean)
    return means

  def _meet(self, history, learner, reaches, strategies):
    """Returns what the adversary's claims give that are not stored."""
    adversary = 1 - learner
    total = [0.0] * len(self.chances[learner])
    for o, strategy in enumerate(strategies):
      share = strategy.get(UNSTORED, 0.0)
      if share > 0.0:
        reach = [0.0] * len(strategies)
        reach[o] = reaches[adversary][o] * share
        for h in range(len(total)):
          total[h] += self._leaf(learner, learner,
                                 self.unstored_claim[history, o], h, reach)
    return total

  def _end(self, history, role, learner, reaches):
    """Returns the values where nothing is stored."""
    actor = len(history) % 2
    hands = range(len(self.chances[learner]))
    other = 1 - learner
    if actor == role or not any(reaches[role]):
      return [self._leaf(learner, actor, history[-1], h, reaches[other])
              for h in hands]
    if learner != role:  # the adversary's best answer
      result = []
      for h in hands:
        new = self._best_new(history, [], learner, h, reaches[other], None)
        dudo = self._leaf(learner, learner, history[-1], h, reaches[other])
        result.append(max(dudo, new[0]) if new else dudo)
      return result
    result = [0.0 for _ in hands]
    for o in range(len(self.chances[other])):
      new = self._best_new(history, [], other, o, reaches[role], None)
      dudo = self._leaf(other, other, history[-1], o, reaches[role])
      reach = [0.0] * len(self.chances[other])
      reach[o] = reaches[other][o]
      for h in hands:
        result[h] += (self._leaf(learner, role, new[1], h, reach)
                      if new and new[0] > dudo else
                      self._leaf(learner, other, history[-1], h, reach))
    return result

  def _update(self, updates, is_policy):
    t = self.iteration
    table = self.regret if is_policy else self.adversary_regret
    for key, (strategy, own, regrets, claim) in updates.items():
      if is_policy:
        sums = self.cumulative[key]
        for action, probability in strategy.items():
          sums[action] = (sums.get(action, 0.0) +
                          self.weight() * own * probability)
      elif claim is not None:
        self.unstored_claim[key] = claim
      for action, regret in regrets.items():
        total = table[key].get(action, 0.0) + regret
        table[key][action] = total * (
            t**1.5 / (t**1.5 + 1.0) if total > 0.0 else NEGATIVE)
