"""Folders of `MatchSolver`: what is saved there, and who may save."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import fsicfr

_GAME = "dudo(numdice=2,dice_sides=2)"
_HOLD = f"""
import sys, pyspiel, dudo_spiel
from dudo_spiel.algorithms import fsicfr
solver = fsicfr.MatchSolver(pyspiel.load_game("{_GAME}"), num_threads=1)
with solver.hold(sys.argv[1]):
  print("held", flush=True)
  sys.stdin.read()
"""

# A forked process tries to save, and leaves the context; another one lives on.
_FORK = f"""
import os, signal, sys, pyspiel, dudo_spiel
from dudo_spiel.algorithms import fsicfr
solver = fsicfr.MatchSolver(pyspiel.load_game("{_GAME}"), num_threads=1)
folder, parent = sys.argv[1], os.getpid()
with solver.hold(folder):
  child = os.fork()
  if child == 0:
    message = ""
    try:
      solver.save(folder)
    except ValueError as error:
      message = str(error)
    print(f"process {{parent}} is training" in message, flush=True)
    sys.exit()
  os.waitpid(child, 0)
  print(os.path.exists(os.path.join(folder, "match.lock")), flush=True)
  if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
  os.kill(parent, signal.SIGKILL)
"""


def _solver():
  return fsicfr.MatchSolver(pyspiel.load_game(_GAME), num_threads=1)


def _contents(solver):
  """Returns all that a solver has learned."""
  return [[table.tobytes() for key in solver.rounds
           for table in solver.tables(*key)],
          [solver.iterations(*key) for key in solver.rounds],
          [solver.value(*key) for key in solver.rounds], solver.seconds]


@pytest.fixture(scope="module", name="folders")
def _folders(tmp_path_factory):
  """Two trainings with the same counts, which differ in all tables but 1v1."""
  folders = [tmp_path_factory.mktemp("training") for _ in range(2)]
  for folder, runs in zip(folders, [[4], [2, 2]]):
    solver = _solver()
    for iterations in runs:
      solver.run(iterations, save_to=folder)
  return folders


def test_a_training_with_the_same_counts_replaces_all_tables(folders, tmp_path):
  first, second = folders
  solver = _solver()
  solver.load(first)
  solver.save(tmp_path)
  solver.load(second)
  solver.save(tmp_path)
  loaded, expected = _solver(), _solver()
  loaded.load(tmp_path)
  expected.load(second)
  assert _contents(loaded) == _contents(expected)
  other = _solver()
  other.load(first)
  assert _contents(other)[0] != _contents(loaded)[0]
  assert len(list(tmp_path.iterdir())) == 4  # the old tables are gone


def test_files_of_two_trainings_do_not_mix(folders, tmp_path):
  mixed = tmp_path / "mixed"
  shutil.copytree(folders[0], mixed)
  name, = (path.name for path in mixed.glob("2v2-*"))
  shutil.copy(folders[1] / name, mixed)
  with pytest.raises(ValueError, match=f"^path=.*{name}.*is one of another"):
    _solver().load(mixed)


def test_a_kill_between_two_files_leaves_the_old_training(folders, tmp_path,
                                                          monkeypatch):
  solver = _solver()
  solver.load(folders[0])
  solver.save(tmp_path)
  before = _contents(solver)
  solver.load(folders[1])
  replace, names = os.replace, []

  def interrupted(source, target):
    if os.path.basename(target) == "match.npz":
      raise KeyboardInterrupt
    names.append(target)
    replace(source, target)

  monkeypatch.setattr(os, "replace", interrupted)
  with pytest.raises(KeyboardInterrupt):
    solver.save(tmp_path)
  monkeypatch.undo()
  assert len(names) == 3
  again = _solver()
  again.load(tmp_path)
  assert _contents(again) == before


@pytest.fixture(name="holder")
def _holder(tmp_path):
  """A process that holds the folder."""
  process = subprocess.Popen([sys.executable, "-c", _HOLD, tmp_path],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  assert process.stdout.readline() == b"held\n"
  yield process
  process.communicate()


def test_a_second_process_is_refused_before_any_work(holder, folders, tmp_path):
  solver = _solver()
  message = f"^path=.*: process {holder.pid} is training there"
  for use in (lambda: solver.run(10**9, save_to=tmp_path),
              lambda: solver.save(tmp_path),
              lambda: solver.hold(tmp_path).__enter__()):
    with pytest.raises(ValueError, match=message):
      use()
  assert solver.iteration == 0
  shutil.copytree(folders[0], tmp_path, dirs_exist_ok=True)
  solver.load(tmp_path)  # reading is allowed
  assert solver.iteration == 4
  os.kill(holder.pid, signal.SIGKILL)
  holder.wait()
  assert (tmp_path / "match.lock").exists()  # which does no harm
  solver.run(1, save_to=tmp_path)
  assert not (tmp_path / "match.lock").exists()


def test_a_folder_is_held_by_one_solver_and_given_back(tmp_path):
  first, second = _solver(), _solver()
  with first.hold(tmp_path):
    first.run(1, save_to=tmp_path)
    first.save(tmp_path)
    with pytest.raises(ValueError, match="another solver of this process"):
      second.save(tmp_path)
    with pytest.raises(ZeroDivisionError), first.hold(tmp_path):
      raise ZeroDivisionError
    with pytest.raises(ValueError, match="another solver of this process"):
      second.save(tmp_path)
  second.load(tmp_path)
  second.run(1, save_to=tmp_path)


def test_forked_processes_do_not_hold_the_folder(tmp_path):
  process = subprocess.Popen([sys.executable, "-c", _FORK, tmp_path], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  try:
    assert [process.stdout.readline() for _ in range(2)] == ["True\n"] * 2
    assert process.wait() == -signal.SIGKILL
    _save_soon(tmp_path)  # though a child of the process lives on
  finally:
    process.communicate()


def _save_soon(folder):
  """Saves as soon as a child that was just forked has let go of the lock."""
  for _ in range(50):
    try:
      return _solver().save(folder)
    except ValueError:
      time.sleep(0.2)
  return _solver().save(folder)


@pytest.mark.parametrize("path", ["", "a\0b", 3])
def test_what_is_no_path_is_refused(path, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  solver = _solver()
  for use in (lambda: solver.run(1, save_to=path), lambda: solver.save(path),
              lambda: solver.load(path)):
    with pytest.raises(ValueError, match="^path=.*must be the path"):
      use()
  assert not list(tmp_path.iterdir())


def test_a_folder_that_others_have_changed_is_refused_before_any_work(tmp_path):
  first, second = _solver(), _solver()
  first.run(1, save_to=tmp_path)
  second.load(tmp_path)
  second.run(1, save_to=tmp_path)
  with pytest.raises(ValueError, match="another process has written there"):
    first.run(1, save_to=tmp_path)
  assert first.iteration == 1


def test_a_file_is_refused_as_a_folder(tmp_path):
  (tmp_path / "file").write_text("")
  with pytest.raises(ValueError, match="^path=.*must be a folder"):
    _solver().save(tmp_path / "file")


def _change_main(folder, change):
  with np.load(folder / "match.npz") as archive:
    header, states = archive["header"], archive["states"]
  header = json.loads(header.tobytes())
  change(header, states)
  np.savez(folder / "match.npz", states=states,
           header=np.frombuffer(json.dumps(header).encode(), np.uint8))


@pytest.mark.parametrize("change, field", [
    (lambda header, states: header["files"].__setitem__(
        2, "../whole/2v2-4.npz"), "files"),
    (lambda header, states: header["files"].__setitem__(2, "1v1-4.npz"),
     "files"),
    (lambda header, states: header["files"].__setitem__(2, None), "files"),
    (lambda header, states: header["files"].pop(), "files"),
    (lambda header, states: header.pop("files"), "files"),
    (lambda header, states: header.update(seconds=[1.0, 1.0]), "seconds"),
    (lambda header, states: header.update(seconds=[1.0, -1.0, 1.0]), "seconds"),
    (lambda header, states: header.update(values=[[1, 1, 3.0]]), "values"),
    (lambda header, states: header.update(values=[[1, 2, 0.0]]), "values"),
    (lambda header, states: header.update(values=3), "values"),
    (lambda header, states: states.__setitem__((0, 0), -4.0), "states"),
    (lambda header, states: states.__setitem__((0, 0), 1e300), "states"),
    (lambda header, states: states.__setitem__((0, 0), np.nan), "states"),
    (lambda header, states: states.__setitem__((1, 0), 9.0), "states"),
    (lambda header, states: states.__setitem__((3, 2), 0.0), "states"),
    (lambda header, states: header["digests"].__setitem__(0, 5), "digests"),
])
def test_main_files_that_make_no_sense(folders, tmp_path, change, field):
  folder = tmp_path / "whole"
  shutil.copytree(folders[1], folder)
  name, = (path.name for path in folder.glob("2v2-*"))
  assert name == "2v2-4.npz"
  solver = _solver()
  solver.load(folders[0])
  before = _contents(solver)
  _change_main(folder, change)
  with pytest.raises(ValueError, match=f"^path=.*its {field}"):
    solver.load(folder)
  assert _contents(solver) == before


def test_a_damaged_last_file_changes_nothing(folders, tmp_path):
  folder = tmp_path / "damaged"
  shutil.copytree(folders[1], folder)
  solver = _solver()
  solver.load(folders[0])
  before = _contents(solver)
  file = folder / "2v2-4.npz"
  data = bytearray(file.read_bytes())
  data[len(data) // 2] ^= 1
  file.write_bytes(bytes(data))
  with pytest.raises(ValueError, match=r"^path=.*2v2-4.npz"):
    solver.load(folder)
  assert _contents(solver) == before
  solver.run(1)
  plain = _solver()
  plain.load(folders[0])
  plain.run(1)
  assert _contents(solver)[:3] == _contents(plain)[:3]
