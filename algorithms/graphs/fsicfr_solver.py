"""Fixed-strategy iteration CFR on a graph of nodes.

Neller & Hnath, "Approximating Optimal Dudo Play with Fixed-Strategy Iteration
Counterfactual Regret Minimization" (2011), algorithm 2. One iteration:

  1. The outcomes of all chance nodes are determined.
  2. Forward over the nodes: the strategy of each information set follows from
     its regrets; pSum, the sum over all paths to a node of the probabilities
     with which a player plays along it, is passed on to the children; the
     strategy times the own pSum is added to the average.
  3. Backward: values of nodes; to each regret the difference of an action's
     value to the node's is added, times the opponent's pSum.

Regrets are summed, where the paper takes their mean: strategies are the same.
Each node counts once, whatever the number of paths to it (the paper's `visits`,
which is constant in a round of Dudo and so left out there too).

A node to which neither player plays (both pSums are zero) is left out: by step
3 it can change nothing. The outcomes of chance nodes that are not reached are
never looked at. So an iteration takes time for what it reaches, not for all
deals: nodes are kept in topological order, and only those groups of neighbours
are looked through into which an edge has led.
"""

import time
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel.algorithms.compiled import evaluator
from dudo_spiel.algorithms.compiled import table_policy
from dudo_spiel.algorithms.graphs import game_graph
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams

DEALS = ("sampled", "exact")

_CHANCE = game_graph.CHANCE
_TERMINAL = game_graph.TERMINAL
_GROUP_BITS = 6  # 64 nodes make a group
_FILE_KIND = "solver"
_MAX_RECALL = 2**31 - 1  # of a parameter of a pyspiel game
_CHUNK_SECONDS = 0.1  # about how long to run before an interrupt is noticed


class Tables(NamedTuple):
  """What is learned: arrays [entry] of float64 or float32.

  Attributes:
    regret: the sums of regrets.
    cumulative: the sums of strategies, each times the own pSum.
  """
  regret: np.ndarray
  cumulative: np.ndarray


class Workspace(NamedTuple):
  """What an iteration needs beside the tables, in their type.

  Between iterations `own`, `against` and `group` are zero.

  Attributes:
    strategy: [entry], the strategy of the sets that are reached.
    own: [2 * node + player], pSum of each player, without chance.
    against: [2 * node + player], the same times the probability of chance; the
      very same array as `own` where chance is sampled.
    value: [node], player 0's value; zero but for terminals between iterations.
    reached: [node] int32, the nodes that are reached, in order.
    group: [group] uint8, whether an edge has led into this group of nodes.
  """
  strategy: np.ndarray
  own: np.ndarray
  against: np.ndarray
  value: np.ndarray
  reached: np.ndarray
  group: np.ndarray


class FSICFRSolver:
  """FSICFR for two-player zero-sum games.

  The game is walked, and histories with the same continuation are merged;
  `dudo` and `dudo_ir` are compiled from the rules (see `game_graph`), whole
  matches from 1v1 to 2v2 with the usual dice and recall length. Larger matches
  are solved round by round by `fsicfr.MatchSolver`.

  One thread runs the iterations, which are too short to be shared.

  Args:
    game: a `pyspiel.Game`.
    recall_length: how many of the last claims players remember. It applies to
      `dudo`, which is solved as `dudo_ir`, and to `liars_dice`, which is solved
      as `liars_dice_ir`. Other games keep their own information states: for
      them, and so for a game `x_ir` with a parameter of its own, it has no
      effect.
    seed: for the outcomes of chance. They depend on the seed, the iteration and
      the chance node alone.
    num_threads: None or how many threads may be used; results do not depend on
      it.
    deals: "sampled": one outcome at each chance node in an iteration, as in the
      paper; "exact": all outcomes, with their probabilities, which is CFR with
      simultaneous updates.
    dtype: "float64", or "float32" for less memory.
  """

  def __init__(self, game, recall_length=3, seed=0, num_threads=None, *,
               deals="sampled", dtype="float64"):
    _check_game(game)
    recall_length = arguments.integer("recall_length", recall_length, 1,
                                      _MAX_RECALL)
    self._seed = arguments.integer("seed", seed, 0, 2**64 - 1)
    if num_threads is not None:
      arguments.integer("num_threads", num_threads, 1)
    if deals not in DEALS:
      raise ValueError(f"deals={deals!r}: must be one of "
                       f"{', '.join(map(repr, DEALS))}")
    if dtype not in ("float64", "float32"):
      raise ValueError(f"dtype={dtype!r}: must be 'float64' or 'float32'")
    self.game = game
    self.graph = game_graph.make_graph(
        game_graph.abstraction(game, recall_length))
    if self.graph.num_entries == 0:
      raise ValueError(f"game={game}: no player ever decides anything")
    self._is_exact = deals == "exact"
    self._dtype = np.dtype(dtype)
    self._count = np.zeros(1, dtype=np.int64)  # counted by the kernel
    self._tables = Tables(*(np.zeros(self.graph.num_entries, self._dtype)
                            for _ in range(2)))
    self._space = self._new_workspace()

  def _new_workspace(self):
    graph = self.graph
    own = np.zeros(2 * graph.num_nodes, self._dtype)
    return Workspace(
        np.zeros(graph.num_entries, self._dtype), own,
        np.zeros_like(own) if self._is_exact else own,
        graph.arrays.value.astype(self._dtype),
        np.zeros(graph.num_nodes, np.int32),
        np.zeros((graph.num_nodes >> _GROUP_BITS) + 1, np.uint8))

  @property
  def iteration(self):
    """How many iterations were run."""
    return int(self._count[0])

  @property
  def memory_bytes(self):
    """How much memory the graph, the tables and the workspace take."""
    arrays = {id(array): array for array in (*self._tables, *self._space)}
    return self.graph.memory_bytes + sum(
        array.nbytes for array in arrays.values())

  def evaluate_and_update_policy(self):
    """Runs one iteration."""
    self.run(1)

  def run(self, iterations):
    """Runs iterations, all inside compiled code."""
    end = self.iteration + arguments.integer("iterations", iterations, 0)
    chunk = 1
    while True:
      begin = time.perf_counter()
      _run(self.graph.arrays, self._tables, self._space, self._is_exact,
           np.uint64(self._seed), self._count,
           min(chunk, end - self.iteration))
      if self.iteration >= end:
        return
      if time.perf_counter() - begin < _CHUNK_SECONDS:
        chunk *= 2

  def chance_outcomes(self, iteration):
    """Returns which outcomes an iteration, past or to come, samples.

    Args:
      iteration: its number; the first is 1.

    Returns:
      [chance node] int64, the number of the outcome at each chance node of
      `graph.chance_nodes`, reached or not.
    """
    if self._is_exact:
      raise ValueError("deals='exact': takes all outcomes; must be 'sampled' "
                       "for chance_outcomes")
    iteration = arguments.integer("iteration", iteration, 1)
    return _outcomes(self.graph.arrays, self.graph.chance_nodes,
                     np.uint64(self._seed), iteration)

  def _normalized(self, table):
    """Returns [entry] float64, each set's shares of the positive parts."""
    out = np.maximum(table.astype(np.float64), 0.0)
    _normalize(self.graph.set_entry, out)
    return out

  def _policy(self, table):
    graph = self.graph
    return table_policy.TablePolicy(graph.game, graph.info_states, graph.set_player,
                                graph.set_actions, self._normalized(table))

  def current_policy(self):
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return self._policy(self._tables.regret)

  def average_policy(self):
    """Returns the average policy, an OpenSpiel policy (a copy)."""
    return self._policy(self._tables.cumulative)

  def expected_values(self):
    """Returns [player] float64, each player's value of the average policy."""
    value = _evaluate(self.graph.arrays,
                      self._normalized(self._tables.cumulative))
    return np.array([value, -value])

  def nash_conv(self):
    """Returns the NashConv of the average policy, in a game one can walk."""
    return evaluator.nash_conv(self.graph.game, self.average_policy())

  def exploitability(self):
    """Returns the NashConv divided by the number of players."""
    return self.nash_conv() / 2

  def _identity(self):
    """Returns what a file's solver and this one must have in common."""
    return {"solver": type(self).__name__, "game": str(self.graph.game),
            "fingerprint": self.graph.fingerprint(),
            "parameters": {"deals": DEALS[self._is_exact], "seed": self._seed,
                           "dtype": self._dtype.name}}

  def save(self, path):
    """Writes all that is needed to go on exactly from here to one file."""
    checkpoint.save(path, _FILE_KIND,
                    {**self._identity(), "iteration": self.iteration},
                    self._tables._asdict())

  def load(self, path):
    """Goes on from a file that a solver of the same kind and game saved."""
    self._count[0] = checkpoint.load_solver(
        path, _FILE_KIND, self._identity(), self._tables._asdict())


def _check_game(game):
  """Raises a ValueError for a game that FSICFR cannot solve."""
  if not isinstance(game, pyspiel.Game):
    raise ValueError(f"game={game!r}: must be a pyspiel.Game, such as "
                     "pyspiel.load_game returns")
  if game.num_players() != 2:
    raise ValueError(f"game={game}: has {game.num_players()} players; must "
                     "have 2")
  if game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM:
    raise ValueError(f"game={game}: its utility is "
                     f"{game.get_type().utility.name}; must be ZERO_SUM")


# Kernels.


@jit.kernel
def sampled_edge(graph, node, seed, iteration):
  """Returns the edge that an iteration takes at a chance node."""
  bits = random_streams.mix(seed + random_streams.STEP)
  bits = random_streams.mix((bits ^ np.uint64(iteration)) + random_streams.STEP)
  bits = random_streams.mix((bits ^ np.uint64(node)) + random_streams.STEP)
  quantile = random_streams.to_uniform(bits)
  begin, end = graph.child_begin[node], graph.child_begin[node + 1]
  first = graph.entry[node] - begin
  chosen = begin
  for edge in range(begin, end):
    chance = graph.chance[first + edge]
    if chance > 0.0:
      chosen = edge
      quantile -= chance
      if quantile < 0.0:
        break
  return chosen


@jit.kernel
def _outcomes(graph, nodes, seed, iteration):
  """Returns [chance node] int64, the outcomes that an iteration samples."""
  outcomes = np.zeros(len(nodes), np.int64)
  for i in range(len(nodes)):
    outcomes[i] = (sampled_edge(graph, nodes[i], seed, iteration) -
                   graph.child_begin[nodes[i]])
  return outcomes


@jit.kernel
def _normalize(set_entry, table):
  """Divides each set's entries by their sum; uniform where it is zero."""
  for s in range(len(set_entry) - 1):
    total = 0.0
    for e in range(set_entry[s], set_entry[s + 1]):
      total += table[e]
    for e in range(set_entry[s], set_entry[s + 1]):
      table[e] = (table[e] / total if total > 0.0 else
                  1.0 / (set_entry[s + 1] - set_entry[s]))


@jit.kernel
def _match_regrets(regret, strategy, begin, end):
  """Writes the strategy of the set begin..end-1: equation 5 of the paper."""
  total = 0.0
  for e in range(begin, end):
    total += max(regret[e], 0.0)
  factor = 1.0 / total if total > 0.0 else 0.0
  uniform = 0.0 if total > 0.0 else 1.0 / (end - begin)
  for e in range(begin, end):
    strategy[e] = max(regret[e], 0.0) * factor + uniform


# In the loops below arrays are indexed and never sliced: a slice counts
# references, which takes longer than all that is done with it.


@jit.kernel
def _forward(graph, tables, space, is_exact, seed, iteration):
  """Goes forward once (lines 3 to 25 of algorithm 2).

  Args:
    graph: the `game_graph.GraphArrays`.
    tables: the `Tables`; adds to `cumulative`.
    space: the `Workspace`, all but `value` modified in place.
    is_exact: whether all outcomes of chance are taken.
    seed: uint64, for the outcomes of chance.
    iteration: the number of the iteration.

  Returns:
    How many nodes are reached.
  """
  actor, child_begin, children, entries, chances, _ = graph
  regret, cumulative = tables
  strategy, own, against, _, reached, group = space
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
        _match_regrets(regret, strategy, entry, entry + end - begin)
        mine, theirs = own[2 * node + player], own[2 * node + 1 - player]
        for a in range(end - begin):
          child = children[begin + a]
          share = strategy[entry + a] * mine
          cumulative[entry + a] += share
          own[2 * child + player] += share
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
        child = children[sampled_edge(graph, node, seed, iteration)]
        for q in range(2):
          own[2 * child + q] += own[2 * node + q]
        group[child >> _GROUP_BITS] = 1
    group[g] = 0
  return count


@jit.kernel
def _backward(graph, tables, space, is_exact, seed, iteration, count):
  """Goes backward once (lines 26 to 45): values, then regrets.

  A node's value is summed as differences to the value of the first action that
  is played, so that rounding does not make up regrets (`blocks.play_block`).

  Args:
    graph: the `game_graph.GraphArrays`.
    tables: the `Tables`; adds to `regret`.
    space: the `Workspace`; writes `value`, sets pSums back to zero.
    is_exact: as for `_forward`.
    seed: as for `_forward`.
    iteration: as for `_forward`.
    count: how many nodes were reached.
  """
  actor, child_begin, children, entries, _, _ = graph
  regret = tables.regret
  strategy, own, against, value, reached, _ = space
  for i in range(count - 1, -1, -1):
    node = reached[i]
    player, entry = actor[node], entries[node]
    begin, end = child_begin[node], child_begin[node + 1]
    if player >= 0:
      played = 0
      while strategy[entry + played] == 0.0:
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
      value[node] = value[
          children[sampled_edge(graph, node, seed, iteration)]]
    for q in range(2):
      own[2 * node + q] = against[2 * node + q] = 0.0
  # A node that is left out next time is then worth nothing, whatever happened
  # before.
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
def _run(graph, tables, space, is_exact, seed, count, iterations):
  """Runs iterations; `count` [1] int64 is counted up here.

  So it is right whenever Python gets to see it.
  """
  for _ in range(iterations):
    number = count[0] + 1
    reached = _forward(graph, tables, space, is_exact, seed, number)
    _backward(graph, tables, space, is_exact, seed, number, reached)
    count[0] = number


@jit.kernel
def _evaluate(graph, strategy):
  """Returns player 0's expected value if both play the strategy [entry]."""
  value = graph.value.copy()
  for node in range(len(value) - 1, -1, -1):
    if graph.actor[node] == _CHANCE:
      value[node] = _mean(graph, value, node)
    elif graph.actor[node] != _TERMINAL:
      begin = graph.child_begin[node]
      total = 0.0
      for edge in range(begin, graph.child_begin[node + 1]):
        total += (strategy[graph.entry[node] + edge - begin] *
                  value[graph.child[edge]])
      value[node] = total
  return value[0]
