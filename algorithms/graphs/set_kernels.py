"""Kernels on one information set: regret matching, and sums in tables.

All arrays may also be pointers. Sets are short: `simd` is used for whole quads
of actions, and scalars for the remainder. Kernels take some of these:

  first: the first entry of the set in [entry] tables.
  strategy, begin: an array, and the index of the first action's probability.
  count: number of actions.
  zero, one: these numbers in the type of the tables; a conversion in a hot loop
    would take long.
"""

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.runtime import simd

_0, _1, _3 = np.uintp(0), np.uintp(1), np.uintp(3)


@jit.inline
def match_two(regret, first, zero, half):
  """Returns the strategy (p, q) of an information set with two actions.

  `first` is np.uintp; `half` is 0.5 in the type of the regrets.
  """
  x, y = regret[first], regret[first + _1]
  x = x if x > zero else zero
  y = y if y > zero else zero
  total = x + y
  p = x / total if total > zero else half
  q = y / total if total > zero else half
  return p, q


@jit.inline
def match_regrets(regret, first, strategy, begin, count, zero, one):
  """Writes the strategy of an information set."""
  f, b, n = np.uintp(first), np.uintp(begin), np.uintp(count)
  if count == 2:
    p, q = match_two(regret, f, zero, one / (one + one))
    strategy[b] = p
    strategy[b + _1] = q
    return
  last = n & ~_3
  zeros = simd.splat(zero)
  sums = zeros
  for a in range(_0, last, simd.STEP):
    x = simd.load(regret, f + a)
    sums += simd.where_above(x, zero, x, zeros)
  total = simd.total(sums)
  for a in range(last, n):
    x = regret[f + a]
    total += x if x > zero else zero
  if total >= regret_tables.min_sum(zero):
    factor = one / total
    factors = simd.splat(factor)
    for a in range(_0, last, simd.STEP):
      x = simd.load(regret, f + a)
      simd.store(strategy, b + a,
                 simd.where_above(x, zero, x, zeros) * factors)
    for a in range(last, n):
      x = regret[f + a]
      strategy[b + a] = x * factor if x > zero else zero
  elif total > zero:  # its inverse may be infinite
    for a in range(n):
      x = regret[f + a]
      strategy[b + a] = x / total if x > zero else zero
  else:
    for a in range(n):
      strategy[b + a] = 1.0 / count


@jit.inline
def tremble_at(strategy, begin, count, tremble, one):
  """Makes a strategy uniform with probability `tremble`, in its type."""
  if tremble > 0.0:
    uniform = tremble / jit.cast_like(count, one)
    for a in range(np.uintp(begin), np.uintp(begin + count)):
      strategy[a] = (one - tremble) * strategy[a] + uniform


@jit.inline
def add_strategy(cumulative, first, strategy, begin, count, weight):
  """Adds a strategy, times `weight` in its type, to the averages."""
  f, b, n = np.uintp(first), np.uintp(begin), np.uintp(count)
  last = n & ~_3
  weights = simd.splat(weight)
  for a in range(_0, last, simd.STEP):
    x = simd.load(cumulative, f + a) + weights * simd.load(strategy, b + a)
    simd.store(cumulative, f + a, x)
  for a in range(last, n):
    cumulative[f + a] += weight * strategy[b + a]


@jit.inline
def add_regrets(regret, first, action_values, count, mean, weight):
  """Adds to the regrets of a set.

  Args:
    regret: [entry], modified in place.
    first: the first entry of the set.
    action_values: [action], the value of each action.
    count: number of actions.
    mean: float, the value of the strategy, in the same type.
    weight: float, factor on the regrets, in the same type.
  """
  f, n = np.uintp(first), np.uintp(count)
  last = n & ~_3
  means, weights = simd.splat(mean), simd.splat(weight)
  for a in range(_0, last, simd.STEP):
    x = weights * (simd.load(action_values, a) - means)
    simd.store(regret, f + a, simd.load(regret, f + a) + x)
  for a in range(last, n):
    regret[f + a] += weight * (action_values[a] - mean)


@jit.kernel
def normalize(set_entry, num_columns, table):
  """Divides each set's entries by the sum of their positive parts.

  Args:
    set_entry: [set + 1] int32, where the sets of a column begin.
    num_columns: number of columns.
    table: [column * entries + entry], modified in place; uniform where nothing
      is positive.
  """
  zero, one = table.dtype.type(0.0), table.dtype.type(1.0)
  for column in range(num_columns):
    offset = column * set_entry[-1]
    for s in range(len(set_entry) - 1):
      begin = offset + set_entry[s]
      match_regrets(table, begin, table, begin,
                    set_entry[s + 1] - set_entry[s], zero, one)
