"""Trains whole matches of two-player Dudo with imperfect recall, by FSICFR.

Players remember an abstraction of the claims of a round (`abstractions`), such
as the last three.

A match is trained pair by pair: the rounds (1, 1) first, then (1, 2) and
(2, 1), and so on. The challenges of a round are worth what the smaller rounds
were found to be worth. A `pair_trainer.PairTrainer` trains each pair.
"""

import contextlib
import errno
import itertools
import math
import os
import time

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response
from dudo_spiel.algorithms.dudo.imperfect_recall import deals
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.imperfect_recall import parallel_training
from dudo_spiel.algorithms.dudo.imperfect_recall import schedule
from dudo_spiel.algorithms.dudo.imperfect_recall import table_kernels
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import jobs
from dudo_spiel.algorithms.runtime import pacing
from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import regret_tables

_MAX_EXACT_DICE = 6  # in play, for best responses that take minutes
_MAX_UNIFORM_DICE = 4  # in play, if the policy is still uniform
_FIRST_ITERATIONS = 2  # make a search much shorter than against uniform play
SAVE_SECONDS = 45.0  # time from one save of `run` to the next, at least
_MAX_SAVE_TIME = 0.05  # saves take at most this part of the time of `run`
_TABLE_NAMES = ("regret", "total")  # in files, of `RegretTables`
_MAX_ROUNDING = 1.0 + 1e-6
_MAX_SWEEPS = 2**48  # in files: more than any training makes


def memory_needed(game: pyspiel.Game, recall_length: int = 3,
                  num_threads: int | None = None, *,
                  memory: str | abstractions.Abstraction | None = None) -> int:
  """Returns how many bytes a `MatchSolver` and its policy need.

  Args:
    game: `dudo` or `dudo_ir` with two players.
    recall_length: how many of the last claims players remember in `dudo`.
    num_threads: how many threads the solver uses, None for all.
    memory: what players remember instead, as for `MatchSolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import fsicfr
    >>> game = pyspiel.load_game("dudo(numdice=5)")
    >>> fsicfr.memory_needed(game, recall_length=3, num_threads=1) > 10**9
    True
  """
  rules = abstract_rules.abstract_rules(
      game, abstract_rules.abstraction_of(game, recall_length, memory))
  pairs = pair_trainer.round_pairs(round_rules.round_keys(game.start_dice))
  return _bytes_needed(rules, pairs, None, jit.thread_count(num_threads),
                       np.float32)


def _bytes_needed(rules, pairs, hands_met, num_threads, dtype):
  """Returns how many bytes a `MatchSolver` and its policy need.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    pairs: list of the pairs of rounds that are trained together.
    hands_met: as for `MatchSolver`.
    num_threads: how many threads the solver uses.
    dtype: the type of the tables.
  """
  entries = sum(math.prod(rules.table_shape(key)) for pair in pairs
                for key in pair)
  policy = entries * np.dtype(np.float32).itemsize
  training = max(
      pair_trainer.scratch_bytes(
          rules, pair, pair_trainer.num_shifts(rules, pair, hands_met),
          num_threads, dtype) for pair in pairs)
  return 2 * entries * np.dtype(dtype).itemsize + max(policy, training)


class MatchSolver(base_solver.Solver):
  """Trains all rounds of a match of two-player Dudo by FSICFR.

  Players remember the last claims of a round, or what else `memory` says, but
  not who started it, so both seats learn from the same tables.

  Since larger rounds build on the values of smaller ones, it matters how
  training is cut: `run(100)` trains every pair of rounds for 100 iterations
  before it turns to the next pair, and `run(50)` twice goes over the pairs
  twice. (A match with one die each has only one pair.)

  Args:
    game: `dudo` or `dudo_ir` with two players.
    recall_length: how many of the last claims players remember in `dudo`;
      `dudo_ir` has its own recall length.
    seed: for the deals.
    num_threads: how many threads to use, None for all; results do not depend
      on it.
    hands_met: how many hands of the opponent each hand meets in an iteration;
      "all" sweeps over all deals; None chooses by the size of the round.
    gamma: iteration t weighs t^gamma in regrets and averages; 0 is the paper's
      form, at most 4.
    dtype: "float32", or "float64" for twice the memory.
    memory: what players remember instead of the last `recall_length` claims:
      a name such as "claims2_ranks2" (the last two claims, and the ranks of the
      two before them) or "player_ranks" (the last claim, and which ranks each
      player had claimed before it), a `fsicfr.LastClaims` or a
      `fsicfr.PlayerRanks`. In `dudo_ir` it must not need more claims than the
      players there remember.

  Attributes:
    game: the game.
    rules: its `abstract_rules.AbstractRules`.
    rounds: list of (starter's dice, other's dice), in order of training.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import fsicfr
    >>> game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
    >>> solver = fsicfr.MatchSolver(game, recall_length=2)
    >>> solver.run(5000)
    >>> policy = solver.average_policy()
    >>> solver.exploitability() < 0.05
    True
  """

  _CHECK_GROWTH = 2.0  # a measurement takes much longer than an iteration
  # The latter two may compute values that training has just made invalid.
  _EXCLUSIVE = frozenset({"load", "value", "expected_values"})

  def __init__(self, game: pyspiel.Game, recall_length: int = 3, seed: int = 0,
               num_threads: int | None = None, *,
               hands_met: int | str | None = None, gamma: float = 1.0,
               dtype: str = "float32",
               memory: str | abstractions.Abstraction | None = None) -> None:
    super().__init__(game, seed=seed, num_threads=num_threads, dtype=dtype)
    if not (hands_met is None or isinstance(hands_met, str) and
            hands_met == "all"):
      hands_met = validation.integer("hands_met", hands_met, 1)
    self.rules = abstract_rules.abstract_rules(
        game, abstract_rules.abstraction_of(game, recall_length, memory))
    self.rounds = round_rules.round_keys(game.start_dice)
    self._hands_met = hands_met
    self._gamma = validation.number("gamma", gamma, 0.0, 4.0)
    pairs = pair_trainer.round_pairs(self.rounds)
    self._memory_bytes = _bytes_needed(
        self.rules, pairs, hands_met, self._num_threads, self._dtype)
    name, value = self.rules.abstraction.argument
    ram.check(name, value, self._memory_bytes, f"training {game}",
              "a shorter memory or fewer dice")
    self._trainers = [
        pair_trainer.PairTrainer(
            self.rules, pair, seed=self._seed, num_threads=self._num_threads,
            num_shifts=pair_trainer.num_shifts(self.rules, pair, hands_met),
            gamma=self._gamma, dtype=self._dtype) for pair in pairs]
    self._is_compiled = False
    self._next_save = 0.0  # by the clock, within `run`

  @property
  def match(self) -> abstract_rules.AbstractRules:
    """The `rules`, by the name that they had in version 0.2.0."""
    return self.rules

  @property
  def memory_bytes(self) -> int:
    """How much memory training takes."""
    return self._memory_bytes

  @property
  def iteration(self) -> int:
    """How many iterations every round was trained, at least."""
    return min(trainer.iteration for trainer in self._trainers)

  @property
  def seconds(self) -> float:
    """How long the rounds were trained in all."""
    return sum(trainer.seconds for trainer in self._trainers)

  def _find(self, own_dice, opponent_dice):
    """Returns (trainer, key) of a round, or raises a ValueError."""
    key = (validation.integer("own_dice", own_dice, 1),
           validation.integer("opponent_dice", opponent_dice, 1))
    for trainer in self._trainers:
      if key in trainer.rounds:
        return trainer, key
    raise ValueError(
        f"own_dice={own_dice!r}, opponent_dice={opponent_dice!r}: must be a "
        "round of the match: "
        + ", ".join(f"({a}, {b})" for a, b in self.rounds))

  def iterations(self, own_dice: int, opponent_dice: int) -> int:
    """Returns how many iterations the round was trained."""
    trainer, key = self._find(own_dice, opponent_dice)
    return int(trainer.records[trainer.rounds.index(key)]["sweeps"])

  def tables(self, own_dice: int,
             opponent_dice: int) -> regret_tables.RegretTables:
    """Returns the [row, hand] `RegretTables` of these dice, read-only.

    Rows are those of `abstraction_graph`. Hands are those of `rolls`, padded.
    """
    trainer, key = self._find(own_dice, opponent_dice)
    views = [table.view() for table in trainer.tables[key]]
    for view in views:
      view.flags.writeable = False
    return regret_tables.RegretTables(*views)

  def value(self, own_dice: int, opponent_dice: int) -> float:
    """Returns what the round is worth to its starter, who has own_dice.

    It is the exact value if both play the average policy. After a run that was
    interrupted it takes a while, as values must be computed first.
    """
    trainer, key = self._find(own_dice, opponent_dice)
    count = self._trainers.index(trainer) + 1
    if not all(trainer.iteration for trainer in self._trainers[:count]):
      raise ValueError(f"own_dice={own_dice}, opponent_dice={opponent_dice}: "
                       "this round, or a smaller one, is not trained yet; call "
                       "run")
    return self._values_of(count)[key]

  def _values_of(self, count):
    """Returns {round: the starter's value} of the first pairs of rounds.

    Missing ones are computed.
    """
    values = {}
    for trainer in self._trainers[:count]:
      if not trainer.values:
        with trainer.at_work(values):
          trainer.update_values()
      values.update(trainer.values)
    return values

  def _by_seat(self, values):
    """Returns [player] float64, what the match is worth, from `_values_of`."""
    starter = self.game.starting_player
    dice = self.game.start_dice
    value = values[dice[starter], dice[1 - starter]]
    return np.array([value, -value] if starter == 0 else [-value, value])

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    return self._by_seat(self._values_of(len(self._trainers)))

  def _check_size(self):
    """Raises a ValueError if exploitability would take too long to compute."""
    num_dice = sum(self.game.start_dice)
    if num_dice > _MAX_EXACT_DICE:
      raise ValueError(
          f"game={self.game}: starts with {num_dice} dice in play; must be at "
          f"most {_MAX_EXACT_DICE} to compute the exploitability. Call "
          "exploitability.match_bounds(solver.average_policy(), seconds=...) "
          "for a lower and an upper bound")

  def _is_too_uniform(self):
    """Returns whether more training would make a best response much faster."""
    return (sum(self.game.start_dice) > _MAX_UNIFORM_DICE and
            self.iteration < _FIRST_ITERATIONS)

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy, against perfect recall.

    It is offered for matches with at most six dice in play at the start. It
    takes about a second with two dice each, and minutes with three dice each.
    For larger matches `exploitability.match_bounds` gives bounds.
    """
    self._check_size()
    if self._is_too_uniform():
      raise ValueError(f"game={self.game}: was trained {self.iteration} "
                       f"iterations; must be at least {_FIRST_ITERATIONS} to "
                       "compute the exploitability. Call run")
    response = best_response.match_best_response(
        self._average_policy(), num_threads=self._num_threads)
    return sum(response.values)

  def solve(self, target_exploitability: float | None = None,
            max_iterations: int | None = None,
            max_seconds: float | None = None) -> base_solver.SolveResult:
    """Trains until the average policy is good enough, or a limit is reached.

    Exploitability is measured at the start, after 1, 2, 4, 8, ... iterations,
    and at the end; see `nash_conv` for how long it takes. Before each
    measurement all rounds are trained up to the same iteration, from the fewest
    dice up. With five or six dice in play the first measurement comes after two
    iterations.

    Args:
      target_exploitability: stop when the exploitability is at most this.
      max_iterations: stop after this many further iterations of each round.
      max_seconds: stop after about this many seconds, measurements included.

    Returns:
      A `SolveResult`.
    """
    self._check_size()
    return super().solve(target_exploitability, max_iterations, max_seconds)

  def _work_done(self):
    return sum(trainer.num_sweeps for trainer in self._trainers)

  def _measure(self):
    if self._is_too_uniform():
      self._advance(_FIRST_ITERATIONS - self.iteration)
    return (self._by_seat(self._values_of(len(self._trainers))),
            self.nash_conv())

  # Training.

  def _advance(self, iterations):
    if iterations:
      for _ in self._chunks(iterations, None):
        pass
    elif not self._is_compiled:
      # The smallest rounds and the largest ones may have different kernels.
      for trainer in {self._trainers[0], self._trainers[-1]}:
        with trainer.at_work(dict.fromkeys(self.rounds, 0.0)):
          trainer.iterate(0)
      self._is_compiled = True

  def _chunks(self, iterations, seconds):
    """Trains all rounds, as the base's method of this name.

    Every round gets as many iterations as the one with the fewest needs.
    """
    goal = self.iteration + iterations
    seconds = math.inf if seconds is None else seconds
    fractions = schedule.time_fractions(self.rules, self._trainers)
    for trainer, fraction in zip(self._trainers, fractions):
      before = self.iteration
      for _, _, elapsed in self._train(
          trainer, max(goal - trainer.iteration, 0), fraction * seconds):
        yield self.iteration - before, elapsed
        before = self.iteration

  def _train(self, trainer, iterations, seconds):
    """Trains a pair of rounds until a limit is reached; then sets its values.

    Args:
      trainer: the `pair_trainer.PairTrainer`.
      iterations: how many iterations, or None.
      seconds: how long, or None.

    Yields:
      (trainer, iterations, seconds) after each chunk, and then (trainer, 0,
      0.0) once more before the values are computed, which takes a while.
    """
    is_done = parallel_training.is_done(iterations, seconds)
    if is_done and (trainer.values or not trainer.iteration):
      return
    if not is_done:
      self._forget_values(trainer)
    with trainer.at_work(self._values_of(self._trainers.index(trainer))):
      for size, elapsed in pacing.chunks(trainer.iterate, iterations, seconds):
        yield trainer, size, elapsed
      yield trainer, 0, 0.0
      trainer.update_values()

  def _forget_values(self, trainer):
    """Forgets the values of a pair of rounds, and those that build on them."""
    for other in self._trainers:
      if other is trainer or other.num_dice > trainer.num_dice:
        other.values = {}

  def run(self, iterations: int | None = None, seconds: float | None = None, *,
          total: bool = False, save_to: annotations.PathLike | None = None,
          engine: str | None = None) -> None:
    """Trains all rounds, from the fewest dice up.

    Ctrl-C raises a KeyboardInterrupt and leaves a solver that can be used and
    go on. A long sweep that is under way is finished in the background, and
    whatever is called next waits for it.

    Args:
      iterations: how many iterations of each round, or None.
      seconds: about how long in all, or None. Larger rounds get a larger share,
        but less than in proportion to their cost. Two things do not count: the
        compilation of kernels, and the computation of values at the end of each
        round.
      total: whether these include what was run before, so that the same call
        finishes an interrupted run.
      save_to: a file to save to on the way, and at the end; None for none. It
        saves about once a minute, or less often if the tables are so large
        that saving would take more than a twentieth of the time.
      engine: None trains one pair of rounds after the other. "local" or "ray"
        trains pairs with equally many dice in play, which do not need each
        other, at the same time: in processes of this machine or on a Ray
        cluster (see `runtime.jobs`). The result is the same after as many
        iterations.
    """
    base_solver.check_limits(iterations, seconds)
    validation.boolean("total", total)
    if save_to is not None:
      _check_target(save_to)
    if engine is not None:
      jobs.check_engine(engine)
    self._advance(0)  # compiles all that will run, before the clock starts
    by_time = iterations is None
    if seconds is not None:
      limits = schedule.time_limits(self.rules, self._trainers, seconds,
                                    total)
      goal, done = seconds, min(self.seconds, seconds)
    elif iterations is not None:
      run_before = [min(trainer.iteration, iterations)
                    for trainer in self._trainers]
      limits = iter([(iterations - before if total else iterations, None)
                     for before in run_before])
      goal, done = iterations * len(self._trainers), sum(run_before)
    self._next_save = time.perf_counter() + SAVE_SECONDS
    with progress.progress_bar(
        goal, initial=done if total else 0, leave=True,
        bar_format=schedule.bar_format(by_time)) as bar:
      status = schedule.Status(bar)
      with contextlib.closing(
          self._steps(self._train_all(engine, limits))) as chunks:
        for trainer, size, elapsed in chunks:
          status.show(trainer, elapsed if by_time else size)
          self._save_if_due(save_to)
    if save_to is not None:
      self.save(save_to)

  def _train_all(self, engine, limits):
    """Trains all rounds until their limits are reached; yields as `_train`."""
    for trainers in self._waves(engine):
      if len(trainers) == 1:
        chunks = self._train(trainers[0], *next(limits))
      else:
        chunks = self._train_apart(
            trainers, list(itertools.islice(limits, len(trainers))), engine)
      with contextlib.closing(chunks):
        yield from chunks

  def _waves(self, engine):
    """Returns lists of trainers that can train at the same time, in order."""
    if engine is None:
      return [[trainer] for trainer in self._trainers]
    return [list(wave) for _, wave in itertools.groupby(
        self._trainers, lambda trainer: trainer.num_dice)]

  def _train_apart(self, trainers, limits, engine):
    """Trains pairs of rounds at the same time, as `parallel_training.run`."""
    values = self._values_of(self._trainers.index(trainers[0]))
    for trainer, limit in zip(trainers, limits):
      if not parallel_training.is_done(*limit):
        self._forget_values(trainer)
    return parallel_training.run(trainers, values, limits, engine,
                                 self._num_threads, SAVE_SECONDS)

  def _save_if_due(self, save_to):
    """Saves if there is a file to save to and the last save is old enough."""
    begin = time.perf_counter()
    if save_to is not None and begin > self._next_save:
      self.save(save_to)
      end = time.perf_counter()
      self._next_save = end + max(SAVE_SECONDS, (end - begin) / _MAX_SAVE_TIME)

  # Policies.

  def current_policy(self) -> match_policy.MatchPolicy:
    """Returns the current policy, a `match_policy.MatchPolicy` (a copy)."""
    return self._policy({key: np.maximum(trainer.tables[key].regret, 0.0)
                         for trainer in self._trainers
                         for key in trainer.rounds})

  def _average_policy(self):
    return self._policy({key: trainer.average_weights(key)
                         for trainer in self._trainers
                         for key in trainer.rounds})

  def _policy(self, tables):
    for key, table in tables.items():
      table[:, self.rules.rolls(key[0]).num_rolls:] = 0.0
    return match_policy.MatchPolicy(
        self.game, None, tables, pair_trainer.known_values(self._trainers),
        memory=self.rules.abstraction)

  # Files.

  def _parameters(self):
    return {**self.rules.abstraction.identity, "seed": self._seed,
            "hands_met": self._hands_met, "gamma": self._gamma,
            "dtype": self._dtype.name}

  def save(self, path: annotations.PathLike) -> None:
    """Writes all that is needed to go on exactly from here to one file.

    Rounds without iterations take no space in it.
    """
    arrays = {name: table for trainer in self._trainers if trainer.num_sweeps
              for name, table in _arrays_of(trainer).items()}
    values = pair_trainer.known_values(self._trainers)
    archives.save(
        path, base_solver.FILE_KIND,
        {**self._identity(), "iteration": self.iteration,
         "values": [[*key, value] for key, value in values.items()]},
        {"seconds": np.array([t.seconds for t in self._trainers]),
         "states": _states(self._trainers), **arrays})

  def load(self, path: annotations.PathLike) -> None:
    """Resumes from a file that a solver of the same match saved.

    A file that does not fit or is damaged is refused and changes nothing: it is
    checked first, and then read once more, so that no second copy of the tables
    is in memory. Ctrl-C leaves the solver as it was, or as the file has it.
    Only if the disk fails in the second reading is the solver as new.
    """
    with archives.opened(path, base_solver.FILE_KIND) as archive:
      learned = _read_learned(archive, self._identity(), self._trainers)
      with interrupts.deferred():  # tables and counts must fit together
        self._restore(archive, learned)

  def _restore(self, archive, learned):
    """Replaces all that was learned by what a file holds."""
    try:
      for trainer, (records, seconds, values) in zip(self._trainers, learned):
        trainer.reset()
        if records["sweeps"].any():
          for name, table in _arrays_of(trainer).items():
            archive.read_into(name, table, high=table_kernels.MAX_WEIGHT)
        trainer.records[:] = records
        trainer.seconds = seconds
        trainer.values = values
    except BaseException:
      for trainer in self._trainers:
        trainer.reset()
      raise


def _check_target(path):
  """Raises an error if a solver could not be saved to a path."""
  path = os.path.abspath(files.path_text(path))
  if os.path.isdir(path):
    raise ValueError(f"path={path!r}: is a folder; must be a file")
  folder = os.path.dirname(path)
  if not os.path.isdir(folder):
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)


def _states(trainers):
  """Returns the records as files hold them, [round, 3] float64."""
  records = np.concatenate([trainer.records for trainer in trainers])
  return records.view(np.float64).reshape(len(records), -1)


def _arrays_of(trainer):
  """Returns the tables of a pair of rounds, by their names in files."""
  return {f"{a}v{b} {name}": table
          for (a, b), tables in trainer.tables.items()
          for name, table in zip(_TABLE_NAMES, tables)}


def _read_learned(archive, identity, trainers):
  """Returns what a file says, without tables; raises if it is not whole.

  Args:
    archive: the `archives.Archive`.
    identity: dict of what its header must have.
    trainers: list of `pair_trainer.PairTrainer`.

  Returns:
    For each trainer its (records, seconds, values).
  """
  path, header = archive.path, archive.header
  base_solver.check_identity(path, header, identity)
  iteration = archives.field(path, header, "iteration", validation.integer, 0,
                             archives.MAX_COUNT)
  values = archives.field(path, header, "values",
                          round_rules.values_from_file)
  seconds = archive.read("seconds", (len(trainers),), (np.float64,), 0.0)
  states = archive.read("states", _states(trainers).shape, (np.float64,))
  records = states.reshape(-1).view(deals.RECORD)
  learned, first = [], 0
  for trainer, elapsed in zip(trainers, seconds.tolist()):
    known = {key: values[key] for key in trainer.rounds if key in values}
    if len(known) not in (0, len(trainer.rounds)):
      raise ValueError(f"path={path!r}: its values must have both or none of "
                       f"the rounds {trainer.rounds}")
    of_pair = records[first:first + len(trainer.rounds)]
    first += len(trainer.rounds)
    _check_records(path, of_pair, identity["parameters"]["gamma"])
    if of_pair["sweeps"].any():
      for name, table in _arrays_of(trainer).items():
        archive.check(name, table.shape, (table.dtype,))
        archive.verify(name, 0.0 if name.endswith(_TABLE_NAMES[1])
                       else -math.inf, table_kernels.MAX_WEIGHT)
    learned.append((of_pair, elapsed, known))
  if records["sweeps"].min() != iteration:
    raise ValueError(f"path={path!r}: its iteration={iteration} must be that "
                     "of the round with the fewest sweeps")
  return learned


def _check_records(path, records, gamma):
  """Raises a ValueError unless these can be the records of a pair of rounds."""
  sweeps, weights = records["sweeps"], records["weight"]
  is_count = np.all((sweeps >= 0) & (sweeps <= _MAX_SWEEPS) &
                    (sweeps == np.floor(sweeps)))
  if not is_count or sweeps[0] - sweeps[-1] not in (0, 1):
    raise ValueError(f"path={path!r}: its states have {sweeps.tolist()} sweeps;"
                     " must be the same whole number of at least 0, or one "
                     "more for the first")
  # Sweep t weighs t^gamma, which lies between two integrals.
  low, high = ((sweeps + more)**(gamma + 1.0) / (gamma + 1.0)
               for more in (0.0, 1.0))
  if np.any((weights > 0) != (sweeps > 0)) or np.any(
      (weights < low / _MAX_ROUNDING) | (weights > high * _MAX_ROUNDING) |
      (weights > table_kernels.MAX_WEIGHT) |
      (np.abs(records["value"]) > weights * _MAX_ROUNDING)):
    raise ValueError(f"path={path!r}: its states have weights that do not fit "
                     "their sweeps and values")
