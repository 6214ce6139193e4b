"""Checks of arguments: a ValueError names the argument and what is allowed.

Serves every public class and function.
"""

import numbers

import numpy as np
import pyspiel

from dudo_spiel import arguments

integer = arguments.integer
choice = arguments.choice


def number(name, value, low=float("-inf"), high=float("inf")):
  """Returns the value as a float in low..high, or raises a ValueError."""
  is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
  if not is_number or not low <= value <= high:
    raise ValueError(f"{name}={value!r}: must be a number between {low} and "
                     f"{high}")
  return float(value)


def boolean(name, value):
  """Returns the value if it is a bool, or raises a ValueError."""
  if not isinstance(value, (bool, np.bool_)):
    raise ValueError(f"{name}={value!r}: must be True or False")
  return bool(value)


def game(name, value):
  """Returns the value if it is a game, or raises a ValueError."""
  if not isinstance(value, pyspiel.Game):
    raise ValueError(f"{name}={value!r}: must be a pyspiel.Game, such as "
                     "pyspiel.load_game returns")
  return value
