"""The best of the claims that a node does not store: kernels.

The policy knows nothing of such a claim, and challenges it at once. So its
value depends on the dice of both players only, and the best one is found
without a traversal: for each rank and each own count of it the best claim, by
the other's reach by count; then for each hand the best rank.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit


class ClaimScratch(NamedTuple):
  """Memory that finding a claim overwrites.

  Attributes:
    payoff: [rank, count] float, of the best claim, by the own count.
    best_claim: [rank, count] int16, that claim.
    best_rank: [hand] float, the rank of the best claim of a hand.
    is_stored: [claim] bool, which claims are stored at the node; all False
      between nodes.
    ends_rank: [claim] bool, whether no stronger claim of the same rank is ever
      better, by `compare_claims`.
  """
  payoff: np.ndarray
  best_claim: np.ndarray
  best_rank: np.ndarray
  is_stored: np.ndarray
  ends_rank: np.ndarray


def new_scratch(hands, dtype):
  """Returns a new `ClaimScratch` for a `round_hands.RoundHands`."""
  order = hands.order
  shape = order.num_sides, max(hands.dice) + 1
  return ClaimScratch(
      np.zeros(shape, dtype), np.zeros(shape, np.int16),
      np.zeros(int(hands.width.max()), dtype),
      np.zeros(order.num_claims + 1, np.bool_),
      np.zeros(order.num_claims, np.bool_))


@jit.kernel(nogil=True)
def compare_claims(rank, challenged, ends_rank):
  """Finds the claims after which no stronger one of the same rank is better.

  As a rule, a claim of more dice gives less when it is challenged, however many
  dice match. Where this holds for all claims of a rank from some claim on, it
  is enough to look at that one.

  Args:
    rank: [claim] int64.
    challenged: [claim, count] float, payoffs of whoever is challenged.
    ends_rank: [claim] bool, modified in place.
  """
  num_claims = len(rank)
  for claim in range(num_claims - 1, -1, -1):
    after = claim + 1
    while after < num_claims and rank[after] != rank[claim]:
      after += 1
    is_end = after == num_claims or ends_rank[after]
    if after < num_claims:
      for count in range(challenged.shape[1]):
        if challenged[after, count] > challenged[claim, count]:
          is_end = False
    ends_rank[claim] = is_end


@jit.kernel
def mark_stored(tree, node, is_stored, mark):
  """Marks the claims that are stored at a node."""
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    is_stored[tree.claim[row]] = mark


@jit.kernel(nogil=True, reassociate=True)
def _find_of_rank(ranks, rank, last, num_counts, counts, challenged, tie,
                  scratch):
  """Finds the best claim of a rank for each own count.

  Args:
    ranks: [claim] int64.
    rank: the rank.
    last: as for `raise_to_best`, like the others.
    num_counts: (of the own role, of the other).
    counts: as above.
    challenged: as above.
    tie: as above.
    scratch: as above.

  Returns:
    Whether there is one.
  """
  num_mine, num_theirs = num_counts
  payoff = scratch.payoff
  is_any = False
  for claim in range(last + 1, len(ranks)):
    if ranks[claim] != rank or scratch.is_stored[claim]:
      continue
    for j in range(num_mine):
      total = jit.cast_like(0.0, counts[rank, 0])
      for k in range(num_theirs):
        total += counts[rank, k] * challenged[claim, j + k]
      if not is_any or total > payoff[rank, j] + tie:
        scratch.best_claim[rank, j] = claim
      if not is_any or total > payoff[rank, j]:
        payoff[rank, j] = total
    is_any = True
    if scratch.ends_rank[claim]:
      break
  return is_any


@jit.kernel(nogil=True, reassociate=True)
def raise_to_best(mine, num_theirs, ranks, last, counts, challenged, tie,
                  scratch, out, at):
  """Raises the value of each own hand to that of the best unstored claim.

  Where a claim is better, scratch.best_rank becomes its rank, and
  scratch.best_claim has the claim itself. `compare_claims` has been called, and
  scratch.is_stored says what is stored.

  Args:
    mine: the `hand_vectors.HandPointers` of whoever makes the claim.
    num_theirs: how many counts the other role has.
    ranks: [claim] int64, the ranks of all claims.
    last: the last claim; only stronger ones are made.
    counts: [rank, count] float, the other's reach by count.
    challenged: [claim, count] float, payoffs if the claim is challenged.
    tie: what is better by less is no reason to choose a claim.
    scratch: the `ClaimScratch`, modified in place.
    out: pointer to the values, modified in place.
    at: where they begin.
  """
  for rank in range(mine.num_ranks):
    if _find_of_rank(ranks, rank, last, (mine.num_counts, num_theirs),
                     counts, challenged, tie, scratch):
      hand_vectors.raise_to_payoffs(
          mine, rank, jit.pointer(scratch.payoff),
          rank * scratch.payoff.shape[1], tie, out, at,
          jit.pointer(scratch.best_rank))
