"""Runs the programs of examples/benchmarks with small flags."""

import helpers
import pytest

_run = helpers.run_example


def test_benchmark_games():
  output = _run("benchmark_games.py", "--repeats=1", "--seconds=0.01").stdout
  lines = output.splitlines()
  assert len(lines) == 14
  assert lines[1].split()[0] == "dudo"
  peer = [line.split() for line in lines if "python_liars_poker  " in line][0]
  assert peer[2] == "1.00"


def test_benchmark_sizes():
  lines = _run("benchmark_sizes.py", "--seconds=0.01", "--walks=kuhn_poker",
               "--games=kuhn_poker;dudo(numdice=2)").stdout.splitlines()
  assert lines[2].startswith("| `kuhn_poker` | 58 | 12 | deal | ")
  assert lines[3].startswith("dudo(numdice=2): refused after ")
  assert "more memory than there is" in lines[3]
  assert lines[7].startswith("| `kuhn_poker` | 58 | ")


@pytest.mark.parametrize("flags, message", [
    (["--games=nonsense"], "OpenSpiel has no such game"),
    (["--games=;"], "--games=;"), (["--solver=nonsense"], "--solver: "),
    (["--walks=nonsense"], "OpenSpiel has no such game"),
    (["--memory_gb=0"], "--memory_gb=0")])
def test_benchmark_sizes_with_wrong_flags(flags, message):
  helpers.assert_refused("benchmark_sizes.py", flags, message)


@pytest.mark.parametrize("flags, message", [
    (["--game=nonsense"], "Unknown game"), (["extra"], "'extra'"),
    (["--game=dudo(numdice=99)"], "numdice=99"),
    (["--repeats=0"], "--repeats=0")])
def test_benchmark_games_with_wrong_flags(flags, message):
  helpers.assert_refused("benchmark_games.py", flags, message)


def test_benchmark_solvers():
  output = _run("benchmark_solvers.py", "--game=kuhn_poker", "--repeats=1",
                "--seconds=0.01").stdout
  assert "kuhn_poker (deal form)" in output
  assert "times pyspiel" in output
  conv = [line for line in output.splitlines() if "NashConv" in line][0]
  ours, theirs = conv.split(": ")[1].split(", pyspiel ")
  assert float(ours) == pytest.approx(float(theirs), abs=1e-8)


def test_benchmark_roofline():
  lines = _run("benchmark_roofline.py", "--game=kuhn_poker", "--repeats=1",
               "--seconds=0.001", "--copy_kilobytes=16").stdout.splitlines()
  assert lines[0].startswith("copy within     16 KB: ")
  float64 = lines[lines.index("kuhn_poker") + 1]
  held, moved, flops = (float(float64.split(unit)[0].split()[-1])
                        for unit in (" MB held", " MB moved", " MFlop"))
  # 12 sets of two actions are 24 entries, each with at least 14 operations.
  assert 24 * 14e-6 <= flops <= 24 * 50e-6
  assert held > 24 * 24e-6 and moved > 24 * 56e-6
  assert "% of the roof" in lines[5] and "% of the roof" in lines[7]


def test_benchmark_fsicfr():
  output = helpers.run_example("benchmark_fsicfr.py", "--numdice=2",
                               "--repeats=1", "--hands_met=2").stdout
  assert "2,325 nodes" in output
  row = output.splitlines()[-1].split()
  assert row[:2] == ["2", "42"] and row[-1] == "yes"


_SMALL = "--game=dudo_single_round(players=3,numdice=1,dice_sides=2)"


def test_benchmark_pfsi():
  output = helpers.run_example("benchmark_pfsi.py", _SMALL,
                               "--warm_up_seconds=0", "--seconds=0",
                               "--num_threads=2").stdout
  lines = output.splitlines()
  assert [line.split()[0] for line in lines[2:]] == [
      "FSI", "PFSI-4", "PFSI-1", "PPT", "MCPT", "simulator:"]


def test_benchmark_perfect_recall():
  lines = _run("benchmark_perfect_recall.py", "--numdice=1",
               "--turns=1").stdout.splitlines()
  assert lines[0].startswith("round 1v1, ")
  assert lines[0].endswith(" have the same result")
  assert [line.partition(":")[0] for line in lines[1:4]] == [
      "iteration", "growth", "interval"]
