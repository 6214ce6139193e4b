import importlib.util
import subprocess
import sys

import pytest

import dudo_spiel
from dudo_spiel import algorithms

_GAMES = ("dudo", "dudo_ir", "dudo_single_round", "dudo_single_round_ir",
          "neumann_poker", "liar_die", "liar_die_ir", "dark_chess_small")


def _python(program, cwd):
  return subprocess.run([sys.executable, "-c", program], cwd=cwd, check=True,
                        capture_output=True, text=True)


def test_import_registers_all_games_silently_and_writes_nothing(tmp_path):
  result = _python(
      "import pyspiel, dudo_spiel; "
      f"[pyspiel.load_game(name) for name in {_GAMES}]", tmp_path)
  assert result.stdout == result.stderr == ""
  assert list(tmp_path.iterdir()) == []


def test_import_does_not_load_what_it_does_not_need(tmp_path):
  result = _python(
      "import sys, dudo_spiel; "
      "print([m for m in ('numba', 'scipy', 'matplotlib', 'tqdm') "
      "if m in sys.modules])", tmp_path)
  assert result.stdout == "[]\n"


def test_each_game_module_works_alone(tmp_path):
  for module, game in [("dudo", "dudo_ir"), ("liar_die", "liar_die_ir"),
                       ("neumann_poker", "neumann_poker"),
                       ("dark_chess_small", "dark_chess_small"),
                       ("dudo_single_round", "dudo_single_round_ir")]:
    _python(f"import pyspiel, dudo_spiel.games.{module}; "
            f"pyspiel.load_game('{game}')", tmp_path)


def test_algorithms_are_part_of_the_package():
  assert algorithms.__name__ == "dudo_spiel.algorithms"
  assert dudo_spiel.__version__


@pytest.mark.parametrize("name", ["tests", "setup", "examples", "dudo_spiel"])
def test_folders_beside_the_package_are_not_part_of_it(name):
  assert importlib.util.find_spec(f"dudo_spiel.{name}") is None
