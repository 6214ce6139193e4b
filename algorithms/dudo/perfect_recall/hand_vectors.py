"""What the kernels of the growing tree do with all hands of a node at once.

Vectors of hands, or classes of hands, stand in flat arrays, from an offset on.
Arrays are given as pointers (see `jit.pointer`).
"""

import numpy as np

from dudo_spiel.algorithms.runtime import jit

LEAST = 1e-30  # sums of weights below this are 0: 1 / sum could overflow


def probabilities(tree, table, node):
  """Returns [row, class] float64, what kernels find by `norms` and `strategy`.

  Args:
    tree: the `growing_tree.TreeArrays`.
    table: [number] float or uint, to which the policy is proportional.
    node: the node.
  """
  rows = int(tree.row_begin[node + 1] - tree.row_begin[node])
  begin, end = tree.table_begin[node:node + 2]
  weights = np.maximum(table[begin:end].reshape(rows, -1), 0).astype(np.float64)
  total = weights.sum(axis=0)
  is_known = total > LEAST
  chances = weights / np.where(is_known, total, 1.0)
  chances[:, ~is_known] = 0.0
  chances[0, ~is_known] = 1.0
  return chances


@jit.kernel(nogil=True, reassociate=True)
def norms(table, begin, rows, width, norm, at):
  """Writes norm[at:], 1 / the sum of the positive rows, 0 if that is 0.

  Args:
    table: pointer to the numbers [row, class] of a node.
    begin: where they begin.
    rows: how many rows there are.
    width: how many classes.
    norm: pointer, modified in place.
    at: where to write.
  """
  zero = jit.cast_like(0.0, norm[at])
  for h in range(width):
    norm[at + h] = zero
  for row in range(rows):
    first = begin + row * width
    for h in range(width):
      x = table[first + h]
      norm[at + h] += x if x > zero else zero
  one, least = jit.cast_like(1.0, zero), jit.cast_like(LEAST, zero)
  for h in range(width):
    x = norm[at + h]
    norm[at + h] = one / x if x > least else zero


@jit.kernel(nogil=True, reassociate=True)
def strategy(table, first, width, norm, at, rest, out):
  """Writes out[at:], the probabilities of a row.

  Args:
    table: pointer to a table.
    first: where the row begins.
    width: how many classes there are.
    norm: pointer to what `norms` has written.
    at: where that and the result stand.
    rest: the probability where no row is positive.
    out: pointer, modified in place.
  """
  zero = jit.cast_like(0.0, norm[at])
  for h in range(width):
    x = table[first + h]
    x = (x if x > zero else zero) * norm[at + h]
    out[at + h] = x if norm[at + h] > zero else rest


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
def leaf(mine, theirs, place, reach, at, pays, scratch):
  """Writes what a challenge gives one role, for each of its classes.

  Args:
    mine: (pointer to the role's `onehot`, classes, counts, padded classes).
    theirs: the same of the other role.
    place: (level * ranks + rank, first number of the claim in `pays`).
    reach: pointer to the other role's reach.
    at: where it begins.
    pays: pointer to [claim, count], what the challenge gives the role.
    scratch: (counts, worth, out), pointers, modified in place; the result is
      written to out.
  """
  onehot, width, num_counts, stride = theirs
  own_onehot, own_width, own_counts, own_stride = mine
  where, pay = place
  counts, worth, out = scratch
  zero = jit.cast_like(0.0, reach[at])
  for k in range(num_counts):
    first = (where * num_counts + k) * stride
    total = zero
    for h in range(width):
      total += onehot[first + h] * reach[at + h]
    counts[k] = total
  for j in range(own_counts):
    total = zero
    for k in range(num_counts):
      total += counts[k] * pays[pay + j + k]
    worth[j] = total
  first = where * own_counts * own_stride
  for h in range(own_width):
    out[h] = own_onehot[first + h] * worth[0]
  for j in range(1, own_counts):
    first = (where * own_counts + j) * own_stride
    x = worth[j]
    for h in range(own_width):
      out[h] += own_onehot[first + h] * x


@jit.kernel(nogil=True, reassociate=True)
def copy(x, x_at, width, out, out_at):
  """Copies a vector."""
  for h in range(width):
    out[out_at + h] = x[x_at + h]


@jit.kernel(nogil=True, reassociate=True)
def descend(x, x_at, classes, move, out, out_at):
  """Writes the reaches of a node to those of its child.

  Args:
    x: pointer to the reaches.
    x_at: where they begin.
    classes: pointer to the `merge` of the role.
    move: (where the classes of the child begin there, or -1 if they are the
      same; how many classes the node has, and the child).
    out: pointer, modified in place.
    out_at: where to write.
  """
  first, width, new_width = move
  if first < 0:
    copy(x, x_at, width, out, out_at)
    return
  zero = jit.cast_like(0.0, x[x_at])
  for h in range(new_width):
    out[out_at + h] = zero
  for h in range(width):
    out[out_at + classes[first + h]] += x[x_at + h]


@jit.kernel(nogil=True, reassociate=True)
def ascend(x, x_at, classes, move, out):
  """Writes to out[0:] the values of a child by the classes of its parent.

  Args:
    x: pointer to the values.
    x_at: where they begin.
    classes: see `descend`.
    move: see `descend`.
    out: pointer, modified in place.
  """
  first, width, _ = move
  if first < 0:
    copy(x, x_at, width, out, 0)
    return
  for h in range(width):
    out[h] = x[x_at + classes[first + h]]


@jit.inline
def move_between(hands, level, new_level):
  """Returns what `descend` and `ascend` need to know of two levels.

  Args:
    hands: the `round_hands.RoleHands`.
    level: of a node.
    new_level: of its child.
  """
  first = (level * hands.merge.shape[0] + new_level) * hands.merge.shape[2]
  return (np.int64(-1) if level == new_level else np.int64(first),
          hands.width[level], hands.width[new_level])
