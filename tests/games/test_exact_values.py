"""Exact values of the games, by linear programming."""

from oracles import lp_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401


@pytest.mark.parametrize("game, value", [
    ("kuhn_poker", -1 / 18),
    # Schulze's Neumann poker, and von Neumann and Morgenstern's.
    ("neumann_poker(num_ranks=10)", -18 / 475),
    ("neumann_poker(num_ranks=10,asymmetric=True)", 11 / 200),
    pytest.param("neumann_poker(num_ranks=100)", -7713 / 190000,
                 marks=pytest.mark.slow),
    ("neumann_poker(num_ranks=100,asymmetric=True)", 1111 / 20000),
    # One die each (Neller & Lanctot 2013), and OpenSpiel's own version.
    pytest.param("dudo(numdice=1)", -7 / 258, marks=pytest.mark.slow),
    pytest.param("liars_dice", -7 / 258, marks=pytest.mark.slow),
    # A forced win, hidden kings (see test_dark_chess_small.py), and pawns.
    ("dark_chess_small(moves_per_player=2)", 1.0),
    ("dark_chess_small(fen=k2/3/2K,moves_per_player=2)", 1 / 2),
    ("dark_chess_small(fen=kr2/4/2RK,moves_per_player=2)", 1 / 2),
    ("dark_chess_small(fen=k2/p2/2P/2K,moves_per_player=3)", 2 / 7),
])
def test_value(game, value):
  assert lp_oracle.game_value(pyspiel.load_game(game)) == pytest.approx(
      value, abs=1e-9)


def test_starting_second_turns_the_value_round():
  first, second = (
      lp_oracle.game_value(pyspiel.load_game(
          f"dudo(start_dice={dice},dice_sides=2,starting_player={starter})"))
      for dice, starter in [("2v1", 0), ("1v2", 1)])
  assert first == pytest.approx(-second, abs=1e-9)
  assert first > 0
