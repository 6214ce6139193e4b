"""The growing tree of a round of Dudo in plain Python, hand by hand.

A policy says the default action wherever it stores nothing: Dudo, or the
weakest claim if it opens the round. A node of the tree is a history of claims
(a tuple) with the claims that are stored there. Tables are dicts from (history,
hand) to {action: entry}; an action is a claim or `DUDO`. How tables are learned
is in `guarded_oracle`.
"""

import collections

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib

DUDO = "Dudo"
TIE = 1e-9  # a new claim must be better by more than this


class GrowingOracle:
  """A policy on a tree that grows where a best response says so.

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
    self.regret = collections.defaultdict(dict)  # of the policies
    self.adversary_regret = collections.defaultdict(dict)
    self.cumulative = collections.defaultdict(dict)
    self.iteration = 0

  def actions(self, history):
    """Returns what is stored at a history; the default action comes first."""
    return ([DUDO] if history else []) + self.nodes.get(history, [])

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
        history, self.cumulative[history, hand])

  def adversary_strategy(self, history, hand):
    """Returns {action: probability} of the adversary, stored claims only."""
    return self._normalized(history, self.adversary_regret[history, hand])

  def _leaf(self, role, challenger, claim, hand, reach, leaves=None):
    """Returns what a challenge gives a role, over the other's reach by hand."""
    challenges, challenged = leaves or (self._challenges[role], [
        [-x for x in row] for row in self._challenges[1 - role]])
    values = challenges if challenger == role else challenged
    rank = self._ranks[claim]
    own = self._matches[role][hand][rank]
    return sum(x * values[claim][own + self._matches[1 - role][o][rank]]
               for o, x in enumerate(reach))

  # Best responses.

  def respond(self, role, leaves=None):
    """Returns what a best response to the average policy gets.

    Args:
      role: the responder's.
      leaves: (challenges, challenged), each [claim][count]: what the responder
        gets when it challenges, and when it is challenged.
    """
    return sum(
        chance * self._best((), role, hand, self.chances[1 - role],
                            self.average, leaves)[0]
        for hand, chance in enumerate(self.chances[role]))

  def proposals(self, role, threshold):
    """Returns the (history, claim) that are not stored and gain enough.

    A best response to the average policy gains by a claim where it comes to, or
    the average policy of the role does against its adversary.

    Args:
      role: the role.
      threshold: what a claim must gain, summed over the hands.
    """
    found = set()
    for is_average, strategy in enumerate((self.average,
                                           self.adversary_strategy)):
      gains = collections.defaultdict(float)
      for hand, chance in enumerate(self.chances[role]):
        best = self._best((), role, hand, self.chances[1 - role], strategy)
        for key, gain in best[1 + is_average].items():
          gains[key] += chance * gain
      found |= {key for key, gain in gains.items() if gain > threshold}
    return found

  def _best(self, history, role, hand, reach, strategy, leaves=None):
    """Returns (value, gains, gains) of a best response to a strategy.

    Gains are {(history, claim): gain} of claims that are not stored: on the way
    of the best response, and wherever the role's average policy may lead.
    """
    if len(history) % 2 != role:
      played = [strategy(history, o) for o in range(len(reach))]
      total, gains, others = 0.0, {}, {}
      for action in self.actions(history):
        value, found, more = self._best_after(
            history, action, role, hand,
            [x * s[action] for x, s in zip(reach, played)], strategy, leaves)
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
                                            strategy, leaves)
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

  def _best_after(self, history, action, role, hand, reach, strategy, leaves):
    if action == DUDO:
      return self._leaf(role, len(history) % 2, history[-1], hand, reach,
                        leaves), {}, {}
    return self._best((*history, action), role, hand, reach, strategy, leaves)

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
    """Returns how many entries a table has, in vectors of sixteen."""
    total = 0
    for history in self.nodes:
      hands = len(self.chances[len(history) % 2])
      total += len(self.actions(history)) * (hands + -hands % 16)
    return total

  def grow(self, share):
    """Stores the claims that gain more than a share of the exploitability.

    Args:
      share: which share.
    """
    threshold = share * 0.5 * sum(self.respond(role) for role in range(2))
    for history, claim in set().union(*(
        self.proposals(role, threshold) for role in range(2))):
      self.nodes.setdefault(history, []).append(claim)
    for claims in self.nodes.values():
      claims.sort()

  def drop(self, share, weight):
    """Forgets claims that neither player needs, and all that follows them.

    A claim is needed if the policy or the adversary regrets it with some hand,
    or if it is made more often than this. If something is stored after it, it
    is also needed if the other player's last claim was made more often than
    this.

    Args:
      share: how often the player's own moves lead to the claim, on average
        over the iterations.
      weight: that of all iterations.
    """
    made = {(history, claim): self._made(history, claim)
            for history, claims in self.nodes.items() for claim in claims}
    for history in sorted(self.nodes, key=len):
      for claim in list(self.nodes.get(history, [])):
        hands = range(len(self.chances[len(history) % 2]))
        before = made[history[:-1], history[-1]] if history else float("inf")
        if not (not history and claim == 0 or
                any(table[history, h].get(claim, 0.0) > 0.0
                    for table in (self.regret, self.adversary_regret)
                    for h in hands) or
                made[history, claim] > share * weight or
                (*history, claim) in self.nodes and before > share * weight):
          self._forget(history, claim)

  def _made(self, history, claim):
    """Returns the sum over all hands of how often a claim was made."""
    hands = range(len(self.chances[len(history) % 2]))
    return sum(self.cumulative[history, hand].get(claim, 0.0)
               for hand in hands)

  def _forget(self, history, claim):
    tables = self.regret, self.adversary_regret, self.cumulative
    self.nodes[history].remove(claim)
    for table in tables:
      for key in table:
        if key[0] == history:
          table[key].pop(claim, None)
    lost = (*history, claim)
    gone = [node for node in self.nodes if node[:len(lost)] == lost]
    if history and not self.nodes[history]:
      gone.append(history)
    for node in gone:
      del self.nodes[node]
      for table in tables:
        for key in [key for key in table if key[0] == node]:
          del table[key]
