"""Runs train_perfect_recall.py with small flags; stops it, and goes on."""

import csv
import os
import signal
import subprocess
import sys

import helpers
import pytest

from dudo_spiel.algorithms import policies

_NAME = "train_perfect_recall.py"
_SMALL = ["--numdice=1", "--seconds=0.5", "--first=0.1", "--num_threads=1"]


def _curve(path):
  with open(path, newline="", encoding="utf-8") as file:
    return [{name: float(cell) for name, cell in row.items()}
            for row in csv.DictReader(file)]


def test_the_curve_goes_on_with_the_checkpoint(tmp_path):
  names = ("checkpoint", "save_policy", "curve")
  files = [f"--{name}={tmp_path / name}" for name in names]
  result = helpers.run_example(_NAME, *_SMALL, *files)
  assert result.stderr == ""
  assert result.stdout.splitlines()[-3:] == [
      f"wrote {tmp_path / name}" for name in names]
  curve = _curve(tmp_path / "curve")
  assert curve and list(curve[0]) == [
      "seconds", "processor_seconds", "iterations", "nodes", "bytes",
      "exploitability", "low", "high", "round_exploitability"]
  for point in curve:
    # The value is -7/258. With one die each the first round is the last one.
    assert point["low"] <= -7 / 258 <= point["high"]
    assert point["exploitability"] == pytest.approx(
        0.5 * (point["high"] - point["low"]))
    assert point["round_exploitability"] == pytest.approx(
        point["exploitability"])
  policy = policies.load_policy(tmp_path / "save_policy")
  policy.measure()
  assert policy.exploitability(1) == pytest.approx(curve[-1]["exploitability"],
                                                   rel=1e-6)
  helpers.run_example(_NAME, *_SMALL, *files)
  longer = _curve(tmp_path / "curve")
  assert longer[:len(curve)] == curve and len(longer) > len(curve)
  for name in ("seconds", "processor_seconds", "iterations"):
    values = [point[name] for point in longer]
    assert values == sorted(values)


def test_a_target_ends_the_training(tmp_path):
  helpers.run_example(_NAME, *_SMALL, "--seconds=60", "--target=0.1",
                      f"--curve={tmp_path / 'curve'}")
  *before, last = _curve(tmp_path / "curve")
  assert last["exploitability"] <= 0.1
  assert all(point["exploitability"] > 0.1 for point in before)


@pytest.mark.slow
def test_ctrl_c_saves(tmp_path):
  flags = [*_SMALL, f"--checkpoint={tmp_path / 'solver.npz'}"]
  process = subprocess.Popen(
      [sys.executable, helpers.PROGRAMS[_NAME], *flags, "--seconds=600"],
      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
      env={**os.environ, "PYTHONUNBUFFERED": "1"})
  while not process.stdout.readline().startswith("seconds"):
    pass
  helpers.assert_refused(_NAME, flags, f"(process {process.pid})")
  process.send_signal(signal.SIGINT)
  _, errors = process.communicate(timeout=60)
  assert (process.returncode, errors) == (130, "\nstopped by Ctrl-C\n")
  assert "wrote" in helpers.run_example(_NAME, *flags).stdout


@pytest.mark.parametrize("flags, message", [
    (["--numdice=6"], "--numdice=6"), (["--max_bytes=1000"], "max_bytes=1000"),
    (["--checkpoint=README.md"], "must be a whole file"),
    (["--save_policy=x", "--curve=x"],
     "must be another file than --save_policy")])
def test_wrong_flags(flags, message):
  helpers.assert_refused(_NAME, [*_SMALL, *flags], message,
                         cwd=helpers.EXAMPLES.parent)


def test_a_file_that_is_no_curve_stays(tmp_path):
  flags = [*_SMALL, "--seconds=0.1", f"--checkpoint={tmp_path / 'solver'}"]
  helpers.run_example(_NAME, *flags)
  path = tmp_path / "curve"
  for text in ("", "a,b\n", "seconds\n1\n"):
    path.write_text(text)
    helpers.assert_refused(_NAME, [*flags, f"--curve={path}"],
                           f"--curve={path}: must be a curve of this program")
    assert path.read_text() == text
