"""Best responses in a round of Dudo, by a traversal of all histories: kernels.

A responder who remembers all claims plays against a policy that remembers the
last few. Claims only grow, so a history is a set of claims. The walk goes depth
first over all histories, for all hands at once. On the way down it carries the
policy's reach,

  reach[depth, hand] = chance of the policy's hand times the probability that
    the policy made its claims so far with it,

and on the way up what the responder gets with each of its own hands, summed
over the policy's hands (so it is the value times the chance of getting there).
A challenge is worth the same for all of the policy's hands with equally many
matching dice, so reaches are first summed by that number.

`respond` is exact; `branch_and_bound_kernels` looks only where it matters.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

LOWER, UPPER = 0, 1  # bounds; the exact walk takes the lower ones

# Where the walk is at a depth: the responder's claim that is looked at, the
# node after it, and which of the policy's answers comes next.
WALK_FRAME = np.dtype([("claim", np.int64), ("after", np.int64),
                       ("answer", np.int64)])


class RoundArrays(NamedTuple):
  """A round for a responder, as arrays that kernels can take.

  Attributes:
    num_claims: C.
    row_begin: [node + 1] int64, the first row of a node.
    child_begin: [node] int64, its first child.
    unit: [node] int64, the unit of a node.
    probabilities: [row, hand] float64, the policy.
    chances: [hand] float64, of the policy's hands; 0 for padding.
    own_chances: [own hand] float64, of the responder's hands.
    by_count: [rank, count, hand] float64, 1 if count dice of the policy's hand
      match the rank, else 0.
    matches: [rank, hand] int64, how many dice of the policy's hand match.
    own_matches: [rank, own hand] int64, the same for the responder's hands.
    rank: [claim] int64, its rank (from 0).
    challenges: [2, claim, count] float64, a lower and an upper bound of what
      the responder gets by a challenge if count dice match.
    challenged: [2, claim, count] float64, the same if the policy challenges.
  """
  num_claims: int
  row_begin: np.ndarray
  child_begin: np.ndarray
  unit: np.ndarray
  probabilities: np.ndarray
  chances: np.ndarray
  own_chances: np.ndarray
  by_count: np.ndarray
  matches: np.ndarray
  own_matches: np.ndarray
  rank: np.ndarray
  challenges: np.ndarray
  challenged: np.ndarray


@jit.kernel(nogil=True, reassociate=True)
def count_reach(arrays, claim, reach, depth, counts):
  """Writes counts[k], the reach of hands with k matching dice."""
  rank = arrays.rank[claim]
  for k in range(arrays.by_count.shape[1]):
    total = 0.0
    for o in range(reach.shape[1]):
      total += arrays.by_count[rank, k, o] * reach[depth, o]
    counts[k] = total


@jit.kernel(nogil=True, reassociate=True)
def challenge_payoffs(arrays, claim, counts, leaves, bound, payoff_by_count):
  """Writes payoff_by_count[own count], payoffs times the policy's reach.

  Args:
    arrays: the `RoundArrays`.
    claim: the claim that is challenged.
    counts: [count] float64, from `count_reach`.
    leaves: [2, claim, count] float64, payoffs of challenges.
    bound: `LOWER` or `UPPER`.
    payoff_by_count: [own count] float64, modified in place.
  """
  others = arrays.by_count.shape[1]
  for j in range(len(payoff_by_count)):
    total = 0.0
    for k in range(others):
      total += counts[k] * leaves[bound, claim, j + k]
    payoff_by_count[j] = total


class WalkScratch(NamedTuple):
  """What `respond` overwrites.

  Attributes:
    reach: [depth, hand] float64.
    value: [depth, own hand] float64, of the responder's turns.
    total: [depth, own hand] float64, of the policy's turns.
    challenge_reach: [1, hand] float64, the reach of a challenge by the policy.
    counts: [count] float64, reaches by how many of the policy's dice match.
    payoff_by_count: [own count] float64, what a challenge gives.
    stack: [depth] `WALK_FRAME`.
    visited: [1] int64, how many histories were visited.
    flag: [1] bool, whether to stop at once.
  """
  reach: np.ndarray
  value: np.ndarray
  total: np.ndarray
  challenge_reach: np.ndarray
  counts: np.ndarray
  payoff_by_count: np.ndarray
  stack: np.ndarray
  visited: np.ndarray
  flag: np.ndarray


@jit.kernel(nogil=True, reassociate=True)
def policy_claims(arrays, node, row, depth, reach):
  """Writes reach[depth + 1] after a claim by the policy.

  Args:
    arrays: the `RoundArrays`.
    node: the node at which the policy acts.
    row: which of its rows.
    depth: the depth before the claim.
    reach: [depth, hand], modified in place.

  Returns:
    Whether the policy makes the claim with any hand.
  """
  largest = 0.0
  row += arrays.row_begin[node]
  for o in range(reach.shape[1]):
    x = reach[depth, o] * arrays.probabilities[row, o]
    reach[depth + 1, o] = x
    largest = max(largest, x)
  return largest > 0.0


@jit.kernel(nogil=True, reassociate=True)
def begin_turn(arrays, node, last, depth, scratch):
  """Begins a turn of the responder with a challenge.

  Returns:
    Whether it can claim something, too; its first claim is then begun.
  """
  value = scratch.value
  scratch.visited[0] += 1
  if last < 0:
    for h in range(value.shape[1]):
      value[depth, h] = -np.inf
  else:
    count_reach(arrays, last, scratch.reach, depth, scratch.counts)
    challenge_payoffs(arrays, last, scratch.counts, arrays.challenges, LOWER,
                      scratch.payoff_by_count)
    rank = arrays.rank[last]
    for h in range(value.shape[1]):
      value[depth, h] = scratch.payoff_by_count[arrays.own_matches[rank, h]]
    if last == arrays.num_claims - 1:
      return False
  begin_claim(arrays, last + 1, arrays.child_begin[node], depth, scratch)
  return True


@jit.kernel(nogil=True, reassociate=True)
def begin_claim(arrays, claim, child, depth, scratch):
  """Begins a claim of the responder with the policy's challenges."""
  frame, total = scratch.stack[depth], scratch.total
  frame.claim = claim
  frame.after = child
  frame.answer = 0
  scratch.visited[0] += 1
  dudo = arrays.row_begin[child + 1] - 1
  for o in range(scratch.reach.shape[1]):
    scratch.challenge_reach[0, o] = (scratch.reach[depth, o] *
                                     arrays.probabilities[dudo, o])
  count_reach(arrays, claim, scratch.challenge_reach, 0, scratch.counts)
  challenge_payoffs(arrays, claim, scratch.counts, arrays.challenged, LOWER,
                    scratch.payoff_by_count)
  rank = arrays.rank[claim]
  for h in range(total.shape[1]):
    total[depth, h] = scratch.payoff_by_count[arrays.own_matches[rank, h]]


@jit.kernel(nogil=True, reassociate=True)
def _add_child(depth, scratch):
  """Adds the turn below to the policy's turn."""
  for h in range(scratch.total.shape[1]):
    scratch.total[depth, h] += scratch.value[depth + 1, h]


@jit.kernel(nogil=True, reassociate=True)
def respond(arrays, node, last, scratch):
  """Writes scratch.value[0], the responder's best values at its turn.

  Numba cannot keep recursive functions on disk (its issue 6061), so there is a
  stack, `scratch.stack`.

  Args:
    arrays: the `RoundArrays`.
    node: the node of the claims made.
    last: the last of them, -1 before the first.
    scratch: the `WalkScratch`, modified in place; scratch.reach[0] is given.
  """
  stack, value, total = scratch.stack, scratch.value, scratch.total
  depth = np.int64(0)  # a literal would have everything compiled twice
  if not begin_turn(arrays, node, last, depth, scratch):
    return
  while not scratch.flag[0]:
    claim, child = stack[depth].claim, stack[depth].after
    row = stack[depth].answer
    if row < arrays.num_claims - 1 - claim:  # the policy's next claim
      stack[depth].answer += 1
      if not policy_claims(arrays, child, row, depth, scratch.reach):
        continue
      after = arrays.child_begin[child] + row
      if begin_turn(arrays, after, claim + 1 + row, depth + 1, scratch):
        depth += 1
      else:
        _add_child(depth, scratch)
      continue
    for h in range(value.shape[1]):
      value[depth, h] = max(value[depth, h], total[depth, h])
    if claim < arrays.num_claims - 1:  # the responder's next claim
      begin_claim(arrays, claim + 1, child + 1, depth, scratch)
    elif depth == 0:
      return
    else:
      depth -= 1
      _add_child(depth, scratch)
