"""Ctrl-C is noticed in the middle of all that takes long."""

import faulthandler
import functools
import os
import pathlib
import random
import signal
import threading
import time

import pyspiel
import pytest
import solver_cases

import dudo_spiel
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.tabular.tree import game_tree

_LATE = 20.0  # seconds; on an idle machine it is less than one


def _interrupt_after(seconds):
  """Presses Ctrl-C once; returns the timer that does it."""
  timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
  timer.start()
  return timer


@functools.cache
def _policy():
  """Returns a policy to which best responses take many minutes."""
  solver = fsicfr.MatchSolver(pyspiel.load_game("dudo(start_dice=3v2)"), 1)
  solver.run(1)
  return solver.average_policy()


@functools.cache
def _trained():
  folder = pathlib.Path(dudo_spiel.__file__).parent / "data"
  return policies.load_policy(folder / "dudo_3_dice.npz")


@pytest.mark.parametrize("work", [
    lambda: exploitability.best_response_value(_policy(), (3, 2), 0),
    lambda: exploitability.best_response_value(_policy(), (3, 2), 0,
                                               method="walk"),
    lambda: exploitability.best_response_value(_policy(), (3, 2), 1,
                                               method="walk", num_threads=1),
    lambda: exploitability.match_bounds(_policy()),
    lambda: list(exploitability.refine_bounds(_policy(), (3, 2), 0, 1e4)),
    lambda: simulation.play_matches([_trained()] * 2, (3, 3), 40_000_000),
    lambda: game_tree.GameTree(pyspiel.load_game("leduc_poker(players=3)")),
], ids=["search", "walk", "walk on one thread", "bounds", "refined bounds",
        "matches", "a game's histories"])
def test_an_interrupt_stops_long_work(work):
  _policy(), _trained()
  timer = _interrupt_after(0.2)
  begin = time.perf_counter()
  with pytest.raises(KeyboardInterrupt):
    work()
  timer.join()
  assert time.perf_counter() - begin < _LATE


@pytest.fixture
def _alarms():
  """Alarms interrupt a test; one that hangs ends the process."""
  before = signal.signal(signal.SIGALRM, signal.default_int_handler)
  faulthandler.dump_traceback_later(300, exit=True)
  yield
  faulthandler.cancel_dump_traceback_later()
  signal.signal(signal.SIGALRM, before)


def test_an_interrupt_at_any_moment_leaves_no_lock_taken(_alarms):
  rng = random.Random(0)
  for _ in range(1000):
    flag = interrupts.new_flag()

    def until_stopped(_, flag=flag):
      while not flag[0]:
        time.sleep(1e-4)

    with pytest.raises(KeyboardInterrupt):
      signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3))
      interrupts.run_in_threads(until_stopped, range(4), 2, flag)
    assert interrupts.run_in_threads(
        abs, [-1, 2], 2, interrupts.new_flag()) == [1, 2]


def test_an_error_in_a_thread_stops_the_others():
  flag, begun = interrupts.new_flag(), []

  def fail_or_wait(task):
    begun.append(task)
    if task == 1:
      raise ValueError("task 1")
    while not flag[0]:
      time.sleep(1e-4)

  with pytest.raises(ValueError, match="task 1"):
    interrupts.run_in_threads(fail_or_wait, range(9), 2, flag)
  assert flag[0]
  assert sorted(begun) == [0, 1]  # those in the queue are left out


def _press_ctrl_c():
  os.kill(os.getpid(), signal.SIGINT)
  time.sleep(1e-3)  # Another thread may receive it.


def test_deferred_interrupts_come_once_after_the_body():
  done = []
  with pytest.raises(KeyboardInterrupt), interrupts.deferred():
    _press_ctrl_c()
    with interrupts.deferred():
      _press_ctrl_c()
    _press_ctrl_c()
    done.append(True)
  assert done
  assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
  with pytest.raises(KeyboardInterrupt):
    _press_ctrl_c()


def test_deferred_interrupts_do_not_hide_an_error():
  with pytest.raises(ValueError, match="wrong"), interrupts.deferred():
    raise ValueError("wrong")
  with pytest.raises(KeyboardInterrupt) as interrupt, interrupts.deferred():
    _press_ctrl_c()
    raise ValueError("wrong")
  assert isinstance(interrupt.value.__context__, ValueError)


def test_a_thread_may_defer_interrupts():
  seen = []

  def defer():
    with interrupts.deferred():
      seen.append(signal.getsignal(signal.SIGINT))

  thread = threading.Thread(target=defer)
  thread.start()
  thread.join()
  assert seen == [signal.default_int_handler]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cfr", "fsicfr", "fsi", "pfsi", "ppt", "mcpt",
                                  "match"])
def test_many_interrupts_leave_tables_and_count_in_step(name, tmp_path):
  solver, plain = solver_cases.make(name), solver_cases.make(name)
  rng = random.Random(name)
  solver.run(1)
  plain.run(1)
  for _ in range(12):
    timer = _interrupt_after(rng.uniform(0.005, 0.1))
    with pytest.raises(KeyboardInterrupt):
      solver.run(10**9)
    timer.join()
    plain.run(solver.iteration - plain.iteration)
    solver_cases.assert_same(solver_cases.saved(solver, tmp_path / "solver"),
                             solver_cases.saved(plain, tmp_path / "plain"))
