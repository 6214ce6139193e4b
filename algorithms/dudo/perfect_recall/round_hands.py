"""The hands of a round of Dudo with perfect recall.

Vectors over the hands of a role are padded to full vectors of the processor,
and so are vectors over counts of matching dice. Padding has no chance, and no
count of any rank.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

HAND_MULTIPLE = 16  # a cache line of float32
COUNT_MULTIPLE = 8


class RoleHands(NamedTuple):
  """The hands of one role."""
  chance: np.ndarray  # [hand] float, the chances of the hands, 0 for padding
  # [rank, count, hand] float, 1 if count dice of the hand match the rank, else
  # 0; 0 for padding
  onehot: np.ndarray
  matches: np.ndarray  # [rank, hand] int8, that count; 0 for padding


class RecallRound(NamedTuple):
  """A round for kernels."""
  num_claims: int  # C; row C of a node is Dudo
  rank: np.ndarray  # [claim] int64, its rank (from 0)
  # [claim + 1, rank] int16, the first claim from a claim on that is of a rank,
  # -1 if there is none
  first_of_rank: np.ndarray
  hands: tuple[RoleHands, RoleHands]  # of the starter and the other role


def _padded(count, multiple=HAND_MULTIPLE):
  return -(-count // multiple) * multiple


def _role_hands(rolls, wild_ones):
  """Returns the `RoleHands` of a `rolls.RollTable`."""
  matches = rolls.matches(wild_ones)
  width, ranks = _padded(rolls.num_rolls), matches.shape[1]
  chance = np.zeros(width)
  chance[:rolls.num_rolls] = rolls.probabilities
  padded = np.zeros((ranks, width), np.int8)
  padded[:, :rolls.num_rolls] = matches.T
  onehot = np.zeros((ranks, rolls.num_dice + 1, width))
  for rank in range(ranks):
    onehot[rank, matches[:, rank], np.arange(rolls.num_rolls)] = 1.0
  return RoleHands(chance, onehot, padded)


def _first_of_rank(order):
  """Returns `RecallRound.first_of_rank` of a `claims.ClaimOrder`."""
  result = np.full((order.num_claims + 1, order.num_sides), -1, np.int16)
  for claim in range(order.num_claims - 1, -1, -1):
    result[claim] = result[claim + 1]
    result[claim, order.ranks[claim] - 1] = claim
  return result


def num_bytes(match, dice, dtype):
  """Returns how many bytes `RoundHands.arrays` take, about.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    dtype: the type of the tables; there are arrays of float64, too.
  """
  sides = match.claim_order(sum(dice)).num_sides
  sizes = sum({8, np.dtype(dtype).itemsize})
  return sum(_padded(math.comb(n + sides - 1, sides - 1)) * sides *
             ((n + 1) * sizes + 1) for n in dice)


class RoundHands:
  """The hands and claims of a round (starter's dice, other's dice).

  It takes little memory before its `arrays` are needed.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).

  Attributes:
    dice: as given.
    order: the `claims.ClaimOrder`.
    num_hands: [role] int64, how many hands there are.
    width: [role] int64, how many there are with padding.
    num_counts: how many counts of matching dice a vector has, with padding.
  """

  def __init__(self, match, dice):
    self.dice = tuple(dice)
    self.order = match.claim_order(sum(dice))
    self._rolls = [match.rolls(n) for n in dice]
    self._wild_ones = match.house.wild_ones
    self.num_hands = np.array([rolls.num_rolls for rolls in self._rolls],
                              np.int64)
    self.width = np.array([_padded(n) for n in self.num_hands], np.int64)
    self.num_counts = _padded(max(self.dice) + 1, COUNT_MULTIPLE)
    self._arrays = {}

  @functools.cached_property
  def _exact(self):
    return RecallRound(
        self.order.num_claims, self.order.ranks.astype(np.int64) - 1,
        _first_of_rank(self.order),
        tuple(_role_hands(rolls, self._wild_ones) for rolls in self._rolls))

  def arrays(self, dtype):
    """Returns the `RecallRound` with floats of a type."""
    dtype, exact = np.dtype(dtype), self._exact
    if dtype == np.float64:
      return exact
    if dtype not in self._arrays:
      self._arrays[dtype] = exact._replace(hands=tuple(
          hands._replace(chance=hands.chance.astype(dtype),
                         onehot=hands.onehot.astype(dtype))
          for hands in exact.hands))
    return self._arrays[dtype]

  def padded_payoffs(self, payoffs):
    """Returns `transitions.Payoffs` with zeros after the last count.

    So a vector of counts may begin at any count of the other role.
    """
    columns = self.num_counts + max(self.dice) + 1
    return type(payoffs)(*(
        np.pad(array, ((0, 0), (0, columns - array.shape[1])))
        for array in payoffs))
