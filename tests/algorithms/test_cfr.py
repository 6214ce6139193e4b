import functools

import numpy as np
from open_spiel.python.algorithms import cfr as open_spiel_cfr
from open_spiel.python.algorithms import discounted_cfr
from oracles import cfr_oracle
from oracles import exact_cfr_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms import exploitability

pytestmark = pytest.mark.oracle

_PAIRS = {
    "cfr": open_spiel_cfr.CFRSolver,
    "cfr+": open_spiel_cfr.CFRPlusSolver,
    "dcfr": discounted_cfr.DCFRSolver,
    "lcfr": discounted_cfr.LCFRSolver,
}

_GAMES = (
    "kuhn_poker", "kuhn_poker(players=3)", "leduc_poker",
    "liars_dice(dice_sides=2)", "liars_dice(dice_sides=4)",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,"
    "points_order=descending))",
    "dudo(numdice=1,dice_sides=2)",
    "dudo_ir(numdice=1,dice_sides=2,recall_length=1)",
    "dudo(start_dice=2v1,dice_sides=2)",
    "dudo_single_round(players=2,numdice=1,dice_sides=2)",
    "dudo_single_round(players=3,numdice=1,dice_sides=2,max_amount=1)",
    "dudo_single_round_ir(players=3,numdice=1,dice_sides=2,max_amount=1,"
    "abstraction=no_recall)",
    "neumann_poker(num_ranks=4)", "neumann_poker(num_ranks=3,asymmetric=True)",
    "liar_die(sides=3)", "liar_die_ir(sides=3)",
)
# How many iterations are compared in the usual tests; the slow ones compare 50.
_SLOW = {"dudo(start_dice=2v1,dice_sides=2)": 2, "leduc_poker": 5,
         "liars_dice(dice_sides=4)": 5,
         **{game: 20 for game in _GAMES
            if game.startswith(("liar_die", "kuhn_poker(players", "dudo(numd",
                                "dudo_ir", "dudo_single_round(players=2",
                                "neumann_poker(num_ranks=4"))},
         **{game: 10 for game in _GAMES if "players=3,numdice=1" in game}}

_SMALL = ("kuhn_poker", "kuhn_poker(players=3)", "neumann_poker(num_ranks=3)",
          "liar_die(sides=3)", "liar_die_ir(sides=3)",
          "dudo_ir(numdice=1,dice_sides=2,recall_length=1)",
          "dudo(numdice=1,dice_sides=2)")


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


def _assert_equal(ours, theirs, tolerance=1e-9):
  """Compares our policy with a TabularPolicy, or a dict of dicts."""
  for player, key in zip(ours.players.tolist(), ours.info_states):
    probabilities = ours.at(player, key)
    expected = (theirs[player, key] if isinstance(theirs, dict) else
                theirs.policy_for_key(key))
    for action, probability in probabilities.items():
      assert probability == pytest.approx(expected[action], abs=tolerance)


def _compare_with_open_spiel(game, name, iterations):
  theirs = _PAIRS[name](_load(game))
  ours = cfr.SOLVERS[name](_load(game))
  for iteration in range(1, iterations + 1):
    theirs.evaluate_and_update_policy()
    ours.evaluate_and_update_policy()
    regrets = {key: node.cumulative_regret
               for key, node in theirs._info_state_nodes.items()}
    current = theirs.current_policy()
    _settle_ties(ours, lambda _, key: regrets[key],  # noqa: B023
                 lambda _, key: current.policy_for_key(key))  # noqa: B023
    if iteration in (1, 2, 10, 50):
      assert ours.iteration == iteration
      _assert_equal(ours.average_policy(), theirs.average_policy())
      # In current strategies rounding errors grow with every iteration.
      _assert_equal(ours.current_policy(), current,
                    1e-9 if iteration < 50 else 1e-6)


def _settle_ties(solver, regrets, probabilities):
  """Gives the solver the other's strategy where there is nothing to choose.

  Where all regrets are zero up to rounding, any strategy is as good, and two
  solvers that round differently would part for no good reason.
  """
  tree, form = solver.compiled.tree, solver.compiled.form
  changed = False
  for s, (player, key) in enumerate(zip(tree.set_player.tolist(),
                                        tree.info_states)):
    if max(map(abs, regrets(player, key).values())) < 1e-10:
      for a, action in enumerate(tree.set_actions[s]):
        entry = form.set_entry[s] + a * form.set_stride[s]
        solver.tables.strategy[entry] = probabilities(player, key)[action]
        changed = True
  if changed:
    solver.refresh()


def _marks(game, name):
  """Returns that few variants are compared quickly on games that take long."""
  is_long = game.startswith(("dudo_single_round", "leduc")) or "s=4" in game
  is_slow = (is_long and name in ("lcfr", "dcfr") or
             game.startswith("dudo(start_dice"))
  return [pytest.mark.slow] if is_slow else []


@pytest.mark.parametrize("game, name", [
    pytest.param(game, name, marks=_marks(game, name))
    for game in _GAMES for name in _PAIRS
    if name == "cfr" or not game.startswith("dudo(start_dice")])
def test_iterates_are_open_spiels(game, name):
  _compare_with_open_spiel(game, name, _SLOW.get(game, 50))


@pytest.mark.slow
@pytest.mark.parametrize("name", _PAIRS)
@pytest.mark.parametrize("game", _SLOW)
def test_iterates_of_larger_games_are_open_spiels(game, name):
  _compare_with_open_spiel(game, name, 50)


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_simultaneous_updates_are_open_spiels(game):
  theirs = open_spiel_cfr._CFRSolver(
      _load(game), alternating_updates=False, linear_averaging=False,
      regret_matching_plus=False)
  ours = cfr.CFRSolver(_load(game), alternating=False)
  for _ in range(5):
    theirs.evaluate_and_update_policy()
  ours.run(5)
  _assert_equal(ours.current_policy(), theirs.current_policy())
  _assert_equal(ours.average_policy(), theirs.average_policy())


_INF = float("inf")
_NUMBERS = {  # alpha, beta, gamma, prediction
    "cfr": (_INF, _INF, 0, 0), "cfr+": (_INF, -_INF, 1, 0),
    "lcfr": (1, 1, 1, 0), "dcfr": (1.5, 0, 2, 0),
    "pcfr+": (_INF, -_INF, 2, 1), "pdcfr+": (2.3, -_INF, 5, 1),
    "dcfr+": (1.5, -_INF, 4, 0), "sapcfr+": (_INF, -_INF, 2, 1 / 3),
    "hs-dcfr": (lambda t: 1 + 3 * min(t / 5, 1),
                lambda t: -1 - 2 * min(t / 5, 1),
                lambda t: 30 - 5 * min(t / 5, 1), 0),
    "hs-pcfr+": (_INF, -_INF, lambda t: 30 - 5 * min(t / 5, 1), 1),
    "hs-pdcfr+": (2.3, -_INF, lambda t: 30 - 5 * min(t / 5, 1), 1)}
# Fewer iterations than the tests run, to see what comes after them.
_OPTIONS = {"vad-cfr": {"warmup_iterations": 3},
            **{name: {"planned_iterations": 5} for name in _NUMBERS
               if name.startswith("hs-")}}


def _solver(name, game, **kwargs):
  return cfr.SOLVERS[name](game, **_OPTIONS.get(name, {}), **kwargs)


def _oracle(name, game, alternating, epsilon=0.0):
  if name == "apcfr+":
    return cfr_oracle.OracleAPCFRPlus(game, alternating, epsilon)
  if name == "vad-cfr":
    return cfr_oracle.OracleVADCFR(game, 3, alternating, epsilon)
  return cfr_oracle.OracleCFR(game, *_NUMBERS[name], alternating, epsilon)


def _solvers_on(games):
  """Returns (game, name) for all solvers.

  Two of them have kernels of their own for each form, which take long to
  compile: the usual tests run these in deal form only.
  """
  others = "kuhn_poker(players=3)", "liar_die", "dudo_ir"
  return [pytest.param(game, name, marks=[pytest.mark.slow] * (
      name in ("apcfr+", "vad-cfr") and game.startswith(others)))
          for game in games for name in cfr.SOLVERS]


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("game, name", _solvers_on(_SMALL))
def test_iterates_are_the_oracles(game, name, alternating):
  slow = _oracle(name, _load(game), alternating)
  ours = _solver(name, _load(game), alternating=alternating)
  for _ in range(7):
    slow.iterate()
    ours.run(1)
    _settle_ties(ours, lambda *key: slow.regrets()[key],
                 lambda *key: slow.current()[key])
    _assert_equal(ours.current_policy(), slow.current())
    _assert_equal(ours.average_policy(), slow.average())


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("game, name", _solvers_on(
    ["kuhn_poker", "neumann_poker(num_ranks=3)", "kuhn_poker(players=3)",
     "liar_die_ir(sides=3)"]))
def test_iterates_in_perturbed_games_are_the_oracles(game, name, alternating):
  slow = _oracle(name, _load(game), alternating, 0.05)
  ours = _solver(name, _load(game), alternating=alternating, epsilon=0.05)
  for _ in range(7):
    slow.iterate()
    ours.run(1)
    _settle_ties(ours, lambda *key: slow.regrets()[key],
                 lambda *key: slow.current()[key])
    _assert_equal(ours.current_policy(), slow.current())
    _assert_equal(ours.average_policy(), slow.average())


def _goofspiel(**options):
  text = ",".join(f"{key}={value}" for key, value in options.items())
  return f"turn_based_simultaneous_game(game=goofspiel(num_cards=3,{text}))"


# In all of these a set's largest regret is exactly zero in some iteration, and
# a rounding error was taken for a preference.
_TIES = ("nim(pile_sizes=1;2;3)", "nim(pile_sizes=1;2;2)",
         "nim(pile_sizes=2;3)", "neumann_poker(num_ranks=3)",
         _goofspiel(imp_info=True, points_order="descending"),
         _goofspiel(imp_info=True, points_order="random"),
         _goofspiel(points_order="descending"))
_SLOW_TIES = ("kuhn_poker(players=3)",
              "turn_based_simultaneous_game(game=oshi_zumo(coins=3,size=1,"
              "horizon=3))")


def _compare_with_exact_cfr(game, iterations):
  exact = exact_cfr_oracle.ExactCFR(_load(game))
  solvers = []
  for form in ("deal", "sequence", "history"):
    try:
      solvers.append(cfr.CFRSolver(_load(game), form=form))
    except ValueError:  # the game does not have this form
      assert form != "history"
  for _ in range(iterations):
    exact.iterate()
    for solver in solvers:
      solver.run(1)
      _assert_equal(solver.current_policy(), exact.current())
      _assert_equal(solver.average_policy(), exact.average())


@pytest.mark.parametrize("game", _TIES)
def test_rounding_decides_no_ties(game):
  _compare_with_exact_cfr(game, 10)


@pytest.mark.slow
@pytest.mark.parametrize("game", _SLOW_TIES)
def test_rounding_decides_no_ties_in_larger_games(game):
  _compare_with_exact_cfr(game, 6)


def test_rounding_errors_do_not_add_up():
  solver = cfr.CFRSolver(_load("nim(pile_sizes=1;2;3)"))
  solver.run(10)
  ties = np.abs(solver.tables.regret) < 1e-12
  assert ties.any()
  before = solver.tables.strategy[ties]
  solver.run(10**5)
  np.testing.assert_allclose(solver.tables.strategy[ties], before, atol=1e-9)


@pytest.mark.parametrize("options, numbers", [
    ({"beta": 0.5}, (1.5, 0.5, 2, 0)), ({"beta": -_INF}, (1.5, -_INF, 2, 0)),
    ({"alpha": 3, "gamma": 4}, (3, 0, 4, 0))])
def test_options_of_discounted_cfr(options, numbers):
  slow = cfr_oracle.OracleCFR(_load("kuhn_poker"), *numbers, True)
  ours = cfr.DiscountedCFRSolver(_load("kuhn_poker"), **options)
  for _ in range(10):
    slow.iterate()
  ours.run(10)
  _assert_equal(ours.average_policy(), slow.average())


def test_quadratic_average_of_cfr_plus():
  slow = cfr_oracle.OracleCFR(_load("kuhn_poker"), _INF, -_INF, 2, 0, True)
  ours = cfr.CFRPlusSolver(_load("kuhn_poker"), gamma=2)
  for _ in range(10):
    slow.iterate()
  ours.run(10)
  _assert_equal(ours.average_policy(), slow.average())


_KNOWN = {  # value, target
    "kuhn_poker": (-1 / 18, 1e-4), "leduc_poker": (-0.0856064, 1e-3),
    "neumann_poker(num_ranks=10)": (-18 / 475, 1e-3),
    "liar_die(sides=4)": (None, 1e-3)}


@pytest.mark.parametrize("game, name", _solvers_on(_KNOWN))
def test_all_reach_the_known_values(game, name):
  value, target = _KNOWN[game]
  solver = cfr.SOLVERS[name](_load(game))
  result = solver.solve(target_exploitability=target, max_iterations=100_000)
  assert result.reason == "target"
  if value is not None:
    assert result.value == pytest.approx(value, abs=2 * target)


def test_runs_of_different_lengths_are_one():
  many, few = (cfr.PDCFRPlusSolver(_load("leduc_poker")) for _ in range(2))
  many.run(30)
  for iterations in (1, 7, 0, 22):
    few.run(iterations)
  assert many.average_policy().distance(few.average_policy()) == 0.0


@pytest.mark.slow
def test_float32_is_close():
  exact = cfr.CFRPlusSolver(_load("leduc_poker"))
  fast = cfr.CFRPlusSolver(_load("leduc_poker"), dtype="float32")
  exact.run(20)
  fast.run(20)
  assert fast.memory_bytes < 0.7 * exact.memory_bytes
  distance = exact.average_policy().distance(fast.average_policy())
  assert 0 < distance < 1e-4


def test_late_strategies_still_count_in_float32():
  solver = cfr.CFRSolver(_load("kuhn_poker"), dtype="float32")
  solver.run(10)
  played = solver.tables.strategy > 0.0
  solver.tables.cumulative[:] = 2.0**30  # more than float32 could add to
  solver.run(1)
  assert np.mean(solver.tables.cumulative[played] > 2.0**30) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", [*cfr.SOLVERS, "bdfp"])
def test_float32_gets_no_worse_with_more_iterations(name):
  solver = convergence.make_solver(f"{name}(dtype=float32)", "kuhn_poker")
  measured = []
  for iterations in (10**4, 10**5, 10**6, 10**7):
    solver.run(iterations - solver.iteration)
    measured.append(solver.exploitability())
  # VAD-CFR comes below the precision of single numbers, and cannot stay there.
  precision = 2.0 * np.finfo(np.float32).eps
  assert measured[-1] <= max(1.1 * min(measured), precision)


_RETURNS = (float("nan"), float("inf"), -float("inf"), 1e101)


@pytest.mark.parametrize("payoff", _RETURNS)
def test_payoffs_must_be_finite(payoff):
  game = pyspiel.create_matrix_game([[1.0, payoff], [0.0, 1.0]],
                                    [[-1.0, 0.0], [0.0, -1.0]])
  with pytest.raises(ValueError, match="^game=.*: pays a player"):
    cfr.CFRSolver(pyspiel.convert_to_turn_based(game))


def test_payoffs_must_fit_into_float32():
  game = pyspiel.convert_to_turn_based(pyspiel.create_matrix_game(
      [[1e16, 0.0], [0.0, 1.0]], [[-1e16, 0.0], [0.0, -1.0]]))
  with pytest.raises(ValueError, match="for float32 tables"):
    cfr.CFRSolver(game, dtype="float32")
  solver = cfr.CFRSolver(game)
  solver.run(100)
  assert np.isfinite(solver.nash_conv())


@pytest.mark.parametrize("numbers", [
    {"alpha": -50.0, "beta": -50.0}, {"alpha": 50.0, "beta": -1000.0},
    {"alpha": -1e300, "beta": 1e300}, {"gamma": 1000.0}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_discounts_stay_finite(numbers, dtype):
  solver = cfr.DiscountedCFRSolver(_load("kuhn_poker"), dtype=dtype, **numbers)
  solver.run(3000)
  for table in solver.tables:
    assert np.all(np.isfinite(table))
  assert np.isfinite(solver.nash_conv())


_OWN = {  # the parameters of the family that each variant takes
    "cfr": (), "cfr+": ("gamma",), "lcfr": (),
    "dcfr": ("alpha", "beta", "gamma"),
    "pcfr+": ("gamma",), "pdcfr+": ("alpha", "gamma"),
    "dcfr+": ("alpha", "gamma"), "sapcfr+": ("gamma",), "apcfr+": ("gamma",),
    "vad-cfr": (), "hs-dcfr": ("gamma",), "hs-pcfr+": ("gamma",),
    "hs-pdcfr+": ("alpha", "gamma")}


@pytest.mark.parametrize("parameter", ["alpha", "beta", "gamma", "prediction"])
@pytest.mark.parametrize("name", cfr.SOLVERS)
def test_variants_refuse_what_would_make_them_others(name, parameter):
  make, game = cfr.SOLVERS[name], _load("kuhn_poker")
  if parameter in _OWN[name]:
    assert make(game, **{parameter: 5.0}).iteration == 0
    return
  allowed = " and ".join(_OWN[name]) or "none"
  with pytest.raises(ValueError, match=(
      f"^{parameter}=0.5: {make.__name__} takes {allowed} of alpha, .*use .*Reg"
  )):
    make(game, **{parameter: 0.5})


def test_users_can_make_variants_of_variants():
  class Mine(cfr.RegretSolver):
    def __init__(self, game, *, alpha=1.5, **kwargs):
      super().__init__(game, alpha=alpha, beta=-np.inf, prediction=True,
                       **kwargs)

  class Later(cfr.CFRPlusSolver):
    def _rule(self, first, last):
      return super()._rule(first, last)._replace(decay=1.0)

  game = _load("kuhn_poker")
  for make, options in ((Mine, {"alpha": 2.0, "gamma": 3.0}),
                        (Later, {"gamma": 2.0, "epsilon": 0.01})):
    solver = make(game, **options)
    solver.run(100)
    assert solver.exploitability() < 0.1


@pytest.mark.parametrize("name", ["cfr", "vad-cfr"])
def test_tiny_regrets_give_distributions(name, tmp_path):
  game = pyspiel.convert_to_turn_based(pyspiel.create_matrix_game(
      [[0.0, 3e-45], [1.5e-45, 0.0]], [[0.0, -3e-45], [-1.5e-45, 0.0]]))
  solver = cfr.SOLVERS[name](game, dtype="float32")
  solver.run(20)
  assert solver.tables.regret.any()
  solver.save(tmp_path / "solver.npz")
  solver.load(tmp_path / "solver.npz")  # which checks all distributions


def test_starting_from_a_policy():
  game = _load("leduc_poker")
  first = cfr.CFRPlusSolver(game)
  first.run(300)
  average = first.average_policy()
  for start in (average, average.to_tabular(), average.to_pyspiel()):
    second = cfr.CFRSolver(game, initial=start)
    assert second.current_policy().distance(average) < 1e-12
    second.run(1)
    # The first iteration's strategy is what the average then consists of,
    # where the player's own strategy reaches.
    assert exploitability.nash_conv(game, second.average_policy()) == (
        pytest.approx(first.nash_conv(), abs=1e-2))


def test_random_starts_follow_the_seed():
  game = _load("kuhn_poker")
  policies = [cfr.CFRSolver(game, initial="random", seed=seed).current_policy()
              for seed in (1, 1, 2)]
  assert policies[0].distance(policies[1]) == 0.0
  assert policies[0].distance(policies[2]) > 0.1


@pytest.mark.parametrize("arguments, message", [
    ({"dtype": "int8"}, "dtype='int8'"), ({"form": "tree"}, "form='tree'"),
    ({"initial": "clever"}, "initial='clever'"), ({"gamma": -1}, "gamma=-1"),
    ({"alpha": np.nan}, "alpha=nan"), ({"num_threads": 0}, "num_threads=0"),
    ({"alpha": None}, "alpha=None"), ({"gamma": "x"}, "gamma='x'"),
    ({"seed": -1}, "seed=-1"), ({"seed": "a"}, "seed='a'"),
    ({"alternating": "no"}, "alternating='no'"),
    ({"prediction": 5}, "prediction=5"), ({"initial": None}, "initial=None")])
def test_bad_arguments(arguments, message):
  with pytest.raises(ValueError, match=message):
    cfr.RegretSolver(_load("kuhn_poker"), **arguments)
  for iterations in (-1, 2.5, "3", None, True):
    with pytest.raises(ValueError, match=f"iterations={iterations!r}"):
      cfr.CFRSolver(_load("kuhn_poker")).run(iterations)
  with pytest.raises(ValueError, match="game='kuhn_poker': must be a pyspiel"):
    cfr.CFRSolver("kuhn_poker")


def test_numbers_of_numpy_are_welcome(tmp_path):
  solver = cfr.DiscountedCFRSolver(_load("kuhn_poker"), alpha=np.float32(2),
                                   seed=np.int64(3))
  solver.run(np.int64(3))
  solver.save(tmp_path / "solver.npz")
  assert type(solver.iteration) is int
