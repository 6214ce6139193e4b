import re

import helpers
import numpy as np
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import evaluate_bots
from open_spiel.python.examples import play_via_console_example
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel import odds

_GAMES = ("dudo", "dudo_ir", "dudo_single_round", "dudo_single_round_ir",
          "neumann_poker", "liar_die", "liar_die_ir", "dudo(players=4)",
          "dudo_single_round(players=2,numdice=1)")


def _rng():
  return np.random.RandomState(0)


def test_random_bot_claims_with_the_papers_chances():
  state = helpers.start("dudo_single_round", *["12345"] * 4)
  chances = bots.RandomBot(0, _rng()).distribution(state)
  assert list(chances) == list(range(18))
  assert list(chances.values()) == pytest.approx(
      [1 / 9] * 6 + [1 / 24] * 6 + [1 / 72] * 6)


def test_random_bot_renormalises_where_fewer_claims_are_legal():
  state = helpers.start("dudo_single_round(players=2,numdice=1)", "1", "2",
                        "1x4", "Pass")
  chances = bots.RandomBot(1, _rng()).distribution(state)
  weights = np.array([1 / 9] * 6 + [1 / 24] * 2)
  assert list(chances.values()) == pytest.approx(list(weights / weights.sum()))


def test_random_bot_challenges_one_time_in_sixteen():
  state = helpers.start("dudo_single_round", *["12345"] * 4, "1x2")
  bot = bots.RandomBot(1, _rng())
  assert bot.distribution(state) == {120: 15 / 16, 121: 1 / 16}
  state = helpers.start("dudo", "12345", "12345", "3x6")
  chances = bots.RandomBot(1, _rng()).distribution(state)
  assert chances[60] == 1 / 16
  assert sum(chances.values()) == pytest.approx(1.0)
  assert chances[16] == pytest.approx(15 / 16 / 9)
  assert chances[16 + 18] == 0.0


def test_heuristic_bot_weighs_claims_by_their_odds():
  state = helpers.start("dudo_single_round(players=3,numdice=2)", "12", "22",
                        "34")
  chances = bots.HeuristicBot(0, _rng()).distribution(state)
  # It has a one and a two: 1x1 is sure, 1x3 needs one of four dice.
  assert chances[0] == chances[1]
  assert chances[2] / chances[0] == pytest.approx(1 - (5 / 6)**4)
  assert sum(chances.values()) == pytest.approx(1.0)


def test_heuristic_bot_challenges_only_as_the_next_claimer():
  state = helpers.start("dudo_single_round(players=3,numdice=2)", "12", "22",
                        "34", "2x5")
  holds = odds.claim_odds(2, 5, b"\2\2", 6, 6, wild_ones=False)
  assert bots.HeuristicBot(1, _rng()).distribution(state) == pytest.approx(
      {36: holds, 37: 1 - holds})
  helpers.do(state, "Pass")
  assert bots.HeuristicBot(2, _rng()).distribution(state) == {36: 1.0, 37: 0.0}


def test_heuristic_bot_in_dudo():
  state = helpers.start("dudo(numdice=2)", "12", "35", "3x6")
  holds = odds.claim_odds(3, 6, b"\3\5", 4, 6)
  assert holds == 0.0
  assert bots.HeuristicBot(1, _rng()).distribution(state)[24] == 1.0
  state = helpers.start("dudo(numdice=2)", "12", "35", "2x5")
  holds = odds.claim_odds(2, 5, b"\3\5", 4, 6)
  chances = bots.HeuristicBot(1, _rng()).distribution(state)
  assert chances[24] == pytest.approx(1 - holds)
  assert sum(chances.values()) == pytest.approx(1.0)


def _moves(bot, state):
  """Returns the moves that a bot may make, as text."""
  return [state.action_to_string(action)
          for action, probability in bot.get_policy(state) if probability > 0.0]


def test_odds_bot_challenges_below_its_threshold():
  # One of two unknown dice must show a one or a five: odds of 5/9.
  state = helpers.start("dudo(numdice=2)", "12", "35", "2x5")
  assert odds.claim_odds(2, 5, b"\3\5", 4, 6) == pytest.approx(5 / 9)
  assert _moves(bots.OddsBot(1, None), state) != ["Dudo"]
  assert _moves(bots.OddsBot(1, None, threshold=0.5), state) != ["Dudo"]
  assert _moves(bots.OddsBot(1, None, threshold=0.6), state) == ["Dudo"]
  # Two of two: odds of 1/9, below 40%.
  state = helpers.start("dudo(numdice=2)", "12", "36", "2x5")
  assert _moves(bots.OddsBot(1, None), state) == ["Dudo"]
  assert _moves(bots.OddsBot(1, None, threshold=0.0), state) != ["Dudo"]


def test_odds_bot_challenges_in_any_seat():
  state = helpers.start("dudo_single_round(players=3,numdice=2)", "12", "22",
                        "34", "3x5")
  assert _moves(bots.OddsBot(1, None), state) == ["Challenge"]
  helpers.do(state, "Pass")
  assert _moves(bots.OddsBot(2, None), state) == ["Challenge"]
  state = helpers.start("dudo_single_round(players=3,numdice=2)", "12", "22",
                        "34", "1x5")
  assert _moves(bots.OddsBot(1, None), state) == ["Pass"]


def test_odds_bot_makes_the_strongest_of_the_likeliest_claims():
  state = helpers.start("dudo_single_round(players=3,numdice=2)", "12", "22",
                        "34")
  # 1x1 and 1x2 are sure: it has them.
  assert _moves(bots.OddsBot(0, None), state) == ["1x2"]
  state = helpers.start("dudo(numdice=2)", "12", "35", "1x6")
  # Of claims of two dice one must be of the other's, for 2x5 and 2x3 alike.
  assert _moves(bots.OddsBot(1, None, threshold=0.0), state) == ["2x5"]
  state = helpers.start("dudo(numdice=2)", "22", "35")
  assert _moves(bots.OddsBot(0, None), state) == ["2x2"]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, "low"])
def test_odds_bot_refuses_thresholds_that_are_no_odds(threshold):
  with pytest.raises(ValueError, match="^threshold="):
    bots.OddsBot(0, None, threshold)


@pytest.mark.parametrize("bot", [bots.RandomBot, bots.HeuristicBot,
                                 bots.OddsBot])
def test_bots_make_the_only_move(bot):
  state = helpers.start("dudo(numdice=1)", "2", "2", "2x1")
  assert bot(1, _rng()).distribution(state) == {12: 1.0}
  state = helpers.start("dudo_single_round(players=2,numdice=1)", "2", "2",
                        "2x6")
  assert bot(1, _rng()).distribution(state) == {13: 1.0}


@pytest.mark.parametrize("bot", [bots.RandomBot, bots.HeuristicBot,
                                 bots.OddsBot])
def test_bots_have_nothing_to_do_when_it_is_not_their_turn(bot):
  for names in [("2",), ("2", "2"), ("2", "2", "2x6", "Challenge")]:
    state = helpers.start("dudo_single_round(players=2,numdice=1)", *names)
    assert bot(1, _rng()).distribution(state) == {}
    assert bot(1, _rng()).step(state) == pyspiel.INVALID_ACTION


def test_heuristic_bot_takes_any_claim_where_none_can_hold():
  state = helpers.start(
      "dudo_single_round(players=2,numdice=2,claim_window=24)", "22", "34",
      "4x1", "Pass")
  assert bots.HeuristicBot(1, _rng()).distribution(state) == pytest.approx(
      dict.fromkeys(range(19, 24), 1 / 5))


@pytest.mark.parametrize("game", _GAMES)
def test_all_bots_play_their_games(game):
  game = pyspiel.load_game(game)
  rng = _rng()
  for name in bots.bot_names(game):
    players = [bots.make_bot(name, game, p, rng)
               for p in range(game.num_players())]
    for _ in range(3):
      returns = evaluate_bots.evaluate_bots(game.new_initial_state(), players,
                                            rng)
      assert sum(returns) == pytest.approx(game.utility_sum())


def test_pyspiels_own_evaluation_accepts_them():
  game = pyspiel.load_game("dudo(numdice=2)")
  players = [bots.HeuristicBot(0, _rng()), bots.RandomBot(1, _rng())]
  returns = pyspiel.evaluate_bots(game.new_initial_state(), players, 3)
  assert sorted(returns) == [-1.0, 1.0]


@pytest.mark.parametrize("game", ["dudo(numdice=1,dice_sides=3)",
                                  "neumann_poker", "liar_die(sides=3)"])
def test_policy_bot_plays_python_and_cpp_policies(game):
  game = pyspiel.load_game(game)
  first = policy_lib.FirstActionPolicy(game)
  python_bot = bots.PolicyBot(0, _rng(), first)
  cpp_bot = bots.PolicyBot(1, _rng(), pyspiel.UniformRandomPolicy(game))
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(0)
  # OpenSpiel's own PolicyBot fails if action 0 is the only one.
  policy, action = python_bot.step_with_policy(state)
  assert action == state.legal_actions()[0]
  assert dict(policy)[action] == 1.0
  returns = evaluate_bots.evaluate_bots(game.new_initial_state(),
                                        [python_bot, cpp_bot], _rng())
  assert sum(returns) == pytest.approx(0.0)


def test_steps_follow_the_distribution_and_the_seed():
  state = helpers.start("dudo", "12345", "12345", "3x6")

  def sample(seed):
    bot = bots.HeuristicBot(1, np.random.RandomState(seed))
    return [bot.step(state) for _ in range(2000)]

  steps = sample(5)
  assert steps == sample(5)
  assert steps != sample(6)
  chances = bots.HeuristicBot(1, _rng()).distribution(state)
  assert steps.count(60) / 2000 == pytest.approx(chances[60], abs=0.04)


def test_heuristic_beats_random_at_dudo():
  game = pyspiel.load_game("dudo(numdice=2)")
  rng = _rng()
  total = 0.0
  for match in range(300):
    seat = match % 2
    players = [bots.RandomBot(p, rng) for p in range(2)]
    players[seat] = bots.HeuristicBot(seat, rng)
    total += evaluate_bots.evaluate_bots(game.new_initial_state(), players,
                                         rng)[seat]
  assert total / 300 > 0.2


def test_open_spiels_console_accepts_them(capsys):
  game = pyspiel.load_game("dudo(numdice=1)")
  np.random.seed(0)
  play_via_console_example.play_game(
      game.new_initial_state(),
      [bots.HeuristicBot(0, _rng()), bots.RandomBot(1, _rng())])
  assert "Returns: [" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["odds", "heuristic", "random", "clever"])
def test_bots_refuse_games_they_do_not_fit(name):
  game = pyspiel.load_game("neumann_poker")
  message = f"name={name!r}: must be a bot that plays neumann_poker: uniform"
  with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
    bots.make_bot(name, game, 0, _rng())
  with pytest.raises(ValueError, match="^player_id=-1: must be an integer"):
    bots.make_bot("uniform", game, -1, _rng())
  state = helpers.start("neumann_poker", "1", "2")
  with pytest.raises(ValueError, match="RandomBot plays only dudo"):
    bots.RandomBot(0, _rng()).step(state)
