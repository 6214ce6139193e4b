"""Runs bot_match.py with small flags."""

import helpers
import pytest

_run = helpers.run_example


def test_bot_match():
  output = _run("bot_match.py", "--game=dudo(numdice=1)", "--num_games=10",
                "--seed=4").stdout
  assert "heuristic" in output and "±" in output
  assert output == _run("bot_match.py", "--game=dudo(numdice=1)",
                        "--num_games=10", "--seed=4").stdout


def test_bot_match_measures_the_bot_that_it_names():
  lines = _run("bot_match.py", "--game=dudo(numdice=2)", "--num_games=60",
               "--bots=heuristic,uniform").stdout.splitlines()
  table = {line.split()[0]: line.split()[1::3] for line in lines[2:]}
  assert float(table["heuristic"][1]) > 0.5
  assert float(table["uniform"][0]) < -0.5


@pytest.mark.parametrize("flags, message", [
    (["--seed=-1"], "--seed=-1"), (["extra"], "'extra'"),
    (["--bots=clever"], "--bots: name='clever'"),
    (["--num_games=1"], "--num_games=1"),
    (["--game=nonsense"], "Unknown game"), (["--colour=red"], "colour")])
def test_bot_match_with_wrong_flags(flags, message):
  helpers.assert_refused("bot_match.py", flags, message)


def test_bot_match_with_a_policy(policy_file):
  lines = helpers.run_example(
      "bot_match.py", "--game=dudo(numdice=2)", "--num_games=100",
      f"--bots={policy_file},uniform").stdout.splitlines()
  row = [line for line in lines if line.startswith(str(policy_file))][0]
  assert float(row.split()[4]) > 0.5  # against uniform
