"""Runs examples in processes that have imported the slow libraries already.

Python takes two seconds to import OpenSpiel, numba and matplotlib and to start
the compiler, and the tests run more than a hundred examples. So a server does
this once, and every example runs in a fork of it. The server never imports
`dudo_spiel`: an example that forgets an import still fails.
"""

import atexit
import functools
import gc
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile


def run(path, flags, stdin, cwd):
  """Runs a script as `python -W error path flags` does.

  The script sees the environment variables of the time of the first call.

  Args:
    path: the script.
    flags: list of its arguments.
    stdin: str, what a person types.
    cwd: the working directory, or None for this process's.

  Returns:
    A `subprocess.CompletedProcess` with stdout and stderr as text.
  """
  with tempfile.TemporaryDirectory() as folder:
    files = [pathlib.Path(folder, name) for name in ("in", "out", "err")]
    for file, text in zip(files, (stdin, "", "")):
      file.write_text(text, encoding="utf-8")
    command = [str(path), *map(str, flags)]
    server = _server()
    print(json.dumps([command, list(map(str, files)), str(cwd or os.getcwd())]),
          file=server.stdin, flush=True)
    exit_code = int(server.stdout.readline())
    output, errors = (file.read_text(encoding="utf-8") for file in files[1:])
  return subprocess.CompletedProcess(command, exit_code, output, errors)


@functools.cache
def _server():
  """Returns the server, which ends when this process does."""
  server = subprocess.Popen(
      [sys.executable, "-W", "error", __file__], text=True,
      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  atexit.register(server.communicate)
  return server


def _serve():
  """Answers each request with an exit code; returns in the forks too."""
  for line in sys.stdin:
    child = os.fork()
    if child == 0:
      _become(*json.loads(line))
      return
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(command, files, cwd):
  """Runs a script in this process, with files as its three streams."""
  for number, file in enumerate(files):
    opened = os.open(file, os.O_RDWR)
    os.dup2(opened, number)
    os.close(opened)
  sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
  os.chdir(cwd)
  sys.argv = command
  sys.path[0] = os.path.dirname(command[0])
  runpy.run_path(command[0], run_name="__main__")


def _prepare():
  """Imports what is slow to import."""
  from absl import app  # noqa: F401
  from matplotlib import pyplot  # noqa: F401
  import numba
  from open_spiel.python import policy  # noqa: F401
  numba.njit(lambda: None)()  # starts the compiler
  gc.freeze()  # forks end faster if these objects are never collected


if __name__ == "__main__":
  _prepare()
  _serve()
