"""Fixed-strategy iteration CFR on a graph of nodes, for two players.

Neller & Hnath, "Approximating Optimal Dudo Play with Fixed-Strategy Iteration
Counterfactual Regret Minimization" (2011), algorithm 2. One iteration:

  1. The outcomes of all chance nodes are determined.
  2. Forward over the nodes: the strategy of each information set follows from
     its regrets. Each node passes its pSum on to its children: the sum, over
     all paths to a node, of the probabilities with which a player plays along
     it. The strategy times the player's own pSum is added to the average.
  3. Backward: values of nodes. To each regret the difference between an
     action's value and the node's is added, times the opponent's pSum.

Regrets are summed, where the paper takes their mean: strategies are the same.
Each node counts once, whatever the number of paths to it (the paper's `visits`,
which is constant in a round of Dudo and so left out there too).

A node that neither player reaches (both pSums are zero) is skipped: by step 3
it can change nothing. Chance nodes that are not reached sample no outcome. So
the time of an iteration depends on the nodes that it reaches, not on all deals.
Nodes are in topological order, and groups of neighbours into which no edge has
led are skipped.
"""

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.graphs import fsicfr_kernels
from dudo_spiel.algorithms.graphs import game_graph
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import graph_solver

DEALS = ("sampled", "exact")

_MAX_RECALL = 2**31 - 1  # of a parameter of a pyspiel game
_MAX_MATCH_HISTORIES = 1_000_000  # of a match of Dudo that is walked
_MAX_ROUNDING = 1e-9  # of a sum of returns


class FSICFRSolver(graph_solver.GraphSolver):
  """FSICFR for two-player zero-sum games.

  The game is walked, and histories with the same continuation are merged (see
  `game_graph`). Matches of Dudo that are too large for that are solved round by
  round by `fsicfr.MatchSolver`.

  One thread runs the iterations, which are too short to be shared.

  Args:
    game: a `pyspiel.Game`.
    recall_length: number of last claims that players remember. It applies to
      `dudo`, which is solved as `dudo_ir`, and to `liars_dice`, which is solved
      as `liars_dice_ir`. Other games keep their own information states: for
      them, and so for a game `x_ir` with a parameter of its own, it has no
      effect.
    seed: for the outcomes of chance. They depend on the seed, the iteration and
      the chance node alone.
    num_threads: None or a number of threads, of which one is used.
    deals: "sampled": one outcome at each chance node in an iteration, as in the
      paper; "exact": all outcomes, with their probabilities, which is CFR with
      simultaneous updates.
    dtype: "float64", or "float32" for less memory.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import fsicfr
    >>> solver = fsicfr.FSICFRSolver(pyspiel.load_game("kuhn_poker"), seed=3)
    >>> solver.run(20000)
    >>> solver.exploitability() < 0.02
    True
  """

  graph: game_graph.WalkedGraph

  def __init__(self, game: pyspiel.Game, recall_length: int = 3, seed: int = 0,
               num_threads: int | None = None, *, deals: str = "sampled",
               dtype: str = "float64") -> None:
    _check_game(validation.game("game", game))
    recall_length = validation.integer("recall_length", recall_length, 1,
                                       _MAX_RECALL)
    self._is_exact = validation.choice("deals", deals, DEALS) == "exact"
    validation.choice("dtype", dtype, ("float64", "float32"))
    super().__init__(game, lambda: _make_graph(game, recall_length), seed=seed,
                     num_threads=num_threads, dtype=dtype)

  def _new_scratch(self):
    return fsicfr_kernels.new_scratch(self.graph, self._dtype, self._is_exact)

  def _advance(self, iterations):
    fsicfr_kernels.run(self.graph.arrays, self._regret_tables, self._scratch,
                       self._is_exact, np.uint64(self._seed), iterations,
                       self._count)

  def _parameters(self):
    return {"deals": DEALS[self._is_exact], **super()._parameters()}

  def chance_outcomes(self, iteration: int) -> np.ndarray:
    """Returns the outcomes that an iteration, past or future, samples.

    Args:
      iteration: its number; the first is 1.

    Returns:
      [chance node] int64, the number of the outcome at each chance node of
      `graph.chance_nodes`, reached or not.
    """
    if self._is_exact:
      raise ValueError("deals='exact': takes all outcomes; must be 'sampled' "
                       "for chance_outcomes")
    iteration = validation.integer("iteration", iteration, 1, 2**62)
    arrays = self.graph.arrays
    return np.array([
        graph_kernels.sampled_edge(arrays, node, np.uint64(self._seed),
                                   iteration) - arrays.child_begin[node]
        for node in self.graph.chance_nodes], np.int64)


def abstraction(game, recall_length):
  """Returns the game whose information sets FSICFR learns on.

  `dudo` becomes `dudo_ir`, and `liars_dice` OpenSpiel's `liars_dice_ir`, with
  this recall length. (OpenSpiel 2.0.2's remembers four bids, whatever its
  recall length.) Every other game is returned as it is: a game of imperfect
  recall has its own recall length, and the rest have no such abstraction.
  """
  name = game.get_type().short_name
  if name not in ("dudo", "liars_dice"):
    return game
  specification = game.get_type().parameter_specification
  parameters = {key: value for key, value in game.get_parameters().items()
                if key in specification}
  return pyspiel.load_game(f"{name}_ir",
                           {**parameters, "recall_length": recall_length})


def _make_graph(game, recall_length):
  """Returns the `game_graph.WalkedGraph` of a two-player zero-sum game."""
  game = abstraction(game, recall_length)
  is_match = game.get_type().short_name == "dudo_ir"
  graph = game_graph.walked_graph(
      game, _MAX_MATCH_HISTORIES if is_match else None)
  sums = graph.returns.sum(axis=1)
  worst = float(sums[np.argmax(np.abs(sums))])
  if abs(worst) > _MAX_ROUNDING:
    raise ValueError(f"game={game}: its returns sum up to {worst}; must be a "
                     "zero-sum game")
  return graph


def _check_game(game):
  """Raises a ValueError for a game that FSICFR cannot solve."""
  if game.num_players() != 2:
    raise ValueError(f"game={game}: has {game.num_players()} players; must "
                     "have 2")
  if game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM:
    raise ValueError(f"game={game}: its utility is "
                     f"{game.get_type().utility.name}; must be ZERO_SUM")
