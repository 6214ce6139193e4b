"""The two tables of regret matching, and what all its kernels need for them.

That is the least sum of regrets by which they may divide, and memory in which
tables do not compete for the cache.
"""

from typing import NamedTuple

from numba import extending
from numba.np import numpy_support
import numpy as np


class RegretTables(NamedTuple):
  """Two arrays of the same shape and type, indexed as their owner says.

  Attributes:
    regret: sums of counterfactual regrets.
    cumulative: sums of strategies, each weighted by the player's own reach.
  """
  regret: np.ndarray
  cumulative: np.ndarray


def min_sum(values):
  """Returns the smallest sum of regrets whose inverse is surely finite.

  Regret matching multiplies by the inverse of a sum only if the sum is at least
  this one, the smallest normal number of its type. Kernels may call it, too.

  Args:
    values: array, pointer or number of float32 or float64.
  """
  return np.finfo(np.asarray(values).dtype).tiny


@extending.overload(min_sum, inline="always")
def _min_sum(values):
  kind = getattr(values, "dtype", values)
  smallest = np.finfo(numpy_support.as_dtype(kind)).tiny
  return lambda values: smallest


_PAGE = 4096  # bytes after which addresses share lines of the first cache
_APART = 832  # bytes, a multiple of a line


def zeros_apart(size, dtype, number):
  """Returns an array of zeros that begins elsewhere in a page than others.

  Where several large arrays begin at the same place of a page, as the system
  places them, their entries of the same number compete for few lines of the
  cache: an iteration on `liars_dice` then takes a quarter longer. So those that
  are used together get different numbers here.
  """
  num_bytes = size * np.dtype(dtype).itemsize
  memory = np.zeros(num_bytes + 2 * _PAGE, np.uint8)
  first = -memory.ctypes.data % _PAGE + number * _APART % _PAGE
  return memory[first:first + num_bytes].view(dtype)
