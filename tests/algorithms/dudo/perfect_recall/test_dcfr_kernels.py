"""Discounted CFR on growing trees: against CFR, and on threads."""

import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts


@pytest.mark.oracle
@pytest.mark.parametrize("sides", [
    4, pytest.param(6, marks=pytest.mark.slow)])
def test_with_everything_stored_it_is_discounted_cfr(sides, monkeypatch):
  # Hands of one class share their average policy here, but not in plain CFR.
  monkeypatch.setattr(round_hands, "hand_levels", lambda order: (
      [tuple(range(order.num_sides))],
      np.zeros(order.num_claims + 1, np.int64)))
  game = pyspiel.load_game(f"dudo(numdice=1,dice_sides={sides})")
  match = round_rules.round_rules(game)
  trainer = round_trainer.RecallTrainer(match, (1, 1), dtype=np.float64)
  trainer.set_state(recall_helpers.full_tree(trainer.hands))
  trainer.set_values({})
  # Both start from the same random regrets. So there are no ties, which
  # rounding would decide, and everywhere some regret stays positive: without
  # one, plain CFR plays uniformly, and a growing tree its default action.
  tree, rng = trainer.tree, np.random.default_rng(0)
  for begin, end, rows in zip(tree.table_begin, tree.table_begin[1:],
                              np.diff(tree.row_begin)):
    numbers = rng.exponential(size=(rows, (end - begin) // rows))
    trainer.tables.regret[begin:end] = (numbers / numbers.sum(axis=0)).ravel()
  plain = cfr.DiscountedCFRSolver(
      game, num_threads=1, initial=perfect_recall.RecallPolicy(
          game, {(1, 1): stored_rounds.StoredRound(
              trainer.hands, tree, trainer.tables.regret.copy())}))
  # CFR's regrets have the chance of the own hand in them.
  plain.tables.regret[:] = plain.tables.strategy / sides
  counts = []
  for iterations in (4, 30):
    for _ in range(iterations):
      trainer.iterate()
    plain.run(iterations)
    responses = trainer.expand(10**9)
    assert responses.sum() == pytest.approx(plain.nash_conv(), abs=1e-9)
    for policy, table in ((plain.current_policy(), trainer.tables.regret),
                          (plain.average_policy(), trainer.tables.cumulative)):
      ours = perfect_recall.RecallPolicy(
          game, {(1, 1): stored_rounds.StoredRound(trainer.hands,
                                                   trainer.tree, table)})
      counts.append(_compare(game, policy, ours))
  assert min(counts) > 20


def _compare(game, policy, ours):
  """Compares two policies in 1v1; returns at how many states."""
  count = 0
  for own in range(game.num_sides):
    for claims in _some_claims(game.dudo_action - 1):
      state = game.new_initial_state()
      hands = (own, 2) if len(claims) % 2 == 0 else (2, own)
      for action in (*hands, *claims):
        state.apply_action(action)
      mine = ours.action_probabilities(state)
      theirs = policy.action_probabilities(state)
      if len(theirs) > 1 and len(set(theirs.values())) == 1:
        continue  # nothing is regretted, or it never plays there
      assert mine == pytest.approx(theirs, abs=1e-9)
      count += 1
  return count


def _some_claims(count):
  """Returns every seventh list of the weakest claims."""
  return [[c for c in range(count) if mask >> c & 1]
          for mask in range(0, 2**count, 7)]


@pytest.mark.slow
def test_threads_change_nothing(monkeypatch):
  monkeypatch.setattr(round_trainer, "MIN_CUT_ENTRIES", 0)
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  trainers = [round_trainer.RecallTrainer(match, (2, 1), num_threads=threads)
              for threads in (1, 3)]
  with interrupts.thread_pool(3) as pool:
    for trainer, threads in zip(trainers, (None, pool)):
      trainer.set_values({(1, 1): -0.027})
      for _ in range(30):
        trainer.iterate(threads)
        responses = trainer.expand(10**9, threads)
  assert trainers[0].tree.num_nodes > 50
  for first, second in zip(trainers[0].tables, trainers[1].tables):
    np.testing.assert_array_equal(first, second)
  # A tree that is not cut for threads learns the same, up to rounding.
  monkeypatch.undo()
  whole = round_trainer.RecallTrainer(match, (2, 1))
  whole.set_values({(1, 1): -0.027})
  for _ in range(30):
    whole.iterate()
    expected = whole.expand(10**9)
  np.testing.assert_allclose(responses, expected, atol=1e-3)
