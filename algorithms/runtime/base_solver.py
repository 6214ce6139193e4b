"""The base of all solvers: running, measuring, saving.

A solver iterates inside compiled code, a short while at a time (see `pacing`),
and hands out OpenSpiel policies. A subclass says what an iteration does, what
its tables are, and how good its average policy is.
"""

import dataclasses
import math
import time
import warnings

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import pacing
from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import synchronized

FILE_KIND = "solver"
_POSITIVE = ("cumulative", "mean", "state")  # tables without negative numbers
_MAX_SEED = 2**64 - 1
_MAX_MEASURE_SECONDS = 1.0  # of an interrupted `solve`


@dataclasses.dataclass(frozen=True)
class Check:
  """A measurement on the way.

  Attributes:
    iteration: after how many iterations.
    seconds: after how many seconds of this call.
    exploitability: of the average policy (in the perturbed game, for a solver
      with `epsilon`).
    values: tuple, each player's expected value under it.
  """
  iteration: int
  seconds: float
  exploitability: float
  values: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class SolveResult:
  """How a call of `solve` ended.

  Attributes:
    reason: "target", "iterations", "seconds" or "interrupted".
    iterations: how many iterations the solver has run in all.
    seconds: how long this call took.
    exploitability: of the average policy (in the perturbed game, for a solver
      with `epsilon`).
    values: tuple, each player's expected value under it.
    history: tuple of `Check`, the last one included.
  """
  reason: str
  iterations: int
  seconds: float
  exploitability: float
  values: tuple[float, ...]
  history: tuple[Check, ...]

  @property
  def value(self):
    """Player 0's expected value."""
    return self.values[0]

  @property
  def best(self):
    """The `Check` with the smallest exploitability, the first of equals."""
    return min(self.history, key=lambda check: check.exploitability)

  @property
  def best_exploitability(self):
    """The smallest exploitability that was measured."""
    return self.best.exploitability


class Solver(synchronized.Synchronized):
  """What every solver can do.

  Several Python threads may use a solver. Its methods then wait for each other,
  those of a run that is under way only for a fraction of a second, or for the
  iteration under way. No other thread may start a run or load a file meanwhile.

  A subclass implements `_advance`, `_tables`, `_parameters`, `current_policy`,
  `_average_policy`, `expected_values`, `nash_conv` and `memory_bytes`. Kernels
  count the iterations in `_count`, so that tables and count fit together
  whenever Python gets to see them.

  Args:
    game: a `pyspiel.Game`.
    seed: for all random numbers.
    num_threads: how many threads to use, None for all; results do not depend on
      it.
    dtype: "float64" or "float32", the type of the tables.

  Attributes:
    game: the game.
  """

  _CHECK_GROWTH = 1.25  # iterations at a check, relative to the one before

  def __init__(self, game: pyspiel.Game, *, seed: int, num_threads: int | None,
               dtype: str) -> None:
    self.game = validation.game("game", game)
    self._seed = validation.integer("seed", seed, 0, _MAX_SEED)
    self._num_threads = jit.thread_count(num_threads)
    self._dtype = np.dtype(validation.choice("dtype", dtype,
                                             ("float64", "float32")))
    self._count = np.zeros(1, dtype=np.int64)
    self._measure_seconds = 0.0  # how long the last measurement of `solve` took
    self._measured_work = None  # `_work_done` at that measurement

  # What a subclass implements.

  def _advance(self, iterations):
    """Runs iterations, at least 0, and counts them in `_count`."""
    raise NotImplementedError

  def _tables(self):
    """Returns {name: array}, the state from which the solver continues."""
    raise NotImplementedError

  def _parameters(self):
    """Returns a dict of the settings that define the solver, for its files."""
    raise NotImplementedError

  @property
  def memory_bytes(self) -> int:
    """How much memory the solver takes."""
    raise NotImplementedError

  def current_policy(self) -> policy_lib.Policy:
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    raise NotImplementedError

  def _average_policy(self):
    """Returns the average policy, an OpenSpiel policy (a copy)."""
    raise NotImplementedError

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    raise NotImplementedError

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy."""
    raise NotImplementedError

  # What a subclass may change.

  def _chunks(self, iterations, seconds):
    """Runs until a limit is reached (None for no limit), as `pacing.chunks`."""
    return pacing.chunks(self._advance, iterations, seconds)

  def _work_done(self):
    """Returns a number that is larger whenever more was learned."""
    return self.iteration

  def _measure(self):
    """Returns (values, NashConv) by which `solve` decides."""
    return self.expected_values(), self.nash_conv()

  def _target_exploitability(self, check):
    """Returns what `solve` compares with its target, by the newest `Check`."""
    return check.exploitability

  def _fingerprint(self):
    """Returns a content hash; distinct games may have the same string."""
    return str(self.game)

  # What all solvers share.

  @property
  def iteration(self) -> int:
    """How many iterations were run."""
    return int(self._count[0])

  @property
  def num_threads(self) -> int:
    """How many threads the solver may use; small games use one."""
    return self._num_threads

  def average_policy(self) -> policy_lib.Policy:
    """Returns the average policy, an OpenSpiel policy (a copy).

    It warns if the solver has run no iterations: the policy is then the initial
    one, in most cases uniform play.
    """
    if self.iteration == 0:
      warnings.warn(
          f"{type(self).__name__}: nothing is trained yet, so average_policy "
          "is the policy before the first iteration; call run or solve first",
          UserWarning, stacklevel=4)  # above those of `synchronized`
    return self._average_policy()

  def best_policy(self) -> policy_lib.Policy:
    """Returns the best policy that is known, an OpenSpiel policy (a copy).

    That is the average policy, except for solvers whose policies get worse now
    and then (see `fictitious_play`).
    """
    return self.average_policy()

  def exploitability(self) -> float:
    """Returns the NashConv divided by the number of players."""
    return self.nash_conv() / self.game.num_players()

  def evaluate_and_update_policy(self) -> None:
    """Runs one iteration."""
    self.run(1)

  def run(self, iterations: int | None = None,
          seconds: float | None = None) -> None:
    """Runs iterations inside compiled code.

    Ctrl-C stops within a fraction of a second, or after the iteration under
    way if that takes longer. It raises a KeyboardInterrupt and leaves a solver
    that can be used and go on.

    Args:
      iterations: how many, or None.
      seconds: for about how long, or None. The compilation of kernels does not
        count.
    """
    check_limits(iterations, seconds)
    if seconds is not None:
      self._advance(0)  # compiles all that will run, before the clock starts
    with progress.progress_bar(iterations) as bar:
      for size, _ in self._steps(self._chunks(iterations, seconds)):
        bar.update(size)

  def solve(self, target_exploitability: float | None = None,
            max_iterations: int | None = None,
            max_seconds: float | None = None) -> SolveResult:
    """Runs until the average policy is good enough, or a limit is reached.

    Exploitability is measured after numbers of iterations that grow
    geometrically, and at the end. After Ctrl-C the result has the last
    measurement if another one would take longer than a second.

    Args:
      target_exploitability: stop when the exploitability is at most this.
      max_iterations: stop after this many further iterations.
      max_seconds: stop after about this many seconds, measurements included.

    Returns:
      A `SolveResult`.
    """
    limits = {"target_exploitability": target_exploitability,
              "max_iterations": max_iterations, "max_seconds": max_seconds}
    for name, value in limits.items():
      if value is not None:
        check = (validation.integer if name == "max_iterations" else
                 validation.number)
        check(name, value, 0)
    if all(value is None for value in limits.values()):
      raise ValueError(f"{', '.join(limits)}: at least one must be given")
    end = (math.inf if max_iterations is None else
           self.iteration + max_iterations)
    self._advance(0)  # compiles all that will run, before the clock starts
    history = [self._check(0.0)]
    clock = _Clock(max_seconds)
    with progress.progress_bar(max_iterations, delay=0, leave=True) as bar:
      try:
        reason = self._solve(target_exploitability, end, clock, history, bar)
      except KeyboardInterrupt:
        reason = "interrupted"
    is_slow = self._measure_seconds > _MAX_MEASURE_SECONDS
    if self._measured_work != self._work_done() and not (
        is_slow and reason == "interrupted"):
      history.append(self._check(clock.seconds()))
    last = history[-1]
    return SolveResult(reason, self.iteration, clock.seconds(),
                       last.exploitability, last.values, tuple(history))

  def _solve(self, target, end, clock, history, bar):
    """Runs and checks; returns the reason to stop."""
    next_check = self.iteration + 1
    while True:
      if (target is not None and
          self._target_exploitability(history[-1]) <= target):
        return "target"
      if self.iteration >= end:
        return "iterations"
      if clock.remaining() <= 0.0:
        return "seconds"
      for size, _ in self._steps(self._chunks(
          min(next_check, end) - self.iteration, clock.remaining())):
        bar.update(size)
      if self.iteration < next_check:  # stopped by a limit
        return "seconds" if self.iteration < end else "iterations"
      history.append(self._check(clock.seconds()))
      bar.set_postfix(exploitability=f"{history[-1].exploitability:.3g}",
                      value=f"{history[-1].values[0]:.6f}")
      next_check = max(self.iteration + 1,
                       int(self.iteration * self._CHECK_GROWTH))

  def _check(self, seconds):
    """Returns a new `Check`, so many seconds after the beginning."""
    begin = time.perf_counter()
    values, nash_conv = self._measure()
    self._measure_seconds = time.perf_counter() - begin
    self._measured_work = self._work_done()
    return Check(self.iteration, seconds,
                 float(nash_conv) / self.game.num_players(),
                 tuple(np.asarray(values).tolist()))

  # Files.

  def _identity(self):
    """Returns what a file's solver and this one must have in common."""
    return {"solver": type(self).__name__, "game": str(self.game),
            "fingerprint": self._fingerprint(),
            "parameters": self._parameters()}

  def _extras(self):
    """Returns (header, arrays), dicts of extra state to save."""
    return {}, {}

  def _read_extras(self, archive, tables):
    """Returns what `_extras` has saved, for `_restore_extras`.

    Args:
      archive: the `archives.Archive`.
      tables: dict as `_tables` returns it, read from the archive.

    Raises:
      ValueError: if these cannot be tables or extra state of this solver.
    """

  def _restore_extras(self, extras):
    """Replaces the extra state by what `_read_extras` has returned."""

  def save(self, path: annotations.PathLike) -> None:
    """Writes all that is needed to go on exactly from here to one file."""
    header, arrays = self._extras()
    archives.save(path, FILE_KIND,
                  {**self._identity(), **header, "iteration": self.iteration},
                  {**self._tables(), **arrays})

  def load(self, path: annotations.PathLike) -> None:
    """Resumes from a file that a solver of the same kind and game saved.

    A file that does not fit or is damaged is refused and changes nothing.
    Ctrl-C leaves the solver as it was, or as the file has it.
    """
    with archives.opened(path, FILE_KIND) as archive:
      archives.check_header(path, archive.header, self._identity())
      iteration = archives.field(path, archive.header, "iteration",
                                 validation.integer, 0, archives.MAX_COUNT)
      tables = self._tables()
      saved = {name: archive.read(name, table.shape, (table.dtype,),
                                  0.0 if name in _POSITIVE else -math.inf,
                                  math.inf if name == "state" else None)
               for name, table in tables.items()}
      extras = self._read_extras(archive, saved)
    with interrupts.deferred():  # tables and count must fit together
      for name, table in tables.items():
        table[:] = saved[name]
      self._restore_extras(extras)
      self._count[0] = iteration


def check_identity(path, header, identity, free=()):
  """Returns the parameters of a file, or raises a ValueError if they differ.

  Args:
    path: of the file.
    header: of the file.
    identity: the `Solver._identity` that it must have.
    free: names of parameters that may differ.
  """
  expected = dict(identity)
  parameters = expected.pop("parameters")
  archives.check_header(path, header, expected)
  saved = header.get("parameters")
  saved = saved if isinstance(saved, dict) else {}
  archives.check_header(path, saved, {
      name: value for name, value in parameters.items() if name not in free})
  return saved


def check_limits(iterations, seconds):
  """Raises a ValueError unless exactly one limit of a run is given."""
  if (iterations is None) == (seconds is None):
    raise ValueError(f"iterations={validation.shown(iterations)}, "
                     f"seconds={validation.shown(seconds)}: one of "
                     "them must be given, and not both")
  if iterations is not None:
    validation.integer("iterations", iterations, 0)
  else:
    validation.number("seconds", seconds, 0.0)


class _Clock:
  """Measures how long `solve` takes."""

  def __init__(self, max_seconds):
    self._begin = time.perf_counter()
    self._max_seconds = math.inf if max_seconds is None else max_seconds

  def seconds(self):
    return time.perf_counter() - self._begin

  def remaining(self):
    return self._max_seconds - self.seconds()
