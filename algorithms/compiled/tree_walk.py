"""The walk over all histories of an OpenSpiel game.

Most of its time goes into copying states. So a node's own state becomes that of
its last child, when all its other children have been visited; the others get
copies when their turn comes. Then there is one state for each history on the
path from the root, however many children a node has. What the walk finds goes
into typed buffers, about 30 bytes a history.

Serves `game_tree`.
"""

import array

import pyspiel

TERMINAL = int(pyspiel.PlayerId.TERMINAL)


class Walk:
  """What a walk has found so far, in the order of the walk, parents first.

  Args:
    game: a `pyspiel.Game` with sequential moves.

  Attributes:
    players: [node] int8, who acts: a player, chance or TERMINAL.
    parents: [node] int32, -1 for the root.
    actions: [node] int32, the action that leads to the node, -1 for the root.
    chances: [node] float64, the probability of that action where chance acts,
      else 1.
    depths: [node] uint16, how many actions lead to it.
    info_sets: [node] int32, the number of the information set, in order of
      discovery; -1 where no player acts.
    returns: [terminal * player] float64, of the terminal nodes in turn.
    sets: for each player {information state: number}.
    set_actions: list of tuple, each set's legal actions.
  """

  def __init__(self, game):
    self._game = game
    self.players = array.array("b")
    self.parents, self.actions = array.array("i"), array.array("i")
    self.chances, self.depths = array.array("d"), array.array("H")
    self.info_sets, self.returns = array.array("i"), array.array("d")
    self.sets = [{} for _ in range(game.num_players())]
    self.set_actions = []
    self._legal = {}  # the different ones, each once

  def visit(self, often):
    """Walks depth first; yields the number of histories now and then.

    Args:
      often: how many histories are visited between two yields.
    """
    try:
      yield from self._visit(often)
    except OverflowError as error:
      raise ValueError(f"game={self._game}: it has an action, or a history, "
                       "that is too long a number; actions must be below 2^31 "
                       "and histories shorter than 2^16") from error

  def _visit(self, often):
    # (the parent's state, parent, action, probability, whether it is the last)
    stack = [(self._game.new_initial_state(), -1, -1, 1.0, False)]
    push, pop = stack.append, stack.pop
    add_player, add_parent = self.players.append, self.parents.append
    add_action, add_chance = self.actions.append, self.chances.append
    add_depth, add_set = self.depths.append, self.info_sets.append
    add_returns = self.returns.extend
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
        add_set(-1)
        add_returns(state.returns())
      else:
        if player >= 0:
          legal = tuple(state.legal_actions())
          add_set(self._set_of(player, state, legal))
          outcomes = [(child, 1.0) for child in legal]
        else:
          add_set(-1)
          outcomes = state.chance_outcomes()
        if not outcomes:
          raise ValueError(f"game={self._game}: nobody can act after "
                           f"{state.history()}, and it is not over")
        push((state, node, *outcomes[-1], True))
        for outcome in outcomes[-2::-1]:
          push((state, node, *outcome, False))
      node += 1
      if node % often == 0:
        yield node
    yield node

  def _set_of(self, player, state, legal_actions):
    """Returns the number of the player's information set."""
    info_state = state.information_state_string()
    states = self.sets[player]
    number = states.get(info_state)
    if number is None:
      number = states[info_state] = len(self.set_actions)
      self.set_actions.append(self._legal.setdefault(legal_actions,
                                                     legal_actions))
    elif self.set_actions[number] != legal_actions:
      raise ValueError(
          f"game={self._game}: information state {info_state!r} has histories "
          "with different legal actions; no policy can be defined on it")
    return number
