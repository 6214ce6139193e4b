"""Kernels of fixed-strategy iteration with pruning, for n players.

Gendre & Kaneko (2019), sections 3.3.1 and 3.3.2. A node has a status: 0, nobody
asks for it; 1, unflagged; 1 + g, flagged in generation g: it is the g-th of
consecutive flagged nodes. Parents may give it different ones, and the lowest
above 0 counts.

A node has 2 * seats reaches, each a sum over all paths to it: first, for each
player i, the product of the probabilities of all moves but i's (pi_-i); then,
for each player i, the product of those of i's own moves. There are as many
seats as players, rounded up to a multiple of four: loops over four numbers are
fast. What stands in an empty seat is never looked at.
"""

import numba
import numpy as np

from dudo_spiel.algorithms import blocks
from dudo_spiel.algorithms import deal_graph
from dudo_spiel.algorithms import deal_kernels
from dudo_spiel.algorithms import decision_kernels
from dudo_spiel.algorithms import fsi_solver

_CHANCE = deal_graph.CHANCE
_TERMINAL = deal_graph.TERMINAL
_UNFLAGGED = 1
MAX_DEPTH = 250
_GROUP_BITS = 6  # 64 nodes make a group

_1, _2, _3 = np.uintp(1), np.uintp(2), np.uintp(3)

REACH = decision_kernels.REACH
FLAG = decision_kernels.FLAG
ACTION = decision_kernels.ACTION
DEPTH = decision_kernels.DEPTH
_TREMBLE, _WEIGHT = deal_kernels.TREMBLE, deal_kernels.WEIGHT


def num_groups(num_nodes):
  """Returns how many groups the nodes make."""
  return (num_nodes >> _GROUP_BITS) + 1


@blocks.jit
def _tiny(reach):
  """Returns below what a reach counts as zero: such numbers slow down."""
  return reach.dtype.type(1e-30 if reach.itemsize == 4 else 1e-290)


@blocks.inline_jit
def _split(reach, node, player, seats, tiny, kept, shared):
  """Splits a node's reaches by whether an action's probability counts.

  Args:
    reach: [node * 2 * seats + q], modified in place: what is below `tiny`
      becomes zero.
    node: the node.
    player: who acts there.
    seats: the number of players, rounded up to a multiple of four.
    tiny: float.
    kept: [2 * seats], written: what a child gets whatever the probability of
      the action that leads to it.
    shared: [2 * seats], written: what it gets times that probability.
  """
  for q in range(2 * seats):
    x = reach[2 * seats * node + q]
    if x < tiny:
      reach[2 * seats * node + q] = x = 0.0
    if (q == player) if q < seats else (q != seats + player):
      kept[q], shared[q] = x, 0.0
    else:
      kept[q], shared[q] = 0.0, x


@blocks.inline_jit
def _pass_on(reach, kept, shared, child, seats, share):
  """Adds a node's reaches to a child's: algorithm 1 of the paper.

  Four at a time, as the compiler does not by itself.

  Args:
    reach: [node * 2 * seats + q], modified in place.
    kept: from `_split`.
    shared: from `_split`.
    child: the child.
    seats: as for `_split`.
    share: the probability of the action that leads to the child.
  """
  to = np.uintp(2 * seats) * np.uintp(child)
  for quad in range(0, 2 * seats, 4):
    k = np.uintp(quad)
    x0 = kept[k] + share * shared[k]
    x1 = kept[k + _1] + share * shared[k + _1]
    x2 = kept[k + _2] + share * shared[k + _2]
    x3 = kept[k + _3] + share * shared[k + _3]
    reach[to] += x0
    reach[to + _1] += x1
    reach[to + _2] += x2
    reach[to + _3] += x3
    to += np.uintp(4)


@blocks.jit
def _forward(graph, tables, reach, strategy, status, group, visited, parts,
             mini, offsets, seats, seed, iteration, settings):
  """Goes forward once: strategies, reaches, averages and flags.

  Args:
    graph: the `deal_graph.GraphArrays`.
    tables: the `deal_solver.Tables`; adds to `cumulative`.
    reach: [node * 2 * seats + q], modified in place.
    strategy: [edge], written.
    status: [node] uint8, modified in place.
    group: [group] uint8, whether a node of the group has a status; zero again
      at the end.
    visited: [node] int32, written: the nodes that someone asks for, in order.
    parts: [2, 2 * seats], scratch.
    mini: the `decision_kernels.Scratch`.
    offsets: [player] int64, where the player's column begins.
    seats: as for `_split`.
    seed: uint64.
    iteration: the number of the iteration.
    settings: [7] float64: how likely players tremble, the weight in averages,
      what pruned branches are worth, the reach threshold, the probability to
      flag, the action threshold and the depth.

  Returns:
    How many nodes are visited.
  """
  actor, deciders, child_begin, children, entries, _, _ = graph
  regret, cumulative = tables
  first_terminal = len(actor)
  tiny = _tiny(reach)
  zero, one = reach.dtype.type(0.0), reach.dtype.type(1.0)
  ignored = reach.dtype.type(settings[ACTION])
  below = reach.dtype.type(settings[REACH])
  depth = np.int64(settings[DEPTH])
  kept, shared = parts[0], parts[1]
  tremble = reach.dtype.type(settings[_TREMBLE])
  for q in range(2 * seats):
    reach[q] = 1.0
  status[0] = _UNFLAGGED
  group[0] = 1
  count = 0
  for g in range(len(group)):
    if group[g] == 0:
      continue
    begin_node = g << _GROUP_BITS
    end_node = min(begin_node + (1 << _GROUP_BITS), first_terminal)
    for node in range(begin_node, end_node):
      mine = status[node]
      if mine == 0:
        continue
      visited[count] = node
      count += 1
      player = actor[node]
      if player == _TERMINAL or mine > 1 + depth:
        continue
      if deciders[node]:
        decision_kernels.forward(graph, tables, reach, strategy, status, node,
                                 mini, offsets, seats, seed, iteration,
                                 settings, zero, one)
        child = children[child_begin[node]]
        if status[child]:
          group[child >> _GROUP_BITS] = 1
        continue
      if player == _CHANCE:
        child = children[
            fsi_solver.sampled_edge(graph, node, seed, iteration)]
        for q in range(2 * seats):
          reach[2 * seats * child + q] += reach[2 * seats * node + q]
        if status[child] == 0 or status[child] > mine:
          status[child] = mine
        group[child >> _GROUP_BITS] = 1
        continue
      _split(reach, node, player, seats, tiny, kept, shared)
      begin, end = child_begin[node], child_begin[node + 1]
      entry = offsets[player] + entries[node]
      deal_kernels.match_regrets(regret, entry, strategy, begin, end - begin,
                                 zero, one)
      least = -one  # a child's probability must be above it
      theirs = mine + 1
      if mine == _UNFLAGGED:
        own = (reach[2 * seats * node + seats + player] *
               reach.dtype.type(settings[_WEIGHT]))
        for a in range(np.uintp(end - begin)):
          cumulative[np.uintp(entry) + a] += own * strategy[np.uintp(begin) + a]
        if not (reach[2 * seats * node + player] < below and
                decision_kernels.flag_number(seed, iteration, len(offsets),
                                             node, 0) < settings[FLAG]):
          theirs = _UNFLAGGED
      else:
        least = ignored
      deal_kernels.tremble_at(strategy, begin, end - begin, tremble,
                              one - tremble)
      for edge in range(np.uintp(begin), np.uintp(end)):
        child = np.uintp(children[edge])
        share = strategy[edge]
        if child >= first_terminal or share <= least:
          continue
        _pass_on(reach, kept, shared, child, seats, share)
        if status[child] == 0 or status[child] > theirs:
          status[child] = theirs
        group[child >> np.uintp(_GROUP_BITS)] = 1
    group[g] = 0
  return count


@blocks.inline_jit
def _average(children, strategy, value, begin, end, least, base, to, seats):
  """Writes the value of a node: base plus the mean difference to it.

  Four players at a time.

  Args:
    children: [edge].
    strategy: [edge].
    value: [(node or terminal) * seats + player], modified in place.
    begin: the first edge.
    end: the last edge, plus one.
    least: edges with a probability above it count.
    base: [seats], what a value is compared with.
    to: where the node's values stand.
    seats: as for `_split`.
  """
  for quad in range(0, seats, 4):
    k = np.uintp(quad)
    b0, b1, b2, b3 = base[k], base[k + _1], base[k + _2], base[k + _3]
    x0, x1, x2, x3 = b0, b1, b2, b3
    for edge in range(np.uintp(begin), np.uintp(end)):
      share = strategy[edge]
      if share > least:
        c = np.uintp(seats) * np.uintp(children[edge]) + k
        x0 += share * (value[c] - b0)
        x1 += share * (value[c + _1] - b1)
        x2 += share * (value[c + _2] - b2)
        x3 += share * (value[c + _3] - b3)
    n = np.uintp(to) + k
    value[n] = x0
    value[n + _1] = x1
    value[n + _2] = x2
    value[n + _3] = x3


@blocks.jit
def _backward(graph, tables, reach, value, strategy, status, visited, count,
              parts, mini, offsets, seats, seed, iteration, settings):
  """Goes backward once: values of all players, then regrets.

  A value is summed as differences to the value of an action that is played, so
  that rounding does not make up regrets (`blocks.play_block`).

  Args:
    graph: as for `_forward`.
    tables: the `deal_solver.Tables`; adds to `regret`.
    reach: as from `_forward`; set back to zero.
    value: [(node or terminal) * seats + player]; written but for terminals.
    strategy: as from `_forward`.
    status: as from `_forward`; set back to zero.
    visited: as from `_forward`.
    count: how many nodes were visited.
    parts: as for `_forward`.
    mini: as for `_forward`.
    offsets: as for `_forward`.
    seats: as for `_forward`.
    seed: as for `_forward`.
    iteration: as for `_forward`.
    settings: as for `_forward`.
  """
  actor, deciders, child_begin, children, entries, _, _ = graph
  regret = tables[0]
  depth = np.int64(settings[DEPTH])
  zero, one = value.dtype.type(0.0), value.dtype.type(1.0)
  even = value.dtype.type(settings[deal_kernels.EVEN])
  ignored = value.dtype.type(settings[ACTION])
  tremble = value.dtype.type(settings[_TREMBLE])
  base = parts[0]
  for i in range(count - 1, -1, -1):
    node = visited[i]
    player = actor[node]
    mine = status[node]
    v = seats * node
    begin, end = child_begin[node], child_begin[node + 1]
    if player == _TERMINAL:
      pass
    elif mine > 1 + depth:
      for q in range(seats):
        value[v + q] = even
    elif deciders[node]:
      decision_kernels.backward(graph, tables, reach, value, strategy, status,
                                node, mini, offsets, seats, seed, iteration,
                                settings, zero, one, even)
    elif player == _CHANCE:
      child = children[fsi_solver.sampled_edge(graph, node, seed, iteration)]
      for q in range(seats):
        value[v + q] = value[seats * child + q]
    elif mine == _UNFLAGGED:
      played = begin
      while strategy[played] == zero:
        played += 1
      for q in range(seats):
        base[q] = value[seats * children[played] + q]
      _average(children, strategy, value, begin, end, zero, base, v, seats)
      weight = reach[2 * v + player]
      if weight > zero:
        entry = np.uintp(offsets[player] + entries[node])
        mean = value[v + player]
        if tremble > zero:  # what the strategy gets if it does not tremble
          total = zero
          for edge in range(begin, end):
            total += value[seats * children[edge] + player]
          mean = (mean - tremble * total / value.dtype.type(end - begin)) / (
              one - tremble)
        for a in range(np.uintp(end - begin)):
          c = (np.uintp(seats) * np.uintp(children[np.uintp(begin) + a]) +
               np.uintp(player))
          regret[entry + a] += weight * (value[c] - mean)
    else:
      for q in range(seats):
        base[q] = even
      _average(children, strategy, value, begin, end, ignored, base, v, seats)
    status[node] = 0
    for q in range(2 * seats):
      reach[2 * v + q] = zero


@blocks.jit
def _iterate(graph, deals, tables, space, thread, num_entries, seed, iteration,
             rolls, settings):
  """Runs one iteration on one deal, in the workspace of a thread."""
  graph = deal_kernels.bare_graph(graph)
  tables = blocks.bare(tables[0]), blocks.bare(tables[1])
  reach, value = blocks.bare(space[0][thread]), blocks.bare(space[1][thread])
  strategy = blocks.bare(space[2][thread])
  status, group = blocks.bare(space[3][thread]), blocks.bare(space[4][thread])
  visited, parts = blocks.bare(space[5][thread]), blocks.bare(space[6][thread])
  mini = decision_kernels.scratch(blocks.bare(space[7][thread]),
                                  parts.shape[1] // 2)
  seats = parts.shape[1] // 2
  offsets = rolls * num_entries
  if len(deals[0]):
    deal_kernels.write_returns(deal_graph.DealArrays(*deals), len(graph.actor),
                               rolls, value, seats)
  own = blocks.bare(offsets)
  count = _forward(graph, tables, reach, strategy, status, group, visited,
                   parts, mini, own, seats, seed, iteration, settings)
  _backward(graph, tables, reach, value, strategy, status, visited, count,
            parts, mini, own, seats, seed, iteration, settings)
  return offsets  # kept until here


@blocks.jit
def run(graph, deals, tables, space, num_entries, seed, iterations, rolls,
        settings):
  """Runs iterations one after the other.

  Args:
    graph: the `deal_graph.GraphArrays` as a tuple.
    deals: the `deal_graph.DealArrays` as a tuple.
    tables: the `deal_solver.Tables` as a tuple, modified in place.
    space: (reach, value, strategy, status, group, visited, parts, minis) as in
      `_forward` and `_backward`, each with an axis more, [thread].
    num_entries: how many entries a column has.
    seed: uint64.
    iterations: [iteration] int64, their numbers.
    rolls: [iteration, player] int64.
    settings: [iteration, 7] float64.
  """
  for i in range(len(iterations)):
    _iterate(graph, deals, tables, space, 0, num_entries, seed, iterations[i],
             rolls[i], settings[i])


@blocks.jit
def _run_share(graph, deals, tables, space, num_entries, seed, thread, threads,
               iterations, rolls, settings, begin, end):
  """Runs a thread's share of the iterations begin..end-1."""
  for i in range(begin + thread, end, threads):
    _iterate(graph, deals, tables, space, thread, num_entries, seed,
             iterations[i], rolls[i], settings[i])


@blocks.parallel_jit
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
