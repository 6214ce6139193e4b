"""Policies of abstractions as OpenSpiel's tables of the real game."""

import functools

import numpy as np
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability as open_spiel
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.tabular.tree import game_tree

_SINGLE_ROUND = "(players=2,numdice=1,dice_sides=2,claim_window=3,max_amount=1)"


@functools.cache
def _game(name):
  return pyspiel.load_game(name)


# What was learned on, with what, and the game to play if that is another one.
_LEARNED = {
    "dudo_ir": (cfr.CFRPlusSolver,
                "dudo_ir(numdice=1,dice_sides=2,recall_length=1)",
                "dudo(numdice=1,dice_sides=2)"),
    "liars_dice_ir": (cfr.CFRPlusSolver, "liars_dice_ir(dice_sides=3)",
                      "liars_dice(dice_sides=3)"),
    "liar_die_ir": (cfr.CFRPlusSolver, "liar_die_ir(sides=4)",
                    "liar_die(sides=4)"),
    "fsicfr of dudo": (functools.partial(fsicfr.FSICFRSolver, recall_length=1),
                       "dudo(numdice=1,dice_sides=2)", None),
    "fsicfr of liars_dice": (fsicfr.FSICFRSolver, "liars_dice(dice_sides=3)",
                             None),
    "match": (functools.partial(fsicfr.MatchSolver, recall_length=2,
                                num_threads=1),
              "dudo(numdice=1,dice_sides=2)", None),
    "pfsi": (functools.partial(pfsi.PFSISolver, num_threads=2),
             f"dudo_single_round{_SINGLE_ROUND}", None),
    "pass-through": (functools.partial(pass_through.PrunedPassThroughSolver,
                                       abstraction="no_recall", num_threads=2),
                     f"dudo_single_round{_SINGLE_ROUND}", None),
    "bot": (policies.bot_policy, f"dudo_single_round{_SINGLE_ROUND}", None),
}


@functools.cache
def _policy(name):
  """Returns a policy, and None or the game for which it is to be converted."""
  make, learned, played = _LEARNED[name]
  if name == "bot":
    return make(_game(learned), "heuristic"), None
  solver = make(_game(learned))
  solver.run(20)
  return solver.average_policy(), played and _game(played)


@pytest.mark.parametrize("name", _LEARNED)
def test_tables_are_those_of_the_game_that_is_played(name):
  policy, game = _policy(name)
  tabular, cpp = policy.to_tabular(game=game), policy.to_pyspiel(game)
  game = game or _game(_LEARNED[name][1])
  assert game is policy.game or _LEARNED[name][2]
  expected = exploitability.nash_conv(game, policy)
  assert expected > 0.0
  assert open_spiel.nash_conv(game, tabular) == pytest.approx(expected)
  assert pyspiel.nash_conv(game, cpp) == pytest.approx(expected)
  converted = policy_lib.python_policy_to_pyspiel_policy(tabular)
  assert converted.policy_table() == cpp.policy_table()


@pytest.mark.parametrize("name", _LEARNED)
def test_rows_are_in_the_order_of_open_spiel(name):
  policy, game = _policy(name)
  tabular = policy.to_tabular(game=game)
  stock = policy_lib.TabularPolicy(game or policy.game)
  assert list(tabular.state_lookup) == list(stock.state_lookup)
  assert np.array_equal(tabular.legal_actions_mask, stock.legal_actions_mask)
  assert np.array_equal(tabular.state_in, stock.state_in)


@pytest.mark.parametrize("name", ["fsicfr of dudo", "pfsi", "bot"])
def test_files_keep_the_game_that_is_played(name, tmp_path):
  policy, _ = _policy(name)
  path = tmp_path / "policy.npz"
  policy.save(path)
  for loaded in (policies.load_policy(path),
                 policies.load_policy(path, policy.game)):
    assert str(loaded.game) == str(policy.game) == str(_game(
        _LEARNED[name][1]))
    assert (loaded.to_pyspiel().policy_table() ==
            policy.to_pyspiel().policy_table())


def test_files_load_for_the_abstraction_too(tmp_path):
  game = _game("dudo(numdice=1,dice_sides=2)")
  policy, _ = _policy("fsicfr of dudo")
  policy.save(tmp_path / "policy.npz")
  abstraction = fsicfr.FSICFRSolver(game, recall_length=1).graph.game
  loaded = policies.load_policy(tmp_path / "policy.npz", abstraction)
  assert loaded.game is abstraction
  assert loaded.distance(policy) == 0.0
  with pytest.raises(ValueError, match="game=kuhn_poker.*must be dudo"):
    policies.load_policy(tmp_path / "policy.npz", _game("kuhn_poker"))


def test_some_states_only():
  policy, _ = _policy("fsicfr of dudo")
  state = policy.game.new_initial_state().child(0).child(1)
  tabular = policy.to_tabular({"a": state})
  assert list(tabular.state_lookup) == [state.information_state_string()]
  assert tabular.action_probabilities(state) == (
      policy.action_probabilities(state))
  with pytest.raises(ValueError, match="states="):
    policy.to_tabular([state])


@pytest.mark.parametrize("name, game, message", [
    ("dudo_ir", "kuhn_poker", "game=kuhn_poker.*num_distinct_actions is 2"),
    ("match", "dudo(numdice=3,dice_sides=2)", "game=dudo.*knows"),
    ("match", "kuhn_poker", "game=kuhn_poker.*must have the rules"),
    ("pfsi", "dudo_single_round", "game=.*must have the rules"),
    ("match", "dudo_ir(numdice=1,dice_sides=2,recall_length=1)",
     "game=.*remember less than the policy")])
def test_games_that_do_not_fit(name, game, message):
  policy, _ = _policy(name)
  for convert in (policy.to_pyspiel,
                  lambda game: policy.to_tabular(game=game)):
    with pytest.raises(ValueError, match=message):
      convert(_game(game))


def test_players_may_remember_as_much_as_the_policy():
  policy, _ = _policy("match")
  game = _game("dudo_ir(numdice=1,dice_sides=2,recall_length=2)")
  assert exploitability.nash_conv(game, policy.to_pyspiel(game)) == (
      pytest.approx(exploitability.nash_conv(policy.game, policy)))


@pytest.mark.parametrize("make, size", [
    (lambda: policies.MatchPolicy(_game("dudo"), 3, {}, {}), r"about 10\^113"),
    (lambda: policies.MatchPolicy(_game("dudo_ir"), 3, {}, {}), "71,414,872"),
    (lambda: policies.bot_policy(_game("dudo_single_round"), "heuristic"),
     r"about 10\^24"),
    (lambda: policies.bot_policy(_game("dudo_single_round_ir"), "random"),
     "58,877,532")])
def test_large_games_are_refused_with_their_size(make, size):
  policy = make()
  for convert in (policy.to_tabular, policy.to_pyspiel):
    with pytest.raises(ValueError, match=f"^game=dudo.* has {size} information "
                       r"states.*call action_probabilities\(state\)"):
      convert()


@pytest.mark.parametrize("rules", [
    "players=3,numdice=1,dice_sides=2,claim_window=3,max_amount=2",
    "players=2,numdice=2,dice_sides=2,claim_window=2"])
def test_information_states_of_a_single_round_are_counted(rules):
  names = [f"dudo_single_round({rules})", *(
      f"dudo_single_round_ir({rules},abstraction={kind},recall_length={length})"
      for kind in single_round_layout.ABSTRACTIONS for length in (0, 1, 4))]
  for game in map(_game, names):
    assert single_round_layout.num_info_states(game) == (
        game_tree.GameTree(game).num_info_sets)
