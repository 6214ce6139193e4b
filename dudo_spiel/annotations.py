"""Types that signatures of several modules have in common.

Arrays are `np.ndarray` there; docstrings say of which shape and type.
"""

from collections.abc import Callable
import os
from typing import Any
from typing import Protocol
from typing import TypeVar

from open_spiel.python import policy
import pyspiel

PathLike = str | os.PathLike[str]
Policy = policy.Policy | pyspiel.Policy  # written in Python or in C++
Dice = tuple[int, int]  # of the player who starts a round, and of the opponent
_T = TypeVar("_T")
ByRound = dict[Dice, _T]  # something of each round
Schedule = Callable[[int], float]  # a setting by the iteration, from 1


class RandomGenerator(Protocol):
  """What bots draw from, such as `np.random.RandomState`."""

  @property
  def choice(self) -> Callable[..., Any]:
    """The method that draws."""
