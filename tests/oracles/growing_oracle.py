"""The growing tree of a round of Dudo in plain Python, hand by hand.

A policy says the default action wherever it stores nothing: Dudo, or the
weakest claim if it opens the round. A node of the tree is a history of claims
(a tuple) with the claims that are stored there. Tables are dicts from (history,
hand) to {action: entry}; an action is a claim or `DUDO`. Hands that agree in
all counts that still matter share their sums of strategies: there the hand is
a tuple of these counts.
"""

import collections

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib

DUDO = "Dudo"
TIE = 1e-9  # a new claim must be better by more than this
FORGETTING = 0.7  # the power of the growth by which regrets become smaller


class GrowingOracle:
  """Discounted CFR on a tree that grows where a best response says so.

  Args:
    dice: (starter's dice, other's dice).
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
    challenges: for each role [claim][count], what it gets by a challenge.
  """

  def __init__(self, dice, num_sides, wild_ones, challenges):
    order = claims_lib.claim_order(sum(dice), num_sides, wild_ones)
    self._ranks = [rank - 1 for _, rank in order.claims]
    self._num_claims = order.num_claims
    tables = [rolls_lib.roll_table(n, num_sides) for n in dice]
    self.chances = [table.probabilities.tolist() for table in tables]
    self._matches = [table.matches(wild_ones).tolist() for table in tables]
    self._challenges = challenges
    self.nodes = {(): [0]}  # history: the claims that are stored
    self.regret = collections.defaultdict(dict)
    self.cumulative = collections.defaultdict(dict)
    self.iteration = 0

  def actions(self, history):
    """Returns what is stored at a history; the default action comes first."""
    return ([DUDO] if history else []) + self.nodes.get(history, [])

  def counts(self, history, hand):
    """Returns how many dice match the ranks that matter after a history."""
    ranks = sorted(set(self._ranks[history[-1] if history else 0:]))
    matches = self._matches[len(history) % 2][hand]
    return tuple(matches[rank] for rank in ranks)

  def _normalized(self, history, entries):
    actions = self.actions(history)
    weights = [max(entries.get(a, 0.0), 0.0) for a in actions]
    total = sum(weights)
    if total <= 0.0:
      weights, total = [1.0] + [0.0] * (len(actions) - 1), 1.0
    return {a: x / total for a, x in zip(actions, weights)}

  def strategy(self, history, hand):
    """Returns {action: probability} by regret matching."""
    return self._normalized(history, self.regret[history, hand])

  def average(self, history, hand):
    """Returns {action: probability} of the average policy."""
    return self._normalized(
        history, self.cumulative[history, self.counts(history, hand)])

  def _leaf(self, role, challenger, claim, hand, reach, leaves=None):
    """Returns what a challenge gives a role, over the other's reach by hand."""
    challenges, challenged = leaves or (self._challenges[role], [
        [-x for x in row] for row in self._challenges[1 - role]])
    values = challenges if challenger == role else challenged
    rank = self._ranks[claim]
    own = self._matches[role][hand][rank]
    return sum(x * values[claim][own + self._matches[1 - role][o][rank]]
               for o, x in enumerate(reach))

  # Learning.

  def iterate(self):
    """Runs one iteration, with alternating updates."""
    self.iteration += 1
    for role in range(2):
      updates = {}
      for hand, chance in enumerate(self.chances[role]):
        self._traverse((), role, hand, chance, self.chances[1 - role],
                       updates)
      self._learn(updates)

  def _traverse(self, history, role, hand, own, reach, updates):
    """Returns the value to the role; collects the `updates`."""
    actor = len(history) % 2
    if actor == role:
      strategy = self.strategy(history, hand)
      values = {a: self._value(history, a, role, hand, own * p, reach, updates)
                for a, p in strategy.items()}
      mean = sum(strategy[a] * value for a, value in values.items())
      if history in self.nodes:
        updates[history, hand] = strategy, own, {
            a: value - mean for a, value in values.items()}
      return mean
    strategies = [self.strategy(history, o) for o in range(len(reach))]
    return sum(self._value(history, a, role, hand, own,
                           [x * s[a] for x, s in zip(reach, strategies)],
                           updates)
               for a in self.actions(history))

  def _value(self, history, action, role, hand, own, reach, updates):
    """Returns what an action is worth to the role."""
    if action == DUDO:
      return self._leaf(role, len(history) % 2, history[-1], hand, reach)
    return self._traverse((*history, action), role, hand, own, reach, updates)

  def _learn(self, updates):
    t = self.iteration
    for key, (strategy, own, regrets) in updates.items():
      sums = self.cumulative[key[0], self.counts(*key)]
      for action, probability in strategy.items():
        sums[action] = sums.get(action, 0.0) + t**2 * own * probability
        total = self.regret[key].get(action, 0.0) + regrets[action]
        self.regret[key][action] = total * (
            t**1.5 / (t**1.5 + 1.0) if total > 0.0 else 0.5)

  # Best responses.

  def respond(self, role, leaves=None):
    """Returns what a best response to the average policy gets.

    Args:
      role: the responder's.
      leaves: (challenges, challenged), each [claim][count]: what the responder
        gets when it challenges, and when it is challenged.
    """
    return sum(
        chance * self._best((), role, hand, self.chances[1 - role], leaves)[0]
        for hand, chance in enumerate(self.chances[role]))

  def proposals(self, role, threshold):
    """Returns the (history, claim) that are not stored and gain enough.

    The gain of a claim is summed over the hands that come there by a best
    response, or over those that come there by the average policy.

    Args:
      role: the responder's.
      threshold: what a claim must gain.
    """
    found = set()
    for follows in (False, True):
      gains = collections.defaultdict(float)
      for hand, chance in enumerate(self.chances[role]):
        best = self._best((), role, hand, self.chances[1 - role], None)
        for key, gain in best[1 + follows].items():
          gains[key] += chance * gain
      found |= {key for key, gain in gains.items() if gain > threshold}
    return found

  def _best(self, history, role, hand, reach, leaves):
    """Returns (value, gains, gains) of a best response.

    Gains are {(history, claim): gain} of claims that are not stored: on the way
    of the best response, and wherever the average policy may lead.
    """
    if len(history) % 2 != role:
      averages = [self.average(history, o) for o in range(len(reach))]
      total, gains, others = 0.0, {}, {}
      for action in self.actions(history):
        value, found, more = self._best_after(
            history, action, role, hand,
            [x * s[action] for x, s in zip(reach, averages)], leaves)
        total += value
        gains.update(found)
        others.update(more)
      return total, gains, others
    if not any(reach):
      return 0.0, {}, {}
    best, gains, others = -float("inf"), {}, {}
    stored = self.actions(history)
    average = self.average(history, hand)
    for action in stored:
      value, found, more = self._best_after(history, action, role, hand, reach,
                                            leaves)
      if value > best:
        best, gains = value, found
      others.update({key: average[action] * gain
                     for key, gain in more.items()})
    new = self._best_new(history, stored, role, hand, reach, leaves)
    if new and new[0] > best + TIE:
      gain = {(history, new[1]): new[0] - best}
      return new[0], gain, {**others, **gain}
    return max(best, new[0]) if new else best, gains, others

  def _best_new(self, history, stored, role, hand, reach, leaves):
    """Returns (value, claim) of the best claim that is not stored, or None."""
    best = None
    first = history[-1] + 1 if history else 0
    for rank in range(max(self._ranks) + 1):
      of_rank = None
      for claim in range(first, self._num_claims):
        if self._ranks[claim] == rank and claim not in stored:
          value = self._leaf(role, 1 - role, claim, hand, reach, leaves)
          if of_rank is None or value > of_rank[0] + TIE:
            of_rank = value, claim
          of_rank = max(value, of_rank[0]), of_rank[1]
      if of_rank and (best is None or of_rank[0] > best[0] + TIE):
        best = of_rank
      if of_rank:
        best = max(of_rank[0], best[0]), best[1]
    return best

  def _best_after(self, history, action, role, hand, reach, leaves):
    if action == DUDO:
      return self._leaf(role, len(history) % 2, history[-1], hand, reach,
                        leaves), {}, {}
    return self._best((*history, action), role, hand, reach, leaves)

  def value(self, role=0):
    """Returns what the round is worth to a role if both play the average."""
    def walk(history, hand, other):
      actor = len(history) % 2
      total = 0.0
      for action, p in self.average(history, hand if actor == role else
                                    other).items():
        if p and action == DUDO:
          total += p * self._leaf(
              role, actor, history[-1], hand,
              [float(o == other) for o in range(len(self.chances[1 - role]))])
        elif p:
          total += p * walk((*history, action), hand, other)
      return total

    return sum(x * y * walk((), hand, other)
               for hand, x in enumerate(self.chances[role])
               for other, y in enumerate(self.chances[1 - role]))

  # Growth.

  def size(self):
    """Returns how many entries a table has, in vectors of eight."""
    total = 0
    for history in self.nodes:
      hands = range(len(self.chances[len(history) % 2]))
      classes = len({self.counts(history, hand) for hand in hands})
      total += len(self.actions(history)) * (classes + -classes % 8)
    return total

  def _choice(self, history, role, hand, reach):
    """Returns the stored action of a best response, None if it has another."""
    best, chosen = -float("inf"), None
    for action in self.actions(history):
      value = self._best_after(history, action, role, hand, reach, None)[0]
      if value > best:
        best, chosen = value, action
    new = self._best_new(history, self.actions(history), role, hand, reach,
                         None)
    return None if new and new[0] > best + TIE else chosen

  def answers(self, role, threshold):
    """Returns the (history, claim) that answer the other's best response.

    The other comes to a claim after which nothing is stored by a best response
    to the average policy, and the role by its average policy. A claim gains
    what it gives, challenged at once, beyond Dudo.

    Args:
      role: who answers.
      threshold: what a claim must gain.
    """
    gains = collections.defaultdict(float)
    self._answer((), role, self.chances[role], self.chances[1 - role], gains)
    return {key for key, gain in gains.items() if gain > threshold}

  def _answer(self, history, role, own, reach, gains):
    """Adds to the gains below a node; see `answers`."""
    if history not in self.nodes:
      for hand, chance in enumerate(own):
        new = self._best_new(history, [], role, hand, reach, None)
        if new and chance > 0.0:
          gain = new[0] - self._leaf(role, role, history[-1], hand, reach)
          if gain > TIE:
            gains[history, new[1]] += chance * gain
      return
    is_own = len(history) % 2 == role
    if is_own:
      averages = [self.average(history, hand) for hand in range(len(own))]
    else:
      choices = [self._choice(history, 1 - role, hand, own)
                 for hand in range(len(reach))]
    for claim in self.nodes[history]:
      after = (*history, claim)
      if is_own and after in self.nodes:
        self._answer(after, role, [x * average[claim] for x, average
                                   in zip(own, averages)], reach, gains)
      if not is_own and claim in choices:
        self._answer(after, role, own, [x * (choice == claim) for x, choice
                                        in zip(reach, choices)], gains)

  def grow(self, share, answer_share):
    """Stores the claims that gain more than a share of the exploitability.

    Regrets forget by as much as the tree grows.

    Args:
      share: which share.
      answer_share: which share of that an answer must gain.

    Returns:
      How many claims are stored only because they are answers.
    """
    threshold = share * 0.5 * sum(self.respond(role) for role in range(2))
    found, answers = set(), set()
    for role in range(2):
      found |= self.proposals(role, threshold)
      answers |= self.answers(role, answer_share * threshold)
    before = self.size()
    for history, claim in found | answers:
      self.nodes.setdefault(history, []).append(claim)
    for claims in self.nodes.values():
      claims.sort()
    kept = (before / self.size())**FORGETTING
    for regrets in self.regret.values():
      for action in regrets:
        regrets[action] *= kept
    return len(answers - found)

  def drop(self, share):
    """Forgets claims that neither player needs, and all that follows them.

    A claim is needed if it is regretted with some hand, or made more often than
    this. If something is stored after it, it is also needed if the other
    player's last claim was made more often than this.

    Args:
      share: how often the player's own moves lead to the claim, on average
        over the iterations.
    """
    weight = sum(t**2 for t in range(1, self.iteration + 1))
    made = {(history, claim): self._made(history, claim)
            for history, claims in self.nodes.items() for claim in claims}
    for history in sorted(self.nodes, key=len):
      for claim in list(self.nodes.get(history, [])):
        hands = range(len(self.chances[len(history) % 2]))
        before = made[history[:-1], history[-1]] if history else float("inf")
        if not (not history and claim == 0 or
                any(self.regret[history, h].get(claim, 0.0) > 0.0
                    for h in hands) or
                made[history, claim] > share * weight or
                (*history, claim) in self.nodes and before > share * weight):
          self._forget(history, claim)

  def _made(self, history, claim):
    """Returns the sum over all hands of how often a claim was made."""
    hands = range(len(self.chances[len(history) % 2]))
    return sum(self.cumulative[history, counts].get(claim, 0.0)
               for counts in {self.counts(history, h) for h in hands})

  def _forget(self, history, claim):
    self.nodes[history].remove(claim)
    for table in (self.regret, self.cumulative):
      for key in table:
        if key[0] == history:
          table[key].pop(claim, None)
    lost = (*history, claim)
    for node in [node for node in self.nodes if node[:len(lost)] == lost]:
      del self.nodes[node]
      for table in (self.regret, self.cumulative):
        for key in [key for key in table if key[0] == node]:
          del table[key]
    if history and not self.nodes[history]:
      del self.nodes[history]
      for table in (self.regret, self.cumulative):
        for key in [key for key in table if key[0] == history]:
          del table[key]
