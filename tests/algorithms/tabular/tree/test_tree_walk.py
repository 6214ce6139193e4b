"""The walk over histories: what it finds, and how little it keeps."""

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401
from dudo_spiel.algorithms.tabular.tree import tree_walk


def _walk(game):
  walk = tree_walk.Walk(pyspiel.load_game(game))
  counts = list(walk.visit(1000))
  return walk, counts


def _histories(state):
  """Yields all histories depth first, each with who acts there."""
  yield state.history(), int(state.current_player())
  if not state.is_terminal():
    for action in state.legal_actions():
      yield from _histories(state.child(action))


@pytest.mark.parametrize("game", [
    "kuhn_poker(players=3)", "liar_die(sides=3)", "leduc_poker",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3))"])
def test_all_histories_are_visited_in_order(game):
  walk, counts = _walk(game)
  histories = []
  for parent, action in zip(walk.parents, walk.actions):
    histories.append([*histories[parent], action] if parent >= 0 else [])
  expected = list(_histories(pyspiel.load_game(game).new_initial_state()))
  assert list(zip(histories, walk.players)) == expected
  assert walk.depths.tolist() == [len(history) for history, _ in expected]
  assert counts[-1] == len(expected)
  assert np.all(np.diff(counts)[:-1] == 1000)


def test_a_history_takes_at_most_forty_bytes():
  walk, counts = _walk("leduc_poker")
  buffers = (walk.players, walk.parents, walk.actions, walk.chances,
             walk.depths, walk.info_sets, walk.returns)
  size = sum(buffer.itemsize * len(buffer) for buffer in buffers)
  assert size <= 40 * counts[-1]

