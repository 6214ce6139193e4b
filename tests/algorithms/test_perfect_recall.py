"""Dudo with perfect recall on growing trees, against slower ways."""

import functools
import os
import signal
import threading
import time
import tracemalloc

import helpers
import numpy as np
from oracles import growing_oracle
import pyspiel
import pytest

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import dcfr_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import expansion_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import recall_solver
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import ram

_SMALL = "dudo(start_dice=2v1,dice_sides=2)"


def _trainer_and_oracle(name, dice, **kwargs):
  game = pyspiel.load_game(name)
  match = round_rules.round_rules(game)
  trainer = round_trainer.RecallTrainer(match, dice, dtype=np.float64,
                                         growth_slope=0.0, **kwargs)
  # Random leaves have no ties, which rounding would decide.
  shape = game.num_sides * sum(dice), sum(dice) + 1
  gets = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *shape))
  trainer.leaves = tuple(transitions.Payoffs(gets[role], -gets[1 - role])
                         for role in range(2))
  oracle = growing_oracle.GrowingOracle(
      dice, game.num_sides, game.house.wild_ones,
      [leaves.challenges.tolist() for leaves in trainer.leaves])
  return trainer, oracle


def _histories(tree):
  """Returns {history: node} of all nodes."""
  found, stack = {}, [((), 0)]
  while stack:
    history, node = stack.pop()
    found[history] = node
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      if tree.child[row] >= 0:
        stack.append(((*history, int(tree.claim[row])), int(tree.child[row])))
  return found


def _at(trainer, table, history, node):
  """Returns ({action: row of classes}, [hand] class) of a node."""
  tree, hands = trainer.tree, trainer.hands
  rows = tree.claim[tree.row_begin[node]:tree.row_begin[node + 1]].tolist()
  numbers = table[tree.table_begin[node]:tree.table_begin[node + 1]]
  actions = [growing_oracle.DUDO if claim == hands.order.num_claims else claim
             for claim in rows]
  level = hands.level[history[-1] + 1 if history else 0]
  return (dict(zip(actions, numbers.reshape(len(rows), -1))),
          hands.classes[len(history) % 2][level])


def _assert_equal(trainer, oracle):
  """Asserts that the trees and their tables are equal."""
  nodes = _histories(trainer.tree)
  assert nodes.keys() == oracle.nodes.keys()
  for history, node in nodes.items():
    regrets, classes = _at(trainer, trainer.tables.regret, history, node)
    sums, _ = _at(trainer, trainer.tables.cumulative, history, node)
    assert list(regrets) == oracle.actions(history)
    # Regrets that were not needed are discounted later.
    missed = trainer.iteration - int(trainer.tables.seen[node])
    for action in regrets:
      theirs = [oracle.regret[history, h].get(action, 0.0)
                for h in range(len(classes))]
      ours = regrets[action][classes]
      if missed:
        np.testing.assert_array_equal(np.sign(ours), np.sign(theirs))
      else:
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
      weights = [oracle.cumulative[history, oracle.counts(history, h)].get(
          action, 0.0) for h in range(len(classes))]
      np.testing.assert_allclose(sums[action][classes], weights, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("name, dice, share, answer_share", [
    ("dudo(numdice=1,dice_sides=3)", (1, 1), 1e-6, 1.0),
    ("dudo(numdice=1,dice_sides=3,wild_ones=False)", (1, 1), 1e-2, 0.1),
    (_SMALL, (1, 2), 1e-3, 0.1), (_SMALL, (2, 1), 1e-6, 1e9),
    (_SMALL, (2, 1), 0.1, 0.01),
    ("dudo(numdice=2,dice_sides=3)", (1, 2), 1e-2, 0.3)])
def test_equals_the_oracle_step_by_step(name, dice, share, answer_share):
  trainer, oracle = _trainer_and_oracle(
      name, dice, growth_share=share, answer_share=answer_share,
      drop_share=0.02)
  sizes, num_answers = set(), 0
  for iteration in range(1, 17):
    trainer.iterate()
    oracle.iterate()
    _assert_equal(trainer, oracle)
    if iteration in (1, 2, 3, 5, 8, 12, 16):
      responses = trainer.grow(10**9)
      np.testing.assert_allclose(
          responses, [oracle.respond(role) for role in range(2)], atol=1e-9)
      outcomes = trainer.outcomes()
      assert outcomes.sum() == pytest.approx(1.0)
      value = sum((-1)**role * np.sum(
          outcomes[role] * trainer.leaves[role].challenges)
                  for role in range(2))
      assert value == pytest.approx(oracle.value(), abs=1e-9)
      num_answers += oracle.grow(share, answer_share)
      _assert_equal(trainer, oracle)
      sizes.add(len(oracle.nodes))
    if iteration in (8, 16):
      oracle.drop(0.02 * 0.5 * responses.sum())
      trainer.drop(responses)
      _assert_equal(trainer, oracle)
  assert len(sizes) > 2  # it did grow
  assert (num_answers > 0) == (answer_share < 1e3)


@pytest.mark.oracle
def test_what_was_dropped_may_come_back():
  trainer, oracle = _trainer_and_oracle(_SMALL, (2, 1), growth_share=1e-6,
                                        drop_share=10.0)
  for _ in range(8):
    trainer.iterate()
    oracle.iterate()
    responses = trainer.grow(10**9)
    oracle.grow(1e-6, round_trainer.ANSWER_SHARE)
  before = set(oracle.nodes)
  trainer.drop(responses)
  oracle.drop(5.0 * responses.sum())
  _assert_equal(trainer, oracle)
  dropped = before - set(oracle.nodes)
  assert dropped
  for _ in range(5):
    trainer.iterate()
    oracle.iterate()
    trainer.grow(10**9)
    oracle.grow(1e-6, round_trainer.ANSWER_SHARE)
    _assert_equal(trainer, oracle)
  assert dropped & set(oracle.nodes)


@pytest.mark.oracle
@pytest.mark.parametrize("sides", [
    4, pytest.param(6, marks=pytest.mark.slow)])
def test_with_everything_stored_it_is_discounted_cfr(sides):
  game = pyspiel.load_game(f"dudo(numdice=1,dice_sides={sides})")
  match = round_rules.round_rules(game)
  trainer = round_trainer.RecallTrainer(match, (1, 1), dtype=np.float64,
                                         is_full=True)
  trainer.set_values({})
  # Both start from the same random regrets: rounding decides between ties.
  tree, rng = trainer.tree, np.random.default_rng(0)
  for begin, end, rows in zip(tree.table_begin, tree.table_begin[1:],
                              np.diff(tree.row_begin)):
    numbers = rng.exponential(size=(rows, (end - begin) // rows))
    trainer.tables.regret[begin:end] = (numbers / numbers.sum(axis=0)).ravel()
  plain = cfr.DiscountedCFRSolver(
      game, num_threads=1, initial=perfect_recall.RecallPolicy(
          game, {(1, 1): (trainer.hands, tree, trainer.tables.regret.copy())}))
  # CFR's regrets have the chance of the own hand in them.
  plain.tables.regret[:] = plain.tables.strategy / sides
  counts = []
  for iterations in (4, 30):
    for _ in range(iterations):
      trainer.iterate()
    plain.run(iterations)
    responses = trainer.grow(10**9)
    assert responses.sum() == pytest.approx(plain.nash_conv(), abs=1e-9)
    for policy, table in ((plain.current_policy(), trainer.tables.regret),
                          (plain.average_policy(), trainer.tables.cumulative)):
      ours = perfect_recall.RecallPolicy(
          game, {(1, 1): (trainer.hands, trainer.tree, table)})
      counts.append(_compare(game, policy, ours))
  assert min(counts) > 20


def _compare(game, policy, ours):
  """Compares two policies in 1v1; returns at how many states."""
  count = 0
  for own in range(game.num_sides):
    for claims in _some_claims(game.dudo_action - 1):
      state = game.new_initial_state()
      hands = (own, 2) if len(claims) % 2 == 0 else (2, own)
      for action in (*hands, *claims):
        state.apply_action(action)
      mine = ours.action_probabilities(state)
      theirs = policy.action_probabilities(state)
      if len(theirs) > 1 and len(set(theirs.values())) == 1:
        continue  # nothing is regretted, or it never plays there
      assert mine == pytest.approx(theirs, abs=1e-9)
      count += 1
  return count


def _some_claims(count):
  """Returns every seventh list of the weakest claims."""
  return [[c for c in range(count) if mask >> c & 1]
          for mask in range(0, 2**count, 7)]


@functools.cache
def _solver(name, iterations):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(name), num_threads=1, dtype="float64")
  solver.run(iterations)
  return solver


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    _SMALL, "dudo(numdice=1,dice_sides=3)",
    "dudo(start_dice=2v1,dice_sides=2,starting_player=1,exact_reward=False)",
    pytest.param(
        "dudo(start_dice=1v2,dice_sides=2,wild_ones=False,die_loss=one)",
        marks=pytest.mark.slow)])
def test_measures_the_real_game(name):
  solver = _solver(name, 60)
  policy = solver.average_policy()
  game = solver.game
  values = exploitability.expected_values(game, policy)
  np.testing.assert_allclose(solver.expected_values(), values, atol=1e-9)
  low, high = solver.interval(*solver.rounds[-1])
  value = solver.value(*solver.rounds[-1])
  assert low <= value <= high
  starter = game.starting_player
  assert value == pytest.approx(values[starter])
  for seat, bound in ((starter, high), (1 - starter, -low)):
    best = exploitability.best_response(game, policy, seat)
    assert best.value == pytest.approx(bound, abs=1e-9)
  assert solver.nash_conv() == high - low


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    pytest.param(_SMALL, marks=pytest.mark.slow),
    "dudo(numdice=1,dice_sides=3)"])
def test_open_spiel_measures_the_same(name):
  solver = _solver(name, 60)
  policy = solver.average_policy().to_pyspiel()
  assert solver.nash_conv() == pytest.approx(
      pyspiel.nash_conv(solver.game, policy), abs=1e-9)


def _as_match_policy(solver):
  """Returns the average policy as tables of all claims of a round."""
  game = solver.game
  num_claims = game.num_sides * sum(game.start_dice)
  match = abstract_rules.abstract_rules(game, num_claims)
  policy = solver.average_policy()
  tables = {key: np.zeros(match.table_shape(key))
            for a, b in solver.rounds for key in ((a, b), (b, a))}
  for key in solver.rounds:
    start = pyspiel.load_game("dudo", {
        **game.get_parameters(), "start_dice": "{}v{}".format(*key),
        "starting_player": 0})
    claims = game.num_sides * sum(key)
    for mask in range(2**claims):
      history = [c for c in range(claims) if mask >> c & 1]
      role = len(history) % 2
      table = tables[key[role], key[1 - role]]
      for hand in range(game.rolls(key[role]).num_rolls):
        state = start.new_initial_state()
        for action in [*((hand, 0) if role == 0 else (0, hand)), *history]:
          state.apply_action(action)
        row = match.graph(sum(key)).first_row(history)
        first = history[-1] + 1 if history else 0
        for action, chance in policy.action_probabilities(state).items():
          is_dudo = action == start.dudo_action
          table[row + (claims if is_dudo else action) - first, hand] = chance
  return match_policy.MatchPolicy(game, num_claims, tables, {})


@pytest.mark.oracle
@pytest.mark.parametrize("name", [
    _SMALL, "dudo(start_dice=2v1,dice_sides=3)",
    "dudo(start_dice=1v2,dice_sides=3)"])
def test_responses_equal_those_of_match_policies(name):
  solver = _solver(name, 60)
  response = exploitability.match_best_response(_as_match_policy(solver),
                                                num_threads=1)
  assert solver.exploitability() == pytest.approx(response.exploitability,
                                                  abs=1e-9)
  for key in solver.rounds:
    low, high = solver.interval(*key)
    assert high == pytest.approx(response.responder_starts[key], abs=1e-9)
    assert -low == pytest.approx(response.policy_starts[key], abs=1e-9)


def test_a_round_alone_is_less_exploitable_than_the_match_from_there():
  solver = _solver(_SMALL, 60)
  widths = []
  for key in solver.rounds:
    low, high = solver.interval(*key)
    alone, whole = solver.round_exploitability(*key), 0.5 * (high - low)
    if widths:  # what rounds after it can add is bounded by their intervals
      assert 0.0 < alone < whole <= alone + max(widths)
    else:
      assert alone == whole
    widths.append(high - low)


def test_intervals_hold_the_exact_value():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1)"), num_threads=1, dtype="float64")
  result = solver.solve(target_exploitability=2e-3, max_iterations=3000)
  assert result.reason == "target"
  low, high = solver.interval(1, 1)
  assert low <= -7 / 258 <= high
  assert high - low == pytest.approx(2.0 * result.exploitability)
  assert solver.num_nodes(1, 1) < 1000  # of 2048


@pytest.mark.slow
def test_threads_change_nothing(monkeypatch):
  monkeypatch.setattr(round_trainer, "MIN_CUT_NUMBERS", 0)
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  trainers = [round_trainer.RecallTrainer(match, (2, 1), num_threads=threads)
              for threads in (1, 3)]
  with round_trainer.thread_pool(3) as pool:
    for trainer, threads in zip(trainers, (None, pool)):
      trainer.set_values({(1, 1): -0.027})
      for _ in range(30):
        trainer.iterate(threads)
        responses = trainer.grow(10**9, threads)
  assert trainers[0].tree.num_nodes > 50
  for first, second in zip(trainers[0].tables, trainers[1].tables):
    np.testing.assert_array_equal(first, second)
  # A tree that is not cut for threads learns the same, up to rounding.
  monkeypatch.undo()
  whole = round_trainer.RecallTrainer(match, (2, 1))
  whole.set_values({(1, 1): -0.027})
  for _ in range(30):
    whole.iterate()
    expected = whole.grow(10**9)
  np.testing.assert_allclose(responses, expected, atol=1e-3)


def test_memory_is_bounded(monkeypatch, tmp_path):
  monkeypatch.setattr(recall_solver, "ROOM_PARTS", 1)  # takes all of it soon
  _solver(_SMALL, 7).interval(2, 1)  # compiles
  most, game = 3 * 10**6, pyspiel.load_game("dudo(numdice=2)")
  most_of_all = most + 2 * 10**5  # Python's own objects
  tracemalloc.start()
  try:
    solver = perfect_recall.PerfectRecallSolver(
        game, num_threads=2, max_bytes=most, dtype="float64")
    for _ in range(3):
      solver.run(40)
      assert solver.memory_bytes <= most
      solver.interval(2, 2)
    solver.save(tmp_path / "solver.npz")
    _, peak = tracemalloc.get_traced_memory()
    assert 0.5 * most < peak <= most_of_all
    before = solver.nash_conv()
    del solver
    solver = perfect_recall.PerfectRecallSolver(
        game, num_threads=2, max_bytes=most, dtype="float64")
    tracemalloc.reset_peak()
    solver.load(tmp_path / "solver.npz")
    assert solver.nash_conv() == before
    _, peak = tracemalloc.get_traced_memory()
    assert peak <= 1.2 * most  # it reads a file in blocks of up to 4 MB
  finally:
    tracemalloc.stop()
  free = perfect_recall.PerfectRecallSolver(game, num_threads=1,
                                            dtype="float64")
  free.run(20)
  assert free.memory_bytes > most
  assert solver.exploitability() < 1.0


@pytest.mark.slow
def test_the_policy_that_ships_is_as_good_as_it_says():
  game = pyspiel.load_game("dudo(numdice=5)")
  policy = policy_bots.trained_policy(game)
  found = perfect_recall.merged(game, [policy]).measure(2)
  assert (5, 5) in found
  for key, measures in found.items():
    assert tuple(policy.measures[key]) == pytest.approx(tuple(measures),
                                                        abs=1e-9)


@pytest.mark.slow
def test_a_node_of_the_full_game_is_small():
  match = round_rules.round_rules(pyspiel.load_game("dudo"))
  trainer = round_trainer.RecallTrainer(match, (5, 5))
  at_first = trainer.memory_bytes
  trainer.set_values({(a, b): 0.1 * (a - b) for a in range(1, 6)
                      for b in range(1, 6)})
  for _ in range(10):
    trainer.iterate()
    trainer.grow(10**9)
  assert trainer.tree.num_nodes > 100
  more = trainer.memory_bytes - at_first
  assert 1_000 < more / trainer.tree.num_nodes < 20_000


@pytest.mark.parametrize("name", ["kuhn_poker", "dudo_ir(numdice=1)",
                                  "dudo(players=3,numdice=1)"])
def test_other_games_are_refused(name):
  with pytest.raises(ValueError, match="^game=.*: must be dudo"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game(name))


def test_rounds_of_other_matches_are_refused():
  solver = _solver(_SMALL, 7)
  for ask in (solver.value, solver.interval, solver.iterations,
              solver.num_nodes):
    with pytest.raises(ValueError, match=r"^own_dice=1, opponent_dice=2: .*"
                       r"\(1, 1\), \(2, 1\)$"):
      ask(1, 2)


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
    arrays = _break(archive, "2v1_claims", _set(-1, 0))
  np.savez(tmp_path / "policy.npz", **arrays)
  with pytest.raises(ValueError, match="^path=.*2v1_claims"):
    policies.load_policy(tmp_path / "policy.npz")


def test_policies_are_played_as_they_are_measured_where_sums_vanish():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  hands, tree, table = _solver(str(game), 60).average_policy().round_tables(
      (1, 1))
  tiny, nothing = (perfect_recall.RecallPolicy(
      game, {(1, 1): (hands, tree, factor * table)}) for factor in (1e-40, 0.0))
  assert tiny.exploitability(1) == pytest.approx(
      exploitability.exploitability(game, tiny), abs=1e-9)
  nothing.measure(1)
  for claims in ([], [1]):
    ours, theirs = (exploitability.action_values(policy, (1, 1), claims, [2])
                    for policy in (tiny, nothing))
    np.testing.assert_array_equal(ours.values, theirs.values)


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
    ("2v1_seen", _set(0, 10**6)), ("2v1_schedule", _set(0, 10**6)),
    ("2v1_schedule", _set(4, 1)), ("2v1_cumulative", _set(0, -1.0)),
    ("2v1_regret", _set(0, np.nan)), ("2v1_outcomes", _set((0, 0, 0), 2.0)),
    ("2v1_responses", _set(0, 7.0)),
    ("1v1_regret", lambda x: x.astype(np.float32))])
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


def test_full_trees_have_all_histories():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=2)")
  trainer = round_trainer.RecallTrainer(round_rules.round_rules(game),
                                         (1, 1), is_full=True)
  assert trainer.tree.num_nodes == 8  # the sets of the three weakest claims
  assert growing_tree.find(trainer.tree, [0, 2]) > 0
  assert growing_tree.find(trainer.tree, [3]) == -1


def test_walks_stop_when_the_flag_is_set():
  trainer, _ = _trainer_and_oracle(_SMALL, (2, 1))
  for _ in range(5):
    trainer.iterate()
    trainer.grow(10**9)
  tree, tables = trainer.tree, [table.copy() for table in trainer.tables]
  trainer.flag[0] = True
  for measure in (trainer.outcomes, lambda: trainer.grow(10**9),
                  lambda: trainer.certify({(1, 1): 0.0}, {(1, 1): 0.0})):
    with pytest.raises(round_trainer.StoppedError):
      measure()
  assert trainer.tree is tree
  for ours, theirs in zip(trainer.tables, tables):
    np.testing.assert_array_equal(ours, theirs)
  game, size = trainer.hands.arrays(np.float64), int(tree.value_begin[-1])
  choices = best_response_kernels.Choices(np.full(size, 99, np.int16),
                                     np.full(size, 99.0, np.float32))
  best_response_kernels.respond(
      game, tree, trainer.tables.cumulative,
      best_response_kernels.Responder(0, *trainer.leaves[0]),
      best_response_kernels.new_scratch(trainer.hands, trainer.flag), choices)
  assert (choices.gain == 99.0).all()


def test_how_trees_grow_does_not_depend_on_free_memory(monkeypatch):
  game = pyspiel.load_game(_SMALL)
  first = {}
  for free in (5 * 10**8, 10**11):
    monkeypatch.setattr(ram, "available_bytes", lambda free=free: free)
    first[free] = [perfect_recall.PerfectRecallSolver(
        game, num_threads=1, max_bytes=given).memory_bytes
                   for given in (None, 10**8)]
  assert first[5 * 10**8] == first[10**11]  # proposals are part of it


def _interrupt(*waits):
  """Sends Ctrl-C after each of these waits, in a thread."""
  def send():
    for wait in waits:
      wait()
      os.kill(os.getpid(), signal.SIGINT)
  thread = threading.Thread(target=send)
  thread.start()
  return thread


def test_measurements_end_soon_after_an_interrupt(monkeypatch):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=2, dtype="float64")
  solver.run(40)
  begun = threading.Event()

  def endless(game, tree, table, responder, work, choices):
    begun.set()
    end = time.monotonic() + 60.0
    while not work.stop[0] and time.monotonic() < end:
      time.sleep(0.01)

  for measure in (solver.nash_conv, lambda: solver.interval(2, 1)):
    begun.clear()
    with monkeypatch.context() as patch:
      patch.setattr(best_response_kernels, "respond", endless)
      thread = _interrupt(begun.wait)
      begin = time.monotonic()
      with pytest.raises(KeyboardInterrupt):
        measure()
      assert time.monotonic() - begin < 30.0
      thread.join()
  assert solver.nash_conv() == _solver(_SMALL, 40).nash_conv()


def test_a_second_interrupt_leaves_a_whole_solver(monkeypatch, tmp_path):
  solver, other, plain = (perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1, dtype="float64")
                          for _ in range(3))
  solver.run(5)
  learn, begun, go_on = dcfr_kernels.learn, threading.Event(), (
      threading.Event())

  def slow(game, tree, tables, step, *args):
    if step.role == 1:  # an iteration has been half done
      begun.set()
      go_on.wait(60.0)
    return learn(game, tree, tables, step, *args)

  with monkeypatch.context() as patch:
    patch.setattr(dcfr_kernels, "learn", slow)
    thread = _interrupt(begun.wait, lambda: time.sleep(0.2))
    with pytest.raises(KeyboardInterrupt):
      solver.run(1000)
    thread.join()
    threading.Timer(0.3, go_on.set).start()
    solver.save(tmp_path / "solver.npz")
  other.load(tmp_path / "solver.npz")
  assert other.iteration == 6
  for now in (other, solver):
    now.run(3)
  plain.run(9)
  for key in plain.rounds:
    for ours, theirs, expected in zip(solver.tables(*key), other.tables(*key),
                                      plain.tables(*key)):
      np.testing.assert_array_equal(ours, expected)
      np.testing.assert_array_equal(theirs, expected)


@pytest.mark.parametrize("first, last", [(20, 60), (120, 300)])
def test_a_growth_that_was_interrupted_is_made_up(first, last, monkeypatch,
                                                  tmp_path):
  solver, plain = (perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(start_dice=2v1,dice_sides=4)"), num_threads=1,
      dtype="float64") for _ in range(2))
  solver.run(first)
  propose, begun = expansion_kernels.propose, threading.Event()
  drop, dropped = round_trainer.RecallTrainer.drop, []

  def noted_drop(trainer, *args):
    before = trainer.tree.num_nodes
    drop(trainer, *args)
    dropped.append(before - trainer.tree.num_nodes)

  def slow(game, tree, table, responder, work, *args):
    if first < 100 or any(dropped):
      begun.set()
      end = time.monotonic() + 60.0
      while not work.stop[0] and time.monotonic() < end:
        time.sleep(0.01)
    return propose(game, tree, table, responder, work, *args)

  with monkeypatch.context() as patch:
    patch.setattr(expansion_kernels, "propose", slow)
    patch.setattr(round_trainer.RecallTrainer, "drop", noted_drop)
    thread = _interrupt(begun.wait)
    with pytest.raises(KeyboardInterrupt):
      solver.run(1000)
    thread.join()
  done = solver.iteration
  solver.save(tmp_path / "solver.npz")
  solver.load(tmp_path / "solver.npz")
  solver.run(last - done)
  plain.run(last)
  assert first < done < last
  for key in plain.rounds:
    for ours, theirs in zip(solver.tables(*key), plain.tables(*key)):
      np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name, kwargs, message", [
    (_SMALL, {"dtype": "float32"}, "dtype=float64; must be float32"),
    (_SMALL, {"seed": 1}, "seed=0; must be 1"),
    ("dudo(start_dice=2v1,dice_sides=3)", {}, "game=.*dice_sides=2.* must be"),
    ("dudo(numdice=2,dice_sides=2)", {}, "game=.*start_dice=2v1.* must be"),
    ("dudo(start_dice=2v1,dice_sides=2,die_loss=one)", {},
     "game=.* must be dudo.*die_loss=one")])
def test_files_of_other_settings_are_refused_by_name(name, kwargs, message,
                                                     tmp_path):
  _solver(_SMALL, 7).save(tmp_path / "solver.npz")
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


def test_more_memory_than_there_is_is_refused():
  with pytest.raises(ValueError, match=r"^max_bytes=10{18}: .* needs "
                     r"1000000000\.0 GB of memory, but"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game(_SMALL),
                                       max_bytes=10**18)
  with pytest.raises(ValueError, match=r"^max_bytes=1000000: must be at least "
                     r"\d{8}, what dudo"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game("dudo"),
                                       max_bytes=10**6)
  with pytest.raises(ValueError, match=r"^game=dudo.* needs 64\.4 GB of "
                     "memory, but .* choose fewer dice"):
    perfect_recall.PerfectRecallSolver(pyspiel.load_game("dudo(numdice=20)"))


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


def test_growth_in_little_memory_depends_on_no_threads():
  found = []
  for threads in (1, 3):
    solver = perfect_recall.PerfectRecallSolver(
        pyspiel.load_game("dudo(numdice=2)"), num_threads=threads,
        max_bytes=3 * 10**6, dtype="float64")
    solver.run(40)
    found.append((solver.memory_bytes, solver.tables(2, 2)))
  assert found[0][0] == found[1][0] > 0.75 * 3 * 10**6  # it is the limit
  for one, three in zip(found[0][1], found[1][1]):
    np.testing.assert_array_equal(one, three)


def test_tables_of_a_solver_are_copies():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(_SMALL), num_threads=1, dtype="float64")
  solver.run(3)
  tables = solver.tables(2, 1)
  before = [table.copy() for table in tables]
  solver.run(60)  # whose tables move in memory as they grow
  for ours, theirs in zip(tables, before):
    np.testing.assert_array_equal(ours, theirs)


def test_trees_leave_room_for_claims_that_gain_more_later(monkeypatch):
  monkeypatch.setattr(recall_solver, "FREE_SHARE", 0.8)

  def memory_taken(parts):
    monkeypatch.setattr(recall_solver, "ROOM_PARTS", parts)
    solver = perfect_recall.PerfectRecallSolver(
        pyspiel.load_game("dudo(numdice=2)"), num_threads=1,
        max_bytes=3 * 10**6, dtype="float64")
    solver.run(60)
    return solver.memory_bytes / (3 * 10**6)

  assert recall_solver.FREE_SHARE < memory_taken(40) < 0.95 < memory_taken(1)


def test_proposals_that_do_not_fit_are_those_that_gain_least():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  trainer = round_trainer.RecallTrainer(match, (2, 1), dtype=np.float64)
  trainer.set_values({(1, 1): -0.027})
  for _ in range(8):
    trainer.iterate()
    trainer.grow(10**9)
  lists = []
  for most in (10**4, 7):
    hands, tree = trainer.hands, trainer.tree
    size = int(tree.value_begin[-1])
    choices = best_response_kernels.Choices(np.zeros(size, np.int16),
                                       np.zeros(size, np.float32))
    found = np.zeros(most, expansion_kernels.PROPOSAL)
    args = (hands.arrays(np.float64), tree, trainer.tables.cumulative,
            best_response_kernels.Responder(0, *trainer.leaves[0], True),
            best_response_kernels.new_scratch(hands), choices)
    best_response_kernels.respond(*args)
    count = expansion_kernels.propose(*args, 1e-9, found)
    lists.append((count, found[:count]))
  (count, everything), (other, best) = lists
  assert count == other > 20 and len(best) == 7
  expected = np.sort(everything["gain"])[-7:]
  np.testing.assert_array_equal(np.sort(best["gain"]), expected)


@pytest.mark.slow
def test_a_checkpoint_is_for_one_process(tmp_path):
  path = tmp_path / "training.npz"
  with files.locked(f"{path}.lock"):
    helpers.assert_refused(
        "benchmark_perfect_recall.py", [f"--checkpoint={path}"],
        "must not be the file of another training that is running (process "
        f"{os.getpid()})")
  assert not path.exists()


def test_the_square_of_the_exploitability_bounds_growth():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  sizes = []
  for slope in (0.0, 1e-2):
    trainer = round_trainer.RecallTrainer(match, (2, 1), dtype=np.float64,
                                           growth_slope=slope)
    trainer.set_values({(1, 1): -0.027})
    for _ in range(8):
      trainer.iterate()
      trainer.grow(10**9)
    sizes.append(trainer.tree.num_nodes)
  assert sizes[0] > sizes[1] > 10


def test_answers_to_best_responses_are_stored():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  gaps, sizes = [], []
  for share in (np.inf, 0.1):
    trainer = round_trainer.RecallTrainer(
        match, (2, 1), dtype=np.float64, growth_slope=1e-2, answer_share=share)
    trainer.set_values({(1, 1): -0.027})
    for _ in range(60):
      trainer.iterate()
      responses = trainer.grow(10**9)
    gaps.append(0.5 * responses.sum())
    sizes.append(trainer.tree.num_nodes)
  assert sizes[1] > sizes[0] > 10
  assert gaps[1] < 0.9 * gaps[0]
