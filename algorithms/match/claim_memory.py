"""What players remember of a round of Dudo: its last claims.

Neller & Hnath (2011), section 2.1, let players recall only the last m claims of
a round. With C claims there are then sum over k <= m of C(C, k) memories. They
are the nodes of a graph with a path for every sequence of claims: from
(c1, ..., cm) the claim c leads to (c2, ..., cm, c).

Memories are numbered by length, then in lexicographic order. So the children of
a memory are neighbours: each is the memory's tail (the claims that will still
be remembered) with one stronger claim. Memories with the same tail have the
same children, and make a unit. Units with the same last claim do not depend on
each other, and make a level.

A memory has a row of numbers for each of its actions: the stronger claims,
weakest first, and then Dudo, which nobody can say before the first claim.

Serves all of `match`.
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import arguments

MAX_MEMORIES = 50_000_000


def num_memories(num_claims, recall_length):
  """Returns how many memories there are."""
  return sum(math.comb(num_claims, k)
             for k in range(min(recall_length, num_claims) + 1))


def num_rows(num_claims, recall_length):
  """Returns how many rows (pairs of a memory and an action) there are."""
  rows = num_claims  # before the first claim
  for last in range(num_claims):
    with_last = sum(math.comb(last, k - 1) for k in
                    range(1, min(recall_length, num_claims) + 1))
    rows += with_last * (num_claims - last)
  return rows


class MemoryArrays(NamedTuple):
  """The graph of memories, as arrays that kernels can take.

  Attributes:
    num_claims: C.
    recall_length: m.
    length: [memory] int64, how many claims it has.
    last: [memory] int64, its last claim, -1 before the first.
    row_begin: [memory + 1] int64, the first of its rows.
    child_begin: [memory] int64, the memory after the weakest stronger claim.
    group: [memory] int64, the unit whose children the memory is among; the
      number of units for the memory of no claims.
    unit_begin: [unit + 1] int64, where its memories begin in `unit_memory`.
    unit_memory: [memory] int64, memories unit by unit.
    level_begin: [C + 2] int64, where the units of each last claim (first
      none, then 0..C-1) begin; units are ordered by level.
    carry: bool, whether only the last claim is remembered (m = 1), so that a
      unit's children are among those of the unit before.
  """
  num_claims: int
  recall_length: int
  length: np.ndarray
  last: np.ndarray
  row_begin: np.ndarray
  child_begin: np.ndarray
  group: np.ndarray
  unit_begin: np.ndarray
  unit_memory: np.ndarray
  level_begin: np.ndarray
  carry: bool


class ClaimMemory:
  """All memories of up to `recall_length` claims.

  Args:
    num_claims: how many claims there are.
    recall_length: how many of the last claims are remembered.

  Attributes:
    num_claims: how many claims there are.
    recall_length: as given, but at most the number of claims.
    num_memories: how many memories there are.
    num_rows: how many rows they have.
    arrays: the `MemoryArrays`.
  """

  def __init__(self, num_claims, recall_length):
    arguments.integer("recall_length", recall_length, 1)
    self.num_claims = num_claims
    self.recall_length = min(recall_length, num_claims)
    self.num_memories = num_memories(num_claims, recall_length)
    self.num_rows = num_rows(num_claims, recall_length)
    if self.num_memories > MAX_MEMORIES:
      raise ValueError(
          f"recall_length={recall_length}: {num_claims} claims have "
          f"{self.num_memories:,} memories of that length, must have at most "
          f"{MAX_MEMORIES:,}")
    lengths = range(self.recall_length + 1)
    # Where the memories of each length begin.
    self._begin = [num_memories(num_claims, k - 1) for k in lengths]
    self._binomial = np.array(
        [[math.comb(n, k) for k in lengths] for n in range(num_claims + 1)],
        dtype=np.int64)
    self.arrays = self._build()
    # For look-ups one at a time, where NumPy's integers are slow.
    self._row_begin = self.arrays.row_begin.tolist()

  def index(self, claims):
    """Returns the memory after these claims; older ones are forgotten."""
    claims = claims[-self.recall_length:]
    k = len(claims)
    n = self.num_claims
    rank = math.comb(n, k) - 1
    for i, claim in enumerate(claims):
      rank -= math.comb(n - 1 - claim, k - i)
    return self._begin[k] + rank

  def first_row(self, claims):
    """Returns the first row of the memory after these claims."""
    return self._row_begin[self.index(claims)]

  def _ranks(self, claims):
    """Returns the memories of [any, k] claims."""
    k = claims.shape[1]
    rank = np.full(len(claims), self._binomial[self.num_claims, k] - 1)
    for i in range(k):
      rank -= self._binomial[self.num_claims - 1 - claims[:, i], k - i]
    return self._begin[k] + rank

  def claims(self, length):
    """Returns [memory of this length, claim], in order."""
    count = int(self._binomial[self.num_claims, length])
    flat = itertools.chain.from_iterable(
        itertools.combinations(range(self.num_claims), length))
    return np.fromiter(flat, np.int64, count * length).reshape(count, length)

  def _build(self):
    m, num_claims = self.recall_length, self.num_claims
    length = np.repeat(np.arange(m + 1), self._binomial[num_claims])
    last = np.full(self.num_memories, -1, dtype=np.int64)
    child_begin = np.full(self.num_memories, self.num_memories, dtype=np.int64)
    prefix = np.full(self.num_memories, -1, dtype=np.int64)
    tail = np.arange(self.num_memories)
    child_begin[0] = 1
    for k in range(1, m + 1):
      claims = self.claims(k)
      here = slice(self._begin[k], self._begin[k] + len(claims))
      last[here] = claims[:, -1]
      prefix[here] = self._ranks(claims[:, :-1])
      kept = claims if k < m else claims[:, 1:]
      if k == m and m > 1:
        tail[here] = self._ranks(kept)
      has_child = claims[:, -1] < num_claims - 1
      children = np.concatenate([kept, claims[:, -1:] + 1], axis=1)[has_child]
      child_begin[here][has_child] = self._ranks(children)
    if m == 1:
      prefix[1:] = np.arange(self.num_memories - 1)
    # Units in order of their last claim, by which they are numbered.
    tails = np.unique(tail)
    order = np.argsort(last[tails], kind="stable")
    unit_of_tail = np.full(self.num_memories, -1, dtype=np.int64)
    unit_of_tail[tails[order]] = np.arange(len(tails))
    unit = unit_of_tail[tail]
    group = unit_of_tail[prefix]
    group[0] = len(tails)
    row_begin = np.zeros(self.num_memories + 1, dtype=np.int64)
    row_begin[1:] = np.cumsum(num_claims - 1 - last + (length > 0))
    level_sizes = np.bincount(last[tails[order]] + 1, minlength=num_claims + 1)
    return MemoryArrays(
        num_claims=num_claims, recall_length=m, length=length, last=last,
        row_begin=row_begin, child_begin=child_begin, group=group,
        unit_begin=np.concatenate([[0], np.cumsum(np.bincount(unit))]),
        unit_memory=np.argsort(unit, kind="stable"),
        level_begin=np.concatenate([[0], np.cumsum(level_sizes)]),
        carry=m == 1)


@functools.lru_cache(maxsize=32)
def claim_memory(num_claims, recall_length):
  """Returns the `ClaimMemory`, which all callers share."""
  return ClaimMemory(num_claims, recall_length)
