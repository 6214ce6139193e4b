"""What all solvers for n players have in common: tables, runs, files.

Gendre & Kaneko (2019) train one agent for all seats: in `dudo_single_round`
seats share their tables, as their information sets do not tell seats apart.
"""

import time
from typing import NamedTuple

import numba
import numpy as np
import pyspiel
import tqdm

from dudo_spiel.algorithms.compiled import evaluator
from dudo_spiel.algorithms.compiled import game_tree
from dudo_spiel.algorithms.compiled import table_policy
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.single_round import graph as single_round_graph
from dudo_spiel.algorithms.single_round import layout as single_round_layout
from dudo_spiel.algorithms.single_round import policy as single_round_policy

_FILE_KIND = "solver"
_MAX_FLOAT32_CLAIMS = 100  # 2^claims paths must be a number of this type
_CHUNK_SECONDS = 0.1  # about how long to run before an interrupt is noticed
_UNIT = 2.0**-20  # of iterations as weights, which float32 must add up
_LOOK_AHEAD = 64  # iterations of which those without common rolls run together


class Tables(NamedTuple):
  """What is learned: arrays [column * entries + entry].

  Attributes:
    regret: the sums of regrets.
    cumulative: the weighted sums of strategies.
  """
  regret: np.ndarray
  cumulative: np.ndarray


class DealSolver:
  """Base of the solvers on a `single_round_graph.Graph`.

  A subclass says what one iteration does: `_settings` and `_kernels`.

  Args:
    game: a `pyspiel.Game` of any number of players: `dudo_single_round` or one
      that can be walked.
    abstraction: of `dudo_single_round`, see `single_round_layout.abstract_game`.
    recall_length: likewise.
    tremble: with this probability a player acts uniformly at random, whatever
      the strategy. Players who learn so know what to do against others who err;
      neither `current_policy` nor `average_policy` trembles itself.
    gamma: iteration t weighs t^gamma in averages, as in
      `cfr.DiscountedCFRSolver`; 0 weighs all the same.
    seed: for all random numbers. They depend on the seed and the iteration
      alone.
    num_threads: how many threads to use, None for all; results do not depend on
      it. Walked games use one.
    dtype: "float32" or "float64"; None for float32 in `dudo_single_round` and
      float64 in walked games.

  Attributes:
    game: the game as given.
    graph: the `single_round_graph.Graph`.
  """

  def __init__(self, game, abstraction=None, recall_length=None, tremble=0.0,
               gamma=1.0, seed=0, num_threads=None, dtype=None):
    if not isinstance(game, pyspiel.Game):
      raise ValueError(f"game={game!r}: must be a pyspiel.Game, such as "
                       "pyspiel.load_game returns")
    self._tremble = arguments.number("tremble", tremble, 0.0, 0.9)
    self._gamma = arguments.number("gamma", gamma, 0.0, 5.0)
    self._seed = arguments.integer("seed", seed, 0, 2**64 - 1)
    self._threads = jit.thread_count(num_threads)
    if dtype not in (None, "float64", "float32"):
      raise ValueError(f"dtype={dtype!r}: must be None, 'float64' or 'float32'")
    self.game = game
    self.graph = _make_graph(game, abstraction, recall_length)
    if self.graph.num_entries == 0:
      raise ValueError(f"game={game}: no player ever decides anything")
    layout = self.graph.layout
    many = layout is not None and layout.num_claims > _MAX_FLOAT32_CLAIMS
    if many and dtype == "float32":
      raise ValueError(f"dtype='float32': must be 'float64' with more than "
                       f"{_MAX_FLOAT32_CLAIMS} claims; {game} has "
                       f"{layout.num_claims}")
    if layout is None:
      self._threads = 1
    self._dtype = np.dtype(dtype or (
        "float64" if layout is None or many else "float32"))
    size = self.graph.num_columns * self.graph.num_entries
    ram.check("game", game, 2 * size * self._dtype.itemsize,
                 "its training", "a coarser abstraction, a shorter "
                 "recall_length or fewer dice")
    self._tables = Tables(*(np.zeros(size, self._dtype) for _ in range(2)))
    self._space = self._new_workspace(self._threads)
    self._iteration = 0

  def _new_workspace(self, threads):
    """Returns a tuple of arrays [thread, ...] for the kernels."""
    raise NotImplementedError

  def _settings(self, iterations):
    """Returns [iteration, any] float64, the settings of these iterations."""
    raise NotImplementedError

  def _parameters(self):
    """Returns a dict of what decides the results, for files."""
    raise NotImplementedError

  def _kernels(self):
    """Returns the kernels (serial, parallel) that run iterations."""
    raise NotImplementedError

  @property
  def iteration(self):
    """How many iterations were run."""
    return self._iteration

  @property
  def memory_bytes(self):
    """How much memory the graph, the tables and the workspace take."""
    return self.graph.memory_bytes + sum(
        array.nbytes for array in (*self._tables, *self._space))

  def evaluate_and_update_policy(self):
    """Runs one iteration."""
    self.run(1)

  def run(self, iterations=None, seconds=None):
    """Runs iterations inside compiled code.

    Args:
      iterations: how many, or None.
      seconds: for about how long, if `iterations` is None.
    """
    if (iterations is None) == (seconds is None):
      raise ValueError(f"iterations={iterations!r}, seconds={seconds!r}: one of"
                       " them must be given")
    end = float("inf")
    if iterations is not None:
      end = self._iteration + arguments.integer("iterations", iterations, 0)
    else:
      seconds = arguments.number("seconds", seconds, 0.0)
    start, chunk = time.perf_counter(), 1
    with tqdm.tqdm(total=iterations, unit=" iterations", disable=None, delay=2,
                   leave=False) as bar:
      while self._iteration < end:
        begin = time.perf_counter()
        if seconds is not None and begin - start >= seconds:
          return
        size = int(min(chunk, end - self._iteration))
        self._run_chunk(size)
        bar.update(size)
        elapsed = time.perf_counter() - begin
        if elapsed < _CHUNK_SECONDS:
          chunk *= 2
        elif elapsed > 2 * _CHUNK_SECONDS:
          chunk = max(chunk // 2, 1)

  def _run_chunk(self, count):
    """Runs iterations, no more than can be looked ahead at a time."""
    serial, parallel = self._kernels()
    while count:
      size = min(count, _LOOK_AHEAD if self._threads > 1 else 4096)
      numbers = np.arange(self._iteration + 1, self._iteration + 1 + size)
      rolls = self.rolls(numbers)
      settings = np.hstack([self._common_settings(numbers),
                            self._settings(numbers)])
      arrays = (tuple(self.graph.arrays), tuple(self.graph.deals),
                tuple(self._tables), self._space, self.graph.num_entries,
                np.uint64(self._seed))
      if self._threads == 1:
        serial(*arrays, numbers, rolls, settings)
      else:
        numba.set_num_threads(self._threads)
        levels = set_kernels.find_levels(rolls, self.graph.num_columns)
        order = np.argsort(levels, kind="stable")
        begins = np.append(0, np.cumsum(np.bincount(levels)))
        parallel(*arrays, self._threads, numbers[order], rolls[order],
                 settings[order], begins)
      self._iteration += size
      count -= size

  def _common_settings(self, iterations):
    """Returns [iteration, set_kernels.NUM_COMMON] float64."""
    settings = np.full((len(iterations), set_kernels.NUM_COMMON),
                       self._tremble)
    settings[:, set_kernels.WEIGHT] = (iterations * _UNIT)**self._gamma
    settings[:, set_kernels.EVEN] = ((self.game.utility_sum() or 0.0) /
                                      self.graph.num_players)
    return settings

  def _check_can_prune(self, name, value):
    """Raises a ValueError if a pruned branch has no value: an even share."""
    if value != 0 and self.game.utility_sum() is None:
      raise ValueError(f"{name}={value!r}: must be 0, as the returns of "
                       f"{self.game} have no constant sum")

  def rolls(self, iterations):
    """Returns what the players roll in iterations, past or to come.

    Args:
      iterations: [any] int, their numbers; the first is 1.

    Returns:
      [iteration, player] int64, the numbers of the rolls; zeros for a walked
      game, whose chance nodes are part of its graph.
    """
    rolls = np.zeros((len(iterations), self.graph.num_players), np.int64)
    for row, number in zip(rolls, iterations):
      set_kernels.sample_rolls(self.graph.deals.cumulative,
                                np.uint64(self._seed), int(number), row)
    return rolls

  def _policy(self, table):
    graph = self.graph
    if graph.layout is not None:
      return single_round_policy.SingleRoundPolicy(
          graph.game, np.maximum(table, 0).reshape(graph.num_columns, -1),
          graph.layout)
    table = table.astype(np.float64)
    set_kernels.normalize(graph.set_entry, graph.num_columns, table)
    return table_policy.TablePolicy(graph.game, graph.info_states, graph.set_player,
                                graph.set_actions, table)

  def current_policy(self):
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return self._policy(self._tables.regret)

  def average_policy(self):
    """Returns the average policy, an OpenSpiel policy (a copy)."""
    return self._policy(self._tables.cumulative)

  def nash_conv(self):
    """Returns the NashConv of the average policy, in a game one can walk.

    In `dudo_single_round` the responders forget nothing.
    """
    return evaluator.nash_conv(self.graph.game, self.average_policy())

  def _identity(self):
    """Returns what a file's solver and this one must have in common."""
    return {"solver": type(self).__name__, "game": str(self.graph.game),
            "parameters": {"tremble": self._tremble, "gamma": self._gamma,
                           "seed": self._seed, "dtype": self._dtype.name,
                           **self._parameters()}}

  def save(self, path):
    """Writes all that is needed to go on exactly from here to one file."""
    checkpoint.save(path, _FILE_KIND,
                    {**self._identity(), "iteration": self._iteration},
                    self._tables._asdict())

  def load(self, path):
    """Goes on from a file that a solver of the same kind and game saved."""
    self._iteration = checkpoint.load_solver(
        path, _FILE_KIND, self._identity(), self._tables._asdict())


def _make_graph(game, abstraction, recall_length):
  """Returns the `single_round_graph.Graph` of a game."""
  if single_round_layout.is_single_round(game):
    return single_round_graph.graph_of_layout(single_round_layout.Layout(
        single_round_layout.abstract_game(game, abstraction, recall_length)))
  for name, value in (("abstraction", abstraction),
                      ("recall_length", recall_length)):
    if value is not None:
      raise ValueError(f"{name}={value!r}: must be None, as {game} is not "
                       "dudo_single_round")
  return single_round_graph.graph_of_tree(game_tree.GameTree(game))
