import helpers
import numpy as np
import pyspiel
import pytest

from dudo_spiel import narrator


def _tell(game, seat, *names, odds=False):
  """Returns (lines, state, narrator) after the named actions."""
  state = pyspiel.load_game(game).new_initial_state()
  narration = narrator.Narrator(state.get_game(), seat, odds)
  lines = []
  for name in names:
    before = state.clone()
    helpers.do(state, name)
    lines += narration.after(before, state.history()[-1], state)
  return lines, state, narration


def test_dudo_from_both_seats():
  names = ("123", "45", "2x4", "3x4", "Dudo")
  lines, state, narration = _tell("dudo(start_dice=3v2)", 0, *names)
  assert lines == [
      "You: Roll 123", "You: 2x4", "Player 1: 3x4", "You: Dudo",
      "  You had 123", "  Player 1 had 45",
      "The claim was 3x4, the count is 2.",
      "Player 1 loses 1 die and has 1 left."]
  lines, _, _ = _tell("dudo(start_dice=3v2)", 1, *names)
  assert lines[:2] == ["You: Roll 45", "Player 0: 2x4"]
  assert lines[-1] == "You lose 1 die and have 1 left."
  helpers.do(state, "111", "2", "1x2")
  assert narration.situation(state) == [
      "Dice: You 3, Player 1 1.", "Claims so far: You 1x2.",
      "Your dice: 111."]
  state = helpers.do(state, "Dudo")
  assert narration.result(state) == "You win. Your return is 1."


def test_losing_all_dice():
  lines, state, narration = _tell("dudo(numdice=1)", 0, "2", "3", "2x6", "Dudo")
  assert lines[-1] == "You lose 1 die and are out."
  assert narration.result(state) == "You lose. Your return is -1."


def test_odds():
  _, state, narration = _tell("dudo(numdice=1)", 0, "6", "3", "1x6", "2x2",
                              odds=True)
  text = "\n".join(narration.situation(state))
  assert "Odds of the last claim:   2x2   0.0%" in text
  assert "2x6  33.3%" in text and "2x1   0.0%" in text
  assert "1x2" not in text


def test_hidden_decisions_are_not_told_before_the_step_ends():
  names = ("1", "2", "3", "1x2", "Pass")
  lines, state, narration = _tell("dudo_single_round(players=3,numdice=1)", 2,
                                  *names)
  assert lines == ["You: Roll 3", "Player 0: 1x2"]
  before = state.clone()
  helpers.do(state, "Pass")
  assert narration.after(before, state.history()[-1], state) == [
      "You: Pass", "Nobody challenges."]
  lines, state, narration = _tell("dudo_single_round(players=3,numdice=1)", 0,
                                  *names[:-1], "Challenge", "Pass")
  assert lines == ["You: Roll 1", "You: 1x2", "Challenged by: Player 1.",
                   "  You had 1", "  Player 1 had 2", "  Player 2 had 3",
                   "Left in the game: You, Player 2."]
  assert narration.result(state) == "You share the win. Your return is 0.5."


def test_poker_and_liar_die_show_what_is_compared():
  lines, state, narration = _tell("neumann_poker", 1, "5", "5", "Bet", "Call")
  assert lines == ["You: Deal 5", "Player 0: Bet", "You: Call",
                   "Player 0 had rank 5.", "You had rank 5."]
  assert narration.result(state) == "A tie. Your return is 0."
  lines, _, _ = _tell("neumann_poker", 1, "5", "5", "Bet", "Fold")
  assert lines[-1] == "You: Fold"
  lines, _, _ = _tell("liar_die", 1, "5", "Claim 6", "Doubt")
  assert lines == ["Player 0: Claim 6", "You: Doubt", "Player 0 had rolled 5."]


def test_situations_of_poker_and_liar_die():
  _, state, narration = _tell("neumann_poker", 1, "5", "7", "Check", "Bet",
                              "Raise")
  assert narration.situation(state) == ["Paid so far: Player 0 2.5, You 1.5.",
                                        "Your rank: 7 of 10."]
  _, state, narration = _tell("liar_die_ir", 0, "3", "Claim 2", "Accept", "3",
                              "Claim 4", "Accept", "6")
  assert narration.situation(state) == ["Claims so far: You 2, Player 1 4.",
                                        "Your roll: 6."]
  with pytest.raises(ValueError, match="^show_odds=True: must be left out"):
    narrator.Narrator(pyspiel.load_game("liar_die"), 0, True)


@pytest.mark.parametrize("text, name", [
    ("2x4", "2x4"), (" 2 X 4 ", "2x4"), ("2X4", "2x4"), ("dudo", "Dudo"),
    ("d", "Dudo"), ("DUDO", "Dudo")])
def test_moves_may_be_typed_in_many_ways(text, name):
  _, state, narration = _tell("dudo(numdice=1)", 0, "1", "1", "1x2", "1x3")
  assert state.action_to_string(narration.parse(state, text)) == name


@pytest.mark.parametrize("text", ["", "2", "1x2", "3x1", "hello", "2x"])
def test_what_is_no_move_is_refused(text):
  _, state, narration = _tell("dudo(numdice=1)", 0, "1", "1", "1x2", "1x3")
  with pytest.raises(ValueError, match="not a legal move"):
    narration.parse(state, text)


@pytest.mark.parametrize("game, names, text", [
    ("dudo(numdice=1,dice_sides=12,wild_ones=False)", ("3", "4", "1x11"),
     "1x1"),
    ("dudo", ("11111", "22222", "9x1"), "1"),
    ("liar_die(sides=12)", ("3", "Claim 11", "Accept", "4"), "claim 1"),
])
def test_a_number_is_never_taken_for_the_beginning_of_another(game, names,
                                                               text):
  _, state, narration = _tell(game, 1, *names)
  with pytest.raises(ValueError, match="not a legal move"):
    narration.parse(state, text)


def test_numbers_are_claims_in_liar_die():
  _, state, narration = _tell("liar_die", 0, "3")
  assert narration.parse(state, "4") == 3


def test_a_seat_that_is_not_there():
  with pytest.raises(ValueError, match="^seat=2: must be an integer between 0"):
    narrator.Narrator(pyspiel.load_game("dudo"), 2)


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "tic_tac_toe",
                                  "liars_dice"])
def test_other_games_are_told_too(game):
  rng = np.random.RandomState(0)
  state = pyspiel.load_game(game).new_initial_state()
  narration = narrator.Narrator(state.get_game(), 0)
  lines = []
  while not state.is_terminal():
    if state.current_player() == 0:
      assert narration.situation(state)
    before = state.clone()
    action = rng.choice(state.legal_actions())
    state.apply_action(action)
    lines += narration.after(before, action, state)
  assert lines[-1].startswith("The end:")
