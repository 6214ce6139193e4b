"""How the programs start, how they fail, and how they write files.

A wrong flag, game or file ends a program with one line and exit code 1, before
any work. Ctrl-C ends it with one line and exit code 130. Where nobody reads the
output any more, as in `examples/x.py | head -1`, it ends without a word.
`python -X dev examples/x.py` shows the traceback of an error too.
"""

# First, as it handles Ctrl-C while the others are imported.
from dudo_spiel_examples.support import ctrl_c

import contextlib
import difflib
import os
import sys
import tempfile

from absl import app
from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import interrupts

# Returns a context that postpones Ctrl-C, for saves of several files.
deferred = interrupts.deferred
_BROKEN_PIPE_CODE = 141  # what shells use for it
# What a wrong flag, game or file leads to.
_USERS_ERRORS = (app.UsageError, ValueError, OSError, MemoryError,
                 pyspiel.SpielError)


def run(main):
  """Parses the flags, calls main(argv) and exits.

  Args:
    main: the function; flags are already parsed and taken out of argv.
  """
  try:
    try:
      app.run(lambda argv: _run(main, argv), flags_parser=_parse)
    finally:
      if sys.stdout:  # there is none after `>&-`
        sys.stdout.flush()
  except BrokenPipeError:
    # Python would complain when it flushes what nobody will read.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(_BROKEN_PIPE_CODE)


def _run(main, argv):
  """Returns the exit code, unless Ctrl-C ended main: exits then."""
  exit_code = _call(main, argv)
  if exit_code == ctrl_c.EXIT_CODE:
    ctrl_c.exit_at_once()
  return exit_code


def _call(main, argv):
  """Returns the exit code."""
  try:
    if len(argv) > 1:
      raise ValueError(f"unexpected argument {argv[1]!r}: flags begin with --")
    exit_code = main(argv)
    ctrl_c.end_main()
    return exit_code
  except BaseException as error:
    is_users = (isinstance(error, _USERS_ERRORS) and
                not isinstance(error, BrokenPipeError))
    if ctrl_c.has_come():
      if is_users:  # such as a disk that is full
        _fail(error)
      return ctrl_c.say_stopped()
    if sys.flags.dev_mode or not is_users:
      raise
    return _fail(error)


def _fail(error):
  """Says in one line what is wrong; returns the exit code."""
  message = " ".join(str(error).split()) or type(error).__name__
  print(f"error: {message}", file=sys.stderr)
  return 1


def _parse(argv):
  """Returns the arguments that are no flags; exits if a flag is wrong."""
  try:
    return flags.FLAGS(argv)
  except flags.UnrecognizedFlagError as error:
    known = [flag.name for flag in
             flags.FLAGS.get_key_flags_for_module(sys.argv[0])]
    similar = difflib.get_close_matches(error.flagname, known)
    message = f"--{error.flagname}: no such flag" + (
        f"; did you mean --{' or --'.join(similar)}?" if similar else
        "; --help lists them")
  except flags.Error as error:
    message = str(error).removeprefix("flag ")
  sys.exit(_fail(message))


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


def load_turn_based_game(name):
  """Returns the game, made turn-based if its moves are simultaneous.

  Args:
    name: the game, with its parameters.
  """
  game = load_game(name)
  if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
    return pyspiel.convert_to_turn_based(game)
  return game


def positive_numbers(flag, number_type=float):
  """Returns the numbers of a flag, ascending, or raises a ValueError.

  Args:
    flag: the flag; its value is a list of str.
    number_type: float or int.
  """
  try:
    values = sorted(map(number_type, flag.value))
  except ValueError:
    values = []
  if not values or not 0 < values[0] <= values[-1] < float("inf"):
    raise ValueError(f"--{flag.name}={','.join(flag.value)}: must be numbers "
                     "above 0, with , between them")
  return values


def replacing(path):
  """Returns a context with a new binary file that replaces another as a whole.

  If the body raises an error, the old file stays.

  Args:
    path: of the file.
  """
  return files.replacing(os.path.abspath(path))


@contextlib.contextmanager
def holding(flag, activity, is_file=False):
  """Keeps other processes from writing to the folder or the file of a flag.

  Args:
    flag: the flag; its value is a folder or file, or None for nothing to hold.
    activity: a word for what writes there, such as "study".
    is_file: whether its value is a file; its lock is then beside it.
  """
  if flag.value is None:
    yield
    return
  try:
    with files.locked(f"{flag.value}.lock" if is_file else
                      os.path.join(flag.value, f"{activity}.lock")):
      yield
  except files.HeldError as error:
    raise ValueError(f"--{flag.name}={flag.value}: must not be the "
                     f"{'file' if is_file else 'folder'} of another {activity} "
                     f"that is running (process {error.process})") from None


@contextlib.contextmanager
def errors_of(flag):
  """Names the flag in any ValueError that is raised inside."""
  try:
    yield
  except ValueError as error:
    raise ValueError(f"--{flag}: {error}") from error


def check_files(*path_flags):
  """Raises a ValueError for a file that could not be written after the work.

  Args:
    *path_flags: flags whose values are paths of files; those without a value
      are left out.
  """
  used = {}
  for flag in path_flags:
    if flag.value is None:
      continue
    check_file(flag.name, flag.value)
    other = used.setdefault(os.path.realpath(flag.value), flag.name)
    if other != flag.name:
      raise ValueError(f"--{flag.name}={flag.value}: must be another file than "
                       f"--{other}")


def check_file(flag, path):
  """Raises a ValueError if a file cannot be written.

  Args:
    flag: the name of the flag that the error names.
    path: the file.
  """
  if not path or os.path.exists(path) and not os.path.isfile(path):
    raise ValueError(f"--{flag}={path}: must be a file, not a folder, a pipe "
                     "or a device")
  folder = os.path.dirname(os.path.abspath(path))
  if not os.path.isdir(folder):
    raise ValueError(f"--{flag}={path}: its folder must exist")
  if not _is_writable(folder) or (os.path.exists(path) and
                                  not os.access(path, os.W_OK)):
    raise ValueError(f"--{flag}={path}: must be a file that can be written")


def make_folder(flag):
  """Makes the folder of a flag; a ValueError if it cannot be written.

  Args:
    flag: the flag; nothing is done if it has no value.
  """
  if flag.value is None:
    return
  with contextlib.suppress(OSError):
    os.makedirs(flag.value, exist_ok=True)
  if not os.path.isdir(flag.value) or not _is_writable(flag.value):
    raise ValueError(f"--{flag.name}={flag.value}: must be a folder that can "
                     "be written")


def _is_writable(folder):
  """Returns whether a file can be made in the folder."""
  try:
    with tempfile.TemporaryFile(dir=folder):
      return True
  except OSError:
    return False
