"""Fictitious play on behaviour strategies: BDFP and XFP.

Schulze, "An extensive-form fictitious play algorithm with local best decision
updates". The initial strategy is b_1; iteration n makes b_(n+1):

  BDFP (best-decision fictitious play, equations 3, 4 and 23): every information
    set I moves towards its best decision d(I), the action with the highest
    counterfactual utility when all players, the deciding one included, continue
    with b_n: b_(n+1) = b_n + (d(b_n) - b_n) / (n + 1).
  XFP (extensive-form fictitious play, equations 21 and 22; Heinrich, Lanctot &
    Silver 2015): every set moves towards a full best response B to the others'
    b_n. The reaches P of the set weigh both, so that plans for the whole game
    are mixed: b_(n+1) = b_n + P(I; B) (B - b_n) / (n P(I; b_n) + P(I; B)).

b_n is an average already, so `average_policy` returns it. With `average=True`
it returns the mean of b_2, ..., b_(n+1), the running average of section 5.1,
whose exploitability fluctuates less. Among actions with equal values the first
is best. Rounding may decide between values that are equal otherwise, so the
forms of a game, and OpenSpiel, may choose differently.

In a perturbed game (`epsilon`) decisions and responses are epsilon + (1 - |A|
epsilon) [a is best]. The paper's equation 35 does not sum to one.

Both converge in two-player zero-sum games of perfect recall. They also run with
more players, and BDFP with imperfect recall, but without any promise.
"""

import dataclasses
from typing import Any
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular import table_solver
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import update_rules

_BEST = "best"  # the name of the best strategy in files
_ROUNDING = 1e-6  # by which sums of reaches may be too large


class _Best(NamedTuple):
  """The best strategy that `solve` has measured."""
  check: base_solver.Check
  strategy: np.ndarray  # [entry] float64


class FictitiousPlaySolver(table_solver.TableSolver):
  """Base of BDFP and XFP.

  Iterates fluctuate, so `solve` keeps the best strategy that it measures (see
  `best_policy`). A target is reached when that strategy reaches it, in this
  call or in an earlier one. `SolveResult` describes this call and its last
  iterate.

  Args:
    game: a `pyspiel.Game`.
    alternating: whether players are updated one after the other (or all at
      once, as in the paper).
    average: whether the result is the mean of all iterates.
    **kwargs: `epsilon`, `initial`, `seed`, `dtype`, `num_threads` and `form`
      of `tabular.table_solver.TableSolver`.
  """

  _CHECK_GROWTH = 1.02  # measured often, to find good iterates

  def __init__(self, game: pyspiel.Game, *, alternating: bool = False,
               average: bool = False, **kwargs: Any) -> None:
    self._has_mean = validation.boolean("average", average)
    if self._has_mean:
      self._TABLES = (*self._TABLES, "mean")
    super().__init__(game, alternating=alternating, **kwargs)
    self._best = None  # the `_Best`; None before `solve`

  def _parameters(self):
    return {**super()._parameters(), "average": self._has_mean}

  def _rule(self, first, last):
    return update_rules.Rule(
        positive=0.0, negative=0.0, prediction=0.0, decay=0.0,
        epsilon=self._epsilon, step=1.0 / (np.arange(first, last + 1) + 1.0))

  def _average(self):
    if self._has_mean and self.iteration > 0:
      return self.compiled.normalized(self.tables.mean)
    exact = (self.tables.cumulative if len(self.tables.cumulative) else
             self.tables.strategy)
    return self.compiled.normalized(exact.astype(np.float64))

  def _check(self, seconds):
    check = super()._check(seconds)
    if (self._best is None or
        check.exploitability < self._best.check.exploitability):
      self._best = _Best(check, self._average())
    return check

  def _target_exploitability(self, check):
    return self._best.check.exploitability

  def best_policy(self) -> table_policy.TablePolicy:
    """Returns the best policy that `solve` has measured so far.

    It is what `average_policy` was then; `save` keeps it. Before the first
    `solve` it is `average_policy`.
    """
    if self._best is None:
      return self.average_policy()
    return table_policy.from_strategy(self.compiled, self._best.strategy)

  @property
  def best_check(self) -> base_solver.Check | None:
    """The `base_solver.Check` of the best policy; None before `solve`."""
    return None if self._best is None else self._best.check

  def _extras(self):
    if self._best is None:
      return {_BEST: None}, {}
    check, strategy = self._best
    return {_BEST: dataclasses.asdict(check)}, {_BEST: strategy}

  def _read_extras(self, archive, tables):
    super()._read_extras(archive, tables)
    if (archive.header.get(_BEST, "") is None and
        _BEST not in archive.names):  # saved before the first `solve`
      return None
    check = archives.field(archive.path, archive.header, _BEST, _saved_check,
                           self.compiled.num_players)
    strategy = archive.read(_BEST, (self.compiled.num_entries,), (np.float64,))
    self._check_strategy(archive, strategy)
    return _Best(check, strategy)

  def _restore_extras(self, extras):
    self._best = extras


class BDFPSolver(FictitiousPlaySolver):
  """Best-decision fictitious play.

  Args:
    game: a `pyspiel.Game`.
    dtype: "float64", or "float32"; averages are always float64.
    **kwargs: the other arguments of `FictitiousPlaySolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import fictitious_play
    >>> solver = fictitious_play.BDFPSolver(pyspiel.load_game("kuhn_poker"))
    >>> result = solver.solve(max_iterations=500)
    >>> solver.best_check.exploitability <= result.exploitability < 0.01
    True
  """

  _MODE = set_blocks.DECIDE
  _TABLES: tuple[str, ...] = ()

  def __init__(self, game: pyspiel.Game, *, dtype: str = "float64",
               **kwargs: Any) -> None:
    if validation.choice("dtype", dtype, ("float64", "float32")) == "float32":
      self._TABLES = (*self._TABLES, "cumulative")
    super().__init__(game, dtype=dtype, **kwargs)
    self._keep_exact()

  def _keep_exact(self):
    """Keeps the strategy, if it is float32, in float64 as well."""
    if len(self.tables.cumulative):
      self.tables.cumulative[:] = self.tables.strategy

  def refresh(self) -> None:
    """Updates what depends on `tables.strategy`, after a change of it."""
    super().refresh()
    self._keep_exact()

  def _read_extras(self, archive, tables):
    if "cumulative" in tables:  # the strategy in float64
      self._check_strategy(archive, tables["cumulative"])
    return super()._read_extras(archive, tables)


class XFPSolver(FictitiousPlaySolver):
  """Extensive-form fictitious play.

  Args:
    game: a `pyspiel.Game` of perfect recall.
    **kwargs: the other arguments of `FictitiousPlaySolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import fictitious_play
    >>> solver = fictitious_play.XFPSolver(pyspiel.load_game("kuhn_poker"))
    >>> solver.run(500)
    >>> solver.nash_conv() < 0.05
    True
  """

  _MODE = set_blocks.MIX
  _TABLES = ("cumulative", "response")

  def __init__(self, game: pyspiel.Game, **kwargs: Any) -> None:
    super().__init__(game, **kwargs)
    if not self.compiled.has_perfect_recall:
      raise ValueError(f"game={game}: has imperfect recall, so a best response "
                       "is not defined on it; use BDFPSolver")
    self.compiled.start_mixing(self.tables, self._workspace)

  def refresh(self) -> None:
    """Updates what depends on `tables.strategy`, after a change of it."""
    super().refresh()
    mean = self.tables.mean.copy()
    self.tables.cumulative[:] = 0.0
    self.compiled.start_mixing(self.tables, self._workspace)
    self.tables.cumulative[:] *= self.iteration + 1
    self.tables.mean[:] = mean

  def _read_extras(self, archive, tables):
    # Iterations, and the strategy before them, add the reach of a plan each.
    high = (1.0 + _ROUNDING) * (archive.header["iteration"] + 1)
    if np.any(tables["cumulative"] > high):
      raise ValueError(f"path={archive.path!r}: its cumulative has numbers "
                       f"above {high:g}, which its iterations cannot make")
    return super()._read_extras(archive, tables)


def _saved_check(name, value, num_players):
  """Returns a header field as a `base_solver.Check`, or raises a ValueError."""
  fields = {field.name for field in dataclasses.fields(base_solver.Check)}
  if not isinstance(value, dict) or value.keys() != fields:
    raise ValueError(f"{name} must be a check as `save` writes it")
  return base_solver.Check(
      validation.integer(f"{name} iteration", value["iteration"], 0,
                         archives.MAX_COUNT),
      archives.number(f"{name} seconds", value["seconds"], 0.0),
      archives.number(f"{name} exploitability", value["exploitability"]),
      tuple(archives.number_list(f"{name} values", value["values"],
                                 num_players)))


SOLVERS = {
    "bdfp": BDFPSolver,
    "xfp": XFPSolver,
}
