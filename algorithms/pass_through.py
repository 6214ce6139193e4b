"""Pass-through CFR for n players, pruned or by Monte Carlo.

Gendre & Kaneko, "Counterfactual Regret Minimisation for playing the multiplayer
bluffing dice game Dudo" (2019), section 3.2. An iteration deals and plays one
game by the current strategies. At every state on the way:

  1. The utility of each action to the player who acts is computed.
  2. The differences to their mean are added to the regrets, and the strategy to
     the average, at once. No weights are needed, as states are reached by play.
  3. An action is played by the strategy before the change.

`PrunedPassThroughSolver` computes the expected utility of an action. A branch
counts as 1/players as soon as its probability, from the action on, is below a
threshold. `MonteCarloPassThroughSolver` computes the mean of some playouts. All
playouts of an action go down the graph together: at a state, the numbers of
playouts that choose each action are drawn at once (multinomial), which is the
same distribution and saves time.
"""

from typing import Any

import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo_single_round import single_round_graph
from dudo_spiel.algorithms.graphs import graph_solver
from dudo_spiel.algorithms.graphs import pass_through_kernels


class _PassThroughSolver(graph_solver.PlannedSolver):
  """Base of both solvers."""

  _SETTINGS = pass_through_kernels.SETTINGS

  def __init__(self, game: pyspiel.Game, abstraction: str | None = None,
               recall_length: int | None = None, **kwargs: Any) -> None:
    super().__init__(
        game, lambda: single_round_graph.training_graph(
            game, abstraction, recall_length, kwargs.get("dtype")), **kwargs)

  def _new_scratch(self):
    return pass_through_kernels.new_scratch(self.graph, self._dtype,
                                            self._num_threads)


class PrunedPassThroughSolver(_PassThroughSolver):
  """PPT: exact utilities, except that unlikely branches are pruned.

  Args:
    game: a `pyspiel.Game` of any number of players: `dudo_single_round`, whose
      graph follows from the rules, or one that can be walked.
    threshold: branches that are less likely count as 1/players. It may be a
      function of the iteration (the first is 1), whose `repr` then tells it
      from others in files.
    **kwargs: what else `pfsi.FSISolver` takes, from `abstraction` on.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import pass_through
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> solver = pass_through.PrunedPassThroughSolver(game, num_threads=2)
    >>> solver.run(1000)
    >>> solver.iteration
    1000
  """

  def __init__(self, game: pyspiel.Game,
               threshold: float | annotations.Schedule = 1e-4,
               **kwargs: Any) -> None:
    self._threshold = (threshold if callable(threshold) else
                       validation.number("threshold", threshold, 0.0, 1.0))
    self._threshold_at(1)
    super().__init__(game, **kwargs)
    self._check_can_prune("threshold", threshold)

  def _threshold_at(self, iteration):
    value = graph_solver.setting_at("threshold", self._threshold, iteration)
    return validation.number("threshold", value, 0.0, 1.0)

  def _write_settings(self, settings, iterations):
    settings["threshold"] = list(map(self._threshold_at, iterations))

  def _parameters(self):
    value = self._threshold
    return {**super()._parameters(),
            "threshold": repr(value) if callable(value) else value}


class MonteCarloPassThroughSolver(_PassThroughSolver):
  """MCPT: utilities are means of playouts.

  Args:
    game: a `pyspiel.Game` of any number of players: `dudo_single_round`, whose
      graph follows from the rules, or one that can be walked.
    num_playouts: number of playouts of an action.
    **kwargs: what else `pfsi.FSISolver` takes, from `abstraction` on.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import pass_through
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> solver = pass_through.MonteCarloPassThroughSolver(
    ...     game, num_playouts=9, num_threads=1)
    >>> solver.run(100)
    >>> solver.iteration
    100
  """

  def __init__(self, game: pyspiel.Game, num_playouts: int = 1000,
               **kwargs: Any) -> None:
    self._num_playouts = validation.integer("num_playouts", num_playouts, 1,
                                            2**31)
    super().__init__(game, **kwargs)

  def _write_settings(self, settings, iterations):
    settings["num_playouts"] = self._num_playouts

  def _parameters(self):
    return {**super()._parameters(), "num_playouts": self._num_playouts}
