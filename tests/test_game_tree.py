import helpers
import numpy as np
from open_spiel.python import games  # noqa: F401, registers Python games
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.compiled import game_tree

_GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker",
          "dudo(numdice=1,dice_sides=2)", "liar_die(sides=3)",
          "liar_die_ir(sides=3)", "tiny_hanabi")


@pytest.mark.parametrize("game", _GAMES)
def test_nodes_are_the_games_states(game):
  game = pyspiel.load_game(game)
  tree = game_tree.GameTree(game)
  states = {tuple(state.history()): state for state in helpers.all_states(game)}
  assert tree.num_nodes == len(states)
  chance_reach = tree.chance_reach()
  seen = set()
  for node in range(tree.num_nodes):
    history = tuple(tree.history(node))
    seen.add(history)
    state = states[history]
    assert tree.player[node] == state.current_player()
    children = range(tree.child_begin[node], tree.child_begin[node + 1])
    assert [tree.action[child] for child in children] == state.legal_actions()
    assert all(tree.parent[child] == node for child in children)
    if state.is_terminal():
      np.testing.assert_array_equal(tree.returns[node], state.returns())
    elif not state.is_chance_node():
      info_set = tree.info_set[node]
      assert tree.info_states[info_set] == state.information_state_string()
      assert tree.set_player[info_set] == state.current_player()
      assert list(tree.set_actions[info_set]) == state.legal_actions()
    else:
      assert [chance_reach[child] for child in children] == pytest.approx(
          [chance_reach[node] * p for _, p in state.chance_outcomes()])
  assert seen == states.keys()
  assert str(tree.state(tree.set_node[0])) == str(
      states[tuple(tree.history(tree.set_node[0]))])


@pytest.mark.parametrize("game, nodes, sets", [
    # Rudolf's counts of Liar's Dice with one die and 2 to 4 faces.
    ("liars_dice(dice_sides=2)", 64, 32),
    ("liars_dice(dice_sides=3)", 576, 192),
    ("liars_dice(dice_sides=4)", 4096, 1024),
    ("leduc_poker", 3780, 936)])
def test_published_sizes(game, nodes, sets):
  tree = game_tree.GameTree(pyspiel.load_game(game))
  assert np.sum(tree.player >= 0) == nodes
  assert tree.num_info_sets == sets


def test_split_sets_remember():
  tree = game_tree.GameTree(
      pyspiel.load_game("dudo_ir(numdice=1,dice_sides=2,recall_length=1)"))
  real = game_tree.GameTree(pyspiel.load_game("dudo(numdice=1,dice_sides=2)"))
  split = tree.with_perfect_recall()
  # With two players, one's own claims and the last one tell all claims.
  assert split.num_info_sets == real.num_info_sets > tree.num_info_sets
  pairs = set(zip(split.info_set.tolist(), real.info_set.tolist()))
  assert len(pairs) == real.num_info_sets + 1
  assert tree.num_info_sets == len(set(tree.info_set.tolist())) - 1


@pytest.mark.parametrize("game, message", [
    ("matrix_pd", "not sequential.*convert_to_turn_based"),
    ("goofspiel", "not sequential"),
    ("dark_chess", "no information states"),
    ("python_dynamic_routing", "not sequential")])
def test_games_that_do_not_fit(game, message):
  with pytest.raises(ValueError, match=message):
    game_tree.GameTree(pyspiel.load_game(game))


def test_games_that_are_too_large():
  with pytest.raises(ValueError, match="max_nodes=1000 histories; choose"):
    game_tree.GameTree(pyspiel.load_game("dudo"), max_nodes=1000)
