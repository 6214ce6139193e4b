import re

import helpers
from open_spiel.python import observation
import pyspiel
import pytest

import dudo_spiel  # noqa: F401


def test_transcript_of_the_paper():
  # Neller & Hnath (2011), section 1.1. In round 5 the paper prints the last
  # "Dudo" as player 2's, but it is player 1's (here players 1 and 0).
  transcript = [
      # dice, starter, rolls, actions, (loser, loss)
      ([5, 5], 0, ["12566", "23556"], ["2x6", "3x6", "5x6", "Dudo"], (0, 1)),
      ([4, 5], 1, ["3555", "23455"], ["3x6", "4x5", "5x5", "Dudo"], (0, 1)),
      ([3, 5], 1, ["356", "24466"], ["3x6", "Dudo"], (0, 1)),
      ([2, 5], 1, ["12", "13456"], ["2x2", "3x2", "Dudo"], (1, 1)),
      ([2, 4], 0, ["26", "1222"], ["2x6", "3x2", "Dudo"], (0, 2)),
  ]
  state = helpers.start("dudo")
  for number, (dice, starter, rolls, actions, loss) in enumerate(transcript):
    assert list(state.dice) == dice
    assert len(state.past_rounds()) == number
    for roll in rolls:
      assert state.is_chance_node()
      helpers.do(state, roll)
    for turn, action in enumerate(actions):
      assert state.current_player() == (starter + turn) % 2
      helpers.do(state, action)
    loser, lost = loss
    dice[loser] -= lost
    assert list(state.dice) == dice
    past = state.past_rounds()[-1]
    assert [bytes(int(face) for face in roll) for roll in rolls] == (
        past.all_hands())
    assert past.starter == starter
  assert state.is_terminal()
  assert state.returns() == [-1.0, 1.0]


def test_default_is_the_full_five_dice_game():
  game = pyspiel.load_game("dudo")
  assert game.num_players() == 2
  assert game.num_distinct_actions() == 61
  assert game.max_chance_outcomes() == 252
  # Nine rounds with 10, 9, ..., 2 dice, each with every claim and a Dudo.
  assert game.max_game_length() == sum(6 * d + 1 for d in range(2, 11))
  assert game.max_chance_nodes_in_history() == 18


def test_first_and_last_legal_actions():
  state = helpers.start("dudo(numdice=1)", "3", "4")
  assert helpers.legal(state) == ["1x2", "1x3", "1x4", "1x5", "1x6", "1x1",
                                  "2x2", "2x3", "2x4", "2x5", "2x6", "2x1"]
  helpers.do(state, "2x5")
  assert helpers.legal(state) == ["2x6", "2x1", "Dudo"]
  helpers.do(state, "2x1")
  assert helpers.legal(state) == ["Dudo"]


@pytest.mark.parametrize("game, claim, dice, starter", [
    # Dice 1556 and 23: fives with wild ones 3, fours 1, ones 1.
    ("dudo(start_dice=4v2)", "1x5", [4, 0], 0),  # two too many: 1 loses 2
    ("dudo(start_dice=4v2)", "3x5", [4, 1], 0),  # exact
    ("dudo(start_dice=4v2)", "5x5", [2, 2], 1),  # 0 loses 2
    ("dudo(start_dice=4v2)", "6x5", [1, 2], 1),  # 0 loses 3
    ("dudo(start_dice=4v2)", "6x1", [0, 2], 1),  # 0 would lose 5
    ("dudo(start_dice=4v2,wild_ones=False)", "3x5", [3, 2], 1),
    ("dudo(start_dice=4v2,die_loss=one)", "1x5", [4, 1], 0),
    ("dudo(start_dice=4v2,die_loss=one)", "6x5", [3, 2], 1),
    ("dudo(start_dice=4v2,exact_reward=False)", "3x5", [4, 1], 0),
])
def test_dice_after_a_challenge(game, claim, dice, starter):
  state = helpers.start(game, "1556", "23", claim, "Dudo")
  assert list(state.dice) == dice
  assert state.is_terminal() == (0 in dice)
  if not state.is_terminal():
    for _ in range(2):
      state.apply_action(0)
    assert state.current_player() == starter


def test_exact_claim_of_four_players_costs_the_other_three_a_die():
  state = helpers.start("dudo(players=4,start_dice=2v1v2v3)", "34", "3", "55",
                        "156", "1x3", "2x3", "3x3", "Dudo")
  # Three threes with the one: the claimant, player 2, keeps both dice.
  assert list(state.dice) == [1, 0, 2, 2]
  assert not state.is_terminal()
  helpers.do(state, "2", "22", "44")
  assert [state.current_player() for name in ("1x2", "2x2", "3x2", "4x2")
          if helpers.do(state, name)] == [3, 0, 2, 3]


def test_players_without_dice_are_skipped_and_the_last_one_wins():
  state = helpers.start("dudo(players=3,start_dice=2v1v2,starting_player=1)",
                        "23", "4", "45", "2x2", "Dudo")
  # Player 1 claimed two twos, but there is one, and loses the only die.
  assert list(state.dice) == [2, 0, 2]
  helpers.do(state, "11", "11")
  assert state.current_player() == 2  # the challenger won and starts
  helpers.do(state, "1x2")
  assert state.current_player() == 0
  assert state.returns() == [0.0, 0.0, 0.0]
  helpers.do(state, "Dudo")  # four count, one was claimed: 0 loses 3 of 2
  assert state.is_terminal()
  assert state.returns() == [-0.5, -0.5, 1.0]


def test_unequal_starts():
  game = pyspiel.load_game("dudo(players=3,start_dice=5v5v1)")
  assert game.num_distinct_actions() == 67
  assert [len(game.new_initial_state().chance_outcomes())] == [252]
  state = game.new_initial_state()
  sizes = []
  while state.is_chance_node():
    sizes.append(len(state.chance_outcomes()))
    state.apply_action(0)
  assert sizes == [252, 252, 6]


def test_strings():
  state = helpers.start("dudo(start_dice=3v2)", "233", "45", "1x3", "3x5",
                        "Dudo")
  assert state.is_terminal()  # one five: player 1 loses two dice of two
  state = helpers.start("dudo(start_dice=3v2)", "233", "45", "1x3", "2x5",
                        "Dudo", "134", "6", "1x1")
  first = "P0 233, P1 45 | P0 1x3, P1 2x5, P0 Dudo | count 1: P1 loses 1"
  assert str(state) == f"{first}\nP0 134, P1 6 | P0 1x1 | P0 starts"
  assert state.information_state_string(0) == (
      f"p0 roll:134 dice:3,1 start:0 claims:1x1 [{first}]")
  assert state.information_state_string(1) == (
      f"p1 roll:6 dice:3,1 start:0 claims:1x1 [{first}]")
  assert state.observation_string(1) == (
      "p1 roll:6 dice:3,1 start:0 claims:1x1 revealed:233,45")
  helpers.do(state, "Dudo")
  assert str(state).splitlines()[1:] == [
      "P0 134, P1 6 | P0 1x1, P1 Dudo | count 1: P1 loses 1", "Player 0 wins"]


def test_factored_observations():
  game = pyspiel.load_game("dudo(start_dice=2v1)")
  state = helpers.start("dudo(start_dice=2v1)", "23", "4", "1x3", "2x2")

  def view(perfect_recall=False, **kwargs):
    kind = pyspiel.IIGObservationType(perfect_recall=perfect_recall, **kwargs)
    observer = observation.make_observation(game, kind)
    return [observer.string_from(state, player) for player in range(2)]

  none, everything = (pyspiel.PrivateInfoType.NONE,
                      pyspiel.PrivateInfoType.ALL_PLAYERS)
  public = "dice:2,1 start:0 claims:2x2"
  assert view(private_info=none) == [public, public]
  assert view(public_info=False) == ["p0 roll:23", "p1 roll:4"]
  assert view(public_info=False, private_info=none) == ["", ""]
  assert view(private_info=everything) == [f"{public} roll:23 roll:4"] * 2
  assert view(private_info=none, perfect_recall=True) == [
      "dice:2,1 start:0 claims:1x3,2x2"] * 2
  with pytest.raises(ValueError, match="^params=.*observation parameters"):
    game.make_py_observer(None, {"x": 1})


def test_ir_remembers_the_last_claims_only():
  state = helpers.start("dudo_ir(start_dice=3v2,recall_length=2)", "123", "45")
  assert state.information_state_string() == "p0 roll:123 dice:3,2"
  helpers.do(state, "1x2", "1x3", "2x4")
  assert state.information_state_string(0) == (
      "p0 roll:123 dice:3,2 claims:1x3,2x4")
  assert state.information_state_string(1) == (
      "p1 roll:45 dice:2,3 claims:1x3,2x4")


@pytest.mark.parametrize("parameters, message", [
    ("players=1", "players=1: must be an integer between 2 and 6"),
    ("players=7", "players=7: must be an integer between 2 and 6"),
    ("numdice=0", "numdice=0: must be an integer between 1 and 20"),
    ("numdice=21", "numdice=21: must be"),
    ("dice_sides=1", "dice_sides=1: must be an integer between 2 and 20"),
    ("dice_sides=20,numdice=20", "numdice=20, dice_sides=20: must have"),
    ("starting_player=2", "starting_player=2: must be an integer between 0 "
     "and 1"),
    ("starting_player=-1", "starting_player=-1"),
    ("die_loss=two", "die_loss='two': must be one of 'difference', 'one'"),
    ("start_dice=3v", "start_dice='3v': must be each player's"),
    ("start_dice=v", "start_dice='v'"),
    ("start_dice=3vx", "start_dice='3vx'"),
    ("start_dice=3v0", "start_dice='3v0'"),
    ("start_dice=3v-2", "start_dice='3v-2'"),
    ("start_dice=3v2v1", "start_dice='3v2v1': has 3 numbers but players=2"),
    ("players=3,start_dice=3v2", "start_dice='3v2': has 2 numbers but "
     "players=3"),
])
def test_bad_parameters(parameters, message):
  for name in ("dudo", "dudo_ir"):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
      pyspiel.load_game(f"{name}({parameters})")


@pytest.mark.parametrize("parameters", ["sides=6", "numdice=two",
                                        "wild_ones=3", "recall_length=3"])
def test_parameters_that_pyspiel_refuses_itself(parameters):
  with pytest.raises(pyspiel.SpielError, match="parameter"):
    pyspiel.load_game(f"dudo({parameters})")


def test_bad_recall_length():
  with pytest.raises(ValueError, match="^recall_length=0: must be an integer"):
    pyspiel.load_game("dudo_ir(recall_length=0)")


def test_game_class_refuses_unknown_parameters():
  with pytest.raises(ValueError, match="^colour=1: dudo has no such parameter"):
    dudo_spiel.games.dudo.DudoGame({"colour": 1})
  with pytest.raises(ValueError, match="^numdice=2.0: must be of type int"):
    dudo_spiel.games.dudo.DudoGame({"numdice": 2.0})
  assert dudo_spiel.games.dudo.DudoGame().num_distinct_actions() == 61


@pytest.mark.parametrize("names, action", [
    ((), 252), ((), -2), (("11111",), 252),  # rolls
    (("11111", "22222"), 60), (("11111", "22222"), 61),  # Dudo, nothing
    (("11111", "22222", "2x4"), 7), (("11111", "22222", "2x4"), 8),
    (("11111", "22222"), -7), (("11111", "22222"), 10**20),
])
def test_illegal_actions(names, action):
  state = helpers.start("dudo", *names)
  history = state.history()
  with pytest.raises((ValueError, TypeError), match="action|incompatible"):
    state.apply_action(action)
  assert state.history() == history


def test_claims_beyond_the_dice_in_play_are_illegal():
  state = helpers.start("dudo(start_dice=2v2)", "22", "33", "4x6", "Dudo")
  assert list(state.dice) == [0, 2]
  with pytest.raises(ValueError, match="the game is over"):
    state.apply_action(0)
  state = helpers.start("dudo(start_dice=2v2)", "22", "33", "3x2", "Dudo",
                        "2", "33")
  assert helpers.legal(state)[-1] == "3x1"
  with pytest.raises(ValueError, match="action=18: not legal for player 1"):
    state.apply_action(18)
