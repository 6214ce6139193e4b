"""Checks of arguments: a ValueError names the argument and what is allowed.

Serves the games, the bots and `dudo_spiel.algorithms.runtime.arguments`.
"""

import operator


def integer(name, value, low, high=None):
  """Returns the value as an int in low..high, or raises a ValueError."""
  allowed = (f"of at least {low}"
             if high is None else f"between {low} and {high}")
  try:
    number = operator.index(value)
  except TypeError:
    number = None
  if (number is None or isinstance(value, bool) or number < low or
      (high is not None and number > high)):
    raise ValueError(f"{name}={value!r}: must be an integer {allowed}")
  return number


def choice(name, value, allowed):
  """Returns the value if it is one of those allowed, or raises a ValueError."""
  if not isinstance(value, (str, type(None))) or value not in allowed:
    raise ValueError(f"{name}={value!r}: must be one of "
                     f"{', '.join(map(repr, allowed))}")
  return value
