"""How many bytes of memory a round with a growing tree takes, at most.

A round keeps its tree, its tables and the arrays of its hands. Two tasks need
more for a while, in one round at a time: learning (vectors of hands for each of
the two games), and measuring, after which the tree may change (choices of best
responses, proposals, a second tree). A file is written in blocks. All figures
are sums over the arrays that exist at the same time.

The memory that is left decides how trees grow. So it must not depend on the
number of threads: what tasks need that may run side by side is added up.
"""

from typing import NamedTuple

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import guarded_kernels

# Of the tree, the two iterations of `LearnTables`, and for files; the claims
# that are not stored come on top.
_NODE_BYTES = 55
_ROW_BYTES = 7
PROPOSAL_BYTES = 900  # with copies, while proposals are sorted
_CHOICES = 3  # the `best_response_kernels.Choices` at the same time
_CHOICE_BYTES = 6
_CHANGE_NODE_BYTES = 120  # while one tree becomes another
_CHANGE_ROW_BYTES = 46
_CHANGE_VALUE_BYTES = 22
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

  Attributes:
    learning: how many bytes more than `permanent` it takes to learn.
  """

  def __init__(self, hands, dtype, max_proposals):
    self._max_width = int(hands.width.max())
    self._itemsize = dtype.itemsize
    self._hands = sum(array.nbytes for kind in {dtype.name, "float64"}
                      for role in hands.arrays(kind).hands for array in role)
    self._node = _NODE_BYTES + 2 * hands.order.num_sides * (max(hands.dice) + 1)
    self.learning = 2 * _num_bytes(guarded_kernels.new_scratch(hands, dtype))
    self._measuring = (
        _SHARED_SCRATCH * _num_bytes(best_response_kernels.new_scratch(hands)) +
        PROPOSAL_BYTES * max_proposals)

  def permanent(self, size):
    """Returns how many bytes a tree of this size takes at all times."""
    return (self._hands + self._node * size.nodes + _ROW_BYTES * size.rows +
            (self._itemsize + 1) * size.values +
            3 * self._itemsize * size.entries)

  def measuring(self, size):
    """Returns how many bytes more it takes to measure, to grow or to save."""
    return self._measuring + max(
        _CHOICES * _CHOICE_BYTES * size.values,
        (_CHANGE_NODE_BYTES + self._node) * size.nodes +
        _CHANGE_ROW_BYTES * size.rows + _CHANGE_VALUE_BYTES * size.values,
        min(self._itemsize * size.entries, _BLOCK_BYTES))

  def proposal(self):
    """Returns how many bytes more all this takes for one more proposal.

    A proposal adds a claim to a node or, at most, a node with Dudo and a claim.
    """
    more = Size(1, 2, self._max_width, 2 * self._max_width)
    return (self.permanent(more) - self._hands + self.measuring(more) -
            self._measuring)


def _num_bytes(scratch):
  """Returns how many bytes a named tuple of arrays takes."""
  return sum(_num_bytes(array) if isinstance(array, tuple) else array.nbytes
             for array in scratch)
