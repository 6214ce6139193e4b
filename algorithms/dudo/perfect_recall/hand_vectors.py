"""Arithmetic with all hands of a node at once: kernels.

Vectors of hands are parts of flat arrays, from an offset on. Arrays are passed
as pointers, by `jit.pointer`. Vectors are padded, so they are whole strips of
`simd`.

A payoff of a challenge depends only on how many dice of each player count for
the claimed rank. So a reach is summed by count, payoffs are found by the own
count, and these are spread over the own hands. That takes time in proportion to
the number of hands and not to its square.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

MIN_SUM = 1e-30  # smaller sums of weights are 0: 1 / sum could overflow


class HandPointers(NamedTuple):
  """A pointer to `round_hands.RoleHands.onehot`, and its dimensions."""
  onehot: object
  num_ranks: int  # how many ranks
  num_counts: int  # how many counts
  width: int  # how many hands, padded


def probabilities(tree, table, node):
  """Returns [row, hand] float64, the policy at a node.

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


@jit.inline
def hand_pointers(hands):
  """Returns the `HandPointers` of `round_hands.RoleHands`."""
  return HandPointers(jit.pointer(hands.onehot), *hands.onehot.shape)


@jit.kernel(nogil=True, reassociate=True)
def clear(width, out, at):
  """Writes zeros to out[at:]."""
  zero = jit.cast_like(0.0, out[at])
  for h in range(width):
    out[at + h] = zero


@jit.kernel(nogil=True, reassociate=True)
def add_positive(x, x_at, width, out, at):
  """Adds the positive entries of a vector to out[at:]."""
  zero = jit.cast_like(0.0, out[at])
  for h in range(width):
    y = x[x_at + h]
    out[at + h] += y if y > zero else zero


@jit.kernel(nogil=True, reassociate=True)
def invert(width, out, at):
  """Replaces sums in out[at:] by 1 / sum, 0 if that is 0."""
  zero = jit.cast_like(0.0, out[at])
  one, min_sum = jit.cast_like(1.0, zero), jit.cast_like(MIN_SUM, zero)
  for h in range(width):
    x = out[at + h]
    out[at + h] = one / x if x > min_sum else zero


@jit.kernel(nogil=True, reassociate=True)
def inverse_sums(table, begin, rows, width, out, at):
  """Writes 1 / the sum of the positive entries of each hand, 0 if that is 0.

  Args:
    table: pointer to a table.
    begin: where the entries [row, hand] of the node begin.
    rows: how many rows there are.
    width: how many hands.
    out: pointer, modified in place.
    at: where to write.
  """
  clear(width, out, at)
  for row in range(rows):
    add_positive(table, begin + row * width, width, out, at)
  invert(width, out, at)


@jit.kernel(nogil=True, reassociate=True)
def strategy(table, first, width, inverse_sum, at, is_default, out):
  """Writes the probabilities of a row.

  Args:
    table: pointer to a table.
    first: where the row begins.
    width: how many hands there are.
    inverse_sum: pointer to what `inverse_sums` has written.
    at: where that begins, and the result.
    is_default: whether hands without a positive entry choose the row.
    out: pointer, modified in place.
  """
  zero = jit.cast_like(0.0, inverse_sum[at])
  default = jit.cast_like(1.0 if is_default else 0.0, zero)
  for h in range(width):
    x = table[first + h]
    x = (x if x > zero else zero) * inverse_sum[at + h]
    out[at + h] = x if inverse_sum[at + h] > zero else default


@jit.kernel(nogil=True, reassociate=True)
def multiply(x, x_at, y, y_at, width, out, at):
  """Writes the products of two vectors to out[at:]; returns their sum."""
  total = jit.cast_like(0.0, x[x_at])
  for h in range(width):
    z = x[x_at + h] * y[y_at + h]
    out[at + h] = z
    total += z
  return total


@jit.kernel(nogil=True, reassociate=True)
def add(x, x_at, width, out, at):
  """Adds a vector to out[at:]."""
  for h in range(width):
    out[at + h] += x[x_at + h]


@jit.kernel(nogil=True, reassociate=True)
def total(x, at, width):
  """Returns the sum of a vector."""
  result = jit.cast_like(0.0, x[at])
  for h in range(width):
    result += x[at + h]
  return result


# Reach by count, and payoffs by the own count.


@jit.forceinline
def sum_by_count(hands, rank, reach, at, counts, first):
  """Writes counts[first + k], the reach of hands with k dice of a rank.

  Args:
    hands: the `HandPointers` of the role whose reach it is.
    rank: the rank.
    reach: pointer.
    at: where it begins.
    counts: pointer, modified in place.
    first: where to write.
  """
  zero = jit.cast_like(0.0, reach[at])
  for k in range(hands.num_counts):
    begin = (rank * hands.num_counts + k) * hands.width
    total = simd.splat(zero, simd.STRIP)
    for h in range(0, hands.width, simd.strip_size(reach)):
      total = simd.multiply_add(
          simd.load(hands.onehot, np.uintp(begin + h), simd.STRIP),
          simd.load(reach, np.uintp(at + h), simd.STRIP), total)
    counts[first + k] = simd.total(total)


@jit.kernel(nogil=True, reassociate=True)
def sum_by_rank(hands, reach, at, counts):
  """Writes counts[rank, k], [rank, count] float, as `sum_by_count` does."""
  for rank in range(hands.num_ranks):
    sum_by_count(hands, rank, reach, at, jit.pointer(counts),
                 rank * counts.shape[1])


@jit.forceinline
def _spread(hands, rank, payoff, first, h, zero):
  """Returns the payoffs of a strip of hands from h on, by their counts."""
  total = simd.splat(zero, simd.STRIP)
  begin = rank * hands.num_counts * hands.width + h
  for j in range(hands.num_counts):
    total = simd.multiply_add(
        simd.load(hands.onehot, np.uintp(begin + j * hands.width), simd.STRIP),
        simd.splat(payoff[first + j], simd.STRIP), total)
  return total


# The next three functions share these arguments:
#
#   hands: the `HandPointers`.
#   rank: a rank.
#   payoff: pointer; payoff[first + j] is for hands with j dice of the rank.
#   out: pointer, modified in place from `at` on.


@jit.forceinline
def write_payoffs(hands, rank, payoff, first, out, at):
  """Writes the payoff of every hand."""
  zero = jit.cast_like(0.0, out[at])
  for h in range(0, hands.width, simd.strip_size(out)):
    simd.store(out, np.uintp(at + h),
               _spread(hands, rank, payoff, first, h, zero))


@jit.forceinline
def add_payoffs(hands, rank, payoff, first, out, at):
  """Adds the payoff of every hand."""
  zero = jit.cast_like(0.0, out[at])
  for h in range(0, hands.width, simd.strip_size(out)):
    simd.store(out, np.uintp(at + h), simd.load(
        out, np.uintp(at + h), simd.STRIP) + _spread(hands, rank, payoff, first,
                                                     h, zero))


@jit.forceinline
def raise_to_payoffs(hands, rank, payoff, first, tie, out, at, choice):
  """Raises every entry to the payoff of the hand, if that is larger.

  Args:
    hands: as above, like the others.
    rank: as above.
    payoff: as above.
    first: as above.
    tie: what is not larger by more than this is no reason to choose the rank.
    out: as above.
    at: as above.
    choice: pointer, from 0 on; the rank is written where it is chosen.
  """
  zero = jit.cast_like(0.0, out[at])
  tie, this = jit.cast_like(tie, zero), simd.splat(
      jit.cast_like(rank, zero), simd.STRIP)
  for h in range(0, hands.width, simd.strip_size(out)):
    new = _spread(hands, rank, payoff, first, h, zero)
    old = simd.load(out, np.uintp(at + h), simd.STRIP)
    gain = new - old
    simd.store(out, np.uintp(at + h), simd.where_above(gain, zero, new, old))
    simd.store(choice, np.uintp(h), simd.where_above(
        gain, tie, this, simd.load(choice, np.uintp(h), simd.STRIP)))


@jit.forceinline
def fold(num_mine, num_theirs, counts, first, payoffs, claim, payoff, at):
  """Adds to payoff[at + j] what a challenge gives the own count j.

  Args:
    num_mine: how many own counts there are.
    num_theirs: how many counts the other role has.
    counts: pointer to the other's reach by count.
    first: where that begins.
    payoffs: [claim, count] float.
    claim: the claim.
    payoff: pointer, modified in place.
    at: where it begins.
  """
  for j in range(num_mine):
    total = payoff[at + j]
    for k in range(num_theirs):
      total += counts[first + k] * payoffs[claim, j + k]
    payoff[at + j] = total
