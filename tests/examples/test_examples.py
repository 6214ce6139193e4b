"""Runs the examples with small flags, as a person would.

The examples about matches, single rounds and fictitious play have test modules
of their own.
"""

import ast
import os
import signal
import subprocess
import sys

import helpers
import pytest

_run = helpers.run_example
_BINARIES = list(helpers.PROGRAMS)


@pytest.mark.parametrize("name", _BINARIES)
def test_help_is_the_docstring_and_then_the_examples_own_flags(name):
  output = _run(name, "--help", check=False).stdout
  docstring = ast.get_docstring(ast.parse(
      helpers.PROGRAMS[name].read_text(encoding="utf-8")))
  before, _, after = output.partition("\nflags:\n")
  assert before.strip() == docstring
  assert after.split()[0].endswith(f"{name}:")
  assert after.count(".py:") == 1  # no flags of other modules


@pytest.mark.slow
@pytest.mark.parametrize("name", _BINARIES)
def test_starts_in_a_process_of_its_own(name):
  """The other tests run examples in forks that have libraries imported."""
  result = subprocess.run([sys.executable, helpers.PROGRAMS[name], "--help"],
                          capture_output=True, text=True, check=False)
  assert result.stdout == _run(name, "--help", check=False).stdout
  assert result.stderr == ""


def test_benchmark_games():
  output = _run("benchmark_games.py", "--rounds=1", "--seconds=0.01").stdout
  lines = output.splitlines()
  assert len(lines) == 14
  assert lines[1].split()[0] == "dudo"
  peer = [line.split() for line in lines if "python_liars_poker  " in line][0]
  assert peer[2] == "1.00"


def test_bot_match():
  output = _run("bot_match.py", "--game=dudo(numdice=1)", "--games=10",
                "--seed=4").stdout
  assert "heuristic" in output and "±" in output
  assert output == _run("bot_match.py", "--game=dudo(numdice=1)",
                        "--games=10", "--seed=4").stdout


def test_bot_match_measures_the_bot_that_it_names():
  lines = _run("bot_match.py", "--game=dudo(numdice=2)", "--games=60",
               "--bots=heuristic,uniform").stdout.splitlines()
  table = {line.split()[0]: line.split()[1::3] for line in lines[2:]}
  assert float(table["heuristic"][1]) > 0.5
  assert float(table["uniform"][0]) < -0.5


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
    (["--memory=0"], "--memory=0")])
def test_benchmark_sizes_with_wrong_flags(flags, message):
  helpers.assert_refused("benchmark_sizes.py", flags, message)


@pytest.mark.parametrize("flags, message", [
    (["--game=nonsense"], "Unknown game"), (["extra"], "'extra'"),
    (["--game=dudo(numdice=99)"], "numdice=99"),
    (["--rounds=0"], "--rounds=0")])
def test_benchmark_games_with_wrong_flags(flags, message):
  helpers.assert_refused("benchmark_games.py", flags, message)


@pytest.mark.parametrize("flags, message", [
    (["--seed=-1"], "--seed=-1"), (["extra"], "'extra'"),
    (["--bots=clever"], "--bots: name='clever'"), (["--games=1"], "--games=1"),
    (["--game=nonsense"], "Unknown game"), (["--colour=red"], "colour")])
def test_bot_match_with_wrong_flags(flags, message):
  helpers.assert_refused("bot_match.py", flags, message)


def test_benchmark_solvers():
  output = _run("benchmark_solvers.py", "--game=kuhn_poker", "--rounds=1",
                "--seconds=0.01").stdout
  assert "kuhn_poker (deal form)" in output
  assert "times pyspiel" in output
  conv = [line for line in output.splitlines() if "NashConv" in line][0]
  ours, theirs = conv.split(": ")[1].split(", pyspiel ")
  assert float(ours) == pytest.approx(float(theirs), abs=1e-8)


def test_benchmark_roofline():
  lines = _run("benchmark_roofline.py", "--game=kuhn_poker", "--rounds=1",
               "--seconds=0.001", "--kilobytes=16").stdout.splitlines()
  assert lines[0].startswith("copy within     16 KB: ")
  float64 = lines[lines.index("kuhn_poker") + 1]
  held, moved, flops = (float(float64.split(unit)[0].split()[-1])
                        for unit in (" MB held", " MB moved", " MFlop"))
  # 12 sets of two actions are 24 entries, each with at least 14 operations.
  assert 24 * 14e-6 <= flops <= 24 * 50e-6
  assert held > 24 * 24e-6 and moved > 24 * 56e-6
  assert "% of the roof" in lines[5] and "% of the roof" in lines[7]


def test_solve_game(tmp_path):
  files = {name: tmp_path / name
           for name in ("solver.npz", "policy.npz", "plot.png")}
  flags = ["--game=kuhn_poker", "--solver=cfr+", "--target=1e-4",
           f"--checkpoint={files['solver.npz']}",
           f"--policy={files['policy.npz']}", f"--plot={files['plot.png']}"]
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


def test_play_dudo_to_the_end():
  # The person types nonsense, asks for the legal moves, opens with 1x2 and
  # challenges the bot's claim.
  result = _run("play_dudo.py", "--game=dudo(numdice=1)", "--seed=1",
                stdin="zzz\n?\n1x2\nDudo\n")
  assert "I do not understand 'zzz'" in result.stdout
  assert "1x2  1x3" in result.stdout
  assert "Round 1: you roll" in result.stdout
  assert "the count is" in result.stdout
  assert "Your return is" in result.stdout
  assert result.stderr == ""


def test_play_dudo_shows_odds_and_keeps_the_others_dice_secret():
  result = _run("play_dudo.py", "--odds", "--seed=3",
                "--opponents=heuristic", stdin="2x6\n")
  assert "Odds of each claim" in result.stdout
  assert "100%" in result.stdout
  assert "All dice" not in result.stdout  # nothing was revealed yet
  assert result.stdout.endswith("Goodbye.\n")


@pytest.mark.parametrize("game, moves", [
    ("dudo_single_round", "3x6\nChallenge\n" * 30),
    ("neumann_poker", "Bet\nCall\n"),
    ("liar_die", "6\n"), ("liar_die_ir", "6\n"),
    ("dudo_ir(numdice=1)", "2x1\n"), ("dudo(players=4,numdice=1)", "4x1\n"),
    ("dudo_single_round_ir(players=3,numdice=1)", "3x6\n"),
    ("kuhn_poker", "Bet\n"), ("matrix_rps", "paper\n")])
def test_play_other_games(game, moves):
  result = _run("play_dudo.py", f"--game={game}", "--seed=2", stdin=moves)
  assert result.stderr == ""
  assert "Your return is" in result.stdout.splitlines()[-1]


def test_play_dudo_from_another_seat_against_several_bots():
  result = _run("play_dudo.py", "--game=dudo(players=3,numdice=1)", "--seat=2",
                "--opponents=heuristic,random", "--seed=5", stdin="quit\n")
  assert "Player 0:" in result.stdout
  assert result.stdout.endswith("Goodbye.\n")


@pytest.mark.parametrize("flags, message", [
    (["--seat=2"], "seat=2: must be an integer between 0 and 1"),
    (["--opponents=nobody"], "--opponents: name='nobody'"),
    (["extra"], "'extra'"),
    (["--seed=-1"], "--seed=-1"), (["--seed=99999999999"], "--seed=999"),
    (["--game=liar_die", "--odds"], "show_odds=True: must be left out"),
    (["--game=liar_die", "--opponents=heuristic"], "name='heuristic'"),
    (["--game=dudo(players=9)"], "players=9: must be an integer between 2"),
    (["--game=nonsense"], "Unknown game"), (["--seat=two"], "--seat=two"),
    (["--game=crossword"], "game=crossword: must list its legal actions"),
    (["--game=mfg_crowd_modelling"], "game=mfg_crowd_modelling: players must"),
])
def test_play_dudo_with_wrong_flags(flags, message):
  helpers.assert_refused("play_dudo.py", flags, message)


def test_play_dudo_leaves_politely_on_ctrl_c():
  process = subprocess.Popen(
      [sys.executable, helpers.PROGRAMS["play_dudo.py"], "--seed=1"],
      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
  while not process.stdout.readline().startswith("Your dice"):
    pass
  process.send_signal(signal.SIGINT)
  output, errors = process.communicate()
  assert output.endswith("Goodbye.\n")
  assert errors == ""
  assert process.returncode == 0
