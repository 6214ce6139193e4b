"""Kernels of FSI for nodes at which several players decide unseen.

In `dudo_single_round` everyone except the claimer passes or challenges. A node
of decisions (see `game_graph`) stands for 2^d - 1 states of d players; all
states of one player are the same information set. Where no state can be flagged
the sums over these states have a closed form. Elsewhere the states are visited
one by one, as nodes are in `fsi_kernels`, whose scratch and settings these
kernels use.
"""

import numpy as np

from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import simd

UNFLAGGED = 1

_0, _1 = np.uintp(0), np.uintp(1)


@jit.kernel
def flag_number(seed, iteration, players, node, heap):
  """Returns the random number by which a state flags its children.

  `heap` is the number of the state at a node of decisions, else 0.
  """
  return random_streams.uniform(random_streams.stream(seed, iteration),
                                players + (node << players) + heap)


@jit.inline
def _decider(first, j, players):
  """Returns the j-th decider (without a slow division)."""
  player = first + j
  return player - players if player >= players else player


@jit.inline
def _entry(graph, scratch, node, player, j):
  """Returns the first entry of the player who is the j-th decider."""
  return np.uintp(scratch.offsets[player] + graph.entry[node] +
                  graph.stride * j)


@jit.inline
def _untrembled(p, settings):
  """Returns the probability of one of two actions before trembling."""
  if settings.tremble == settings.zero:
    return p
  two = settings.one + settings.one
  return max((p - settings.tremble / two) / (settings.one - settings.tremble),
             settings.zero)


@jit.inline
def _is_open(graph, scratch, node, settings):
  """Returns whether no state of an unflagged node can flag its children."""
  if settings.reach_threshold == settings.zero:
    return True
  lowest = settings.one  # reach of the deciders before
  begin = graph.child_begin[node]
  for j in range(graph.deciders[node]):
    player = _decider(graph.actor[node], j, scratch.players)
    reach = scratch.reach[2 * scratch.seats * node + player]
    if reach * lowest < settings.reach_threshold:
      return False
    p = scratch.strategy[begin + j]
    lowest *= min(p, settings.one - p)
  return True


@jit.inline
def forward(graph, tables, scratch, node, settings):
  """Is the forward pass at a node: strategies, averages, reaches and flags."""
  zero, one = settings.zero, settings.one
  half = one / (one + one)
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  for j in range(deciders):
    e = _entry(graph, scratch, node, _decider(first, j, scratch.players), j)
    p, _ = set_kernels.match_two(tables.regret, e, zero, half)
    scratch.strategy[begin + j] = (one - settings.tremble) * p + (
        settings.tremble * half)
  if (scratch.status[node] == UNFLAGGED and
      _is_open(graph, scratch, node, settings)):
    _pass_on(graph, tables, scratch, node, settings)
    return
  _spread(graph, tables, scratch, node, settings, True)
  child = graph.child[begin]
  passed = np.int64(scratch.state_status[1 << deciders])
  if passed:  # the only parent of the next claim
    scratch.status[child] = passed
    for q in range(2 * scratch.seats):
      scratch.reach[2 * scratch.seats * child + q] = (
          scratch.state_reach[(2 * scratch.seats << deciders) + q])


@jit.inline
def _pass_on(graph, tables, scratch, node, settings):
  """Adds to the averages, and passes reaches on to the next claim."""
  one = settings.one
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  child = graph.child[begin]
  seats = np.uintp(scratch.seats)
  n, c = _2(seats) * np.uintp(node), _2(seats) * np.uintp(child)
  reach, strategy = scratch.reach, scratch.strategy
  cumulative = tables.cumulative
  all_pass = one
  for j in range(deciders):
    all_pass *= strategy[begin + j]
  for quad in range(_0, seats, simd.STEP):
    x = simd.load(reach, n + quad)
    simd.store(reach, c + quad, x * simd.splat(all_pass))
    x = simd.load(reach, n + seats + quad)
    simd.store(reach, c + seats + quad, x)
  weight = settings.weight
  for j in range(deciders):
    player = _decider(first, j, scratch.players)
    q = np.uintp(player)
    p = strategy[begin + j]
    others = one  # the probability that all others pass
    for other in range(deciders):
      if other != j:
        others *= strategy[begin + other]
    reach[c + q] = reach[n + q] * others
    own = reach[n + seats + q]
    reach[c + seats + q] = own * p
    own *= weight
    weight += weight  # the next decides in twice as many states
    p = _untrembled(p, settings)
    e = _entry(graph, scratch, node, player, j)
    cumulative[e] += own * p
    cumulative[e + _1] += own * (one - p)
  scratch.status[child] = UNFLAGGED


@jit.inline
def _2(number):
  """Returns twice a number, of its type; a product is slower here."""
  return number + number


@jit.kernel
def _spread(graph, tables, scratch, node, settings, is_forward):
  """Writes reaches and statuses of all states; forward adds to averages."""
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  players, seats, one = scratch.players, scratch.seats, settings.one
  reach, status = scratch.state_reach, scratch.state_status
  cumulative = tables.cumulative
  num_masks = 1 << deciders
  for heap in range(1, 2 * num_masks):
    status[heap] = 0.0
  status[1] = scratch.status[node]
  for q in range(2 * seats):
    reach[2 * seats + q] = scratch.reach[2 * seats * node + q]
  j = 0
  for heap in range(1, num_masks):
    if heap >> (j + 1):
      j += 1
    own_status = status[heap]
    if own_status == 0.0 or own_status > 1 + settings.depth:
      continue
    player = _decider(first, j, players)
    p = scratch.strategy[begin + j]
    n = 2 * seats * heap
    child_status = own_status + one
    if own_status == UNFLAGGED:
      if is_forward:
        own = reach[n + seats + player] * settings.weight
        free = _untrembled(p, settings)
        e = _entry(graph, scratch, node, player, j)
        cumulative[e] += own * free
        cumulative[e + _1] += own * (one - free)
      if not (reach[n + player] < settings.reach_threshold and
              flag_number(settings.seed, settings.iteration, players, node,
                          heap) < settings.flag_probability):
        child_status = one
    for a in range(2):
      probability = one - p if a else p
      if own_status != UNFLAGGED and probability <= settings.action_threshold:
        continue
      status[2 * heap + a] = child_status
      c = 2 * seats * (2 * heap + a)
      for q in range(players):
        x, own = reach[n + q], reach[n + seats + q]
        reach[c + q] = x if q == player else x * probability
        reach[c + seats + q] = own * probability if q == player else own


@jit.inline
def backward(graph, tables, scratch, node, settings):
  """Is the backward pass at a node: values, then regrets."""
  begin = graph.child_begin[node]
  seats = np.uintp(scratch.seats)
  num_masks = 1 << graph.deciders[node]
  for mask in range(num_masks):
    c = seats * np.uintp(graph.child[begin + mask])
    to = seats * np.uintp(num_masks + mask)
    for quad in range(_0, seats, simd.STEP):
      x = simd.load(scratch.value, c + quad)
      simd.store(scratch.state_value, to + quad, x)
  if (scratch.status[node] == UNFLAGGED and
      _is_open(graph, scratch, node, settings)):
    _learn(graph, tables, scratch, node, settings)
  else:
    _gather(graph, tables, scratch, node, settings)
  for quad in range(_0, seats, simd.STEP):
    simd.store(scratch.value, seats * np.uintp(node) + quad,
               simd.load(scratch.state_value, seats + quad))


@jit.inline
def _learn(graph, tables, scratch, node, settings):
  """Writes the values of all states, and adds to regrets."""
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  seats, one = np.uintp(scratch.seats), settings.one
  value, strategy, regret = scratch.state_value, scratch.strategy, tables.regret
  others = scratch.state_status  # reach of the deciders before a state
  others[1] = one
  j = 0
  for heap in range(1, 1 << (deciders - 1)):
    if heap >> (j + 1):
      j += 1
    p = strategy[begin + j]
    others[2 * heap] = others[heap] * p
    others[2 * heap + 1] = others[heap] * (one - p)
  for j in range(deciders - 1, -1, -1):
    p = strategy[begin + j]
    challenge = simd.splat(one - p)
    player = _decider(first, j, scratch.players)
    gain = settings.zero  # by a pass
    for heap in range(np.uintp(1 << j), np.uintp(2 << j)):
      n = seats * heap
      a = _2(n)
      b = a + seats
      q = np.uintp(player)
      gain += others[heap] * (value[a + q] - value[b + q])
      for quad in range(_0, seats, simd.STEP):
        x = simd.load(value, a + quad)
        x += challenge * (simd.load(value, b + quad) - x)
        simd.store(value, n + quad, x)
    gain *= scratch.reach[_2(seats) * np.uintp(node) + np.uintp(player)]
    p = _untrembled(p, settings)
    e = _entry(graph, scratch, node, player, j)
    regret[e] += (one - p) * gain
    regret[e + _1] -= p * gain


@jit.kernel
def _gather(graph, tables, scratch, node, settings):
  """Writes the values of all states, and adds to regrets where unflagged."""
  begin = graph.child_begin[node]
  first, deciders = graph.actor[node], graph.deciders[node]
  seats, one, pruned_value = scratch.seats, settings.one, settings.pruned_value
  value, regret = scratch.state_value, tables.regret
  _spread(graph, tables, scratch, node, settings, False)
  j = deciders - 1
  for heap in range((1 << deciders) - 1, 0, -1):
    if heap >> j == 0:
      j -= 1
    own_status = scratch.state_status[heap]
    if own_status == 0.0:
      continue
    n = seats * heap
    for q in range(seats):
      value[n + q] = pruned_value
    if own_status > 1 + settings.depth:
      continue
    p = scratch.strategy[begin + j]
    threshold = -one if own_status == UNFLAGGED else settings.action_threshold
    for q in range(seats):
      x = value[2 * n + q] if p > threshold else pruned_value
      y = value[2 * n + seats + q] if one - p > threshold else pruned_value
      value[n + q] = x + (one - p) * (y - x) if p > 0.0 else y
    if own_status == UNFLAGGED:
      player = _decider(first, j, scratch.players)
      gain = scratch.state_reach[2 * n + player] * (
          value[2 * n + player] - value[2 * n + seats + player])
      p = _untrembled(p, settings)
      e = _entry(graph, scratch, node, player, j)
      regret[e] += (one - p) * gain
      regret[e + _1] -= p * gain
