import subprocess
import sys

import helpers
import numpy as np
from open_spiel.python import games  # noqa: F401, registers Python games
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.compiled import game_tree
from dudo_spiel.algorithms.compiled import tree_size
from dudo_spiel.algorithms.compiled import tree_walk
from dudo_spiel.algorithms.runtime import ram

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


@pytest.mark.parametrize("game, advice", [
    ("dudo(numdice=2)", "numdice.*fsicfr.MatchSolver"),
    ("dudo", "fsicfr.MatchSolver"),
    ("dudo(numdice=20)", "fsicfr.MatchSolver"),
    ("dudo_ir(start_dice=2v1)", "fsicfr.MatchSolver"),
    ("dudo(players=3,numdice=1)", "players"),
    ("dudo_single_round", "pfsi.PFSISolver"),
    ("neumann_poker(num_ranks=1000)", "num_ranks"),
    ("liar_die(sides=8)", r"\(sides\)"),  # players must be 2
    ("liars_dice(dice_sides=9)", "dice_sides"),
    ("dark_hex", "smaller.*external_sampling_mccfr")])
def test_games_that_are_too_large_are_not_walked(game, advice, monkeypatch):
  game = pyspiel.load_game(game)
  monkeypatch.delattr(tree_walk, "Walk")
  with pytest.raises(ValueError, match=f"^game=.*5,000,000 hist.*{advice}"):
    game_tree.GameTree(game)


@pytest.mark.parametrize("game", [*_GAMES, "neumann_poker(num_ranks=20)"])
def test_a_game_of_just_the_limit_is_walked(game):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  assert game_tree.GameTree(game, max_nodes=size).num_nodes == size
  with pytest.raises(ValueError, match=f"has more than {size - 1:,} histories"):
    game_tree.GameTree(game, max_nodes=size - 1)


@pytest.mark.parametrize("game, is_all", [
    ("neumann_poker(num_ranks=5)", True),
    ("neumann_poker(num_ranks=3,num_bets=5)", True),
    ("neumann_poker(num_ranks=3,asymmetric=True)", True),
    ("liar_die(sides=2)", True), ("liar_die_ir(sides=4)", True),
    ("dudo(numdice=1,dice_sides=3)", False),
    ("dudo(start_dice=2v1,dice_sides=2)", False),
    ("dudo(numdice=1,dice_sides=2)", False)])
def test_games_know_how_many_histories_they_have_at_least(game, is_all):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  assert game.min_histories() <= size
  assert not is_all or game.min_histories() == size


@pytest.mark.parametrize("game", ["liars_dice_ir(dice_sides=3)", "leduc_poker"])
def test_estimates_refuse_no_game_within_the_limit(game):
  game = pyspiel.load_game(game)
  size = game_tree.GameTree(game).num_nodes
  for seed in range(3):
    assert not tree_size.is_surely_larger(game, size, seed)
    assert tree_size.is_surely_larger(game, size // 10, seed)


def test_a_walk_stops_before_memory_is_full(monkeypatch):
  game = pyspiel.load_game("liars_dice(dice_sides=5)")
  monkeypatch.setattr(ram, "available_bytes", lambda: 2**26 + 10**6)
  with pytest.raises(ValueError, match="^game=liars_dice.*GB of memory"):
    game_tree.GameTree(game)


def test_memory_that_a_process_may_take_is_counted():
  program = ("import resource; from dudo_spiel.algorithms.runtime import ram; "
             "before = ram.available_bytes(); "
             "resource.setrlimit(resource.RLIMIT_AS, (2**36, 2**36)); "
             "print(min(before, 2**36) >= ram.available_bytes() > 0); "
             "resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20)); "
             "print(ram.available_bytes() == 0)")
  shown = subprocess.run([sys.executable, "-c", program], check=True,
                         capture_output=True, text=True).stdout
  assert shown.split() == ["True", "True"]
