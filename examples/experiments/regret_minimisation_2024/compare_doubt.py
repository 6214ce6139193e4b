"""Lets an agent that has learned when to doubt play other policies of Dudo.

The rules are those of `plot_doubt.py`. The agent has learned from games against
dummies. It meets dummies, the heuristic bot and, with two players, a policy
trained by FSICFR, which also plays in its place. Win rates are those of the row
and have standard errors; players trade seats.

OpenSpiel's `tabular_qlearner` learns the same game from the same dummies. It
knows its own dice, how many dice all players have, and the last claim, and it
learns its claims too. It is not compiled, so it gets fewer games.
"""

from dudo_spiel_examples.support import binary

import time

from absl import flags
from absl import logging
import numpy as np
from open_spiel.python import rl_environment
from open_spiel.python import rl_tools
from open_spiel.python.algorithms import tabular_qlearner
import pyspiel

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import qlearning
from dudo_spiel.algorithms import simulation

_PLAYERS = flags.DEFINE_integer("players", 2, "Players.", lower_bound=2,
                                upper_bound=6)
_NUMDICE = flags.DEFINE_integer("numdice", 3, "Dice per player.", lower_bound=1,
                                upper_bound=6)
_TRAIN_GAMES = flags.DEFINE_integer(
    "train_games", 1_000_000, "Games to learn from.", lower_bound=1)
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 200_000, "Games to measure each win rate.", lower_bound=2)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Seconds to train FSICFR, for "
                              "two players.", lower_bound=0.0)
_RECALL = flags.DEFINE_integer("recall", 2, "Claims that FSICFR remembers.",
                               lower_bound=1)
_ABSTRACTION = flags.DEFINE_string(
    "abstraction", None, "What FSICFR remembers instead of the last --recall "
    "claims, such as claims2_ranks2 or player_ranks.")
_BOUNDS = flags.DEFINE_float("bounds", 0.0, "Seconds to search each round for "
                             "best responses, for two players; 0 for none.",
                             lower_bound=0.0)
_STOCK = flags.DEFINE_integer("stock", 20_000, "Games for OpenSpiel's learner; "
                              "0 leaves it out.", lower_bound=0)
_STOCK_PLAYED = flags.DEFINE_integer("stock_played", 2_000, "Games to measure "
                                     "it.", lower_bound=2)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of everything.", lower_bound=0,
                             upper_bound=2**32 - 1)


def rate(result):
  """Returns a win rate with its standard error, in percent."""
  return f"{100 * result[1]:.2f} ± {100 * result[2]:.2f}"


def learned(game):
  """Returns {name: policy} of agents with and without the game's reward."""
  agents = {}
  for reward in (10.0, 0.0):
    learner = qlearning.DoubtLearner(game, game_reward=reward,
                                     seed=_SEED.value)
    learner.run(_TRAIN_GAMES.value)
    agents[f"Q, game reward {reward:g}"] = learner.average_policy()
  return agents


def compare(game, agents):
  """Prints win rates; returns {name: policy} of the opponents."""
  opponents = {"dummy": qlearning.DummyPolicy(game),
               "heuristic": qlearning.HeuristicPolicy(game)}
  if game.num_players() > 2:
    print(f"{'':20}" + "".join(f"{name:>16}" for name in opponents))
    for name, agent in agents.items():
      print(f"{name:20}" + "".join(
          f"{rate(qlearning.play_games(agent, _NUM_GAMES.value, kind)):>16}"
          for kind in opponents))
    return opponents
  solver = fsicfr.MatchSolver(game, _RECALL.value, _SEED.value,
                              memory=_ABSTRACTION.value)
  solver.run(seconds=_SECONDS.value)
  columns = {name: policy.to_match_policy()
             for name, policy in opponents.items()}
  columns["FSICFR"] = solver.average_policy()
  rows = {name: agent.to_match_policy() for name, agent in agents.items()}
  rows |= columns
  print(f"{'':20}" + "".join(f"{name:>16}" for name in columns)
        + ("  exploitability" if _BOUNDS.value else ""))
  for name, row in rows.items():
    cells = [rate(simulation.play_matches(
        [row, column], tuple(game.start_dice), _NUM_GAMES.value // 2 * 2)[:3])
             for column in columns.values()]
    print(f"{name:20}" + "".join(f"{cell:>16}" for cell in cells), end="")
    if _BOUNDS.value:
      low, high = exploitability.match_bounds(
          row, seconds=_BOUNDS.value).exploitability
      print(f"  {low:.3f} to {high:.3f}", end="")
    print(flush=True)
  return {**opponents, "FSICFR": columns["FSICFR"]}


class StockLearner:
  """OpenSpiel's learner at seat 0, and policies at the others.

  Args:
    parameters: dict, those of the game.
  """

  def __init__(self, parameters):
    game = pyspiel.load_game("dudo_ir", {**parameters, "recall_length": 1})
    self._environment = rl_environment.Environment(game)
    self._environment.seed(_SEED.value)
    np.random.seed(_SEED.value)  # the learner draws from it
    self._random = np.random.RandomState(_SEED.value)
    self._learner = tabular_qlearner.QLearner(
        0, game.num_distinct_actions(), step_size=0.1,
        epsilon_schedule=rl_tools.LinearSchedule(0.5, 0.05, 10 * _STOCK.value))

  def play(self, others, is_evaluation):
    """Plays a game against a policy; returns whether the learner won."""
    environment = self._environment
    step = environment.reset()
    while not step.last():
      if environment.get_state.current_player() == 0:
        action = self._learner.step(step, is_evaluation).action
      else:
        chances = others.action_probabilities(environment.get_state)
        weights = np.array(list(chances.values()))
        action = self._random.choice(list(chances), p=weights / weights.sum())
      step = environment.step([int(action)])
    if not is_evaluation:
      self._learner.step(step)
    return step.rewards[0] > 0


def compare_stock(parameters, opponents):
  """Prints the win rates of OpenSpiel's learner."""
  stock = StockLearner(parameters)
  begin = time.perf_counter()
  for _ in range(_STOCK.value):
    stock.play(opponents["dummy"], False)
  print(f"tabular_qlearner of OpenSpiel, {_STOCK.value:,} games in "
        f"{time.perf_counter() - begin:.0f} s, as starter:")
  for name, policy in opponents.items():
    wins = np.mean([stock.play(policy, True)
                    for _ in range(_STOCK_PLAYED.value)])
    error = np.sqrt(wins * (1 - wins) / (_STOCK_PLAYED.value - 1))
    print(f"  against {name:10}{rate((0, wins, error)):>16}", flush=True)


def main(_):
  logging.set_verbosity(logging.WARNING)
  parameters = {"players": _PLAYERS.value, "numdice": _NUMDICE.value,
                "wild_ones": False, "die_loss": "one", "exact_reward": False}
  game = pyspiel.load_game("dudo", parameters)
  begin = time.perf_counter()
  agents = learned(game)
  print(f"{_PLAYERS.value} players, {_NUMDICE.value} dice each; learned from "
        f"{_TRAIN_GAMES.value:,} games, in {time.perf_counter() - begin:.0f} s "
        "with compiling; win rates in percent")
  opponents = compare(game, agents)
  if _STOCK.value:
    compare_stock(parameters, opponents)


if __name__ == "__main__":
  binary.run(main)
