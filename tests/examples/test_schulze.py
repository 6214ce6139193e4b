"""Runs the experiments after Schulze, with small flags."""

import helpers
from open_spiel.python.algorithms import cfr as open_cfr
from open_spiel.python.algorithms import exploitability as open_exploitability
import pyspiel
import pytest

_SMALL_NEUMANN = ["--ranks=10", "--iterations=1000"]


def test_plot_asymmetric_neumann(tmp_path):
  picture = tmp_path / "picture.png"
  result = helpers.run_example("plot_asymmetric_neumann.py", *_SMALL_NEUMANN,
                               f"--plot={picture}")
  assert result.stderr == ""
  assert helpers.is_picture(picture, 10_000, 150_000)
  assert list(tmp_path.iterdir()) == [picture]
  _, plain, perturbed = result.stdout.split("epsilon = ")
  # The exact values, by linear programming.
  assert float(plain.split()[4]) == pytest.approx(11 / 200, abs=3e-7)
  assert float(perturbed.split()[4]) == pytest.approx(0.053617625, abs=3e-7)
  for part, value in [(plain, 11 / 200), (perturbed, 0.053617625)]:
    rows = helpers.rows(part, "BDFP", "XFP", "CFR", "exact,")
    assert rows["BDFP"] == rows["XFP"]  # nobody decides twice
    assert rows["exact,"][-3:] == ["0.1111", "0.7778", "0.5556"]
    for name in ("BDFP", "CFR"):
      reached, gain, *thresholds = map(float, rows[name])
      assert abs(reached - value) <= 2 * gain < 0.004
      assert thresholds == pytest.approx([1 / 9, 7 / 9, 5 / 9], abs=0.1)


@pytest.mark.slow
def test_plot_neumann(tmp_path):
  picture = tmp_path / "picture.png"
  result = helpers.run_example("plot_neumann.py", *_SMALL_NEUMANN,
                               f"--plot={picture}", "--alternating")
  assert result.stderr == ""
  assert helpers.is_picture(picture, 10_000, 150_000)
  _, plain, perturbed = result.stdout.split("epsilon = ")
  for part, value in [(plain, -18 / 475), (perturbed, -0.0376091094)]:
    assert float(part.split()[4]) == pytest.approx(value, abs=1e-6)
    rows = helpers.rows(part, "BDFP", "XFP", "CFR")
    assert len({row[0] for row in rows.values()}) == 3
    for row in rows.values():
      assert abs(float(row[0]) - value) <= 2 * float(row[1]) < 0.02


@pytest.mark.slow
def test_plot_leduc(tmp_path):
  picture = tmp_path / "picture.png"
  result = helpers.run_example("plot_leduc.py", "--ranks=3",
                               "--iterations=2000", f"--plot={picture}")
  assert result.stderr == ""
  assert helpers.is_picture(picture, 10_000, 150_000)
  rows = {line[:16].strip(): line[16:].split()
          for line in result.stdout.splitlines()[2:-3]}
  # The stakes are half of those of OpenSpiel's Leduc poker, so the value is.
  assert float(rows["exact"][0]) == pytest.approx(-0.0856064 / 2, abs=1e-7)
  for name in ("BDFP", "BDFP averaged", "XFP", "CFR"):
    value, gain, lowest, *_ = rows[name]
    assert abs(float(value) + 0.0428032) <= 2 * float(gain) < 0.06
    assert float(lowest) <= float(gain) * 1.01
  assert float(rows["CFR unaveraged"][2]) > 0.05  # it does not converge


def test_compare_solvers():
  flags = ["--game=Kuhn", "--game=neumann_poker(num_ranks=4,num_bets=1)",
           "--targets=1e-3,1e-2", "--iterations=400", "--minimum"]
  result = helpers.run_example("compare_solvers.py", *flags)
  assert result.stderr == ""
  kuhn, neumann = result.stdout.strip().split("\n\n")
  lines = [[cell.strip() for cell in line.split("|")[1:-1]]
           for line in kuhn.splitlines()]
  assert lines[0] == ["Kuhn", "simultaneous: 0.01", "0.001", "minimum",
                      "alternating: 0.01", "0.001", "minimum"]
  rows = {line[0]: line[1:] for line in lines[2:]}
  assert list(rows) == ["BDFP", "BDFP averaged", "XFP", "CFR", "CFR+", "DCFR",
                        "PCFR+"]
  assert rows["CFR"][:2] == ["> 400", "> 400"]
  first, second, lowest = rows["PCFR+"][3:]
  assert 1 < int(first) < int(second) < 400
  assert float(lowest) <= 1e-3
  assert neumann.startswith("| neumann_poker(num_ranks=4,num_bets=1) |")


def test_compare_solvers_counts_as_openspiel_measures():
  # Count CFR's iterations on Kuhn poker with OpenSpiel alone.
  game = pyspiel.load_game("kuhn_poker")
  solver, count = open_cfr.CFRSolver(game), 0
  while count == 0 or open_exploitability.exploitability(
      game, solver.average_policy()) > 0.02:
    solver.evaluate_and_update_policy()
    count += 1
  output = helpers.run_example(
      "compare_solvers.py", "--game=Kuhn", "--solvers=CFR",
      "--targets=0.02").stdout
  assert count < 100  # where every iteration is measured
  assert output.splitlines()[-1].split("|")[3].strip() == str(count)


@pytest.mark.slow
def test_compare_solvers_in_perturbed_games():
  row = [helpers.run_example(
      "compare_solvers.py", "--game=neumann_poker(num_ranks=20)",
      "--solvers=BDFP", "--targets=2e-3", "--iterations=20000",
      f"--epsilon={epsilon}").stdout.splitlines()[-1] for epsilon in (0, 0.05)]
  plain, perturbed = (int(line.split("|")[2].replace(",", "")) for line in row)
  assert perturbed < plain


@pytest.mark.parametrize("name, flags, message", [
    ("asymmetric_neumann", ["extra"], "'extra'"),
    ("asymmetric_neumann", ["--epsilon=0.5"], "--epsilon=0.5"),
    ("neumann", ["--plot=nowhere/x.png"],
     "--plot=nowhere/x.png: its folder must exist"),
    ("neumann", ["--ranks=1"], "--ranks=1"),
    ("leduc", ["--plot=."], "must be a file")])
def test_plots_with_wrong_flags(name, flags, message):
  helpers.assert_refused(f"plot_{name}.py", flags, message)


@pytest.mark.parametrize("flags, message", [
    (["--game=nonsense"], "Unknown game"),
    (["--solvers=magic"], "--solvers=magic: must be of BDFP"),
    (["--targets=0"], "--targets=0: must be numbers above 0"),
    (["--targets=few"], "--targets=few: must be numbers above 0"),
    (["--solvers="], "--solvers=: must be of BDFP"),
    (["--game=leduc_poker", "--epsilon=0.4"], "epsilon=0.4"),
    (["--game=dudo_ir(numdice=1,dice_sides=3,recall_length=1)",
      "--solvers=XFP"], "imperfect recall")])
def test_compare_solvers_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_solvers.py", flags, message)
