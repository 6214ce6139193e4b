"""Runs train_dudo.py with small flags; stops it, and lets it go on."""

import os
import signal
import subprocess
import sys

import helpers
import pytest

from dudo_spiel.algorithms import policies


def test_train_dudo(tmp_path):
  flags = ["--numdice=2", "--minutes=0.02", "--num_threads=1",
           "--abstraction=claims2_ranks1",
           f"--checkpoint={tmp_path / 'training.npz'}",
           f"--save_policy={tmp_path / 'policy.npz'}"]
  result = helpers.run_example("train_dudo.py", *flags)
  lines = result.stdout.splitlines()
  assert lines[0].startswith("training needs 0.0")
  row = lines[lines.index("iterations") - 1].split()
  assert 0.0 < float(row[1]) < 1.0
  assert result.stderr == ""
  policy = policies.load_policy(tmp_path / "policy.npz")
  assert f"{policy.values[2, 1]:+.4f}" == row[1]
  assert policy.rules.abstraction.name == "claims2_ranks1"
  # All minutes are used up, so the same command ends at once and prints the
  # same results.
  again = helpers.run_example("train_dudo.py", *flags).stdout.splitlines()
  assert again[1].startswith("continuing after")
  assert again[2:] == lines[1:]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_train_dudo_on_engines(engine, tmp_path):
  """Rounds train in other processes, and the training goes on from there."""
  if engine == "ray":
    pytest.importorskip("ray")
  training, path = tmp_path / "training.npz", tmp_path / "policy.npz"
  flags = ["--numdice=2", "--num_threads=1", f"--engine={engine}",
           f"--checkpoint={training}", f"--save_policy={path}"]
  helpers.run_example("train_dudo.py", *flags, "--minutes=0.03")
  values = policies.load_policy(path).values
  assert 0.5 < values[2, 1] < 0.7 and -0.2 < values[2, 2] < 0.2
  again = helpers.run_example("train_dudo.py", *flags, "--minutes=0.04").stdout
  assert again.splitlines()[1].startswith("continuing after")
  assert policies.load_policy(path).values[2, 2] != values[2, 2]


def _heed_interrupts():
  """Heeds Ctrl-C, which background jobs of a shell ignore."""
  signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("how", [
    signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_train_dudo_can_be_stopped_and_goes_on(tmp_path, how):
  flags = ["--numdice=2", "--num_threads=1",
           f"--checkpoint={tmp_path / 'training.npz'}"]
  helpers.run_example("train_dudo.py", *flags, "--minutes=0.01")
  process = subprocess.Popen(
      [sys.executable, helpers.PROGRAMS["train_dudo.py"], *flags,
       "--minutes=60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
      preexec_fn=_heed_interrupts)
  while not process.stdout.readline().startswith("continuing after"):
    pass
  helpers.assert_refused("train_dudo.py", [*flags, "--minutes=60"],
                         "must not be the file of another training that is "
                         f"running (process {process.pid})")
  process.send_signal(how)
  output, errors = process.communicate(timeout=120)
  if how == signal.SIGINT:
    assert process.returncode == 130
    assert "the same command continues" in output
    assert errors == ""
  end = helpers.run_example("train_dudo.py", *flags, "--minutes=0.01").stdout
  assert "value to the starter" in end


@pytest.mark.parametrize("flags, message", [
    (["--numdice=0"], "--numdice=0"), (["extra"], "'extra'"),
    (["--numdice=5", "--recall=5"], "GB are available"),
    (["--numdice=30"], "numdice=30"),
    (["--abstraction=ranks2"], "memory='ranks2': must be"),
    (["--save_policy=nowhere/policy.npz"], "its folder must exist"),
    (["--save_policy=."], "must be a file"),
    (["--checkpoint=/dev/null"], "null"),
    (["--minutes=-1"], "--minutes=-1")])
def test_train_dudo_with_wrong_flags(flags, message):
  helpers.assert_refused("train_dudo.py", flags, message)


def test_train_dudo_does_not_take_up_another_training(tmp_path):
  flags = ["--numdice=1", "--minutes=0.001",
           f"--checkpoint={tmp_path / 'training.npz'}"]
  helpers.run_example("train_dudo.py", *flags)
  helpers.assert_refused("train_dudo.py", [*flags, "--seed=1"],
                         "was saved with seed=0; must be 1")
