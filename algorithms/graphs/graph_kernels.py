"""What kernels on a graph share: deals, chance, and the order of iterations.

An iteration reads and writes the columns of its players' rolls and no others.
So two iterations without a common roll may run in parallel, and the result is
exactly the sequential one. `find_waves` puts each iteration into the first wave
in which it may run; threads share the iterations of a wave.

In all kernels of this package `graph` is a `graph_arrays.GraphArrays`, `dice` a
`graph_arrays.DiceOutcomes`, `tables` a `regret_tables.RegretTables`, `plan` an
`IterationPlan`, and `seed` is uint64. `scratch` is the NamedTuple of arrays of
the module; with several threads its arrays are [thread, ...].
"""

from typing import NamedTuple

from numba import extending
from numba import types
from numba.core import cgutils
import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams

# Columns of the settings of every solver; solvers add their own.
COMMON_SETTINGS = (
    ("tremble", np.float64),  # the probability that a player trembles
    ("weight", np.float64),  # of the strategies in averages
    ("pruned_value", np.float64),  # the value of pruned branches
)

GROUP_BITS = 6  # 64 neighbouring nodes are a group; unreached ones are skipped
_ROW = 64  # entries; threads that write to neighbouring ones slow down


class IterationPlan(NamedTuple):
  """Iterations that are to run, wave by wave.

  Attributes:
    seed: uint64.
    iterations: [index] int64, their numbers; the first ever is 1.
    rolls: [index, player] int64, the players' rolls.
    settings: [index] of a structured type that begins as COMMON_SETTINGS.
    wave_begin: [wave + 1] int64, the index at which each wave begins.
  """
  seed: np.uint64
  iterations: np.ndarray
  rolls: np.ndarray
  settings: np.ndarray
  wave_begin: np.ndarray


def thread_rows(threads, size, dtype=np.float64):
  """Returns [thread, at least size] zeros, rows on separate cache lines."""
  return np.zeros((threads, -(-size // _ROW) * _ROW), dtype)


@extending.intrinsic
def thread_pointers(typing_context, arrays, thread):
  """Returns a named tuple with pointers instead of arrays.

  Of an array [thread, ...] the pointer is to the part of the thread; an array
  with one axis is shared. What is no array stays. The caller keeps the arrays.
  """
  kinds = [typing_context.resolve_function_type(
      jit.pointer, (kind,), {}).return_type
           if isinstance(kind, types.Array) else kind for kind in arrays]

  def generate(context, builder, signature, values):
    parts = cgutils.unpack_tuple(builder, values[0])
    for i, kind in enumerate(arrays):
      if isinstance(kind, types.Array):
        parts[i] = context.compile_internal(
            builder, _whole_pointer if kind.ndim == 1 else _row_pointer,
            kinds[i](kind, thread), (parts[i], values[1]))
    return context.make_tuple(builder, signature.return_type, parts)

  pointers = types.BaseTuple.from_types(kinds, arrays.instance_class)
  return pointers(arrays, thread), generate


def _whole_pointer(array, _):
  return jit.pointer(array)


def _row_pointer(array, row):
  return jit.pointer(array[row])


@jit.kernel
def sampled_edge(graph, node, seed, iteration):
  """Returns the edge that an iteration samples at a chance node.

  `graph` may also have pointers.
  """
  quantile = random_streams.node_uniform(seed, iteration, node)
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  first = graph.entry[node] - begin
  chosen = begin
  for edge in range(begin, end):
    chance = graph.chance[first + edge]
    if chance > 0.0:
      chosen = edge
      quantile -= chance
      if quantile < 0.0:
        break
  return chosen


@jit.kernel
def sample_rolls(distribution, seed, deals, rolls):
  """Writes the players' rolls, if the game has any.

  Args:
    distribution: [roll] float64, the distribution function of rolls.
    seed: uint64.
    deals: [deal] int64, the number of each deal.
    rolls: [deal, player] int64, written.
  """
  if len(distribution) == 0:
    return
  for i in range(len(deals)):
    stream = random_streams.stream(seed, deals[i])
    for player in range(rolls.shape[1]):
      rolls[i, player] = random_streams.choose(
          distribution, random_streams.uniform(stream, player))


@jit.kernel
def find_waves(rolls, num_columns):
  """Returns [iteration] int64, the wave of each iteration.

  It is one more than the largest wave of an earlier iteration with a common
  roll.

  Args:
    rolls: [iteration, player] int64.
    num_columns: number of columns.
  """
  last = np.full(num_columns, -1, np.int64)
  waves = np.zeros(len(rolls), np.int64)
  for i in range(len(rolls)):
    for player in range(rolls.shape[1]):
      waves[i] = max(waves[i], last[rolls[i, player]] + 1)
    for player in range(rolls.shape[1]):
      last[rolls[i, player]] = waves[i]
  return waves


@jit.kernel
def _write_returns(dice, first_terminal, rolls, value, seats):
  """Writes the returns at the terminals of a deal of Dudo."""
  counts, amounts, payoff = dice.counts, dice.amounts, dice.payoff
  players, masks = payoff.shape[1], payoff.shape[2]
  to = first_terminal * seats
  for claim in range(len(amounts)):
    count = 0
    for player in range(players):
      count += counts[rolls[player], claim % counts.shape[1]]
    is_true = 1 if count >= amounts[claim] else 0
    for claimer in range(players):
      for mask in range(masks):
        for player in range(players):
          value[to + player] = payoff[is_true, claimer, mask, player]
        to += seats


@jit.inline
def deal(graph, dice, rolls, offsets, value, seats):
  """Prepares a thread's scratch for an iteration with these rolls.

  Args:
    graph: the `graph_arrays.GraphArrays`.
    dice: the `graph_arrays.DiceOutcomes`.
    rolls: [player] int64.
    offsets: [player] int64, written: where each player's column begins.
    value: [(node or terminal) * seats + player], written at terminals whose
      returns depend on the dice.
    seats: number of values of a node.
  """
  for player in range(len(rolls)):
    offsets[player] = rolls[player] * graph.num_entries
  if len(dice.distribution):
    _write_returns(dice, len(graph.actor), rolls, value, seats)


@jit.kernel
def longest_path(graph):
  """Returns the number of edges of the longest path from the root."""
  num_nodes, longest = len(graph.actor), 0
  depth = np.zeros(num_nodes, np.int64)
  for node in range(num_nodes):
    for edge in range(graph.child_begin[node], graph.child_begin[node + 1]):
      child = graph.child[edge]
      longest = max(longest, depth[node] + 1)
      if child < num_nodes:
        depth[child] = max(depth[child], depth[node] + 1)
  return longest
