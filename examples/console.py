"""The console scripts `dudo-play`, `dudo-solve` and `dudo-page`."""

# First, and nothing large beside it: it handles Ctrl-C from here on, also while
# the programs import OpenSpiel.
from dudo_spiel_examples.support import ctrl_c  # noqa: F401

import runpy


def _run(name):
  """Runs a program of this package as `python -m` does."""
  runpy.run_module(f"dudo_spiel_examples.{name}", run_name="__main__",
                   alter_sys=True)


def play():
  """Runs `play_dudo.py`."""
  _run("play_dudo")


def page():
  """Runs `dudo_page.py`."""
  _run("dudo_page")


def solve():
  """Runs `solve_game.py`."""
  _run("solve_game")
