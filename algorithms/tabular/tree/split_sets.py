"""Information sets split so that players have perfect recall.

Two histories stay in one set if the player's earlier sets and actions are the
same.
"""

import collections.abc
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

_EMPTY = -1
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio
_BITS = np.uint64(32)


class SplitSets(NamedTuple):
  """The new sets, in the order of their first nodes.

  Attributes:
    node: [set] int32, the first node.
    original: [set] int32, the set of which it is a part.
    before: [set] int32, the new set of the player's last action, or -1.
    action: [set] int32, that action, or 0.
  """
  node: np.ndarray
  original: np.ndarray
  before: np.ndarray
  action: np.ndarray


class SplitInfoStates(collections.abc.Sequence):
  """Information states of players with perfect recall.

  A text is "x after (s, a)": the information state x of the game, and the
  player's last set and action; "x after ()" where there is none.

  Args:
    info_states: the `info_states.InfoStates` of the game.
    sets: the `SplitSets`.
  """

  def __init__(self, info_states, sets):
    self._info_states = info_states
    self._sets = sets

  def __len__(self):
    """Returns the number of texts."""
    return len(self._sets.node)

  def __getitem__(self, number):
    """Returns a text, or a list of those of a slice."""
    if isinstance(number, slice):
      return [self[i] for i in range(*number.indices(len(self)))]
    _, original, before, action = (int(column[number]) for column in self._sets)
    after = () if before < 0 else (before, action)
    return f"{self._info_states[original]} after {after}"

  def encoded(self, number):
    """Returns a text as bytes."""
    return self[number].encode("utf-8", "surrogatepass")


def split(tree):
  """Returns the `SplitSets`, and [node] int32, the new set of each node or -1.

  Args:
    tree: the `game_tree.GameTree`.
  """
  info_set = np.full(tree.num_nodes, -1, dtype=np.int32)
  max_sets = int(np.sum(tree.info_set >= 0))
  sets = SplitSets(*np.zeros((4, max_sets), np.int32))
  slots = np.full(2**(2 * max_sets).bit_length(), _EMPTY, np.int32)
  last = np.stack([tree.last_own_actions(player)
                   for player in range(tree.num_players)])
  count = _split(tree.player, tree.parent, tree.action, tree.info_set, last,
                 sets, slots, info_set)
  return SplitSets(*(column[:count].copy() for column in sets)), info_set


@jit.kernel
def _split(players, parents, actions, old_sets, last, sets, slots, info_set):
  """Splits sets, parents first.

  Args:
    players: [node] int8, who acts.
    parents: [node] int32, -1 for the root.
    actions: [node] int32, the action that leads to the node.
    old_sets: [node] int32, the sets to split, -1 where nobody acts.
    last: [player, node] int32, the node after the player's last action.
    sets: the `SplitSets`, written, with room for a set at every node.
    slots: [slot] int32, an empty hash table, modified in place.
    info_set: [node] int32, modified in place where a player acts.

  Returns:
    The number of new sets.
  """
  mask = len(slots) - 1
  count = 0
  for node in range(len(players)):
    old = old_sets[node]
    if old < 0:
      continue
    after = last[players[node], node]
    before = info_set[parents[after]] if after > 0 else -1
    action = actions[after] if after > 0 else 0
    value = (np.uint64(old) * _FACTOR + np.uint64(before + 1)) * _FACTOR
    value = (value ^ (value >> _BITS) ^ np.uint64(action)) * _FACTOR
    slot = np.int64(value >> _BITS) & mask
    while True:
      number = slots[slot]
      if number == _EMPTY:
        number = slots[slot] = count
        sets.node[number], sets.original[number] = node, old
        sets.before[number], sets.action[number] = before, action
        count += 1
        break
      if (sets.original[number] == old and sets.before[number] == before and
          sets.action[number] == action):
        break
      slot = (slot + 1) & mask
    info_set[node] = number
  return count
