"""Runs the experiments of the report on regret minimisation, small."""

import helpers
import numpy as np
import pytest

_PLAY = ["--train_games=2000", "--num_games=2000", "--seconds=0.1"]


@pytest.mark.slow
def test_plot_regret_matching(tmp_path):
  picture = tmp_path / "picture.png"
  result = helpers.run_example("plot_regret_matching.py", "--iterations=2000",
                               f"--plot={picture}")
  assert result.stderr == ""
  assert helpers.is_picture(picture, 10_000, 180_000)
  rows = [line.split() for line in result.stdout.splitlines()[1:13]]
  assert [row[-6] for row in rows] == ["exact", "sampled", "conditional"] * 4
  for row in rows:
    value, gain, coarse, correlated = map(float, row[-4:])
    if row[0] != "Shapley's":  # all others are of constant sum
      assert abs(value) < 0.02 or abs(value - 1.5) < 0.02
      assert gain < (0.5 if "conditional" in row else 0.05)
    # Both together gain at most what they gain by swaps of actions.
    assert coarse <= correlated + 1e-6
  assert "exploitability of 0.0755" in result.stdout  # of the report's strategy


def _liar_die(text, sides):
  """Returns player 0's best value, and what opening claims are worth."""
  first = float(next(line for line in text.splitlines()
                     if line.startswith("FSICFR")).split()[-3])
  lines = text.partition("claims: their")[2].splitlines()[2:]
  values = [[float(word) for word in lines[2 * roll + 1].split()]
            for roll in range(sides)]
  return first, np.array(values)


def test_liar_die_tables():
  result = helpers.run_example("liar_die_tables.py", "--dice_sides=3",
                               "--iterations=3000")
  assert result.stderr == ""
  first, values = _liar_die(result.stdout, 3)
  # The table's best claims are the best response of the whole game.
  assert values.max(axis=1).mean() == pytest.approx(first, abs=2e-4)
  gain = float(result.stdout.splitlines()[3].split()[-1])
  assert 0.0 <= gain < 0.05
  assert "report's" not in result.stdout  # it has six sides


@pytest.mark.slow
def test_liar_die_tables_of_the_report():
  lines = helpers.run_example("liar_die_tables.py").stdout.splitlines()
  ours, theirs = (line.split() for line in lines[3:5])
  assert float(ours[-4]) == pytest.approx(11 / 30, abs=2e-3)
  assert float(ours[-1]) < 0.003
  assert float(theirs[-1]) == pytest.approx(0.1017, abs=1e-4)
  first, values = _liar_die("\n".join(lines), 6)
  assert values.max(axis=1).mean() == pytest.approx(first, abs=2e-4)


def test_plot_doubt(tmp_path):
  picture = tmp_path / "picture.png"
  result = helpers.run_example("plot_doubt.py", "--sizes=2x2,3x1",
                               "--train_games=3000", f"--plot={picture}")
  assert result.stderr == ""
  assert helpers.is_picture(picture, 10_000, 180_000)
  rows = [line.split() for line in result.stdout.splitlines()[2:-1]]
  assert [row[:2] for row in rows] == [
      ["2x2", "10"], ["2x2", "0"], ["3x1", "10"], ["3x1", "0"]]
  for row in rows:
    assert row[5] == "±"
    assert 0.0 < float(row[4]) < 100.0
  assert rows[0][8] == "648"  # 27 rolls, 24 claims


def test_compare_doubt():
  output = helpers.run_example("compare_doubt.py", "--numdice=1", *_PLAY,
                               "--stock=20", "--stock_played=10",
                               "--bounds=0.1").stdout
  lines = output.splitlines()
  assert lines[1].split() == ["dummy", "heuristic", "FSICFR", "exploitability"]
  table = {line[:20].strip(): line[20:].split() for line in lines[2:7]}
  assert float(table["FSICFR"][0]) > 55.0  # against dummies
  assert table["dummy"][:3] == ["50.00", "±", "0.00"]
  low, high = float(table["FSICFR"][-3]), float(table["FSICFR"][-1])
  assert 0.0 <= low <= high < float(table["dummy"][-3])
  assert "tabular_qlearner of OpenSpiel, 20 games" in lines[7]
  assert [line.split()[1] for line in lines[8:]] == ["dummy", "heuristic",
                                                     "FSICFR"]


def test_compare_doubt_with_more_players():
  lines = helpers.run_example("compare_doubt.py", "--players=3", "--numdice=1",
                              *_PLAY, "--stock=0").stdout.splitlines()
  assert lines[1].split() == ["dummy", "heuristic"]
  assert [line.split(",")[0] for line in lines[2:]] == ["Q", "Q"]


@pytest.mark.parametrize("name, flags, message", [
    ("plot_regret_matching.py", ["--iterations=0"], "--iterations=0"),
    ("liar_die_tables.py", ["--dice_sides=1"], "--dice_sides=1"),
    ("liar_die_tables.py", ["extra"], "'extra'"),
    ("plot_doubt.py", ["--sizes=two"], "--sizes=two: must be players x dice"),
    ("plot_doubt.py", ["--sizes=9x3"], "players=9: must be"),
    ("plot_doubt.py", ["--game_rewards=x"], "--game_rewards=x: must be"),
    ("plot_doubt.py", ["--sizes=2x1", "--game_rewards=-1"],
     "--game_rewards: game_reward=-1.0: must be"),
    ("compare_doubt.py", ["--players=1"], "--players=1"),
    ("compare_doubt.py", ["--recall=0"], "--recall=0")])
def test_wrong_flags(name, flags, message):
  helpers.assert_refused(name, flags, message)
