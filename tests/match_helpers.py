"""Solvers of small matches, for the tests of `fsicfr.MatchSolver`."""

import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.dudo.imperfect_recall import sweep_kernels


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

  def interrupted(graph, *args):
    nonlocal count
    count += graph.num_claims > 0  # other sweeps only compile
    if count == number:
      raise KeyboardInterrupt
    sweep(graph, *args)

  monkeypatch.setattr(sweep_kernels, "sweep", interrupted)
