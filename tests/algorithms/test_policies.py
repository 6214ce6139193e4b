import functools
import subprocess
import sys

import helpers
import numpy as np
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability as open_spiel
import pyspiel
import pytest
import random_games

from dudo_spiel import bots
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.runtime import archives


@functools.cache
def _average(game):
  solver = cfr.CFRPlusSolver(pyspiel.load_game(game))
  solver.run(30)
  return solver.average_policy()


_GAMES = ("kuhn_poker", "leduc_poker", "kuhn_poker(players=3)",
          "liar_die(sides=3)", "dudo(numdice=1,dice_sides=2)")


@pytest.mark.parametrize("game", _GAMES)
def test_probabilities_on_states(game):
  policy = _average(game)
  for state in helpers.all_states(pyspiel.load_game(game)):
    if state.current_player() >= 0:
      probabilities = policy.action_probabilities(state)
      assert list(probabilities) == state.legal_actions()
      assert sum(probabilities.values()) == pytest.approx(1.0)
      assert probabilities == policy.action_probabilities(
          state, state.current_player())


@pytest.mark.parametrize("game", _GAMES)
def test_conversions_keep_all_probabilities(game):
  policy = _average(game)
  tabular, cpp = policy.to_tabular(), policy.to_pyspiel()
  assert isinstance(tabular, policy_lib.TabularPolicy)
  assert isinstance(cpp, pyspiel.TabularPolicy)
  expected = open_spiel.nash_conv(policy.game, policy)
  assert open_spiel.nash_conv(policy.game, tabular) == pytest.approx(expected)
  assert pyspiel.nash_conv(policy.game, cpp, True) == pytest.approx(expected)
  for state in helpers.all_states(policy.game):
    if state.current_player() >= 0:
      ours = policy.action_probabilities(state)
      assert tabular.action_probabilities(state) == pytest.approx(ours)
      assert dict(cpp.action_probabilities(state)) == pytest.approx(ours)


@pytest.mark.parametrize("game", [
    pytest.param(game, marks=[pytest.mark.slow] * ("poker" in game))
    for game in _GAMES])
def test_a_saved_policy_loads_in_another_process(game, tmp_path):
  policy = _average(game)
  path = tmp_path / "policy.npz"
  policy.save(path)
  loaded = policies.load_policy(path)
  assert loaded.distance(policy) == 0.0
  assert str(loaded.game) == str(policy.game)
  program = ("import sys, dudo_spiel; "
             "from dudo_spiel.algorithms import policies; "
             "p = policies.load_policy(sys.argv[1]); "
             "s = p.game.new_initial_state()\n"
             "while s.is_chance_node(): s.apply_action(s.legal_actions()[0])\n"
             "print(p.action_probabilities(s))")
  output = subprocess.run([sys.executable, "-c", program, path], check=True,
                          capture_output=True, text=True).stdout
  state = policy.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  assert output == f"{policy.action_probabilities(state)}\n"


def test_a_policy_plays_the_game_that_it_abstracts():
  abstract = _average("dudo_ir(numdice=1,dice_sides=2,recall_length=1)")
  state = helpers.start("dudo(numdice=1,dice_sides=2)", "1", "2", "1x2", "1x1")
  own = helpers.start("dudo_ir(numdice=1,dice_sides=2,recall_length=1)", "2",
                      "1", "1x1")
  # Player 0 holds a one and last heard 1x1; there the roles are other.
  assert abstract.action_probabilities(state).keys() == (
      abstract.action_probabilities(own).keys())
  assert abstract.action_probabilities(state) == abstract.at(
      0, "p0 roll:1 dice:1,1 claims:1x1")


def test_bots_play_policies():
  policy = _average("leduc_poker")
  bot = bots.PolicyBot(0, np.random.RandomState(0), policy)
  state = policy.game.new_initial_state()
  state.apply_action(0)
  state.apply_action(1)
  assert bot.distribution(state) == policy.action_probabilities(state)
  assert bot.step(state) in state.legal_actions()


def test_distance():
  kuhn = pyspiel.load_game("kuhn_poker")
  start = cfr.CFRSolver(kuhn).current_policy()
  assert start.distance(start) == 0.0
  other = policies.TablePolicy(kuhn, start.info_states, start.players,
                               start.actions, start.probabilities.copy())
  other.probabilities[:2] = [0.75, 0.25]
  assert start.distance(other) == pytest.approx(0.25)
  with pytest.raises(ValueError, match="other information states"):
    start.distance(_average("leduc_poker"))


def test_distance_to_policies_of_other_kinds():
  policy = _average("leduc_poker")
  assert policy.distance(policy.to_tabular()) == 0.0
  assert policy.distance(policy.to_pyspiel()) == 0.0


def test_distance_to_policies_that_need_states(tmp_path):
  game = pyspiel.load_game("kuhn_poker")
  solver = pyspiel.CFRSolver(game)
  for _ in range(5):
    solver.evaluate_and_update_policy()
  for theirs in (solver.average_policy(), policy_lib.UniformRandomPolicy(game)):
    policies.from_open_spiel(game, theirs).save(tmp_path / "policy.npz")
    assert policies.load_policy(tmp_path / "policy.npz").distance(theirs) == 0.0
  uniform = cfr.CFRSolver(game).current_policy()
  assert uniform.distance(solver.average_policy()) > 0.1
  # It has probabilities of what it plays only.
  assert uniform.distance(policy_lib.FirstActionPolicy(game)) == 0.5


def test_policies_of_games_made_from_data_need_the_game(tmp_path):
  game = random_games.random_game(4)
  policy = cfr.CFRSolver(game).current_policy()
  policy.save(tmp_path / "policy.npz")
  with pytest.raises(ValueError, match="cannot be loaded; pass the game"):
    policies.load_policy(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz", game)
  assert loaded.distance(policy) == 0.0
  with pytest.raises(ValueError, match="must be efg_game"):
    policies.load_policy(tmp_path / "policy.npz", pyspiel.load_game("dudo"))


def test_states_of_other_games_are_refused():
  state = pyspiel.load_game("leduc_poker").new_initial_state()
  for _ in range(2):
    state.apply_action(state.legal_actions()[0])
  with pytest.raises(ValueError, match="is not one of kuhn_poker"):
    _average("kuhn_poker").action_probabilities(state)


def test_unknown_information_states():
  with pytest.raises(ValueError, match="info_state='nonsense'"):
    _average("kuhn_poker").at(0, "nonsense")


def _pennies(payoff):
  """Returns matching pennies, which prints the same for any payoff."""
  return pyspiel.load_efg_game(f"""EFG 2 R "pennies" {{ "A" "B" }} ""
p "" 1 1 "" {{ "h" "t" }} 0
p "" 2 1 "" {{ "h" "t" }} 0
t "" 1 "" {{ {payoff} -{payoff} }}
t "" 2 "" {{ -1 1 }}
p "" 2 1 "" {{ "h" "t" }} 0
t "" 3 "" {{ -1 1 }}
t "" 4 "" {{ 1 -1 }}
""")


_WALKING_SOLVERS = (cfr.CFRSolver, fictitious_play.BDFPSolver,
                    fsicfr.FSICFRSolver, pfsi.FSISolver, pfsi.PFSISolver,
                    pass_through.PrunedPassThroughSolver,
                    pass_through.MonteCarloPassThroughSolver)


@pytest.mark.parametrize("make", _WALKING_SOLVERS,
                         ids=lambda make: make.__name__)
def test_another_game_that_prints_the_same_is_refused(make, tmp_path):
  first, second = make(_pennies(1)), make(_pennies(2))
  assert str(first.game) == str(second.game)
  first.save(tmp_path / "solver.npz")
  make(_pennies(1)).load(tmp_path / "solver.npz")
  with pytest.raises(ValueError, match="^path=.*fingerprint="):
    second.load(tmp_path / "solver.npz")
  path = tmp_path / "policy.npz"
  first.current_policy().save(path)
  for _ in range(2):
    loaded = policies.load_policy(path, _pennies(1))
    assert loaded.distance(first.current_policy()) == 0.0
    with pytest.raises(ValueError, match="^path=.*is a policy for another "
                       "game that also prints as efg_game"):
      policies.load_policy(path, _pennies(2))
    loaded.save(path)  # which keeps the fingerprint


def test_policies_without_a_fingerprint_are_taken(tmp_path):
  game = _pennies(1)
  made = cfr.CFRSolver(game).current_policy()
  policy = policies.TablePolicy(game, made.info_states, made.players,
                                made.actions, made.probabilities)
  policy.save(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz", game)
  assert loaded.distance(made) == 0.0


def _renamed(folder, policy, **changes):
  """Returns the path of a policy's file with other fields in its header."""
  path = folder / "policy.npz"
  policy.save(path)
  header, arrays = helpers.load_file(path, "policy")
  for name in ("format", "version", "kind"):
    del header[name]
  archives.save(path, "policy", {**header, **changes}, arrays)
  return path


@pytest.mark.parametrize("name", [
    "universal_poker(numRanks=1000000)", "blotto(coins=100,fields=12)",
    "deep_sea(size=1000000000)", "kuhn_poker(name=deep_sea)", "liars_dice(x=3)",
    "goofspiel(num_cards=1000000)", "leduc_poker(starting_player=7)",
    "turn_based_simultaneous_game(game=blotto(coins=100,fields=12))",
    "turn_based_simultaneous_game(game=universal_poker())", "", "kuhn_poker(",
    f"kuhn_poker({'a=b(' * 9999}"])
def test_a_file_cannot_have_any_game_made(name, tmp_path, monkeypatch):
  path = _renamed(tmp_path, _average("kuhn_poker"), game=name)

  def load_game(*args):
    raise AssertionError(args)

  monkeypatch.setattr(pyspiel, "load_game", load_game)
  with pytest.raises(ValueError, match="^path=.*cannot be loaded; pass the g"):
    policies.load_policy(path)


def test_a_file_cannot_have_large_games_of_this_package_made(tmp_path):
  for name in ("dudo(numdice=20)", "dudo(start_dice=20;20)", "liar_die(x=3)",
               "dudo_single_round(numdice=20)", "neumann_poker(num_ranks=3.5)"):
    path = _renamed(tmp_path, _average("kuhn_poker"), game=name)
    with pytest.raises(ValueError, match="cannot be loaded; pass the game"):
      policies.load_policy(path)


@pytest.mark.parametrize("name", [
    "kuhn_poker(players=3)", "leduc_poker", "tic_tac_toe", "liar_die(sides=3)",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,"
    "points_order=descending))"])
def test_small_games_are_made_from_their_names(name, tmp_path):
  policy = cfr.CFRSolver(pyspiel.load_game(name)).current_policy()
  policy.save(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz")
  assert str(loaded.game) == str(policy.game)
  assert loaded.distance(policy) == 0.0


@pytest.mark.parametrize("name, other", [
    ("leduc_poker", "kuhn_poker"), ("kuhn_poker", "leduc_poker"),
    ("kuhn_poker", "dark_chess_small"), ("kuhn_poker", "matrix_rps")])
def test_policies_with_the_name_of_another_game_are_refused(name, other,
                                                            tmp_path):
  path = _renamed(tmp_path, _average(name),
                  game=str(pyspiel.load_game(other)))
  with pytest.raises(ValueError, match="^path=.*must be"):
    policies.load_policy(path)


def test_policies_with_other_information_states_are_refused(tmp_path):
  policy = _average("kuhn_poker")
  info_states = ["nonsense", *policy.info_states[1:]]
  path = _renamed(tmp_path, policy, info_states=info_states)
  with pytest.raises(ValueError, match="^path=.*has no 'nonsense'"):
    policies.load_policy(path)
  actions = [[1, 2], *policy.actions[1:]]
  path = _renamed(tmp_path, _average("leduc_poker"), actions=[
      list(reversed(legal)) for legal in _average("leduc_poker").actions])
  policies.load_policy(path)  # any order
  path = _renamed(tmp_path, policy, game="leduc_poker()", actions=actions)
  with pytest.raises(ValueError, match="^path=.*must be"):
    policies.load_policy(path)
  part = policies.TablePolicy(policy.game, policy.info_states[1:],
                              policy.players[1:], policy.actions[1:],
                              policy.probabilities[2:])
  part.save(path)
  with pytest.raises(ValueError, match="^path=.*but lack '.*' of player"):
    policies.load_policy(path)


def test_what_a_policy_plays_must_have_its_abstraction(tmp_path):
  path = _renamed(tmp_path, _average("kuhn_poker"), plays="tic_tac_toe()")
  with pytest.raises(ValueError, match="^path="):
    policies.load_policy(path)
  path = _renamed(tmp_path, _average("liars_dice_ir(dice_sides=2)"),
                  plays="liars_dice(dice_sides=2)")
  assert str(policies.load_policy(path).game) == "liars_dice(dice_sides=2)"
  path = _renamed(tmp_path, _average("kuhn_poker"), plays="matrix_mp()")
  with pytest.raises(ValueError, match="(?s)^path=.*not one of kuhn_poker"):
    policies.load_policy(path)


@pytest.mark.parametrize("name", ["dudo(numdice=1,dice_sides=2)",
                                  "dudo_single_round(players=2,dice_sides=2)"])
def test_bots_by_game_and_name_in_either_order(name):
  game = pyspiel.load_game(name)
  assert simulation.bot_policy is policies.bot_policy
  expected = policies.bot_policy(game, "heuristic")
  with pytest.warns(DeprecationWarning, match="pass the game first"):
    found = policies.bot_policy("heuristic", game)
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  assert found.action_probabilities(state) == (
      expected.action_probabilities(state))


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "leduc_poker",
                                  "liar_die_ir(sides=3)"])
def test_openspiel_and_back(name, tmp_path):
  game = pyspiel.load_game(name)
  solver = cfr.CFRPlusSolver(game, initial="random", seed=2)
  solver.run(3)
  ours = solver.average_policy()
  for theirs in (ours, ours.to_tabular(), ours.to_pyspiel(),
                 [ours.to_tabular()] * game.num_players()):
    again = policies.from_open_spiel(game, theirs)
    assert isinstance(again, policies.TablePolicy)
    assert again.distance(ours) == 0.0
    np.testing.assert_array_equal(again.to_tabular().action_probability_array,
                                  ours.to_tabular().action_probability_array)
    again.save(tmp_path / "policy.npz")
    loaded = policies.load_policy(tmp_path / "policy.npz", game)
    assert loaded.distance(ours) == 0.0


def test_policies_of_openspiels_solvers():
  game = pyspiel.load_game("leduc_poker")
  solver = pyspiel.CFRPlusSolver(game)
  for _ in range(5):
    solver.evaluate_and_update_policy()
  theirs = solver.average_policy()
  ours = policies.from_open_spiel(game, theirs)
  assert open_spiel.nash_conv(game, ours) == pytest.approx(
      pyspiel.nash_conv(game, theirs), rel=1e-9)
  seats = [theirs, policy_lib.UniformRandomPolicy(game)]
  mixed = policies.from_open_spiel(game, seats)
  for state in helpers.all_states(game):
    if not state.is_chance_node() and not state.is_terminal():
      expected = dict(seats[state.current_player()].action_probabilities(state))
      assert mixed.action_probabilities(state) == pytest.approx(expected)


@pytest.mark.parametrize("name, policy, message", [
    ("kuhn_poker", "uniform", "policy='uniform': must be an OpenSpiel policy"),
    ("kuhn_poker", pyspiel.TabularPolicy({"0": [(0, 0.5), (1, 0.4)]}),
     "policy=.*: "),
    ("kuhn_poker", [], r"policy=\[\]: has 0 policies; must have 2"),
    ("matrix_rps", pyspiel.TabularPolicy({}), "game=matrix_rps")])
def test_what_is_no_policy_for_the_game_is_refused(name, policy, message):
  with pytest.raises(ValueError, match=f"^{message}"):
    policies.from_open_spiel(pyspiel.load_game(name), policy)
