"""FSICFR on a round of Dudo in plain Python, by recursion over all claims."""

import collections

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules


class RoundOracle:
  """Sweeps over deals with the strategies fixed, as Neller & Hnath (2011) do.

  Instead of one visit to each node of the graph it visits every sequence of
  claims. Tables are dicts from (own dice, other's dice, what is remembered,
  hand) to a list by action: the stronger claims, then Dudo. `claims` has some
  claims that lead to each key.

  Args:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
    remember: a function of `abstraction_oracle`.
    values: dict from smaller rounds to their starters' values.
  """

  def __init__(self, num_sides, house, remember, values):
    self._sides = num_sides
    self._house = house
    self._remember = remember
    self._values = values
    self.claims = {}
    self.regret = collections.defaultdict(list)
    self.cumulative = collections.defaultdict(list)

  def _order(self, dice):
    return claims_lib.claim_order(sum(dice), self._sides,
                                  self._house.wild_ones)

  def _key(self, dice, role, claims, hand):
    key = (dice[role], dice[1 - role],
           self._remember(claims, self._order(dice).ranks), hand)
    self.claims.setdefault(key, claims)
    return key

  def strategy(self, key, num_actions):
    positive = [max(x, 0.0) for x in self.regret[key]] or [0.0] * num_actions
    total = sum(positive)
    return [x / total if total > 0 else 1 / num_actions for x in positive]

  def _num_actions(self, dice, claims):
    last = claims[-1] if claims else -1
    return self._order(dice).num_claims - 1 - last + bool(claims)

  def sweep(self, dice, deals, weights, weight):
    """Runs an iteration.

    Args:
      dice: the dice of starter and other.
      deals: list of (starter's hand, other's hand).
      weights: for each role the weights of the deals in its regrets.
      weight: the weight of the iteration.

    Returns:
      The values of the deals to the starter.
    """
    new_regret = collections.defaultdict(list)
    new_cumulative = collections.defaultdict(list)
    for role in range(2):
      for hand in range(rolls_lib.num_rolls(dice[role], self._sides)):
        self._add_reach(dice, role, hand, (), 1.0, weight, new_cumulative)
    values = [
        self._traverse(dice, hands, (), (1.0, 1.0),
                       (weight * weights[0][j], weight * weights[1][j]),
                       new_regret)
        for j, hands in enumerate(deals)]
    for table, new in ((self.regret, new_regret),
                       (self.cumulative, new_cumulative)):
      for key, increments in new.items():
        old = table[key] or [0.0] * len(increments)
        table[key] = [x + y for x, y in zip(old, increments)]
    return values

  def _add_reach(self, dice, role, hand, claims, reach, weight, new):
    """Adds the strategies of one role, times its own reach."""
    num_actions = self._num_actions(dice, claims)
    first = claims[-1] + 1 if claims else 0
    acts = len(claims) % 2 == role
    key = self._key(dice, role, claims, hand)
    strategy = self.strategy(key, num_actions) if acts else [1.0] * num_actions
    if acts:
      old = new[key] or [0.0] * num_actions
      new[key] = [x + weight * reach * p for x, p in zip(old, strategy)]
    for a in range(num_actions - bool(claims)):
      self._add_reach(dice, role, hand, (*claims, first + a),
                      reach * strategy[a], weight, new)

  def _traverse(self, dice, hands, claims, reach, weights, new):
    """Returns the value to the role that is to move."""
    role = len(claims) % 2
    num_actions = self._num_actions(dice, claims)
    first = claims[-1] + 1 if claims else 0
    key = self._key(dice, role, claims, hands[role])
    strategy = self.strategy(key, num_actions)
    utilities = []
    for a, p in enumerate(strategy):
      if claims and a == num_actions - 1:
        utilities.append(self._challenge(dice, hands, claims, role))
      else:
        after = (reach[0] * p, reach[1]) if role == 0 else (reach[0],
                                                            reach[1] * p)
        utilities.append(-self._traverse(dice, hands, (*claims, first + a),
                                         after, weights, new))
    value = sum(p * u for p, u in zip(strategy, utilities))
    scale = weights[role] * reach[1 - role]
    old = new[key] or [0.0] * num_actions
    new[key] = [x + scale * (u - value) for x, u in zip(old, utilities)]
    return value

  def _challenge(self, dice, hands, claims, role):
    """Returns what challenging the last claim is worth to the role."""
    quantity, rank = self._order(dice).claims[claims[-1]]
    faces = b"".join(rolls_lib.roll_table(n, self._sides).hands[hand]
                     for n, hand in zip(dice, hands))
    count = rules.count_matches(faces, rank, self._house.wild_ones)
    after, winner = rules.resolve_challenge(dice, 1 - role, role, quantity,
                                            count, self._house)
    if not all(after):
      return 1.0 if after[role] else -1.0
    value = self._values[after[winner], after[1 - winner]]
    return value if winner == role else -value
