"""Solvers and games by name, and how good solvers are on their way."""

import pytest

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms.tabular.tree import game_tree

_FORGETFUL = "goofspiel(imp_info=False,num_cards=4,points_order=ascending)"


@pytest.mark.parametrize("text, name, parameters", [
    ("cfr", "cfr", ""), (" cfr+() ", "cfr+", ""),
    ("cfr+(gamma=2.0)", "cfr+", "gamma=2"),
    ("dcfr( gamma=2, beta=-inf ,alpha=1.5)", "dcfr",
     "alpha=1.5,beta=-inf,gamma=2"),
    ("bdfp(average=True,initial=random)", "bdfp",
     "average=True,initial=random")])
def test_names_of_solvers(text, name, parameters):
  found = convergence.solver_name(text)
  assert (found.name, found.parameters) == (name, parameters)
  assert convergence.solver_name(str(found)) == found


@pytest.mark.parametrize("text, message", [
    ("cfrr", "solver=cfrr: must be one of cfr, .*; did you mean cfr"),
    ("CFR+", "solver=CFR\\+: must be one of .*; did you mean cfr\\+"),
    ("", "solver=: must be one of"),
    ("cfr(", "solver=cfr\\(: must have as many \\( as \\)"),
    ("cfr(alpha)", "'alpha' must be a name, = and a value"),
    ("cfr(alpha=1,alpha=2)", "each name once"),
    ("cfr(colour=3)", "colour must be one of alpha, beta, gamma"),
    ("cfr+(beta=3)", "beta=3: CFRPlusSolver takes gamma of alpha, beta"),
    ("dcfr(alpha=much)", "alpha='much': must be a number")])
def test_solvers_that_there_are_not(text, message):
  with pytest.raises(ValueError, match=message):
    convergence.make_solver(text, "kuhn_poker")


def test_schedules_are_as_long_as_the_run():
  planned = convergence.with_plan(convergence.solver_name("hs-dcfr"), 64)
  assert str(planned) == "hs-dcfr(planned_iterations=64)"
  for text in ("cfr", "hs-dcfr(planned_iterations=9)"):
    name = convergence.solver_name(text)
    assert convergence.with_plan(name, 64) == name


def test_lists_of_solvers():
  assert convergence.split_solvers(
      "cfr, cfr+(gamma=2),dcfr(alpha=1.5,beta=0),,xfp") == [
          "cfr", "cfr+(gamma=2)", "dcfr(alpha=1.5,beta=0)", "xfp"]


@pytest.mark.parametrize("name", list(convergence.SOLVERS))
def test_every_solver_can_be_measured(name):
  first, last = convergence.measure("kuhn_poker", name, [10, 20])
  assert (first.iteration, last.iteration) == (10, 20)
  assert 0.0 < last.exploitability < 0.5
  assert 0.0 < first.seconds < last.seconds


def test_measurements_are_the_solvers_own():
  measured = convergence.measure("kuhn_poker", "cfr+(gamma=2)", [7, 3])
  solver = cfr.CFRPlusSolver(convergence.load_game("kuhn_poker").game, gamma=2)
  for point in measured:
    solver.run(point.iteration - solver.iteration)
    assert point.exploitability == solver.exploitability()
    assert point.value == solver.expected_values()[0]
  assert [point.iteration for point in measured] == [3, 7]


def test_measurements_by_time():
  measured = convergence.measure("kuhn_poker", "cfr", seconds=[0.02, 1.0])
  assert measured[0].iteration <= measured[1].iteration
  assert 0.01 < measured[0].seconds <= measured[1].seconds


@pytest.mark.parametrize("points", [
    {}, {"iterations": [1], "seconds": [1]}, {"iterations": []},
    {"iterations": [-1]}, {"seconds": ["x"]}])
def test_when_to_measure_must_be_clear(points):
  with pytest.raises(ValueError, match="iterations|seconds"):
    convergence.measure("kuhn_poker", "cfr", **points)


@pytest.mark.parametrize("text, message", [
    ("kuhn_pokr", "game=kuhn_pokr: .*did you mean kuhn_poker"),
    ("perfect_recall(goofspil)", "game=perfect_recall\\(goofspil\\): .*"
     "did you mean goofspiel"),
    ("kuhn_poker(x=1)", "game=kuhn_poker\\(x=1\\): Unknown parameter")])
def test_games_that_there_are_not(text, message):
  with pytest.raises(ValueError, match=message):
    convergence.load_game(text)


@pytest.mark.parametrize("text, name", [
    ("kuhn_poker", "kuhn_poker"), ("kuhn_poker()", "kuhn_poker"),
    (" liars_dice(numdice=2,dice_sides=3) ",
     "liars_dice(dice_sides=3,numdice=2)"),
    ("perfect_recall(goofspiel(num_cards=3,imp_info=False))",
     "perfect_recall(goofspiel(imp_info=False,num_cards=3))")])
def test_games_have_one_name(text, name):
  assert convergence.load_game(text).name == name


def test_players_who_forget_nothing():
  """OpenSpiel's players forget the order in which cards were played."""
  forgetful = convergence.make_solver("cfr", _FORGETFUL)
  solver = convergence.make_solver("cfr", f"perfect_recall({_FORGETFUL})")
  assert not forgetful.compiled.has_perfect_recall
  assert solver.compiled.has_perfect_recall
  solver.run(500)
  assert solver.exploitability() < 0.01
  with pytest.raises(ValueError, match="no information states in which its "
                     "players remember all; solve it without perfect_recall"):
    solver.average_policy()


def test_perfect_recall_changes_nothing_where_players_have_it():
  plain, asked = (convergence.make_solver("cfr", name) for name in (
      "leduc_poker", "perfect_recall(leduc_poker)"))
  assert asked.compiled.tree.info_states == plain.compiled.tree.info_states
  asked.run(5)
  assert asked.average_policy().game.get_type().short_name == "leduc_poker"


def test_files_tell_perfect_recall(tmp_path):
  solver = convergence.make_solver("cfr", f"perfect_recall({_FORGETFUL})")
  solver.run(10)
  solver.save(tmp_path / "solver.npz")
  other = convergence.make_solver("cfr", f"perfect_recall({_FORGETFUL})")
  other.load(tmp_path / "solver.npz")
  assert other.nash_conv() == solver.nash_conv()
  with pytest.raises(ValueError, match="perfect_recall|form|fingerprint"):
    convergence.make_solver("cfr", _FORGETFUL).load(tmp_path / "solver.npz")


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker",
                                  "liars_dice(dice_sides=4)"])
def test_sizes_of_games_are_estimated(name):
  game = convergence.load_game(name).game
  histories = game_tree.GameTree(game).num_nodes
  assert convergence.estimated_histories(game) == pytest.approx(histories,
                                                                rel=0.4)
  assert convergence.estimated_memory(name) > 100 * histories
