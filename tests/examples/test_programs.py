"""What all programs share: help, wrong flags, files to write, plots, Ctrl-C."""

import ast
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import cfr

_run = helpers.run_example
_PROGRAMS = list(helpers.PROGRAMS)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_help_is_the_docstring_and_then_the_examples_own_flags(name):
  output = _run(name, "--help", check=False).stdout
  docstring = ast.get_docstring(ast.parse(
      helpers.PROGRAMS[name].read_text(encoding="utf-8")))
  before, _, after = output.partition("\nflags:\n")
  assert before.strip() == docstring
  assert after.split()[0].endswith(f"{name}:")
  assert after.count(".py:") == 1  # no flags of other modules


def test_every_program_has_a_test_of_its_own():
  tests = "".join(path.read_text("utf-8") for path in
                  (helpers.EXAMPLES.parent / "tests").rglob("test_*.py")
                  if path.name != "test_programs.py")
  assert not [name for name in _PROGRAMS if f'"{name}"' not in tests]


@pytest.mark.slow
@pytest.mark.parametrize("name", _PROGRAMS)
def test_starts_in_a_process_of_its_own(name):
  """In its folder. The other tests run programs in forks of a server."""
  path = helpers.PROGRAMS[name]
  result = subprocess.run([sys.executable, path.name, "--help"], text=True,
                          cwd=path.parent, capture_output=True, check=False)
  expected = _run(name, "--help", check=False).stdout
  assert result.stdout == expected.replace(str(path), path.name)
  assert result.stderr == ""


# Every flag that names a file to write, with others that the program needs.
_FILE_FLAGS = [
    ("benchmark_solvers.py", "plot", []), ("compare_fsicfr.py", "plot", []),
    ("compare_abstractions.py", "plot", []),
    ("compare_abstractions.py", "table", []),
    ("describe_dudo.py", "output", ["--policy=nowhere.npz"]),
    ("game_statistics.py", "plot", []),
    ("make_policies.py", "save_policy", ["--checkpoint=nowhere.npz"]),
    ("plot_asymmetric_neumann.py", "plot", []), ("plot_doubt.py", "plot", []),
    ("plot_leduc.py", "plot", []), ("plot_neumann.py", "plot", []),
    ("plot_regret_matching.py", "plot", []),
    ("plot_tournament.py", "plot", ["--log=nowhere.csv"]),
    ("solve_game.py", "checkpoint", []), ("solve_game.py", "plot", []),
    ("solve_game.py", "save_policy", []), ("train_dudo.py", "checkpoint", []),
    ("train_dudo.py", "save_policy", []),
    ("train_perfect_recall.py", "checkpoint", []),
    ("train_perfect_recall.py", "curve", []),
    ("train_perfect_recall.py", "save_policy", [])]
_FOLDER_FLAGS = [("convergence_study.py", "folder"),
                 ("dudo_tournament.py", "folder"),
                 ("plot_tutorial.py", "folder")]
# Flags of solve_game.py are tested always, those of the others are slow tests.
_QUICK = "solve_game.py"
_OUTPUT_WORDS = re.compile(r"\b(write|save|draw)\b", re.IGNORECASE)


def _cases(cases):
  """Returns parameters; those of most programs are marked as slow."""
  return [pytest.param(*case, marks=() if case[0] == _QUICK else
                       pytest.mark.slow) for case in cases]


@pytest.mark.parametrize("name", _cases([(name,) for name in _PROGRAMS]))
def test_an_unknown_flag_is_named_in_one_line(name):
  helpers.assert_refused(name, ["--colour=red"], "--colour: no such flag")


def test_flags_that_look_alike_are_suggested():
  helpers.assert_refused("solve_game.py", ["--checkpiont=x"],
                         "did you mean --checkpoint?")


def test_every_flag_that_names_an_output_is_tested_here():
  found = {(flag.program, flag.name) for name in _PROGRAMS
           for flag in helpers.defined_flags(name)
           if flag.type == "string" and _OUTPUT_WORDS.search(flag.help)}
  assert found == ({(name, flag) for name, flag, _ in _FILE_FLAGS} |
                   set(_FOLDER_FLAGS))


@pytest.mark.parametrize("name, flag, others", _cases(_FILE_FLAGS))
def test_files_that_cannot_be_written_are_refused_first(name, flag, others,
                                                        tmp_path):
  for path, message in ((tmp_path, "must be a file, not a folder"),
                        ("", "must be a file, not a folder"),
                        (tmp_path / "no" / "x", "its folder must exist"),
                        ("/proc/x", "must be a file that can be written")):
    helpers.assert_refused(name, [f"--{flag}={path}", *others],
                           f"--{flag}={path}: {message}", cwd=tmp_path)
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, flag, others", _cases(
    [case for case in _FILE_FLAGS if case[1] == "plot"]))
def test_plots_are_png_files(name, flag, others, tmp_path):
  for path in ("a.xyz", "a", "png"):
    helpers.assert_refused(name, [f"--{flag}={path}", *others],
                           f"--{flag}={path}: must end with .png",
                           cwd=tmp_path)
  assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name, flag", _FOLDER_FLAGS)
def test_folders_that_cannot_be_written_are_refused_first(name, flag, tmp_path):
  (tmp_path / "file").write_text("")
  for path in (tmp_path / "file", tmp_path / "file" / "x", "/proc", ""):
    helpers.assert_refused(
        name, [f"--{flag}={path}"],
        f"--{flag}={path}: must be a folder that can be written", cwd=tmp_path)


def test_two_outputs_need_two_files(tmp_path):
  helpers.assert_refused(
      "solve_game.py", ["--save_policy=x.npz", "--checkpoint=./x.npz"],
      "must be another file than --checkpoint", cwd=tmp_path)


@pytest.mark.parametrize("name, flag, others", _cases(
    [case for case in _FILE_FLAGS
     if case[1] == "plot" or case[0] == "describe_dudo.py"]))
def test_plots_without_matplotlib_say_what_to_install(name, flag, others,
                                                      tmp_path):
  program = tmp_path / "program.py"
  program.write_text(
      "import runpy, sys\n"
      "sys.modules['matplotlib'] = None\n"
      f"runpy.run_path({str(helpers.PROGRAMS[name])!r}, "
      "run_name='__main__')\n")
  path = tmp_path / "x.png"
  helpers.assert_refused(program, [f"--{flag}={path}", *others],
                         "-m pip install matplotlib")


@pytest.mark.parametrize("flags", [
    ["--help"], pytest.param(["--game=kuhn_poker", "--iterations=1"],
                             marks=pytest.mark.slow)])
def test_output_that_nobody_reads_is_no_error(flags):
  reader, writer = os.pipe()
  os.close(reader)
  result = subprocess.run(
      [sys.executable, helpers.PROGRAMS["solve_game.py"], *flags],
      stdout=writer, stderr=subprocess.PIPE, text=True)
  os.close(writer)
  assert (result.returncode, result.stderr) == (141, "")


def _interrupted(name, flags, seconds, cwd=None, **environment):
  """Returns the exit code, the output and the errors of an example.

  Args:
    name: the file.
    flags: its flags.
    seconds: when Ctrl-C comes, counted from when the program first says what
      it does; before that, no program can decide how it ends.
    cwd: the folder to run it in.
    **environment: variables.
  """
  with tempfile.TemporaryDirectory() as folder:
    started = pathlib.Path(folder) / "started"
    (pathlib.Path(folder) / "sitecustomize.py").write_text(
        "import signal\n"
        "set_handler = signal.signal\n"
        "def signal_and_tell(*args):\n"
        "  result = set_handler(*args)\n"
        f"  open({str(started)!r}, 'w').close()\n"
        "  signal.signal = set_handler\n"
        "  return result\n"
        "signal.signal = signal_and_tell\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, helpers.PROGRAMS[name], *flags], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=cwd, env={**os.environ, "PYTHONPATH": folder, **environment})
    while not started.exists() and process.poll() is None:
      time.sleep(0.01)
  time.sleep(seconds)
  process.send_signal(signal.SIGINT)
  output, errors = process.communicate(timeout=60)
  return process.returncode, output, errors


def test_ctrl_c_during_imports():
  code, output, errors = _interrupted("plot_leduc.py", [], 0.4)
  assert (code, output, errors) == (130, "", "\nstopped by Ctrl-C\n")


# Programs that would run for at least half a minute.
_LONG_RUNS = {
    "benchmark_fictitious_play.py": [], "benchmark_fsicfr.py": ["--numdice=3"],
    "benchmark_games.py": [],
    "benchmark_perfect_recall.py": ["--numdice=4"],
    "benchmark_sizes.py": [],
    "benchmark_pfsi.py": [], "benchmark_roofline.py": [],
    "benchmark_solvers.py": ["--repeats=99"],
    "bot_match.py": ["--num_games=99999"],
    "compare_doubt.py": [], "compare_fsicfr.py": [],
    "compare_abstractions.py": [], "compare_recall.py": [],
    "compare_solvers.py": [],
    "compress_policy.py": [], "convergence_study.py": [],
    "dudo_exploitability.py": [],
    "dudo_page.py": ["--port=0"], "dudo_tournament.py": [],
    "head_to_head.py": ["--num_games=99999"],
    "plot_asymmetric_neumann.py": [],
    "liar_die_tables.py": ["--iterations=99999999"],
    "plot_doubt.py": ["--train_games=99999999"],
    "plot_leduc.py": ["--iterations=9999999"],
    "plot_neumann.py": ["--iterations=9999999"],
    "plot_regret_matching.py": ["--iterations=999999999"],
    "solve_game.py": ["--target=0"],
    "time_to_target.py": ["--targets=1e-30"],
    "train_dudo.py": ["--numdice=2"],
    "train_perfect_recall.py": []}


@pytest.mark.slow
@pytest.mark.parametrize("name", _LONG_RUNS)
def test_ctrl_c_at_any_moment(name, tmp_path):
  """Imports take the first two seconds, then most examples compile."""
  rng = random.Random(name)
  for last in (1.0, 2.5, 6.0):
    code, output, errors = _interrupted(
        name, _LONG_RUNS[name], rng.uniform(0, last), tmp_path,
        NUMBA_CACHE_DIR=str(tmp_path))
    assert (code == 130 and "stopped" in output + errors and
            "Traceback" not in errors and "Exception" not in errors), (
                code, errors)


@pytest.mark.slow
def test_solve_game_saves_after_ctrl_c(tmp_path):
  code, output, _ = _interrupted(
      "solve_game.py", ["--game=kuhn_poker", "--target=0",
                        "--checkpoint=solver.npz"], 8.0, tmp_path)
  assert code == 130
  assert "stopped by Ctrl-C" in output and "wrote solver.npz" in output
  solver = cfr.CFRPlusSolver(pyspiel.load_game("kuhn_poker"))
  solver.load(tmp_path / "solver.npz")
  assert f"{solver.iteration:,} of cfr+" in output
  assert os.listdir(tmp_path) == ["solver.npz"]


@pytest.mark.slow
def test_errors_after_ctrl_c_are_shown(tmp_path):
  program = tmp_path / "program.py"
  program.write_text(
      "from dudo_spiel_examples.support import binary, ctrl_c\n"
      "import os, signal\n"
      "def main(_):\n"
      "  try:\n"
      "    with ctrl_c.raised():\n"
      "      os.kill(os.getpid(), signal.SIGINT)\n"
      "  except KeyboardInterrupt:\n"
      "    raise OSError('the disk is full')\n"
      "binary.run(main)\n")
  result = subprocess.run([sys.executable, program], capture_output=True,
                          text=True)
  assert (result.returncode, result.stderr) == (
      130, "error: the disk is full\n\nstopped by Ctrl-C\n")
