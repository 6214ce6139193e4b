"""A round of two-player Dudo, made from the rules: deals, leaves and tables.

A round (a, b) has a starter with a dice and another with b. Its leaves are
challenges; what they are worth are the values of the rounds that follow, so
rounds are solved from the fewest dice up (Neller & Hnath 2011, section 4.1).

A player's information sets are told apart by the own dice, the other's number
of dice and the claims that are remembered, not by who started. So all that is
learned about (own dice, other's dice) stands in one `Table`, and the rounds
(a, b) and (b, a) are trained together.
"""

import functools
from typing import NamedTuple

import numpy as np

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel.algorithms.match import claim_memory
from dudo_spiel.games import dudo

_HAND_MULTIPLE = 8  # hands are padded to full vectors of the processor


class MatchRules(NamedTuple):
  """What decides how a match of two players goes on, beside their dice.

  Attributes:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
    recall_length: how many claims players remember.
  """
  num_sides: int
  house: rules.HouseRules
  recall_length: int

  def rolls(self, num_dice):
    """Returns the table of rolls of this many dice."""
    return rolls_lib.roll_table(num_dice, self.num_sides)

  def claim_order(self, num_dice):
    """Returns the order of claims with this many dice in play."""
    return claims_lib.claim_order(num_dice, self.num_sides,
                                  self.house.wild_ones)

  def memory(self, num_dice):
    """Returns the `claim_memory.ClaimMemory` with this many dice in play."""
    return claim_memory.claim_memory(self.num_sides * num_dice,
                                     self.recall_length)

  def table_shape(self, key):
    """Returns (rows, padded hands) of the table of (own, other's) dice."""
    rows = claim_memory.num_rows(self.num_sides * sum(key), self.recall_length)
    hands = rolls_lib.num_rolls(key[0], self.num_sides)
    return rows, -(-hands // _HAND_MULTIPLE) * _HAND_MULTIPLE


def match_rules(game, recall_length):
  """Returns the `MatchRules` of a two-player `dudo` or `dudo_ir`."""
  if not isinstance(game, dudo.DudoGame) or game.num_players() != 2:
    raise ValueError(f"game={game}: must be dudo or dudo_ir with two players")
  return MatchRules(game.num_sides, game.house, recall_length)


def round_keys(start_dice):
  """Returns the rounds (starter's dice, other's dice) a match can have.

  Args:
    start_dice: the dice of both players at the start.

  Returns:
    A list of pairs, fewest dice first; (a, b) and (b, a) are neighbours.
  """
  low, high = sorted(start_dice)
  pairs = [(a, b) for b in range(1, high + 1)
           for a in range(1, min(b, low) + 1)]
  pairs.sort(key=lambda pair: (sum(pair), pair))
  return [key for a, b in pairs for key in dict.fromkeys([(a, b), (b, a)])]


def challenge_values(match, challenger_dice, claimant_dice, values):
  """Returns what a challenge is worth to the challenger.

  Args:
    match: the `MatchRules`.
    challenger_dice: how many dice the challenger has.
    claimant_dice: how many dice the claimant has.
    values: dict from (starter's dice, other's dice) to the starter's value.

  Returns:
    [claim, count] float64, by how many dice count for the claimed rank.
  """
  num_dice = challenger_dice + claimant_dice
  order = match.claim_order(num_dice)

  @functools.cache
  def value(quantity, count):
    after, winner = rules.resolve_challenge(
        (challenger_dice, claimant_dice), 1, 0, quantity, count, match.house)
    own, other = after
    if not own or not other:
      return 1.0 if own else -1.0
    return values[own, other] if winner == 0 else -values[other, own]

  return np.array([[value(quantity, count) for count in range(num_dice + 1)]
                   for quantity, _ in order.claims])


class Deals(NamedTuple):
  """A list of deals for the kernels, each role's hands in segments.

  Attributes:
    hands: for each role [deal] int64, its hand.
    segments: for each role [segment, 4] int64: (deal, hand, length, step), as
      `round_kernels` takes them.
    weights: for each role [deal], the other's hand's chance, scaled so that
      the deals of a hand weigh 1 on average.
    chances: [deal] float64, how likely the deal is, with the same scale.
  """
  hands: tuple[np.ndarray, np.ndarray]
  segments: tuple[np.ndarray, np.ndarray]
  weights: tuple[np.ndarray, np.ndarray]
  chances: np.ndarray


def shifted_deals(match, dice, shifts, dtype):
  """Returns deals that pair every hand of the player with more hands.

  For each shift, hand h of the role with more dice meets hand
  (h + shift) mod n of the other role, which has n. All n shifts make all deals.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    shifts: list of int.
    dtype: of the weights.
  """
  large = int(dice[1] > dice[0])
  many, few = (match.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole, parts = [], []
  for number, shift in enumerate(shifts):
    begin = number * many
    whole.append((begin, 0, many, 1))
    deal, hand = 0, shift % few
    while deal < many:
      length = min(few - hand, many - deal)
      parts.append((begin + deal, hand, length, 1))
      deal, hand = deal + length, 0
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deals(match, dice, segments, few / len(shifts), dtype)


def all_deals(match, dice, dtype):
  """Returns all deals.

  The hands of the role with more dice are neighbours, those of the other role
  are the same in each run: fast if that role has few.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    dtype: of the weights.
  """
  large = int(dice[1] > dice[0])
  many, few = (match.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole = [(hand * many, 0, many, 1) for hand in range(few)]
  parts = [(hand * many, hand, many, 0) for hand in range(few)]
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deals(match, dice, segments, 1.0, dtype)


def _deals(match, dice, segments, scale, dtype):
  """Returns the `Deals` of segments; they weigh `scale` times their chances."""
  hands = tuple(
      np.concatenate([hand + step * np.arange(length)
                      for _, hand, length, step in runs])
      for runs in segments)
  chances = [match.rolls(num_dice).probabilities[own]
             for num_dice, own in zip(dice, hands)]
  return Deals(hands, tuple(np.array(runs, dtype=np.int64)
                            for runs in segments),
               tuple((scale * chances[1 - role]).astype(dtype)
                     for role in range(2)), scale * chances[0] * chances[1])


def leaf_values(match, dice, deals, values, dtype):
  """Returns for each role [claim, deal], what challenging is worth to it."""
  order = match.claim_order(sum(dice))
  matches = [match.rolls(num_dice).matches(match.house.wild_ones)[own]
             for num_dice, own in zip(dice, deals.hands)]
  counts = (matches[0] + matches[1])[:, order.ranks - 1].T
  claims = np.arange(order.num_claims)[:, None]
  return tuple(
      challenge_values(match, dice[role], dice[1 - role],
                       values)[claims, counts].astype(dtype)
      for role in range(2))


class Table(NamedTuple):
  """What is learned about (own dice, other's dice): [row, hand] arrays.

  Attributes:
    regret: sums of regrets.
    total: sums of strategies, each times the own reach.
  """
  regret: np.ndarray
  total: np.ndarray


def new_table(match, key, dtype):
  """Returns an empty `Table`."""
  # Filled by hand: zeros that the system hands out are in small pages.
  shape = match.table_shape(key)
  table = Table(np.empty(shape, dtype), np.empty(shape, dtype))
  for array in table:
    array.fill(0)
  return table
