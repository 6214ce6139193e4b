"""Runs the experiments after Gendre and Kaneko, with small flags."""

import helpers
import pytest

_SMALL = "--game=dudo_single_round(players=3,numdice=1,dice_sides=2)"


@pytest.mark.slow
def test_tournament_plot_and_play(tmp_path):
  command = ["dudo_tournament.py", _SMALL, "--num_games=600", "--points=2",
             "--solvers=PPT+WT,FSI+WT", "--num_threads=1",
             f"--folder={tmp_path}/run"]
  output = helpers.run_example(*command, "--seconds=0.1").stdout
  assert "2v1" in output and "1v2" in output
  assert output.count("±") == 2 * (3 + 3 + 1 + 2)
  log = (tmp_path / "run/log.csv").read_text().splitlines()
  assert len(log) >= 3 and log[1].startswith("PPT+WT,")
  # The same command goes on where this one stopped; with a responder, too.
  output = helpers.run_example(*command, "--seconds=0.2",
                               "--response_deals=10").stdout
  longer = (tmp_path / "run/log.csv").read_text().splitlines()
  assert longer[:len(log)] == log and len(longer) > len(log)
  assert "A responder" in output and output.count("mean") == 2
  plot = tmp_path / "plot.png"
  output = helpers.run_example("plot_tournament.py",
                               f"--log={tmp_path}/run/log.csv",
                               f"--plot={plot}").stdout
  assert "wrote" in output and plot.read_bytes().startswith(b"\x89PNG")
  played = helpers.run_example(
      "play_dudo.py", _SMALL, f"--opponents={tmp_path}/run/FSI+WT.npz",
      "--seed=1", stdin="1x1\n")
  assert "1x1" in played.stdout and "Traceback" not in played.stderr


def test_the_odds_bot_plays_without_any_solver():
  lines = helpers.run_example("dudo_tournament.py", "--solvers=",
                              "--num_games=4000").stdout.splitlines()
  rates = {line.split()[2]: float(line.split()[9]) for line in lines[2:]}
  assert rates["random"] > 28.0 and rates["heuristic"] > 26.5


@pytest.mark.slow
def test_tournament_on_a_cluster(tmp_path):
  pytest.importorskip("ray")
  output = helpers.run_example(
      "dudo_tournament.py", _SMALL, "--num_games=600", "--points=2",
      "--solvers=PPT+WT,FSI+WT", "--num_threads=1", "--seconds=0.1",
      "--engine=ray", f"--folder={tmp_path}/run").stdout
  assert output.count("±") == 2 * (3 + 3 + 1 + 2)
  log = (tmp_path / "run/log.csv").read_text().splitlines()
  assert {line.split(",")[0] for line in log[1:]} == {"PPT+WT", "FSI+WT"}


@pytest.mark.parametrize("name, flags, message", [
    ("benchmark_pfsi.py", ["--solvers=CFR"], "--solvers=CFR"),
    ("benchmark_pfsi.py", ["--game=dudo"], "game=dudo"),
    ("dudo_tournament.py", ["--solvers=FSI"], "--solvers=FSI"),
    ("dudo_tournament.py", ["--num_games=101"], "--num_games=101"),
    ("dudo_tournament.py", ["--response_deals=1"], "--response_deals=1"),
    ("dudo_tournament.py", ["--game=dudo"], "game=dudo"),
    ("dudo_tournament.py", [f"--folder={__file__}"], f"--folder={__file__}"),
    ("plot_tournament.py", ["--log=/no/such"], "--log=/no/such"),
    ("plot_tournament.py", [f"--log={__file__}"], "--log=")])
def test_wrong_flags(name, flags, message):
  helpers.assert_refused(name, flags, message)
