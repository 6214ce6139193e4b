"""Runs the examples about whole matches of Dudo, with small flags."""

import os
import signal
import subprocess
import sys

import helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots


@pytest.fixture(scope="module", name="policy_file")
def _policy_file(tmp_path_factory):
  path = tmp_path_factory.mktemp("policy") / "policy.npz"
  helpers.run_example("train_dudo.py", "--numdice=2", "--minutes=0.03",
                      f"--policy={path}", "--threads=1")
  return path


def test_train_dudo(tmp_path):
  flags = ["--numdice=2", "--minutes=0.02", "--threads=1",
           "--memory=claims2_ranks1",
           f"--checkpoint={tmp_path / 'training'}",
           f"--policy={tmp_path / 'policy.npz'}"]
  result = helpers.run_example("train_dudo.py", *flags)
  lines = result.stdout.splitlines()
  assert lines[0].startswith("training needs 0.0")
  row = lines[lines.index("iterations") - 1].split()
  assert 0.0 < float(row[1]) < 1.0
  assert result.stderr == ""
  policy = policies.load_policy(tmp_path / "policy.npz")
  assert f"{policy.values[2, 1]:+.4f}" == row[1]
  assert policy.match.abstraction.name == "claims2_ranks1"
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
  folder, path = tmp_path / "training", tmp_path / "policy.npz"
  flags = ["--numdice=2", "--threads=1", f"--engine={engine}",
           f"--checkpoint={folder}", f"--policy={path}"]
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
  folder = tmp_path / "training"
  flags = ["--numdice=2", "--threads=1", f"--checkpoint={folder}"]
  helpers.run_example("train_dudo.py", *flags, "--minutes=0.01")
  process = subprocess.Popen(
      [sys.executable, helpers.PROGRAMS["train_dudo.py"], *flags,
       "--minutes=60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
      preexec_fn=_heed_interrupts)
  while not process.stdout.readline().startswith("continuing after"):
    pass
  helpers.assert_refused("train_dudo.py", [*flags, "--minutes=60"],
                         f"process {process.pid} is training there")
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
    (["--memory=ranks2"], "memory='ranks2': must be"),
    (["--policy=nowhere/policy.npz"], "its folder must exist"),
    (["--policy=."], "must be a file"), (["--checkpoint=/dev/null"], "null"),
    (["--minutes=-1"], "--minutes=-1")])
def test_train_dudo_with_wrong_flags(flags, message):
  helpers.assert_refused("train_dudo.py", flags, message)


def test_train_dudo_does_not_take_up_another_training(tmp_path):
  flags = ["--numdice=1", "--minutes=0.001", f"--checkpoint={tmp_path}"]
  helpers.run_example("train_dudo.py", *flags)
  helpers.assert_refused("train_dudo.py", [*flags, "--seed=1"],
                         "was saved with seed=0; must be 1")


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
      "name='trained': must be a policy file, or a bot that plays dudo: heur")


def test_bot_match_with_a_policy(policy_file):
  lines = helpers.run_example(
      "bot_match.py", "--game=dudo(numdice=2)", "--games=100",
      f"--bots={policy_file},uniform").stdout.splitlines()
  row = [line for line in lines if line.startswith(str(policy_file))][0]
  assert float(row.split()[4]) > 0.5  # against uniform


def test_describe_dudo(policy_file, tmp_path):
  page = tmp_path / "page.md"
  result = helpers.run_example(
      "describe_dudo.py", "--numdice=2", f"--output={page}", "--rolls=3",
      "--training=It was a test.", f"--forgetful={policy_file}")
  assert result.stderr == ""
  text = page.read_text(encoding="utf-8")
  assert "2 dice each" in text and "It was a test." in text
  assert (f"`examples/tools/describe_dudo.py --numdice=2 --rolls=3 "
          f"--forgetful={policy_file}` wrote this page.") in text
  policy = policy_bots.load_policy("trained",
                                   pyspiel.load_game("dudo(numdice=2)"))
  known = policy.measures[2, 1]
  assert f"{50 + 50 * known.value:.3f}%<br>" in text
  assert f"({50 + 50 * known.low:.3f} to " in text
  for name in ("page_openings.png", "page_doubts.png"):
    assert f"({name})" in text
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
  assert len(list(tmp_path.iterdir())) == 3
  # Who claims more dice has more of them, and is believed less often.
  bluffs = [[float(cell.strip("% |")) for cell in line.split(" | ")]
            for line in text.partition("## Bluffs")[2].partition("## ")[0]
            .splitlines()[6:-1]]
  quantities, shares, *held, true, doubted = zip(*bluffs)
  assert quantities == (1, 2, 3, 4) and 98 <= sum(shares) <= 102
  assert all(98 <= sum(row) <= 102 for row in zip(*held))
  assert held[0] == tuple(sorted(held[0], reverse=True))
  assert doubted == tuple(sorted(doubted)) and max(true) < 100.0
  # What rules of thumb and forgetting cost is never negative.
  rows = [line.split(" | ") for line in text.splitlines()
          if line.startswith(("| 1. ", "| the last 3 claims | "))]
  assert len(rows) == 2
  for row in rows:
    assert all(-0.1 < float(cell.strip("% |")) < 20.0 for cell in row[1:])


@pytest.mark.parametrize("flags, message", [
    (["--policy=README.md"], "must be a whole file"),
    (["--policy=nowhere.npz"], "nowhere.npz"),
    (["--policy=recall3"], "must be a policy with perfect recall"),
    (["--numdice=2", "--forgetful=nowhere.npz"], "nowhere.npz")])
def test_describe_dudo_with_wrong_flags(flags, message):
  helpers.assert_refused("describe_dudo.py", flags, message,
                         cwd=helpers.EXAMPLES.parent)


def test_describe_dudo_with_a_policy_of_other_rules(tmp_path):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1,dice_sides=2)"), num_threads=1,
      dtype="float64")
  solver.run(3)
  path = tmp_path / "policy.npz"
  solver.average_policy().compressed(10, num_threads=1).save(path)
  helpers.assert_refused(
      "describe_dudo.py", [f"--policy={path}", f"--output={tmp_path / 'x.md'}"],
      "--policy: game=dudo(dice_sides=6,")
  assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize("name, flags, message", [
    ("make_policies.py", ["--kilobytes=x"], "--kilobytes=x: must be whole"),
    ("make_policies.py", ["--kilobytes=9,3"], "--kilobytes=9,3: must be whole"),
    ("make_policies.py", ["--kilobytes=0,9"], "--kilobytes=0,9: must be whole"),
    ("head_to_head.py", ["--numdice=x"], "--numdice=x: must be whole numbers"),
    ("head_to_head.py", ["--numdice=0"], "--numdice: numdice=0: must be"),
    ("head_to_head.py", ["--games=1"], "--games=1: must be 0, or at least 2")])
def test_flags_that_are_refused(name, flags, message):
  if name == "make_policies.py":
    flags = [*flags, "--checkpoint=nowhere.npz"]
  helpers.assert_refused(name, flags, message)


@pytest.mark.slow
def test_compress_policy():
  output = helpers.run_example(
      "compress_policy.py", "--numdice=1", "--seconds=0.5", "--games=2000",
      "--exact_dice=1", "--memory=player_ranks").stdout
  rows = [line.split() for line in output.splitlines()[1:]]
  assert len(rows) == 9
  assert rows[0][0] == "32" and rows[0][-3:] == ["50.000%", "±", "0.000%"]
  sizes = [float(row[1 if row[0] == "32" else 3]) for row in rows]
  assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_compare_fsicfr(tmp_path):
  output = helpers.run_example(
      "compare_fsicfr.py", "--rounds=1v1", "--fsicfr_rounds=2v1",
      "--measure_seconds=0.05", "--seconds=1", "--games=10000",
      "--pretrain=20", f"--plot={tmp_path / 'plot.png'}").stdout
  assert "Figure 4" in output and "0.3, 13 (43)" in output
  *_, last, wrote = output.splitlines()
  assert wrote == f"wrote {tmp_path / 'plot.png'}"
  row = last.split()
  assert row[0] == "1"
  assert float(row[7].rstrip("%")) > 50
  assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flags, message", [
    (["--rounds=1x1"], "round='1x1'"), (["--games=3"], "--games=3"),
    (["--rounds=3v3"], "at most 5 dice"),
    (["--plot=nowhere/x.png"], "its folder must exist")])
def test_compare_fsicfr_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_fsicfr.py", flags, message)


def test_benchmark_fsicfr():
  output = helpers.run_example("benchmark_fsicfr.py", "--numdice=2",
                               "--turns=1", "--hands_met=2").stdout
  assert "2,325 memories" in output
  row = output.splitlines()[-1].split()
  assert row[:2] == ["2", "42"] and row[-1] == "yes"


def test_compare_recall():
  lines = helpers.run_example(
      "compare_recall.py", "--dice_sides=3", "--recall=1,3,player_ranks",
      "--seconds=0.5", "--target=1e-4").stdout.splitlines()
  assert lines[-1].startswith("player_ranks ")
  short, long = (list(map(float, line.replace(",", "").split()))
                 for line in lines[-3:-1])
  assert short[0] == 1 and long[0] == 3
  assert short[5] > long[5] > -0.05
  assert short[6] > long[6] > 0


@pytest.mark.parametrize("flags, message", [
    (["--recall=x"], "--recall=x: memory='x': must be"),
    (["--recall=0"], "--recall=0: memory=0: must be"),
    (["--dice_sides=1"], "--dice_sides=1")])
def test_compare_recall_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_recall.py", flags, message)


def test_compare_memories(tmp_path):
  table, plot = tmp_path / "table.csv", tmp_path / "plot.png"
  flags = ["--numdice=1", "--iterations=100", f"--table={table}",
           "--memories=claims1,claims2_ranks1,player_ranks"]
  lines = helpers.run_example("compare_memories.py",
                              *flags).stdout.splitlines()[1:]
  names, sizes, gains = zip(*(
      (row[1], int(row[2].replace(",", "")), float(row[5]))
      for row in map(str.split, lines)))
  assert names == ("claims1", "claims2_ranks1", "player_ranks")
  assert sizes == tuple(sorted(sizes)) and sizes[0] == 13
  assert gains[0] > gains[1] > 0.0 and gains[0] > gains[2] > 0.0
  before = table.read_bytes()
  again = helpers.run_example("compare_memories.py", *flags,
                              f"--plot={plot}").stdout.splitlines()[1:]
  assert again == [*lines, f"wrote {plot}"]  # seconds, too: nothing is new
  assert table.read_bytes() == before
  assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flags, message", [
    (["--numdice=4"], "--numdice=4: must be"),
    (["--memories=claims"], "memory='claims': must be"),
    (["--table=README.md"], "must be a table of this program")])
def test_compare_memories_with_wrong_flags(flags, message):
  helpers.assert_refused("compare_memories.py", flags, message,
                         cwd=helpers.EXAMPLES.parent)


def test_dudo_exploitability(policy_file):
  output = helpers.run_example(
      "dudo_exploitability.py", f"--policy={policy_file}", "--exact_dice=3",
      "--seconds=0").stdout
  rows = [line.split() for line in output.splitlines()]
  assert [row[0] for row in rows[1:]] == ["1v1", "1v2", "2v1", "2v2", "match"]
  assert 0.0 < float(rows[1][2]) < 0.5
  assert "about" in rows[3] and "doubt" in rows[4]
  assert float(rows[4][2]) < float(rows[4][4])  # bounds
  assert float(rows[5][1]) < float(rows[5][3])


@pytest.mark.parametrize("flags, message", [
    (["--policy=README.md"], "must be a whole file"),
    (["--train_dice=1", "--train_seconds=0", "--rounds=9v9"], "--rounds=9v9"),
    (["--memory=x"], "memory='x': must be"),
    (["--recall=0"], "--recall=0"), (["--policy=nowhere.npz"], "nowhere.npz")])
def test_dudo_exploitability_with_wrong_flags(flags, message):
  helpers.assert_refused("dudo_exploitability.py", flags, message,
                         cwd=helpers.EXAMPLES.parent)


def test_make_policies_and_head_to_head(tmp_path):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1)"), num_threads=1, dtype="float64")
  solver.run(200)
  solver.save(tmp_path / "solver.npz")
  path = tmp_path / "policy.npz"
  *lines, shares, last = helpers.run_example(
      "make_policies.py", f"--checkpoint={tmp_path / 'solver.npz'}",
      "--kilobytes=5,6", f"--output={path}").stdout.splitlines()
  assert last == f"wrote {path}"
  sizes, gaps = zip(*(map(float, line.split(" | ")[:2])
                      for line in (line.strip("| ") for line in lines[4:6])))
  assert sizes[0] < sizes[1] <= 6.0 and gaps[0] > gaps[1]
  policy = policies.load_policy(path)
  number = int(shares.removeprefix("shares: 1v1 ").replace(",", ""))
  assert policy.measures == solver.average_policy().compressed(number).measures
  assert policy.exploitability(1) == policy.measures[1, 1].exploitability
  rows = [line.split(" | ") for line in helpers.run_example(
      "head_to_head.py", "--numdice=1", f"--policy={path}",
      "--opponents=recall3,heuristic").stdout.splitlines()]
  rates = {row[1]: float(row[4].rstrip(" |")) for row in rows[2:]}
  assert rates["its best response, by its file"] == pytest.approx(
      50.0 - 50.0 * policy.measures[1, 1].exploitability, abs=1e-3)
  assert rates["heuristic"] > 55.0 > rates["recall3"] > 49.0
