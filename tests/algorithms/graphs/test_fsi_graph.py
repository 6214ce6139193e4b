import functools

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.dudo_single_round import single_round_graph
from dudo_spiel.algorithms.graphs import fsicfr_solver
from dudo_spiel.algorithms.graphs import game_graph
from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.tabular.tree import game_tree

_CHANCE = graph_arrays.CHANCE
_TERMINAL = graph_arrays.TERMINAL
_SINGLE_ROUND = ("dudo_single_round(players=3,numdice=1,dice_sides=2,"
                 "claim_window=3,max_amount=2)")


@functools.cache
def _graph(game):
  return single_round_graph.make_graph(pyspiel.load_game(game))


def _edges(graph, node):
  begin, end = graph.arrays.child_begin[node:node + 2]
  return graph.arrays.child[begin:end].tolist()


def _set(graph, node):
  """Returns the number of a node's information set."""
  entry = graph.arrays.entry[node]
  return int(np.searchsorted(graph.set_entry, entry, side="right")) - 1


def _key(graph, node):
  """Returns what tells a node from others."""
  edges = _edges(graph, node)
  actor, entry = graph.arrays.actor[node], graph.arrays.entry[node]
  if actor == _TERMINAL:
    return "terminal", *graph.returns[node]
  if actor == _CHANCE:
    chances = graph.arrays.chance[entry:entry + len(edges)]
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)
    return "chance", *chances, *edges
  s = _set(graph, node)
  assert graph.set_player[s] == actor
  assert graph.set_entry[s] == entry
  assert len(edges) == len(graph.set_actions[s])
  return s, *edges


_WALKED = ["kuhn_poker", "leduc_poker", "kuhn_poker(players=3)",
           "liar_die_ir(sides=4)", "neumann_poker(num_ranks=4)",
           "liars_dice_ir(dice_sides=3)",
           "dudo_ir(start_dice=1v1,dice_sides=3)",
           "dudo_ir(start_dice=1v2,dice_sides=2,recall_length=2)"]


@pytest.mark.parametrize("game", [*_WALKED, _SINGLE_ROUND])
def test_nodes_are_in_topological_order_and_all_reachable(game):
  graph = _graph(game)
  arrays = graph.arrays
  degree = np.diff(arrays.child_begin)
  parent = np.repeat(np.arange(graph.num_nodes), degree)
  assert np.all(arrays.child > parent)
  assert np.all((degree == 0) == (arrays.actor == _TERMINAL))
  # A node is reachable if it is a child: its parents stand before it.
  children = set(arrays.child.tolist())
  assert children >= set(range(1, graph.num_nodes))
  assert max(children) < len(graph.returns)
  assert (graph.num_nodes < len(graph.returns)) == (game == _SINGLE_ROUND)


@pytest.mark.parametrize("game", _WALKED)
def test_merged_histories_have_the_same_continuation(game):
  tree = game_tree.GameTree(pyspiel.load_game(game))
  graph = game_graph.WalkedGraph(tree)
  # No two nodes are the same, ...
  keys = [_key(graph, node) for node in range(graph.num_nodes)]
  assert len(set(keys)) == graph.num_nodes
  # ... and every history leads through nodes that tell what it is.
  node_of = np.zeros(tree.num_nodes, dtype=np.int64)
  for node in range(tree.num_nodes):
    merged = node_of[node]
    begin, end = tree.child_begin[node:node + 2]
    node_of[begin:end] = _edges(graph, merged)
    assert graph.arrays.actor[merged] == tree.player[node]
    if tree.player[node] == _TERMINAL:
      np.testing.assert_array_equal(graph.returns[merged], tree.returns[node])
    elif tree.player[node] == _CHANCE:
      first = graph.arrays.entry[merged]
      np.testing.assert_array_equal(
          graph.arrays.chance[first:first + end - begin],
          tree.chance[begin:end])
    else:
      assert _set(graph, merged) == tree.info_set[node]
  depth = len(tree.depth_begin) - 2
  assert graph_kernels.longest_path(graph.arrays) == depth


def test_chance_nodes_are_never_taken_for_terminals():
  # The returns 1 and 0 look like the probability 1 of an outcome, node 0.
  game = pyspiel.load_efg_game('''
EFG 2 R "one outcome" { "A" "B" } ""
p "" 1 1 "" { "l" "r" } 0
t "" 1 "" { 1 0 }
c "" 1 "" { "o" 1 } 0
t "" 2 "" { 5 5 }
''')
  graph = game_graph.walked_graph(game)
  assert sorted(graph.arrays.actor.tolist()) == [_TERMINAL, _TERMINAL, _CHANCE,
                                                 0]


@pytest.mark.parametrize("game,nodes,edges,sets", [
    ("kuhn_poker", 28, 49, 12),
    ("liar_die_ir(sides=3)", 31, 51, 19),
    ("dudo_ir(start_dice=1v1,dice_sides=3)", 364, 910, 156),
])
def test_sizes(game, nodes, edges, sets):
  graph = _graph(game)
  assert (graph.num_nodes, graph.num_edges, len(graph.info_states)) == (
      nodes, edges, sets)
  assert graph.memory_bytes < 8 * (6 * nodes + edges)
  assert graph.max_degree == np.diff(graph.arrays.child_begin).max()


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
  ours = fsicfr_solver.abstraction(game, 2)
  assert ours.get_type().short_name == expected.get_type().short_name
  assert ours.get_parameters() == expected.get_parameters()


def test_fingerprints_differ():
  games = ["kuhn_poker", "kuhn_poker(players=3)", "liar_die_ir(sides=3)",
           "dudo_ir(start_dice=1v1,dice_sides=3,recall_length=2)",
           "dudo_ir(start_dice=1v1,dice_sides=3)",
           "dudo_ir(start_dice=1v1,dice_sides=3,starting_player=1)",
           "dudo_ir(start_dice=1v1,dice_sides=3,wild_ones=False)",
           _SINGLE_ROUND, _SINGLE_ROUND.replace("numdice=1", "numdice=2"),
           *(f"dudo_single_round_ir{_SINGLE_ROUND[17:-1]},abstraction={name})"
             for name in ("type_recall", "no_recall"))]
  prints = {_graph(game).fingerprint() for game in games}
  assert len(prints) == len(games)
  for game in ("kuhn_poker", _SINGLE_ROUND):
    again = single_round_graph.make_graph(pyspiel.load_game(game))
    assert again.fingerprint() in prints


def test_returns_must_sum_up_to_zero(monkeypatch):
  graph = game_graph.walked_graph(pyspiel.load_game("kuhn_poker"))
  graph.returns = graph.returns + 1.0
  monkeypatch.setattr(game_graph, "walked_graph", lambda game, max_nodes: graph)
  with pytest.raises(ValueError, match="^game=kuhn_poker.*sum up to 2.0; must "
                     "be a zero-sum"):
    fsicfr_solver.FSICFRSolver(graph.game)
