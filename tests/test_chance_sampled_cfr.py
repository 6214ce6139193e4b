import chance_sampled_oracle
import numpy as np
import pyspiel
import pytest

from dudo_spiel import rules
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.match import chance_sampled_cfr
from dudo_spiel.algorithms.match import policy as match_policy

_VALUES = {(1, 1): -0.027, (1, 2): -0.31, (2, 1): 0.29}
_HOUSE = rules.HouseRules()


def make_solver(rounds, num_sides=6, recall_length=3, house=_HOUSE, seed=0,
                dtype=np.float64):
  match = rounds.MatchRules(num_sides, house, recall_length)
  tables = {key: rounds.new_table(match, key, dtype) for key in rounds}
  states = {key: np.zeros(3) for key in rounds}
  solver = chance_sampled_cfr.ChanceSampledCFR(match, rounds, tables, states,
                                               _VALUES, seed)
  return solver, match, tables, states


def oracle_table(oracle, match, key, name):
  """Returns the oracle's numbers as [row, hand]."""
  table = np.zeros(match.table_shape(key))
  rolls, memory = match.rolls(key[0]), match.memory(sum(key))
  for (own, other, hand, claims), info in oracle.sets.items():
    if (own, other) == key:
      row = memory.first_row(list(claims))
      numbers = getattr(info, name)
      table[row:row + len(numbers), rolls.index(hand)] = numbers
  return table


def run_both(rounds, num_sides, recall_length, house, iterations, regrets):
  """Compares the solver to the oracle after each iteration.

  Args:
    rounds: as for the solver, as are the next three.
    num_sides: see above.
    recall_length: see above.
    house: see above.
    iterations: how many.
    regrets: regrets(shape) at the start.
  """
  solver, match, tables, states = make_solver(rounds, num_sides, recall_length,
                                              house)
  oracle = chance_sampled_oracle.OracleCFR(num_sides, house, recall_length,
                                           _VALUES)
  for key in rounds:
    rolls, memory = match.rolls(key[0]), match.memory(sum(key))
    start = tables[key].regret[:, :rolls.num_rolls]
    start[:] = regrets(start.shape)
    for length in range(memory.recall_length + 1):
      for claims in memory.claims(length).tolist():
        row = memory.first_row(claims)
        actions = memory.num_claims - (claims[-1] if claims else 0)
        for hand, roll in enumerate(rolls.hands):
          info = oracle.information_set(key, roll, tuple(claims), actions)
          info.r = start[row:row + actions, hand].tolist()
          info.match_regrets()
  total = dict.fromkeys(rounds, 0.0)
  for iteration in range(iterations):
    for key in rounds:
      hands = [match.rolls(n).hands[hand]
               for n, hand in zip(key, solver.deal(key, iteration))]
      total[key] += np.mean(oracle.iterate(key, hands))
    solver.iterate()
    for key in rounds:
      for name, expected in (("regret", "r"), ("total", "s")):
        np.testing.assert_allclose(
            getattr(tables[key], name),
            oracle_table(oracle, match, key, expected), rtol=0, atol=1e-9)
      np.testing.assert_allclose(
          states[key], [iteration + 1, total[key], iteration + 1], atol=1e-9)
  assert solver.iteration == iterations


@pytest.mark.parametrize(
    "rounds, num_sides, recall_length, house, iterations", [
        ([(1, 1)], 2, 1, _HOUSE, 12),
        ([(1, 1)], 2, 4, _HOUSE, 12),
        ([(1, 1)], 3, 2, _HOUSE, 12),
        ([(1, 1)], 3, 3, rules.HouseRules(False, "one", False), 12),
        ([(1, 2), (2, 1)], 2, 1, _HOUSE, 6),
        ([(2, 1), (1, 2)], 2, 2, _HOUSE, 6),
        ([(1, 2), (2, 1)], 3, 3, _HOUSE, 4),
        ([(2, 2)], 2, 3, _HOUSE, 8),
        ([(2, 2)], 2, 2, rules.HouseRules(True, "one", True), 8),
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
  solver, match, _, _ = make_solver([(1, 2), (2, 1)], num_sides=3)
  count = 4000
  deals = [solver.deal((2, 1), i) for i in range(count)]
  expected = np.outer(match.rolls(2).probabilities,
                      match.rolls(1).probabilities)
  seen = np.zeros(expected.shape)
  np.add.at(seen, tuple(np.transpose(deals)), 1)
  error = np.sqrt(expected * (1 - expected) / count)
  assert np.all(np.abs(seen / count - expected) < 4.5 * error)
  assert deals != [solver.deal((1, 2), i)[::-1] for i in range(count)]


def test_seed_decides_the_result():
  results = []
  for seed in (3, 3, 4):
    solver, _, tables, _ = make_solver([(1, 1)], 3, seed=seed)
    solver.iterate(20)
    results.append(tables[1, 1].regret)
  np.testing.assert_array_equal(results[0], results[1])
  assert np.any(results[0] != results[2])


def test_float32_is_float64_rounded():
  tables = []
  for dtype in (np.float64, np.float32):
    rng = np.random.default_rng(0)
    solver, _, table, _ = make_solver([(1, 2), (2, 1)], 2, 2, dtype=dtype)
    for regret, _ in table.values():
      regret[:] = rng.normal(size=regret.shape).astype(np.float32)
    solver.iterate(3)
    tables.append(table)
  for key, table in tables[1].items():
    assert table.regret.dtype == np.float32
    np.testing.assert_allclose(table.regret, tables[0][key].regret, atol=1e-4)
    np.testing.assert_allclose(table.total, tables[0][key].total, atol=1e-4)


def test_iterations_and_seconds_give_the_same_steps():
  by_seconds, _, tables, states = make_solver([(1, 2), (2, 1)], 2)
  assert by_seconds.run_seconds(0.0) == 0.0
  assert by_seconds.iteration == 0
  assert by_seconds.run_seconds(0.01) >= 0.01
  by_seconds.iterate()  # finishes the last one
  by_iterations, _, other_tables, other_states = make_solver([(1, 2), (2, 1)],
                                                             2)
  by_iterations.iterate(by_seconds.iteration)
  for key in tables:
    np.testing.assert_array_equal(tables[key].total, other_tables[key].total)
    np.testing.assert_array_equal(states[key], other_states[key])
  assert by_seconds.traversals == 4 * by_seconds.iteration


def test_a_new_solver_goes_on_from_tables_and_states():
  solver, match, tables, states = make_solver([(1, 1)], 3)
  whole, _, expected, _ = make_solver([(1, 1)], 3)
  solver.iterate(5)
  chance_sampled_cfr.ChanceSampledCFR(match, [(1, 1)], tables, states, _VALUES,
                                      0).iterate(6)
  whole.iterate(11)
  np.testing.assert_array_equal(tables[1, 1].regret, expected[1, 1].regret)


def test_average_policy_gets_close_to_an_equilibrium():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  solver, _, tables, states = make_solver([(1, 1)], 3, recall_length=6)
  solver.iterate(20_000)
  policy = match_policy.MatchPolicy(
      game, 6, {(1, 1): tables[1, 1].total.astype(np.float32)}, {})
  assert exploitability.exploitability(game, policy) < 0.02
  value = exploitability.expected_values(game, policy)[0]
  assert abs(states[1, 1][1] / states[1, 1][2] - value) < 0.05


def test_bad_arguments():
  with pytest.raises(ValueError, match=r"rounds=\[\(1, 2\)\]: must be"):
    make_solver([(1, 2)])
  with pytest.raises(ValueError, match="seed=-1"):
    make_solver([(1, 1)], seed=-1)
  solver = make_solver([(1, 1)], 2)[0]
  with pytest.raises(ValueError, match="iterations=-1"):
    solver.iterate(-1)
  with pytest.raises(ValueError, match="seconds=-1"):
    solver.run_seconds(-1)
