import functools
import itertools

import helpers
import numpy as np
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import fictitious_play as open_spiel
from oracles import fictitious_play_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.forms import deal_form
from dudo_spiel.algorithms.tabular.forms import sequence_form

pytestmark = pytest.mark.oracle

_SOLVERS = fictitious_play.SOLVERS
_TWO_PLAYERS = ("kuhn_poker", "neumann_poker(num_ranks=3)",
                "neumann_poker(num_ranks=4,asymmetric=True)")
_FORMS = ("deal", "sequence", "history")


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


def _table(policy):
  """Returns {(player, info_state): {action: probability}}."""
  return {(player, key): policy.at(player, key)
          for player, key in zip(policy.players.tolist(), policy.info_states)}


def _distance(ours, theirs):
  assert ours.keys() == theirs.keys()
  return max(abs(p - theirs[key][a])
             for key, row in ours.items() for a, p in row.items())


def _compare_with_the_oracle(game, name, iterations, epsilon=0.0,
                             alternating=False, **kwargs):
  """Compares each iterate; among equally good actions the oracle follows."""
  make = functools.partial(_SOLVERS[name], _load(game), epsilon=epsilon,
                           alternating=alternating, **kwargs)
  ours, averaged = make(), make(average=True)
  before = _table(ours.current_policy())

  def settle(key, actions):
    if name == "xfp":
      s = list(zip(tree.set_player.tolist(), tree.info_states)).index(key)
      entries = form.set_entry[s] + form.set_stride[s] * np.arange(
          len(tree.set_actions[s]))
      response = dict(zip(tree.set_actions[s], ours.tables.response[entries]))
      return max(actions, key=response.get)
    after = ours.current_policy().at(*key)
    return max(actions, key=lambda a: (
        (ours.iteration + 1) * after[a] - ours.iteration * before[key][a]))

  tree, form = ours.compiled.tree, ours.compiled.form
  slow = fictitious_play_oracle.OracleFictitiousPlay(
      _load(game), name == "xfp", epsilon, alternating, settle, before)
  for _ in range(iterations):
    ours.run(1)
    averaged.run(1)
    slow.iterate()
    assert _distance(_table(ours.current_policy()), slow.strategy) < 1e-12
    assert _distance(_table(ours.average_policy()), slow.strategy) < 1e-12
    assert _distance(_table(averaged.average_policy()), slow.average()) < 1e-12
    assert averaged.current_policy().distance(ours.current_policy()) == 0.0
    before = _table(ours.current_policy())
  assert slow.num_ties < iterations * tree.num_info_sets / 2


@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("name", _SOLVERS)
@pytest.mark.parametrize("game", _TWO_PLAYERS)
def test_iterates_are_the_oracles(game, name, form, epsilon, alternating):
  _compare_with_the_oracle(game, name, 6, epsilon, alternating, form=form,
                           initial="random", seed=1)


@pytest.mark.parametrize("name, game, iterations", [
    ("bdfp", "liar_die(sides=3)", 4), ("xfp", "liar_die(sides=3)", 4),
    ("bdfp", "dudo(numdice=1,dice_sides=2)", 4),
    ("xfp", "dudo(numdice=1,dice_sides=2)", 4),
    ("bdfp", "liars_dice(dice_sides=2)", 4),
    ("bdfp", "kuhn_poker(players=3)", 3), ("xfp", "kuhn_poker(players=3)", 3),
    ("bdfp", "liar_die_ir(sides=3)", 4),
    ("bdfp", "dudo_ir(numdice=1,dice_sides=2,recall_length=1)", 4)])
@pytest.mark.parametrize("alternating", [False, True])
def test_iterates_of_other_games_are_the_oracles(name, game, iterations,
                                                 alternating):
  _compare_with_the_oracle(game, name, iterations, 0.01, alternating)


@pytest.mark.parametrize("kwargs", [{}, {"epsilon": 0.01, "average": True}])
@pytest.mark.parametrize("name", _SOLVERS)
def test_forms_agree_on_leduc_poker(name, kwargs):
  game = _load("leduc_poker")
  deal = _SOLVERS[name](game, initial="random", seed=2, **kwargs)
  start = deal.current_policy()
  others = [_SOLVERS[name](game, initial=start, form=form, **kwargs)
            for form in _FORMS[1:]]
  for _ in range(5):
    deal.run(1)
    for other in others:
      other.run(1)
      assert other.average_policy().distance(deal.average_policy()) < 1e-12


@pytest.mark.parametrize("game, iterations", [
    ("kuhn_poker", 10),
    pytest.param("leduc_poker", 6, marks=pytest.mark.slow)])
def test_xfp_is_open_spiels(game, iterations):
  """Where responses are equally good, OpenSpiel's choice is taken over."""
  theirs = open_spiel.XFPSolver(_load(game))
  ours = fictitious_play.XFPSolver(_load(game))
  tree, form = ours.compiled.tree, ours.compiled.form
  num_equal = 0
  for n in range(1, iterations + 1):
    # XFP's current policy is its average.
    before = table_policy.to_strategy(ours.compiled, ours.current_policy())
    theirs.iteration()
    ours.run(1)
    tables = theirs.average_policy_tables()
    for s, (player, key) in enumerate(zip(tree.set_player.tolist(),
                                          tree.info_states)):
      entries = form.set_entry[s] + form.set_stride[s] * np.arange(
          len(tree.set_actions[s]))
      expected = [tables[player][key][a] for a in tree.set_actions[s]]
      if ours.tables.strategy[entries] == pytest.approx(expected, abs=1e-12):
        num_equal += 1
      ours.tables.strategy[entries] = expected
    # Their responses earn as much as ours do.
    response = _response_of(before, ours.tables.strategy, ours.compiled, n)
    values = _response_values(ours.compiled, before, response)
    _, best, _, _ = evaluator.Evaluator(ours.compiled).best_responses(before)
    assert values == pytest.approx(best, abs=1e-9)
    ours.refresh()
  share = num_equal / (iterations * tree.num_info_sets)
  assert share == 1.0 if game == "leduc_poker" else share > 0.5


def _plan(compiled, strategy):
  """Returns [entry], how likely its player plays each entry."""
  plan = np.zeros(compiled.num_entries)
  tree, form = compiled.tree, compiled.form
  parents = sequence_form.ParentSequences(tree).of_set

  def entry(s, a):
    return form.set_entry[s] + a * form.set_stride[s]

  for s in np.argsort(tree.set_node):
    reach = 1.0 if parents[0][s] < 0 else plan[entry(parents[0][s],
                                                     parents[1][s])]
    for a in range(len(tree.set_actions[s])):
      plan[entry(s, a)] = reach * strategy[entry(s, a)]
  return plan


def _response_of(before, after, compiled, n):
  """Returns what was mixed into `before` with weight 1/(n+1), normalized."""
  plan = (n + 1) * _plan(compiled, after) - n * _plan(compiled, before)
  return compiled.normalized(np.where(plan > 1e-9, plan, 0.0))


def _response_values(compiled, strategy, response):
  """Returns what each player gets who alone plays the response."""
  sets, _, entries = compiled.entries_of_sets()
  player = np.empty(compiled.num_entries, dtype=np.int64)
  player[entries] = compiled.tree.set_player[sets]
  measure = evaluator.Evaluator(compiled).expected_values
  return [measure(np.where(player == p, response, strategy))[p]
          for p in range(compiled.num_players)]


@pytest.mark.parametrize("name", _SOLVERS)
@pytest.mark.parametrize("game, value", [
    ("kuhn_poker", -1 / 18),
    ("neumann_poker(num_ranks=10,asymmetric=True)", 11 / 200),
    ("neumann_poker(num_ranks=10)", -18 / 475)])
def test_both_reach_the_exact_values(name, game, value):
  solver = _SOLVERS[name](_load(game), alternating=True)
  result = solver.solve(target_exploitability=5e-4, max_iterations=10**5)
  assert result.reason == "target"
  assert result.value == pytest.approx(value, abs=1e-3)
  assert solver.best_policy().distance(solver.average_policy()) == 0.0


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("name", [*_SOLVERS, "cfr", "pcfr+"])
def test_perturbed_games_are_solved(name, form):
  game = _load("neumann_poker(num_ranks=10)")
  solver = {**_SOLVERS, **cfr.SOLVERS}[name](game, epsilon=0.02, form=form,
                                             alternating=True)
  result = solver.solve(target_exploitability=5e-4, max_iterations=20_000)
  assert result.reason == "target"
  policy = solver.average_policy()
  assert 0.02 - 1e-12 < policy.probabilities.min() < 0.021
  # In the game as it is, the same policy can be exploited much more.
  assert solver.exploitability() > 4e-3
  assert solver.exploitability(perturbed=True) == result.exploitability
  assert exploitability.exploitability(game, policy, 0.02) == pytest.approx(
      result.exploitability, abs=1e-12)


@pytest.mark.parametrize("name", ["cfr+", "dcfr", "pcfr+"])
def test_cfr_converges_in_perturbed_games(name):
  """With regrets against what is played it would stop at 4e-3."""
  solver = cfr.SOLVERS[name](_load("leduc_poker"), epsilon=0.1)
  result = solver.solve(target_exploitability=1e-4, max_iterations=5000)
  assert result.reason == "target"


def test_perturbed_nash_conv_of_the_uniform_policy():
  """Kuhn poker, by the linear mix of the best and the uniform response."""
  game = _load("kuhn_poker(players=2)")
  uniform = policy_lib.UniformRandomPolicy(game)
  assert exploitability.nash_conv(game, uniform, 0.5) == pytest.approx(0.0)
  values = [exploitability.nash_conv(game, uniform, epsilon)
            for epsilon in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)]
  assert values[0] == pytest.approx(11 / 12)
  assert values == sorted(values, reverse=True)
  # A response is decided set by set: enumerate pure ones and mix them.
  assert values[2] == pytest.approx(_enumerated_nash_conv(game, 0.2))


def _enumerated_nash_conv(game, epsilon):
  """Tries every perturbed pure strategy of each player against uniform."""
  compiled = compiled_game.compile_game(game)
  sets, actions, entries = compiled.entries_of_sets()
  uniform = np.full(compiled.num_entries, 0.5)
  measure = evaluator.Evaluator(compiled).expected_values
  values = measure(uniform)
  gain = 0.0
  for player in range(2):
    own = np.flatnonzero(compiled.tree.set_player == player)
    best = -np.inf
    for choice in itertools.product((0, 1), repeat=len(own)):
      strategy = uniform.copy()
      for s, best_action in zip(own, choice):
        for entry, a in zip(entries[sets == s], actions[sets == s]):
          strategy[entry] = 1 - epsilon if a == best_action else epsilon
      best = max(best, measure(strategy)[player])
    gain += best - values[player]
  return gain


def test_policies_of_other_games_are_no_policies_of_the_perturbed():
  game = _load("kuhn_poker")
  policy = cfr.CFRPlusSolver(game)
  policy.run(50)
  with pytest.raises(ValueError, match="must be at least epsilon=0.1"):
    exploitability.nash_conv(game, policy.average_policy(), 0.1)


@pytest.mark.parametrize("epsilon", [-0.1, 0.34, float("nan"), "a", None])
def test_bad_epsilons(epsilon):
  game = _load("neumann_poker(num_ranks=3)")  # three actions at a set
  message = f"epsilon={epsilon!r}: must be a number between 0 and 0.33"
  for kind in (*_SOLVERS.values(), cfr.CFRSolver):
    with pytest.raises(ValueError, match=message):
      kind(game, epsilon=epsilon)
  with pytest.raises(ValueError, match=message):
    exploitability.nash_conv(game, policy_lib.UniformRandomPolicy(game),
                             epsilon)


@pytest.mark.parametrize("name", [*_SOLVERS, "cfr", "dcfr", "pcfr+"])
def test_where_all_is_forced_all_is_uniform(name):
  solver = {**_SOLVERS, **cfr.SOLVERS}[name](_load("kuhn_poker"), epsilon=0.5,
                                             initial="random")
  solver.run(5)
  np.testing.assert_allclose(solver.average_policy().probabilities, 0.5,
                             atol=1e-12)


@pytest.mark.parametrize("name", [*_SOLVERS, "cfr"])
def test_random_starts_are_perturbed(name):
  kind = {**_SOLVERS, **cfr.SOLVERS}[name]
  game = _load("leduc_poker")
  plain = kind(game, initial="random", seed=5).current_policy()
  start = kind(game, initial="random", seed=5, epsilon=0.1).current_policy()
  assert plain.probabilities.min() < 0.01
  assert start.probabilities.min() >= 0.1 - 1e-15
  # What is inside already stays as it is.
  again = kind(game, initial=start, epsilon=0.1).current_policy()
  assert again.distance(start) == 0.0
  other = kind(game, initial="random", seed=6).current_policy()
  assert other.distance(plain) > 0.1


@pytest.mark.parametrize("kwargs", [{}, {"average": True, "epsilon": 0.01},
                                    {"alternating": True, "dtype": "float32"}])
@pytest.mark.parametrize("name", _SOLVERS)
def test_saved_solvers_go_on_exactly(name, kwargs, tmp_path):
  game = _load("leduc_poker")
  whole, first, second = (_SOLVERS[name](game, **kwargs) for _ in range(3))
  whole.run(30)
  first.solve(max_iterations=10)
  first.save(tmp_path / "solver.npz")
  second.run(3)
  second.load(tmp_path / "solver.npz")
  assert second.best_check == first.best_check
  assert second.best_policy().distance(first.best_policy()) == 0.0
  second.run(20)
  for ours, theirs in zip(second.tables, whole.tables):
    np.testing.assert_array_equal(ours, theirs)
  assert second.average_policy().distance(whole.average_policy()) == 0.0
  others = [{**kwargs, "average": not kwargs.get("average", False)},
            {**kwargs, "epsilon": 0.02}]
  for other in others:
    with pytest.raises(ValueError, match="was saved with parameters"):
      _SOLVERS[name](game, **other).load(tmp_path / "solver.npz")


def test_a_solver_without_a_best_policy_forgets_its_own(tmp_path):
  game = _load("kuhn_poker")
  fresh, solved = (fictitious_play.BDFPSolver(game) for _ in range(2))
  fresh.save(tmp_path / "solver.npz")
  solved.solve(max_iterations=5)
  assert solved.best_check is not None
  solved.load(tmp_path / "solver.npz")
  assert solved.best_check is None and solved.iteration == 0


@pytest.mark.parametrize("spoil, message", [
    (lambda header, arrays: header["best"].pop("values"), "its best must be"),
    (lambda header, arrays: arrays.pop("best"), "its best is"),
    (lambda header, arrays: arrays.pop("strategy"), "its strategy is")])
def test_a_bad_file_changes_nothing(spoil, message, tmp_path):
  path = tmp_path / "solver.npz"
  saved, solver = (fictitious_play.BDFPSolver(_load("kuhn_poker"))
                   for _ in range(2))
  saved.solve(max_iterations=9)
  saved.save(path)
  header, arrays = helpers.load_file(path, "solver")
  arrays = dict(arrays)
  spoil(header, arrays)
  archives.save(path, "solver", header, arrays)
  solver.solve(max_iterations=4)
  before = solver.best_check, solver.current_policy()
  with pytest.raises(ValueError, match=message):
    solver.load(path)
  assert solver.best_check == before[0] and solver.iteration == 4
  assert solver.current_policy().distance(before[1]) == 0.0


@pytest.mark.parametrize("name, message", [
    ("cumulative", "strategy must be a dist"), ("mean", "its mean has num")])
def test_averages_that_are_none_are_refused(name, message, tmp_path):
  path = tmp_path / "solver.npz"
  solver = fictitious_play.BDFPSolver(_load("leduc_poker"), average=True,
                                      dtype="float32")
  solver.run(3)
  solver.save(path)
  header, arrays = helpers.load_file(path, "solver")
  changed = {"cumulative": 1e30 * arrays["cumulative"], "mean": -arrays["mean"]}
  archives.save(path, "solver", header, {**arrays, name: changed[name]})
  with pytest.raises(ValueError, match=message):
    solver.load(path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_no_iterations_make_are_refused(dtype, tmp_path):
  """In float32 the next strategies would be zero everywhere."""
  path = tmp_path / "solver.npz"
  solver = fictitious_play.XFPSolver(_load("kuhn_poker"), dtype=dtype)
  solver.run(3)
  solver.refresh()
  solver.save(path)
  solver.load(path)
  header, arrays = helpers.load_file(path, "solver")
  for number in (1e100, 4.1):
    arrays["cumulative"][0] = number
    archives.save(path, "solver", header, arrays)
    with pytest.raises(ValueError, match="^path=.*cumulative has numbers abov"):
      solver.load(path)


def test_the_best_iterate_is_kept():
  solver = fictitious_play.BDFPSolver(_load("leduc_poker"), alternating=True)
  result = solver.solve(max_iterations=3000)
  measured = [check.exploitability for check in result.history]
  # Iterates do fluctuate.
  assert any(b > 1.02 * a for a, b in zip(measured, measured[1:]))
  assert result.best_exploitability == min(measured)
  assert solver.best_check == result.best
  assert exploitability.exploitability(
      _load("leduc_poker"), solver.best_policy()) == pytest.approx(
          min(measured), abs=1e-12)
  solver.run(37)
  assert solver.best_check == result.best
  # What the best has reached is reached.
  iteration = solver.iteration
  again = solver.solve(target_exploitability=min(measured))
  assert again.reason == "target" and solver.iteration == iteration
  again = solver.solve(target_exploitability=0.9 * min(measured))
  assert again.reason == "target" and solver.iteration > iteration
  assert again.exploitability == again.best_exploitability
  assert solver.best_check == again.best


def test_before_solve_the_best_policy_is_the_average():
  for kind in (*_SOLVERS.values(), cfr.CFRSolver):
    solver = kind(_load("kuhn_poker"))
    solver.run(3)
    assert solver.best_policy().distance(solver.average_policy()) == 0.0


@pytest.mark.slow
def test_leduc_poker_with_ten_ranks():
  """Stakes are twice those of Schulze, as universal_poker has whole chips."""
  game = pyspiel.load_game("universal_poker", {
      "betting": "limit", "numPlayers": 2, "numRounds": 2, "blind": "1 1",
      "raiseSize": "2 4", "maxRaises": "2 2", "firstPlayer": "1 1",
      "numSuits": 2, "numRanks": 10, "numHoleCards": 1,
      "numBoardCards": "0 1", "stack": "100 100"})
  exact = cfr.PDCFRPlusSolver(game).solve(target_exploitability=2e-5)
  assert exact.value / 2 == pytest.approx(-0.0492877, abs=2e-5)
  for solver in (fictitious_play.BDFPSolver(game, alternating=True),
                 fictitious_play.XFPSolver(game, alternating=True)):
    result = solver.solve(target_exploitability=0.02)
    assert result.reason == "target"
    assert abs(result.value - exact.value) < 2 * 0.02


def test_averages_fluctuate_less():
  ratios = []
  for average in (False, True):
    solver = fictitious_play.BDFPSolver(_load("leduc_poker"), average=average)
    solver.run(1000)
    rises = 0.0
    last = solver.exploitability()
    for _ in range(100):
      solver.run(10)
      gap = solver.exploitability()
      rises, last = rises + max(0.0, gap - last), gap
    ratios.append(rises)
  assert ratios[1] < 0.01 * ratios[0]


@pytest.mark.parametrize("name", _SOLVERS)
def test_three_players_run(name):
  solver = _SOLVERS[name](_load("kuhn_poker(players=3)"))
  result = solver.solve(max_iterations=2000)
  assert result.exploitability < 0.1 < result.history[0].exploitability
  assert sum(result.values) == pytest.approx(0.0, abs=1e-12)


def test_imperfect_recall():
  game = _load("liar_die_ir(sides=3)")
  with pytest.raises(ValueError, match="imperfect recall.*use BDFPSolver"):
    fictitious_play.XFPSolver(game)
  solver = fictitious_play.BDFPSolver(game)
  assert solver.compiled.form_name == "history"
  result = solver.solve(max_iterations=1000)
  assert result.exploitability < 0.5 * result.history[0].exploitability


@pytest.mark.slow
@pytest.mark.parametrize("name", _SOLVERS)
def test_float32_is_close(name):
  exact, fast = (_SOLVERS[name](_load("neumann_poker(num_ranks=20)"),
                                initial="random", dtype=dtype)
                 for dtype in ("float64", "float32"))
  exact.run(5)
  fast.run(5)
  assert 0 < fast.average_policy().distance(exact.average_policy()) < 1e-5
  assert fast.memory_bytes < 0.8 * exact.memory_bytes


@pytest.mark.slow
@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("name", _SOLVERS)
def test_threads_do_not_matter(name, alternating):
  game = _load("neumann_poker(num_ranks=60,num_bets=2)")
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(deal_form, "MIN_CELLS_TO_CUT", 0)
    compiled = compiled_game.CompiledGame(game)
    assert compiled.can_use_threads
    patch.setattr(compiled_game, "compile_game", lambda *_: compiled)
    one, two = (_SOLVERS[name](game, num_threads=n, alternating=alternating,
                               average=True, initial="random")
                for n in (1, 2))
  plain = _SOLVERS[name](game, alternating=alternating, average=True,
                         initial=one.current_policy())
  for solver in (one, two, plain):
    solver.run(20)
  assert one.average_policy().distance(two.average_policy()) == 0.0
  assert one.average_policy().distance(plain.average_policy()) < 1e-12


def test_benchmark():
  output = helpers.run_example(
      "benchmark_fictitious_play.py", "--game=kuhn_poker",
      "--game=liars_dice(dice_sides=2)", "--repeats=1", "--seconds=0.01",
      "--peer_nodes=100").stdout
  lines = [line.split() for line in output.splitlines()]
  assert lines[0] == ["kuhn_poker", "(deal", "form)"]
  peer, cfr_line = lines[9], lines[7]
  assert peer[:2] == ["OpenSpiel", "XFP"] and peer[3] == "1.00"
  assert cfr_line[0] == "CFR" and cfr_line[3] == "1.00"
  assert lines[2][0] == "BDFP" and float(lines[2][2].replace(",", "")) > 0.0
  # The other game is too large for OpenSpiel's solver.
  assert lines[10][0] == "liars_dice(dice_sides=2)" and len(lines) == 19
  assert all(line[-2] == "-" for line in lines[12:])


@pytest.mark.parametrize("flags, message", [
    (["--game=nonsense"], "Unknown game"), (["extra"], "'extra'"),
    (["--repeats=0"], "--repeats=0"),
    (["--game=liar_die_ir(sides=3)"], "imperfect recall")])
def test_benchmark_with_wrong_flags(flags, message):
  helpers.assert_refused("benchmark_fictitious_play.py", flags, message)


def test_solve_game(tmp_path):
  output = helpers.run_example(
      "solve_game.py", "--game=neumann_poker(num_ranks=10,asymmetric=True)",
      "--solver=bdfp", "--target=2e-4").stdout
  value = [line for line in output.splitlines() if "value" in line][0]
  assert float(value.split()[1]) == pytest.approx(11 / 200, abs=4e-4)
  assert "stopped by target" in output
  perturbed = helpers.run_example(
      "solve_game.py", "--game=kuhn_poker", "--solver=xfp", "--epsilon=0.1",
      "--iterations=2000", f"--checkpoint={tmp_path / 'solver'}").stdout
  line = [line for line in perturbed.splitlines() if "exploitab" in line][0]
  assert float(line.split()[1]) < 0.5 * float(line.split()[-2])
  helpers.assert_refused("solve_game.py", [
      "--game=kuhn_poker", "--solver=xfp", "--epsilon=0.6"], "epsilon=0.6")


@pytest.mark.parametrize("arguments, message", [
    ({"average": 2}, "average=2"), ({"average": "yes"}, "average='yes'"),
    ({"alternating": None}, "alternating=None"),
    ({"initial": "best"}, "initial='best'"), ({"seed": -1}, "seed=-1"),
    ({"dtype": "int8"}, "dtype='int8'"), ({"form": "x"}, "form='x'")])
@pytest.mark.parametrize("name", _SOLVERS)
def test_bad_arguments(name, arguments, message):
  with pytest.raises(ValueError, match=message):
    _SOLVERS[name](_load("kuhn_poker"), **arguments)
  solver = _SOLVERS[name](_load("kuhn_poker"))
  with pytest.raises(ValueError, match="perturbed=3: must be True or False"):
    solver.nash_conv(perturbed=3)
