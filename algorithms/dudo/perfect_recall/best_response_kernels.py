"""Exact best responses to the average policy of a growing tree: kernels.

Where nothing is stored the policy challenges at once. So the value of a claim
that is not stored depends on the dice of both only, and the best one is found
without a traversal (`best_unstored`). The best response over the whole game is
found by one traversal of the stored nodes:

  `respond` finds its value and, for every own class at every own node, its
  choice: a row, or a claim that is not stored and what that claim gains.
  `play` finds the probability of each challenge if both play the average
  policy.

All arrays of floats are float64, except for tables and gains. These arguments
mean the same everywhere:

  game: the `round_hands.ClassArrays`, float64.
  tree: the `growing_tree.TreeArrays`.
  table: [entry] float, to which the average policy is proportional.
  responder: the `Responder`.
  scratch: the `TraversalScratch`, modified in place.
  node, row, depth: a node of the tree, one of its rows, and its depth.
  last, level: the last claim and the hand level of a node.
  reach: [class] float64, the reach of the other role.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

TIE = 1e-9  # a claim that is not stored must be better by more than this


class Responder(NamedTuple):
  """Who responds."""
  role: int  # the responder's
  challenges: np.ndarray  # [claim, count] float64, its payoff if it challenges
  # [claim, count] float64, its payoff if it is challenged
  challenged: np.ndarray


class Choices(NamedTuple):
  """What a best response does at stored nodes."""
  # [value] int16, by `growing_tree.TreeArrays.value_begin`: a row, counted from
  # the first one of the node, or -1 - claim for a claim that is not stored
  action: np.ndarray
  gain: np.ndarray  # [value] float32, what such a claim gains over the best row


class TraversalScratch(NamedTuple):
  """Memory that a traversal overwrites."""
  # [depth, class] float64, the responder's reach; the starter's in `play`
  own: np.ndarray
  other: np.ndarray  # [depth, class] float64, the other role's reach
  value: np.ndarray  # [depth, class] float64, counterfactual values
  action: np.ndarray  # [depth, class] int16, the best row so far
  # [depth, class] float64, 1 / the sum of positive entries
  inverse_sum: np.ndarray
  strategy: np.ndarray  # [depth, class] float64, the policy of one row
  product: np.ndarray  # [class] float64, a reach after a row
  result: np.ndarray  # [class] float64, the value of a row
  # [class] float64, the value of the best claim that is not stored
  best: np.ndarray
  best_of_rank: np.ndarray  # [class] float64, the same for one rank
  counts: np.ndarray  # [count] float64, a reach by count
  payoff_by_count: np.ndarray  # [count] float64
  # [rank, count] float64, of the best claim that is not stored
  claim_payoff: np.ndarray
  best_claim: np.ndarray  # [rank, count] int16, that claim
  is_stored: np.ndarray  # [claim] bool, whether the node stores the claim
  # [claim] bool, whether no stronger claim of the same rank is ever better, by
  # `compare_claims`
  ends_rank: np.ndarray
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
  counts, ranks = max(hands.dice) + 1, hands.order.num_sides
  num_claims = hands.order.num_claims

  def vectors(*shape, dtype=np.float64):
    return np.zeros((*shape, max_width), dtype)

  return TraversalScratch(
      own=vectors(depths), other=vectors(depths), value=vectors(depths),
      action=vectors(depths, dtype=np.int16), inverse_sum=vectors(depths),
      strategy=vectors(depths), product=vectors(), result=vectors(),
      best=vectors(), best_of_rank=vectors(), counts=np.zeros(counts),
      payoff_by_count=np.zeros(counts), claim_payoff=np.zeros((ranks, counts)),
      best_claim=np.zeros((ranks, counts), np.int16),
      is_stored=np.zeros(num_claims + 1, np.bool_),
      ends_rank=np.zeros(num_claims, np.bool_), gains=np.zeros(num_claims),
      path=np.zeros(depths, np.int64),
      stop=interrupts.new_flag() if stop is None else stop)


# Claims that are not stored.


@jit.kernel(nogil=True, reassociate=True)
def challenge(game, responder, is_own, claim, level, reach, scratch):
  """Writes scratch.result, the responder's values if a claim is challenged.

  `is_own` says whether the responder challenges it.
  """
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  payoff = responder.challenges if is_own else responder.challenged
  hand_vectors.challenge_values(
      hand_vectors.hand_pointers(mine), hand_vectors.hand_pointers(theirs),
      (level, game.rank[claim]), jit.pointer(reach), 0, jit.pointer(payoff),
      claim * payoff.shape[1],
      hand_vectors.ChallengeScratch(jit.pointer(scratch.counts),
                                    jit.pointer(scratch.payoff_by_count),
                                    jit.pointer(scratch.result)))


@jit.kernel(nogil=True, reassociate=True)
def compare_claims(game, responder, scratch):
  """Finds the claims after which no stronger one of the same rank is better.

  As a rule, a claim of more dice gives less when it is challenged, however many
  dice match. Where this holds for all claims of a rank from some claim on, it
  is enough to look at that one. The result is scratch.ends_rank.
  """
  for claim in range(game.num_claims - 1, -1, -1):
    after = claim + 1
    while after < game.num_claims and game.rank[after] != game.rank[claim]:
      after += 1
    is_end = after == game.num_claims or scratch.ends_rank[after]
    if after < game.num_claims:
      for count in range(responder.challenged.shape[1]):
        if responder.challenged[after, count] > (
            responder.challenged[claim, count]):
          is_end = False
    scratch.ends_rank[claim] = is_end


@jit.kernel(nogil=True, reassociate=True)
def best_unstored(game, responder, last, level, reach, scratch):
  """Finds the best claims that are not stored, which are then challenged.

  It writes scratch.best, the value for each class, -inf where there is no such
  claim; `unstored_claim` returns the claim. scratch.is_stored says which claims
  are stored, and `compare_claims` has been called.
  """
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  num_ranks, own_counts, own_stride = mine.onehot.shape[1:]
  num_counts, stride = theirs.onehot.shape[2:]
  width, own_width = theirs.width[level], mine.width[level]
  claim_payoff, counts = scratch.claim_payoff, scratch.counts
  best, result = jit.pointer(scratch.best), jit.pointer(scratch.best_of_rank)
  reach_of, onehot = jit.pointer(reach), jit.pointer(theirs.onehot)
  own_onehot = jit.pointer(mine.onehot)
  for h in range(own_width):
    best[h] = -np.inf
  for rank in range(num_ranks):
    claim_payoff[rank] = -np.inf
    scratch.best_claim[rank] = -1
    is_counted = False
    where = level * num_ranks + rank
    for claim in range(last + 1, game.num_claims):
      if game.rank[claim] != rank or scratch.is_stored[claim]:
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
        if total > claim_payoff[rank, j] + TIE:
          scratch.best_claim[rank, j] = claim
        claim_payoff[rank, j] = max(total, claim_payoff[rank, j])
      if scratch.ends_rank[claim]:
        break
    if not is_counted:
      continue
    for j in range(own_counts):
      x = claim_payoff[rank, j]
      first = (where * own_counts + j) * own_stride
      for h in range(own_width):
        y = own_onehot[first + h] * x
        result[h] = y if j == 0 else result[h] + y
    for h in range(own_width):
      best[h] = max(result[h], best[h])


@jit.kernel(nogil=True, reassociate=True)
def unstored_claim(game, responder, level, h, scratch):
  """Returns the claim that `best_unstored` has found best for class h."""
  onehot = game.hands[responder.role].onehot
  best, claim = -np.inf, -1
  for rank in range(onehot.shape[1]):
    for j in range(onehot.shape[2]):
      x = scratch.claim_payoff[rank, j]
      if onehot[level, rank, j, h] > 0.0 and x > best + TIE:
        best, claim = x, scratch.best_claim[rank, j]
  return claim


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
  """Writes scratch.product, the actor's reach after a row; returns its sum.

  `reach` is [depth, class] float64, the actor's; `enter` has been called.
  """
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  at = depth * scratch.strategy.shape[1]
  number = row - tree.row_begin[node]
  hand_vectors.strategy(
      jit.pointer(table), tree.table_begin[node] + number * width, width,
      jit.pointer(scratch.inverse_sum), at, number == 0,
      jit.pointer(scratch.strategy))
  return hand_vectors.multiply(jit.pointer(reach), at,
                               jit.pointer(scratch.strategy), at, width,
                               jit.pointer(scratch.product))


@jit.forceinline
def descend(hands, levels, reach, product, depth):
  """Writes the reach of a role at the child of a node.

  Args:
    hands: the `round_hands.RoleHands` of the role.
    levels: (hand level of the node, hand level of the child).
    reach: [depth, class] float64, modified in place.
    product: [class] float64, the reach after the row that leads to the child.
    depth: of the child.
  """
  hand_vectors.descend(hand_vectors.hand_pointers(hands), levels,
                       jit.pointer(product), 0, jit.pointer(reach),
                       depth * reach.shape[1])


# The best response.


@jit.kernel(nogil=True, reassociate=True)
def _mark_stored(tree, node, is_stored, mark):
  """Marks the claims that are stored at a node."""
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    is_stored[tree.claim[row]] = mark


@jit.kernel(nogil=True, reassociate=True)
def _compare_row(scratch, depth, number, width):
  """Updates the best row of each class by scratch.result."""
  value, action = scratch.value[depth], scratch.action[depth]
  result = scratch.result
  for h in range(width):
    is_better = result[h] > value[h]
    value[h] = result[h] if is_better else value[h]
    action[h] = number if is_better else action[h]


@jit.kernel(nogil=True, reassociate=True)
def _add_row(scratch, depth, width):
  """Adds scratch.result to the value of a node."""
  value, result = scratch.value[depth], scratch.result
  for h in range(width):
    value[h] += result[h]


@jit.kernel(nogil=True, reassociate=True)
def _finish_own(game, tree, responder, node, scratch, depth, choices):
  """Compares the rows of an own node with claims that are not stored."""
  last = tree.last[node]
  level = game.hand_level[last + 1]
  _mark_stored(tree, node, scratch.is_stored, True)
  best_unstored(game, responder, last, level, scratch.other[depth], scratch)
  _mark_stored(tree, node, scratch.is_stored, False)
  begin = tree.value_begin[node]
  value, action = scratch.value[depth], scratch.action[depth]
  for h in range(tree.value_begin[node + 1] - begin):
    is_better = scratch.best[h] > value[h] + TIE
    choices.gain[begin + h] = scratch.best[h] - value[h] if is_better else 0.0
    choices.action[begin + h] = action[h]
    value[h] = max(scratch.best[h], value[h])
  for h in range(tree.value_begin[node + 1] - begin):
    if choices.gain[begin + h] > 0.0:
      choices.action[begin + h] = -1 - unstored_claim(game, responder, level, h,
                                                      scratch)


@jit.kernel(nogil=True, reassociate=True)
def _best_after_leaf(game, responder, last, level, scratch):
  """Writes scratch.result, the best response where nothing is stored.

  scratch.product is the other's reach, at the hand level of the node before.
  """
  challenge(game, responder, True, last, level, scratch.product, scratch)
  best_unstored(game, responder, last, level, scratch.product, scratch)
  for h in range(game.hands[responder.role].width[level]):
    scratch.result[h] = max(scratch.best[h], scratch.result[h])


@jit.forceinline
def _enter_response(tree, table, responder, node, scratch, depth):
  """Prepares a node."""
  if tree.role[node] == responder.role:
    scratch.value[depth] = -np.inf
  else:
    scratch.value[depth] = 0.0
    enter(tree, table, node, scratch, depth)


@jit.forceinline
def _own_row(game, tree, responder, node, row, scratch, depth):
  """Values a row of the responder, or writes the reach of its child.

  Returns whether to go on at the child.
  """
  claim, last = tree.claim[row], tree.last[node]
  level = game.hand_level[last + 1]
  if tree.child[row] >= 0:
    descend(game.hands[1 - responder.role], (level, game.hand_level[claim + 1]),
            scratch.other, scratch.other[depth], depth + 1)
    return True
  is_dudo = claim == game.num_claims
  challenge(game, responder, is_dudo, last if is_dudo else claim, level,
            scratch.other[depth], scratch)
  _compare_row(scratch, depth, row - tree.row_begin[node],
               game.hands[responder.role].width[level])
  return False


@jit.forceinline
def _other_row(game, tree, table, responder, position, scratch, depth):
  """Values a row of the average policy, or writes the reach of its child.

  `position` is (node, row). Returns whether to go on at the child.
  """
  node, row = position
  if not row_reach(tree, table, node, row, scratch.other, scratch, depth) > 0.0:
    return False
  claim, last = tree.claim[row], tree.last[node]
  level = game.hand_level[last + 1]
  if tree.child[row] >= 0:
    descend(game.hands[1 - responder.role], (level, game.hand_level[claim + 1]),
            scratch.other, scratch.product, depth + 1)
    return True
  if claim == game.num_claims:
    challenge(game, responder, False, last, level, scratch.product, scratch)
  else:
    _best_after_leaf(game, responder, claim, level, scratch)
  _add_row(scratch, depth, game.hands[responder.role].width[level])
  return False


@jit.forceinline
def _add_child(game, tree, responder, node, row, scratch, depth):
  """Takes the value of the child after a row into that of its node."""
  mine = game.hands[responder.role]
  level = game.hand_level[tree.last[node] + 1]
  hand_vectors.ascend(
      hand_vectors.hand_pointers(mine),
      (level, game.hand_level[tree.claim[row] + 1]), jit.pointer(scratch.value),
      (depth + 1) * scratch.value.shape[1], jit.pointer(scratch.result))
  if tree.role[node] == responder.role:
    _compare_row(scratch, depth, row - tree.row_begin[node], mine.width[level])
  else:
    _add_row(scratch, depth, mine.width[level])


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
  compare_claims(game, responder, scratch)
  scratch.other[0, :len(theirs.chance)] = theirs.chance
  scratch.path[0] = 0
  _enter_response(tree, table, responder, 0, scratch, 0)
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
      _enter_response(tree, table, responder, node, scratch, depth)
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
def sum_by_count(hands, level, rank, reach, counts):
  """Writes counts[k], the reach of classes with k dice that match a rank.

  Args:
    hands: the `round_hands.RoleHands`.
    level: their hand level.
    rank: the rank.
    reach: [class] float64.
    counts: [count] float64, modified in place.
  """
  for k in range(hands.onehot.shape[2]):
    total = 0.0
    for h in range(hands.width[level]):
      total += hands.onehot[level, rank, k, h] * reach[h]
    counts[k] = total


@jit.forceinline
def _add_challenge(game, tree, node, row, waiting_reach, scratch, outcomes):
  """Adds the probability of the challenge after a row to the outcomes.

  The row is Dudo or a claim without a child. `waiting_reach` is [class] float64
  of the role that does not act; scratch.product that of the other.
  """
  role, last = tree.role[node], tree.last[node]
  level = game.hand_level[last + 1]
  is_dudo = tree.claim[row] == game.num_claims
  claim = last if is_dudo else tree.claim[row]
  acting, waiting = game.hands[role], game.hands[1 - role]
  sum_by_count(acting, level, game.rank[claim], scratch.product, scratch.counts)
  sum_by_count(waiting, level, game.rank[claim], waiting_reach,
               scratch.payoff_by_count)
  challenger = role if is_dudo else 1 - role
  for j in range(acting.onehot.shape[2]):
    for k in range(waiting.onehot.shape[2]):
      outcomes[challenger, claim, j + k] += (
          scratch.counts[j] * scratch.payoff_by_count[k])


@jit.kernel(nogil=True, reassociate=True)
def play(game, tree, table, scratch, outcomes):
  """Finds the probability of each challenge if both play the average policy.

  It writes outcomes, [role, claim, count] float64: the probability that the
  role challenges the claim and that count dice match.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  for role in range(2):
    chance = game.hands[role].chance
    (scratch.own if role == 0 else scratch.other)[0, :len(chance)] = chance
  outcomes[:] = 0.0
  scratch.path[0] = 0
  enter(tree, table, 0, scratch, 0)
  node, row, depth = 0, tree.row_begin[0], 0
  while not scratch.stop[0]:
    role = tree.role[node]
    reach = scratch.own if role == 0 else scratch.other
    waiting = scratch.other if role == 0 else scratch.own
    if row == tree.row_begin[node + 1]:
      if depth == 0:
        break
      row = tree.parent_row[node] + 1
      depth -= 1
      node = scratch.path[depth]
    elif not row_reach(tree, table, node, row, reach, scratch, depth) > 0.0:
      row += 1
    elif tree.child[row] < 0:
      _add_challenge(game, tree, node, row, waiting[depth], scratch, outcomes)
      row += 1
    else:
      levels = (game.hand_level[tree.last[node] + 1],
                game.hand_level[tree.claim[row] + 1])
      node = tree.child[row]
      depth += 1
      descend(game.hands[role], levels, reach, scratch.product, depth)
      descend(game.hands[1 - role], levels, waiting, waiting[depth - 1], depth)
      scratch.path[depth] = node
      enter(tree, table, node, scratch, depth)
      row = tree.row_begin[node]
