import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policy_bots


def test_names():
  game = pyspiel.load_game("dudo(numdice=3)")
  assert policy_bots.bot_names(game) == ["trained", *bots.bot_names(game)]
  for name in ("dudo", "dudo(numdice=3,wild_ones=False)", "kuhn_poker"):
    game = pyspiel.load_game(name)
    assert policy_bots.bot_names(game) == bots.bot_names(game)


@pytest.mark.parametrize("start", ["1v1", "2v3", "3v3"])
def test_the_trained_bot_beats_the_others(start):
  game = pyspiel.load_game("dudo", {"start_dice": start})
  rng = np.random.RandomState(1)
  for name in ("heuristic", "random"):
    total = 0.0
    for number in range(200):
      seat = number % 2
      players = [policy_bots.make_bot("trained" if p == seat else name, game, p,
                                      rng) for p in range(2)]
      returns = evaluate_bots.evaluate_bots(game.new_initial_state(), players,
                                            rng)
      # With unequal dice the seats differ, so the bot takes both equally often.
      total += returns[seat]
    assert total > 0


def test_a_table_policy_from_a_file(tmp_path):
  game = pyspiel.load_game("kuhn_poker")
  solver = cfr.CFRSolver(game)
  solver.run(10)
  path = str(tmp_path / "policy.npz")
  solver.average_policy().save(path)
  bot = policy_bots.make_bot(path, game, 0, np.random.RandomState(1))
  state = game.new_initial_state()
  state.apply_action(0)
  state.apply_action(1)
  assert dict(bot.get_policy(state)) == pytest.approx(
      solver.average_policy().action_probabilities(state))
  with pytest.raises(ValueError, match="is not one of kuhn_poker"):
    policy_bots.make_bot(path, pyspiel.load_game("leduc_poker"), 0, None)


def test_bad_arguments():
  with pytest.raises(ValueError, match="^name='x': must be a policy file, or "
                     "a bot that plays dudo: heuristic, random, uniform$"):
    policy_bots.make_bot("x", pyspiel.load_game("dudo"), 0, None)
  with pytest.raises(ValueError, match="starts with 5 and 5 dice"):
    policy_bots.make_bot("trained", pyspiel.load_game("dudo"), 0, None)
  with pytest.raises(ValueError, match="^player_id=2: must be an integer"):
    policy_bots.make_bot("trained", pyspiel.load_game("dudo(numdice=2)"), 2,
                         None)


def test_a_replaced_file_is_read_anew(tmp_path):
  game = pyspiel.load_game("kuhn_poker")
  solver = cfr.CFRSolver(game)
  path = str(tmp_path / "policy.npz")
  state = game.new_initial_state()
  state.apply_action(0)
  state.apply_action(1)
  for _ in range(2):
    solver.run(10)
    solver.average_policy().save(path)
    bot = policy_bots.make_bot(path, game, 0, np.random.RandomState(1))
    assert dict(bot.get_policy(state)) == pytest.approx(
        solver.average_policy().action_probabilities(state))
