"""The depth-first traversal of all histories of an OpenSpiel game.

Most of its time goes into copying states. So the state of a node becomes that
of its last child after all other children have been visited; the others get
copies when they are visited. Then there is one state for each history on the
path from the root, however many children a node has. Results go into typed
buffers, about 30 bytes per history. Information states are looked up for many
histories at once, by compiled code.
"""

import array
import itertools

import numpy as np
import pyspiel

from dudo_spiel.algorithms.tabular.tree import info_states

TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_NONE = -1  # no information set
_PENDING = -2  # an information set that has not been looked up yet


class Walk:
  """The nodes that a traversal has visited so far, in preorder.

  Args:
    game: a `pyspiel.Game` with sequential moves.

  Attributes:
    players: [node] int8, who acts: a player, chance or TERMINAL.
    parents: [node] int32, -1 for the root.
    actions: [node] int32, the action that leads to the node, -1 for the root.
    chances: [node] float64, the probability of that action where chance acts,
      else 1.
    depths: [node] uint16, number of actions that lead to it.
    info_sets: [node] int32, the number of the information set in `sets`; -1
      where no player acts.
    returns: [terminal * player] float64, of the terminal nodes in order.
    sets: the `info_states.SetIndex`.
    num_entries: total number of actions of the sets.
    legal_actions: {tuple of actions: number}, the distinct legal actions of
      sets.
  """

  def __init__(self, game):
    self._game = game
    self.players = array.array("b")
    self.parents, self.actions = array.array("i"), array.array("i")
    self.chances, self.depths = array.array("d"), array.array("H")
    self.info_sets, self.returns = array.array("i"), array.array("d")
    self.sets = info_states.SetIndex()
    self.num_entries = 0
    self.legal_actions = {}
    self._info_states, self._legal = [], array.array("i")  # to be looked up
    self._sizes = array.array("i")  # of `legal_actions`
    self._num_looked_up = 0  # nodes

  def visit(self, interval):
    """Traverses the game; yields the number of histories at intervals."""
    try:
      for count in self._visit(interval):
        self._look_up()
        yield count
    except OverflowError as error:
      raise ValueError(f"game={self._game}: it has an action, or a history, "
                       "that is too long a number; actions must be below 2^31 "
                       "and histories shorter than 2^16") from error

  def _visit(self, interval):
    # (the parent's state, parent, action, probability, whether it is the last)
    stack = [(self._game.new_initial_state(), -1, -1, 1.0, False)]
    push, pop = stack.append, stack.pop
    add_player, add_parent = self.players.append, self.parents.append
    add_action, add_chance = self.actions.append, self.chances.append
    add_depth, add_set = self.depths.append, self.info_sets.append
    add_returns, number_of = self.returns.extend, self.legal_actions.setdefault
    add_info_state, add_legal = self._info_states.append, self._legal.append
    node = 0
    while stack:
      state, parent, action, chance, is_last = pop()
      if is_last:
        state.apply_action(action)
      elif parent >= 0:
        state = state.child(action)
      player = int(state.current_player())
      add_player(player)
      add_parent(parent)
      add_action(action)
      add_chance(chance)
      add_depth(self.depths[parent] + 1 if parent >= 0 else 0)
      if player == TERMINAL:
        add_set(_NONE)
        add_returns(state.returns())
      else:
        if player >= 0:
          legal = tuple(state.legal_actions())
          add_set(_PENDING)
          add_info_state(state.information_state_string(player))
          add_legal(number_of(legal, len(self.legal_actions)))
          outcomes = [(child, 1.0) for child in legal]
        else:
          add_set(_NONE)
          outcomes = state.chance_outcomes()
        if not outcomes:
          raise ValueError(f"game={self._game}: nobody can act after "
                           f"{state.history()}, and it is not over")
        push((state, node, *outcomes[-1], True))
        for outcome in outcomes[-2::-1]:
          push((state, node, *outcome, False))
      node += 1
      if node % interval == 0:
        yield node
    yield node

  def _look_up(self):
    """Looks up the information sets of all pending nodes."""
    info_sets = np.frombuffer(self.info_sets, np.int32)[self._num_looked_up:]
    players = np.frombuffer(self.players, np.int8)[self._num_looked_up:]
    acts = info_sets == _PENDING
    legal = np.array(self._legal, np.int32)
    num_known = self.sets.num_sets
    try:
      found = self.sets.add(players[acts], self._info_states, legal)
    except info_states.DifferentActionsError as error:
      raise ValueError(
          f"game={self._game}: information state {error.args[0]!r} has "
          "histories with different legal actions; no policy can be defined on "
          "it") from error
    info_sets[acts] = found
    self._info_states.clear()
    del self._legal[:]
    self._num_looked_up = len(self.players)
    self._sizes.extend(map(len, itertools.islice(
        self.legal_actions, len(self._sizes), None)))
    self.num_entries += int(np.asarray(self._sizes)[
        self.sets.legal_since(num_known)].sum())
