"""Training of a round with perfect recall, against plain Python."""

import numpy as np
from oracles import growing_oracle
from oracles import guarded_oracle
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


def _actions(trainer, node):
  """Returns what is stored at a node, as the oracle names it."""
  tree, num_claims = trainer.tree, trainer.hands.order.num_claims
  return [growing_oracle.DUDO if claim == num_claims else claim for claim in
          tree.claim[tree.row_begin[node]:tree.row_begin[node + 1]].tolist()]


def _regrets(trainer, game, node):
  """Returns [row, hand] float64, regrets at a node with all discounts."""
  tree = trainer.tree
  regrets = trainer.tables.regret(game)[
      tree.table_begin[node]:tree.table_begin[node + 1]].reshape(
          tree.row_begin[node + 1] - tree.row_begin[node], -1)
  return recall_helpers.discounted(trainer, game, node, regrets)


def _assert_equal(trainer, oracle):
  """Asserts that the trees and their tables are equal."""
  nodes, tree = _histories(trainer.tree), trainer.tree
  assert nodes.keys() == oracle.nodes.keys()
  scale = max(oracle.total_weight(), 1e-300)
  for history, node in nodes.items():
    role, actions = len(history) % 2, _actions(trainer, node)
    assert actions == oracle.actions(history)
    hands = range(len(oracle.chances[role]))
    entries = slice(tree.table_begin[node], tree.table_begin[node + 1])
    tables = (
        (oracle.regret, _regrets(trainer, role, node)),
        (oracle.adversary_regret, _regrets(trainer, 1 - role, node)),
        (oracle.cumulative, trainer.tables.cumulative[entries].reshape(
            len(actions), -1) / scale))
    for table, ours in tables:
      unit = scale if table is oracle.cumulative else 1.0
      theirs = [[table[history, hand].get(action, 0.0) / unit for hand in hands]
                for action in actions]
      np.testing.assert_allclose(ours[:, hands], theirs, atol=1e-9)
    if len(oracle.nodes[history]) < trainer.hands.order.num_claims - 1 - (
        history[-1] if history else -1):  # there are others
      begin = tree.value_begin[node]
      ours = recall_helpers.discounted(trainer, 1 - role, node,
                         trainer.tables.unstored_regret[
                             begin:begin + len(hands)])
      theirs = [oracle.adversary_regret[history, hand].get(
          guarded_oracle.UNSTORED, 0.0) for hand in hands]
      np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("name, dice, share", [
    ("dudo(numdice=1,dice_sides=3)", (1, 1), 1e-6),
    ("dudo(numdice=1,dice_sides=3,wild_ones=False)", (1, 1), 1e-2),
    ("dudo(numdice=1)", (1, 1), 0.1),
    (_SMALL, (1, 2), 1e-3), (_SMALL, (2, 1), 1e-6), (_SMALL, (2, 1), 0.1),
    ("dudo(numdice=2,dice_sides=3)", (2, 1), 1e-2)])
def test_equals_the_oracle_step_by_step(name, dice, share):
  trainer, oracle = recall_helpers.trainer_and_oracle(
      name, dice, expansion_fraction=share, drop_fraction=0.02)
  sizes = set()
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
      counts = range(outcomes.shape[2])
      value = sum((-1)**role * np.sum(
          outcomes[role] * trainer.payoffs[role].challenges[:, counts])
                  for role in range(2))
      assert value == pytest.approx(oracle.value(), abs=1e-9)
      oracle.grow(share)
      _assert_equal(trainer, oracle)
      sizes.add(len(oracle.nodes))
    if iteration in (8, 16):
      oracle.drop(0.02 * 0.5 * responses.sum(), oracle.total_weight())
      trainer.drop(responses)
      _assert_equal(trainer, oracle)
  assert len(sizes) > 2  # it did grow


@pytest.mark.oracle
def test_what_was_dropped_may_come_back():
  trainer, oracle = recall_helpers.trainer_and_oracle(
      "dudo(numdice=1,dice_sides=4)", (1, 1), expansion_fraction=1e-6,
      drop_fraction=10.0)
  for _ in range(8):
    trainer.iterate()
    oracle.iterate()
    responses = trainer.expand(10**9)
    oracle.grow(1e-6)
  before = set(oracle.nodes)
  trainer.drop(responses)
  oracle.drop(5.0 * responses.sum(), oracle.total_weight())
  _assert_equal(trainer, oracle)
  dropped = before - set(oracle.nodes)
  assert dropped
  for _ in range(5):
    trainer.iterate()
    oracle.iterate()
    trainer.expand(10**9)
    oracle.grow(1e-6)
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
