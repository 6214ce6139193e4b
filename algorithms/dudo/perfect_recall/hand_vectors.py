"""Arithmetic with all hand classes of a node at once: kernels.

Vectors of hand classes are parts of flat arrays, from an offset on. Arrays are
passed as pointers, by `jit.pointer`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

MIN_SUM = 1e-30  # smaller sums of weights are 0: 1 / sum could overflow


class HandPointers(NamedTuple):
  """Pointers to arrays of a `round_hands.RoleHands`, and their dimensions."""
  width: object
  onehot: object
  merge: object
  num_levels: int  # how many hand levels there are
  num_ranks: int  # how many ranks
  num_counts: int  # how many counts
  stride: int  # how many classes, padded


class ChallengeScratch(NamedTuple):
  """Memory that `challenge_values` overwrites."""
  counts: object  # pointer to [count] float, the other role's reach by count
  # pointer to [count] float, the payoff by the own count
  payoff_by_count: object
  result: object  # pointer to [class] float, the result


def probabilities(tree, table, node):
  """Returns [row, class] float64, the policy at a node.

  Kernels compute the same by `inverse_sums` and `strategy`.

  Args:
    tree: the `growing_tree.TreeArrays`.
    table: [entry] float or uint, to which the policy is proportional.
    node: the node.
  """
  rows = int(tree.row_begin[node + 1] - tree.row_begin[node])
  begin, end = tree.table_begin[node:node + 2]
  weights = np.maximum(table[begin:end].reshape(rows, -1), 0).astype(np.float64)
  total = weights.sum(axis=0)
  is_positive = total > MIN_SUM
  result = weights / np.where(is_positive, total, 1.0)
  result[:, ~is_positive] = 0.0
  result[0, ~is_positive] = 1.0
  return result


@jit.kernel(nogil=True, reassociate=True)
def inverse_sums(table, begin, rows, width, out, at):
  """Writes 1 / the sum of the positive entries of each class, 0 if that is 0.

  Args:
    table: pointer to a table.
    begin: where the entries [row, class] of the node begin.
    rows: how many rows there are.
    width: how many classes.
    out: pointer, modified in place.
    at: where to write.
  """
  zero = jit.cast_like(0.0, out[at])
  for h in range(width):
    out[at + h] = zero
  for row in range(rows):
    first = begin + row * width
    for h in range(width):
      x = table[first + h]
      out[at + h] += x if x > zero else zero
  one, min_sum = jit.cast_like(1.0, zero), jit.cast_like(MIN_SUM, zero)
  for h in range(width):
    x = out[at + h]
    out[at + h] = one / x if x > min_sum else zero


@jit.kernel(nogil=True, reassociate=True)
def strategy(table, first, width, inverse_sum, at, is_default, out):
  """Writes the probabilities of a row.

  Args:
    table: pointer to a table.
    first: where the row begins.
    width: how many classes there are.
    inverse_sum: pointer to what `inverse_sums` has written.
    at: where that begins, and the result.
    is_default: whether classes without a positive entry choose the row.
    out: pointer, modified in place.
  """
  zero = jit.cast_like(0.0, inverse_sum[at])
  default = jit.cast_like(1.0 if is_default else 0.0, zero)
  for h in range(width):
    x = table[first + h]
    x = (x if x > zero else zero) * inverse_sum[at + h]
    out[at + h] = x if inverse_sum[at + h] > zero else default


@jit.kernel(nogil=True, reassociate=True)
def multiply(x, x_at, y, y_at, width, out):
  """Writes the products of two vectors to out[0:]; returns their sum."""
  total = jit.cast_like(0.0, x[x_at])
  for h in range(width):
    z = x[x_at + h] * y[y_at + h]
    out[h] = z
    total += z
  return total


@jit.kernel(nogil=True, reassociate=True)
def total(x, at, width):
  """Returns the sum of a vector."""
  result = jit.cast_like(0.0, x[at])
  for h in range(width):
    result += x[at + h]
  return result


@jit.kernel(nogil=True, reassociate=True)
def challenge_values(mine, theirs, where, reach, at, payoff, first, scratch):
  """Writes the counterfactual values of a challenge, by the classes of a role.

  A payoff depends only on how many dice of each player count for the claimed
  rank. So the reaches are summed by count, which takes time in proportion to
  the number of hands and not to its square.

  Args:
    mine: the `HandPointers` of the role.
    theirs: the `HandPointers` of the other role.
    where: (hand level, rank of the claim).
    reach: pointer to the reach probabilities of the other role.
    at: where they begin.
    payoff: pointer to [claim, count] float, the role's payoff.
    first: where the claim begins there.
    scratch: the `ChallengeScratch`, modified in place.
  """
  counts, payoff_by_count, out = scratch
  level, rank = where
  width, own_width = theirs.width[level], mine.width[level]
  zero = jit.cast_like(0.0, reach[at])
  block = (level * mine.num_ranks + rank) * theirs.num_counts
  for k in range(theirs.num_counts):
    begin = (block + k) * theirs.stride
    total = zero
    for h in range(width):
      total += theirs.onehot[begin + h] * reach[at + h]
    counts[k] = total
  for j in range(mine.num_counts):
    total = zero
    for k in range(theirs.num_counts):
      total += counts[k] * payoff[first + j + k]
    payoff_by_count[j] = total
  block = (level * mine.num_ranks + rank) * mine.num_counts
  begin = block * mine.stride
  for h in range(own_width):
    out[h] = mine.onehot[begin + h] * payoff_by_count[0]
  for j in range(1, mine.num_counts):
    begin = (block + j) * mine.stride
    x = payoff_by_count[j]
    for h in range(own_width):
      out[h] += mine.onehot[begin + h] * x


@jit.kernel(nogil=True, reassociate=True)
def copy(x, x_at, width, out, out_at):
  """Copies a vector."""
  for h in range(width):
    out[out_at + h] = x[x_at + h]


@jit.kernel(nogil=True, reassociate=True)
def descend(hands, levels, x, x_at, out, out_at):
  """Writes the reach probabilities x of a node by the classes of its child.

  `hands` are the `HandPointers` of the role, and `levels` (hand level of the
  node, hand level of the child).
  """
  level, new_level = levels
  width = hands.width[level]
  if level == new_level:
    copy(x, x_at, width, out, out_at)
    return
  zero = jit.cast_like(0.0, x[x_at])
  for h in range(hands.width[new_level]):
    out[out_at + h] = zero
  first = (level * hands.num_levels + new_level) * hands.stride
  for h in range(width):
    out[out_at + hands.merge[first + h]] += x[x_at + h]


@jit.kernel(nogil=True, reassociate=True)
def ascend(hands, levels, x, x_at, out):
  """Writes the values x of a child to out[0:], by the classes of its parent.

  `hands` and `levels` are those of `descend`.
  """
  level, new_level = levels
  width = hands.width[level]
  if level == new_level:
    copy(x, x_at, width, out, 0)
    return
  first = (level * hands.num_levels + new_level) * hands.stride
  for h in range(width):
    out[h] = x[x_at + hands.merge[first + h]]


@jit.inline
def hand_pointers(hands):
  """Returns the `HandPointers` of `round_hands.RoleHands`."""
  return HandPointers(
      jit.pointer(hands.width), jit.pointer(hands.onehot),
      jit.pointer(hands.merge), hands.onehot.shape[0], hands.onehot.shape[1],
      hands.onehot.shape[2], hands.onehot.shape[3])
