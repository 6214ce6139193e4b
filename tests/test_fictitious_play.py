import functools

import fictitious_play_oracle
import numpy as np
from open_spiel.python.algorithms import fictitious_play as open_spiel
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fictitious_play

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
      response = dict(zip(tree.set_actions[s], ours._tables.response[entries]))
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
