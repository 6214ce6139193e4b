"""How much memory a round with a growing tree takes, at most.

A round keeps its tree, its tables and what it knows of hands. Two kinds of work
take more for a while, in one round at a time: learning (the cut of the tree,
vectors of hands for each thread), and measuring, after which the tree may
change (choices of a best response, proposals, a second tree). A file is written
in blocks. Numbers here are sums over the arrays that live at the same time.

How much memory is left decides how trees grow. So it must not depend on the
number of threads: vectors are counted for as many threads as there may be.
"""

from typing import NamedTuple

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels

NODE_BYTES = 39  # of the tree, when a node was last seen, and for files
ROW_BYTES = 7
VALUE_BYTES = 6  # of `best_response_kernels.Choices`
PROPOSAL_BYTES = 900  # with copies, while proposals are sorted
_CHANGE_NODE_BYTES = 80  # while one tree becomes another
_CHANGE_ROW_BYTES = 46
_CUT_NODE_BYTES = 13
_PART_INDEX_BYTES = 48
_MAX_PARTS = 4096
_PART_SHARE = 12  # a part has at least so many rows, on average
MAX_THREADS = 16  # of a round; more would hardly help, as memory is the limit
_SHARED_SCRATCH = 7  # proposals and the value, at the same time
_BLOCK_BYTES = 2**24  # that NumPy writes to a file at a time


class Size(NamedTuple):
  """The size of a tree.

  Attributes:
    nodes: how many nodes there are.
    rows: how many rows.
    values: how many classes, over all nodes.
    numbers: how many numbers a table has.
  """
  nodes: int
  rows: int
  values: int
  numbers: int


def size_of(tree):
  """Returns the `Size` of a `growing_tree.TreeArrays`."""
  return Size(tree.num_nodes, len(tree.claim), int(tree.value_begin[-1]),
              tree.num_numbers)


class RoundMemory:
  """Knows how much memory a round takes.

  Args:
    hands: the `round_hands.RoundHands`.
    dtype: the type of the tables.
    max_proposals: how many proposals each walk lists.
  """

  def __init__(self, hands, dtype, max_proposals):
    self._most = int(hands.width.max())
    self._itemsize = dtype.itemsize
    self._hands = sum(array.nbytes for kind in {dtype.name, "float64"}
                      for role in hands.arrays(kind).hands for array in role)
    depths = hands.order.num_claims + 2
    line = self._most * self._itemsize
    self._learning = MAX_THREADS * (5 * depths + 2) * line
    scratch = sum(array.nbytes for array in best_response_kernels.new_scratch(hands))
    self._measuring = (_SHARED_SCRATCH * scratch +
                       PROPOSAL_BYTES * max_proposals)

  def max_parts(self, numbers):
    """Returns into how many parts a tree with so many numbers may be cut."""
    return min(numbers // (_PART_SHARE * self._most), _MAX_PARTS)

  def kept(self, size):
    """Returns how many bytes a tree of this size takes at all times."""
    return (self._hands + NODE_BYTES * size.nodes + ROW_BYTES * size.rows +
            2 * self._itemsize * size.numbers)

  def learning(self, size):
    """Returns how many bytes more it takes to learn."""
    part = 3 * self._most * self._itemsize + _PART_INDEX_BYTES
    return (self._learning + _CUT_NODE_BYTES * size.nodes +
            part * self.max_parts(size.numbers))

  def measuring(self, size):
    """Returns how many bytes more it takes to measure, to grow or to save."""
    return self._measuring + max(
        VALUE_BYTES * size.values,
        _CHANGE_NODE_BYTES * size.nodes + _CHANGE_ROW_BYTES * size.rows,
        min(self._itemsize * size.numbers, _BLOCK_BYTES))

  def proposal(self):
    """Returns how many bytes more all this takes for one more proposal.

    A proposal adds a claim to a node or, at most, a node with Dudo and a claim.
    """
    more = Size(1, 2, self._most, 2 * self._most)
    part = 3 * self._most * self._itemsize + _PART_INDEX_BYTES
    return (self.kept(more) - self._hands + _CUT_NODE_BYTES +
            -(-more.numbers * part // (_PART_SHARE * self._most)) +
            max(VALUE_BYTES * more.values,
                _CHANGE_NODE_BYTES + 2 * _CHANGE_ROW_BYTES,
                self._itemsize * more.numbers))
