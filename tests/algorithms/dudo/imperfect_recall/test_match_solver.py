"""`MatchSolver`: training, arguments, tables, and what Ctrl-C leaves."""

import os
import signal
import threading
import time

import match_helpers
import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.imperfect_recall import sweep_kernels
from dudo_spiel.algorithms.runtime import ram


def test_perfect_recall_gives_the_graph_solvers_iterates():
  game = match_helpers.load(numdice=1, dice_sides=3)
  match = match_helpers.solver_of(game, recall_length=6, hands_met="all",
                                  gamma=0.0, dtype="float64")
  graph = fsicfr.FSICFRSolver(game, recall_length=6, deals="exact")
  for _ in range(5):
    match.run(iterations=3)
    graph.run(3)
    ours, theirs = match.average_policy(), graph.average_policy()
    stack = [game.new_initial_state()]
    while stack:
      state = stack.pop()
      if state.current_player() >= 0:
        expected = theirs.action_probabilities(state)
        actual = ours.action_probabilities(state)
        assert actual.keys() == expected.keys()
        for action, probability in expected.items():
          assert actual[action] == pytest.approx(probability, abs=1e-6)
      stack += [state.child(a) for a in state.legal_actions()]


@pytest.mark.slow
def test_more_training_makes_it_better():
  game = match_helpers.load(start_dice="2v1", dice_sides=2)
  solver = match_helpers.solver_of(game, hands_met=1)
  measured = []
  for iterations in (10, 100, 2000):
    solver.run(iterations=iterations, total=True)
    measured.append(exploitability.exploitability(game,
                                                  solver.average_policy()))
  assert measured[0] > measured[1] > measured[2]
  assert measured[2] < 0.02


def test_seeds_and_totals():
  solvers = [match_helpers.solver_of(seed=seed, hands_met=1)
             for seed in (1, 1, 2)]
  for solver in solvers:
    solver.run(iterations=6)
  match_helpers.assert_same(solvers[0], solvers[1])
  assert not np.array_equal(solvers[0].tables(2, 2).cumulative,
                            solvers[2].tables(2, 2).cumulative)
  solvers[0].run(iterations=6, total=True)
  match_helpers.assert_same(solvers[0], solvers[1])
  solvers[0].run(iterations=1)
  assert solvers[0].iterations(2, 2) == 7


def test_run_by_seconds_trains_every_round():
  solver = match_helpers.solver_of()
  solver.run(seconds=0.2)
  assert all(solver.iterations(*key) >= 1 for key in solver.rounds)
  assert solver.seconds > 0.15
  before = solver.iterations(2, 2)
  solver.run(seconds=solver.seconds / 2, total=True)
  assert solver.iterations(2, 2) == before


def test_seconds_are_kept_if_sweeps_are_slow(monkeypatch):
  sweep = sweep_kernels.sweep
  slow_sweeps = []

  def slow(memory, *args):
    sweep(memory, *args)
    if memory.num_claims > 0:  # other sweeps only compile
      slow_sweeps.append(memory.num_claims)
      time.sleep(0.05)

  solver = match_helpers.solver_of()
  solver.run(iterations=1)  # loads kernels
  monkeypatch.setattr(sweep_kernels, "sweep", slow)
  solver.run(seconds=1.0)
  assert 0 < len(slow_sweeps) < 1.4 / 0.05


def test_an_interrupt_does_not_wait_for_a_long_sweep(monkeypatch):
  whole, part = match_helpers.solver_of(), match_helpers.solver_of()
  whole.run(4)
  sweep, count = sweep_kernels.sweep, 0
  goes_on = threading.Event()

  def interrupted(memory, *args):
    nonlocal count
    count += memory.num_claims > 0
    if count == 3:
      os.kill(os.getpid(), signal.SIGINT)
      assert goes_on.wait(60.0)  # the interrupt comes first
    sweep(memory, *args)

  monkeypatch.setattr(sweep_kernels, "sweep", interrupted)
  monkeypatch.setattr(pair_trainer, "LONG_SECONDS", -1.0)
  with pytest.raises(KeyboardInterrupt):
    part.run(4)
  threading.Timer(0.1, goes_on.set).start()
  assert part.iterations(1, 1) == 3  # waits until the sweep has ended
  part.run(4, total=True)
  match_helpers.assert_same(whole, part)


def test_errors_of_long_sweeps_are_raised(monkeypatch):

  def fail(*args):
    raise RuntimeError("in a thread")

  monkeypatch.setattr(pair_trainer, "LONG_SECONDS", -1.0)
  solver = match_helpers.solver_of()
  monkeypatch.setattr(sweep_kernels, "sweep", fail)
  with pytest.raises(RuntimeError, match="in a thread"):
    solver.run(1)
  assert solver.iteration == 0


def test_values_are_never_out_of_date(monkeypatch):
  solver = match_helpers.solver_of(hands_met=1)
  solver.run(iterations=3)
  before = solver.value(2, 1)
  match_helpers.interrupt_sweep(monkeypatch, 27)  # of (1, 2)
  with pytest.raises(KeyboardInterrupt):
    solver.run(iterations=20)
  monkeypatch.undo()
  assert solver.iterations(1, 1) == 23
  assert solver.iterations(1, 2) == 6
  assert set(solver.average_policy().values) == {(1, 1)}
  game = match_helpers.load(start_dice="2v1", dice_sides=2)
  real = exploitability.expected_values(game, solver.average_policy())
  assert solver.value(2, 1) == pytest.approx(real[0], abs=1e-6)
  assert solver.value(2, 1) != before
  assert set(solver.average_policy().values) == {(1, 1), (1, 2), (2, 1)}
  solver.run(iterations=3, total=True)  # only computes values
  assert set(solver.average_policy().values) == set(solver.rounds)


def test_tables_are_read_only():
  solver = match_helpers.solver_of()
  tables = solver.tables(1, 2)
  assert tables.regret.shape == solver.rules.table_shape((1, 2))
  with pytest.raises(ValueError, match="read-only"):
    tables.cumulative[:] = 1.0
  solver.run(iterations=1)
  assert tables.cumulative.any()
  with pytest.raises(ValueError, match="own_dice=3"):
    solver.tables(3, 3)


def test_one_iteration_and_the_current_policy():
  solver = match_helpers.solver_of(match_helpers.load(numdice=1, dice_sides=2))
  solver.run(iterations=0)
  assert solver.iteration == 0
  state = solver.game.new_initial_state()
  for _ in range(2):
    state.apply_action(0)
  uniform = dict.fromkeys(range(4), 0.25)
  assert solver.current_policy().action_probabilities(state) == uniform
  solver.evaluate_and_update_policy()
  assert solver.iteration == 1
  assert solver.current_policy().action_probabilities(state) != uniform
  assert solver.average_policy().action_probabilities(state) == pytest.approx(
      uniform)


def test_memory_is_known_before_and_refused(monkeypatch):
  game = match_helpers.load(numdice=2)
  needed = fsicfr.memory_needed(game, 3, 1)
  assert match_helpers.solver_of(game).memory_bytes == needed
  assert 5e9 < fsicfr.memory_needed(match_helpers.load(), 3) < 8e9
  ir = pyspiel.load_game("dudo_ir(numdice=2,recall_length=2)")
  assert fsicfr.memory_needed(ir, 3, 1) < needed
  small = match_helpers.solver_of(game, memory="claims2_ranks1")
  assert (small.memory_bytes < needed <
          fsicfr.memory_needed(game, num_threads=1, memory="claims2_ranks2"))
  monkeypatch.setattr(ram, "available_bytes", lambda: needed - 1)
  with pytest.raises(ValueError, match="recall_length=3: .*GB are available"):
    match_helpers.solver_of(game)
  with pytest.raises(ValueError, match="memory='player_ranks': .*GB are avail"):
    match_helpers.solver_of(game, memory="player_ranks")


@pytest.mark.parametrize("kwargs, message", [
    ({"recall_length": 0}, "recall_length=0"),
    ({"memory": "ranks"}, "memory='ranks': must be .*claims2_ranks2"),
    ({"seed": -1}, "seed=-1"),
    ({"num_threads": 0}, "num_threads=0"),
    ({"hands_met": "some"}, "hands_met='some'"),
    ({"hands_met": 0}, "hands_met=0"),
    ({"gamma": -1}, "gamma=-1"), ({"gamma": 5}, "gamma=5"),
    ({"dtype": "int8"}, "dtype='int8'"),
])
def test_wrong_arguments(kwargs, message):
  with pytest.raises(ValueError, match=message):
    match_helpers.solver_of(**kwargs)


@pytest.mark.parametrize("name", ["dudo(players=3)", "liars_dice",
                                  "dudo_single_round"])
def test_other_games_are_refused(name):
  with pytest.raises(ValueError, match="must be dudo or dudo_ir"):
    match_helpers.solver_of(pyspiel.load_game(name))


def test_wrong_calls():
  solver = match_helpers.solver_of()
  for kwargs in ({}, {"iterations": 1, "seconds": 1}):
    with pytest.raises(ValueError, match="one of them must be given"):
      solver.run(**kwargs)
  with pytest.raises(ValueError, match="iterations=-1"):
    solver.run(iterations=-1)
  with pytest.raises(ValueError, match="seconds=-1"):
    solver.run(seconds=-1)
  with pytest.raises(ValueError, match="opponent_dice=3: must be a round"):
    solver.value(1, 3)
  with pytest.raises(ValueError, match="total=2: must be"):
    solver.run(iterations=1, total=2)
  with pytest.raises(ValueError, match="^own_dice=1.*not trained yet; call"):
    solver.value(1, 1)


def test_before_training_both_play_uniformly():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3,starting_player=1)")
  uniform = policy_lib.UniformRandomPolicy(game)
  assert match_helpers.solver_of(game).expected_values() == pytest.approx(
      exploitability.expected_values(game, uniform), abs=1e-6)
