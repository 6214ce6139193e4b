"""The solver of matches with perfect recall."""

import concurrent.futures
import os
import signal
import threading
import time
import tracemalloc

import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import expansion_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import guarded_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import recall_solver
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.runtime import ram

_SMALL = recall_helpers.SMALL


def test_a_round_alone_is_less_exploitable_than_the_match_from_there():
  solver = recall_helpers.solver_after(_SMALL, 60)
  widths = []
  for key in solver.rounds:
    low, high = solver.interval(*key)
    alone, whole = solver.round_exploitability(*key), 0.5 * (high - low)
    if widths:  # what rounds after it can add is bounded by their intervals
      assert 0.0 < alone < whole <= alone + max(widths)
    else:
      assert alone == whole
    widths.append(high - low)


def test_intervals_hold_the_exact_value():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1)"), num_threads=1, dtype="float64")
  result = solver.solve(target_exploitability=2e-3, max_iterations=3000)
  assert result.reason == "target"
  low, high = solver.interval(1, 1)
  assert low <= -7 / 258 <= high
  assert high - low == pytest.approx(2.0 * result.exploitability)
  assert solver.num_nodes(1, 1) < 1000  # of 2048


def test_memory_is_bounded(monkeypatch, tmp_path):
  monkeypatch.setattr(recall_solver, "ROOM_PARTS", 1)  # takes all of it soon
  recall_helpers.solver_after(_SMALL, 7).interval(2, 1)  # compiles
  most, game = 3 * 10**6, pyspiel.load_game("dudo(numdice=2)")
  most_of_all = most + 2 * 10**5  # Python's own objects
  tracemalloc.start()
  try:
    solver = perfect_recall.PerfectRecallSolver(
        game, num_threads=2, max_bytes=most, dtype="float64")
    for _ in range(3):
      solver.run(40)
      assert solver.memory_bytes <= most
      solver.interval(2, 2)
    solver.save(tmp_path / "solver.npz")
    _, peak = tracemalloc.get_traced_memory()
    assert 0.5 * most < peak <= most_of_all
    before = solver.nash_conv()
    del solver
    solver = perfect_recall.PerfectRecallSolver(
        game, num_threads=2, max_bytes=most, dtype="float64")
    tracemalloc.reset_peak()
    solver.load(tmp_path / "solver.npz")
    assert solver.nash_conv() == before
    _, peak = tracemalloc.get_traced_memory()
    assert peak <= 1.2 * most  # it reads a file in blocks of up to 4 MB
  finally:
    tracemalloc.stop()
  free = perfect_recall.PerfectRecallSolver(game, num_threads=1,
                                            dtype="float64")
  free.run(20)
  assert free.memory_bytes > most
  assert solver.exploitability() < 1.0


@pytest.mark.parametrize("name", ["kuhn_poker", "dudo_ir(numdice=1)",
                                  "dudo(players=3,numdice=1)"])
def test_other_games_are_refused(name):
  with pytest.raises(ValueError, match="^game=.*: must be dudo"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game(name))


def test_rounds_of_other_matches_are_refused():
  solver = recall_helpers.solver_after(_SMALL, 7)
  for ask in (solver.value, solver.interval, solver.iterations,
              solver.num_nodes):
    with pytest.raises(ValueError, match=r"^own_dice=1, opponent_dice=2: .*"
                       r"\(1, 1\), \(2, 1\)$"):
      ask(1, 2)


def test_how_trees_grow_does_not_depend_on_free_memory(monkeypatch):
  game = pyspiel.load_game(_SMALL)
  first = {}
  for free in (5 * 10**8, 10**11):
    monkeypatch.setattr(ram, "available_bytes", lambda free=free: free)
    first[free] = [perfect_recall.PerfectRecallSolver(
        game, num_threads=1, max_bytes=given).memory_bytes
                   for given in (None, 10**8)]
  assert first[5 * 10**8] == first[10**11]  # proposals are part of it


def _interrupt(*waits):
  """Sends Ctrl-C after each of these waits, in a thread."""
  def send():
    for wait in waits:
      wait()
      os.kill(os.getpid(), signal.SIGINT)
  thread = threading.Thread(target=send)
  thread.start()
  return thread


def test_measurements_end_soon_after_an_interrupt(monkeypatch):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=2, dtype="float64")
  solver.run(40)
  begun = threading.Event()

  def endless(game, tree, table, responder, work, choices):
    begun.set()
    end = time.monotonic() + 60.0
    while not work.stop[0] and time.monotonic() < end:
      time.sleep(0.01)

  for measure in (solver.nash_conv, lambda: solver.interval(2, 1)):
    begun.clear()
    with monkeypatch.context() as patch:
      patch.setattr(best_response_kernels, "respond", endless)
      thread = _interrupt(begun.wait)
      begin = time.monotonic()
      with pytest.raises(KeyboardInterrupt):
        measure()
      assert time.monotonic() - begin < 30.0
      thread.join()
  expected = recall_helpers.solver_after(_SMALL, 40)
  assert solver.nash_conv() == expected.nash_conv()


def test_a_second_interrupt_leaves_a_whole_solver(monkeypatch, tmp_path):
  solver, other, plain = (perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1, dtype="float64")
                          for _ in range(3))
  solver.run(5)
  learn, begun, go_on = guarded_kernels.learn, threading.Event(), (
      threading.Event())

  def slow(game, tree, tables, step, *args):
    if step.role == 1:  # an iteration has been half done
      begun.set()
      go_on.wait(60.0)
    return learn(game, tree, tables, step, *args)

  with monkeypatch.context() as patch:
    patch.setattr(guarded_kernels, "learn", slow)
    thread = _interrupt(begun.wait, lambda: time.sleep(0.2))
    with pytest.raises(KeyboardInterrupt):
      solver.run(1000)
    thread.join()
    threading.Timer(0.3, go_on.set).start()
    solver.save(tmp_path / "solver.npz")
  other.load(tmp_path / "solver.npz")
  assert other.iteration == 6
  for now in (other, solver):
    now.run(3)
  plain.run(9)
  for key in plain.rounds:
    for ours, theirs, expected in zip(solver.tables(*key), other.tables(*key),
                                      plain.tables(*key)):
      np.testing.assert_array_equal(ours, expected)
      np.testing.assert_array_equal(theirs, expected)


@pytest.mark.parametrize("first, last", [(20, 60), (120, 300)])
def test_a_growth_that_was_interrupted_is_made_up(first, last, monkeypatch,
                                                  tmp_path):
  solver, plain = (perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(start_dice=2v1,dice_sides=4)"), num_threads=1,
      dtype="float64") for _ in range(2))
  solver.run(first)
  propose, begun = expansion_kernels.propose, threading.Event()
  drop, dropped = round_trainer.RecallTrainer.drop, []

  def noted_drop(trainer, responses, *args):
    before = trainer.tree.num_nodes
    drop(trainer, 1e9 * responses, *args)  # whatever nobody regrets
    dropped.append(before - trainer.tree.num_nodes)

  def slow(game, tree, table, responder, work, *args):
    if first < 100 or any(dropped):
      begun.set()
      end = time.monotonic() + 60.0
      while not work.stop[0] and time.monotonic() < end:
        time.sleep(0.01)
    return propose(game, tree, table, responder, work, *args)

  monkeypatch.setattr(round_trainer.RecallTrainer, "drop", noted_drop)
  with monkeypatch.context() as patch:
    patch.setattr(expansion_kernels, "propose", slow)
    thread = _interrupt(begun.wait)
    with pytest.raises(KeyboardInterrupt):
      solver.run(1000)
    thread.join()
  done = solver.iteration
  solver.save(tmp_path / "solver.npz")
  solver.load(tmp_path / "solver.npz")
  solver.run(last - done)
  plain.run(last)
  assert first < done < last
  for key in plain.rounds:
    for ours, theirs in zip(solver.tables(*key), plain.tables(*key)):
      np.testing.assert_array_equal(ours, theirs)


def test_more_memory_than_there_is_is_refused(monkeypatch):
  with pytest.raises(ValueError, match=r"^max_bytes=10{18}: .* needs "
                     r"1000000000\.0 GB of memory, but"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game(_SMALL),
                                       max_bytes=10**18)
  with pytest.raises(ValueError, match=r"^max_bytes=1000000: must be at least "
                     r"\d{7}, what dudo"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game("dudo"),
                                       max_bytes=10**6)
  monkeypatch.setattr(ram, "available_bytes", lambda: 10**9)
  with pytest.raises(ValueError, match=r"^game=dudo.* needs 10\.\d GB of "
                     "memory, but .* choose fewer dice"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game("dudo(numdice=20)"))


def test_growth_in_little_memory_depends_on_no_threads():
  found = []
  for threads in (1, 3):
    solver = perfect_recall.PerfectRecallSolver(
        pyspiel.load_game("dudo(numdice=2)"), num_threads=threads,
        max_bytes=3 * 10**6, dtype="float64")
    solver.run(40)
    found.append((solver.memory_bytes, solver.tables(2, 2)))
  assert found[0][0] == found[1][0] > 0.75 * 3 * 10**6  # it is the limit
  for one, three in zip(found[0][1], found[1][1]):
    np.testing.assert_array_equal(one, three)


def test_tables_of_a_solver_are_copies():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1, dtype="float64")
  solver.run(3)
  tables = solver.tables(2, 1)
  before = [table.copy() for table in tables]
  solver.run(60)  # whose tables move in memory as they grow
  for ours, theirs in zip(tables, before):
    np.testing.assert_array_equal(ours, theirs)


def test_trees_leave_room_for_claims_that_gain_more_later(monkeypatch):
  monkeypatch.setattr(recall_solver, "FULL_FRACTION", 0.8)

  def memory_taken(parts):
    monkeypatch.setattr(recall_solver, "ROOM_PARTS", parts)
    solver = perfect_recall.PerfectRecallSolver(
        pyspiel.load_game("dudo(numdice=2)"), num_threads=1,
        max_bytes=3 * 10**6, dtype="float64")
    solver.run(60)
    return solver.memory_bytes / (3 * 10**6)

  assert recall_solver.FULL_FRACTION < memory_taken(40) < 0.95 < memory_taken(1)


def test_threads_may_measure_a_solver_that_runs():
  solver, plain = (perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1) for _ in range(2))
  solver.run(3)
  calls = (solver.average_policy, solver.exploitability, solver.expected_values,
           lambda: solver.value(2, 1), lambda: solver.interval(1, 1),
           lambda: solver.round_exploitability(2, 1),
           lambda: solver.tables(2, 1), lambda: solver.memory_bytes)
  with concurrent.futures.ThreadPoolExecutor(3) as pool:
    run = pool.submit(solver.run, seconds=1.0)
    while not run.done():
      for result in [pool.submit(call) for call in calls]:
        result.result()
    run.result()
  plain.run(solver.iteration)
  for dice in solver.rounds:
    for found, expected in zip(solver.tables(*dice), plain.tables(*dice)):
      np.testing.assert_array_equal(found, expected)
