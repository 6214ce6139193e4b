"""What the kernels of FSI and PFSI work in: pointers, sizes and settings.

A node has 2 * seats reaches, each a sum over all paths to it: first, for each
player i, the product of the probabilities of all moves but i's (pi_-i); then,
for each player i, the product of those of i's own moves. There are as many
seats as players, rounded up to a multiple of four, so that `simd` fits. What
stands in an empty seat is never looked at.
"""

from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit

GROUP_BITS = 6  # 64 nodes make a group

# The columns of the settings of an iteration after the common ones.
NUM_PRUNING = 4
REACH, FLAG, ACTION, DEPTH = range(set_kernels.NUM_COMMON,
                                   set_kernels.NUM_COMMON + NUM_PRUNING)

_ROW = 64  # numbers; threads that write to neighbouring ones slow down


class Settings(NamedTuple):
  """The settings of an iteration, in the type of the tables where not said.

  Attributes:
    zero: 0 (to make it where it is used would take long).
    one: 1.
    tiny: up to what a reach counts as zero: such numbers slow down.
    tremble: how likely players tremble.
    weight: the weight in averages.
    even: what pruned branches are worth.
    reach: the reach threshold; 0, or at least `tiny`.
    flag: float64, the probability to flag.
    action: the action threshold.
    depth: int64, how many generations of flagged nodes look at their children.
  """
  zero: Any
  one: Any
  tiny: Any
  tremble: Any
  weight: Any
  even: Any
  reach: Any
  flag: Any
  action: Any
  depth: Any


class Workspace(NamedTuple):
  """Pointers to what an iteration works in, and sizes.

  A node of decisions stands for states with heap numbers (see `deal_graph`).

  Attributes:
    reach: [node * 2 * seats + q], zero between iterations.
    value: [(node or terminal) * seats + player].
    strategy: [edge]; at a node of decisions, from its first edge on, the
      probabilities to pass, by who decides.
    status: [node] uint8, zero between iterations.
    group: [group] uint8, whether a node of the group has a status; likewise.
    visited: [node] int32, the nodes that someone asks for, in order.
    kept: [2 * seats], what a child gets whatever the probability of the action
      that leads to it.
    shared: [2 * seats], what it gets times that probability.
    worth: [action], what an action is worth to who acts.
    state_reach: [state * 2 * seats + q], of one node of decisions.
    state_value: [state * seats + player], likewise.
    state_status: [state], likewise, of the type of the reaches.
    num_nodes: how many nodes there are, and so the first terminal.
    players: how many players there are.
    seats: that, rounded up to a multiple of four.
  """
  reach: Any
  value: Any
  strategy: Any
  status: Any
  group: Any
  visited: Any
  kept: Any
  shared: Any
  worth: Any
  state_reach: Any
  state_value: Any
  state_status: Any
  num_nodes: int
  players: int
  seats: int


def new_arrays(graph, dtype, threads):
  """Returns what a `Workspace` points to, with an axis more, [thread].

  Args:
    graph: the `deal_graph.Graph`.
    dtype: the type of the tables.
    threads: how many threads there are.
  """
  nodes, players = graph.num_nodes, graph.num_players
  seats = -(-players // 4) * 4
  most = int(np.diff(graph.arrays.child_begin).max())
  states = 2**players

  def small(size):
    return np.zeros((threads, -(-size // _ROW) * _ROW), dtype)

  value = np.zeros((threads, len(graph.returns), seats), dtype)
  value[:, :, :players] = graph.returns
  return (np.zeros((threads, nodes, 2 * seats), dtype), value,
          np.zeros((threads, len(graph.arrays.child)), dtype),
          np.zeros((threads, nodes), np.uint8),
          np.zeros((threads, (nodes >> GROUP_BITS) + 1), np.uint8),
          np.zeros((threads, nodes), np.int32),
          small(2 * seats), small(2 * seats), small(most),
          small(states * 2 * seats), small(states * seats), small(states))


@jit.kernel
def workspace(space, thread, players):
  """Returns the `Workspace` of a thread.

  Args:
    space: the tuple of `new_arrays`.
    thread: the number of the thread.
    players: how many players there are.
  """
  reach, value, strategy, status, group, visited = space[:6]
  kept, shared, worth, state_reach, state_value, state_status = space[6:]
  return Workspace(
      jit.pointer(reach[thread]), jit.pointer(value[thread]),
      jit.pointer(strategy[thread]), jit.pointer(status[thread]),
      jit.pointer(group[thread]), jit.pointer(visited[thread]),
      jit.pointer(kept[thread]), jit.pointer(shared[thread]),
      jit.pointer(worth[thread]), jit.pointer(state_reach[thread]),
      jit.pointer(state_value[thread]), jit.pointer(state_status[thread]),
      status.shape[1], players, value.shape[2])


@jit.kernel
def typed_settings(settings, table):
  """Returns the `Settings` of an iteration.

  Args:
    settings: [set_kernels.NUM_COMMON + NUM_PRUNING] float64.
    table: an array of the type of the tables.
  """
  number = table.dtype.type
  tiny = 1e-30 if table.itemsize == 4 else 1e-290
  reach = max(settings[REACH], tiny) if settings[REACH] > 0.0 else 0.0
  return Settings(
      number(0.0), number(1.0), number(tiny),
      number(settings[set_kernels.TREMBLE]),
      number(settings[set_kernels.WEIGHT]),
      number(settings[set_kernels.EVEN]), number(reach), settings[FLAG],
      number(settings[ACTION]), np.int64(settings[DEPTH]))
