"""Runs describe_dudo.py with small flags."""

import helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policy_bots


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
