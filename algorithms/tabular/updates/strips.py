"""Values and reaches of a block of information sets, strip by strip: kernels.

A strip is as many neighbouring sets as fill a vector of 64 bytes (see `simd`).
An iteration does all that it does to a strip before it goes to the next one, so
that the strip's entries are loaded once. The last strip of a block may be
shorter.

The kernel of a strip gets its first set `j`, and the number of its sets
`count`, which is None for a whole strip. The update of CFR (`cfr_update`) is
made of such kernels, too.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.runtime import simd


class BlockPointers(NamedTuple):
  """A block as the kernels of its strips need it: sizes and pointers.

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
def block_pointers(block, strategy, values, out):
  """Returns the `BlockPointers` of a block."""
  return BlockPointers(block.begin, block.stride, len(block.rows),
                       jit.pointer(block.rows), jit.pointer(strategy),
                       jit.pointer(values), jit.pointer(out),
                       regret_tables.min_sum(strategy))


@jit.inline
def for_each_strip(kernel, args, width, lanes):
  """Calls kernel(*args, j, count) for `width` sets, `lanes` at a time."""
  whole = width // lanes * lanes
  for j in range(0, whole, lanes):
    kernel(*args, j, None)
  if whole < width:
    kernel(*args, whole, width - whole)


@jit.forceinline
def play_strip(block, j, count):
  """Writes and returns the values of the sets of a strip."""
  values = block.values
  first = simd.load(values, block.rows[0] + j, simd.STRIP, count)
  out = first
  for a in range(1, block.num_actions):
    entry = block.begin + a * block.stride + j
    out += (simd.load(block.strategy, entry, simd.STRIP, count) *
            (simd.load(values, block.rows[a] + j, simd.STRIP, count) - first))
  simd.store(block.out, j, out, count)
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
  for_each_strip(play_strip, (block_pointers(block, strategy, values, out),),
                 block.width, simd.strip_size(strategy))


@jit.forceinline
def unperturbed_strip(block, value, epsilon, j, count):
  """Returns the values of regret matching in a perturbed game.

  The strategy, which has these values, is epsilon + (1 - |A| epsilon) times
  regret matching.
  """
  values = block.values
  first = simd.load(values, block.rows[0] + j, simd.STRIP, count)
  scale = 1.0 - block.num_actions * epsilon
  factor = 1.0 / scale if scale > 0.0 else 0.0
  matched = value - first
  low = simd.splat(epsilon, first)
  for a in range(1, block.num_actions):
    matched -= low * (simd.load(values, block.rows[a] + j, simd.STRIP, count) -
                      first)
  return first + simd.splat(factor, first) * matched


@jit.forceinline
def _write_unperturbed(block, set_value, epsilon, j, count):
  """Writes `unperturbed_strip` of the sets of a strip to `block.out`."""
  value = simd.load(set_value, j, simd.STRIP, count)
  simd.store(block.out, j, unperturbed_strip(block, value, epsilon, j, count),
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
  for_each_strip(_write_unperturbed,
                 (block_pointers(block, out, values, out),
                  jit.pointer(set_value), epsilon), block.width,
                 simd.strip_size(out))


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
  for_each_strip(_propagate_strip,
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
  for_each_strip(_sum_strip, (jit.pointer(values), rows, target), width,
                 simd.strip_size(values))
