"""Cases for tests: all solvers on small games, by name.

Run as a program, it loads solvers from a folder and goes on with them:

  python solver_cases.py FOLDER ITERATIONS
"""

import os
import sys

import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import qlearning
from dudo_spiel.algorithms import regret_matching

_SINGLE_ROUND = ("dudo_single_round(players=3,numdice=1,dice_sides=2,"
                 "claim_window=3,max_amount=2)")
_ONE_ROUND = "dudo(numdice=1,dice_sides=3)"
_LOSE_ONE = ("dudo(numdice=1,dice_sides=3,wild_ones=False,die_loss=one,"
             "exact_reward=False)")

# name: (class, game, keyword arguments)
SOLVERS = {
    **{name: (solver, "kuhn_poker", {"initial": "random", "seed": 5})
       for name, solver in {**cfr.SOLVERS, **fictitious_play.SOLVERS}.items()},
    "cfr on histories": (cfr.CFRSolver, "liar_die_ir(sides=3)", {}),
    "fsicfr": (fsicfr.FSICFRSolver, "kuhn_poker", {"seed": 3}),
    "fsicfr exact": (fsicfr.FSICFRSolver, "kuhn_poker", {"deals": "exact"}),
    "fsi": (pfsi.FSISolver, _SINGLE_ROUND, {"num_threads": 2}),
    "pfsi": (pfsi.PFSISolver, _SINGLE_ROUND,
             {"num_threads": 2, "reach_threshold": 0.05}),
    "ppt": (pass_through.PrunedPassThroughSolver, _SINGLE_ROUND,
            {"num_threads": 2}),
    "mcpt": (pass_through.MonteCarloPassThroughSolver, _SINGLE_ROUND,
             {"num_threads": 1, "num_playouts": 9}),
    "fsi on a walked game": (pfsi.FSISolver, "kuhn_poker(players=3)", {}),
    "regret matching": (regret_matching.RegretMatchingSolver, "matrix_brps",
                        {}),
    "sampled regret matching": (
        regret_matching.RegretMatchingSolver, "blotto(coins=3,fields=3)",
        {"updates": "sampled", "seed": 3}),
    "conditional regret matching": (
        regret_matching.RegretMatchingSolver, "matrix_brps",
        {"updates": "sampled", "conditional": True}),
    "doubt": (qlearning.DoubtLearner, _LOSE_ONE, {"seed": 2}),
    "match": (fsicfr.MatchSolver, _ONE_ROUND, {"recall_length": 2}),
    "perfect recall": (perfect_recall.PerfectRecallSolver,
                       "dudo(start_dice=2v1,dice_sides=2)",
                       {"num_threads": 2, "dtype": "float64"}),
}
# Those with kernels that take long to compile, and that other tests run, too.
SLOW = ("apcfr+", "vad-cfr", "fsi on a walked game", "perfect recall")
QUICK = tuple(name for name in SOLVERS if name not in SLOW)


def make(name):
  """Returns a new solver."""
  solver, game, kwargs = SOLVERS[name]
  return solver(pyspiel.load_game(game), **kwargs)


def saved(solver, path):
  """Returns {name: array} of what a solver saves, without clock time."""
  solver.save(path)
  with np.load(path) as archive:
    return {name: archive[name] for name in archive.files
            if name not in ("header", "seconds")}


def assert_same(first, second):
  """Asserts that two results of `saved` are equal to the bit."""
  assert first.keys() == second.keys()
  for name, array in first.items():
    np.testing.assert_array_equal(array, second[name], err_msg=str(name))


def go_on(folder, iterations, names):
  """Loads solvers from the folder, runs them, and saves them there."""
  for number, name in enumerate(names):
    path = os.path.join(folder, str(number))
    solver = make(name)
    solver.load(path)
    solver.run(iterations)
    solver.save(path)


if __name__ == "__main__":
  go_on(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
