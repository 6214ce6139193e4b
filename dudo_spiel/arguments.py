"""Checks of arguments: a ValueError names the argument and what is allowed."""

import numbers
import operator

import numpy as np
import pyspiel


def shown(value):
  """Returns a value as text, whatever it is."""
  try:
    return repr(value)
  except Exception:  # integers of thousands of digits, and broken classes
    return f"<{type(value).__name__}>"


def integer(name, value, low=float("-inf"), high=None):
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


def choice(name, value, allowed):
  """Returns the value if it is one of those allowed, or raises a ValueError."""
  if not isinstance(value, (str, type(None))) or value not in allowed:
    raise ValueError(f"{name}={shown(value)}: must be one of "
                     f"{', '.join(map(repr, allowed))}")
  return value


def number(name, value, low=float("-inf"), high=float("inf")):
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


def boolean(name, value):
  """Returns the value if it is a bool, or raises a ValueError."""
  if not isinstance(value, (bool, np.bool_)):
    raise ValueError(f"{name}={shown(value)}: must be True or False")
  return bool(value)


def game(name, value):
  """Returns the value if it is a game, or raises a ValueError."""
  if not isinstance(value, pyspiel.Game):
    raise ValueError(f"{name}={shown(value)}: must be a pyspiel.Game, such as "
                     "pyspiel.load_game returns")
  return value


def state(name, value):
  """Returns the value if it is a state of a game, or raises a ValueError."""
  if not isinstance(value, pyspiel.State):
    raise ValueError(f"{name}={shown(value)}: must be a pyspiel.State")
  return value
