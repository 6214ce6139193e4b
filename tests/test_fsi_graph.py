import functools
import random

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.compiled import game_tree
from dudo_spiel.algorithms.graphs import game_graph

_CHANCE = game_graph.CHANCE
_TERMINAL = game_graph.TERMINAL


@functools.cache
def _graph(game):
  return game_graph.make_graph(pyspiel.load_game(game))


@functools.cache
def _walked(game):
  return game_graph.graph_of_tree(game_tree.GameTree(pyspiel.load_game(game)))


def _edges(graph, node):
  begin, end = graph.arrays.child_begin[node:node + 2]
  return graph.arrays.child[begin:end].tolist()


def _set(graph, node):
  """Returns the number of a node's information set."""
  entry = graph.arrays.entry[node]
  return int(np.searchsorted(graph.set_entry, entry, side="right")) - 1


def _label(graph, node):
  """Returns all about a player's node but its children."""
  s = _set(graph, node)
  assert graph.set_player[s] == graph.arrays.actor[node]
  assert graph.arrays.entry[node] == graph.set_entry[s]
  assert len(_edges(graph, node)) == len(graph.set_actions[s])
  return (int(graph.set_player[s]), graph.info_states[s], graph.set_actions[s])


def _canonical(graph, interned):
  """Returns [node], a number for each node: equal for equal continuations.

  Chance nodes that follow each other count as one.

  Args:
    graph: the graph.
    interned: dict of the numbers, shared by the graphs that are compared.
  """
  numbers = [None] * graph.num_nodes
  outcomes = {}  # chance node -> {number: probability}
  for node in range(graph.num_nodes - 1, -1, -1):
    actor = graph.arrays.actor[node]
    edges = _edges(graph, node)
    assert all(child > node for child in edges)
    if actor == _TERMINAL:
      key = float(graph.arrays.value[node])
    elif actor == _CHANCE:
      begin = graph.arrays.entry[node]
      chances = graph.arrays.chance[begin:begin + len(edges)]
      assert sum(chances) == pytest.approx(1.0, abs=1e-12)
      mixed = outcomes[node] = {}
      for child, chance in zip(edges, chances):
        for number, p in outcomes.get(child, {numbers[child]: 1.0}).items():
          mixed[number] = mixed.get(number, 0.0) + p * chance
      key = tuple(sorted((n, round(p, 12)) for n, p in mixed.items()))
    else:
      key = _label(graph, node), tuple(numbers[child] for child in edges)
    numbers[node] = interned.setdefault(key, len(interned))
  return numbers


_SMALL_MATCHES = [
    *(f"dudo_ir(start_dice=1v1,dice_sides={sides},recall_length={recall})"
      for sides in (2, 3) for recall in (1, 2, 3)),
    "dudo_ir(start_dice=1v1,dice_sides=3,recall_length=100)",
    "dudo_ir(start_dice=1v1,dice_sides=3,starting_player=1,wild_ones=False)",
    *(f"dudo_ir(start_dice=2v1,dice_sides=2,recall_length={recall})"
      for recall in (1, 2, 3)),
    "dudo_ir(start_dice=1v2,dice_sides=2,recall_length=2,starting_player=1,"
    "exact_reward=False,die_loss=one)",
]


@pytest.mark.parametrize("game", _SMALL_MATCHES)
def test_rules_and_walk_give_the_same_graph(game):
  match, walked = _graph(game), _walked(game)
  interned = {}
  ours, theirs = _canonical(match, interned), _canonical(walked, interned)
  assert ours[0] == theirs[0]
  # All of both graphs hangs on the root, but for the second chance node of a
  # round, which the rules do not have.
  players = match.arrays.actor >= 0
  assert (set(np.array(ours)[players]) ==
          set(np.array(theirs)[walked.arrays.actor >= 0]))


@pytest.mark.parametrize("game", _SMALL_MATCHES)
def test_rules_and_walk_give_the_same_sets(game):
  match, walked = _graph(game), _walked(game)

  def sets(graph):
    assert len(set(graph.info_states)) == len(graph.info_states)
    return set(zip(graph.info_states, graph.set_player.tolist(),
                   graph.set_actions))

  assert sets(match) == sets(walked)
  assert match.num_entries == walked.num_entries


_MATCHES = [
    *_SMALL_MATCHES,
    "dudo_ir(start_dice=1v1)",
    "dudo_ir(start_dice=2v2,recall_length=1)",
    "dudo_ir(start_dice=3v2,dice_sides=3,recall_length=2)",
    "dudo_ir(start_dice=1v4,dice_sides=3,recall_length=2,wild_ones=False,"
    "die_loss=one,starting_player=1)",
    "dudo_ir(start_dice=3v3,dice_sides=2,recall_length=4,exact_reward=False)",
]


@pytest.mark.parametrize("game", _MATCHES)
def test_the_size_is_known_before(game):
  graph = _graph(game)
  game = graph.game
  assert graph.num_edges == game_graph.num_match_edges(
      game.start_dice, game.starting_player, game.num_sides,
      game.recall_length, game.house)


@pytest.mark.parametrize("game", [*_MATCHES, "kuhn_poker", "leduc_poker",
                                  "liar_die_ir(sides=4)"])
def test_nodes_are_in_topological_order_and_all_reachable(game):
  arrays = _graph(game).arrays
  parent = np.repeat(np.arange(len(arrays.actor)), np.diff(arrays.child_begin))
  assert np.all(arrays.child > parent)
  # A node is reachable if it is a child: its parents stand before it.
  assert set(arrays.child.tolist()) == set(range(1, len(arrays.actor)))
  assert np.all((np.diff(arrays.child_begin) == 0) ==
                (arrays.actor == _TERMINAL))


@pytest.mark.parametrize("game", [
    "dudo_ir(start_dice=2v2)",
    "dudo_ir(start_dice=1v3,wild_ones=False,die_loss=one,starting_player=1)",
    "dudo_ir(start_dice=4v3,dice_sides=2,recall_length=5,exact_reward=False)",
    "dudo_ir(start_dice=1v1,dice_sides=12,recall_length=2)",
])
def test_random_matches_go_through_the_graph(game):
  graph = _graph(game)
  labels = dict(zip(graph.chance_nodes.tolist(), graph.chance_labels))
  rng = random.Random(1)
  for _ in range(200):
    node, state = 0, graph.game.new_initial_state()
    while not state.is_terminal():
      if state.is_chance_node():
        tables = [graph.game.rolls(n) for n in state.dice]
        assert labels[node] == (tuple(state.dice), state.round().starter)
        rolls = [rng.randrange(table.num_rolls) for table in tables]
        outcome = rolls[0] * tables[1].num_rolls + rolls[1]
        chance = graph.arrays.chance[graph.arrays.entry[node] + outcome]
        assert chance == pytest.approx(
            tables[0].probabilities[rolls[0]] *
            tables[1].probabilities[rolls[1]], rel=1e-12)
        for roll in rolls:
          state.apply_action(roll)
      else:
        legal = state.legal_actions()
        assert _label(graph, node) == (
            state.current_player(), state.information_state_string(),
            tuple(legal))
        outcome = min(rng.randrange(len(legal)), rng.randrange(len(legal)))
        if rng.random() < 0.1:
          outcome = len(legal) - 1
        state.apply_action(legal[outcome])
      node = _edges(graph, node)[outcome]
    assert graph.arrays.actor[node] == _TERMINAL
    assert graph.arrays.value[node] == state.returns()[0]


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker",
                                  "neumann_poker(num_ranks=4)",
                                  "liar_die(sides=4)", "liar_die_ir(sides=4)",
                                  "liars_dice_ir(dice_sides=3)",
                                  "dudo_ir(start_dice=1v1,dice_sides=3)"])
def test_merged_histories_have_the_same_continuation(game):
  tree = game_tree.GameTree(pyspiel.load_game(game))
  graph = _walked(game)
  # No two nodes are the same (chance nodes that follow each other apart), ...
  numbers = np.array(_canonical(graph, {}))
  players = graph.arrays.actor >= 0
  assert len(set(numbers[players])) == np.sum(players)
  # ... and every history leads through nodes that tell what it is.
  node_of = np.zeros(tree.num_nodes, dtype=np.int64)
  for node in range(tree.num_nodes):
    merged = node_of[node]
    begin, end = tree.child_begin[node:node + 2]
    node_of[begin:end] = _edges(graph, merged)
    assert graph.arrays.actor[merged] == tree.player[node]
    if tree.player[node] == _TERMINAL:
      assert graph.arrays.value[merged] == tree.returns[node, 0]
    elif tree.player[node] == _CHANCE:
      first = graph.arrays.entry[merged]
      np.testing.assert_array_equal(
          graph.arrays.chance[first:first + end - begin],
          tree.chance[begin:end])
    else:
      assert _set(graph, merged) == tree.info_set[node]
  labels = dict(zip(graph.chance_nodes.tolist(), graph.chance_labels))
  for node, history in labels.items():
    assert any(tree.history(n) == history
               for n in np.flatnonzero(node_of == node))


@pytest.mark.parametrize("game,nodes,edges,sets", [
    ("kuhn_poker", 28, 49, 12),
    ("liar_die_ir(sides=3)", 31, 51, 19),
    ("dudo_ir(start_dice=1v1)", 16707, 57132, 2784),
    ("dudo_ir(start_dice=1v2)", 226876, 1077102, 25302),
    ("dudo_ir(start_dice=2v1)", 226876, 1077102, 25302),
    ("dudo_ir(start_dice=2v2)", 2248207, 13540905, 134640),
])
def test_sizes(game, nodes, edges, sets):
  graph = _graph(game)
  assert (graph.num_nodes, graph.num_edges, len(graph.info_states)) == (
      nodes, edges, sets)
  assert graph.memory_bytes < 8 * (3 * nodes + edges)


@pytest.mark.parametrize("game,expected", [
    ("dudo(start_dice=1v2,wild_ones=False)",
     "dudo_ir(start_dice=1v2,wild_ones=False,recall_length=2)"),
    ("dudo_ir(recall_length=5)", "dudo_ir(recall_length=5)"),
    ("liars_dice(dice_sides=3)", "liars_dice_ir(dice_sides=3,recall_length=2)"),
    ("liars_dice_ir", "liars_dice_ir"),
    ("liar_die_ir", "liar_die_ir"),
    ("kuhn_poker", "kuhn_poker"),
])
def test_abstraction(game, expected):
  game, expected = pyspiel.load_game(game), pyspiel.load_game(expected)
  ours = game_graph.abstraction(game, 2)
  assert ours.get_type().short_name == expected.get_type().short_name
  assert ours.get_parameters() == expected.get_parameters()


def test_fingerprints_differ():
  games = ["kuhn_poker", "liar_die_ir(sides=3)",
           "dudo_ir(start_dice=1v1,recall_length=2)", "dudo_ir(start_dice=1v1)",
           "dudo_ir(start_dice=1v1,starting_player=1)",
           "dudo_ir(start_dice=1v1,wild_ones=False)"]
  prints = {_graph(game).fingerprint() for game in games}
  assert len(prints) == len(games)
  again = game_graph.make_graph(pyspiel.load_game(games[0]))
  assert again.fingerprint() in prints


@pytest.mark.parametrize("game,sizes", [
    ("dudo_ir", "1v1, 1v2, 2v2, 1v3"),
    ("dudo_ir(start_dice=3v2)", "1v1, 1v2, 2v2, 1v3"),
    ("dudo_ir(start_dice=2v2,recall_length=100)", "1v1"),
    ("dudo_ir(start_dice=1v1,dice_sides=20,recall_length=9)", "none"),
])
def test_large_matches_are_refused_at_once(game, sizes):
  with pytest.raises(ValueError, match=f"start_dice=.* edges, more than .*"
                     f"one of: {sizes} .*fsicfr.MatchSolver"):
    game_graph.make_graph(pyspiel.load_game(game))


def test_returns_must_sum_up_to_zero():
  tree = game_tree.GameTree(pyspiel.load_game("kuhn_poker"))
  tree.returns = tree.returns + 1.0
  with pytest.raises(ValueError, match="sum up to 2.0; must be a zero-sum"):
    game_graph.graph_of_tree(tree)
