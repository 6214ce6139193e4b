import dataclasses
import functools
import os
import signal
import threading

import helpers
import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms.runtime import base_solver


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


def test_solve_stops_at_the_target():
  solver = cfr.CFRPlusSolver(_load("leduc_poker"))
  result = solver.solve(target_exploitability=0.01, max_iterations=10**6)
  assert result.reason == "target"
  assert result.exploitability <= 0.01
  assert result.exploitability == solver.exploitability()
  assert result.iterations == solver.iteration == (
      result.history[-1].iteration)
  assert result.value == result.values[0]
  assert sum(result.values) == pytest.approx(0.0, abs=1e-12)
  assert all(check.exploitability > 0.01 for check in result.history[:-1])
  iterations = [check.iteration for check in result.history]
  assert iterations == sorted(set(iterations))
  seconds = [check.seconds for check in result.history]
  assert seconds == sorted(seconds) and result.seconds >= seconds[-1]


def test_solve_stops_after_iterations_and_can_go_on():
  solver = cfr.CFRSolver(_load("kuhn_poker"))
  first = solver.solve(max_iterations=7)
  assert (first.reason, first.iterations) == ("iterations", 7)
  assert first.history[-1].iteration == 7
  second = solver.solve(max_iterations=5, target_exploitability=0.0)
  assert (second.reason, second.iterations) == ("iterations", 12)
  plain = cfr.CFRSolver(_load("kuhn_poker"))
  plain.run(12)
  assert plain.average_policy().distance(solver.average_policy()) == 0.0


def test_solve_stops_after_seconds():
  result = cfr.CFRSolver(_load("leduc_poker")).solve(max_seconds=0.3)
  assert result.reason == "seconds"
  assert result.seconds >= 0.3
  assert result.iterations > 0


def test_no_iterations_measure_the_start():
  result = cfr.CFRSolver(_load("kuhn_poker")).solve(max_iterations=0)
  assert result.reason == "iterations"
  assert result.exploitability == pytest.approx(11 / 24)


def test_an_interrupted_solve_still_reports():
  solver = cfr.DiscountedCFRSolver(_load("leduc_poker"))
  solver.solve(max_iterations=1)  # compiles
  timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
  timer.start()
  result = solver.solve(max_seconds=30)
  timer.join()
  assert result.reason == "interrupted"
  assert result.exploitability == solver.exploitability()
  plain = cfr.DiscountedCFRSolver(_load("leduc_poker"))
  plain.run(result.iterations)
  for ours, theirs in zip(solver.tables, plain.tables):
    np.testing.assert_array_equal(ours, theirs)


def test_a_target_that_is_met_already_runs_nothing():
  solver = cfr.CFRPlusSolver(_load("leduc_poker"))
  first = solver.solve(target_exploitability=0.01)
  second = solver.solve(target_exploitability=0.01)
  assert second.reason == "target"
  assert second.iterations == first.iterations
  assert len(second.history) == 1
  fresh = cfr.CFRSolver(_load("kuhn_poker"))
  assert fresh.solve(target_exploitability=1.0).iterations == 0


def test_the_bar_is_shown_on_a_terminal():
  program = ("import pyspiel; from dudo_spiel.algorithms import cfr; "
             "s = cfr.CFRSolver(pyspiel.load_game('kuhn_poker')); "
             "s.solve(max_iterations=1000)")
  shown = helpers.terminal_output(program)
  assert "exploitability=" in shown and "1000/1000" in shown


def test_results_are_frozen():
  result = cfr.CFRSolver(_load("kuhn_poker")).solve(max_iterations=1)
  assert isinstance(result, base_solver.SolveResult)
  with pytest.raises(dataclasses.FrozenInstanceError):
    result.reason = "because"
  with pytest.raises(dataclasses.FrozenInstanceError):
    result.history[0].iteration = 5


@pytest.mark.parametrize("arguments, message", [
    ({}, "at least one must be given"),
    ({"max_iterations": -1}, "max_iterations=-1"),
    ({"max_iterations": 2.5}, "max_iterations=2.5"),
    ({"max_iterations": "3"}, "max_iterations='3'"),
    ({"max_seconds": float("nan")}, "max_seconds=nan"),
    ({"target_exploitability": -0.5}, "target_exploitability=-0.5")])
def test_bad_limits(arguments, message):
  with pytest.raises(ValueError, match=message):
    cfr.CFRSolver(_load("kuhn_poker")).solve(**arguments)


def test_no_bar_on_a_pipe(capfd):
  cfr.CFRSolver(_load("kuhn_poker")).solve(max_iterations=10)
  captured = capfd.readouterr()
  assert captured.out == captured.err == ""


def test_three_players():
  solver = cfr.CFRSolver(_load("kuhn_poker(players=3)"))
  result = solver.solve(max_iterations=200)
  assert len(result.values) == 3
  assert sum(result.values) == pytest.approx(0.0)
