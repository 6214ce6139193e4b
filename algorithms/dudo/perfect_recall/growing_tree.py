"""A tree of public histories of a round that grows: its structure.

A node is a history of claims at which at least one claim is stored (the root
always is). Its rows are the actions that are stored there: Dudo first, which is
the default action, and then claims, weakest first. The root cannot say Dudo;
its default action is the weakest claim, which is always stored there. At
histories that are no nodes the policy takes the default action. So a stored
claim either has a child, or is followed by Dudo.

Nodes are in preorder. Each has numbers [row, class] in flat tables, and the
tables have the order of the nodes, so a walk depth first streams through them.
When the tree grows or shrinks, rows keep their order, and the tables move in
place.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

MAX_ROWS = 2**31 - 1


class TreeArrays(NamedTuple):
  """A tree for kernels.

  Attributes:
    last: [node] int32, the last claim, -1 at the root.
    role: [node] int8, who acts: 0 for the starter.
    row_begin: [node + 1] int64, its rows.
    table_begin: [node + 1] int64, its numbers in the tables.
    value_begin: [node + 1] int64, its classes, one number each.
    claim: [row] int16, the claim of a row, C for Dudo.
    child: [row] int32, the node after it, -1 if there is none.
  """
  last: np.ndarray
  role: np.ndarray
  row_begin: np.ndarray
  table_begin: np.ndarray
  value_begin: np.ndarray
  claim: np.ndarray
  child: np.ndarray

  @property
  def num_nodes(self):
    """How many nodes there are."""
    return len(self.last)

  @property
  def num_numbers(self):
    """How many numbers a table has."""
    return int(self.table_begin[-1])

  @property
  def num_bytes(self):
    """How much memory the structure takes."""
    return sum(array.nbytes for array in self)


class Change(NamedTuple):
  """What happens to a tree, for `rebuild`.

  Attributes:
    is_kept: [row] bool, which rows stay; those after dropped rows go, too.
    node_begin: [node + 1] int64, where the claims added to a node begin.
    row_begin: [row + 1] int64, where the claims begin that are added after a
      row that has no child.
    node_claim: [added] int16, claims by node, weakest first.
    row_claim: [added] int16, claims by row, weakest first.
  """
  is_kept: np.ndarray
  node_begin: np.ndarray
  row_begin: np.ndarray
  node_claim: np.ndarray
  row_claim: np.ndarray


class Shape(NamedTuple):
  """A tree as `rebuild` writes it, before offsets in tables are known.

  Attributes:
    last: [node] int32.
    role: [node] int8.
    row_begin: [node] int64.
    claim: [row] int16.
    child: [row] int32.
    node_source: [node] int64, the old node, -1 for a new one.
    row_source: [row] int64, the old row, -1 for a new one.
    size: [2] int64, how many nodes and rows there are.
  """
  last: np.ndarray
  role: np.ndarray
  row_begin: np.ndarray
  claim: np.ndarray
  child: np.ndarray
  node_source: np.ndarray
  row_source: np.ndarray
  size: np.ndarray


@jit.kernel
def _add_row(out, claim, source):
  row = out.size[1]
  out.claim[row] = claim
  out.child[row] = -1
  out.row_source[row] = source
  out.size[1] = row + 1


@jit.kernel
def _begin_node(out, last, role, source):
  node = out.size[0]
  out.last[node] = last
  out.role[node] = role
  out.row_begin[node] = out.size[1]
  out.node_source[node] = source
  out.size[0] = node + 1
  return node


@jit.kernel
def _copy_rows(tree, change, node, out):
  """Writes the rows of an old node with the claims added to it, in order.

  Args:
    tree: the `TreeArrays`.
    change: the `Change`.
    node: the old node.
    out: the `Shape`, modified in place.

  Returns:
    Whether there is any claim.
  """
  add, add_end = change.node_begin[node], change.node_begin[node + 1]
  first = out.size[1]
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    claim = tree.claim[row]
    is_dudo = tree.last[node] >= 0 and row == tree.row_begin[node]
    while not is_dudo and add < add_end and change.node_claim[add] < claim:
      _add_row(out, change.node_claim[add], -1)
      add += 1
    if is_dudo or change.is_kept[row]:
      _add_row(out, claim, row)
  while add < add_end:
    _add_row(out, change.node_claim[add], -1)
    add += 1
  return out.size[1] - first > (1 if tree.last[node] >= 0 else 0)


_NODE, _NEXT, _END = 0, 1, 2  # columns of the stack of `rebuild`


@jit.kernel(nogil=True)
def rebuild(tree, change, num_claims, stack, out):
  """Writes the tree after a change.

  Args:
    tree: the `TreeArrays`.
    change: the `Change`.
    num_claims: C.
    stack: [depth, 3] int64 scratch.
    out: the `Shape`, modified in place; large enough.
  """
  out.size[:] = 0
  depth = 0
  stack[0, _NODE] = _begin_node(out, tree.last[0], tree.role[0], 0)
  _copy_rows(tree, change, 0, out)
  stack[0, _NEXT] = 0
  stack[0, _END] = out.size[1]
  while depth >= 0:
    row = stack[depth, _NEXT]
    if row == stack[depth, _END]:
      depth -= 1
      continue
    stack[depth, _NEXT] = row + 1
    source = out.row_source[row]
    if source < 0:
      continue
    role = 1 - out.role[stack[depth, _NODE]]
    old = tree.child[source]
    if old >= 0:
      node = _begin_node(out, out.claim[row], role, old)
      if _copy_rows(tree, change, old, out):
        out.child[row] = node
        depth += 1
        stack[depth, _NODE] = node
        stack[depth, _NEXT] = out.row_begin[node]
        stack[depth, _END] = out.size[1]
      else:  # no claim is left there
        out.size[1] = out.row_begin[node]
        out.size[0] = node
    elif change.row_begin[source] < change.row_begin[source + 1]:
      out.child[row] = _begin_node(out, out.claim[row], role, -1)
      _add_row(out, num_claims, -1)
      for i in range(change.row_begin[source], change.row_begin[source + 1]):
        _add_row(out, change.row_claim[i], -1)


@jit.kernel(nogil=True)
def move_rows(old, new, row_source, is_growing, table):
  """Moves the numbers of a table to where a new tree has them.

  Rows keep their order. If the tree only grows, every row moves to the right,
  and the last one first; if it only shrinks, it is the other way round.

  Args:
    old: the `TreeArrays` before.
    new: the `TreeArrays` after.
    row_source: [new row] int64, the old row, -1 for a new one.
    is_growing: whether there are only new rows, or only fewer.
    table: flat, modified in place, large enough for both; new rows become 0.
  """
  nodes = len(new.last)
  old_node = len(old.last) - 1 if is_growing else 0
  for i in range(nodes):
    node = nodes - 1 - i if is_growing else i
    begin, end = new.row_begin[node], new.row_begin[node + 1]
    width = new.value_begin[node + 1] - new.value_begin[node]
    for j in range(begin, end):
      row = end - 1 - (j - begin) if is_growing else j
      target = new.table_begin[node] + (row - begin) * width
      source = row_source[row]
      if source < 0:
        table[target:target + width] = 0
        continue
      while source < old.row_begin[old_node]:
        old_node -= 1
      while source >= old.row_begin[old_node + 1]:
        old_node += 1
      origin = (old.table_begin[old_node] +
                (source - old.row_begin[old_node]) * width)
      if is_growing:
        for k in range(width - 1, -1, -1):
          table[target + k] = table[origin + k]
      else:
        for k in range(width):
          table[target + k] = table[origin + k]


def move_table(old, new, row_source, is_growing, table):
  """Moves a table to a new tree, in place: it is resized; see `move_rows`.

  Args:
    old: see `move_rows`.
    new: see `move_rows`.
    row_source: see `move_rows`.
    is_growing: see `move_rows`.
    table: flat, which owns its memory.
  """
  table.resize(max(old.num_numbers, new.num_numbers), refcheck=False)
  move_rows(old, new, row_source, is_growing, table)
  table.resize(new.num_numbers, refcheck=False)


@jit.kernel
def _parse(counts, claims, has_child, num_claims, stack, out):
  """Writes a tree from what files have of it; see `tree_from_rows`.

  Returns:
    Whether it is a tree.
  """
  out.size[:] = 0
  depth, is_new, last, role = 0, True, -1, 0
  while depth >= 0:
    if is_new:
      if out.size[0] == len(counts):
        return False
      node = _begin_node(out, last, role, -1)
      begin, count = out.size[1], counts[node]
      if count < (2 if last >= 0 else 1) or begin + count > len(claims):
        return False
      below = last
      for row in range(begin, begin + count):
        is_dudo = last >= 0 and row == begin
        claim = claims[row]
        if is_dudo and (claim != num_claims or has_child[row]):
          return False
        if not is_dudo and not below < claim < num_claims:
          return False
        if not is_dudo:
          below = claim
        _add_row(out, claim, -1)
      stack[depth, _NODE], stack[depth, _NEXT] = node, begin
      stack[depth, _END] = begin + count
      is_new = False
    row = stack[depth, _NEXT]
    if row == stack[depth, _END]:
      depth -= 1
      continue
    stack[depth, _NEXT] = row + 1
    if has_child[row]:
      if claims[row] == num_claims - 1:
        return False
      out.child[row] = out.size[0]
      last, role = claims[row], 1 - out.role[stack[depth, _NODE]]
      depth += 1
      is_new = True
  return (out.size[0] == len(counts) and out.size[1] == len(claims) and
          claims[0] == 0)


def _new_shape(nodes, rows):
  """Returns a `Shape` with place for so many nodes and rows."""
  if rows > MAX_ROWS:
    raise ValueError(f"max_bytes: a tree with {rows:,} rows is too large; must "
                     f"have at most {MAX_ROWS:,}")
  return Shape(np.empty(nodes, np.int32), np.empty(nodes, np.int8),
               np.empty(nodes, np.int64), np.empty(rows, np.int16),
               np.empty(rows, np.int32), np.empty(nodes, np.int64),
               np.empty(rows, np.int64), np.zeros(2, np.int64))


def _stack(hands):
  return np.zeros((hands.order.num_claims + 2, 3), np.int64)


def _first(array, count):
  """Returns the first numbers of an array, and keeps no others in memory."""
  return array if len(array) == count else array[:count].copy()


def _tree_arrays(hands, shape):
  """Returns the `TreeArrays` of a `Shape`."""
  nodes, rows = shape.size.tolist()
  last, role = _first(shape.last, nodes), _first(shape.role, nodes)
  row_begin = np.append(shape.row_begin[:nodes], rows)
  width = hands.width[role, hands.level[last + 1]]
  begins = np.zeros((2, nodes + 1), np.int64)
  np.cumsum(width, out=begins[1, 1:])
  width *= np.diff(row_begin)
  np.cumsum(width, out=begins[0, 1:])
  return TreeArrays(last, role, row_begin, *begins, _first(shape.claim, rows),
                    _first(shape.child, rows))


def tree_from_rows(hands, counts, claims, has_child):
  """Returns the `TreeArrays` of nodes in preorder, or None if it is no tree.

  Args:
    hands: the `round_hands.RoundHands`.
    counts: [node] int16, how many rows each node has.
    claims: [row] int16, claims, C for Dudo.
    has_child: [row] bool.
  """
  shape = _new_shape(len(counts), len(claims))
  is_tree = len(counts) > 0 and _parse(
      counts, claims, has_child, hands.order.num_claims, _stack(hands), shape)
  return _tree_arrays(hands, shape) if is_tree else None


def rows_of(tree):
  """Returns {name: array}, what `tree_from_rows` makes a tree of."""
  return {"counts": np.diff(tree.row_begin).astype(np.int16),
          "claims": tree.claim, "has_child": tree.child >= 0}


def read_tree(archive, prefix, hands, nodes, rows):
  """Returns the `TreeArrays` in a file, or raises a ValueError.

  Args:
    archive: the `checkpoint.Archive`.
    prefix: of the names of its arrays, which are those of `rows_of`.
    hands: the `round_hands.RoundHands`.
    nodes: how many nodes there are.
    rows: how many rows.
  """
  def read(name, count, dtype, *low):
    return archive.read(prefix + name, (count,), (np.dtype(dtype),), *low)

  tree = tree_from_rows(hands, read("counts", nodes, np.int16, 1),
                        read("claims", rows, np.int16, 0),
                        read("has_child", rows, np.bool_))
  if tree is None:
    raise ValueError(f"path={archive.path!r}: its {prefix}claims must be a "
                     "tree of claims in preorder")
  return tree


def new_tree(hands):
  """Returns the `TreeArrays` of a root with the weakest claim only."""
  return tree_from_rows(hands, np.ones(1, np.int16), np.zeros(1, np.int16),
                        np.zeros(1, np.bool_))


def changed(hands, tree, is_kept=None, proposals=None):
  """Returns the tree after a change.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `TreeArrays`.
    is_kept: [row] bool, the rows that stay; None for all.
    proposals: (nodes, rows, claims), each [proposal] int64: a claim is added to
      a node if its row is -1, or else after a row without a child; no claim
      twice. None for none. There must be none if rows are dropped.

  Returns:
    (`TreeArrays`, [node] int64, [row] int64): the tree, and the old node and
    row of each of its nodes and rows, -1 for new ones.
  """
  nodes, rows = tree.num_nodes, len(tree.claim)
  if is_kept is None:
    is_kept = np.ones(rows, np.bool_)
  at, after, claims = proposals or (np.zeros(0, np.int64),) * 3
  is_row = after >= 0
  node_begin, node_claim = _grouped(at[~is_row], claims[~is_row], nodes)
  row_begin, row_claim = _grouped(after[is_row], claims[is_row], rows)
  more = len(np.unique(after[is_row]))
  shape = _new_shape(nodes + more, rows + more + len(claims))
  rebuild(tree, Change(is_kept, node_begin, row_begin, node_claim, row_claim),
          hands.order.num_claims, _stack(hands), shape)
  new_nodes, new_rows = shape.size.tolist()
  return (_tree_arrays(hands, shape), _first(shape.node_source, new_nodes),
          _first(shape.row_source, new_rows))


def _grouped(places, claims, count):
  """Returns ([place + 1] int64, [added] int16), claims by place, sorted."""
  order = np.lexsort((claims, places))
  begin = np.searchsorted(places[order], np.arange(count + 1))
  return begin.astype(np.int64, copy=False), claims[order].astype(np.int16)


def find(tree, claims):
  """Returns the node of a list of claims, -1 if it is not stored."""
  node = 0
  for claim in claims:
    begin, end = tree.row_begin[node], tree.row_begin[node + 1]
    row = begin + np.flatnonzero(tree.claim[begin:end] == claim)
    node = int(tree.child[row[0]]) if len(row) else -1
    if node < 0:
      return -1
  return node
