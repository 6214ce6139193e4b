"""Quantised policies as streams of bytes, by a range coder.

A round is two streams. The first is the tree: for each node which claims are
stored, and which of them have a child. The second traverses the tree once more.
Both sides know how many quanta a hand has at a node, so only the division is
coded: action by action, how much of the remainder an action gets, most often
none or all. A context predicts it from how many dice of the hand match the
claim and how many it needs, from what hands with as many dice did at this node,
and from the remainder.

Streams may come from strangers: no byte leads out of an array, and what does
not end where it should is refused. So is what does not fit into memory, and a
tree that is much larger than its streams, both before memory is allocated.
"""

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall.compression import quantize
from dudo_spiel.algorithms.dudo.perfect_recall.compression import range_coder
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import ram

_GAPS = 32  # contexts of how many claims are skipped
_ROWS = 8  # contexts of how many claims a node has already
_MORE_CONTEXTS = 2 * _ROWS * _GAPS  # whether a node has one more claim
_CLAIM_CONTEXTS = 2 * _ROWS * _GAPS  # whether it is this one
_DEPTHS = 8  # contexts of whether a claim has a child, by depth
_TREE_CONTEXTS = _MORE_CONTEXTS + _CLAIM_CONTEXTS + _DEPTHS * _GAPS

_MATCHES, _NEEDS, _STATISTICS, _BEFORE, _REMAINDERS, _ROWS_LEFT = (
    4, 6, 21, 3, 4, 3)
_FLAGS = (2 * _MATCHES * _NEEDS * _STATISTICS * _BEFORE * _REMAINDERS *
          _ROWS_LEFT)
_FIRST_BITS = 4  # of a number; the later ones are hardly predictable
_BIT_CONTEXTS = 32  # by the first bits, and then by the position
_VALUES = 17 * _BIT_CONTEXTS
_QUANTUM_CONTEXTS = 2 * _FLAGS + _VALUES
_ALL = 16  # a hand that gave all of its remainder to a row, in statistics
_NODE_BYTES, _ROW_BYTES = 64, 17  # of memory, while a tree is read
# How many rows a tree may have: so many for a byte of both streams (policies of
# training have at most 2.5), and so many more.
_BYTE_ROWS, _FREE_ROWS = 32, 2**14


# Functions that write or read are given what to write, or anything, and return
# what they have written or read. `coder` is the `range_coder.Coder`, modified
# in place.


@jit.forceinline
def _code_claim(coder, num_claims, last, before, number, claim):
  """Writes or reads the next claim of a node.

  Args:
    coder: as everywhere.
    num_claims: C.
    last: the last claim of the node.
    before: the claim of the row before, `last` if it is the first.
    number: how many claims the node has already.
    claim: the claim.
  """
  candidate = before + 1
  while candidate < num_claims - 1:
    context = (min(candidate - before - 1, 3) * 4 + min(number, 3)) * _GAPS
    if range_coder.code_bit(
        coder, (_MORE_CONTEXTS + min(context, (2 * _ROWS - 1) * _GAPS) +
                min(candidate - last - 1, _GAPS - 1)),
        1 if claim == candidate else 0):
      break
    candidate += 1
  return candidate


@jit.kernel
def _code_rows(coder, num_claims, position, count, claims, has_child):
  """Writes or reads the rows of a node, as `_code_tree` does.

  `position` is (last claim, depth, first row) of the node, and `count` how many
  rows it has. Returns the first row after it, -1 if they do not fit.
  """
  last, depth, begin = position
  row, before, number = begin, last, 0
  if last >= 0:
    if row == len(claims):
      return -1
    claims[row] = num_claims
    has_child[row] = False
    row += 1
  while before < num_claims - 1:
    context = min(number, _ROWS - 1) + (_ROWS if last < 0 else 0)
    if not range_coder.code_bit(
        coder, context * _GAPS + min(before - last, _GAPS - 1),
        1 if row - begin < count else 0):
      break
    if row == len(claims):
      return -1
    claim = _code_claim(coder, num_claims, last, before, number, claims[row])
    is_parent = 0
    if claim < num_claims - 1:
      is_parent = range_coder.code_bit(
          coder, (_MORE_CONTEXTS + _CLAIM_CONTEXTS +
                  min(depth, _DEPTHS - 1) * _GAPS +
                  min(claim - last - 1, _GAPS - 1)),
          1 if has_child[row] else 0)
    claims[row] = claim
    has_child[row] = is_parent == 1
    row += 1
    number += 1
    before = claim
  return row


@jit.kernel(nogil=True)
def _code_tree(coder, num_claims, counts, claims, has_child):
  """Writes the tree, or reads it, which modifies the three arrays in place.

  Args:
    coder: as everywhere.
    num_claims: C.
    counts: [node] int16, how many rows each node has.
    claims: [row] int16, the claims, C for Dudo.
    has_child: [row] bool, whether a node follows the row.

  Returns:
    Whether all of it fits.
  """
  # By depth: the next row and the first one after the node.
  rows = np.zeros((num_claims + 2, 2), np.int64)
  size, depth, last = 0, 0, -1
  for node in range(len(counts)):
    if range_coder.is_beyond(coder):
      return False
    end = _code_rows(coder, num_claims, (last, depth, size), counts[node],
                     claims, has_child)
    if end < 0:
      return False
    counts[node] = end - size
    rows[depth, 0] = size
    rows[depth, 1] = end
    size = end
    # On to the next node in preorder.
    while depth >= 0 and (rows[depth, 0] == rows[depth, 1] or
                          not has_child[rows[depth, 0]]):
      if rows[depth, 0] == rows[depth, 1]:
        depth -= 1
      else:
        rows[depth, 0] += 1
    if depth < 0:
      return node == len(counts) - 1 and size == len(claims)
    last = claims[rows[depth, 0]]
    rows[depth, 0] += 1
    depth += 1
  return False


@jit.forceinline
def _statistics_context(given, count, all_given, all_count):
  """Returns a context by what earlier hands gave to a row.

  Args:
    given: how much hands with as many matching dice gave to it, in units of
      1 / `_ALL` of their remainder.
    count: how many such hands there were.
    all_given: how much all hands gave to it, in the same units.
    all_count: how many hands there were.
  """
  if all_count == 0:
    return 20
  trust = 3 if count > 3 else 2 if count > 1 else count
  if count == 0:
    given, count = all_given, all_count
  if given == 0:
    return trust * 5
  if given == _ALL * count:
    return trust * 5 + 4
  return trust * 5 + (1 if 4 * given < _ALL * count else
                      2 if 4 * given < 3 * _ALL * count else 3)


@jit.forceinline
def _code_part(coder, context, remainder, part):
  """Writes or reads what a row gets of the remainder, which is not 0."""
  if not range_coder.code_bit(coder, 2 * context, 1 if part > 0 else 0):
    return 0
  if remainder == 1:
    return 1
  if range_coder.code_bit(coder, 2 * context + 1,
                          1 if part == remainder else 0):
    return remainder
  bits = 0
  while (remainder - 2) >> bits:
    bits += 1
  number, prefix = part - 1, 1
  for i in range(bits - 1, -1, -1):
    step = bits - 1 - i
    position = prefix if step < _FIRST_BITS else (1 << _FIRST_BITS) + step
    bit = range_coder.code_bit(
        coder, 2 * _FLAGS + bits * _BIT_CONTEXTS + position, number >> i & 1)
    prefix = 2 * prefix + bit
  return min(prefix - (1 << bits), remainder - 2) + 1


@jit.forceinline
def _hand_context(is_dudo, matches, needs):
  """Returns the part of a context that is known before the statistics.

  `matches` is how many dice of the hand match the rank that decides the row,
  and `needs` how many more its claim needs.
  """
  return (((1 if is_dudo else 0) * _MATCHES + min(matches, _MATCHES - 1)) *
          _NEEDS + min(max(needs, 0), _NEEDS - 1))


@jit.forceinline
def _remainder_context(remainder, rows_left):
  """Returns the part of a context that comes after the statistics.

  `rows_left` is how many rows there are from this one on, at least 2.
  """
  size = (3 if remainder > 15 else 2 if remainder > 3 else
          1 if remainder > 1 else 0)
  return size * _ROWS_LEFT + min(rows_left, _ROWS_LEFT + 1) - 2


@jit.kernel
def _code_node(coder, arrays, tree, node, depth, weights, stats):
  """Writes or reads how the quanta of all hands are divided at a node.

  Arguments and result are those of `_code_quanta`, with the depth of the node.
  """
  role = tree.role[node]
  matches, rank = arrays.game.hands[role].matches, arrays.game.rank
  num_claims = arrays.game.num_claims
  begin = tree.row_begin[node]
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  rows, everyone = tree.row_begin[node + 1] - begin, stats.shape[1] - 1
  stats[:rows] = 0
  previous = arrays.carry  # [row, 0] is what the hand before gave
  previous[:rows, 0] = 0.0
  for h in range(width):
    remainder = min(arrays.quanta[depth, role, h], quantize.MAX_WEIGHT)
    if remainder == 0:
      continue
    for row in range(rows):
      i = tree.table_begin[node] + row * width + h
      if remainder == 0 or row == rows - 1:
        if coder.is_writing:
          if weights[i] != remainder:
            return False
        else:
          weights[i] = remainder
        remainder = 0
        continue
      is_dudo = tree.claim[begin + row] == num_claims
      claim = tree.last[node] if is_dudo else tree.claim[begin + row]
      j = np.int64(matches[rank[claim], h])
      context = _hand_context(is_dudo, j, arrays.quantity[claim] - j)
      context = context * _STATISTICS + _statistics_context(
          stats[row, j, 0], stats[row, j, 1], stats[row, everyone, 0],
          stats[row, everyone, 1])
      context = context * _BEFORE + int(previous[row, 0])
      context = (context * (_REMAINDERS * _ROWS_LEFT) +
                 _remainder_context(remainder, rows - row))
      part = _code_part(coder, context, remainder, np.int64(weights[i]))
      for k in (j, everyone):
        stats[row, k, 0] += _ALL * part // remainder
        stats[row, k, 1] += 1
      previous[row, 0] = (0.0 if part == 0 else 2.0 if part == remainder else
                          1.0)
      if not coder.is_writing:
        weights[i] = part
      remainder -= part
  return True


@jit.kernel(nogil=True)
def _code_quanta(coder, arrays, tree, weights, stats):
  """Writes or reads the weights of all nodes.

  Args:
    coder: as everywhere.
    arrays: the `quantize.QuantumArrays`.
    tree: the `growing_tree.TreeArrays`.
    weights: [entry] uint16, modified in place when it is read.
    stats: [row, count + 1, 2] int64 scratch: how much hands with a count gave
      of their remainder, and how many there were; the last count is for all.

  Returns:
    Whether the weights are a division of the quanta.
  """
  coder, arrays = jit.borrowed(coder), jit.borrowed(arrays)
  tree = jit.borrowed(tree)
  node, depth = 0, -1
  while node < len(tree.last):
    if range_coder.is_beyond(coder) or arrays.stop[0]:
      return False
    depth = growing_tree.next_depth(tree, node, arrays.path, depth)
    if not quantize.pass_on(arrays, tree, node, weights, depth):
      node = tree.end[node]
      continue
    if not _code_node(coder, arrays, tree, node, depth, weights, stats):
      return False
    node += 1
  return True


def _code_table(coder, hands, tree, weights, num_quanta, stop=None):
  """Writes or reads weights; returns whether they divide the quanta."""
  stats = np.zeros((hands.order.num_claims + 1, max(hands.dice) + 2, 2),
                   np.int64)
  return _code_quanta(coder, quantize.quantum_arrays(hands, num_quanta, stop),
                      tree, weights, stats)


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


def encode(hands, tree, weights, num_quanta, stop=None):
  """Returns the streams of a round, two [byte] uint8.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    weights: [entry] uint16, by `quantize.quantized`.
    num_quanta: as for that.
    stop: [1] bool, soon after it is set this raises a ValueError; None for
      one that nobody sets.
  """
  rows = growing_tree.rows_of(tree)
  streams = (
      _encode(_TREE_CONTEXTS, 2**10 + 16 * len(tree.claim),
              lambda coder: _code_tree(coder, hands.order.num_claims,
                                       *rows.values())),
      _encode(_QUANTUM_CONTEXTS, 2**10 + 4 * len(weights),
              lambda coder: _code_table(coder, hands, tree, weights,
                                        num_quanta, stop)))
  if any(stream is None for stream in streams):
    raise ValueError("weights: must divide the quanta of each hand")
  return streams


def decode(hands, nodes, rows, num_quanta, streams, path=None):
  """Returns what `encode` was given, or raises a ValueError.

  Args:
    hands: the `round_hands.RoundHands`.
    nodes: how many nodes there are.
    rows: how many rows.
    num_quanta: as `encode` was given.
    streams: two [byte] uint8.
    path: the file that all this comes from, for messages.

  Returns:
    (`growing_tree.TreeArrays`, [entry] uint16).
  """
  name = "{}v{}".format(*hands.dice)

  def check_memory(needed):
    ram.check("path", repr(path), needed, f"its round {name}",
              "a machine that has more")

  is_right = nodes <= rows <= _FREE_ROWS + _BYTE_ROWS * sum(map(len, streams))
  if is_right:
    check_memory(_NODE_BYTES * nodes + _ROW_BYTES * rows)
    parts = np.zeros(nodes, np.int16), np.zeros(rows, np.int16), np.zeros(
        rows, np.bool_)
    coder = range_coder.reader(_TREE_CONTEXTS, streams[0])
    is_right = _code_tree(coder, hands.order.num_claims, *parts) and (
        range_coder.is_at_end(coder))
  tree = growing_tree.tree_from_rows(hands, *parts) if is_right else None
  if tree is not None:
    check_memory(2 * tree.num_entries)
    weights = np.zeros(tree.num_entries, np.uint16)
    coder = range_coder.reader(_QUANTUM_CONTEXTS, streams[1])
    _code_table(coder, hands, tree, weights, num_quanta)
    if range_coder.is_at_end(coder):
      return tree, weights
  raise ValueError(f"path={path!r}: its streams of {name} make no sense")
