"""Kernels that process the sets of a block strip by strip.

A strip is as many neighbouring sets as fill a vector of 64 bytes (see `simd`).
An iteration does all that it does to a strip before it goes to the next one, so
that the strip's entries are loaded once. The last strip of a block may be
shorter.

The kernel of a strip gets its first set `j`, and the number of its sets
`count`, which is None for a whole strip.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.runtime import simd


class _Strips(NamedTuple):
  """A block as its strips need it: sizes and pointers.

  Attributes:
    begin: the block's first entry.
    stride: distance between the entries of consecutive actions of a set.
    num_actions: number of actions of each set.
    rows: [action] int64 pointer, where the values of each action begin.
    strategy: [entry] pointer.
    values: pointer to the array that `rows` points into.
    out: [set] pointer, the value of each set.
    min_sum: the `regret_tables.min_sum` of the strategy's type.
  """
  begin: int
  stride: int
  num_actions: int
  rows: np.ndarray
  strategy: np.ndarray
  values: np.ndarray
  out: np.ndarray
  min_sum: float


@jit.forceinline
def _strips(block, strategy, values, out):
  """Returns the `_Strips` of a block."""
  return _Strips(block.begin, block.stride, len(block.rows),
                 jit.pointer(block.rows), jit.pointer(strategy),
                 jit.pointer(values), jit.pointer(out),
                 regret_tables.min_sum(strategy))


@jit.inline
def _for_each_strip(kernel, args, width, lanes):
  """Calls kernel(*args, j, count) for `width` sets, `lanes` at a time."""
  whole = width // lanes * lanes
  for j in range(0, whole, lanes):
    kernel(*args, j, None)
  if whole < width:
    kernel(*args, whole, width - whole)


@jit.forceinline
def _play_strip(strips, j, count):
  """Writes and returns the values of the sets of a strip."""
  values = strips.values
  first = simd.load(values, strips.rows[0] + j, simd.STRIP, count)
  out = first
  for a in range(1, strips.num_actions):
    entry = strips.begin + a * strips.stride + j
    out += (simd.load(strips.strategy, entry, simd.STRIP, count) *
            (simd.load(values, strips.rows[a] + j, simd.STRIP, count) - first))
  simd.store(strips.out, j, out, count)
  return out


@jit.forceinline
def play_block(block, strategy, values, out):
  """Writes the value of each set: its strategy times its actions' values.

  The sum is over differences from the first action's value. So if all actions
  of a set have the same value, the set has exactly that value: its regrets are
  zero, and not rounding errors that would look like preferences.

  Args:
    block: the `set_blocks.Block`.
    strategy: [entry].
    values: array that `block.rows` points into.
    out: [set], written.
  """
  _for_each_strip(_play_strip, (_strips(block, strategy, values, out),),
                  block.width, simd.strip_size(strategy))


@jit.forceinline
def _unperturbed(strips, value, epsilon, j, count):
  """Returns the values of regret matching in a perturbed game.

  The strategy, which has these values, is epsilon + (1 - |A| epsilon) times
  regret matching.
  """
  values = strips.values
  first = simd.load(values, strips.rows[0] + j, simd.STRIP, count)
  scale = 1.0 - strips.num_actions * epsilon
  factor = 1.0 / scale if scale > 0.0 else 0.0
  matched = value - first
  low = simd.splat(epsilon, first)
  for a in range(1, strips.num_actions):
    matched -= low * (simd.load(values, strips.rows[a] + j, simd.STRIP, count) -
                      first)
  return first + simd.splat(factor, first) * matched


@jit.forceinline
def _write_unperturbed(strips, set_value, epsilon, j, count):
  """Writes `_unperturbed` of the sets of a strip to `strips.out`."""
  value = simd.load(set_value, j, simd.STRIP, count)
  simd.store(strips.out, j, _unperturbed(strips, value, epsilon, j, count),
             count)


@jit.forceinline
def write_unperturbed(block, values, set_value, epsilon, out):
  """Writes each set's value of regret matching in a perturbed game.

  Args:
    block: the `set_blocks.Block`.
    values: array that `block.rows` points into.
    set_value: [set], the value of the perturbed strategy.
    epsilon: the lowest probability of an action.
    out: [set], written.
  """
  _for_each_strip(_write_unperturbed,
                  (_strips(block, out, values, out), jit.pointer(set_value),
                   epsilon), block.width, simd.strip_size(out))


@jit.forceinline
def _average_strip(cumulative, entry, played, decay, count):
  """Discounts an action's sums of strategies, and adds reach times strategy."""
  old = simd.load(cumulative, entry, played, count)
  simd.store(
      cumulative, entry,
      simd.multiply_add(old, simd.splat(decay, old), simd.widen(played)),
      count)


@jit.forceinline
def _learn_strip(strips, tables, reach, rule, min_regret, j, count):
  """Does for a strip what `learn_block` does for a block."""
  regret, cumulative = tables
  num_actions, strategy = strips.num_actions, strips.strategy
  base = _play_strip(strips, j, count)
  if rule.epsilon > 0.0:
    base = _unperturbed(strips, base, rule.epsilon, j, count)
  own = simd.load(reach, j, simd.STRIP, count)
  positive = simd.splat(rule.positive, base)
  negative = simd.splat(rule.negative, base)
  prediction = simd.splat(rule.prediction, base)
  zero = simd.splat(0.0, base)
  total = zero
  for a in range(num_actions):
    entry = strips.begin + a * strips.stride + j
    probability = simd.load(strategy, entry, simd.STRIP, count)
    _average_strip(cumulative, entry, own * probability, rule.decay, count)
    new = simd.load(strips.values, strips.rows[a] + j, simd.STRIP, count) - base
    r = simd.load(regret, entry, simd.STRIP, count) + new
    r = r * simd.where_above(r, min_regret, positive, negative)
    simd.store(regret, entry, r, count)
    r += prediction * new
    r = simd.where_above(r, min_regret, r, zero)
    simd.store(strategy, entry, r, count)
    total += r
  low = simd.splat(rule.epsilon, base)
  scale = simd.splat(1.0 - num_actions * rule.epsilon, base)
  uniform = simd.splat(1.0 / num_actions, base)
  inverse = scale / total
  for a in range(num_actions):
    entry = strips.begin + a * strips.stride + j
    probability = low + simd.load(strategy, entry, simd.STRIP, count) * inverse
    simd.store(
        strategy, entry,
        simd.where_from(total, strips.min_sum, probability, uniform), count)


@jit.forceinline
def _pass_strip(strips, cumulative, reach, decay, j, count):
  """Does what `_learn_strip` does where sets have only one action."""
  value = simd.load(strips.values, strips.rows[0] + j, simd.STRIP, count)
  simd.store(strips.out, j, value, count)
  own = simd.load(reach, j, simd.STRIP, count)
  _average_strip(cumulative, strips.begin + j, own, decay, count)


@jit.forceinline
def learn_block(block, tables, values, out, reach, rule, scratch):
  """Writes the values of a block, and updates its tables by them.

  It adds the regrets and the strategy, and computes the next strategy. Where
  sets have only one action there is nothing to learn.

  In a perturbed game the next strategy is epsilon + (1 - |A| epsilon) times
  regret matching, and regrets compare actions with regret matching (Farina,
  Kroer & Sandholm 2017): nobody regrets what is forced.

  Sums of regrets that may be rounding errors do not count as positive (see
  `set_blocks.min_regrets`).

  The arguments are those of `set_blocks.update_block`; only other updates use
  `scratch`.
  """
  strips = _strips(block, tables.strategy, values, out)
  cumulative, own = jit.pointer(tables.cumulative), jit.pointer(reach)
  lanes = simd.strip_size(tables.strategy)
  if strips.num_actions == 1:
    _for_each_strip(_pass_strip, (strips, cumulative, own, rule.decay),
                    block.width, lanes)
  else:
    _for_each_strip(_learn_strip,
                    (strips, (jit.pointer(tables.regret), cumulative), own,
                     rule, block.min_regret * rule.rounding),
                    block.width, lanes)


@jit.forceinline
def _propagate_strip(reach, strategy, source, entry, width, rows, j, count):
  """Does for a strip of cells what `propagate_block` does for all."""
  own = simd.load(reach, source + j, simd.STRIP, count)
  if entry < 0:
    for a in range(len(rows)):
      if rows[a] >= 0:
        simd.store(reach, rows[a] + j, own, count)
    return
  for a in range(len(rows)):
    probability = simd.load(strategy, entry + a * width + j, simd.STRIP, count)
    simd.store(reach, rows[a] + j, own * probability, count)


@jit.forceinline
def propagate_block(reach, strategy, source, entry, width, rows):
  """Writes the reaches of the children of all cells of a node class.

  Args:
    reach: [cell], all reaches, modified in place.
    strategy: [entry].
    source: where the reaches of the node class begin.
    entry: the first entry of the node class; -1 if the player does not choose.
    width: number of cells.
    rows: [action] int64, where the children's reaches begin, or -1.
  """
  _for_each_strip(_propagate_strip,
                  (jit.pointer(reach), jit.pointer(strategy), source, entry,
                   width, rows), width, simd.strip_size(strategy))


@jit.forceinline
def _sum_strip(values, rows, target, j, count):
  """Writes the sums of the children's values to the cells of a strip."""
  total = simd.load(values, rows[0] + j, simd.STRIP, count)
  total += simd.splat(0.0, total)
  for a in range(1, len(rows)):
    total += simd.load(values, rows[a] + j, simd.STRIP, count)
  simd.store(values, target + j, total, count)


@jit.forceinline
def sum_block(values, rows, target, width):
  """Writes the sums of the children's values to the cells of a node class.

  Args:
    values: [cell], all values, modified in place.
    rows: [action] int64, where the children's values begin.
    target: where the values of the node class begin.
    width: number of cells.
  """
  _for_each_strip(_sum_strip, (jit.pointer(values), rows, target), width,
                  simd.strip_size(values))
