"""Policies in shares as streams of bytes, by a range coder.

A round is two streams. The first is the tree: for each node which claims are
stored, and which of them have a child. The second walks the tree once more.
Both sides know how many shares a hand has at a node, so only the division is
coded: action by action, how much of what is left an action gets, most often
none or all. A context says what to expect: how many dice of the hand match the
claim and how many it needs, what hands with as many dice did at this node, and
how much is left.

Streams may come from strangers: no byte leads out of an array, and what does
not end where it should is refused. So is what does not fit into memory, and a
tree that is larger than its stream can tell, both before memory is taken.
"""

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall.compression import quantize
from dudo_spiel.algorithms.dudo.perfect_recall.compression import range_coder
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram

_GAPS = 32  # contexts of how many claims are skipped
_ROWS = 8  # contexts of how many claims a node has already
_TREE_CONTEXTS = 2 * _ROWS * _GAPS + 2 * _ROWS * _GAPS

_MATCHES, _NEEDS, _SEEN, _BEFORE, _LEFT, _ROWS_LEFT = 4, 6, 21, 3, 4, 3
_FLAGS = 2 * _MATCHES * _NEEDS * _SEEN * _BEFORE * _LEFT * _ROWS_LEFT
_FIRST_BITS = 4  # of a number; the later ones are hardly predictable
_BIT_CONTEXTS = 32  # by the first bits, and then by the place
_VALUES = 17 * _BIT_CONTEXTS
_SHARE_CONTEXTS = 2 * _FLAGS + _VALUES
_PART = 16  # of a hand, in statistics
_NODE_BYTES, _ROW_BYTES = 64, 17  # of memory, while a tree is read


@jit.kernel(nogil=True)
def _code_tree(coder, num_claims, counts, claims, has_child):
  """Writes or reads the tree; see `growing_tree.tree_from_rows`.

  Args:
    coder: the `range_coder.Coder`, modified in place.
    num_claims: C.
    counts: [node] int16, modified in place when it is read.
    claims: [row] int16, likewise.
    has_child: [row] bool, likewise.

  Returns:
    Whether all of it fits.
  """
  size = 0
  lasts = np.full(num_claims + 2, -1)  # last claim by depth
  # The nodes that are still to come: rows with a child, last first.
  waiting = np.zeros((num_claims + 2, num_claims + 1), np.bool_)
  depth = 0
  for node in range(len(counts)):
    if range_coder.is_beyond(coder):
      return False
    last = lasts[depth]
    begin = size
    if last >= 0:
      if size == len(claims):
        return False
      claims[size] = num_claims
      has_child[size] = False
      size += 1
    waiting[depth, :] = False
    before = last
    number = 0
    while before < num_claims - 1:
      place = min(number, _ROWS - 1) + (_ROWS if last < 0 else 0)
      is_more = 0
      if coder.is_writing:
        is_more = 1 if size - begin < counts[node] else 0
      is_more = range_coder.code_bit(
          coder, place * _GAPS + min(before - last, _GAPS - 1), is_more)
      if not is_more:
        break
      claim = before + 1
      while claim < num_claims - 1:
        is_here = 0
        if coder.is_writing:
          is_here = 1 if claims[size] == claim else 0
        context = (min(claim - before - 1, 3) * 4 + min(number, 3)) * _GAPS
        is_here = range_coder.code_bit(
            coder, (2 * _ROWS * _GAPS + min(context, (2 * _ROWS - 1) * _GAPS) +
                    min(claim - last - 1, _GAPS - 1)), is_here)
        if is_here:
          break
        claim += 1
      if size == len(claims):
        return False
      claims[size] = claim
      is_parent = 0
      if claim < num_claims - 1:
        if coder.is_writing:
          is_parent = 1 if has_child[size] else 0
        is_parent = range_coder.code_bit(
            coder, _TREE_CONTEXTS + min(depth, 7) * _GAPS +
            min(claim - last - 1, _GAPS - 1), is_parent)
      has_child[size] = is_parent == 1
      waiting[depth, claim] = is_parent == 1
      size += 1
      number += 1
      before = claim
    counts[node] = size - begin
    # On to the next node in preorder.
    while depth >= 0:
      claim = lasts[depth] + 1
      while claim < num_claims and not waiting[depth, claim]:
        claim += 1
      if claim < num_claims:
        waiting[depth, claim] = False
        depth += 1
        lasts[depth] = claim
        break
      depth -= 1
    if depth < 0:
      return node == len(counts) - 1 and size == len(claims)
  return False


@jit.forceinline
def _least(x, most):
  return x if x < most else most


@jit.forceinline
def _seen(taken, seen, all_taken, all_seen):
  """Returns what hands so far say about a row, as a context."""
  if all_seen == 0:
    return 20
  trust = 3 if seen > 3 else 2 if seen > 1 else seen
  if seen == 0:
    taken, seen = all_taken, all_seen
  if taken == 0:
    return trust * 5
  if taken == _PART * seen:
    return trust * 5 + 4
  return trust * 5 + (1 if 4 * taken < _PART * seen else
                      2 if 4 * taken < 3 * _PART * seen else 3)


@jit.forceinline
def _code_part(coder, context, left, part):
  """Writes or reads what a row gets of what is left.

  Args:
    coder: the `range_coder.Coder`, modified in place.
    context: of flags.
    left: how much is left, more than 0.
    part: what the row gets; anything if it is read.

  Returns:
    What the row gets, 0 to `left`.
  """
  if not range_coder.code_bit(coder, 2 * context, 1 if part > 0 else 0):
    return 0
  if left == 1:
    return 1
  if range_coder.code_bit(coder, 2 * context + 1, 1 if part == left else 0):
    return left
  bits = 0
  while (left - 2) >> bits:
    bits += 1
  number, prefix = part - 1, 1
  for i in range(bits - 1, -1, -1):
    step = bits - 1 - i
    place = prefix if step < _FIRST_BITS else (1 << _FIRST_BITS) + step
    bit = range_coder.code_bit(
        coder, 2 * _FLAGS + bits * _BIT_CONTEXTS + place, number >> i & 1)
    prefix = 2 * prefix + bit
  return _least(prefix - (1 << bits), left - 2) + 1


@jit.kernel
def _code_node(coder, arrays, tree, node, depth, weights, stats):
  """Writes or reads how the shares of all hands are divided at a node.

  Args:
    coder: the `range_coder.Coder`, modified in place.
    arrays: the `quantize.ShareArrays`.
    tree: the `growing_tree.TreeArrays`.
    node: the node.
    depth: of the node.
    weights: [number] uint16, modified in place when it is read.
    stats: [row, count + 1, 2] int64 scratch: how much hands with a count took
      of what was left, and how many there were; the last column is of all.
  """
  role = tree.role[node]
  counts = arrays.counts[role]
  level = arrays.game.level[tree.last[node] + 1]
  begin, end = tree.row_begin[node], tree.row_begin[node + 1]
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  rows, all_counts = end - begin, stats.shape[1] - 1
  stats[:rows] = 0
  before = arrays.carry  # [row, 0] is what the hand before took
  before[:rows, 0] = 0.0
  for h in range(width):
    n = arrays.shares[depth, role, h]
    if n == 0:
      continue
    left = min(n, quantize.LEVELS)
    for row in range(rows):
      i = tree.table_begin[node] + row * width + h
      if left == 0 or row == rows - 1:
        if coder.is_writing:
          if weights[i] != left:
            return False
        else:
          weights[i] = left
        left = 0
        continue
      claim = tree.claim[begin + row]
      is_dudo = claim == arrays.game.num_claims
      target = tree.last[node] if is_dudo else claim
      j = counts[level, arrays.game.rank[target], h]
      context = 1 if is_dudo else 0
      context = context * _MATCHES + min(j, _MATCHES - 1)
      context = context * _NEEDS + min(max(arrays.quantity[target] - j, 0),
                                       _NEEDS - 1)
      context = context * _SEEN + _seen(
          stats[row, j, 0], stats[row, j, 1], stats[row, all_counts, 0],
          stats[row, all_counts, 1])
      context = context * _BEFORE + int(before[row, 0])
      context = context * _LEFT + (3 if left > 15 else 2 if left > 3 else
                                   1 if left > 1 else 0)
      context = context * _ROWS_LEFT + min(rows - row, _ROWS_LEFT + 1) - 2
      part = _code_part(coder, context, left, np.int64(weights[i]))
      for k in (j, all_counts):
        stats[row, k, 0] += _PART * part // left
        stats[row, k, 1] += 1
      before[row, 0] = 0.0 if part == 0 else 2.0 if part == left else 1.0
      if not coder.is_writing:
        weights[i] = part
      left -= part
  return True


@jit.kernel(nogil=True)
def _code_shares(coder, arrays, tree, weights, stats):
  """Writes or reads weights; see `quantize.in_shares`.

  Returns:
    Whether the weights are a division of the shares.
  """
  coder, arrays = jit.borrowed(coder), jit.borrowed(arrays)
  tree = jit.borrowed(tree)
  path = arrays.path
  depth = 0
  path[0, quantize.NODE] = 0
  path[0, quantize.ROW] = tree.row_begin[0]
  if not _code_node(coder, arrays, tree, 0, 0, weights, stats):
    return False
  while depth >= 0:
    if range_coder.is_beyond(coder) or arrays.stop[0]:
      return False
    node = path[depth, quantize.NODE]
    row = path[depth, quantize.ROW]
    if row == tree.row_begin[node + 1]:
      depth -= 1
      continue
    path[depth, quantize.ROW] = row + 1
    child = tree.child[row]
    if child < 0:
      continue
    if quantize.pass_on(arrays, tree, node, row, weights, depth):
      depth += 1
      path[depth, quantize.NODE] = child
      path[depth, quantize.ROW] = tree.row_begin[child]
      if not _code_node(coder, arrays, tree, child, depth, weights, stats):
        return False
  return True


def _stats(hands):
  return np.zeros((hands.order.num_claims + 1, max(hands.dice) + 2, 2),
                  np.int64)


def _encode(num_contexts, max_bytes, write):
  """Returns a stream, [byte] uint8, None if it cannot be written.

  Args:
    num_contexts: how many contexts it has.
    max_bytes: how long it is at most, about.
    write: function of a `range_coder.Coder` that returns whether all is well.
  """
  while True:
    coder = range_coder.writer(num_contexts, max_bytes)
    if not write(coder):
      return None
    stream = range_coder.written(coder)
    if stream is not None:
      return stream
    max_bytes *= 2


def encode(hands, tree, weights, num_shares, stop=None):
  """Returns the streams of a round, two [byte] uint8.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    weights: [number] uint16, by `quantize.in_shares`.
    num_shares: with which they were made.
    stop: see `quantize.share_arrays`; it leads to an error here.
  """
  rows = growing_tree.rows_of(tree)
  streams = (
      _encode(_TREE_CONTEXTS + 8 * _GAPS, 2**10 + 16 * len(tree.claim),
              lambda coder: _code_tree(coder, hands.order.num_claims,
                                       *rows.values())),
      _encode(_SHARE_CONTEXTS, 2**10 + 4 * len(weights),
              lambda coder: _code_shares(
                  coder, quantize.share_arrays(hands, num_shares, stop),
                  tree, weights, _stats(hands))))
  if any(stream is None for stream in streams):
    raise ValueError("weights: must divide the shares of each hand")
  return streams


def decode(hands, nodes, rows, num_shares, streams, path=None):
  """Returns what `encode` was given, or raises a ValueError.

  Args:
    hands: the `round_hands.RoundHands`.
    nodes: how many nodes there are.
    rows: how many rows.
    num_shares: with which they were made.
    streams: two [byte] uint8.
    path: the file that all this comes from, for messages.

  Returns:
    (`growing_tree.TreeArrays`, [number] uint16).
  """
  name = "{}v{}".format(*hands.dice)

  def check_memory(needed):
    ram.check("path", repr(path), needed, f"its round {name}",
              "a machine that has more")

  # Each node has a bit at least, and so has each of its claims.
  is_right = max(nodes, rows - nodes) <= (
      range_coder.MAX_BITS_A_BYTE * len(streams[0]))
  if is_right:
    check_memory(_NODE_BYTES * nodes + _ROW_BYTES * rows)
    parts = np.zeros(nodes, np.int16), np.zeros(rows, np.int16), np.zeros(
        rows, np.bool_)
    coder = range_coder.reader(_TREE_CONTEXTS + 8 * _GAPS, streams[0])
    is_right = _code_tree(coder, hands.order.num_claims, *parts) and (
        range_coder.is_at_end(coder))
  tree = growing_tree.tree_from_rows(hands, *parts) if is_right else None
  if tree is not None:
    check_memory(2 * tree.num_numbers)
    weights = np.zeros(tree.num_numbers, np.uint16)
    coder = range_coder.reader(_SHARE_CONTEXTS, streams[1])
    _code_shares(coder, quantize.share_arrays(hands, num_shares), tree,
                 weights, _stats(hands))
    if range_coder.is_at_end(coder):
      return tree, weights
  raise ValueError(f"path={path!r}: its streams of {name} make no sense")
