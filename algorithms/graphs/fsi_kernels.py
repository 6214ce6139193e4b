"""Kernels of fixed-strategy iteration with pruning, for n players.

Gendre & Kaneko (2019), sections 3.3.1 and 3.3.2. A node has a status: 0, nobody
asks for it; 1, unflagged; 1 + g, flagged in generation g: it is the g-th of
consecutive flagged nodes. Parents may give it different ones, and the lowest
above 0 counts. `fsi_scratch` says which reaches a node has.

All kernels on nodes take some of these:

  graph: the `graph_arrays.GraphArrays`, of pointers.
  tables: the `tables.RegretTables`, of pointers.
  scratch: the `fsi_scratch.FSIScratch` of the thread.
  settings: the `fsi_scratch.IterationSettings`.
  node: the number of a node, and `player`, who acts there.
"""

import numba
import numpy as np

from dudo_spiel.algorithms.graphs import decision_kernels
from dudo_spiel.algorithms.graphs import fsi_scratch
from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.runtime import simd

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL
_UNFLAGGED = decision_kernels.UNFLAGGED
_GROUP_BITS = fsi_scratch.GROUP_BITS
MAX_DEPTH = 250

_0 = np.uintp(0)


@jit.inline
def _split(scratch, node, player, tiny):
  """Splits a node's reaches by whether an action's probability counts.

  Writes `kept` and `shared` of the scratch. Reaches up to `tiny` become zero.
  """
  seats = np.uintp(scratch.seats)
  n = (seats + seats) * np.uintp(node)
  kept, shared = scratch.kept, scratch.shared
  zeros = simd.splat(tiny - tiny)
  for quad in range(_0, seats, simd.STEP):
    x = simd.keep_above(simd.load(scratch.reach, n + quad), tiny)
    simd.store(scratch.reach, n + quad, x)
    simd.store(shared, quad, x)
    simd.store(kept, quad, zeros)
    x = simd.keep_above(simd.load(scratch.reach, n + seats + quad), tiny)
    simd.store(scratch.reach, n + seats + quad, x)
    simd.store(shared, seats + quad, zeros)
    simd.store(kept, seats + quad, x)
  p = np.uintp(player)
  kept[p], shared[p] = shared[p], kept[p]
  p += seats
  kept[p], shared[p] = shared[p], kept[p]


@jit.inline
def _pass_on(scratch, child, share):
  """Adds a node's reaches to a child's: algorithm 1 of the paper.

  `_split` comes before it. The action that leads to the child has the
  probability `share`.
  """
  reach, size = scratch.reach, np.uintp(scratch.seats + scratch.seats)
  to = size * np.uintp(child)
  shares = simd.splat(share)
  for quad in range(_0, size, simd.STEP):
    x = (simd.load(scratch.kept, quad) +
         shares * simd.load(scratch.shared, quad))
    simd.store(reach, to + quad, simd.load(reach, to + quad) + x)


@jit.inline
def _ask(scratch, child, status):
  """Gives a child a status, unless it has a lower one."""
  old = scratch.status[child]
  if old == 0 or old > status:
    scratch.status[child] = status
  scratch.group[child >> _GROUP_BITS] = 1


@jit.kernel
def _forward(graph, tables, scratch, settings):
  """Goes forward once: strategies, reaches, averages and flags.

  Returns:
    How many nodes are visited.
  """
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
      mine = status[node]
      if mine == 0:
        continue
      visited[count] = node
      count += 1
      player = graph.actor[node]
      if player == _TERMINAL or mine > 1 + settings.depth:
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
        _ask(scratch, child, mine)
      else:
        _act(graph, tables, scratch, node, player, settings)
    group[g] = 0
  return count


@jit.inline
def _act(graph, tables, scratch, node, player, settings):
  """Goes forward through a node at which one player acts."""
  zero, one, strategy = settings.zero, settings.one, scratch.strategy
  _split(scratch, node, player, settings.tiny)
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  entry = scratch.offsets[player] + graph.entry[node]
  set_kernels.match_regrets(tables.regret, entry, strategy, begin, end - begin,
                            zero, one)
  least = -one  # a child's probability must be above it
  mine = scratch.status[node]
  theirs = mine + 1
  if mine == _UNFLAGGED:
    first = 2 * scratch.seats * node + player
    own = scratch.reach[first + scratch.seats] * settings.weight
    set_kernels.add_strategy(tables.cumulative, entry, strategy, begin,
                             end - begin, own)
    if not (scratch.reach[first] < settings.reach_threshold and
            decision_kernels.flag_number(
                settings.seed, settings.iteration, scratch.players, node,
                0) < settings.flag_probability):
      theirs = _UNFLAGGED
  else:
    least = settings.action_threshold
  set_kernels.tremble_at(strategy, begin, end - begin, settings.tremble, one)
  for edge in range(begin, end):
    child, share = graph.child[edge], strategy[edge]
    if child < scratch.num_nodes and share > least:
      _pass_on(scratch, child, share)
      _ask(scratch, child, theirs)


@jit.inline
def _average(graph, scratch, node, base, least):
  """Writes the value of a node: a base's plus the mean difference to it.

  The base is the node with whose values others are compared. Only actions with
  a probability above `least` count.
  """
  value, seats = scratch.value, np.uintp(scratch.seats)
  for quad in range(_0, seats, simd.STEP):
    bases = simd.load(value, seats * np.uintp(base) + quad)
    x = bases
    for edge in range(graph.child_begin[node], graph.child_begin[node + 1]):
      share = scratch.strategy[edge]
      if share > least:
        c = seats * np.uintp(graph.child[edge]) + quad
        x += simd.splat(share) * (simd.load(value, c) - bases)
    simd.store(value, seats * np.uintp(node) + quad, x)


@jit.inline
def _learn(graph, tables, scratch, node, player, settings):
  """Adds to the regrets at a node at which one player acts.

  The value of the node must be known.
  """
  zero, one, tremble = settings.zero, settings.one, settings.tremble
  seats, action_values = scratch.seats, scratch.action_values
  weight = scratch.reach[2 * seats * node + player]
  if weight == zero:
    return
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  for a in range(end - begin):
    action_values[a] = scratch.value[seats * graph.child[begin + a] + player]
  mean = scratch.value[seats * node + player]
  if tremble > zero:  # what the strategy gets if it does not tremble
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
  """Goes backward once: values of all players, then regrets.

  A value is summed as differences to the value of an action that is played, so
  that rounding does not make up regrets. The `count` nodes that were visited
  get their reaches and statuses back to zero.
  """
  value, seats = scratch.value, scratch.seats
  zeros = simd.splat(settings.zero)
  for i in range(count - 1, -1, -1):
    node = np.int64(scratch.visited[i])
    player, mine = graph.actor[node], scratch.status[node]
    if player == _TERMINAL:
      pass
    elif mine > 1 + settings.depth:
      for q in range(seats):
        value[seats * node + q] = settings.pruned_value
    elif graph.deciders[node]:
      decision_kernels.backward(graph, tables, scratch, node, settings)
    elif player == _CHANCE:
      child = graph.child[graph_kernels.sampled_edge(
          graph, node, settings.seed, settings.iteration)]
      for q in range(seats):
        value[seats * node + q] = value[seats * child + q]
    elif mine == _UNFLAGGED:
      played = graph.child_begin[node]
      while scratch.strategy[played] == settings.zero:
        played += 1
      _average(graph, scratch, node, graph.child[played], -settings.one)
      _learn(graph, tables, scratch, node, player, settings)
    else:
      for q in range(seats):
        value[seats * node + q] = settings.pruned_value
      _average(graph, scratch, node, node, settings.action_threshold)
    scratch.status[node] = 0
    for quad in range(_0, np.uintp(2 * seats), simd.STEP):
      simd.store(scratch.reach, np.uintp(2 * seats * node) + quad, zeros)


@jit.inline
def _iterate(graph, dice, tables, scratch, plan, thread, i):
  """Runs one iteration of a plan, in the scratch of a thread."""
  rolls, offsets = plan.rolls[i], scratch.offsets[thread]
  for player in range(len(rolls)):
    offsets[player] = rolls[player] * graph.num_entries
  if len(dice.cumulative):
    value = scratch.value[thread]
    graph_kernels.write_returns(dice, len(graph.actor), rolls,
                                value.reshape(value.size), value.shape[1])
  settings = fsi_scratch.iteration_settings(plan, i, tables.regret)
  nodes = graph_kernels.graph_pointers(graph)
  sums = graph_kernels.table_pointers(tables)
  mine = fsi_scratch.scratch_of_thread(scratch, thread)
  count = _forward(nodes, sums, mine, settings)
  _backward(nodes, sums, mine, settings, count)


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
  scratch = fsi_scratch.FSIScratch(*scratch)
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
