"""Two-player games of one simultaneous move, as matrices.

`NormalForm` holds the payoffs of a game and measures pairs of strategies and
joint distributions. `match_regrets` runs regret matching (Hart & Mas-Colell
2000). An iteration has these steps.

  1. Each player samples an action from its strategy, or plays all actions with
     their probabilities.
  2. The regret of an action grows by its payoff against the opponent's action
     or strategy, minus the player's payoff.
  3. The strategy is added to the cumulative strategy, and the actions played to
     the joint distribution.
  4. The next strategy is proportional to the positive regrets, and uniform if
     there are none.

`match_conditional_regrets` is the procedure of the same paper whose joint play
approaches a correlated equilibrium. Players always sample, and two steps are
different.

  2. If a player played the action j, only the regrets of j for the other
     actions k grow, by the payoff of k minus that of j.
  4. A player who played j changes to k with a probability proportional to the
     mean positive regret of j for k, and otherwise plays j again.
"""

import hashlib
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.tree import game_tree

_NUM_PLAYERS = 2
_ALLOWED = ("must be a game of one simultaneous move for two players, such as "
            "matrix_rps or blotto(players=2)")


class MatchingTables(NamedTuple):
  """The tables of regret matching. Each player's actions count from 0.

  Attributes:
    strategy_0: [row] float64, what player 0 plays next.
    strategy_1: [column] float64, what player 1 plays next.
    regret_0: [row] float64, sums of regrets; [row, row] conditional ones.
    regret_1: [column] float64, sums of regrets; [column, column] conditional
      ones.
    cumulative_0: [row] float64, sums of strategies.
    cumulative_1: [column] float64, sums of strategies.
    joint: [row, column] float64, number of times both were played together.
  """
  strategy_0: np.ndarray
  strategy_1: np.ndarray
  regret_0: np.ndarray
  regret_1: np.ndarray
  cumulative_0: np.ndarray
  cumulative_1: np.ndarray
  joint: np.ndarray


@jit.kernel
def _sample(strategy, x):
  """Returns the action in which a uniform x falls."""
  last = 0
  reached = 0.0
  for action in range(len(strategy)):
    if strategy[action] > 0.0:
      last = action
      reached += strategy[action]
      if x < reached:
        break
  return last


@jit.kernel
def _learn_sampled(payoffs, own, other, regret):
  """Adds the regrets of sampled actions to `regret` [own action]."""
  got = payoffs[own, other]
  for action in range(len(regret)):
    regret[action] += payoffs[action, other] - got


@jit.kernel(nogil=True, reassociate=True)
def _learn_expected(payoffs, own, other, values, regret):
  """Adds the expected regrets of two strategies to `regret` [own action].

  `values` [own action] is scratch.
  """
  mean = 0.0
  for action in range(len(own)):
    value = 0.0
    for theirs in range(len(other)):
      value += payoffs[action, theirs] * other[theirs]
    values[action] = value
    mean += own[action] * value
  for action in range(len(own)):
    regret[action] += values[action] - mean


@jit.kernel
def _renew(regret, strategy, cumulative):
  """Adds the strategy to its sum, then matches regrets."""
  total = 0.0
  for action in range(len(regret)):
    cumulative[action] += strategy[action]
    total += max(regret[action], 0.0)
  for action in range(len(regret)):
    strategy[action] = (max(regret[action], 0.0) / total
                        if total >= regret_tables.min_sum(total) else
                        1.0 / len(regret))


@jit.kernel
def match_regrets(payoffs, tables, is_sampled, seed, iterations, count):
  """Runs iterations of regret matching.

  Args:
    payoffs: the two arrays of `NormalForm.payoffs`.
    tables: the `MatchingTables`, modified in place.
    is_sampled: whether players sample their actions.
    seed: uint64, of the samples.
    iterations: number of iterations to run.
    count: [1] int64, number of iterations ever run; counted up.
  """
  payoffs_0, payoffs_1 = payoffs
  first, second = tables.strategy_0, tables.strategy_1
  values_0, values_1 = np.empty_like(first), np.empty_like(second)
  joint = tables.joint
  for _ in range(iterations):
    if is_sampled:
      iteration = count[0] + 1
      row = _sample(first, random_streams.node_uniform(seed, iteration, 0))
      column = _sample(second, random_streams.node_uniform(seed, iteration, 1))
      _learn_sampled(payoffs_0, row, column, tables.regret_0)
      _learn_sampled(payoffs_1, column, row, tables.regret_1)
      joint[row, column] += 1.0
    else:
      _learn_expected(payoffs_0, first, second, values_0, tables.regret_0)
      _learn_expected(payoffs_1, second, first, values_1, tables.regret_1)
      for row in range(len(first)):
        if first[row] > 0.0:
          for column in range(len(second)):
            joint[row, column] += first[row] * second[column]
    _renew(tables.regret_0, first, tables.cumulative_0)
    _renew(tables.regret_1, second, tables.cumulative_1)
    count[0] += 1


@jit.kernel
def _change(regret, own, inertia, strategy, cumulative):
  """Adds the strategy to its sum, then computes the next after an action.

  Args:
    regret: [own action] float64, the regrets of the action `own`.
    own: the player's action.
    inertia: divisor that makes probabilities of regrets.
    strategy: [own action] float64, modified in place.
    cumulative: [own action] float64, modified in place.
  """
  stays = 1.0
  for action in range(len(regret)):
    cumulative[action] += strategy[action]
    strategy[action] = max(regret[action], 0.0) / inertia
    if action != own:
      stays -= strategy[action]
  strategy[own] = stays


@jit.kernel
def match_conditional_regrets(payoffs, tables, inertia, seed, iterations,
                              count):
  """Runs iterations of conditional regret matching.

  The arguments are those of `match_regrets`, and `NormalForm.inertia`.
  """
  payoffs_0, payoffs_1 = payoffs
  first, second = tables.strategy_0, tables.strategy_1
  for _ in range(iterations):
    iteration = count[0] + 1
    row = _sample(first, random_streams.node_uniform(seed, iteration, 0))
    column = _sample(second, random_streams.node_uniform(seed, iteration, 1))
    _learn_sampled(payoffs_0, row, column, tables.regret_0[row])
    _learn_sampled(payoffs_1, column, row, tables.regret_1[column])
    tables.joint[row, column] += 1.0
    _change(tables.regret_0[row], row, inertia[0] * iteration, first,
            tables.cumulative_0)
    _change(tables.regret_1[column], column, inertia[1] * iteration, second,
            tables.cumulative_1)
    count[0] += 1


class NormalForm:
  """The payoffs of a game of one simultaneous move.

  Args:
    game: the `pyspiel.Game`.

  Attributes:
    game: the game.
    actions: list of two lists of int, each player's actions in OpenSpiel.
    payoffs: ([row, column], [column, row]) float64: each player's payoffs, by
      the player's own action first.
  """

  def __init__(self, game):
    self.game = game
    state = validation.game("game", game).new_initial_state()
    if (game.num_players() != _NUM_PLAYERS or
        not state.is_simultaneous_node()):
      raise ValueError(f"game={game}: {_ALLOWED}")
    self.actions = [state.legal_actions(player)
                    for player in range(_NUM_PLAYERS)]
    rows, columns = map(len, self.actions)
    # Payoffs twice, the joint distribution, copies of them, and regrets.
    entries = 6 * rows * columns + rows**2 + columns**2
    ram.check("game", game, 8 * entries, "regret matching", "a smaller game")
    returns = _returns(game, state, self.actions)
    game_tree.check_payoffs(game, returns, "float64")
    self.payoffs = (np.ascontiguousarray(returns[0]),
                    np.ascontiguousarray(returns[1].T))

  def new_tables(self, conditional=False):
    """Returns new `MatchingTables`; the strategies are uniform."""
    rows, columns = map(len, self.actions)
    power = 2 if conditional else 1
    return MatchingTables(
        np.full(rows, 1.0 / rows), np.full(columns, 1.0 / columns),
        np.zeros((rows,) * power), np.zeros((columns,) * power),
        np.zeros(rows), np.zeros(columns), np.zeros((rows, columns)))

  def inertia(self):
    """Returns [player] float64, the divisors of conditional regrets.

    Each is the number of actions times the range of the payoffs, so that the
    probabilities to change add up to less than one.
    """
    return np.array([len(payoffs) * (np.ptp(payoffs) or 1.0)
                     for payoffs in self.payoffs])

  def fingerprint(self):
    """Returns a content hash; distinct games may have the same string."""
    digest = hashlib.sha256(repr(self.actions).encode())
    for payoffs in self.payoffs:
      digest.update(payoffs.tobytes())
    return digest.hexdigest()[:16]

  def expected_values(self, strategies):
    """Returns [player] float64, the values if both play the strategies."""
    return np.array([strategies[player] @ self.payoffs[player]
                     @ strategies[1 - player] for player in range(2)])

  def nash_conv(self, strategies):
    """Returns the sum of both players' gains by best responses."""
    best = [np.max(self.payoffs[player] @ strategies[1 - player])
            for player in range(2)]
    return float(np.sum(best - self.expected_values(strategies)))

  def ce_dist(self, joint):
    """Returns how far a joint distribution is from a correlated equilibrium.

    It is the sum of both players' gains if each may replace every action that
    the distribution recommends by another one.

    Args:
      joint: [row, column] float64, a distribution.
    """
    return sum(float(np.sum(np.max(gains, axis=1) - np.diag(gains)))
               for gains in self._gains(joint))

  def cce_dist(self, joint):
    """Returns how far it is from a coarse correlated equilibrium.

    It is the sum of both players' gains if each may always play one action
    instead of those that the distribution recommends.
    """
    return sum(float(np.max(gains.sum(axis=0)) - np.trace(gains))
               for gains in self._gains(joint))

  def _gains(self, joint):
    """Yields each player's [recommended, played] payoffs."""
    for payoffs, recommended in zip(self.payoffs, (joint, joint.T)):
      yield recommended @ payoffs.T


def _returns(game, state, actions):
  """Returns [player, row, column] float64, the returns of the game."""
  if isinstance(game, pyspiel.MatrixGame):
    return np.array([game.row_utilities(), game.col_utilities()])
  returns = np.empty((_NUM_PLAYERS, *map(len, actions)))
  for row, first in enumerate(actions[0]):
    for column, second in enumerate(actions[1]):
      end = state.clone()
      end.apply_actions([first, second])
      if not end.is_terminal():
        raise ValueError(f"game={game}: {_ALLOWED}")
      returns[:, row, column] = end.returns()
  return returns


class NormalFormPolicy(table_policy.TablePolicy):
  """An OpenSpiel policy for a game of one simultaneous move.

  `action_probabilities(state, player)` has the player's actions. Without a
  player, it has the joint actions of a simultaneous state, as
  `state.legal_actions()` lists them; and the actions of the player to move
  where the game was made turn-based (`pyspiel.convert_to_turn_based`).

  Args:
    form: the `NormalForm`.
    strategies: two arrays, [row] and [column] float64.
  """

  def __init__(self, form, strategies):
    state = form.game.new_initial_state()
    super().__init__(form.game,
                     [state.information_state_string(p) for p in range(2)],
                     range(2), form.actions, np.concatenate(strategies))

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability} of a player's or the joint actions."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    if player == pyspiel.PlayerId.SIMULTANEOUS:
      first, second = (list(self.action_probabilities(state, p).values())
                       for p in range(2))
      joint = np.outer(second, first).reshape(-1)  # player 0's moves fastest
      return dict(zip(state.legal_actions(), joint.tolist()))
    if player not in (0, 1) or (
        tuple(state.legal_actions(player)) != self.actions[player]):
      raise ValueError(f"state={state}: is not one in which player {player} of "
                       f"{self.game} moves")
    return self.at(player, self.info_states[player])
