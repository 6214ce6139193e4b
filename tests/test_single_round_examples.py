"""Runs the examples for single-round Dudo as a person would."""

import helpers
import pytest

_SMALL = "--game=dudo_single_round(players=3,numdice=1,dice_sides=3)"


def test_benchmark():
  output = helpers.run_example("benchmark_pfsi.py", _SMALL, "--warm_up=0",
                               "--seconds=0", "--threads=1").stdout
  lines = output.splitlines()
  assert [line.split()[0] for line in lines[2:]] == ["FSI", "PFSI-4", "PFSI-1",
                                                     "PPT", "MCPT"]


def test_tournament_and_play(tmp_path):
  output = helpers.run_example(
      "dudo_tournament.py", _SMALL, "--seconds=0.1", "--games=600",
      "--solvers=PPT+WT,FSI+WT", "--threads=1", f"--folder={tmp_path}").stdout
  assert "2v1" in output and "1v2" in output
  assert output.count("±") == 2 * (2 + 2 + 1)
  played = helpers.run_example(
      "play_dudo.py", _SMALL, f"--opponents={tmp_path / 'FSI+WT.npz'}",
      "--seed=1", stdin="1x1\n")
  assert "1x1" in played.stdout and "Traceback" not in played.stderr


@pytest.mark.parametrize("name, flags, message", [
    ("benchmark_pfsi.py", ["--solvers=CFR"], "--solvers=CFR"),
    ("benchmark_pfsi.py", ["--game=dudo"], "game=dudo"),
    ("dudo_tournament.py", ["--solvers=FSI"], "--solvers=FSI"),
    ("dudo_tournament.py", ["--games=101"], "--games=101"),
    ("dudo_tournament.py", ["--folder=/no/such"], "--folder=/no/such")])
def test_wrong_flags(name, flags, message):
  helpers.assert_refused(name, flags, message)
