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


@jit.forceinline
def _load(x, at):
  return simd.load(x, np.uintp(at), simd.STRIP)


@jit.forceinline
def _load_like(x, at, like):
  """Returns a strip of another array, in the type of a given one."""
  return simd.convert(simd.load(x, np.uintp(at), like), like)


@jit.forceinline
def _store(out, at, strip):
  simd.store(out, np.uintp(at), strip)


@jit.forceinline
def _positive(strip, zero):
  return simd.where_above(strip, zero, strip, simd.splat(zero, strip))


@jit.forceinline
def fill(number, width, out, at):
  """Writes a number to out[at:]."""
  numbers = simd.splat(jit.cast_like(number, out[at]), simd.STRIP)
  for h in range(0, width, simd.strip_size(out)):
    _store(out, at + h, numbers)


@jit.forceinline
def clear(width, out, at):
  """Writes zeros to out[at:]."""
  fill(0.0, width, out, at)


@jit.forceinline
def add(x, x_at, width, out, at):
  """Adds a vector to out[at:]."""
  for h in range(0, width, simd.strip_size(out)):
    _store(out, at + h, _load(out, at + h) + _load(x, x_at + h))


@jit.forceinline
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
  zero = jit.cast_like(0.0, out[at])
  for h in range(0, width, simd.strip_size(out)):
    total = _add_positive(table, begin + h, rows, width,
                          simd.splat(zero, simd.STRIP), zero)
    _store(out, at + h, _inverse(total, zero))


@jit.forceinline
def inverse_sums_with(row, first, table, begin, rows, width, out, at):
  """Writes what `inverse_sums` does if there is one more row.

  Args:
    row: pointer to the row.
    first: where it begins.
    table: as for `inverse_sums`, like the others.
    begin: as above.
    rows: as above.
    width: as above.
    out: as above.
    at: as above.
  """
  zero = jit.cast_like(0.0, out[at])
  for h in range(0, width, simd.strip_size(out)):
    total = _add_positive(table, begin + h, rows, width,
                          _positive(_load(row, first + h), zero), zero)
    _store(out, at + h, _inverse(total, zero))


@jit.forceinline
def _add_positive(table, at, rows, width, total, zero):
  """Returns a strip of sums with the positive entries of rows added to it."""
  for row in range(rows):
    total += _positive(_load_like(table, at + row * width, total), zero)
  return total


@jit.forceinline
def _inverse(total, zero):
  """Returns 1 / a strip of sums, 0 where that is 0."""
  return simd.where_above(
      total, jit.cast_like(MIN_SUM, zero),
      simd.splat(jit.cast_like(1.0, zero), simd.STRIP) / total,
      simd.splat(zero, simd.STRIP))


@jit.forceinline
def _strategy(table, at, inverse, default, zero):
  """Returns the probabilities of a strip of a row; see `strategy`."""
  return simd.where_above(inverse, zero,
                          _positive(_load_like(table, at, inverse), zero) *
                          inverse,
                          simd.splat(default, inverse))


@jit.forceinline
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
  zero = jit.cast_like(0.0, out[at])
  default = jit.cast_like(1.0 if is_default else 0.0, zero)
  for h in range(0, width, simd.strip_size(out)):
    _store(out, at + h, _strategy(table, first + h, _load(inverse_sum, at + h),
                                  default, zero))


@jit.forceinline
def multiply(x, x_at, y, y_at, width, out, at):
  """Writes the products of two vectors to out[at:]; returns their sum."""
  total = simd.splat(jit.cast_like(0.0, out[at]), simd.STRIP)
  for h in range(0, width, simd.strip_size(out)):
    z = _load(x, x_at + h) * _load(y, y_at + h)
    _store(out, at + h, z)
    total += z
  return simd.total(total)


@jit.forceinline
def add_product(factor, x, x_at, width, out, at):
  """Adds a multiple of a vector to out[at:]."""
  factors = simd.splat(jit.cast_like(factor, out[at]), simd.STRIP)
  for h in range(0, width, simd.strip_size(out)):
    _store(out, at + h, simd.multiply_add(_load(x, x_at + h), factors,
                                          _load(out, at + h)))


@jit.forceinline
def learn_row(values, values_at, strategy, at, width, regret, first, value):
  """Adds the value of an action to its regret and to that of the node.

  Args:
    values: pointer to the value of the action.
    values_at: where that begins.
    strategy: pointer to the probabilities of the action.
    at: where they begin, and the node's value.
    width: how many hands there are.
    regret: pointer to the regrets, modified in place.
    first: where those of the action begin.
    value: pointer to the node's value, modified in place.
  """
  for h in range(0, width, simd.strip_size(value)):
    x = _load(values, values_at + h)
    _store(regret, first + h, _load(regret, first + h) + x)
    _store(value, at + h, simd.multiply_add(_load(strategy, at + h), x,
                                            _load(value, at + h)))


@jit.forceinline
def discount(mean, at, width, regret, first, discounts):
  """Subtracts a mean from regrets, and discounts them.

  Args:
    mean: pointer to what is subtracted.
    at: where it begins.
    width: how many hands there are.
    regret: pointer, modified in place.
    first: where the regrets begin.
    discounts: (of positive regrets, of negative ones).
  """
  positive, negative = discounts
  zero = jit.cast_like(0.0, mean[at])
  positive, negative = (simd.splat(positive, simd.STRIP),
                        simd.splat(negative, simd.STRIP))
  for h in range(0, width, simd.strip_size(mean)):
    x = _load(regret, first + h) - _load(mean, at + h)
    _store(regret, first + h,
           x * simd.where_above(x, zero, positive, negative))


@jit.forceinline
def choose(choice, chosen, x, x_at, width, out):
  """Writes a vector to out[0:], 0 for hands that choose something else.

  Args:
    choice: pointer to what each hand chooses, in whole numbers.
    chosen: what is chosen.
    x: pointer to the vector.
    x_at: where it begins.
    width: how many hands there are.
    out: pointer, modified in place.

  Returns:
    The sum of the result.
  """
  zero = jit.cast_like(0.0, x[x_at])
  zeros = simd.splat(zero, simd.STRIP)
  low = jit.cast_like(chosen - 0.5, zero)
  high, total = jit.cast_like(chosen + 0.5, zero), zeros
  for h in range(0, width, simd.strip_size(out)):
    c = _load(choice, h)
    y = simd.where_above(c, high, zeros, simd.where_above(
        c, low, _load(x, x_at + h), zeros))
    _store(out, h, y)
    total += y
  return simd.total(total)


@jit.forceinline
def learn_unstored(values, inverse_sum, at, width, regret, first, value,
                   discounts):
  """Learns a row that some hands do not have, as `learn_row` and `discount` do.

  Args:
    values: pointer to the values of the row, -inf for hands that do not have
      it; their regret becomes 0.
    inverse_sum: pointer to 1 / the sum of positive regrets.
    at: where that begins, and the node's value.
    width: how many hands there are.
    regret: pointer to the regrets of the row, modified in place.
    first: where they begin.
    value: pointer to the node's value, modified in place.
    discounts: (of positive regrets, of negative ones).
  """
  zero = jit.cast_like(0.0, value[at])
  zeros = simd.splat(zero, simd.STRIP)
  lowest = jit.cast_like(-1e30, zero)
  positive = simd.splat(discounts[0], simd.STRIP)
  negative = simd.splat(discounts[1], simd.STRIP)
  for h in range(0, width, simd.strip_size(value)):
    values_of, old = _load(values, h), _load(regret, first + h)
    new = simd.where_above(values_of, lowest, values_of, zeros)
    mean = simd.multiply_add(_positive(old, zero) * _load(inverse_sum, at + h),
                             new, _load(value, at + h))
    _store(value, at + h, mean)
    x = old + new - mean
    x = x * simd.where_above(x, zero, positive, negative)
    _store(regret, first + h, simd.where_above(values_of, lowest, x, zeros))


@jit.forceinline
def total(x, at, width):
  """Returns the sum of a vector."""
  result = simd.splat(jit.cast_like(0.0, x[at]), simd.STRIP)
  for h in range(0, width, simd.strip_size(x)):
    result += _load(x, at + h)
  return simd.total(result)


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
          _load(hands.onehot, begin + h), _load(reach, at + h), total)
    counts[first + k] = simd.total(total)


@jit.forceinline
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
        _load(hands.onehot, begin + j * hands.width),
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
    _store(out, at + h, _spread(hands, rank, payoff, first, h, zero))


@jit.forceinline
def add_payoffs(hands, rank, payoff, first, out, at):
  """Adds the payoff of every hand."""
  zero = jit.cast_like(0.0, out[at])
  for h in range(0, hands.width, simd.strip_size(out)):
    _store(out, at + h, _load(out, at + h) + _spread(hands, rank, payoff, first,
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
    old = _load(out, at + h)
    gain = new - old
    _store(out, at + h, simd.where_above(gain, zero, new, old))
    _store(choice, h, simd.where_above(gain, tie, this, _load(choice, h)))


@jit.forceinline
def fold(num_counts, counts, first, payoffs, claim, out, at):
  """Adds to out[at + j] what a challenge gives the own count j.

  Args:
    num_counts: (of the own counts, padded; how many the other role has).
    counts: pointer to the other's reach by count.
    first: where that begins.
    payoffs: [claim, count] float, padded (see `RoundHands.padded_payoffs`).
    claim: the claim.
    out: pointer, modified in place.
    at: where it begins.
  """
  num_mine, num_theirs = num_counts
  row, begin = jit.pointer(payoffs), claim * payoffs.shape[1]
  for j in range(0, num_mine, simd.OCTET_SIZE):
    total = simd.load(out, np.uintp(at + j), simd.OCTET)
    for k in range(num_theirs):
      total = simd.multiply_add(
          simd.load(row, np.uintp(begin + j + k), simd.OCTET),
          simd.splat(counts[first + k], simd.OCTET), total)
    simd.store(out, np.uintp(at + j), total)


@jit.forceinline
def fold_one(num_counts, reach, payoffs, claim, k, out, at):
  """Adds what a challenge gives against k dice of the other, as `fold` does.

  Args:
    num_counts: how many own counts there are, padded.
    reach: the other's reach with k dice.
    payoffs: as for `fold`, like the others.
    claim: as above.
    k: how many dice of the other match.
    out: as above.
    at: as above.
  """
  row, begin = jit.pointer(payoffs), claim * payoffs.shape[1] + k
  reaches = simd.splat(reach, simd.OCTET)
  for j in range(0, num_counts, simd.OCTET_SIZE):
    simd.store(out, np.uintp(at + j), simd.multiply_add(
        simd.load(row, np.uintp(begin + j), simd.OCTET), reaches,
        simd.load(out, np.uintp(at + j), simd.OCTET)))


@jit.forceinline
def clear_counts(num_counts, out, at):
  """Writes zeros to a vector of counts."""
  zeros = simd.splat(jit.cast_like(0.0, out[at]), simd.OCTET)
  for j in range(0, num_counts, simd.OCTET_SIZE):
    simd.store(out, np.uintp(at + j), zeros)
