"""Which claims a growing tree stores."""

import numpy as np
import pyspiel

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import expansion_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules


def test_proposals_that_do_not_fit_are_those_that_gain_least():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  trainer = round_trainer.RecallTrainer(match, (2, 1), dtype=np.float64)
  trainer.set_values({(1, 1): -0.027})
  for _ in range(8):
    trainer.iterate()
    trainer.expand(10**9)
  lists = []
  for most in (10**4, 7):
    hands, tree = trainer.hands, trainer.tree
    size = int(tree.value_begin[-1])
    choices = best_response_kernels.Choices(np.zeros(size, np.int16),
                                       np.zeros(size, np.float32))
    found = np.zeros(most, expansion_kernels.PROPOSAL)
    args = (hands.arrays(np.float64), tree, trainer.tables.cumulative,
            best_response_kernels.Responder(0, *trainer.payoffs[0]),
            best_response_kernels.new_scratch(hands), choices)
    best_response_kernels.respond(*args)
    count = expansion_kernels.propose(*args, expansion_kernels.Criterion(
        trainer.tables.cumulative, 1e-9), found)
    lists.append((count, found[:count]))
  (count, everything), (other, best) = lists
  assert count == other > 20 and len(best) == 7
  expected = np.sort(everything["gain"])[-7:]
  np.testing.assert_array_equal(np.sort(best["gain"]), expected)


def test_the_square_of_the_exploitability_bounds_growth():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  sizes = []
  for slope in (0.0, 1e-2):
    trainer = round_trainer.RecallTrainer(match, (2, 1), dtype=np.float64,
                                           expansion_slope=slope)
    trainer.set_values({(1, 1): -0.027})
    for _ in range(8):
      trainer.iterate()
      trainer.expand(10**9)
    sizes.append(trainer.tree.num_nodes)
  assert sizes[0] > sizes[1] > 10


def test_answers_to_the_adversary_are_stored(monkeypatch):
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  gaps, sizes = [], []
  for has_answers in (False, True):
    trainer = round_trainer.RecallTrainer(match, (2, 1), dtype=np.float64,
                                          expansion_slope=1e-2)
    if not has_answers:
      monkeypatch.setattr(trainer, "_propose_answers", lambda role, threshold: (
          np.zeros(0, expansion_kernels.PROPOSAL)))
    trainer.set_values({(1, 1): -0.027})
    for _ in range(60):
      trainer.iterate()
      responses = trainer.expand(10**9)
    gaps.append(0.5 * responses.sum())
    sizes.append(trainer.tree.num_nodes)
  assert sizes[1] > sizes[0] > 10
  assert gaps[1] < 0.9 * gaps[0]
