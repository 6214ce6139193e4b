"""The base of solvers on a compiled game: tables, updates, measurements."""

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import update_rules


class TableSolver(base_solver.Solver):
  """Iterates on the tables of a compiled game.

  A subclass implements `_rule`, the parameters of its iterations.

  Args:
    game: a `pyspiel.Game`.
    alternating: whether players are updated one after the other (or all at
      once).
    initial: the strategy before the first iteration: "uniform", "random", or
      any OpenSpiel policy.
    seed: for a random initial strategy.
    epsilon: above 0, the solver solves the perturbed game, in which every
      action has at least this probability; the initial strategy is mixed with
      that.
    dtype: "float64", or "float32" for less memory; sums of strategies are
      always float64.
    num_threads: number of threads to use, None for all; results do not depend
      on it. It helps only in large games (see `CompiledGame.can_use_threads`).
    form: the form of the compiled game: "deal", "sequence", "history", or None
      for the fastest that fits.
    perfect_recall: whether to solve the game with perfect recall. It makes a
      difference only in games of imperfect recall, such as `goofspiel` without
      `imp_info`. Such a solution is no policy of OpenSpiel, which lacks its
      information states.

  Attributes:
    game: the game.
    compiled: the `compiled_game.CompiledGame`.
    tables: the `set_blocks.SolverTables`. Call `refresh` after changing a
      strategy.
  """

  _MODE = set_blocks.LEARN  # what iterations do with the values of a block
  _EXCLUSIVE = frozenset({"load", "refresh"})
  # What they keep besides the strategy.
  _TABLES: tuple[str, ...] = ("regret", "cumulative")

  def __init__(self, game: pyspiel.Game, *, alternating: bool = True,
               initial: str | annotations.Policy = "uniform", seed: int = 0,
               epsilon: float = 0.0, dtype: str = "float64",
               num_threads: int | None = 1, form: str | None = None,
               perfect_recall: bool = False) -> None:
    super().__init__(game, seed=seed, num_threads=num_threads, dtype=dtype)
    self._perfect_recall = validation.boolean("perfect_recall", perfect_recall)
    self.compiled = compiled_game.compile_game(game, form, perfect_recall)
    game_tree.check_payoffs(game, self.compiled.tree.payoffs, self._dtype.name)
    self._evaluator = evaluator.Evaluator(self.compiled)
    self._epsilon = self.compiled.check_epsilon(epsilon)
    self._alternating = validation.boolean("alternating", alternating)
    self.tables = self.compiled.new_tables(self._dtype, self._TABLES)
    self._workspace = self.compiled.workspace(self._dtype)
    self.tables.strategy[:] = self.compiled.perturbed(
        self._initial_strategy(initial), self._epsilon)
    self._propagate()

  def _initial_strategy(self, initial):
    if validation.is_policy(initial):
      return table_policy.to_strategy(self.compiled, initial)
    if isinstance(initial, str) and initial == "uniform":
      return self.tables.strategy
    if isinstance(initial, str) and initial == "random":
      rng = np.random.default_rng(self._seed)
      return self.compiled.normalized(
          rng.exponential(size=self.compiled.num_entries))
    raise ValueError(f"initial={initial!r}: must be 'uniform', 'random' or an "
                     "OpenSpiel policy")

  def _propagate(self):
    self.compiled.propagate(self.tables.strategy, self._workspace)

  def refresh(self) -> None:
    """Updates what depends on `tables.strategy`, after a change of it."""
    self._propagate()

  def _rule(self, first, last):
    """Returns the `update_rules.Rule` of iterations: numbers, or [iteration].

    Args:
      first: the first iteration.
      last: the last iteration; `first - 1` for none.
    """
    raise NotImplementedError

  def _parameters(self):
    parameters = {"alternating": self._alternating, "dtype": self._dtype.name,
                  "form": self.compiled.form_name}
    if self._epsilon > 0.0:
      parameters["epsilon"] = self._epsilon
    if self._perfect_recall:
      parameters["perfect_recall"] = True
    return parameters

  def _fingerprint(self):
    return self.compiled.tree.fingerprint()

  @property
  def memory_bytes(self) -> int:
    """Bytes of memory of the solver, besides the game's tree."""
    arrays = [*self.tables, *self._workspace.arrays, *self._workspace[1:]]
    return sum(array.nbytes for array in arrays
               if isinstance(array, np.ndarray))

  def _advance(self, iterations):
    first = self.iteration + 1
    rules = update_rules.rule_arrays(
        self._rule(first, self.iteration + iterations), iterations, self._dtype)
    self.compiled.run(self.tables, self._workspace, rules, self._alternating,
                      self._MODE, self._count, self._num_threads)

  def _average(self):
    """Returns the average strategy: [entry] float64."""
    if self.iteration == 0:
      return self.tables.strategy.astype(np.float64)
    return self.compiled.normalized(self.tables.cumulative)

  def current_policy(self) -> table_policy.TablePolicy:
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return table_policy.from_strategy(self.compiled,
                                      self.tables.strategy.astype(np.float64))

  def _average_policy(self):
    return table_policy.from_strategy(self.compiled, self._average())

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    return self._evaluator.expected_values(self._average())

  def nash_conv(self, perturbed: bool = False) -> float:
    """Returns the NashConv of the average policy.

    Args:
      perturbed: whether responses too play every action with probability
        `epsilon` or more (or all responses are possible).
    """
    is_perturbed = validation.boolean("perturbed", perturbed)
    return self._evaluator.nash_conv(self._average(),
                                     self._epsilon if is_perturbed else 0.0)

  def exploitability(self, perturbed: bool = False) -> float:
    """Returns the exploitability of the average policy.

    Args:
      perturbed: whether responses too play every action with probability
        `epsilon` or more (or all responses are possible).
    """
    return self.nash_conv(perturbed) / self.compiled.num_players

  def _measure(self):
    """Returns (values, NashConv), with `epsilon` those of the perturbed game.

    The NashConv of the unperturbed game does not converge to zero there.
    """
    return self._evaluator.measure(self._average(), self._epsilon)

  def _tables(self):
    return {name: table for name, table in self.tables._asdict().items()
            if len(table)}

  def _read_extras(self, archive, tables):
    self._check_strategy(archive, tables["strategy"])

  def _check_strategy(self, archive, strategy):
    """Raises a ValueError unless a strategy [entry] of a file is one."""
    sets, _, entries = self.compiled.entries_of_sets()
    if not table_policy.are_distributions(sets, strategy[entries]):
      raise ValueError(f"path={archive.path!r}: its strategy must be a "
                       "distribution at every information set")

  def load(self, path: annotations.PathLike) -> None:
    """Resumes from a file that a solver of the same kind and game saved.

    A file that does not fit or is damaged is refused and changes nothing.
    """
    super().load(path)
    self._propagate()
