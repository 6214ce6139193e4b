"""The tree of public histories of a round that a policy stores. It can grow.

A node is a history of claims at which at least one claim is stored (the root
always is a node). The rows of a node are the actions that are stored there.
Dudo, the default action, comes first; then claims, weakest first. The root has
no Dudo; its default action is the weakest claim, which is always stored. At
histories that are no nodes the policy takes the default action. So a stored
claim either has a child, or is followed by Dudo.

Nodes are in preorder. Each has entries [row, hand class] in flat tables, and
the tables have the order of the nodes, so a depth-first traversal streams
through them. When the tree grows or shrinks, rows keep their order, and the
tables move in place.

Kernels traverse the tree in one of two ways. Both keep `path`, [depth] int64:
the nodes from the first one to the present one.

  A preorder loop counts nodes up. It skips a subtree by `end`, and `next_depth`
  keeps the path.
  A depth-first traversal takes the rows of a node one by one, goes down by
  `child`, and up again to row `parent_row` of the node before on the path.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.runtime import jit

MAX_ROWS = 2**31 - 1
_MIN_ROW_BYTES = 4 * round_hands.CLASS_MULTIPLE  # of a row of a table


class TreeArrays(NamedTuple):
  """A tree for kernels."""
  last: np.ndarray  # [node] int32, the last claim, -1 at the root
  role: np.ndarray  # [node] int8, who acts: 0 for the starter
  row_begin: np.ndarray  # [node + 1] int64, its rows
  table_begin: np.ndarray  # [node + 1] int64, its entries in a table
  value_begin: np.ndarray  # [node + 1] int64, its hand classes
  claim: np.ndarray  # [row] int16, the claim of a row, C for Dudo
  child: np.ndarray  # [row] int32, the node after it, -1 if there is none
  # [node] int32, the row that leads to the node, -1 for the root
  parent_row: np.ndarray
  end: np.ndarray  # [node] int32, the first node after the subtree

  @property
  def num_nodes(self):
    """How many nodes there are."""
    return len(self.last)

  @property
  def num_entries(self):
    """How many entries a table has."""
    return int(self.table_begin[-1])

  @property
  def num_bytes(self):
    """How many bytes of memory the structure takes."""
    return sum(array.nbytes for array in self)


@jit.forceinline
def next_depth(tree, node, path, depth):
  """Returns the depth of the next node of a preorder loop.

  Args:
    tree: the `TreeArrays`.
    node: the node.
    path: [depth] int64, the path to the node before, modified in place.
    depth: the depth of the node before, -1 at first.
  """
  depth += 1
  while depth > 0 and node >= tree.end[path[depth - 1]]:
    depth -= 1
  path[depth] = node
  return depth


@jit.forceinline
def subtree_entries(tree, node):
  """Returns how many entries a table has for the subtree of a node."""
  return tree.table_begin[tree.end[node]] - tree.table_begin[node]


class Change(NamedTuple):
  """How a tree changes."""
  # [row] bool, which rows stay; dropped rows lose their subtrees
  is_kept: np.ndarray
  # [node + 1] int64, where the claims added to a node begin
  node_begin: np.ndarray
  # [row + 1] int64, where the claims begin that are added after a row that has
  # no child
  row_begin: np.ndarray
  node_claim: np.ndarray  # [added] int16, claims by node, weakest first
  row_claim: np.ndarray  # [added] int16, claims by row, weakest first


class Shape(NamedTuple):
  """A tree while it is written, before offsets in tables are known.

  All but the last three are those of `TreeArrays`.
  """
  last: np.ndarray
  role: np.ndarray
  row_begin: np.ndarray
  claim: np.ndarray
  child: np.ndarray
  parent_row: np.ndarray
  end: np.ndarray
  node_source: np.ndarray  # [node] int64, the old node, -1 for a new one
  row_source: np.ndarray  # [row] int64, the old row, -1 for a new one
  size: np.ndarray  # [2] int64, how many nodes and rows there are


@jit.kernel
def _add_row(out, claim, source):
  row = out.size[1]
  out.claim[row] = claim
  out.child[row] = -1
  out.row_source[row] = source
  out.size[1] = row + 1


@jit.kernel
def _begin_node(out, parent, parent_row, source):
  """Begins a node, whose rows follow; returns it.

  Args:
    out: the `Shape`, modified in place.
    parent: the node before, -1 for the root.
    parent_row: its row that leads to the new node, -1 for the root.
    source: the old node, -1 for a new one.
  """
  node = out.size[0]
  out.last[node] = -1 if parent < 0 else out.claim[parent_row]
  out.role[node] = 0 if parent < 0 else 1 - out.role[parent]
  out.row_begin[node] = out.size[1]
  out.parent_row[node] = parent_row
  out.node_source[node] = source
  if parent >= 0:
    out.child[parent_row] = node
  out.size[0] = node + 1
  return node


@jit.kernel
def _copy_rows(tree, change, node, out):
  """Writes the rows of an old node with the claims added to it, in order.

  Returns whether there is any claim.
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


@jit.kernel
def _add_child(tree, change, num_claims, node, row, out):
  """Writes the node after a row of a node in `out`, if there still is one.

  Returns whether there is one.
  """
  source = out.row_source[row]
  if source < 0:
    return False
  old = tree.child[source]
  if old >= 0:
    child = _begin_node(out, node, row, old)
    if _copy_rows(tree, change, old, out):
      return True
    out.size[1] = out.row_begin[child]  # no claim is left there
    out.size[0] = child
    out.child[row] = -1
    return False
  begin, end = change.row_begin[source], change.row_begin[source + 1]
  if begin == end:
    return False
  _begin_node(out, node, row, -1)
  _add_row(out, num_claims, -1)
  for i in range(begin, end):
    _add_row(out, change.row_claim[i], -1)
  return True


@jit.kernel(nogil=True)
def rebuild(tree, change, num_claims, path, out):
  """Writes the tree after a `Change` to `out`, a `Shape` that is large enough.

  `num_claims` is C, and `path` [depth] int64 scratch, as for `_parse`.
  """
  out.size[:] = 0
  node, row, depth = _begin_node(out, -1, -1, 0), 0, 0
  _copy_rows(tree, change, 0, out)
  out.row_begin[1] = out.size[1]
  path[0] = 0
  while True:
    if row < out.row_begin[node + 1]:
      if _add_child(tree, change, num_claims, node, row, out):
        node = out.child[row]
        out.row_begin[node + 1] = out.size[1]
        depth += 1
        path[depth] = node
        row = out.row_begin[node]
      else:
        row += 1
    else:
      out.end[node] = out.size[0]
      if depth == 0:
        return
      row = out.parent_row[node] + 1
      depth -= 1
      node = path[depth]


@jit.kernel(nogil=True)
def move_rows(old, new, row_source, is_growing, table):
  """Moves the entries of a table that is large enough, for `move_table`.

  Rows keep their order. If the tree only grows, all rows move to the right, the
  last one first. If it only shrinks, they move to the left, the first one
  first.
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
  """Resizes a table, and moves its entries to where a new tree has them.

  Args:
    old: the `TreeArrays` before.
    new: the `TreeArrays` after.
    row_source: [new row] int64, the old row, -1 for a new one.
    is_growing: whether the tree only grows, else it only shrinks.
    table: flat, owns its memory, modified in place; new rows become 0.
  """
  table.resize(max(old.num_entries, new.num_entries), refcheck=False)
  move_rows(old, new, row_source, is_growing, table)
  table.resize(new.num_entries, refcheck=False)


@jit.kernel
def _parse_node(counts, rows, num_claims, parent, parent_row, out):
  """Writes the next node of a file; returns it, -1 if it is no node.

  Arguments are those of `_parse` and `_begin_node`.
  """
  claims, has_child = rows
  if out.size[0] == len(counts):
    return -1
  node = _begin_node(out, parent, parent_row, -1)
  begin, end = out.size[1], out.size[1] + counts[node]
  strongest = out.last[node]
  if end - begin < (1 if parent < 0 else 2) or end > len(claims):
    return -1
  for row in range(begin, end):
    claim = claims[row]
    if parent >= 0 and row == begin:
      if claim != num_claims or has_child[row]:
        return -1
    else:
      if not strongest < claim < num_claims:
        return -1
      strongest = claim
    _add_row(out, claim, -1)
  out.row_begin[node + 1] = end
  return node


@jit.kernel
def _parse(counts, rows, num_claims, path, out):
  """Writes the tree of a file.

  Args:
    counts: [node] int16, how many rows each node has.
    rows: ([row] int16, [row] bool): the claims, C for Dudo, and whether they
      have a child.
    num_claims: C.
    path: [depth] int64 scratch.
    out: the `Shape`, modified in place.

  Returns:
    Whether it is a tree.
  """
  claims, has_child = rows
  out.size[:] = 0
  node, row, depth = _parse_node(counts, rows, num_claims, -1, -1, out), 0, 0
  path[0] = 0
  while node >= 0:
    if row < out.row_begin[node + 1]:
      if has_child[row]:
        if claims[row] == num_claims - 1:
          return False
        node = _parse_node(counts, rows, num_claims, node, row, out)
        if node >= 0:
          depth += 1
          path[depth] = node
          row = out.row_begin[node]
      else:
        row += 1
    else:
      out.end[node] = out.size[0]
      if depth == 0:
        return (out.size[0] == len(counts) and out.size[1] == len(claims) and
                claims[0] == 0)
      row = out.parent_row[node] + 1
      depth -= 1
      node = path[depth]
  return False


def _new_shape(nodes, rows):
  """Returns a `Shape` with room for so many nodes and rows."""
  if rows > MAX_ROWS:
    raise ValueError(f"max_bytes: a tree with {rows:,} rows is too large; must "
                     f"have at most {MAX_ROWS:,}")
  return Shape(
      last=np.empty(nodes, np.int32), role=np.empty(nodes, np.int8),
      row_begin=np.empty(nodes + 1, np.int64), claim=np.empty(rows, np.int16),
      child=np.empty(rows, np.int32), parent_row=np.empty(nodes, np.int32),
      end=np.empty(nodes, np.int32), node_source=np.empty(nodes, np.int64),
      row_source=np.empty(rows, np.int64), size=np.zeros(2, np.int64))


def _path(hands):
  return np.zeros(hands.order.num_claims + 2, np.int64)


def _first(array, count):
  """Returns the first elements of an array, and keeps no others in memory."""
  return array if len(array) == count else array[:count].copy()


def _tree_arrays(hands, shape):
  """Returns the `TreeArrays` of a `Shape`."""
  nodes, rows = shape.size.tolist()
  last, role = _first(shape.last, nodes), _first(shape.role, nodes)
  row_begin = _first(shape.row_begin, nodes + 1)
  width = hands.width[role, hands.hand_level[last + 1]]
  begins = np.zeros((2, nodes + 1), np.int64)
  np.cumsum(width, out=begins[1, 1:])
  width *= np.diff(row_begin)
  np.cumsum(width, out=begins[0, 1:])
  return TreeArrays(last, role, row_begin, *begins, _first(shape.claim, rows),
                    _first(shape.child, rows), _first(shape.parent_row, nodes),
                    _first(shape.end, nodes))


def tree_from_rows(hands, counts, claims, has_child):
  """Returns the `TreeArrays` of nodes in preorder, or None if it is no tree.

  Args:
    hands: the `round_hands.RoundHands`.
    counts: [node] int16, how many rows each node has.
    claims: [row] int16, claims, C for Dudo.
    has_child: [row] bool, whether a node follows the row.
  """
  shape = _new_shape(len(counts), len(claims))
  is_tree = len(counts) > 0 and _parse(
      counts, (claims, has_child), hands.order.num_claims, _path(hands), shape)
  return _tree_arrays(hands, shape) if is_tree else None


def rows_of(tree):
  """Returns {name: array}, the arguments of `tree_from_rows`."""
  return {"counts": np.diff(tree.row_begin).astype(np.int16),
          "claims": tree.claim, "has_child": tree.child >= 0}


def read_tree(archive, prefix, hands, nodes, rows, table):
  """Returns the `TreeArrays` in a file, or raises a ValueError.

  The table is not read, but what it takes in the file bounds what the tree may
  take in memory.

  Args:
    archive: the `archives.Archive`.
    prefix: with which the names of its arrays begin; `rows_of` has the ends.
    hands: the `round_hands.RoundHands`.
    nodes: how many nodes there are.
    rows: how many rows.
    table: the end of the name of its table.
  """
  if archive.num_bytes(prefix + table) < _MIN_ROW_BYTES * rows:
    raise ValueError(f"path={archive.path!r}: its {prefix}{table} is too short "
                     f"for {rows} rows")
  tree = tree_from_rows(hands, *(
      archive.read(prefix + name, (count,), (np.dtype(dtype),), *low)
      for name, count, dtype, *low in (("counts", nodes, np.int16, 1),
                                       ("claims", rows, np.int16, 0),
                                       ("has_child", rows, np.bool_))))
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
    is_kept: [row] bool, which rows stay; None for all.
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
          hands.order.num_claims, _path(hands), shape)
  new_nodes, new_rows = shape.size.tolist()
  return (_tree_arrays(hands, shape), _first(shape.node_source, new_nodes),
          _first(shape.row_source, new_rows))


def _grouped(keys, claims, count):
  """Returns ([key + 1] int64, [added] int16), claims by key, sorted."""
  order = np.lexsort((claims, keys))
  begin = np.searchsorted(keys[order], np.arange(count + 1))
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
