"""Checks of arguments: a ValueError names the argument and what is allowed."""

from collections.abc import Collection
import numbers
import operator
from typing import Any

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel


def shown(value: Any) -> str:
  """Returns a value as text, whatever it is."""
  try:
    return repr(value)
  except Exception:  # integers of thousands of digits, and broken classes
    return f"<{type(value).__name__}>"


def integer(name: str, value: Any, low: float = float("-inf"),
            high: float | None = None) -> int:
  """Returns the value as an int in low..high, or raises a ValueError."""
  allowed = (f"of at least {low}"
             if high is None else f"between {low} and {high}")
  try:
    number = operator.index(value)
  except TypeError:
    number = None
  if (number is None or isinstance(value, bool) or number < low or
      (high is not None and number > high)):
    raise ValueError(f"{name}={shown(value)}: must be an integer {allowed}")
  return number


def choice(name: str, value: Any, allowed: Collection[str | None]) -> Any:
  """Returns the value if it is one of those allowed, or raises a ValueError."""
  if not isinstance(value, (str, type(None))) or value not in allowed:
    raise ValueError(f"{name}={shown(value)}: must be one of "
                     f"{', '.join(map(repr, allowed))}")
  return value


def number(name: str, value: Any, low: float = float("-inf"),
           high: float = float("inf")) -> float:
  """Returns the value as a float in low..high, or raises a ValueError."""
  is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
  if not is_number or not low <= value <= high:
    raise ValueError(f"{name}={shown(value)}: must be a number between {low} "
                     f"and {high}")
  try:
    return float(value)
  except OverflowError:
    raise ValueError(f"{name}={shown(value)}: must be a number that a float "
                     "can hold") from None


def boolean(name: str, value: Any) -> bool:
  """Returns the value if it is a bool, or raises a ValueError."""
  if not isinstance(value, (bool, np.bool_)):
    raise ValueError(f"{name}={shown(value)}: must be True or False")
  return bool(value)


def game(name: str, value: Any) -> pyspiel.Game:
  """Returns the value if it is a game, or raises a ValueError."""
  if not isinstance(value, pyspiel.Game):
    raise ValueError(f"{name}={shown(value)}: must be a pyspiel.Game, such as "
                     "pyspiel.load_game returns")
  return value


def state(name: str, value: Any) -> pyspiel.State:
  """Returns the value if it is a state of a game, or raises a ValueError."""
  if not isinstance(value, pyspiel.State):
    raise ValueError(f"{name}={shown(value)}: must be a pyspiel.State")
  return value


def is_policy(value: Any) -> bool:
  """Returns whether a value is an OpenSpiel policy, in Python or C++."""
  return isinstance(value, (policy_lib.Policy, pyspiel.Policy))


def policy(name: str, value: Any) -> Any:
  """Returns the value if it is an OpenSpiel policy, or raises a ValueError."""
  if not is_policy(value):
    raise ValueError(f"{name}={shown(value)}: must be an OpenSpiel policy, in "
                     "Python or C++")
  return value


def integers(name: str, value: Any, low: int, high: int) -> np.ndarray:
  """Returns integers in low..high as a copy: [integer] int64.

  Others than a list, tuple, range or array of them raise a ValueError.
  """
  if not isinstance(value, (list, tuple, range, np.ndarray)) or (
      np.ndim(value) != 1):
    raise ValueError(f"{name}={shown(value)}: must be a list of integers "
                     f"between {low} and {high}")
  if not (isinstance(value, np.ndarray) and value.dtype == np.int64 and
          np.all((value >= low) & (value <= high))):
    value = [integer(name, item, low, high) for item in value]
  return np.array(value, np.int64)


def player(name: str, value: Any, playing_state: pyspiel.State) -> int:
  """Returns the player to ask about in a state: by default the one who acts."""
  if value is None:
    return int(playing_state.current_player())
  return integer(name, value, 0, playing_state.num_players() - 1)
