"""History form: the whole game tree, for games of imperfect recall.

Histories of one information set may differ in the player's earlier actions. So
counterfactual values and reaches are summed over the histories of a set, as in
OpenSpiel's CFR. Best responses to policies of such games have perfect recall
and are computed in another form.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.forms import sequence_form
from dudo_spiel.algorithms.tabular.updates import set_blocks


class HistoryArrays(NamedTuple):
  """The tree as arrays that kernels can take.

  In a workspace, `reach` is [player, node], `values` has first those of nodes,
  then those of entries, then the player's reaches of sets, and `scratch` is
  [row, widest block].

  Attributes:
    blocks: of the `sequence_form.EntryLayout`, as are the next three.
    rows: [block, largest number of actions] int64.
    set_begin: [block] int64.
    min_regret: [block].
    actor: [node] int64, a player, CHANCE or TERMINAL.
    child_begin: [node + 1] int64.
    entry: [node] int64, the entry of the first action, -1 where nobody acts.
    stride: [node] int64, the distance between the entries of its actions.
    set_index: [node] int64, the index of the node's set in order of blocks.
    payoff: [player, node], the player's payoff at a terminal, times the
      probability of chance; zero at other nodes.
    max_own_sets: [player] int64, the most sets of the player on one history; 0
      in a game of imperfect recall.
  """
  blocks: set_blocks.Blocks
  rows: np.ndarray
  set_begin: np.ndarray
  min_regret: np.ndarray
  actor: np.ndarray
  child_begin: np.ndarray
  entry: np.ndarray
  stride: np.ndarray
  set_index: np.ndarray
  payoff: np.ndarray
  max_own_sets: np.ndarray


class HistoryForm:
  """A game as a tree of histories.

  Attributes:
    tree: the `game_tree.GameTree`.
    blocks, num_entries, set_entry, set_stride: of the
      `sequence_form.EntryLayout`.
    arrays: the `HistoryArrays`.
  """

  def __init__(self, tree, parents):
    self.tree = tree
    layout = sequence_form.lay_out_sets(
        tree, np.zeros(tree.num_info_sets, dtype=np.int64))
    self.blocks, self.num_entries = layout.blocks, layout.num_entries
    self.set_entry, self.set_stride = layout.set_entry, layout.set_stride
    set_index = np.argsort(layout.order)
    acts = tree.info_set >= 0
    info_set = np.where(acts, tree.info_set, 0)
    self.arrays = HistoryArrays(
        blocks=layout.blocks, rows=layout.rows, set_begin=layout.set_begin,
        min_regret=layout.min_regret, actor=tree.player.astype(np.int64),
        child_begin=tree.child_begin.astype(np.int64),
        entry=np.where(acts, self.set_entry[info_set], -1),
        stride=self.set_stride[info_set], set_index=set_index[info_set],
        payoff=np.ascontiguousarray(tree.returns.T * tree.chance_reach()),
        max_own_sets=sequence_form.max_own_sets(tree, parents))

  def workspace(self, dtype):
    """Returns the `set_blocks.FormWorkspace` for tables of this type."""
    tree = self.tree
    size = tree.num_nodes + self.num_entries + tree.num_info_sets
    return set_blocks.FormWorkspace(
        set_blocks.with_dtype(self.arrays, dtype),
        np.zeros((tree.num_players, tree.num_nodes), dtype),
        np.zeros(size, dtype),
        np.zeros((3, max(int(self.blocks.width.max()), 1)), dtype))


# Kernels.


@jit.forceinline
def propagate(workspace, player, strategy):
  """Writes the player's own reach of every node to `reach`."""
  form, own = workspace.arrays, workspace.reach[player]
  own[0] = 1.0
  for node in range(len(form.actor)):
    begin = form.child_begin[node]
    for child in range(begin, form.child_begin[node + 1]):
      own[child] = own[node]
      if form.actor[node] == player:
        own[child] *= strategy[
            form.entry[node] + (child - begin) * form.stride[node]]


@jit.kernel
def _parts(workspace, num_entries):
  """Returns the values of nodes and of entries, and the reaches of sets."""
  num_nodes = len(workspace.arrays.actor)
  values = workspace.values
  return (values[:num_nodes], values[num_nodes:num_nodes + num_entries],
          values[num_nodes + num_entries:])


@jit.kernel
def _sweep(workspace, player, strategy):
  """Writes the three parts of `values`."""
  form, reach = workspace.arrays, workspace.reach
  node_value, entry_value, set_reach = _parts(workspace, len(strategy))
  entry_value[:] = 0.0
  set_reach[:] = 0.0
  for node in range(len(form.actor) - 1, -1, -1):
    begin, end = form.child_begin[node], form.child_begin[node + 1]
    total = form.payoff[player, node]
    if begin == end:
      for q in range(len(reach)):
        if q != player:
          total *= reach[q, node]
    elif form.actor[node] != player:
      for child in range(begin, end):
        total += node_value[child]
    else:
      set_reach[form.set_index[node]] += reach[player, node]
      for child in range(begin, end):
        e = form.entry[node] + (child - begin) * form.stride[node]
        total += strategy[e] * node_value[child]
        entry_value[e] += node_value[child]
    node_value[node] = total


@jit.forceinline
def evaluate(workspace, player, tables, mode, rule):
  """Computes the player's counterfactual values, and learns from them."""
  if mode >= set_blocks.RESPOND:
    # Each sweep makes the response final in the next sets from the end.
    for _ in range(workspace.arrays.max_own_sets[player]):
      _sweep(workspace, player, tables.response)
      _update_blocks(workspace, player, tables, mode, rule)
    _sweep(workspace, player, tables.response)
  else:
    _sweep(workspace, player, tables.strategy)
    if mode != set_blocks.EVALUATE:
      _update_blocks(workspace, player, tables, mode, rule)
  return workspace.values[0]


@jit.kernel
def _update_blocks(workspace, player, tables, mode, rule):
  """Updates the player's tables by the values of a sweep."""
  form = workspace.arrays
  blocks = form.blocks
  _, entry_value, set_reach = _parts(workspace, len(tables.strategy))
  out, scratch = workspace.scratch[0], workspace.scratch[1:].reshape(-1)
  for b in range(len(blocks.width)):
    if blocks.player[b] != player:
      continue
    width = blocks.width[b]
    reach = set_reach[form.set_begin[b]:form.set_begin[b] + width]
    block = set_blocks.Block(blocks.entry_begin[b], width, width,
                             form.rows[b, :blocks.actions[b]],
                             form.min_regret[b])
    set_blocks.update_block(block, tables, entry_value, out, reach, mode, rule,
                            scratch)


@jit.forceinline
def mix(workspace, player, tables):
  """Mixes the response, whose reaches are stored, into the strategy."""
  form = workspace.arrays
  blocks = form.blocks
  _, _, set_reach = _parts(workspace, len(tables.strategy))
  set_reach[:] = 0.0
  for node in range(len(form.actor)):
    if form.actor[node] == player:
      set_reach[form.set_index[node]] += workspace.reach[player, node]
  for b in range(len(blocks.width)):
    if blocks.player[b] == player:
      set_blocks.mix_block(blocks.entry_begin[b], blocks.width[b],
                           blocks.actions[b], tables,
                           set_reach[form.set_begin[b]:], workspace.scratch[0])
