"""What CI needs besides pytest: another Python, if there is one."""

import os
import pathlib
import subprocess
import sys

import pytest

_FINDER = pathlib.Path(__file__).parent.parent / ".ci" / "other_python.py"


def _add_python(folder, minor, answer=None, code=0):
  """Makes an executable that answers as an interpreter does."""
  folder.mkdir(parents=True, exist_ok=True)
  path = folder / f"python3.{minor}"
  path.write_text(f"#!/bin/sh\necho {answer or f'3 {minor}'}\nexit {code}\n")
  path.chmod(0o755)
  return path


@pytest.fixture(name="found")
def _found(tmp_path):
  """Returns a function that runs the finder, and returns what it prints."""
  def run():
    environment = {"PATH": os.fspath(tmp_path / "bin"),
                   "PYENV_ROOT": os.fspath(tmp_path / "pyenv")}
    return subprocess.run([sys.executable, _FINDER], env=environment,
                          capture_output=True, text=True,
                          check=True).stdout.strip()
  return run


_OTHERS = [minor for minor in (11, 12, 13) if minor != sys.version_info.minor]


def test_the_newest_other_python_is_found(found, tmp_path):
  assert found() == ""
  _add_python(tmp_path / "bin", sys.version_info.minor)
  assert found() == ""
  older = _add_python(tmp_path / "bin", _OTHERS[0])
  assert found() == os.fspath(older)
  newer = _add_python(tmp_path / "pyenv/versions/3.x/bin", _OTHERS[1])
  assert found() == os.fspath(newer)


def test_pythons_that_cannot_be_used_are_passed_over(found, tmp_path):
  _add_python(tmp_path / "bin", _OTHERS[1], code=127)  # a shim of pyenv
  assert found() == ""
  _add_python(tmp_path / "pyenv/versions/a/bin", _OTHERS[1], answer="2 7")
  _add_python(tmp_path / "pyenv/versions/a/bin", 10)  # too old
  assert found() == ""
