"""Deal form: private hands first, then public play.

Many games deal each player a hand and then continue in public: both players see
every action and every later chance event. A player then knows two things, the
hand and the node of one public tree. Public nodes whose subtrees have the same
shape are a node class. Everything is computed for all nodes of a class and all
hands at once, in loops over neighbouring cells:

  [node of the class, hand]

The nodes of a class are ordered by the edges that lead to it, so the children
of a class by one action are a contiguous range of another class. The
probabilities of chance are part of the terminal payoffs.

Liar's dice with one die each has 4,096 public decision nodes but 24 node
classes.
"""

from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular.forms import deal_terminals
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import public_tree
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import strips
from dudo_spiel.algorithms.tabular.updates import update_rules

_MAX_EMPTINESS = 4  # payoff table entries per terminal history
_SMALL_TABLES = 100_000  # entries; smaller tables are always made
_MAX_GROUPS = 2  # hand groups of a player in a large game
MIN_CELLS_TO_CUT = 100_000  # of a player; with fewer there is one hand group


class DealArrays(NamedTuple):
  """The public tree as arrays that kernels can take.

  Node classes are numbered parents first; the last one has all terminal nodes.
  In large games the hands of a player are split into hand groups. Groups are
  independent of each other, so that threads can share them. In small games a
  player has one group. In a workspace, `reach` and `values` are [cell], and
  `scratch` is [group, any].

  Attributes:
    actor: [class] int64, a player, CHANCE or TERMINAL.
    num_nodes: [class] int64.
    group_begin: [player + 1] int64, the first hand group of each player.
    hand_begin: [group] int64, the first hand of the group.
    num_hands: [group] int64.
    cell_begin: [group, class] int64, where the cells [node, hand] begin in an
      array over all cells.
    entry_begin: [group, class] int64, the first strategy entry where the
      group's player decides.
    min_regret: [group, class], the `min_regret` of the `set_blocks.Block`.
    edge_begin: [class + 1] int64, the first edge of the class; one for each
      action.
    edge_row: [group, edge] int64, the cell at which the values of the children
      begin: as many as the class has cells. Values of terminals are read at
      once, so all classes share the first cells of the last class for them.
    reach_row: [group, edge] int64, the cell at which the reaches of the
      children begin, or -1 where none are stored: at terminals, unless the
      group's player chooses there.
    matrix_0: [matrix, player 1's hand, player 0's hand], player 0's payoffs,
      times the probability of chance (`deal_terminals.find_runs`).
    matrix_1: [matrix, player 0's hand, player 1's hand], player 1's payoffs,
      times the probability of chance.
    runs: [run + 1] of `deal_terminals.RUN`, neighbouring terminals that are
      processed together. The last one is the end.
    run_begin: [edge + 1] int64, the first run of each edge's terminals.
    table_of: [terminal] int64, its matrix or step table.
    step_index: [player, table, 3, hand] int64, of `step_payoffs.Steps`.
    step_coefficient: [player, table, 3, hand], of `step_payoffs.Steps`.
  """
  actor: np.ndarray
  num_nodes: np.ndarray
  group_begin: np.ndarray
  hand_begin: np.ndarray
  num_hands: np.ndarray
  cell_begin: np.ndarray
  entry_begin: np.ndarray
  min_regret: np.ndarray
  edge_begin: np.ndarray
  edge_row: np.ndarray
  reach_row: np.ndarray
  matrix_0: np.ndarray
  matrix_1: np.ndarray
  runs: np.ndarray
  run_begin: np.ndarray
  table_of: np.ndarray
  step_index: np.ndarray
  step_coefficient: np.ndarray


def compile_deal_form(tree):
  """Returns the `DealForm` of a game tree, or None if it does not have one.

  It has one if there are two players, the game begins with chance nodes only,
  and both players see every later action and chance outcome. So at each node of
  the public tree the actor's information set is the actor's hand.
  """
  if tree.num_players != 2:
    return None
  if tree.is_deal_form:
    return DealForm(tree, tree.public_tree())
  public = public_tree.merge_deals(tree)
  if public is None:
    return None
  ends = np.sum(tree.player == game_tree.TERMINAL)
  tables = np.prod(public.num_hands) * np.sum(
      public.actor == game_tree.TERMINAL)
  # Tables of hands against hands must not be mostly empty.
  if tables > _MAX_EMPTINESS * ends + _SMALL_TABLES:
    return None
  return DealForm(tree, public)


class DealForm:
  """A game in deal form.

  Attributes:
    tree: the `game_tree.GameTree`.
    blocks: the `set_blocks.Blocks`: a block for each node class with decisions
      and hand group.
    num_entries: number of strategy entries.
    set_entry: [set] int64, the entry of a set's first action.
    set_stride: [set] int64, distance between the entries of its actions.
    num_cells: number of pairs of a public node and a hand, with padding.
    arrays: the `DealArrays`.
  """

  def __init__(self, tree, public):
    self.tree = tree
    self._number_classes(public)
    self._lay_out(public)
    self._lay_out_sets(public)
    self._make_payoffs(public)

  def _number_classes(self, public):
    """Finds the node classes, parents first, and their nodes in order."""
    num_public = len(public.actor)
    children_begin = 1 + np.concatenate([[0], np.cumsum(public.num_children)])
    shapes = {}  # (actor, classes of the children) -> number, leaves first
    shape_of = [0] * num_public
    actors = public.actor.tolist()
    begins = children_begin.tolist()
    for node in range(num_public - 1, -1, -1):
      key = (actors[node], tuple(shape_of[begins[node]:begins[node + 1]]))
      shape_of[node] = shapes.setdefault(key, len(shapes))
    # A shape has a larger number than its children: reverse the order.
    last = len(shapes) - 1
    self._class_of = last - np.array(shape_of)
    self._shapes = [(actor, [last - child for child in children])
                    for actor, children in reversed(shapes)]
    members = [[] for _ in self._shapes]
    members[0].append(0)
    offsets = []
    for number, (_, children) in enumerate(self._shapes):
      begin = children_begin[np.array(members[number])]
      for action, child in enumerate(children):
        offsets.append(len(members[child]))
        members[child].extend((begin + action).tolist())
    self._members = [np.array(nodes) for nodes in members]
    self._offsets = offsets
    self._index_in_class = np.empty(num_public, dtype=np.int64)
    for nodes in self._members:
      self._index_in_class[nodes] = np.arange(len(nodes))

  def _lay_out(self, public):
    """Sets the arrays that do not depend on information sets or payoffs."""
    self._actor = np.array([actor for actor, _ in self._shapes])
    num_children = np.array([len(children) for _, children in self._shapes])
    self._num_nodes = np.array([len(nodes) for nodes in self._members])
    self._split_hands(public)
    player, num_hands = self._group_player, self._num_hands
    sizes = num_hands[:, None] * self._num_nodes
    behind = deal_terminals.PADDING * np.arange(len(sizes))[:, None]
    self._cell_begin = behind + (np.cumsum(sizes) - sizes.ravel()).reshape(
        sizes.shape)
    self.num_cells = int(sizes.sum()) + deal_terminals.PADDING * len(sizes)
    edge_class = [child for _, children in self._shapes for child in children]
    self._edge_begin = np.concatenate([[0], np.cumsum(num_children)])
    self._lay_out_edges(np.array(edge_class, dtype=np.int64), num_children)
    group, number = np.nonzero(player[:, None] == self._actor)
    actions, width = num_children[number], sizes[group, number]
    entries = actions * width
    entry_begin = np.cumsum(entries) - entries
    self.num_entries = int(entries.sum())
    self.blocks = set_blocks.Blocks(player[group], actions, width, entry_begin)
    self._entry_begin = np.full(sizes.shape, -1)
    self._entry_begin[group, number] = entry_begin

  def _lay_out_edges(self, edge_class, num_children):
    """Sets where the values and reaches of each edge's children begin."""
    parent = np.repeat(np.arange(len(num_children)), num_children)
    self._num_ends = np.where(edge_class == len(num_children) - 1,
                              self._num_nodes[parent], 0)
    before = np.cumsum(self._num_ends) - self._num_ends
    offset = np.array(self._offsets, dtype=np.int64)
    rows = self._cell_begin[:, edge_class] + self._num_hands[:, None] * offset
    shared = self._cell_begin[:, edge_class] + self._num_hands[:, None] * (
        before - before[self._edge_begin[parent]])
    self._edge_row = np.where(self._num_ends > 0, shared, rows)
    chooses = ((self._group_player[:, None] == self._actor[parent]) &
               (num_children[parent] > 1))
    self._reach_row = np.where((self._num_ends > 0) & ~chooses, -1, rows)

  def _split_hands(self, public):
    """Splits each player's hands into groups, if the game is large."""
    player, begin = [], []
    for p, num_hands in enumerate(public.num_hands):
      is_large = num_hands * len(public.actor) >= MIN_CELLS_TO_CUT
      groups = min(_MAX_GROUPS, num_hands) if is_large else 1
      player += [p] * groups
      begin += [num_hands * group // groups for group in range(groups)]
    self._group_player, self._hand_begin = np.array(player), np.array(begin)
    self._group_begin = np.searchsorted(player, [0, 1, 2])
    ends = np.append(begin[1:], public.num_hands[1])
    ends[self._group_begin[1] - 1] = public.num_hands[0]
    self._num_hands = ends - self._hand_begin

  def _lay_out_sets(self, public):
    """Sets the entries of each information set."""
    tree = self.tree
    public_node, hand = public.sets(tree)
    number = self._class_of[public_node]
    group = np.empty(tree.num_info_sets, dtype=np.int64)
    for player in range(2):
      first, last = self._group_begin[player:player + 2]
      own = tree.set_player == player
      group[own] = first - 1 + np.searchsorted(self._hand_begin[first:last],
                                               hand[own], side="right")
    num_hands = self._num_hands[group]
    self.set_entry = (self._entry_begin[group, number] +
                      self._index_in_class[public_node] * num_hands +
                      hand - self._hand_begin[group])
    self.set_stride = num_hands * self._num_nodes[number]
    self._set_class = group, number

  def _make_payoffs(self, public):
    """Sets the payoffs at terminal nodes, and with them all arrays."""
    (own, other), payoff_of = public.payoffs(self.tree, self._members[-1])
    payoffs = [own, np.ascontiguousarray(other.transpose(1, 0, 2))]
    runs, run_begin, table_of, matrices, steps = deal_terminals.find_runs(
        payoffs, payoff_of, self._num_ends, len(self._num_hands) > 2)
    self.arrays = DealArrays(
        actor=self._actor, num_nodes=self._num_nodes,
        group_begin=self._group_begin, hand_begin=self._hand_begin,
        num_hands=self._num_hands, cell_begin=self._cell_begin,
        entry_begin=self._entry_begin, min_regret=self._min_regrets(payoffs),
        edge_begin=self._edge_begin, edge_row=self._edge_row,
        reach_row=self._reach_row,
        matrix_0=matrices[0], matrix_1=matrices[1], runs=runs,
        run_begin=run_begin, table_of=table_of, step_index=steps.index,
        step_coefficient=steps.coefficient)

  def _min_regrets(self, payoffs):
    """Returns `DealArrays.min_regret`, given the payoffs for `find_runs`."""
    min_regret = np.zeros(self._entry_begin.shape)
    if np.any(self._actor == game_tree.CHANCE):
      np.maximum.at(min_regret, self._set_class,
                    set_blocks.min_regrets(self.tree))
      return min_regret
    # The same from the payoff tables, without a pass over all histories.
    for group, player in enumerate(self._group_player):
      begin = self._hand_begin[group]
      own = payoffs[player][begin:begin + self._num_hands[group]]
      min_regret[group] = set_blocks.ROUNDING * np.abs(own).sum(axis=1).max()
    return min_regret

  def workspace(self, dtype):
    """Returns the `set_blocks.FormWorkspace` for tables of this type."""
    # Blocks need two numbers a set, steps two a hand of the opponent.
    scratch = 2 * max(int(self.blocks.width.max()),
                      int(self.arrays.num_hands.sum())) + 1
    return set_blocks.FormWorkspace(
        set_blocks.with_dtype(self.arrays, dtype),
        regret_tables.zeros_apart(self.num_cells, dtype, 3),
        regret_tables.zeros_apart(self.num_cells, dtype, 4),
        np.zeros((len(self._num_hands), scratch), dtype))


# Kernels.


@jit.kernel
def _propagate_group(workspace, group, player, strategy):
  """Does for one hand group what `propagate` does for its player."""
  workspace, strategy = jit.borrowed(workspace), jit.borrowed(strategy)
  deal = workspace.arrays
  hands = deal.num_hands[group]
  root = deal.cell_begin[group, 0]
  workspace.reach[root:root + hands] = 1.0
  for c in range(len(deal.actor) - 1):
    width = deal.num_nodes[c] * hands
    rows = deal.reach_row[group, deal.edge_begin[c]:deal.edge_begin[c + 1]]
    chooses = deal.actor[c] == player and len(rows) > 1
    entry = deal.entry_begin[group, c] if chooses else -1
    strips.propagate_block(workspace.reach, strategy, deal.cell_begin[group, c],
                           entry, width, rows)


@jit.kernel
def _evaluate_group(workspace, group, player, tables, mode, rule):
  """Does for one hand group what `evaluate` does for its player."""
  workspace, tables = jit.borrowed(workspace), jit.borrowed(tables)
  deal, reach, values = workspace.arrays, workspace.reach, workspace.values
  scratch = workspace.scratch[group]
  hands = deal.num_hands[group]
  for c in range(len(deal.actor) - 2, -1, -1):
    width = deal.num_nodes[c] * hands
    begin = deal.cell_begin[group, c]
    deal_terminals.write_values(workspace, group, player, c)
    rows = deal.edge_row[group, deal.edge_begin[c]:deal.edge_begin[c + 1]]
    if deal.actor[c] == player:
      block = set_blocks.Block(deal.entry_begin[group, c], width, width, rows,
                               deal.min_regret[group, c])
      set_blocks.update_block(
          block, tables, values, values[begin:begin + width],
          reach[begin:begin + width], mode, rule, scratch)
    else:
      strips.sum_block(values, rows, begin, width)
  if mode != set_blocks.EVALUATE and mode != set_blocks.RESPOND:
    return 0.0  # not used, and the sum would take time in a small game
  root = deal.cell_begin[group, 0]
  return values[root:root + hands].sum()


@jit.kernel
def _mix_group(workspace, group, player, tables):
  """Does for one hand group what `mix` does for its player."""
  deal, scratch = workspace.arrays, workspace.scratch[group]
  for c in range(len(deal.actor) - 1):
    if deal.actor[c] == player:
      width = deal.num_nodes[c] * deal.num_hands[group]
      begin = deal.cell_begin[group, c]
      set_blocks.mix_block(deal.entry_begin[group, c], width,
                           deal.edge_begin[c + 1] - deal.edge_begin[c], tables,
                           workspace.reach[begin:begin + width], scratch)


@jit.forceinline
def mix(workspace, player, tables):
  """Mixes the response, whose reaches are stored, into the strategy."""
  groups = workspace.arrays.group_begin
  for group in range(groups[player], groups[player + 1]):
    _mix_group(workspace, group, player, tables)


@jit.forceinline
def propagate(workspace, player, strategy):
  """Writes the player's own reaches of every node, by hand, to `reach`."""
  groups = workspace.arrays.group_begin
  for group in range(groups[player], groups[player + 1]):
    _propagate_group(workspace, group, player, strategy)


@jit.forceinline
def evaluate(workspace, player, tables, mode, rule):
  """Computes the player's counterfactual values, and learns from them."""
  groups = workspace.arrays.group_begin
  total = 0.0
  for group in range(groups[player], groups[player + 1]):
    total += _evaluate_group(workspace, group, player, tables, mode, rule)
  return total


# Numba passes only plain tuples to threads: the next two kernels make named
# ones of them.


@jit.kernel
def _learn_group(arrays, scratch, tables, group, player, mode, rule,
                 alternating):
  """Evaluates one hand group; with alternating updates renews it, too."""
  workspace = jit.borrowed(
      set_blocks.FormWorkspace(DealArrays(*arrays), *scratch))
  named_tables = jit.borrowed(set_blocks.SolverTables(*tables))
  _evaluate_group(workspace, group, player, named_tables, mode,
                  update_rules.named_rule(rule))
  if alternating:
    _renew_group(arrays, scratch, tables, group, player, mode)


@jit.kernel
def _renew_group(arrays, scratch, tables, group, player, mode):
  """Updates what depends on the table that `_learn_group` changed."""
  workspace = jit.borrowed(
      set_blocks.FormWorkspace(DealArrays(*arrays), *scratch))
  named_tables = jit.borrowed(set_blocks.SolverTables(*tables))
  if mode == set_blocks.MIX:
    _propagate_group(workspace, group, player, named_tables.response)
    _mix_group(workspace, group, player, named_tables)
  _propagate_group(workspace, group, player, named_tables.strategy)


@jit.kernel(parallel=True)
def run_parallel(workspace, tables, rules, alternating, mode, iteration,
                 values):
  """Does what `form_kernels.run` does, with threads for the hand groups.

  The result is equal. It only runs iterations, and does not write `values`.
  """
  groups = workspace.arrays.group_begin
  arrays, scratch = workspace.arrays[:], workspace[1:]
  columns, num_players = tables[:], len(values)
  for t in range(len(rules.step)):
    rule = update_rules.rule_at(rules, t)[:]
    for player in range(num_players):
      for group in numba.prange(groups[player], groups[player + 1]):
        _learn_group(arrays, scratch, columns, group, player, mode, rule,
                     alternating)
    if not alternating:
      for player in range(num_players):
        for group in numba.prange(groups[player], groups[player + 1]):
          _renew_group(arrays, scratch, columns, group, player, mode)
    iteration[0] += 1
