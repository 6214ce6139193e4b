"""Exact best responses to the average policy of a growing tree: kernels.

Where nothing is stored the policy challenges at once (see `unstored_claims`).
So the best response over the whole game is found by one traversal of the stored
nodes:

  `respond` finds its value and, for every own hand at every own node, its
  choice: a row, or a claim that is not stored and what that claim gains.
  `play` finds the probability of each challenge if both play the average
  policy.

All arrays of floats are float64, except for tables and gains. These arguments
mean the same everywhere:

  game: the `round_hands.RecallRound`, float64.
  tree: the `growing_tree.TreeArrays`.
  table: [entry] float, to which the average policy is proportional.
  responder: the `Responder`.
  scratch: the `TraversalScratch`, modified in place.
  node, row, depth: a node of the tree, one of its rows, and its depth.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import unstored_claims
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

TIE = 1e-9  # a claim that is not stored must be better by more than this


class Responder(NamedTuple):
  """Who responds."""
  role: int  # the responder's
  challenges: np.ndarray  # [claim, count] float64, its payoff if it challenges
  # [claim, count] float64, its payoff if it is challenged; both are padded, by
  # `round_hands.RoundHands.padded_payoffs`
  challenged: np.ndarray


class Choices(NamedTuple):
  """What a best response does at stored nodes."""
  # [value] int16, by `growing_tree.TreeArrays.value_begin`: a row, counted from
  # the first one of the node, or -1 - claim for a claim that is not stored
  action: np.ndarray
  gain: np.ndarray  # [value] float32, what such a claim gains over the best row


class TraversalScratch(NamedTuple):
  """Memory that a traversal overwrites."""
  # [depth, hand] float64, the responder's reach; the starter's in `play`
  own: np.ndarray
  other: np.ndarray  # [depth, hand] float64, the other role's reach
  value: np.ndarray  # [depth, hand] float64, counterfactual values
  action: np.ndarray  # [depth, hand] int16, the best row so far
  # [depth, hand] float64, 1 / the sum of positive entries
  inverse_sum: np.ndarray
  strategy: np.ndarray  # [depth, hand] float64, the policy of one row
  result: np.ndarray  # [hand] float64, the value of a row
  # [depth, rank, count] float64, the other's reach by rank and count; that of a
  # node if the responder acts there, that after a row otherwise
  counts: np.ndarray
  payoff: np.ndarray  # [count] float64
  claims: unstored_claims.ClaimScratch
  gains: np.ndarray  # [claim] float64
  # [depth] int64, the nodes from the first one to the present one
  path: np.ndarray
  stop: np.ndarray  # [1] bool, whether to return at once, without a result


def new_choices(tree):
  """Returns new `Choices` for all nodes of a `growing_tree.TreeArrays`."""
  size = int(tree.value_begin[-1])
  return Choices(np.empty(size, np.int16), np.empty(size, np.float32))


def new_scratch(hands, stop=None):
  """Returns a new `TraversalScratch`.

  Args:
    hands: the `round_hands.RoundHands`.
    stop: its flag; None for one that nobody sets.
  """
  depths, max_width = hands.order.num_claims + 2, int(hands.width.max())
  counts = hands.num_counts

  def vectors(*shape, dtype=np.float64):
    return np.zeros((*shape, max_width), dtype)

  return TraversalScratch(
      own=vectors(depths), other=vectors(depths), value=vectors(depths),
      action=vectors(depths, dtype=np.int16), inverse_sum=vectors(depths),
      strategy=vectors(depths), result=vectors(),
      counts=np.zeros((depths, hands.order.num_sides, counts)),
      payoff=np.zeros(counts),
      claims=unstored_claims.new_scratch(hands, np.float64),
      gains=np.zeros(hands.order.num_claims), path=np.zeros(depths, np.int64),
      stop=interrupts.new_flag() if stop is None else stop)


# Where nothing is stored.


@jit.kernel(nogil=True, reassociate=True)
def challenge(game, responder, is_own, claim, depth, scratch):
  """Writes scratch.result, the responder's values if a claim is challenged.

  Args:
    game: as everywhere.
    responder: as everywhere.
    is_own: whether the responder challenges it.
    claim: the claim.
    depth: where scratch.counts has the reach of the other role.
    scratch: as everywhere.
  """
  mine = hand_vectors.hand_pointers(game.hands[responder.role])
  rank, counts = game.rank[claim], scratch.counts
  scratch.payoff[:] = 0.0
  hand_vectors.fold(
      (len(scratch.payoff), game.hands[1 - responder.role].onehot.shape[1]),
      jit.pointer(counts), (depth * counts.shape[1] + rank) * counts.shape[2],
      responder.challenges if is_own else responder.challenged, claim,
      jit.pointer(scratch.payoff), 0)
  hand_vectors.write_payoffs(mine, rank, jit.pointer(scratch.payoff), 0,
                             jit.pointer(scratch.result), 0)


@jit.kernel(nogil=True, reassociate=True)
def raise_to_unstored(game, responder, last, depth, scratch):
  """Raises scratch.result to the best claims that are not stored.

  scratch.claims says which claims these are, as after
  `unstored_claims.raise_to_best`. Arguments are those of `challenge`, and the
  last claim.
  """
  claimant = unstored_claims.Claimant(
      hand_vectors.hand_pointers(game.hands[responder.role]),
      game.hands[1 - responder.role].onehot.shape[1], responder.challenged, TIE)
  unstored_claims.raise_to_best(game, claimant, last, scratch.counts[depth],
                                scratch.claims, jit.pointer(scratch.result), 0)


@jit.kernel(nogil=True, reassociate=True)
def count_reach(game, responder, scratch, depth):
  """Writes scratch.counts at a depth, by the other's reach there."""
  hand_vectors.sum_by_rank(
      hand_vectors.hand_pointers(game.hands[1 - responder.role]),
      jit.pointer(scratch.other), depth * scratch.other.shape[1],
      scratch.counts[depth])


# The average policy.


@jit.kernel(nogil=True, reassociate=True)
def enter(tree, table, node, scratch, depth):
  """Prepares `row_reach` at a node: writes its inverse sums."""
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  hand_vectors.inverse_sums(
      jit.pointer(table), tree.table_begin[node],
      tree.row_begin[node + 1] - tree.row_begin[node], width,
      jit.pointer(scratch.inverse_sum), depth * scratch.inverse_sum.shape[1])


@jit.kernel(nogil=True, reassociate=True)
def row_reach(tree, table, node, row, reach, scratch, depth):
  """Writes reach[depth + 1], the actor's reach after a row; returns its sum.

  `reach` is [depth, hand] float64, the actor's; `enter` has been called.
  """
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  at = depth * scratch.strategy.shape[1]
  number = row - tree.row_begin[node]
  pointer = jit.pointer(reach)
  hand_vectors.strategy(
      jit.pointer(table), tree.table_begin[node] + number * width, width,
      jit.pointer(scratch.inverse_sum), at, number == 0,
      jit.pointer(scratch.strategy))
  below = at + reach.shape[1]
  total = jit.cast_like(0.0, reach[0, 0])
  for h in range(width):
    x = pointer[at + h] * scratch.strategy[depth, h]
    pointer[below + h] = x
    total += x
  return total


# The best response.


@jit.kernel(nogil=True, reassociate=True)
def _compare_row(result, first, scratch, depth, number, width):
  """Updates the best row of each hand by the values result[first:]."""
  value, action = scratch.value[depth], scratch.action[depth]
  for h in range(width):
    x = result[first + h]
    is_better = x > value[h]
    value[h] = x if is_better else value[h]
    action[h] = number if is_better else action[h]


@jit.kernel(nogil=True, reassociate=True)
def _finish_own(game, tree, responder, node, scratch, depth, choices):
  """Compares the rows of an own node with claims that are not stored."""
  begin = tree.value_begin[node]
  width = tree.value_begin[node + 1] - begin
  value, action = scratch.value[depth], scratch.action[depth]
  claims, matches = scratch.claims, game.hands[responder.role].matches
  for h in range(width):
    scratch.result[h] = value[h]
    claims.best_rank[h] = -1.0
  unstored_claims.mark_stored(tree, node, claims.is_stored, True)
  raise_to_unstored(game, responder, tree.last[node], depth, scratch)
  unstored_claims.mark_stored(tree, node, claims.is_stored, False)
  for h in range(width):
    rank = np.int64(claims.best_rank[h])
    choices.action[begin + h] = action[h]
    choices.gain[begin + h] = 0.0
    if rank >= 0:
      choices.action[begin + h] = -1 - np.int64(
          claims.best_claim[rank, matches[rank, h]])
      choices.gain[begin + h] = scratch.result[h] - value[h]
    value[h] = scratch.result[h]


@jit.forceinline
def _enter_response(game, tree, table, responder, node, scratch, depth):
  """Prepares a node."""
  if tree.role[node] == responder.role:
    scratch.value[depth] = -np.inf
    count_reach(game, responder, scratch, depth)
  else:
    scratch.value[depth] = 0.0
    enter(tree, table, node, scratch, depth)


@jit.forceinline
def _own_row(game, tree, responder, node, row, scratch, depth):
  """Values a row of the responder, or writes the reach of its child.

  Returns whether to go on at the child.
  """
  if tree.child[row] >= 0:
    scratch.other[depth + 1] = scratch.other[depth]
    return True
  claim = tree.claim[row]
  is_dudo = claim == game.num_claims
  challenge(game, responder, is_dudo, tree.last[node] if is_dudo else claim,
            depth, scratch)
  _compare_row(jit.pointer(scratch.result), 0, scratch, depth,
               row - tree.row_begin[node],
               tree.value_begin[node + 1] - tree.value_begin[node])
  return False


@jit.forceinline
def _other_row(game, tree, table, responder, position, scratch, depth):
  """Values a row of the average policy, or writes the reach of its child.

  `position` is (node, row). Returns whether to go on at the child.
  """
  node, row = position
  if not row_reach(tree, table, node, row, scratch.other, scratch, depth) > 0.0:
    return False
  claim = tree.claim[row]
  if tree.child[row] >= 0:
    return True
  count_reach(game, responder, scratch, depth + 1)
  if claim == game.num_claims:
    challenge(game, responder, False, tree.last[node], depth + 1, scratch)
  else:  # the best answer
    challenge(game, responder, True, claim, depth + 1, scratch)
    raise_to_unstored(game, responder, claim, depth + 1, scratch)
  scratch.value[depth] += scratch.result
  return False


@jit.forceinline
def _add_child(game, tree, responder, node, row, scratch, depth):
  """Takes the value of the child after a row into that of its node."""
  if tree.role[node] == responder.role:
    _compare_row(jit.pointer(scratch.value),
                 (depth + 1) * scratch.value.shape[1], scratch, depth,
                 row - tree.row_begin[node],
                 tree.value_begin[node + 1] - tree.value_begin[node])
  else:
    scratch.value[depth] += scratch.value[depth + 1]


@jit.kernel(nogil=True, reassociate=True)
def respond(game, tree, table, responder, scratch, choices):
  """Finds a best response to the average policy.

  scratch.value[0] is the counterfactual value of each hand afterwards. The
  `Choices` are modified in place at the responder's nodes that the policy
  reaches.

  Returns:
    The responder's expected payoff.
  """
  game, tree = jit.borrowed(game), jit.borrowed(tree)
  scratch, choices = jit.borrowed(scratch), jit.borrowed(choices)
  responder = jit.borrowed(responder)
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  unstored_claims.compare_claims(game.rank, responder.challenged,
                                 scratch.claims.ends_rank)
  scratch.other[0, :len(theirs.chance)] = theirs.chance
  scratch.path[0] = 0
  _enter_response(game, tree, table, responder, 0, scratch, 0)
  node, row, depth = 0, tree.row_begin[0], 0
  while not scratch.stop[0]:
    is_own = tree.role[node] == responder.role
    if row < tree.row_begin[node + 1]:
      if is_own:
        is_child_next = _own_row(game, tree, responder, node, row, scratch,
                                 depth)
      else:
        is_child_next = _other_row(game, tree, table, responder, (node, row),
                                   scratch, depth)
      if not is_child_next:
        row += 1
        continue
      node = tree.child[row]
      depth += 1
      scratch.path[depth] = node
      _enter_response(game, tree, table, responder, node, scratch, depth)
      row = tree.row_begin[node]
    else:
      if is_own:
        _finish_own(game, tree, responder, node, scratch, depth, choices)
      if depth == 0:
        break
      row = tree.parent_row[node]
      depth -= 1
      node = scratch.path[depth]
      _add_child(game, tree, responder, node, row, scratch, depth)
      row += 1
  total = 0.0
  for h in range(len(mine.chance)):
    total += mine.chance[h] * scratch.value[0, h]
  return total


# The value of the average policy.


@jit.kernel(nogil=True, reassociate=True)
def add_challenge(game, challenger, claim, reaches, depths, scratch, outcomes):
  """Adds the probability of a challenge to outcomes[role, claim, count].

  Args:
    game: as everywhere.
    challenger: the role that challenges.
    claim: the claim.
    reaches: ([depth, hand] float64, the same): the reaches of both roles.
    depths: (int, int), where each is.
    scratch: as everywhere.
    outcomes: float64, modified in place.
  """
  rank, counts = game.rank[claim], scratch.counts[0]
  for role in range(2):
    hand_vectors.sum_by_count(
        hand_vectors.hand_pointers(game.hands[role]), rank,
        jit.pointer(reaches[role]), depths[role] * reaches[role].shape[1],
        jit.pointer(counts), role * counts.shape[1])
  for j in range(game.hands[0].onehot.shape[1]):
    for k in range(game.hands[1].onehot.shape[1]):
      outcomes[challenger, claim, j + k] += counts[0, j] * counts[1, k]


@jit.kernel(nogil=True, reassociate=True)
def play(game, tree, table, scratch, outcomes):
  """Finds the probability of each challenge if both play the average policy.

  It writes outcomes, [role, claim, count] float64: the probability that the
  role challenges the claim and that count dice match.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  reaches = scratch.own, scratch.other
  for role in range(2):
    chance = game.hands[role].chance
    reaches[role][0, :len(chance)] = chance
  outcomes[:] = 0.0
  scratch.path[0] = 0
  enter(tree, table, 0, scratch, 0)
  node, row, depth = 0, tree.row_begin[0], 0
  while not scratch.stop[0]:
    role = tree.role[node]
    if row == tree.row_begin[node + 1]:
      if depth == 0:
        break
      row = tree.parent_row[node] + 1
      depth -= 1
      node = scratch.path[depth]
    elif not row_reach(tree, table, node, row, reaches[role], scratch,
                       depth) > 0.0:
      row += 1
    elif tree.child[row] < 0:
      is_dudo = tree.claim[row] == game.num_claims
      add_challenge(game, role if is_dudo else 1 - role,
                    tree.last[node] if is_dudo else tree.claim[row], reaches,
                    (depth + (role == 0), depth + (role == 1)), scratch,
                    outcomes)
      row += 1
    else:
      reaches[1 - role][depth + 1] = reaches[1 - role][depth]
      node = tree.child[row]
      depth += 1
      scratch.path[depth] = node
      enter(tree, table, node, scratch, depth)
      row = tree.row_begin[node]
