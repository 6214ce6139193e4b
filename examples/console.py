"""The console scripts `dudo-play` and `dudo-solve`.

They become two of the examples, which are installed next to this file.
"""

import os
import sys


def _become(name):
  """Replaces this process by `python examples/name` with the same flags."""
  path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
  os.execv(sys.executable, [sys.executable, path, *sys.argv[1:]])


def play():
  """Becomes `play_dudo.py`."""
  _become("play_dudo.py")


def solve():
  """Becomes `solve_game.py`."""
  _become("solve_game.py")
