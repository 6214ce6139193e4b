"""Q-learning of doubt: an agent learns when to say Dudo.

A report on regret minimisation (2024), section 4: the agent has a probability
of doubting for each pair of its own dice and a claim, and moves it by what its
doubts have brought. Everything else it does as the simple opponents do. See
`doubt.doubt_kernels` for the update and the opponents.

This is no way to an equilibrium. `play_games` measures how often the policy
wins, and for two players `policy.to_match_policy()` meets other policies in
`simulation.play_matches` and best responders in `exploitability`.
"""

import math
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.doubt import doubt_kernels
from dudo_spiel.algorithms.doubt import doubt_policy
from dudo_spiel.algorithms.doubt.doubt_policy import DoubtPolicy
from dudo_spiel.algorithms.doubt.doubt_policy import DummyPolicy
from dudo_spiel.algorithms.doubt.doubt_policy import HeuristicPolicy
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular import table_policy

__all__ = ["DoubtLearner", "DoubtPolicy", "DummyPolicy", "HeuristicPolicy",
           "PlayResult", "play_games"]

_OPPONENTS = {"dummy": doubt_kernels.DUMMY,
              "heuristic": doubt_kernels.HEURISTIC}
_START = 0.5  # how likely the agent doubts before it has learned anything
_MAX_GAMES = 2**40


class PlayResult(NamedTuple):
  """What came of the games.

  Attributes:
    games: how many were played.
    win_rate: the share that the policy won.
    standard_error: of the win rate.
  """
  games: int
  win_rate: float
  standard_error: float


class DoubtLearner(base_solver.Solver):
  """Learns when to doubt, a game an iteration.

  Args:
    game: `dudo` or `dudo_ir` with wild_ones=False, die_loss="one" and
      exact_reward=False, for two to six players.
    opponents: "dummy", as in the report, or "heuristic".
    player: the seat of the agent.
    alpha: the learning rate.
    round_reward: the reward of a doubt that was right; a wrong one costs it.
    game_reward: the reward of all doubts of a game that was won; a lost one
      costs it.
    seed: for dice and moves.

  Attributes:
    game: the game.
    tables: the `doubt_kernels.DoubtTables`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import qlearning
    >>> game = pyspiel.load_game("dudo(numdice=1,dice_sides=3,wild_ones=False,"
    ...                          "die_loss=one,exact_reward=False)")
    >>> learner = qlearning.DoubtLearner(game, seed=2)
    >>> learner.run(10000)
    >>> 0 < learner.wins < 10000
    True
  """

  def __init__(self, game: pyspiel.Game, *, opponents: str = "dummy",
               player: int = 0, alpha: float = 0.1, round_reward: float = 1.0,
               game_reward: float = 10.0, seed: int = 0) -> None:
    super().__init__(doubt_policy.check_game(game), seed=seed, num_threads=1,
                     dtype="float64")
    self._opponents = validation.choice("opponents", opponents, _OPPONENTS)
    players = game.num_players()
    self._settings = doubt_kernels.DoubtSettings(
        validation.integer("player", player, 0, players - 1),
        _OPPONENTS[opponents], validation.number("alpha", alpha, 0.0, 1.0),
        validation.number("round_reward", round_reward, 0.0, 1e6),
        validation.number("game_reward", game_reward, 0.0, 1e6), False)
    self._rules = doubt_kernels.doubt_rules(game)
    self.tables = _new_tables(game)
    self._evaluator = None  # made when it is first needed

  def _advance(self, iterations):
    doubt_kernels.play(self._rules, self._settings, self.tables,
                       np.uint64(self._seed), iterations, self._count)

  def _tables(self):
    return self.tables._asdict()

  def _parameters(self):
    return {"opponents": self._opponents, "seed": self._seed,
            **{name: getattr(self._settings, name) for name in (
                "player", "alpha", "round_reward", "game_reward")}}

  def _read_extras(self, archive, tables):
    for name, table in tables.items():
      high = 1 if name == "doubt" else archives.MAX_COUNT
      if np.any(table < 0) or np.any(table > high):
        raise ValueError(f"path={archive.path!r}: its {name} must be between "
                         f"0 and {high}")

  @property
  def memory_bytes(self) -> int:
    """How much memory the solver takes."""
    return sum(table.nbytes for table in (
        *self.tables, self._rules.distribution, self._rules.counts))

  @property
  def wins(self) -> int:
    """How many games the agent has won while it learned."""
    return int(self.tables.wins[0])

  def current_policy(self) -> DoubtPolicy:
    """Returns a `DoubtPolicy`, what the agent has learned (a copy)."""
    return DoubtPolicy(self.game, self.tables.doubt)

  def _average_policy(self):
    return self.current_policy()  # Q-learning has no average

  def _measure(self):
    """Returns (values, NashConv) if all seats play the agent's policy."""
    if self._evaluator is None:
      try:
        compiled = compiled_game.compile_game(self.game)
      except ValueError as error:
        raise ValueError(
            f"game={self.game}: is too large to be walked; measure the policy "
            "by qlearning.play_games or, for two players, "
            "exploitability.match_bounds(policy.to_match_policy())") from error
      self._evaluator = evaluator.Evaluator(compiled)
    strategy = table_policy.to_strategy(self._evaluator.compiled,
                                        self.current_policy())
    return self._evaluator.measure(strategy, 0.0)

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, if all seats play the agent's policy."""
    return self._measure()[0]

  def nash_conv(self) -> float:
    """Returns the NashConv if all seats play the agent's policy.

    Only games that can be walked have it, such as one die each.
    """
    return self._measure()[1]


def _new_tables(game):
  """Returns the `DoubtTables` of an agent that has learned nothing."""
  shape = doubt_policy.table_shape(game)
  return doubt_kernels.DoubtTables(
      np.full(shape, _START), np.zeros(shape, np.int64), np.zeros(1, np.int64))


def play_games(policy: DoubtPolicy, num_games: int, opponents: str = "dummy",
               seed: int = 0) -> PlayResult:
  """Plays a policy against others; the seats take turns to start.

  Args:
    policy: a `DoubtPolicy`. It plays seat 0 of its game.
    num_games: how many games.
    opponents: "dummy" or "heuristic", who play all other seats.
    seed: the same seed gives the same games.

  Returns:
    A `PlayResult`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import qlearning
    >>> game = pyspiel.load_game("dudo(numdice=1,dice_sides=3,wild_ones=False,"
    ...                          "die_loss=one,exact_reward=False)")
    >>> learner = qlearning.DoubtLearner(game, seed=2)
    >>> learner.run(10000)
    >>> result = qlearning.play_games(learner.current_policy(), 10000)
    >>> result.win_rate > 0.5
    True
  """
  if not isinstance(policy, DoubtPolicy):
    raise ValueError(f"policy={policy!r}: must be a DoubtPolicy")
  validation.integer("num_games", num_games, 2, _MAX_GAMES)
  validation.choice("opponents", opponents, _OPPONENTS)
  validation.integer("seed", seed, 0, 2**64 - 1)
  tables = _new_tables(policy.game)
  tables.doubt[:] = policy.table
  settings = doubt_kernels.DoubtSettings(0, _OPPONENTS[opponents], 0.0, 0.0,
                                         0.0, True)
  doubt_kernels.play(doubt_kernels.doubt_rules(policy.game), settings, tables,
                     np.uint64(seed), num_games, np.zeros(1, np.int64))
  rate = int(tables.wins[0]) / num_games
  return PlayResult(num_games, rate,
                    math.sqrt(rate * (1.0 - rate) / (num_games - 1)))
