"""Files of the solver with perfect recall."""

import json
import os

import helpers
import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import ram

_SMALL = recall_helpers.SMALL


def _break(arrays, name, change):
  arrays = dict(arrays)
  arrays[name] = change(arrays[name].copy())
  return arrays


def _set(index, value):
  def change(array):
    array[index] = value
    return array
  return change


@pytest.mark.parametrize("name, change", [
    ("2v1_claims", _set(0, 3)), ("2v1_claims", _set(-1, 0)),
    ("2v1_has_child", _set(0, False)), ("2v1_has_child", _set(-1, True)),
    ("2v1_counts", lambda x: x + 1), ("2v1_counts", lambda x: x[:-1]),
    ("2v1_update_0", _set(0, 10**6)), ("2v1_update_1", _set(0, -1)),
    ("2v1_unstored_rank", _set(0, 2)), ("2v1_unstored_claim", _set(0, -1)),
    ("2v1_unstored_claim", _set(0, 6)), ("2v1_schedule", _set(0, 10**6)),
    ("2v1_schedule", _set(4, 1)), ("2v1_cumulative", _set(0, -1.0)),
    ("2v1_regret_0", _set(0, np.nan)), ("2v1_outcomes", _set((0, 0, 0), 2.0)),
    ("2v1_responses", _set(0, 7.0)), ("2v1_schedule", _set(1, 2**63 - 1)),
    ("2v1_regret_1", _set(0, 1e5)), ("2v1_cumulative", _set(0, 1e9)),
    ("2v1_unstored_regret", _set(0, 1e5)),
    ("1v1_regret_0", lambda x: x.astype(np.float32))])
def test_files_that_make_no_sense(name, change, tmp_path):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1, dtype="float64")
  solver.run(20)
  solver.save(tmp_path / "whole.npz")
  with np.load(tmp_path / "whole.npz") as archive:
    arrays = _break(archive, name, change)
  np.savez(tmp_path / "broken.npz", **arrays)
  before = solver.nash_conv()
  with pytest.raises(ValueError, match=f"^path=.*{name[:4]}|^path=.*iteration"):
    solver.load(tmp_path / "broken.npz")
  assert solver.nash_conv() == before and solver.iteration == 20
  solver.load(tmp_path / "whole.npz")
  assert solver.nash_conv() == before


@pytest.mark.parametrize("iterations", [20, 2**50])
@pytest.mark.parametrize("name", ["regret_1", "unstored_regret", "cumulative"])
def test_tables_that_no_training_makes_are_refused(name, iterations, tmp_path):
  """However many iterations the file says it had."""
  solver = perfect_recall.PerfectRecallSolver(pyspiel.load_game(_SMALL),
                                              num_threads=1)
  solver.run(20)
  solver.save(tmp_path / "solver.npz")
  with np.load(tmp_path / "solver.npz") as archive:
    arrays = dict(archive)
  header = json.loads(arrays["header"].tobytes())
  schedule = arrays["2v1_schedule"]
  header["iteration"] += iterations - int(schedule[0])
  schedule[[0, 2, 3]] = iterations
  arrays[f"2v1_{name}"][:] = np.finfo(np.float32).max
  arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
  np.savez(tmp_path / "solver.npz", **arrays)
  with pytest.raises(ValueError, match="^path=.*2v1_"):
    solver.load(tmp_path / "solver.npz")


@pytest.mark.parametrize("name, kwargs, message", [
    (_SMALL, {"dtype": "float32"}, "dtype=float64; must be float32"),
    (_SMALL, {"seed": 1}, "seed=0; must be 1"),
    ("dudo(start_dice=2v1,dice_sides=3)", {}, "game=.*dice_sides=2.* must be"),
    ("dudo(numdice=2,dice_sides=2)", {}, "game=.*start_dice=2v1.* must be"),
    ("dudo(start_dice=2v1,dice_sides=2,die_loss=one)", {},
     "game=.* must be dudo.*die_loss=one")])
def test_files_of_other_settings_are_refused_by_name(name, kwargs, message,
                                                     tmp_path):
  recall_helpers.solver_after(_SMALL, 7).save(tmp_path / "solver.npz")
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(name), **{"dtype": "float64", **kwargs})
  with pytest.raises(ValueError, match=f"^path=.*: was saved with {message}"):
    solver.load(tmp_path / "solver.npz")


def test_files_go_on_with_more_memory(tmp_path):
  game = pyspiel.load_game("dudo(numdice=2)")
  small, large = (perfect_recall.PerfectRecallSolver(
      game, num_threads=1, max_bytes=most, dtype="float64")
                  for most in (2 * 10**6, 10**8))
  large.run(40)
  large.save(tmp_path / "large.npz")
  with pytest.raises(ValueError, match=r"^max_bytes=2000000: must be at least "
                     r"\d+ to load"):
    small.load(tmp_path / "large.npz")
  assert small.iteration == 0
  small.run(20)
  small.save(tmp_path / "small.npz")
  large.load(tmp_path / "small.npz")
  assert large.iteration == 20


def test_files_that_do_not_fit_are_refused(monkeypatch, tmp_path):
  """Also if neither solver was told how much it may take."""
  game = pyspiel.load_game("dudo(numdice=2)")
  solver = perfect_recall.PerfectRecallSolver(game, num_threads=1)
  least = solver.memory_bytes
  solver.run(40)
  solver.save(tmp_path / "solver.npz")
  most = [int(1.01 * least / 0.75), int(1.01 * solver.memory_bytes / 0.75)]
  for free in most:
    with monkeypatch.context() as patch:
      patch.setattr(ram, "available_bytes", lambda free=free: free)
      other = perfect_recall.PerfectRecallSolver(game, num_threads=1)
    if free == most[0]:
      with pytest.raises(ValueError, match=r"^max_bytes=None: must be at least "
                         rf"{solver.memory_bytes} to load"):
        other.load(tmp_path / "solver.npz")
    else:
      other.load(tmp_path / "solver.npz")
  assert other.iteration == 40


@pytest.mark.slow
def test_a_checkpoint_is_for_one_process(tmp_path):
  path = tmp_path / "training.npz"
  with files.locked(f"{path}.lock"):
    helpers.assert_refused(
        "train_perfect_recall.py", [f"--checkpoint={path}"],
        "must not be the file of another training that is running (process "
        f"{os.getpid()})")
  assert not path.exists()
