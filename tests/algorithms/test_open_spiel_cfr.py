"""CFR compared with `pyspiel.CFRSolver`, on 115 small games of OpenSpiel.

`docs/solvers.md` states the result. Where the two part, exact CFR decides who
left the exact path.
"""

from open_spiel.python import games  # noqa: F401, registers Python games
from oracles import exact_cfr_oracle
import pyspiel
import pytest

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability

pytestmark = pytest.mark.slow

# Games with information states and up to 20,000 histories. Many have small
# parameters, as the default game is larger; other choices would do as well.
_SAME = (
    "kuhn_poker", "kuhn_poker(players=3)", "python_kuhn_poker", "leduc_poker",
    "leduc_poker(suit_isomorphism=True)", "liars_dice(dice_sides=2)",
    "liars_dice(dice_sides=3)", "liars_dice(dice_sides=4)",
    "liars_dice(dice_sides=3,bidding_rule=reset-quantity)",
    "liars_dice(dice_sides=2,numdice=2)", "liars_dice_ir(dice_sides=3)",
    "liars_dice_ir(dice_sides=4)", "tiny_hanabi",
    "goofspiel(num_cards=3,points_order=descending)",
    "goofspiel(num_cards=3,points_order=ascending)",
    "goofspiel(num_cards=3,points_order=random)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    "goofspiel(num_cards=3,imp_info=True,points_order=ascending)",
    "goofspiel(num_cards=3,imp_info=True,points_order=random)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending,"
    "returns_type=point_difference)",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    "goofspiel(num_cards=4,points_order=descending,num_turns=2)",
    "goofspiel(num_cards=2,players=3)",
    "goofspiel(num_cards=2,players=3,imp_info=True)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending,"
    "egocentric=True)", "oshi_zumo(coins=4,size=1,min_bid=1)",
    "oshi_zumo(coins=5,size=1,min_bid=1)",
    "oshi_zumo(coins=6,size=2,min_bid=1)",
    "oshi_zumo(coins=3,size=1,horizon=3,alesia=True)", "blotto",
    "blotto(coins=5,fields=3)", "first_sealed_auction",
    "first_sealed_auction(max_value=4)",
    "first_sealed_auction(max_value=4,players=3)", "matrix_bos", "matrix_brps",
    "matrix_cd", "matrix_coordination", "matrix_mp", "matrix_pd", "matrix_rps",
    "matrix_rpsw", "matrix_sh", "matrix_shapleys_game", "matching_pennies_3p",
    "nim(pile_sizes=1;2;3)", "nim(pile_sizes=1;2;2)", "nim(pile_sizes=2;2)",
    "nim(pile_sizes=2;3)", "nim(pile_sizes=1;2;3,is_misere=False)",
    "nim(pile_sizes=3;3)", "cliff_walking(horizon=4)",
    "cliff_walking(horizon=5)", "trade_comm(num_items=2)", "hex(board_size=2)",
    "hex(num_rows=3,num_cols=2)", "hex(board_size=2,swap=True)",
    "dark_hex(board_size=2)", "dark_hex(board_size=2,obstype=reveal-numturns)",
    "dark_hex_ir(board_size=2)", "mnk(m=2,n=2,k=2)", "mnk(m=3,n=2,k=2)",
    "mnk(m=3,n=2,k=3)",
    "sheriff(item_penalty=1.0,item_value=1.0,max_bribe=1,max_items=1,"
    "num_rounds=1,sheriff_penalty=1.0)",
    "battleship(board_height=2,board_width=1,ship_sizes=[1],ship_values=[1],"
    "num_shots=2,allow_repeated_shots=False)", "misere(game=kuhn_poker())",
    "misere(game=leduc_poker())", "misere(game=liars_dice(dice_sides=3))",
    "coordinated_mp", "dots_and_boxes(num_rows=1,num_cols=1)",
    "dots_and_boxes(num_rows=1,num_cols=1,utility_margin=True)",
    "lewis_signaling", "clobber(rows=2,columns=2)", "clobber(rows=2,columns=3)",
    "clobber(rows=3,columns=3)", "connect_four(rows=3,columns=2,x_in_row=2)",
    "connect_four(rows=2,columns=3,x_in_row=2)",
    "connect_four(rows=2,columns=3,x_in_row=3)",
    "restricted_nash_response(game=kuhn_poker(),p=0.5)",
    "restricted_nash_response(game=leduc_poker(),p=0.25)",
    "start_at(game=tic_tac_toe(),history=4;0)",
    "start_at(game=latent_ttt(),history=4;0;8;1)", "zerosum(game=matrix_pd())",
    "zerosum(game=first_sealed_auction(max_value=4))",
    "add_noise(game=kuhn_poker(),epsilon=0.1,seed=1)",
    "cached_tree(game=kuhn_poker())",
    "normal_form_extensive_game(game=kuhn_poker())",
    "python_liars_poker(hand_length=1,num_digits=2)",
    "python_liars_poker(hand_length=1,num_digits=3)",
    "bargaining(max_turns=1,max_num_instances=2)",
    "oh_hell(players=3,num_cards_per_suit=2,num_suits=2,num_tricks_fixed=1)",
    "go(board_size=2,max_game_length=4)", "go(board_size=2,max_game_length=5)",
    "havannah(board_size=2)", "y(board_size=2)", "y(board_size=3)",
    "go_fish(ranks=2,suits=2,initial_cards=1)", "chat_game",
    "gomoku(size=2,connect=2)", "gomoku(size=3,connect=2)",
    "gomoku(size=2,connect=2,anti=True)")

# In these, ties part the two.
_TIES = (
    "kuhn_poker(players=4)",
    "goofspiel(num_cards=3,points_order=descending,returns_type=total_points)",
    "oshi_zumo(coins=3,size=1,horizon=3)",
    "oshi_zumo(coins=3,size=1,horizon=4)", "blotto(coins=5,fields=2,players=3)",
    "cliff_walking(height=2,width=3,horizon=5)",
    "dark_hex(board_size=2,gameversion=adh)",
    "sheriff(max_bribe=2,max_items=2,num_rounds=1)",
    "sheriff(max_bribe=2,max_items=1,num_rounds=2)",
    "battleship(board_height=2,board_width=2,ship_sizes=[1],ship_values=[1],"
    "num_shots=2,allow_repeated_shots=False)",
    "battleship(board_height=2,board_width=2,ship_sizes=[1],ship_values=[1],"
    "num_shots=2,allow_repeated_shots=True,loss_multiplier=2.0)",
    "battleship(board_height=2,board_width=2,ship_sizes=[2],ship_values=[1],"
    "num_shots=3,allow_repeated_shots=False)",
    "battleship(board_height=3,board_width=1,ship_sizes=[1;1],"
    "ship_values=[1;2],num_shots=2,allow_repeated_shots=False)",
    "start_at(game=tic_tac_toe(),history=4;0;8)")


def _load(name):
  game = pyspiel.load_game(name)
  if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
    game = pyspiel.convert_to_turn_based(game)
  return game


@pytest.mark.parametrize("name", _SAME)
def test_nash_conv_is_open_spiels(name):
  game = _load(name)
  ours, theirs = cfr.CFRSolver(game), pyspiel.CFRSolver(game)
  for _ in range(10):
    ours.run(1)
    theirs.evaluate_and_update_policy()
    assert ours.nash_conv() == pytest.approx(exploitability.nash_conv(
        game, theirs.tabular_average_policy()), abs=1e-9)


def _distance(policy, exact):
  """Returns the largest difference from {(player, info_state): dict}."""
  table = policy.policy_table()
  return max(abs(dict(table[key])[action] - probability)
             for (_, key), expected in exact.items()
             for action, probability in expected.items())


@pytest.mark.parametrize("name", _TIES)
def test_open_spiel_leaves_the_exact_path_first(name):
  game = _load(name)
  ours, theirs = cfr.CFRSolver(game), pyspiel.CFRSolver(game)
  exact = exact_cfr_oracle.ExactCFR(game)
  for _ in range(2):
    ours.run(1)
    theirs.evaluate_and_update_policy()
    exact.iterate()
    assert _distance(ours.current_policy().to_pyspiel(), exact.current()) < 1e-9
    assert _distance(ours.average_policy().to_pyspiel(), exact.average()) < 1e-9
  assert _distance(theirs.tabular_current_policy(), exact.current()) > 1e-3
