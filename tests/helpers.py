"""What tests of games and examples share."""

import ast
import os
import pathlib
import pty
import subprocess
import sys
import termios
from typing import NamedTuple

import example_server
import pyspiel
import pytest

from dudo_spiel.algorithms.runtime import archives

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
# Every program by the name of its file.
PROGRAMS = {path.name: path for path in sorted(EXAMPLES.rglob("*.py"))
            if 'if __name__ == "__main__"' in path.read_text("utf-8")}
# OpenSpiel 2.0.2 formats tensors with a class that NumPy 2.5 deprecates.
calls_playthrough = pytest.mark.filterwarnings(
    "ignore:The chararray class is deprecated:DeprecationWarning")


class Flag(NamedTuple):
  """A flag of a program.

  Attributes:
    program: the name of its file.
    name: of the flag.
    type: the last word of the function that defines it, such as "float"; that
      of "multi_float" too, which is the same flag several times.
    help: what it says about itself.
  """
  program: str
  name: str
  type: str
  help: str


def defined_flags(program):
  """Returns the `Flag`s that a program defines, from its source."""
  found = []
  tree = ast.parse(PROGRAMS[program].read_text(encoding="utf-8"))
  for node in ast.walk(tree):
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(
        "flags.DEFINE_"):
      texts = [arg for arg in node.args if isinstance(arg, ast.Constant) and
               isinstance(arg.value, str) or isinstance(arg, ast.JoinedStr)]
      found.append(Flag(program, texts[0].value,
                        ast.unparse(node.func).rpartition("_")[2],
                        ast.unparse(texts[-1])))
  return found


def load_file(path, kind):
  """Returns (header, arrays) of a file that must hold this kind of thing."""
  with archives.opened(path, kind) as archive:
    return archive.header, {name: archive.read(name) for name in archive.names}


def run_example(name, *flags, stdin="", check=True, cwd=None):
  """Runs an example and returns a `subprocess.CompletedProcess`.

  Args:
    name: the file, such as "solve_game.py", or a path.
    *flags: its flags.
    stdin: what a person types.
    check: whether to assert that the example succeeds.
    cwd: the working directory.
  """
  result = example_server.run(PROGRAMS.get(name, name), flags, stdin, cwd)
  if check:
    assert result.returncode == 0, result.stderr
  return result


def assert_refused(name, flags, message, cwd=None):
  """Asserts that an example refuses flags with one line that has a message."""
  result = run_example(name, *flags, check=False, cwd=cwd)
  assert result.returncode == 1
  # OpenSpiel's C++ code reports an error itself, and then raises it.
  lines = [line for line in result.stderr.splitlines()
           if not line.startswith("OpenSpiel exception:")]
  assert len(lines) == 1, result.stderr
  assert lines[0].startswith("error: ")
  assert message in lines[0]


def do(state, *names):
  """Applies actions by their names and returns the state.

  A chance outcome goes by the last word of its name: "Roll 12" is "12".
  """
  for name in names:
    actions = {state.action_to_string(action): action
               for action in state.legal_actions()}
    if state.is_chance_node():
      actions = {key.split()[-1]: action for key, action in actions.items()}
    assert name in actions, f"{name} is not in {sorted(actions)}"
    state.apply_action(actions[name])
  return state


def start(game_string, *names):
  """Returns a state of the game after the named actions."""
  return do(pyspiel.load_game(game_string).new_initial_state(), *names)


def legal(state):
  """Returns the names of the legal actions."""
  return [state.action_to_string(action) for action in state.legal_actions()]


def all_states(game):
  """Yields every state of the game, parents before children."""
  stack = [game.new_initial_state()]
  while stack:
    state = stack.pop()
    yield state
    if not state.is_terminal():
      stack.extend(map(state.child, reversed(state.legal_actions())))


def rows(text, *names):
  """Returns {first word: [other words]} of lines that begin with a name."""
  lines = (line.split() for line in text.splitlines())
  return {words[0]: words[1:] for words in lines if words and words[0] in names}


def is_picture(path, min_bytes, max_bytes):
  """Returns whether a file is a PNG image of a size between two others."""
  return path.read_bytes().startswith(b"\x89PNG") and (
      min_bytes < path.stat().st_size < max_bytes)


def terminal_output(program, **options):
  """Returns what a Python program writes to stderr on a terminal.

  Args:
    program: its source.
    **options: what else `subprocess.Popen` takes.
  """
  leader, follower = pty.openpty()
  termios.tcsetwinsize(follower, (24, 120))
  process = subprocess.Popen([sys.executable, "-c", program], stderr=follower,
                             stdout=subprocess.DEVNULL, **options)
  os.close(follower)
  shown = b""
  while True:
    try:
      piece = os.read(leader, 4096)
    except OSError:  # the other end was closed
      piece = b""
    if not piece:
      break
    shown += piece
  os.close(leader)
  assert process.wait() == 0
  return shown.decode()
