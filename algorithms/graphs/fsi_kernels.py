"""Kernels of fixed-strategy iteration with pruning, for n players.

Gendre & Kaneko (2019), sections 3.3.1 and 3.3.2. A node has a status: 0, nobody
asks for it; 1, unflagged; 1 + g, flagged in generation g: it is the g-th of
consecutive flagged nodes. Parents may give it different ones, and the lowest
above 0 counts. `fsi_workspace` says which reaches a node has.
"""

import numba
import numpy as np

from dudo_spiel.algorithms.graphs import decision_kernels
from dudo_spiel.algorithms.graphs import fsi_workspace
from dudo_spiel.algorithms.graphs import fsicfr_solver
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd
from dudo_spiel.algorithms.single_round import graph as single_round_graph

_CHANCE = single_round_graph.CHANCE
_TERMINAL = single_round_graph.TERMINAL
_UNFLAGGED = decision_kernels.UNFLAGGED
_GROUP_BITS = fsi_workspace.GROUP_BITS
MAX_DEPTH = 250

_0 = np.uintp(0)


@jit.inline
def _split(space, node, player, tiny):
  """Splits a node's reaches by whether an action's probability counts.

  Args:
    space: the `fsi_workspace.Workspace`; kept and shared are written, and
      reaches up to `tiny` become zero.
    node: the node.
    player: who acts there.
    tiny: float.
  """
  seats = np.uintp(space.seats)
  n = (seats + seats) * np.uintp(node)
  kept, shared = space.kept, space.shared
  zeros = simd.splat(tiny - tiny)
  for quad in range(_0, seats, simd.STEP):
    x = simd.above(simd.load(space.reach, n + quad), tiny)
    simd.store(space.reach, n + quad, x)
    simd.store(shared, quad, x)
    simd.store(kept, quad, zeros)
    x = simd.above(simd.load(space.reach, n + seats + quad), tiny)
    simd.store(space.reach, n + seats + quad, x)
    simd.store(shared, seats + quad, zeros)
    simd.store(kept, seats + quad, x)
  p = np.uintp(player)
  kept[p], shared[p] = shared[p], kept[p]
  p += seats
  kept[p], shared[p] = shared[p], kept[p]


@jit.inline
def _pass_on(space, child, share):
  """Adds a node's reaches to a child's: algorithm 1 of the paper.

  Args:
    space: the `fsi_workspace.Workspace`, after `_split`.
    child: the child.
    share: the probability of the action that leads to the child.
  """
  size = np.uintp(space.seats + space.seats)
  to = size * np.uintp(child)
  shares = simd.splat(share)
  for quad in range(_0, size, simd.STEP):
    x = (simd.load(space.kept, quad) +
         shares * simd.load(space.shared, quad))
    simd.store(space.reach, to + quad, simd.load(space.reach, to + quad) + x)


@jit.inline
def _ask(space, child, status):
  """Gives a child a status, unless it has a lower one."""
  old = space.status[child]
  if old == 0 or old > status:
    space.status[child] = status
  space.group[child >> _GROUP_BITS] = 1


@jit.kernel
def _forward(graph, tables, space, offsets, settings, seed, iteration):
  """Goes forward once: strategies, reaches, averages and flags.

  Args:
    graph: the `single_round_graph.GraphArrays`, of pointers.
    tables: pointers to (regret, cumulative), both [entry]; adds to the second.
    space: the `fsi_workspace.Workspace`.
    offsets: pointer to [player] int64, where the player's column begins.
    settings: the `fsi_workspace.Settings`.
    seed: uint64.
    iteration: the number of the iteration.

  Returns:
    How many nodes are visited.
  """
  status, group, visited = space.status, space.group, space.visited
  size = 2 * space.seats
  for q in range(size):
    space.reach[q] = settings.one
  status[0] = _UNFLAGGED
  group[0] = 1
  count = 0
  for g in range((space.num_nodes >> _GROUP_BITS) + 1):
    if group[g] == 0:
      continue
    begin = g << _GROUP_BITS
    for node in range(begin, min(begin + (1 << _GROUP_BITS), space.num_nodes)):
      mine = status[node]
      if mine == 0:
        continue
      visited[count] = node
      count += 1
      player = graph.actor[node]
      if player == _TERMINAL or mine > 1 + settings.depth:
        continue
      if graph.deciders[node]:
        decision_kernels.forward(graph, tables, space, node, offsets, settings,
                                 seed, iteration)
        child = graph.child[graph.child_begin[node]]
        if status[child]:
          group[child >> _GROUP_BITS] = 1
      elif player == _CHANCE:
        child = graph.child[
            fsicfr_solver.sampled_edge(graph, node, seed, iteration)]
        for q in range(size):
          space.reach[size * child + q] += space.reach[size * node + q]
        _ask(space, child, mine)
      else:
        _act(graph, tables, space, node, player, offsets, settings, seed,
             iteration)
    group[g] = 0
  return count


@jit.inline
def _act(graph, tables, space, node, player, offsets, settings, seed,
         iteration):
  """Goes forward through a node at which one player acts.

  Args:
    graph: as for `_forward`.
    tables: as for `_forward`.
    space: as for `_forward`.
    node: the node.
    player: who acts there.
    offsets: as for `_forward`.
    settings: as for `_forward`.
    seed: as for `_forward`.
    iteration: as for `_forward`.
  """
  zero, one, strategy = settings.zero, settings.one, space.strategy
  _split(space, node, player, settings.tiny)
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  entry = offsets[player] + graph.entry[node]
  set_kernels.match_regrets(tables[0], entry, strategy, begin, end - begin,
                             zero, one)
  least = -one  # a child's probability must be above it
  mine = space.status[node]
  theirs = mine + 1
  if mine == _UNFLAGGED:
    first = 2 * space.seats * node + player
    own = space.reach[first + space.seats] * settings.weight
    set_kernels.add_strategy(tables[1], entry, strategy, begin, end - begin,
                              own)
    if not (space.reach[first] < settings.reach and
            decision_kernels.flag_number(seed, iteration, space.players, node,
                                         0) < settings.flag):
      theirs = _UNFLAGGED
  else:
    least = settings.action
  set_kernels.tremble_at(strategy, begin, end - begin, settings.tremble, one)
  for edge in range(begin, end):
    child, share = graph.child[edge], strategy[edge]
    if child < space.num_nodes and share > least:
      _pass_on(space, child, share)
      _ask(space, child, theirs)


@jit.inline
def _average(graph, space, node, base, least):
  """Writes the value of a node: base plus the mean difference to it.

  Args:
    graph: as for `_forward`.
    space: as for `_forward`.
    node: the node.
    base: the child or other node whose values others are compared with.
    least: only actions with a probability above it count.
  """
  seats = np.uintp(space.seats)
  for quad in range(_0, seats, simd.STEP):
    bases = simd.load(space.value, seats * np.uintp(base) + quad)
    x = bases
    for edge in range(graph.child_begin[node], graph.child_begin[node + 1]):
      share = space.strategy[edge]
      if share > least:
        c = seats * np.uintp(graph.child[edge]) + quad
        x += simd.splat(share) * (simd.load(space.value, c) - bases)
    simd.store(space.value, seats * np.uintp(node) + quad, x)


@jit.inline
def _learn(graph, regret, space, node, player, offsets, settings):
  """Adds to the regrets at a node at which one player acts.

  Args:
    graph: as for `_forward`.
    regret: pointer to [entry].
    space: as for `_forward`.
    node: the node, whose value is known.
    player: who acts there.
    offsets: as for `_forward`.
    settings: as for `_forward`.
  """
  zero, one, tremble = settings.zero, settings.one, settings.tremble
  weight = space.reach[2 * space.seats * node + player]
  if weight == zero:
    return
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  for a in range(end - begin):
    space.worth[a] = space.value[space.seats * graph.child[begin + a] + player]
  mean = space.value[space.seats * node + player]
  if tremble > zero:  # what the strategy gets if it does not tremble
    total = zero
    for a in range(end - begin):
      total += space.worth[a]
    total /= jit.cast_like(end - begin, one)
    mean = (mean - tremble * total) / (one - tremble)
  set_kernels.add_regrets(regret, offsets[player] + graph.entry[node],
                           space.worth, end - begin, mean, weight)


@jit.kernel
def _backward(graph, tables, space, count, offsets, settings, seed, iteration):
  """Goes backward once: values of all players, then regrets.

  A value is summed as differences to the value of an action that is played, so
  that rounding does not make up regrets (`blocks.play_block`).

  Args:
    graph: as for `_forward`.
    tables: as for `_forward`; adds to the first.
    space: as for `_forward`; reach and status are set back to zero.
    count: how many nodes were visited.
    offsets: as for `_forward`.
    settings: as for `_forward`.
    seed: as for `_forward`.
    iteration: as for `_forward`.
  """
  zero, seats = settings.zero, space.seats
  zeros = simd.splat(zero)
  for i in range(count - 1, -1, -1):
    node = space.visited[i]
    player, mine = graph.actor[node], space.status[node]
    if player == _TERMINAL:
      pass
    elif mine > 1 + settings.depth:
      for q in range(seats):
        space.value[seats * node + q] = settings.even
    elif graph.deciders[node]:
      decision_kernels.backward(graph, tables, space, node, offsets, settings,
                                seed, iteration)
    elif player == _CHANCE:
      child = graph.child[fsicfr_solver.sampled_edge(graph, node, seed, iteration)]
      for q in range(seats):
        space.value[seats * node + q] = space.value[seats * child + q]
    elif mine == _UNFLAGGED:
      played = graph.child_begin[node]
      while space.strategy[played] == zero:
        played += 1
      _average(graph, space, node, graph.child[played], -settings.one)
      _learn(graph, tables[0], space, node, player, offsets, settings)
    else:
      for q in range(seats):
        space.value[seats * node + q] = settings.even
      _average(graph, space, node, node, settings.action)
    space.status[node] = 0
    for quad in range(_0, np.uintp(2 * seats), simd.STEP):
      simd.store(space.reach, np.uintp(2 * seats * node) + quad, zeros)


@jit.kernel
def _iterate(graph, deals, tables, space, thread, num_entries, seed, iteration,
             rolls, settings):
  """Runs one iteration on one deal, in the workspace of a thread."""
  players = len(rolls)
  if len(deals[0]):
    value = space[1][thread]
    set_kernels.write_returns(single_round_graph.DealArrays(*deals), len(graph[0]),
                               rolls, value.reshape(value.size),
                               value.shape[1])
  offsets = rolls * num_entries
  pointers = set_kernels.graph_pointers(graph)
  sums = jit.pointer(tables[0]), jit.pointer(tables[1])
  work = fsi_workspace.workspace(space, thread, players)
  columns = jit.pointer(offsets)
  rule = fsi_workspace.typed_settings(settings, tables[0])
  count = _forward(pointers, sums, work, columns, rule, seed, iteration)
  _backward(pointers, sums, work, count, columns, rule, seed, iteration)
  return offsets  # kept until here


@jit.kernel
def run(graph, deals, tables, space, num_entries, seed, iterations, rolls,
        settings):
  """Runs iterations one after the other.

  Args:
    graph: the `single_round_graph.GraphArrays` as a tuple.
    deals: the `single_round_graph.DealArrays` as a tuple.
    tables: the `deal_solver.Tables` as a tuple, modified in place.
    space: the tuple of `fsi_workspace.new_arrays`.
    num_entries: how many entries a column has.
    seed: uint64.
    iterations: [iteration] int64, their numbers.
    rolls: [iteration, player] int64.
    settings: [iteration, 7] float64.
  """
  for i in range(len(iterations)):
    _iterate(graph, deals, tables, space, 0, num_entries, seed, iterations[i],
             rolls[i], settings[i])


@jit.kernel
def _run_share(graph, deals, tables, space, num_entries, seed, thread, threads,
               iterations, rolls, settings, begin, end):
  """Runs a thread's share of the iterations begin..end-1."""
  for i in range(begin + thread, end, threads):
    _iterate(graph, deals, tables, space, thread, num_entries, seed,
             iterations[i], rolls[i], settings[i])


@jit.parallel
def run_parallel(graph, deals, tables, space, num_entries, seed, threads,
                 iterations, rolls, settings, begins):
  """Runs iterations level by level, those of a level at the same time.

  Args:
    graph: as for `run`.
    deals: as for `run`.
    tables: as for `run`.
    space: as for `run`.
    num_entries: as for `run`.
    seed: as for `run`.
    threads: how many threads there are.
    iterations: as for `run`, sorted by level.
    rolls: as for `run`, likewise.
    settings: as for `run`, likewise.
    begins: [level + 1] int64, where each level begins.
  """
  for level in range(len(begins) - 1):
    for thread in numba.prange(threads):
      _run_share(graph, deals, tables, space, num_entries, seed, thread,
                 threads, iterations, rolls, settings, begins[level],
                 begins[level + 1])
