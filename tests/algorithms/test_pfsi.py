import itertools

import graph_helpers
import numpy as np
from oracles import pfsi_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.graphs import decision_kernels
from dudo_spiel.algorithms.graphs import fsi_kernels
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import ram

pytestmark = pytest.mark.oracle

_GAMES = [
    "players=2,numdice=2,dice_sides=2,claim_window=3,max_amount=3",
    "players=3,numdice=1,dice_sides=2,claim_window=3,max_amount=2",
    "players=3,numdice=1,dice_sides=3,claim_window=2,max_amount=1",
    "players=4,numdice=1,dice_sides=2,claim_window=2,max_amount=1",
    "players=2,numdice=1,dice_sides=5,claim_window=9,max_amount=1",
]
_MANY = "players=5,numdice=1,dice_sides=2,claim_window=1,max_amount=1"

# No probability that comes up equals a threshold, or rounding would decide.
_PRUNING = {"reach_threshold": 0.0831, "flag_probability": 0.6,
            "action_threshold": 0.2137}


@pytest.mark.oracle
@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
@pytest.mark.parametrize("parameters", _GAMES)
@pytest.mark.parametrize("learning", [{"gamma": 0.0},
                                      {"tremble": 0.2, "gamma": 1.5}])
def test_fsi_is_the_oracles(parameters, abstraction, learning):
  game = graph_helpers.load(parameters, abstraction)
  solver = pfsi.FSISolver(game, seed=3, dtype="float64", num_threads=1,
                          **learning)
  oracle = graph_helpers.SingleRoundOracle(game, **learning)
  for iteration in range(1, 13):
    solver.evaluate_and_update_policy()
    oracle.iterate(graph_helpers.dealt_chooser(solver, iteration))
    graph_helpers.assert_same_tables(solver, oracle)


@pytest.mark.oracle
def test_many_players_and_no_memory_are_the_oracles():
  game = graph_helpers.load(_MANY, recall_length=0)
  solver = pfsi.FSISolver(game, seed=3, dtype="float64", num_threads=1)
  oracle = graph_helpers.SingleRoundOracle(game, gamma=1.0)
  for iteration in range(1, 4):
    solver.run(1)
    oracle.iterate(graph_helpers.dealt_chooser(solver, iteration))
    graph_helpers.assert_same_tables(solver, oracle)


@pytest.mark.slow
def test_float32_is_nearly_float64():
  game = graph_helpers.load(_GAMES[1])
  single, double = (pfsi.FSISolver(game, seed=3, gamma=5.0, num_threads=1,
                                   dtype=dtype) for dtype in (None, "float64"))
  for solver in (single, double):
    solver.run(12)
  assert single.tables.regret.dtype == np.float32
  scale = double.tables.cumulative.max()
  assert scale > 0.0
  np.testing.assert_allclose(single.tables.cumulative / scale,
                             double.tables.cumulative / scale, atol=1e-4)
  np.testing.assert_allclose(single.tables.regret, double.tables.regret,
                             atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_threshold_is_too_small_to_prune(dtype):
  settings = np.zeros(3, fsi_kernels.SETTINGS)
  settings["reach_threshold"] = 0.0, 1e-320, 0.25
  plan = graph_kernels.IterationPlan(
      np.uint64(0), np.arange(3), np.zeros((3, 2), np.int64), settings,
      np.array([0, 3]))
  for i, is_above in enumerate((False, True, True)):
    typed = fsi_kernels.iteration_settings(plan, i, np.zeros(1, dtype))
    assert (typed.reach_threshold > 0.0) == is_above
    assert typed.reach_threshold >= settings["reach_threshold"][i]


def test_tiny_regrets_make_strategies():
  regret = np.array([1e-40, 0.0, 3e-40, -1.0], np.float32)
  out = np.zeros(4, np.float32)
  set_kernels.match_regrets(regret, 0, out, 0, 4, np.float32(0), np.float32(1))
  np.testing.assert_allclose(out, [0.25, 0.0, 0.75, 0.0], rtol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("depth, tremble", [(0, 0.0), (1, 0.0), (3, 0.0),
                                            (1, 0.1)])
@pytest.mark.parametrize("parameters, abstraction", [
    *itertools.product(_GAMES, ["wait_type_recall"]),
    (_MANY, "no_recall"), (_GAMES[1], "no_recall"),
    (_GAMES[1], "type_recall")])
def test_pfsi_is_the_oracles(parameters, abstraction, depth, tremble):
  game = graph_helpers.load(parameters, abstraction)
  seed = 7  # one at which no regrets cancel, or rounding would decide
  solver = pfsi.PFSISolver(game, depth, seed=seed, tremble=tremble,
                           dtype="float64", num_threads=1, **_PRUNING)
  full = pfsi.FSISolver(game, seed=seed, tremble=tremble, dtype="float64",
                        num_threads=1)
  oracle = graph_helpers.SingleRoundOracle(game, tremble=tremble, gamma=1.0)
  for iteration in range(1, 13):
    solver.run(1)

    def flag_number(state, iteration=iteration):
      node, heap = graph_helpers.node_and_heap(solver.graph, state)
      return decision_kernels.flag_number(
          np.uint64(seed), iteration, solver.graph.num_players, node, heap)

    oracle.iterate(graph_helpers.dealt_chooser(solver, iteration), flag_number,
                   depth=depth, **_PRUNING)
    graph_helpers.assert_same_tables(solver, oracle)
  full.run(12)
  assert not np.allclose(full.tables.regret, solver.tables.regret)


@pytest.mark.oracle
@pytest.mark.parametrize("name, pruning", [
    ("kuhn_poker(players=3)", {}), ("kuhn_poker", {}), ("leduc_poker", {}),
    pytest.param("dudo(players=3,numdice=1,dice_sides=2)", {},
                 marks=pytest.mark.slow),
    ("dudo_ir(players=3,numdice=1,dice_sides=2)", {}),
    ("kuhn_poker(players=3)", {"reach_threshold": 0.3137, "depth": 1,
                               "flag_probability": 1.0,
                               "action_threshold": 0.2519})])
def test_walked_games_are_the_oracles(name, pruning):
  game = pyspiel.load_game(name)
  make = pfsi.PFSISolver if pruning else pfsi.FSISolver
  solver = make(game, seed=1, tremble=0.1, **pruning)
  oracle = pfsi_oracle.Oracle(game, pfsi_oracle.walked_set,
                              pfsi_oracle.history_key, tremble=0.1, gamma=1.0)
  for iteration in range(1, 4 if name == "leduc_poker" else 11):
    solver.run(1)
    oracle.iterate(graph_helpers.walked_chooser(solver.graph, 1, iteration),
                   lambda state: 0.0, **pruning)
  graph_helpers.assert_same_walked_tables(solver, oracle)


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice_ir(dice_sides=3)",
                                  "leduc_poker"])
def test_fsi_of_two_players_is_fsicfr(name):
  game = pyspiel.load_game(name)
  first = pfsi.FSISolver(game, gamma=0.0, seed=2)
  second = fsicfr.FSICFRSolver(game, seed=2)
  first.run(200)
  second.run(200)
  assert first.average_policy().distance(second.average_policy()) < 1e-9
  assert first.current_policy().distance(second.current_policy()) < 1e-9


@pytest.mark.parametrize("off", [
    {"reach_threshold": 0.0}, {"flag_probability": 0.0, "reach_threshold": 1.0},
    {"reach_threshold": lambda iteration: 0.0}])
def test_pfsi_without_pruning_is_fsi(off):
  game = graph_helpers.load(_GAMES[1])
  full = pfsi.FSISolver(game, dtype="float64", num_threads=1)
  pruned = pfsi.PFSISolver(game, dtype="float64", num_threads=1, **off)
  full.run(100)
  pruned.run(100)
  np.testing.assert_allclose(pruned.tables.regret, full.tables.regret,
                             atol=1e-9)
  np.testing.assert_allclose(pruned.tables.cumulative,
                             full.tables.cumulative, atol=1e-9)


def test_schedule_ends_as_fsi():
  schedule = pfsi.PruningSchedule(100, first=1e-2, last=1e-6)
  thresholds = [schedule(i) for i in range(1, 103)]
  assert thresholds[0] == 1e-2 and thresholds[-1] == 0.0
  assert all(a > b for a, b in zip(thresholds[:100], thresholds[1:101]))
  assert thresholds[99] == pytest.approx(1e-6)
  solver = pfsi.PFSISolver(graph_helpers.load(_GAMES[0]),
                           reach_threshold=schedule, dtype="float64",
                           num_threads=1)
  solver.run(10)
  settings = solver.settings([1, 200])
  assert settings["reach_threshold"].tolist() == [1e-2, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize("make", [
    pfsi.FSISolver, lambda game, **kwargs: pfsi.PFSISolver(game, **_PRUNING,
                                                           **kwargs)])
def test_threads_do_not_change_the_result(make):
  game = pyspiel.load_game("dudo_single_round(numdice=2,max_amount=4)")
  one, two = (make(game, num_threads=n, seed=4) for n in (1, 2))
  one.run(150)
  two.run(70)
  two.run(80)
  for first, second in zip(one.tables, two.tables):
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("make", [
    lambda game: pfsi.FSISolver(game, num_threads=1, dtype="float64"),
    lambda game: pfsi.PFSISolver(game, np.int64(4), num_threads=1,
                                 dtype="float64",
                                 reach_threshold=pfsi.PruningSchedule(9))
])
def test_goes_on_from_a_file(make, tmp_path):
  game = graph_helpers.load(_GAMES[1])
  whole, part, resumed = make(game), make(game), make(game)
  whole.run(20)
  part.run(7)
  part.save(tmp_path / "solver.npz")
  resumed.load(tmp_path / "solver.npz")
  resumed.run(13)
  assert resumed.iteration == 20
  for first, second in zip(whole.tables, resumed.tables):
    np.testing.assert_array_equal(first, second)
  with pytest.raises(ValueError, match="must be"):
    pfsi.FSISolver(game, seed=1).load(tmp_path / "solver.npz")


def test_what_does_not_fit_is_refused(monkeypatch):
  monkeypatch.setattr(ram, "available_bytes", lambda: 600_000_000)
  game = pyspiel.load_game("dudo_single_round")
  with pytest.raises(ValueError, match="game=dudo_single_round.*: its training"
                     " needs 0.7 GB of memory, but 0.6 GB"):
    pfsi.FSISolver(game, abstraction="wait_type_recall")


@pytest.mark.parametrize("make", [
    pfsi.PFSISolver,
    lambda game: pass_through.PrunedPassThroughSolver(game, dtype="float64")])
def test_large_games_are_refused_before_their_sets_are_listed(make,
                                                              monkeypatch):
  def listed(layout):
    raise AssertionError(f"{layout.game}: its information sets were listed")

  monkeypatch.setattr(single_round_layout.SetLayout, "_find_situations", listed)
  monkeypatch.setattr(ram, "available_bytes", lambda: 10**11)
  game = pyspiel.load_game("dudo_single_round(players=4,dice_sides=13)")
  with pytest.raises(ValueError, match="its training needs 648.9 GB of memory"):
    make(game)


@pytest.mark.parametrize("call, message", [
    (lambda game: pfsi.FSISolver("dudo"), "game='dudo'"),
    (lambda game: pfsi.FSISolver(game, seed=-1), "seed=-1"),
    (lambda game: pfsi.FSISolver(game, dtype="int"), "dtype='int'"),
    (lambda game: pfsi.FSISolver(game, tremble=1.0), "tremble=1.0"),
    (lambda game: pfsi.FSISolver(game, gamma=-1), "gamma=-1"),
    (lambda game: pfsi.FSISolver(game, num_threads=0), "num_threads=0"),
    (lambda game: pfsi.FSISolver(game, abstraction="x"), "abstraction='x'"),
    (lambda game: pfsi.PFSISolver(game, depth=-1), "depth=-1"),
    (lambda game: pfsi.PFSISolver(game, flag_probability=2),
     "flag_probability=2"),
    (lambda game: pfsi.PFSISolver(game, reach_threshold=-1.0),
     "reach_threshold=-1.0"),
    (lambda game: pfsi.FSISolver(game).run(), "iterations=None"),
    (lambda game: pfsi.FSISolver(pyspiel.load_game("kuhn_poker"),
                                 abstraction="no_recall"), "abstraction="),
    (lambda game: pfsi.PFSISolver(pyspiel.load_game(
        "turn_based_simultaneous_game(game=matrix_pd())")),
     "reach_threshold=1e-20: must be 0"),
    (lambda game: pfsi.PruningSchedule(5, last=0.0), "last=0.0")])
def test_wrong_arguments(call, message):
  with pytest.raises(ValueError, match=message):
    call(graph_helpers.load(_GAMES[0]))
