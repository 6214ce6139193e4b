"""Kernels of fixed-strategy iteration with pruning, for n players.

Gendre & Kaneko (2019), sections 3.3.1 and 3.3.2. A node has a status: 0, no
parent asks for it; 1, unflagged; 1 + g, flagged in generation g: it is the g-th
of consecutive flagged nodes. If parents give it different ones, the lowest
above 0 counts.

A node has 2 * seats reaches, each a sum over all paths to it: for each player i
the product of the probabilities of all other players' actions (pi_-i), then for
each player i the product of those of i's own actions. `seats` is the number of
players, rounded up to a multiple of four for `simd`. The reaches of an empty
seat are never read.

Kernels on nodes get pointers (`graph_kernels.thread_pointers`). `settings` is
an `IterationSettings`, and `player` acts at the node.
"""

from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import decision_kernels
from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL
_UNFLAGGED = decision_kernels.UNFLAGGED
_GROUP_BITS = graph_kernels.GROUP_BITS
MAX_DEPTH = 250

_0 = np.uintp(0)

# The settings of an iteration as solvers write them.
SETTINGS = np.dtype([
    *graph_kernels.COMMON_SETTINGS,
    ("reach_threshold", np.float64),
    ("flag_probability", np.float64),
    ("action_threshold", np.float64),
    ("depth", np.int64),
])


class IterationSettings(NamedTuple):
  """An iteration and its settings, in the tables' type unless stated.

  Attributes:
    seed: uint64, for all random numbers.
    iteration: int64, the number of the iteration.
    zero: 0. Constants of the tables' type are passed, because a conversion in a
      hot loop takes long.
    one: 1.
    min_reach: reaches up to this one count as zero: arithmetic on subnormal
      numbers is slow.
    tremble: the probability that a player trembles.
    weight: the weight in averages.
    pruned_value: the value of pruned branches.
    reach_threshold: 0, or at least `min_reach`.
    flag_probability: float64, the probability that an unflagged node below the
      threshold flags its children.
    action_threshold: flagged nodes ask for actions above this probability.
    depth: int64, number of generations of flagged nodes that ask for children.
  """
  seed: Any
  iteration: Any
  zero: Any
  one: Any
  min_reach: Any
  tremble: Any
  weight: Any
  pruned_value: Any
  reach_threshold: Any
  flag_probability: Any
  action_threshold: Any
  depth: Any


class FSIScratch(NamedTuple):
  """Scratch of iterations, and sizes.

  The solver's arrays have one more axis, [thread, ...]; kernels get those of
  one thread. A node of decisions stands for states with heap numbers (see
  `game_graph`). Arrays of floats have the type of the tables.

  Attributes:
    offsets: [player] int64, where the player's column begins.
    reach: [node * 2 * seats + q], zero between iterations.
    value: [(node or terminal) * seats + player].
    strategy: [edge]; at a node of decisions, from its first edge on, the
      probabilities of the first action, by decider.
    status: [node] uint8, zero between iterations.
    group: [group] uint8, whether a node of the group has a status; zero between
      iterations.
    visited: [node] int32, the nodes that a parent asks for, in order.
    unscaled: [2 * seats], reaches that a child gets whatever the probability of
      the action that leads to it.
    scaled: [2 * seats], reaches that it gets times that probability.
    action_values: [action], values to the player who acts.
    state_reach: [state * 2 * seats + q], of one node of decisions.
    state_value: [state * seats + player], of one node of decisions.
    state_status: [state], of one node of decisions.
    num_nodes: number of nodes, which is also the first terminal.
    players: number of players.
    seats: that, rounded up to a multiple of four.
  """
  offsets: Any
  reach: Any
  value: Any
  strategy: Any
  status: Any
  group: Any
  visited: Any
  unscaled: Any
  scaled: Any
  action_values: Any
  state_reach: Any
  state_value: Any
  state_status: Any
  num_nodes: int
  players: int
  seats: int


def new_scratch(graph, dtype, threads):
  """Returns the `FSIScratch` of a solver on a `game_graph.Graph`."""
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
      group=np.zeros((threads, (nodes >> _GROUP_BITS) + 1), np.uint8),
      visited=np.zeros((threads, nodes), np.int32),
      unscaled=small(2 * seats), scaled=small(2 * seats),
      action_values=small(graph.max_degree),
      state_reach=small(states * 2 * seats), state_value=small(states * seats),
      state_status=small(states),
      num_nodes=nodes, players=players, seats=seats)


@jit.kernel
def iteration_settings(plan, i, table):
  """Returns the `IterationSettings` of iteration i of a plan.

  The numbers get the type of `table`, any array of the tables' type.
  """
  settings = plan.settings[i]
  number = table.dtype.type
  min_reach = 1e-30 if table.itemsize == 4 else 1e-290
  reach_threshold = 0.0
  if settings.reach_threshold > 0.0:
    reach_threshold = max(settings.reach_threshold, min_reach)
  return IterationSettings(
      plan.seed, plan.iterations[i], number(0.0), number(1.0),
      number(min_reach), number(settings.tremble),
      number(settings.weight), number(settings.pruned_value),
      number(reach_threshold),
      settings.flag_probability, number(settings.action_threshold),
      settings.depth)


@jit.inline
def _split_reaches(scratch, node, player, min_reach):
  """Splits a node's reaches into those that an action's probability scales.

  Reaches up to `min_reach` become zero.
  """
  seats = np.uintp(scratch.seats)
  n = (seats + seats) * np.uintp(node)
  unscaled, scaled = scratch.unscaled, scratch.scaled
  zeros = simd.splat(min_reach - min_reach)
  for quad in range(_0, seats, simd.STEP):
    x = simd.load(scratch.reach, n + quad)
    x = simd.where_above(x, min_reach, x, zeros)
    simd.store(scratch.reach, n + quad, x)
    simd.store(scaled, quad, x)
    simd.store(unscaled, quad, zeros)
    x = simd.load(scratch.reach, n + seats + quad)
    x = simd.where_above(x, min_reach, x, zeros)
    simd.store(scratch.reach, n + seats + quad, x)
    simd.store(scaled, seats + quad, zeros)
    simd.store(unscaled, seats + quad, x)
  p = np.uintp(player)
  unscaled[p], scaled[p] = scaled[p], unscaled[p]
  p += seats
  unscaled[p], scaled[p] = scaled[p], unscaled[p]


@jit.inline
def _add_reaches(scratch, child, probability):
  """Adds a node's split reaches to a child's: algorithm 1 of the paper."""
  reach, size = scratch.reach, np.uintp(scratch.seats + scratch.seats)
  to = size * np.uintp(child)
  probabilities = simd.splat(probability)
  for quad in range(_0, size, simd.STEP):
    x = (simd.load(scratch.unscaled, quad) +
         probabilities * simd.load(scratch.scaled, quad))
    simd.store(reach, to + quad, simd.load(reach, to + quad) + x)


@jit.inline
def _ask_for(scratch, child, status):
  """Gives a child a status, unless it has a lower one."""
  old = scratch.status[child]
  if old == 0 or old > status:
    scratch.status[child] = status
  scratch.group[child >> _GROUP_BITS] = 1


@jit.kernel
def _forward(graph, tables, scratch, settings):
  """Is the forward pass; returns the number of nodes that it visits."""
  status, group, visited = scratch.status, scratch.group, scratch.visited
  num_nodes, size = scratch.num_nodes, 2 * scratch.seats
  for q in range(size):
    scratch.reach[q] = settings.one
  status[0] = _UNFLAGGED
  group[0] = 1
  count = 0
  for g in range((num_nodes >> _GROUP_BITS) + 1):
    if group[g] == 0:
      continue
    begin = g << _GROUP_BITS
    for node in range(begin, min(begin + (1 << _GROUP_BITS), num_nodes)):
      own_status = status[node]
      if own_status == 0:
        continue
      visited[count] = node
      count += 1
      player = graph.actor[node]
      if player == _TERMINAL or own_status > 1 + settings.depth:
        continue
      if graph.deciders[node]:
        decision_kernels.forward(graph, tables, scratch, node, settings)
        child = graph.child[graph.child_begin[node]]
        if status[child]:
          group[child >> _GROUP_BITS] = 1
      elif player == _CHANCE:
        child = graph.child[graph_kernels.sampled_edge(
            graph, node, settings.seed, settings.iteration)]
        for q in range(size):
          scratch.reach[size * child + q] += scratch.reach[size * node + q]
        _ask_for(scratch, child, own_status)
      else:
        _act(graph, tables, scratch, node, player, settings)
    group[g] = 0
  return count


@jit.inline
def _act(graph, tables, scratch, node, player, settings):
  """Is the forward pass at a node at which one player acts."""
  zero, one, strategy = settings.zero, settings.one, scratch.strategy
  _split_reaches(scratch, node, player, settings.min_reach)
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  entry = scratch.offsets[player] + graph.entry[node]
  set_kernels.match_regrets(tables.regret, entry, strategy, begin, end - begin,
                            zero, one)
  threshold = -one  # children of likelier actions are asked for
  own_status = scratch.status[node]
  child_status = own_status + 1
  if own_status == _UNFLAGGED:
    first = 2 * scratch.seats * node + player
    own = scratch.reach[first + scratch.seats] * settings.weight
    set_kernels.add_strategy(tables.cumulative, entry, strategy, begin,
                             end - begin, own)
    if not (scratch.reach[first] < settings.reach_threshold and
            decision_kernels.flag_number(
                settings.seed, settings.iteration, scratch.players, node,
                0) < settings.flag_probability):
      child_status = _UNFLAGGED
  else:
    threshold = settings.action_threshold
  set_kernels.tremble_at(strategy, begin, end - begin, settings.tremble, one)
  for edge in range(begin, end):
    child, probability = graph.child[edge], strategy[edge]
    if child < scratch.num_nodes and probability > threshold:
      _add_reaches(scratch, child, probability)
      _ask_for(scratch, child, child_status)


@jit.inline
def _write_value(graph, scratch, node, base, threshold):
  """Writes the value of a node: a base's plus the mean difference to it.

  `base` is the node whose values are subtracted. Only actions with a
  probability above `threshold` count.
  """
  value, seats = scratch.value, np.uintp(scratch.seats)
  for quad in range(_0, seats, simd.STEP):
    bases = simd.load(value, seats * np.uintp(base) + quad)
    x = bases
    for edge in range(graph.child_begin[node], graph.child_begin[node + 1]):
      probability = scratch.strategy[edge]
      if probability > threshold:
        c = seats * np.uintp(graph.child[edge]) + quad
        x += simd.splat(probability) * (simd.load(value, c) - bases)
    simd.store(value, seats * np.uintp(node) + quad, x)


@jit.inline
def _learn(graph, tables, scratch, node, player, settings):
  """Adds to the regrets of a node whose value has been written."""
  zero, one, tremble = settings.zero, settings.one, settings.tremble
  seats, action_values = scratch.seats, scratch.action_values
  weight = scratch.reach[2 * seats * node + player]
  if weight == zero:
    return
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  for a in range(end - begin):
    action_values[a] = scratch.value[seats * graph.child[begin + a] + player]
  mean = scratch.value[seats * node + player]
  if tremble > zero:  # the value of the strategy that does not tremble
    total = zero
    for a in range(end - begin):
      total += action_values[a]
    total /= jit.cast_like(end - begin, one)
    mean = (mean - tremble * total) / (one - tremble)
  set_kernels.add_regrets(tables.regret,
                          scratch.offsets[player] + graph.entry[node],
                          action_values, end - begin, mean, weight)


@jit.kernel
def _backward(graph, tables, scratch, settings, count):
  """Is the backward pass: values of all players, then regrets.

  A value is a sum of differences to the value of an action that is played, so
  that rounding errors do not look like regrets. Reaches and statuses of the
  `count` visited nodes become zero again.
  """
  value, seats = scratch.value, scratch.seats
  zeros = simd.splat(settings.zero)
  for i in range(count - 1, -1, -1):
    node = np.int64(scratch.visited[i])
    player, own_status = graph.actor[node], scratch.status[node]
    if player == _TERMINAL:
      pass
    elif own_status > 1 + settings.depth:
      for q in range(seats):
        value[seats * node + q] = settings.pruned_value
    elif graph.deciders[node]:
      decision_kernels.backward(graph, tables, scratch, node, settings)
    elif player == _CHANCE:
      child = graph.child[graph_kernels.sampled_edge(
          graph, node, settings.seed, settings.iteration)]
      for q in range(seats):
        value[seats * node + q] = value[seats * child + q]
    elif own_status == _UNFLAGGED:
      played, last = graph.child_begin[node], graph.child_begin[node + 1] - 1
      while played < last and scratch.strategy[played] == settings.zero:
        played += 1
      _write_value(graph, scratch, node, graph.child[played], -settings.one)
      _learn(graph, tables, scratch, node, player, settings)
    else:
      for q in range(seats):
        value[seats * node + q] = settings.pruned_value
      _write_value(graph, scratch, node, node, settings.action_threshold)
    scratch.status[node] = 0
    for quad in range(_0, np.uintp(2 * seats), simd.STEP):
      simd.store(scratch.reach, np.uintp(2 * seats * node) + quad, zeros)


@jit.inline
def iterate(graph, dice, tables, scratch, plan, thread, i):
  """Runs iteration i of a plan with SETTINGS, in the scratch of a thread.

  The tables and the scratch, here a plain tuple, are modified in place.
  """
  scratches = FSIScratch(*scratch)
  value = scratches.value[thread]
  graph_kernels.deal(graph, dice, plan.rolls[i], scratches.offsets[thread],
                     value.reshape(value.size), value.shape[1])
  settings = iteration_settings(plan, i, tables.regret)
  graph_pointers = graph_kernels.thread_pointers(graph, thread)
  table_pointers = graph_kernels.thread_pointers(tables, thread)
  scratch_pointers = graph_kernels.thread_pointers(scratches, thread)
  count = _forward(graph_pointers, table_pointers, scratch_pointers, settings)
  _backward(graph_pointers, table_pointers, scratch_pointers, settings, count)
