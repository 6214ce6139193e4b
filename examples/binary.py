"""How the binaries in this folder start, and how they fail.

A wrong flag, game or file ends a binary with one line and exit code 1. Ctrl-C
ends it with one word. `python -X dev examples/x.py` shows the traceback too.
"""

import contextlib
import difflib
import sys

from absl import app
import pyspiel

import dudo_spiel  # noqa: F401, registers the games

_INTERRUPTED = 130  # the exit code that shells use for Ctrl-C


def run(main):
  """Parses the flags, calls main(argv) and exits.

  Args:
    main: the function; flags are already parsed and taken out of argv.
  """
  app.run(lambda argv: _run(main, argv))


def _run(main, argv):
  try:
    if len(argv) > 1:
      raise ValueError(f"unexpected argument {argv[1]!r}: flags begin with --")
    return main(argv)
  except (app.UsageError, ValueError, OSError, pyspiel.SpielError) as error:
    if sys.flags.dev_mode:
      raise
    print(f"error: {error}", file=sys.stderr)
    return 1
  except KeyboardInterrupt:
    print("\nstopped", file=sys.stderr)
    return _INTERRUPTED


def load_game(name):
  """Returns the game that `pyspiel.load_game` returns.

  OpenSpiel answers an unknown name with a list of all games; here the error
  suggests names that look alike.

  Args:
    name: the game, with its parameters.
  """
  short_name, known = name.partition("(")[0], pyspiel.registered_names()
  if short_name not in known:
    similar = difflib.get_close_matches(short_name, known)
    raise ValueError(f"--game={name}: Unknown game" + (
        f"; did you mean {' or '.join(similar)}?" if similar else ""))
  try:
    return pyspiel.load_game(name)
  except pyspiel.SpielError as error:
    raise ValueError(f"--game={name}: {error}") from error


@contextlib.contextmanager
def errors_of(flag):
  """Names the flag in any ValueError that is raised inside."""
  try:
    yield
  except ValueError as error:
    raise ValueError(f"--{flag}: {error}") from error
