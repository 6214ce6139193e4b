"""Deal form: private hands first, then public play.

Many games deal each player a hand and then go on in public: both players see
every action and every later chance event. A player then knows two things, the
hand and the node of one public tree. Public nodes whose subtrees have the same
shape make a class. Everything is computed for all nodes of a class and all
hands at once, in loops over neighbouring cells:

  [node of the class, hand]

The nodes of a class stand in the order of the edges that lead to it, so the
children of a class by one action are a contiguous range of another class. The
probabilities of chance are part of the terminal payoffs.

Liar's dice with one die each has 4,096 public decision nodes but 24 classes.
"""

from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular.forms import deal_terminals
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import public_tree
from dudo_spiel.algorithms.tabular.tree import rules_tree
from dudo_spiel.algorithms.tabular.updates import learning
from dudo_spiel.algorithms.tabular.updates import set_blocks
from dudo_spiel.algorithms.tabular.updates import strips

_MAX_EMPTINESS = 4  # payoff table entries a terminal history, at most
_SMALL_TABLES = 100_000  # entries; smaller tables are always made
_CUTS = 2  # sides of a player, where there is enough to do
MIN_CELLS_TO_CUT = 100_000  # of a player; fewer are one side


class DealArrays(NamedTuple):
  """The public tree as arrays that kernels can take.

  Classes are numbered parents first; the last one holds all terminal nodes. In
  large games a player's hands are cut into sides. Sides do not need each other,
  so different threads can handle them. In small games a side is a player.

  Attributes:
    actor: [class] int64, a player, CHANCE or TERMINAL.
    num_nodes: [class] int64.
    side_begin: [player + 1] int64, the sides of each player.
    hand_begin: [side] int64, the first of its hands.
    num_hands: [side] int64.
    cell_begin: [side, class] int64, where the class's cells [node, hand] of the
      side begin in an array over all cells.
    entry_begin: [side, class] int64, the first strategy entry, where the side's
      player decides.
    min_regret: [side, class], the `min_regret` of the class's `set_blocks.Block`.
    edge_begin: [class + 1] int64, the class's edges, action by action.
    edge_row: [side, edge] int64, the cell where the values of the children
      begin: as many as there are cells in the class. Values of terminals are
      used at once, so all classes share the first cells of the last one.
    reach_row: [side, edge] int64, the cell where the reaches of the children
      begin, or -1 where none are kept: those of terminals, unless the side's
      player chooses there.
    matrix_0: [matrix, player 1's hand, player 0's hand], what player 0 gets,
      times the probability of chance; see `deal_terminals.find_runs`.
    matrix_1: [matrix, player 0's hand, player 1's hand], the same for player 1.
    runs: [run + 1] of `deal_terminals.RUN`, neighbouring terminals that are
      handled alike. The last one is the end.
    run_begin: [edge + 1] int64, the runs of the terminals of each edge.
    table_of: [terminal] int64, its matrix or step table.
    step_index: see `step_payoffs.Steps`.
    step_coefficient: likewise.
  """
  actor: np.ndarray
  num_nodes: np.ndarray
  side_begin: np.ndarray
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

  Args:
    tree: the `game_tree.GameTree`.
  """
  if tree.num_players != 2:
    return None
  if rules_tree.is_deal_form(tree):
    return DealForm(tree, rules_tree.make_public_tree(tree))
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
    blocks: the `set_blocks.Blocks`: a block for each class with decisions.
    num_entries: how many strategy entries there are.
    set_entry: [set] int64, the entry of a set's first action.
    set_stride: [set] int64, how far apart its entries are.
    num_cells: how many pairs of a public node and a hand there are.
    arrays: the `DealArrays`.
  """

  def __init__(self, tree, public):
    self.tree = tree
    self._number_classes(public)
    self._lay_out(public)
    self._place_sets(public)
    self._make_payoffs(public)

  def _number_classes(self, public):
    """Finds the classes, parents first, and each node's place in its class."""
    num_public = len(public.actor)
    children_begin = 1 + np.concatenate([[0], np.cumsum(public.num_children)])
    shapes = {}  # (actor, classes of the children) -> number, leaves first
    shape_of = [0] * num_public
    actors = public.actor.tolist()
    begins = children_begin.tolist()
    for node in range(num_public - 1, -1, -1):
      key = (actors[node], tuple(shape_of[begins[node]:begins[node + 1]]))
      shape_of[node] = shapes.setdefault(key, len(shapes))
    # A shape's number is above those of its children: turn the order round.
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
    self._place = np.empty(num_public, dtype=np.int64)
    for nodes in self._members:
      self._place[nodes] = np.arange(len(nodes))

  def _lay_out(self, public):
    """Sets the arrays that do not depend on information sets or payoffs."""
    self._actor = np.array([actor for actor, _ in self._shapes])
    num_children = np.array([len(children) for _, children in self._shapes])
    self._num_nodes = np.array([len(nodes) for nodes in self._members])
    self._make_sides(public)
    player, num_hands = self._side_player, self._num_hands
    sizes = num_hands[:, None] * self._num_nodes
    behind = deal_terminals.PADDING * np.arange(len(sizes))[:, None]
    self._cell_begin = behind + (np.cumsum(sizes) - sizes.ravel()).reshape(
        sizes.shape)
    self.num_cells = int(sizes.sum()) + deal_terminals.PADDING * len(sizes)
    edge_class = [child for _, children in self._shapes for child in children]
    self._edge_begin = np.concatenate([[0], np.cumsum(num_children)])
    self._lay_out_edges(np.array(edge_class, dtype=np.int64), num_children)
    side, number = np.nonzero(player[:, None] == self._actor)
    actions, width = num_children[number], sizes[side, number]
    entries = actions * width
    entry_begin = np.cumsum(entries) - entries
    self.num_entries = int(entries.sum())
    self.blocks = set_blocks.Blocks(player[side], actions, width, entry_begin)
    self._entry_begin = np.full(sizes.shape, -1)
    self._entry_begin[side, number] = entry_begin

  def _lay_out_edges(self, edge_class, num_children):
    """Sets where the numbers of the children of each edge stand."""
    parent = np.repeat(np.arange(len(num_children)), num_children)
    self._num_ends = np.where(edge_class == len(num_children) - 1,
                              self._num_nodes[parent], 0)
    before = np.cumsum(self._num_ends) - self._num_ends
    offset = np.array(self._offsets, dtype=np.int64)
    rows = self._cell_begin[:, edge_class] + self._num_hands[:, None] * offset
    shared = self._cell_begin[:, edge_class] + self._num_hands[:, None] * (
        before - before[self._edge_begin[parent]])
    self._edge_row = np.where(self._num_ends > 0, shared, rows)
    chooses = ((self._side_player[:, None] == self._actor[parent]) &
               (num_children[parent] > 1))
    self._reach_row = np.where((self._num_ends > 0) & ~chooses, -1, rows)

  def _make_sides(self, public):
    """Cuts each player's hands into sides, if there is enough to do."""
    player, begin = [], []
    for p, num_hands in enumerate(public.num_hands):
      is_large = num_hands * len(public.actor) >= MIN_CELLS_TO_CUT
      cuts = min(_CUTS, num_hands) if is_large else 1
      player += [p] * cuts
      begin += [num_hands * cut // cuts for cut in range(cuts)]
    self._side_player, self._hand_begin = np.array(player), np.array(begin)
    self._side_begin = np.searchsorted(player, [0, 1, 2])
    ends = np.append(begin[1:], public.num_hands[1])
    ends[self._side_begin[1] - 1] = public.num_hands[0]
    self._num_hands = ends - self._hand_begin

  def _place_sets(self, public):
    """Sets which entries belong to which information set."""
    tree = self.tree
    public_node, hand = public.sets(tree)
    number = self._class_of[public_node]
    side = np.empty(tree.num_info_sets, dtype=np.int64)
    for player in range(2):
      first, last = self._side_begin[player:player + 2]
      own = tree.set_player == player
      side[own] = first - 1 + np.searchsorted(self._hand_begin[first:last],
                                              hand[own], side="right")
    num_hands = self._num_hands[side]
    self.set_entry = (self._entry_begin[side, number] +
                      self._place[public_node] * num_hands +
                      hand - self._hand_begin[side])
    self.set_stride = num_hands * self._num_nodes[number]
    self._set_class = side, number

  def _make_payoffs(self, public):
    """Sets what terminal nodes pay, and with them all arrays."""
    (own, other), payoff_of = public.payoffs(self.tree, self._members[-1])
    payoffs = [own, np.ascontiguousarray(other.transpose(1, 0, 2))]
    runs, run_begin, table_of, matrices, steps = deal_terminals.find_runs(
        payoffs, payoff_of, self._num_ends, len(self._num_hands) > 2)
    least = self._least_regrets(payoffs)
    self.arrays = DealArrays(
        actor=self._actor, num_nodes=self._num_nodes,
        side_begin=self._side_begin, hand_begin=self._hand_begin,
        num_hands=self._num_hands, cell_begin=self._cell_begin,
        entry_begin=self._entry_begin, min_regret=least,
        edge_begin=self._edge_begin, edge_row=self._edge_row,
        reach_row=self._reach_row,
        matrix_0=matrices[0], matrix_1=matrices[1], runs=runs,
        run_begin=run_begin, table_of=table_of, step_index=steps.index,
        step_coefficient=steps.coefficient)

  def _least_regrets(self, payoffs):
    """Returns `DealArrays.least`: [side, class] float64.

    Args:
      payoffs: for each player [own hand, other's hand, payoffs], times the
        likelihood of the deal and of all that chance does later.
    """
    least = np.zeros(self._entry_begin.shape)
    if np.any(self._actor == game_tree.CHANCE):
      np.maximum.at(least, self._set_class,
                    set_blocks.min_regrets(self.tree))
      return least
    # Then this is the same, without a look at every history.
    for side, player in enumerate(self._side_player):
      begin = self._hand_begin[side]
      own = payoffs[player][begin:begin + self._num_hands[side]]
      least[side] = set_blocks.ROUNDING * np.abs(own).sum(axis=1).max()
    return least

  def workspace(self, dtype):
    """Returns the `set_blocks.FormWorkspace` for tables of this type."""
    # Blocks take two numbers a set, steps two numbers a hand of the other.
    scratch = 2 * max(int(self.blocks.width.max()),
                      int(self.arrays.num_hands.sum())) + 1
    return set_blocks.FormWorkspace(
        set_blocks.with_dtype(self.arrays, dtype),
        regret_tables.zeros_apart(self.num_cells, dtype, 3),
        regret_tables.zeros_apart(self.num_cells, dtype, 4),
        np.zeros((len(self._num_hands), scratch), dtype))


# Kernels.


@jit.kernel
def _propagate_side(space, side, player, strategy):
  """Writes how likely the side's player plays to every node, by hand."""
  space, strategy = jit.borrowed(space), jit.borrowed(strategy)
  deal = space.arrays
  hands = deal.num_hands[side]
  root = deal.cell_begin[side, 0]
  space.reach[root:root + hands] = 1.0
  for c in range(len(deal.actor) - 1):
    width = deal.num_nodes[c] * hands
    rows = deal.reach_row[side, deal.edge_begin[c]:deal.edge_begin[c + 1]]
    chooses = deal.actor[c] == player and len(rows) > 1
    entry = deal.entry_begin[side, c] if chooses else -1
    strips.propagate_block(space.reach, strategy, deal.cell_begin[side, c],
                           entry, width, rows)


@jit.kernel
def _evaluate_side(space, side, player, tables, mode, rule):
  """Does for one side of a player what `evaluate` does for the player."""
  space, tables = jit.borrowed(space), jit.borrowed(tables)
  deal, reach, values = space.arrays, space.reach, space.values
  scratch = space.scratch[side]
  hands = deal.num_hands[side]
  for c in range(len(deal.actor) - 2, -1, -1):
    width = deal.num_nodes[c] * hands
    begin = deal.cell_begin[side, c]
    deal_terminals.write_values(space, side, player, c)
    rows = deal.edge_row[side, deal.edge_begin[c]:deal.edge_begin[c + 1]]
    if deal.actor[c] == player:
      block = set_blocks.Block(deal.entry_begin[side, c], width, width, rows,
                               deal.min_regret[side, c])
      set_blocks.update_block(
          block, tables, values, values[begin:begin + width],
          reach[begin:begin + width], mode, rule, scratch)
    else:
      strips.sum_block(values, rows, begin, width)
  if mode != set_blocks.EVALUATE and mode != set_blocks.RESPOND:
    return 0.0  # nobody asks, and in a small game the sum would take a while
  root = deal.cell_begin[side, 0]
  return values[root:root + hands].sum()


@jit.kernel
def _mix_side(space, side, player, tables):
  """Does for one side of a player what `mix` does for the player."""
  deal, scratch = space.arrays, space.scratch[side]
  for c in range(len(deal.actor) - 1):
    if deal.actor[c] == player:
      width = deal.num_nodes[c] * deal.num_hands[side]
      begin = deal.cell_begin[side, c]
      set_blocks.mix_block(deal.entry_begin[side, c], width,
                           deal.edge_begin[c + 1] - deal.edge_begin[c], tables,
                           space.reach[begin:begin + width], scratch)


@jit.forceinline
def mix(space, player, tables):
  """Adds the player's response, whose reach this is, to the strategy."""
  sides = space.arrays.side_begin
  for side in range(sides[player], sides[player + 1]):
    _mix_side(space, side, player, tables)


@jit.forceinline
def propagate(space, player, strategy):
  """Writes how likely the player plays to every node, by hand, to `reach`."""
  sides = space.arrays.side_begin
  for side in range(sides[player], sides[player + 1]):
    _propagate_side(space, side, player, strategy)


@jit.forceinline
def evaluate(space, player, tables, mode, rule):
  """Computes the player's counterfactual values, and learns from them.

  Args:
    space: the `set_blocks.FormWorkspace`: `arrays` are the `DealArrays`; `reach`
      [cell] is up to date for both players; `values` [cell] and `work` [side,
      number] are scratch.
    player: the player.
    tables: the `set_blocks.SolverTables`, modified in place as the mode says.
    mode: what to do with the values, such as `set_blocks.LEARN`.
    rule: the `learning.Rule` of this iteration.

  Returns:
    The player's expected value, in modes EVALUATE and RESPOND.
  """
  sides = space.arrays.side_begin
  total = 0.0
  for side in range(sides[player], sides[player + 1]):
    total += _evaluate_side(space, side, player, tables, mode, rule)
  return total


# Threads get plain tuples of arrays only, so the next two make named ones.


@jit.kernel
def _learn_side(arrays, scratch, tables, side, player, mode, rule, alternating):
  """Runs one iteration for one side."""
  space = jit.borrowed(set_blocks.FormWorkspace(DealArrays(*arrays), *scratch))
  named_tables = jit.borrowed(set_blocks.SolverTables(*tables))
  _evaluate_side(space, side, player, named_tables, mode,
                 learning.named_rule(rule))
  if alternating:
    _renew_side(arrays, scratch, tables, side, player, mode)


@jit.kernel
def _renew_side(arrays, scratch, tables, side, player, mode):
  """Does for one side what `renew` does for the player."""
  space = jit.borrowed(set_blocks.FormWorkspace(DealArrays(*arrays), *scratch))
  named_tables = jit.borrowed(set_blocks.SolverTables(*tables))
  if mode == set_blocks.MIX:
    _propagate_side(space, side, player, named_tables.response)
    _mix_side(space, side, player, named_tables)
  _propagate_side(space, side, player, named_tables.strategy)


@jit.kernel(parallel=True)
def run_parallel(space, tables, rules, alternating, mode, iteration, values):
  """Does what `run` does, with threads for the sides; the result is equal.

  It only runs iterations, and does not write `values`.
  """
  sides = space.arrays.side_begin
  arrays, scratch = space.arrays[:], space[1:]
  columns, num_players = tables[:], len(values)
  for t in range(len(rules.step)):
    rule = learning.rule_at(rules, t)[:]
    for player in range(num_players):
      for side in numba.prange(sides[player], sides[player + 1]):
        _learn_side(arrays, scratch, columns, side, player, mode, rule,
                    alternating)
    if not alternating:
      for player in range(num_players):
        for side in numba.prange(sides[player], sides[player + 1]):
          _renew_side(arrays, scratch, columns, side, player, mode)
    iteration[0] += 1
