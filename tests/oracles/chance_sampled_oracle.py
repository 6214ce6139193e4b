"""Algorithm 1 of Neller & Hnath (2011) in plain Python, slow and obvious.

It plays a round of Dudo by `dudo_spiel.rules` and keeps its information sets in
a dict, by (own dice, other's dice, own hand, the last claims).
"""

from dudo_spiel import claims as claims_lib
from dudo_spiel import rules


class Set:
  """An information set: r_I, s_I and sigma."""

  def __init__(self, num_actions):
    self.r = [0.0] * num_actions
    self.s = [0.0] * num_actions
    self.sigma = [1.0 / num_actions] * num_actions

  def match_regrets(self):
    """Equation 5 of the paper."""
    positive = [max(r, 0.0) for r in self.r]
    total = sum(positive)
    self.sigma = [x / total if total > 0 else 1.0 / len(positive)
                  for x in positive]


class OracleCFR:
  """Recursive CFR with sampled deals, on the rounds (a, b) and (b, a).

  Args:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
    recall_length: how many claims are remembered.
    values: dict from smaller rounds (starter's dice, other's) to the starter's
      value.
  """

  def __init__(self, num_sides, house, recall_length, values):
    self._num_sides = num_sides
    self._house = house
    self._recall_length = recall_length
    self._values = values
    self.sets = {}

  def information_set(self, dice, hand, claims, num_actions):
    """Returns the set of a player with these dice (own, other's)."""
    key = (*dice, hand, claims[-self._recall_length:])
    return self.sets.setdefault(key, Set(num_actions))

  def iterate(self, dice, hands):
    """Runs an iteration of the round: starter and other, their dice and hands.

    Returns:
      The starter's value in both traversals.
    """
    self._dice, self._hands = dice, hands
    self._order = claims_lib.claim_order(sum(dice), self._num_sides,
                                         self._house.wild_ones)
    return [self._cfr((), 0, 1.0, 1.0), -self._cfr((), 1, 1.0, 1.0)]

  def _utility(self, h, i):
    """What it is worth to player i that the last claim is challenged."""
    quantity, rank = self._order.claims[h[-1]]
    count = rules.count_matches(self._hands[0] + self._hands[1], rank,
                                self._house.wild_ones)
    challenger = len(h) % 2
    dice, winner = rules.resolve_challenge(
        self._dice, 1 - challenger, challenger, quantity, count, self._house)
    if 0 in dice:
      return 1.0 if dice[i] else -1.0
    value = self._values[dice[winner], dice[1 - winner]]
    return value if winner == i else -value

  def _cfr(self, h, i, *pi):
    """CFR(h, i, t, pi_1, pi_2) for claims h."""
    player = len(h) % 2
    claims = range(h[-1] + 1 if h else 0, self._order.num_claims)
    num_actions = len(claims) + bool(h)
    info = self.information_set(
        (self._dice[player], self._dice[1 - player]), self._hands[player], h,
        num_actions)
    sigma = info.sigma
    v = []
    for a, claim in enumerate(claims):
      reach = [pi[p] * (sigma[a] if p == player else 1.0) for p in range(2)]
      v.append(self._cfr(h + (claim,), i, *reach))
    if h:
      v.append(self._utility(h, i))
    # The same as the sum of sigma * v, but exact if all actions are equal.
    v_sigma = v[0] + sum(p * (x - v[0]) for p, x in zip(sigma, v))
    if player == i:
      for a in range(num_actions):
        info.r[a] += pi[1 - i] * (v[a] - v_sigma)
        info.s[a] += pi[i] * sigma[a]
      info.match_regrets()
    return v_sigma
