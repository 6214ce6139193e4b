"""Information sets split so that players have perfect recall.

Two histories stay in one set if the player's earlier sets and actions are the
same.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.tree import info_states

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


class SplitInfoStates(info_states.InfoStates):
  """Information states of players with perfect recall.

  A text is "x after (s, a)": the information state x of the game, and the
  player's last set and action; "x after ()" where there is none.

  Args:
    whole: the information states of the game, a sequence of str.
    sets: the `SplitSets`.
  """

  def __init__(self, whole, sets):
    self._whole, self._sets = whole, sets

  def __len__(self):
    """Returns the number of texts."""
    return len(self._sets.node)

  def encoded(self, number):
    """Returns a text as bytes."""
    _, original, before, action = (int(column[number]) for column in self._sets)
    after = () if before < 0 else (before, action)
    text = f"{self._whole[original]} after {after}"
    return text.encode(*info_states.ENCODING)


def split(tree):
  """Returns the `SplitSets`, and [node] int32, each node's new set or -1."""
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
  """Splits sets, parents first, and returns the number of new sets.

  The first four arrays [node] are of the `game_tree.GameTree`; `last` [player,
  node] int32 is the node after the player's last action. It writes `sets`, with
  room for one at every node, `slots` [slot] int32, an empty hash table, and
  `info_set` [node] int32 where a player acts.
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
