"""History form: the whole game tree, for games of imperfect recall.

Histories of one information set may differ in what the player did before, so
counterfactual values and reaches are summed over the histories of a set, as
OpenSpiel's CFR does. In a game of imperfect recall a best response is not
defined here: the responder has perfect recall, and so another form.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.compiled import blocks as blocks_lib
from dudo_spiel.algorithms.compiled import sequence_form
from dudo_spiel.algorithms.runtime import jit


class HistoryArrays(NamedTuple):
  """The tree as arrays that kernels can take.

  Attributes:
    blocks: the `blocks.Blocks`.
    rows: [block, most actions] int64, where each action's entries begin.
    set_begin: [block] int64, where the block's sets begin in order of blocks.
    actor: [node] int64, a player, CHANCE or TERMINAL.
    child_begin: [node + 1] int64.
    entry: [node] int64, the entry of the first action, -1 where none acts.
    stride: [node] int64, how far apart the entries are.
    place: [node] int64, the node's set in order of blocks.
    payoff: [player, node], what the player gets there, times the probability
      of chance; zero but for terminals.
    num_levels: [player] int64, how many own sets a history passes at most; 0
      in a game of imperfect recall.
  """
  blocks: blocks_lib.Blocks
  rows: np.ndarray
  set_begin: np.ndarray
  actor: np.ndarray
  child_begin: np.ndarray
  entry: np.ndarray
  stride: np.ndarray
  place: np.ndarray
  payoff: np.ndarray
  num_levels: np.ndarray


class HistoryForm:
  """A game as a tree of histories.

  Attributes:
    tree: the `game_tree.GameTree`.
    blocks: the `blocks.Blocks`.
    num_entries: how many strategy entries there are.
    set_entry: [set] int64, the entry of a set's first action.
    set_stride: [set] int64, how far apart its entries are.
    arrays: the `HistoryArrays`.
  """

  def __init__(self, tree, parents):
    self.tree = tree
    actions = np.array([len(legal) for legal in tree.set_actions])
    order = np.lexsort((actions, tree.set_player))
    self.blocks, self.set_entry, self.set_stride = sequence_form.lay_out_sets(
        order, np.stack([tree.set_player.astype(np.int64), actions]), actions)
    self.num_entries = int(actions.sum())
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    acts = tree.info_set >= 0
    info_set = np.where(acts, tree.info_set, 0)
    self.arrays = HistoryArrays(
        self.blocks, blocks_lib.entry_rows(self.blocks),
        np.cumsum(self.blocks.width) - self.blocks.width,
        tree.player.astype(np.int64), tree.child_begin.astype(np.int64),
        np.where(acts, self.set_entry[info_set], -1),
        self.set_stride[info_set], place[info_set],
        np.ascontiguousarray(tree.returns.T * tree.chance_reach()),
        sequence_form.num_levels(tree, parents))

  def workspace(self, dtype):
    """Returns the `blocks.Workspace` for tables of this type."""
    tree = self.tree
    size = tree.num_nodes + self.num_entries + tree.num_info_sets
    return blocks_lib.Workspace(
        blocks_lib.with_dtype(self.arrays, dtype),
        np.zeros((tree.num_players, tree.num_nodes), dtype),
        np.zeros(size, dtype),
        np.zeros((3, max(int(self.blocks.width.max()), 1)), dtype))


# Kernels.


@jit.kernel
def propagate(form, player, strategy, reach):
  """Writes the player's own reach of every node: reach is [player, node]."""
  own = reach[player]
  own[0] = 1.0
  for node in range(len(form.actor)):
    begin = form.child_begin[node]
    for child in range(begin, form.child_begin[node + 1]):
      own[child] = own[node]
      if form.actor[node] == player:
        own[child] *= strategy[
            form.entry[node] + (child - begin) * form.stride[node]]


@jit.kernel
def _sweep(form, player, strategy, reach, values):
  """Writes the values of nodes and entries, and the own reaches of sets.

  Args:
    form: as for `evaluate`.
    player: as for `evaluate`.
    strategy: [entry], what the player plays.
    reach: as for `evaluate`.
    values: as for `evaluate`.
  """
  num_nodes, num_entries = len(form.actor), len(strategy)
  node_value = values[:num_nodes]
  entry_value = values[num_nodes:num_nodes + num_entries]
  set_reach = values[num_nodes + num_entries:]
  entry_value[:] = 0.0
  set_reach[:] = 0.0
  for node in range(num_nodes - 1, -1, -1):
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
      set_reach[form.place[node]] += reach[player, node]
      for child in range(begin, end):
        e = form.entry[node] + (child - begin) * form.stride[node]
        total += strategy[e] * node_value[child]
        entry_value[e] += node_value[child]
    node_value[node] = total


@jit.kernel
def evaluate(form, player, tables, reach, values, work, mode, rule):
  """Computes the player's counterfactual values, and learns from them.

  Args:
    form: the `HistoryArrays`.
    player: the player.
    tables: the `blocks.Tables`, modified in place as the mode says.
    reach: [player, node], all players' reaches, from `propagate`.
    values: [node + entry + set] scratch, modified in place: counterfactual
      values of nodes and of entries, and the own reaches.
    work: [3, widest block] scratch.
    mode: what to do with the values, such as `blocks.LEARN`.
    rule: the `blocks.Rule` by which to learn.

  Returns:
    The player's expected value.
  """
  if mode == blocks_lib.RESPOND:
    # Each sweep settles the last sets that are not settled yet.
    for _ in range(form.num_levels[player]):
      _sweep(form, player, tables.response, reach, values)
      _change_blocks(form, player, tables, values, work, mode, rule)
    _sweep(form, player, tables.response, reach, values)
  else:
    _sweep(form, player, tables.strategy, reach, values)
    if mode != blocks_lib.EVALUATE:
      _change_blocks(form, player, tables, values, work, mode, rule)
  return values[0]


@jit.kernel
def _change_blocks(form, player, tables, values, work, mode, rule):
  """Changes the player's tables by what a sweep has found."""
  blocks = form.blocks
  num_nodes, num_entries = len(form.actor), len(tables.strategy)
  entry_value = values[num_nodes:num_nodes + num_entries]
  set_reach = values[num_nodes + num_entries:]
  out, scratch = work[0], work[1:].reshape(-1)
  for b in range(len(blocks.width)):
    if blocks.player[b] != player:
      continue
    width, begin = blocks.width[b], blocks.entry_begin[b]
    rows = form.rows[b, :blocks.actions[b]]
    own_reach = set_reach[form.set_begin[b]:form.set_begin[b] + width]
    if mode == blocks_lib.RESPOND:
      blocks_lib.respond_block(begin, width, rows, tables.response, entry_value,
                               out, rule, scratch)
    elif mode == blocks_lib.DECIDE:
      blocks_lib.decide_block(begin, width, rows, tables, entry_value, out,
                              rule, scratch)
    else:
      blocks_lib.play_block(begin, width, rows, tables.strategy, entry_value,
                            out)
      blocks_lib.learn_block(begin, width, rows, tables, entry_value, out,
                             own_reach, rule, scratch)


@jit.kernel
def mix(form, player, tables, reach, values, work):
  """Adds the player's response, whose reach this is, to the strategy."""
  blocks = form.blocks
  set_reach = values[len(form.actor) + len(tables.strategy):]
  set_reach[:] = 0.0
  for node in range(len(form.actor)):
    if form.actor[node] == player:
      set_reach[form.place[node]] += reach[player, node]
  for b in range(len(blocks.width)):
    if blocks.player[b] == player:
      blocks_lib.mix_block(blocks.entry_begin[b], blocks.width[b],
                           blocks.actions[b], tables,
                           set_reach[form.set_begin[b]:], work[0])


@jit.kernel
def renew(form, player, tables, reach, values, work, mode):
  """Updates what depends on the player's table that `evaluate` changed."""
  if mode == blocks_lib.RESPOND:
    propagate(form, player, tables.response, reach)
    mix(form, player, tables, reach, values, work)
  propagate(form, player, tables.strategy, reach)


@jit.kernel
def run(form, num_players, tables, reach, values, work, rules, alternating,
        mode, iteration):
  """Runs one iteration for each row of `rules` (see `blocks.rule_of`).

  Reaches must be up to date before, and are so afterwards. `iteration` [1] is
  counted up here, so that it is right whenever Python gets to see it.
  """
  form, tables = jit.borrowed(form), jit.borrowed(tables)
  reach, values = jit.borrowed(reach), jit.borrowed(values)
  work = jit.borrowed(work)
  for t in range(len(rules)):
    rule = blocks_lib.rule_of(rules[t])
    for player in range(num_players):
      evaluate(form, player, tables, reach, values, work, mode, rule)
      if alternating:
        renew(form, player, tables, reach, values, work, mode)
    if not alternating:
      for player in range(num_players):
        renew(form, player, tables, reach, values, work, mode)
    iteration[0] += 1
