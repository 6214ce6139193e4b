import itertools

import numpy as np
import pfsi_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms.graphs import decision_kernels
from dudo_spiel.algorithms.graphs import fsi_workspace
from dudo_spiel.algorithms.graphs import fsicfr_solver
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.single_round import layout as single_round_layout

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


def load(parameters, abstraction="wait_type_recall", recall_length=2):
  return pyspiel.load_game(
      f"dudo_single_round_ir({parameters},abstraction={abstraction},"
      f"recall_length={recall_length})")


def place(graph, state):
  """Returns the node of a state and its number in the node's heap."""
  arrays, claims = graph.arrays, state.claim_list()
  node, last = 0, -1
  for i, claim in enumerate(claims):
    if i:
      node = arrays.child[arrays.child_begin[node]]  # all pass
    node = arrays.child[arrays.child_begin[node] + claim - last - 1]
    last = claim
  if state.phase() == "claim":
    return (arrays.child[arrays.child_begin[node]] if claims else node), 0
  heap, player = 1, (state.claimer() + 1) % graph.num_players
  while player != state.current_player():
    heap = 2 * heap + state.challenges(player)
    player = (player + 1) % graph.num_players
  return node, heap


def chooser(solver, iteration):
  """Returns which roll a chance node has in an iteration."""
  rolls = solver.rolls([iteration])[0]
  return lambda state: int(rolls[len(state.history())])


def assert_same_tables(solver, oracle, layout):
  """Asserts that all sets of the oracle are those of the solver."""
  game = solver.graph.game
  regret = solver._tables.regret.reshape(layout.num_rolls, -1)
  cumulative = solver._tables.cumulative.reshape(layout.num_rolls, -1)
  seen = np.zeros_like(regret, dtype=bool)
  for state in oracle.states.values():
    table = oracle.table(state)
    entry = layout.locate(state, state.current_player())
    roll = game.roll_table.index(state.hand(state.current_player()))
    span = slice(entry, entry + len(table.actions))
    np.testing.assert_allclose(regret[roll, span], list(table.regret.values()),
                               atol=1e-9)
    np.testing.assert_allclose(cumulative[roll, span],
                               list(table.cumulative.values()), atol=1e-9)
    seen[roll, span] = True
  assert np.all(regret[~seen] == 0.0)


class SingleRoundOracle(pfsi_oracle.Oracle):
  """Remembers a state of each set."""

  def __init__(self, game, **kwargs):
    self.states = {}

    def set_key(state):
      key = pfsi_oracle.single_round_set(state)
      self.states.setdefault(key, state)
      return key

    super().__init__(game, set_key, pfsi_oracle.single_round_node, **kwargs)


@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
@pytest.mark.parametrize("parameters", _GAMES)
@pytest.mark.parametrize("learning", [{"gamma": 0.0},
                                      {"tremble": 0.2, "gamma": 1.5}])
def test_fsi_is_the_oracles(parameters, abstraction, learning):
  game = load(parameters, abstraction)
  solver = pfsi.FSISolver(game, seed=3, dtype="float64", num_threads=1,
                          **learning)
  oracle = SingleRoundOracle(game, **learning)
  for iteration in range(1, 13):
    solver.evaluate_and_update_policy()
    oracle.iterate(chooser(solver, iteration))
    assert_same_tables(solver, oracle, solver.graph.layout)


def test_many_players_and_no_memory_are_the_oracles():
  game = load(_MANY, recall_length=0)
  solver = pfsi.FSISolver(game, seed=3, dtype="float64", num_threads=1)
  oracle = SingleRoundOracle(game, gamma=1.0)
  for iteration in range(1, 4):
    solver.run(1)
    oracle.iterate(chooser(solver, iteration))
    assert_same_tables(solver, oracle, solver.graph.layout)


def test_float32_is_nearly_the_oracles():
  game = load(_GAMES[1])
  single = pfsi.FSISolver(game, seed=3, gamma=5.0)
  double = pfsi.FSISolver(game, seed=3, gamma=5.0, dtype="float64")
  for solver in (single, double):
    solver.run(12)
  scale = double._tables.cumulative.max()
  assert scale > 0.0
  np.testing.assert_allclose(single._tables.cumulative / scale,
                             double._tables.cumulative / scale, atol=1e-4)
  np.testing.assert_allclose(single._tables.regret, double._tables.regret,
                             atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_threshold_is_too_small_to_prune(dtype):
  row = np.zeros(set_kernels.NUM_COMMON + fsi_workspace.NUM_PRUNING)
  for threshold, is_above in ((0.0, False), (1e-320, True), (0.25, True)):
    row[fsi_workspace.REACH] = threshold
    settings = fsi_workspace.typed_settings(row, np.zeros(1, dtype))
    assert (settings.reach > 0.0) == is_above
    assert settings.reach >= threshold


def test_tiny_regrets_make_strategies():
  regret = np.array([1e-40, 0.0, 3e-40, -1.0], np.float32)
  out = np.zeros(4, np.float32)
  set_kernels.match_regrets(regret, 0, out, 0, 4, np.float32(0), np.float32(1))
  np.testing.assert_allclose(out, [0.25, 0.0, 0.75, 0.0], rtol=1e-4)


@pytest.mark.parametrize("depth, tremble", [(0, 0.0), (1, 0.0), (3, 0.0),
                                            (1, 0.1)])
@pytest.mark.parametrize("parameters, abstraction", [
    *itertools.product(_GAMES, ["wait_type_recall"]),
    (_MANY, "no_recall"), (_GAMES[1], "no_recall"),
    (_GAMES[1], "type_recall")])
def test_pfsi_is_the_oracles(parameters, abstraction, depth, tremble):
  game = load(parameters, abstraction)
  seed = 7  # one at which no regrets cancel, or rounding would decide
  solver = pfsi.PFSISolver(game, depth, seed=seed, tremble=tremble,
                           dtype="float64", num_threads=1, **_PRUNING)
  full = pfsi.FSISolver(game, seed=seed, tremble=tremble, dtype="float64",
                        num_threads=1)
  oracle = SingleRoundOracle(game, tremble=tremble, gamma=1.0)
  for iteration in range(1, 13):
    solver.run(1)

    def flag_number(state, iteration=iteration):
      node, heap = place(solver.graph, state)
      return decision_kernels.flag_number(
          np.uint64(seed), iteration, solver.graph.num_players, node, heap)

    oracle.iterate(chooser(solver, iteration), flag_number, depth=depth,
                   **_PRUNING)
    assert_same_tables(solver, oracle, solver.graph.layout)
  full.run(12)
  assert not np.allclose(full._tables.regret, solver._tables.regret)


@pytest.mark.parametrize("name, pruning", [
    ("kuhn_poker(players=3)", {}), ("kuhn_poker", {}), ("leduc_poker", {}),
    ("dudo(players=3,numdice=1,dice_sides=2)", {}),
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
  iterations = 3 if name == "leduc_poker" else 10
  graph = solver.graph
  number = {key: i for i, key in enumerate(zip(graph.set_player.tolist(),
                                               graph.info_states))}
  for iteration in range(1, iterations + 1):
    solver.run(1)
    oracle.iterate(walked_chooser(solver, iteration), lambda state: 0.0,
                   **pruning)
  for key, table in oracle.tables.items():
    begin = graph.set_entry[number[key]]
    span = slice(begin, begin + len(table.actions))
    np.testing.assert_allclose(solver._tables.regret[span],
                               list(table.regret.values()), atol=1e-9)
    np.testing.assert_allclose(solver._tables.cumulative[span],
                               list(table.cumulative.values()), atol=1e-9)


def walked_chooser(solver, iteration):
  """Returns the outcome at a chance node that the solver's graph takes."""
  graph = solver.graph

  def choose(state):
    replay, node = graph.game.new_initial_state(), 0
    for action in state.history():
      legal = replay.legal_actions()
      node = graph.arrays.child[graph.arrays.child_begin[node] +
                                legal.index(action)]
      replay.apply_action(action)
    edge = fsicfr_solver.sampled_edge(graph.arrays, node,
                                   np.uint64(solver._seed), iteration)
    return state.legal_actions()[edge - graph.arrays.child_begin[node]]

  return choose


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice_ir(dice_sides=3)",
                                  "leduc_poker"])
def test_fsi_of_two_players_is_fsicfr(name):
  game = pyspiel.load_game(name)
  first = pfsi.FSISolver(game, gamma=0.0, seed=2)
  second = fsicfr_solver.FSICFRSolver(game, seed=2)
  first.run(200)
  second.run(200)
  assert first.average_policy().distance(second.average_policy()) < 1e-9
  assert first.current_policy().distance(second.current_policy()) < 1e-9


@pytest.mark.parametrize("off", [
    {"reach_threshold": 0.0}, {"flag_probability": 0.0, "reach_threshold": 1.0},
    {"reach_threshold": lambda iteration: 0.0}])
def test_pfsi_without_pruning_is_fsi(off):
  game = load(_GAMES[1])
  full = pfsi.FSISolver(game, dtype="float64", num_threads=1)
  pruned = pfsi.PFSISolver(game, dtype="float64", num_threads=1, **off)
  full.run(100)
  pruned.run(100)
  np.testing.assert_allclose(pruned._tables.regret, full._tables.regret,
                             atol=1e-9)
  np.testing.assert_allclose(pruned._tables.cumulative,
                             full._tables.cumulative, atol=1e-9)


def test_schedule_ends_as_fsi():
  schedule = pfsi.PruningSchedule(100, first=1e-2, last=1e-6)
  thresholds = [schedule(i) for i in range(1, 103)]
  assert thresholds[0] == 1e-2 and thresholds[-1] == 0.0
  assert all(a > b for a, b in zip(thresholds[:100], thresholds[1:101]))
  assert thresholds[99] == pytest.approx(1e-6)
  solver = pfsi.PFSISolver(load(_GAMES[0]), reach_threshold=schedule,
                           num_threads=1)
  solver.run(10)
  assert solver._settings([1, 200])[:, 0].tolist() == [1e-2, 0.0]


@pytest.mark.parametrize("make", [
    pfsi.FSISolver, lambda game, **kwargs: pfsi.PFSISolver(game, **_PRUNING,
                                                           **kwargs)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_change_the_result(make, dtype):
  game = pyspiel.load_game("dudo_single_round(numdice=2,max_amount=4)")
  one, two = (make(game, num_threads=n, seed=4, dtype=dtype) for n in (1, 2))
  one.run(150)
  two.run(70)
  two.run(80)
  for first, second in zip(one._tables, two._tables):
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("make", [
    lambda game: pfsi.FSISolver(game, num_threads=1, dtype="float64"),
    lambda game: pfsi.PFSISolver(game, np.int64(4), num_threads=1,
                                 dtype="float64",
                                 reach_threshold=pfsi.PruningSchedule(9))
])
def test_goes_on_from_a_file(make, tmp_path):
  game = load(_GAMES[1])
  whole, part, rest = make(game), make(game), make(game)
  whole.run(20)
  part.run(7)
  part.save(tmp_path / "solver.npz")
  rest.load(tmp_path / "solver.npz")
  rest.run(13)
  assert rest.iteration == 20
  for first, second in zip(whole._tables, rest._tables):
    np.testing.assert_array_equal(first, second)
  with pytest.raises(ValueError, match="must be"):
    pfsi.FSISolver(game, seed=1).load(tmp_path / "solver.npz")


def test_what_does_not_fit_is_refused(monkeypatch):
  monkeypatch.setattr(ram, "available_bytes", lambda: 600_000_000)
  game = pyspiel.load_game("dudo_single_round")
  with pytest.raises(ValueError, match="game=dudo_single_round.*: its training"
                     " needs 0.7 GB of memory, but 0.6 GB"):
    pfsi.FSISolver(game, abstraction="wait_type_recall")


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
    call(load(_GAMES[0]))
