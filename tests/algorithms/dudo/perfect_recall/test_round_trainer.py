"""Training of a round with perfect recall, against plain Python."""

import numpy as np
from oracles import growing_oracle
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules

_SMALL = recall_helpers.SMALL


def _histories(tree):
  """Returns {history: node} of all nodes."""
  found, stack = {}, [((), 0)]
  while stack:
    history, node = stack.pop()
    found[history] = node
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      if tree.child[row] >= 0:
        stack.append(((*history, int(tree.claim[row])), int(tree.child[row])))
  return found


def _at(trainer, table, history, node):
  """Returns ({action: row of classes}, [hand] class) of a node."""
  tree, hands = trainer.tree, trainer.hands
  rows = tree.claim[tree.row_begin[node]:tree.row_begin[node + 1]].tolist()
  numbers = table[tree.table_begin[node]:tree.table_begin[node + 1]]
  actions = [growing_oracle.DUDO if claim == hands.order.num_claims else claim
             for claim in rows]
  level = hands.hand_level[history[-1] + 1 if history else 0]
  return (dict(zip(actions, numbers.reshape(len(rows), -1))),
          hands.classes[len(history) % 2][level])


def _assert_equal(trainer, oracle):
  """Asserts that the trees and their tables are equal."""
  nodes = _histories(trainer.tree)
  assert nodes.keys() == oracle.nodes.keys()
  for history, node in nodes.items():
    regrets, classes = _at(trainer, trainer.tables.regret, history, node)
    sums, _ = _at(trainer, trainer.tables.cumulative, history, node)
    assert list(regrets) == oracle.actions(history)
    # Regrets that were not needed are discounted later.
    missed = trainer.iteration - int(trainer.tables.last_update[node])
    for action in regrets:
      theirs = [oracle.regret[history, h].get(action, 0.0)
                for h in range(len(classes))]
      ours = regrets[action][classes]
      if missed:
        np.testing.assert_array_equal(np.sign(ours), np.sign(theirs))
      else:
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
      weights = [oracle.cumulative[history, oracle.counts(history, h)].get(
          action, 0.0) for h in range(len(classes))]
      np.testing.assert_allclose(sums[action][classes], weights, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("name, dice, share, answer_fraction", [
    ("dudo(numdice=1,dice_sides=3)", (1, 1), 1e-6, 1.0),
    ("dudo(numdice=1,dice_sides=3,wild_ones=False)", (1, 1), 1e-2, 0.1),
    (_SMALL, (1, 2), 1e-3, 0.1), (_SMALL, (2, 1), 1e-6, 1e9),
    (_SMALL, (2, 1), 0.1, 0.01),
    ("dudo(numdice=2,dice_sides=3)", (1, 2), 1e-2, 0.3)])
def test_equals_the_oracle_step_by_step(name, dice, share, answer_fraction):
  trainer, oracle = recall_helpers.trainer_and_oracle(
      name, dice, expansion_fraction=share, answer_fraction=answer_fraction,
      drop_fraction=0.02)
  sizes, num_answers = set(), 0
  for iteration in range(1, 17):
    trainer.iterate()
    oracle.iterate()
    _assert_equal(trainer, oracle)
    if iteration in (1, 2, 3, 5, 8, 12, 16):
      responses = trainer.expand(10**9)
      np.testing.assert_allclose(
          responses, [oracle.respond(role) for role in range(2)], atol=1e-9)
      outcomes = trainer.evaluator.outcomes()
      assert outcomes.sum() == pytest.approx(1.0)
      value = sum((-1)**role * np.sum(
          outcomes[role] * trainer.payoffs[role].challenges)
                  for role in range(2))
      assert value == pytest.approx(oracle.value(), abs=1e-9)
      num_answers += oracle.grow(share, answer_fraction)
      _assert_equal(trainer, oracle)
      sizes.add(len(oracle.nodes))
    if iteration in (8, 16):
      oracle.drop(0.02 * 0.5 * responses.sum())
      trainer.drop(responses)
      _assert_equal(trainer, oracle)
  assert len(sizes) > 2  # it did grow
  assert (num_answers > 0) == (answer_fraction < 1e3)


@pytest.mark.oracle
def test_what_was_dropped_may_come_back():
  trainer, oracle = recall_helpers.trainer_and_oracle(
      _SMALL, (2, 1), expansion_fraction=1e-6, drop_fraction=10.0)
  for _ in range(8):
    trainer.iterate()
    oracle.iterate()
    responses = trainer.expand(10**9)
    oracle.grow(1e-6, round_trainer.ANSWER_FRACTION)
  before = set(oracle.nodes)
  trainer.drop(responses)
  oracle.drop(5.0 * responses.sum())
  _assert_equal(trainer, oracle)
  dropped = before - set(oracle.nodes)
  assert dropped
  for _ in range(5):
    trainer.iterate()
    oracle.iterate()
    trainer.expand(10**9)
    oracle.grow(1e-6, round_trainer.ANSWER_FRACTION)
    _assert_equal(trainer, oracle)
  assert dropped & set(oracle.nodes)


@pytest.mark.slow
def test_a_node_of_the_full_game_is_small():
  match = round_rules.round_rules(pyspiel.load_game("dudo"))
  trainer = round_trainer.RecallTrainer(match, (5, 5))
  at_first = trainer.memory_bytes
  trainer.set_values({(a, b): 0.1 * (a - b) for a in range(1, 6)
                      for b in range(1, 6)})
  for _ in range(10):
    trainer.iterate()
    trainer.expand(10**9)
  assert trainer.tree.num_nodes > 100
  more = trainer.memory_bytes - at_first
  assert 1_000 < more / trainer.tree.num_nodes < 20_000
