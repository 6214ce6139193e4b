"""What kernels on a graph share: deals, chance, and the order of iterations.

An iteration reads and writes the columns of its players' rolls and no others.
So two iterations without a common roll may run in parallel, and the result is
exactly the sequential one. `find_waves` puts each iteration into the first wave
in which it may run; threads share the iterations of a wave.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import regret_tables

# The settings that iterations of every solver have; solvers add their own.
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


@jit.kernel
def graph_pointers(graph):
  """Returns `graph_arrays.GraphArrays` with pointers instead of arrays."""
  return graph_arrays.GraphArrays(
      jit.pointer(graph.actor), jit.pointer(graph.deciders),
      jit.pointer(graph.child_begin), jit.pointer(graph.child),
      jit.pointer(graph.entry), jit.pointer(graph.chance), graph.stride,
      graph.num_entries)


@jit.kernel
def table_pointers(tables):
  """Returns `regret_tables.RegretTables` with pointers instead of arrays."""
  return regret_tables.RegretTables(jit.pointer(tables.regret),
                                    jit.pointer(tables.cumulative))


@jit.kernel
def sampled_edge(graph, node, seed, iteration):
  """Returns the edge that an iteration samples at a chance node.

  Args:
    graph: the `graph_arrays.GraphArrays`, of arrays or pointers.
    node: the chance node.
    seed: uint64.
    iteration: the number of the iteration.
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
def sampled_outcomes(graph, nodes, seed, iteration):
  """Returns [chance node] int64, the outcomes that an iteration samples.

  Args:
    graph: the `graph_arrays.GraphArrays`.
    nodes: [chance node] int64, the chance nodes.
    seed: uint64.
    iteration: the number of the iteration.
  """
  outcomes = np.zeros(len(nodes), np.int64)
  for i in range(len(nodes)):
    outcomes[i] = (sampled_edge(graph, nodes[i], seed, iteration) -
                   graph.child_begin[nodes[i]])
  return outcomes


@jit.kernel
def sample_rolls(cumulative, seed, deals, rolls):
  """Writes the players' rolls, if the game has any.

  Args:
    cumulative: [roll] float64, the distribution function of rolls.
    seed: uint64.
    deals: [deal] int64, the number of each deal.
    rolls: [deal, player] int64, written.
  """
  if len(cumulative) == 0:
    return
  for i in range(len(deals)):
    begin = random_streams.stream(seed, deals[i])
    for player in range(rolls.shape[1]):
      rolls[i, player] = random_streams.choose(
          cumulative, random_streams.uniform(begin, player))


@jit.kernel
def find_waves(rolls, num_columns):
  """Returns the wave of each iteration.

  Args:
    rolls: [iteration, player] int64.
    num_columns: number of columns.

  Returns:
    [iteration] int64: one more than the largest wave of an earlier iteration
    with a common roll.
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
  """Writes the returns at the terminals of a deal of Dudo.

  Args:
    dice: the `graph_arrays.DiceOutcomes`.
    first_terminal: the number of the first terminal.
    rolls: [player] int64.
    value: [(node or terminal) * seats + player], modified in place.
    seats: number of values of a node.
  """
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
  if len(dice.cumulative):
    _write_returns(dice, len(graph.actor), rolls, value, seats)


@jit.kernel
def longest_path(graph):
  """Returns the number of edges of the longest path from the root.

  Args:
    graph: the `graph_arrays.GraphArrays`.
  """
  num_nodes, longest = len(graph.actor), 0
  depth = np.zeros(num_nodes, np.int64)
  for node in range(num_nodes):
    for edge in range(graph.child_begin[node], graph.child_begin[node + 1]):
      child = graph.child[edge]
      longest = max(longest, depth[node] + 1)
      if child < num_nodes:
        depth[child] = max(depth[child], depth[node] + 1)
  return longest
