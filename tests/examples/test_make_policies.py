"""Runs make_policies.py and head_to_head.py, which measures its policy."""

import helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policies


@pytest.mark.parametrize("name, flags, message", [
    ("make_policies.py", ["--kilobytes=x"], "--kilobytes=x: must be numbers"),
    ("make_policies.py", ["--kilobytes=9,0.5"], "--kilobytes=9,0.5: must be"),
    ("make_policies.py", ["--kilobytes=0,9"], "--kilobytes=0,9: must be"),
    ("head_to_head.py", ["--numdice=x"], "--numdice=x"),
    ("head_to_head.py", ["--numdice=0"], "--numdice=0"),
    ("head_to_head.py", ["--num_games=1"],
     "--num_games=1: must be 0, or at least 2")])
def test_flags_that_are_refused(name, flags, message):
  if name == "make_policies.py":
    flags = [*flags, "--checkpoint=nowhere.npz"]
  helpers.assert_refused(name, flags, message)


def test_make_policies_and_head_to_head(tmp_path):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1)"), num_threads=1, dtype="float64")
  solver.run(200)
  solver.save(tmp_path / "solver.npz")
  path = tmp_path / "policy.npz"
  *lines, shares, last = helpers.run_example(
      "make_policies.py", f"--checkpoint={tmp_path / 'solver.npz'}",
      "--kilobytes=5,6", f"--save_policy={path}").stdout.splitlines()
  assert last == f"wrote {path}"
  sizes, gaps = zip(*(map(float, line.split(" | ")[:2])
                      for line in (line.strip("| ") for line in lines[4:6])))
  assert sizes[0] < sizes[1] <= 6.0 and gaps[0] > gaps[1]
  policy = policies.load_policy(path)
  number = int(shares.removeprefix("shares: 1v1 ").replace(",", ""))
  assert policy.measures == solver.average_policy().compressed(number).measures
  assert policy.exploitability(1) == policy.measures[1, 1].exploitability
  rows = [line.split(" | ") for line in helpers.run_example(
      "head_to_head.py", "--numdice=1", f"--policy={path}",
      "--opponents=recall3,heuristic").stdout.splitlines()]
  rates = {row[1]: float(row[4].rstrip(" |")) for row in rows[2:]}
  assert rates["its best response, by its file"] == pytest.approx(
      50.0 - 50.0 * policy.measures[1, 1].exploitability, abs=1e-3)
  assert rates["heuristic"] > 55.0 > rates["recall3"] > 49.0
