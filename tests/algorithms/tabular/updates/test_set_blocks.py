"""The kernels on blocks, against a few lines of numpy each."""

import numpy as np
import pytest

from dudo_spiel import validation
from dudo_spiel.algorithms.tabular.updates import cfr_update
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import strips
from dudo_spiel.algorithms.tabular.updates import update_rules

pytestmark = pytest.mark.oracle

_ACTIONS, _WIDTH, _BEGIN = 3, 5, 4


@pytest.fixture(name="block")
def _block():
  """Returns a random block: strategy, values, tables, rows of values."""
  rng = np.random.default_rng(3)
  size = _BEGIN + _ACTIONS * _WIDTH
  strategy = np.zeros(size)
  shares = rng.random((_ACTIONS, _WIDTH))
  strategy[_BEGIN:] = (shares / shares.sum(axis=0)).ravel()
  values = rng.normal(size=100)
  tables = set_blocks.SolverTables(strategy, rng.normal(size=size),
                                   rng.random(size))
  return tables, values, set_blocks.Block(_BEGIN, _WIDTH, _WIDTH,
                                          np.array([40, 7, 80]))


def _matrix(table):
  return table[_BEGIN:].reshape(_ACTIONS, _WIDTH)


def _rows(values, block):
  return np.stack([values[row:row + _WIDTH] for row in block.rows])


def test_play_block(block):
  tables, values, layout = block
  out = np.empty(_WIDTH)
  strips.play_block(layout, tables.strategy, values, out)
  expected = (_matrix(tables.strategy) * _rows(values, layout)).sum(axis=0)
  np.testing.assert_allclose(out, expected, atol=1e-14)


def test_equal_values_are_worth_exactly_that(block):
  tables, values, layout = block
  values[:] = 1 / 3
  out = np.empty(_WIDTH)
  strips.play_block(layout, tables.strategy, values, out)
  np.testing.assert_array_equal(out, 1 / 3)


def test_respond_block(block):
  tables, values, layout = block
  # The first among equals is the best.
  values[layout.rows[0]] = values[layout.rows[2]] = 9.0
  out = np.empty(_WIDTH)
  set_blocks.respond_block(layout, tables.strategy, values, out,
                           update_rules.Rule(1.0, 1.0, 0.0, 1.0),
                           np.empty(2 * _WIDTH))
  matrix = _rows(values, layout)
  np.testing.assert_array_equal(out, matrix.max(axis=0))
  np.testing.assert_array_equal(_matrix(tables.strategy),
                                np.eye(_ACTIONS)[matrix.argmax(axis=0)].T)


@pytest.mark.parametrize("parameters", [
    (1.0, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.5), (0.7, 0.4, 0.0, 0.9),
    (0.8, 0.0, 1.0, 0.3)])
def test_learn_block(block, parameters):
  rule = update_rules.Rule(*parameters)
  tables, values, layout = block
  old = set_blocks.SolverTables(
      *(_matrix(table).copy() for table in tables[:3]))
  set_value = (old.strategy * _rows(values, layout)).sum(axis=0)
  reach = np.linspace(0.0, 1.0, _WIDTH)
  # A set without positive regrets plays uniformly next.
  tables.regret[_BEGIN::_WIDTH] = old.regret[:, 0] = -50.0
  cfr_update.learn_block(layout, tables, values, set_value, reach, rule,
                         np.empty(_WIDTH))
  new = _rows(values, layout) - set_value
  total = old.regret + new
  regret = total * np.where(total > 0, rule.positive, rule.negative)
  np.testing.assert_allclose(_matrix(tables.regret), regret, atol=1e-14)
  np.testing.assert_allclose(_matrix(tables.cumulative),
                             old.cumulative * rule.decay + reach * old.strategy,
                             atol=1e-14)
  scores = np.maximum(regret + rule.prediction * new, 0.0)
  sums = scores.sum(axis=0)
  expected = np.where(sums > 0, scores / np.where(sums > 0, sums, 1.0),
                      1 / _ACTIONS)
  np.testing.assert_allclose(_matrix(tables.strategy), expected, atol=1e-14)
  np.testing.assert_array_equal(tables.strategy[:_BEGIN], 0.0)


def test_parts_of_a_block_learn_what_the_whole_does(block):
  tables, values, layout = block
  rule = update_rules.Rule(0.7, 0.4, 0.0, 0.9)
  reach = np.linspace(0.0, 1.0, _WIDTH)
  results = []
  for ends in [(0, _WIDTH), (0, 2, _WIDTH)]:
    copies = set_blocks.SolverTables(*(table.copy() for table in tables[:3]))
    out = np.zeros(_WIDTH)
    for first, last in zip(ends[:-1], ends[1:]):
      part = layout._replace(begin=_BEGIN + first, width=last - first)
      cfr_update.learn_block(part, copies, values[first:], out[first:last],
                             reach[first:last], rule, np.empty(2 * _WIDTH))
    results.append((*copies[:3], out))
  for whole, parts in zip(*results):
    np.testing.assert_array_equal(whole, parts)


def test_sets_with_one_action_only_count_in_the_average():
  tables = set_blocks.SolverTables(np.ones(3), np.zeros(3), np.arange(3.0))
  out = np.zeros(3)
  cfr_update.learn_block(set_blocks.Block(0, 3, 3, np.array([1])), tables,
                         np.arange(5.0), out, np.array([0.5, 0.0, 1.0]),
                         update_rules.Rule(0.7, 0.4, 0.0, 0.5), np.empty(6))
  np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])
  np.testing.assert_array_equal(tables.strategy, 1.0)
  np.testing.assert_array_equal(tables.regret, 0.0)
  np.testing.assert_array_equal(tables.cumulative, [0.5, 0.5, 2.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_regrets_below_all_normal_numbers_are_none(block, dtype):
  tables, values, layout = block
  values[:] = 0.0
  tables.regret[:] = np.finfo(dtype).smallest_subnormal
  tables = tables._replace(strategy=tables.strategy.astype(dtype),
                           regret=tables.regret.astype(dtype))
  cfr_update.learn_block(
      layout, tables, values.astype(dtype), np.zeros(_WIDTH, dtype),
      np.ones(_WIDTH, dtype),
      update_rules.Rule(*map(dtype, (1.0, 1.0, 0.0, 1.0, 0.0, 0.0))),
      np.empty(_WIDTH, dtype))
  np.testing.assert_allclose(_matrix(tables.strategy), 1 / _ACTIONS, rtol=1e-6)


def test_late_decisions_still_count(block):
  tables, values, layout = block
  strategy = tables.strategy.astype(np.float32)
  tables = set_blocks.SolverTables(strategy.copy(),
                                   cumulative=strategy.astype(np.float64))
  rule = update_rules.Rule(0.0, 0.0, 0.0, 0.0, step=1e-9)
  for _ in range(1000):
    set_blocks.decide_block(layout, tables, values.astype(np.float32),
                            np.empty(_WIDTH, np.float32), rule,
                            np.empty(2 * _WIDTH, np.float32))
  best = _rows(values, layout).argmax(axis=0)
  old = _matrix(strategy)
  np.testing.assert_allclose(
      _matrix(tables.cumulative),
      old + 1e-6 * (np.eye(_ACTIONS)[best].T - old), atol=1e-11)
  np.testing.assert_array_equal(tables.strategy,
                                tables.cumulative.astype(np.float32))


def test_normalize_and_uniform():
  layout = set_blocks.Blocks(*(np.array(row) for row in ([0, 1], [2, 3], [2, 1],
                                                         [0, 4])))
  table = np.array([1.0, 0.0, 3.0, 0.0, 2.0, 2.0, 4.0])
  out = np.empty(7)
  set_blocks.normalize(layout, table, out)
  np.testing.assert_array_equal(out, [0.25, 0.5, 0.75, 0.5, 0.25, 0.25, 0.5])
  set_blocks.set_uniform(layout, out)
  np.testing.assert_array_equal(out, [0.5] * 4 + [1 / 3] * 3)


@pytest.mark.parametrize("check, value, message", [
    (validation.integer, 1.0, "x=1.0: must be an integer between 0 and 3"),
    (validation.integer, 4, "x=4: must be"), (validation.integer, -1, "x=-1"),
    (validation.number, "1", "x='1': must be a number between 0 and 3"),
    (validation.number, float("nan"), "x=nan"),
    (validation.number, True, "True"),
])
def test_arguments(check, value, message):
  with pytest.raises(ValueError, match=message):
    check("x", value, 0, 3)
  assert check("x", np.int32(2), 0, 3) == 2
