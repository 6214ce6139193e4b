"""Payoffs that are steps: a comparison of ranks, in time of the hands.

Where the higher hand wins, a row of the payoff table [own hand, other hand] has
few different numbers: one for all hands below, one for the equal ones, one for
all above. With the other's hands in order of strength, what an own hand earns
needs only the sums of the other's reaches up to two places: for all hands
together that is one running sum and a few products a hand, instead of a product
of hands times hands.

A table is taken as steps only if its numbers are exactly so, whatever the game
is; it is not asked what the hands mean.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms import blocks as blocks_lib

_MIN_HANDS = 16  # of both players; for fewer the product is as fast
_MAX_PIECES = 3  # of a row


class Steps(NamedTuple):
  """Step tables of one player.

  With S[k] the sum of the other's reaches of the first k hands in order, hand h
  earns c[0, h] S[all] + c[1, h] S[p[0, h]] + c[2, h] S[p[1, h]].

  Attributes:
    order: [different order, other hand] int64, hands by strength.
    which: [table] int64, the order of each table.
    position: [table, 2, own hand] int64, p.
    coefficient: [table, 3, own hand], c.
  """
  order: np.ndarray
  which: np.ndarray
  position: np.ndarray
  coefficient: np.ndarray


def find_steps(payoffs):
  """Finds the terminals whose payoffs are steps for both players.

  Args:
    payoffs: for each player [own hand, other hand, terminal].

  Returns:
    (table, steps): [terminal] int64, the number of its step table or -1, and
    the `Steps` of each player.
  """
  count = payoffs[0].shape[2]
  found = [[], []]
  table = np.full(count, -1)
  for z in np.flatnonzero(_candidates(payoffs)):
    tables = [_find_table(payoff[:, :, z]) for payoff in payoffs]
    if all(tables):
      table[z] = len(found[0])
      for player in range(2):
        found[player].append(tables[player])
  return table, tuple(_pack(tables, payoff.shape)
                      for tables, payoff in zip(found, payoffs))


def _candidates(payoffs):
  """Returns [terminal] bool, whether a look at a few rows allows steps."""
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
  """Returns (order, position, coefficient) of a table, None if not steps."""
  # Columns of stronger and stronger hands only fall, or only rise.
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


def _pack(tables, shape):
  """Returns the `Steps` of all tables; equal orders are kept once."""
  orders = {}
  which = [orders.setdefault(tuple(order.tolist()), len(orders))
           for order, _, _ in tables]
  return Steps(
      np.array(list(orders), dtype=np.int64).reshape(-1, shape[1]),
      np.array(which, dtype=np.int64),
      np.array([position for _, position, _ in tables],
               dtype=np.int64).reshape(-1, _MAX_PIECES - 1, shape[0]),
      np.array([coefficient for _, _, coefficient in tables]).reshape(
          -1, _MAX_PIECES, shape[0]))


@blocks_lib.jit
def step_values(order, position, coefficient, reach, first, sums, out):
  """Writes what hands earn at a terminal whose payoffs are steps.

  Args:
    order: [other hand] int64.
    position: [2, own hand] int64.
    coefficient: [3, own hand].
    reach: [other hand], the other's reaches.
    first: the first own hand.
    sums: [other hand + 1] scratch.
    out: [hand], what hands first, first + 1, ... earn; modified in place.
  """
  total = reach.dtype.type(0.0)
  for k in range(len(order)):
    sums[k] = total
    total += reach[order[k]]
  sums[len(order)] = total
  last, below, above = coefficient[0], coefficient[1], coefficient[2]
  begin, end = position[0], position[1]
  for i in range(len(out)):
    h = first + i
    out[i] = (last[h] * total + below[h] * sums[begin[h]] +
              above[h] * sums[end[h]])
