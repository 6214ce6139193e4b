"""Trains whole matches of two-player Dudo, round by round.

A match is trained pair by pair: the rounds (1, 1) first, then (1, 2) and
(2, 1), and so on. The leaves of a round are worth what the smaller rounds were
found to be worth. Every pair belongs to a `trainer.RoundTrainer`.
"""

import contextlib
import itertools
import math
import time

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response
from dudo_spiel.algorithms.dudo.imperfect_recall import checkpoint_folder
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.imperfect_recall import parallel_training
from dudo_spiel.algorithms.dudo.imperfect_recall import round_pairs
from dudo_spiel.algorithms.dudo.imperfect_recall import schedule
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import jobs
from dudo_spiel.algorithms.runtime import pacing
from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import regret_tables

_MAX_EXACT_DICE = 6  # in play, for best responses that take minutes
_MAX_UNIFORM_DICE = 4  # in play, if the policy is still uniform
_FIRST_ITERATIONS = 2  # make a search much shorter than against uniform play
SAVE_SECONDS = 45.0  # time from one save of `run` to the next


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
    match: its `abstract_rules.AbstractRules`.
    rounds: list of (starter's dice, other's dice), in order of training.
  """

  _CHECK_GROWTH = 2.0  # a measurement takes much longer than an iteration

  def __init__(self, game, recall_length=3, seed=0, num_threads=None, *,
               hands_met=None, gamma=1.0, dtype="float32", memory=None):
    super().__init__(game, seed=seed, num_threads=num_threads, dtype=dtype)
    if not (hands_met is None or isinstance(hands_met, str) and
            hands_met == "all"):
      hands_met = validation.integer("hands_met", hands_met, 1)
    self.match = abstract_rules.abstract_rules(
        game, round_pairs.memory_of(game, recall_length, memory))
    self.rounds = round_rules.round_keys(game.start_dice)
    self._hands_met = hands_met
    self._gamma = validation.number("gamma", gamma, 0.0, 4.0)
    pairs = round_pairs.round_pairs(self.rounds)
    self._memory_bytes = round_pairs.memory_bytes(
        self.match, pairs, hands_met, self._num_threads, self._dtype)
    ram.check(*self.match.abstraction.argument, self._memory_bytes,
              f"training {game}", "a shorter memory or fewer dice")
    self._trainers = [
        pair_trainer.RoundTrainer(
            self.match, pair, seed=self._seed, num_threads=self._num_threads,
            num_shifts=round_pairs.num_shifts(self.match, pair, hands_met),
            gamma=self._gamma, dtype=self._dtype) for pair in pairs]
    self._is_compiled = False
    self._measured_sweeps = -1  # in all, at the last measurement of `solve`
    self._folders = checkpoint_folder.TrainingFolders()
    self._last_save = 0.0  # by the clock, within `run`

  @property
  def memory_bytes(self):
    """How much memory training takes."""
    return self._memory_bytes

  @property
  def iteration(self):
    """How many iterations every round was trained, at least."""
    return min(trainer.iteration for trainer in self._trainers)

  @property
  def seconds(self):
    """How long the rounds were trained in all."""
    return sum(trainer.seconds for trainer in self._trainers)

  def _index(self, own_dice, opponent_dice):
    """Returns (number of the trainer, key) of a round, or raises."""
    key = (validation.integer("own_dice", own_dice, 1),
           validation.integer("opponent_dice", opponent_dice, 1))
    for number, trainer in enumerate(self._trainers):
      if key in trainer.rounds:
        return number, key
    raise ValueError(
        f"own_dice={own_dice!r}, opponent_dice={opponent_dice!r}: must be a "
        "round of the match: "
        + ", ".join(f"({a}, {b})" for a, b in self.rounds))

  def iterations(self, own_dice, opponent_dice):
    """Returns how many iterations the round was trained."""
    number, key = self._index(own_dice, opponent_dice)
    trainer = self._trainers[number]
    return int(trainer.records[trainer.rounds.index(key)]["sweeps"])

  def tables(self, own_dice, opponent_dice):
    """Returns the [row, hand] `RegretTables` of these dice, read-only.

    Rows are those of `abstraction_graph`. Hands are those of `rolls`, padded.
    """
    number, key = self._index(own_dice, opponent_dice)
    views = [table.view() for table in self._trainers[number].tables[key]]
    for view in views:
      view.flags.writeable = False
    return regret_tables.RegretTables(*views)

  # Values.

  def value(self, own_dice, opponent_dice):
    """Returns what the round is worth to its starter, who has own_dice.

    It is the exact value if both play the average policy. After a run that was
    interrupted it takes a while, as values must be computed first.
    """
    number, key = self._index(own_dice, opponent_dice)
    if not all(trainer.iteration for trainer in self._trainers[:number + 1]):
      raise ValueError(f"own_dice={own_dice}, opponent_dice={opponent_dice}: "
                       "this round, or a smaller one, is not trained yet; call "
                       "run")
    return self._values_of(number + 1)[key]

  def _values_of(self, count):
    """Returns the values of the first pairs of rounds; computes missing ones.

    Args:
      count: how many pairs.

    Returns:
      A dict from (starter's dice, other's dice) to the starter's value.
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

  def expected_values(self):
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

  def nash_conv(self):
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

  def solve(self, target_exploitability=None, max_iterations=None,
            max_seconds=None):
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

  @property
  def _num_sweeps(self):
    return sum(trainer.num_sweeps for trainer in self._trainers)

  def _measure(self):
    if self._is_too_uniform():
      self._advance(_FIRST_ITERATIONS - self.iteration)
    return (self._by_seat(self._values_of(len(self._trainers))),
            self.nash_conv())

  def _after_check(self, check):
    self._measured_sweeps = self._num_sweeps

  def _is_measured_by(self, check):
    return self._measured_sweeps == self._num_sweeps

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
    shares = schedule.shares(self.match, self._trainers)
    for trainer, share in zip(self._trainers, shares):
      before = self.iteration
      for _, elapsed in self._train(trainer, max(goal - trainer.iteration, 0),
                                    share * seconds):
        yield self.iteration - before, elapsed
        before = self.iteration

  def _train(self, trainer, iterations, seconds):
    """Trains a pair of rounds until a limit is reached; then sets its values.

    Args:
      trainer: the `trainer.RoundTrainer`.
      iterations: how many iterations, or None.
      seconds: how long, or None.

    Yields:
      (iterations, seconds) after each chunk, and then (0, 0.0) once more before
      the values are computed, which takes a while.
    """
    is_done = parallel_training.is_done(iterations, seconds)
    if is_done and (trainer.values or not trainer.iteration):
      return
    number = self._trainers.index(trainer)
    if not is_done:  # what builds on this pair is out of date from now on
      for later in self._trainers[number:]:
        later.values = {}
    with trainer.at_work(self._values_of(number)):
      yield from pacing.chunks(trainer.iterate, iterations, seconds)
      yield 0, 0.0
      trainer.update_values()

  def run(self, iterations=None, seconds=None, *, total=False, save_to=None,
          engine=None):
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
      save_to: a folder to save to at least once a minute, and at the end. It
        is held as long as the call lasts (see `hold`). A folder with another
        training is refused before any work.
      engine: None trains one pair of rounds after the other. "local" or "ray"
        trains pairs with equally many dice in play, which do not need each
        other, at the same time: in processes of this machine or on a Ray
        cluster (see `runtime.jobs`). The result is the same after as many
        iterations.
    """
    base_solver.check_limits(iterations, seconds)
    validation.boolean("total", total)
    with contextlib.ExitStack() as stack:
      if save_to is not None:
        stack.enter_context(self.hold(save_to))
        self._folders.check_known(save_to)
      if engine is not None:
        jobs.check_engine(engine)
      self._run(iterations, seconds, total, save_to, engine)

  def _run(self, iterations, seconds, total, save_to, engine):
    """Trains all rounds; see `run`."""
    self._advance(0)  # compiles all that will run, before the clock starts
    by_time = iterations is None
    if by_time:
      limits = schedule.time_limits(self.match, self._trainers, seconds,
                                         total)
      goal, done = seconds, min(self.seconds, seconds)
    else:
      limits = schedule.iteration_limits(self._trainers, iterations,
                                              total)
      goal = iterations * len(self._trainers)
      done = sum(min(trainer.iteration, iterations)
                 for trainer in self._trainers)
    self._last_save = time.perf_counter()
    with progress.progress_bar(
        goal, initial=done if total else 0, leave=True,
        bar_format=schedule.bar_format(by_time)) as bar:
      status = schedule.Status(bar)
      for trainers in self._levels(engine):
        if len(trainers) == 1:
          chunks = self._train_alone(*trainers, next(limits))
        else:
          chunks = self._train_apart(
              trainers, list(itertools.islice(limits, len(trainers))), engine)
        with contextlib.closing(chunks):
          for trainer, size, elapsed in chunks:
            status.show(trainer, elapsed if by_time else size)
            # Values take a while, so what came before is better saved.
            self._save_after(save_to, SAVE_SECONDS * (1.0 if size else 0.2))
    if save_to is not None:
      self.save(save_to)

  def _levels(self, engine):
    """Returns lists of trainers that can train at the same time, in order."""
    if engine is None:
      return [[trainer] for trainer in self._trainers]
    return [list(level) for _, level in itertools.groupby(
        self._trainers, lambda trainer: sum(trainer.rounds[0]))]

  def _train_alone(self, trainer, limit):
    """Trains a pair of rounds; yields as `_train_apart`."""
    with contextlib.closing(self._train(trainer, *limit)) as chunks:
      for size, elapsed in chunks:
        yield trainer, size, elapsed

  def _train_apart(self, trainers, limits, engine):
    """Trains pairs of rounds at the same time; see `parallel_training.run`."""
    number = self._trainers.index(trainers[0])
    values = self._values_of(number)
    for trainer, limit in zip(trainers, limits):
      if not parallel_training.is_done(*limit):  # what builds on it is out of date
        for later in (trainer, *self._trainers[number + len(trainers):]):
          later.values = {}
    return parallel_training.run(trainers, values, limits, engine,
                             self._num_threads, SAVE_SECONDS)

  def _save_after(self, save_to, seconds):
    """Saves, if there is a folder and the last save was this long ago."""
    if (save_to is not None and
        time.perf_counter() - self._last_save > seconds):
      self.save(save_to)
      self._last_save = time.perf_counter()

  # Policies.

  def current_policy(self):
    """Returns the current policy, a `policy.MatchPolicy` (a copy)."""
    return self._policy({key: np.maximum(trainer.tables[key].regret, 0.0)
                         for trainer in self._trainers
                         for key in trainer.rounds})

  def _average_policy(self):
    return self._policy({key: trainer.average_weights(key)
                         for trainer in self._trainers
                         for key in trainer.rounds})

  def _policy(self, tables):
    for key, table in tables.items():
      table[:, self.match.rolls(key[0]).num_rolls:] = 0.0
    return match_policy.MatchPolicy(
        self.game, None, tables, pair_trainer.known_values(self._trainers),
        memory=self.match.abstraction)

  # Files.

  def _parameters(self):
    return {**self.match.abstraction.identity, "seed": self._seed,
            "hands_met": self._hands_met, "gamma": self._gamma,
            "dtype": self._dtype.name}

  def _identity(self):
    return {"game": str(self.game), **self._parameters()}

  def save(self, path):
    """Writes all that is needed to go on exactly from here to a folder.

    Each pair of rounds has a file, which is written only if it has changed. The
    main file is replaced last, so that the folder is whole at all times. While
    it saves, the solver holds the folder (see `hold`).

    Raises:
      ValueError: if another process holds the folder, or it has a training that
        this solver has neither loaded nor saved.
    """
    self._folders.save(path, self._identity(), self._trainers)

  def load(self, path):
    """Goes on from a folder that a solver of the same match saved to.

    A folder that does not fit or is damaged is refused and changes nothing: all
    files are checked first, and then read once more. Only if that is broken off
    (by Ctrl-C or a failing disk) is the solver as new. Another process may save
    to the folder at the same time.
    """
    self._folders.load(path, self._identity(), self._trainers)

  def hold(self, path):
    """Returns a context in which no other process can save to a folder.

    Who loads a training, goes on with it and saves it should hold the folder
    all the while, as `examples/train_dudo.py` does: what others save there in
    the meantime would be lost. `run` with `save_to` and `save` hold it by
    themselves for as long as they take. A lock that a process leaves behind
    when it is killed does no harm.

    Args:
      path: the folder; it is made if it does not exist.

    Raises:
      ValueError: on entry, if another process or solver holds the folder.
    """
    return self._folders.hold(path)

  @staticmethod
  def is_saved_in(path):
    """Returns whether a solver was saved to the folder."""
    return checkpoint_folder.is_saved_in(path)
