"""The hands of a round of Dudo with perfect recall, and their classes.

After claim c only dice that count for the ranks of claims >= c still matter.
Hands that agree in all these counts have the same future and are one hand
class: reach probabilities add up, values are shared. The set of ranks that
matter gets smaller towards the end of the order of claims. Each such set is a
hand level; at hand level 0 every hand is its own class. This is exact for
players who forget nothing.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

CLASS_MULTIPLE = 8  # classes are padded to full vectors of the processor


class RoleHands(NamedTuple):
  """The hands of one role."""
  chance: np.ndarray  # [class] float, the chances of the hands, 0 for padding
  width: np.ndarray  # [level] int64, how many classes there are, padded
  # [level, rank, count, class] float, 1 if count dice of the class match the
  # rank, else 0; 0 for padding
  onehot: np.ndarray
  # [level, level, class] int64, the class at the second level of a class at the
  # first
  merge: np.ndarray


class ClassArrays(NamedTuple):
  """A round for kernels."""
  num_claims: int  # C; row C of a node is Dudo
  rank: np.ndarray  # [claim] int64, its rank (from 0)
  # [claim + 1] int64, that of a node by its last claim plus 1
  hand_level: np.ndarray
  hands: tuple[RoleHands, RoleHands]  # of the starter and the other role


def _padded(count):
  return -(-count // CLASS_MULTIPLE) * CLASS_MULTIPLE


def hand_levels(order):
  """Returns (ranks that matter by hand level, it by last claim plus 1)."""
  everything = tuple(range(order.num_sides))
  sets, level = [everything], [0]
  for claim in range(order.num_claims):
    ranks = tuple(sorted(set((order.ranks[claim:] - 1).tolist())))
    if ranks != sets[-1]:
      sets.append(ranks)
    level.append(len(sets) - 1)
  return sets, np.array(level, np.int64)


@functools.lru_cache(maxsize=64)
def _hand_classes(rolls, wild_ones, rank_sets):
  """Returns the classes of hands, numbered by their first hands.

  Args:
    rolls: the `rolls.RollTable`.
    wild_ones: whether ones count for all ranks.
    rank_sets: tuple of the ranks that matter, by hand level.

  Returns:
    ([level, hand] int64, the class of each hand; for each level [class] int64,
    the first hand of each class).
  """
  matches = rolls.matches(wild_ones)
  everyone = np.arange(rolls.num_rolls)
  classes, firsts = [everyone], [everyone]  # equal rows still are two hands
  for ranks in rank_sets[1:]:
    _, first, of_hand = np.unique(matches[:, ranks], axis=0, return_index=True,
                                  return_inverse=True)
    by_first = np.argsort(first)
    classes.append(np.argsort(by_first)[of_hand.reshape(-1)])
    firsts.append(first[by_first])
  return np.stack(classes), firsts


def _role_hands(rolls, wild_ones, classes, firsts):
  """Returns the `RoleHands` of what `_hand_classes` has returned."""
  matches, levels = rolls.matches(wild_ones), len(firsts)
  max_width = _padded(rolls.num_rolls)
  onehot = np.zeros((levels, matches.shape[1], rolls.num_dice + 1, max_width))
  merge = np.zeros((levels, levels, max_width), np.int64)
  for level, first in enumerate(firsts):
    for rank in range(matches.shape[1]):
      onehot[level, rank, matches[first, rank], np.arange(len(first))] = 1.0
    merge[level, :, :len(first)] = classes[:, first]
  chance = np.zeros(max_width)
  chance[:rolls.num_rolls] = rolls.probabilities
  # Padding of a level has no dice and no reach; it merges into padding or into
  # class 0, to which it adds nothing.
  return RoleHands(chance, _widths(firsts), onehot, merge)


def _widths(firsts):
  """Returns [level] int64, padded, for what `_hand_classes` has returned."""
  return np.array([_padded(len(first)) for first in firsts], np.int64)


def num_bytes(match, dice, dtype):
  """Returns how many bytes `RoundHands.arrays` take, about.

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

  It takes little memory before its `arrays` are needed.

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
    rank_sets, self.hand_level = hand_levels(self.order)
    self._roles = [(match.rolls(n), match.house.wild_ones) for n in dice]
    self._parts = [_hand_classes(*role, tuple(rank_sets))
                   for role in self._roles]
    self.classes = tuple(classes for classes, _ in self._parts)
    self.width = np.stack([_widths(firsts) for _, firsts in self._parts])
    self._arrays = {}

  @functools.cached_property
  def _exact(self):
    return ClassArrays(
        self.order.num_claims, self.order.ranks.astype(np.int64) - 1,
        self.hand_level, tuple(_role_hands(*role, *part) for role, part
                               in zip(self._roles, self._parts)))

  def arrays(self, dtype):
    """Returns the `ClassArrays` with floats of a type."""
    dtype, exact = np.dtype(dtype), self._exact
    if dtype == np.float64:
      return exact
    if dtype not in self._arrays:
      self._arrays[dtype] = exact._replace(hands=tuple(
          hands._replace(chance=hands.chance.astype(dtype),
                         onehot=hands.onehot.astype(dtype))
          for hands in exact.hands))
    return self._arrays[dtype]
