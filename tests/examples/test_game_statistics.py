"""The counts of Rudolf's thesis, from its tables 5.1 to 5.31."""

import re

import helpers
import pytest

_run = helpers.run_example


def _counts(output):
  """Returns {name: first number} of the lines before the tables."""
  lines = re.findall(r"^([a-z ]+?)  +([\d,]+)", output.partition("\n\n")[0],
                     re.MULTILINE)
  return {name: int(number.replace(",", "")) for name, number in lines}


def _rows(output, title):
  """Returns {name of a row: list of cells} of a table."""
  lines = output[output.index(title):].split("\n\n")[0].splitlines()[2:]
  return {line.split()[0]: line.split()[1:] for line in lines
          if not line.startswith("wrote")}


# OpenSpiel rolls die by die, and does not tell the order of a player's dice.
@pytest.mark.parametrize("numdice, sides, depth, sets, nodes, actions", [
    (1, 2, 5, 32, 64, 120), (1, 3, 7, 192, 576, 1134),
    (1, 4, 9, 1024, 4096, 8160),
    pytest.param(1, 5, 11, 5120, 25600, 51150, marks=pytest.mark.slow),
    pytest.param(1, 6, 13, 24576, 147456, 294840, marks=pytest.mark.slow),
    (2, 2, 9, 768, 4096, 8160),
    pytest.param(2, 3, 13, 24576, 331776, 663390, marks=pytest.mark.slow)])
def test_liars_dice(numdice, sides, depth, sets, nodes, actions):
  game = f"--game=liars_dice(numdice={numdice},dice_sides={sides})"
  counts = _counts(_run("game_statistics.py", game).stdout)
  assert counts["depth"] - 2 * numdice == depth - 1
  assert counts["information sets"] == sets
  assert counts["decision nodes"] == nodes
  assert counts["actions"] == actions


# OpenSpiel plays the last cards by itself; the thesis has two more decisions
# before each end of the game, with two more information sets where players know
# the cards, and `forced` ones where they do not.
@pytest.mark.parametrize("cards, order, imp_info, sets, nodes, actions, forced",
                         [
    (3, "ascending", False, 92, 103, 138, None),
    (3, "random", False, 546, 606, 792, None),
    (3, "ascending", True, 72, 103, 138, 56),
    (3, "random", True, 426, 606, 792, 336),
    (4, "ascending", False, 1474, 1653, 2228, None),
    (4, "random", False, 34952, 38804, 50768, None),
    (4, "ascending", True, 738, 1653, 2228, 576),
    (4, "random", True, 17432, 38804, 50768, 13824),
    pytest.param(5, "ascending", False, 36852, 41331, 55730, None,
                 marks=pytest.mark.slow),
    pytest.param(5, "ascending", True, 9948, 41331, 55730, 7824,
                 marks=pytest.mark.slow)])
def test_goofspiel(cards, order, imp_info, sets, nodes, actions, forced):
  output = _run("game_statistics.py", "--game=perfect_recall(goofspiel("
                f"imp_info={imp_info},num_cards={cards},points_order={order}))"
                ).stdout
  counts = _counts(output)
  terminals = int(re.search(r"([\d,]+) of them terminal", output)[1]
                  .replace(",", ""))
  assert counts["decision nodes"] + 2 * terminals == nodes
  assert counts["actions"] + 2 * terminals == actions
  assert counts["information sets"] + (forced or 2 * terminals) == sets


def test_sets_of_openspiel_that_forget():
  output = _run("game_statistics.py", "--game=goofspiel(imp_info=False,"
                "num_cards=4,points_order=ascending)").stdout
  assert _counts(output)["information sets"] == 270


def test_heat_map(tmp_path):
  path = tmp_path / "map.png"
  output = _run("game_statistics.py", "--game=liars_dice(dice_sides=3)",
                f"--plot={path}").stdout
  rows = _rows(output, "information sets, by moves")
  assert list(rows) == ["1", "2-3"]
  assert set(rows["1"]) == {"."}
  assert rows["2-3"] == [".", ".", "3", "18", "45", "60", "45", "18", "3"]
  assert path.read_bytes().startswith(b"\x89PNG")


def test_pure_and_mixed_sets():
  """Table 5.8, without the forced last cards.

  The table has two pure sets after two moves. One of them is not reached in
  equilibrium, and what CFR does there depends on rounding: here it is mixed.
  """
  output = _run("game_statistics.py", "--game=goofspiel(imp_info=True,"
                "num_cards=3,points_order=ascending)", "--solver=cfr").stdout
  rows = _rows(output, "information sets in which")
  assert rows["pure"] == ["1", "1", "1", "2"]
  assert rows["mixed"] == ["0", "0", "6", "5"]
  assert rows["mixed/all"] == ["0.00", "0.00", "0.86", "0.71"]


def test_a_policy_from_a_file(tmp_path):
  path = tmp_path / "policy.npz"
  _run("solve_game.py", "--game=kuhn_poker", "--target=1e-3",
       f"--save_policy={path}")
  output = _run("game_statistics.py", "--game=kuhn_poker", f"--policy={path}",
                "--pure=0.9").stdout
  rows = _rows(output, "information sets in which")
  # Player 1 folds a jack and bets or calls with a king; the queen is mixed.
  assert sum(map(int, rows["pure"])) + sum(map(int, rows["mixed"])) == 12
  assert int(rows["mixed"][3]) > 0


@pytest.mark.parametrize("flags, message", [
    (["--game=kuhn_pokr"], "--game: game=kuhn_pokr: "),
    (["--solver=x"], "--solver: solver=x: must be one of"),
    (["--solver=cfr", "--policy=x"], "must not both be given"),
    (["--game=kuhn_poker", "--policy=nowhere.npz"], "nowhere.npz"),
    (["--game=go"], "more memory than there is")])
def test_bad_flags_are_refused(flags, message, tmp_path):
  helpers.assert_refused("game_statistics.py", flags, message, cwd=tmp_path)
