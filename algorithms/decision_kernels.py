"""Kernels for nodes at which players decide in turn without seeing each other.

In `dudo_single_round` all but the claimer pass or challenge. A node of
decisions (see `deal_graph`) stands for 2^d - 1 states of d players; all states
of one player are the same information set. Where nothing can be flagged the
sums over these states have a simple form; where something can, the states are
gone through one by one, as in `pfsi_kernels`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms import blocks
from dudo_spiel.algorithms import deal_kernels
from dudo_spiel.algorithms import random_streams

_UNFLAGGED = 1

# The columns of the settings of an iteration after the common ones.
REACH, FLAG, ACTION, DEPTH = range(deal_kernels.NUM_COMMON,
                                   deal_kernels.NUM_COMMON + 4)
_TREMBLE, _WEIGHT = deal_kernels.TREMBLE, deal_kernels.WEIGHT


class Scratch(NamedTuple):
  """Numbers of the states of one node, by their heap number.

  Attributes:
    reach: [2^(d + 1), 2 * seats].
    value: [2^(d + 1), seats].
    status: [2^(d + 1)], of the type of the reaches.
  """
  reach: np.ndarray
  value: np.ndarray
  status: np.ndarray


def scratch_size(players, seats):
  """Returns how many numbers a `Scratch` has."""
  return 2**players * (3 * seats + 1)


@blocks.jit
def scratch(numbers, seats):
  """Returns the `Scratch` in an array of `scratch_size` numbers."""
  states = len(numbers) // (3 * seats + 1)
  first, second = 2 * seats * states, 3 * seats * states
  return Scratch(numbers[:first].reshape((states, 2 * seats)),
                 numbers[first:second].reshape((states, seats)),
                 numbers[second:])


@blocks.jit
def flag_number(seed, iteration, players, node, heap):
  """Returns the random number by which a state flags its children.

  Args:
    seed: uint64.
    iteration: the number of the iteration.
    players: how many players there are.
    node: the node.
    heap: the number of the state at a node of decisions, else 0.
  """
  return random_streams.uniform(random_streams.stream(seed, iteration),
                                players + (node << players) + heap)


@blocks.inline_jit
def _decider(first, j, players):
  """Returns who decides as number j (a remainder would take longer)."""
  player = first + j
  return player - players if player >= players else player


@blocks.inline_jit
def _untrembled(p, tremble, one):
  """Returns a probability of one of two actions without what trembles add."""
  return max((p - tremble / (one + one)) / (one - tremble), one - one)


@blocks.inline_jit
def _is_open(reach, strategy, begin, node, first, deciders, players, seats,
             below):
  """Returns whether no state of an unflagged node can flag its children.

  Args:
    reach: as for `forward`.
    strategy: as for `forward`.
    begin: where the probabilities to pass begin there.
    node: the node.
    first: who decides first.
    deciders: how many decide.
    players: how many players there are.
    seats: as for `forward`.
    below: the reach threshold.
  """
  if below == 0.0:
    return True
  least = 1.0
  for j in range(deciders):
    player = _decider(first, j, players)
    if reach[2 * seats * node + player] * least < below:
      return False
    p = strategy[begin + j]
    least *= min(p, 1.0 - p)
  return True


@blocks.inline_jit
def forward(graph, tables, reach, strategy, status, node, mini, offsets, seats,
            seed, iteration, settings, zero, one):
  """Goes forward through a node of decisions; see `pfsi_kernels`.

  Args:
    graph: the `deal_graph.GraphArrays`.
    tables: (regret, cumulative), both [entry]; adds to `cumulative`.
    reach: [node * 2 * seats + q], modified in place.
    strategy: [edge]; from the node's first edge on the probabilities to pass
      are written, by who decides.
    status: [node] uint8, modified in place.
    node: the node.
    mini: the `Scratch`.
    offsets: [player] int64, where the player's column begins.
    seats: the number of players, rounded up to a multiple of four.
    seed: uint64.
    iteration: the number of the iteration.
    settings: [any] float64, the settings of the iteration.
    zero: 0.0 in the type of the reaches.
    one: 1.0 likewise.
  """
  tremble = reach.dtype.type(settings[_TREMBLE])
  begin, entry = graph.child_begin[node], graph.entry[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players = len(offsets)
  regret, cumulative = tables
  for j in range(deciders):
    e = offsets[_decider(first, j, players)] + entry + graph.stride * j
    x, y = regret[e], regret[e + 1]
    x = x if x > zero else zero
    y = y if y > zero else zero
    p = x / (x + y) if x + y > zero else reach.dtype.type(0.5)
    strategy[begin + j] = (one - tremble) * p + tremble / (one + one)
  if status[node] != _UNFLAGGED or not _is_open(
      reach, strategy, begin, node, first, deciders, players, seats,
      settings[REACH]):
    _spread(graph, tables, reach, strategy, status, node, mini, offsets, seats,
            seed, iteration, settings, True)
    child = graph.child[begin]
    passed = np.int64(mini.status[1 << deciders])
    if passed:  # the only parent of the next claim
      status[child] = passed
      for q in range(2 * seats):
        reach[2 * seats * child + q] = mini.reach[1 << deciders, q]
    return
  n, child = 2 * seats * node, graph.child[begin]
  c = 2 * seats * child
  all_pass = one
  for j in range(deciders):
    all_pass *= strategy[begin + j]
  for q in range(players):
    reach[c + q] = reach[n + q] * all_pass
    reach[c + seats + q] = reach[n + seats + q]
  for j in range(deciders):
    player = _decider(first, j, players)
    p = strategy[begin + j]
    others = one  # who passes but the player
    for other in range(deciders):
      if other != j:
        others *= strategy[begin + other]
    reach[c + player] = reach[n + player] * others
    own = reach[n + seats + player]
    reach[c + seats + player] = own * p
    own *= (1 << j) * reach.dtype.type(settings[_WEIGHT])  # as many states
    p = _untrembled(p, tremble, one)
    e = offsets[player] + entry + graph.stride * j
    cumulative[e] += own * p
    cumulative[e + 1] += own * (one - p)
  status[child] = _UNFLAGGED


@blocks.jit
def _spread(graph, tables, reach, strategy, status, node, mini, offsets, seats,
            seed, iteration, settings, is_forward):
  """Writes reaches and statuses of all states of a node to `mini`.

  All arguments but the last are those of `forward`.

  Args:
    graph: see there.
    tables: see there.
    reach: see there.
    strategy: see there.
    status: see there.
    node: see there.
    mini: see there.
    offsets: see there.
    seats: see there.
    seed: see there.
    iteration: see there.
    settings: see there.
    is_forward: whether to add to the averages.
  """
  begin, entry = graph.child_begin[node], graph.entry[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players, depth = len(offsets), settings[DEPTH]
  cumulative = tables[1]
  num_masks = 1 << deciders
  for heap in range(1, 2 * num_masks):
    mini.status[heap] = 0.0
  mini.status[1] = status[node]
  for q in range(2 * seats):
    mini.reach[1, q] = reach[2 * seats * node + q]
  j = 0
  for heap in range(1, num_masks):
    if heap >> (j + 1):
      j += 1
    mine = mini.status[heap]
    if mine == 0.0 or mine > 1 + depth:
      continue
    player = _decider(first, j, players)
    p = strategy[begin + j]
    theirs = mine + 1
    if mine == _UNFLAGGED:
      if is_forward:
        own = mini.reach[heap, seats + player] * settings[_WEIGHT]
        free = _untrembled(p, settings[_TREMBLE], 1.0)
        e = offsets[player] + entry + graph.stride * j
        cumulative[e] += own * free
        cumulative[e + 1] += own * (1.0 - free)
      if not (mini.reach[heap, player] < settings[REACH] and
              flag_number(seed, iteration, players, node, heap) <
              settings[FLAG]):
        theirs = _UNFLAGGED
    for a in range(2):
      share = 1.0 - p if a else p
      if mine != _UNFLAGGED and share <= settings[ACTION]:
        continue
      child = 2 * heap + a
      mini.status[child] = theirs
      for q in range(players):
        x, own = mini.reach[heap, q], mini.reach[heap, seats + q]
        mini.reach[child, q] = x if q == player else x * share
        mini.reach[child, seats + q] = own * share if q == player else own


@blocks.inline_jit
def backward(graph, tables, reach, value, strategy, status, node, mini, offsets,
             seats, seed, iteration, settings, zero, one, even):
  """Goes backward through a node of decisions; see `pfsi_kernels`.

  Args:
    graph: as for `forward`.
    tables: as for `forward`; adds to `regret`.
    reach: as for `forward`.
    value: [(node or terminal) * seats + player]; the node's are written.
    strategy: as from `forward`.
    status: as from `forward`.
    node: the node.
    mini: as for `forward`.
    offsets: as for `forward`.
    seats: as for `forward`.
    seed: as for `forward`.
    iteration: as for `forward`.
    settings: as for `forward`.
    zero: as for `forward`.
    one: as for `forward`.
    even: what a pruned branch is worth.
  """
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players, num_masks = len(offsets), 1 << deciders
  for mask in range(num_masks):
    c = seats * graph.child[begin + mask]
    for q in range(seats):
      mini.value[num_masks + mask, q] = value[c + q]
  if status[node] == _UNFLAGGED and _is_open(
      reach, strategy, begin, node, first, deciders, players, seats,
      settings[REACH]):
    _learn(graph, tables, reach, strategy, node, mini, offsets, seats,
           reach.dtype.type(settings[_TREMBLE]), zero, one)
  else:
    _gather(graph, tables, reach, strategy, status, node, mini, offsets, seats,
            seed, iteration, settings, even)
  for q in range(seats):
    value[seats * node + q] = mini.value[1, q]


@blocks.inline_jit
def _learn(graph, tables, reach, strategy, node, mini, offsets, seats, tremble,
           zero, one):
  """Adds to the regrets of all who decide, and writes the node's value.

  Args:
    graph: as for `forward`.
    tables: as for `backward`.
    reach: as for `forward`.
    strategy: as from `forward`.
    node: the node.
    mini: the `Scratch`, with the values of the children; the node's value is
      written to state 1.
    offsets: as for `forward`.
    seats: as for `forward`.
    tremble: how likely players tremble, in the type of the reaches.
    zero: as for `forward`.
    one: as for `forward`.
  """
  begin, entry = graph.child_begin[node], graph.entry[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players, num_masks = len(offsets), 1 << deciders
  regret = tables[0]
  leaf, others = mini.value, mini.status
  others[1] = 1  # the probability that those who decided before play there
  j = 0
  for heap in range(1, num_masks >> 1):
    if heap >> (j + 1):
      j += 1
    p = strategy[begin + j]
    others[2 * heap] = others[heap] * p
    others[2 * heap + 1] = others[heap] * (one - p)
  for j in range(deciders - 1, -1, -1):
    p = strategy[begin + j]
    q = one - p
    player = _decider(first, j, players)
    gain = zero  # by a pass
    for heap in range(1 << j, 2 << j):
      gain += others[heap] * (leaf[2 * heap, player] -
                              leaf[2 * heap + 1, player])
      for seat in range(0, seats, 4):
        for k in range(seat, seat + 4):
          x = leaf[2 * heap, k]
          leaf[heap, k] = x + q * (leaf[2 * heap + 1, k] - x)
    gain *= reach[2 * seats * node + player]
    p = _untrembled(p, tremble, one)
    e = offsets[player] + entry + graph.stride * j
    regret[e] += (one - p) * gain
    regret[e + 1] -= p * gain


@blocks.jit
def _gather(graph, tables, reach, strategy, status, node, mini, offsets, seats,
            seed, iteration, settings, even):
  """Writes the values of all states, and adds to regrets where unflagged.

  Args:
    graph: as for `forward`.
    tables: as for `backward`.
    reach: as for `forward`.
    strategy: as from `forward`.
    status: as from `forward`.
    node: the node.
    mini: as for `_learn`.
    offsets: as for `forward`.
    seats: as for `forward`.
    seed: as for `forward`.
    iteration: as for `forward`.
    settings: as for `forward`.
    even: as for `backward`.
  """
  begin, entry = graph.child_begin[node], graph.entry[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players, depth = len(offsets), settings[DEPTH]
  regret = tables[0]
  leaf = mini.value
  _spread(graph, tables, reach, strategy, status, node, mini, offsets, seats,
          seed, iteration, settings, False)
  j = deciders - 1
  for heap in range((1 << deciders) - 1, 0, -1):
    if heap >> j == 0:
      j -= 1
    mine = mini.status[heap]
    if mine == 0.0:
      continue
    for q in range(seats):
      leaf[heap, q] = even
    if mine > 1 + depth:
      continue
    p = strategy[begin + j]
    least = -1.0 if mine == _UNFLAGGED else settings[ACTION]
    for q in range(seats):
      x = leaf[2 * heap, q] if p > least else even
      y = leaf[2 * heap + 1, q] if 1 - p > least else even
      leaf[heap, q] = x + (1 - p) * (y - x) if p > 0.0 else y
    if mine == _UNFLAGGED:
      player = _decider(first, j, players)
      gain = mini.reach[heap, player] * (
          leaf[2 * heap, player] - leaf[2 * heap + 1, player])
      p = _untrembled(p, settings[_TREMBLE], 1.0)
      e = offsets[player] + entry + graph.stride * j
      regret[e] += (1.0 - p) * gain
      regret[e + 1] -= p * gain
