"""Quantised policies with perfect recall.

Each hand of a round gets a number of quanta, in proportion to its chance. At
each of its nodes a player divides the quanta of a hand among the actions, and
what an action gets moves on to the nodes after it. So quanta are the own reach
probability in whole numbers. Where the reach is large the division is fine,
where it is small it is coarse, and where a hand has no quanta nothing is stored
for it. The error of a probability costs in proportion to the own reach, so
quanta are where they count.

Rounding errors are diffused (error diffusion): the remainder of each hand is
carried to the next hand with the same number of matching dice, so together they
make a claim about as often as they should.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

MAX_WEIGHT = 2**16 - 1  # the weights of a hand at a node add up to at most this


class QuantumArrays(NamedTuple):
  """The arrays that kernels need besides the tree and its table."""
  game: object  # the `round_hands.RecallRound`, float64
  quantity: np.ndarray  # [claim] int64, how many dice a claim is about
  # [depth, role, hand] int64; those at depth 0 are what hands begin with, the
  # others are overwritten
  quanta: np.ndarray
  # [depth] int64 scratch, the nodes from the root to the present one
  path: np.ndarray
  carry: np.ndarray  # [row, count] float64 scratch
  stop: np.ndarray  # [1] bool, kernels return soon after it is set


def quantum_arrays(hands, num_quanta, stop=None):
  """Returns the `QuantumArrays` of a round.

  Args:
    hands: the `round_hands.RoundHands`.
    num_quanta: how many quanta all hands of a role have together, about.
    stop: [1] bool, kernels return soon after it is set; None for one that
      nobody sets.
  """
  game = hands.arrays(np.float64)
  depths, max_width = hands.order.num_claims + 2, int(hands.width.max())
  quanta = np.zeros((depths, 2, max_width), np.int64)
  for role in range(2):
    chance = game.hands[role].chance
    quanta[0, role, :len(chance)] = np.ceil(num_quanta * chance)
  return QuantumArrays(
      game, hands.order.quantities.astype(np.int64), quanta,
      np.zeros(depths, np.int64),
      np.zeros((hands.order.num_claims + 1, max(hands.dice) + 1)),
      interrupts.new_flag() if stop is None else stop)


@jit.forceinline
def rank_of(arrays, tree, node, row):
  """Returns the rank that decides a row: of its claim, or of the last one."""
  claim = tree.claim[row]
  return arrays.game.rank[tree.last[node] if claim == arrays.game.num_claims
                          else claim]


@jit.kernel
def pass_on(arrays, tree, node, weights, depth):
  """Writes the quanta that reach a node; returns whether there are any.

  Args:
    arrays: the `QuantumArrays`; its quanta at the depth are modified in place.
    tree: the `growing_tree.TreeArrays`.
    node: the node, to which arrays.path leads.
    weights: [entry] uint16, those of the node's ancestors are known.
    depth: of the node.
  """
  if depth == 0:
    return True
  quanta = arrays.quanta
  parent, row = arrays.path[depth - 1], tree.parent_row[node]
  width = tree.value_begin[parent + 1] - tree.value_begin[parent]
  first = tree.table_begin[parent] + (row - tree.row_begin[parent]) * width
  is_any = False
  for role in range(2):
    is_own = role == tree.role[parent]
    for h in range(quanta.shape[2]):
      n = quanta[depth - 1, role, h]
      if n > 0 and is_own:
        n = n * weights[first + h] // min(n, MAX_WEIGHT)
      is_any = is_any or n > 0
      quanta[depth, role, h] = n
  return is_any


@jit.forceinline
def _ideal_weight(arrays, tree, node, table, i, hand):
  """Returns the weight of entry i before it is rounded.

  `hand` is (hand, its quanta, the sum of its weights, the sum of its positive
  entries); the other arguments are those of `divide`.

  Returns:
    (float, int, int): the weight, the row from 0 and its matching dice.
  """
  h, n, size, total = hand
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  number = (i - tree.table_begin[node]) // width
  rank = rank_of(arrays, tree, node, tree.row_begin[node] + number)
  j = np.int64(arrays.game.hands[tree.role[node]].matches[rank, h])
  return size * (table[i] / total + arrays.carry[number, j] / n), number, j


@jit.forceinline
def _divide_hand(arrays, tree, table, node, weights, h, n):
  """Divides the n > 0 quanta of hand h at a node, as `divide` does."""
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  entries = range(tree.table_begin[node] + h, tree.table_begin[node + 1], width)
  total = 0.0
  for i in entries:
    total += max(table[i], 0.0)
  size = min(n, MAX_WEIGHT)
  if total <= hand_vectors.MIN_SUM:
    weights[tree.table_begin[node] + h] = size
    return
  hand = h, n, size, total
  remainder = size
  for i in entries:
    if table[i] > 0.0:
      ideal, _, _ = _ideal_weight(arrays, tree, node, table, i, hand)
      w = min(max(int(np.floor(ideal)), 0), remainder)
      weights[i] = w
      remainder -= w
  while remainder > 0:  # one more for the entry that lacks most
    best, max_lack = tree.table_begin[node] + h, -np.inf
    for i in entries:
      if table[i] > 0.0:
        ideal, _, _ = _ideal_weight(arrays, tree, node, table, i, hand)
        if ideal - weights[i] > max_lack:
          best, max_lack = i, ideal - weights[i]
    weights[best] += 1
    remainder -= 1
  for i in entries:
    if table[i] > 0.0:
      _, number, j = _ideal_weight(arrays, tree, node, table, i, hand)
      arrays.carry[number, j] += n * (table[i] / total - weights[i] / size)


@jit.kernel(nogil=True)
def divide(arrays, tree, table, weights):
  """Divides the quanta of both players at all nodes.

  Args:
    arrays: the `QuantumArrays`.
    tree: the `growing_tree.TreeArrays`.
    table: [entry] float, to which the policy is proportional.
    weights: [entry] uint16, 0, modified in place: those of a hand at a node
      add up to its quanta, or to `MAX_WEIGHT` if it has more.
  """
  arrays, tree = jit.borrowed(arrays), jit.borrowed(tree)
  node, depth = 0, -1
  while node < len(tree.last) and not arrays.stop[0]:
    depth = growing_tree.next_depth(tree, node, arrays.path, depth)
    if not pass_on(arrays, tree, node, weights, depth):
      node = tree.end[node]
      continue
    arrays.carry[:tree.row_begin[node + 1] - tree.row_begin[node]] = 0.0
    for h in range(tree.value_begin[node + 1] - tree.value_begin[node]):
      n = arrays.quanta[depth, tree.role[node], h]
      if n > 0:
        _divide_hand(arrays, tree, table, node, weights, h, n)
    node += 1


@jit.kernel(nogil=True)
def find_needed(tree, weights, is_kept, has_claims):
  """Finds the rows that a quantised policy needs.

  Args:
    tree: the `growing_tree.TreeArrays`.
    weights: [entry] uint16.
    is_kept: [row] bool, modified in place.
    has_claims: [node] bool, modified in place: whether claims are left there.
  """
  for node in range(len(tree.last) - 1, -1, -1):
    width = tree.value_begin[node + 1] - tree.value_begin[node]
    is_any = False
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      first = tree.table_begin[node] + (row - tree.row_begin[node]) * width
      child = tree.child[row]
      is_needed = child >= 0 and has_claims[child]
      for i in range(first, first + width):
        is_needed = is_needed or weights[i] > 0
      if row == tree.row_begin[node]:  # Dudo, or the weakest claim of all
        is_any = is_any or (tree.last[node] < 0 and is_needed)
        is_needed = True
      else:
        is_any = is_any or is_needed
      is_kept[row] = is_needed
    has_claims[node] = is_any


def quantized(hands, tree, table, num_quanta, stop=None):
  """Returns a quantised policy, without the rows that it does not need.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    table: [entry] float, to which the policy is proportional.
    num_quanta: how many quanta all hands of a role have together, about.
    stop: [1] bool, ends this soon after it is set, which makes the result
      useless; None for one that nobody sets.

  Returns:
    (`growing_tree.TreeArrays`, [entry] uint16): the tree that is left, and its
    weights.
  """
  weights = np.zeros(tree.num_entries, np.uint16)
  divide(quantum_arrays(hands, num_quanta, stop), tree, table, weights)
  is_kept = np.zeros(len(tree.claim), np.bool_)
  find_needed(tree, weights, is_kept, np.zeros(tree.num_nodes, np.bool_))
  small, _, row_source = growing_tree.changed(hands, tree, is_kept)
  growing_tree.move_table(tree, small, row_source, False, weights)
  return small, weights
