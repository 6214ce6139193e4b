import pathlib

import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.games import liar_die


def test_names():
  game = pyspiel.load_game("dudo(numdice=3)")
  assert policy_bots.bot_names(game) == ["trained", "recall3",
                                         *bots.bot_names(game)]
  for name in ("dudo(numdice=6)", "dudo(numdice=3,wild_ones=False)",
               "tic_tac_toe", "kuhn_poker(players=3)", "liar_die_ir",
               "liar_die(sides=20)", "goofspiel"):
    game = pyspiel.load_game(name)
    assert policy_bots.bot_names(game) == bots.bot_names(game)


def test_the_trained_bot_has_perfect_recall_and_knows_how_good_it_is():
  game = pyspiel.load_game("dudo(numdice=2)")
  policy = policy_bots.load_policy("trained", game)
  assert isinstance(policy, policies.RecallPolicy)
  gap = policy_bots.exploitability("trained", game)
  assert 0.0 < gap < 1e-2
  assert policy_bots.describe("trained", game) == (
      "trained: remembers all claims; nobody who plays both seats equally "
      f"often can win more than {round(50 + 50 * gap, 2):g}% against it.")
  assert " 57.51% " in policy_bots.describe("trained",
                                            pyspiel.load_game("dudo"))
  assert policy_bots.describe("recall3", game) == (
      "recall3: remembers the last 3 claims; how much one can win against it "
      "is not in its file.")


@pytest.mark.parametrize("name", bots.bot_names(pyspiel.load_game("dudo")))
def test_what_bots_do_is_said(name):
  game = pyspiel.load_game("dudo(numdice=2)")
  assert policy_bots.describe(name, game) == f"{name}: {bots.describe(name)}."


def test_matches_up_to_five_dice_have_a_trained_policy():
  gaps = []
  for dice in range(1, 6):
    game = pyspiel.load_game("dudo", {"numdice": dice})
    assert isinstance(policy_bots.load_policy("trained", game),
                      policies.RecallPolicy)
    gaps.append(policy_bots.exploitability("trained", game))
  assert gaps == sorted(gaps) and gaps[-1] < 0.2
  for start in ("5v1", "1v4", "5v4"):
    game = pyspiel.load_game("dudo", {"start_dice": start})
    assert policy_bots.exploitability("trained", game) < 0.2


def test_the_policies_of_the_package_are_small():
  folder = pathlib.Path(bots.__file__).parent / "data"
  assert 0 < sum(path.stat().st_size for path in folder.iterdir()) < 20e6


def test_files_of_others_are_not_taken_for_the_truth(tmp_path):
  game = pyspiel.load_game("dudo(numdice=1)")
  policy = policy_bots.load_policy("trained", game)
  path = str(tmp_path / "policy.npz")
  policies.RecallPolicy(game, {(1, 1): policy.round_tables((1, 1))}, {
      (1, 1): policy.measures[1, 1]._replace(low=0.0, value=0.0, high=0.0)
  }).save(path)
  assert policy_bots.describe(path, game) == (
      f"{path}: remembers all claims; its file says that nobody who plays both "
      "seats equally often can win more than 50% against it.")


def test_trained_bots_remember_what_players_do():
  for recall_length, dice, expected in (
      (3, 2, ["trained", "recall3"]), (5, 3, ["trained", "recall3"]),
      (2, 2, []), (3, 4, []), (12, 1, ["trained", "recall3"])):
    game = pyspiel.load_game("dudo_ir", {"numdice": dice,
                                         "recall_length": recall_length})
    assert policy_bots.bot_names(game) == [*expected, *bots.bot_names(game)]
    if expected:
      policy = policy_bots.load_policy("trained", game)
      assert isinstance(policy, policies.RecallPolicy) == (recall_length == 12)
    else:
      with pytest.raises(ValueError, match="^game=.*no policy .* by the last "
                         f"{recall_length} claims"):
        policy_bots.load_policy("trained", game)


@pytest.mark.parametrize("start, max_gap", [("1v1", 1e-3), ("2v1", 1e-2)])
def test_what_the_file_says_of_the_policy_is_true(start, max_gap):
  game = pyspiel.load_game("dudo", {"start_dice": start})
  policy = policy_bots.load_policy("trained", game)
  part = policies.RecallPolicy(game, {
      key: policy.round_tables(key) for key in policy.rounds
      if sum(key) <= sum(game.start_dice)})
  found = part.measure(1)
  for key, measures in found.items():
    assert measures == pytest.approx(policy.measures[key], abs=1e-9)
  assert found[policy.first_round(game)].exploitability < max_gap


@pytest.mark.slow
def test_what_the_file_says_of_two_dice_is_true():
  game = pyspiel.load_game("dudo(numdice=2)")
  policy = policy_bots.load_policy("trained", game)
  part = policies.RecallPolicy(game, {
      key: policy.round_tables(key) for key in ((1, 1), (2, 1), (2, 2))})
  assert part.exploitability(1) == pytest.approx(
      policy_bots.exploitability("trained", game), abs=1e-9)


@pytest.mark.parametrize("name, words", [
    ("neumann_poker(num_ranks=13)", " a game against it."),
    ("liar_die(sides=3)", "more than 50% against it."),
    ("kuhn_poker", " a game against it."),
    ("leduc_poker", " a game against it."),
    ("dark_chess_small", "more than 50% against it."),
    ("turn_based_simultaneous_game(game=matrix_rps())",
     "more than 50% against it.")])
def test_small_games_are_solved(name, words):
  game = pyspiel.load_game(name)
  assert policy_bots.bot_names(game) == ["trained", *bots.bot_names(game)]
  assert policy_bots.exploitability("trained", game) <= 1e-6
  bot = policy_bots.make_bot("trained", game, 0, np.random.RandomState(1))
  other = policy_bots.make_bot("uniform", game, 1, np.random.RandomState(2))
  evaluate_bots.evaluate_bots(game.new_initial_state(), [bot, other],
                              np.random.RandomState(3))
  described = policy_bots.describe("trained", game)
  assert described.startswith("trained: was solved just now; nobody who plays ")
  assert described.endswith(words) and "e-" not in described.split(";")[1]


def test_games_that_their_names_do_not_load_are_not_solved():
  """All games made of a text have the same name, and so have subclasses."""

  class HouseRules(liar_die.LiarDieGame):
    """A game of somebody else."""

  for game in (pyspiel.load_efg_game(pyspiel.get_kuhn_poker_efg_data()),
               HouseRules({"sides": 3})):
    assert policy_bots.bot_names(game) == ["uniform"]


def test_an_interrupt_ends_the_solution_of_a_small_game(monkeypatch):
  game = pyspiel.load_game("liar_die(sides=4)")

  def interrupted(solver, *limits):  # as after Ctrl-C
    raise KeyboardInterrupt

  with monkeypatch.context() as patch:
    patch.setattr(cfr.PDCFRPlusSolver, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
      policy_bots.load_policy("trained", game)
  assert policy_bots.exploitability("trained", game) <= 1e-6


@pytest.mark.parametrize("start", [
    "1v1", "2v3", pytest.param("3v3", marks=pytest.mark.slow)])
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
                     "a bot that plays dudo: odds, heuristic, random, "
                     "uniform$"):
    policy_bots.make_bot("x", pyspiel.load_game("dudo(numdice=6)"), 0, None)
  for name in ("trained", "recall3"):
    with pytest.raises(ValueError, match=f"^name='{name}': must be a policy "):
      policy_bots.make_bot(name, pyspiel.load_game("dudo(numdice=6)"), 0, None)
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
