"""Rolls of dice and their probabilities.

A roll is a multiset: the order of its dice does not matter. So k dice with S
sides have C(k+S-1, k) different rolls. They are numbered in lexicographic order
of their sorted faces; for two dice that is 11, 12, ..., 16, 22, 23, and so on.

A hand is a roll as sorted `bytes`, one byte per die. `hand.count(r)` is how
many of its dice show r.
"""

from collections.abc import Iterable
import functools
import itertools
import math

import numpy as np

from dudo_spiel import validation

MAX_ROLLS = 100_000
_MAX_DICE = 255


def num_rolls(num_dice: int, num_sides: int = 6) -> int:
  """Returns how many different rolls `num_dice` dice have."""
  num_dice = validation.integer("num_dice", num_dice, 0, _MAX_DICE)
  num_sides = validation.integer("num_sides", num_sides, 1, _MAX_DICE)
  return math.comb(num_dice + num_sides - 1, num_dice)


class RollTable:
  """All rolls of `num_dice` dice with `num_sides` sides.

  Attributes:
    num_dice: how many dice are rolled.
    num_sides: how many sides a die has.
    num_rolls: how many rolls there are.
    hands: tuple of bytes, the hand of each roll.
    outcomes: tuple of (roll, probability), as a chance node returns them.
    faces: [roll, die] uint8, the sorted faces in 1..num_sides.
    counts: [roll, face - 1] int32, how many dice show each face.
    probabilities: [roll] float64, the probability of each roll.

  Example:
    >>> from dudo_spiel import rolls
    >>> table = rolls.RollTable(num_dice=2)
    >>> table.num_rolls, table.index([6, 1])
    (21, 5)
    >>> round(float(table.probabilities[5]), 6)
    0.055556
  """

  def __init__(self, num_dice: int, num_sides: int = 6) -> None:
    self.num_dice = num_dice
    self.num_sides = num_sides
    self.num_rolls = num_rolls(num_dice, num_sides)
    if self.num_rolls > MAX_ROLLS:
      raise ValueError(
          f"numdice={num_dice}, dice_sides={num_sides}: must have at most "
          f"{MAX_ROLLS} different rolls, but has {self.num_rolls}")
    self.hands = tuple(
        bytes(faces) for faces in itertools.combinations_with_replacement(
            range(1, num_sides + 1), num_dice))
    self.faces = np.frombuffer(b"".join(self.hands), dtype=np.uint8).reshape(
        self.num_rolls, num_dice)
    self.counts = np.stack(
        [(self.faces == face).sum(axis=1) for face in range(1, num_sides + 1)],
        axis=1).astype(np.int32)
    self.counts.setflags(write=False)
    ways = [
        math.factorial(num_dice) // math.prod(map(math.factorial, counts))
        for counts in self.counts.tolist()
    ]
    self.probabilities = np.array([w / num_sides**num_dice for w in ways])
    self.probabilities.setflags(write=False)
    self.outcomes = tuple(enumerate(self.probabilities.tolist()))

  @functools.cached_property
  def _index(self):
    return {hand: roll for roll, hand in enumerate(self.hands)}

  def index(self, faces: Iterable[int]) -> int:
    """Returns the number of the roll that shows `faces`, in any order."""
    try:
      return self._index[bytes(sorted(faces))]
    except (KeyError, ValueError, TypeError):
      raise ValueError(
          f"faces={faces!r}: must be {self.num_dice} faces between 1 and "
          f"{self.num_sides}") from None

  def matches(self, wild_ones: bool = True) -> np.ndarray:
    """Returns how many dice count for each rank: [roll, rank - 1] int32."""
    if not wild_ones:
      return self.counts
    matches = self.counts + self.counts[:, :1]
    matches[:, 0] = self.counts[:, 0]
    return matches


@functools.cache
def roll_table(num_dice: int, num_sides: int = 6) -> RollTable:
  """Returns the `RollTable`, always the same object for the same arguments."""
  return RollTable(num_dice, num_sides)


def hand_name(hand: bytes) -> str:
  """Returns a hand's faces as "12566", those above 9 in brackets: "3(12)"."""
  return "".join(str(face) if face < 10 else f"({face})" for face in hand)
