"""Exact best responses to policies with perfect recall, against slower ways."""

import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.runtime import interrupts


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    recall_helpers.SMALL, "dudo(numdice=1,dice_sides=3)",
    "dudo(start_dice=2v1,dice_sides=2,starting_player=1,exact_reward=False)",
    pytest.param(
        "dudo(start_dice=1v2,dice_sides=2,wild_ones=False,die_loss=one)",
        marks=pytest.mark.slow)])
def test_measures_the_real_game(name):
  solver = recall_helpers.solver_after(name, 60)
  policy = solver.average_policy()
  game = solver.game
  values = exploitability.expected_values(game, policy)
  np.testing.assert_allclose(solver.expected_values(), values, atol=1e-9)
  low, high = solver.interval(*solver.rounds[-1])
  value = solver.value(*solver.rounds[-1])
  assert low <= value <= high
  starter = game.starting_player
  assert value == pytest.approx(values[starter])
  for seat, bound in ((starter, high), (1 - starter, -low)):
    best = exploitability.best_response(game, policy, seat)
    assert best.value == pytest.approx(bound, abs=1e-9)
  assert solver.nash_conv() == high - low


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    pytest.param(recall_helpers.SMALL, marks=pytest.mark.slow),
    "dudo(numdice=1,dice_sides=3)"])
def test_open_spiel_measures_the_same(name):
  solver = recall_helpers.solver_after(name, 60)
  policy = solver.average_policy().to_pyspiel()
  assert solver.nash_conv() == pytest.approx(
      pyspiel.nash_conv(solver.game, policy), abs=1e-9)


def _as_match_policy(solver):
  """Returns the average policy as tables of all claims of a round."""
  game = solver.game
  num_claims = game.num_sides * sum(game.start_dice)
  match = abstract_rules.abstract_rules(game, num_claims)
  policy = solver.average_policy()
  tables = {key: np.zeros(match.table_shape(key))
            for a, b in solver.rounds for key in ((a, b), (b, a))}
  for key in solver.rounds:
    start = pyspiel.load_game("dudo", {
        **game.get_parameters(), "start_dice": "{}v{}".format(*key),
        "starting_player": 0})
    claims = game.num_sides * sum(key)
    for mask in range(2**claims):
      history = [c for c in range(claims) if mask >> c & 1]
      role = len(history) % 2
      table = tables[key[role], key[1 - role]]
      for hand in range(game.rolls(key[role]).num_rolls):
        state = start.new_initial_state()
        for action in [*((hand, 0) if role == 0 else (0, hand)), *history]:
          state.apply_action(action)
        row = match.graph(sum(key)).first_row(history)
        first = history[-1] + 1 if history else 0
        for action, chance in policy.action_probabilities(state).items():
          is_dudo = action == start.dudo_action
          table[row + (claims if is_dudo else action) - first, hand] = chance
  return match_policy.MatchPolicy(game, num_claims, tables, {})


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    recall_helpers.SMALL, "dudo(start_dice=2v1,dice_sides=3)",
    "dudo(start_dice=1v2,dice_sides=3)"])
def test_responses_equal_those_of_match_policies(name):
  solver = recall_helpers.solver_after(name, 60)
  response = exploitability.match_best_response(_as_match_policy(solver),
                                                num_threads=1)
  assert solver.exploitability() == pytest.approx(response.exploitability,
                                                  abs=1e-9)
  for key in solver.rounds:
    low, high = solver.interval(*key)
    assert high == pytest.approx(response.responder_starts[key], abs=1e-9)
    assert -low == pytest.approx(response.policy_starts[key], abs=1e-9)


def test_walks_stop_when_the_flag_is_set():
  trainer, _ = recall_helpers.trainer_and_oracle(recall_helpers.SMALL, (2, 1))
  for _ in range(5):
    trainer.iterate()
    trainer.expand(10**9)
  tree, tables = trainer.tree, [table.copy() for table in trainer.tables]
  trainer.flag[0] = True
  for measure in (trainer.evaluator.outcomes, lambda: trainer.expand(10**9),
                  lambda: trainer.evaluator.certify({(1, 1): 0.0},
                                                    {(1, 1): 0.0})):
    with pytest.raises(interrupts.StoppedError):
      measure()
  assert trainer.tree is tree
  for ours, theirs in zip(trainer.tables, tables):
    np.testing.assert_array_equal(ours, theirs)
  game, size = trainer.hands.arrays(np.float64), int(tree.value_begin[-1])
  choices = best_response_kernels.Choices(np.full(size, 99, np.int16),
                                     np.full(size, 99.0, np.float32))
  best_response_kernels.respond(
      game, tree, trainer.tables.cumulative,
      best_response_kernels.Responder(0, *trainer.payoffs[0]),
      best_response_kernels.new_scratch(trainer.hands, trainer.flag), choices)
  assert (choices.gain == 99.0).all()
