"""Step tables: payoffs by comparison of ranks, in time linear in the hands.

Where the higher hand wins, a row of the payoff table [hand, opponent's hand]
has few distinct payoffs: one for all weaker hands, one for equal ones, one for
all stronger ones. Sort the opponent's hands by strength. The value of a hand
then needs only two prefix sums of the opponent's reaches. For all hands
together that is one pass for the prefix sums and a few products per hand,
instead of hands times hands.

A table is a step table only if its payoffs have exactly this form. Nothing
depends on the meaning of the hands.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

_MIN_HANDS = 16  # of both players; with fewer the matrix product is as fast
_MAX_PIECES = 3  # of a row


class Steps(NamedTuple):
  """Step tables of both players; rows are padded to the longest.

  With S[k] the sum of the opponent's reaches of the first k hands in order, the
  value of hand h is c[0, h] S[all] + c[1, h] S[p[0, h]] + c[2, h] S[p[1, h]].

  Attributes:
    index: [player, table, 3, hand] int64: the opponent's hands by strength,
      then both rows of p.
    coefficient: [player, table, 3, hand] float64, c.
  """
  index: np.ndarray
  coefficient: np.ndarray


def find_steps(payoffs):
  """Finds the tables whose payoffs are steps for both players.

  Args:
    payoffs: for each player [own hand, opponent's hand, table] float64.

  Returns:
    (is_step, steps): [table] bool, and the `Steps` of these tables.
  """
  is_step = _candidates(payoffs)
  found = []
  for z in np.flatnonzero(is_step):
    tables = [_find_table(payoff[:, :, z]) for payoff in payoffs]
    is_step[z] = all(tables)
    if is_step[z]:
      found.append(tables)
  shape = (2, len(found), _MAX_PIECES, max(payoffs[0].shape[:2]))
  steps = Steps(np.zeros(shape, dtype=np.int64), np.zeros(shape))
  for number, tables in enumerate(found):
    for player, (order, position, coefficient) in enumerate(tables):
      hands = coefficient.shape[1]
      steps.index[player, number, 0, :len(order)] = order
      steps.index[player, number, 1:, :hands] = position
      steps.coefficient[player, number, :, :hands] = coefficient
  return is_step, steps


def _candidates(payoffs):
  """Returns [table] bool, whether three rows of the table may be steps."""
  shape = payoffs[0].shape
  is_candidate = np.full(shape[2], min(shape[:2]) >= _MIN_HANDS)
  if is_candidate.any():
    for payoff in payoffs:
      for row in (payoff[0], payoff[len(payoff) // 2], payoff[-1]):
        ordered = np.sort(row, axis=0)
        is_candidate &= np.sum(ordered[1:] != ordered[:-1],
                               axis=0) < _MAX_PIECES
  return is_candidate


def _find_table(payoff):
  """Returns (order, position, coefficient) of a step table, else None."""
  # Along the hands by strength, column sums are monotonic.
  order = np.argsort(payoff.sum(axis=0), kind="stable")
  ordered = payoff[:, order]
  is_change = ordered[:, 1:] != ordered[:, :-1]
  if is_change.sum(axis=1).max() >= _MAX_PIECES:
    return None
  position = np.zeros((_MAX_PIECES - 1, len(payoff)), dtype=np.int64)
  coefficient = np.zeros((_MAX_PIECES, len(payoff)))
  coefficient[0] = ordered[:, -1]
  rows, columns = np.nonzero(is_change)
  # The first change of a row has number 0, the second number 1.
  number = np.arange(len(rows)) - np.searchsorted(rows, rows)
  position[number, rows] = columns + 1
  coefficient[1 + number, rows] = (ordered[rows, columns] -
                                   ordered[rows, columns + 1])
  return order, position, coefficient


@jit.kernel
def step_values(index, coefficient, reach, first, sums, out):
  """Writes the values of hands at a terminal with a step table.

  Args:
    index: [3, hand] int64, of `Steps`.
    coefficient: [3, hand], of `Steps`.
    reach: [opponent's hand], the opponent's reaches.
    first: the first own hand.
    sums: [opponent's hand + 1], scratch.
    out: [hand], written: the values of hands first, first + 1, ...
  """
  order, begin, end = index[0], index[1, first:], index[2, first:]
  last, below = coefficient[0, first:], coefficient[1, first:]
  above = coefficient[2, first:]
  total = reach.dtype.type(0.0)
  for k in range(len(reach)):
    sums[k] = total
    total += reach[order[k]]
  sums[len(reach)] = total
  for h in range(len(out)):
    out[h] = (last[h] * total + below[h] * sums[begin[h]] +
              above[h] * sums[end[h]])
