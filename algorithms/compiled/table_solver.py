"""What all solvers have in common: running, stopping, measuring, saving."""

import dataclasses
import math
import time

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel
import tqdm

from dudo_spiel.algorithms.compiled import blocks
from dudo_spiel.algorithms.compiled import evaluator
from dudo_spiel.algorithms.compiled import game as compiled_game
from dudo_spiel.algorithms.compiled import table_policy
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint

_FILE_KIND = "solver"
_CHUNK_SECONDS = 0.2  # how long to run before looking at clock and bar
_MAX_RULES = 100_000  # iterations whose rules are made at once


@dataclasses.dataclass(frozen=True)
class Check:
  """What was measured on the way.

  Attributes:
    iteration: after how many iterations.
    seconds: after how many seconds of running.
    exploitability: of the average policy then (in the perturbed game, for a
      solver with `epsilon`).
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


class Solver:
  """Iterates on the tables of a compiled game.

  A subclass implements `_rule`, the numbers by which its iterations differ.

  Args:
    game: a `pyspiel.Game`.
    alternating: whether players are updated one after the other (or all at
      once).
    initial: the strategy before the first iteration: "uniform", "random", or
      any OpenSpiel policy.
    seed: for a random initial strategy.
    epsilon: above 0, the perturbed game is solved, in which every action has at
      least this probability; an initial strategy is mixed with that.
    dtype: "float64", or "float32" for half the memory.
    num_threads: how many threads to use; results do not depend on it. It helps
      only in large games (see `compiled_game.CompiledGame.can_use_threads`).
    form: the form of the compiled game (see `compiled_game`); None chooses.
  """

  _MODE = blocks.LEARN  # what iterations do with the values of a block
  _TABLES = ("regret", "cumulative")  # what they keep beside the strategy
  _CHECK_GROWTH = 1.25  # each check comes after so many times the iterations

  def __init__(self, game, *, alternating=True, initial="uniform", seed=0,
               epsilon=0.0, dtype="float64", num_threads=1, form=None):
    num_threads = arguments.integer("num_threads", num_threads, 1)
    seed = arguments.integer("seed", seed, 0)
    if dtype not in ("float64", "float32"):
      raise ValueError(f"dtype={dtype!r}: must be 'float64' or 'float32'")
    self.compiled = compiled_game.compile_game(game, form)
    self._evaluator = evaluator.Evaluator(self.compiled)
    self._epsilon = self.compiled.check_epsilon(epsilon)
    self._alternating = arguments.boolean("alternating", alternating)
    self._dtype = np.dtype(dtype)
    self._num_threads = num_threads
    self._count = np.zeros(1, dtype=np.int64)  # counted by the kernels
    self._tables = self.compiled.new_tables(self._dtype, self._TABLES)
    self._space = self.compiled.form.workspace(self._dtype)
    self._tables.strategy[:] = self.compiled.perturbed(
        self._initial_strategy(initial, seed), self._epsilon)
    self.compiled.propagate(self._tables.strategy, self._space)

  def _initial_strategy(self, initial, seed):
    if isinstance(initial, (policy_lib.Policy, pyspiel.Policy)):
      return table_policy.to_strategy(self.compiled, initial)
    if initial == "uniform":
      return self._tables.strategy
    if initial == "random":
      rng = np.random.default_rng(seed)
      return self.compiled.normalized(
          rng.exponential(size=self.compiled.num_entries))
    raise ValueError(f"initial={initial!r}: must be 'uniform', 'random' or an "
                     "OpenSpiel policy")

  def _rule(self, first, last):
    """Returns the `blocks.Rule` of iterations first..last: numbers or arrays.

    Args:
      first: the first iteration.
      last: the last iteration; if it is before the first, there are none.
    """
    raise NotImplementedError

  def _parameters(self):
    """Returns a dict of the numbers that define the solver, for its files."""
    parameters = {"alternating": self._alternating, "dtype": self._dtype.name,
                  "form": self.compiled.form_name}
    if self._epsilon > 0.0:
      parameters["epsilon"] = self._epsilon
    return parameters

  @property
  def game(self):
    """The game."""
    return self.compiled.game

  @property
  def iteration(self):
    """How many iterations were run."""
    return int(self._count[0])

  @property
  def memory_bytes(self):
    """How much memory the solver takes, beside the game's tree."""
    arrays = [*self._tables, *self._space.arrays, *self._space[1:]]
    return sum(array.nbytes for array in arrays
               if isinstance(array, np.ndarray))

  def evaluate_and_update_policy(self):
    """Runs one iteration."""
    self.run(1)

  def run(self, iterations):
    """Runs iterations, all inside compiled code."""
    end = self.iteration + arguments.integer("iterations", iterations, 0)
    while True:
      first = self.iteration + 1
      last = min(end, self.iteration + _MAX_RULES)
      columns = np.broadcast_arrays(np.empty(last - first + 1),
                                    *self._rule(first, last))
      rules = np.stack(columns[1:], axis=1).astype(self._dtype)
      self.compiled.run(self._tables, self._space, rules, self._alternating,
                        self._count, self._num_threads, self._MODE)
      if self.iteration >= end:
        return

  def _average(self):
    """Returns the average strategy: [entry] float64."""
    if self.iteration == 0:
      return self._tables.strategy.astype(np.float64)
    return self.compiled.normalized(self._tables.cumulative.astype(np.float64))

  def current_policy(self):
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return table_policy.from_strategy(self.compiled,
                                 self._tables.strategy.astype(np.float64))

  def average_policy(self):
    """Returns the average policy, an OpenSpiel policy (a copy)."""
    return table_policy.from_strategy(self.compiled, self._average())

  def best_policy(self):
    """Returns the best policy that is known, an OpenSpiel policy (a copy).

    It is the average policy, but for solvers whose policies get worse now and
    then (see `fictitious_play`).
    """
    return self.average_policy()

  def expected_values(self):
    """Returns [player] float64, each player's value of the average policy."""
    return self._evaluator.expected_values(self._average())

  def nash_conv(self, perturbed=False):
    """Returns the NashConv of the average policy.

    Args:
      perturbed: whether responses too play every action with probability
        `epsilon` or more (or all responses are possible).
    """
    return self._evaluator.nash_conv(
        self._average(),
        self._epsilon if arguments.boolean("perturbed", perturbed) else 0.0)

  def exploitability(self, perturbed=False):
    """Returns the exploitability of the average policy.

    Args:
      perturbed: as for `nash_conv`.
    """
    return self.nash_conv(perturbed) / self.compiled.num_players

  def solve(self, target_exploitability=None, max_iterations=None,
            max_seconds=None):
    """Runs until the average policy is good enough, or a limit is reached.

    Exploitability is measured after iteration counts that grow geometrically,
    and at the end. With `epsilon` it is that of the perturbed game, since the
    plain one does not go to zero there.

    Args:
      target_exploitability: stop when the exploitability is at most this.
      max_iterations: stop after this many further iterations.
      max_seconds: stop after about this many seconds.

    Returns:
      A `SolveResult`.
    """
    limits = {"target_exploitability": target_exploitability,
              "max_iterations": max_iterations, "max_seconds": max_seconds}
    for name, value in limits.items():
      if value is not None:
        arguments.number(name, value, 0.0)
    if all(value is None for value in limits.values()):
      raise ValueError(f"{', '.join(limits)}: at least one must be given")
    end = math.inf if max_iterations is None else (
        self.iteration + arguments.integer("max_iterations", max_iterations, 0))
    # This compiles all that will run, before the clock starts.
    self.run(0)
    history = [self._check(0.0)]
    clock = _Clock(max_seconds)
    with tqdm.tqdm(total=max_iterations, unit="it", disable=None) as bar:
      try:
        reason = self._solve(target_exploitability, end, clock, history, bar)
      except KeyboardInterrupt:
        reason = "interrupted"
    if history[-1].iteration != self.iteration:
      history.append(self._check(clock.seconds()))
    last = history[-1]
    return SolveResult(reason, self.iteration, clock.seconds(),
                       last.exploitability, last.values, tuple(history))

  def _solve(self, target, end, clock, history, bar):
    """Runs and checks; returns the reason to stop."""
    next_check = self.iteration + 1
    while True:
      if target is not None and self._reached(history[-1]) <= target:
        return "target"
      if self.iteration >= end:
        return "iterations"
      if clock.is_over():
        return "seconds"
      chunk = int(max(1, min(next_check - self.iteration, clock.chunk(),
                             end - self.iteration)))
      begin = time.perf_counter()
      self.run(chunk)
      clock.ran(chunk, time.perf_counter() - begin)
      bar.update(chunk)
      if self.iteration >= next_check:
        history.append(self._check(clock.seconds()))
        bar.set_postfix(exploitability=f"{history[-1].exploitability:.3g}",
                        value=f"{history[-1].values[0]:.6f}")
        next_check = max(self.iteration + 1,
                         int(self.iteration * self._CHECK_GROWTH))

  def _check(self, seconds):
    strategy = self._average()
    values, nash_conv = self._evaluator.measure(strategy, self._epsilon)
    check = Check(self.iteration, seconds,
                  nash_conv / self.compiled.num_players, tuple(values.tolist()))
    self._checked(check, strategy)
    return check

  def _checked(self, check, strategy):
    """Is told each `Check` of `solve` and the strategy that was measured."""

  def _reached(self, check):
    """Returns which exploitability counts, given the newest `Check`."""
    return check.exploitability

  def _identity(self):
    """Returns what a file's solver and this one must have in common."""
    return {"solver": type(self).__name__, "game": str(self.game),
            "fingerprint": self.compiled.tree.fingerprint(),
            "parameters": self._parameters()}

  def save(self, path):
    """Writes all that is needed to go on exactly from here to one file."""
    header, arrays = self._extras()
    checkpoint.save(path, _FILE_KIND, {**self._identity(), **header,
                                       "iteration": self.iteration},
                    {**self._saved_tables(), **arrays})

  def _extras(self):
    """Returns (header, arrays), dicts of what else is saved."""
    return {}, {}

  def _read_extras(self, path, header, arrays):
    """Returns what `_extras` has saved, for `_take_extras`, or raises."""

  def _take_extras(self, extras):
    """Takes what `_read_extras` has returned."""

  def _saved_tables(self):
    """Returns {name: array} of the tables that the solver has."""
    return {name: table for name, table in self._tables._asdict().items()
            if len(table)}

  def load(self, path):
    """Goes on from a file that a solver of the same kind and game saved."""
    header, arrays = checkpoint.load(path, _FILE_KIND)
    checkpoint.check_header(path, header, self._identity())
    iteration = arguments.integer("iteration", header["iteration"], 0)
    extras = self._read_extras(path, header, arrays)
    checkpoint.copy_tables(path, arrays, self._saved_tables())
    self._take_extras(extras)
    self._count[0] = iteration
    self.compiled.propagate(self._tables.strategy, self._space)


class _Clock:
  """Measures time, and how many iterations fit into a short while."""

  def __init__(self, max_seconds):
    self._begin = time.perf_counter()
    self._max_seconds = math.inf if max_seconds is None else max_seconds
    self._rate = 1.0 / _CHUNK_SECONDS  # iterations a second

  def seconds(self):
    return time.perf_counter() - self._begin

  def is_over(self):
    return self.seconds() >= self._max_seconds

  def ran(self, iterations, seconds):
    """Learns from a chunk how fast iterations are."""
    self._rate = iterations / max(seconds, 1e-9)

  def chunk(self):
    """Returns how many iterations to run before looking again."""
    left = min(_CHUNK_SECONDS, max(0.0, self._max_seconds - self.seconds()))
    return self._rate * left
