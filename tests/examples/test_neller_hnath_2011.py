"""Runs the experiments after Neller and Hnath, with small flags."""

import helpers
import pytest


@pytest.mark.slow
def test_compress_policy():
  output = helpers.run_example(
      "compress_policy.py", "--numdice=1", "--seconds=0.5", "--num_games=2000",
      "--exact_dice=2", "--abstraction=player_ranks").stdout
  rows = [line.split() for line in output.splitlines()[1:]]
  assert len(rows) == 9
  assert rows[0][0] == "32" and rows[0][-3:] == ["50.000%", "±", "0.000%"]
  sizes = [float(row[1 if row[0] == "32" else 3]) for row in rows]
  assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_compare_fsicfr(tmp_path):
  output = helpers.run_example(
      "compare_fsicfr.py", "--rounds=1v1", "--fsicfr_rounds=2v1",
      "--measure_seconds=0.05", "--seconds=1", "--num_games=10000",
      "--pretrain=20", f"--plot={tmp_path / 'plot.png'}").stdout
  assert "Figure 4" in output and "0.3, 13 (43)" in output
  *_, last, wrote = output.splitlines()
  assert wrote == f"wrote {tmp_path / 'plot.png'}"
  row = last.split()
  assert row[0] == "1"
  assert float(row[7].rstrip("%")) > 50
  assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flags, message", [
    (["--rounds=1x1"], "round='1x1'"), (["--num_games=3"], "--num_games=3"),
    (["--rounds=3v3"], "at most 5 dice"),
    (["--plot=nowhere/x.png"], "its folder must exist")])
def test_compare_fsicfr_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_fsicfr.py", flags, message)


def test_compare_recall():
  lines = helpers.run_example(
      "compare_recall.py", "--dice_sides=3",
      "--abstractions=claims1,claims3,player_ranks", "--seconds=0.5",
      "--target=1e-4").stdout.splitlines()
  assert lines[-1].startswith("player_ranks ")
  rows = helpers.rows("\n".join(lines), "claims1", "claims3")
  short, long = (list(map(float, rows[name][-2:]))
                 for name in ("claims1", "claims3"))
  assert short[0] > long[0] > -0.05  # the mean loss to optimal play
  assert short[1] > long[1] > 0  # the exploitability


@pytest.mark.parametrize("flags, message", [
    (["--abstractions=x"], "--abstractions: memory='x': must be"),
    (["--abstractions=claims0"], "--abstractions: memory='claims0': must be"),
    (["--dice_sides=1"], "--dice_sides=1")])
def test_compare_recall_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_recall.py", flags, message)


def test_compare_abstractions(tmp_path):
  table, plot = tmp_path / "table.csv", tmp_path / "plot.png"
  flags = ["--numdice=1", "--iterations=100", f"--table={table}",
           "--abstractions=claims1,claims2_ranks1,player_ranks"]
  lines = helpers.run_example("compare_abstractions.py",
                              *flags).stdout.splitlines()[1:]
  names, sizes, gains = zip(*(
      (row[1], int(row[2].replace(",", "")), float(row[5]))
      for row in map(str.split, lines)))
  assert names == ("claims1", "claims2_ranks1", "player_ranks")
  assert sizes == tuple(sorted(sizes)) and sizes[0] == 13
  assert gains[0] > gains[1] > 0.0 and gains[0] > gains[2] > 0.0
  before = table.read_bytes()
  again = helpers.run_example("compare_abstractions.py", *flags,
                              f"--plot={plot}").stdout.splitlines()[1:]
  assert again == [*lines, f"wrote {plot}"]  # seconds, too: nothing is new
  assert table.read_bytes() == before
  assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flags, message", [
    (["--numdice=4"], "--numdice=4"),
    (["--abstractions=claims"], "memory='claims': must be"),
    (["--table=README.md"], "must be a table of this program")])
def test_compare_abstractions_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_abstractions.py", flags, message,
                         cwd=helpers.EXAMPLES.parent)
