"""Policies that convert to OpenSpiel's own tables, in Python and in C++.

A policy that was learned with imperfect recall also plays every state of the
real game. It converts to a table of any game that it plays, with a row for each
of that game's information states.
"""

import math

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.tabular.forms import sequence_form
from dudo_spiel.algorithms.tabular.tree import rules_tree

# Largest number of histories of a game that is walked. OpenSpiel's tables keep
# a state of each information set, which needs more memory than anything here.
_MAX_WALKED = 5_000_000
_MAX_WRITTEN = 10**12  # larger numbers are rounded in messages


class ConvertiblePolicy(policy_lib.Policy):
  """An OpenSpiel policy that converts to tables.

  A subclass implements `check_game`, and `_num_info_states` if the policy plays
  games that are too large to walk, and `_is_table_of` if it is a table itself.
  """

  def check_game(self, game: pyspiel.Game) -> None:
    """Raises a ValueError if the policy cannot play the game."""
    raise NotImplementedError

  def _num_info_states(self, game):
    """Returns the number of information states of a game, None if unknown."""
    del game

  def _is_table_of(self, game):
    """Returns whether the policy surely has one row per information state.

    Args:
      game: the `pyspiel.Game` of the information states.
    """
    del game
    return False

  def to_tabular(self, states: dict[str, pyspiel.State] | None = None,
                 game: pyspiel.Game | None = None) -> policy_lib.TabularPolicy:
    """Returns an OpenSpiel `TabularPolicy`, with rows in OpenSpiel's order.

    Args:
      states: dict from any str to a state, at whose information states it is
        defined, as in OpenSpiel; None for all of the game.
      game: a `pyspiel.Game` that the policy plays; None for the policy's own
        `game`.
    """
    game = self._game_to_convert(game)
    if states is None:
      states = _first_states(self._walk(game))
    elif not isinstance(states, dict) or not states:
      raise ValueError(f"states={states!r}: must be None or a dict of states")
    for state in states.values():
      validation.state("states", state)
    tabular = policy_lib.TabularPolicy(game, states=states)
    for row, state in zip(tabular.action_probability_array, tabular.states):
      row[:] = 0.0
      for action, probability in self.action_probabilities(state).items():
        row[action] = probability
    return tabular

  def to_pyspiel(self,
                 game: pyspiel.Game | None = None) -> pyspiel.TabularPolicy:
    """Returns a C++ `pyspiel.TabularPolicy`.

    Args:
      game: a `pyspiel.Game` that the policy plays; None for the policy's own
        `game`.
    """
    tree = self._walk(self._game_to_convert(game))
    return pyspiel.TabularPolicy({
        info_state: list(self.action_probabilities(tree.state(node)).items())
        for info_state, node in zip(tree.info_states, tree.set_node)
    })

  def _game_to_convert(self, game):
    """Returns the game whose table is wanted, or raises a ValueError."""
    if game is None:
      return self.game
    self.check_game(validation.game("game", game))
    return game

  def _walk(self, game):
    """Returns the `GameTree` of a game in which the policy is a table.

    Raises:
      ValueError: if the game is too large, or if its players do not know what
        the policy asks for.
    """
    try:
      tree = rules_tree.make_tree(game, _MAX_WALKED)
    except ValueError as error:
      count = self._num_info_states(game)
      if count is None:
        raise
      size = (f"{count:,}" if count <= _MAX_WRITTEN else
              f"about 10^{math.log10(count):.0f}")
      raise ValueError(
          f"game={game}: has {size} information states, in too many "
          "histories to walk; no table can hold the policy, so call "
          "action_probabilities(state) instead") from error
    if not self._is_table_of(game) and (
        sequence_form.ParentSequences(tree).of_set is None):
      self._check_recall(tree)
    return tree

  def _check_recall(self, tree):
    """Raises a ValueError if the policy distinguishes histories of one set."""
    rows = [self.action_probabilities(tree.state(node))
            for node in tree.set_node]
    for node in np.flatnonzero(tree.info_set >= 0):
      first = rows[tree.info_set[node]]
      if self.action_probabilities(tree.state(node)) != first:
        info_state = tree.info_states[tree.info_set[node]]
        raise ValueError(
            f"game={tree.game}: its players remember less than the policy, "
            f"which plays in several ways at {info_state!r}; must be a game "
            "whose information states tell at least as much as the policy's")


def _first_states(tree):
  """Returns a state of each information set, by the string of its history.

  It is the first one in the order of these strings. So OpenSpiel, which sorts
  by them, has its rows in the same order as with all states.
  """
  first = [None] * tree.num_info_sets
  nodes = np.zeros(tree.num_info_sets, np.int64)
  for node in np.flatnonzero(tree.info_set >= 0):
    number = tree.info_set[node]
    text = ", ".join(map(str, tree.history(node)))
    if first[number] is None or text < first[number]:
      first[number] = text
      nodes[number] = node
  return {text: tree.state(node) for text, node in zip(first, nodes)}
