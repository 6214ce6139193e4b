import random

import helpers
from open_spiel.python import policy
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.terminal import narrator
from dudo_spiel.terminal import registry


def _tell(game, seat, *names, odds=False):
  """Returns (lines, state, narrator) after the named actions."""
  state = pyspiel.load_game(game).new_initial_state()
  narration = registry.make_narrator(state.get_game(), seat, show_odds=odds)
  lines = []
  for name in names:
    before = state.clone()
    helpers.do(state, name)
    lines += narration.after(before, state.history()[-1], state)
  return lines, state, narration


def _reply(narration, state, text):
  """Returns why a text is no legal move, as one text."""
  action, lines = narration.understand(state, text)
  assert action is None
  assert all(len(line) < 80 for line in lines)
  return " ".join(" ".join(lines).split())


def test_dudo_from_both_seats():
  names = ("123", "45", "2x4", "3x4", "Dudo")
  lines, state, narration = _tell("dudo(start_dice=3v2)", 0, *names)
  assert lines == [
      "Round 1: you roll 123.", "You: 2x4", "Player 2: 3x4", "You: Dudo",
      "All dice: You 123, Player 2 45.",
      "The claim was 3x4, the count is 2: the claim is false.",
      "Player 2 loses 1 die and has 1 left."]
  lines, _, _ = _tell("dudo(start_dice=3v2)", 1, *names)
  assert lines[:2] == ["Round 1: you roll 45.", "Player 1: 2x4"]
  assert lines[-1] == "You lose 1 die and have 1 left."
  helpers.do(state, "111", "2", "1x2")
  assert narration.situation(state) == [
      "Dice left: You 3, Player 2 1.", "Claims: You 1x2"]
  state = helpers.do(state, "Dudo")
  assert narration.result(state) == "You win. Your return is 1."


def test_losing_all_dice():
  lines, state, narration = _tell("dudo(numdice=1)", 0, "2", "3", "2x6", "Dudo")
  assert lines[-1] == "You lose 1 die and are out."
  assert narration.result(state) == "You lose. Your return is -1."


def test_a_person_who_is_out_sees_the_others_play_on():
  lines, _, _ = _tell("dudo(players=3,numdice=1)", 0, "2", "3", "4", "3x6",
                      "Dudo", "5", "6", "1x5")
  assert lines[-4:] == ["You lose 1 die and are out.", "", "Round 2.",
                        "Player 2: 1x5"]


def test_exact_counts_are_told():
  lines, _, _ = _tell("dudo(players=3,numdice=2)", 0, "12", "24", "55", "3x2",
                      "Dudo")
  assert lines[-2:] == [
      "The claim was 3x2, the count is exactly 3: the claim is true.",
      "Player 2 loses 1 die and has 1 left. Player 3 loses 1 die and has 1 "
      "left."]
  lines, _, _ = _tell("dudo(players=3,numdice=2)", 0, "12", "24", "55", "2x2",
                      "Dudo")
  assert "The claim was 2x2, the count is 3: the claim is true." in lines
  lines, _, _ = _tell("dudo_single_round(players=2,numdice=1)", 0, "2", "3",
                      "1x3", "Challenge")
  assert ("The claim was 1x3, the count is exactly 1: the claim is true."
          in lines)
  assert _tell("liar_die", 1, "5", "Claim 5", "Doubt")[0][-1] == (
      "Player 1 had rolled exactly 5.")


def test_dice_and_claim_stand_in_the_last_line_before_a_move():
  _, state, narration = _tell("dudo(players=4)", 2, "11111", "22223", "13356",
                              "44444", "3x4", "3x5", odds=True)
  assert narration.status(state) == ["Your dice: 13356 | To beat: 3x5 by "
                                     "Player 2."]
  # Everything that is told before a move fits on a terminal of 24 lines.
  lines = narration.situation(state)
  assert len(lines) + len(narration.status(state)) <= 20
  assert len(narration.legal_moves(state)) <= 20
  assert len(narration.help()) <= 20 and len(narration.hint(state)) <= 20
  assert all(len(line) < 80 for line in [*lines, *narration.help()])
  _, state, narration = _tell("dudo(numdice=1)", 0, "6", "3")
  assert narration.status(state) == ["Your dice: 6 | You start: make a claim."]


def test_long_lists_of_claims_are_cut_at_the_front():
  names = [f"{count}x{rank}" for count in (1, 2) for rank in range(2, 7)]
  _, state, narration = _tell("dudo(players=3)", 1, "11111", "22222", "33333",
                              *names)
  line = narration.situation(state)[-1]
  assert line.startswith("Claims: ..., ") and line.endswith("Player 1 2x6")
  assert len(line) < 80


def test_greeting():
  _, _, narration = _tell("dudo(players=3)", 1)
  text = " ".join(narration.greeting({0: "heuristic", 2: "random"}))
  for words in ("Dudo, 3 players, 5 dice each.", "Ones are wild", "help",
                "You are Player 2 against Player 1 (heuristic), Player 3 "
                "(random).", 'Type a claim such as 3x5 or "3 fives"'):
    assert words in text
  _, _, narration = _tell("dudo(wild_ones=False)", 1)
  assert "Ones are not wild." in narration.greeting({})
  _, _, narration = _tell("kuhn_poker", 0)
  assert narration.greeting({1: "uniform"})[:2] == [
      "Kuhn Poker.", "You are Player 1 against Player 2 (uniform)."]


@pytest.mark.parametrize("game", [
    "dudo", "dudo(die_loss=one,exact_reward=False,wild_ones=False)", "liar_die",
    "dudo_single_round", "neumann_poker", "kuhn_poker"])
def test_help_names_all_commands(game):
  _, _, narration = _tell(game, 0)
  text = "\n".join(narration.help())
  assert all(word in text for word in ("?", "hint", "quit", "Type"))


@pytest.mark.parametrize("text, reply", [
    ("2 fives", "2x5 is not above 3x3: claim at least 3x4, or 3x5 with this "
     "rank, or say Dudo."),
    ("1x1", "1x1 is not above 3x3: claim at least 3x4, or 2x1 with this rank, "
     "or say Dudo."),
    ("2 fours", "2x4 is not above 3x3: claim at least 3x4, or say Dudo."),
    ("5 fives", "5x5: there are 4 dice in play."),
    ("0x3", "0x3: there are 4 dice in play."),
    ("3 sevens", "3x7: a die shows 1 to 6."),
    ("pass", "Nobody may pass here: make a claim, or doubt the last one."),
    ("zzz", "I do not understand 'zzz'. Type a claim such as 3x4, ? for the "
     "legal moves, or help.")])
def test_why_a_move_of_dudo_is_not_legal(text, reply):
  _, state, narration = _tell("dudo(numdice=2)", 0, "12", "34", "1x2", "3x3")
  assert _reply(narration, state, text) == reply


def test_why_other_moves_of_claims_are_not_legal():
  _, state, narration = _tell("dudo(numdice=1)", 0, "1", "2")
  assert _reply(narration, state, "liar") == (
      "There is no claim to doubt yet. You start, so make a claim.")
  helpers.do(state, "1x2", "2x1")
  assert _reply(narration, state, "2x6") == (
      "No claim is possible now: say Dudo.")
  single = "dudo_single_round(players=3,numdice=3,claim_window=4)"
  _, state, narration = _tell(single, 0, "112", "345", "666")
  assert _reply(narration, state, "dudo") == (
      "You are the claimer now: make a claim.")
  assert _reply(narration, state, "2x6") == (
      "2x6 is too far above: the strongest claim allowed now is 1x4.")
  _, state, narration = _tell(single, 1, "112", "345", "666", "1x4")
  assert _reply(narration, state, "1x5") == (
      "You are not the claimer now: type pass or challenge.")
  assert narration.understand(state, "dudo")[0] == state.legal_actions()[1]
  _, state, narration = _tell("liar_die", 1, "5", "Claim 4", "Accept", "2")
  assert _reply(narration, state, "3") == "3 is not a claim between 5 and 6."
  _, state, narration = _tell("liar_die", 1, "5", "Claim 6")
  assert _reply(narration, state, "accept") == (
      "The highest claim must be doubted.")


def test_hints_from_the_odds():
  _, state, narration = _tell("dudo(numdice=1)", 0, "6", "3", "1x6", "2x2")
  assert narration.hint(state) == [
      "By your dice alone, 2x2 holds with 0%.",
      "The likeliest claims: 2x6 33%, 2x1 0%, 2x5 0%, 2x4 0%, 2x3 0%.",
      "The odds suggest Dudo."]
  _, state, narration = _tell("dudo(numdice=1)", 0, "6", "3")
  assert narration.hint(state)[-1] == "The odds suggest 1x6."
  _, state, narration = _tell("liar_die", 1, "3", "Claim 5")
  assert narration.hint(state) == [
      "A roll of 5 or more has a probability of 33%."]
  helpers.do(state, "Accept", "6")
  assert narration.hint(state) == ["The lowest claim is 6. It is true."]
  single = "dudo_single_round(players=2,numdice=1)"
  _, state, narration = _tell(single, 1, "2", "3", "1x3")
  assert narration.hint(state)[-1] == "The odds suggest Pass."
  _, state, narration = _tell(single, 1, "2", "3", "2x2")
  assert narration.hint(state)[-1] == "The odds suggest Challenge."


def test_hints_from_a_policy():
  _, state, narration = _tell("neumann_poker", 0, "5", "5")
  adviser = bots.PolicyBot(0, None, policy.UniformRandomPolicy(
      state.get_game()))
  assert narration.hint(state, adviser) == [
      "The policy would play: Check 50%, Bet 50%."]
  _, state, narration = _tell("dudo(numdice=1)", 0, "5", "5")
  adviser = bots.PolicyBot(0, None, policy.UniformRandomPolicy(
      state.get_game()))
  assert narration.hint(state, adviser)[0] == (
      "The policy never met this situation in its training.")
  adviser = bots.make_bot("heuristic", state.get_game(), 0, None)
  lines = narration.hint(state, adviser)
  assert lines[0].startswith("The policy would play: 1x5 ")
  assert lines[-1] == "The odds suggest 1x5."


def test_odds():
  _, state, narration = _tell("dudo(numdice=1)", 0, "6", "3", "1x6", "2x2",
                              odds=True)
  text = "\n".join(narration.situation(state))
  assert "Odds of the last claim: 2x2 0%" in text
  assert "Odds of each claim (the other 4 are below 1%)" in text
  assert "2x6  33%" in text and "2x1" not in text
  assert "1x2" not in text


def test_hidden_decisions_are_not_told_before_the_step_ends():
  names = ("1", "2", "3", "1x2", "Pass")
  lines, state, narration = _tell("dudo_single_round(players=3,numdice=1)", 2,
                                  *names)
  assert lines == ["You roll 3.", "Player 1: 1x2"]
  before = state.clone()
  helpers.do(state, "Pass")
  assert narration.after(before, state.history()[-1], state) == [
      "You: Pass", "Nobody challenges."]
  lines, state, narration = _tell("dudo_single_round(players=3,numdice=1)", 0,
                                  *names[:-1], "Challenge", "Pass")
  assert lines == ["You roll 1.", "You: 1x2", "Challenged by: Player 2.",
                   "All dice: You 1, Player 2 2, Player 3 3.",
                   "The claim was 1x2, the count is exactly 1: the claim is "
                   "true.", "Left in the game: You, Player 3."]
  assert narration.result(state) == "You share the win. Your return is 0.5."


def test_poker_and_liar_die_show_what_is_compared():
  lines, state, narration = _tell("neumann_poker", 1, "5", "5", "Bet", "Call")
  assert lines == ["You get rank 5 of 10.", "Player 1: Bet", "You: Call",
                   "Player 1 had rank 5.", "You had rank 5."]
  assert narration.result(state) == "A tie. Your return is 0."
  lines, _, _ = _tell("neumann_poker", 1, "5", "5", "Bet", "Fold")
  assert lines[-1] == "You: Fold"
  lines, _, _ = _tell("liar_die", 1, "5", "Claim 6", "Doubt")
  assert lines == ["Player 1: Claim 6", "You: Doubt", "Player 1 had rolled 5."]


def test_situations_of_poker_and_liar_die():
  _, state, narration = _tell("neumann_poker", 1, "5", "7", "Check", "Bet",
                              "Raise")
  assert narration.situation(state) == ["Paid so far: Player 1 2.5, You 1.5."]
  assert narration.status(state) == ["Your rank: 7 of 10 | Fold, Call?"]
  _, state, narration = _tell("liar_die_ir", 0, "3", "Claim 2", "Accept", "3",
                              "Claim 4", "Accept", "6")
  assert narration.situation(state) == ["Claims: You 2, Player 2 4"]
  assert narration.status(state)[0] == "Your roll: 6 | Claim more than 4."
  with pytest.raises(ValueError, match="^show_odds=True: must be left out"):
    registry.make_narrator(pyspiel.load_game("liar_die"), 0, show_odds=True)


@pytest.mark.parametrize("game, names, text", [
    ("dudo(numdice=1,dice_sides=12,wild_ones=False)", ("3", "4", "1x11"),
     "1x1"),
    ("dudo", ("11111", "22222", "9x1"), "1"),
    ("liar_die(sides=12)", ("3", "Claim 11", "Accept", "4"), "claim 1"),
])
def test_a_number_is_never_taken_for_the_beginning_of_another(game, names,
                                                              text):
  _, state, narration = _tell(game, 1, *names)
  assert narration.understand(state, text)[0] is None


def test_numbers_are_claims_in_liar_die():
  _, state, narration = _tell("liar_die", 0, "3")
  assert narration.understand(state, "4") == (3, [])


@pytest.mark.parametrize("game, names", [
    ("dudo(numdice=2)", ("12", "34", "1x2", "3x3")),
    ("dudo", ("11111", "22222")),
    ("dudo_single_round", ("11111",) * 4), ("liar_die", ("3",)),
    ("neumann_poker", ("5", "7")), ("kuhn_poker", ("Deal:0", "Deal:1"))])
def test_whatever_is_typed_is_a_legal_move_or_answered(game, names):
  _, state, narration = _tell(game, 0, *names)
  rng = random.Random(1)
  words = ["3", "x", "5", "fives", " ", "dudo", "pass", "-", "0", "9" * 5000,
           "Claim", "\t", "é", "²", "١", "(", "\\", "%s", "\0", "\U0001f3b2"]
  for _ in range(300):
    text = "".join(rng.choices(words, k=rng.randrange(5)))
    action, lines = narration.understand(state, text)
    assert action in state.legal_actions() or (action is None and lines)


def test_style():
  game = pyspiel.load_game("dudo(numdice=1)")
  style = narrator.Style(*(f"<{letter}>{{}}</>".format for letter in "sgb"))
  narration = registry.make_narrator(game, 0, style)
  state = helpers.start("dudo(numdice=1)", "6", "3", "1x6", "2x6")
  assert narration.status(state) == [
      "Your dice: <s>6</> | To beat: <s>2x6</> by Player 2."]
  helpers.do(state, "Dudo")
  assert narration.result(state) == "<g>You win. </>Your return is 1."


def test_kuhn_poker_has_cards_and_bets():
  lines, state, narration = _tell("kuhn_poker", 0, "Deal:2", "Deal:0", "Pass")
  assert lines == ["You get the King.", "You: Check"]
  before = state.clone()
  helpers.do(state, "Bet")
  assert narration.after(before, 1, state) == ["Player 2: Bet"]
  assert narration.situation(state) == ["Paid so far: You 1, Player 2 2."]
  assert narration.status(state) == ["Your card: King | Fold, Call?"]
  assert [narration.understand(state, text)[0] for text in (
      "f", "call", "Pass", "bet")] == [0, 1, 0, 1]
  assert _reply(narration, state, "check") == (
      "I do not understand 'check'. Type fold or call.")
  before = state.clone()
  helpers.do(state, "Bet")
  assert narration.after(before, 1, state) == ["You: Call",
                                               "Player 2 had the Jack."]


def test_leduc_poker_has_cards_and_bets():
  names = [f"outcome:{card}" for card in (1, 3, 2)]
  lines, state, narration = _tell("leduc_poker", 1, *names[:2], "Call", "Raise",
                                  "Raise", "Call", names[2], "Call")
  assert lines == [
      "You get the Queen.", "Player 1: Check", "You: Bet", "Player 1: Raise",
      "You: Call", "On the table: the Queen.", "Player 1: Check"]
  assert narration.situation(state) == ["Paid so far: Player 1 5, You 5."]
  assert narration.status(state) == [
      "Your card: Queen, on the table: Queen | Check, Bet?"]
  assert narration.legal_moves(state) == ["Check  Bet"]
  assert narration.understand(state, "b") == (2, [])
  before = state.clone()
  helpers.do(state, "Raise", "Fold")
  assert narration.after(before, 2, state) == ["You: Bet"]  # and no card


@pytest.mark.parametrize("game", ["kuhn_poker(players=10)",
                                  "leduc_poker(players=10)",
                                  "leduc_poker(suit_isomorphism=True)",
                                  "leduc_poker(action_mapping=True)"])
def test_variants_of_poker_are_told(game):
  rng = random.Random(1)
  for _ in range(20):
    state = pyspiel.load_game(game).new_initial_state()
    narration = registry.make_narrator(state.get_game(), 1)
    while not state.is_terminal():
      if state.current_player() == 1:
        assert all(narration.situation(state) + narration.status(state))
      before = state.clone()
      action = rng.choice(state.legal_actions())
      state.apply_action(action)
      assert all(narration.after(before, action, state))
