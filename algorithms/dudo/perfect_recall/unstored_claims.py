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
from dudo_spiel.algorithms.runtime import simd


class ClaimScratch(NamedTuple):
  """Memory that finding a claim overwrites.

  Attributes:
    payoff: [rank, count] float, of the best claim, by the own count; counts
      are padded.
    best_claim: [rank, count] float, that claim.
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


class Claimant(NamedTuple):
  """Who makes a claim that is not stored.

  Attributes:
    hands: the `hand_vectors.HandPointers` of the role.
    num_theirs: how many counts the other role has.
    challenged: [claim, count] float, payoffs if the claim is challenged, padded
      (see `round_hands.RoundHands.padded_payoffs`).
    tie: what is better by less is no reason to choose a claim.
  """
  hands: hand_vectors.HandPointers
  num_theirs: int
  challenged: np.ndarray
  tie: float


def new_scratch(hands, dtype):
  """Returns a new `ClaimScratch` for a `round_hands.RoundHands`."""
  order = hands.order
  shape = order.num_sides, hands.num_counts
  return ClaimScratch(
      np.zeros(shape, dtype), np.zeros(shape, dtype),
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


@jit.forceinline
def mark_stored(tree, node, is_stored, mark):
  """Marks the claims that are stored at a node."""
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    is_stored[tree.claim[row]] = mark


@jit.forceinline
def _find_of_rank(game, claimant, rank, last, counts, scratch):
  """Finds the best claim of a rank for each own count.

  Arguments are those of `raise_to_best`, and the rank. Returns whether there is
  a claim.
  """
  num_mine = scratch.payoff.shape[1]
  payoff, best = jit.pointer(scratch.payoff), jit.pointer(scratch.best_claim)
  first = rank * num_mine
  zero = jit.cast_like(0.0, scratch.payoff[0, 0])
  tie, is_any = jit.cast_like(claimant.tie, zero), False
  challenged, columns = (jit.pointer(claimant.challenged),
                         claimant.challenged.shape[1])
  claim = np.int64(game.first_of_rank[last + 1, rank])
  while claim >= 0:
    if not scratch.is_stored[claim]:
      this = simd.splat(jit.cast_like(claim, zero), simd.OCTET)
      for j in range(0, num_mine, simd.OCTET_SIZE):
        new, at = simd.splat(zero, simd.OCTET), np.uintp(first + j)
        for k in range(claimant.num_theirs):
          new = simd.multiply_add(
              simd.load(challenged, np.uintp(claim * columns + j + k),
                        simd.OCTET),
              simd.splat(counts[rank, k], simd.OCTET), new)
        if is_any:
          old = simd.load(payoff, at, simd.OCTET)
          gain = new - old
          simd.store(best, at, simd.where_above(
              gain, tie, this, simd.load(best, at, simd.OCTET)))
          simd.store(payoff, at, simd.where_above(gain, zero, new, old))
        else:
          simd.store(best, at, this)
          simd.store(payoff, at, new)
      is_any = True
      if scratch.ends_rank[claim]:
        break
    claim = np.int64(game.first_of_rank[claim + 1, rank])
  return is_any


@jit.forceinline
def raise_to_best(game, claimant, last, counts, scratch, out, at):
  """Raises the value of each own hand to that of the best unstored claim.

  Where a claim is better, scratch.best_rank becomes its rank, and
  scratch.best_claim has the claim itself. `compare_claims` has been called, and
  scratch.is_stored says what is stored.

  Args:
    game: the `round_hands.RecallRound`.
    claimant: the `Claimant`.
    last: the last claim; only stronger ones are made.
    counts: [rank, count] float, the other's reach by count.
    scratch: the `ClaimScratch`, modified in place.
    out: pointer to the values, modified in place.
    at: where they begin.
  """
  for rank in range(claimant.hands.num_ranks):
    if _find_of_rank(game, claimant, rank, last, counts, scratch):
      hand_vectors.raise_to_payoffs(
          claimant.hands, rank, jit.pointer(scratch.payoff),
          rank * scratch.payoff.shape[1], claimant.tie, out, at,
          jit.pointer(scratch.best_rank))
