"""Prints the newest Python that can run the tests, other than this one.

It looks in PATH and among the versions of pyenv, for the versions that
pyproject.toml names. It prints nothing if there is none.
"""

import os
import pathlib
import re
import subprocess
import sys

_PROJECT = pathlib.Path(__file__).parent.parent / "pyproject.toml"


def _versions():
  """Returns the versions (3, minor) that the project names, newest first."""
  text = _PROJECT.read_text("utf-8")
  minors = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)
  return sorted(((3, int(minor)) for minor in minors), reverse=True)


def _folders():
  """Yields folders that may have interpreters."""
  yield from map(pathlib.Path, os.get_exec_path())
  root = os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv"
  yield from sorted(pathlib.Path(root).glob("versions/*/bin"), reverse=True)


def _is_usable(path, version):
  """Returns whether a file is a Python of a version that can make venvs."""
  program = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
  try:
    result = subprocess.run([path, "-c", program], capture_output=True,
                            text=True, check=False)
  except OSError:
    return False
  return result.returncode == 0 and result.stdout.split() == [
      str(number) for number in version]


def find():
  """Returns the path of the interpreter, or None."""
  for version in _versions():
    if version != sys.version_info[:2]:
      for folder in _folders():
        path = folder / f"python{version[0]}.{version[1]}"
        if path.exists() and _is_usable(path, version):
          return path
  return None


if __name__ == "__main__":
  print(find() or "")
