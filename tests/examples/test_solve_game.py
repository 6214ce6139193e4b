"""Runs solve_game.py with small flags."""

import helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policies

_run = helpers.run_example


def test_solve_game(tmp_path):
  files = {name: tmp_path / name
           for name in ("solver.npz", "policy.npz", "plot.png")}
  flags = ["--game=kuhn_poker", "--solver=cfr+", "--target=1e-4",
           f"--checkpoint={files['solver.npz']}",
           f"--save_policy={files['policy.npz']}",
           f"--plot={files['plot.png']}"]
  result = _run("solve_game.py", *flags)
  assert "stopped by target" in result.stdout
  assert "(deal form, 12 information sets)" in result.stdout
  assert "value           -0.055" in result.stdout
  assert result.stderr == ""
  assert all(path.stat().st_size > 500 for path in files.values())
  assert files["plot.png"].read_bytes().startswith(b"\x89PNG")
  # A second run continues from the first run's file.
  iterations = int(result.stdout.split("iterations      ")[1].split()[0]
                   .replace(",", ""))
  again = _run("solve_game.py", *flags, "--iterations=5", "--target=0").stdout
  assert f"iterations      {iterations + 5:,} of cfr+" in again


def test_solve_game_makes_games_turn_based():
  output = _run("solve_game.py", "--game=matrix_rps", "--iterations=50",
                "--solver=dcfr").stdout
  assert "value           0.0" in output or "value           -0.0" in output


@pytest.mark.parametrize("flags, message", [
    (["--game=nonsense"], "Unknown game"), (["--solver=magic"], "magic"),
    (["--game=dark_chess"], "no information states"), (["extra"], "'extra'"),
    (["--iterations=-1"], "--iterations=-1"), (["--target=x"], "--target=x"),
    (["--game=kuhn_poker", "--seconds=nan"], "max_seconds=nan"),
    (["--solver=cfr", "--average"], "--average: must be left out"),
    (["--game=kuhn_poker", "--plot=nowhere/x.png"], "--plot=nowhere/x.png"),
    (["--game=kuhn_poker", "--checkpoint=README.md"], "must be a whole file")])
def test_solve_game_with_wrong_flags(flags, message):
  helpers.assert_refused("solve_game.py", flags, message,
                         cwd=helpers.EXAMPLES.parent)


def test_solve_game_saves_the_best_policy(tmp_path):
  saved, policy = tmp_path / "solver.npz", tmp_path / "policy.npz"
  flags = ["--game=leduc_poker", "--solver=bdfp", "--alternating", "--target=0",
           f"--checkpoint={saved}", f"--save_policy={policy}"]
  first = helpers.run_example("solve_game.py", *flags, "--iterations=300")
  second = helpers.run_example("solve_game.py", *flags, "--iterations=1")
  rows = [helpers.rows(run.stdout, "exploitability", "best")
          for run in (first, second)]
  # The second run reports the policy that it saves: the best of both runs.
  best = float(rows[1].get("best", rows[1]["exploitability"])[0])
  assert best <= float(rows[0].get("best", rows[0]["exploitability"])[0])
  game = pyspiel.load_game("leduc_poker")
  assert exploitability.exploitability(game, policies.load_policy(policy)) == (
      pytest.approx(best, rel=5e-3))
  alternating = float(rows[0]["exploitability"][0])
  flags[2] = "--noalternating"
  output = helpers.run_example("solve_game.py", *flags[:4], "--average",
                               "--iterations=300").stdout
  assert float(helpers.rows(output, "exploitability")["exploitability"][0]) > (
      2 * alternating)
