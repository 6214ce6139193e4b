"""What tests of perfect recall share."""

import functools

import numpy as np
from oracles import guarded_oracle
import pyspiel

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions

SMALL = "dudo(start_dice=2v1,dice_sides=2)"


def trainer_and_oracle(name, dice, **kwargs):
  """Returns a `RecallTrainer` and a `GuardedOracle` of the same round.

  Args:
    name: the game string.
    dice: (starter's dice, other's dice).
    **kwargs: other arguments of the trainer.
  """
  game = pyspiel.load_game(name)
  match = round_rules.round_rules(game)
  trainer = round_trainer.RecallTrainer(match, dice, dtype=np.float64,
                                         expansion_slope=0.0, **kwargs)
  # Random leaves have no ties, which rounding would decide.
  shape = game.num_sides * sum(dice), sum(dice) + 1
  gets = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *shape))
  trainer.payoffs = tuple(
      trainer.hands.padded_payoffs(
          transitions.Payoffs(gets[role], -gets[1 - role]))
      for role in range(2))
  oracle = guarded_oracle.GuardedOracle(
      dice, game.num_sides, game.house.wild_ones, gets.tolist())
  return trainer, oracle


@functools.cache
def solver_after(name, iterations):
  """Returns a solver of a game, after so many iterations."""
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(name), num_threads=1, dtype="float64")
  solver.run(iterations)
  return solver


def discounted(trainer, game, node, regrets):
  """Returns regrets of a node after the discounts that it has missed."""
  updated = int((trainer.tables.update_0, trainer.tables.update_1)[game][node])
  positive = np.prod([t**1.5 / (t**1.5 + 1.0)
                      for t in range(updated + 1, trainer.iteration + 1)])
  negative = guarded_oracle.NEGATIVE**(trainer.iteration - updated)
  return regrets * np.where(regrets > 0.0, positive, negative)


def full_tree(hands):
  """Returns the `TreeArrays` of a round in which every claim is stored."""
  num_claims = hands.order.num_claims
  tree = growing_tree.new_tree(hands)
  while True:
    missing = []
    for node in range(tree.num_nodes):
      rows = range(tree.row_begin[node], tree.row_begin[node + 1])
      stored = set(tree.claim[rows].tolist())
      missing += [(node, -1, claim)
                  for claim in range(tree.last[node] + 1, num_claims)
                  if claim not in stored]
      missing += [(node, row, claim) for row in rows if tree.child[row] < 0
                  for claim in range(tree.claim[row] + 1, num_claims)]
    if not missing:
      return tree
    tree, _, _ = growing_tree.changed(
        hands, tree, proposals=tuple(np.array(missing, np.int64).T.copy()))
