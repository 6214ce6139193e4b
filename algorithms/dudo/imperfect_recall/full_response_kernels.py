"""Best responses in a round of Dudo: kernels that walk all histories.

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
# memory after it, and which of the policy's answers comes next.
WALK_PLACE = np.dtype([("claim", np.int64), ("after", np.int64),
                       ("answer", np.int64)])


class RoundArrays(NamedTuple):
  """A round for a responder, as arrays that kernels can take.

  Attributes:
    num_claims: C.
    row_begin: [memory + 1] int64, see `abstraction_graph`.
    child_begin: [memory] int64, see `abstraction_graph`.
    unit: [memory] int64, the unit of each memory.
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
def count_reach(game, claim, reach, depth, counts):
  """Writes counts[k], the reach of hands with k matching dice."""
  rank = game.rank[claim]
  for k in range(game.by_count.shape[1]):
    total = 0.0
    for o in range(reach.shape[1]):
      total += game.by_count[rank, k, o] * reach[depth, o]
    counts[k] = total


@jit.kernel(nogil=True, reassociate=True)
def challenge_worth(game, claim, counts, leaves, bound, worth):
  """Writes worth[j], what a challenge gives with j matching own dice."""
  others = game.by_count.shape[1]
  for j in range(len(worth)):
    total = 0.0
    for k in range(others):
      total += counts[k] * leaves[bound, claim, j + k]
    worth[j] = total


class WalkScratch(NamedTuple):
  """Memory that `respond` overwrites.

  Attributes:
    reach: [depth, hand] float64.
    value: [depth, own hand] float64, of the responder's turns.
    total: [depth, own hand] float64, of the policy's turns.
    asked: [1, hand] float64, the reach of a challenge by the policy.
    counts: [count] float64, reaches by how many of the policy's dice match.
    worth: [own count] float64, what a challenge gives.
    place: [depth] `WALK_PLACE`.
    visited: [1] int64, how many histories were visited.
    flag: [1] bool, whether to stop at once.
  """
  reach: np.ndarray
  value: np.ndarray
  total: np.ndarray
  asked: np.ndarray
  counts: np.ndarray
  worth: np.ndarray
  place: np.ndarray
  visited: np.ndarray
  flag: np.ndarray


class Frontier(NamedTuple):
  """Where the walk stops, so that threads can go on from there.

  Attributes:
    depth: the depth at which it stops, -1 for never.
    is_known: whether the values there are known, or places are collected.
    node: [place] int64, the memory there.
    last: [place] int64, its last claim.
    reach: [place, hand] float64.
    value: [place, own hand] float64.
    size: [1] int64, how many places were met.
  """
  depth: int
  is_known: bool
  node: np.ndarray
  last: np.ndarray
  reach: np.ndarray
  value: np.ndarray
  size: np.ndarray


@jit.kernel(nogil=True, reassociate=True)
def _stop(node, last, depth, work, frontier):
  """Handles a place of the frontier."""
  place = frontier.size[0]
  frontier.size[0] += 1
  if frontier.is_known:
    for h in range(work.value.shape[1]):
      work.value[depth, h] = frontier.value[place, h]
  elif place < len(frontier.node):
    frontier.node[place] = node
    frontier.last[place] = last
    for o in range(work.reach.shape[1]):
      frontier.reach[place, o] = work.reach[depth, o]


@jit.kernel(nogil=True, reassociate=True)
def policy_claims(game, node, row, depth, reach):
  """Writes the reach after a claim by the policy; returns whether there is any.

  Args:
    game: the `RoundArrays`.
    node: the memory at which the policy acts.
    row: which of its rows.
    depth: the depth before the claim.
    reach: [depth, hand], modified in place.
  """
  largest = 0.0
  row += game.row_begin[node]
  for o in range(reach.shape[1]):
    x = reach[depth, o] * game.probabilities[row, o]
    reach[depth + 1, o] = x
    largest = max(largest, x)
  return largest > 0.0


@jit.kernel(nogil=True, reassociate=True)
def _begin_turn(game, node, last, depth, work):
  """Begins a turn of the responder with a challenge.

  Returns:
    Whether it can claim something, too; its first claim is then begun.
  """
  value = work.value
  work.visited[0] += 1
  if last < 0:
    for h in range(value.shape[1]):
      value[depth, h] = -np.inf
  else:
    count_reach(game, last, work.reach, depth, work.counts)
    challenge_worth(game, last, work.counts, game.challenges, LOWER,
                    work.worth)
    rank = game.rank[last]
    for h in range(value.shape[1]):
      value[depth, h] = work.worth[game.own_matches[rank, h]]
    if last == game.num_claims - 1:
      return False
  _begin_claim(game, last + 1, game.child_begin[node], depth, work)
  return True


@jit.kernel(nogil=True, reassociate=True)
def _begin_claim(game, claim, child, depth, work):
  """Begins a claim of the responder with the policy's challenges."""
  place, total = work.place[depth], work.total
  place.claim = claim
  place.after = child
  place.answer = 0
  work.visited[0] += 1
  dudo = game.row_begin[child + 1] - 1
  for o in range(work.reach.shape[1]):
    work.asked[0, o] = work.reach[depth, o] * game.probabilities[dudo, o]
  count_reach(game, claim, work.asked, 0, work.counts)
  challenge_worth(game, claim, work.counts, game.challenged, LOWER, work.worth)
  rank = game.rank[claim]
  for h in range(total.shape[1]):
    total[depth, h] = work.worth[game.own_matches[rank, h]]


@jit.kernel(nogil=True, reassociate=True)
def _add_child(depth, work):
  """Adds the turn below to the policy's turn."""
  for h in range(work.total.shape[1]):
    work.total[depth, h] += work.value[depth + 1, h]


@jit.kernel(nogil=True, reassociate=True)
def respond(game, node, last, begin, work, frontier):
  """Writes work.value[begin], the responder's best values at its turn.

  Numba cannot keep recursive functions on disk (its issue 6061), so there is a
  stack, `work.place`.

  Args:
    game: the `RoundArrays`.
    node: the memory of the claims made.
    last: the last of them, -1 before the first.
    begin: the depth, which counts the policy's claims; work.reach[begin] is
      given.
    work: the `WalkScratch`, modified in place.
    frontier: the `Frontier`, modified in place.
  """
  place, value, total = work.place, work.value, work.total
  depth = begin
  if not _begin_turn(game, node, last, depth, work):
    return
  while not work.flag[0]:
    claim, child = place[depth].claim, place[depth].after
    row = place[depth].answer
    if row < game.num_claims - 1 - claim:  # the policy's next claim
      place[depth].answer += 1
      if not policy_claims(game, child, row, depth, work.reach):
        continue
      after = game.child_begin[child] + row
      if depth + 1 == frontier.depth:
        _stop(after, claim + 1 + row, depth + 1, work, frontier)
      elif _begin_turn(game, after, claim + 1 + row, depth + 1, work):
        depth += 1
        continue
      _add_child(depth, work)
      continue
    for h in range(value.shape[1]):
      value[depth, h] = max(value[depth, h], total[depth, h])
    if claim < game.num_claims - 1:  # the responder's next claim
      _begin_claim(game, claim + 1, child + 1, depth, work)
    elif depth == begin:
      return
    else:
      depth -= 1
      _add_child(depth, work)


@jit.kernel(nogil=True, reassociate=True)
def respond_first(game, role, work, frontier):
  """Does the same from the start of the round; the result is in work.value[0].

  Args:
    game: the `RoundArrays`.
    role: the responder's: 0 if it makes the first claim, else 1.
    work: the `WalkScratch`.
    frontier: the `Frontier`.
  """
  depth = np.int64(role)  # a literal would have everything compiled twice
  node = depth - role
  work.reach[0] = game.chances
  if role == 0:
    respond(game, node, node - 1, depth, work, frontier)
    return
  work.total[0] = 0.0
  work.visited[0] += 1
  for claim in range(game.num_claims):
    if policy_claims(game, node, claim, node, work.reach):
      respond(game, game.child_begin[node] + claim, claim, depth, work,
              frontier)
      _add_child(node, work)
  work.value[0] = work.total[0]
