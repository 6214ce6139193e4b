"""A round of Dudo for the growing tree: hands, classes of hands, leaves.

After claim c only dice that count for the ranks of claims >= c still matter.
Hands that agree in all these counts have the same future and are one class:
reaches add up, values are shared. The set of ranks that matter gets smaller
towards the end of the order of claims; each such set is a level, and at level 0
every hand is its own class. This is exact for players who forget nothing.

A challenge depends on how many dice of each player count for the claimed rank.
So leaves take the reaches by count, which costs the number of hands and not its
square.

Serves all modules about perfect recall.
"""

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
    level: [claim + 1] int64, the level of a node by its last claim plus 1.
    hands: for each role its `RoleHands`.
  """
  num_claims: int
  rank: np.ndarray
  level: np.ndarray
  hands: tuple[RoleHands, RoleHands]


def _padded(count):
  return -(-count // CLASS_MULTIPLE) * CLASS_MULTIPLE


def _levels(order, merges):
  """Returns (ranks that matter by level, level by last claim plus 1)."""
  everything = tuple(range(order.num_sides))
  sets, level = [everything], [0]
  for claim in range(order.num_claims):
    left = tuple(sorted(set((order.ranks[claim:] - 1).tolist())))
    if merges and left != sets[-1]:
      sets.append(left)
    level.append(len(sets) - 1)
  return sets, np.array(level, np.int64)


def _role_hands(rolls, wild_ones, sets, dtype):
  """Returns (`RoleHands`, [level, hand] int64, the class of each hand)."""
  matches = rolls.matches(wild_ones)
  classes, firsts = [], []
  for number, ranks in enumerate(sets):
    keys = [tuple(row) for row in matches[:, ranks].tolist()]
    if not number:  # without merging, equal rows still are two hands
      keys = list(range(len(keys)))
    names = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    classes.append([names[key] for key in keys])
    firsts.append([keys.index(key) for key in names])
  of_hand = np.array(classes, np.int64)
  most = _padded(rolls.num_rolls)
  onehot = np.zeros((len(sets), matches.shape[1], rolls.num_dice + 1, most),
                    dtype)
  merge = np.zeros((len(sets), len(sets), most), np.int64)
  for level, first in enumerate(firsts):
    for number, hand in enumerate(first):
      for rank in range(matches.shape[1]):
        onehot[level, rank, matches[hand, rank], number] = 1.0
      merge[level, :, number] = of_hand[:, hand]
  chance = np.zeros(most, dtype)
  chance[:rolls.num_rolls] = rolls.probabilities
  width = np.array([_padded(len(first)) for first in firsts], np.int64)
  # Padding of a level has no dice and no reach; it merges into padding or into
  # class 0, to which it adds nothing.
  return RoleHands(chance, width, onehot, merge), of_hand


class RoundHands:
  """The hands and claims of a round (starter's dice, other's dice).

  Args:
    match: the `rounds.MatchRules`.
    dice: (starter's dice, other's dice).
    merges: whether hands become classes.

  Attributes:
    dice: as given.
    order: the `claims.ClaimOrder`.
    classes: for each role [level, hand] int64, the class of each hand.
    level: [claim + 1] int64, see `ClassArrays`.
    width: [role, level] int64, padded classes.
  """

  def __init__(self, match, dice, merges=True):
    self.dice = tuple(dice)
    self.order = match.claim_order(sum(dice))
    self._sets, self.level = _levels(self.order, merges)
    self._rolls = [match.rolls(n) for n in dice]
    self._wild_ones = match.house.wild_ones
    self._arrays = {}
    both = [_role_hands(rolls, self._wild_ones, self._sets, np.float64)
            for rolls in self._rolls]
    self.classes = tuple(of_hand for _, of_hand in both)
    self.width = np.stack([hands.width for hands, _ in both])

  def moved(self, role, reach, last, claim):
    """Returns [class] float64, a reach by the classes after another claim.

    Args:
      role: whose reach it is.
      reach: [class] float64, by the classes after the last claim.
      last: that claim, -1 for none.
      claim: the other claim, not weaker.
    """
    hands = self.arrays(np.float64).hands[role]
    before, after = self.level[last + 1], self.level[claim + 1]
    return np.bincount(hands.merge[before, after, :len(reach)], reach,
                       hands.width[after])

  def arrays(self, dtype):
    """Returns the `ClassArrays` in a type of numbers."""
    dtype = np.dtype(dtype)
    if dtype not in self._arrays:
      self._arrays[dtype] = ClassArrays(
          self.order.num_claims, self.order.ranks.astype(np.int64) - 1,
          self.level, tuple(
              _role_hands(rolls, self._wild_ones, self._sets, dtype)[0]
              for rolls in self._rolls))
    return self._arrays[dtype]
