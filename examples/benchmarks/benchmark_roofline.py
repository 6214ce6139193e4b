"""Measures what bounds an iteration of CFR: memory, arithmetic, or neither.

First it measures the machine: how many bytes a second a copy moves, by the size
of what is copied, and how many operations a second a loop of multiplications
and additions does. Then it counts what an iteration on a game moves and
computes, and times it. Times are processor seconds of one thread, the minimum
over the repeats.

A number counts as moved each time that a kernel gets it from an array or puts
it there, unless the same strip of sets has just had it. So the bytes do not say
which cache they come from: compare with the copy whose size is that of all
arrays of the solver.
"""

from dudo_spiel_examples.support import binary

import time

from absl import flags
import numpy as np

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

_TURN_BASED = "turn_based_simultaneous_game(game={})"
_GAMES = flags.DEFINE_multi_string(
    "game", ["leduc_poker", "liars_dice",
             _TURN_BASED.format("goofspiel(imp_info=True,num_cards=4)"),
             _TURN_BASED.format("oshi_zumo(coins=10,min_bid=1,size=5)")],
    "A game to measure, with its parameters, in deal form or sequence form")
_SIZES = flags.DEFINE_multi_integer(
    "copy_kilobytes", [16, 256, 2048, 8192, 65536], "A size of what is copied: "
    "source and target together.", lower_bound=1)
_REPEATS = flags.DEFINE_integer(
    "repeats", 15, "How often to measure.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.05, "Seconds per measurement.",
                              lower_bound=0.0)

_INDEX = 4  # bytes of an index in sequence form
_AVERAGE = 8  # bytes of a number of the average, in float32 too


@jit.kernel
def copy(source, target, repeats):
  """Copies an array of whole strips again and again."""
  values, out = jit.pointer(source), jit.pointer(target)
  for _ in range(repeats):
    for i in range(0, len(source), simd.strip_size(source)):
      simd.store(out, i, simd.load(values, i, simd.STRIP))


@jit.kernel
def multiply_and_add(values, repeats):
  """Does 16 operations for each number of a strip in each repeat."""
  factor = simd.load(values, 0, simd.STRIP)
  a, b, c, d = factor, factor, factor, factor
  e, f, g, h = factor, factor, factor, factor
  for _ in range(repeats):
    a, b = simd.multiply_add(a, factor, a), simd.multiply_add(b, factor, b)
    c, d = simd.multiply_add(c, factor, c), simd.multiply_add(d, factor, d)
    e, f = simd.multiply_add(e, factor, e), simd.multiply_add(f, factor, f)
    g, h = simd.multiply_add(g, factor, g), simd.multiply_add(h, factor, h)
  simd.store(values, 0, a + b + c + d + e + f + g + h)


def seconds_of(run, *arguments):
  """Returns the seconds of one repeat of run(*arguments, repeats)."""
  run(*arguments, 1)  # compiles

  def measure(repeats):
    begin = time.process_time()
    run(*arguments, repeats)
    return time.process_time() - begin

  repeats = 1
  while measure(repeats) < _SECONDS.value:
    repeats *= 2
  return min(measure(repeats) for _ in range(_REPEATS.value)) / repeats


def measure_copies():
  """Prints and returns bytes a second, by the bytes that are copied."""
  speeds = {}
  for kilobytes in _SIZES.value:
    size = kilobytes * 1024
    # Whole strips, which begin where lines of the cache do.
    array = np.ones(size // 8 + 16)
    first = -array.ctypes.data % 64 // 8
    half = max(size // 128 * 8, 8)
    source = array[first:first + half]
    speeds[size] = 2 * half * 8 / seconds_of(
        copy, source, array[first + half:first + 2 * half])
    print(f"copy within {kilobytes:6,} KB: {speeds[size] / 1e9:6.1f} GB/s read "
          "and written", flush=True)
  return speeds


def measure_arithmetic(dtype):
  """Prints and returns operations a second."""
  lanes = 64 // dtype.itemsize
  values = np.full(lanes, 1e-9, dtype)
  speed = 16 * lanes / seconds_of(multiply_and_add, values)
  print(f"multiply and add, {dtype.name}: {speed / 1e9:6.1f} GFlop/s",
        flush=True)
  return speed


def update_counts(blocks, size):
  """Returns (bytes, operations) of learning from the values of all sets."""
  sets, actions = blocks.width, blocks.actions
  entries = (sets * actions)[actions > 1].sum()
  # Values, strategy and regrets twice, the average twice; values and reaches
  # of sets. Sets with one action only count in the average.
  moved = (entries * (5 * size + 2 * _AVERAGE) +
           sets[actions == 1].sum() * (size + 2 * _AVERAGE) +
           sets.sum() * 2 * size)
  return moved, 14 * entries + 2 * sets.sum()


def deal_counts(form, size):
  """Returns (bytes, operations) of an iteration in deal form."""
  deal = form.arrays
  moved, flops = update_counts(form.blocks, size)
  tables = np.diff(deal.table_of, prepend=-1) != 0  # a table to load
  ends = len(deal.table_of)
  for group, hands in enumerate(deal.num_hands):
    player = int(group >= deal.group_begin[1])
    others = (deal.matrix_1 if player else deal.matrix_0).shape[1]
    moved += ends * (others + hands) * size  # reaches in, values out
    moved += tables.sum() * others * hands * size
    flops += 2 * ends * others * hands
    for c in range(len(deal.actor) - 1):
      edges = slice(deal.edge_begin[c], deal.edge_begin[c + 1])
      cells, actions = deal.num_nodes[c] * hands, edges.stop - edges.start
      stored = np.sum(deal.reach_row[group, edges] >= 0)
      moved += cells * (1 + stored) * size  # reaches forward
      if deal.actor[c] == player:
        moved += cells * actions * size * (actions > 1)
        flops += cells * actions * (actions > 1)
      else:
        moved += cells * (1 + actions) * size  # sums of values backward
        flops += cells * actions
  return moved, flops


def sequence_counts(form, size):
  """Returns (bytes, operations) of an iteration in sequence form."""
  blocks, leaves = form.blocks, form.arrays.payoff.size
  moved, flops = update_counts(blocks, size)
  sets, entries = blocks.width.sum(), form.num_entries
  # Values begin at zero. Leaves: a payoff, an index, a reach; their sums.
  moved += entries * size + leaves * (2 * size + _INDEX)
  moved += len(form.arrays.sequence) * (size + _INDEX)
  # Values are added to the parents', whose reach is looked up.
  moved += sets * (3 * size + 2 * _INDEX)
  chosen = (blocks.width * blocks.actions)[blocks.actions > 1].sum()
  moved += entries * (2 * size + _INDEX) + chosen * size  # reaches forward
  return moved, flops + 2 * leaves + sets + chosen


def measure_game(name, copies, arithmetic):
  """Prints what an iteration of CFR moves and computes, and its time."""
  game = binary.load_game(name)
  print(name)
  for dtype, peak in arithmetic.items():
    solver = cfr.CFRSolver(game, dtype=dtype.name)
    form_name = solver.compiled.form_name
    if form_name == "history":
      print("  has neither a deal form nor a sequence form")
      return
    count = deal_counts if form_name == "deal" else sequence_counts
    moved, flops = count(solver.compiled.form, dtype.itemsize)
    held = solver.memory_bytes
    copied = next((size for size in sorted(copies) if size >= held),
                  max(copies))
    seconds = seconds_of(solver.run)
    bound = max(moved / copies[copied], flops / peak)
    print(f"  {dtype.name}: {held / 1e6:.3g} MB held, {moved / 1e6:.3g} MB "
          f"moved, {flops / 1e6:.3g} MFlop; {seconds * 1e6:,.1f} us = "
          f"{moved / seconds / 1e9:.0f} GB/s and {flops / seconds / 1e9:.1f} "
          f"GFlop/s\n    a copy within {copied // 1024:,} KB would take "
          f"{moved / copies[copied] * 1e6:,.1f} us, the operations "
          f"{flops / peak * 1e6:,.1f} us: {bound / seconds:.0%} of the roof",
          flush=True)


def main(_):
  for name in _GAMES.value:
    binary.load_game(name)  # a wrong name is told before anything is measured
  copies = measure_copies()
  arithmetic = {np.dtype(name): measure_arithmetic(np.dtype(name))
                for name in ("float64", "float32")}
  for name in _GAMES.value:
    measure_game(name, copies, arithmetic)


if __name__ == "__main__":
  binary.run(main)
