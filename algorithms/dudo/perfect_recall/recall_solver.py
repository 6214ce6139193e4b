"""Solves whole matches of two-player Dudo with perfect recall.

Every round has a `round_trainer.RecallTrainer`. The leaves of a round are
worth what smaller rounds are worth if both play their average policies. After
each epoch of a round, a few iterations, its tree grows, and the next round is
chosen: the one that adds most to the exploitability of the match, compared with
the work that was done on it. A round adds its own exploitability, times how
often the match comes there. So time is shared out in proportion to what rounds
add. The schedule depends only on what is learned, never on a clock.
"""

import contextlib
import os
from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import dcfr_kernels
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

_LEAST_BYTES = 10**6
_MEMORY_SHARE = 0.75  # of what is free, if max_bytes is None
_PROPOSAL_SHARE = 0.02  # of the memory is for proposals, at most
_LEAST_PROPOSALS = 64
_DISCOUNT_BYTES = 32  # of an iteration's discounts, which all rounds share
# What the system's allocator wastes: a share, at most so much for each round
# (tables of more than 32 MB have pages of their own).
_SLACK_SHARE, _MAX_SLACK = 0.25, 2**25
# Iterations between two growths; later a hundredth of those so far, and a
# twentieth if the last growth was below one percent.
_EPOCH, _EPOCH_SHARE, _CALM_SHARE, _CALM_GROWTH = 10, 100, 20, 0.01
_FIRST_DROP = 100  # iterations; then twice as many each time
# When more than a share of the memory is taken, a growth takes only a part of
# what is left, so that there is always some for the claims that gain most.
FREE_SHARE, ROOM_PARTS = 0.95, 40
_ITERATION_WORK = 2000  # of an iteration, in numbers of a table


class _Round:
  """A round, and how its training goes.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    **kwargs: for the trainer.

  Attributes:
    trainer: the `round_trainer.RecallTrainer`.
    transitions: the `transitions.Transitions`.
    responses: [role] float64, what best responses got at the last growth.
    outcomes: [role, claim, count] float64, see `RecallTrainer.outcomes`, then.
    work: how much work was done, in numbers of a table.
    next_growth: the iteration after which the tree grows.
    next_drop: the iteration from which on claims are dropped.
    version: counts changes of the tables.
  """

  def __init__(self, match, dice, **kwargs):
    self.trainer = round_trainer.RecallTrainer(match, dice, **kwargs)
    self.transitions = transitions.of_round(match, dice)
    self.responses = np.ones(2)
    self.outcomes = np.zeros(self.transitions.shape)
    self.work = 0
    self.next_growth = 1
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
    max_bytes: how much memory the solver may take at any time: all trees and
      tables, and what training, measuring, growing and saving take besides.
      Policies are copies of their own, half as large. None for three quarters
      of what is free now. When 95% are taken, the fewer claims are stored at a
      time the less is left, those that gain most. So results depend on it then;
      if it is given, also because a tree grows by fewer claims at a time if it
      is below 3 GB.
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
      validation.integer("max_bytes", max_bytes, _LEAST_BYTES)
      ram.check("max_bytes", max_bytes, max_bytes, "a solver that may take "
                "this much", "less")
    self._match = round_rules.round_rules(game)
    self.rounds = round_rules.match_keys(game)
    self._max_bytes = max_bytes
    self._room = (max_bytes if max_bytes is not None else
                  _MEMORY_SHARE * ram.available_bytes())
    ram.check("game", game, sum(
        round_hands.num_bytes(self._match, key, self._dtype)
        for key in self.rounds), "a solver with its hands",
              "fewer dice")
    # What is free now must not decide how trees grow.
    proposals = (round_trainer.MAX_PROPOSALS if max_bytes is None else
                 int(_PROPOSAL_SHARE * max_bytes /
                     size_model.PROPOSAL_BYTES))
    self._flag = interrupts.new_flag()  # stops what runs in the background
    self._rounds = [
        _Round(self._match, key, dtype=self._dtype,
               num_threads=self._num_threads, flag=self._flag,
               max_proposals=min(max(proposals, _LEAST_PROPOSALS),
                                 round_trainer.MAX_PROPOSALS))
        for key in self.rounds]
    self._background = interrupts.Background()
    self._present = 0  # the round that learns
    # What was measured: number -> (versions, ...).
    self._known: dict[int, Any] = {}
    self._is_compiled = False
    if self.memory_bytes > self._room:
      raise ValueError(f"max_bytes={max_bytes}: must be at least "
                       f"{self.memory_bytes}, what {game} needs at first; "
                       f"{ram.available_bytes()} bytes are available")

  # Work in the background, so that Ctrl-C need not wait for it.

  def _run(self, function):
    """Returns function(), which Ctrl-C stops soon.

    A second Ctrl-C does not wait for its end. So whoever reads or changes
    tables waits until it has ended.

    Args:
      function: works on the rounds until `_flag` is set.
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
    """How much memory the solver takes now at most, whatever it does.

    That includes what measuring, growing and saving take, and a share for what
    the system's allocator wastes.
    """
    return self._memory([size_model.size_of(now.trainer.tree)
                         for now in self._rounds])

  def _memory(self, sizes):
    """Returns how much memory trees of these sizes take."""
    both = [(now.trainer.memory, size)
            for now, size in zip(self._rounds, sizes)]
    longest = max(now.trainer.iteration for now in self._rounds)
    arrays = (sum(memory.kept(size) for memory, size in both) +
              max(memory.learning(size) for memory, size in both) +
              max(memory.measuring(size) for memory, size in both) +
              _DISCOUNT_BYTES * round_trainer.num_discounted(longest))
    return arrays + int(min(_SLACK_SHARE * arrays,
                            _MAX_SLACK * len(self._rounds)))

  def _number(self, own_dice, opponent_dice):
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
    return self._rounds[self._number(own_dice, opponent_dice)].trainer.iteration

  def num_nodes(self, own_dice: int, opponent_dice: int) -> int:
    """Returns how many histories of the round are stored."""
    number = self._number(own_dice, opponent_dice)
    return self._rounds[number].trainer.tree.num_nodes

  def tables(self, own_dice: int,
             opponent_dice: int) -> dcfr_kernels.LearnTables:
    """Returns the `dcfr_kernels.LearnTables` of the round (copies)."""
    number = self._number(own_dice, opponent_dice)
    self._background.settle()
    tables = self._rounds[number].trainer.tables
    return type(tables)(*(table.copy() for table in tables))

  # Training.

  def _advance(self, iterations):
    self._run(lambda: self._learn(iterations))

  def _learn(self, iterations):
    """Runs iterations until the flag is set; see `interrupts`."""
    with interrupts.thread_pool(self._num_threads) as pool:
      if not self._is_compiled:
        round_trainer.compile_kernels(self._match, self._dtype)
        self._is_compiled = True
      for _ in range(iterations):
        if self._flag[0]:
          return
        self._end_epoch(pool)  # if Ctrl-C has come between the two
        self._iterate(pool)
        self._end_epoch(pool)

  def _iterate(self, pool):
    """Runs one iteration of the present round."""
    now = self._rounds[self._present]
    trainer = now.trainer
    if trainer.leaves is None:
      trainer.set_values(self._values_by_round())
    trainer.iterate(pool)
    now.version += 1
    now.work += trainer.tree.num_entries + _ITERATION_WORK
    self._count[0] += 1

  def _end_epoch(self, pool):
    """Measures the present round if it is time to, and chooses the next one.

    Its tree grows. If the flag stops it, the tree has not grown, and the next
    call goes on there.
    """
    now = self._rounds[self._present]
    trainer = now.trainer
    t = trainer.iteration
    if t < now.next_growth:
      return
    if t >= now.next_drop:  # before it grows: new claims are played by nobody
      trainer.drop(now.responses, pool)
      now.next_drop = 2 * t
      now.version += 1
    taken, before = self.memory_bytes, trainer.tree.num_entries
    left = max(FREE_SHARE * self._room - taken,
               (self._room - taken) / ROOM_PARTS)
    now.responses = trainer.grow(
        trainer.memory_bytes + int(left / (1.0 + _SLACK_SHARE)), pool)
    now.outcomes = trainer.played
    is_calm = trainer.tree.num_entries <= (1.0 + _CALM_GROWTH) * before
    now.next_growth = t + max(min(1 + t // 4, _EPOCH),
                              t // (_CALM_SHARE if is_calm else _EPOCH_SHARE))
    trainer.release_scratch()
    self._present = self._choose()
    self._rounds[self._present].trainer.set_values(self._values_by_round())

  def _choose(self):
    """Returns the round that adds most for the work done on it."""
    visits = transitions.visits(
        [now.transitions.next_probabilities(now.outcomes, self.rounds)
         for now in self._rounds], len(self._rounds) - 1)
    best, most = 0, -1.0
    for number, now in enumerate(self._rounds):
      if not now.work:
        return number
      adds = visits[number] * max(now.responses.sum(), 0.0) / now.work
      if adds > most:
        best, most = number, adds
    return best

  def _values(self, outcomes):
    """Returns {round: value}, what rounds are worth to their starters.

    Args:
      outcomes: list by round, see `RecallTrainer.outcomes`.
    """
    values = {}
    for key, now, challenges in zip(self.rounds, self._rounds, outcomes):
      values[key] = now.transitions.value(challenges, 0, values)
    return values

  def _values_by_round(self):
    """Returns {round: value} as known by the last growth of each round."""
    return self._values([now.outcomes for now in self._rounds])

  # Values.

  def _measured(self, kind, number, versions, measure):
    """Returns a measurement, a new one if the versions have changed."""
    known = self._known.get((kind, number))
    if known is None or known[0] != versions:
      known = versions, measure()
      self._known[kind, number] = known
    return known[1]

  def value(self, own_dice: int, opponent_dice: int) -> float:
    """Returns what the round is worth to its starter, who has own_dice.

    It is the exact value of the match from there if both play the average
    policy.
    """
    number = self._number(own_dice, opponent_dice)
    values = self._run(lambda: self._present_values(number + 1))
    return values[self.rounds[number]]

  def _present_values(self, count):
    """Returns {round: value}, exact values of the average policy."""
    outcomes = [
        self._measured("outcomes", number, now.version,
                       now.trainer.evaluator.outcomes)
        if number < count else now.outcomes
        for number, now in enumerate(self._rounds)]
    return self._values(outcomes)

  def interval(self, own_dice: int, opponent_dice: int) -> tuple[float, float]:
    """Returns (low, high), bounds of what the round is worth in equilibrium.

    The starter's average policy gets at least `low` in the match from there,
    and no starter can get more than `high` against the other's. Both are exact
    values of best responses; so the equilibrium lies between them, and half of
    their difference is the exploitability of the average policy from there on.
    """
    number = self._number(own_dice, opponent_dice)
    return self._intervals(number + 1)[self.rounds[number]]

  def _intervals(self, count):
    """Returns {round: (low, high)} of the first rounds."""
    if not self._is_compiled:
      self._advance(0)
    return self._run(lambda: self._certify(count))

  def _certify(self, count):
    """Returns {round: (low, high)} of the first rounds; may be stopped."""
    lows, highs = {}, {}
    with interrupts.thread_pool(self._num_threads) as pool:
      for number, key in enumerate(self.rounds[:count]):
        now = self._rounds[number]
        versions = tuple(r.version for r in self._rounds[:number + 1])
        lows[key], highs[key] = self._measured(
            "interval", number, versions,
            lambda now=now: now.trainer.evaluator.certify(lows, highs, pool))
    return {key: (lows[key], highs[key]) for key in lows}

  def round_exploitability(self, own_dice: int, opponent_dice: int) -> float:
    """Returns how exploitable the average policy is in one round alone.

    It is half of what best responses gain in the round, exactly, if both play
    the average policy in all rounds after it. So it is at most what the whole
    match from there has.
    """
    number = self._number(own_dice, opponent_dice)
    if not self._is_compiled:
      self._advance(0)
    low, high = self._run(lambda: self._certify_alone(number))
    return 0.5 * (high - low)

  def _certify_alone(self, number):
    """Returns (low, high) of a round, if later ones are worth their values."""
    values = self._present_values(number)
    with interrupts.thread_pool(self._num_threads) as pool:
      return self._rounds[number].trainer.evaluator.certify(values, values,
                                                            pool)

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    value = self.value(*self.rounds[-1])
    return np.array([value, -value] if self.game.starting_player == 0 else
                    [-value, value])

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy, exactly.

    Responders have perfect recall of the whole match, and may leave what is
    stored.
    """
    low, high = self._intervals(len(self.rounds))[self.rounds[-1]]
    return high - low

  # Policies.

  def _policy(self, name):
    self._background.settle()
    return recall_policy.RecallPolicy(self.game, {
        key: stored_rounds.StoredRound(
            now.trainer.hands, now.trainer.tree,
            getattr(now.trainer.tables, name).copy())
        for key, now in zip(self.rounds, self._rounds)})

  def current_policy(self) -> recall_policy.RecallPolicy:
    """Returns the current policy, a `recall_policy.RecallPolicy` (a copy)."""
    return self._policy("regret")

  def _average_policy(self):
    return self._policy("cumulative")

  # Files.

  def _parameters(self):
    return {"seed": self._seed, "max_bytes": self._max_bytes,
            "dtype": self._dtype.name}

  def _fingerprint(self):
    return str(self.game)

  def _tables(self):
    tables = {}
    for key, now in zip(self.rounds, self._rounds):
      tables.update(solver_file.arrays_of(key, now))
    return tables

  def _extras(self):
    self._background.settle()  # this is what `save` reads first
    return {"present": self._present}, {}

  def load(self, path: annotations.PathLike) -> None:
    """Goes on from a file that a solver of the same game and options saved.

    Another `max_bytes` is allowed if the file fits into it. A file that does
    not fit or is damaged is refused and changes nothing. So what the solver has
    stays in memory until the file is read, in blocks of 4 MB.
    """
    self._background.settle()
    iteration, present, max_bytes, found = solver_file.read(
        path, self._identity(), self.rounds, self._rounds)
    needed = self._memory([size_model.size_of(state.tree)
                           for state in found])
    # Whoever loads it with the same limit goes on as if nothing had happened.
    is_same = self._max_bytes is not None and max_bytes == self._max_bytes
    if needed > self._room and not is_same:
      raise ValueError(f"max_bytes={self._max_bytes}: must be at least "
                       f"{needed} to load {os.fsdecode(path)!r}")
    try:
      self._take_rounds(iteration, present, found)
    except KeyboardInterrupt:
      self._take_rounds(iteration, present, found)  # all of it
      raise

  def _take_rounds(self, iteration, present, found):
    """Goes on from here with what was read from a file."""
    self._known = {}
    for now, state in zip(self._rounds, found):
      solver_file.take(now, state)
    self._present = present
    self._count[0] = iteration
    self._rounds[present].trainer.set_values(self._values_by_round())
