"""States, actions and observations as OpenSpiel's structs, which are JSON."""

import json
import random

import helpers
import pyspiel
import pytest

import dudo_spiel  # noqa: F401

# All games: small enough to walk.
_SMALL = ["dudo(start_dice=2v1,dice_sides=2)",
          "dudo(players=3,numdice=1,dice_sides=2,die_loss=one)",
          "dudo_ir(start_dice=2v1,dice_sides=2,recall_length=2)",
          "dudo_single_round(players=3,numdice=1,dice_sides=2)",
          "dudo_single_round_ir(players=3,numdice=1,dice_sides=2)",
          "dudo_single_round_ir(players=3,numdice=1,dice_sides=2,"
          "abstraction=no_recall)",
          "neumann_poker(num_ranks=3)", "liar_die(sides=3)",
          "liar_die_ir(sides=4)", "dark_chess_small(moves_per_player=1)"]
_LARGE = ["dudo", "dudo(players=4)", "dudo_ir", "dudo_single_round",
          "dudo_single_round_ir", "neumann_poker", "liar_die", "liar_die_ir",
          "dark_chess_small"]


def _dict(struct):
  """Returns the dict of a struct, after it was JSON."""
  assert json.loads(struct.to_json()) == struct.to_dict()
  return struct.to_dict()


@pytest.mark.parametrize("game", _SMALL)
def test_an_observation_has_what_the_information_state_has(game):
  """So it hides what is hidden, and what players of `_ir` games forget."""
  texts, observations, states = {}, {}, {}
  for state in helpers.all_states(pyspiel.load_game(game)):
    text = json.dumps(_dict(state.to_struct()))
    assert text == json.dumps(json.loads(state.to_json()))
    # Two states with one struct are the same.
    assert states.setdefault(text, str(state)) == str(state)
    for player in range(state.num_players()):
      observed = json.dumps(_dict(state.to_observation_struct(player)))
      known = state.information_state_string(player)
      assert texts.setdefault(observed, known) == known
      assert observations.setdefault(known, observed) == observed
  assert len(states) > 30


@pytest.mark.parametrize("game", _LARGE)
def test_observations_do_not_tell_what_is_hidden(game):
  rng = random.Random(1)
  state = pyspiel.load_game(game).new_initial_state()
  while not state.is_terminal():
    state.apply_action(rng.choice(state.legal_actions()))
    for player in range(state.num_players()):
      other = state.resample_from_infostate(player, rng.random)
      assert (other.to_observation_struct(player).to_dict() ==
              state.to_observation_struct(player).to_dict())


@pytest.mark.parametrize("game", _SMALL)
def test_actions_are_structs(game):
  for state in helpers.all_states(pyspiel.load_game(game)):
    names = set()
    for action in state.legal_actions():
      struct = state.action_to_struct(action)
      found = _dict(struct)
      assert found["name"] == state.action_to_string(action)
      assert state.struct_to_actions(struct) == [action]
      assert state.validate_action_struct(struct).ok()
      names.add(json.dumps(found))
      child = state.clone()
      assert child.apply_action_struct(struct).ok()
      assert str(child) == str(state.child(action))
    assert len(names) == len(state.legal_actions())


def test_what_structs_say():
  state = helpers.start("dudo(start_dice=2v1)", "25", "3", "2x3", "Dudo", "3",
                        "6", "1x2")
  public = {"dice": [1, 1], "starter": 1, "claims": ["1x2"],
            "past_rounds": [{"dice": [2, 1], "starter": 0,
                             "rolls": [[2, 5], [3]], "claims": ["2x3"]}]}
  assert state.to_struct().to_dict() == {
      **public, "current_player": 0, "roll": [[3], [6]]}
  assert state.to_observation_struct(1).to_dict() == {
      **public, "player": 1, "roll": [6]}
  assert state.action_to_struct(0, 7).to_dict() == {
      "name": "2x3", "quantity": 2, "rank": 3}
  forgetful = helpers.start("dudo_ir(numdice=1,recall_length=1)", "3", "6",
                            "1x2", "1x3")
  assert forgetful.to_observation_struct(0).to_dict() == {
      "player": 0, "roll": [3], "dice_in_turn": [1, 1], "claims": ["1x3"]}


def test_structs_for_nobody_and_of_other_states_are_refused():
  state = helpers.start("dudo(numdice=1)", "2", "5")
  dudo = helpers.start("dudo(numdice=1)", "2", "5", "1x3").action_to_struct(12)
  with pytest.raises(ValueError, match="^action_struct={'name': 'Dudo'}: must "
                     "be a legal action"):
    state.apply_action_struct(dudo)
  for player in (-1, 2):
    with pytest.raises(ValueError, match="^player=.*between 0 and 1"):
      state.to_observation_struct(player)
