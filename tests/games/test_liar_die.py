import helpers
import pyspiel
import pytest

import dudo_spiel  # noqa: F401


@pytest.mark.parametrize("roll, claim, gain", [
    ("3", "Claim 3", 1.0), ("4", "Claim 3", 1.0), ("2", "Claim 3", -1.0)])
def test_a_doubt_compares_roll_and_claim(roll, claim, gain):
  state = helpers.start("liar_die", roll, claim, "Doubt")
  assert state.returns() == [gain, -gain]
  state = helpers.start("liar_die", "1", "Claim 1", "Accept", roll, claim,
                        "Doubt")
  assert state.returns() == [-gain, gain]


def test_claims_grow_and_the_claimants_take_turns():
  state = helpers.start("liar_die", "5")
  assert helpers.legal(state) == [f"Claim {n}" for n in range(1, 7)]
  actors = []
  for name in ["Claim 2", "Accept", "1", "Claim 4", "Accept", "6", "Claim 5"]:
    actors.append(state.current_player())
    helpers.do(state, name)
    if name == "6":
      assert helpers.legal(state) == ["Claim 5", "Claim 6"]
  assert actors == [0, 1, -1, 1, 0, -1, 0]


def test_the_highest_claim_can_only_be_doubted():
  state = helpers.start("liar_die", "5", "Claim 6")
  assert helpers.legal(state) == ["Doubt"]
  with pytest.raises(ValueError, match="action=6: not legal for player 1"):
    state.apply_action(state.get_game().accept_action)
  assert helpers.do(state, "Doubt").returns() == [-1.0, 1.0]


def test_an_accepted_roll_stays_hidden_for_good():
  path = ["Claim 2", "Accept", "4", "Claim 4", "Accept", "3", "Claim 5"]
  for end in ([], ["Doubt"]):
    views = {helpers.start("liar_die", roll, *path, *end)
             .information_state_string(1) for roll in "123456"}
    assert len(views) == 1
  views = {helpers.start("liar_die", roll, *path).information_state_string(0)
           for roll in "123456"}
  assert len(views) == 6


def test_abstraction():
  state = helpers.start("liar_die_ir", "1", "Claim 2")
  assert state.information_state_string() == "p1 claim:2 phase:answer"
  helpers.do(state, "Accept", "3")
  assert state.information_state_string() == "p1 roll:3 claim:2 phase:claim"
  helpers.do(state, "Claim 4")
  assert state.information_state_string() == (
      "p0 previous:2 claim:4 phase:answer")


@pytest.mark.parametrize("sides", [2, 3, 6])
def test_longest_game(sides):
  game = pyspiel.load_game(f"liar_die(sides={sides})")
  state = game.new_initial_state()
  while not state.is_terminal():
    state.apply_action(state.legal_actions()[0])
  assert len(state.history()) == game.max_history_length() == 3 * sides


@pytest.mark.parametrize("name", ["liar_die", "liar_die_ir"])
@pytest.mark.parametrize("sides", [1, 0, -3, 101])
def test_bad_sides(name, sides):
  with pytest.raises(ValueError, match=f"^sides={sides}: must be an integer"):
    pyspiel.load_game(f"{name}(sides={sides})")


@pytest.mark.parametrize("names, action", [
    ((), 6), (("3",), 6), (("3",), 7), (("3", "Claim 4"), 5),
    (("3", "Claim 4", "Doubt"), 6)])
def test_illegal_actions(names, action):
  state = helpers.start("liar_die", *names)
  with pytest.raises(ValueError, match=f"action={action}"):
    state.apply_action(action)
