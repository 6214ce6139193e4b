import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from unittest import mock

import pytest

from dudo_spiel.algorithms.runtime import files

_PROGRAM = """
import pathlib, sys, time
from dudo_spiel.algorithms.runtime import files
with files.temporary_folder("ours_") as folder:
  pathlib.Path(folder, "file").write_text("x")
  print(folder, flush=True)
  time.sleep(600)
"""


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path, monkeypatch):
  """Returns the folder in which temporary folders are made."""
  monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
  return tmp_path


def _start(folder):
  """Returns a process with a temporary folder, and that folder."""
  process = subprocess.Popen(
      [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True,
      env={**os.environ, "TMPDIR": str(folder)})
  return process, pathlib.Path(process.stdout.readline().strip())


def test_a_temporary_folder_is_removed():
  with files.temporary_folder("ours_") as name:
    assert os.path.isdir(name)
  assert not os.path.exists(name)


def test_only_folders_of_dead_processes_are_removed(folder):
  others = [folder / "ours_without_lock", folder / "theirs"]
  for other in others:
    other.mkdir()
  (others[1] / "lock").write_text("")
  (folder / "ours_link").symlink_to(others[1])
  (folder / "ours_file").write_text("")
  process, left = _start(folder)
  with files.temporary_folder("ours_") as first:
    process.send_signal(signal.SIGSTOP)  # it lives
    with files.temporary_folder("ours_"):
      assert (left / "file").exists()
      assert os.path.isdir(first)
    process.kill()
    process.wait()
    with files.temporary_folder("ours_"):
      assert not left.exists()
      assert os.path.isdir(first)
  assert (others[1] / "lock").exists()
  assert sorted(path.name for path in folder.iterdir()) == [
      "ours_file", "ours_link", "ours_without_lock", "theirs"]
  process.stdout.close()


def test_a_folder_that_is_removed_before_it_is_locked_is_replaced(monkeypatch):
  plain, names = tempfile.TemporaryDirectory, []

  def make(**kwargs):
    made = plain(**kwargs)
    names.append(made.name)
    if len(names) == 1:  # Another process has locked it in order to remove it.
      path = os.path.join(made.name, "lock")
      held.enter_context(files.locked(path))
    return made

  monkeypatch.setattr(tempfile, "TemporaryDirectory", make)
  with contextlib.ExitStack() as held, files.temporary_folder("ours_") as name:
    assert name == names[1]
    assert os.path.exists(os.path.join(name, "lock"))


def test_a_folder_whose_names_are_hidden_is_used(monkeypatch):
  """As that of temporary files is on some shared machines."""
  monkeypatch.setattr(os, "scandir", mock.Mock(side_effect=PermissionError))
  with files.temporary_folder("ours_") as name:
    assert os.path.isdir(name)
    monkeypatch.undo()  # removing it lists what is in it
