"""Checks of arguments: a ValueError names the argument and what is allowed."""

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import arguments

shown = arguments.shown
integer = arguments.integer
choice = arguments.choice
number = arguments.number
boolean = arguments.boolean
game = arguments.game
state = arguments.state


def is_policy(value):
  """Returns whether a value is an OpenSpiel policy, in Python or C++."""
  return isinstance(value, (policy_lib.Policy, pyspiel.Policy))


def policy(name, value):
  """Returns the value if it is an OpenSpiel policy, or raises a ValueError."""
  if not is_policy(value):
    raise ValueError(f"{name}={shown(value)}: must be an OpenSpiel policy, in "
                     "Python or C++")
  return value


def integers(name, value, low, high):
  """Returns [any] int64, integers in low..high, or raises a ValueError.

  Args:
    name: the name of the argument.
    value: a list, tuple, range or array of integers.
    low: the smallest integer that is allowed.
    high: the largest.
  """
  if not isinstance(value, (list, tuple, range, np.ndarray)) or (
      np.ndim(value) != 1):
    raise ValueError(f"{name}={shown(value)}: must be a list of integers "
                     f"between {low} and {high}")
  if not (isinstance(value, np.ndarray) and value.dtype == np.int64 and
          np.all((value >= low) & (value <= high))):
    value = [integer(name, item, low, high) for item in value]
  return np.array(value, np.int64)


def player(name, value, playing_state):
  """Returns the player to ask about in a state, or raises a ValueError.

  Args:
    name: the name of the argument.
    value: a player, or None for the one who acts.
    playing_state: the state.
  """
  if value is None:
    return int(playing_state.current_player())
  return integer(name, value, 0, playing_state.num_players() - 1)
