"""Claims that a growing tree does not store, and what they give: kernels.

The policy challenges such a claim at once. So what it gives a responder depends
on the dice of both only, and the best one is found without a walk.
"""

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit

TIE = 1e-9  # a claim that is not stored must be better by more than this


@jit.kernel(nogil=True, reassociate=True)
def challenge(game, responder, is_own, claim, level, reach, work):
  """Writes work.result, what the challenge of a claim gives the responder.

  Args:
    game: the `round_hands.ClassArrays`.
    responder: the `best_response_kernels.Responder`.
    is_own: whether the responder challenges.
    claim: the claim.
    level: of the classes.
    reach: [class] float64, of the other.
    work: the `best_response_kernels.GrowthScratch`.
  """
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  pays = responder.challenges if is_own else responder.challenged
  hand_vectors.leaf(
      (jit.pointer(mine.onehot), mine.width[level], mine.onehot.shape[2],
       mine.onehot.shape[3]),
      (jit.pointer(theirs.onehot), theirs.width[level], theirs.onehot.shape[2],
       theirs.onehot.shape[3]),
      (level * mine.onehot.shape[1] + game.rank[claim], claim * pays.shape[1]),
      jit.pointer(reach), 0, jit.pointer(pays),
      (jit.pointer(work.counts), jit.pointer(work.worth),
       jit.pointer(work.result)))


@jit.kernel(nogil=True, reassociate=True)
def compare_claims(game, responder, work):
  """Finds the claims after which no stronger one of the same rank is better.

  As a rule, a claim of more dice gives less when it is challenged, however many
  dice match. Where this holds for all claims of a rank from some claim on, it
  is enough to look at that one.

  Args:
    game: the `round_hands.ClassArrays`.
    responder: the `best_response_kernels.Responder`.
    work: the `best_response_kernels.GrowthScratch`; its ends_rank is modified in
      place.
  """
  for claim in range(game.num_claims - 1, -1, -1):
    after = claim + 1
    while after < game.num_claims and game.rank[after] != game.rank[claim]:
      after += 1
    is_end = after == game.num_claims or work.ends_rank[after]
    if after < game.num_claims:
      for count in range(responder.challenged.shape[1]):
        if responder.challenged[after, count] > (
            responder.challenged[claim, count]):
          is_end = False
    work.ends_rank[claim] = is_end


@jit.kernel(nogil=True, reassociate=True)
def best_new(game, responder, last, level, reach, work):
  """Finds the best claims that are not stored, which are then challenged.

  Args:
    game: the `round_hands.ClassArrays`.
    responder: the `best_response_kernels.Responder`.
    last: the last claim; work.is_stored tells which ones are stored.
    level: of the classes.
    reach: [class] float64, of the other.
    work: the `best_response_kernels.GrowthScratch`, after `compare_claims`; its best
      is modified in place, -inf where there is no such claim. `new_claim`
      tells which one it is.
  """
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  num_ranks, own_counts, own_stride = mine.onehot.shape[1:]
  num_counts, stride = theirs.onehot.shape[2:]
  width, own_width = theirs.width[level], mine.width[level]
  worth, claim_of, counts = work.claim_worth, work.claim_of, work.counts
  best, result = jit.pointer(work.best), jit.pointer(work.line)
  reach_of, onehot = jit.pointer(reach), jit.pointer(theirs.onehot)
  own_onehot = jit.pointer(mine.onehot)
  for h in range(own_width):
    best[h] = -np.inf
  for rank in range(num_ranks):
    worth[rank] = -np.inf
    claim_of[rank] = -1
    is_counted = False
    where = level * num_ranks + rank
    for claim in range(last + 1, game.num_claims):
      if game.rank[claim] != rank or work.is_stored[claim]:
        continue
      if not is_counted:
        is_counted = True
        for k in range(num_counts):
          first = (where * num_counts + k) * stride
          total = 0.0
          for h in range(width):
            total += onehot[first + h] * reach_of[h]
          counts[k] = total
      for j in range(own_counts):
        total = 0.0
        for k in range(num_counts):
          total += counts[k] * responder.challenged[claim, j + k]
        if total > worth[rank, j] + TIE:
          claim_of[rank, j] = claim
        worth[rank, j] = max(total, worth[rank, j])
      if work.ends_rank[claim]:
        break
    if not is_counted:
      continue
    for j in range(own_counts):
      x = worth[rank, j]
      first = (where * own_counts + j) * own_stride
      for h in range(own_width):
        y = own_onehot[first + h] * x
        result[h] = y if j == 0 else result[h] + y
    for h in range(own_width):
      best[h] = max(result[h], best[h])


@jit.kernel(nogil=True, reassociate=True)
def new_claim(game, responder, level, h, work):
  """Returns the claim that `best_new` has found best for a class.

  Args:
    game: see `best_new`.
    responder: see `best_new`.
    level: see `best_new`.
    h: the class.
    work: see `best_new`.
  """
  onehot = game.hands[responder.role].onehot
  best, claim = -np.inf, -1
  for rank in range(onehot.shape[1]):
    for j in range(onehot.shape[2]):
      x = work.claim_worth[rank, j]
      if onehot[level, rank, j, h] > 0.0 and x > best + TIE:
        best, claim = x, work.claim_of[rank, j]
  return claim
