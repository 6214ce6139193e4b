"""OpenSpiel's own tests, tools and algorithms work with the games."""

import itertools
import pickle
import subprocess
import sys

import helpers
import numpy as np
from open_spiel.integration_tests import api_test
from open_spiel.python import policy as policy_lib
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.algorithms import exploitability
from open_spiel.python.algorithms import external_sampling_mccfr
from open_spiel.python.algorithms import generate_playthrough
from open_spiel.python.algorithms import ismcts
from open_spiel.python.algorithms import mcts
import pyspiel
import pytest

import dudo_spiel  # noqa: F401

_NAMES = ("dudo", "dudo_ir", "dudo_single_round", "dudo_single_round_ir",
          "neumann_poker", "liar_die", "liar_die_ir", "dark_chess_small")

# Game string: (chance nodes, decision nodes, terminals), information states.
_FULL_TREES = {
    # One round: a node for each pair of a deal and a set of claims.
    "dudo(numdice=1,dice_sides=3)": ((4, 9 * 64, 9 * 63), 3 * 64),
    "dudo(start_dice=2v1,dice_sides=2)": ((391, 8640, 7989), 4288),
    "dudo_ir(start_dice=2v1,dice_sides=2,recall_length=1)": (
        (391, 8640, 7989), 46),
    # Each of the 8 deals has 32 nodes in which to claim. The two others decide
    # on the last claim: 1 + 2 nodes after the 31 sequences whose last claim may
    # be passed, 1 + 1 nodes after the 32 whose last claim may not.
    "dudo_single_round(players=3,numdice=1,dice_sides=2)": (
        (7, 8 * (32 + 3 * 31 + 2 * 32), 8 * (3 * 31 + 32)), 316),
    "dudo_single_round_ir(players=3,numdice=1,dice_sides=2)": (
        (7, 8 * (32 + 3 * 31 + 2 * 32), 8 * (3 * 31 + 32)), 234),
    "neumann_poker(num_ranks=3)": ((4, 9 * 6, 9 * 9), 3 * 6),
    "liar_die(sides=3)": ((16, 111, 63), 33),
    "liar_die_ir(sides=4)": ((125, 1124, 624), 37),
    "dark_chess_small(moves_per_player=2)": ((0, 226, 1116), 128),
}

_SMALL = ("dudo(numdice=1,dice_sides=2)", "dudo_ir(numdice=1,dice_sides=2)",
          "dudo_single_round(players=2,numdice=1,dice_sides=2)",
          "dudo_single_round_ir(players=2,numdice=1,dice_sides=2)",
          "neumann_poker(num_ranks=3)", "liar_die(sides=3)",
          "liar_die_ir(sides=3)",
          "dark_chess_small(fen=k2/3/2K,moves_per_player=2)")

_MANY = _SMALL + _NAMES + (
    "dudo(players=3,start_dice=5v5v1,starting_player=2)",
    "dudo(players=6,numdice=2,dice_sides=12)",
    "dudo(wild_ones=False,die_loss=one,exact_reward=False)",
    "dudo_ir(players=4,numdice=2,recall_length=100)",
    "dudo_single_round(players=6,numdice=2,dice_sides=3)",
    "dudo_single_round_ir(abstraction=no_recall)",
    "dudo_single_round_ir(abstraction=type_recall,recall_length=0)",
    "neumann_poker(num_bets=5,ante=0.1)",
    "neumann_poker(asymmetric=True)",
    "liar_die(sides=20)",
    "dark_chess_small(fen=r1kr/pppp/PPPP/R1KR b,moves_per_player=50)",
    "dark_chess_small(fen=rnbqk2/ppppppp/7/PPPPPPP/2KQBNR)",
)


def _full_tree_class(game_string):
  game = pyspiel.load_game(game_string)
  nodes, info_states = _FULL_TREES[game_string]
  api_test.TOTAL_NUM_STATES[game_string] = nodes
  api_test.PERFECT_RECALL_NUM_STATES[game_string] = info_states

  def has_imperfect_recall(self):
    with self.assertRaises((AssertionError, ValueError)):
      api_test._assert_is_perfect_recall(game)

  def number_of_information_states(self):
    found = {state.information_state_string() for state in self.all_states
             if state.current_player() >= 0}
    self.assertLen(found, info_states)

  body = {"game": game, "game_name": game_string}
  if "_ir(" in game_string:
    body["test_game_is_perfect_recall"] = has_imperfect_recall
    body["test_number_of_information_states"] = number_of_information_states
  tests = type(f"FullTree[{game_string}]",
               (api_test.EnforceAPIOnFullTreeBase,), body)
  return pytest.mark.slow(tests) if sum(nodes) > 10_000 else tests


def _partial_tree_class(name):
  return type(f"PartialTree[{name}]", (api_test.EnforceAPIOnPartialTreeBase,),
              {"game": pyspiel.load_game(name), "game_name": name})


# pytest collects the classes by their names in this module.
for _game in _FULL_TREES:
  globals()[f"TestFullTree_{_game}"] = _full_tree_class(_game)
for _game in _NAMES:
  globals()[f"TestPartialTree_{_game}"] = _partial_tree_class(_game)


def test_games_are_registered():
  assert set(_NAMES) <= set(pyspiel.registered_names())


@pytest.mark.parametrize("game, text", [
    ("liar_die", "liar_die(sides=6)"), ("liar_die_ir", "liar_die_ir(sides=6)"),
    ("neumann_poker", "neumann_poker(ante=0.5,asymmetric=False,bet=1.0,"
     "num_bets=2,num_ranks=10,raise_size=1.0)"),
    ("dark_chess_small",
     "dark_chess_small(fen=k3/3R/2K1 w,moves_per_player=3)")])
def test_games_for_two_take_players_and_print_as_before(game, text):
  assert str(pyspiel.load_game(game)) == text
  assert str(pyspiel.load_game(game, {"players": 2})) == text
  assert str(rl_environment.Environment(game, players=2).game) == text
  with pytest.raises(ValueError, match="players=3: must be 2"):
    pyspiel.load_game(f"{game}(players=3)")


@pytest.mark.parametrize("game", _MANY)
def test_random_simulation(game):
  pyspiel.random_sim_test(pyspiel.load_game(game), num_sims=5, serialize=True,
                          verbose=False)


@pytest.mark.parametrize("game", _MANY)
def test_bounds_hold_and_parameters_come_back(game):
  game = pyspiel.load_game(game)
  assert str(pyspiel.load_game(str(game))) == str(game)
  rng = np.random.RandomState(0)
  for _ in range(20):
    state = game.new_initial_state()
    chance_nodes = 0
    while not state.is_terminal():
      actions = state.legal_actions()
      if state.is_chance_node():
        chance_nodes += 1
        assert len(actions) <= game.max_chance_outcomes()
      else:
        assert max(actions) < game.num_distinct_actions()
      state.apply_action(rng.choice(actions))
    assert chance_nodes <= game.max_chance_nodes_in_history()
    assert len(state.history()) - chance_nodes <= game.max_game_length()
    assert all(game.min_utility() <= x <= game.max_utility()
               for x in state.returns())
    assert sum(state.returns()) == pytest.approx(game.utility_sum())


@pytest.mark.parametrize("game", [
    "dudo(numdice=1,dice_sides=2)", "dudo(start_dice=2v1,dice_sides=2)",
    "dudo(players=3,numdice=1,dice_sides=2)",
    "dudo(start_dice=2v1,dice_sides=2,wild_ones=False,exact_reward=False)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2,max_amount=1)",
    "neumann_poker(num_ranks=2,num_bets=3)", "liar_die(sides=3)",
    "neumann_poker(num_ranks=2,asymmetric=True)",
    "dark_chess_small(fen=k2/3/2K,moves_per_player=2)"])
def test_bounds_are_reached(game):
  game = pyspiel.load_game(game)
  longest = max_chance = 0
  utilities = set()
  for state in helpers.all_states(game):
    if state.is_terminal():
      chance = sum(item.player < 0 for item in state.full_history())
      max_chance = max(max_chance, chance)
      longest = max(longest, len(state.history()) - chance)
      utilities.update(state.returns())
  assert longest == game.max_game_length()
  assert max_chance == game.max_chance_nodes_in_history()
  assert min(utilities) == pytest.approx(game.min_utility())
  assert max(utilities) == pytest.approx(game.max_utility())


def test_pickles_load_in_a_second_process(tmp_path):
  states = []
  for number, name in enumerate(_NAMES):
    state = pyspiel.load_game(name).new_initial_state()
    for _ in range(5):
      if not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    assert str(pickle.loads(pickle.dumps(state))) == str(state)
    path = tmp_path / f"{number}.pickle"
    path.write_bytes(pickle.dumps((state.get_game(), state)))
    states.append(state)
  # The second process does not import dudo_spiel: the pickles have to.
  program = ("import pathlib, pickle, sys\n"
             "for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
             "  game, state = pickle.loads(path.read_bytes())\n"
             "  print(game, state, state.history(), sep='\\n')")
  output = subprocess.run([sys.executable, "-c", program, tmp_path], check=True,
                          capture_output=True, text=True).stdout
  assert output == "".join(
      f"{state.get_game()}\n{state}\n{state.history()}\n" for state in states)


def test_clones_are_independent():
  state = helpers.start("dudo", "12345", "11111", "2x3")
  clone = state.clone()
  helpers.do(clone, "4x4", "Dudo")
  assert state.history() != clone.history()
  assert len(state.past_rounds()) == 0 and len(clone.past_rounds()) == 1
  helpers.do(state, "4x4", "Dudo")
  assert str(state) == str(clone)


@helpers.calls_playthrough
@pytest.mark.parametrize("game", _NAMES)
def test_playthrough(game):
  text = generate_playthrough.playthrough(game, action_sequence=None, seed=5)
  for word in ("InformationStateString", "ObservationTensor",
               "PublicObservationString", "PrivateObservationString"):
    assert word in text


@pytest.mark.parametrize("game", _NAMES)
def test_rl_environment(game):
  env = rl_environment.Environment(game)
  env.seed(7)
  rng = np.random.RandomState(7)
  for _ in range(3):
    time_step = env.reset()
    size = env.observation_spec()["info_state"][0]
    while not time_step.last():
      player = time_step.observations["current_player"]
      assert len(time_step.observations["info_state"][player]) == size
      actions = time_step.observations["legal_actions"][player]
      time_step = env.step([rng.choice(actions)])
    assert sum(time_step.rewards) == pytest.approx(env.game.utility_sum())


@pytest.mark.parametrize("game", _SMALL)
def test_cfr_solvers_agree_and_improve(game):
  game = pyspiel.load_game(game)
  uniform = exploitability.nash_conv(game, policy_lib.UniformRandomPolicy(game))
  python_solver = cfr.CFRSolver(game)
  cpp_solver = pyspiel.CFRSolver(game)
  for _ in range(30):
    python_solver.evaluate_and_update_policy()
    cpp_solver.evaluate_and_update_policy()
  ours = exploitability.nash_conv(game, python_solver.average_policy())
  assert ours < uniform / 3
  assert pyspiel.nash_conv(game, cpp_solver.average_policy(), True) == (
      pytest.approx(ours, abs=1e-9))


@pytest.mark.parametrize("game", [
    game if "_ir" in game else pytest.param(game, marks=pytest.mark.slow)
    for game in _SMALL])
def test_mccfr_runs(game):
  game = pyspiel.load_game(game)
  np.random.seed(1)
  solver = external_sampling_mccfr.ExternalSamplingSolver(game)
  start = exploitability.nash_conv(game, policy_lib.UniformRandomPolicy(game))
  for _ in range(500):
    solver.iteration()
  assert exploitability.nash_conv(game, solver.average_policy()) < start / 2
  cpp_solver = pyspiel.ExternalSamplingMCCFRSolver(game)
  for _ in range(500):
    cpp_solver.run_iteration()
  assert pyspiel.nash_conv(game, cpp_solver.average_policy(), True) < start / 2


@pytest.mark.parametrize("game", ["dudo(numdice=1)", "dudo_single_round",
                                  "neumann_poker", "liar_die",
                                  "dark_chess_small"])
def test_ismcts_plays(game):
  game = pyspiel.load_game(game)
  rng = np.random.RandomState(3)
  bot = ismcts.ISMCTSBot(
      game=game, uct_c=4.0, max_simulations=20, random_state=rng,
      evaluator=mcts.RandomRolloutEvaluator(n_rollouts=1, random_state=rng))
  state = game.new_initial_state()
  while not state.is_terminal():
    if state.is_chance_node():
      actions, probabilities = zip(*state.chance_outcomes())
      state.apply_action(rng.choice(actions, p=probabilities))
    else:
      action = bot.step(state)
      assert action in state.legal_actions()
      state.apply_action(action)


@pytest.mark.parametrize("game", _SMALL + (
    "dudo(start_dice=2v1,dice_sides=2)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2)"))
def test_resampled_states_cannot_be_told_apart(game):
  rng = np.random.RandomState(5)
  game = pyspiel.load_game(game)
  changed = 0
  for state in itertools.islice(helpers.all_states(game), 2000):
    for player in range(game.num_players()):
      other = state.resample_from_infostate(player, rng.uniform)
      changed += other.history() != state.history()
      assert other.information_state_string(player) == (
          state.information_state_string(player))
      assert other.current_player() == state.current_player()
  assert changed > 10


def test_resampling_draws_hidden_decisions_anew():
  state = helpers.start("dudo_single_round(players=3,numdice=1)", "3", "1",
                        "2", "1x1", "Pass")
  rng = np.random.RandomState(1)
  challenges = sum(state.resample_from_infostate(2, rng.uniform).challenges(1)
                   for _ in range(1000))
  assert challenges / 1000 == pytest.approx(1 / 2, abs=0.06)


def test_resampling_follows_the_chances():
  state = helpers.start("dudo(start_dice=1v2)", "3", "12")
  rng = np.random.RandomState(1)
  doubles = sum(len(set(state.resample_from_infostate(0, rng.uniform).hand(1)))
                == 1 for _ in range(3000))
  assert doubles / 3000 == pytest.approx(1 / 6, abs=0.025)


def test_expected_values_of_uniform_play_by_enumeration():
  # With two sides, player 0 claims 1 or 2 equally often. The claim 2 must be
  # doubted, and is true half the time. The claim 1 is always true, and doubted
  # half the time. If it is accepted, player 1 rolls, must claim 2 and is
  # doubted; that claim is true half the time.
  game = pyspiel.load_game("liar_die(sides=2)")
  uniform = policy_lib.UniformRandomPolicy(game)
  values = expected_game_score.policy_value(game.new_initial_state(),
                                            [uniform, uniform])
  assert list(values) == pytest.approx([0.25, -0.25])


@pytest.mark.parametrize("game, player",
                         list(itertools.product(_SMALL, (0, 1))))
def test_observers_give_fresh_tensors(game, player):
  """Observing other states does not change the tensors of a state."""
  game = pyspiel.load_game(game)
  states = [state for state in helpers.all_states(game)
            if state.current_player() >= 0]
  first = states[0].information_state_tensor(player)
  for state in states:
    state.information_state_tensor(player)
    state.observation_tensor(player)
  assert states[0].information_state_tensor(player) == first
