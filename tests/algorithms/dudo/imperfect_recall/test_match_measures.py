"""How good a `MatchSolver` says its policy is, and `solve`."""

import match_helpers
import numpy as np
import pytest

from dudo_spiel.algorithms import exploitability


@pytest.mark.parametrize("parameters", [
    {"start_dice": "2v1", "dice_sides": 2},
    {"start_dice": "1v2", "dice_sides": 2, "starting_player": 1},
    {"start_dice": "2v1", "dice_sides": 2, "starting_player": 1},
])
def test_expected_values_and_exploitability_are_those_of_the_game(parameters):
  game = match_helpers.load(**parameters)
  solver = match_helpers.solver_of(game, dtype="float64")
  solver.run(iterations=20)
  policy = solver.average_policy()
  np.testing.assert_allclose(
      solver.expected_values(), exploitability.expected_values(game, policy),
      atol=1e-6)
  assert solver.nash_conv() == pytest.approx(
      exploitability.nash_conv(game, policy), abs=1e-7)
  assert solver.exploitability() == solver.nash_conv() / 2


def test_solve_reaches_its_target():
  solver = match_helpers.solver_of(
      match_helpers.load(start_dice="2v1", dice_sides=2))
  result = solver.solve(target_exploitability=0.02, max_iterations=5000)
  assert result.reason == "target"
  assert result.exploitability <= 0.02 < result.history[-2].exploitability
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())
  steps = [check.iteration for check in result.history]
  assert steps == [0, *(2**k for k in range(len(steps) - 1))]
  assert solver.iteration == result.iterations


def test_solve_is_the_same_for_the_same_limits():
  one, two, other = (match_helpers.solver_of(num_threads=number)
                     for number in (1, 2, 1))
  result = one.solve(max_iterations=5)
  assert result.reason == "iterations"
  assert [check.iteration for check in result.history] == [0, 1, 2, 4, 5]
  assert two.solve(max_iterations=5).values == result.values
  match_helpers.assert_same(one, two)
  for iterations in (1, 2, 4, 5):
    other.run(iterations, total=True)
  match_helpers.assert_same(one, other)


def test_solve_by_seconds():
  solver = match_helpers.solver_of()
  solver.run(iterations=1)  # compiles
  result = solver.solve(max_seconds=1.0)
  assert result.reason == "seconds"
  assert result.seconds > 0.8
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())


def test_an_interrupted_solve_measures_what_was_learned(monkeypatch):
  solver = match_helpers.solver_of()
  # Checks after 1, 2, and 4 iterations, 4 sweeps each; the last one is cut.
  match_helpers.interrupt_sweep(monkeypatch, 11)
  result = solver.solve(max_iterations=100)
  monkeypatch.undo()
  assert result.reason == "interrupted"
  assert result.iterations == 2
  assert solver.iterations(1, 1) == 4
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())
  solver.run(iterations=4, total=True)
  assert solver.iteration == 4


def test_large_matches_cannot_be_measured_exactly():
  solver = match_helpers.solver_of(match_helpers.load(start_dice="4v3"),
                                   recall_length=1)
  for call in (solver.nash_conv, solver.exploitability,
               lambda: solver.solve(max_iterations=1)):
    with pytest.raises(ValueError, match=(
        r"^game=.*: starts with 7 dice .* at most 6.*match_bounds\(solver")):
      call()
  assert solver.iteration == 0


def test_best_responses_to_uniform_play_are_for_small_matches_only():
  solver = match_helpers.solver_of(
      match_helpers.load(start_dice="3v2", dice_sides=2))
  with pytest.raises(ValueError, match="^game=.*trained 0 iterations.*run"):
    solver.nash_conv()
  result = solver.solve(max_iterations=4)
  assert [check.iteration for check in result.history] == [2, 3, 4]
  assert result.exploitability == solver.exploitability()
