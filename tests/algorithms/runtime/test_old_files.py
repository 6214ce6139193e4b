"""Files that version 0.1.0 wrote: they load, and solvers go on from them.

All were written after 20 iterations.
"""

import pathlib

import numpy as np
import pyspiel
import pytest
import solver_table

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies

_FOLDER = pathlib.Path(__file__).parents[2] / "data" / "version_0_1_0"
_SINGLE_ROUND = ("dudo_single_round(players=3,numdice=1,dice_sides=2,"
                 "claim_window=3,max_amount=2)")
# name: (class, game, keyword arguments)
_SOLVERS = {
    "dcfr.npz": (cfr.DiscountedCFRSolver, "kuhn_poker", {"dtype": "float32"}),
    "bdfp.npz": (fictitious_play.BDFPSolver, "kuhn_poker", {"average": True}),
    "bdfp_float32.npz": (fictitious_play.BDFPSolver, "kuhn_poker",
                         {"dtype": "float32", "initial": "random", "seed": 3}),
    "fsicfr.npz": (fsicfr.FSICFRSolver, "kuhn_poker", {"seed": 3}),
    "pfsi.npz": (pfsi.PFSISolver, _SINGLE_ROUND,
                 {"seed": 3, "reach_threshold": 0.05}),
    "ppt.npz": (pass_through.PrunedPassThroughSolver, "kuhn_poker(players=3)",
                {"seed": 3}),
    "match": (fsicfr.MatchSolver, "dudo(numdice=1,dice_sides=3)",
              {"recall_length": 2, "seed": 3, "gamma": 2.0}),
}


@pytest.mark.parametrize("name", _SOLVERS)
def test_solvers_go_on(name, tmp_path):
  solver, game, kwargs = _SOLVERS[name]
  old, new = (solver(pyspiel.load_game(game), **kwargs) for _ in range(2))
  old.load(_FOLDER / name)
  assert old.iteration == 20
  old.run(5)
  new.run(25)
  results = [solver_table.saved(solver, tmp_path / str(number))
             for number, solver in enumerate((old, new))]
  for key, array in results[0].items():
    if key[1] != "best":  # what `solve` has kept
      # Another processor may round differently.
      np.testing.assert_allclose(array, results[1][key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*_policy.npz")),
                         ids=lambda path: path.stem)
def test_policies_are_the_same(path):
  policy = policies.load_policy(path)
  state = policy.game.new_initial_state()
  while not state.is_terminal():
    if state.is_chance_node():
      state.apply_action(state.legal_actions()[-1])
      continue
    chances = policy.action_probabilities(state)
    assert sum(chances.values()) == pytest.approx(1.0)
    state.apply_action(max(chances, key=chances.get))


def test_what_a_policy_says_is_what_it_said():
  policy = policies.load_policy(_FOLDER / "dcfr_policy.npz")
  state = policy.game.new_initial_state()
  for action in (0, 1):
    state.apply_action(action)
  old = np.load(_FOLDER / "dcfr_policy.npz")["probabilities"]
  index = policy.info_states.index(state.information_state_string())
  assert list(policy.action_probabilities(state).values()) == (
      old[2 * index:2 * index + 2].tolist())
