"""Kernels of pass-through CFR, pruned or by Monte Carlo.

Gendre & Kaneko (2019), section 3.2; `pass_through` describes an iteration. A
state is a node and a heap number: that of the state at a node of decisions (see
`game_graph`), and 0 at all other nodes. Utilities are float64, whatever the
type of the tables, and those of one `player`.

Kernels on states get pointers (`graph_kernels.thread_pointers`). `settings` is
a `PassThroughSettings`.
"""

from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL

# The settings of an iteration as solvers write them.
SETTINGS = np.dtype([
    *graph_kernels.COMMON_SETTINGS,
    ("threshold", np.float64),
    ("num_playouts", np.float64),
])


class PassThroughSettings(NamedTuple):
  """An iteration and its settings, float64 unless stated.

  Attributes:
    seed: uint64, for all random numbers.
    iteration: int64, the number of the iteration.
    stream: uint64, where its stream of random numbers begins.
    zero: 0 in the type of the tables.
    one: 1 in the type of the tables.
    tremble: the probability that a player trembles.
    weight: the weight in averages.
    pruned_value: the value of pruned branches.
    threshold: branches below this probability are pruned.
    num_playouts: number of playouts of an action; 0 for exact utilities.
  """
  seed: Any
  iteration: Any
  stream: Any
  zero: Any
  one: Any
  tremble: Any
  weight: Any
  pruned_value: Any
  threshold: Any
  num_playouts: Any


class PassThroughScratch(NamedTuple):
  """Scratch of iterations, and sizes.

  The solver's arrays have one more axis, [thread, ...]; kernels get those of
  one thread.

  Attributes:
    offsets: [player] int64, where the player's column begins.
    value: [(node or terminal) * players + player] float64.
    stack: [2 * state] int64, the states (node, heap) still to be visited.
    weights: [state] float64, their probabilities or numbers of playouts.
    strategy: [action] float64, the strategy at a visited state.
    own_strategy: [action] float64, the strategy at a state on the path of play.
    utility: [action] float64, the utilities there, to the player who acts.
    state_weights: [heap] float64, weights of the states of one node.
    sigma: [action], a strategy in the type of the tables.
    counter: [1] int64, the number of the stream that was drawn last.
    num_nodes: number of nodes, which is also the first terminal.
    players: number of players.
  """
  offsets: Any
  value: Any
  stack: Any
  weights: Any
  strategy: Any
  own_strategy: Any
  utility: Any
  state_weights: Any
  sigma: Any
  counter: Any
  num_nodes: int
  players: int


def new_scratch(graph, dtype, threads):
  """Returns the `PassThroughScratch` of a solver on a `game_graph.Graph`.

  At each node of a path the stack keeps at most the node's other children.
  """
  degree = max(graph.max_degree, 2)
  size = degree * (graph_kernels.longest_path(graph.arrays) + 1)

  def small(size, dtype=np.float64):
    return graph_kernels.thread_rows(threads, size, dtype)

  return PassThroughScratch(
      offsets=small(graph.num_players, np.int64),
      value=np.tile(graph.returns.ravel(), (threads, 1)),
      stack=small(2 * size, np.int64), weights=small(size),
      strategy=small(degree), own_strategy=small(degree),
      utility=small(degree), state_weights=small(2 * degree),
      sigma=small(degree, dtype), counter=small(1, np.int64),
      num_nodes=graph.num_nodes, players=graph.num_players)


@jit.kernel
def _iteration_settings(plan, i, table):
  """Returns the settings of iteration i of a plan, typed as a table."""
  settings, number = plan.settings[i], table.dtype.type
  return PassThroughSettings(
      plan.seed, plan.iterations[i],
      random_streams.stream(plan.seed, plan.iterations[i]), number(0.0),
      number(1.0), settings.tremble, settings.weight, settings.pruned_value,
      settings.threshold, settings.num_playouts)


@jit.inline
def _turn(heap):
  """Returns the number of players who have decided before at a state."""
  turn, ancestor = 0, heap
  while ancestor > 1:
    turn += 1
    ancestor >>= 1
  return turn


@jit.inline
def _entry(graph, scratch, node, heap):
  """Returns the first entry of the information set at a state."""
  turn = _turn(heap)
  player = (graph.actor[node] + turn) % scratch.players
  return scratch.offsets[player] + graph.entry[node] + graph.stride * turn


@jit.inline
def _write_strategy(graph, tables, scratch, node, heap, strategy, tremble,
                    settings):
  """Writes the strategy at a state; returns the number of actions.

  `strategy` is an [action] float64 pointer. With probability `tremble` the
  strategy is uniform.
  """
  first = _entry(graph, scratch, node, heap)
  count = 2
  if heap == 0:
    count = graph.child_begin[node + 1] - graph.child_begin[node]
  set_kernels.match_regrets(tables.regret, first, scratch.sigma, 0, count,
                            settings.zero, settings.one)
  for a in range(count):
    strategy[a] = (1.0 - tremble) * scratch.sigma[a] + tremble / count
  return count


@jit.inline
def _next(graph, num_nodes, node, heap, action):
  """Returns the state (node, heap) to which an action leads."""
  child = np.int64(node)
  child_heap = np.int64(2 * heap + action)
  masks = np.int64(1) << np.int64(graph.deciders[node])
  if heap == 0 or child_heap >= masks:
    edge = graph.child_begin[node] + (action if heap == 0 else
                                      child_heap - masks)
    child = np.int64(graph.child[edge])
    child_heap = np.int64(0)
    if child < num_nodes:
      child_heap = np.int64(graph.deciders[child] > 0)
  return child, child_heap


@jit.inline
def _push_children(graph, tables, scratch, player, size, total, settings):
  """Visits the state on top of the stack, at which one player acts.

  Its children go onto the stack, except terminals and pruned branches.

  Args:
    graph: pointers.
    tables: pointers.
    scratch: pointers.
    player: the player whose utility is computed.
    size: the size of the stack below the state.
    total: the utility so far, times weights.
    settings: the `PassThroughSettings`.

  Returns:
    (size, total): the new size, and the utility with what ends here.
  """
  stack, weights, value = scratch.stack, scratch.weights, scratch.value
  is_drawn = settings.num_playouts > 0.0
  node, weight = stack[2 * size], weights[size]
  first_edge = graph.child_begin[node]
  count = _write_strategy(graph, tables, scratch, node, 0, scratch.strategy,
                          settings.tremble, settings)
  undrawn_probability, undrawn = 1.0, weight
  for a in range(count):
    probability = scratch.strategy[a]
    if probability <= 0.0:
      continue
    child_weight = weight * probability
    if is_drawn:
      child_weight = undrawn
      if probability < undrawn_probability:
        child_weight = random_streams.binomial(
            undrawn, probability / undrawn_probability, settings.stream,
            scratch.counter)
      undrawn -= child_weight
      undrawn_probability -= probability
    if child_weight < settings.threshold:
      total += child_weight * settings.pruned_value
    elif child_weight > 0.0:
      child = np.int64(graph.child[first_edge + a])
      if child >= scratch.num_nodes:
        total += child_weight * value[scratch.players * child + player]
      else:
        stack[2 * size] = child
        stack[2 * size + 1] = graph.deciders[child] > 0
        weights[size] = child_weight
        size += 1
    if is_drawn and undrawn <= 0.0:
      break
  return size, total


@jit.kernel
def _utility(graph, tables, scratch, player, node, heap, settings):
  """Returns a player's utility at a state, by a depth-first traversal."""
  is_drawn = settings.num_playouts > 0.0
  stack, weights, value = scratch.stack, scratch.weights, scratch.value
  stack[0], stack[1] = node, heap
  weights[0] = settings.num_playouts if is_drawn else 1.0
  size, total = 1, 0.0
  while size:
    size -= 1
    node, heap, weight = stack[2 * size], stack[2 * size + 1], weights[size]
    if node >= scratch.num_nodes or graph.actor[node] == _TERMINAL:
      total += weight * value[scratch.players * node + player]
    elif graph.actor[node] == _CHANCE:
      edge = graph_kernels.sampled_edge(graph, node, settings.seed,
                                        settings.iteration)
      action = edge - graph.child_begin[node]
      stack[2 * size], stack[2 * size + 1] = _next(graph, scratch.num_nodes,
                                                   node, heap, action)
      size += 1
    elif heap:
      total += _decide(graph, tables, scratch, player, node, heap, weight,
                       settings)
      passed = scratch.state_weights[1 << graph.deciders[node]]
      if passed > 0.0:
        stack[2 * size] = graph.child[graph.child_begin[node]]
        stack[2 * size + 1] = 0
        weights[size] = passed
        size += 1
    else:
      size, total = _push_children(graph, tables, scratch, player, size, total,
                                   settings)
  return total / settings.num_playouts if is_drawn else total


@jit.kernel
def _decide(graph, tables, scratch, player, node, heap, weight, settings):
  """Visits the states of a node of decisions, from state `heap` on.

  Writes the weight with which all pass and the game continues, unless it is
  pruned, to `scratch.state_weights` at 2^deciders. `weight` is the first
  state's probability or number of playouts.

  Returns:
    The player's utility of what ends here, times its weight.
  """
  players, sigma = scratch.players, scratch.sigma
  state_weights = scratch.state_weights
  is_drawn, tremble = settings.num_playouts > 0.0, settings.tremble
  half = settings.one / (settings.one + settings.one)
  deciders = np.int64(graph.deciders[node])
  first, entry = np.int64(graph.actor[node]), graph.entry[node]
  edge = graph.child_begin[node]
  masks = np.int64(1) << deciders
  for h in range(heap, masks + 1):
    state_weights[h] = 0.0
  state_weights[heap] = weight
  decider = first
  for turn in range(deciders):
    e = scratch.offsets[decider] + entry + graph.stride * turn
    p, _ = set_kernels.match_two(tables.regret, np.uintp(e), settings.zero,
                                 half)
    sigma[turn] = p
    decider = decider + 1 if decider + 1 < players else 0
  total = 0.0
  layer = 0
  while heap >> (layer + 1):
    layer += 1
  for h in range(heap, masks):
    if h >> (layer + 1):
      layer += 1
    state_weight = state_weights[h]
    if state_weight == 0.0:
      continue
    probability = (1.0 - tremble) * np.float64(sigma[layer]) + 0.5 * tremble
    passing = state_weight * probability
    if is_drawn:
      passing = random_streams.binomial(state_weight, probability,
                                        settings.stream, scratch.counter)
    for a in range(2):
      child_weight = state_weight - passing if a else passing
      if child_weight <= 0.0:
        continue
      child = 2 * h + a
      if child_weight < settings.threshold:
        total += child_weight * settings.pruned_value
      elif child <= masks:
        state_weights[child] = child_weight
      else:
        leaf = np.int64(graph.child[edge + child - masks])
        total += child_weight * scratch.value[players * leaf + player]
  return total


@jit.kernel
def _play(graph, tables, scratch, settings):
  """Plays one game and learns on the way."""
  tremble, own = settings.tremble, scratch.own_strategy
  utility = scratch.utility
  scratch.counter[0] = scratch.players - 1
  node, heap = np.int64(0), np.int64(graph.deciders[0] > 0)
  while node < scratch.num_nodes and graph.actor[node] != _TERMINAL:
    if graph.actor[node] == _CHANCE:
      edge = graph_kernels.sampled_edge(graph, node, settings.seed,
                                        settings.iteration)
      node, heap = _next(graph, scratch.num_nodes, node, heap,
                         edge - graph.child_begin[node])
      continue
    player = (np.int64(graph.actor[node]) + _turn(heap)) % scratch.players
    count = _write_strategy(graph, tables, scratch, node, heap, own, 0.0,
                            settings)
    mean = 0.0
    for a in range(count):
      child, child_heap = _next(graph, scratch.num_nodes, node, heap, a)
      utility[a] = _utility(graph, tables, scratch, player, child, child_heap,
                            settings)
      mean += own[a] * (utility[a] - utility[0])
    mean += utility[0]
    first = _entry(graph, scratch, node, heap)
    quantile = random_streams.draw(settings.stream, scratch.counter)
    for a in range(count):
      tables.regret[first + a] += utility[a] - mean
      tables.cumulative[first + a] += settings.weight * own[a]
    played = 0
    for a in range(count):
      probability = (1.0 - tremble) * own[a] + tremble / count
      if probability > 0.0:
        played = a
        if quantile < probability:
          break
        quantile -= probability
    node, heap = _next(graph, scratch.num_nodes, node, heap, played)


@jit.inline
def iterate(graph, dice, tables, scratch, plan, thread, i):
  """Runs iteration i of a plan with SETTINGS, in the scratch of a thread.

  The tables and the scratch, here a plain tuple, are modified in place.
  """
  scratches = PassThroughScratch(*scratch)
  graph_kernels.deal(graph, dice, plan.rolls[i], scratches.offsets[thread],
                     scratches.value[thread], scratches.players)
  _play(graph_kernels.thread_pointers(graph, thread),
        graph_kernels.thread_pointers(tables, thread),
        graph_kernels.thread_pointers(scratches, thread),
        _iteration_settings(plan, i, tables.regret))
