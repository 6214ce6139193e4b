import functools

import numpy as np
import pyspiel
import pytest
import random_games

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import evaluator as evaluator_lib
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.forms import deal_form
from dudo_spiel.algorithms.tabular.tree import public_tree


@functools.cache
def _load(game):
  return pyspiel.load_game(game)


_GOOFSPIEL = ("turn_based_simultaneous_game(game=goofspiel(imp_info=True,"
              "num_cards=3,points_order=descending))")


@pytest.mark.parametrize("game, form", [
    ("kuhn_poker", "deal"), ("liars_dice(dice_sides=3)", "deal"),
    ("leduc_poker", "deal"), ("neumann_poker", "deal"),
    ("neumann_poker(asymmetric=True)", "deal"),
    ("dudo(numdice=1,dice_sides=3)", "deal"),
    ("dudo_single_round(players=2,numdice=1,dice_sides=3)", "deal"),
    ("tiny_hanabi", "deal"),
    # Rolls in the middle of the game are private.
    ("liar_die(sides=3)", "sequence"),
    ("dudo(start_dice=2v1,dice_sides=2)", "sequence"),
    (_GOOFSPIEL, "sequence"),
    # Three players.
    ("kuhn_poker(players=3)", "sequence"),
    ("dudo_single_round(players=3,numdice=1,dice_sides=2)", "sequence"),
    # Imperfect recall.
    ("liar_die_ir(sides=3)", "history"),
    ("dudo_ir(numdice=1,dice_sides=2,recall_length=1)", "history"),
])
def test_the_form_is_chosen_by_looking(game, form):
  assert compiled_game.CompiledGame(_load(game)).form_name == form


def test_public_nodes_of_the_same_shape_are_one_class():
  compiled = compiled_game.compile_game(_load("liars_dice(dice_sides=3)"))
  arrays = compiled.form.arrays
  # Last claims 0..5 made by either player (0 only by the first to move), the
  # root and the terminals.
  assert sorted(arrays.num_nodes.tolist()) == [1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16,
                                               16, 63]
  assert isinstance(compiled.form, deal_form.DealForm)


def test_deals_are_laid_over_each_other():
  tree = compiled_game.compile_game(_load("kuhn_poker")).tree
  public = public_tree.merge_deals(tree)
  # The root; pass, bet; pp, pb, bp, bb; pbp, pbb. Five of them are the end.
  assert public.num_hands == (3, 3)
  assert public.actor.tolist() == [0, 1, 1, -4, 0, -4, -4, -4, -4]
  assert public.num_children.tolist() == [2, 2, 2, 0, 2, 0, 0, 0, 0]
  assert np.sum(public.node == 0) == 6  # the deals
  tree = compiled_game.compile_game(_load("liar_die(sides=3)")).tree
  assert public_tree.merge_deals(tree) is None


def _forms(game):
  """Returns the compiled game in all forms that fit."""
  fastest = compiled_game.CompiledGame(game)
  forms = [fastest]
  for form in ("sequence", "history"):
    if fastest.has_perfect_recall and form != fastest.form_name:
      forms.append(compiled_game.CompiledGame(game, form, fastest.tree))
  return forms


def _random_policy(compiled, seed):
  rng = np.random.default_rng(seed)
  table = rng.exponential(size=compiled.num_entries)**3
  return table_policy.from_strategy(compiled, compiled.normalized(table))


@pytest.mark.parametrize("game", [
    "kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)",
    "neumann_poker(num_ranks=5)", "kuhn_poker(players=3)", "liar_die(sides=3)",
    "dudo_single_round(players=2,numdice=1,dice_sides=3)", _GOOFSPIEL])
@pytest.mark.parametrize("alternating", [True, False])
def test_all_forms_learn_the_same(game, alternating):
  forms = _forms(_load(game))
  assert len(forms) >= 2
  for seed in range(5):
    # One iteration only: later ones part where rounding decides a tie.
    start = _random_policy(forms[0], seed)
    tables = []
    for compiled in forms:
      solver = cfr.CFRSolver(_load(game), form=compiled.form_name,
                             initial=start, alternating=alternating)
      solver.run(1)
      regrets = table_policy.from_strategy(solver.compiled,
                                           solver.tables.regret)
      tables.append([regrets.probabilities,
                     solver.average_policy().probabilities])
    for regret, average in tables[1:]:
      np.testing.assert_allclose(regret, tables[0][0], atol=1e-12)
      np.testing.assert_allclose(average, tables[0][1], atol=1e-12)


@pytest.mark.parametrize("game", [
    "kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)",
    "neumann_poker(num_ranks=5)", "kuhn_poker(players=3)", "liar_die(sides=3)"])
def test_all_forms_evaluate_the_same(game):
  forms = _forms(_load(game))
  policy = _random_policy(forms[0], 5)
  results = []
  for compiled in forms:
    evaluator = evaluator_lib.Evaluator(compiled)
    strategy = table_policy.to_strategy(compiled, policy)
    results.append([*evaluator.expected_values(strategy),
                    evaluator.nash_conv(strategy)])
  for result in results[1:]:
    assert result == pytest.approx(results[0], abs=1e-12)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("num_players, zero_sum", [(2, True), (2, False),
                                                   (3, False)])
@pytest.mark.parametrize("seed", range(25))
def test_random_games(seed, num_players, zero_sum, uneven):
  """Compares all forms and OpenSpiel on games made at random."""
  from open_spiel.python.algorithms import cfr as open_spiel_cfr
  from open_spiel.python.algorithms import expected_game_score
  from open_spiel.python.algorithms import exploitability as open_spiel
  game = random_games.random_game(seed, num_players, zero_sum=zero_sum,
                                  uneven=uneven)
  theirs = open_spiel_cfr.CFRSolver(game)
  for _ in range(3):
    theirs.evaluate_and_update_policy()
  average = theirs.average_policy()
  expected = open_spiel.nash_conv(game, average)
  values = expected_game_score.policy_value(game.new_initial_state(),
                                            [average] * num_players)
  tree = compiled_game.compile_game(game).tree
  for compiled in _forms(game):
    evaluator = evaluator_lib.Evaluator(compiled)
    strategy = table_policy.to_strategy(compiled, average)
    assert evaluator.nash_conv(strategy) == pytest.approx(expected, abs=1e-9)
    assert evaluator.expected_values(strategy) == pytest.approx(values)
    solver = cfr.CFRSolver(game, form=compiled.form_name)
    solver.run(3)
    assert solver.nash_conv() == pytest.approx(expected, abs=1e-9)
    # Sets to which their player plays only by rounding may differ. So may those
    # where rounding decides a tie, as it does in the history form.
    if compiled.form_name == "history":
      continue
    own = solver.average_policy()
    weights = table_policy.from_strategy(compiled, solver.tables.cumulative)
    for player, key in zip(tree.set_player.tolist(), tree.info_states):
      if sum(weights.at(player, key).values()) > 1e-9:
        theirs_here = average.policy_for_key(key)
        for action, p in own.at(player, key).items():
          assert p == pytest.approx(theirs_here[action], abs=1e-9)


@pytest.mark.slow  # Parallel kernels take a while to compile.
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("solver", [
    cfr.PDCFRPlusSolver, cfr.APCFRPlusSolver,
    lambda *args, **kwargs: cfr.VADCFRSolver(*args, warmup_iterations=10,
                                             **kwargs)])
def test_threads_do_not_change_the_result(solver, alternating, monkeypatch):
  monkeypatch.setattr(deal_form, "MIN_CELLS_TO_CUT", 1)
  game = pyspiel.load_game("leduc_poker")
  one, two = (solver(game, alternating=alternating, num_threads=num_threads)
              for num_threads in (1, 2))
  assert one.compiled.can_use_threads
  assert list(one.compiled.form.arrays.num_hands) == [3, 3, 3, 3]
  one.run(30)
  two.run(30)
  for ours, theirs in zip(one.tables, two.tables):
    np.testing.assert_array_equal(ours, theirs)
  monkeypatch.undo()
  whole = solver(pyspiel.load_game("leduc_poker"), alternating=alternating,
                 num_threads=2)
  assert not whole.compiled.can_use_threads
  whole.run(30)
  assert whole.nash_conv() == pytest.approx(one.nash_conv(), abs=1e-9)
  assert one.average_policy().distance(whole.average_policy()) < 1e-6


def test_hands_are_cut_unevenly_too(monkeypatch):
  monkeypatch.setattr(deal_form, "MIN_CELLS_TO_CUT", 1)
  game = pyspiel.load_game("kuhn_poker")
  solver = cfr.CFRSolver(game)
  assert list(solver.compiled.form.arrays.num_hands) == [1, 2, 1, 2]
  solver.run(50)
  whole = cfr.CFRSolver(game, form="sequence")
  whole.run(50)
  assert solver.average_policy().distance(whole.average_policy()) < 1e-9


def test_forms_that_do_not_fit():
  with pytest.raises(ValueError, match="form='deal': liar_die.*leave the form"):
    compiled_game.CompiledGame(_load("liar_die(sides=3)"), "deal")
  with pytest.raises(ValueError, match="form='sequence'.*imperfect recall"):
    compiled_game.CompiledGame(_load("liar_die_ir(sides=3)"), "sequence")
  with pytest.raises(ValueError, match="form='x': must be one of None, 'deal'"):
    compiled_game.CompiledGame(_load("kuhn_poker"), "x")


def test_the_same_game_is_compiled_once():
  first = _load("kuhn_poker")
  assert compiled_game.compile_game(first) is compiled_game.compile_game(first)
  # Games made from data share their string.
  games = [random_games.random_game(seed) for seed in (1, 2)]
  assert str(games[0]) == str(games[1])
  assert compiled_game.compile_game(games[0]) is not (
      compiled_game.compile_game(games[1]))


def test_sets_with_histories_of_different_lengths_are_not_the_deal_form():
  # Player 1 goes left to player 2, or right and then once more to the same
  # information set of player 2.
  game = pyspiel.load_efg_game('''EFG 2 R "uneven" { "P1" "P2" } ""
p "" 1 1 "" { "L" "R" } 0
p "" 2 1 "" { "a" "b" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -2 2 }
p "" 1 2 "" { "x" "y" } 0
p "" 2 1 "" { "a" "b" } 0
t "" 3 "" { -3 3 }
t "" 4 "" { 4 -4 }
t "" 5 "" { 0 0 }
''')
  solver = cfr.CFRPlusSolver(game)
  assert solver.compiled.form_name == "sequence"
  result = solver.solve(target_exploitability=1e-4, max_iterations=10**5)
  assert result.reason == "target"
  from open_spiel.python.algorithms import exploitability as open_spiel
  assert open_spiel.exploitability(game, solver.average_policy()) == (
      pytest.approx(result.exploitability, abs=1e-9))


def test_tables_that_would_be_empty_are_not_made():
  lines = ['EFG 2 R "wide" { "P1" "P2" } ""']
  moves = " ".join(f'"c{i}" 1/400' for i in range(400))
  lines.append(f'c "" 1 "" {{ {moves} }} 0')
  for i in range(400):
    lines.append(f'p "" {1 + i % 2} {i // 2 + 1} "" {{ "a" "b" }} 0')
    lines += [f't "" {2 * i + 1} "" {{ 1 -1 }}',
              f't "" {2 * i + 2} "" {{ -1 1 }}']
  compiled = compiled_game.CompiledGame(
      pyspiel.load_efg_game("\n".join(lines) + "\n"))
  assert compiled.form_name == "sequence"


def test_memory_is_known():
  compiled = compiled_game.compile_game(_load("leduc_poker"))
  solver = cfr.CFRSolver(_load("leduc_poker"))
  payoffs = compiled.form.arrays.matrix_0.nbytes
  assert solver.memory_bytes > 3 * 8 * compiled.num_entries + 2 * payoffs


@pytest.mark.parametrize("form", ["deal", "sequence"])
def test_arrays_used_together_begin_apart(form):
  compiled = compiled_game.CompiledGame(pyspiel.load_game("leduc_poker"), form)
  tables = compiled.new_tables(np.dtype(np.float64))
  workspace = compiled.workspace()
  offsets = {array.ctypes.data % 4096 for array in (
      tables.strategy, tables.regret, tables.cumulative, workspace.reach,
      workspace.values)}
  assert len(offsets) == 5
  assert all(offset % 64 == 0 for offset in offsets)


def test_games_for_one_player():
  game = pyspiel.load_game("cliff_walking(horizon=4)")
  sequence, history = (cfr.CFRSolver(game, form=form)
                       for form in ("sequence", "history"))
  sequence.run(5)
  history.run(5)
  assert sequence.average_policy().distance(history.average_policy()) < 1e-12
  assert sequence.nash_conv() == pytest.approx(history.nash_conv(), abs=1e-12)
