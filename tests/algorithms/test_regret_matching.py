"""Regret matching: oracle, equilibria, correlated play, policies, errors."""

import helpers
import numpy as np
from oracles import regret_matching_oracle as oracle
import pyspiel
import pytest

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import regret_matching
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import random_streams

_OBLONG = pyspiel.create_matrix_game(
    "oblong", "Two by three", ["a", "b"], ["x", "y", "z"],
    [[3.0, -1.0, 0.0], [-2.0, 2.0, 1.0]], [[0.0, 2.0, 5.0], [1.0, 1.5, -1.0]])


def _solver(game, **options):
  game = pyspiel.load_game(game) if isinstance(game, str) else game
  return regret_matching.RegretMatchingSolver(game, **options)


def _payoffs(solver):
  first, second = solver.form.payoffs
  return [first.tolist(), second.T.tolist()]


@pytest.mark.oracle
@pytest.mark.parametrize("updates", ["exact", "sampled", "conditional"])
@pytest.mark.parametrize("game, initial", [
    ("matrix_rps", ([0.4, 0.3, 0.3], [1.0, 0.0, 0.0])),
    ("matrix_brps", "uniform"), (_OBLONG, ([0.5, 0.5], [0.2, 0.0, 0.8])),
    ("matrix_pd", "uniform"), ("blotto(coins=3,fields=3)", "uniform")])
def test_every_iteration_is_the_oracles(game, initial, updates):
  conditional = updates == "conditional"
  solver = _solver(game, updates="sampled" if conditional else updates,
                   conditional=conditional, initial=initial, seed=7)
  draw = None
  if updates != "exact":
    def draw(iteration, player):
      return random_streams.node_uniform(np.uint64(7), iteration, player)
  make = (oracle.ConditionalRegretMatching if conditional else
          oracle.RegretMatching)
  plain = make(_payoffs(solver), solver.current_strategies(), draw)
  for _ in range(60):
    solver.evaluate_and_update_policy()
    plain.iterate()
    tables = solver.tables
    for ours, theirs in [
        ((tables.regret_0, tables.regret_1), plain.regrets),
        ((tables.cumulative_0, tables.cumulative_1), plain.sums),
        ((tables.joint,), [plain.joint])]:
      for table, expected in zip(ours, theirs):
        np.testing.assert_allclose(table, expected, rtol=0.0, atol=1e-9)
  joint = solver.joint_distribution().tolist()
  assert solver.ce_dist() == pytest.approx(
      oracle.ce_dist(plain.payoffs, joint))
  assert solver.cce_dist() == pytest.approx(
      oracle.cce_dist(plain.payoffs, joint))


def test_exact_updates_are_cfr_with_simultaneous_updates():
  game = pyspiel.load_game("matrix_brps")
  solver = _solver(game, initial=([0.5, 0.25, 0.25], [0.2, 0.5, 0.3]))
  turns = pyspiel.convert_to_turn_based(game)
  tree = cfr.CFRSolver(turns, alternating=False,
                       initial=solver.current_policy())
  for _ in range(20):
    solver.run(1)
    tree.run(1)
    np.testing.assert_allclose(
        tree.average_policy().probabilities,
        np.concatenate(solver.average_strategies()), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("updates", ["exact", "sampled"])
@pytest.mark.parametrize("game, value", [
    ("matrix_rps", 0.0), ("blotto(coins=5,fields=3)", 0.0),
    (regret_matching.blotto_fields_won(), 1.5)], ids=str)
def test_the_average_is_an_equilibrium(game, value, updates):
  solver = _solver(game, updates=updates, seed=1)
  solver.run(100)  # rock, paper, scissors starts in the equilibrium
  result = solver.solve(target_exploitability=9e-4, max_iterations=10**7)
  assert result.reason == "target"
  assert result.value == pytest.approx(value, abs=1e-3)
  # The same by another way: the game with turns, walked.
  turns = pyspiel.convert_to_turn_based(solver.game)
  assert exploitability.exploitability(
      turns, solver.average_policy()) == pytest.approx(result.exploitability)


@pytest.mark.parametrize("game", [
    "blotto(coins=5,fields=3)", regret_matching.blotto_fields_won()], ids=str)
def test_an_equilibrium_of_blotto(game):
  """Half the orders of (0, 2, 3), half those of (1, 1, 3): exact."""
  solver = _solver(game)
  shares = regret_matching.blotto_allocations(5, 3)
  weights = {(0, 2, 3): 0.5 / 6, (1, 1, 3): 0.5 / 3}
  strategy = np.array([weights.get(tuple(sorted(share)), 0.0)
                       for share in shares])
  assert strategy.sum() == pytest.approx(1.0)
  assert solver.form.nash_conv((strategy, strategy)) == pytest.approx(
      0.0, abs=1e-12)


def test_allocations_are_open_spiels():
  state = pyspiel.load_game("blotto(coins=5,fields=3)").new_initial_state()
  assert [state.action_to_string(0, action) for action in range(21)] == [
      f"[{a},{b},{c}]" for a, b, c in regret_matching.blotto_allocations(5, 3)]


def test_fields_won_is_the_reports_table():
  """Table 5: payoffs of the allocations in increasing order of coins."""
  game = regret_matching.blotto_fields_won(5, 3)
  shares = regret_matching.blotto_allocations(5, 3)
  index = [shares.index(share) for share in
           [(0, 0, 5), (0, 1, 4), (0, 2, 3), (1, 1, 3), (1, 2, 2)]]
  table = game.row_utilities()[np.ix_(index, index)]
  np.testing.assert_array_equal(table, [
      [1.5, 1.5, 1.5, 1.0, 1.0], [1.5, 1.5, 1.5, 1.5, 1.0],
      [1.5, 1.5, 1.5, 1.5, 1.5], [2.0, 1.5, 1.5, 1.5, 1.5],
      [2.0, 2.0, 1.5, 1.5, 1.5]])
  assert game.utility_sum() == 3.0


def test_joint_play_is_coarsely_correlated():
  """Plain regret matching does not make it a correlated equilibrium."""
  solver = _solver("matrix_shapleys_game", updates="sampled", seed=3)
  solver.run(200_000)
  assert solver.cce_dist() < 0.01
  assert solver.ce_dist() > solver.cce_dist()
  with_pure = _solver("matrix_pd")
  with_pure.run(1000)
  assert with_pure.ce_dist() < 0.01  # both defect


def test_conditional_regrets_lead_to_correlated_equilibria():
  distances = []
  for conditional in (False, True):
    solver = _solver("matrix_shapleys_game", updates="sampled",
                     conditional=conditional, seed=2)
    solver.run(1_000_000)
    distances.append(solver.ce_dist())
  assert distances[1] < 0.04 < 0.2 < distances[0]


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("game", ["matrix_brps", "matrix_shapleys_game",
                                  _OBLONG], ids=str)
def test_distances_are_open_spiels(game, conditional):
  solver = _solver(game, updates="sampled", conditional=conditional)
  solver.run(500)
  joint = solver.joint_distribution()
  turns = pyspiel.convert_to_turn_based(solver.game)
  states = [turns.new_initial_state(), turns.new_initial_state().child(0)]
  keys = [state.information_state_string() for state in states]
  device = [(float(joint[row, column]), pyspiel.TabularPolicy(
      {key: [(a, float(a == action))
             for a in range(len(solver.form.actions[player]))]
       for player, (key, action) in enumerate(zip(keys, (row, column)))}))
            for row, column in np.argwhere(joint > 0.0).tolist()]
  assert solver.ce_dist() == pytest.approx(
      pyspiel.ce_dist(turns, device).dist_value)
  assert solver.cce_dist() == pytest.approx(
      pyspiel.cce_dist(turns, device).dist_value)


def test_policies_play_players_joint_actions_and_turns(tmp_path):
  solver = _solver(_OBLONG)
  solver.run(10)
  policy = solver.average_policy()
  first, second = solver.average_strategies()
  state = solver.game.new_initial_state()
  assert list(policy.action_probabilities(state, 1).values()) == (
      pytest.approx(second.tolist()))
  joint = policy.action_probabilities(state)
  value = 0.0
  for action, chance in joint.items():
    value += chance * state.child(action).returns()[0]
  assert value == pytest.approx(solver.expected_values()[0])
  turn = pyspiel.convert_to_turn_based(solver.game).new_initial_state()
  assert list(policy.action_probabilities(turn).values()) == (
      pytest.approx(first.tolist()))
  other = pyspiel.load_game("matrix_rps").new_initial_state()
  for wrong in [(other, 0), (state.child(0), None)]:
    with pytest.raises(ValueError, match="(?s)^state=.*: is not one"):
      policy.action_probabilities(*wrong)
  policy.save(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz", solver.game)
  assert loaded.action_probabilities(state, 1) == (
      policy.action_probabilities(state, 1))


@pytest.mark.parametrize("options, message", [
    ({"updates": "all"}, "updates='all': must be one of 'exact'"),
    ({"seed": -1}, "seed=-1: must be"),
    ({"conditional": True}, "conditional=True: must be False unless"),
    ({"conditional": 1, "updates": "sampled"}, "conditional=1: must be True"),
    ({"initial": "random"}, "initial='random': must be 'uniform' or"),
    ({"initial": ([0.5, 0.5], [1.0])}, "initial=.* 3 and 3 probabilities"),
    ({"initial": ([1, 0, 0], [0.5, 0.6, 0.0])}, "initial=.* probabilities"),
    ({"initial": 3}, "initial=3: must be")])
def test_bad_options_are_refused(options, message):
  with pytest.raises(ValueError, match=f"^{message}"):
    _solver("matrix_rps", **options)


@pytest.mark.parametrize("game", [
    "kuhn_poker", "matching_pennies_3p", "goofspiel(num_cards=3)",
    "blotto(players=3,coins=2)"])
def test_games_of_other_kinds_are_refused(game):
  with pytest.raises(ValueError, match="^game=.* one simultaneous move"):
    _solver(game)


@pytest.mark.parametrize("options, message", [
    ({"coins": 0}, "coins=0"), ({"fields": 1.5}, "fields=1.5"),
    ({"coins": 50, "fields": 5}, "coins=50, fields=5: must have at most"),
    ({"coins": 10**30}, "coins=10000")])
def test_bad_blottos_are_refused(options, message):
  with pytest.raises(ValueError, match=f"^{message}"):
    regret_matching.blotto_fields_won(**options)


def test_files_of_other_games_are_refused(tmp_path):
  path = tmp_path / "solver.npz"
  _solver("matrix_rps").save(path)
  other = pyspiel.create_matrix_game("matrix_rps", "", ["a"] * 3, ["b"] * 3,
                                     np.eye(3), np.eye(3))
  with pytest.raises(ValueError, match="fingerprint"):
    _solver(other).load(path)
  with pytest.raises(ValueError, match="updates"):
    _solver("matrix_rps", updates="sampled").load(path)


@pytest.mark.parametrize("name", ["cumulative_0", "joint"])
def test_without_an_average_it_is_the_current_strategy(name, tmp_path):
  path = tmp_path / "solver.npz"
  solver = _solver("matrix_rps")
  solver.run(3)
  solver.save(path)
  header, arrays = helpers.load_file(path, "solver")
  archives.save(path, "solver", header, {**arrays, name: 0.0 * arrays[name]})
  solver.load(path)
  assert np.isfinite([solver.nash_conv(), solver.cce_dist()]).all()


@pytest.mark.parametrize("options", [
    {}, {"updates": "sampled"}, {"updates": "sampled", "conditional": True}])
@pytest.mark.parametrize("name", ["regret_0", "regret_1"])
def test_regrets_that_no_iterations_make_are_refused(options, name, tmp_path):
  """Conditional regrets were probabilities below 0 then."""
  path = tmp_path / "solver.npz"
  solver = _solver("matrix_brps", **options)
  for iterations in (0, 1, 9):
    solver.run(iterations)
    solver.save(path)
    solver.load(path)
  header, arrays = helpers.load_file(path, "solver")
  for number in (1e20, -1e20):
    arrays[name].flat[0] = number
    archives.save(path, "solver", header, arrays)
    with pytest.raises(ValueError, match=f"^path=.*its {name} has numbers abo"):
      solver.load(path)


def test_rounding_errors_of_regrets_load(tmp_path):
  """A player without a choice has no regrets but these."""
  game = pyspiel.create_matrix_game([[0.1] * 3] * 3, [[-0.1] * 3] * 3)
  solver = regret_matching.RegretMatchingSolver(
      game, initial=[[0.3, 0.6, 0.1], [0.7, 0.2, 0.1]])
  solver.run(1000)
  solver.save(tmp_path / "solver.npz")
  solver.load(tmp_path / "solver.npz")


@pytest.mark.parametrize("payoff", [float("nan"), float("inf"), 1e308])
def test_payoffs_must_be_finite_and_not_huge(payoff):
  game = pyspiel.create_matrix_game([[payoff, 0.0], [0.0, 1.0]],
                                    [[-payoff, 0.0], [0.0, -1.0]])
  with pytest.raises(ValueError, match="^game=.*: pays a player"):
    regret_matching.RegretMatchingSolver(game)
