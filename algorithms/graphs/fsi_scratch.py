"""What the kernels of FSI and PFSI work in, and the settings of an iteration.

A node has 2 * seats reaches, each a sum over all paths to it. First, for each
player i, comes the product of the probabilities of all other players' moves
(pi_-i); then, for each player i, the product of those of i's own moves. There
are as many seats as players, rounded up to a multiple of four, so that `simd`
fits. What stands in an empty seat is never looked at.
"""

from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.runtime import jit

GROUP_BITS = 6  # 64 nodes make a group

# The settings of an iteration as solvers write them.
SETTINGS = np.dtype([
    *graph_kernels.COMMON_SETTINGS,
    ("reach_threshold", np.float64),
    ("flag_probability", np.float64),
    ("action_threshold", np.float64),
    ("depth", np.int64),
])


class IterationSettings(NamedTuple):
  """An iteration and its settings, in the type of the tables where not said.

  Attributes:
    seed: uint64, for all random numbers.
    iteration: int64, the number of the iteration.
    zero: 0 (to make it where it is used would take long).
    one: 1.
    tiny: up to what a reach counts as zero: such numbers slow down.
    tremble: how likely players tremble.
    weight: the weight in averages.
    pruned_value: what pruned branches are worth.
    reach_threshold: 0, or at least `tiny`.
    flag_probability: float64.
    action_threshold: the action threshold.
    depth: int64, how many generations of flagged nodes look at their children.
  """
  seed: Any
  iteration: Any
  zero: Any
  one: Any
  tiny: Any
  tremble: Any
  weight: Any
  pruned_value: Any
  reach_threshold: Any
  flag_probability: Any
  action_threshold: Any
  depth: Any


class FSIScratch(NamedTuple):
  """What iterations work in, and sizes.

  The solver owns the arrays, which have an axis more, [thread, ...]. Kernels
  get pointers to what one thread has, as below. A node of decisions stands for
  states with heap numbers (see `game_graph`).

  Attributes:
    offsets: [player] int64, where the player's column begins.
    reach: [node * 2 * seats + q], zero between iterations.
    value: [(node or terminal) * seats + player].
    strategy: [edge]; at a node of decisions, from its first edge on, the
      probabilities of the first action, by who decides.
    status: [node] uint8, zero between iterations.
    group: [group] uint8, whether a node of the group has a status; likewise.
    visited: [node] int32, the nodes that someone asks for, in order.
    kept: [2 * seats], what a child gets whatever the probability of the action
      that leads to it.
    shared: [2 * seats], what it gets times that probability.
    action_values: [action], what an action is worth to who acts.
    state_reach: [state * 2 * seats + q], of one node of decisions.
    state_value: [state * seats + player], likewise.
    state_status: [state], likewise, in the type of the reaches.
    num_nodes: how many nodes there are, and so the first terminal.
    players: how many players there are.
    seats: that, rounded up to a multiple of four.
  """
  offsets: Any
  reach: Any
  value: Any
  strategy: Any
  status: Any
  group: Any
  visited: Any
  kept: Any
  shared: Any
  action_values: Any
  state_reach: Any
  state_value: Any
  state_status: Any
  num_nodes: int
  players: int
  seats: int


def new_scratch(graph, dtype, threads):
  """Returns the `FSIScratch` of a solver.

  Args:
    graph: the `game_graph.Graph`.
    dtype: the type of the tables.
    threads: how many threads there are.
  """
  nodes, players = graph.num_nodes, graph.num_players
  seats = -(-players // 4) * 4
  states = 2**players

  def small(size, dtype=dtype):
    return graph_kernels.thread_rows(threads, size, dtype)

  value = np.zeros((threads, len(graph.returns), seats), dtype)
  value[:, :, :players] = graph.returns
  return FSIScratch(
      offsets=small(players, np.int64),
      reach=np.zeros((threads, nodes, 2 * seats), dtype),
      value=value,
      strategy=np.zeros((threads, graph.num_edges), dtype),
      status=np.zeros((threads, nodes), np.uint8),
      group=np.zeros((threads, (nodes >> GROUP_BITS) + 1), np.uint8),
      visited=np.zeros((threads, nodes), np.int32),
      kept=small(2 * seats), shared=small(2 * seats),
      action_values=small(graph.max_degree),
      state_reach=small(states * 2 * seats), state_value=small(states * seats),
      state_status=small(states),
      num_nodes=nodes, players=players, seats=seats)


@jit.kernel
def scratch_of_thread(scratch, thread):
  """Returns the `FSIScratch` of one thread, with pointers."""
  return FSIScratch(
      jit.pointer(scratch.offsets[thread]), jit.pointer(scratch.reach[thread]),
      jit.pointer(scratch.value[thread]), jit.pointer(scratch.strategy[thread]),
      jit.pointer(scratch.status[thread]), jit.pointer(scratch.group[thread]),
      jit.pointer(scratch.visited[thread]), jit.pointer(scratch.kept[thread]),
      jit.pointer(scratch.shared[thread]),
      jit.pointer(scratch.action_values[thread]),
      jit.pointer(scratch.state_reach[thread]),
      jit.pointer(scratch.state_value[thread]),
      jit.pointer(scratch.state_status[thread]), scratch.num_nodes,
      scratch.players, scratch.seats)


@jit.kernel
def iteration_settings(plan, i, table):
  """Returns the `IterationSettings` of an iteration.

  Args:
    plan: the `graph_kernels.IterationPlan`, with SETTINGS.
    i: which of its iterations.
    table: an array of the type of the tables.
  """
  settings = plan.settings[i]
  number = table.dtype.type
  tiny = 1e-30 if table.itemsize == 4 else 1e-290
  reach_threshold = 0.0
  if settings.reach_threshold > 0.0:
    reach_threshold = max(settings.reach_threshold, tiny)
  return IterationSettings(
      plan.seed, plan.numbers[i], number(0.0), number(1.0), number(tiny),
      number(settings.tremble), number(settings.weight),
      number(settings.pruned_value), number(reach_threshold),
      settings.flag_probability, number(settings.action_threshold),
      settings.depth)
