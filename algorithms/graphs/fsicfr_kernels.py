"""Kernels of fixed-strategy iteration CFR for two players.

Neller & Hnath (2011), algorithm 2; `fsicfr_solver` describes it. The loops
below index arrays and never slice them: the reference count of a slice takes
longer than the work on it. `is_exact` is whether all outcomes of chance are
evaluated.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL
_GROUP_BITS = graph_kernels.GROUP_BITS


class FSICFRScratch(NamedTuple):
  """Scratch of an iteration, in the type of the tables.

  Between iterations `own`, `against` and `group` are zero.

  Attributes:
    strategy: [entry], the strategy of the sets that are reached.
    own: [2 * node + player], pSum of each player, without chance.
    against: [2 * node + player], pSum times the probability of chance; the
      identical array as `own` where chance is sampled.
    value: [node], player 0's value; between iterations zero except at
      terminals.
    reached: [node] int32, the nodes that are reached, in order.
    group: [group] uint8, whether an edge has led into this group of nodes.
  """
  strategy: np.ndarray
  own: np.ndarray
  against: np.ndarray
  value: np.ndarray
  reached: np.ndarray
  group: np.ndarray


def new_scratch(graph, dtype, is_exact):
  """Returns the `FSICFRScratch` of a solver on a `game_graph.Graph`."""
  own = np.zeros(2 * graph.num_nodes, dtype)
  return FSICFRScratch(
      strategy=np.zeros(graph.num_entries, dtype), own=own,
      against=np.zeros_like(own) if is_exact else own,
      value=graph.returns[:, 0].astype(dtype),
      reached=np.zeros(graph.num_nodes, np.int32),
      group=np.zeros((graph.num_nodes >> _GROUP_BITS) + 1, np.uint8))


@jit.kernel
def _forward(graph, tables, scratch, is_exact, seed, iteration):
  """Is the forward pass (lines 3 to 25 of algorithm 2): pSums, averages.

  It returns the number of nodes reached.
  """
  actor, child_begin, children = graph.actor, graph.child_begin, graph.child
  entries, chances = graph.entry, graph.chance
  regret, cumulative = tables.regret, tables.cumulative
  strategy, own, against = scratch.strategy, scratch.own, scratch.against
  reached, group = scratch.reached, scratch.group
  zero, one = regret.dtype.type(0.0), regret.dtype.type(1.0)
  for q in range(2):
    own[q] = against[q] = 1.0
  group[0] = 1
  count = 0
  for g in range(len(group)):
    if group[g] == 0:
      continue
    first = g << _GROUP_BITS
    for node in range(first, min(first + (1 << _GROUP_BITS), len(actor))):
      if own[2 * node] == 0.0 and own[2 * node + 1] == 0.0:
        continue
      reached[count] = node
      count += 1
      player, entry = actor[node], entries[node]
      begin, end = child_begin[node], child_begin[node + 1]
      if player >= 0:
        set_kernels.match_regrets(regret, entry, strategy, entry, end - begin,
                                  zero, one)
        mine, theirs = own[2 * node + player], own[2 * node + 1 - player]
        for a in range(end - begin):
          child = children[begin + a]
          played = strategy[entry + a] * mine
          cumulative[entry + a] += played
          own[2 * child + player] += played
          own[2 * child + 1 - player] += theirs
          group[child >> _GROUP_BITS] = 1
        if is_exact:
          mine = against[2 * node + player]
          theirs = against[2 * node + 1 - player]
          for a in range(end - begin):
            child = children[begin + a]
            against[2 * child + player] += strategy[entry + a] * mine
            against[2 * child + 1 - player] += theirs
      elif player == _CHANCE and is_exact:
        for a in range(end - begin):
          chance, child = chances[entry + a], children[begin + a]
          if chance > 0.0:
            for q in range(2):
              own[2 * child + q] += own[2 * node + q]
              against[2 * child + q] += chance * against[2 * node + q]
            group[child >> _GROUP_BITS] = 1
      elif player == _CHANCE:
        child = children[graph_kernels.sampled_edge(graph, node, seed,
                                                    iteration)]
        for q in range(2):
          own[2 * child + q] += own[2 * node + q]
        group[child >> _GROUP_BITS] = 1
    group[g] = 0
  return count


@jit.kernel
def _backward(graph, tables, scratch, is_exact, seed, iteration, count):
  """Is the backward pass (lines 26 to 45): values, then regrets.

  A node's value is a sum of differences to the value of the first action that
  is played, so that rounding errors do not look like regrets. The pSums of the
  `count` reached nodes become zero again.
  """
  actor, child_begin, children = graph.actor, graph.child_begin, graph.child
  entries, regret, value = graph.entry, tables.regret, scratch.value
  strategy, own, against = scratch.strategy, scratch.own, scratch.against
  reached = scratch.reached
  for i in range(count - 1, -1, -1):
    node = reached[i]
    player, entry = actor[node], entries[node]
    begin, end = child_begin[node], child_begin[node + 1]
    if player >= 0:
      played = 0
      while begin + played < end - 1 and strategy[entry + played] == 0.0:
        played += 1
      first = value[children[begin + played]]
      total = first
      for a in range(played + 1, end - begin):
        total += strategy[entry + a] * (value[children[begin + a]] - first)
      value[node] = total
      weight = against[2 * node + 1 - player]
      if weight > 0.0:
        if player == 1:
          weight = -weight  # values are player 0's
        for a in range(end - begin):
          regret[entry + a] += weight * (value[children[begin + a]] - total)
    elif player == _CHANCE and is_exact:
      value[node] = _mean(graph, value, node)
    elif player == _CHANCE:
      value[node] = value[children[graph_kernels.sampled_edge(
          graph, node, seed, iteration)]]
    for q in range(2):
      own[2 * node + q] = against[2 * node + q] = 0.0
  # The value of a node that the next iteration skips must be zero.
  for i in range(count):
    if actor[reached[i]] != _TERMINAL:
      value[reached[i]] = 0.0


@jit.kernel
def _mean(graph, value, node):
  """Returns the expected value of a chance node."""
  total = 0.0
  begin = graph.child_begin[node]
  for edge in range(begin, graph.child_begin[node + 1]):
    chance = graph.chance[graph.entry[node] + edge - begin]
    total += chance * value[graph.child[edge]]
  return total


@jit.kernel
def run(graph, tables, scratch, is_exact, seed, iterations, count):
  """Runs iterations.

  Args:
    graph: the `graph_arrays.GraphArrays`.
    tables: the `regret_tables.RegretTables`, modified in place.
    scratch: the `FSICFRScratch`, modified in place.
    is_exact: whether all outcomes of chance are evaluated.
    seed: uint64, for the outcomes of chance.
    iterations: number of iterations to run.
    count: [1] int64, number of iterations ever run; counted up.
  """
  for _ in range(iterations):
    number = count[0] + 1
    reached = _forward(graph, tables, scratch, is_exact, seed, number)
    _backward(graph, tables, scratch, is_exact, seed, number, reached)
    count[0] = number
