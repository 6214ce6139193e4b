"""Policies as tables: OpenSpiel policies that solvers give and files keep."""

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel.algorithms import checkpoint

_FILE_KIND = "policy"


class TablePolicy(policy_lib.Policy):
  """An OpenSpiel policy that knows all information states of a game.

  It also plays other games with the same actions and chance outcomes, if their
  information states tell at least as much: a policy of `liars_dice_ir` plays
  `liars_dice`, one of `dudo_ir` plays `dudo`.

  Args:
    game: the `pyspiel.Game`.
    info_states: list of str, the information states.
    players: [state] int, who acts in each.
    actions: list of tuple of int, the legal actions in each.
    probabilities: [sum of the numbers of actions] float64, the probabilities of
      these actions, state by state.
  """

  def __init__(self, game, info_states, players, actions, probabilities):
    super().__init__(game, list(range(game.num_players())))
    self.info_states = list(info_states)
    self.players = np.asarray(players, dtype=np.int64)
    self.actions = [tuple(legal) for legal in actions]
    self.probabilities = np.asarray(probabilities, dtype=np.float64)
    counts = [len(legal) for legal in self.actions]
    self._begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    self._index = {
        (player, key): i
        for i, (player, key) in enumerate(zip(self.players.tolist(),
                                              self.info_states))
    }
    self._own_name = str(game)

  def _info_state(self, state, player):
    """Returns the player's information state in this policy's own game."""
    if str(state.get_game()) == self._own_name:
      return state.information_state_string(player)
    own_state = self.game.new_initial_state()
    for action in state.history():
      own_state.apply_action(action)
    return own_state.information_state_string(player)

  def at(self, player, info_state):
    """Returns {action: probability} at an information state."""
    try:
      i = self._index[player, info_state]
    except KeyError:
      raise ValueError(
          f"info_state={info_state!r}: is not one of player {player} in "
          f"{self._own_name}") from None
    values = self.probabilities[self._begin[i]:self._begin[i + 1]].tolist()
    return dict(zip(self.actions[i], values))

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability} for the legal actions of the state."""
    player = state.current_player() if player_id is None else player_id
    return self.at(player, self._info_state(state, player))

  def to_tabular(self):
    """Returns an OpenSpiel `TabularPolicy`."""
    tabular = policy_lib.TabularPolicy(self.game)
    for player, key in self._index:
      row = tabular.policy_for_key(key)
      for action, probability in self.at(player, key).items():
        row[action] = probability
    return tabular

  def to_pyspiel(self):
    """Returns a C++ `pyspiel.TabularPolicy`."""
    return pyspiel.TabularPolicy({
        key: list(self.at(player, key).items()) for player, key in self._index
    })

  def distance(self, other):
    """Returns the largest difference of a probability to another policy.

    Args:
      other: a `TablePolicy` of the same game.
    """
    if self._index.keys() != other._index.keys():
      raise ValueError(f"other={other.game}: has other information states than "
                       f"{self.game}")
    difference = 0.0
    for player, key in self._index:
      theirs = other.at(player, key)
      for action, probability in self.at(player, key).items():
        difference = max(difference, abs(probability - theirs[action]))
    return difference

  def save(self, path):
    """Writes the policy to one file."""
    checkpoint.save(path, _FILE_KIND, {
        "game": self._own_name,
        "info_states": self.info_states,
        "actions": self.actions,
    }, {"players": self.players, "probabilities": self.probabilities})


def load_policy(path):
  """Returns the `TablePolicy` that was saved to the file."""
  header, arrays = checkpoint.load(path, _FILE_KIND)
  return TablePolicy(pyspiel.load_game(header["game"]), header["info_states"],
                     arrays["players"], header["actions"],
                     arrays["probabilities"])


def table_policy(compiled, strategy):
  """Returns a strategy of a compiled game as a `TablePolicy`.

  Args:
    compiled: the `compiled_game.CompiledGame`.
    strategy: [entry].
  """
  tree = compiled.tree
  _, _, entries = compiled.entries_of_sets()
  return TablePolicy(compiled.game, tree.info_states, tree.set_player,
                     tree.set_actions, strategy[entries])


def strategy_of(compiled, policy):
  """Returns any OpenSpiel policy as a strategy of a compiled game.

  Args:
    compiled: the `compiled_game.CompiledGame`.
    policy: a policy in Python or C++ that can play the game.

  Returns:
    [entry] float64.
  """
  tree = compiled.tree
  strategy = np.zeros(compiled.num_entries)
  probabilities = _lookup(compiled, policy)
  for s in range(tree.num_info_sets):
    chances = probabilities(s)
    entry, stride = compiled.form.set_entry[s], compiled.form.set_stride[s]
    values = [chances.get(action, 0.0) for action in tree.set_actions[s]]
    if not abs(sum(values) - 1.0) < 1e-6 or min(values) < 0.0:
      raise ValueError(
          f"policy={policy}: its probabilities at {tree.info_states[s]!r} are "
          f"{values}; they must be a distribution over the legal actions")
    strategy[entry:entry + len(values) * stride:stride] = values
  return strategy


def _lookup(compiled, policy):
  """Returns a function from an information set to {action: probability}."""
  tree = compiled.tree
  if isinstance(policy, TablePolicy) and policy._own_name == str(compiled.game):
    return lambda s: policy.at(int(tree.set_player[s]), tree.info_states[s])
  if isinstance(policy, policy_lib.TabularPolicy):
    def tabular(s):
      row = policy.policy_for_key(tree.info_states[s])
      return {action: row[action] for action in tree.set_actions[s]}
    return tabular
  if isinstance(policy, pyspiel.Policy):
    return lambda s: dict(policy.action_probabilities(tree.info_states[s]))
  return lambda s: policy.action_probabilities(
      tree.state(tree.set_node[s]), int(tree.set_player[s]))
