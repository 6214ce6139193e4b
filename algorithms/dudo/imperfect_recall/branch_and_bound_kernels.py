"""Bounds of best responses in a round of Dudo, by branch and bound: kernels.

`search` visits the histories of a round as `full_response_kernels.respond`
does, but only those that may matter, and gives a lower and an upper bound of
what the responder gets. Where it does not look, it takes the bounds of
`bound_kernels`.

The search skips a claim of the responder if its upper bound does not exceed,
for any own hand, what is certain already. Below a claim, alpha is for every own
hand the value up to which nothing matters any more, as in alpha-beta search.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import full_response_kernels
from dudo_spiel.algorithms.runtime import jit

LOWER, UPPER = full_response_kernels.LOWER, full_response_kernels.UPPER

_NEGLIGIBLE = 1e-14  # rounding errors are not worth a search
_NO_LOOK_UP = 0.02  # fraction of `min_mass` below which no bounds are read

# Where the search is at a depth: the node and its last claim at the
# responder's turn; the weakest claim with which the policy can answer the claim
# that is looked at, and the node after that claim, -1 for none; and the
# policy's answer that is looked at.
SEARCH_FRAME = np.dtype([("node", np.int64), ("last", np.int64),
                         ("first", np.int64), ("after", np.int64),
                         ("answer", np.int64)])

# What a search did: how many of the responder's turns it searched, how many
# turns and claims it left out though they might matter, and the sum of what is
# in doubt there.
SEARCH_RECORD = np.dtype([("searched", np.float64), ("pruned", np.float64),
                          ("pruned_mass", np.float64)])


class SearchScratch(NamedTuple):
  """What `search` overwrites.

  Pairs of bounds have an axis of length 2, for `LOWER` and `UPPER`. All is
  float64 unless it says otherwise.

  Attributes:
    reach: [depth, hand], of the policy.
    alpha: [depth, own hand], values up to it do not matter.
    value: [depth, 2, own hand], bounds of the responder's turns.
    action: [depth, claim, own hand], upper bounds of the responder's claims.
    child: [depth, claim, 2, own hand], bounds of the turns after the policy's
      claims.
    child_gap: [depth, claim], how far these are apart; -1 if they need not
      be searched.
    done: [depth, claim] bool, which claims of the responder were searched.
    stack: [depth] `SEARCH_FRAME`.
    total: [depth, 2, own hand], bounds of the policy's turns.
    challenge_reach: [1, hand], the reach of a challenge by the policy.
    counts: [count], reaches by how many of the policy's dice match.
    payoff_by_count: [own count], what a challenge gives.
    record: [1] `SEARCH_RECORD`.
    flag: [1] bool, whether to stop at once.
  """
  reach: np.ndarray
  alpha: np.ndarray
  value: np.ndarray
  action: np.ndarray
  child: np.ndarray
  child_gap: np.ndarray
  done: np.ndarray
  stack: np.ndarray
  total: np.ndarray
  challenge_reach: np.ndarray
  counts: np.ndarray
  payoff_by_count: np.ndarray
  record: np.ndarray
  flag: np.ndarray


class SearchLimits(NamedTuple):
  """Numbers by which a search decides what to leave out.

  Attributes:
    min_mass: it does not search where at most this much mass is in doubt.
    lowest: the lowest value that a challenge can have.
    highest: the highest value that a challenge can have.
  """
  min_mass: float
  lowest: float
  highest: float


@jit.kernel(nogil=True, reassociate=True)
def _mass(reach, depth):
  """Returns the sum of a reach."""
  total = 0.0
  for o in range(reach.shape[1]):
    total += reach[depth, o]
  return total


@jit.kernel(nogil=True, reassociate=True)
def _gap(arrays, upper, value, alpha, depth):
  """Returns how much the responder might gain, as far as it matters.

  That is the mean over own hands of what the upper bounds [own hand] exceed:
  the value that is certain, or alpha if that is higher.
  """
  total = 0.0
  for h in range(len(upper)):
    certain = max(value[depth, LOWER, h], alpha[depth, h])
    if upper[h] > certain:
      total += arrays.own_chances[h] * (upper[h] - certain)
  return total


@jit.kernel(nogil=True, reassociate=True)
def _prune(gap, scratch):
  """Records what is not searched, if it may matter."""
  if gap > _NEGLIGIBLE:
    scratch.record[0].pruned += 1
    scratch.record[0].pruned_mass += gap


@jit.kernel(nogil=True, reassociate=True)
def _look_up(arrays, tables, unit, last, reach, depth, scratch, out):
  """Writes out[2, own hand], by the tables, for a turn of the responder."""
  hands, own_hands = tables.shape[2], tables.shape[3]
  out[:] = 0.0
  for o in range(hands):
    x = reach[depth, o]
    if x > 0.0:
      for h in range(own_hands):
        out[LOWER, h] += x * tables[LOWER, unit, o, h]
        out[UPPER, h] += x * tables[UPPER, unit, o, h]
  if last >= 0:
    full_response_kernels.count_reach(arrays, last, reach, depth,
                                      scratch.counts)
    full_response_kernels.challenge_payoffs(
        arrays, last, scratch.counts, arrays.challenges, LOWER,
        scratch.payoff_by_count)
    rank = arrays.rank[last]
    for h in range(own_hands):
      out[LOWER, h] = max(out[LOWER, h],
                          scratch.payoff_by_count[arrays.own_matches[rank, h]])


@jit.kernel(nogil=True, reassociate=True)
def _bound_challenges(arrays, child, claim, depth, scratch):
  """Writes scratch.total[depth], bounds of the policy's challenges at its turn.

  Returns:
    The mass with which the policy claims more instead.
  """
  out = scratch.total[depth]
  claim_mass = 0.0
  dudo = arrays.row_begin[child + 1] - 1
  for o in range(scratch.reach.shape[1]):
    x = scratch.reach[depth, o]
    scratch.challenge_reach[0, o] = x * arrays.probabilities[dudo, o]
    claim_mass += x - scratch.challenge_reach[0, o]
  full_response_kernels.count_reach(arrays, claim, scratch.challenge_reach, 0,
                                    scratch.counts)
  rank = arrays.rank[claim]
  for bound in range(2):
    full_response_kernels.challenge_payoffs(
        arrays, claim, scratch.counts, arrays.challenged, bound,
        scratch.payoff_by_count)
    for h in range(out.shape[1]):
      out[bound, h] = scratch.payoff_by_count[arrays.own_matches[rank, h]]
  return claim_mass


@jit.kernel(nogil=True, reassociate=True)
def _open_claim(arrays, tables, node, first, depth, scratch, limits):
  """Adds the bounds of all the policy's claims to scratch.total[depth].

  The policy acts at `node`, where `first` is the weakest claim it can make.
  """
  child, total = scratch.child[depth], scratch.total[depth]
  scratch.stack[depth].first = first
  scratch.stack[depth].after = node
  for claim in range(first, arrays.num_claims):
    row = claim - first
    scratch.child_gap[depth, claim] = -1.0
    if not full_response_kernels.policy_claims(arrays, node, row, depth,
                                               scratch.reach):
      continue
    mass = _mass(scratch.reach, depth + 1)
    if mass <= _NO_LOOK_UP * limits.min_mass:
      total[LOWER] += limits.lowest * mass
      total[UPPER] += limits.highest * mass
      continue
    after = arrays.unit[arrays.child_begin[node] + row]
    _look_up(arrays, tables, after, claim, scratch.reach, depth + 1, scratch,
             child[claim])
    gap = 0.0
    for h in range(total.shape[1]):
      total[LOWER, h] += child[claim, LOWER, h]
      total[UPPER, h] += child[claim, UPPER, h]
      gap += arrays.own_chances[h] * (child[claim, UPPER, h] -
                                      child[claim, LOWER, h])
    scratch.child_gap[depth, claim] = gap


@jit.kernel(nogil=True, reassociate=True)
def _next_child(arrays, depth, scratch, limits):
  """Begins the turn below that has most in doubt; returns whether there is any.

  Its alpha is what would make the responder's claim at this depth matter, if
  all other turns below it were worth their upper bounds.
  """
  value, alpha, total = scratch.value, scratch.alpha, scratch.total[depth]
  gaps = scratch.child_gap[depth]
  first, node = scratch.stack[depth].first, scratch.stack[depth].after
  answer, max_gap = -1, max(limits.min_mass, _NEGLIGIBLE)
  if _gap(arrays, total[UPPER], value, alpha, depth) <= max_gap:
    return False
  for claim in range(first, arrays.num_claims):
    if gaps[claim] > max_gap:
      answer, max_gap = claim, gaps[claim]
  if answer < 0:
    for claim in range(first, arrays.num_claims):
      _prune(gaps[claim], scratch)
    return False
  scratch.stack[depth].answer = answer
  gaps[answer] = -1.0
  child_bounds = scratch.child[depth, answer]
  for h in range(total.shape[1]):
    certain = max(value[depth, LOWER, h], alpha[depth, h])
    alpha[depth + 1, h] = np.inf
    if total[UPPER, h] > certain:
      alpha[depth + 1, h] = certain - (total[UPPER, h] - child_bounds[UPPER, h])
    value[depth + 1, LOWER, h] = child_bounds[LOWER, h]
    value[depth + 1, UPPER, h] = child_bounds[UPPER, h]
  full_response_kernels.policy_claims(arrays, node, answer - first, depth,
                                      scratch.reach)
  scratch.stack[depth + 1].node = arrays.child_begin[node] + answer - first
  scratch.stack[depth + 1].last = answer
  return True


@jit.kernel(nogil=True, reassociate=True)
def _add_child(depth, scratch):
  """Replaces the bounds of the turn below by what was found there."""
  child_bounds = scratch.child[depth, scratch.stack[depth].answer]
  for bound in range(2):
    for h in range(child_bounds.shape[1]):
      scratch.total[depth, bound, h] += (scratch.value[depth + 1, bound, h] -
                                         child_bounds[bound, h])


@jit.kernel(nogil=True, reassociate=True)
def _begin_turn(arrays, tables, depth, scratch, limits):
  """Looks at all claims of the responder; returns whether to search there."""
  value, alpha, total = scratch.value, scratch.alpha, scratch.total
  gap = _gap(arrays, value[depth, UPPER], value, alpha, depth)
  if gap <= max(limits.min_mass, _NEGLIGIBLE):
    _prune(gap, scratch)
    return False
  scratch.record[0].searched += 1
  node, last = scratch.stack[depth].node, scratch.stack[depth].last
  for claim in range(last + 1, arrays.num_claims):
    scratch.done[depth, claim] = False
    child = arrays.child_begin[node] + claim - last - 1
    upper = scratch.action[depth, claim]
    claim_mass = _bound_challenges(arrays, child, claim, depth, scratch)
    for h in range(len(upper)):
      upper[h] = total[depth, UPPER, h] + limits.highest * claim_mass
    if _gap(arrays, upper, value, alpha, depth) <= 0.0:
      continue
    _open_claim(arrays, tables, child, claim + 1, depth, scratch, limits)
    _close_claim(claim, depth, scratch)
  scratch.stack[depth].after = -1
  return True


@jit.kernel(nogil=True, reassociate=True)
def _close_claim(claim, depth, scratch):
  """Updates the responder's turn with what was found about a claim."""
  upper, total = scratch.action[depth, claim], scratch.total[depth]
  value = scratch.value[depth]
  for h in range(len(upper)):
    upper[h] = min(upper[h], total[UPPER, h])
    value[LOWER, h] = max(value[LOWER, h], total[LOWER, h])


@jit.kernel(nogil=True, reassociate=True)
def _next_claim(arrays, tables, depth, scratch, limits):
  """Opens the responder's claim of the largest gap; returns if any is."""
  best, max_gap = np.int64(-1), max(limits.min_mass, _NEGLIGIBLE)
  node, last = scratch.stack[depth].node, scratch.stack[depth].last
  for claim in range(last + 1, arrays.num_claims):
    if not scratch.done[depth, claim]:
      gap = _gap(arrays, scratch.action[depth, claim], scratch.value,
                 scratch.alpha, depth)
      if gap > max_gap:
        best, max_gap = claim, gap
  if best < 0:
    for claim in range(last + 1, arrays.num_claims):
      if not scratch.done[depth, claim]:
        _prune(_gap(arrays, scratch.action[depth, claim], scratch.value,
                    scratch.alpha, depth), scratch)
    return False
  scratch.done[depth, best] = True
  child = arrays.child_begin[node] + best - last - 1
  _bound_challenges(arrays, child, best, depth, scratch)
  _open_claim(arrays, tables, child, best + 1, depth, scratch, limits)
  return True


@jit.kernel(nogil=True, reassociate=True)
def _end_turn(arrays, depth, scratch):
  """Writes the upper bounds of a turn of the responder."""
  last, value = scratch.stack[depth].last, scratch.value[depth]
  rank = 0
  if last >= 0:
    full_response_kernels.count_reach(arrays, last, scratch.reach, depth,
                                      scratch.counts)
    full_response_kernels.challenge_payoffs(
        arrays, last, scratch.counts, arrays.challenges, UPPER,
        scratch.payoff_by_count)
    rank = arrays.rank[last]
  for h in range(value.shape[1]):
    upper = (scratch.payoff_by_count[arrays.own_matches[rank, h]] if last >= 0
             else -np.inf)
    for claim in range(last + 1, arrays.num_claims):
      upper = max(upper, scratch.action[depth, claim, h])
    value[UPPER, h] = min(value[UPPER, h], upper)


@jit.kernel(nogil=True, reassociate=True)
def search(arrays, tables, role, scratch, limits):
  """Writes scratch.value[0], bounds of the responder's values of a round.

  Args:
    arrays: the `RoundArrays`.
    tables: [2, unit, hand, own hand] float32, from
      `bound_kernels.bound_units`.
    role: the responder's: 0 if it makes the first claim, else 1.
    scratch: the `SearchScratch`, modified in place.
    limits: the `SearchLimits`.
  """
  depth = node = np.int64(0)  # literals would have everything compiled twice
  scratch.reach[0] = arrays.chances
  scratch.alpha[0] = -np.inf
  scratch.stack[0].node = node
  scratch.stack[0].last = -1
  if role == 0:
    _look_up(arrays, tables, arrays.unit[0], node - 1, scratch.reach, depth,
             scratch, scratch.value[0])
    if not _begin_turn(arrays, tables, depth, scratch, limits):
      return
  else:
    scratch.total[0] = 0.0
    scratch.value[0] = -np.inf
    _open_claim(arrays, tables, node, node, depth, scratch, limits)
  while not scratch.flag[0]:
    if scratch.stack[depth].after >= 0:
      if _next_child(arrays, depth, scratch, limits):
        if _begin_turn(arrays, tables, depth + 1, scratch, limits):
          depth += 1
        else:
          _add_child(depth, scratch)
        continue
      if depth == 0 and role == 1:
        scratch.value[0] = scratch.total[0]
        return
      _close_claim(scratch.stack[depth].first - 1, depth, scratch)
    if not _next_claim(arrays, tables, depth, scratch, limits):
      _end_turn(arrays, depth, scratch)
      if depth == 0:
        return
      depth -= 1
      _add_child(depth, scratch)
