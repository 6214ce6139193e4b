"""What all solvers have in common, for each of them."""

import concurrent.futures
import inspect
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pyspiel
import pytest
import solver_cases

from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.runtime import pacing

_NAMES = [name if name in solver_cases.QUICK else
          pytest.param(name, marks=pytest.mark.slow)
          for name in solver_cases.SOLVERS]
every_solver = pytest.mark.parametrize("name", _NAMES)


@every_solver
def test_two_halves_are_one_run(name, tmp_path):
  whole, halves = solver_cases.make(name), solver_cases.make(name)
  whole.run(11)
  halves.run(4)
  halves.evaluate_and_update_policy()
  halves.run(6)
  assert whole.iteration == halves.iteration == 11
  solver_cases.assert_same(solver_cases.saved(whole, tmp_path / "whole"),
                           solver_cases.saved(halves, tmp_path / "halves"))


@pytest.mark.parametrize("names", [
    solver_cases.QUICK,
    pytest.param(solver_cases.SLOW, marks=pytest.mark.slow)])
def test_another_process_goes_on_exactly(names, tmp_path):
  program = pathlib.Path(solver_cases.__file__)
  for number, name in enumerate(names):
    solver = solver_cases.make(name)
    solver.run(5)
    solver.save(tmp_path / str(number))
  subprocess.run([sys.executable, program, tmp_path, "7", *names], check=True)
  for number, name in enumerate(names):
    there, here = solver_cases.make(name), solver_cases.make(name)
    there.load(tmp_path / str(number))
    here.run(12)
    assert there.iteration == 12
    solver_cases.assert_same(
        solver_cases.saved(here, tmp_path / f"here {number}"),
        solver_cases.saved(there, tmp_path / f"there {number}"))


@every_solver
def test_an_interrupt_leaves_a_usable_solver(name, tmp_path):
  solver, plain = solver_cases.make(name), solver_cases.make(name)
  solver.run(1)  # compiles
  timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
  with pytest.raises(KeyboardInterrupt):
    timer.start()
    solver.run(10**9)
  timer.join()
  plain.run(solver.iteration)
  solver.run(3)
  plain.run(3)
  solver_cases.assert_same(solver_cases.saved(solver, tmp_path / "solver"),
                           solver_cases.saved(plain, tmp_path / "plain"))


@every_solver
def test_policies_can_be_played(name):
  solver = solver_cases.make(name)
  solver.run(20)
  state = solver.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  for policy in (solver.current_policy(), solver.average_policy(),
                 solver.best_policy()):
    chances = policy.action_probabilities(state)
    assert set(chances) <= set(state.legal_actions())
    assert sum(chances.values()) == pytest.approx(1.0)


@every_solver
def test_an_untrained_solver_says_so(name):
  solver = solver_cases.make(name)
  for ask in (solver.average_policy, solver.best_policy):
    with pytest.warns(UserWarning, match="nothing is trained yet"):
      ask()
  solver.current_policy()
  solver.run(1)
  solver.average_policy()  # a warning would be an error


@every_solver
def test_measurements_fit_together(name):
  solver = solver_cases.make(name)
  result = solver.solve(max_iterations=30)
  assert isinstance(result, base_solver.SolveResult)
  assert (result.reason, result.iterations) == ("iterations", 30)
  assert solver.iteration == 30
  assert solver.exploitability() == pytest.approx(
      solver.nash_conv() / solver.game.num_players())
  assert result.exploitability == pytest.approx(solver.exploitability())
  values = solver.expected_values()
  assert len(values) == solver.game.num_players()
  assert result.values == pytest.approx(tuple(values))
  assert np.sum(values) == pytest.approx(solver.game.utility_sum(), abs=1e-9)
  assert solver.solve(target_exploitability=1e9).reason == "target"
  assert solver.memory_bytes > 0
  assert solver.num_threads >= 1


@every_solver
@pytest.mark.parametrize("arguments, message", [
    ({}, "iterations=None, seconds=None"),
    ({"iterations": 1, "seconds": 1.0}, "iterations=1, seconds=1.0"),
    ({"iterations": -1}, "iterations=-1"),
    ({"iterations": 1.5}, "iterations=1.5"),
    ({"seconds": -0.5}, "seconds=-0.5"),
    ({"seconds": float("nan")}, "seconds=nan")])
def test_bad_limits_are_refused(name, arguments, message):
  solver = solver_cases.make(name)
  with pytest.raises(ValueError, match=f"^{message}"):
    solver.run(**arguments)
  assert solver.iteration == 0


@pytest.mark.parametrize("name, kwargs", [
    ("cfr", {"dtype": "float16"}), ("fsicfr", {"dtype": 1}),
    ("fsi", {"dtype": "int"}), ("match", {"dtype": "x"}),
    ("perfect recall", {"dtype": "x"}), ("perfect recall", {"max_bytes": 7}),
    *((name, {"seed": -1}) for name in ("cfr", "fsicfr", "fsi", "match",
                                        "perfect recall")),
    *((name, {"num_threads": 0}) for name in ("cfr", "fsicfr", "fsi",
                                              "match", "perfect recall"))])
def test_bad_arguments_are_named_first(name, kwargs):
  solver, game, others = solver_cases.SOLVERS[name]
  (argument, value), = kwargs.items()
  with pytest.raises(ValueError, match=f"^{argument}={value!r}: must be"):
    solver(pyspiel.load_game(game), **{**others, **kwargs})


@pytest.mark.parametrize("name", ["cfr", "bdfp", "xfp", "fsicfr", "fsi", "ppt",
                                  "match"])
def test_an_array_is_no_dtype(name):
  solver, game, others = solver_cases.SOLVERS[name]
  with pytest.raises(ValueError, match="^dtype=array"):
    solver(pyspiel.load_game(game), **others, dtype=np.array([1, 2]))


@pytest.mark.parametrize("name", ["cfr", "bdfp", "fsicfr", "fsi", "ppt",
                                  "match", "perfect recall"])
def test_what_is_no_game_is_refused(name):
  solver, _, others = solver_cases.SOLVERS[name]
  for wrong in ("kuhn_poker", None, 3):
    with pytest.raises(ValueError, match="^game=.*: must be"):
      solver(wrong, **others)


@pytest.mark.parametrize("make, advice", [
    (lambda: fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=4)"), 1),
     "match_bounds"),
    (lambda: pfsi.FSISolver(pyspiel.load_game("dudo_single_round"),
                            "no_recall"), "best_response_rate")])
def test_what_cannot_be_measured_says_what_can(make, advice):
  solver = make()
  for measure in (solver.nash_conv, solver.exploitability,
                  lambda: solver.solve(max_iterations=1)):
    with pytest.raises(ValueError, match=f"^game=.*{advice}"):
      measure()


class _Clock:
  """A clock that goes on only when iterations are run."""

  def __init__(self, seconds):
    self._seconds = seconds
    self.time = 0.0
    self.iterations = 0

  def __call__(self):
    return self.time

  def advance(self, iterations):
    self.iterations += iterations
    self.time += iterations * self._seconds


@pytest.mark.parametrize("step_seconds", [0.3, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("seconds", [1.0, 2.0, 10.0])
def test_seconds_are_kept(monkeypatch, step_seconds, seconds):
  clock = _Clock(step_seconds)
  monkeypatch.setattr(pacing.time, "perf_counter", clock)
  sizes = [size for size, _ in pacing.chunks(clock.advance, seconds=seconds)]
  assert 0.8 * seconds <= clock.time <= 1.2 * seconds
  assert sum(sizes) == clock.iterations
  assert max(sizes) * step_seconds <= 2.0 * max(pacing.CHUNK_SECONDS,
                                                step_seconds)


def test_iterations_are_kept(monkeypatch):
  clock = _Clock(1e-4)
  monkeypatch.setattr(pacing.time, "perf_counter", clock)
  assert list(pacing.chunks(clock.advance, 0)) == []
  assert list(pacing.chunks(clock.advance, seconds=0.0)) == []
  assert sum(size for size, _ in pacing.chunks(clock.advance, 12345)) == 12345
  assert clock.iterations == 12345


# Calls of public methods that need arguments, by the methods' names. The paths
# are of two files, one to write and one that was saved before.
_ARGUMENTS = {
    **dict.fromkeys(("interval", "iterations", "num_nodes",
                     "round_exploitability", "tables", "value"),
                    lambda solver, *_: solver.rounds[0]),
    **dict.fromkeys(("rolls", "settings"), lambda *_: ([1, 2],)),
    **dict.fromkeys(("run", "solve"), lambda *_: (2,)),
    "chance_outcomes": lambda *_: (1,),
    "save": lambda solver, new, saved: (new,),
    "load": lambda solver, new, saved: (saved,),
}


@every_solver
def test_another_thread_may_call_any_method_during_a_run(
    name, tmp_path, monkeypatch):
  solver, plain = solver_cases.make(name), solver_cases.make(name)
  solver.run(3)
  solver.exploitability()  # compiles what the methods need
  solver.save(tmp_path / "saved")
  is_running, is_called = threading.Event(), threading.Event()

  def chunks(*args):
    for step in plain_chunks(*args):
      is_running.set()
      yield step
      if is_called.is_set():
        return

  plain_chunks = pacing.chunks
  monkeypatch.setattr(pacing, "chunks", chunks)
  monkeypatch.setattr(pacing, "CHUNK_SECONDS", 0.01)
  refused = set()
  methods = {method for method in dir(type(solver))
             if not method.startswith("_") and
             inspect.isfunction(getattr(type(solver), method))}
  with concurrent.futures.ThreadPoolExecutor(1) as pool:
    run = pool.submit(solver.run, 10**9)
    try:
      is_running.wait(60)
      for method in sorted(methods):
        arguments = _ARGUMENTS.get(method, lambda *_: ())(
            solver, tmp_path / "new", tmp_path / "saved")
        try:
          getattr(solver, method)(*arguments)
        except RuntimeError as error:
          assert "runs in another thread" in str(error)
          refused.add(method)
        except ValueError as error:
          assert str(error).startswith("deals='exact'")
    finally:
      is_called.set()
    run.result()
  assert refused == methods & {"run", "solve", "evaluate_and_update_policy",
                               "load", "refresh", *solver._EXCLUSIVE}
  monkeypatch.undo()
  plain.run(solver.iteration)
  solver_cases.assert_same(solver_cases.saved(solver, tmp_path / "solver"),
                           solver_cases.saved(plain, tmp_path / "plain"))
