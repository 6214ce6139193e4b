"""Counterfactual values of the terminal nodes of the deal form.

The value of a hand is the sum over the opponent's hands of payoff times reach.
Where the payoff table [opponent's hand, own hand] is a step table (see
`step_payoffs`), the sums take time linear in the hands. Elsewhere they are the
product of a matrix and a vector, eight own hands at once. Each distinct matrix
is stored once.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd
from dudo_spiel.algorithms.tabular.forms import step_payoffs

# A run of neighbouring terminals: the first of them, and how they pay.
RUN = np.dtype([("begin", np.int64), ("kind", np.int64)])
MIXED = 0  # a matrix each
EQUAL = 1  # the same matrix
STEPS = 2  # steps each

PADDING = simd.OCTET_SIZE  # cells behind a hand group: eight values are written
_SIX = 6  # hands that have a kernel of their own
_TOGETHER = 4  # terminals whose values are computed together
_MIN_EQUAL = 16  # terminals that are worth a run of their own


def find_runs(payoffs, payoff_of, edges, is_cut):
  """Cuts the terminals into runs, and keeps each different table once.

  Args:
    payoffs: for each player [own hand, opponent's hand, table] float64; some
      tables may be equal.
    payoff_of: [terminal] int64, its table in `payoffs`.
    edges: [edge] int64, the number of terminals that each edge leads to.
      Terminals are in the order of the edges.
    is_cut: whether the hands of a player are split into groups.

  Returns:
    (runs, run_begin, table_of, matrices, steps): the fields of
    `deal_form.DealArrays`, both players' matrices in a list, and the steps as
    `step_payoffs.Steps`. Own hands of matrices are padded with zeros.
  """
  is_step_table, steps = step_payoffs.find_steps(payoffs)
  is_step = is_step_table[payoff_of]
  table_of, members = _distinct(payoffs, np.where(is_step, -1, payoff_of))
  table_of[is_step] = np.arange(is_step.sum())
  number = (np.cumsum(is_step_table) - 1)[payoff_of[is_step]]
  steps = step_payoffs.Steps(*(column[:, number] for column in steps))
  ends = np.cumsum(edges)
  runs = _cut(np.where(is_step, -1, table_of), ends)
  run_begin = np.searchsorted(runs["begin"], np.append(0, ends))
  matrices = []
  for payoff in payoffs:
    hands, others, _ = payoff.shape
    # A hand group loads eight hands at a time, from any hand on.
    overrun = simd.OCTET_SIZE if is_cut else 0
    row = -(-(hands + overrun) // simd.OCTET_SIZE) * simd.OCTET_SIZE
    matrix = np.zeros((len(members), others, row))
    matrix[:, :, :hands] = payoff[:, :, members].transpose(2, 1, 0)
    matrices.append(matrix)
  return runs, run_begin, table_of, matrices, steps


def _cut(matrix_of, ends):
  """Returns [run + 1] of RUN.

  Args:
    matrix_of: [terminal] int64, its matrix, or -1 if it has steps.
    ends: [edge] int64, where the terminals of each edge end.
  """
  edge_of = np.searchsorted(ends, np.arange(len(matrix_of)), side="right")
  is_new = np.append(True, (matrix_of[1:] != matrix_of[:-1]) |
                     (edge_of[1:] != edge_of[:-1]))
  begins = np.flatnonzero(is_new)
  sizes = np.diff(np.append(begins, len(matrix_of)))
  kind = np.where(matrix_of[begins] < 0, STEPS,
                  np.where(sizes >= _MIN_EQUAL, EQUAL, MIXED))
  # Neighbouring short runs are handled as one.
  edge_of = edge_of[begins]
  keep = (kind != MIXED) | np.append(True, (kind[:-1] != MIXED) |
                                     (edge_of[1:] != edge_of[:-1]))
  runs = np.zeros(int(keep.sum()) + 1, RUN)
  runs["begin"] = np.append(begins[keep], len(matrix_of))
  runs["kind"][:-1] = kind[keep]
  return runs


def _distinct(payoffs, payoff_of):
  """Numbers the distinct tables of terminals in order of appearance.

  Terminals whose `payoff_of` is -1 are left out.

  Returns:
    (matrix_of, members): [terminal] int64, the number of each terminal's table,
    or -1; [matrix] int64, the table.
  """
  used, first = np.unique(payoff_of, return_index=True)
  used = used[np.argsort(first)]
  number_of = np.full(payoffs[0].shape[2] + 1, -1)  # the last is that of -1
  found = {}
  members = []
  for table in used[used >= 0].tolist():
    key = tuple(payoff[:, :, table].tobytes() for payoff in payoffs)
    number_of[table] = found.setdefault(key, len(found))
    if number_of[table] == len(members):
      members.append(table)
  return number_of[payoff_of], np.array(members, dtype=np.int64)


class _Terminals(NamedTuple):
  """Where the reaches and values of an edge's terminals are stored.

  Attributes:
    source: the node class whose cells have the opponent's reaches.
    shift: the terminal whose reaches are those of the first node there.
    target: the cell of the value of terminal 0 and the group's first hand, by
      extrapolation.
  """
  source: int
  shift: int
  target: int


@jit.inline
def _source(deal, group, terminals):
  """Returns the cell of a group's reach of terminal 0 and its first hand."""
  return (deal.cell_begin[group, terminals.source] -
          terminals.shift * deal.num_hands[group])


@jit.kernel
def _gather_reach(workspace, player, terminals, z, out):
  """Writes a player's reach of a terminal, by hand."""
  deal = workspace.arrays
  for group in range(deal.group_begin[player], deal.group_begin[player + 1]):
    hands = deal.num_hands[group]
    first = _source(deal, group, terminals) + z * hands
    source = workspace.reach[first:first + hands]
    target = out[deal.hand_begin[group]:deal.hand_begin[group] + hands]
    for h in range(hands):
      target[h] = source[h]


@jit.kernel
def _step_values(workspace, group, player, terminals, begin, end):
  """Writes the values of terminals with step tables."""
  deal, values = workspace.arrays, workspace.values
  scratch = workspace.scratch[group]
  others = deal.matrix_0.shape[1] if player == 0 else deal.matrix_1.shape[1]
  hands, first_hand = deal.num_hands[group], deal.hand_begin[group]
  other_reach, sums = scratch[:others], scratch[others:2 * others + 1]
  for z in range(begin, end):
    _gather_reach(workspace, 1 - player, terminals, z, other_reach)
    own, table = terminals.target + z * hands, deal.table_of[z]
    step_payoffs.step_values(
        deal.step_index[player, table], deal.step_coefficient[player, table],
        other_reach, first_hand, sums, values[own:own + hands])


@jit.inline
def _first_of_octet(octet, hands):
  """Returns the hand at which eight of a group's hands begin.

  The last eight overlap with those before. If a group has fewer than eight
  hands, the others belong to the next terminal, which is written later.
  """
  return min(octet, max(hands - simd.OCTET_SIZE, 0))


@jit.kernel
def _mixed_values(workspace, group, player, terminals, begin, end):
  """Writes the values of terminals that have a matrix each."""
  deal = workspace.arrays
  matrices = deal.matrix_0 if player == 0 else deal.matrix_1
  row = matrices.shape[2]
  matrix, reach = jit.pointer(matrices), jit.pointer(workspace.reach)
  values = jit.pointer(workspace.values)
  hands = deal.num_hands[group]
  first, last = deal.group_begin[1 - player], deal.group_begin[2 - player]
  for z in range(begin, end):
    entry = (deal.table_of[z] * matrices.shape[1] * row +
             deal.hand_begin[group])
    for octet in range(0, hands, simd.OCTET_SIZE):
      h = _first_of_octet(octet, hands)
      total = simd.splat(workspace.reach.dtype.type(0.0), simd.OCTET)
      for q in range(first, last):
        size = deal.num_hands[q]
        source = _source(deal, q, terminals) + z * size
        there = entry + deal.hand_begin[q] * row + h
        for g in range(size):
          total += (simd.load(matrix, there + g * row, simd.OCTET) *
                    simd.splat(reach[source + g], simd.OCTET))
      simd.store(values, terminals.target + z * hands + h, total)


@jit.kernel
def _equal_values(workspace, group, player, terminals, begin, end):
  """Writes the values of terminals that share a matrix; whole fours only."""
  deal = workspace.arrays
  matrices = deal.matrix_0 if player == 0 else deal.matrix_1
  row = matrices.shape[2]
  matrix, reach = jit.pointer(matrices), jit.pointer(workspace.reach)
  values = jit.pointer(workspace.values)
  hands = deal.num_hands[group]
  zero = simd.splat(workspace.reach.dtype.type(0.0), simd.OCTET)
  first, last = deal.group_begin[1 - player], deal.group_begin[2 - player]
  entry = (deal.table_of[begin] * matrices.shape[1] * row +
           deal.hand_begin[group])
  for z in range(begin, end, _TOGETHER):
    for octet in range(0, hands, simd.OCTET_SIZE):
      h = _first_of_octet(octet, hands)
      sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
      for q in range(first, last):
        size = deal.num_hands[q]
        source_0 = _source(deal, q, terminals) + z * size
        source_1, source_2 = source_0 + size, source_0 + 2 * size
        source_3 = source_0 + 3 * size
        there = entry + deal.hand_begin[q] * row + h
        for g in range(size):
          payoff = simd.load(matrix, there + g * row, simd.OCTET)
          sum_0 += payoff * simd.splat(reach[source_0 + g], simd.OCTET)
          sum_1 += payoff * simd.splat(reach[source_1 + g], simd.OCTET)
          sum_2 += payoff * simd.splat(reach[source_2 + g], simd.OCTET)
          sum_3 += payoff * simd.splat(reach[source_3 + g], simd.OCTET)
      target = terminals.target + z * hands + h
      simd.store(values, target, sum_0)
      simd.store(values, target + hands, sum_1)
      simd.store(values, target + 2 * hands, sum_2)
      simd.store(values, target + 3 * hands, sum_3)


@jit.forceinline
def _six_values(matrix, table_of, reach, values, begin, end):
  """Writes the values of terminals if both players have six hands.

  That is so with one die each, and in Leduc poker. Each product is code without
  loops, and a matrix that neighbouring terminals share stays in registers.
  `matrix` is [matrix, six, eight]; `reach` and `values` are [terminal, six],
  from terminal `begin` on.
  """
  sources, targets = jit.pointer(reach), jit.pointer(values)
  zero = simd.splat(reach.dtype.type(0.0), simd.OCTET)
  row_0, row_1, row_2, row_3, row_4, row_5 = zero, zero, zero, zero, zero, zero
  held = np.int64(-1)
  for z in range(begin, end):
    if table_of[z] != held:
      held = table_of[z]
      first = held * _SIX * simd.OCTET_SIZE
      row_0 = simd.load(matrix, first, simd.OCTET)
      row_1 = simd.load(matrix, first + simd.OCTET_SIZE, simd.OCTET)
      row_2 = simd.load(matrix, first + 2 * simd.OCTET_SIZE, simd.OCTET)
      row_3 = simd.load(matrix, first + 3 * simd.OCTET_SIZE, simd.OCTET)
      row_4 = simd.load(matrix, first + 4 * simd.OCTET_SIZE, simd.OCTET)
      row_5 = simd.load(matrix, first + 5 * simd.OCTET_SIZE, simd.OCTET)
    cell = (z - begin) * _SIX
    total = zero + row_0 * simd.splat(sources[cell], simd.OCTET)
    total += row_1 * simd.splat(sources[cell + 1], simd.OCTET)
    total += row_2 * simd.splat(sources[cell + 2], simd.OCTET)
    total += row_3 * simd.splat(sources[cell + 3], simd.OCTET)
    total += row_4 * simd.splat(sources[cell + 4], simd.OCTET)
    total += row_5 * simd.splat(sources[cell + 5], simd.OCTET)
    simd.store(targets, cell, total)


@jit.forceinline
def write_values(workspace, group, player, c):
  """Writes the values of the terminals below a node class, by hand.

  Args:
    workspace: the `set_blocks.FormWorkspace` of a deal form.
    group: the hand group.
    player: its player.
    c: the node class.
  """
  deal = workspace.arrays
  runs, run_begin = deal.runs, deal.run_begin
  matrix = jit.pointer(deal.matrix_0 if player == 0 else deal.matrix_1)
  table_of = jit.pointer(deal.table_of)
  are_six = (len(deal.num_hands) == 2 and deal.num_hands[0] == _SIX and
             deal.num_hands[1] == _SIX)
  # If the opponent does not choose, its reach is that of the class.
  chooses = (deal.actor[c] == 1 - player and
             deal.edge_begin[c + 1] - deal.edge_begin[c] > 1)
  for edge in range(deal.edge_begin[c], deal.edge_begin[c + 1]):
    first = runs[run_begin[edge]].begin
    target = deal.edge_row[group, edge] - first * deal.num_hands[group]
    terminals = _Terminals(len(deal.actor) - 1 if chooses else c,
                           0 if chooses else first, target)
    for run in range(run_begin[edge], run_begin[edge + 1]):
      kind, begin, end = runs[run].kind, runs[run].begin, runs[run + 1].begin
      if kind == STEPS:
        _step_values(workspace, group, player, terminals, begin, end)
      elif are_six:
        source = _source(deal, 1 - group, terminals) + begin * _SIX
        _six_values(matrix, table_of, workspace.reach[source:],
                    workspace.values[target + begin * _SIX:], begin, end)
      else:
        if kind == EQUAL:
          whole = begin + (end - begin) // _TOGETHER * _TOGETHER
          _equal_values(workspace, group, player, terminals, begin, whole)
          begin = whole
        _mixed_values(workspace, group, player, terminals, begin, end)
