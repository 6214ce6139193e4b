"""Files of limited size: how shares are given to the rounds of a policy."""

import functools
import itertools
import math
import os

import pyspiel
import pytest

from dudo_spiel.algorithms import perfect_recall

_GAME = "dudo(numdice=2,dice_sides=3)"
_MAX_BYTES = 30_000


@functools.cache
def _policy():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_GAME), num_threads=1, dtype="float64")
  solver.run(200)
  return solver.average_policy()


@functools.cache
def _trials(num_threads=1):
  return perfect_recall.ShareTrials(_policy(), _MAX_BYTES,
                                    num_threads=num_threads)


def test_trials_are_rounds_of_compressed_policies(tmp_path):
  policy, trials = _policy(), _trials().trials
  for i in (0, 3):
    small = policy.compressed(trials[1, 1][i].num_shares, num_threads=1)
    assert trials[1, 1][i].exploitability == pytest.approx(
        small.measures[1, 1].exploitability, abs=1e-12)
    # Other rounds are measured alone, so they are less exploitable.
    assert 0.0 < trials[2, 2][i].exploitability < (
        small.measures[2, 2].exploitability)
    small.save(tmp_path / "policy.npz")
    size = os.path.getsize(tmp_path / "policy.npz")
    bound = sum(found[i].num_bytes for found in trials.values())
    assert 0.5 * bound < size < bound + 4096


def test_trials_depend_on_no_threads():
  assert _trials(2).trials == _trials(3).trials == _trials().trials
  for limit in (1, 900, 1_000, 2_000):
    found, more = (perfect_recall.ShareTrials(
        _policy(), limit, num_threads=number).trials for number in (1, 3))
    assert found == more
    for key, trials in found.items():
      assert trials == [trial for i, trial in enumerate(_trials().trials[key])
                        if not i or trial.num_bytes <= limit]


@pytest.mark.parametrize("max_bytes", [8_000, 10_000, _MAX_BYTES])
def test_files_have_the_size_that_is_asked_for(max_bytes, tmp_path):
  small = _policy().compressed(_trials().within(max_bytes), num_threads=1)
  small.save(tmp_path / "policy.npz")
  assert os.path.getsize(tmp_path / "policy.npz") <= max_bytes


def test_shares_are_where_they_pay():
  """Of all choices that fit, the one that is made is nearly the best."""
  policy, trials = _policy(), _trials().trials
  assert trials.keys() == {(1, 1), (2, 1), (2, 2)}
  limit = 9_000

  def loss(shares):
    measures = policy.compressed(shares, num_threads=1).measures
    return sum(math.log(max(measures[n, n].exploitability, 1e-9))
               for n in (1, 2))

  losses = {}
  for chosen in itertools.product(*(found[::4] for found in trials.values())):
    if sum(trial.num_bytes for trial in chosen) + 4096 <= limit:
      shares = {key: trial.num_shares for key, trial in zip(trials, chosen)}
      losses[tuple(shares.values())] = loss(shares)
  found = loss(_trials().within(limit))
  equal = min(loss for shares, loss in losses.items() if len(set(shares)) == 1)
  assert found < min(losses.values()) + 0.05
  assert found < equal - 1.0


def test_wrong_arguments_are_named():
  policy = _policy()
  with pytest.raises(ValueError, match="policy=3: must be a RecallPolicy"):
    perfect_recall.ShareTrials(3, 1000)
  with pytest.raises(ValueError, match="policy: is in shares already"):
    perfect_recall.ShareTrials(policy.compressed(9, num_threads=1), 1000)
  for max_bytes in (0, 1.5, None):
    with pytest.raises(ValueError, match=f"max_bytes={max_bytes}: must be"):
      perfect_recall.ShareTrials(policy, max_bytes)
  with pytest.raises(ValueError, match="max_bytes=30001: must be"):
    _trials().within(_MAX_BYTES + 1)
  with pytest.raises(ValueError, match="max_bytes=5000: must be at least 6"):
    _trials().within(5000)
