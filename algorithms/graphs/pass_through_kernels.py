"""Kernels of pass-through CFR, pruned or by Monte Carlo.

Gendre & Kaneko (2019), section 3.2; `pass_through` says what an iteration does.
A state is a node and a heap number: that of the state at a node of decisions
(see `game_graph`), and 0 at all other nodes. Utilities are float64, whatever
the type of the tables.

All kernels on states take some of these:

  graph: the `graph_arrays.GraphArrays`, of pointers.
  tables: the `tables.RegretTables`, of pointers.
  scratch: the `PassThroughScratch` of the thread.
  settings: the `PassThroughSettings`.
  node: the node of a state, and `heap`, its heap number.
"""

from typing import Any
from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import regret_tables

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL

# The settings of an iteration as solvers write them.
SETTINGS = np.dtype([
    *graph_kernels.COMMON_SETTINGS,
    ("threshold", np.float64),  # branches that are less likely are pruned
    ("num_playouts", np.float64),  # of an action; 0 for exact utilities
])


class PassThroughSettings(NamedTuple):
  """An iteration and its settings, float64 where not said.

  Attributes:
    seed: uint64, for all random numbers.
    iteration: int64, the number of the iteration.
    stream: uint64, where its stream of random numbers begins.
    zero: 0 in the type of the tables.
    one: 1 likewise.
    tremble: how likely players tremble.
    weight: the weight in averages.
    pruned_value: what pruned branches are worth.
    threshold: below which probability a branch is pruned.
    num_playouts: how many playouts an action has; 0 for exact utilities.
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
  """What iterations work in, and sizes.

  The solver owns the arrays, which have an axis more, [thread, ...]. Kernels
  get pointers to what one thread has, as below.

  Attributes:
    offsets: [player] int64, where the player's column begins.
    value: [(node or terminal) * players + player] float64.
    stack: [2 * any] int64, states (node, heap) that are still to be seen.
    weights: [any] float64, their probabilities or playouts.
    shares: [action] float64, the strategy at a state.
    own: [action] float64, that of who plays.
    utility: [action] float64, what each action is worth to who plays.
    parts: [heap] float64, weights of the states of one node.
    sigma: [action], a strategy in the type of the tables.
    counter: [1] int64, the number of the stream that was drawn last.
    num_nodes: how many nodes there are, and so the first terminal.
    players: how many players there are.
  """
  offsets: Any
  value: Any
  stack: Any
  weights: Any
  shares: Any
  own: Any
  utility: Any
  parts: Any
  sigma: Any
  counter: Any
  num_nodes: int
  players: int


def new_scratch(graph, dtype, threads):
  """Returns the `PassThroughScratch` of a solver.

  At each node of a path the stack keeps at most the node's other children.

  Args:
    graph: the `game_graph.Graph`.
    dtype: the type of the tables.
    threads: how many threads there are.
  """
  degree = max(graph.max_degree, 2)
  size = degree * (graph_kernels.longest_path(graph.arrays) + 1)

  def small(size, dtype=np.float64):
    return graph_kernels.thread_rows(threads, size, dtype)

  return PassThroughScratch(
      offsets=small(graph.num_players, np.int64),
      value=np.tile(graph.returns.ravel(), (threads, 1)),
      stack=small(2 * size, np.int64), weights=small(size),
      shares=small(degree), own=small(degree), utility=small(degree),
      parts=small(2 * degree), sigma=small(degree, dtype),
      counter=small(1, np.int64), num_nodes=graph.num_nodes,
      players=graph.num_players)


@jit.kernel
def _scratch_of_thread(scratch, thread):
  """Returns the `PassThroughScratch` of one thread, with pointers."""
  return PassThroughScratch(
      jit.pointer(scratch.offsets[thread]), jit.pointer(scratch.value[thread]),
      jit.pointer(scratch.stack[thread]), jit.pointer(scratch.weights[thread]),
      jit.pointer(scratch.shares[thread]), jit.pointer(scratch.own[thread]),
      jit.pointer(scratch.utility[thread]), jit.pointer(scratch.parts[thread]),
      jit.pointer(scratch.sigma[thread]), jit.pointer(scratch.counter[thread]),
      scratch.num_nodes, scratch.players)


@jit.kernel
def _iteration_settings(plan, i, table):
  """Returns the `PassThroughSettings` of an iteration.

  Args:
    plan: the `graph_kernels.IterationPlan`, with SETTINGS.
    i: which of its iterations.
    table: an array of the type of the tables.
  """
  settings, number = plan.settings[i], table.dtype.type
  return PassThroughSettings(
      plan.seed, plan.numbers[i],
      random_streams.stream(plan.seed, plan.numbers[i]), number(0.0),
      number(1.0), settings.tremble, settings.weight, settings.pruned_value,
      settings.threshold, settings.num_playouts)


@jit.inline
def _turn(heap):
  """Returns how many have decided before at a state."""
  turn, rest = 0, heap
  while rest > 1:
    turn += 1
    rest >>= 1
  return turn


@jit.inline
def _entry(graph, scratch, node, heap):
  """Returns the first entry of the information set at a state."""
  turn = _turn(heap)
  player = (graph.actor[node] + turn) % scratch.players
  return scratch.offsets[player] + graph.entry[node] + graph.stride * turn


@jit.inline
def _write_shares(graph, tables, scratch, node, heap, shares, tremble,
                  settings):
  """Writes the strategy at a state to `shares`; it trembles.

  Returns:
    How many actions there are.
  """
  first = _entry(graph, scratch, node, heap)
  count = 2
  if heap == 0:
    count = graph.child_begin[node + 1] - graph.child_begin[node]
  set_kernels.match_regrets(tables.regret, first, scratch.sigma, 0, count,
                            settings.zero, settings.one)
  for a in range(count):
    shares[a] = (1.0 - tremble) * scratch.sigma[a] + tremble / count
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


@jit.kernel
def _utility(graph, tables, scratch, player, node, heap, settings):
  """Returns a player's utility at a state."""
  players, threshold = scratch.players, settings.threshold
  is_drawn = settings.num_playouts > 0.0
  stack, weights, value = scratch.stack, scratch.weights, scratch.value
  stack[0], stack[1] = node, heap
  weights[0] = settings.num_playouts if is_drawn else 1.0
  size, total = 1, 0.0
  while size:
    size -= 1
    node, heap, weight = stack[2 * size], stack[2 * size + 1], weights[size]
    if node >= scratch.num_nodes or graph.actor[node] == _TERMINAL:
      total += weight * value[players * node + player]
      continue
    if graph.actor[node] == _CHANCE:
      edge = graph_kernels.sampled_edge(graph, node, settings.seed,
                                        settings.iteration)
      action = edge - graph.child_begin[node]
      stack[2 * size], stack[2 * size + 1] = _next(graph, scratch.num_nodes,
                                                   node, heap, action)
      size += 1
      continue
    first_edge = graph.child_begin[node]
    if heap:
      total += _decide(graph, tables, scratch, player, node, heap, weight,
                       settings)
      left = scratch.parts[1 << graph.deciders[node]]
      if left > 0.0:  # all have passed
        stack[2 * size], stack[2 * size + 1] = graph.child[first_edge], 0
        weights[size] = left
        size += 1
      continue
    count = _write_shares(graph, tables, scratch, node, 0, scratch.shares,
                          settings.tremble, settings)
    rest = 1.0
    left = weight
    for a in range(count):
      share = scratch.shares[a]
      if share <= 0.0:
        continue
      part = weight * share
      if is_drawn:
        part = left
        if share < rest:
          part = random_streams.binomial(left, share / rest, settings.stream,
                                         scratch.counter)
        left -= part
        rest -= share
      if part < threshold:
        total += part * settings.pruned_value
      elif part > 0.0:
        child = np.int64(graph.child[first_edge + a])
        if child >= scratch.num_nodes:
          total += part * value[players * child + player]
        else:
          stack[2 * size] = child
          stack[2 * size + 1] = graph.deciders[child] > 0
          weights[size] = part
          size += 1
      if is_drawn and left <= 0.0:
        break
  return total / settings.num_playouts if is_drawn else total


@jit.kernel
def _decide(graph, tables, scratch, player, node, heap, weight, settings):
  """Goes through the states of a node of decisions, from one of them on.

  That one has a weight, its probability or playouts. What passes on to the next
  claim, unless it is pruned, stands in `scratch.parts`, at 2^deciders.

  Returns:
    The player's utility of what ends here, times its weight.
  """
  players, parts, sigma = scratch.players, scratch.parts, scratch.sigma
  is_drawn, tremble = settings.num_playouts > 0.0, settings.tremble
  half = settings.one / (settings.one + settings.one)
  deciders = np.int64(graph.deciders[node])
  first, entry = np.int64(graph.actor[node]), graph.entry[node]
  edge = graph.child_begin[node]
  masks = np.int64(1) << deciders
  for h in range(heap, masks + 1):
    parts[h] = 0.0
  parts[heap] = weight
  who = first
  for turn in range(deciders):
    e = scratch.offsets[who] + entry + graph.stride * turn
    p, _ = set_kernels.match_two(tables.regret, np.uintp(e), settings.zero,
                                 half)
    sigma[turn] = p
    who = who + 1 if who + 1 < players else 0
  total = 0.0
  layer = 0
  while heap >> (layer + 1):
    layer += 1
  for h in range(heap, masks):
    if h >> (layer + 1):
      layer += 1
    here = parts[h]
    if here == 0.0:
      continue
    chance = (1.0 - tremble) * np.float64(sigma[layer]) + 0.5 * tremble
    passing = here * chance
    if is_drawn:
      passing = random_streams.binomial(here, chance, settings.stream,
                                        scratch.counter)
    for a in range(2):
      part = here - passing if a else passing
      if part <= 0.0:
        continue
      child = 2 * h + a
      if part < settings.threshold:
        total += part * settings.pruned_value
      elif child <= masks:
        parts[child] = part
      else:
        leaf = np.int64(graph.child[edge + child - masks])
        total += part * scratch.value[players * leaf + player]
  return total


@jit.kernel
def _play(graph, tables, scratch, settings):
  """Plays one game and learns on the way."""
  tremble, own, utility = settings.tremble, scratch.own, scratch.utility
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
    count = _write_shares(graph, tables, scratch, node, heap, own, 0.0,
                          settings)
    mean = 0.0
    for a in range(count):
      child, child_heap = _next(graph, scratch.num_nodes, node, heap, a)
      utility[a] = _utility(graph, tables, scratch, player, child, child_heap,
                            settings)
      mean += own[a] * (utility[a] - utility[0])
    mean += utility[0]
    first = _entry(graph, scratch, node, heap)
    rest = random_streams.draw(settings.stream, scratch.counter)
    for a in range(count):
      tables.regret[first + a] += utility[a] - mean
      tables.cumulative[first + a] += settings.weight * own[a]
    played = 0
    for a in range(count):
      share = (1.0 - tremble) * own[a] + tremble / count
      if share > 0.0:
        played = a
        if rest < share:
          break
        rest -= share
    node, heap = _next(graph, scratch.num_nodes, node, heap, played)


@jit.inline
def _iterate(graph, dice, tables, scratch, plan, thread, i):
  """Runs one iteration of a plan, in the scratch of a thread."""
  rolls, offsets = plan.rolls[i], scratch.offsets[thread]
  for player in range(len(rolls)):
    offsets[player] = rolls[player] * graph.num_entries
  if len(dice.cumulative):
    graph_kernels.write_returns(dice, len(graph.actor), rolls,
                                scratch.value[thread], len(rolls))
  settings = _iteration_settings(plan, i, tables.regret)
  _play(graph_kernels.graph_pointers(graph),
        graph_kernels.table_pointers(tables),
        _scratch_of_thread(scratch, thread), settings)


@jit.kernel
def run(graph, dice, tables, scratch, plan, count):
  """Runs iterations one after the other.

  Args:
    graph: the `graph_arrays.GraphArrays`.
    dice: the `graph_arrays.DiceOutcomes`.
    tables: the `tables.RegretTables`, modified in place.
    scratch: the solver's scratch, modified in place.
    plan: the `graph_kernels.IterationPlan`.
    count: [1] int64, how many iterations were ever run; counted up.
  """
  for i in range(len(plan.numbers)):
    _iterate(graph, dice, tables, scratch, plan, 0, i)
    count[0] += 1


@jit.kernel
def _run_share(graph, dice, tables, scratch, plan, level, thread):
  """Runs a thread's share of the iterations of a level.

  The first five are plain tuples, which alone can go to threads.
  """
  graph = graph_arrays.GraphArrays(*graph)
  dice = graph_arrays.DiceOutcomes(*dice)
  tables = regret_tables.RegretTables(*tables)
  scratch = PassThroughScratch(*scratch)
  plan = graph_kernels.IterationPlan(*plan)
  begin, end = plan.level_begin[level], plan.level_begin[level + 1]
  for i in range(begin + thread, end, len(scratch.offsets)):
    _iterate(graph, dice, tables, scratch, plan, thread, i)


@jit.kernel(parallel=True)
def run_parallel(graph, dice, tables, scratch, plan, count):
  """Runs iterations level by level, those of a level at the same time.

  It takes what `run` takes, and a plan that is sorted by level.
  """
  threads = len(scratch.offsets)
  plain_graph, plain_dice, plain_tables = graph[:], dice[:], tables[:]
  plain_scratch, plain_plan = scratch[:], plan[:]
  for level in range(len(plan.level_begin) - 1):
    for thread in numba.prange(threads):
      _run_share(plain_graph, plain_dice, plain_tables, plain_scratch,
                 plain_plan, level, np.int64(thread))
    count[0] += plan.level_begin[level + 1] - plan.level_begin[level]
