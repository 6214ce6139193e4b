import functools
import os
import signal
import threading

import helpers
import numpy as np
from oracles import fsicfr_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.runtime import archives

pytestmark = pytest.mark.oracle


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


# Agreement with algorithm 2, step by step.


def _chooser(solver):
  """Returns choose(iteration, state); chance outcomes must be 0, 1, ..."""
  graph = solver.graph
  arrays = graph.arrays
  index = {node: i for i, node in enumerate(graph.chance_nodes.tolist())}

  def node_of(history):
    node = 0
    for action in history:
      if node not in index:
        s = np.searchsorted(graph.set_entry, arrays.entry[node], "right") - 1
        action = graph.set_actions[s].index(action)
      node = int(arrays.child[arrays.child_begin[node] + action])
    return node

  def choose(iteration, state):
    return int(outcomes(iteration)[index[node_of(state.history())]])

  outcomes = functools.cache(solver.chance_outcomes)
  return choose


def _assert_agree(solver, slow, iterations):
  """Runs both; compares all strategies after each iteration.

  Seeds are such that no tie between actions is left to rounding: the oracle
  takes means of regrets, the solver sums, and they round differently.
  """
  index = {key: i for i, key in enumerate(
      zip(solver.graph.set_player.tolist(), solver.graph.info_states))}
  begin = solver.graph.set_entry
  for _ in range(iterations):
    solver.evaluate_and_update_policy()
    slow.iterate()
    for policy, expected in ((solver.current_policy(), slow.current()),
                             (solver.average_policy(), slow.average())):
      # Uniform, where the oracle has not been yet.
      full = 1.0 / np.repeat(np.diff(begin), np.diff(begin))
      for key, row in expected.items():
        i = index[key]
        assert tuple(row) == solver.graph.set_actions[i]
        full[begin[i]:begin[i + 1]] = list(row.values())
      np.testing.assert_allclose(policy.probabilities, full, rtol=0, atol=1e-9)
  assert solver.iteration == slow.iteration == iterations


@pytest.mark.oracle
@pytest.mark.parametrize("game,key,iterations", [
    ("liar_die(sides=3)", fsicfr_oracle.history_key, 30),
    ("liar_die(sides=4)", fsicfr_oracle.history_key, 20),
    ("liar_die_ir(sides=3)", fsicfr_oracle.liar_die_key, 30),
    ("liar_die_ir(sides=5)", fsicfr_oracle.liar_die_key, 30),
])
def test_liar_die_agrees_with_the_oracle(game, key, iterations):
  game = _load(game)
  solver = fsicfr.FSICFRSolver(game, seed=5)
  slow = fsicfr_oracle.OracleFSICFR(game, key, _chooser(solver),
                                    count_visits=True)
  _assert_agree(solver, slow, iterations)


@pytest.mark.oracle
def test_unmerged_histories_agree_too():
  game = _load("liar_die_ir(sides=4)")
  solver = fsicfr.FSICFRSolver(game, seed=4)
  slow = fsicfr_oracle.OracleFSICFR(game, fsicfr_oracle.history_key,
                                    _chooser(solver), count_visits=True)
  _assert_agree(solver, slow, 30)


@pytest.mark.oracle
@pytest.mark.parametrize("match,recall_length,iterations,count_visits", [
    ("start_dice=1v1,dice_sides=4", 1, 30, True),
    ("start_dice=1v1,dice_sides=4", 2, 30, True),
    ("start_dice=1v1,dice_sides=4", 3, 20, True),
    ("start_dice=1v2,dice_sides=2", 1, 20, False),
    ("start_dice=1v2,dice_sides=2", 2, 20, False),
    # Both ways to begin the round of 1v1 are sampled, often with the same roll.
    ("start_dice=1v2,dice_sides=2", 3, 30, False),
    ("start_dice=2v1,dice_sides=2", 2, 20, False),
    ("start_dice=2v1,dice_sides=2,die_loss=one,exact_reward=False", 2, 20,
     False),
])
def test_dudo_agrees_with_the_oracle(match, recall_length, iterations,
                                     count_visits):
  solver = fsicfr.FSICFRSolver(_load(f"dudo({match})"), recall_length, seed=5)
  slow = fsicfr_oracle.OracleFSICFR(solver.graph.game, fsicfr_oracle.dudo_key,
                                    _chooser(solver), count_visits)
  _assert_agree(solver, slow, iterations)


# All deals at once: CFR with simultaneous updates.


@pytest.mark.oracle
@pytest.mark.parametrize("game", [
    "kuhn_poker", "leduc_poker", "neumann_poker(num_ranks=5)",
    "liars_dice_ir(dice_sides=3)"])
def test_exact_deals_are_cfr(game):
  game = _load(game)
  ours = fsicfr.FSICFRSolver(game, deals="exact")
  theirs = cfr.CFRSolver(game, alternating=False)
  for _ in range(30):
    ours.run(1)
    theirs.run(1)
    assert ours.average_policy().distance(theirs.average_policy()) < 1e-9
    assert ours.current_policy().distance(theirs.current_policy()) < 1e-9
  np.testing.assert_allclose(ours.expected_values(), theirs.expected_values(),
                             rtol=0, atol=1e-9)
  assert ours.nash_conv() == pytest.approx(theirs.nash_conv(), abs=1e-9)
  assert ours.exploitability() == pytest.approx(theirs.exploitability(),
                                                abs=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("game", [
    "liar_die(sides=4)", "liar_die_ir(sides=4)", "kuhn_poker",
    "dudo_ir(start_dice=2v1,dice_sides=2,recall_length=2)"])
def test_each_exact_iteration_is_one_of_cfr(game, tmp_path):
  # Some games have many ties, which rounding decides: so each iteration begins
  # with the same regrets.
  game = _load(game)
  ours = fsicfr.FSICFRSolver(game, deals="exact")
  theirs = cfr.CFRSolver(game, alternating=False)
  _, _, entries = theirs.compiled.entries_of_sets()
  assert ours.graph.info_states == theirs.compiled.tree.info_states

  def their_regrets():
    theirs.save(tmp_path / "solver.npz")
    _, arrays = helpers.load_file(tmp_path / "solver.npz", "solver")
    return arrays["regret"][entries]

  for _ in range(20):
    ours.tables.regret[:] = their_regrets()
    ours.run(1)
    theirs.run(1)
    np.testing.assert_allclose(ours.tables.regret, their_regrets(), rtol=0,
                               atol=1e-9)
    assert ours.average_policy().distance(theirs.average_policy()) < 1e-9
  np.testing.assert_allclose(ours.expected_values(), theirs.expected_values(),
                             rtol=0, atol=1e-9)


# Convergence.


@pytest.mark.parametrize("game,deals,iterations,bound", [
    ("kuhn_poker", "exact", 2000, 0.01),
    ("kuhn_poker", "sampled", 100_000, 0.01),
    ("leduc_poker", "exact", 1000, 0.05),
    ("liar_die(sides=4)", "exact", 1000, 0.01),
    ("liar_die(sides=4)", "sampled", 50_000, 0.02),
    ("liar_die_ir(sides=4)", "sampled", 100_000, 0.02),
    ("dudo(start_dice=1v1,dice_sides=3)", "exact", 2000, 0.01),
    ("dudo(start_dice=1v1,dice_sides=3)", "sampled", 50_000, 0.02),
])
def test_converges(game, deals, iterations, bound):
  game = _load(game)
  solver = fsicfr.FSICFRSolver(game, deals=deals)
  before = solver.exploitability()
  solver.run(iterations)
  after = exploitability.exploitability(game, solver.average_policy())
  assert after < bound < before
  assert solver.exploitability() == pytest.approx(after, abs=1e-12)
  np.testing.assert_allclose(
      solver.expected_values(),
      exploitability.expected_values(game, solver.average_policy()),
      rtol=0, atol=1e-12)


@pytest.mark.slow
def test_one_die_each_is_worth_what_is_known():
  solver = fsicfr.FSICFRSolver(_load("dudo(start_dice=1v1)"))
  solver.run(100_000)
  # See test_exact_values.py.
  assert solver.expected_values()[0] == pytest.approx(-7 / 258, abs=0.005)


def test_policies_play_the_unabstracted_game():
  game = _load("dudo(start_dice=1v2,dice_sides=2)")
  solver = fsicfr.FSICFRSolver(game, recall_length=2)
  solver.run(10)
  for policy in (solver.current_policy(), solver.average_policy()):
    assert isinstance(policy, policies.TablePolicy)
    state = game.new_initial_state()
    for action in (1, 1, 0, 1, 2):
      state.apply_action(action)
    row = policy.action_probabilities(state)
    assert list(row) == state.legal_actions()
    assert sum(row.values()) == pytest.approx(1.0)
    assert row == policy.at(1, "p1 roll:12 dice:2,1 claims:1x1,2x2")


# Chance.


def test_chance_outcomes_follow_their_probabilities():
  solver = fsicfr.FSICFRSolver(_load("dudo(start_dice=1v2,dice_sides=2)"), 1)
  number = 5_000
  outcomes = np.array([solver.chance_outcomes(t)
                       for t in range(1, number + 1)])
  arrays = solver.graph.arrays
  for column, node in zip(outcomes.T, solver.graph.chance_nodes):
    degree = arrays.child_begin[node + 1] - arrays.child_begin[node]
    first = arrays.entry[node]
    expected = number * arrays.chance[first:first + degree]
    counts = np.bincount(column, minlength=degree)
    # Chi squared: its mean is degree - 1, its variance twice that.
    chi_squared = np.sum((counts - expected)**2 / expected)
    assert abs(chi_squared - degree + 1) < 5 * np.sqrt(2 * degree)
  # Two chance nodes do not go together, nor do iterations.
  shares = np.argsort(np.argsort(outcomes, axis=0), axis=0)
  for a, b in ((shares[:, 0], shares[:, 1]), (shares[1:, 0], shares[:-1, 0])):
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(number)


def test_only_seed_and_iteration_decide_the_outcomes():
  game = _load("liar_die_ir(sides=3)")
  solver = fsicfr.FSICFRSolver(game, seed=2**64 - 1)
  before = [solver.chance_outcomes(t).tolist() for t in range(1, 6)]
  solver.run(7)
  assert before == [solver.chance_outcomes(t).tolist() for t in range(1, 6)]
  other = fsicfr.FSICFRSolver(game, seed=1)
  assert before != [other.chance_outcomes(t).tolist() for t in range(1, 6)]


@pytest.mark.parametrize("deals", ["sampled", "exact"])
def test_outcomes_without_probability_never_happen(deals):
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"), deals=deals)
  solver.graph.arrays.chance[:3] = 0.0, 1.0, 0.0  # the first card
  solver.run(100)
  policy = solver.average_policy()
  for card, is_dealt in (("0", False), ("1", True), ("2", False)):
    assert (policy.at(0, card)[0] != 0.5) == is_dealt
  if deals == "sampled":
    assert {int(solver.chance_outcomes(t)[0]) for t in range(1, 200)} == {1}


# One way to run.


@pytest.mark.parametrize("options", [
    {}, {"deals": "exact"}, {"dtype": "float32"},
    {"deals": "exact", "dtype": "float32"}])
@pytest.mark.parametrize("game", ["kuhn_poker",
                                  "dudo(start_dice=1v1,dice_sides=3)"])
def test_goes_on_exactly_from_a_file(game, options, tmp_path):
  path = tmp_path / "solver.npz"
  whole = fsicfr.FSICFRSolver(_load(game), **options)
  whole.run(70)
  first = fsicfr.FSICFRSolver(_load(game), **options)
  first.run(30)
  first.save(path)
  second = fsicfr.FSICFRSolver(_load(game), **options)
  second.run(3)
  second.load(path)
  assert second.iteration == 30
  for _ in range(40):
    second.evaluate_and_update_policy()
  assert second.iteration == whole.iteration == 70
  for ours, theirs in zip(second.tables, whole.tables):
    assert ours.dtype == options.get("dtype", "float64")
    np.testing.assert_array_equal(ours, theirs)


def test_results_do_not_depend_on_threads():
  solvers = [fsicfr.FSICFRSolver(_load("liar_die_ir(sides=4)"),
                                 num_threads=threads)
             for threads in (None, 1, 4)]
  for solver in solvers:
    solver.run(50)
    assert solver.average_policy().distance(solvers[0].average_policy()) == 0.0


def test_float32_is_close_to_float64():
  wide, narrow = (
      fsicfr.FSICFRSolver(_load("kuhn_poker"), dtype=dtype)
      for dtype in ("float64", "float32"))
  wide.run(200)
  narrow.run(200)
  assert narrow.average_policy().distance(wide.average_policy()) < 1e-3
  assert narrow.memory_bytes < wide.memory_bytes


def test_more_recall_than_there_are_claims_is_of_no_use():
  solvers = [fsicfr.FSICFRSolver(_load("dudo(start_dice=1v1,dice_sides=3)"),
                                 recall) for recall in (6, 2**31 - 1)]
  for solver in solvers:
    solver.run(20)
  assert solvers[0].average_policy().distance(
      solvers[1].average_policy()) == 0.0


def test_a_game_of_imperfect_recall_keeps_its_own_recall_length():
  solver = fsicfr.FSICFRSolver(
      _load("dudo_ir(start_dice=1v1,dice_sides=3,recall_length=1)"),
      recall_length=3)
  assert solver.graph.game is solver.game
  assert solver.current_policy().game.recall_length == 1


def _with_sentinels(solver):
  """Puts behind the last strategy and edge what an overrun reads: a NaN."""
  arrays, scratch = solver.graph.arrays, solver._scratch
  # Values are [node], or [thread, node, seat].
  sentinel_node = scratch.value.shape[min(1, scratch.value.ndim - 1)]

  def padded(array, extra, value):
    memory = np.full(array.size + extra, value, array.dtype)
    memory[:array.size] = array.ravel()
    return memory[:array.size].reshape(array.shape)

  solver.graph.arrays = arrays._replace(
      child=padded(arrays.child, scratch.strategy.size + 1, sentinel_node))
  solver._scratch = scratch._replace(
      strategy=padded(scratch.strategy, 1, 1.0),
      value=padded(scratch.value, 8, np.nan))


@pytest.mark.parametrize("make", [fsicfr.FSICFRSolver, pfsi.FSISolver])
def test_infinite_sums_of_regrets_read_no_further(make):
  """Sums of these regrets are infinite, so that no action is ever played."""
  solver = make(_load("kuhn_poker"), num_threads=1)
  _with_sentinels(solver)
  solver.tables.regret[:] = np.finfo(np.float64).max
  solver.run(20)
  assert np.all(np.isfinite(solver.tables.regret))


def test_nothing_run_is_uniform():
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"))
  solver.run(0)
  assert solver.iteration == 0
  assert set(solver.current_policy().probabilities) == {0.5}
  with pytest.warns(UserWarning, match="nothing is trained yet"):
    assert set(solver.average_policy().probabilities) == {0.5}


def test_an_interrupt_leaves_tables_and_count_in_step():
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"))
  solver.run(1)  # compiles
  timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
  timer.start()
  with pytest.raises(KeyboardInterrupt):
    solver.run(10**12)
  timer.join()
  plain = fsicfr.FSICFRSolver(_load("kuhn_poker"))
  plain.run(solver.iteration)
  for ours, theirs in zip(solver.tables, plain.tables):
    np.testing.assert_array_equal(ours, theirs)


# Errors.


@pytest.mark.parametrize("game,options,message", [
    ("kuhn_poker", {"recall_length": 0}, "recall_length=0: .* between 1 and"),
    ("kuhn_poker", {"recall_length": 1.5}, "recall_length=1.5: .*integer"),
    ("kuhn_poker", {"seed": -1}, "seed=-1: .* between 0 and"),
    ("kuhn_poker", {"num_threads": 0}, "num_threads=0: .* at least 1"),
    ("kuhn_poker", {"num_threads": "2"}, "num_threads='2': .*integer"),
    ("kuhn_poker", {"deals": "all"}, "deals='all': .*'sampled', 'exact'"),
    ("kuhn_poker", {"dtype": "float16"}, "dtype='float16': .*'float32'"),
    ("kuhn_poker(players=3)", {}, "game=.*has 3 players; must have 2"),
    ("dudo(players=3)", {}, "has 3 players; must have 2"),
    ("dudo_single_round(players=2,numdice=1)", {}, "must be ZERO_SUM"),
    *((game, {}, "^game=dudo_ir.*: has more .* histories.*fsicfr.MatchSolver")
      for game in ("dudo", "dudo(start_dice=1v2)", "dudo_ir(start_dice=2v2)")),
    ("matrix_mp", {}, "not sequential"),
])
def test_bad_arguments(game, options, message):
  with pytest.raises(ValueError, match=message):
    fsicfr.FSICFRSolver(_load(game), **options)


def test_other_bad_arguments():
  with pytest.raises(ValueError, match="game='kuhn_poker': .*pyspiel.Game"):
    fsicfr.FSICFRSolver("kuhn_poker")
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"), deals="exact")
  with pytest.raises(ValueError, match="deals='exact': .*'sampled'"):
    solver.chance_outcomes(1)
  with pytest.raises(ValueError, match="iterations=-1: "):
    solver.run(-1)
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"))
  with pytest.raises(ValueError, match="iteration=0: must be an integer"):
    solver.chance_outcomes(0)


@pytest.mark.parametrize("game,options,message", [
    ("liar_die_ir(sides=3)", {}, "game=kuhn_poker.*must be liar_die_ir"),
    ("kuhn_poker", {"seed": 1}, "parameters="),
    ("kuhn_poker", {"deals": "exact"}, "parameters="),
    ("kuhn_poker", {"dtype": "float32"}, "parameters="),
])
def test_files_of_other_solvers_are_refused(game, options, message, tmp_path):
  path = tmp_path / "solver.npz"
  fsicfr.FSICFRSolver(_load("kuhn_poker")).save(path)
  solver = fsicfr.FSICFRSolver(_load(game), **options)
  solver.run(5)
  regret = solver.tables.regret.copy()
  with pytest.raises(ValueError, match=f"was saved with {message}"):
    solver.load(path)
  np.testing.assert_array_equal(solver.tables.regret, regret)
  assert solver.iteration == 5


def test_a_file_of_another_class_is_refused(tmp_path):
  path = tmp_path / "solver.npz"
  cfr.CFRSolver(_load("kuhn_poker")).save(path)
  with pytest.raises(ValueError, match="solver=CFRSolver; must be FSICFR"):
    fsicfr.FSICFRSolver(_load("kuhn_poker")).load(path)


def test_files_with_another_fingerprint_or_none_are_refused(tmp_path):
  path = tmp_path / "solver.npz"
  solver = fsicfr.FSICFRSolver(_load("kuhn_poker"))
  solver.save(path)
  header, arrays = helpers.load_file(path, "solver")
  kind = header.pop("kind")
  fingerprint = header.pop("fingerprint")
  for wrong in ({}, {"fingerprint": fingerprint[::-1]}):
    archives.save(path, kind, {**header, **wrong}, arrays)
    with pytest.raises(ValueError, match="was saved with fingerprint="):
      solver.load(path)
