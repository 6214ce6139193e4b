"""Solves whole matches of two-player Dudo with perfect recall.

Every round has a `round_trainer.RecallTrainer`. A challenge is worth the value
of the round that follows if both players play their average policies. An epoch
of a round is a few iterations and an expansion of its tree. The next epoch is
of the round with the largest ratio of its part of the match's exploitability to
the work done on it. A round's part is its own exploitability times the
probability that the match comes to it. So rounds get time in proportion to
their parts. The schedule depends only on what is learned, never on a clock.
"""

import contextlib
import functools
import os
from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import guarded_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.perfect_recall import size_model
from dudo_spiel.algorithms.dudo.perfect_recall import solver_file
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.games import dudo

_MIN_BYTES = 10**6
_MEMORY_FRACTION = 0.75  # of the available memory, if max_bytes is None
_PROPOSAL_FRACTION = 0.02  # of the memory, at most, is for proposals
_MIN_PROPOSALS = 64
_DISCOUNT_BYTES = 32  # of an iteration's discounts, which all rounds share
# What the system's allocator wastes: a fraction, at most so many bytes for each
# round (tables of more than 32 MB have pages of their own).
_SLACK_FRACTION, _MAX_SLACK = 0.25, 2**25
# An epoch has 10 iterations; later a hundredth of those so far, or a twentieth
# if the last expansion was below one percent.
_EPOCH, _EPOCH_DIVISOR, _CALM_DIVISOR, _CALM_GROWTH = 10, 100, 20, 0.01
_FIRST_DROP = 100  # iterations; then twice as many each time
# Once this fraction of the memory is in use, an expansion may spend only
# 1 / ROOM_PARTS of the remainder, so that later claims with a larger gain fit.
FULL_FRACTION, ROOM_PARTS = 0.95, 40
_ITERATION_WORK = 2000  # of an iteration besides its entries, in entries


class _RoundTraining:
  """A round, and the state of its training.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    **kwargs: other arguments of the trainer.

  Attributes:
    trainer: the `round_trainer.RecallTrainer`.
    transitions: the `transitions.Transitions`.
    responses: [role] float64, the payoffs of best responses at the last
      expansion.
    outcomes: [role, claim, count] float64, the probabilities of challenges at
      the last expansion.
    work_done: how much work was done, in table entries.
    next_expansion: the iteration after which the tree is expanded.
    next_drop: the iteration after which claims are dropped.
    version: counts changes of the tables.
  """

  def __init__(self, match, dice, **kwargs):
    self.trainer = round_trainer.RecallTrainer(match, dice, **kwargs)
    self.transitions = transitions.of_round(match, dice)
    self.responses = np.ones(2)
    self.outcomes = np.zeros(self.transitions.shape)
    self.work_done = 0
    self.next_expansion = 1
    self.next_drop = _FIRST_DROP
    self.version = 0


class PerfectRecallSolver(base_solver.Solver):
  """Solves matches of two-player Dudo with perfect recall within the round.

  It stores only histories that matter, in a tree for each round that grows
  where a best response says so; elsewhere its policy says Dudo. Measurements
  are exact: responders may do anything in the whole game.

  Within an iteration one of the rounds learns. `iteration` counts these over
  all rounds. How a run is cut into calls changes nothing.

  Args:
    game: `dudo` with two players.
    seed: has no effect, since nothing is random.
    num_threads: how many threads to use, None for all; results do not depend
      on it.
    max_bytes: how many bytes of memory the solver may use at any time: trees,
      tables, and the scratch of training, measuring, expanding and saving.
      Policies are copies of their own, half as large. None for three quarters
      of the memory that is available at first. Once 95% of the budget is in
      use, each expansion may spend only 1/40 of what remains, on the claims
      with the largest gain, so results then depend on `max_bytes`. An explicit
      value below about 3 GB also lowers the number of claims added per
      expansion.
    dtype: "float32", or "float64" for twice the memory.

  Attributes:
    game: the game.
    rounds: list of (starter's dice, other's dice), fewest dice first.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import perfect_recall
    >>> game = pyspiel.load_game("dudo(start_dice=2v1,dice_sides=2)")
    >>> solver = perfect_recall.PerfectRecallSolver(game, dtype="float64")
    >>> result = solver.solve(target_exploitability=0.01, max_seconds=60)
    >>> low, high = solver.interval(2, 1)
    >>> low <= solver.value(2, 1) <= high
    True
  """

  def __init__(self, game: pyspiel.Game, seed: int = 0,
               num_threads: int | None = None, max_bytes: int | None = None, *,
               dtype: str = "float32") -> None:
    super().__init__(game, seed=seed, num_threads=num_threads, dtype=dtype)
    if isinstance(game, dudo.DudoIRGame):
      raise ValueError(f"game={game}: must be dudo, whose players forget "
                       "nothing")
    if max_bytes is not None:
      validation.integer("max_bytes", max_bytes, _MIN_BYTES)
      ram.check("max_bytes", max_bytes, max_bytes, "a solver that may take "
                "this much", "less")
    self._match = round_rules.round_rules(game)
    self.rounds = round_rules.match_keys(game)
    self._max_bytes = max_bytes
    self._budget = (max_bytes if max_bytes is not None else
                    _MEMORY_FRACTION * ram.available_bytes())
    ram.check("game", game, sum(
        round_hands.num_bytes(self._match, key, self._dtype)
        for key in self.rounds), "a solver with its hands",
              "fewer dice")
    # The memory that is available at first must not decide how trees grow.
    proposals = (round_trainer.MAX_PROPOSALS if max_bytes is None else
                 int(_PROPOSAL_FRACTION * max_bytes /
                     size_model.PROPOSAL_BYTES))
    self._flag = interrupts.new_flag()  # stops what runs in the background
    self._rounds = [
        _RoundTraining(self._match, key, dtype=self._dtype,
                       num_threads=self._num_threads, flag=self._flag,
                       max_proposals=min(max(proposals, _MIN_PROPOSALS),
                                         round_trainer.MAX_PROPOSALS))
        for key in self.rounds]
    self._background = interrupts.Background()
    self._current = 0  # the index of the round that learns
    # (kind, index of a round): (versions, result)
    self._measurements: dict[tuple[str, int], tuple[Any, Any]] = {}
    self._is_compiled = False
    if self.memory_bytes > self._budget:
      raise ValueError(f"max_bytes={max_bytes}: must be at least "
                       f"{self.memory_bytes}, what {game} needs at first; "
                       f"{ram.available_bytes()} bytes are available")

  # Calls in a background thread, so that Ctrl-C need not wait for kernels.

  def _run(self, function):
    """Returns function(), computed in a background thread.

    Ctrl-C sets `_flag`, after which the function soon ends, and waits for that.
    A second Ctrl-C does not wait. So whoever reads or changes tables first
    waits until nothing runs in the background.
    """
    self._background.settle()
    self._flag[0] = False
    results = []

    def call():
      with contextlib.suppress(interrupts.StoppedError):
        results.append(function())

    try:
      self._background.run(call)
    except BaseException:
      self._flag[0] = True
      self._background.settle()  # a second Ctrl-C ends this, too
      raise
    return results[0]

  @property
  def memory_bytes(self) -> int:
    """How many bytes of memory the solver may need with its present trees.

    That includes the scratch of measuring, expanding and saving, and what the
    system's allocator may waste.
    """
    return self._memory([size_model.size_of(entry.trainer.tree)
                         for entry in self._rounds])

  def _memory(self, sizes):
    """Returns how many bytes trees of some `size_model.Size`s may need."""
    both = [(entry.trainer.memory, size)
            for entry, size in zip(self._rounds, sizes)]
    max_iteration = max(entry.trainer.iteration for entry in self._rounds)
    arrays = (sum(memory.permanent(size) for memory, size in both) +
              max(memory.learning for memory, _ in both) +
              max(memory.measuring(size) for memory, size in both) +
              _DISCOUNT_BYTES * round_trainer.num_discounted(max_iteration))
    return arrays + int(min(_SLACK_FRACTION * arrays,
                            _MAX_SLACK * len(self._rounds)))

  def _index(self, own_dice, opponent_dice):
    """Returns the index of a round, or raises a ValueError."""
    key = (validation.integer("own_dice", own_dice, 1),
           validation.integer("opponent_dice", opponent_dice, 1))
    if key not in self.rounds:
      raise ValueError(
          f"own_dice={own_dice!r}, opponent_dice={opponent_dice!r}: must be a "
          "round of the match: "
          + ", ".join(f"({a}, {b})" for a, b in self.rounds))
    return self.rounds.index(key)

  def iterations(self, own_dice: int, opponent_dice: int) -> int:
    """Returns how many iterations the round was trained."""
    return self._rounds[self._index(own_dice, opponent_dice)].trainer.iteration

  def num_nodes(self, own_dice: int, opponent_dice: int) -> int:
    """Returns how many histories of the round are stored."""
    index = self._index(own_dice, opponent_dice)
    return self._rounds[index].trainer.tree.num_nodes

  def tables(self, own_dice: int,
             opponent_dice: int) -> guarded_kernels.LearnTables:
    """Returns the `guarded_kernels.LearnTables` of the round (copies)."""
    index = self._index(own_dice, opponent_dice)
    self._background.settle()
    tables = self._rounds[index].trainer.tables
    return type(tables)(*(table.copy() for table in tables))

  # Training.

  def _advance(self, iterations):
    self._run(lambda: self._learn(iterations))

  def _learn(self, iterations):
    """Runs iterations, or stops early if the flag is set."""
    with interrupts.thread_pool(self._num_threads) as pool:
      if not self._is_compiled:
        round_trainer.compile_kernels(self._match, self._dtype)
        self._is_compiled = True
      for _ in range(iterations):
        if self._flag[0]:
          return
        self._end_epoch(pool)  # if Ctrl-C came before the end of the last one
        self._iterate(pool)
        self._end_epoch(pool)

  def _iterate(self, pool):
    """Runs one iteration of the current round."""
    entry = self._rounds[self._current]
    trainer = entry.trainer
    if trainer.payoffs is None:
      trainer.set_values(self._values_by_round())
    trainer.iterate(pool)
    entry.version += 1
    entry.work_done += trainer.tree.num_entries + _ITERATION_WORK
    self._count[0] += 1

  def _end_epoch(self, pool):
    """Expands the current round if it is time to, and chooses the next one.

    If the flag stops the measurement, the tree has not changed, and the next
    call does it again.
    """
    entry = self._rounds[self._current]
    trainer = entry.trainer
    t = trainer.iteration
    if t < entry.next_expansion:
      return
    if t >= entry.next_drop:  # before the expansion: new claims are never made
      trainer.drop(entry.responses, pool)
      entry.next_drop = 2 * t
      entry.version += 1
    used, before = self.memory_bytes, trainer.tree.num_entries
    spendable = max(FULL_FRACTION * self._budget - used,
                    (self._budget - used) / ROOM_PARTS)
    entry.responses = trainer.expand(
        trainer.memory_bytes + int(spendable / (1.0 + _SLACK_FRACTION)), pool)
    entry.outcomes = trainer.outcomes
    is_calm = trainer.tree.num_entries <= (1.0 + _CALM_GROWTH) * before
    divisor = _CALM_DIVISOR if is_calm else _EPOCH_DIVISOR
    entry.next_expansion = t + max(min(1 + t // 4, _EPOCH), t // divisor)
    trainer.release_scratch()
    self._current = self._choose()
    self._rounds[self._current].trainer.set_values(self._values_by_round())

  def _choose(self):
    """Returns the index of the round for the next epoch.

    It has the largest exploitability in the match for the work done on it.
    """
    visits = transitions.visits(
        [entry.transitions.next_probabilities(entry.outcomes, self.rounds)
         for entry in self._rounds], len(self._rounds) - 1)
    ratios = []
    for index, entry in enumerate(self._rounds):
      if not entry.work_done:
        return index
      ratios.append(visits[index] * max(entry.responses.sum(), 0.0) /
                    entry.work_done)
    return int(np.argmax(ratios))

  def _values(self, outcomes):
    """Returns {(starter's dice, other's dice): the starter's value}.

    Args:
      outcomes: for each round [role, claim, count] float64, the probabilities
        of challenges.
    """
    values = {}
    for key, entry, challenges in zip(self.rounds, self._rounds, outcomes):
      values[key] = entry.transitions.value(challenges, 0, values)
    return values

  def _values_by_round(self):
    """Returns {(starter's, other's dice): value} by the last expansions."""
    return self._values([entry.outcomes for entry in self._rounds])

  # Values.

  def _measured(self, kind, index, versions, measure):
    """Returns measure(), or its last result if no table has changed since.

    Args:
      kind: "outcomes" or "interval".
      index: of the round.
      versions: of all tables that the measurement depends on.
      measure: function without arguments.
    """
    measured, result = self._measurements.get((kind, index), (None, None))
    if measured != versions:
      result = measure()
      self._measurements[kind, index] = versions, result
    return result

  def value(self, own_dice: int, opponent_dice: int) -> float:
    """Returns the value of a round to its starter, who has own_dice.

    It is the exact value of the match from the round on if both players play
    the average policy.
    """
    index = self._index(own_dice, opponent_dice)
    return self._run(lambda: self._exact_values(index + 1))[self.rounds[index]]

  def _exact_values(self, count):
    """Returns {(starter's, other's dice): value} of the average policy.

    Those of the first `count` rounds are exact; those of others are by their
    last expansions.
    """
    outcomes = [
        self._measured("outcomes", index, entry.version,
                       entry.trainer.evaluator.outcomes)
        if index < count else entry.outcomes
        for index, entry in enumerate(self._rounds)]
    return self._values(outcomes)

  def interval(self, own_dice: int, opponent_dice: int) -> tuple[float, float]:
    """Returns (low, high), certified bounds of a round's equilibrium value.

    In the match from the round on, the starter's average policy gets at least
    `low`, and no starter gets more than `high` against the average policy. Both
    are exact values of best responses. So the equilibrium value is between
    them, and half of their difference is the exploitability of the average
    policy from the round on.
    """
    index = self._index(own_dice, opponent_dice)
    return self._intervals(index + 1)[self.rounds[index]]

  def _intervals(self, count):
    """Returns {(starter's, other's dice): (low, high)} of the first rounds."""
    if not self._is_compiled:
      self._advance(0)
    return self._run(lambda: self._certify(count))

  def _certify(self, count):
    """Computes what `_intervals` returns, until the flag is set."""
    lows, highs = {}, {}
    with interrupts.thread_pool(self._num_threads) as pool:
      for index, key in enumerate(self.rounds[:count]):
        entry = self._rounds[index]
        versions = [earlier.version for earlier in self._rounds[:index + 1]]
        lows[key], highs[key] = self._measured(
            "interval", index, versions,
            functools.partial(entry.trainer.evaluator.certify, lows, highs,
                              pool))
    return {key: (lows[key], highs[key]) for key in lows}

  def round_exploitability(self, own_dice: int, opponent_dice: int) -> float:
    """Returns the exploitability of the average policy in one round alone.

    It is half of what best responses gain in the round, exactly, if both
    players play the average policy in all later rounds. So it is at most the
    exploitability of the match from the round on.
    """
    index = self._index(own_dice, opponent_dice)
    if not self._is_compiled:
      self._advance(0)
    low, high = self._run(lambda: self._certify_alone(index))
    return 0.5 * (high - low)

  def _certify_alone(self, index):
    """Returns (low, high) of a round, by the values of later rounds."""
    values = self._exact_values(index)
    with interrupts.thread_pool(self._num_threads) as pool:
      return self._rounds[index].trainer.evaluator.certify(values, values,
                                                            pool)

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    value = self.value(*self.rounds[-1])
    return np.array([value, -value] if self.game.starting_player == 0 else
                    [-value, value])

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy, exactly.

    Responders have perfect recall of the whole match, and may make claims that
    are not stored.
    """
    low, high = self._intervals(len(self.rounds))[self.rounds[-1]]
    return high - low

  # Policies.

  def _policy(self, name):
    self._background.settle()
    return recall_policy.RecallPolicy(self.game, {
        key: stored_rounds.StoredRound(
            entry.trainer.hands, entry.trainer.tree,
            getattr(entry.trainer, name)())
        for key, entry in zip(self.rounds, self._rounds)})

  def current_policy(self) -> recall_policy.RecallPolicy:
    """Returns the current policy, a `recall_policy.RecallPolicy` (a copy)."""
    return self._policy("current_table")

  def _average_policy(self):
    return self._policy("average_table")

  # Files.

  def _parameters(self):
    return {"seed": self._seed, "max_bytes": self._max_bytes,
            "dtype": self._dtype.name}

  def _tables(self):
    tables = {}
    for key, entry in zip(self.rounds, self._rounds):
      tables.update(solver_file.arrays_of(key, entry))
    return tables

  def _extras(self):
    self._background.settle()  # `save` calls this first
    return {"present": self._current}, {}

  def load(self, path: annotations.PathLike) -> None:
    """Resumes from a file that a solver of the same game and options saved.

    Another `max_bytes` is allowed if the file fits into it. A file that does
    not fit or is damaged is refused and changes nothing. So the solver's own
    tables stay in memory until the file is read.
    """
    self._background.settle()
    iteration, current, max_bytes, states = solver_file.read(
        path, self._identity(), self.rounds, self._rounds)
    needed = self._memory([size_model.size_of(state.tree) for state in states])
    # With the same limit the solver resumes as if there had been no file.
    is_same = self._max_bytes is not None and max_bytes == self._max_bytes
    if needed > self._budget and not is_same:
      raise ValueError(f"max_bytes={self._max_bytes}: must be at least "
                       f"{needed} to load {os.fsdecode(path)!r}")
    with interrupts.deferred():  # tables and counts must fit together
      self._measurements = {}
      for entry, state in zip(self._rounds, states):
        solver_file.restore(entry, state)
      self._current = current
      self._count[0] = iteration
      self._rounds[current].trainer.set_values(self._values_by_round())
