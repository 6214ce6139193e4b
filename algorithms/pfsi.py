"""Fixed-strategy iteration for n players, with and without pruning.

Gendre & Kaneko, "Counterfactual Regret Minimisation for playing the multiplayer
bluffing dice game Dudo" (2019), section 3.3. An iteration of FSI fixes a deal
and, on the graph of its states (`graphs.game_graph`):

  1. Forward: strategies from regrets; for every player i the reach probability
     of the others, pi_-i, summed over all paths to a state (algorithm 1 there).
     Strategies are added to the averages, times the acting player's own reach.
  2. Backward: the utilities of all players; the regrets of the player i who
     acts, times pi_-i.

PFSI (section 3.3.2) prunes:

  3. An unflagged state with pi_-i of its own player below `reach_threshold`
     flags its children with probability `flag_probability`. A state is
     unflagged if any parent asks for it without flagging it.
  4. A flagged state flags its children, asks only for those of actions with a
     probability above `action_threshold`, and uses 1/players for the others.
  5. After `depth` generations of flagged states the utility is 1/players
     (except at terminals, whose utility is known).
  6. Flagged states pass their utility up, but change no regrets or averages.

The thresholds may change with the iteration, which the paper suggests as future
work: `PruningSchedule`.
"""

from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo_single_round import single_round_graph
from dudo_spiel.algorithms.dudo_single_round.single_round_layout import (
    abstract_game,
)
from dudo_spiel.algorithms.dudo_single_round.single_round_layout import (
    ABSTRACTIONS,
)
from dudo_spiel.algorithms.graphs import fsi_kernels
from dudo_spiel.algorithms.graphs import graph_solver

__all__ = ["abstract_game", "ABSTRACTIONS", "FSISolver", "PFSISolver",
           "PruningSchedule"]


class FSISolver(graph_solver.PlannedSolver):
  """FSI: every state of a deal, every iteration.

  Args:
    game: a `pyspiel.Game` of any number of players: `dudo_single_round`, whose
      graph follows from the rules, or one that can be walked.
    abstraction: of `dudo_single_round`, one of ABSTRACTIONS; None for that of
      the game, or else "wait_type_recall".
    recall_length: number of values that the abstraction remembers; None for
      that of the game, or else 3.
    tremble: with this probability a player acts uniformly at random, whatever
      the strategy. Players who learn so know what to do against others who err.
      Neither `current_policy` nor `average_policy` trembles itself.
    gamma: iteration t weighs t^gamma in averages, as in
      `cfr.DiscountedCFRSolver`; 0 weighs all the same.
    seed: for all random numbers. They depend on the seed and the iteration
      alone.
    num_threads: number of threads to use, None for all; results do not depend
      on it. Walked games use one.
    dtype: "float32" or "float64"; None for float32 in `dudo_single_round` and
      float64 in walked games.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import pfsi
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> solver = pfsi.FSISolver(game, num_threads=2)
    >>> solver.run(2000)
    >>> round(float(solver.expected_values().sum()), 6)
    1.0
  """

  _SETTINGS = fsi_kernels.SETTINGS

  def __init__(self, game: pyspiel.Game, abstraction: str | None = None,
               recall_length: int | None = None, tremble: float = 0.0,
               gamma: float = 1.0, seed: int = 0,
               num_threads: int | None = None,
               dtype: str | None = None) -> None:
    super().__init__(
        game, lambda: single_round_graph.training_graph(
            game, abstraction, recall_length, dtype),
        tremble=tremble, gamma=gamma, seed=seed, num_threads=num_threads,
        dtype=dtype)

  def _new_scratch(self):
    return fsi_kernels.new_scratch(self.graph, self._dtype, self._num_threads)

  def _write_settings(self, settings, iterations):
    pass  # nothing is pruned


class PFSISolver(FSISolver):
  """PFSI: states with a low reach probability are pruned.

  Each of the four settings may be a function of the iteration (the first is 1).
  Its `repr` tells it from others in files, so a solver that is saved must not
  have a lambda there. Reaches below 1e-30 (float32) count as zero.

  Args:
    game: a `pyspiel.Game` whose returns have a constant sum.
    depth: number of generations of flagged states that ask for their children.
    reach_threshold: states with a lower pi_-i may flag their children; 0 for no
      pruning.
    flag_probability: the probability with which they do.
    action_threshold: flagged states ask for the utility of actions above this
      probability.
    **kwargs: what else `FSISolver` takes.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import pfsi
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> solver = pfsi.PFSISolver(game, num_threads=2, reach_threshold=1e-3)
    >>> solver.run(2000)
    >>> type(solver.average_policy()).__name__
    'SingleRoundPolicy'
  """

  def __init__(self, game: pyspiel.Game, depth: int | annotations.Schedule = 4,
               reach_threshold: float | annotations.Schedule = 1e-20,
               flag_probability: float | annotations.Schedule = 0.98,
               action_threshold: float | annotations.Schedule = 1e-4,
               **kwargs: Any) -> None:
    self._pruning = {"reach_threshold": reach_threshold,
                     "flag_probability": flag_probability,
                     "action_threshold": action_threshold, "depth": depth}
    self._write_settings(np.zeros(1, self._SETTINGS), [1])
    self._pruning = {name: value if callable(value) else _plain(value)
                     for name, value in self._pruning.items()}
    super().__init__(game, **kwargs)
    self._check_can_prune("reach_threshold", reach_threshold)

  def _write_settings(self, settings, iterations):
    for name, setting in self._pruning.items():
      values = ([graph_solver.setting_at(name, setting, i) for i in iterations]
                if callable(setting) else [setting])
      for value in values:
        if name == "depth":
          validation.integer(name, value, 0, fsi_kernels.MAX_DEPTH)
        elif name == "reach_threshold":
          validation.number(name, value, 0.0)
        else:
          validation.number(name, value, 0.0, 1.0)
      settings[name] = values

  def _parameters(self):
    return {**super()._parameters(),
            **{name: repr(setting) if callable(setting) else setting
               for name, setting in self._pruning.items()}}


def _plain(value):
  """Returns a number as files can hold it."""
  return int(value) if float(value).is_integer() else float(value)


class PruningSchedule:
  """A reach threshold that begins severe and ends as FSI.

  It falls geometrically from `first` to `last`, and is 0 from then on.

  Args:
    iterations: when pruning ends.
    first: the threshold of the first iteration.
    last: the last threshold above 0.

  Example:
    >>> from dudo_spiel.algorithms import pfsi
    >>> schedule = pfsi.PruningSchedule(1000)
    >>> schedule(1), schedule(1001)
    (0.01, 0.0)
  """

  def __init__(self, iterations: int, first: float = 1e-2,
               last: float = 1e-8) -> None:
    self._iterations = validation.integer("iterations", iterations, 1)
    self._first = validation.number("first", first, 0.0)
    self._last = validation.number("last", last, 0.0, self._first)
    if not self._last > 0.0:
      raise ValueError(f"last={last!r}: must be above 0")

  def __call__(self, iteration: int) -> float:
    """Returns the reach threshold of an iteration."""
    if iteration > self._iterations:
      return 0.0
    progress = (iteration - 1) / max(self._iterations - 1, 1)
    return self._first * (self._last / self._first)**progress

  def __repr__(self):
    """Returns the arguments, which identify the schedule in files."""
    return (f"PruningSchedule({self._iterations}, {self._first}, "
            f"{self._last})")
