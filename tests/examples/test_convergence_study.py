"""The study of solvers on games: its table, its pictures, its interruptions."""

import csv
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import helpers
import pytest

from dudo_spiel.algorithms import convergence

_STUDY = "convergence_study.py"
_COLUMNS = ["solver", "parameters", "game", "iteration", "seconds",
            "exploitability", "value"]


def _lines(folder):
  """Returns the lines of the table, without the seconds."""
  with open(folder / "convergence.csv", newline="", encoding="utf-8") as file:
    reader = csv.DictReader(file)
    assert reader.fieldnames == _COLUMNS
    return [{name: cell for name, cell in line.items() if name != "seconds"}
            for line in reader]


def _run(folder, *flags, check=True):
  return helpers.run_example(_STUDY, f"--folder={folder}", "--workers=1",
                             *flags, check=check)


@pytest.mark.slow
def test_a_study_is_measured_once_and_can_grow(tmp_path):
  flags = ["--games=kuhn_poker; oshi_zumo(coins=3,min_bid=1,size=1)",
           "--iterations=128"]
  output = _run(tmp_path, "--solvers=cfr+(gamma=2.0)", *flags).stdout
  assert output.splitlines() == [
      "2 jobs done, 0 were done before",
      f"wrote {tmp_path / 'convergence.csv'}",
      f"wrote {tmp_path / 'games.png'}"]
  lines = _lines(tmp_path)
  assert [(line["game"], line["iteration"]) for line in lines] == [
      (game, str(iteration)) for game in (
          "kuhn_poker", "oshi_zumo(coins=3,min_bid=1,size=1)")
      for iteration in (32, 64, 128)]
  (expected,) = convergence.measure("kuhn_poker", "cfr+(gamma=2)", [128])
  assert lines[2] == {
      "solver": "cfr+", "parameters": "gamma=2", "game": "kuhn_poker",
      "iteration": "128", "exploitability": f"{expected.exploitability:.9g}",
      "value": f"{expected.value:.9g}"}
  before = (tmp_path / "convergence.csv").read_text(encoding="utf-8")
  output = _run(tmp_path, "--solvers=cfr+(gamma=2)", "--nodraw", *flags).stdout
  assert "0 jobs done, 2 were done before" in output
  assert (tmp_path / "convergence.csv").read_text("utf-8") == before
  assert (tmp_path / "games.png").read_bytes().startswith(b"\x89PNG")
  # What was measured before stays, to the last digit of its seconds.
  output = _run(tmp_path, "--games=kuhn_poker", "--solvers=cfr", "--at=50",
                "--nodraw").stdout
  assert "1 jobs done, 0 were done before" in output
  after = (tmp_path / "convergence.csv").read_text(encoding="utf-8")
  assert set(before.splitlines()) < set(after.splitlines())
  assert len(after.splitlines()) == len(before.splitlines()) + 1


@pytest.mark.slow
def test_measurements_by_time_are_those_near_the_time(tmp_path):
  """What was measured by iterations counts only if it was just then."""
  (tmp_path / "convergence.csv").write_text(
      ",".join(_COLUMNS) + "\ncfr,,kuhn_poker,9000000,60.0,1e-4,-0.05\n",
      encoding="utf-8")
  flags = ["--games=kuhn_poker", "--solvers=cfr", "--at_seconds=0.3",
           "--nodraw"]
  assert "1 jobs done, 0 were done before" in _run(tmp_path, *flags).stdout
  assert "0 jobs done, 1 were done before" in _run(tmp_path, *flags).stdout
  assert len(_lines(tmp_path)) == 2


def test_a_job_that_fails_does_not_stop_the_others(tmp_path):
  result = _run(tmp_path, "--games=go;chess;kuhn_poker", "--solvers=cfr",
                "--at=32", "--nodraw", check=False)
  assert result.returncode == 1
  (error,) = result.stderr.splitlines()
  assert error.startswith("error: 2 of 3 jobs failed: cfr on ")
  assert "cfr on go: " in error and "; cfr on chess: " in error
  assert error.count("GB of memory") == 2
  assert f"wrote {tmp_path / 'convergence.csv'}" in result.stdout
  assert [line["game"] for line in _lines(tmp_path)] == ["kuhn_poker"]


def test_what_was_not_written_is_not_said_to_be(tmp_path):
  result = _run(tmp_path, "--games=go", "--solvers=cfr", "--at=32", "--nodraw",
                check=False)
  assert result.stdout == "0 jobs done, 0 were done before\n"
  assert not list(tmp_path.glob("*.csv"))


@pytest.mark.parametrize("flags, message", [
    (["--games=kuhn_pokr"], "--games: game=kuhn_pokr: "),
    (["--games=;"], "--games=;: must be at least one game"),
    (["--games=kuhn_poker,leduc_poker(players=2)"], "with ; between them"),
    (["--solvers=cfrr"], "--solvers: solver=cfrr: must be one of"),
    (["--solvers="], "--solvers: must be at least one"),
    (["--solvers=dcfr(alpha=x)"], "--solvers: alpha='x': must be a number"),
    (["--preset=tiny"], "--preset=tiny: must be of small, large, goofspiel3"),
    (["--at=1,x"], "--at=1,x: must be numbers above 0"),
    (["--at_seconds=0"], "--at_seconds=0: must be numbers above 0"),
    (["--at=1", "--at_seconds=1"], "--at, --at_seconds: must not both be"),
    (["--engine=roy"], "engine"),
    (["--folder=/proc/x"], "--folder=/proc/x: must be a folder")])
def test_bad_flags_are_refused_before_any_work(flags, message, tmp_path):
  helpers.assert_refused(_STUDY, flags, message, cwd=tmp_path)
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text, message", [
    ("solver,seconds\n", "is of another study; it must have the columns"),
    ("", "is of another study"),
    (",".join(_COLUMNS) + "\ncfr,,kuhn_poker,many,1,1,1\n",
     "line 2 of its convergence.csv must have a number"),
    (",".join(_COLUMNS) + "\ncfr,,kuhn_poker,32,1,nan,1\n",
     "line 2 of its convergence.csv must have a number"),
    ("\xde\xad", "is of another study")])
def test_tables_of_other_studies_stay_as_they_are(text, message, tmp_path):
  path = tmp_path / "convergence.csv"
  path.write_text(text, encoding="latin-1")
  helpers.assert_refused(_STUDY, ["--games=kuhn_poker", f"--folder={tmp_path}"],
                         message)
  assert path.read_text(encoding="latin-1") == text


def test_missing_ray_is_said_in_one_line(tmp_path):
  program = tmp_path / "program.py"
  program.write_text(
      "import runpy, sys\n"
      "sys.modules['ray'] = None\n"
      f"runpy.run_path({str(helpers.PROGRAMS[_STUDY])!r}, "
      "run_name='__main__')\n")
  helpers.assert_refused(program, ["--games=kuhn_poker", "--engine=ray"],
                         "-m pip install ray")


def test_labels_of_lines_stay_beside_their_panel(tmp_path):
  """However many lines end at the same height, even at the lowest."""
  program = tmp_path / "program.py"
  program.write_text(
      "from dudo_spiel_examples.experiments.rudolf_2021 import study_panels\n"
      "print(*study_panels.spread([0.0] * 4 + [0.5, 0.56, 1.0, 1.0], 0.1))\n",
      encoding="utf-8")
  output = helpers.run_example(program).stdout
  assert [float(cell) for cell in output.split()] == pytest.approx(
      [0.0, 0.1, 0.2, 0.3, 0.48, 0.58, 0.9, 1.0])


_LONG = ["--games=liars_dice(dice_sides=5)", "--nodraw", "--iterations=8192",
         "--solvers=cfr,cfr+,lcfr,dcfr"]


@pytest.fixture(scope="module", name="finished")
def _finished(tmp_path_factory):
  """The lines of a study that nobody disturbs."""
  folder = tmp_path_factory.mktemp("finished")
  _run(folder, *_LONG)
  lines = _lines(folder)
  assert len(lines) == 4 * 9
  return lines


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(finished, tmp_path):
  process = subprocess.Popen(
      [sys.executable, helpers.PROGRAMS[_STUDY], f"--folder={tmp_path}",
       "--workers=1", *_LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      text=True, start_new_session=True)
  while not (tmp_path / "convergence.csv").exists():
    time.sleep(0.05)
  os.killpg(process.pid, signal.SIGINT)  # as a terminal does
  output, errors = process.communicate(timeout=60)
  assert (process.returncode, output) == (130, "")
  assert errors == "\nstopped by Ctrl-C\n"
  partial = _lines(tmp_path)
  assert 0 < len(partial) < len(finished)
  output = _run(tmp_path, *_LONG).stdout
  assert f"{4 - len(partial) // 9} jobs done" in output
  assert _lines(tmp_path) == finished


def _children(parents, begin):
  """Returns the processes with these parents whose title begins so."""
  found = []
  for folder in pathlib.Path("/proc").iterdir():
    try:
      if folder.name.isdigit() and (
          folder / "cmdline").read_bytes().startswith(begin):
        parent = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
        found += [int(folder.name)] if int(parent[1]) in parents else []
    except OSError:
      pass  # it has ended
  return found


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray leaves files open
def test_ray_gives_the_same_table_though_a_worker_dies(finished, tmp_path):
  cluster_utils = pytest.importorskip("ray.cluster_utils")
  node = {"num_cpus": 1, "object_store_memory": 80_000_000,
          "memory": 3_000_000_000}
  cluster = cluster_utils.Cluster(True, head_node_args={
      **node, "include_dashboard": False})
  try:
    cluster.add_node(**node)
    raylets = [node.all_processes["raylet"][0].process.pid
               for node in cluster.list_all_nodes()]
    assert len(raylets) == 2
    process = subprocess.Popen(
        [sys.executable, helpers.PROGRAMS[_STUDY], f"--folder={tmp_path}",
         "--engine=ray", *_LONG], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        env={**os.environ, "RAY_ADDRESS": cluster.address})
    while not (workers := _children(raylets, b"ray::cfr on liars_dice")):
      assert process.poll() is None
      time.sleep(0.05)
    assert not list(tmp_path.glob("*.csv"))  # nothing is measured yet
    os.kill(workers[0], signal.SIGKILL)
    output, errors = process.communicate(timeout=300)
  finally:
    cluster.shutdown()
  assert process.returncode == 0, errors
  assert "4 jobs done, 0 were done before" in output
  assert _lines(tmp_path) == finished


def _study(folder, *lines):
  path = folder / "convergence.csv"
  path.write_text("\n".join([",".join(_COLUMNS), *lines]) + "\n", "utf-8")
  return f"--study={path}"


def test_tables_of_a_study(tmp_path):
  dice = '"liars_dice(dice_sides=2,numdice=2)"'
  study = _study(tmp_path, "cfr,,kuhn_poker,100,0.1,0.25,0",
                 "hs-dcfr,planned_iterations=200,kuhn_poker,100,0.1,0.5,0",
                 f"cfr,,{dice},100,0.1,1e-17,0",
                 f"lcfr,,{dice},100,0.1,-1e-17,0",
                 f"cfr,,{dice},200,0.1,0.0625,0")
  output = helpers.run_example("study_table.py", study, "--at=100").stdout
  assert output.splitlines() == [
      "", "After 100 iterations:", "",
      "| | kuhn_poker | liars_dice<br>dice_sides=2<br>numdice=2 |",
      "|---|---:|---:|",
      "| cfr | **2.50e-01** | **< 1e-12** |", "| hs-dcfr | 5.00e-01 |  |",
      "| lcfr |  | **< 1e-12** |"]
  output = helpers.run_example("study_table.py", study, "--at=100",
                               "--summary").stdout
  assert output.splitlines()[3:] == [
      "| | geometric mean | within 10 times of the best | games |",
      "|---|---:|---:|---:|", "| lcfr | 1.0e-12 | 1 | 1 |",
      "| cfr | 5.0e-07 | 2 | 2 |", "| hs-dcfr | 5.0e-01 | 1 | 1 |"]
  helpers.assert_refused("study_table.py", [study, "--at=300"],
                         "--at=300: must be of those measured: 100, 200")
  for lines in (["cfr,,kuhn_poker,many,0.1,0.25,0"], ["cfr"], ["\0"]):
    helpers.assert_refused("study_table.py", [_study(tmp_path, *lines)],
                           "must be the convergence.csv of a study")
  helpers.assert_refused("study_table.py", ["--study=nowhere.csv"],
                         "--study=nowhere.csv: must be the convergence.csv")


_NO_NOREGRET = ("Not measured, as noregret is not installed or does not take "
                "the game: ")


def _noregret():
  """Returns the module, or None; versions for Python 3.11 are empty."""
  try:
    return importlib.import_module("noregret")
  except ImportError:
    return None


def test_time_to_target_with_noregret():
  """Its iterations of the same algorithms are ours, where it is installed."""
  flags = ["--game=kuhn_poker", "--solvers=cfr,cfr+,pcfr+", "--targets=0.01",
           "--peers=noregret CFR,noregret CFR+,noregret PCFR+"]
  lines = helpers.run_example("time_to_target.py", *flags).stdout.splitlines()
  counts = [line.split("|")[2].strip() for line in lines[3:]
            if line.startswith("| ")]
  assert counts[:3] == ["75", "16", "13"]
  if hasattr(_noregret(), "CFR"):
    assert counts[3:] == counts[:3]
  else:
    assert lines[-1] == (
        f"{_NO_NOREGRET}noregret CFR, noregret CFR+, noregret PCFR+")


def test_time_to_target_with_a_noregret_that_has_no_solvers(tmp_path):
  (tmp_path / "noregret.py").write_text("")
  result = subprocess.run(
      [sys.executable, helpers.PROGRAMS["time_to_target.py"],
       "--game=kuhn_poker", "--solvers=cfr", "--targets=0.5",
       "--peers=noregret CFR"], env={**os.environ, "PYTHONPATH": tmp_path},
      capture_output=True, text=True, check=True)
  assert result.stdout.splitlines()[-1] == f"{_NO_NOREGRET}noregret CFR"


def test_time_to_target():
  """Ours and OpenSpiel's CFR are the same, so they count the same."""
  flags = ["--game=kuhn_poker", "--solvers=cfr", "--targets=0.05,0.01",
           "--peers=pyspiel CFR,pyspiel external sampling"]
  result = helpers.run_example("time_to_target.py", *flags)
  rows = [[cell.strip() for cell in line.split("|")[1:-1]]
          for line in result.stdout.splitlines()[1:]]
  assert rows[0] == ["kuhn_poker", "0.05: iterations", "seconds",
                     "0.01: iterations", "seconds"]
  ours, theirs, sampled = rows[2:]
  assert ours[0] == "cfr" and theirs[0] == "pyspiel CFR"
  assert ours[1::2] == theirs[1::2]
  assert 0 < int(ours[1]) < int(ours[3])
  assert float(sampled[2]) < float(sampled[4])
  result = helpers.run_example("time_to_target.py", *flags[:3], "--seconds=0",
                               "--peers=")
  assert result.stdout.splitlines()[3].startswith("| cfr | > 0 | > 0 | > 0 ")
  helpers.assert_refused("time_to_target.py", ["--peers=x"],
                         "--peers=x: must be of")
  helpers.assert_refused("time_to_target.py", ["--targets=0"],
                         "--targets=0: must be numbers above 0")
