"""Kernels that handle the sets of a block strip by strip.

A strip is as many sets as fill a vector of 64 bytes (see `simd`). Whatever an
iteration does with a set is done for one strip before the next one, so that its
numbers come from memory once. The last strip of a block may be a part.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

_TINY_32 = float(np.finfo(np.float32).tiny)
_TINY_64 = float(np.finfo(np.float64).tiny)
_LANES_32 = 16  # numbers of float32 in a strip


class _Strips(NamedTuple):
  """What the strips of a block are made of: numbers and pointers.

  Attributes:
    begin: the block's first entry.
    stride: how far apart the entries of a set are.
    num_actions: how many actions each set has.
    rows: [action] int64, where each action's values begin.
    strategy: [entry].
    values: what `rows` points into.
    out: [set], the value of each set.
  """
  begin: int
  stride: int
  num_actions: int
  rows: np.ndarray
  strategy: np.ndarray
  values: np.ndarray
  out: np.ndarray


@jit.forceinline
def _strips(block, strategy, values, out):
  """Returns the `_Strips` of a block."""
  return _Strips(block.begin, block.stride, len(block.rows),
                 jit.pointer(block.rows), jit.pointer(strategy),
                 jit.pointer(values), jit.pointer(out))


@jit.forceinline
def _play_strip(strips, j, count):
  """Writes and returns the values of the sets from j on.

  Args:
    strips: the `_Strips`.
    j: the first of the sets.
    count: how many there are, None for a whole strip (see `simd`).
  """
  values = strips.values
  first = simd.load_strip(values, strips.rows[0] + j, count)
  out = first
  for a in range(1, strips.num_actions):
    entry = strips.begin + a * strips.stride + j
    out += (simd.load_strip(strips.strategy, entry, count) *
            (simd.load_strip(values, strips.rows[a] + j, count) - first))
  simd.store_strip(strips.out, j, out, count)
  return out


@jit.forceinline
def play_block(block, strategy, values, out):
  """Writes the value of each set: its strategy times its actions' values.

  The sum is taken over differences from the first action's value. So a set
  whose actions are all worth the same is worth exactly that: its regrets are
  zero, and not rounding errors that would look like preferences.

  Args:
    block: the `set_blocks.Block`.
    strategy: [entry].
    values: array that `block.rows` points into.
    out: [set], modified in place.
  """
  strips = _strips(block, strategy, values, out)
  lanes = simd.strip_size(strategy)
  whole = block.width // lanes * lanes
  for j in range(0, whole, lanes):
    _play_strip(strips, j, None)
  if whole < block.width:
    _play_strip(strips, whole, block.width - whole)


@jit.forceinline
def _matched_strip(strips, out, epsilon, j, count):
  """Returns values of regret matching as `learning` writes them for blocks."""
  values = strips.values
  first = simd.load_strip(values, strips.rows[0] + j, count)
  scale = 1.0 - strips.num_actions * epsilon
  factor = 1.0 / scale if scale > 0.0 else 0.0
  matched = out - first
  low = simd.splat_like(epsilon, first)
  for a in range(1, strips.num_actions):
    matched -= low * (simd.load_strip(values, strips.rows[a] + j, count) -
                      first)
  return first + simd.splat_like(factor, first) * matched


@jit.forceinline
def _average_strip(cumulative, entry, played, decay, count):
  """Adds how likely each entry from this one on was played to the average."""
  old = simd.load_like(cumulative, entry, played, count)
  simd.store_strip(
      cumulative, entry,
      simd.multiply_add(old, simd.splat_like(decay, old), simd.widen(played)),
      count)


@jit.forceinline
def _learn_strip(strips, regret, cumulative, reach, rule, least, j, count):
  """Does for the sets from j on what `learn_block` does for a block.

  Args:
    strips: the `_Strips`.
    regret: pointer to the regrets.
    cumulative: pointer to the sums of strategies.
    reach: [set] pointer, how likely the player plays to each set.
    rule: the `learning.Rule` of this iteration.
    least: sums of regrets up to this size may be rounding errors.
    j: the first of the sets.
    count: how many there are, None for a whole strip (see `simd`).
  """
  num_actions, strategy = strips.num_actions, strips.strategy
  base = _play_strip(strips, j, count)
  if rule.epsilon > 0.0:
    base = _matched_strip(strips, base, rule.epsilon, j, count)
  own = simd.load_strip(reach, j, count)
  positive = simd.splat_like(rule.positive, base)
  negative = simd.splat_like(rule.negative, base)
  prediction = simd.splat_like(rule.prediction, base)
  zero = simd.splat_like(0.0, base)
  total = zero
  for a in range(num_actions):
    entry = strips.begin + a * strips.stride + j
    share = simd.load_strip(strategy, entry, count)
    _average_strip(cumulative, entry, own * share, rule.decay, count)
    new = simd.load_strip(strips.values, strips.rows[a] + j, count) - base
    r = simd.load_strip(regret, entry, count) + new
    r = r * simd.where_above(r, least, positive, negative)
    simd.store_strip(regret, entry, r, count)
    r += prediction * new
    r = simd.where_above(r, least, r, zero)
    simd.store_strip(strategy, entry, r, count)
    total += r
  low = simd.splat_like(rule.epsilon, base)
  scale = simd.splat_like(1.0 - num_actions * rule.epsilon, base)
  uniform = simd.splat_like(1.0 / num_actions, base)
  # Where the sum is below every normal number its inverse could be infinite.
  tiny = _TINY_32 if simd.strip_size(strategy) == _LANES_32 else _TINY_64
  inverse = scale / total
  for a in range(num_actions):
    entry = strips.begin + a * strips.stride + j
    share = low + simd.load_strip(strategy, entry, count) * inverse
    simd.store_strip(strategy, entry,
                     simd.where_from(total, tiny, share, uniform), count)


@jit.forceinline
def _pass_strip(strips, cumulative, reach, decay, j, count):
  """Does what `_learn_strip` does where sets have one action only."""
  value = simd.load_strip(strips.values, strips.rows[0] + j, count)
  simd.store_strip(strips.out, j, value, count)
  own = simd.load_strip(reach, j, count)
  _average_strip(cumulative, strips.begin + j, own, decay, count)


@jit.forceinline
def learn_block(block, tables, values, out, reach, rule, work):
  """Writes the values of a block, and learns from them.

  It adds the regrets and the strategy, and makes the next strategy. All of this
  is done for a strip of sets before the next one, so that the numbers come
  from memory once. Where there is only one action nothing is to be learnt.

  In a perturbed game the next strategy is epsilon + (1 - |A| epsilon) times
  regret matching, and regrets are those of regret matching (Farina, Kroer &
  Sandholm 2017): nobody regrets what is forced.

  Sums of regrets that may be rounding errors do not count as positive (see
  `set_blocks.least_regrets`).

  Args:
    block: the `set_blocks.Block`.
    tables: the `set_blocks.SolverTables`, modified in place.
    values: array that `block.rows` points into.
    out: [set], modified in place: the value of each set.
    reach: [set], how likely the player plays to each set.
    rule: the `learning.Rule` of this iteration.
    work: not used here; [2 * set] scratch of other updates.
  """
  strips = _strips(block, tables.strategy, values, out)
  regret, own = jit.pointer(tables.regret), jit.pointer(reach)
  cumulative = jit.pointer(tables.cumulative)
  least = block.least * rule.rounding
  lanes = simd.strip_size(tables.strategy)
  whole = block.width // lanes * lanes
  rest = block.width - whole
  if strips.num_actions == 1:
    for j in range(0, whole, lanes):
      _pass_strip(strips, cumulative, own, rule.decay, j, None)
    if rest > 0:
      _pass_strip(strips, cumulative, own, rule.decay, whole, rest)
    return
  for j in range(0, whole, lanes):
    _learn_strip(strips, regret, cumulative, own, rule, least, j, None)
  if rest > 0:
    _learn_strip(strips, regret, cumulative, own, rule, least, whole, rest)


@jit.forceinline
def _propagate_strip(reach, strategy, source, entry, width, rows, j, count):
  """Writes the reaches of the children of the cells from j on.

  Args:
    reach: pointer to all reaches.
    strategy: pointer to the strategy.
    source: where the reaches of the class begin.
    entry: the first entry of the class, or -1 if the player does not choose.
    width: how many cells there are.
    rows: [action] int64, where the children's reaches begin, or -1.
    j: the first of the cells.
    count: how many there are, None for a whole strip (see `simd`).
  """
  own = simd.load_strip(reach, source + j, count)
  if entry < 0:
    for a in range(len(rows)):
      if rows[a] >= 0:
        simd.store_strip(reach, rows[a] + j, own, count)
    return
  for a in range(len(rows)):
    share = simd.load_strip(strategy, entry + a * width + j, count)
    simd.store_strip(reach, rows[a] + j, own * share, count)


@jit.forceinline
def propagate_block(reach, strategy, source, entry, width, rows):
  """Writes the reaches of the children of all cells of a class.

  Args:
    reach: all reaches, modified in place.
    strategy: [entry].
    source: where the reaches of the class begin.
    entry: the first entry of the class, or -1 if the player does not choose.
    width: how many cells there are.
    rows: [action] int64, where the children's reaches begin, or -1.
  """
  reaches, shares = jit.pointer(reach), jit.pointer(strategy)
  lanes = simd.strip_size(strategy)
  whole = width // lanes * lanes
  for j in range(0, whole, lanes):
    _propagate_strip(reaches, shares, source, entry, width, rows, j, None)
  if whole < width:
    _propagate_strip(reaches, shares, source, entry, width, rows, whole,
                     width - whole)


@jit.forceinline
def _sum_strip(values, rows, target, j, count):
  """Writes the sums of the children's values to the cells from j on."""
  total = simd.load_strip(values, rows[0] + j, count)
  total += simd.splat_like(0.0, total)
  for a in range(1, len(rows)):
    total += simd.load_strip(values, rows[a] + j, count)
  simd.store_strip(values, target + j, total, count)


@jit.forceinline
def sum_block(values, rows, target, width):
  """Writes the sums of the values of the rows to the target."""
  numbers, lanes = jit.pointer(values), simd.strip_size(values)
  whole = width // lanes * lanes
  for j in range(0, whole, lanes):
    _sum_strip(numbers, rows, target, j, None)
  if whole < width:
    _sum_strip(numbers, rows, target, whole, width - whole)
