"""The abstraction graph: what players remember of a round of Dudo.

A node is the last claim of the round and a past, what the abstraction keeps of
the claims before it (see `abstractions`). After the claim c the past p, by the
abstraction's rule, becomes p'. The claims that may follow lead to the nodes
(p', c + 1), (p', c + 2), and so on. So the graph has a path for every sequence
of claims, and the nodes are few where little is remembered: with the last m of
C claims there are sum over k <= m of C(C, k).

Nodes are numbered by past, in lexicographic order, and then by last claim;
number 0 is that of no claims. So the children of a node are neighbours. Nodes
with the same last claim and the same next past have the same children, and make
a unit. Units with the same last claim do not depend on each other, and make a
wave, which threads may share. Units with the same next past share children:
those of one with a stronger last claim are among those of one with a weaker.

A node has a row for each of its actions: the stronger claims, weakest first,
and then Dudo, which nobody can say before the first claim.
"""

import functools
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions

MAX_NODES = 50_000_000
_EVEN, _ODD = 1, 2  # sets of bits: how many claims there may have been
_SWAPPED = np.array([0, _ODD, _EVEN, _EVEN | _ODD], np.uint8)


class AbstractionArrays(NamedTuple):
  """The abstraction graph, as arrays that kernels can take.

  Attributes:
    num_claims: C.
    last: [node] int64, its last claim, -1 before the first.
    acts: [node, role] bool, whether the starter (0) and the other (1) may be
      to move there; both, if who started may be forgotten.
    row_begin: [node + 1] int64, the first of its rows.
    child_begin: [node] int64, the node after the weakest stronger claim.
    last_parent_unit: [node] int64, the last unit that has the node as a child;
      the number of units for the node of no claims.
    unit_begin: [unit + 1] int64, where its nodes begin in `unit_node`.
    unit_node: [node] int64, nodes unit by unit.
    unit_before: [unit] int64, the last unit before it that has all its
      children among its own, or -1.
    wave_begin: [C + 2] int64, where the units of each last claim (first
      none, then 0..C-1) begin; units are ordered by wave.
  """
  num_claims: int
  last: np.ndarray
  acts: np.ndarray
  row_begin: np.ndarray
  child_begin: np.ndarray
  last_parent_unit: np.ndarray
  unit_begin: np.ndarray
  unit_node: np.ndarray
  unit_before: np.ndarray
  wave_begin: np.ndarray


class _Pasts(NamedTuple):
  """All pasts of an abstraction, numbered as they are first met.

  Attributes:
    first: [past] int64, the weakest claim that it can precede; C if none.
    rank: [past] int64, its rank in lexicographic order.
    after: for each last claim [past] int64, the next pasts of all pasts that
      can precede it, which are those with the lowest numbers.
    parities: for each last claim [past] uint8, of `_EVEN` and `_ODD`.
  """
  first: np.ndarray
  rank: np.ndarray
  after: list[np.ndarray]
  parities: list[np.ndarray]


def _ranks(rows):
  """Returns [row] int64, lexicographic ranks, equal for equal rows."""
  ranks = np.zeros(len(rows), np.int64)
  for column in rows.T:
    low = column.min()
    ranks = np.unique(ranks * (column.max() - low + 1) + (column - low),
                      return_inverse=True)[1]
  return ranks


def _check_size(abstraction, num_claims, total):
  """Raises a ValueError if `total` nodes are too many."""
  if total > MAX_NODES:
    name, value = abstraction.argument
    raise ValueError(
        f"{name}={value}: with {num_claims} claims there are {total:,} "
        f"nodes or more, must be at most {MAX_NODES:,}")


@functools.lru_cache(maxsize=32)
def _find_pasts(abstraction, order):
  """Returns the `_Pasts`, by going through the claims from the weakest up."""
  num_claims = order.num_claims
  exact = abstractions.LastClaims(abstraction.num_exact)
  _check_size(abstraction, num_claims, 1 + sum(exact.num_pasts(num_claims)))
  rule = abstraction.within(num_claims)
  known = rule.first_past()[None]
  first = [np.zeros(1, np.int64)]
  parity = np.array([_ODD], np.uint8)  # of the claims made, now that it is past
  after, parities, total = [], [], 1
  for claim in range(num_claims):
    count = len(known)
    # No past is ever lost, so there are as many or more for each later claim.
    _check_size(abstraction, num_claims, total + count * (num_claims - claim))
    total += count
    both = np.concatenate([known, rule.next_pasts(known, claim, order.ranks)])
    _, index, number = np.unique(_ranks(both), return_index=True,
                                 return_inverse=True)
    is_new = index >= count
    known = np.concatenate([known, both[index[is_new]]])
    index[is_new] = np.arange(count, len(known))
    after.append(index[number[count:]])
    parities.append(parity)
    parity = np.concatenate([parity, np.zeros(len(known) - count, np.uint8)])
    np.bitwise_or.at(parity, after[-1], _SWAPPED[parities[-1]])
    first.append(np.full(len(known) - count, claim + 1))
  return _Pasts(np.concatenate(first), _ranks(known), after, parities)


@functools.lru_cache(maxsize=128)
def _num_pasts(abstraction, order):
  """Returns how many pasts each last claim has, a list."""
  counts = abstraction.num_pasts(order.num_claims)
  if counts is None:
    counts = [len(after) for after in _find_pasts(abstraction, order).after]
  return counts


def num_nodes(abstraction, order):
  """Returns how many nodes the graph has, without building it."""
  return 1 + sum(_num_pasts(abstraction, order))


def num_rows(abstraction, order):
  """Returns how many rows (pairs of a node and an action) there are."""
  return order.num_claims + sum(
      count * (order.num_claims - last)
      for last, count in enumerate(_num_pasts(abstraction, order)))


class AbstractionGraph:
  """All nodes of a round.

  Args:
    abstraction: the `abstractions.Abstraction`.
    order: the `claims.ClaimOrder` of the round.

  Attributes:
    num_claims: how many claims there are.
    num_nodes: how many nodes there are.
    num_rows: how many rows they have.
    arrays: the `AbstractionArrays`.
  """

  def __init__(self, abstraction, order):
    self.num_claims = order.num_claims
    self.num_nodes = num_nodes(abstraction, order)
    self.num_rows = num_rows(abstraction, order)
    _check_size(abstraction, self.num_claims, self.num_nodes)
    self.arrays = self._build(_find_pasts(abstraction, order))
    # For look-ups one at a time, where NumPy's integers are slow.
    self._row_begin = self.arrays.row_begin.tolist()
    self._child_begin = self.arrays.child_begin.tolist()

  def index(self, claims):
    """Returns the node after these claims, all of the round."""
    node, last = 0, -1
    for claim in claims:
      node = self._child_begin[node] + claim - last - 1
      last = claim
    return node

  def first_row(self, claims):
    """Returns the first row of the node after these claims."""
    return self._row_begin[self.index(claims)]

  def _build(self, pasts):
    """Returns the `AbstractionArrays`, from the `_Pasts`."""
    num_claims, count = self.num_claims, self.num_nodes
    # The node of a past and a last claim is `begin` plus the claim.
    sizes = np.zeros(len(pasts.rank), np.int64)
    sizes[pasts.rank] = num_claims - pasts.first
    begin = 1 + (np.cumsum(sizes) - sizes)[pasts.rank] - pasts.first
    last = np.full(count, -1)
    acts = np.zeros((count, 2), np.bool_)
    acts[0, 0] = True
    child_begin = np.full(count, count)
    child_begin[0] = begin[0]
    last_parent_unit = np.empty(count, np.int64)
    unit = np.zeros(count, np.int64)
    latest = np.zeros(len(begin), np.int64)  # by past: the last unit before it
    latest[1:] = -1
    unit_before = [np.array([-1])]
    wave_begin = [0, 1]
    for claim, (after, parity) in enumerate(zip(pasts.after, pasts.parities)):
      here = begin[:len(after)] + claim
      last[here] = claim
      acts[here] = np.column_stack([parity & _EVEN, parity & _ODD])
      if claim < num_claims - 1:
        child_begin[here] = begin[after] + claim + 1
      _, index, number = np.unique(pasts.rank[after], return_index=True,
                                   return_inverse=True)
      last_parent_unit[here] = latest[:len(after)]
      unit[here] = wave_begin[-1] + number
      unit_before.append(latest[after[index]])
      latest[after[index]] = wave_begin[-1] + np.arange(len(index))
      wave_begin.append(wave_begin[-1] + len(index))
    last_parent_unit[0] = wave_begin[-1]
    row_begin = np.zeros(count + 1, dtype=np.int64)
    row_begin[1:] = np.cumsum(num_claims - 1 - last + (last >= 0))
    return AbstractionArrays(
        num_claims=num_claims, last=last, acts=acts, row_begin=row_begin,
        child_begin=child_begin, last_parent_unit=last_parent_unit,
        unit_begin=np.concatenate([[0], np.cumsum(np.bincount(unit))]),
        unit_node=np.argsort(unit, kind="stable"),
        unit_before=np.concatenate(unit_before),
        wave_begin=np.array(wave_begin))


@functools.lru_cache(maxsize=32)
def of_round(abstraction, order):
  """Returns the `AbstractionGraph`, which all callers share."""
  return AbstractionGraph(abstraction, order)
