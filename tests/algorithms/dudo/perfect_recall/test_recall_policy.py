"""Policies with perfect recall made small, and what is computed from them."""

import contextlib
import functools
import os
import signal
import threading
import time

import numpy as np
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.perfect_recall.compression import quantize
from dudo_spiel.algorithms.dudo.perfect_recall.compression import range_coder
from dudo_spiel.algorithms.runtime import ram

_SMALL = "dudo(start_dice=2v1,dice_sides=2)"


@functools.cache
def _solver(name=_SMALL, iterations=200):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(name), num_threads=1, dtype="float64")
  solver.run(iterations)
  return solver


def _states(game, count, seed=0):
  """Yields states at which a player acts, from random games."""
  rng = np.random.default_rng(seed)
  for _ in range(count):
    state = game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        yield state
      state.apply_action(int(rng.choice(state.legal_actions())))


def test_range_coder():
  rng = np.random.default_rng(0)
  contexts = rng.integers(0, 3, 5000)
  # Carries run through many bytes if one bit is almost certain.
  bits = rng.random(5000) < np.array([0.001, 0.5, 0.98])[contexts]
  coder = range_coder.writer(3, 2000)
  for context, bit in zip(contexts.tolist(), bits.tolist()):
    range_coder.code_bit(coder, context, int(bit))
  stream = range_coder.written(coder)
  entropy = np.mean([0.0114, 1.0, 0.1414]) * 5000 / 8
  assert entropy < len(stream) < 1.15 * entropy
  for cut in (stream, stream[:-1], np.append(stream, np.uint8(0))):
    reader = range_coder.reader(3, cut)
    found = [range_coder.code_bit(reader, context, 0)
             for context in contexts.tolist()]
    assert range_coder.is_at_end(reader) == (cut is stream)
  assert [range_coder.code_bit(r, c, 0) for r in [range_coder.reader(3, stream)]
          for c in contexts.tolist()] == bits.tolist()
  assert len(found) == 5000
  short = range_coder.writer(3, 10)
  for context, bit in zip(contexts.tolist(), bits.tolist()):
    range_coder.code_bit(short, context, int(bit))
  assert range_coder.written(short) is None


def test_more_shares_are_less_exploitable(tmp_path):
  policy = _solver().average_policy()
  exact = policy.exploitability(1)
  assert exact == _solver().exploitability()
  sizes, gaps = [], []
  for num_shares in (10, 100, 10**6):
    small = policy.compressed(num_shares, num_threads=1)
    small.save(tmp_path / "policy.npz")
    sizes.append((tmp_path / "policy.npz").stat().st_size)
    gaps.append(small.known_exploitability(small.game))
    if num_shares == 100:
      assert gaps[-1] == pytest.approx(
          exploitability.exploitability(small.game, small), abs=1e-7)
      values = exploitability.expected_values(small.game, small)
      assert small.values[2, 1] == pytest.approx(values[0], abs=1e-7)
  assert gaps[0] > gaps[1] > gaps[2]
  assert gaps[2] == pytest.approx(exact, abs=2e-3)
  assert sizes[0] < sizes[1] < sizes[2]


def test_files_of_compressed_policies(tmp_path):
  small = _solver().average_policy().compressed(1000, num_threads=1)
  path = tmp_path / "policy.npz"
  small.save(path)
  loaded = policies.load_policy(path)
  assert loaded.measures == small.measures
  for state in _states(small.game, 30):
    chances = loaded.action_probabilities(state)
    assert chances == small.action_probabilities(state)
    assert sum(chances.values()) == pytest.approx(1.0)
  assert loaded.measure(1) == small.measures
  loaded.save(tmp_path / "again.npz")
  assert policies.load_policy(tmp_path / "again.npz").measures == (
      small.measures)
  with pytest.raises(ValueError, match="^num_shares=99: .* in shares already"):
    loaded.compressed(99)
  state = next(_states(small.game, 1))
  with np.load(path) as archive:
    arrays = dict(archive)
  for name in ("2v1_tree", "2v1_shares"):
    for change in (lambda x: x[:-1], lambda x: np.append(x, np.uint8(1)),
                   lambda x: np.zeros_like(x), lambda x: x[:0],
                   lambda x: np.full_like(x, 255)):
      np.savez(path, **{**arrays, name: change(arrays[name])})
      with pytest.raises(ValueError, match="^path=.*2v1"):
        policies.load_policy(path).action_probabilities(state)
  np.savez(path, **{**arrays, "2v1_tree": arrays["2v1_tree"].astype(float)})
  with pytest.raises(ValueError, match="^path=.*2v1_tree is .*uint8"):
    policies.load_policy(path)


@pytest.fixture(name="coded_file")
def _coded_file(tmp_path):
  path = tmp_path / "policy.npz"
  _solver().average_policy().compressed(1000, num_threads=1).save(path)
  return path


@pytest.mark.parametrize("fits", [0, 1])  # not even the tree, or the tree
def test_files_that_do_not_fit_into_memory_are_refused(fits, coded_file,
                                                       monkeypatch):
  policy = policies.load_policy(coded_file)
  answers = [2**40] * fits
  monkeypatch.setattr(ram, "available_bytes",
                      lambda: answers.pop() if answers else 0)
  with pytest.raises(ValueError, match="^path=.*policy.npz.* its round 2v1 "
                     "needs .* memory"):
    policy.round_tables((2, 1))


def test_streams_that_are_longer_than_expected(monkeypatch):
  policy = _solver().average_policy()
  expected, writer = policy.compressed(1000, num_threads=1), range_coder.writer
  monkeypatch.setattr(range_coder, "writer", lambda contexts, max_bytes: writer(
      contexts, max(max_bytes // 256, 1)))
  found = policy.compressed(1000, num_threads=1)
  assert found.memory_bytes == expected.memory_bytes
  assert found.measure(1) == expected.measures


def _deaf(begun, released):
  """Returns a kernel that Ctrl-C cannot end, only its flag or an event."""
  def kernel(*args):
    flags = [arg.stop for arg in args if hasattr(arg, "stop")]
    begun.set()
    end = time.monotonic() + 60.0
    while time.monotonic() < end and not any(flag[0] for flag in flags):
      with contextlib.suppress(KeyboardInterrupt):
        if released.wait(0.01):
          break
    return 0.0
  return kernel


@pytest.mark.parametrize("module, name, work", [
    (best_response_kernels, "respond", lambda policy: policy.measure(1)),
    (best_response_kernels, "respond", lambda policy: policy.exploitability(2)),
    (quantize, "divide", lambda policy: policy.compressed(9)),
    (quantize, "divide", lambda policy: perfect_recall.ShareTrials(
        policy, 9, num_threads=1)),
    (stored_rounds.StoredRound, "read",
     lambda policy: simulation.exact_match(
         policy, simulation.bot_policy(policy.game, "uniform"), policy.game)),
], ids=["measure", "exploitability", "compressed", "trials", "exact match"])
def test_ctrl_c_does_not_wait_for_kernels(module, name, work, monkeypatch):
  policy = _solver().average_policy()
  work(policy)  # compiles what it needs
  begun, released = threading.Event(), threading.Event()

  def interrupt():
    assert begun.wait(60.0)
    os.kill(os.getpid(), signal.SIGINT)

  thread = threading.Thread(target=interrupt)
  with monkeypatch.context() as patch:
    patch.setattr(module, name, _deaf(begun, released))
    thread.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
      work(policy)
    assert time.monotonic() - begin < 30.0
    thread.join()
  released.set()


def test_policy_of_a_solvers_file(tmp_path):
  path = tmp_path / "solver.npz"
  _solver().save(path)
  saved = perfect_recall.average_policy(path)
  average = _solver().average_policy()
  for state in _states(saved.game, 10):
    assert saved.action_probabilities(state) == (
        average.action_probabilities(state))
  assert saved.compressed(100, num_threads=1).measures == (
      average.compressed(100, num_threads=1).measures)
  copy = tmp_path / "copy.npz"
  saved.save(copy)
  assert policies.load_policy(copy).measure(1) == average.measure(1)
  other = _solver(_SMALL, 60)
  other.save(path)
  with pytest.raises(ValueError, match="^path=.*solver.npz.* was replaced"):
    saved.round_tables((2, 1))
  _solver().save(path)
  assert saved.round_tables((2, 1)).table.tolist() == (
      average.round_tables((2, 1)).table.tolist())
  average.save(path)
  with pytest.raises(ValueError, match="^path=.*must be a solver"):
    perfect_recall.average_policy(path)


@pytest.mark.parametrize("change, message", [
    (lambda known: known.popitem(), "its measures must be of the rounds"),
    (lambda known: known.update({(2, 1): stored_rounds.Measures(
        0.2, 0.3, 0.1)}), "2v1 must have a value between low and high")])
def test_measures_of_files_make_sense(change, message, tmp_path):
  policy = _solver().average_policy().compressed(100, num_threads=1)
  change(policy.measures)
  policy.save(tmp_path / "policy.npz")
  with pytest.raises(ValueError, match=f"^path=.*{message}"):
    policies.load_policy(tmp_path / "policy.npz")


def test_merged_policies():
  small, large = (_solver(name, count).average_policy() for name, count in (
      ("dudo(numdice=1,dice_sides=2)", 300), (_SMALL, 60)))
  merged = perfect_recall.merged(large.game, [small, large])
  assert merged.rounds == large.rounds
  gaps = [policy.measure(1)[1, 1].exploitability
          for policy in (merged, small, large)]
  assert gaps[0] == gaps[1] < gaps[2]
  with pytest.raises(ValueError, match="^policies: none knows the round 2v1"):
    perfect_recall.merged(large.game, [small])


def test_rounds_are_read_only_when_they_are_needed(monkeypatch):
  policy = _solver().average_policy()
  monkeypatch.setattr(stored_rounds.StoredRound, "read", None)
  merged = perfect_recall.merged(policy.game, [policy])
  assert (2, 1) in merged.rounds


def test_wrong_measures_and_policies_are_named():
  policy = _solver().average_policy()
  game, rounds = policy.game, dict(zip(policy.rounds, map(
      policy.round_tables, policy.rounds)))
  right = policy.measure(1)
  assert policies.RecallPolicy(game, rounds, right).measures == right
  nan = float("nan")
  for measures in ("x", [1], {**right, (9, 9): right[2, 1]},
                   {(2, 1): right[2, 1]}, {**right, (2, 1): (0.0, 0.0, 0.0)},
                   {**right, (2, 1): stored_rounds.Measures(0.0, nan, 0.0)},
                   {**right, (2, 1): stored_rounds.Measures(0.5, 0.6, 0.1)}):
    with pytest.raises(ValueError, match="^measures"):
      policies.RecallPolicy(game, rounds, measures)
  for wrong in (None, policy, [None],
                [policy, simulation.bot_policy(game, "uniform")]):
    with pytest.raises(ValueError, match="^policies=.*: must be a list of "):
      perfect_recall.merged(game, wrong)
  with pytest.raises(ValueError, match="^game=None"):
    perfect_recall.merged(None, [policy])


@pytest.mark.parametrize("dice", [[[1]], (2,), [2.5, 1], None, ({}, 1)])
def test_posterior_with_wrong_dice(dice):
  policy = _solver().average_policy()
  policy.measure(1)
  tables = simulation.bot_policy(policy.game, "uniform")
  for opponent in (policy, tables):
    with pytest.raises(ValueError, match="^dice="):
      exploitability.posterior(opponent, dice, [])
  exploitability.posterior(policy, (1, 2), [0])
  with pytest.raises(ValueError, match=r"^dice=\(1, 2\): after 0 claims must"):
    exploitability.posterior(policy, (1, 2), [])


@pytest.mark.oracle
def test_after_claims():
  small = _solver().average_policy().compressed(1000, num_threads=1)
  count = 0
  for state in _states(small.game, 40):
    starter, player = state.round().starter, state.current_player()
    dice = state.dice[player], state.dice[1 - player]
    claims = state.claim_list()
    table = small.after_claims(dice, claims)
    hand = small.game.rolls(dice[0]).index(state.hand(player))
    chances = small.action_probabilities(state)
    assert table[:, hand].tolist() == list(chances.values())
    np.testing.assert_allclose(table.sum(axis=0), 1.0)
    count += player != starter
  assert count > 10
  for key, claims, name in (((1, 2), [], "key"), ((2, 1), [1, 1], "claims"),
                            ((1, 2), [9], "claims"), ((2, 1), 3, "claims")):
    with pytest.raises(ValueError, match=f"^{name}="):
      small.after_claims(key, claims)


def test_policies_in_files(tmp_path):
  policy = _solver(_SMALL, 60).average_policy()
  policy.save(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz")
  assert isinstance(loaded, perfect_recall.RecallPolicy)
  rng = np.random.default_rng(0)
  for _ in range(30):
    state = policy.game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        chances = policy.action_probabilities(state)
        assert loaded.action_probabilities(state) == chances
        assert sum(chances.values()) == pytest.approx(1.0)
      state.apply_action(int(rng.choice(state.legal_actions())))
  loaded.check_game(policy.game)
  with pytest.raises(ValueError, match="^game=.*starts with 2 and 2 dice"):
    loaded.check_game(pyspiel.load_game("dudo(numdice=2,dice_sides=2)"))
  with np.load(tmp_path / "policy.npz") as archive:
    arrays = dict(archive)
  arrays["2v1_claims"][-1] = 0
  np.savez(tmp_path / "policy.npz", **arrays)
  with pytest.raises(ValueError, match="^path=.*2v1_claims"):
    policies.load_policy(tmp_path / "policy.npz")


def test_policies_are_played_as_they_are_measured_where_sums_vanish():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  stored = _solver(str(game), 60).average_policy().round_tables((1, 1))
  tiny, nothing = (perfect_recall.RecallPolicy(
      game, {(1, 1): stored._replace(table=factor * stored.table)})
                   for factor in (1e-40, 0.0))
  assert tiny.exploitability(1) == pytest.approx(
      exploitability.exploitability(game, tiny), abs=1e-9)
  nothing.measure(1)
  for claims in ([], [1]):
    ours, theirs = (exploitability.action_values(policy, (1, 1), claims, [2])
                    for policy in (tiny, nothing))
    np.testing.assert_array_equal(ours.values, theirs.values)


@pytest.mark.slow
def test_the_policy_that_ships_is_as_good_as_it_says():
  game = pyspiel.load_game("dudo(numdice=5)")
  policy = policy_bots.trained_policy(game)
  found = perfect_recall.merged(game, [policy]).measure(2)
  assert (5, 5) in found
  for key, measures in found.items():
    assert tuple(policy.measures[key]) == pytest.approx(tuple(measures),
                                                        abs=1e-9)
