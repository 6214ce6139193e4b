import os
import subprocess
import sys

from numba.core import errors
import numpy as np
import pytest

from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.runtime import simd

pytestmark = pytest.mark.oracle


@jit.kernel
def compute(x, y, number, out):
  """Writes x + y, x - y, x * y, what of x is above a number, and x + it."""
  for i in range(np.uintp(0), np.uintp(6), np.uintp(1)):
    left, right = simd.load(x, i), simd.load(y, i)
    simd.store(out, i, left + right)
    simd.store(out, np.uintp(9) + i, left - right)
    simd.store(out, np.uintp(18) + i, left * right)
    simd.store(out, np.uintp(27) + i, simd.where_above(
        left, number, left, simd.splat(0.0, left)))
    total = simd.splat(number)
    total += left
    simd.store(out, np.uintp(36) + i, total)


@jit.kernel
def compute_octets(x, y, number, out):
  """Does for the octets what `compute` does for quads."""
  for i in range(np.uintp(0), np.uintp(2), np.uintp(1)):
    left, right = simd.load(x, i, simd.OCTET), simd.load(y, i, simd.OCTET)
    simd.store(out, i, left + right)
    simd.store(out, np.uintp(9) + i, left - right)
    simd.store(out, np.uintp(18) + i, left * right)
    simd.store(out, np.uintp(27) + i, simd.where_above(
        left, number, left, simd.splat(0.0, left)))
    total = simd.splat(number, simd.OCTET)
    total += left
    simd.store(out, np.uintp(36) + i, total)


@jit.kernel
def compute_by_pointers(x, y, number, out):
  compute(jit.pointer(x), jit.pointer(y), number, jit.pointer(out))


@jit.kernel
def total_from(x, index):
  return simd.total(simd.load(x, np.uintp(index)))


@jit.kernel
def add_at(array, index, number):
  """Returns a flat array's number, through a pointer, after it has grown."""
  numbers = jit.pointer(array)
  numbers[index] += number
  return numbers[index]


@jit.kernel
def divide(number, count, out):
  out[0] = number / jit.cast_like(count, number)


@jit.kernel
def store_there(x, out):
  simd.store(out, np.uintp(0), simd.load(x, np.uintp(0)))


@jit.kernel
def splat_of(number):
  return simd.total(simd.splat(number))


@pytest.mark.oracle
@pytest.mark.parametrize("function", [compute, compute_by_pointers,
                                      compute_octets])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_are_numbers(dtype, function):
  x, y = np.random.default_rng(1).normal(size=(2, 9)).astype(dtype)
  number = x[2]  # not above itself
  out = np.zeros(45, dtype)
  function(x, y, number, out)
  np.testing.assert_array_equal(
      out.reshape(5, 9),
      [x + y, x - y, x * y, np.where(x > number, x, 0), x + number])
  assert np.count_nonzero(out[27:36]) not in (0, 9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_total(dtype):
  x = np.array([1, 2, 4, 8, 16], dtype)
  assert [total_from(x, 0), total_from(x, 1)] == [15, 30]


def test_what_is_not_a_number_is_above_nothing():
  x = np.array([np.nan, -1, 0, np.inf, 5, 5, 5, 5, 5])
  out = np.zeros(45)
  compute(x, x, 0.0, out)
  np.testing.assert_array_equal(out[27:36], [0, 0, 0, np.inf, 5, 5, 5, 5, 5])


def test_pointers_are_flat():
  array = np.arange(6, dtype=np.int32).reshape(2, 3)
  assert add_at(array, 4, 10) == 14
  assert array.tolist() == [[0, 1, 2], [3, 14, 5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_like_has_the_type_of_the_other(dtype):
  out = np.zeros(1)
  divide(dtype(1.0), 3, out)
  assert out[0] == float(dtype(1.0) / dtype(3.0))


def test_arrays_that_do_not_fit_are_refused():
  x = np.zeros(12)
  frozen = np.zeros(12)
  frozen.flags.writeable = False
  for array in (x[::2], np.zeros((2, 2), order="F"), frozen):
    with pytest.raises(errors.TypingError, match="contiguous"):
      add_at(array, 1, 1.0)
  with pytest.raises(errors.TypingError, match="contiguous"):
    total_from(x[::2], 0)
  with pytest.raises(errors.TypingError, match="does not fit"):
    store_there(x, x.astype(np.float32))
  with pytest.raises(errors.TypingError, match="float32 or float64"):
    splat_of(3)


# The checked mode, which the environment decides when modules are imported.

_PROGRAM = """
import numpy as np
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

@jit.kernel
def read(array, index):
  return jit.pointer(array)[index]

@jit.kernel
def write(array, index):
  numbers = jit.pointer(array)
  numbers[np.uintp(index)] += 1.0

@jit.kernel
def load(array, index):
  return simd.total(simd.load(array, np.uintp(index)))

@jit.kernel
def load_by_pointer(array, index):
  return simd.total(simd.load(jit.pointer(array), np.uintp(index)))

@jit.kernel
def store(array, index):
  simd.store(jit.pointer(array), np.uintp(index), simd.splat(array[0]))

for function, right, wrong in (
    (read, (0, 7), (-1, 8)), (write, (0, 7), (-1, 8)),
    (load, (0, 4), (-1, 5, 8)), (load_by_pointer, (0, 4), (-1, 5, 8)),
    (store, (0, 4), (-1, 5, 8))):
  for index in right:
    function(np.ones(8), index)
  for index in wrong:
    try:
      function(np.ones(8), index)
    except IndexError as error:
      print(function.__name__, index, error)
"""


@pytest.mark.slow
def test_bounds_are_checked_in_the_checked_mode(tmp_path):
  program = tmp_path / "program.py"
  program.write_text(_PROGRAM)
  result = subprocess.run([sys.executable, program], capture_output=True,
                          env={**os.environ, "DUDO_SPIEL_CHECKED": "1"},
                          text=True, check=True)
  assert result.stdout.splitlines() == [
      *(f"{name} {index} pointer: index is out of bounds"
        for name in ("read", "write") for index in (-1, 8)),
      *(f"{name} {index} vector: index is out of bounds"
        for name in ("load", "load_by_pointer", "store")
        for index in (-1, 5, 8))]


# What solvers do with the actions of a set, in quads as far as these go.


@jit.kernel
def learn(learned, first, action_values, strategy, begin, count, numbers):
  zero, one, mean, weight = numbers
  set_kernels.match_regrets(learned.regret, first, strategy, begin, count, zero,
                            one)
  set_kernels.add_strategy(learned.cumulative, first, strategy, begin, count,
                           weight)
  set_kernels.add_regrets(learned.regret, first, action_values, count, mean,
                          weight)


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", range(1, 14))
def test_actions_of_a_set(count, dtype):
  rng = np.random.default_rng(count)
  regret, cumulative = rng.normal(size=(2, 23)).astype(dtype)
  regret[5] = 1.0  # one at least is positive
  action_values, strategy = np.zeros((2, 17), dtype)
  action_values[:] = rng.normal(size=17)
  numbers = tuple(map(dtype, (0.0, 1.0, 0.25, 1.5)))
  before, sums, here = regret.copy(), cumulative.copy(), slice(5, 5 + count)
  learn(regret_tables.RegretTables(regret, cumulative), 5, action_values,
        strategy, 3, count, numbers)
  expected = np.zeros(17)
  expected[3:3 + count] = np.maximum(before[here], 0)
  expected /= expected.sum()
  np.testing.assert_allclose(strategy, expected, rtol=1e-5)
  before[here] += 1.5 * (action_values[:count] - 0.25)
  sums[here] += 1.5 * expected[3:3 + count]
  np.testing.assert_allclose(regret, before, rtol=1e-5, atol=1e-6)
  np.testing.assert_allclose(cumulative, sums, rtol=1e-5, atol=1e-6)


@jit.kernel
def _change_strip(x, wide, y, i, count):
  """Writes x / 4 - 1 where x is above 2, x elsewhere, and adds x to `wide`."""
  strip = simd.load(x, i, simd.STRIP, count)
  quarter = strip / simd.splat(4.0, strip)
  quarter -= simd.splat(1.0, strip)
  simd.store(y, i, simd.where_above(strip, 2.0, quarter, strip), count)
  old = simd.load(wide, i, strip, count)
  simd.store(wide, i, simd.multiply_add(
      old, simd.splat(3.0, old), simd.widen(strip)), count)


@jit.kernel
def change(x, wide, y):
  """Does strip by strip what `_change_strip` does."""
  x, wide, y, size = jit.pointer(x), jit.pointer(wide), jit.pointer(y), len(x)
  lanes = simd.strip_size(x)
  whole = size // lanes * lanes
  for i in range(0, whole, lanes):
    _change_strip(x, wide, y, i, None)
  if whole < size:
    _change_strip(x, wide, y, whole, size - whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 8, 16, 35])
def test_strips_touch_only_what_there_is(dtype, size):
  rng = np.random.default_rng(size)
  x = (5 * rng.random(size + 20)).astype(dtype)
  wide, y = rng.random(size + 20), np.full(size + 20, 7.0, dtype)
  expected = wide.copy()
  expected[:size] = 3.0 * wide[:size] + x[:size]
  # The arrays end after `size`, what is behind belongs to others.
  change(x[:size], wide[:size], y[:size])
  np.testing.assert_allclose(wide, expected, rtol=1e-15)
  np.testing.assert_array_equal(y[size:], 7.0)
  np.testing.assert_array_equal(
      y[:size], np.where(x > 2, x / dtype(4) - dtype(1), x)[:size])
