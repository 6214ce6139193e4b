import pytest

from dudo_spiel.terminal import moves

_DUDO = {"3x5": 0, "3x6": 1, "10x1": 2, "Dudo": 3}


@pytest.mark.parametrize("text, action", [
    ("3x5", 0), ("3X5", 0), (" 3 x 5 ", 0), ("3 5", 0), ("3,5", 0), ("3-5", 0),
    ("3 fives", 0), ("three fives", 0), ("three 5s", 0), ("3 5's", 0),
    ("Three Fives!", 0), ("3 sixes", 1),
    ("three times six", 1), ("I claim 3 fives", 0), ("ten ones", 2),
    ("10 aces", 2), ("dudo", 3), ("DUDO!", 3), ("d", 3), ("liar", 3),
    ("Doubt", 3), ("challenge", 3)])
def test_claims_and_doubts_in_many_ways(text, action):
  assert moves.find(_DUDO, text) == action


@pytest.mark.parametrize("text", [
    "", " ", "3", "5", "1", "x", "3x", "x5", "35", "3x5x6", "4x5", "three",
    "no dudo", "hello", "3 hearts", "١x٥"])
def test_what_is_not_clear_is_no_move(text):
  assert moves.find(_DUDO, text) is None


@pytest.mark.parametrize("names, text, action", [
    ({"Claim 4": 3, "Claim 12": 11}, "4", 3),
    ({"Claim 4": 3, "Claim 12": 11}, "twelve", 11),
    ({"Claim 4": 3, "Claim 12": 11}, "1", None),
    ({"Claim 12": 11}, "1", None),
    ({"Accept": 6, "Doubt": 7}, "liar", 7),
    ({"1-5": 4, "Liar": 12}, "one five", 4),
    ({"1-5": 4, "Liar": 12}, "dudo", 12),
    ({"x(0,1)": 1, "x(1,0)": 3}, "1 0", 3),
    ({"Bxc3": 5, "bxc3": 6}, "bxc3", 6), ({"Bxc3": 5, "bxc3": 6}, "Bxc3", 5),
    ({"Bxc3": 5, "bxc3": 6}, "BXC3", None),
    ({"Call": 1, "Check": 2}, "c", None), ({"Call": 1, "Check": 2}, "ch", 2)])
def test_moves_of_other_games(names, text, action):
  assert moves.find(names, text) == action


def test_numbers():
  assert moves.parse_numbers("claim two sixes") == [2, 6]
  assert moves.parse_numbers("two hearts") is None
  assert moves.parse_numbers("x") is None
