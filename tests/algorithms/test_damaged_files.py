"""Damaged and hostile files of every kind, with fixed seeds.

A file is refused with a ValueError that names it, and then nothing has changed;
or the damage is where it does not matter, and it loads as before.
"""

import functools
import io
import json
import os
import pathlib
import shutil
import signal
import tracemalloc
import zipfile

import numpy as np
import pyspiel
import pytest
import solver_cases

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies

_SOLVERS = ("cfr", "bdfp", "fsicfr", "pfsi", "ppt", "match",
            "perfect recall", "sampled regret matching", "doubt")
_POLICIES = {"table policy": "cfr", "match policy": "match",
             "recall policy": "perfect recall", "single-round policy": "pfsi",
             "doubt policy": "doubt"}
_KINDS = (*_SOLVERS, *_POLICIES)
_QUICK_CASES, _SLOW_CASES = 40, 230  # of each kind
_JUNK = (None, True, -1, 10**30, -0.5, float("nan"), float("inf"), "", "x",
         "../../x", [], [[]], [None], ["x", "x"], {}, {"x": []}, [-1] * 9)


class _SavedSolver:
  """A solver, and what it has saved after two iterations more."""

  def __init__(self, name, folder):
    self.path = pathlib.Path(folder) / "whole"
    self._solver = solver_cases.make(name)
    if name == "bdfp":
      self._solver.solve(max_iterations=3)  # which keeps its best
    self._solver.run(3)
    self._solver.save(pathlib.Path(folder) / "before")
    self._solver.run(2)
    self._solver.save(self.path)
    self.whole = self.contents()
    self._before = pathlib.Path(folder) / "before"
    self.restore()

  def restore(self):
    self._solver.load(self._before)

  def contents(self):
    solver = self._solver
    if isinstance(solver, fsicfr.MatchSolver):
      arrays = [table.copy() for key in solver.rounds
                for table in solver.tables(*key)]
      return [*arrays, [solver.iterations(*key) for key in solver.rounds],
              solver.seconds, [solver.value(*key) for key in solver.rounds]]
    if isinstance(solver, perfect_recall.PerfectRecallSolver):
      arrays = [table.copy() for key in solver.rounds
                for table in solver.tables(*key)]
      return [*arrays, solver.iteration,
              [solver.interval(*key) for key in solver.rounds]]
    return [*(table.copy() for table in solver.tables), solver.iteration,
            solver.best_policy().action_probabilities(_first_state(solver))]

  def load(self, path):
    self._solver.load(path)


class _SavedPolicy:
  """A policy from a file."""

  def __init__(self, name, folder):
    self.path = pathlib.Path(folder) / "whole"
    solver = solver_cases.make(_POLICIES[name])
    solver.run(3)
    solver.average_policy().save(self.path)
    self._policy = None
    self.load(self.path)
    self.whole = self.contents()
    self.restore()

  def restore(self):
    self._policy = None

  def contents(self):
    if self._policy is None:
      return None
    if isinstance(self._policy, policies.TablePolicy):
      return [self._policy.info_states, self._policy.actions,
              self._policy.players, self._policy.probabilities]
    if isinstance(self._policy, policies.MatchPolicy):
      return [sorted(self._policy.tables), *self._policy.tables.values()]
    if isinstance(self._policy, policies.RecallPolicy):
      return sorted(self._policy.intervals(1).items())
    return [self._policy.table]

  def load(self, path):
    self._policy = policies.load_policy(path)


def _first_state(solver):
  state = solver.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  return state


@pytest.fixture(scope="module", name="saved")
def _saved(tmp_path_factory):
  @functools.cache
  def make(kind):
    folder = tmp_path_factory.mktemp("kind")
    is_solver = kind in _SOLVERS
    return (_SavedSolver if is_solver else _SavedPolicy)(kind, folder)

  return make


def _read(path):
  """Returns (header, arrays) of a file."""
  with np.load(path) as archive:
    arrays = {name: archive[name] for name in archive.files}
  return json.loads(arrays.pop("header").tobytes()), arrays


def _write(path, header, arrays):
  """Writes a file as a stranger could, with checksums that are right."""
  text = np.frombuffer(json.dumps(header).encode(), np.uint8)
  with open(path, "wb") as file:
    np.savez_compressed(file, header=text, **arrays)


@pytest.mark.parametrize("kind", _KINDS)
def test_numbers_that_no_training_makes_are_refused(kind, saved, tmp_path):
  whole, path = saved(kind), tmp_path / "large"
  before = whole.contents()
  header, arrays = _read(whole.path)
  tables = [name for name, table in arrays.items()
            if table.dtype.kind == "f" and table.size]
  assert tables
  for name in tables:
    largest = np.full_like(arrays[name], np.finfo(arrays[name].dtype).max)
    _write(path, header, {**arrays, name: largest})
    with pytest.raises(ValueError, match="^path="):
      whole.load(path)
  assert repr(whole.contents()) == repr(before)


def _flip(path, rng):
  data = bytearray(path.read_bytes())
  for offset in rng.integers(len(data), size=rng.integers(1, 9)):
    data[offset] ^= rng.integers(1, 256)
  path.write_bytes(bytes(data))


def _truncate(path, rng):
  data = path.read_bytes()
  path.write_bytes(data[:rng.integers(len(data))])


def _erase(path, rng):
  data = bytearray(path.read_bytes())
  begin, size = rng.integers(len(data)), rng.integers(1, 200)
  data[begin:begin + size] = bytes(len(data[begin:begin + size]))
  path.write_bytes(bytes(data))


def _forget_names(header, rng):
  """Makes a header that of an older version, every other time."""
  if rng.random() < 0.5:
    header.pop("arrays", None)
    header.pop("digests", None)


def _drop_field(path, rng):
  header, arrays = _read(path)
  del header[rng.choice(sorted(header))]
  _forget_names(header, rng)
  _write(path, header, arrays)


def _replace_field(path, rng):
  header, arrays = _read(path)
  name = rng.choice(sorted(header))
  header[name] = _JUNK[rng.integers(len(_JUNK))]
  _write(path, header, arrays)


def _replace_part_of_field(path, rng):
  header, arrays = _read(path)
  names = [name for name, value in header.items()
           if isinstance(value, (list, dict)) and value]
  value = header[rng.choice(sorted(names))] if names else header
  keys = list(range(len(value)) if isinstance(value, list) else value)
  key = keys[rng.integers(len(keys))]
  junk = _JUNK[rng.integers(len(_JUNK))]
  # A text for a text may just be another policy.
  value[key] = -1 if type(value[key]) is type(junk) is str else junk
  _write(path, header, arrays)


def _drop_array(path, rng):
  header, arrays = _read(path)
  if arrays:
    del arrays[rng.choice(sorted(arrays))]
  _forget_names(header, rng)
  _write(path, header, arrays)


def _replace_array(path, rng):
  header, arrays = _read(path)
  name = rng.choice(sorted(arrays))
  old = arrays[name]
  arrays[name] = (
      old[:-1], np.concatenate([old, old]), old.reshape(-1, 1, 1), old[:0],
      old.astype(np.complex64), old.astype(np.int16), old.astype("U3"),
      np.float64(3.0))[rng.integers(8)]
  _forget_names(header, rng)
  header.pop("digests", None)
  _write(path, header, arrays)


def _poison_number(path, rng):
  header, arrays = _read(path)
  numbers = [name for name, array in arrays.items() if array.dtype.kind == "f"]
  if not numbers:
    return _replace_array(path, rng)
  array = arrays[rng.choice(sorted(numbers))].reshape(-1)
  array[rng.integers(len(array))] = rng.choice([np.nan, np.inf, -np.inf])
  header.pop("digests", None)
  return _write(path, header, arrays)


_DAMAGES = (_flip, _flip, _truncate, _erase, _drop_field, _replace_field,
            _replace_part_of_field, _drop_array, _replace_array, _poison_number)


def _same(one, two):
  return repr(one) == repr(two) and all(
      np.array_equal(ours, theirs) for ours, theirs in zip(one or (), two or ())
      if isinstance(ours, np.ndarray))


def _assert_refused_or_harmless(kind, whole, damaged, case):
  """Returns whether a damaged file was refused."""
  before = kind.contents()
  try:
    kind.load(damaged)
  except ValueError as error:
    assert str(error).startswith(f"path='{damaged}"), case
    assert _same(kind.contents(), before), case
    return True
  assert _same(kind.contents(), whole), case
  kind.restore()
  return False


def _damage_and_load(kind, folder, cases, seed):
  """Returns how many damaged files were refused."""
  refused = 0
  for case in range(cases):
    rng = np.random.default_rng((seed, case))
    damage = _DAMAGES[case % len(_DAMAGES)]
    damaged = folder / "damaged"
    shutil.copy(kind.path, damaged)
    damage(damaged, rng)
    refused += _assert_refused_or_harmless(kind, kind.whole, damaged,
                                           (damage.__name__, case))
  return refused


@pytest.mark.parametrize("name", _KINDS)
def test_damage_is_refused_and_changes_nothing(saved, name, tmp_path):
  refused = _damage_and_load(saved(name), tmp_path, _QUICK_CASES, 1)
  assert refused > 0.7 * _QUICK_CASES


@pytest.mark.slow
@pytest.mark.parametrize("name", _KINDS)
def test_much_damage_is_refused_and_changes_nothing(saved, name, tmp_path):
  refused = _damage_and_load(saved(name), tmp_path, _SLOW_CASES, 2)
  assert refused > 0.7 * _SLOW_CASES


@pytest.mark.parametrize("name", _KINDS)
def test_what_would_expand_is_refused_before_it_does(saved, name, tmp_path):
  kind = saved(name)
  size = 5 * 10**6
  damaged = tmp_path / "damaged"
  header, arrays = _read(kind.path)
  array = max(arrays, key=lambda name: arrays[name].size)
  arrays[array] = np.zeros(size, arrays[array].dtype)
  _write(damaged, header, arrays)
  assert damaged.stat().st_size < size / 20
  tracemalloc.start()
  with pytest.raises(ValueError, match=f"^path='{damaged}.*{array}"):
    kind.load(damaged)
  _, peak = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  assert peak < size / 2


def test_headers_that_would_expand_are_refused(saved, tmp_path):
  header, arrays = _read(saved("cfr").path)
  header["x"] = " " * 2 * 10**7
  _write(tmp_path / "damaged", header, arrays)
  with pytest.raises(ValueError, match="its header is too large"):
    saved("cfr").load(tmp_path / "damaged")


def test_small_headers_take_little_memory(saved, tmp_path):
  """What JSON expands to is much larger than its text."""
  header, arrays = _read(saved("cfr").path)
  header["x"] = [[]] * (2**24 // 4 - 1000)
  _write(tmp_path / "damaged", header, arrays)
  assert (tmp_path / "damaged").stat().st_size < 50_000
  tracemalloc.start()
  with pytest.raises(ValueError, match="its header is too large"):
    saved("cfr").load(tmp_path / "damaged")
  _, peak = tracemalloc.get_traced_memory()
  tracemalloc.stop()
  assert peak < 10**6


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_that_lies_about_sizes_is_refused(saved, tmp_path, method):
  path = tmp_path / "damaged"
  header, arrays = _read(saved("cfr").path)
  size = 10**9
  with zipfile.ZipFile(path, "w", method) as archive:
    for name, array in (("header", np.frombuffer(json.dumps(header).encode(),
                                                 np.uint8)), *arrays.items()):
      with archive.open(f"{name}.npy", "w") as file:
        np.lib.format.write_array(file, array)
    long = io.BytesIO()
    np.lib.format.write_array_header_1_0(long, {
        "descr": "|u1", "fortran_order": False, "shape": (size,)})
    archive.writestr("long.npy", long.getvalue())
    archive.getinfo("long.npy").file_size = size + len(long.getvalue())
    if method == zipfile.ZIP_STORED:
      archive.getinfo("long.npy").compress_size = (
          archive.getinfo("long.npy").file_size)
  with pytest.raises(ValueError, match="more than it can hold"):
    saved("cfr").load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs Unix")
def test_nothing_is_saved_to_a_pipe(tmp_path):
  path = tmp_path / "pipe"
  os.mkfifo(path)
  with pytest.raises(ValueError, match=f"^path='{path}'.*regular file"):
    solver_cases.make("cfr").save(path)
  assert path.is_fifo()
  assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs Unix")
def test_what_is_no_regular_file_is_refused_at_once(saved, tmp_path):
  os.mkfifo(tmp_path / "pipe")
  (tmp_path / "link").symlink_to(tmp_path / "pipe")
  (tmp_path / "folder").mkdir()

  def fail(*args):
    raise AssertionError("it waits")

  before = signal.signal(signal.SIGALRM, fail)
  try:
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path / "folder",
                 "/dev/zero", "/dev/null"):
      signal.alarm(5)
      for load in (policies.load_policy, saved("cfr").load,
                   saved("match").load, saved("perfect recall").load):
        with pytest.raises(ValueError, match=f"^path='{path}'.*regular file"):
          load(path)
  finally:
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
  (tmp_path / "good").symlink_to(saved("cfr").path)
  saved("cfr").load(tmp_path / "good")


def _policy_file(tmp_path):
  """Returns the path of a `TablePolicy`, with its header and arrays."""
  path = tmp_path / "policy.npz"
  cfr.CFRSolver(pyspiel.load_game("kuhn_poker")).current_policy().save(path)
  return path, *_read(path)


@pytest.mark.parametrize("change, field", [
    (lambda header, arrays: header.pop("info_states"), "info_states"),
    (lambda header, arrays: header["info_states"].pop(), "actions"),
    (lambda header, arrays: header["actions"].append([0]), "actions"),
    (lambda header, arrays: header["actions"].__setitem__(0, [0, 0]),
     "actions"),
    (lambda header, arrays: header["actions"].__setitem__(0, [0, 7]),
     "actions"),
    (lambda header, arrays: header.update(game=3), "game"),
    (lambda header, arrays: header.update(game="no_game()"), "game"),
    (lambda header, arrays: header.update(info_states=["x"] * 12),
     "info_states"),
    (lambda header, arrays: arrays["players"].__setitem__(0, 2), "players"),
    (lambda header, arrays: arrays["players"].__setitem__(0, -1), "players"),
    (lambda header, arrays: arrays["probabilities"].__setitem__(0, np.nan),
     "probabilities"),
    (lambda header, arrays: arrays["probabilities"].__setitem__(0, 0.4),
     "probabilities"),
    (lambda header, arrays: arrays["probabilities"].__setitem__(
        slice(2), [1.5, -0.5]), "probabilities"),
])
def test_policies_that_make_no_sense(tmp_path, change, field):
  path, header, arrays = _policy_file(tmp_path)
  change(header, arrays)
  _write(path, header, arrays)
  with pytest.raises(ValueError, match=f"^path=.*its {field}"):
    policies.load_policy(path)


@pytest.mark.parametrize("change, field", [
    (lambda header, arrays: header.pop("iteration"), "iteration"),
    (lambda header, arrays: header.update(iteration=-3), "iteration"),
    (lambda header, arrays: header.update(iteration=10**17), "iteration"),
    (lambda header, arrays: header.update(iteration=2.0), "iteration"),
    (lambda header, arrays: arrays["strategy"].__setitem__(0, 0.25),
     "strategy"),
    (lambda header, arrays: arrays["regret"].__setitem__(0, np.inf), "regret"),
    (lambda header, arrays: arrays["cumulative"].__setitem__(0, -1.0),
     "cumulative"),
])
def test_solvers_that_make_no_sense(saved, tmp_path, change, field):
  kind = saved("cfr")
  header, arrays = _read(kind.path)
  change(header, arrays)
  _write(tmp_path / "damaged", header, arrays)
  before = kind.contents()
  with pytest.raises(ValueError, match=f"^path=.*its {field}"):
    kind.load(tmp_path / "damaged")
  assert _same(kind.contents(), before)


def test_policies_for_the_wrong_kind_of_game(tmp_path):
  path = tmp_path / "policy.npz"
  solver = pfsi.FSISolver(solver_cases.make("pfsi").game, num_threads=2)
  solver.current_policy().save(path)
  header, arrays = _read(path)
  header["game"] = "kuhn_poker()"
  _write(path, header, arrays)
  with pytest.raises(ValueError, match="^path=.*must be dudo_single_round_ir"):
    policies.load_policy(path)


def test_no_table_may_be_missing(tmp_path):
  def make():
    return fictitious_play.BDFPSolver(pyspiel.load_game("kuhn_poker"),
                                      dtype="float32", average=True)

  solver = make()
  solver.run(3)
  solver.save(tmp_path / "file.npz")
  header, arrays = _read(tmp_path / "file.npz")
  for name in arrays:
    remaining = {other: array for other, array in arrays.items()
                 if other != name}
    for names in (sorted(arrays), sorted(remaining)):
      _write(tmp_path / name, {**header, "arrays": names}, remaining)
      with pytest.raises(ValueError, match=f"^path=.*{name}"):
        make().load(tmp_path / name)
