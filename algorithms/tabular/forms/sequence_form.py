"""Sequence form: for each player a tree of information sets.

It fits all games of perfect recall (Koller, Megiddo & von Stengel 1996), with
any number of players. A sequence is a player's last action together with all
its earlier actions. One sequence of each player leads to a leaf, which pays all
of them. An iteration is one pass over the leaves and one over the player's
sets.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.updates import set_blocks

_MAX_KEY = 2**62
_MAX_SLICE = 512  # sets that are updated together: their scratch stays cached

# The rows of a workspace's `scratch`.
_VALUE = 0  # the value of each set
_REACH = 1  # the player's own reach of each set
_UPDATE = 2  # two rows of the update
_ROWS = 4

# Sequences of one player with equally many leaves: the first of them, their
# number, the number of leaves of each, and the first leaf.
GROUP = np.dtype([("begin", np.int64), ("size", np.int64),
                  ("leaves", np.int64), ("first_leaf", np.int64)])


class SequenceArrays(NamedTuple):
  """The trees of sets and the leaves, as arrays that kernels can take.

  A sequence has the number of its last entry. The empty sequence of player p is
  num_entries + p. In a workspace, `reach` and `values` are [sequence], and
  `scratch` is [row, widest block].

  Attributes:
    blocks: of the `EntryLayout`, as are the next three; the parents of a
      player's sets are before them.
    rows: [block, largest number of actions] int64.
    set_begin: [block] int64.
    min_regret: [block].
    parent: [set in order of blocks] int32 or int64, the sequence that leads to
      the set.
    groups: [group] of GROUP, sequences that end in leaves. The leaves of a
      sequence are neighbours, so each player has its own order of leaves.
    group_begin: [player + 1] int64, the first group of each player.
    sequence: [sequence in order of groups] int32 or int64.
    others: [player, leaf, other player] int32 or int64, the other players'
      sequences to the leaf.
    payoff: [player, leaf], the player's payoff times the probability of chance.
  """
  blocks: set_blocks.Blocks
  rows: np.ndarray
  set_begin: np.ndarray
  min_regret: np.ndarray
  parent: np.ndarray
  groups: np.ndarray
  group_begin: np.ndarray
  sequence: np.ndarray
  others: np.ndarray
  payoff: np.ndarray


class SequenceForm:
  """A game in sequence form.

  Attributes:
    tree: the `game_tree.GameTree`.
    blocks, num_entries, set_entry, set_stride: of the `EntryLayout`.
    arrays: the `SequenceArrays`.
  """

  def __init__(self, tree, parents):
    self.tree = tree
    layout = lay_out_sets(tree, _own_depths(tree, parents))
    self.blocks, self.num_entries = layout.blocks, layout.num_entries
    self.set_entry, self.set_stride = layout.set_entry, layout.set_stride
    parent = self._sequences(tree.set_player.astype(np.int64), *parents.of_set)
    self.arrays = SequenceArrays(
        layout.blocks, layout.rows, layout.set_begin, layout.min_regret,
        _narrow(parent[layout.order]),
        *_group_leaves(*self._merge_leaves(parents)))

  def _sequences(self, player, info_set, action):
    """Returns the sequences that end with an action in a set, or are empty."""
    return np.where(
        info_set < 0, self.num_entries + player,
        self.set_entry[info_set] + action * self.set_stride[info_set])

  def _merge_leaves(self, parents):
    """Returns [player, leaf] sequences and payoffs; equal leaves are summed."""
    tree = self.tree
    ends = np.flatnonzero(tree.player == game_tree.TERMINAL)
    sequences = [self._sequences(player, *parents.of_node(player, ends))
                 for player in range(tree.num_players)]
    leaves, which = _distinct(sequences, self.num_entries + tree.num_players)
    payoff = np.zeros((tree.num_players, len(leaves)))
    weight = tree.chance_reach()[ends]
    for player in range(tree.num_players):
      np.add.at(payoff[player], which, weight * tree.returns[ends, player])
      sequences[player] = sequences[player][leaves]
    return np.array(sequences), payoff

  def workspace(self, dtype):
    """Returns the `set_blocks.FormWorkspace` for tables of this type."""
    num_sequences = self.num_entries + self.tree.num_players
    return set_blocks.FormWorkspace(
        set_blocks.with_dtype(self.arrays, dtype),
        regret_tables.zeros_apart(num_sequences, dtype, 3),
        regret_tables.zeros_apart(num_sequences, dtype, 4),
        np.zeros((_ROWS, max(int(self.blocks.width.max()), 1)), dtype))


def _narrow(array):
  """Returns an int64 array as int32 if its elements fit."""
  fits = array.size == 0 or array.max() <= np.iinfo(np.int32).max
  return array.astype(np.int32) if fits else array


def _group_leaves(leaf_sequence, payoff):
  """Sorts leaves by sequence, and sequences by their number of leaves.

  Loops of equal length are predicted by the processor, and a sum stays in its
  registers. The leaves of a sequence keep their order, which is that of the
  sum.

  Args:
    leaf_sequence: [player, leaf] int64, each player's sequence to the leaf.
    payoff: [player, leaf] float64.

  Returns:
    The last fields of the `SequenceArrays`, from `groups` on.
  """
  groups, sequences, others, payoffs = [], [], [], []
  begin = 0
  for player, own in enumerate(leaf_sequence):
    sequence, index, leaves = np.unique(own, return_inverse=True,
                                        return_counts=True)
    order = np.lexsort((own, leaves[index]))
    by_count = np.argsort(leaves, kind="stable")
    count, first, size = np.unique(leaves[by_count], return_index=True,
                                   return_counts=True)
    of_player = np.zeros(len(count), GROUP)
    of_player["begin"] = begin + first
    of_player["size"], of_player["leaves"] = size, count
    of_player["first_leaf"] = np.cumsum(size * count) - size * count
    groups.append(of_player)
    begin += len(sequence)
    sequences.append(sequence[by_count])
    others.append(np.delete(leaf_sequence, player, axis=0)[:, order].T)
    payoffs.append(payoff[player, order])
  group_begin = np.cumsum([0] + [len(of_player) for of_player in groups])
  return (np.concatenate(groups), group_begin,
          _narrow(np.concatenate(sequences)), _narrow(np.array(others)),
          np.array(payoffs))


def _distinct(columns, bound):
  """Numbers the distinct rows of a table in lexicographic order.

  Args:
    columns: list of [row] int64, the columns.
    bound: an integer above all elements.

  Returns:
    (members, which): [number] int64, a row that has the number; and [row]
    int64, the number of each row.
  """
  key, size = columns[0], bound
  for column in columns[1:]:
    if size > _MAX_KEY // bound:  # the key would overflow
      _, key = np.unique(key, return_inverse=True)
      size = int(key.max()) + 1
    key, size = key * bound + column, size * bound
  _, members, which = np.unique(key, return_index=True, return_inverse=True)
  return members, which


class EntryLayout(NamedTuple):
  """The entries of information sets, for forms whose blocks have any sets.

  Attributes:
    blocks: the `set_blocks.Blocks`.
    rows: [block, largest number of actions] int64, where each action's entries
      begin.
    set_begin: [block] int64, where the block's sets begin in `order`.
    min_regret: [block], the `min_regret` of each `set_blocks.Block`.
    order: [set] int64, the sets in order of blocks.
    set_entry: [set] int64, the entry of a set's first action.
    set_stride: [set] int64, distance between the entries of its actions.
    num_entries: number of strategy entries.
  """
  blocks: set_blocks.Blocks
  rows: np.ndarray
  set_begin: np.ndarray
  min_regret: np.ndarray
  order: np.ndarray
  set_entry: np.ndarray
  set_stride: np.ndarray
  num_entries: int


def lay_out_sets(tree, depths):
  """Returns the `EntryLayout` of a tree.

  A block has the sets with equal players, depths and numbers of actions.

  Args:
    tree: the `game_tree.GameTree`.
    depths: [set] int64; sets of smaller depths come first.
  """
  actions = np.array([len(legal) for legal in tree.set_actions])
  keys = np.stack([tree.set_player.astype(np.int64), depths, actions])
  order = np.lexsort(keys[::-1])
  keys = keys[:, order]
  is_new = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
  set_begin = np.concatenate([[0], np.flatnonzero(is_new) + 1])
  width = np.diff(np.append(set_begin, len(order)))
  players, _, block_actions = np.take(keys, set_begin, axis=1)
  sizes = block_actions * width
  entry_begin = np.cumsum(sizes) - sizes
  blocks = set_blocks.Blocks(players, block_actions, width, entry_begin)
  rows = entry_begin[:, None] + np.arange(actions.max()) * width[:, None]
  set_entry, set_stride = np.empty((2, len(order)), dtype=np.int64)
  set_entry[order] = np.arange(len(order)) + np.repeat(entry_begin - set_begin,
                                                       width)
  set_stride[order] = np.repeat(width, width)
  return EntryLayout(
      blocks, rows, set_begin,
      np.maximum.reduceat(set_blocks.min_regrets(tree)[order], set_begin),
      order, set_entry, set_stride, int(actions.sum()))


class ParentSequences:
  """Each player's last action before every node of a tree.

  Args:
    tree: the `game_tree.GameTree`.

  Attributes:
    of_set: ([set] int64, [set] int64), the set and the action (its number among
      the legal ones) before each set, -1 and 0 before a player's first sets.
      None if the game has imperfect recall: if histories of one set differ.
  """

  def __init__(self, tree):
    self._tree = tree
    self.of_set = self._find_sets()

  def of_node(self, player, nodes):
    """Returns the player's last set and action before each node."""
    after = self._tree.last_own_actions(player)[nodes]
    before = self._tree.parent[after]
    info_set = np.where(after > 0, self._tree.info_set[before], -1)
    action = np.where(after > 0, after - self._tree.child_begin[before], 0)
    return info_set, action

  def _find_sets(self):
    tree = self._tree
    columns = np.empty((2, tree.num_info_sets), dtype=np.int64)
    for player in range(tree.num_players):
      nodes = np.flatnonzero(tree.player == player)
      info_set = tree.info_set[nodes]
      for of_set, before in zip(columns, self.of_node(player, nodes)):
        of_set[info_set] = before
        if np.any(of_set[info_set] != before):
          return None
    return tuple(columns)


def _own_depths(tree, parents):
  """Returns [set] int64, the number of the player's sets before each set."""
  depths = np.zeros(tree.num_info_sets, dtype=np.int64)
  parent_set = parents.of_set[0]
  for info_set in np.argsort(tree.set_node):
    if parent_set[info_set] >= 0:
      depths[info_set] = depths[parent_set[info_set]] + 1
  return depths


def max_own_sets(tree, parents):
  """Returns [player] int64, the most sets of a player on one history.

  With imperfect recall it is 0.
  """
  counts = np.zeros(tree.num_players, dtype=np.int64)
  if parents.of_set is not None:
    np.maximum.at(counts, tree.set_player, _own_depths(tree, parents) + 1)
  return counts


# Kernels.


@jit.forceinline
def propagate(workspace, player, strategy):
  """Writes the player's own reaches of its sequences to `reach`."""
  form, reach = workspace.arrays, workspace.reach
  blocks = form.blocks
  reach[len(strategy) + player] = 1.0
  for b in range(len(blocks.width)):
    if blocks.player[b] != player:
      continue
    width, begin = blocks.width[b], blocks.entry_begin[b]
    parent = form.parent[form.set_begin[b]:form.set_begin[b] + width]
    if blocks.actions[b] == 1:
      out = reach[begin:begin + width]
      for j in range(width):
        out[j] = reach[parent[j]]
      continue
    for a in range(blocks.actions[b]):
      probability = strategy[begin + a * width:begin + (a + 1) * width]
      out = reach[begin + a * width:begin + (a + 1) * width]
      for j in range(width):
        out[j] = reach[parent[j]] * probability[j]


@jit.kernel
def _leaf_values(workspace, player, num_entries):
  """Writes the counterfactual values of the player's sequences at leaves."""
  workspace = jit.borrowed(workspace)
  form, values = workspace.arrays, jit.pointer(workspace.values)
  blocks = form.blocks
  for b in range(len(blocks.width)):
    if blocks.player[b] == player:
      begin = blocks.entry_begin[b]
      end = begin + blocks.actions[b] * blocks.width[b]
      workspace.values[begin:end] = 0.0
  values[num_entries + player] = 0.0
  reach, sequence = jit.pointer(workspace.reach), jit.pointer(form.sequence)
  payoff = jit.pointer(form.payoff[player])
  others, num_others = jit.pointer(form.others[player]), form.others.shape[2]
  zero = workspace.reach.dtype.type(0.0)
  for g in range(form.group_begin[player], form.group_begin[player + 1]):
    leaf, leaves = form.groups[g].first_leaf, form.groups[g].leaves
    begin = form.groups[g].begin
    end = begin + form.groups[g].size
    if num_others != 1:
      for s in range(begin, end):
        total = zero
        for k in range(leaf, leaf + leaves):
          weight = payoff[k]
          for q in range(k * num_others, (k + 1) * num_others):
            weight *= reach[others[q]]
          total += weight
        values[sequence[s]] = total
        leaf += leaves
    elif leaves == 1:
      for s in range(begin, end):
        k = leaf + s - begin
        values[sequence[s]] = zero + payoff[k] * reach[others[k]]
    else:
      for s in range(begin, end):
        total = zero
        for k in range(leaf, leaf + leaves):
          total += payoff[k] * reach[others[k]]
        values[sequence[s]] = total
        leaf += leaves


@jit.forceinline
def evaluate(workspace, player, tables, mode, rule):
  """Computes the player's counterfactual values, and learns from them."""
  form, reach, values = workspace.arrays, workspace.reach, workspace.values
  blocks = form.blocks
  num_entries = len(tables.strategy)
  _leaf_values(workspace, player, num_entries)
  update = workspace.scratch[_UPDATE:].reshape(-1)
  for b in range(len(blocks.width) - 1, -1, -1):
    if blocks.player[b] != player:
      continue
    whole = blocks.width[b]
    step = min(whole, _MAX_SLICE) if mode == set_blocks.LEARN else whole
    for first in range(0, whole, step):
      width = min(step, whole - first)
      begin = form.set_begin[b] + first
      parent = form.parent[begin:begin + width]
      out = workspace.scratch[_VALUE, :width]
      own_reach = workspace.scratch[_REACH, :width]
      if mode == set_blocks.LEARN:
        for j in range(width):
          own_reach[j] = reach[parent[j]]
      block = set_blocks.Block(blocks.entry_begin[b] + first, width, whole,
                               form.rows[b, :blocks.actions[b]],
                               form.min_regret[b])
      set_blocks.update_block(block, tables, values[first:], out, own_reach,
                              mode, rule, update)
      for j in range(width):
        values[parent[j]] += out[j]
  return values[num_entries + player]


@jit.forceinline
def mix(workspace, player, tables):
  """Mixes the response, whose reaches are stored, into the strategy."""
  form, own_reach = workspace.arrays, workspace.scratch[_REACH]
  blocks = form.blocks
  for b in range(len(blocks.width)):
    if blocks.player[b] == player:
      width = blocks.width[b]
      parent = form.parent[form.set_begin[b]:form.set_begin[b] + width]
      for j in range(width):
        own_reach[j] = workspace.reach[parent[j]]
      set_blocks.mix_block(blocks.entry_begin[b], width, blocks.actions[b],
                           tables, own_reach, workspace.scratch[_UPDATE])
