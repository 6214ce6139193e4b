"""Bases of the solvers on graphs: tables, iterations, policies, files."""

from collections.abc import Callable
from collections.abc import Sequence
import functools

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.graphs import game_graph
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import plan_kernels
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.tree import game_tree

_UNIT = 2.0**-20  # of iterations as weights, whose sums must fit float32
_LOOK_AHEAD = 64  # iterations in a parallel plan
_MAX_ITERATION = 2**62
_MAX_PLANNED = 4096  # iterations in a serial plan


def check_memory(game, num_entries, dtype):
  """Raises a ValueError if both tables of a solver do not fit into memory."""
  ram.check("game", game, 2 * num_entries * np.dtype(dtype).itemsize,
            "its training",
            "a coarser abstraction, a shorter recall_length or fewer dice")


class GraphSolver(base_solver.Solver):
  """Base of the solvers on a `game_graph.Graph`.

  A subclass says what one iteration does: `_new_scratch` and `_advance`.

  Args:
    game: a `pyspiel.Game`.
    make_graph: function without arguments that returns the `game_graph.Graph`;
      called after all arguments have been checked.
    seed: for all random numbers.
    num_threads: number of threads to use, None for all; results do not depend
      on it. Only graphs with many columns of entries use more than one.
    dtype: "float64" or "float32"; None for the graph's default.

  Attributes:
    graph: the `game_graph.Graph`.
  """

  def __init__(self, game: pyspiel.Game,
               make_graph: Callable[[], game_graph.Graph], *, seed: int,
               num_threads: int | None, dtype: str | None) -> None:
    super().__init__(game, seed=seed, num_threads=num_threads,
                     dtype="float64" if dtype is None else dtype)
    self.graph = make_graph()
    if self.graph.num_entries == 0:
      raise ValueError(f"game={game}: no player ever decides anything")
    self._dtype = np.dtype(self.graph.table_dtype(dtype))
    game_tree.check_payoffs(game, self.graph.returns, self._dtype.name)
    if self.graph.num_columns == 1:
      self._num_threads = 1
    size = self.graph.num_columns * self.graph.num_entries
    check_memory(game, size, self._dtype)
    self._regret_tables = regret_tables.RegretTables(
        *(np.zeros(size, self._dtype) for _ in range(2)))
    self._scratch = self._new_scratch()

  def _new_scratch(self):
    """Returns the kernels' scratch, a NamedTuple."""
    raise NotImplementedError

  @property
  def tables(self) -> regret_tables.RegretTables:
    """The solver's own `RegretTables`, [column * entries + entry]."""
    return self._regret_tables

  @property
  def memory_bytes(self) -> int:
    """Bytes of memory of the graph, the tables and the scratch."""
    arrays = {id(array): array.nbytes
              for array in (*self._regret_tables, *self._scratch)
              if isinstance(array, np.ndarray)}
    return self.graph.memory_bytes + sum(arrays.values())

  def current_policy(self) -> policy_lib.Policy:
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return self.graph.policy(self._regret_tables.regret, self.game)

  def _average_policy(self):
    return self.graph.policy(self._regret_tables.cumulative, self.game)

  @functools.cached_property
  def _evaluator(self):
    return evaluator.Evaluator(self.graph.compiled())

  def _average_strategy(self):
    """Returns [entry of the compiled game] float64."""
    return table_policy.to_strategy(self._evaluator.compiled,
                                    self._average_policy())

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy.

    It raises a ValueError if the game is too large to walk.
    """
    return self._evaluator.expected_values(self._average_strategy())

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy.

    Responders have perfect recall, whatever the abstraction. It raises a
    ValueError if the game is too large to walk.
    """
    return self._evaluator.nash_conv(self._average_strategy())

  def _measure(self):
    return self._evaluator.measure(self._average_strategy())

  # Files.

  def _tables(self):
    return self._regret_tables._asdict()

  def _parameters(self):
    return {"seed": self._seed, "dtype": self._dtype.name}

  def _fingerprint(self):
    return self.graph.fingerprint()

  def _identity(self):
    return {**super()._identity(), "game": str(self.graph.game)}


def setting_at(name, setting, iteration):
  """Returns a setting, which may be a function of the iteration."""
  if not callable(setting):
    return setting
  try:
    return setting(int(iteration))
  except TypeError as error:
    raise ValueError(f"{name}={setting!r}: must be a number or a function of "
                     f"the iteration ({error})") from error


class PlannedSolver(GraphSolver):
  """Base of the solvers for n players, whose iterations are planned ahead.

  Gendre & Kaneko (2019) train one agent for all seats: in `dudo_single_round`
  seats share their tables, as their information sets do not tell seats apart.

  A subclass says what one iteration does: `_SETTINGS`, `_write_settings` and
  `_new_scratch`. The arguments are those of `pfsi.FSISolver`, except
  `make_graph` (see `GraphSolver`).
  """

  _SETTINGS: np.dtype | None = None  # of an iteration's settings, structured

  def __init__(self, game: pyspiel.Game,
               make_graph: Callable[[], game_graph.Graph], *,
               tremble: float = 0.0, gamma: float = 1.0, seed: int = 0,
               num_threads: int | None = None,
               dtype: str | None = None) -> None:
    self._tremble = validation.number("tremble", tremble, 0.0, 0.9)
    self._gamma = validation.number("gamma", gamma, 0.0, 5.0)
    validation.choice("dtype", dtype, (None, "float64", "float32"))
    super().__init__(game, make_graph, seed=seed, num_threads=num_threads,
                     dtype=dtype)

  def _write_settings(self, settings, iterations):
    """Writes the settings of the subclass.

    Args:
      settings: [iteration] of `_SETTINGS`, modified in place.
      iterations: [iteration] int64, their numbers.
    """
    raise NotImplementedError

  def _parameters(self):
    return {"tremble": self._tremble, "gamma": self._gamma,
            **super()._parameters()}

  def _advance(self, iterations):
    max_size = _LOOK_AHEAD if self._num_threads > 1 else _MAX_PLANNED
    while True:
      size = min(iterations, max_size)
      plan = self._plan(np.arange(self.iteration + 1,
                                  self.iteration + 1 + size))
      jit.run(self._num_threads, plan_kernels.run, plan_kernels.run_parallel,
              self.graph.arrays, self.graph.dice, self._regret_tables,
              self._scratch, plan, self._count)
      iterations -= size
      if iterations == 0:
        return

  def _plan(self, iterations):
    """Returns the `graph_kernels.IterationPlan` of numbered iterations."""
    rolls, settings = self.rolls(iterations), self.settings(iterations)
    wave_begin = np.array([0, len(iterations)])
    if self._num_threads > 1:
      waves = graph_kernels.find_waves(rolls, self.graph.num_columns)
      order = np.argsort(waves, kind="stable")
      iterations, rolls = iterations[order], rolls[order]
      settings = settings[order]
      wave_begin = np.append(0, np.cumsum(np.bincount(waves)))
    return graph_kernels.IterationPlan(np.uint64(self._seed), iterations, rolls,
                                       settings, wave_begin)

  def settings(self, iterations: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns [iteration], a structured array with a column for each setting.

    Args:
      iterations: [iteration] int, past or future; the first ever is 1.
    """
    iterations = validation.integers("iterations", iterations, 0,
                                     _MAX_ITERATION)
    settings = np.zeros(len(iterations), self._SETTINGS)
    settings["tremble"] = self._tremble
    settings["weight"] = (iterations * _UNIT)**self._gamma
    settings["pruned_value"] = ((self.game.utility_sum() or 0.0) /
                                self.graph.num_players)
    self._write_settings(settings, iterations)
    return settings

  def rolls(self, iterations: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns [iteration, player] int64, the rolls in iterations.

    They are zeros for a walked game, whose chance nodes are part of its graph.

    Args:
      iterations: [iteration] int, past or future; the first ever is 1.
    """
    iterations = validation.integers("iterations", iterations, 0,
                                     _MAX_ITERATION)
    rolls = np.zeros((len(iterations), self.graph.num_players), np.int64)
    graph_kernels.sample_rolls(self.graph.dice.distribution,
                               np.uint64(self._seed), iterations, rolls)
    return rolls

  def _check_can_prune(self, name, value):
    """Raises a ValueError if pruned branches have no value (sum / players)."""
    if value != 0 and self.game.utility_sum() is None:
      raise ValueError(f"{name}={value!r}: must be 0, as the returns of "
                       f"{self.game} have no constant sum")
