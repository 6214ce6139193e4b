"""Files of `MatchSolver`."""

import json
import os
import shutil
import time

import helpers
import match_helpers
import numpy as np
import pytest

from dudo_spiel.algorithms.dudo.imperfect_recall import match_solver
from dudo_spiel.algorithms.runtime import archives


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_saving_and_going_on_is_exact(tmp_path, dtype):
  part = match_helpers.solver_of(hands_met=2, dtype=dtype)
  part.run(iterations=3, save_to=tmp_path / "training.npz")
  resumed = match_helpers.solver_of(hands_met=2, dtype=dtype)
  resumed.load(tmp_path / "training.npz")
  match_helpers.assert_same(part, resumed)
  resumed.run(iterations=5, total=True, save_to=tmp_path / "training.npz")
  part.run(iterations=5, total=True)
  match_helpers.assert_same(part, resumed)
  again = match_helpers.solver_of(hands_met=2, dtype=dtype)
  again.load(tmp_path / "training.npz")
  match_helpers.assert_same(resumed, again)
  assert os.listdir(tmp_path) == ["training.npz"]


def test_a_run_that_was_interrupted_goes_on_as_if_it_were_not(tmp_path,
                                                              monkeypatch):
  whole = match_helpers.solver_of(hands_met=2)
  whole.run(iterations=7)
  part = match_helpers.solver_of(hands_met=2)
  # Half an iteration of (1, 2) and (2, 1).
  match_helpers.interrupt_sweep(monkeypatch, 17)
  with pytest.raises(KeyboardInterrupt):
    part.run(iterations=7, save_to=tmp_path / "training.npz")
  monkeypatch.undo()
  assert part.iterations(1, 2) == part.iterations(2, 1) + 1 == 5
  part.save(tmp_path / "training.npz")
  resumed = match_helpers.solver_of(hands_met=2)
  resumed.load(tmp_path / "training.npz")
  with pytest.raises(ValueError, match="not trained yet"):
    resumed.value(2, 2)
  resumed.run(iterations=7, total=True)
  match_helpers.assert_same(whole, resumed)


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
  solver = match_helpers.solver_of()
  solver.run(iterations=2, save_to=tmp_path / "training.npz")
  before = match_helpers.solver_of()
  before.load(tmp_path / "training.npz")

  def failing(source, target):
    raise OSError("disk full")

  monkeypatch.setattr(os, "replace", failing)
  with pytest.raises(OSError, match="disk full"):
    solver.run(iterations=2, save_to=tmp_path / "training.npz")
  monkeypatch.undo()
  after = match_helpers.solver_of()
  after.load(tmp_path / "training.npz")
  match_helpers.assert_same(before, after)


def test_saves_on_the_way(tmp_path, monkeypatch):
  monkeypatch.setattr(match_solver, "SAVE_SECONDS", 0.0)
  monkeypatch.setattr(match_solver, "_MAX_SAVE_TIME", np.inf)
  match_helpers.interrupt_sweep(monkeypatch, 19)  # the fourth of (2, 2)
  with pytest.raises(KeyboardInterrupt):
    match_helpers.solver_of().run(iterations=5,
                                  save_to=tmp_path / "training.npz")
  resumed = match_helpers.solver_of()
  resumed.load(tmp_path / "training.npz")
  assert resumed.iterations(2, 1) == 5
  assert 1 <= resumed.iterations(2, 2) <= 3


def test_loading_what_does_not_fit(tmp_path):
  solver = match_helpers.solver_of(seed=1)
  solver.run(iterations=1, save_to=tmp_path / "training.npz")
  for other, message in [
      (match_helpers.solver_of(seed=2), "seed=1; must be 2"),
      (match_helpers.solver_of(seed=1, recall_length=2),
       "recall_length=3; must be 2"),
      (match_helpers.solver_of(seed=1, memory="player_ranks"),
       "memory=None; must be player_ranks"),
      (match_helpers.solver_of(match_helpers.load(numdice=1, dice_sides=2),
                               seed=1), "game=.*must be"),
      (match_helpers.solver_of(seed=1, dtype="float64"),
       "dtype=float32; must be float64")]:
    with pytest.raises(ValueError, match=message):
      other.load(tmp_path / "training.npz")
  with pytest.raises(FileNotFoundError):
    solver.load(tmp_path / "nowhere")


_PATH = "training.npz"


def _contents(solver):
  """Returns all that a solver has learned."""
  return [[table.tobytes() for key in solver.rounds
           for table in solver.tables(*key)],
          [solver.iterations(*key) for key in solver.rounds],
          [solver.value(*key) for key in solver.rounds], solver.seconds]


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory):
  """Two trainings with the same counts, which differ in all tables but 1v1."""
  paths = [tmp_path_factory.mktemp("training") / _PATH for _ in range(2)]
  for path, runs in zip(paths, [[4], [2, 2]]):
    solver = match_helpers.solver_of()
    for iterations in runs:
      solver.run(iterations, save_to=path)
  return paths


def test_a_training_with_the_same_counts_replaces_all_tables(files, tmp_path):
  first, second = files
  solver = match_helpers.solver_of()
  solver.load(first)
  solver.save(tmp_path / _PATH)
  solver.load(second)
  solver.save(tmp_path / _PATH)
  loaded, expected = match_helpers.solver_of(), match_helpers.solver_of()
  loaded.load(tmp_path / _PATH)
  expected.load(second)
  assert _contents(loaded) == _contents(expected)
  other = match_helpers.solver_of()
  other.load(first)
  assert _contents(other)[0] != _contents(loaded)[0]
  assert os.listdir(tmp_path) == [_PATH]


def test_a_kill_before_the_end_of_a_save_leaves_the_old_training(
    files, tmp_path, monkeypatch):
  solver = match_helpers.solver_of()
  solver.load(files[0])
  solver.save(tmp_path / _PATH)
  before = _contents(solver)
  solver.load(files[1])

  def interrupted(source, target):
    raise KeyboardInterrupt

  monkeypatch.setattr(os, "replace", interrupted)
  with pytest.raises(KeyboardInterrupt):
    solver.save(tmp_path / _PATH)
  monkeypatch.undo()
  again = match_helpers.solver_of()
  again.load(tmp_path / _PATH)
  assert _contents(again) == before


def test_rounds_without_iterations_take_no_space(tmp_path, monkeypatch):
  solver = match_helpers.solver_of()
  match_helpers.interrupt_sweep(monkeypatch, 6)  # the second of (1, 2)
  with pytest.raises(KeyboardInterrupt):
    solver.run(4)
  monkeypatch.undo()
  solver.save(tmp_path / _PATH)
  _, arrays = helpers.load_file(tmp_path / _PATH, "solver")
  assert sorted(arrays) == ["1v1 regret", "1v1 total", "1v2 regret",
                            "1v2 total", "2v1 regret", "2v1 total", "seconds",
                            "states"]
  other = match_helpers.solver_of()
  other.run(4)
  other.load(tmp_path / _PATH)
  assert other.iterations(1, 1) == 4 and other.iterations(2, 2) == 0
  assert not other.tables(2, 2).cumulative.any()
  other.run(4, total=True)
  whole = match_helpers.solver_of()
  whole.run(4)
  match_helpers.assert_same(other, whole)


def test_large_trainings_are_saved_less_often(tmp_path, monkeypatch):
  """Saves take at most a twentieth of the time."""
  monkeypatch.setattr(match_solver, "SAVE_SECONDS", 0.0)
  solver = match_helpers.solver_of()
  solver.run(1)  # loads kernels
  save, count = solver.save, 0

  def slow(path):
    nonlocal count
    count += 1
    time.sleep(0.05)
    save(path)

  monkeypatch.setattr(solver, "save", slow)
  solver.run(seconds=1.5, save_to=tmp_path / _PATH)
  assert 2 <= count <= 3  # the last one is at the end


@pytest.mark.parametrize("path", ["", "a\0b", 3])
def test_what_is_no_path_is_refused(path, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  solver = match_helpers.solver_of()
  for use in (lambda: solver.run(1, save_to=path), lambda: solver.save(path),
              lambda: solver.load(path)):
    with pytest.raises(ValueError, match="^path=.*must be the path"):
      use()
  assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_saved_nothing_is_trained(tmp_path):
  solver = match_helpers.solver_of()
  for use in (lambda: solver.run(1, save_to=tmp_path),
              lambda: solver.save(tmp_path)):
    with pytest.raises(ValueError, match="^path=.*is a folder; must be a file"):
      use()
  with pytest.raises(FileNotFoundError):
    solver.run(1, save_to=tmp_path / "nowhere" / _PATH)
  assert solver.iteration == 0


def _change(path, change):
  with np.load(path) as archive:
    arrays = {name: archive[name] for name in archive.files}
  header = json.loads(arrays.pop("header").tobytes())
  change(header, arrays)
  header["arrays"] = sorted(arrays)
  np.savez(path, **arrays,
           header=np.frombuffer(json.dumps(header).encode(), np.uint8))


@pytest.mark.parametrize("change, field", [
    (lambda header, arrays: arrays.update(seconds=np.ones(2)), "seconds"),
    (lambda header, arrays: arrays["seconds"].__setitem__(1, -1.0), "seconds"),
    (lambda header, arrays: header.update(iteration=3), "iteration"),
    (lambda header, arrays: header.update(values=[[1, 1, 3.0]]), "values"),
    (lambda header, arrays: header.update(values=[[1, 2, 0.0]]), "values"),
    (lambda header, arrays: header.update(values=3), "values"),
    (lambda header, arrays: arrays["states"].__setitem__((0, 0), -4.0),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__((0, 0), 1e300),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__((0, 0), np.nan),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__((1, 0), 9.0),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__((3, 2), 0.0),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__(0, [2**53, 0, 2**53]),
     "states"),
    (lambda header, arrays: arrays["states"].__setitem__((0, 2), 1e6),
     "states"),
    (lambda header, arrays: arrays["2v2 regret"].fill(3e38),
     "2v2 regret has numbers above"),
    (lambda header, arrays: arrays["2v2 total"].fill(3e38),
     "2v2 total has numbers above"),
    (lambda header, arrays: arrays.pop("2v2 regret"), "2v2 regret is missing"),
    (lambda header, arrays: arrays.update({"2v2 total": np.zeros(3)}),
     "2v2 total is"),
    (lambda header, arrays: arrays["2v2 total"].__setitem__(0, -1.0),
     "2v2 total has numbers below"),
])
def test_files_that_make_no_sense(files, tmp_path, change, field):
  path = tmp_path / _PATH
  shutil.copy(files[1], path)
  solver = match_helpers.solver_of()
  solver.load(files[0])
  before = _contents(solver)
  _change(path, change)
  with pytest.raises(ValueError, match=f"^path=.*its {field}"):
    solver.load(path)
  assert _contents(solver) == before


def test_a_damaged_table_changes_nothing(files, tmp_path):
  path = tmp_path / _PATH
  solver = match_helpers.solver_of()
  solver.load(files[0])
  before = _contents(solver)
  data = bytearray(files[1].read_bytes())
  data[len(data) // 2] ^= 1
  path.write_bytes(bytes(data))
  with pytest.raises(ValueError, match=rf"^path=.*{_PATH}.*whole file"):
    solver.load(path)
  assert _contents(solver) == before
  solver.run(1)
  plain = match_helpers.solver_of()
  plain.load(files[0])
  plain.run(1)
  assert _contents(solver)[:3] == _contents(plain)[:3]


def test_a_disk_that_fails_leaves_the_solver_as_new(files, monkeypatch):
  solver = match_helpers.solver_of()
  solver.load(files[0])

  def failing(*args, **kwargs):
    raise OSError("disk")

  monkeypatch.setattr(archives.Archive, "read_into", failing)
  with pytest.raises(OSError, match="disk"):
    solver.load(files[1])
  assert solver.iteration == 0
  plain = match_helpers.solver_of()
  solver.run(2)
  plain.run(2)
  assert _contents(solver)[:3] == _contents(plain)[:3]
