"""The hands of a round of Dudo with perfect recall, and their classes.

After claim c only dice that count for the ranks of claims >= c still matter.
Hands that agree in all these counts have the same future and are one hand
class: reach probabilities add up, values are shared. The set of ranks that
matter gets smaller towards the end of the order of claims. Each such set is a
hand level; at hand level 0 every hand is its own class. This is exact for
players who forget nothing.
"""

import math
from typing import NamedTuple

import numpy as np

CLASS_MULTIPLE = 8  # classes are padded to full vectors of the processor


class RoleHands(NamedTuple):
  """The hands of one role.

  Attributes:
    chance: [class] float, the chances of the hands, 0 for padding.
    width: [level] int64, how many classes there are, padded.
    onehot: [level, rank, count, class] float, 1 if count dice of the class
      match the rank, else 0; 0 for padding.
    merge: [level, level, class] int64, the class at the second level of a class
      at the first.
  """
  chance: np.ndarray
  width: np.ndarray
  onehot: np.ndarray
  merge: np.ndarray


class ClassArrays(NamedTuple):
  """A round for kernels.

  Attributes:
    num_claims: C; row C of a node is Dudo.
    rank: [claim] int64, its rank (from 0).
    hand_level: [claim + 1] int64, that of a node by its last claim plus 1.
    hands: for each role its `RoleHands`.
  """
  num_claims: int
  rank: np.ndarray
  hand_level: np.ndarray
  hands: tuple[RoleHands, RoleHands]


def _padded(count):
  return -(-count // CLASS_MULTIPLE) * CLASS_MULTIPLE


def hand_levels(order):
  """Returns (ranks that matter by hand level, it by last claim plus 1)."""
  everything = tuple(range(order.num_sides))
  sets, level = [everything], [0]
  for claim in range(order.num_claims):
    left = tuple(sorted(set((order.ranks[claim:] - 1).tolist())))
    if left != sets[-1]:
      sets.append(left)
    level.append(len(sets) - 1)
  return sets, np.array(level, np.int64)


def _role_hands(rolls, wild_ones, sets):
  """Returns (`RoleHands`, [level, hand] int64, the class of each hand)."""
  matches = rolls.matches(wild_ones)
  classes, firsts = [], []
  for number, ranks in enumerate(sets):
    keys = [tuple(row) for row in matches[:, ranks].tolist()]
    if not number:  # equal rows still are two hands
      keys = list(range(len(keys)))
    names = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    hand_of = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1)))
    classes.append([names[key] for key in keys])
    firsts.append([hand_of[key] for key in names])  # the first one
  of_hand = np.array(classes, np.int64)
  max_width = _padded(rolls.num_rolls)
  onehot = np.zeros((len(sets), matches.shape[1], rolls.num_dice + 1,
                     max_width))
  merge = np.zeros((len(sets), len(sets), max_width), np.int64)
  for level, first in enumerate(firsts):
    for rank in range(matches.shape[1]):
      onehot[level, rank, matches[first, rank], np.arange(len(first))] = 1.0
    merge[level, :, :len(first)] = of_hand[:, first]
  chance = np.zeros(max_width)
  chance[:rolls.num_rolls] = rolls.probabilities
  width = np.array([_padded(len(first)) for first in firsts], np.int64)
  # Padding of a level has no dice and no reach; it merges into padding or into
  # class 0, to which it adds nothing.
  return RoleHands(chance, width, onehot, merge), of_hand


def num_bytes(match, dice, dtype):
  """Returns how many bytes the arrays of `RoundHands` take, about.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    dtype: the type of the tables; there are arrays of float64, too.
  """
  order = match.claim_order(sum(dice))
  levels, sides = len(hand_levels(order)[0]), order.num_sides
  sizes = sum({8, np.dtype(dtype).itemsize})
  return sum(_padded(math.comb(n + sides - 1, sides - 1)) *
             (levels * sides * (n + 1) * sizes + levels * (levels + 1) * 8)
             for n in dice)


class RoundHands:
  """The hands and claims of a round (starter's dice, other's dice).

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).

  Attributes:
    dice: as given.
    order: the `claims.ClaimOrder`.
    classes: for each role [level, hand] int64, the class of each hand.
    hand_level: [claim + 1] int64, that of a node by its last claim plus 1.
    width: [role, level] int64, padded classes.
  """

  def __init__(self, match, dice):
    self.dice = tuple(dice)
    self.order = match.claim_order(sum(dice))
    sets, self.hand_level = hand_levels(self.order)
    both = [_role_hands(match.rolls(n), match.house.wild_ones, sets)
            for n in dice]
    self.classes = tuple(of_hand for _, of_hand in both)
    self.width = np.stack([hands.width for hands, _ in both])
    self._arrays = {np.dtype(np.float64): ClassArrays(
        self.order.num_claims, self.order.ranks.astype(np.int64) - 1,
        self.hand_level, tuple(hands for hands, _ in both))}

  def arrays(self, dtype):
    """Returns the `ClassArrays` with floats of a type."""
    dtype = np.dtype(dtype)
    if dtype not in self._arrays:
      exact = self._arrays[np.dtype(np.float64)]
      self._arrays[dtype] = exact._replace(hands=tuple(
          hands._replace(chance=hands.chance.astype(dtype),
                         onehot=hands.onehot.astype(dtype))
          for hands in exact.hands))
    return self._arrays[dtype]
