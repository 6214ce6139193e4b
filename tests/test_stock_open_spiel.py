"""Stock OpenSpiel as the client: its suites, agents, solvers and examples.

`docs/open_spiel.md` lists what is run here and what cannot work.
"""

import pickle
import re
import subprocess
import sys

import helpers
import numpy as np
from open_spiel.python import games  # noqa: F401, registers python_kuhn_poker
from open_spiel.python import policy as policy_lib
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import best_response
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.algorithms import exploitability as open_spiel
from open_spiel.python.algorithms import generate_playthrough
from open_spiel.python.algorithms import mcts
from open_spiel.python.algorithms import mmd_dilated
from open_spiel.python.algorithms import random_agent
from open_spiel.python.algorithms import tabular_qlearner
from open_spiel.python.tests import games_sim_test
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies

_FOR_TWO = ("neumann_poker", "liar_die", "liar_die_ir", "dark_chess_small")
_FOR_MANY = ("dudo", "dudo_ir", "dudo_single_round", "dudo_single_round_ir")
_DUDO = "dudo(numdice=1,dice_sides=2)"
_SINGLE_ROUND = "dudo_single_round(players=2,numdice=1,dice_sides=2)"
_PERFECT_RECALL = (_DUDO, _SINGLE_ROUND, "neumann_poker(num_ranks=3)",
                   "liar_die(sides=3)")

# Games of up to 10,000 histories, OpenSpiel's and ours.
_COMPARED = (
    "kuhn_poker", "kuhn_poker(players=3)", "kuhn_poker(players=4)",
    "python_kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)",
    "liars_dice(dice_sides=4)", "liars_dice_ir(dice_sides=3)", "tiny_hanabi",
    "goofspiel(num_cards=3,points_order=descending)",
    "goofspiel(num_cards=3,imp_info=True)", "goofspiel(num_cards=2,players=3)",
    "oshi_zumo(coins=3,size=1,horizon=4)", "blotto",
    "blotto(coins=5,fields=2,players=3)", "first_sealed_auction",
    "first_sealed_auction(max_value=4,players=3)", "matrix_rps", "matrix_pd",
    "matrix_sh", "matrix_mp", "matrix_bos", "matrix_brps",
    "matrix_coordination", "matrix_cd", "matrix_rpsw", "matrix_shapleys_game",
    "nim(pile_sizes=1;2;3)", "nim(pile_sizes=2;2)", "cliff_walking(horizon=4)",
    "trade_comm(num_items=2)", "hex(board_size=2)", "dark_hex(board_size=2)",
    "dark_hex_ir(board_size=2)", "mnk(m=2,n=2,k=2)",
    "sheriff(item_penalty=1.0,item_value=1.0,max_bribe=1,max_items=1,"
    "num_rounds=1,sheriff_penalty=1.0)",
    "battleship(board_height=2,board_width=1,ship_sizes=[1],ship_values=[1],"
    "num_shots=2,allow_repeated_shots=False)", "misere(game=kuhn_poker())",
    "coordinated_mp", "dots_and_boxes(num_rows=1,num_cols=1)",
    *_PERFECT_RECALL, f"zerosum(game={_SINGLE_ROUND})",
    "dudo(numdice=1,dice_sides=3)",
    "dudo_ir(numdice=1,dice_sides=2,recall_length=1)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2,max_amount=1)",
    "dudo_single_round_ir(players=2,numdice=1,dice_sides=2)",
    "neumann_poker(asymmetric=True)", "neumann_poker(num_ranks=3,num_bets=4)",
    "liar_die_ir(sides=3)", "dark_chess_small(moves_per_player=2)")


@pytest.mark.parametrize("name", _FOR_TWO + _FOR_MANY + tuple(
    f"{name}(players={players})" for name in _FOR_MANY
    for players in range(2, 7)))
def test_games_sim_test(name):
  np.random.seed(1)
  games_sim_test.GamesSimTest().sim_game(pyspiel.load_game(name))


@helpers.calls_playthrough
@pytest.mark.parametrize("name", _FOR_TWO + _FOR_MANY)
def test_playthroughs_replay(name):
  text = generate_playthrough.playthrough(name, None, seed=3)
  actions = [int(x) for x in re.findall(r"^action: (\d+)$", text, re.MULTILINE)]
  assert len(actions) >= 3
  assert generate_playthrough.playthrough(name, actions) == text


def test_tabular_q_learning_beats_a_random_agent():
  env = rl_environment.Environment("liar_die(sides=2)")
  env.seed(1)
  np.random.seed(1)
  num_actions = env.action_spec()["num_actions"]
  agents = [tabular_qlearner.QLearner(0, num_actions),
            random_agent.RandomAgent(1, num_actions)]
  returns = []
  for episode in range(700):
    step = env.reset()
    while not step.last():
      player = step.observations["current_player"]
      is_evaluation = player == 0 and episode >= 400
      output = agents[player].step(step, is_evaluation=is_evaluation)
      step = env.step([output.action])
    for agent in agents:
      agent.step(step, is_evaluation=episode >= 400)
    returns.append(step.rewards[0])
  assert len(returns) == 700
  # Uniform play gets 0.25; the truth, when it is a 2, and else a 1 get 0.75.
  assert np.mean(returns[400:]) > 0.4


@pytest.mark.parametrize("name", _PERFECT_RECALL)
def test_best_responses_and_values_agree(name):
  game = pyspiel.load_game(name)
  root = game.new_initial_state()
  policy = _random_policy(game, 3)
  np.testing.assert_allclose(
      exploitability.expected_values(game, policy),
      expected_game_score.policy_value(root, [policy] * 2), atol=1e-9)
  expected = open_spiel.nash_conv(game, policy)
  cpp = policy_lib.python_policy_to_pyspiel_policy(policy)
  for found in (exploitability.nash_conv(game, policy),
                exploitability.nash_conv(game, cpp),
                pyspiel.nash_conv(game, cpp)):
    assert found == pytest.approx(expected, abs=1e-9)
  for player in (0, 1):
    theirs = best_response.BestResponsePolicy(game, player, policy)
    assert exploitability.best_response(game, policy, player).value == (
        pytest.approx(theirs.value(root), abs=1e-9))


def test_constant_sums_need_zerosum():
  with pytest.raises(AssertionError):  # OpenSpiel checks for a zero-sum game
    mmd_dilated.MMDDilatedEnt(pyspiel.load_game(_SINGLE_ROUND), 0.1)
  game = pyspiel.load_game(f"zerosum(game={_SINGLE_ROUND})")
  solver = mmd_dilated.MMDDilatedEnt(game, 0.1)
  before = solver.get_gap()
  for _ in range(5):
    solver.update_sequences()
  assert solver.get_gap() < before
  ours = cfr.CFRPlusSolver(pyspiel.load_game(_SINGLE_ROUND))
  zero_sum = cfr.CFRPlusSolver(game)
  for one in (ours, zero_sum):
    one.run(20)
  np.testing.assert_allclose(zero_sum.expected_values(),
                             ours.expected_values() - 0.5, atol=1e-9)


def test_mcts_in_python_plays():
  game = pyspiel.load_game(_DUDO)
  rng = np.random.RandomState(2)
  bot = mcts.MCTSBot(game, 2.0, 10, mcts.RandomRolloutEvaluator(1, rng),
                     random_state=rng)
  state = game.new_initial_state()
  while not state.is_terminal():
    actions = state.legal_actions()
    action = rng.choice(actions) if state.is_chance_node() else bot.step(state)
    assert action in actions
    state.apply_action(action)


@pytest.mark.parametrize("make, name", [
    (cfr.CFRSolver, "kuhn_poker"), (fsicfr.FSICFRSolver, _DUDO),
    (fsicfr.MatchSolver, _DUDO), (pfsi.PFSISolver, _SINGLE_ROUND)])
def test_policies_can_be_pickled(make, name, tmp_path):
  solver = make(pyspiel.load_game(name))
  solver.run(5)
  policy = solver.average_policy()
  policy.save(tmp_path / "policy.npz")
  for one in (policy, policies.load_policy(tmp_path / "policy.npz")):
    again = pickle.loads(pickle.dumps(one))
    assert str(again.game) == str(policy.game)
    assert (again.to_pyspiel().policy_table() ==
            policy.to_pyspiel().policy_table())
    again.save(tmp_path / "again.npz")
    assert isinstance(policies.load_policy(tmp_path / "again.npz"),
                      type(policy))


# What takes longer.

# Each is a module of open_spiel.python.examples with its flags, and a text of
# its last lines.
_EXAMPLES = (
    ("cfr_example", "--game=neumann_poker", "--iterations=11",
     "Iteration 10 exploitability"),
    ("cfr_cpp_example", "--game=neumann_poker", "--iterations=4",
     "Iteration 3 exploitability"),
    ("discounted_cfr", "--game=liar_die(sides=3)", "--iterations=11",
     "Iteration 10 exploitability"),
    ("example", "--game_string=dudo(numdice=2)", "Utility for player 1 is"),
    ("fictitious_play_example", "--game=neumann_poker", "--iterations=2",
     "--print_freq=1", "Iteration: 1"),
    ("gambit_example", "--game=liar_die(sides=3)", "--out=tree.efg",
     "saved to file: tree.efg"),
    ("game_tree_traversal_example", f"--game_string={_DUDO}",
     "Number of terminals 60"),
    ("get_all_states", "--game=neumann_poker", "--players=2",
     "Total: 1511 states"),
    ("independent_tabular_qlearning", f"--game={_DUDO}",
     "--num_train_episodes=100", "--eval_freq=50", "--num_eval_episodes=10",
     "Using game string"),
    ("mccfr_example", "--game=neumann_poker", "--iterations=50",
     "--print_freq=49", "Iteration 49 exploitability"),
    ("mccfr_example", "--game=neumann_poker", "--sampling=outcome",
     "--iterations=50", "--print_freq=49", "Iteration 49 exploitability"),
    ("mccfr_cpp_example", "--game=neumann_poker", "--iterations=2",
     "Iteration 1 nashconv"),
    ("mcts", f"--game={_DUDO}", "--max_simulations=20", "--num_games=2",
     "--quiet", "Overall returns"),
    ("mmd_example", "--game=liar_die(sides=3)", "--iterations=11",
     "Iteration 10 gap"),
    ("mmd_nash_example", f"--game={_DUDO}", "--iterations=11",
     "--print_freq=10", "Iteration 10 exploitability"),
    ("mmd_nash_example", f"--game=zerosum(game={_SINGLE_ROUND})",
     "--iterations=11", "--print_freq=10", "Iteration 10 exploitability"),
    ("play_via_console_example", "--game_string=dudo(numdice=1)",
     "--player0_type=uniform", "Returns:"),
    ("playthrough", "--game=dudo(numdice=1)", "--output_file=playthrough.txt",
     ""),
    ("policy_aggregator_example", "--game_name=liar_die(sides=3)",
     "Using game string"),
    ("rl_example", "--game=liar_die", "--num_players=2", "-----"),
    ("rl_example", "--game=dudo", "--num_players=3", "-----"),
    ("rl_main_loop", "--game=neumann_poker", "--num_players=2", "-----"),
    ("rl_main_loop", "--game=dudo_single_round", "--num_players=4", "-----"),
    ("uniform_policy_exploitability", f"--game={_DUDO}",
     "Exploitability: 0.5625"),
)

_RUN = """
import runpy, sys
import dudo_spiel  # the one line that a user adds
del sys.argv[0]
runpy.run_module("open_spiel.python.examples." + sys.argv[0],
                 run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", _EXAMPLES, ids=lambda x: x[0])
def test_examples(command, tmp_path):
  *flags, expected = command
  result = subprocess.run([sys.executable, "-c", _RUN, *flags], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stderr
  assert expected in (result.stdout + result.stderr)[-500:]


def _random_policy(game, seed):
  """Returns a `TabularPolicy` with random probabilities."""
  policy = policy_lib.TabularPolicy(game)
  rng = np.random.RandomState(seed)
  weights = policy.legal_actions_mask * rng.rand(
      *policy.legal_actions_mask.shape)**3
  policy.action_probability_array = weights / weights.sum(axis=1, keepdims=True)
  return policy


@pytest.mark.slow
@pytest.mark.parametrize("name", _COMPARED)
def test_values_and_nash_conv_agree(name):
  game = pyspiel.load_game(name)
  if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
    game = pyspiel.convert_to_turn_based(game)
  root = game.new_initial_state()
  for seed in range(3):
    policy = _random_policy(game, seed)
    np.testing.assert_allclose(
        exploitability.expected_values(game, policy),
        expected_game_score.policy_value(root, [policy] * game.num_players()),
        atol=1e-9)
    assert exploitability.nash_conv(game, policy) == (
        pytest.approx(open_spiel.nash_conv(game, policy), abs=1e-9))


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    *_PERFECT_RECALL[:1], *_PERFECT_RECALL[2:],
    f"zerosum(game={_SINGLE_ROUND})"])
def test_linear_programs_have_the_values_of_our_solvers(name):
  pytest.importorskip("cvxpy")
  from open_spiel.python.algorithms import sequence_form_lp
  game = pyspiel.load_game(name)
  solver = cfr.PDCFRPlusSolver(game)
  solver.solve(target_exploitability=1e-6)
  np.testing.assert_allclose(solver.expected_values(),
                             sequence_form_lp.solve_zero_sum_game(game)[:2],
                             atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    *_PERFECT_RECALL[:1], *_PERFECT_RECALL[2:],
    f"zerosum(game={_SINGLE_ROUND})"])
def test_psro_improves(name):
  pytest.importorskip("cvxpy")
  pytest.importorskip("networkx")
  from open_spiel.python.algorithms import policy_aggregator
  from open_spiel.python.algorithms.psro_v2 import best_response_oracle
  from open_spiel.python.algorithms.psro_v2 import psro_v2
  game = pyspiel.load_game(name)
  np.random.seed(1)
  start = [policy_lib.TabularPolicy(game) for _ in range(2)]
  solver = psro_v2.PSROSolver(
      game, best_response_oracle.BestResponseOracle(game=game, policy=None),
      initial_policies=start, sims_per_entry=50, meta_strategy_method="prd",
      training_strategy_selector="probabilistic", sample_from_marginals=True,
      prd_iterations=5000)
  for _ in range(5):
    solver.iteration()
  mixed = policy_aggregator.PolicyAggregator(game).aggregate(
      range(2), solver.get_policies(), solver.get_meta_strategies())
  assert exploitability.nash_conv(game, mixed) < (
      exploitability.nash_conv(game, start[0]) / 2)
