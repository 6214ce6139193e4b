"""Values of terminals against plain products of matrices."""

from typing import NamedTuple

import numpy as np
import pytest

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.forms import deal_terminals
from dudo_spiel.algorithms.tabular.updates import set_blocks

pytestmark = pytest.mark.oracle


class _Arrays(NamedTuple):
  """The part of a deal form that terminals need."""
  actor: np.ndarray
  edge_begin: np.ndarray
  edge_row: np.ndarray
  group_begin: np.ndarray
  hand_begin: np.ndarray
  num_hands: np.ndarray
  cell_begin: np.ndarray
  matrix_0: np.ndarray
  matrix_1: np.ndarray
  runs: np.ndarray
  run_begin: np.ndarray
  table_of: np.ndarray
  step_index: np.ndarray
  step_coefficient: np.ndarray


def _payoffs(hands, kinds):
  """Returns payoffs with the given matrices at the terminals; -1: steps."""
  rng = np.random.default_rng(5)
  matrices = rng.normal(size=(2, max(kinds) + 1, *hands))
  ranks = [rng.permutation(count) for count in hands]
  steps = np.sign(ranks[0][:, None] - ranks[1]).astype(float)
  tables = [[steps if kind < 0 else of_player[kind] for kind in kinds]
            for of_player in matrices]
  return [np.stack(tables[0], axis=-1),
          np.stack([table.T for table in tables[1]], axis=-1)]


def _hand_groups(counts, cuts):
  """Returns (group_begin, hand_begin, num_hands) of hands cut into groups."""
  begins = [count * cut // cuts for count in counts for cut in range(cuts)]
  ends = [count * (cut + 1) // cuts for count in counts for cut in range(cuts)]
  return (np.array([0, cuts, 2 * cuts]), np.array(begins),
          np.array(ends) - np.array(begins))


@jit.kernel
def write_values(workspace, group, player, c):
  deal_terminals.write_values(jit.borrowed(workspace), group, player, c)


_LONG = [0] * 21 + [1, 2, 1, 3, 3, 0, 2] + [1] * 16 + [2]


@pytest.mark.parametrize("dtype, tolerance", [
    (np.float64, 1e-12),
    pytest.param(np.float32, 1e-4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("hands, cuts, kinds", [
    ((6, 6), 1, _LONG), ((2, 3), 1, [0]), ((8, 8), 1, [0, 1, 2]),
    ((13, 9), 1, _LONG), ((21, 10), 2, _LONG), ((3, 40), 3, _LONG),
    ((17, 20), 2, [-1, -1, 0, 0, 1, -1] + [0] * 18 + [-1])])
def test_values_are_products(hands, cuts, kinds, dtype, tolerance):
  # In class 0 player 0 chooses between two terminals at each node; chance
  # leads from each node of class 1 to one; the last class has all terminals.
  few = len(kinds) // 3
  nodes = np.array([few, len(kinds) - 2 * few, len(kinds)])
  payoffs = _payoffs(hands, kinds)
  runs, run_begin, table_of, matrices, steps = deal_terminals.find_runs(
      payoffs, np.arange(len(kinds)), np.array([few, few, nodes[1]]), cuts > 1)
  if -1 not in kinds:
    assert len(matrices[0]) == len(set(kinds))
  group_begin, hand_begin, num_hands = _hand_groups(hands, cuts)
  sizes = num_hands[:, None] * nodes
  sizes[:, -1] += deal_terminals.PADDING
  begins = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
  targets = begins[:, -1:] + num_hands[:, None] * [0, few, 2 * few]
  rng = np.random.default_rng(6)
  workspace = set_blocks.FormWorkspace(
      _Arrays(np.array([0, -1, -4]), np.array([0, 2, 3, 3]), targets,
              group_begin, hand_begin, num_hands, begins,
              *(matrix.astype(dtype) for matrix in matrices), runs, run_begin,
              table_of, steps.index, steps.coefficient.astype(dtype)),
      rng.random(sizes.sum()).astype(dtype),
      np.full(sizes.sum(), np.nan, dtype),
      np.zeros((2 * cuts, 2 * sum(hands) + 1), dtype))

  def reach_at(player, c):  # [node, hand]
    return np.concatenate([
        workspace.reach[begins[group, c]:][
            :nodes[c] * num_hands[group]].reshape(nodes[c], num_hands[group])
        for group in range(group_begin[player], group_begin[player + 1])
    ], axis=1)

  for player in range(2):
    # Player 0's reaches change where it chooses; player 1's do not.
    reach = (reach_at(0, 2) if player == 1 else
             np.concatenate([reach_at(1, 0)] * 2 + [reach_at(1, 1)]))
    reach[2 * few:] = reach_at(1 - player, 1)
    expected = np.einsum("hgz,zg->zh", payoffs[player], reach)
    for group in range(group_begin[player], group_begin[player + 1]):
      for c in range(2):
        write_values(workspace, group, player, c)
      first, count = hand_begin[group], num_hands[group]
      begin = begins[group, -1]
      np.testing.assert_allclose(
          workspace.values[begin:begin + len(kinds) * count].reshape(-1, count),
          expected[:, first:first + count], atol=tolerance)


def test_runs_of_all_kinds():
  kinds = [0, 1, 2, 3, 4] + [0] * 20 + [-1] * 2 + [0] * 19 + [5, 6, -1, 7]
  runs, run_begin, table_of, _, _ = deal_terminals.find_runs(
      _payoffs((17, 17), kinds), np.arange(len(kinds)),
      np.array([3, 0, 17, len(kinds) - 20]), False)
  mixed, equal, steps = (deal_terminals.MIXED, deal_terminals.EQUAL,
                         deal_terminals.STEPS)
  # The edges cut what would be two runs: 0 to 5 and 5 to 25.
  assert runs[:-1].tolist() == [(0, mixed), (3, mixed), (20, mixed),
                                (25, steps), (27, equal), (46, mixed),
                                (48, steps), (49, mixed)]
  assert run_begin.tolist() == [0, 1, 1, 2, 8]
  assert runs["begin"][-1] == len(kinds)
  assert table_of.tolist() == [0, 1, 2, 3, 4] + [0] * 20 + [0, 1] + [0] * 19 + [
      5, 6, 2, 7]
