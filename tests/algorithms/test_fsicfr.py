import os
import signal
import threading
import time

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.dudo.imperfect_recall import match_solver
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.imperfect_recall import sweep_kernels
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.runtime import ram


def load(**parameters):
  return pyspiel.load_game("dudo", parameters)


def solver_of(game=None, **kwargs):
  game = game or load(numdice=2, dice_sides=2)
  return fsicfr.MatchSolver(game, **{"num_threads": 1, **kwargs})


def assert_same(one, two):
  for key in one.rounds:
    assert one.iterations(*key) == two.iterations(*key)
    for ours, theirs in zip(one.tables(*key), two.tables(*key)):
      assert np.array_equal(ours, theirs)
    if one.iterations(*key):
      assert one.value(*key) == two.value(*key)


def interrupt_sweep(monkeypatch, number):
  """Lets the user press Ctrl-C at the start of a sweep, counted from 1."""
  sweep, count = sweep_kernels.sweep, 0

  def interrupted(memory, *args):
    nonlocal count
    count += memory.num_claims > 0  # other sweeps only compile
    if count == number:
      raise KeyboardInterrupt
    sweep(memory, *args)

  monkeypatch.setattr(sweep_kernels, "sweep", interrupted)


@pytest.mark.slow
def test_rounds_that_train_apart_learn_the_same(monkeypatch, tmp_path):
  """With three dice each, (1, 3) and (2, 2) have equally many in play."""
  game = load(numdice=3, dice_sides=2)
  one, two = solver_of(game), solver_of(game)
  one.run(2)
  monkeypatch.setattr(match_solver, "SAVE_SECONDS", 1e-9)  # an iteration a job
  two.run(2, save_to=tmp_path, engine="local")
  assert_same(one, two)
  loaded = solver_of(game)
  loaded.load(tmp_path)
  assert_same(one, loaded)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray leaves files open
def test_rounds_that_train_on_a_cluster_learn_the_same():
  ray = pytest.importorskip("ray")
  game = load(numdice=3, dice_sides=2)
  one, two = solver_of(game), solver_of(game)
  ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False,
           object_store_memory=80_000_000)
  try:
    for _ in range(2):
      one.run(3)
      two.run(3, engine="ray")
  finally:
    ray.shutdown()
  assert_same(one, two)


@pytest.mark.slow
def test_rounds_that_train_apart_keep_to_their_time():
  solver = solver_of(load(numdice=3, dice_sides=2))
  solver.run(seconds=0.3, engine="local")
  assert 0.2 < solver.seconds < 2.0
  assert solver.iteration > 0
  assert -1.0 < solver.value(3, 3) < 1.0


def test_rounds_train_apart_only_on_engines_that_there_are():
  with pytest.raises(ValueError, match="engine='roy': must be one of"):
    solver_of().run(1, engine="roy")


@pytest.fixture(scope="module", name="one_die")
def _one_die():
  solvers = {recall: solver_of(load(numdice=1), recall_length=recall)
             for recall in (1, 2, 3, 5)}
  for solver in solvers.values():
    solver.run(iterations=1500)
  return solvers


# With one die each the starter's value is -7/258 (Neller & Lanctot 2013). Two
# players who forget equally much come close to it. With a short memory CFR need
# not converge: after thousands of iterations the value still wanders by about
# 0.002, and rounding, which differs between machines, decides its path.
@pytest.mark.slow
@pytest.mark.parametrize("recall, error", [(2, 0.008), (3, 0.008), (5, 0.003)])
def test_one_die_each_is_worth_what_it_should_be(one_die, recall, error):
  solver = one_die[recall]
  assert solver.value(1, 1) == pytest.approx(-7 / 258, abs=error)
  # This holds whatever the path: both values lie between what the starter gets
  # against a best response and what a best response gets as the starter.
  assert abs(solver.value(1, 1) + 7 / 258) < solver.nash_conv()


@pytest.mark.slow
def test_who_remembers_more_is_less_exploitable(one_die):
  game = load(numdice=1)
  measured = {recall: exploitability.exploitability(
      game, solver.average_policy()) for recall, solver in one_die.items()}
  assert measured[5] < 0.03 < measured[3] < 0.1 < measured[1]
  assert measured[2] < measured[1]


_MEMORIES = 1, 3, "claims1_ranks2", "claims2_ranks1", "player_ranks"
_RULES = (
    {"start_dice": "2v1", "dice_sides": 2},
    {"start_dice": "1v2", "dice_sides": 2, "die_loss": "one",
     "starting_player": 1},
    {"numdice": 1, "dice_sides": 3, "wild_ones": False},
    {"start_dice": "2v1", "dice_sides": 2, "exact_reward": False})


# The usual tests have every memory and every rule, but not all pairs.
@pytest.mark.parametrize("memory, parameters", [
    pytest.param(memory, parameters, marks=[pytest.mark.slow] * (
        (i + j) % len(_RULES) != 0 and parameters is not _RULES[2]))
    for i, memory in enumerate(_MEMORIES)
    for j, parameters in enumerate(_RULES)])
def test_values_are_those_of_the_real_game(parameters, memory):
  game = load(**parameters)
  solver = solver_of(game, memory=memory, dtype="float64")
  solver.run(iterations=20)
  policy = solver.average_policy()
  real = exploitability.expected_values(game, policy)
  starter = game.starting_player
  dice = game.start_dice[starter], game.start_dice[1 - starter]
  assert solver.value(*dice) == pytest.approx(real[starter], abs=1e-6)
  assert policy.values[dice] == solver.value(*dice)


def test_perfect_recall_gives_the_graph_solvers_iterates():
  game = load(numdice=1, dice_sides=3)
  match = solver_of(game, recall_length=6, hands_met="all", gamma=0.0,
                    dtype="float64")
  graph = fsicfr.FSICFRSolver(game, recall_length=6, deals="exact")
  for _ in range(5):
    match.run(iterations=3)
    graph.run(3)
    ours, theirs = match.average_policy(), graph.average_policy()
    stack = [game.new_initial_state()]
    while stack:
      state = stack.pop()
      if state.current_player() >= 0:
        expected = theirs.action_probabilities(state)
        actual = ours.action_probabilities(state)
        assert actual.keys() == expected.keys()
        for action, probability in expected.items():
          assert actual[action] == pytest.approx(probability, abs=1e-6)
      stack += [state.child(a) for a in state.legal_actions()]


@pytest.mark.slow
def test_more_training_makes_it_better():
  game = load(start_dice="2v1", dice_sides=2)
  solver = solver_of(game, hands_met=1)
  measured = []
  for iterations in (10, 100, 2000):
    solver.run(iterations=iterations, total=True)
    measured.append(exploitability.exploitability(game,
                                                  solver.average_policy()))
  assert measured[0] > measured[1] > measured[2]
  assert measured[2] < 0.02


def test_seeds_and_totals():
  solvers = [solver_of(seed=seed, hands_met=1) for seed in (1, 1, 2)]
  for solver in solvers:
    solver.run(iterations=6)
  assert_same(solvers[0], solvers[1])
  assert not np.array_equal(solvers[0].tables(2, 2).cumulative,
                            solvers[2].tables(2, 2).cumulative)
  solvers[0].run(iterations=6, total=True)
  assert_same(solvers[0], solvers[1])
  solvers[0].run(iterations=1)
  assert solvers[0].iterations(2, 2) == 7


def test_run_by_seconds_trains_every_round():
  solver = solver_of()
  solver.run(seconds=0.2)
  assert all(solver.iterations(*key) >= 1 for key in solver.rounds)
  assert 0.15 < solver.seconds < 1.0
  before = solver.iterations(2, 2)
  solver.run(seconds=0.2, total=True)
  assert solver.iterations(2, 2) == before


def test_seconds_are_kept_if_sweeps_are_slow(monkeypatch):
  sweep = sweep_kernels.sweep

  def slow(memory, *args):
    sweep(memory, *args)
    if memory.num_claims > 0:  # other sweeps only compile
      time.sleep(0.05)

  solver = solver_of()
  solver.run(iterations=1)  # loads kernels
  monkeypatch.setattr(sweep_kernels, "sweep", slow)
  begin = time.perf_counter()
  solver.run(seconds=1.0)
  assert 0.8 < time.perf_counter() - begin < 1.4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_saving_and_going_on_is_exact(tmp_path, dtype):
  part = solver_of(hands_met=2, dtype=dtype)
  part.run(iterations=3, save_to=tmp_path / "new" / "folder")
  rest = solver_of(hands_met=2, dtype=dtype)
  assert rest.is_saved_in(tmp_path / "new" / "folder")
  rest.load(tmp_path / "new" / "folder")
  assert_same(part, rest)
  rest.run(iterations=5, total=True, save_to=tmp_path / "new" / "folder")
  part.run(iterations=5, total=True)
  assert_same(part, rest)
  again = solver_of(hands_met=2, dtype=dtype)
  again.load(tmp_path / "new" / "folder")
  assert_same(rest, again)
  assert len(os.listdir(tmp_path / "new" / "folder")) == 4


def test_a_run_that_was_interrupted_goes_on_as_if_it_were_not(tmp_path,
                                                              monkeypatch):
  whole = solver_of(hands_met=2)
  whole.run(iterations=7)
  part = solver_of(hands_met=2)
  interrupt_sweep(monkeypatch, 17)  # half an iteration of (1, 2) and (2, 1)
  with pytest.raises(KeyboardInterrupt):
    part.run(iterations=7, save_to=tmp_path)
  monkeypatch.undo()
  assert part.iterations(1, 2) == part.iterations(2, 1) + 1 == 5
  part.save(tmp_path)
  rest = solver_of(hands_met=2)
  rest.load(tmp_path)
  with pytest.raises(ValueError, match="not trained yet"):
    rest.value(2, 2)
  rest.run(iterations=7, total=True)
  assert_same(whole, rest)


def test_an_interrupt_does_not_wait_for_a_long_sweep(monkeypatch):
  whole, part = solver_of(), solver_of()
  whole.run(4)
  sweep, count = sweep_kernels.sweep, 0
  goes_on = threading.Event()

  def interrupted(memory, *args):
    nonlocal count
    count += memory.num_claims > 0
    if count == 3:
      os.kill(os.getpid(), signal.SIGINT)
      assert goes_on.wait(60.0)  # the interrupt comes first
    sweep(memory, *args)

  monkeypatch.setattr(sweep_kernels, "sweep", interrupted)
  monkeypatch.setattr(pair_trainer, "LONG_SECONDS", -1.0)
  with pytest.raises(KeyboardInterrupt):
    part.run(4)
  threading.Timer(0.1, goes_on.set).start()
  assert part.iterations(1, 1) == 3  # waits until the sweep has ended
  part.run(4, total=True)
  assert_same(whole, part)


def test_errors_of_long_sweeps_are_raised(monkeypatch):

  def fail(*args):
    raise RuntimeError("in a thread")

  monkeypatch.setattr(pair_trainer, "LONG_SECONDS", -1.0)
  solver = solver_of()
  monkeypatch.setattr(sweep_kernels, "sweep", fail)
  with pytest.raises(RuntimeError, match="in a thread"):
    solver.run(1)
  assert solver.iteration == 0


def test_a_save_that_fails_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
  solver = solver_of()
  solver.run(iterations=2, save_to=tmp_path)
  before = solver_of()
  before.load(tmp_path)
  save = checkpoint.save

  def failing(path, kind, header, arrays):
    if str(path).endswith("match.npz"):
      raise OSError("disk full")
    save(path, kind, header, arrays)

  monkeypatch.setattr(checkpoint, "save", failing)
  with pytest.raises(OSError, match="disk full"):
    solver.run(iterations=2, save_to=tmp_path)
  monkeypatch.undo()
  after = solver_of()
  after.load(tmp_path)
  assert_same(before, after)


def test_saves_on_the_way(tmp_path, monkeypatch):
  monkeypatch.setattr(match_solver, "SAVE_SECONDS", 0.0)
  interrupt_sweep(monkeypatch, 19)  # the fourth of (2, 2)
  with pytest.raises(KeyboardInterrupt):
    solver_of().run(iterations=5, save_to=tmp_path)
  rest = solver_of()
  rest.load(tmp_path)
  assert rest.iterations(2, 1) == 5
  assert 1 <= rest.iterations(2, 2) <= 3


def test_values_are_never_out_of_date(monkeypatch):
  solver = solver_of(hands_met=1)
  solver.run(iterations=3)
  before = solver.value(2, 1)
  interrupt_sweep(monkeypatch, 27)  # of (1, 2)
  with pytest.raises(KeyboardInterrupt):
    solver.run(iterations=20)
  monkeypatch.undo()
  assert solver.iterations(1, 1) == 23
  assert solver.iterations(1, 2) == 6
  assert set(solver.average_policy().values) == {(1, 1)}
  game = load(start_dice="2v1", dice_sides=2)
  real = exploitability.expected_values(game, solver.average_policy())
  assert solver.value(2, 1) == pytest.approx(real[0], abs=1e-6)
  assert solver.value(2, 1) != before
  assert set(solver.average_policy().values) == {(1, 1), (1, 2), (2, 1)}
  solver.run(iterations=3, total=True)  # only computes values
  assert set(solver.average_policy().values) == set(solver.rounds)


def test_saving_keeps_what_is_not_its_own(tmp_path):
  for name in ("5dice.npz", "notes.txt", "1v1-7.npz.0.part"):
    (tmp_path / name).write_text("mine")
  solver = solver_of()
  solver.run(iterations=1, save_to=tmp_path)
  names = {path.name for path in tmp_path.iterdir()}
  assert {"5dice.npz", "notes.txt"} <= names
  assert "1v1-7.npz.0.part" not in names  # left by a process that died
  other = solver_of(seed=5)
  with pytest.raises(ValueError, match="has a training that this solver"):
    other.run(iterations=1, save_to=tmp_path)


def test_a_damaged_round_leaves_the_solver_as_new(tmp_path):
  solver = solver_of()
  solver.run(iterations=2, save_to=tmp_path)
  solver.load(tmp_path)
  (tmp_path / "2v2-2.npz").write_bytes(b"nonsense")
  other = solver_of()
  with pytest.raises(ValueError, match="2v2-2.npz.*must be a whole file"):
    other.load(tmp_path)
  assert other.iteration == 0
  other.run(iterations=2)
  assert_same(other, solver)
  (tmp_path / "2v2-2.npz").unlink()
  with pytest.raises(ValueError, match="2v2-2.npz.*must be a whole file"):
    other.load(tmp_path)


def test_tables_are_read_only():
  solver = solver_of()
  tables = solver.tables(1, 2)
  assert tables.regret.shape == solver.match.table_shape((1, 2))
  with pytest.raises(ValueError, match="read-only"):
    tables.cumulative[:] = 1.0
  solver.run(iterations=1)
  assert tables.cumulative.any()
  with pytest.raises(ValueError, match="own_dice=3"):
    solver.tables(3, 3)


@pytest.mark.parametrize("parameters", [
    {"start_dice": "2v1", "dice_sides": 2},
    {"start_dice": "1v2", "dice_sides": 2, "starting_player": 1},
    {"start_dice": "2v1", "dice_sides": 2, "starting_player": 1},
])
def test_expected_values_and_exploitability_are_those_of_the_game(parameters):
  game = load(**parameters)
  solver = solver_of(game, dtype="float64")
  solver.run(iterations=20)
  policy = solver.average_policy()
  np.testing.assert_allclose(
      solver.expected_values(), exploitability.expected_values(game, policy),
      atol=1e-6)
  assert solver.nash_conv() == pytest.approx(
      exploitability.nash_conv(game, policy), abs=1e-7)
  assert solver.exploitability() == solver.nash_conv() / 2


def test_solve_reaches_its_target():
  solver = solver_of(load(start_dice="2v1", dice_sides=2))
  result = solver.solve(target_exploitability=0.02, max_iterations=5000)
  assert result.reason == "target"
  assert result.exploitability <= 0.02 < result.history[-2].exploitability
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())
  steps = [check.iteration for check in result.history]
  assert steps == [0, *(2**k for k in range(len(steps) - 1))]
  assert solver.iteration == result.iterations


def test_solve_is_the_same_for_the_same_limits():
  one, two, other = solver_of(), solver_of(num_threads=2), solver_of()
  result = one.solve(max_iterations=5)
  assert result.reason == "iterations"
  assert [check.iteration for check in result.history] == [0, 1, 2, 4, 5]
  assert two.solve(max_iterations=5).values == result.values
  assert_same(one, two)
  for iterations in (1, 2, 4, 5):
    other.run(iterations, total=True)
  assert_same(one, other)


def test_solve_by_seconds():
  solver = solver_of()
  solver.run(iterations=1)  # compiles
  result = solver.solve(max_seconds=1.0)
  assert result.reason == "seconds"
  assert 0.8 < result.seconds < 5.0
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())


def test_an_interrupted_solve_measures_what_was_learned(monkeypatch):
  solver = solver_of()
  # Checks after 1, 2, and 4 iterations, 4 sweeps each; the last one is cut.
  interrupt_sweep(monkeypatch, 11)
  result = solver.solve(max_iterations=100)
  monkeypatch.undo()
  assert result.reason == "interrupted"
  assert result.iterations == 2
  assert solver.iterations(1, 1) == 4
  assert result.exploitability == solver.exploitability()
  assert result.values == tuple(solver.expected_values())
  solver.run(iterations=4, total=True)
  assert solver.iteration == 4


def test_large_matches_cannot_be_measured_exactly():
  solver = solver_of(load(start_dice="4v3"), recall_length=1)
  for call in (solver.nash_conv, solver.exploitability,
               lambda: solver.solve(max_iterations=1)):
    with pytest.raises(ValueError, match=(
        r"^game=.*: starts with 7 dice .* at most 6.*match_bounds\(solver")):
      call()
  assert solver.iteration == 0


def test_best_responses_to_uniform_play_are_for_small_matches_only():
  solver = solver_of(load(start_dice="3v2", dice_sides=2))
  with pytest.raises(ValueError, match="^game=.*trained 0 iterations.*run"):
    solver.nash_conv()
  result = solver.solve(max_iterations=4)
  assert [check.iteration for check in result.history] == [2, 3, 4]
  assert result.exploitability == solver.exploitability()


def test_one_iteration_and_the_current_policy():
  solver = solver_of(load(numdice=1, dice_sides=2))
  solver.run(iterations=0)
  assert solver.iteration == 0
  state = solver.game.new_initial_state()
  for _ in range(2):
    state.apply_action(0)
  uniform = dict.fromkeys(range(4), 0.25)
  assert solver.current_policy().action_probabilities(state) == uniform
  solver.evaluate_and_update_policy()
  assert solver.iteration == 1
  assert solver.current_policy().action_probabilities(state) != uniform
  assert solver.average_policy().action_probabilities(state) == pytest.approx(
      uniform)


def test_two_do_not_save_to_one_folder(tmp_path):
  first = solver_of()
  first.run(iterations=1, save_to=tmp_path)
  second = solver_of()
  second.load(tmp_path)
  second.run(iterations=1, save_to=tmp_path)
  with pytest.raises(ValueError, match="another process has written"):
    first.save(tmp_path)
  second.run(iterations=1, save_to=tmp_path)


def test_loading_what_does_not_fit(tmp_path):
  solver = solver_of(seed=1)
  solver.run(iterations=1, save_to=tmp_path)
  for other, message in [
      (solver_of(seed=2), "seed=1; must be 2"),
      (solver_of(seed=1, recall_length=2), "recall_length=3; must be 2"),
      (solver_of(seed=1, memory="player_ranks"),
       "memory=None; must be player_ranks"),
      (solver_of(load(numdice=1, dice_sides=2), seed=1), "game=.*must be"),
      (solver_of(seed=1, dtype="float64"), "dtype=float32; must be float64")]:
    with pytest.raises(ValueError, match=message):
      other.load(tmp_path)
  with pytest.raises(FileNotFoundError):
    solver.load(tmp_path / "nowhere")


def test_loads_what_older_versions_saved(tmp_path):
  solver = solver_of(gamma=2.0)
  solver.run(iterations=2, save_to=tmp_path)
  header, arrays = checkpoint.load(tmp_path / "match.npz", "match_solver")
  assert arrays["states"].shape == (4, 3)
  header["power"] = header.pop("gamma")
  checkpoint.save(tmp_path / "match.npz", header.pop("kind"), header, arrays)
  other = solver_of(gamma=2.0)
  other.load(tmp_path)
  assert_same(solver, other)
  with pytest.raises(ValueError, match="gamma=2.0; must be 1.0"):
    solver_of().load(tmp_path)


def test_memory_is_known_before_and_refused(monkeypatch):
  game = load(numdice=2)
  needed = fsicfr.memory_needed(game, 3, 1)
  assert solver_of(game).memory_bytes == needed
  assert 5e9 < fsicfr.memory_needed(load(), 3) < 8e9
  ir = pyspiel.load_game("dudo_ir(numdice=2,recall_length=2)")
  assert fsicfr.memory_needed(ir, 3, 1) < needed
  assert (solver_of(game, memory="claims2_ranks1").memory_bytes < needed <
          fsicfr.memory_needed(game, num_threads=1, memory="claims2_ranks2"))
  monkeypatch.setattr(ram, "available_bytes", lambda: needed - 1)
  with pytest.raises(ValueError, match="recall_length=3: .*GB are available"):
    solver_of(game)
  with pytest.raises(ValueError, match="memory='player_ranks': .*GB are avail"):
    solver_of(game, memory="player_ranks")


@pytest.mark.parametrize("kwargs, message", [
    ({"recall_length": 0}, "recall_length=0"),
    ({"memory": "ranks"}, "memory='ranks': must be .*claims2_ranks2"),
    ({"seed": -1}, "seed=-1"),
    ({"num_threads": 0}, "num_threads=0"),
    ({"hands_met": "some"}, "hands_met='some'"),
    ({"hands_met": 0}, "hands_met=0"),
    ({"gamma": -1}, "gamma=-1"), ({"gamma": 5}, "gamma=5"),
    ({"dtype": "int8"}, "dtype='int8'"),
])
def test_wrong_arguments(kwargs, message):
  with pytest.raises(ValueError, match=message):
    solver_of(**kwargs)


@pytest.mark.parametrize("name", ["dudo(players=3)", "liars_dice",
                                  "dudo_single_round"])
def test_other_games_are_refused(name):
  with pytest.raises(ValueError, match="must be dudo or dudo_ir"):
    solver_of(pyspiel.load_game(name))


def test_wrong_calls():
  solver = solver_of()
  for kwargs in ({}, {"iterations": 1, "seconds": 1}):
    with pytest.raises(ValueError, match="one of them must be given"):
      solver.run(**kwargs)
  with pytest.raises(ValueError, match="iterations=-1"):
    solver.run(iterations=-1)
  with pytest.raises(ValueError, match="seconds=-1"):
    solver.run(seconds=-1)
  with pytest.raises(ValueError, match="opponent_dice=3: must be a round"):
    solver.value(1, 3)
  with pytest.raises(ValueError, match="total=2: must be"):
    solver.run(iterations=1, total=2)
  with pytest.raises(ValueError, match="^own_dice=1.*not trained yet; call"):
    solver.value(1, 1)


def test_before_training_both_play_uniformly():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3,starting_player=1)")
  uniform = policy_lib.UniformRandomPolicy(game)
  assert solver_of(game).expected_values() == pytest.approx(
      exploitability.expected_values(game, uniform), abs=1e-6)


def test_the_recall_length_of_an_ir_game_is_its_own():
  game = pyspiel.load_game("dudo_ir(numdice=1,recall_length=2)")
  assert solver_of(game).match.abstraction.name == "claims2"
  assert solver_of(game, memory="claims1_ranks1").match.abstraction.name == (
      "claims1_ranks1")
  for memory in ("claims2_ranks1", "player_ranks"):
    with pytest.raises(ValueError, match=f"memory='{memory}': .*last 2 claims"):
      solver_of(game, memory=memory)
    with pytest.raises(ValueError, match=f"memory='{memory}': .*last 2 claims"):
      fsicfr.memory_needed(game, memory=memory)


@pytest.mark.parametrize("memory, same", [
    ("claims3", {"recall_length": 3}),
    ("claims2_ranks2", {"memory": fsicfr.LastClaims(2, ranks=2)}),
    ("player_ranks", {"memory": fsicfr.PlayerRanks()})])
def test_a_memory_goes_by_its_name_or_as_an_object(memory, same, tmp_path):
  one, two = solver_of(memory=memory), solver_of(**same)
  one.run(3, save_to=tmp_path)
  two.load(tmp_path)
  assert_same(one, two)
  one.run(2)
  two.run(2)
  assert_same(one, two)
