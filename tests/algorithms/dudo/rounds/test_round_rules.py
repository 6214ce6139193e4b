"""The rounds that a match can have, and its information states."""

import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel import rules as rules_lib
from dudo_spiel.algorithms.dudo.rounds import info_state_count
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.tabular.tree import game_tree


def test_rounds_by_their_dice():
  assert round_rules.round_keys((2, 2)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
  assert round_rules.round_keys((1, 2)) == [(1, 1), (1, 2), (2, 1)]
  assert len(round_rules.round_keys((5, 5))) == 25
  assert (3, 3) not in round_rules.round_keys((3, 2))


def _rounds_after(house, dice):
  """Returns the rounds from one on, in plain Python."""
  found = {dice}
  for role in range(2):
    for quantity in range(1, sum(dice) + 1):
      for count in range(sum(dice) + 1):
        after, winner = rules_lib.resolve_challenge(
            dice, 1 - role, role, quantity, count, house)
        if all(after):
          found |= _rounds_after(house, (after[winner], after[1 - winner]))
  return found


@pytest.mark.parametrize("parameters", [
    "numdice=2", "numdice=3,exact_reward=False", "start_dice=1v3",
    "start_dice=2v1,starting_player=1,die_loss=one"])
def test_rounds_of_a_match_are_those_that_can_follow(parameters):
  game = pyspiel.load_game(f"dudo({parameters})")
  starter = game.starting_player
  first = game.start_dice[starter], game.start_dice[1 - starter]
  keys = round_rules.match_keys(game)
  assert set(keys) == _rounds_after(game.house, first)
  assert keys[-1] == first and sorted(keys, key=sum) == keys


@pytest.mark.parametrize("parameters", [
    "numdice=1,dice_sides=3",
    "start_dice=1v2,dice_sides=2,starting_player=1,wild_ones=False"])
def test_information_states_of_a_match_are_counted(parameters):
  names = [f"dudo({parameters})", *(
      f"dudo_ir({parameters},recall_length={length})" for length in (1, 2, 9))]
  for game in map(pyspiel.load_game, names):
    assert info_state_count.num_info_states(game) == (
        game_tree.GameTree(game).num_info_sets)
