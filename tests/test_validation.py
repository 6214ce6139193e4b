"""Wrong arguments of any type get a ValueError that names the argument.

Random values of many types go to everything that users call. Each call must
succeed, or raise a ValueError that begins with the name of one of its
arguments. Games are tiny, and sizes of work stay small.
"""

import fractions
import functools
import inspect
import random
import re

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel import bots
from dudo_spiel import claims
from dudo_spiel import odds
from dudo_spiel import rolls
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms import qlearning
from dudo_spiel.algorithms import regret_matching
from dudo_spiel.algorithms import simulation

# Values that no argument takes, and some that many do.
_ODD = (
    None, True, False, 0, 1, 2, -1, 3, 10**30, -10**30, 2**63, 2**64, 0.5, 1.0,
    -0.5, float("nan"), float("inf"), float("-inf"), 1e300, 1e-300, 2 + 3j,
    fractions.Fraction(1, 3), np.int64(1), np.uint8(2), np.float32(0.5),
    np.float64("nan"), np.bool_(True), np.array(1), np.array([1, 2]),
    np.zeros((2, 2)), np.array(["x"]), np.array([None]), np.array([]), "", "x",
    "1", "all", "uniform", "exact", "kuhn_poker", "nan", b"", b"\x01\x02", [],
    (), {}, set(), [1], [1, 1], (1, 1), (1, 2, 3), [None], [[1]], {"a": 1},
    [float("nan")] * 2, ["x", "y"], range(3), object(), object, len,
    lambda *args: "x", lambda *args: -1, pyspiel, ValueError("x"), Ellipsis,
    slice(3))

_SMALL = tuple(value for value in _ODD if not (
    isinstance(value, (int, float)) and value > 3))

_ONE_ROUND = "dudo(numdice=1,dice_sides=2)"
_LOSE_ONE = ("dudo(numdice=1,dice_sides=2,wild_ones=False,die_loss=one,"
             "exact_reward=False)")
_SINGLE_ROUND = ("dudo_single_round(players=2,numdice=1,dice_sides=2,"
                 "claim_window=3,max_amount=1)")


@functools.cache
def _game(name):
  return pyspiel.load_game(name)


@functools.cache
def _solver(name):
  """Returns a solver that has run a little."""
  solver = {
      "cfr": lambda: cfr.CFRSolver(_game("kuhn_poker")),
      "bdfp": lambda: fictitious_play.BDFPSolver(_game("kuhn_poker")),
      "fsicfr": lambda: fsicfr.FSICFRSolver(_game("kuhn_poker")),
      "match": lambda: fsicfr.MatchSolver(_game(_ONE_ROUND), 1, num_threads=1),
      "recall": lambda: perfect_recall.PerfectRecallSolver(
          _game(_ONE_ROUND), num_threads=1, dtype="float64"),
      "rps": lambda: regret_matching.RegretMatchingSolver(_game("matrix_rps")),
      "doubt": lambda: qlearning.DoubtLearner(_game(_LOSE_ONE)),
      "fsi": lambda: pfsi.FSISolver(_game(_SINGLE_ROUND), num_threads=2),
  }[name]()
  solver.run(2)
  return solver


@functools.cache
def _policy(name):
  return _solver(name).average_policy()


def _state():
  return _game("kuhn_poker").new_initial_state().child(0).child(1)


def _constructors():
  """Yields (callable, good arguments, names of arguments of any size)."""
  kuhn, one = _game("kuhn_poker"), _game(_ONE_ROUND)
  single = _game(_SINGLE_ROUND)
  table = {"game": kuhn, "alternating": True, "initial": "uniform", "seed": 0,
           "epsilon": 0.0, "dtype": "float64", "num_threads": 1, "form": None}
  for solver in cfr.SOLVERS.values():
    yield solver, table, ()
  yield cfr.RegretSolver, {**table, "alpha": 1.0, "beta": 0.5, "gamma": 1.0,
                           "prediction": False}, ()
  for solver in fictitious_play.SOLVERS.values():
    yield solver, {**table, "average": False}, ()
  yield fsicfr.FSICFRSolver, {"game": kuhn, "recall_length": 1, "seed": 0,
                              "num_threads": 1, "deals": "exact",
                              "dtype": "float64"}, ()
  yield fsicfr.MatchSolver, {"game": one, "recall_length": 1, "seed": 0,
                             "num_threads": 1, "hands_met": None, "gamma": 1.0,
                             "dtype": "float32", "memory": None}, ()
  yield fsicfr.LastClaims, {"claims": 2, "ranks": 1}, ()
  yield fsicfr.PlayerRanks, {}, ()
  yield perfect_recall.PerfectRecallSolver, {
      "game": one, "seed": 0, "num_threads": 1, "max_bytes": None,
      "dtype": "float32"}, ()
  yield perfect_recall.ShareTrials, {
      "policy": _policy("recall"), "max_bytes": 10**5, "num_threads": 1}, (
          "max_bytes",)
  graph = {"game": single, "abstraction": "no_recall", "recall_length": 1,
           "tremble": 0.0, "gamma": 1.0, "seed": 0, "num_threads": 1,
           "dtype": None}
  yield pfsi.FSISolver, graph, ()
  yield pfsi.PFSISolver, {**graph, "depth": 2, "reach_threshold": 0.1,
                          "flag_probability": 0.5, "action_threshold": 0.1}, ()
  yield pass_through.PrunedPassThroughSolver, {**graph, "threshold": 0.1}, ()
  yield (pass_through.MonteCarloPassThroughSolver,
         {**graph, "num_playouts": 2}, ())
  yield regret_matching.RegretMatchingSolver, {
      "game": _game("matrix_rps"), "updates": "sampled", "conditional": False,
      "initial": ([1, 0, 0], [0, 1, 0]), "seed": 0}, ()
  yield qlearning.DoubtLearner, {
      "game": _game(_LOSE_ONE), "opponents": "dummy", "player": 0,
      "alpha": 0.1, "round_reward": 1.0, "game_reward": 10.0, "seed": 0}, ()
  yield pfsi.PruningSchedule, {"iterations": 5, "first": 0.1, "last": 0.01}, ()


def _functions():
  """Yields the same for functions."""
  kuhn, one = _game("kuhn_poker"), _game(_ONE_ROUND)
  single, rng = _game(_SINGLE_ROUND), np.random.RandomState(0)
  uniform = policy_lib.UniformRandomPolicy(kuhn)
  match, seat = _policy("match"), _policy("fsi")
  measured = {"game": kuhn, "policy": uniform}
  yield exploitability.expected_values, measured, ()
  yield exploitability.nash_conv, {**measured, "epsilon": 0.0}, ()
  yield exploitability.exploitability, {**measured, "epsilon": 0.0}, ()
  yield exploitability.max_win_rate, {"gap": 0.1}, ()
  yield exploitability.best_response, {**measured, "player": 0}, ()
  one_round = {"policy": match, "dice": (1, 1), "role": 0}
  yield exploitability.best_response_value, {
      **one_round, "leaves": None, "method": "search", "num_threads": 1}, ()
  yield exploitability.best_response_bounds, {
      **one_round, "min_mass": 0.1, "leaves": None}, ()
  yield exploitability.estimate_seconds, one_round, ()
  yield exploitability.refine_bounds, {**one_round, "seconds": 0.0,
                                       "leaves": None}, ()
  position = {"policy": match, "dice": (1, 1), "claims": [0]}
  yield exploitability.posterior, position, ()
  yield exploitability.action_values, {**position, "hand": b"\1",
                                       "continuation": "policy"}, ()
  rolled = match.game.new_initial_state()
  for roll in (0, 1):
    rolled.apply_action(roll)
  yield exploitability.state_action_values, {
      "policy": match, "state": rolled, "continuation": "policy"}, ()
  yield exploitability.round_exploitability, {
      "policy": match, "dice": (1, 1), "method": "walk", "num_threads": 1}, ()
  whole = {"policy": match, "start_dice": (1, 1), "starting_player": 0,
           "num_threads": 1}
  yield exploitability.match_bounds, {**whole, "seconds": 0.0}, ()
  yield exploitability.match_best_response, whole, ()
  yield exploitability.best_response_rate, {
      "policies": seat, "seat": 0, "method": "auto", "num_deals": 4, "seed": 0,
      "num_threads": 1}, ("num_deals",)
  yield fsicfr.memory_needed, {"game": one, "recall_length": 1,
                               "num_threads": 1, "memory": None}, ()
  yield pfsi.abstract_game, {"game": single, "abstraction": "no_recall",
                             "recall_length": 1}, ()
  yield simulation.play_matches, {
      "policies": [match, match], "start_dice": (1, 1), "num_games": 4,
      "seed": 0, "starter": 0, "num_threads": 1}, ("num_games",)
  yield simulation.play_games, {
      "game": single, "lineup": [seat, "random"], "num_games": 4, "seed": 0,
      "num_threads": 1}, ("num_games",)
  yield policies.bot_policy, {"game": single, "name": "random"}, ()
  yield policies.SeatPolicy, {"game": kuhn, "policies": [uniform, uniform]}, ()
  yield policies.MatchPolicy, {"game": one, "recall_length": 1,
                               "tables": match.tables,
                               "values": match.values, "memory": None}, ()
  recall = _policy("recall")
  yield policies.RecallPolicy, {
      "game": one, "rounds": {(1, 1): recall.round_tables((1, 1))},
      "measures": None}, ()
  yield perfect_recall.merged, {"game": one, "policies": [recall]}, ()
  yield policies.SingleRoundPolicy, {"game": seat.game, "table": seat.table}, ()
  for blotto in (regret_matching.blotto_allocations,
                 regret_matching.blotto_fields_won):
    yield blotto, {"coins": 3, "fields": 2}, ()
  doubt = _policy("doubt")
  yield qlearning.play_games, {"policy": doubt, "num_games": 4,
                               "opponents": "dummy", "seed": 0}, ("num_games",)
  yield qlearning.DoubtPolicy, {"game": doubt.game, "table": doubt.table}, ()
  yield qlearning.DummyPolicy, {"game": doubt.game}, ()
  yield qlearning.HeuristicPolicy, {"game": doubt.game}, ()
  bot = {"name": "uniform", "game": kuhn, "player_id": 0, "rng": rng}
  yield policy_bots.make_bot, bot, ("name",)
  yield simulation.bot_policy, {"game": one, "name": "random"}, ()
  yield simulation.exact_match, {"policy": _policy("recall"), "other": match,
                                 "game": one}, ()
  yield policy_bots.bot_names, {"game": kuhn}, ()
  yield bots.make_bot, bot, ()
  yield bots.bot_names, {"game": kuhn}, ()
  yield odds.claim_odds, {
      "quantity": 1, "rank": 2, "hand": b"\x01", "num_dice": 2, "num_sides": 6,
      "wild_ones": True}, ()
  yield odds.binomial_tail, {"trials": 3, "successes": 2, "chance": 0.5}, ()
  yield claims.ClaimOrder, {"num_dice": 2, "num_sides": 6,
                            "wild_ones": True}, ()
  yield rolls.RollTable, {"num_dice": 2, "num_sides": 3}, ()
  yield rolls.num_rolls, {"num_dice": 2, "num_sides": 3}, ()


def _methods():
  """Yields the same for methods."""
  for name in ("cfr", "bdfp", "fsicfr", "match", "recall", "fsi", "rps",
               "doubt"):
    solver = _solver(name)
    yield solver.run, {"iterations": 1, "seconds": None}, ("iterations",
                                                           "seconds")
    yield solver.solve, {"target_exploitability": None, "max_iterations": 1,
                         "max_seconds": None}, ("max_iterations", "max_seconds",
                                                "target_exploitability")
  solver = _solver("cfr")
  yield solver.nash_conv, {"perturbed": False}, ()
  yield solver.exploitability, {"perturbed": False}, ()
  yield _solver("fsicfr").chance_outcomes, {"iteration": 1}, ()
  yield _solver("fsi").settings, {"iterations": [1, 2]}, ()
  yield _solver("fsi").rolls, {"iterations": [1, 2]}, ()
  match = _solver("match")
  for method in (match.value, match.iterations, match.tables):
    yield method, {"own_dice": 1, "opponent_dice": 1}, ()
  recall = _solver("recall")
  for method in (recall.value, recall.interval, recall.iterations,
                 recall.num_nodes, recall.tables):
    yield method, {"own_dice": 1, "opponent_dice": 1}, ()
  recall = _policy("recall")
  yield recall.compressed, {"num_shares": 10, "num_threads": 1}, ()
  for method in (recall.measure, recall.intervals, recall.exploitability):
    yield method, {"num_threads": 1}, ()
  yield recall.after_claims, {"key": (1, 1), "claims": [0]}, ()
  yield recall.round_tables, {"key": (1, 1)}, ()
  yield recall.known_exploitability, {"game": recall.game}, ()
  policy = _policy("match")
  yield policy.after_claims, {"key": (1, 1), "claims": [0]}, ()
  yield policy.probabilities, {"key": (1, 1)}, ()
  yield policy.quantized, {"min_probability": 0.0, "min_reach": 0.0}, ()
  yield _policy("doubt").row, {"hand": b"\x01"}, ()
  for player in (policy, _policy("recall"), _policy("fsi"), _policy("cfr"),
                 _policy("rps"), _policy("doubt")):
    yield player.action_probabilities, {"state": _state(),
                                        "player_id": None}, ()
    yield player.to_tabular, {"states": None, "game": None}, ()
    yield player.to_pyspiel, {"game": None}, ()
    yield player.check_game, {"game": player.game}, ()
  yield _policy("cfr").at, {"player": 0, "info_state": "0"}, ()
  yield _policy("cfr").distance, {"other": _policy("cfr")}, ()
  order = claims.claim_order(2)
  yield order.index, {"quantity": 1, "rank": 2}, ()
  yield order.parse, {"claim": "1x2"}, ()
  yield rolls.roll_table(2).index, {"faces": (1, 2)}, ()


@functools.cache
def _targets():
  return [*_constructors(), *_functions(), *_methods()]


def _call(function, arguments):
  """Calls a function, and goes through the result if it is a generator."""
  result = function(**arguments)
  if inspect.isgenerator(result):
    next(result)


def _fault(number):
  """Returns what is wrong with a random call, or None."""
  rng = random.Random(number)
  function, good, small = rng.choice(_targets())
  chosen = rng.sample(sorted(good), min(rng.choice((1, 1, 1, 2)), len(good)))
  odd = {name: rng.choice(_SMALL if name in small else _ODD)
         for name in chosen}
  arguments = {**good, **odd}
  try:
    _call(function, arguments)
  except ValueError as error:
    name = re.match(r"\w*", str(error))[0]
    if name in good:
      return None
    return f"{number}: {function} with {odd} says {error}"
  except Exception as error:
    return f"{number}: {function} with {odd} raises {error!r}"
  return None


@pytest.mark.oracle
@pytest.mark.parametrize("number", [0, 1, 2])
def test_odd_arguments_are_refused_by_name(number):
  faults = [_fault(case) for case in range(200 * number, 200 * (number + 1))]
  assert not list(filter(None, faults))


@pytest.mark.slow
def test_many_odd_arguments_are_refused_by_name():
  faults = map(_fault, range(1000, 7000))
  assert not list(filter(None, faults))


def test_every_public_name_gets_odd_arguments():
  called = {getattr(function, "__name__", "") for function, _, _ in _targets()}
  for module in (exploitability, simulation, fsicfr, pfsi, qlearning):
    for name in module.__all__:
      value = getattr(module, name)
      is_result = inspect.isclass(value) and issubclass(value, tuple)
      if callable(value) and not is_result:
        assert name in called, f"{module.__name__}.{name} is not called"


class _Unprintable:

  def __repr__(self):
    raise RuntimeError("not to be shown")


@pytest.mark.parametrize("name", ["seed", "dtype"])
@pytest.mark.parametrize("value", [10**5000, _Unprintable()],
                         ids=["huge", "unprintable"])
def test_values_that_cannot_be_shown_are_refused_by_name(name, value):
  with pytest.raises(ValueError, match=f"^{name}=<"):
    cfr.CFRSolver(pyspiel.load_game("kuhn_poker"), **{name: value})


def test_whole_numbers_are_asked_for():
  solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match="^max_iterations='3': .* integer"):
    solver.solve(max_iterations="3")
