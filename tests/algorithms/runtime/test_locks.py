"""Locks of files: who holds them, and when they end."""

import os
import signal
import subprocess
import sys
import time

import pytest

from dudo_spiel.algorithms.runtime import files

_HOLD = """
import sys
from dudo_spiel.algorithms.runtime import files
with files.locked(sys.argv[1]):
  print("held", flush=True)
  sys.stdin.read()
"""

# A forked process tries to lock, and leaves the context; another one lives on.
_FORK = """
import os, signal, sys
from dudo_spiel.algorithms.runtime import files
path, parent = sys.argv[1], os.getpid()
with files.locked(path):
  child = os.fork()
  if child == 0:
    holder = ""
    try:
      with files.locked(path):
        pass
    except files.HeldError as error:
      holder = error.process
    print(holder == str(parent), flush=True)
    sys.exit()
  os.waitpid(child, 0)
  print(os.path.exists(path), flush=True)
  if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
  os.kill(parent, signal.SIGKILL)
"""


def test_a_lock_is_held_by_one_process_until_it_ends(tmp_path):
  path = tmp_path / "lock"
  process = subprocess.Popen([sys.executable, "-c", _HOLD, path],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  try:
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(files.HeldError) as error, files.locked(path):
      pass
    assert error.value.process == str(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert path.exists()  # which does no harm
    with files.locked(path):
      assert path.exists()
    assert not path.exists()
  finally:
    process.communicate()


def test_a_lock_is_given_back_after_an_error(tmp_path):
  path = tmp_path / "lock"
  with pytest.raises(ZeroDivisionError), files.locked(path):
    with pytest.raises(files.HeldError) as error, files.locked(path):
      pass
    assert error.value.process == str(os.getpid())
    raise ZeroDivisionError
  with files.locked(path):
    pass


def test_forked_processes_do_not_hold_a_lock(tmp_path):
  path = tmp_path / "lock"
  process = subprocess.Popen([sys.executable, "-c", _FORK, path], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  try:
    assert [process.stdout.readline() for _ in range(2)] == ["True\n"] * 2
    assert process.wait() == -signal.SIGKILL
    _lock_soon(path)  # though a child of the process lives on
  finally:
    process.communicate()


def _lock_soon(path):
  """Locks as soon as a child that was just forked has let go of the lock."""
  for _ in range(50):
    try:
      with files.locked(path):
        return
    except files.HeldError:
      time.sleep(0.2)
  with files.locked(path):
    pass
