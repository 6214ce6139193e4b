"""Runs play_dudo.py as a person would."""

import os
import signal
import subprocess
import sys

import helpers
import pytest

_run = helpers.run_example


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
  result = _run("play_dudo.py", "--game=dudo(players=3,numdice=1)", "--seat=3",
                "--opponents=heuristic,random", "--seed=5", stdin="quit\n")
  assert "You are Player 3" in result.stdout
  assert "Player 1:" in result.stdout and "Player 0" not in result.stdout
  assert result.stdout.endswith("Goodbye.\n")


@pytest.mark.parametrize("flags, message", [
    (["--seat=0"], "--seat=0: must be an integer between 1 and 2"),
    (["--seat=3"], "--seat=3: must be an integer between 1 and 2"),
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


def test_play_against_a_policy(policy_file):
  result = helpers.run_example(
      "play_dudo.py", "--game=dudo(numdice=2)", f"--opponents={policy_file}",
      "--seed=3", stdin="4x1\n" * 5)
  assert "Your return is" in result.stdout.splitlines()[-1]
  assert result.stderr == ""


def test_play_against_the_policy_that_comes_with_the_package():
  result = helpers.run_example("play_dudo.py", "--game=dudo(numdice=3)",
                               "--seed=1", stdin="6x1\n" * 9)
  assert "Your return is" in result.stdout.splitlines()[-1]
  assert result.stderr == ""


def test_play_against_a_policy_of_another_game(policy_file):
  helpers.assert_refused(
      "play_dudo.py", ["--game=dudo", f"--opponents={policy_file}"],
      "starts with 5 and 5 dice; the policy knows 1v1, 1v2, 2v1, 2v2")
  helpers.assert_refused(
      "play_dudo.py", ["--game=dudo(numdice=6)", "--opponents=trained"],
      "name='trained': must be a policy file, or a bot that plays dudo: odds")
