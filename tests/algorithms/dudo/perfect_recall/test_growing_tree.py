"""Trees of histories that grow and shrink."""

import numpy as np
import pyspiel
import recall_helpers

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules


def test_full_trees_have_all_histories():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=2)")
  tree = recall_helpers.full_tree(round_hands.RoundHands(
      round_rules.round_rules(game), (1, 1)))
  assert tree.num_nodes == 8  # the sets of the three weakest claims
  assert growing_tree.find(tree, [0, 2]) > 0
  assert growing_tree.find(tree, [3]) == -1


def test_parents_and_ends_follow_from_children():
  game = pyspiel.load_game("dudo(numdice=2)")
  trainer = round_trainer.RecallTrainer(round_rules.round_rules(game),
                                        (2, 1))
  trainer.set_values({(1, 1): -0.027})
  for _ in range(6):
    trainer.iterate()
    responses = trainer.expand(10**9)
    _assert_whole(trainer.tree)
  before = trainer.tree.num_nodes
  trainer.drop(1e3 * responses)
  assert 20 < trainer.tree.num_nodes < before
  _assert_whole(trainer.tree)
  tree = growing_tree.tree_from_rows(trainer.hands,
                                     **growing_tree.rows_of(trainer.tree))
  for ours, theirs in zip(tree, trainer.tree):
    np.testing.assert_array_equal(ours, theirs)


def _assert_whole(tree):
  """Asserts that parents and ends are right, and nodes are in preorder."""
  parent = np.full(tree.num_nodes, -1)
  for node in range(tree.num_nodes):
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      if tree.child[row] >= 0:
        parent[tree.child[row]] = node
        assert tree.parent_row[tree.child[row]] == row
        assert tree.last[tree.child[row]] == tree.claim[row]
  assert tree.parent_row[0] == -1
  for node in range(tree.num_nodes):
    above = node
    while above >= 0:
      assert above <= node < tree.end[above]
      above = parent[above]
    if tree.end[node] < tree.num_nodes:
      assert parent[tree.end[node]] < node
