"""Kernels on disk: kept while nothing changes, never kept too long."""

import errno
import importlib
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tomllib
from unittest import mock
import warnings

import helpers
import numba
from numba.core import caching
import pytest

import dudo_spiel
from dudo_spiel import algorithms
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import kernel_cache
from dudo_spiel.algorithms.runtime import kernel_parts

# Prints what a kernel computes with the help of another module's kernels, and
# whether its machine code came from the disk.
_PROGRAM = """
import numpy as np
from dudo_spiel.algorithms.graphs import graph_kernels
rolls = np.zeros((2, 3), np.int64)
sample = graph_kernels.sample_rolls
sample(np.arange(1, 1001) / 1000, np.uint64(3), np.arange(2), rolls)
print(rolls.tolist(), sum(sample.stats.cache_hits.values()))
"""


@pytest.fixture(name="copy")
def _copy(tmp_path):
  """Returns the folder of a copy of the package, without compiled code."""
  copy = tmp_path / "dudo_spiel"
  ignore = shutil.ignore_patterns("__pycache__")
  shutil.copytree(pathlib.Path(dudo_spiel.__file__).parent, copy, ignore=ignore)
  shutil.copytree(pathlib.Path(algorithms.__file__).parent, copy / "algorithms",
                  ignore=ignore)
  return copy


def _environment(copy, **variables):
  """Returns the environment in which Python finds the copy first."""
  environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
  environment.pop("NUMBA_CACHE_DIR", None)
  return {**environment, **variables}


def _run(copy, program=_PROGRAM, **variables):
  """Runs a program on the copy; returns (results, hits of the cache)."""
  result = subprocess.run([sys.executable, "-c", program], cwd=copy.parent,
                          env=_environment(copy, **variables), text=True,
                          capture_output=True, check=True)
  *results, hits = result.stdout.rsplit(maxsplit=1)
  return results, int(hits)


@pytest.mark.slow
def test_only_changes_that_matter_compile_anew(copy):
  first = _run(copy)
  assert first[1] == 0
  # A module that the kernel does not need.
  unneeded = copy / "algorithms" / "dudo" / "imperfect_recall"
  with open(unneeded / "sweep_kernels.py", "a", encoding="utf-8") as file:
    file.write("# nothing\n")
  assert _run(copy) == (first[0], 1)
  # The checked mode has kernels of its own.
  assert _run(copy, DUDO_SPIEL_CHECKED="1") == (first[0], 0)
  assert _run(copy) == (first[0], 1)
  # A kernel in another module, which this one calls.
  source = copy / "algorithms" / "runtime" / "random_streams.py"
  times = os.stat(source)
  text = source.read_text(encoding="utf-8")
  changed = text.replace("np.uint64(31)", "np.uint64(29)")
  assert changed != text
  source.write_text(changed, encoding="utf-8")
  os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
  rolls, hits = _run(copy)
  assert rolls != first[0]
  assert hits == 0
  source.write_text(text, encoding="utf-8")
  assert _run(copy)[0] == first[0]


def _terminal_output(copy, **variables):
  """Returns what the program shows on a terminal besides its results."""
  return helpers.terminal_output(_PROGRAM, cwd=copy.parent,
                                 env=_environment(copy, **variables))


def test_a_terminal_is_told_once_that_kernels_are_compiled(copy):
  assert _terminal_output(copy).count("compiling kernels") == 1
  assert _terminal_output(copy) == ""


def test_works_without_a_cache_where_nothing_can_be_written(copy):
  """Files stand where folders should be made: that stops root, too."""
  for folder in (copy / "algorithms").rglob("*/"):
    if folder.name != "__pycache__":
      (folder / "__pycache__").write_text("")
  shown = _terminal_output(copy, HOME=os.devnull, XDG_CACHE_HOME=os.devnull)
  assert shown.count("compiling kernels") == 1
  assert "set NUMBA_CACHE_DIR" in shown


@pytest.fixture(name="twice")
def _twice(tmp_path, monkeypatch):
  """Returns a function that doubles 21 by a kernel which no process has yet.

  It returns (result, whether the machine code came from the disk, warnings).
  Another number may be doubled instead.
  """
  (tmp_path / "small_module.py").write_text(
      "def twice(number):\n  return 2 * number\n", encoding="utf-8")
  monkeypatch.syspath_prepend(tmp_path)
  monkeypatch.delitem(sys.modules, "small_module", raising=False)
  function = importlib.import_module("small_module").twice

  def compute(number=21):
    monkeypatch.setattr(kernel_cache, "_WARNED", set())
    kernel = jit.kernel(function)
    with warnings.catch_warnings(record=True) as found:
      warnings.simplefilter("always")
      result = kernel(number)
    return (result, bool(kernel.stats.cache_hits),
            [str(warning.message) for warning in found])

  return compute


def _flipped(data):
  """Returns bytes with one bit in the middle changed."""
  half = len(data) // 2
  return data[:half] + bytes([data[half] ^ 1]) + data[half + 1:]


@pytest.mark.parametrize("end, damage", [
    *((end, damage) for end in (".nbi", ".nbc") for damage in (
        lambda data: b"", lambda data: b"junk" + data, lambda data: data[:-9])),
    (".nbi", lambda data: pickle.dumps(numba.__version__) + pickle.dumps(1)),
    (".nbi", lambda data: data.replace(b"1.nbc", b"2.nbc")),
    (".nbc", _flipped)])
def test_a_damaged_file_of_the_cache_is_written_anew(
    twice, tmp_path, end, damage):
  assert twice() == (42, False, [])
  assert twice() == (42, True, [])
  file, = tmp_path.rglob(f"*{end}")
  file.write_bytes(damage(file.read_bytes()))
  result, is_cached, (warning,) = twice()
  assert (result, is_cached) == (42, False)
  assert warning.startswith(f"path={str(file)!r}: ")
  assert "is damaged" in warning
  assert twice() == (42, True, [])


def test_machine_code_of_other_types_is_not_run(twice, tmp_path):
  """Two processes may choose the same file, if both compile a kernel first."""
  assert twice() == (42, False, [])
  assert twice(1.5) == (3.0, False, [])
  first, second = sorted(tmp_path.rglob("*.nbc"))
  first.write_bytes(second.read_bytes())
  assert twice() == (42, False, [])
  assert twice() == (42, True, [])
  assert twice(1.5) == (3.0, True, [])


def test_machine_code_of_an_older_source_is_not_run(
    twice, tmp_path, monkeypatch):
  """A process may end after it has written the index."""
  assert twice() == (42, False, [])
  with monkeypatch.context() as context:
    context.setattr(kernel_cache, "module_stamp", lambda name: "newer")
    context.setattr(caching.IndexDataCacheFile, "_save_data", mock.Mock())
    assert twice() == (42, False, [])
  monkeypatch.setattr(kernel_cache, "module_stamp", lambda name: "newer")
  assert len(list(tmp_path.rglob("*.nbc"))) == 1
  assert twice() == (42, False, [])
  assert twice() == (42, True, [])


@pytest.mark.parametrize("fails", ["write", "replace"])
def test_a_full_disk_only_keeps_no_kernels(twice, tmp_path, monkeypatch, fails):
  full = OSError(errno.ENOSPC, "No space left on device")
  with monkeypatch.context() as context:
    if fails == "replace":
      context.setattr(os, "replace", mock.Mock(side_effect=full))
    else:
      context.setattr(caching.IndexDataCacheFile, "_open_for_write",
                      mock.Mock(side_effect=full))
    for _ in range(2):
      result, is_cached, (warning,) = twice()
      assert (result, is_cached) == (42, False)
      assert warning.startswith(f"no kernels can be kept in '{tmp_path}")
      assert "No space left on device" in warning
  assert twice() == (42, False, [])
  assert twice() == (42, True, [])


@pytest.mark.slow
def test_a_kernel_does_the_same_for_python_and_for_other_kernels(copy):
  """Also what it raises, and whether it comes from the disk or not."""
  (copy / "algorithms" / "nested.py").write_text(
      "from dudo_spiel.algorithms.runtime import jit\n"
      "@jit.kernel\n"
      "def checked_sum(numbers, most):\n"
      "  if len(numbers) > most:\n"
      "    raise ValueError('too many', len(numbers))\n"
      "  return numbers.sum()\n"
      "@jit.kernel\n"
      "def caller(numbers, most):\n"
      "  return checked_sum(numbers, most)\n", encoding="utf-8")
  program = ("import numpy as np\n"
             "from dudo_spiel.algorithms import nested\n"
             "for kernel in (nested.caller, nested.checked_sum):\n"
             "  print(kernel(np.arange(4.0), 4))\n"
             "  try:\n"
             "    kernel(np.arange(4.0), 3)\n"
             "  except ValueError as error:\n"
             "    print(*error.args)\n"
             "print(sum(nested.caller.stats.cache_hits.values()))")
  runs = [_run(copy, program) for _ in range(2)]
  assert runs[0][0] == runs[1][0] == ["6.0\ntoo many 4\n6.0\ntoo many 4"]
  assert [hits for _, hits in runs] == [0, 1]


@pytest.mark.slow
def test_the_order_of_fields_is_noticed(copy):
  """A kernel need not import the named tuple that it gets."""
  package = copy / "algorithms"
  (package / "pair_kernel.py").write_text(
      "from dudo_spiel.algorithms.runtime import jit\n"
      "@jit.kernel\n"
      "def first(pair):\n"
      "  return pair.first\n", encoding="utf-8")
  program = ("from dudo_spiel.algorithms import pair, pair_kernel\n"
             "kernel = pair_kernel.first\n"
             "print(kernel(pair.Pair(first=1.0, second=2.0)),\n"
             "      sum(kernel.stats.cache_hits.values()))")
  results = []
  for fields in (("first", "second"), ("second", "first"),
                 ("first", "second")):
    (package / "pair.py").write_text(
        "from typing import NamedTuple\n"
        "class Pair(NamedTuple):\n"
        + "".join(f"  {name}: float\n" for name in fields), encoding="utf-8")
    results.append(_run(copy, program))
  assert results == [(["1.0"], 0), (["1.0"], 0), (["1.0"], 1)]
  # What is on disk names a class that there is no more.
  text = (package / "pair.py").read_text(encoding="utf-8")
  (package / "pair.py").write_text(text.replace("Pair", "Couple"),
                                   encoding="utf-8")
  assert _run(copy, program.replace("Pair", "Couple")) == (["1.0"], 0)


@pytest.mark.slow
def test_the_first_process_after_a_change_computes_the_same(copy):
  """Code on disk must not be compiled into other code with other rounding."""
  program = """
import hashlib
import numpy as np
import pyspiel
import dudo_spiel
from dudo_spiel.algorithms import cfr, fsicfr
digest = hashlib.sha256()
for dtype in ("float32", "float64"):
  solver = cfr.PredictiveCFRPlusSolver(pyspiel.load_game("leduc_poker"),
                                       dtype=dtype)
  solver.run(20)
  digest.update(solver.tables.regret.tobytes())
solver = fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=2)"), num_threads=1)
solver.run(3)
for key in solver.rounds:
  for table in solver.tables(*key):
    digest.update(np.ascontiguousarray(table).tobytes())
print(digest.hexdigest(), 0)
"""
  results = [_run(copy, program)]
  for module in ("tabular/forms/deal_form.py", "tabular/table_solver.py",
                 "dudo/imperfect_recall/sweep_kernels.py"):
    with open(copy / "algorithms" / module, "a", encoding="utf-8") as file:
      file.write("# changed\n")
    results.append(_run(copy, program))
  results.append(_run(copy, program))
  assert len({str(result) for result in results}) == 1


def test_numba_is_pinned_to_the_version_of_kernel_parts():
  root = pathlib.Path(__file__).parents[3]
  with (root / "pyproject.toml").open("rb") as file:
    needed = tomllib.load(file)["project"]["dependencies"]
  major, minor = kernel_parts.TRIED
  assert f"numba>={major}.{minor},<{major}.{minor + 1}" in needed
  assert kernel_parts.IS_TRIED
