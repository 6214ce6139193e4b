"""Exact evaluation of policies: values, best responses, exploitability.

Each function does what OpenSpiel's function of the same name does, for any
number of players and any OpenSpiel policy, but on a compiled game. A best
responder always has perfect recall, also against a policy that was learned with
imperfect recall.

With `epsilon` the game is perturbed: all players, responders included, play
every action with at least that probability.
"""

from collections.abc import Sequence
import functools
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.updates import set_blocks

_ROUNDING = 1e-6  # by which a policy of a perturbed game may miss epsilon


class BestResponse(NamedTuple):
  """A best response.

  Attributes:
    value: the player's value.
    policy: a `table_policy.TablePolicy` in which the player plays the response
      and the others their policy.
  """
  value: float
  policy: table_policy.TablePolicy


class Evaluator:
  """Evaluates strategies of a compiled game, whatever its recall.

  Each running evaluation has its own workspace, so that threads may share a
  game or an evaluator.

  Args:
    compiled: the `compiled_game.CompiledGame` whose strategies are evaluated.
  """

  def __init__(self, compiled):
    self.compiled = compiled
    self._workspaces = {}  # by compiled game, a list of free workspaces

  @functools.cached_property
  def _real(self):
    """The game of a responder, and [entry there] int64 those of `compiled`."""
    form, real = self.compiled.form, self.compiled.with_perfect_recall
    if real is self.compiled:
      return real, slice(None)
    sets, actions, entries = real.entries_of_sets()
    abstract = self.compiled.tree.info_set[real.tree.set_node[sets]]
    abstract_entries = np.zeros(real.num_entries, dtype=np.int64)
    abstract_entries[entries] = (form.set_entry[abstract] +
                                 actions * form.set_stride[abstract])
    return real, abstract_entries

  def _evaluate(self, compiled, strategy, mode, epsilon=0.0):
    """Returns each player's value in a mode, and in mode RESPOND responses."""
    free = self._workspaces.setdefault(compiled, [])
    try:
      workspace = free.pop()
    except IndexError:  # all are in use
      workspace = compiled.workspace()
    strategy = np.array(strategy, dtype=np.float64)
    tables = set_blocks.SolverTables(strategy, response=np.empty_like(strategy))
    compiled.propagate(strategy, workspace)
    values = compiled.evaluate(tables, workspace, mode, epsilon)
    free.append(workspace)
    return values, tables.response

  def expected_values(self, strategy):
    """Returns [player] float64, the values if all play the strategy."""
    return self._evaluate(self.compiled, strategy, set_blocks.EVALUATE)[0]

  def best_responses(self, strategy, epsilon=0.0):
    """Returns the compiled game with perfect recall, and best responses there.

    Returns:
      (real, values, responses, strategy): the `CompiledGame` with perfect
      recall; [player] float64, the values of best responses; [entry of real]
      float64, the best responses, and the strategy of the others.
    """
    real, entries = self._real
    real_strategy = np.asarray(strategy)[entries]
    values, responses = self._evaluate(real, real_strategy, set_blocks.RESPOND,
                                       epsilon)
    return real, values, responses, real_strategy

  def measure(self, strategy, epsilon=0.0):
    """Returns each player's expected value, and the NashConv."""
    values = self.expected_values(strategy)
    _, best, _, _ = self.best_responses(strategy, epsilon)
    return values, float(np.sum(best - values))

  def nash_conv(self, strategy, epsilon=0.0):
    """Returns the sum of each player's gain by a best response."""
    return self.measure(strategy, epsilon)[1]


def _compile(game, policy):
  """Returns the evaluator and the strategy for a policy on a game."""
  compiled = compiled_game.compile_game(game)
  return Evaluator(compiled), table_policy.to_strategy(compiled, policy)


def expected_values(
    game: pyspiel.Game,
    policy: annotations.Policy | Sequence[annotations.Policy]) -> np.ndarray:
  """Returns [player] float64, the values if all play the policy.

  Args:
    game: a `pyspiel.Game`.
    policy: any OpenSpiel policy, or a list of one for each player.

  Example:
    >>> import pyspiel
    >>> from open_spiel.python import policy
    >>> from dudo_spiel.algorithms import exploitability
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> uniform = policy.UniformRandomPolicy(game)
    >>> exploitability.expected_values(game, uniform)
    array([ 0.125, -0.125])
  """
  evaluator, strategy = _compile(game, policy)
  return evaluator.expected_values(strategy)


def nash_conv(game: pyspiel.Game,
              policy: annotations.Policy | Sequence[annotations.Policy],
              epsilon: float = 0.0) -> float:
  """Returns the sum of each player's gain by a best response.

  Args:
    game: a `pyspiel.Game`.
    policy: any OpenSpiel policy, or a list of one for each player.
    epsilon: above 0, the NashConv of the perturbed game, in which all play
      every action with at least this probability; so must the policy.

  Example:
    >>> import pyspiel
    >>> from open_spiel.python import policy
    >>> from dudo_spiel.algorithms import exploitability
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> uniform = policy.UniformRandomPolicy(game)
    >>> round(exploitability.nash_conv(game, uniform), 6)
    0.916667
  """
  evaluator, strategy = _compile(game, policy)
  epsilon = evaluator.compiled.check_epsilon(epsilon)
  lowest = float(strategy.min())
  if lowest < epsilon - _ROUNDING:
    raise ValueError(f"policy={policy}: plays an action with probability "
                     f"{lowest}; must be at least epsilon={epsilon}")
  return evaluator.nash_conv(strategy, epsilon)


def exploitability(game: pyspiel.Game,
                   policy: annotations.Policy | Sequence[annotations.Policy],
                   epsilon: float = 0.0) -> float:
  """Returns the NashConv divided by the number of players.

  Args:
    game: a `pyspiel.Game`.
    policy: any OpenSpiel policy, or a list of one for each player.
    epsilon: above 0, the exploitability in the perturbed game, in which all
      play every action with at least this probability; so must the policy.

  Example:
    >>> import pyspiel
    >>> from open_spiel.python import policy
    >>> from dudo_spiel.algorithms import exploitability
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> uniform = policy.UniformRandomPolicy(game)
    >>> round(exploitability.exploitability(game, uniform), 6)
    0.458333
  """
  return nash_conv(game, policy, epsilon) / game.num_players()


def max_win_rate(gap: float) -> float:
  """Returns how many games one can win against a policy, at most, as a rate.

  That holds for a game of two who win 1 or lose 1, and for who plays both seats
  equally often.

  Args:
    gap: the exploitability of the policy, from 0 to 1.

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> round(exploitability.max_win_rate(0.15), 6)
    0.575
  """
  return 0.5 * (1.0 + validation.number("gap", gap, -_ROUNDING,
                                        1.0 + _ROUNDING))


def best_response(game: pyspiel.Game,
                  policy: annotations.Policy | Sequence[annotations.Policy],
                  player: int) -> BestResponse:
  """Returns a player's `BestResponse` to a policy.

  Args:
    game: a `pyspiel.Game`.
    policy: any OpenSpiel policy for the other players, or a list of one for
      each player; that of the responder is asked, but not played.
    player: the player who responds.

  Example:
    >>> import pyspiel
    >>> from open_spiel.python import policy
    >>> from dudo_spiel.algorithms import exploitability
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> uniform = policy.UniformRandomPolicy(game)
    >>> response = exploitability.best_response(game, uniform, player=0)
    >>> round(response.value, 6)
    0.5
  """
  validation.game("game", game)
  player = validation.integer("player", player, 0, game.num_players() - 1)
  evaluator, strategy = _compile(game, policy)
  real, values, responses, strategy = evaluator.best_responses(strategy)
  if real.game is game and not evaluator.compiled.has_perfect_recall:
    raise ValueError(
        f"game={game}: has imperfect recall, and no game is known of which it "
        "is the abstraction, so there is no policy that remembers; nash_conv "
        "measures against one")
  sets, _, entries = real.entries_of_sets()
  own = entries[real.tree.set_player[sets] == player]
  strategy[own] = responses[own]
  return BestResponse(float(values[player]),
                      table_policy.from_strategy(real, strategy))
