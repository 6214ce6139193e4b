"""Python threads and forked processes that use the same games."""

import multiprocessing
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.runtime import progress

_SINGLE_ROUND = ("dudo_single_round(players=3,numdice=1,dice_sides=2,"
                 "claim_window=3,max_amount=2)")
# Python 3.12 warns that what these tests do is unwise.
_forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def _train(num_threads):
  """Returns how many iterations were run; a child process runs it, too."""
  solver = pfsi.FSISolver(pyspiel.load_game(_SINGLE_ROUND),
                          num_threads=num_threads)
  solver.run(100)
  return solver.iteration


def _use_all(num_threads):
  """Uses all that may have threads, and returns what came of it."""
  game = pyspiel.load_game(_SINGLE_ROUND)
  solver = pfsi.FSISolver(game, num_threads=num_threads)
  solver.run(50)
  policy = solver.average_policy()
  match = fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=1,dice_sides=3)"),
                             1, num_threads=num_threads)
  match.run(3)
  plays = match.average_policy()
  return (
      simulation.play_games(game, [policy, "random", "heuristic"], 99,
                            num_threads=num_threads).rates,
      simulation.play_matches([plays, plays], (1, 1), 100,
                              num_threads=num_threads),
      exploitability.best_response_rate(policy, 0, "decisions",
                                        num_threads=num_threads).rate,
      exploitability.match_bounds(plays, num_threads=num_threads).values,
      exploitability.best_response_bounds(plays, (1, 1), 0, 0.1).lower)


@pytest.fixture
def _pool():
  assert _train(2) == 100
  with multiprocessing.get_context("fork").Pool(1) as pool:
    yield pool


@_forks
def test_a_fork_after_parallel_use_says_what_to_do(_pool):
  with pytest.raises(RuntimeError, match="^num_threads=2: .*forked.*'spawn'"):
    _pool.apply_async(_train, (2,)).get(timeout=120)


@_forks
@pytest.mark.slow
def test_a_fork_after_parallel_use_works_on_one_thread(_pool):
  assert _pool.apply_async(_train, (1,)).get(timeout=120) == 100
  assert _pool.apply_async(_train, (None,)).get(timeout=120) == 100
  there = _pool.apply_async(_use_all, (1,)).get(timeout=300)
  assert there == _use_all(2)


def _hold_lock(pipe):
  with progress.progress_bar().get_lock():
    pipe.send("held")
    time.sleep(120.0)


@_forks
def test_a_fork_that_is_killed_while_it_draws_blocks_nobody():
  solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(1)  # makes the lock that both processes have
  ours, theirs = multiprocessing.Pipe()
  process = multiprocessing.get_context("fork").Process(
      target=_hold_lock, args=(theirs,))
  process.start()
  assert ours.recv() == "held"
  process.kill()
  process.join()
  thread = threading.Thread(target=solver.run, args=(1,), daemon=True)
  thread.start()
  thread.join(60.0)
  assert solver.iteration == 2


def test_python_threads_share_games():
  games = [pyspiel.load_game(name) for name in (
      "leduc_poker", "liar_die_ir(sides=3)", "kuhn_poker", "kuhn_poker",
      "kuhn_poker(players=3)", "tiny_hanabi")]  # more than the cache keeps
  solvers = []
  for game in games:
    for iterations in (2, 9):
      solver = cfr.CFRSolver(game)
      solver.run(iterations)
      solvers.append((solver, solver.average_policy(), solver.nash_conv()))
  wrong = []

  def work(seed):
    rng = random.Random(seed)
    try:
      for _ in range(60):
        solver, policy, nash_conv = rng.choice(solvers)
        found = [exploitability.nash_conv(solver.game, policy),
                 solver.nash_conv()]
        wrong.extend(x for x in found if x != nash_conv)
    except Exception as error:
      wrong.append(error)

  interval = sys.getswitchinterval()
  sys.setswitchinterval(1e-6)
  try:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
  finally:
    sys.setswitchinterval(interval)
  assert not wrong


def test_python_threads_share_policies():
  solver = fsicfr.MatchSolver(
      pyspiel.load_game("dudo(numdice=2,dice_sides=2)"), 1)
  solver.run(2)
  policy = solver.average_policy()
  bounds = exploitability.match_bounds(policy).values
  result = simulation.play_matches([policy, policy], (2, 2), 100)
  wrong = []

  def work():
    try:
      for _ in range(10):
        wrong.extend([
            exploitability.match_bounds(policy).values != bounds,
            simulation.play_matches([policy, policy], (2, 2), 100) != result])
    except Exception as error:
      wrong.append(error)

  threads = [threading.Thread(target=work) for _ in range(3)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert not any(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pfsi.PFSISolver",
                                    "pass_through.PrunedPassThroughSolver"])
def test_seconds_of_a_first_use_are_seconds_of_training(solver, tmp_path):
  program = (
      "import pyspiel, dudo_spiel; "
      "from dudo_spiel.algorithms import pass_through, pfsi; "
      f"solver = {solver}(pyspiel.load_game('{_SINGLE_ROUND}')); "
      "solver.run(seconds=1.0); first = solver.iteration; "
      "solver.run(seconds=1.0); print(first, solver.iteration - first)")
  shown = subprocess.run(
      [sys.executable, "-c", program], check=True, capture_output=True,
      text=True, env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}).stdout
  first, second = np.array(shown.split(), int)
  assert first > 0.1 * second > 0
