import functools
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import helpers
import numpy as np
import pyspiel
import pytest
import random_games

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.runtime import archives


@functools.cache
def _leduc():
  return pyspiel.load_game("leduc_poker")


# These have kernels of their own for each type and form.
_MANY_KERNELS = ("apcfr+", "vad-cfr")


@pytest.mark.parametrize("name, options", [
    pytest.param(name, options, marks=[pytest.mark.slow] if (
        name in _MANY_KERNELS and options.keys() & {"dtype", "form"}) else [])
    for name in cfr.SOLVERS
    for options in ({}, {"alternating": False}, {"dtype": "float32"},
                    {"form": "history"})])
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
    (lambda: cfr.CFRSolver(_leduc(), epsilon=0.01), "parameters="),
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
  for offset in [len(whole) // 4, len(whole) // 3, len(whole) // 2]:
    damaged = bytearray(whole)
    damaged[offset] ^= 0xFF
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
    archives.save(path, "solver", {"x": object()}, {})

  class Broken:

    def __array__(self, *args, **kwargs):
      raise MemoryError

  with pytest.raises(MemoryError):
    archives.save(path, "solver", {}, {"x": Broken()})
  assert path.read_bytes() == before
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_killing_the_process_before_a_step_keeps_the_old_file(function,
                                                              tmp_path):
  path = tmp_path / "file.npz"
  archives.save(path, "test", {"number": 1}, {"x": np.zeros(1000)})
  program = (
      "import os, signal, sys, numpy as np\n"
      "from dudo_spiel.algorithms.runtime import archives\n"
      "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
      f"os.{function} = die\n"
      "archives.save(sys.argv[1], 'test', {'number': 2}, {'x': np.ones(9)})")
  result = subprocess.run([sys.executable, "-c", program, path])
  assert result.returncode == -signal.SIGKILL
  header, arrays = helpers.load_file(path, "test")
  assert header["number"] == 1 and len(arrays["x"]) == 1000


def test_an_interrupt_that_is_hidden_by_the_archive_is_raised(tmp_path):

  class Interrupted:

    def __array__(self, *args, **kwargs):
      try:
        raise KeyboardInterrupt
      finally:
        raise ValueError("an archive cannot be closed now")  # noqa: B012

  with pytest.raises(KeyboardInterrupt):
    archives.save(tmp_path / "file.npz", "test", {}, {"x": Interrupted()})
  assert not list(tmp_path.iterdir())


def test_an_interrupt_of_load_takes_the_whole_file(tmp_path):

  class Interrupted(cfr.CFRSolver):

    def _restore_extras(self, extras):
      for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1e-3)
      super()._restore_extras(extras)

  solver, loaded = (Interrupted(pyspiel.load_game("kuhn_poker"))
                    for _ in range(2))
  solver.run(3)
  solver.save(tmp_path / "solver.npz")
  with pytest.raises(KeyboardInterrupt):
    loaded.load(tmp_path / "solver.npz")
  assert loaded.iteration == 3
  for ours, theirs in zip(loaded.tables, solver.tables):
    np.testing.assert_array_equal(ours, theirs)


def test_files_have_the_usual_permissions(tmp_path):
  archives.save(tmp_path / "ours", "test", {}, {})
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
  header, arrays = helpers.load_file(path, "solver")
  del arrays["cumulative"]
  arrays["regret"] += 1.0
  identity = {key: header[key] for key in (
      "solver", "game", "fingerprint", "parameters", "iteration")}
  archives.save(path, "solver", identity, arrays)
  before = [table.copy() for table in solver.tables]
  with pytest.raises(ValueError, match="its cumulative is"):
    solver.load(path)
  for ours, theirs in zip(solver.tables, before):
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_killing_the_process_while_it_saves_keeps_a_whole_file(tmp_path):
  path = tmp_path / "file.npz"
  archives.save(path, "test", {"number": -1}, {"x": np.zeros(1000)})
  program = (
      "import sys, numpy as np\n"
      "from dudo_spiel.algorithms.runtime import archives\n"
      "x = np.random.default_rng(0).random(500_000)\n"
      "print('ready', flush=True)\n"
      "for number in range(10**6):\n"
      "  archives.save(sys.argv[1], 'test', {'number': number}, {'x': x})\n")
  numbers = set()
  for delay in (0.002, 0.02, 0.1, 0.3, 1.0):
    process = subprocess.Popen([sys.executable, "-c", program, path],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    header, arrays = helpers.load_file(path, "test")
    assert len(arrays["x"]) in (1000, 500_000)
    numbers.add(header["number"])
  assert len(numbers) > 1


def _parts(folder):
  return [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_planted_link_is_not_followed(tmp_path):
  victim, path = tmp_path / "victim", tmp_path / "file.npz"
  victim.write_text("precious")
  (tmp_path / "file.npz.0.part").symlink_to(victim)
  (tmp_path / "file.npz.1.part").hardlink_to(victim)
  os.mkfifo(tmp_path / "file.npz.2.part")
  path.symlink_to(victim)
  archives.save(path, "test", {}, {})
  assert victim.read_text() == "precious"
  assert not path.is_symlink()
  helpers.load_file(path, "test")


_KILLED = """
import os, signal, sys, numpy as np
from dudo_spiel.algorithms.runtime import archives
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
archives.save(sys.argv[1], "test", {}, {"x": np.ones(9999)})
"""


def test_what_a_killed_process_has_left_is_removed(tmp_path):
  path = tmp_path / "file.npz"
  for _ in range(2):  # The second one overwrites what the first has left.
    subprocess.run([sys.executable, "-c", _KILLED, path])
    (left,) = tmp_path.iterdir()
    assert left.name == "file.npz.0.part" and left.stat().st_size > 9999
  others = {"other.npz.0.part", "file.npz.part", "file.npz.old.part"}
  for name in others:
    (tmp_path / name).write_text("not ours")
  archives.save(path, "test", {}, {})
  assert {path.name for path in tmp_path.iterdir()} == {"file.npz", *others}
  helpers.load_file(path, "test")


def test_what_somebody_still_writes_is_not_removed(tmp_path):
  path = tmp_path / "file.npz"

  class Saving:
    """Saves to the same place while it is being saved."""

    def __array__(self, *args, **kwargs):
      assert len(_parts(tmp_path)) == 1
      archives.save(path, "test", {"number": 1}, {})
      assert len(_parts(tmp_path)) == 1
      return np.arange(3)

  archives.save(path, "test", {"number": 2}, {"x": Saving()})
  header, arrays = helpers.load_file(path, "test")
  assert header["number"] == 2 and arrays["x"].tolist() == [0, 1, 2]
  assert not _parts(tmp_path)


def test_threads_that_save_to_one_path_leave_a_whole_file(tmp_path):
  path = tmp_path / "file.npz"
  errors = []

  def save(number):
    try:
      for _ in range(15):
        archives.save(path, "test", {"number": number},
                      {"x": np.full(50_000, number)})
        header, arrays = helpers.load_file(path, "test")
        assert np.all(arrays["x"] == header["number"])
    except Exception as error:  # noqa: BLE001, a thread must tell
      errors.append(error)

  threads = [threading.Thread(target=save, args=(number,))
             for number in range(4)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert not errors
  assert list(tmp_path.iterdir()) == [path]


def test_the_file_and_then_the_folder_are_synced(tmp_path, monkeypatch):
  path = tmp_path / "file.npz"
  steps = []
  fsync, replace = os.fsync, os.replace

  def noted_fsync(descriptor):
    is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    steps.append("folder" if is_folder else "file")
    fsync(descriptor)

  def noted_replace(*args):
    steps.append("rename")
    replace(*args)

  monkeypatch.setattr(os, "fsync", noted_fsync)
  monkeypatch.setattr(os, "replace", noted_replace)
  archives.save(path, "test", {}, {})
  assert steps == ["file", "rename", "folder"]


def test_a_folder_is_refused_as_a_file(tmp_path):
  with pytest.raises(ValueError, match="^path=.*is a folder; must be a file"):
    archives.save(tmp_path, "test", {}, {})


@pytest.mark.parametrize("path", [3.5, None, ["x"], "", b"", "a\0b"])
def test_what_is_no_path_is_refused(path):
  solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
  for use in (solver.save, solver.load, policies.load_policy):
    with pytest.raises(ValueError, match="^path=.*must be the path"):
      use(path)


def test_arrays_of_any_order_and_no_size_come_back(tmp_path):
  arrays = {"fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            "empty": np.zeros((0, 3), np.int32), "number": np.float32(2.5)}
  archives.save(tmp_path / "file.npz", "test", {}, arrays, compress=True)
  _, loaded = helpers.load_file(tmp_path / "file.npz", "test")
  for name, array in arrays.items():
    np.testing.assert_array_equal(loaded[name], array)
    assert loaded[name].dtype == array.dtype


_KILLER = """
import os, random, select, signal, sys, time
import numpy as np
import pyspiel
import dudo_spiel
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.runtime import archives

kind, target, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(kind)
folder = os.path.dirname(target)


def solver_of():
  return fsicfr.MatchSolver(
      pyspiel.load_game("dudo(numdice=2,dice_sides=2)"), num_threads=1)


def save(number):
  x = np.full(300_000, number)
  archives.save(target, "test", {"number": number}, {"x": x})


def load():
  with archives.opened(target, "test") as archive:
    return archive.header["number"], archive.read("x")


def save_for_ever():
  number = load()[0] if kind == "file" else 0
  solver = solver_of()
  if kind == "solver":
    solver.load(target)
  os.write(ready, b"x")
  while True:
    number += 1
    if kind == "file":
      save(number)
    else:
      solver.run(1, save_to=target)
    os.write(ready, b"x")


def check():
  # Returns how far the processes have come.
  if kind == "file":
    number, x = load()
    assert len(x) == 300_000
    assert np.all(x == number)
    return number
  solver = solver_of()
  solver.load(target)
  while plain.iteration < solver.iteration:
    plain.run(1)
  for key in solver.rounds:
    assert solver.iterations(*key) == plain.iterations(*key)
    for ours, theirs in zip(solver.tables(*key), plain.tables(*key)):
      assert np.array_equal(ours, theirs)
  return solver.iteration


plain = solver_of()  # is trained as much as what was saved, without a break
plain.run(1)  # loads kernels before the first fork
seconds = 0.0  # that a save takes on this machine, at most
for number in range(5):
  begin = time.perf_counter()
  if kind == "file":
    save(number)
  else:
    plain.run(1, save_to=target)
  seconds = max(seconds, time.perf_counter() - begin)
wait, ready = os.pipe()
max_parts, seen = 0, set()
for kill in range(kills):
  process = os.fork()
  if process == 0:
    try:
      save_for_ever()
    finally:
      os._exit(1)
  os.read(wait, 1)
  if kill % 2:
    os.read(wait, 1)  # Every second process saves at least once.
  time.sleep(rng.uniform(0.0, min(seconds, 0.1)))
  os.kill(process, signal.SIGKILL)
  _, status = os.waitpid(process, 0)
  while select.select([wait], [], [], 0.0)[0]:
    os.read(wait, 1)
  assert os.WIFSIGNALED(status), "it ended by itself"
  seen.add(check())
  num_parts = sum(name.endswith(".part") for name in os.listdir(folder))
  max_parts = max(max_parts, num_parts)
print(len(seen), max_parts)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "solver"])
def test_many_kills_leave_whole_files_and_no_rubbish(kind, tmp_path):
  kills = 300
  target = tmp_path / kind
  result = subprocess.run(
      [sys.executable, "-c", _KILLER, kind, target, str(kills)],
      capture_output=True, text=True)
  assert result.returncode == 0, result.stderr
  num_seen, max_parts = map(int, result.stdout.split())
  assert num_seen >= kills // 2
  # A process that is killed may leave one, and the next one removes it.
  assert max_parts <= 1
