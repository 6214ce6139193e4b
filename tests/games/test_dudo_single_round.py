import re

import helpers
import pyspiel
import pytest

import dudo_spiel  # noqa: F401

_FOUR = "dudo_single_round(numdice=1)"


def test_default_is_the_papers_game():
  game = pyspiel.load_game("dudo_single_round")
  assert game.num_players() == 4
  assert game.num_distinct_actions() == 122
  assert game.max_chance_outcomes() == 252
  # 1x1, 1x2, ..., 11x6 and the first claim that must be challenged.
  assert game.max_game_length() == 4 * 67
  assert game.utility_sum() == 1.0


def test_claim_window():
  state = helpers.start("dudo_single_round", *["11111"] * 4)
  claims = helpers.legal(state)
  assert (len(claims), claims[0], claims[-1]) == (18, "1x1", "3x6")
  # The paper's example: after 2x4 anything between 2x5 and 5x4.
  helpers.do(state, "2x4", "Pass", "Pass", "Pass")
  claims = helpers.legal(state)
  assert (len(claims), claims[0], claims[-1]) == (18, "2x5", "5x4")


def test_claims_are_capped_at_the_dice_in_play():
  state = helpers.start("dudo_single_round(players=2,numdice=1)", "2", "3",
                        "2x3", "Pass")
  assert helpers.legal(state) == ["2x4", "2x5", "2x6"]


def test_order_of_claims_and_decisions():
  state = helpers.start(_FOUR, "1", "2", "3", "4")
  actors = []
  for name in ["1x2", "Pass", "Pass", "Pass", "1x3", "Pass", "Pass", "Pass",
               "1x5", "Pass", "Challenge", "Pass"]:
    actors.append(state.current_player())
    helpers.do(state, name)
  assert actors == [0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1]
  assert state.is_terminal()


def test_decisions_are_hidden_until_the_step_ends():
  passed = helpers.start(_FOUR, "1", "2", "3", "4", "1x2", "Pass")
  challenged = helpers.start(_FOUR, "1", "2", "3", "4", "1x2", "Challenge")
  for player in (0, 2, 3):
    assert passed.information_state_string(player) == (
        challenged.information_state_string(player))
    assert passed.observation_string(player) == (
        challenged.observation_string(player))
  assert passed.information_state_string(1) != (
      challenged.information_state_string(1))
  for state in (passed, challenged):
    assert helpers.legal(state) == ["Pass", "Challenge"]
  helpers.do(passed, "Pass", "Challenge")
  assert passed.information_state_string(0) == (
      "p0 roll:1 claims:1x2 phase:over challengers:3 revealed:1,2,3,4")


@pytest.mark.parametrize("claim, decisions, returns", [
    # The dice are 2, 2, 3, 4.
    ("2x2", "CPP", [1 / 3, 0, 1 / 3, 1 / 3]),  # true: the challenger is out
    ("2x2", "CPC", [1 / 2, 0, 1 / 2, 0]),
    ("2x2", "CCC", [1, 0, 0, 0]),
    ("1x2", "PPC", [1 / 3, 1 / 3, 1 / 3, 0]),  # more than claimed: also true
    ("3x2", "PPC", [0, 1 / 3, 1 / 3, 1 / 3]),  # false: the claimer is out
    ("3x2", "CCC", [0, 1 / 3, 1 / 3, 1 / 3]),
])
def test_returns(claim, decisions, returns):
  names = {"P": "Pass", "C": "Challenge"}
  state = helpers.start(_FOUR, "2", "2", "3", "4", claim,
                        *(names[d] for d in decisions))
  assert state.returns() == pytest.approx(returns)


def test_ones_are_not_wild():
  state = helpers.start("dudo_single_round(players=2,numdice=2)", "11", "24",
                        "2x4", "Challenge")
  assert state.returns() == [0.0, 1.0]


def test_claims_above_the_maximum_must_be_challenged():
  state = helpers.start("dudo_single_round(players=3,numdice=2,max_amount=2)",
                        "12", "22", "34", "2x6")
  assert helpers.legal(state) == ["Pass", "Challenge"]
  helpers.do(state, "Pass", "Pass", "3x2")
  for _ in range(2):
    assert helpers.legal(state) == ["Challenge"]
    with pytest.raises(ValueError, match="not legal for player"):
      state.apply_action(state.get_game().pass_action)
    helpers.do(state, "Challenge")
  assert state.returns() == [0.0, 1.0, 0.0]  # three twos: both are out


def test_the_strongest_claim_must_be_challenged():
  state = helpers.start("dudo_single_round(players=2,numdice=1)", "6", "6",
                        "2x6")
  assert helpers.legal(state) == ["Challenge"]


def test_abstractions_of_the_papers_example():
  # Section 4.2: the current claim 4x3 after 4x1, 3x4, 3x2, 2x1 and 1x6 leaves
  # the values 1, 4 and 2. (4x1 is weaker than 4x3.)
  claims = ["1x6", "2x1", "3x2", "3x4", "4x1", "4x3"]

  def view(abstraction):
    state = helpers.start(f"dudo_single_round_ir(abstraction={abstraction})",
                          *["11223"] * 4)
    for claim in claims:
      helpers.do(state, claim, "Pass", "Pass", "Pass")
    return state.information_state_string()

  state = helpers.start("dudo_single_round_ir", *["11223"] * 4)
  for claim in claims[:-1]:
    helpers.do(state, claim, "Pass", "Pass", "Pass")
  helpers.do(state, "4x3", "Pass")
  assert state.information_state_string() == (
      "p3 roll:11223 claims:4x3 phase:challenge values:1,4,2 wait:2")
  assert view("no_recall") == "p2 roll:11223 claims:4x3 phase:claim"
  assert view("type_recall") == (
      "p2 roll:11223 claims:4x3 phase:claim values:1,4,2")
  assert view("wait_type_recall") == (
      "p2 roll:11223 claims:4x3 phase:claim values:1,4,2 wait:0")


@pytest.mark.parametrize("parameters, message", [
    ("players=1", "players=1: must be an integer between 2 and 6"),
    ("players=7", "players=7"),
    ("numdice=0", "numdice=0: must be an integer between 1 and 20"),
    ("dice_sides=1", "dice_sides=1: must be an integer between 2 and 20"),
    ("claim_window=0", "claim_window=0: must be an integer of at least 1"),
    ("max_amount=0", "max_amount=0: must be an integer of at least 1"),
])
def test_bad_parameters(parameters, message):
  for name in ("dudo_single_round", "dudo_single_round_ir"):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
      pyspiel.load_game(f"{name}({parameters})")


def test_bad_abstraction():
  with pytest.raises(ValueError, match="abstraction='none': must be one of "
                     "'no_recall', 'type_recall', 'wait_type_recall'"):
    pyspiel.load_game("dudo_single_round_ir(abstraction=none)")
  with pytest.raises(ValueError, match="recall_length=-1"):
    pyspiel.load_game("dudo_single_round_ir(recall_length=-1)")


@pytest.mark.parametrize("names, action", [
    ((), 6), (("1", "1", "1", "1"), 24), (("1", "1", "1", "1"), 25),
    (("1", "1", "1", "1", "1x3"), 2), (("1", "1", "1", "1", "1x3"), 26),
    (("1", "1", "1", "1", "1x3", "Challenge", "Pass", "Pass"), 24),
    (("1", "1", "1", "1"), -3),
])
def test_illegal_actions(names, action):
  state = helpers.start(_FOUR, *names)
  with pytest.raises(ValueError, match=f"action={action}"):
    state.apply_action(action)
