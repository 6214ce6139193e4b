"""Step payoffs against products of hands times hands."""

import functools

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular.forms import deal_terminals
from dudo_spiel.algorithms.tabular.forms import step_payoffs

_HANDS = (23, 19)


def _payoffs(own_rank, other_rank, numbers):
  """Returns both players' tables of one terminal: below, equal, above."""
  sign = np.sign(own_rank[:, None] - other_rank[None, :])
  table = np.choose(sign + 1, numbers)
  return [table[:, :, None], -table.T[:, :, None]]


def _values(steps, player, table, reach, hands):
  """Returns what `step_values` writes, for two parts of the hands."""
  out = np.full(hands, np.nan)
  cut = hands // 3
  for first, last in ((0, cut), (cut, hands)):
    step_payoffs.step_values(
        steps.index[player, table], steps.coefficient[player, table], reach,
        first, np.empty(len(reach) + 1), out[first:last])
  return out


@pytest.mark.parametrize("numbers", [
    (-1.0, 0.0, 1.0), (0.3, 0.1, -0.7), (2.0, 2.0, -1.0), (0.0, 5.0, 5.0),
    (0.25, 0.25, 0.25), (0.0, 0.0, 0.0)])
def test_comparisons_are_steps(numbers):
  rng = np.random.default_rng(1)
  own, other = (rng.permutation(n) // 2 for n in _HANDS)  # with equal ranks
  payoffs = _payoffs(own, other, numbers)
  is_step, steps = step_payoffs.find_steps(payoffs)
  assert is_step.tolist() == [True]
  for player, payoff in enumerate(payoffs):
    reach = rng.random(payoff.shape[1])
    np.testing.assert_allclose(
        _values(steps, player, 0, reach, payoff.shape[0]),
        payoff[:, :, 0] @ reach, atol=1e-13)


def test_each_terminal_has_its_own_order():
  rng = np.random.default_rng(2)
  tables = [_payoffs(rng.permutation(_HANDS[0]), rng.permutation(_HANDS[1]),
                     (-1.0, 0.5, 2.0)) for _ in range(3)]
  noise = rng.random((*_HANDS, 1))
  tables.insert(1, [noise, noise.transpose(1, 0, 2)])
  payoffs = [np.concatenate(part, axis=2) for part in zip(*tables)]
  is_step, steps = step_payoffs.find_steps(payoffs)
  assert is_step.tolist() == [True, False, True, True]
  for player, payoff in enumerate(payoffs):
    reach = rng.random(payoff.shape[1])
    for table, terminal in enumerate((0, 2, 3)):
      np.testing.assert_allclose(
          _values(steps, player, table, reach, payoff.shape[0]),
          payoff[:, :, terminal] @ reach, atol=1e-13)


def test_one_number_off_is_no_step():
  ranks = np.arange(20)
  payoffs = _payoffs(ranks, ranks, (-1.0, 0.0, 1.0))
  assert step_payoffs.find_steps(payoffs)[0][0]
  for player in range(2):
    for row, column in ((7, 3), (7, 12), (19, 5)):
      changed = [payoff.copy() for payoff in payoffs]
      changed[player][row, column] += 1e-15
      assert not step_payoffs.find_steps(changed)[0][0]


def test_few_hands_are_not_asked():
  ranks = np.arange(5)
  is_step, steps = step_payoffs.find_steps(
      _payoffs(ranks, ranks, (-1.0, 0.0, 1.0)))
  assert not is_step.any()
  assert steps.index.shape[1] == 0


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


@pytest.mark.parametrize("game, terminals", [
    ("neumann_poker(num_ranks=30)", 9),
    ("neumann_poker(num_ranks=30,asymmetric=True)", 3)])
def test_neumann_poker_has_steps(game, terminals):
  arrays = compiled_game.CompiledGame(_load(game), "deal").form.arrays
  assert arrays.runs["begin"].tolist() == list(range(terminals + 1))
  assert (arrays.runs["kind"][:-1] == deal_terminals.STEPS).all()


@pytest.mark.parametrize("dtype, tolerance", [
    ("float64", 1e-12), pytest.param("float32", 1e-4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("game", ["neumann_poker(num_ranks=30)",
                                  "neumann_poker(num_ranks=17,num_bets=3)"])
def test_steps_change_no_result(game, dtype, tolerance):
  steps = cfr.CFRPlusSolver(_load(game), initial="random", dtype=dtype)
  plain = cfr.CFRPlusSolver(_load(game), form="sequence",
                            initial=steps.current_policy())
  assert (steps.compiled.form.arrays.runs["kind"][:-1] ==
          deal_terminals.STEPS).all()
  steps.run(5)
  plain.run(5)
  assert steps.average_policy().distance(plain.average_policy()) < tolerance
  assert steps.nash_conv() == pytest.approx(plain.nash_conv(), abs=tolerance)
