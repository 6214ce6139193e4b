"""Pairs of rounds that train at the same time, in other processes."""

import match_helpers
import pytest

from dudo_spiel.algorithms.dudo.imperfect_recall import match_solver


@pytest.mark.slow
def test_rounds_that_train_apart_learn_the_same(monkeypatch, tmp_path):
  """With three dice each, (1, 3) and (2, 2) have equally many in play."""
  game = match_helpers.load(numdice=3, dice_sides=2)
  one, two = match_helpers.solver_of(game), match_helpers.solver_of(game)
  one.run(2)
  monkeypatch.setattr(match_solver, "SAVE_SECONDS", 1e-9)  # an iteration a job
  two.run(2, save_to=tmp_path / "training.npz", engine="local")
  match_helpers.assert_same(one, two)
  loaded = match_helpers.solver_of(game)
  loaded.load(tmp_path / "training.npz")
  match_helpers.assert_same(one, loaded)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray leaves files open
def test_rounds_that_train_on_a_cluster_learn_the_same():
  ray = pytest.importorskip("ray")
  game = match_helpers.load(numdice=3, dice_sides=2)
  one, two = match_helpers.solver_of(game), match_helpers.solver_of(game)
  ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False,
           object_store_memory=80_000_000)
  try:
    for _ in range(2):
      one.run(3)
      two.run(3, engine="ray")
  finally:
    ray.shutdown()
  match_helpers.assert_same(one, two)


@pytest.mark.slow
def test_rounds_that_train_apart_keep_to_their_time():
  solver = match_helpers.solver_of(match_helpers.load(numdice=3, dice_sides=2))
  solver.run(seconds=0.3, engine="local")
  assert solver.seconds > 0.2
  assert solver.iteration > 0
  assert -1.0 < solver.value(3, 3) < 1.0


def test_rounds_train_apart_only_on_engines_that_there_are():
  with pytest.raises(ValueError, match="engine='roy': must be one of"):
    match_helpers.solver_of().run(1, engine="roy")
