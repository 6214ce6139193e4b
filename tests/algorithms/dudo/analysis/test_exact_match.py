"""Matches of a policy with perfect recall against one with tables."""

import numpy as np
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules


def _recall_policy(game, iterations):
  solver = perfect_recall.PerfectRecallSolver(game, num_threads=1,
                                              dtype="float64")
  solver.run(iterations)
  return solver.average_policy()


def _random_tables(game, recall_length):
  rules = abstract_rules.abstract_rules(game, recall_length)
  rng = np.random.default_rng(0)
  tables = {key: rng.random(rules.table_shape(key)).astype(np.float32)**3
            for key in round_rules.round_keys(game.start_dice)}
  return match_policy.MatchPolicy(game, recall_length, tables, {})


def _checked_match(policy, other, game):
  """Returns an exact match, after a comparison with a walk of the game."""
  found = simulation.exact_match(policy, other, game)
  for seat, rate in ((0, found.win_rate_as_starter),
                     (1, found.win_rate_as_other)):
    lineup = [other, other]
    lineup[seat] = policy
    value = exploitability.expected_values(game, lineup)[seat]
    assert rate == pytest.approx((1.0 + value) / 2.0, abs=1e-6)
  return found


@pytest.mark.oracle
@pytest.mark.parametrize("recall_length", [1, 2])
def test_exact_matches_equal_walks(recall_length):
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  policy = _recall_policy(game, 60)
  for other in (_random_tables(game, recall_length),
                simulation.bot_policy(game, "heuristic")):
    found = _checked_match(policy, other, game)
  assert found.win_rate > 0.55  # the heuristic bot


@pytest.mark.oracle
def test_exact_matches_of_several_rounds():
  game = pyspiel.load_game("dudo(start_dice=2v1,dice_sides=2)")
  policy = _recall_policy(game, 200).compressed(100, num_threads=1)
  _checked_match(policy, _random_tables(game, 2), game)
