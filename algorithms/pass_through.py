"""Pass-through CFR for n players, pruned or by Monte Carlo.

Gendre & Kaneko, "Counterfactual Regret Minimisation for playing the multiplayer
bluffing dice game Dudo" (2019), section 3.2. An iteration deals and plays one
game by the current strategies. At every state on the way:

  1. The utility of each action to the player who acts is computed.
  2. The differences to their mean are added to the regrets, the strategy to
     the average, at once. That states are reached by play takes the place of
     weights.
  3. An action is played by the strategy before the change.

The utility of an action is, by `PrunedPassThroughSolver`, the expectation of
all that may follow, where a branch counts as 1/players as soon as its
probability, from the action on, is below a threshold. By
`MonteCarloPassThroughSolver` it is the mean of some playouts. All playouts of
an action go down the graph together: at a state, how many take each action is
drawn at once (multinomial), which is the same distribution and saves time.
"""

from typing import Any
from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.graphs import fsicfr_solver
from dudo_spiel.algorithms.graphs import graph_solver
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.single_round import graph as single_round_graph

_CHANCE = single_round_graph.CHANCE
_TERMINAL = single_round_graph.TERMINAL
_MOST = 500  # trials of a binomial number that are drawn at once

# The columns of the settings of an iteration after the common ones.
_THRESHOLD, _PLAYOUTS = range(set_kernels.NUM_COMMON,
                              set_kernels.NUM_COMMON + 2)
_TREMBLE, _WEIGHT = set_kernels.TREMBLE, set_kernels.WEIGHT


class _PassThroughSolver(graph_solver.DealSolver):
  """What both solvers share."""

  def _new_workspace(self, threads):
    graph, game = self.graph, self.graph.game
    degree = int(np.diff(graph.arrays.child_begin).max())
    length = game.max_game_length() + game.max_chance_nodes_in_history() + 1
    size = degree * length
    value = np.tile(graph.returns.ravel(), (threads, 1))
    return (value, np.zeros((threads, size, 2), np.int64),
            np.zeros((threads, size)), np.zeros((threads, 4, 2 * degree)),
            np.zeros((threads, 2 * degree), self._dtype),
            np.zeros((threads, 1), np.int64))

  def _kernels(self):
    return _run, _run_parallel


class PrunedPassThroughSolver(_PassThroughSolver):
  """PPT.

  Args:
    game: as for `graph_solver.DealSolver`.
    threshold: branches that are less likely count as 1/players; may be a
      function of the iteration, as for `pfsi.PFSISolver`.
    **kwargs: as for `graph_solver.DealSolver`.
  """

  def __init__(self, game, threshold=1e-4, **kwargs):
    self._threshold = (threshold if callable(threshold) else
                       arguments.number("threshold", threshold, 0.0, 1.0))
    self._settings([1])
    super().__init__(game, **kwargs)
    self._check_can_prune("threshold", threshold)

  def _settings(self, iterations):
    settings = np.zeros((len(iterations), 2))
    for row, iteration in zip(settings, iterations):
      value = self._threshold
      row[0] = arguments.number(
          "threshold", value(int(iteration)) if callable(value) else value, 0.0,
          1.0)
    return settings

  def _parameters(self):
    value = self._threshold
    return {"threshold": repr(value) if callable(value) else value}


class MonteCarloPassThroughSolver(_PassThroughSolver):
  """MCPT.

  Args:
    game: as for `graph_solver.DealSolver`.
    num_playouts: how many playouts an action has.
    **kwargs: as for `graph_solver.DealSolver`.
  """

  def __init__(self, game, num_playouts=1000, **kwargs):
    self._num_playouts = arguments.integer("num_playouts", num_playouts, 1,
                                           2**31)
    super().__init__(game, **kwargs)

  def _settings(self, iterations):
    settings = np.zeros((len(iterations), 2))
    settings[:, 1] = self._num_playouts
    return settings

  def _parameters(self):
    return {"num_playouts": self._num_playouts}


# Kernels.


@jit.kernel
def _draw(begin, counter):
  """Returns the next number of a stream; counts up `counter` [1]."""
  counter[0] += 1
  return random_streams.uniform(begin, counter[0])


@jit.kernel
def binomial(trials, chance, begin, counter):
  """Returns a binomial number, by inversion.

  Args:
    trials: float64, how many trials.
    chance: of each to succeed.
    begin: uint64, the stream of random numbers.
    counter: [1] int64, how many of its numbers are used; counted up.
  """
  if chance > 0.5:
    return trials - binomial_below(trials, 1.0 - chance, begin, counter)
  return binomial_below(trials, chance, begin, counter)


@jit.kernel
def binomial_below(trials, chance, begin, counter):
  """Returns a binomial number for a chance of at most one half."""
  if chance <= 0.0:
    return 0.0
  total = 0.0
  odds = chance / (1.0 - chance)
  while trials > 0:
    now = min(trials, _MOST)
    trials -= now
    x = _draw(begin, counter)
    mass = (1.0 - chance)**now
    successes = 0.0
    while x >= mass and successes < now:
      x -= mass
      mass *= odds * (now - successes) / (successes + 1.0)
      successes += 1.0
    total += successes
  return total


class _Space(NamedTuple):
  """Pointers to what an iteration works in, and sizes.

  Attributes:
    regret: [entry].
    cumulative: [entry].
    offsets: [player] int64, where the player's column begins.
    value: [(node or terminal) * players + player] float64.
    states: [2 * any] int64, a stack of (node, heap); heap is the number of the
      state at a node of decisions, else 0.
    weights: [any] float64, their probabilities or playouts.
    shares: [action] float64, the strategy at a state.
    own: [action] float64, that of who plays.
    utility: [action] float64, what each action is worth to who plays.
    parts: [heap] float64, weights of the states of one node.
    sigma: [action], scratch in the type of the regrets.
    counter: [1] int64, how many random numbers are used.
    num_nodes: how many nodes there are, and so the first terminal.
    players: how many players there are.
  """
  regret: Any
  cumulative: Any
  offsets: Any
  value: Any
  states: Any
  weights: Any
  shares: Any
  own: Any
  utility: Any
  parts: Any
  sigma: Any
  counter: Any
  num_nodes: int
  players: int


@jit.inline
def _shares(graph, space, node, heap, shares, tremble, zero, one):
  """Writes the strategy at a state; returns how many actions it has.

  Args:
    graph: the `single_round_graph.GraphArrays`, of pointers.
    space: the `_Space`.
    node: the node.
    heap: the number of the state at a node of decisions, else 0.
    shares: [action] float64, written.
    tremble: with which probability it is uniform.
    zero: 0.0 in the type of the regrets.
    one: 1.0 likewise.
  """
  first = _entry(graph, space, node, heap)
  count = 2
  if heap == 0:
    count = graph.child_begin[node + 1] - graph.child_begin[node]
  set_kernels.match_regrets(space.regret, first, space.sigma, 0, count, zero,
                             one)
  for a in range(count):
    shares[a] = (1.0 - tremble) * space.sigma[a] + tremble / count
  return count


@jit.kernel
def _player(graph, players, node, heap):
  """Returns who acts at a state."""
  player, rest = np.int64(graph.actor[node]), heap
  while rest > 1:
    player += 1
    rest >>= 1
  return player % players


@jit.inline
def _entry(graph, space, node, heap):
  """Returns the first entry of the information set at a state."""
  turn, rest = 0, heap
  while rest > 1:
    turn += 1
    rest >>= 1
  player = (graph.actor[node] + turn) % space.players
  return space.offsets[player] + graph.entry[node] + graph.stride * turn


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
def _utility(graph, space, player, node, heap, settings, seed, iteration, begin,
             zero, one):
  """Returns a player's utility at a state.

  Args:
    graph: as for `_shares`.
    space: as for `_shares`.
    player: the player.
    node: the node.
    heap: as for `_shares`.
    settings: pointer to [5] float64: how likely players tremble, the weight in
      averages, what pruned branches are worth, the threshold, and the playouts
      or 0.
    seed: uint64.
    iteration: the number of the iteration.
    begin: uint64, the stream of random numbers.
    zero: as for `_shares`.
    one: as for `_shares`.
  """
  players, threshold = space.players, settings[_THRESHOLD]
  is_drawn, tremble = settings[_PLAYOUTS] > 0.0, settings[_TREMBLE]
  even = settings[set_kernels.EVEN]
  states, weights, value = space.states, space.weights, space.value
  states[0], states[1] = node, heap
  weights[0] = settings[_PLAYOUTS] if is_drawn else 1.0
  size, total = 1, 0.0
  while size:
    size -= 1
    node, heap, weight = states[2 * size], states[2 * size + 1], weights[size]
    if node >= space.num_nodes or graph.actor[node] == _TERMINAL:
      total += weight * value[players * node + player]
      continue
    if graph.actor[node] == _CHANCE:
      edge = fsicfr_solver.sampled_edge(graph, node, seed, iteration)
      action = edge - graph.child_begin[node]
      states[2 * size], states[2 * size + 1] = _next(graph, space.num_nodes,
                                                     node, heap, action)
      size += 1
      continue
    first_edge = graph.child_begin[node]
    if heap:
      total += _decide(graph, space, player, node, heap, weight, threshold,
                       tremble, even, is_drawn, begin, zero)
      left = space.parts[1 << graph.deciders[node]]
      if left > 0.0:  # all have passed
        states[2 * size], states[2 * size + 1] = graph.child[first_edge], 0
        weights[size] = left
        size += 1
      continue
    count = _shares(graph, space, node, 0, space.shares, tremble, zero, one)
    rest = 1.0
    left = weight
    for a in range(count):
      share = space.shares[a]
      if share <= 0.0:
        continue
      part = weight * share
      if is_drawn:
        part = left
        if share < rest:
          part = binomial(left, share / rest, begin, space.counter)
        left -= part
        rest -= share
      if part < threshold:
        total += part * even
      elif part > 0.0:
        child = np.int64(graph.child[first_edge + a])
        if child >= space.num_nodes:
          total += part * value[players * child + player]
        else:
          states[2 * size] = child
          states[2 * size + 1] = graph.deciders[child] > 0
          weights[size] = part
          size += 1
      if is_drawn and left <= 0.0:
        break
  return total / settings[_PLAYOUTS] if is_drawn else total


@jit.kernel
def _decide(graph, space, player, node, heap, weight, threshold, tremble, even,
            is_drawn, begin, zero):
  """Goes through the states of a node of decisions, from one of them on.

  In `space.parts`, at 2^deciders, stands then what passes on to the next claim,
  unless it is pruned.

  Args:
    graph: as for `_utility`.
    space: as for `_utility`.
    player: as for `_utility`.
    node: as for `_utility`.
    heap: the state from which on.
    weight: its probability or playouts.
    threshold: as in the settings.
    tremble: likewise.
    even: likewise.
    is_drawn: whether weights are playouts.
    begin: as for `_utility`.
    zero: as for `_utility`.

  Returns:
    The utility of what ends here, times its weight.
  """
  players, parts, sigma = space.players, space.parts, space.sigma
  deciders = np.int64(graph.deciders[node])
  first, entry = np.int64(graph.actor[node]), graph.entry[node]
  edge = graph.child_begin[node]
  masks = np.int64(1) << deciders
  for h in range(heap, masks + 1):
    parts[h] = 0.0
  parts[heap] = weight
  who = first
  for turn in range(deciders):
    e = space.offsets[who] + entry + graph.stride * turn
    x, y = space.regret[e], space.regret[e + 1]
    x = x if x > zero else zero
    y = y if y > zero else zero
    sigma[turn] = x / (x + y) if x + y > zero else 0.5
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
      passing = binomial(here, chance, begin, space.counter)
    for a in range(2):
      part = here - passing if a else passing
      if part <= 0.0:
        continue
      child = 2 * h + a
      if part < threshold:
        total += part * even
      elif child <= masks:
        parts[child] = part
      else:
        leaf = np.int64(graph.child[edge + child - masks])
        total += part * space.value[players * leaf + player]
  return total


@jit.kernel
def _play(graph, space, settings, seed, iteration, zero, one):
  """Plays one game; all arguments are those of `_utility`."""
  tremble, own, utility = settings[_TREMBLE], space.own, space.utility
  begin = random_streams.stream(seed, iteration)
  space.counter[0] = space.players - 1
  node, heap = np.int64(0), np.int64(graph.deciders[0] > 0)
  while node < space.num_nodes and graph.actor[node] != _TERMINAL:
    if graph.actor[node] == _CHANCE:
      edge = fsicfr_solver.sampled_edge(graph, node, seed, iteration)
      node, heap = _next(graph, space.num_nodes, node, heap,
                         edge - graph.child_begin[node])
      continue
    player = _player(graph, space.players, node, heap)
    count = _shares(graph, space, node, heap, own, 0.0, zero, one)
    mean = 0.0
    for a in range(count):
      child, child_heap = _next(graph, space.num_nodes, node, heap, a)
      utility[a] = _utility(graph, space, player, child, child_heap, settings,
                            seed, iteration, begin, zero, one)
      mean += own[a] * (utility[a] - utility[0])
    mean += utility[0]
    first = _entry(graph, space, node, heap)
    rest, played = _draw(begin, space.counter), 0
    for a in range(count):
      space.regret[first + a] += utility[a] - mean
      space.cumulative[first + a] += settings[_WEIGHT] * own[a]
    for a in range(count):
      share = (1.0 - tremble) * own[a] + tremble / count
      if share > 0.0:
        played = a
        if rest < share:
          break
        rest -= share
    node, heap = _next(graph, space.num_nodes, node, heap, played)


@jit.kernel
def _iterate(graph, deals, tables, space, thread, num_entries, seed, iteration,
             rolls, settings):
  """Runs one iteration on one deal, in the workspace of a thread."""
  value, players, regret = space[0][thread], len(rolls), tables[0]
  if len(deals[0]):
    set_kernels.write_returns(single_round_graph.DealArrays(*deals), len(graph[0]),
                               rolls, value, players)
  offsets, rows = rolls * num_entries, space[3][thread]
  work = _Space(
      jit.pointer(regret), jit.pointer(tables[1]),
      jit.pointer(offsets), jit.pointer(value),
      jit.pointer(space[1][thread]), jit.pointer(space[2][thread]),
      jit.pointer(rows[0]), jit.pointer(rows[1]), jit.pointer(rows[2]),
      jit.pointer(rows[3]), jit.pointer(space[4][thread]),
      jit.pointer(space[5][thread]), len(graph[0]), players)
  _play(set_kernels.graph_pointers(graph), work, jit.pointer(settings),
        seed, iteration, regret.dtype.type(0.0), regret.dtype.type(1.0))
  return offsets  # kept until here


@jit.kernel
def _run(graph, deals, tables, space, num_entries, seed, iterations, rolls,
         settings):
  """Runs iterations one after the other; as `pfsi_kernels.run`."""
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
def _run_parallel(graph, deals, tables, space, num_entries, seed, threads,
                  iterations, rolls, settings, begins):
  """Runs iterations level by level; as `pfsi_kernels.run_parallel`."""
  for level in range(len(begins) - 1):
    for thread in numba.prange(threads):
      _run_share(graph, deals, tables, space, num_entries, seed, thread,
                 threads, iterations, rolls, settings, begins[level],
                 begins[level + 1])
