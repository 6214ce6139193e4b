"""A policy with perfect recall in whole shares: how it is made small.

Each hand of a round gets a number of shares, in proportion to its chance. At
each of its nodes a player divides the shares of a hand among the actions, and
what an action gets comes to the nodes after it. So shares are the own reach in
whole numbers. Where much comes the division is fine, where little comes it is
coarse, and where a hand has no shares left nothing is stored for it. That is
how it should be: an error of a probability costs as much as the own reach is.

What is rounded off a share of one hand goes to the next hand with as many dice
that match the claim, so that together they make a claim about as often as they
should.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

LEVELS = 2**16 - 1  # the weights of a hand at a node add up to at most this
NODE, ROW = 0, 1  # columns of a path


class ShareArrays(NamedTuple):
  """What the kernels of a round work with.

  Attributes:
    game: the `round_hands.ClassArrays`, float64.
    counts: for each role [level, rank, class] int64, dice that match.
    quantity: [claim] int64.
    shares: [depth, role, class] int64; those at depth 0 are what hands begin
      with, the others are overwritten.
    path: [depth, 2] int64 scratch.
    carry: [row, count] float64 scratch.
    stop: [1] bool, a flag that stops kernels (see `interrupts`).
  """
  game: object
  counts: tuple
  quantity: np.ndarray
  shares: np.ndarray
  path: np.ndarray
  carry: np.ndarray
  stop: np.ndarray


def share_arrays(hands, num_shares, stop=None):
  """Returns the `ShareArrays` of a round.

  Args:
    hands: the `round_hands.RoundHands`.
    num_shares: how many shares all hands have together, about.
    stop: [1] bool, a flag that stops kernels; None for one of its own.
  """
  game = hands.arrays(np.float64)
  depths, most = hands.order.num_claims + 2, int(hands.width.max())
  shares = np.zeros((depths, 2, most), np.int64)
  for role in range(2):
    chance = game.hands[role].chance
    shares[0, role, :len(chance)] = np.ceil(num_shares * chance)
  return ShareArrays(
      game, tuple(np.ascontiguousarray(part.onehot.argmax(axis=2))
                  for part in game.hands),
      hands.order.quantities.astype(np.int64), shares,
      np.zeros((depths, 2), np.int64),
      np.zeros((hands.order.num_claims + 1, max(hands.dice) + 1)),
      interrupts.new_flag() if stop is None else stop)


@jit.kernel
def rank_of(arrays, tree, node, row):
  """Returns the rank that decides a row: of its claim, or of the last one."""
  claim = tree.claim[row]
  return arrays.game.rank[tree.last[node] if claim == arrays.game.num_claims
                          else claim]


@jit.kernel
def pass_on(arrays, tree, node, row, weights, depth):
  """Writes the shares that come to the node after a row.

  Args:
    arrays: the `ShareArrays`; its shares at depth + 1 are modified in place.
    tree: the `growing_tree.TreeArrays`.
    node: the node.
    row: its row, which has a child.
    weights: [number] uint16.
    depth: of the node.

  Returns:
    Whether there are any.
  """
  shares = arrays.shares
  level = arrays.game.level[tree.last[node] + 1]
  new_level = arrays.game.level[tree.claim[row] + 1]
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  first = tree.table_begin[node] + (row - tree.row_begin[node]) * width
  is_any = False
  for role in range(2):
    hands = arrays.game.hands[role]
    shares[depth + 1, role] = 0
    is_own = role == tree.role[node]
    for h in range(hands.width[level]):
      n = shares[depth, role, h]
      if n > 0 and is_own:
        n = n * weights[first + h] // min(n, LEVELS)
      if n > 0:
        is_any = True
        shares[depth + 1, role, hands.merge[level, new_level, h]] += n
  return is_any


@jit.kernel
def _divide(arrays, tree, table, node, depth, weights):
  """Divides the shares of all hands at a node; see `divide`."""
  role = tree.role[node]
  counts, carry = arrays.counts[role], arrays.carry
  level = arrays.game.level[tree.last[node] + 1]
  begin, end = tree.row_begin[node], tree.row_begin[node + 1]
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  carry[:end - begin] = 0.0
  for h in range(width):
    n = arrays.shares[depth, role, h]
    if n == 0:
      continue
    first = tree.table_begin[node] + h
    last = first + (end - begin - 1) * width
    total = 0.0
    for i in range(first, last + 1, width):
      total += max(table[i], 0.0)
    size = min(n, LEVELS)
    if total <= hand_vectors.LEAST:
      weights[first] = size
      continue
    left = size
    for i in range(first, last + 1, width):
      if table[i] > 0.0:
        row = begin + (i - first) // width
        j = counts[level, rank_of(arrays, tree, node, row), h]
        wish = size * (table[i] / total + carry[row - begin, j] / n)
        w = min(max(int(np.floor(wish)), 0), left)
        weights[i] = w
        left -= w
    while left > 0:
      best, most = first, -np.inf
      for i in range(first, last + 1, width):
        if table[i] > 0.0:
          row = begin + (i - first) // width
          j = counts[level, rank_of(arrays, tree, node, row), h]
          wish = size * (table[i] / total + carry[row - begin, j] / n)
          if wish - weights[i] > most:
            best, most = i, wish - weights[i]
      weights[best] += 1
      left -= 1
    for i in range(first, last + 1, width):
      if table[i] > 0.0:
        row = begin + (i - first) // width
        j = counts[level, rank_of(arrays, tree, node, row), h]
        carry[row - begin, j] += n * (table[i] / total - weights[i] / size)


@jit.kernel(nogil=True)
def divide(arrays, tree, table, weights):
  """Divides the shares of both players at all nodes.

  Args:
    arrays: the `ShareArrays`.
    tree: the `growing_tree.TreeArrays`.
    table: [number] float, to which the policy is proportional.
    weights: [number] uint16, 0, modified in place: those of a hand at a node
      add up to its shares, or to `LEVELS` if it has more.
  """
  path = arrays.path
  depth = 0
  path[0, NODE] = 0
  path[0, ROW] = tree.row_begin[0]
  _divide(arrays, tree, table, 0, 0, weights)
  while depth >= 0 and not arrays.stop[0]:
    node, row = path[depth, NODE], path[depth, ROW]
    if row == tree.row_begin[node + 1]:
      depth -= 1
      continue
    path[depth, ROW] = row + 1
    child = tree.child[row]
    if child >= 0 and pass_on(arrays, tree, node, row, weights, depth):
      depth += 1
      path[depth, NODE] = child
      path[depth, ROW] = tree.row_begin[child]
      _divide(arrays, tree, table, child, depth, weights)


@jit.kernel(nogil=True)
def find_needed(tree, weights, is_kept, has_claims):
  """Finds the rows that a policy in shares needs.

  Args:
    tree: the `growing_tree.TreeArrays`.
    weights: [number] uint16.
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


def in_shares(hands, tree, table, num_shares, stop=None):
  """Returns a policy in shares, without the rows that it does not need.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    table: [number] float, to which the policy is proportional.
    num_shares: see `share_arrays`.
    stop: see `share_arrays`; it makes the result useless.

  Returns:
    (`growing_tree.TreeArrays`, [number] uint16): the tree that is left, and its
    weights.
  """
  weights = np.zeros(tree.num_numbers, np.uint16)
  divide(share_arrays(hands, num_shares, stop), tree, table, weights)
  is_kept = np.zeros(len(tree.claim), np.bool_)
  find_needed(tree, weights, is_kept, np.zeros(tree.num_nodes, np.bool_))
  small, _, row_source = growing_tree.changed(hands, tree, is_kept)
  growing_tree.move_table(tree, small, row_source, False, weights)
  return small, weights
