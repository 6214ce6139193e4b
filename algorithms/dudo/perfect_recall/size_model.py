"""How many bytes of memory a round with a growing tree takes, at most.

A round keeps its tree, its tables and the arrays of its hands. Two tasks need
more for a while, in one round at a time: learning (the cut of the tree, vectors
of hand classes for each thread), and measuring, after which the tree may change
(choices of a best response, proposals, a second tree). A file is written in
blocks. All figures are sums over the arrays that exist at the same time.

The memory that is left decides how trees grow. So it must not depend on the
number of threads: vectors are counted for the largest number of threads.
"""

from typing import NamedTuple

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels

NODE_BYTES = 47  # of the tree, `LearnTables.last_update`, and for files
ROW_BYTES = 7
VALUE_BYTES = 6  # of `best_response_kernels.Choices`
PROPOSAL_BYTES = 900  # with copies, while proposals are sorted
_CHANGE_NODE_BYTES = 96  # while one tree becomes another
_CHANGE_ROW_BYTES = 46
_CUT_NODE_BYTES = 5
_PART_INDEX_BYTES = 48
_MAX_PARTS = 4096
_MIN_PART_ROWS = 12  # of a part, on average
MAX_THREADS = 16  # of a round; more would hardly help, as memory is the limit
_SHARED_SCRATCH = 7  # proposals and the value, at the same time
_BLOCK_BYTES = 2**24  # that NumPy writes to a file at a time


class Size(NamedTuple):
  """The size of a tree."""
  nodes: int  # how many nodes there are
  rows: int  # how many rows
  values: int  # how many hand classes, over all nodes
  entries: int  # how many entries a table has


def size_of(tree):
  """Returns the `Size` of a `growing_tree.TreeArrays`."""
  return Size(tree.num_nodes, len(tree.claim), int(tree.value_begin[-1]),
              tree.num_entries)


class RoundMemory:
  """Computes how many bytes of memory a round takes.

  Args:
    hands: the `round_hands.RoundHands`.
    dtype: the type of the tables.
    max_proposals: how many proposals each traversal lists.
  """

  def __init__(self, hands, dtype, max_proposals):
    self._max_width = int(hands.width.max())
    self._itemsize = dtype.itemsize
    self._part = 3 * self._max_width * self._itemsize + _PART_INDEX_BYTES
    self._hands = sum(array.nbytes for kind in {dtype.name, "float64"}
                      for role in hands.arrays(kind).hands for array in role)
    depths = hands.order.num_claims + 2
    vector = self._max_width * self._itemsize
    self._learning = MAX_THREADS * (5 * depths + 2) * vector
    scratch = sum(array.nbytes for array
                  in best_response_kernels.new_scratch(hands))
    self._measuring = (_SHARED_SCRATCH * scratch +
                       PROPOSAL_BYTES * max_proposals)

  def max_parts(self, entries):
    """Returns into how many parts a tree with so many entries may be cut."""
    return min(entries // (_MIN_PART_ROWS * self._max_width), _MAX_PARTS)

  def permanent(self, size):
    """Returns how many bytes a tree of this size takes at all times."""
    return (self._hands + NODE_BYTES * size.nodes + ROW_BYTES * size.rows +
            2 * self._itemsize * size.entries)

  def learning(self, size):
    """Returns how many bytes more it takes to learn."""
    return (self._learning + _CUT_NODE_BYTES * size.nodes +
            self._part * self.max_parts(size.entries))

  def measuring(self, size):
    """Returns how many bytes more it takes to measure, to grow or to save."""
    return self._measuring + max(
        VALUE_BYTES * size.values,
        _CHANGE_NODE_BYTES * size.nodes + _CHANGE_ROW_BYTES * size.rows,
        min(self._itemsize * size.entries, _BLOCK_BYTES))

  def proposal(self):
    """Returns how many bytes more all this takes for one more proposal.

    A proposal adds a claim to a node or, at most, a node with Dudo and a claim.
    """
    more = Size(1, 2, self._max_width, 2 * self._max_width)
    return (self.permanent(more) - self._hands + _CUT_NODE_BYTES +
            -(-more.entries * self._part //
              (_MIN_PART_ROWS * self._max_width)) +
            max(VALUE_BYTES * more.values,
                _CHANGE_NODE_BYTES + 2 * _CHANGE_ROW_BYTES,
                self._itemsize * more.entries))
