import functools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyspiel
import pytest
import random_games

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.runtime import checkpoint


@functools.cache
def _leduc():
  return pyspiel.load_game("leduc_poker")


@pytest.mark.parametrize("name", cfr.SOLVERS)
@pytest.mark.parametrize("options", [{}, {"alternating": False},
                                     {"dtype": "float32"},
                                     {"form": "history"}])
def test_resumed_runs_are_exactly_unbroken_runs(name, options, tmp_path):
  unbroken, first, second = (cfr.SOLVERS[name](_leduc(), **options)
                             for _ in range(3))
  unbroken.run(25)
  first.run(10)
  first.save(tmp_path / "solver.npz")
  second.load(tmp_path / "solver.npz")
  assert second.iteration == 10
  second.run(15)
  assert second.iteration == unbroken.iteration
  for ours, theirs in zip(second.tables, unbroken.tables):
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("other, message", [
    (lambda: cfr.CFRPlusSolver(_leduc()), "solver=CFRSolver; must be CFRPlus"),
    (lambda: cfr.CFRSolver(pyspiel.load_game("kuhn_poker")), "game=leduc"),
    (lambda: cfr.CFRSolver(_leduc(), dtype="float32"), "parameters="),
    (lambda: cfr.CFRSolver(_leduc(), alternating=False), "parameters="),
    (lambda: cfr.CFRSolver(_leduc(), gamma=1.0), "parameters="),
])
def test_files_of_other_solvers_are_refused(other, message, tmp_path):
  cfr.CFRSolver(_leduc()).save(tmp_path / "solver.npz")
  with pytest.raises(ValueError, match=message):
    other().load(tmp_path / "solver.npz")


def _saved(tmp_path):
  path = tmp_path / "solver.npz"
  solver = cfr.CFRSolver(_leduc())
  solver.run(2)
  solver.save(path)
  return solver, path


def test_every_truncation_is_noticed(tmp_path):
  solver, path = _saved(tmp_path)
  whole = path.read_bytes()
  for size in [0, 1, 10, 100, len(whole) // 2, len(whole) - 1]:
    path.write_bytes(whole[:size])
    with pytest.raises(ValueError, match="path=.*must be a whole file"):
      solver.load(path)


def test_damage_is_noticed(tmp_path):
  solver, path = _saved(tmp_path)
  whole = path.read_bytes()
  for place in [len(whole) // 4, len(whole) // 3, len(whole) // 2]:
    damaged = bytearray(whole)
    damaged[place] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with pytest.raises(ValueError, match="path="):
      solver.load(path)


def test_foreign_files_are_refused(tmp_path):
  solver, path = _saved(tmp_path)
  path.write_text("hello")
  with pytest.raises(ValueError, match="must be a whole file"):
    solver.load(path)
  np.savez(path, strategy=np.zeros(3))
  with pytest.raises(ValueError, match="must be a whole file"):
    solver.load(path)
  np.save(path.with_suffix(".npy"), np.zeros(3))
  with pytest.raises(ValueError, match="must be a whole file"):
    solver.load(path.with_suffix(".npy"))
  solver.average_policy().save(path)
  with pytest.raises(ValueError, match="holds a policy.*must be a solver"):
    solver.load(path)
  solver.save(path)
  with pytest.raises(ValueError, match="holds a solver.*must be a policy"):
    policies.load_policy(path)
  with pytest.raises(FileNotFoundError):
    solver.load(tmp_path / "nothing.npz")


def test_a_failed_save_leaves_the_old_file_and_no_rubbish(tmp_path):
  solver, path = _saved(tmp_path)
  before = path.read_bytes()
  with pytest.raises(TypeError):
    checkpoint.save(path, "solver", {"x": object()}, {})

  class Broken:

    def __array__(self, *args, **kwargs):
      raise MemoryError

  with pytest.raises(MemoryError):
    checkpoint.save(path, "solver", {}, {"x": Broken()})
  assert path.read_bytes() == before
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_killing_the_process_before_a_step_keeps_the_old_file(function,
                                                              tmp_path):
  path = tmp_path / "file.npz"
  checkpoint.save(path, "test", {"number": 1}, {"x": np.zeros(1000)})
  program = (
      "import os, signal, sys, numpy as np\n"
      "from dudo_spiel.algorithms.runtime import checkpoint\n"
      "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
      f"os.{function} = die\n"
      "checkpoint.save(sys.argv[1], 'test', {'number': 2}, {'x': np.ones(9)})")
  result = subprocess.run([sys.executable, "-c", program, path])
  assert result.returncode == -signal.SIGKILL
  header, arrays = checkpoint.load(path, "test")
  assert header["number"] == 1 and len(arrays["x"]) == 1000


def test_files_have_the_usual_permissions(tmp_path):
  checkpoint.save(tmp_path / "ours", "test", {}, {})
  (tmp_path / "usual").write_bytes(b"")
  assert (tmp_path / "ours").stat().st_mode == (
      (tmp_path / "usual").stat().st_mode)


def test_a_file_of_another_game_with_the_same_name_is_refused(tmp_path):
  first, second = (cfr.CFRSolver(random_games.random_game(seed))
                   for seed in (1, 2))
  first.save(tmp_path / "solver.npz")
  with pytest.raises(ValueError, match="fingerprint="):
    second.load(tmp_path / "solver.npz")


def test_files_without_tables_are_refused_and_change_nothing(tmp_path):
  solver, path = _saved(tmp_path)
  header, arrays = checkpoint.load(path, "solver")
  del arrays["cumulative"]
  arrays["regret"] += 1.0
  rest = {key: header[key] for key in ("solver", "game", "fingerprint",
                                       "parameters", "iteration")}
  checkpoint.save(path, "solver", rest, arrays)
  before = [table.copy() for table in solver.tables]
  with pytest.raises(ValueError, match="its cumulative is"):
    solver.load(path)
  for ours, theirs in zip(solver.tables, before):
    np.testing.assert_array_equal(ours, theirs)


def test_killing_the_process_while_it_saves_keeps_a_whole_file(tmp_path):
  path = tmp_path / "file.npz"
  checkpoint.save(path, "test", {"number": -1}, {"x": np.zeros(1000)})
  program = (
      "import sys, numpy as np\n"
      "from dudo_spiel.algorithms.runtime import checkpoint\n"
      "x = np.random.default_rng(0).random(500_000)\n"
      "print('ready', flush=True)\n"
      "for number in range(10**6):\n"
      "  checkpoint.save(sys.argv[1], 'test', {'number': number}, {'x': x})\n")
  numbers = set()
  for delay in (0.002, 0.02, 0.1, 0.3, 1.0):
    process = subprocess.Popen([sys.executable, "-c", program, path],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    header, arrays = checkpoint.load(path, "test")
    assert len(arrays["x"]) in (1000, 500_000)
    numbers.add(header["number"])
  assert len(numbers) > 1
