from dudo_spiel_examples.experiments.neller_hnath_2011 import chance_sampled_cfr

import itertools

import numpy as np
from oracles import chance_sampled_oracle
import pyspiel
import pytest

from dudo_spiel import rules as rules_lib
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy

pytestmark = pytest.mark.oracle

_VALUES = {(1, 1): -0.027, (1, 2): -0.31, (2, 1): 0.29}
_HOUSE = rules_lib.HouseRules()


def make_solver(rounds, num_sides=6, recall_length=3, house=_HOUSE, seed=0,
                dtype=np.float64):
  rules = abstract_rules.AbstractRules(num_sides, house,
                                       abstractions.LastClaims(recall_length))
  solver = chance_sampled_cfr.ChanceSampledCFR(rules, rounds, _VALUES,
                                               seed=seed, dtype=dtype)
  return solver, rules


def oracle_table(oracle, rules, key, name):
  """Returns the oracle's numbers as [row, hand]."""
  table = np.zeros(rules.table_shape(key))
  rolls, memory = rules.rolls(key[0]), rules.graph(sum(key))
  for (own, other, hand, claims), info in oracle.sets.items():
    if (own, other) == key:
      row = memory.first_row(list(claims))
      numbers = getattr(info, name)
      table[row:row + len(numbers), rolls.index(hand)] = numbers
  return table


def run_both(rounds, num_sides, recall_length, house, iterations, regrets):
  """Compares the solver to the oracle after each iteration.

  Args:
    rounds: the rounds to train.
    num_sides: how many sides a die has.
    recall_length: how many claims players remember.
    house: the `rules.HouseRules`.
    iterations: how many iterations to run.
    regrets: function that returns the regrets at the start, by their shape.
  """
  solver, rules = make_solver(rounds, num_sides, recall_length, house)
  oracle = chance_sampled_oracle.OracleCFR(num_sides, house, recall_length,
                                           _VALUES)
  for key in rounds:
    rolls, memory = rules.rolls(key[0]), rules.graph(sum(key))
    start = solver.tables[key].regret[:, :rolls.num_rolls]
    start[:] = regrets(start.shape)
    for length in range(min(recall_length, memory.num_claims) + 1):
      for claims in itertools.combinations(range(memory.num_claims), length):
        row = memory.first_row(claims)
        actions = memory.num_claims - (claims[-1] if claims else 0)
        for hand, roll in enumerate(rolls.hands):
          info = oracle.information_set(key, roll, claims, actions)
          info.r = start[row:row + actions, hand].tolist()
          info.match_regrets()
  total = dict.fromkeys(rounds, 0.0)
  for iteration in range(iterations):
    for key in rounds:
      hands = [rules.rolls(n).hands[hand]
               for n, hand in zip(key, solver.deal(key, iteration))]
      total[key] += np.mean(oracle.iterate(key, hands))
    solver.iterate()
    for key, record in zip(rounds, solver.records):
      for name, expected in (("regret", "r"), ("cumulative", "s")):
        np.testing.assert_allclose(
            getattr(solver.tables[key], name),
            oracle_table(oracle, rules, key, expected), rtol=0, atol=1e-9)
      np.testing.assert_allclose(
          record.tolist(), [iteration + 1, total[key], iteration + 1],
          atol=1e-9)
  assert solver.iteration == iterations


@pytest.mark.parametrize(
    "rounds, num_sides, recall_length, house, iterations", [
        ([(1, 1)], 2, 1, _HOUSE, 12),
        ([(1, 1)], 2, 4, _HOUSE, 12),
        ([(1, 1)], 3, 2, _HOUSE, 12),
        ([(1, 1)], 3, 3, rules_lib.HouseRules(False, "one", False), 12),
        ([(1, 2), (2, 1)], 2, 1, _HOUSE, 6),
        ([(2, 1), (1, 2)], 2, 2, _HOUSE, 6),
        ([(1, 2), (2, 1)], 3, 3, _HOUSE, 4),
        ([(2, 2)], 2, 3, _HOUSE, 8),
        ([(2, 2)], 2, 2, rules_lib.HouseRules(True, "one", True), 8),
        ([(1, 1)], 6, 3, _HOUSE, 2),
    ])
def test_steps_are_the_oracles(rounds, num_sides, recall_length, house,
                               iterations):
  # Regrets that nothing cancels exactly: what rounding leaves of a zero would
  # be taken for a preference, and rounding is not the same in compiled code.
  rng = np.random.default_rng(0)
  run_both(rounds, num_sides, recall_length, house, iterations,
           lambda shape: rng.normal(scale=0.1, size=shape))


@pytest.mark.parametrize("rounds, num_sides", [
    ([(1, 1)], 2), ([(1, 2), (2, 1)], 2), ([(2, 2)], 2)])
def test_first_steps_are_the_oracles(rounds, num_sides):
  run_both(rounds, num_sides, 3, _HOUSE, 2, np.zeros)


def test_deals_are_as_likely_as_they_should_be():
  solver, rules = make_solver([(1, 2), (2, 1)], num_sides=3)
  count = 4000
  deals = [solver.deal((2, 1), i) for i in range(count)]
  expected = np.outer(rules.rolls(2).probabilities,
                      rules.rolls(1).probabilities)
  seen = np.zeros(expected.shape)
  np.add.at(seen, tuple(np.transpose(deals)), 1)
  error = np.sqrt(expected * (1 - expected) / count)
  assert np.all(np.abs(seen / count - expected) < 4.5 * error)
  assert deals != [solver.deal((1, 2), i)[::-1] for i in range(count)]


def test_seed_decides_the_result():
  results = []
  for seed in (3, 3, 4):
    solver, _ = make_solver([(1, 1)], 3, seed=seed)
    solver.iterate(20)
    results.append(solver.tables[1, 1].regret)
  np.testing.assert_array_equal(results[0], results[1])
  assert np.any(results[0] != results[2])


def test_float32_is_float64_rounded():
  solvers = []
  for dtype in (np.float64, np.float32):
    rng = np.random.default_rng(0)
    solver, _ = make_solver([(1, 2), (2, 1)], 2, 2, dtype=dtype)
    for tables in solver.tables.values():
      tables.regret[:] = rng.normal(size=tables.regret.shape).astype(np.float32)
    solver.iterate(3)
    solvers.append(solver)
  exact, rounded = solvers
  for key, tables in rounded.tables.items():
    assert tables.regret.dtype == np.float32
    for ours, theirs in zip(tables, exact.tables[key]):
      np.testing.assert_allclose(ours, theirs, atol=1e-4)


def assert_same(one, two):
  np.testing.assert_array_equal(one.records, two.records)
  for key, tables in one.tables.items():
    for ours, theirs in zip(tables, two.tables[key]):
      np.testing.assert_array_equal(ours, theirs)


def test_iterations_and_seconds_give_the_same_steps():
  by_seconds, _ = make_solver([(1, 2), (2, 1)], 2)
  assert by_seconds.run_seconds(0.0) == 0.0
  assert by_seconds.iteration == 0
  assert by_seconds.run_seconds(0.01) >= 0.01
  by_seconds.iterate()  # finishes the last one
  by_iterations, _ = make_solver([(1, 2), (2, 1)], 2)
  by_iterations.iterate(by_seconds.iteration)
  assert_same(by_seconds, by_iterations)
  assert by_seconds.traversals == 4 * by_seconds.iteration


def test_goes_on_as_if_it_had_not_stopped():
  parts, _ = make_solver([(1, 1)], 3)
  whole, _ = make_solver([(1, 1)], 3)
  parts.iterate(5)
  parts.iterate(6)
  whole.iterate(11)
  assert_same(parts, whole)


def test_average_policy_gets_close_to_an_equilibrium():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  solver, _ = make_solver([(1, 1)], 3, recall_length=6)
  solver.iterate(20_000)
  policy = match_policy.MatchPolicy(
      game, 6, {(1, 1): solver.tables[1, 1].cumulative.astype(np.float32)}, {})
  assert exploitability.exploitability(game, policy) < 0.02
  value = exploitability.expected_values(game, policy)[0]
  record = solver.records[0]
  assert abs(record["value"] / record["weight"] - value) < 0.05


def test_bad_arguments():
  with pytest.raises(ValueError, match=r"rounds=\[\(1, 2\)\]: must be"):
    make_solver([(1, 2)])
  with pytest.raises(ValueError, match="seed=-1"):
    make_solver([(1, 1)], seed=-1)
  solver, _ = make_solver([(1, 1)], 2)
  with pytest.raises(ValueError, match="iterations=-1"):
    solver.iterate(-1)
  with pytest.raises(ValueError, match="seconds=-1"):
    solver.run_seconds(-1)
