"""Trees of histories that grow and shrink."""

import pyspiel
import recall_helpers

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.rounds import round_rules


def test_full_trees_have_all_histories():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=2)")
  tree = recall_helpers.full_tree(round_hands.RoundHands(
      round_rules.round_rules(game), (1, 1)))
  assert tree.num_nodes == 8  # the sets of the three weakest claims
  assert growing_tree.find(tree, [0, 2]) > 0
  assert growing_tree.find(tree, [3]) == -1
