"""Guarded training on a growing tree, for all hands at once: kernels.

The policy of a role learns against an adversary in the other role. Both have
regrets of their own. The policy has stored claims only. The adversary may also
make any other claim, which the policy challenges at once. So the average policy
becomes safe from claims that are not stored, too. Only policies are averaged.

At its nodes the adversary has one virtual row: the best claim that is not
stored, with each hand another one, anew in each iteration. Where a claim of the
policy has no child, the adversary takes what is best, Dudo or a claim, without
regrets.

`learn` traverses the stored nodes depth first, and updates one side of a game.
On the way down it carries the reach probabilities of the hands of both roles,
each with the chance of the hand: own of the role that learns (only if it is the
policy, for the average), other of the other one. On the way up it has the
counterfactual value of each own hand: the sum over the other's hands of their
reach times the payoff.

If the other's reach of a node is zero for all hands, its regrets change only by
the discount, which is applied on the next visit (`update_0` and `update_1` have
the iteration). If the own reach is zero as well, the
subtree is skipped.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import unstored_claims
from dudo_spiel.algorithms.runtime import jit

# Discounted CFR (Brown & Sandholm 2019): positive regrets are discounted by
# t^ALPHA / (t^ALPHA + 1), negative ones by NEGATIVE. Strategies are weighted by
# t^GAMMA, and by the square of the size of the tree, so that those of smaller
# trees are soon worth little.
ALPHA, NEGATIVE, GAMMA, SIZE_POWER = 1.5, 0.75, 2.0, 2.0
_UNIT = 2.0**20  # entries, of the size of a tree
OWN, OTHER = 0, 1  # columns of `LearnScratch.slot`
_DUDO = -1  # instead of a rank: the adversary says Dudo


class LearnTables(NamedTuple):
  """What is learned in both games of a round.

  In game 0 the starter has the policy, and the other role is the adversary; in
  game 1 it is the other way round. So at every node one game has the regrets of
  a policy, and the other one those of an adversary.

  Attributes:
    regret_0: [entry] float, of game 0, by
      `growing_tree.TreeArrays.table_begin`.
    regret_1: [entry] float, of game 1.
    cumulative: [entry] float, sums of the policies' strategies times own reach.
    update_0: [node] int64, the iteration of the last update in game 0.
    update_1: [node] int64, that in game 1.
    unstored_regret: [value] float, the adversary's regret for the best claim
      that is not stored, by `growing_tree.TreeArrays.value_begin`.
    unstored_rank: [value] int8, the rank of that claim.
    unstored_claim: [node, rank, count] int16, the claim, by its rank and the
      adversary's count of it.
  """
  regret_0: np.ndarray
  regret_1: np.ndarray
  cumulative: np.ndarray
  update_0: np.ndarray
  update_1: np.ndarray
  unstored_regret: np.ndarray
  unstored_rank: np.ndarray
  unstored_claim: np.ndarray

  def regret(self, game):
    """Returns the regrets of game 0 or 1, [entry] float."""
    return self[game]


class LearnStep(NamedTuple):
  """One traversal."""
  game: int  # 0 or 1, the role that has the policy
  role: int  # who learns
  iteration: int  # t, from 1
  weight: float  # of the strategy in the average, of the type of the tables
  # [t] float64, the product over s <= t of the discounts
  # s^ALPHA / (s^ALPHA + 1); later t use the last one
  cumulative_discount: np.ndarray
  # [claim, count] float, the role's payoff if it challenges, padded
  challenges: np.ndarray
  # [claim, count] float, its payoff if it is challenged, padded
  challenged: np.ndarray


class LearnScratch(NamedTuple):
  """Memory that a traversal overwrites."""
  # [depth, hand] float, reach probabilities; `slot` says where those of a node
  # are
  own: np.ndarray
  other: np.ndarray
  value: np.ndarray  # [depth, hand] float, counterfactual values
  strategy: np.ndarray  # [depth, hand] float, the strategy of one row
  # [depth, hand] float, 1 / the sum of positive regrets
  inverse_sum: np.ndarray
  result: np.ndarray  # [hand] float, the value of a row
  # [depth, rank, count] float, the other's reach where the adversary learns
  counts: np.ndarray
  reach_counts: np.ndarray  # [rank, count] float, a reach after a row
  payoff: np.ndarray  # [rank, count] float, sums over challenges
  has_payoff: np.ndarray  # [rank] bool, whether there are any
  claims: unstored_claims.ClaimScratch
  # [depth] int64, the nodes from the first one to the present one
  path: np.ndarray
  # [depth, 2] int64, the depths at which own and other reach are, -1 for 0
  slot: np.ndarray


class Branches(NamedTuple):
  """The subtrees after the rows of the root, which threads share.

  `split` writes the reaches, `learn_branches` the values.

  Attributes:
    own: [row, hand] float, the reach of the role that learns.
    other: [row, hand] float, the reach of the other role.
    value: [row, hand] float, counterfactual values.
    slot: [row, 2] int64, 0 if own and other reach are not 0, -1 if they are.
  """
  own: np.ndarray
  other: np.ndarray
  value: np.ndarray
  slot: np.ndarray


class _Traversal(NamedTuple):
  """A traversal: what its parts have in common.

  The pointers have the names of the arrays in `LearnTables` and `LearnScratch`.
  """
  role: int
  is_policy: bool  # whether the policy learns, not the adversary
  game: object  # the `round_hands.RecallRound`
  challenges: np.ndarray
  challenged: np.ndarray
  # [claim, count] float, the adversary's payoffs if it challenges and if it is
  # challenged
  adversary_challenges: np.ndarray
  adversary_challenged: np.ndarray
  mine: hand_vectors.HandPointers  # of the role that learns
  theirs: hand_vectors.HandPointers  # of the other role
  stride: int  # of vectors in the scratch
  num_counts: int  # the second dimension of [rank, count] arrays
  weight: float
  regret: object  # pointer to those of the game
  update: object
  cumulative: object
  unstored_regret: object
  unstored_rank: object
  own: object
  other: object
  value: object
  strategy: object
  inverse_sum: object
  result: object
  payoff: object


class _Node(NamedTuple):
  """A node on the path."""
  index: int  # of the node
  depth: int
  is_own: bool  # whether the role that learns acts
  table: int  # where its entries begin in the tables
  hands: int  # where its hands begin
  at: int  # where its vectors begin in the scratch arrays
  own_at: int  # where the own reach begins, negative if it is 0
  other_at: int  # where the other's reach begins, negative if it is 0


def weight(iteration, num_entries):
  """Returns the weight of an iteration, on a tree of some size, a float."""
  return float(iteration)**GAMMA * (num_entries / _UNIT)**SIZE_POWER


def total_weight(iterations, num_entries):
  """Returns the weight of all iterations so far if the tree never grew."""
  return iterations * weight(iterations + 1, num_entries) / (GAMMA + 1.0)


def new_scratch(hands, dtype):
  """Returns a new `LearnScratch` for a `round_hands.RoundHands`."""
  depths, max_width = hands.order.num_claims + 2, int(hands.width.max())
  shape = hands.order.num_sides, hands.num_counts

  def vectors(*size):
    return np.zeros((*size, max_width), dtype)

  return LearnScratch(
      *(vectors(depths) for _ in range(5)), vectors(),
      np.zeros((depths, *shape), dtype), np.zeros(shape, dtype),
      np.zeros(shape, dtype), np.zeros(shape[0], np.bool_),
      unstored_claims.new_scratch(hands, dtype), np.zeros(depths, np.int64),
      np.zeros((depths, 2), np.int64))


def new_branches(hands, tree, dtype):
  """Returns new `Branches` for a tree."""
  rows, max_width = int(tree.row_begin[1]), int(hands.width.max())
  return Branches(*(np.zeros((rows, max_width), dtype) for _ in range(3)),
                  np.zeros((rows, 2), np.int64))


# The parts of `learn` share these arguments:
#
#   walk: the `_Traversal`.
#   tree: the `growing_tree.TreeArrays`.
#   tables, step: the `LearnTables`, modified in place, and the `LearnStep`.
#   scratch: the `LearnScratch`, modified in place.
#   node, row: the `_Node`, and one of its rows.
#   discounts: (of positive regrets, of negative ones).


@jit.forceinline
def _traversal(game, tables, step, scratch):
  """Returns the `_Traversal` of a step."""
  mine = hand_vectors.hand_pointers(game.hands[step.role])
  theirs = hand_vectors.hand_pointers(game.hands[1 - step.role])
  regret, update = tables.regret_0, tables.update_0
  if step.game == 1:
    regret, update = tables.regret_1, tables.update_1
  is_policy = step.role == step.game
  challenges, challenged = step.challenges, step.challenged
  if is_policy:
    challenges, challenged = -step.challenged, -step.challenges
  return _Traversal(
      step.role, is_policy, game, step.challenges, step.challenged, challenges,
      challenged, mine, theirs, scratch.value.shape[1],
      scratch.payoff.shape[1], step.weight, jit.pointer(regret),
      jit.pointer(update),
      jit.pointer(tables.cumulative), jit.pointer(tables.unstored_regret),
      jit.pointer(tables.unstored_rank), jit.pointer(scratch.own),
      jit.pointer(scratch.other),
      jit.pointer(scratch.value), jit.pointer(scratch.strategy),
      jit.pointer(scratch.inverse_sum), jit.pointer(scratch.result),
      jit.pointer(scratch.payoff))


@jit.forceinline
def _node(walk, tree, scratch, depth):
  """Returns the `_Node` at a depth of the path."""
  index = scratch.path[depth]
  return _Node(index, depth, tree.role[index] == walk.role,
               tree.table_begin[index], tree.value_begin[index],
               depth * walk.stride, scratch.slot[depth, OWN] * walk.stride,
               scratch.slot[depth, OTHER] * walk.stride)


# Challenges. `walk.payoff` has sums of payoffs by rank and own count, which
# `_spend` adds to values.


@jit.forceinline
def _open_payoff(walk, scratch, rank):
  """Returns where the payoffs of a rank are, which are 0 at first."""
  first = rank * walk.num_counts
  if not scratch.has_payoff[rank]:
    scratch.has_payoff[rank] = True
    hand_vectors.clear_counts(walk.num_counts, walk.payoff, first)
  return first


@jit.forceinline
def _pay(walk, scratch, claim, payoffs, counts, first):
  """Adds to the payoffs what a challenge gives, against counts[first:]."""
  at = _open_payoff(walk, scratch, walk.game.rank[claim])
  hand_vectors.fold((walk.num_counts, walk.theirs.num_counts), counts, first,
                    payoffs, claim, walk.payoff, at)


@jit.forceinline
def _spend(walk, scratch, out, at):
  """Adds the payoffs to the value of every own hand, and clears them."""
  for rank in range(walk.mine.num_ranks):
    if scratch.has_payoff[rank]:
      scratch.has_payoff[rank] = False
      hand_vectors.add_payoffs(walk.mine, rank, walk.payoff,
                               rank * walk.num_counts, out, at)


@jit.forceinline
def _pay_for_reach(walk, scratch, claim, payoffs, reach, at):
  """Adds to the payoffs what a challenge gives, against a reach."""
  counts = jit.pointer(scratch.reach_counts)
  hand_vectors.sum_by_count(walk.theirs, walk.game.rank[claim], reach, at,
                            counts, 0)
  _pay(walk, scratch, claim, payoffs, counts, 0)




@jit.forceinline
def _pay_for_claims(walk, scratch, reach, at, best_claim):
  """Adds to the payoffs what challenges of the adversary's claims give.

  Args:
    walk: as everywhere.
    scratch: as everywhere; claims.best_rank has the rank that each hand of the
      adversary claims, and result is overwritten.
    reach: pointer to the adversary's reach.
    at: where it begins.
    best_claim: [rank, count], the claims.
  """
  zero = jit.cast_like(0.0, reach[at])
  choice = jit.pointer(scratch.claims.best_rank)
  counts = jit.pointer(scratch.reach_counts)
  for rank in range(walk.theirs.num_ranks):
    if not hand_vectors.choose(choice, rank, reach, at, walk.theirs.width,
                               walk.result) > zero:
      continue
    hand_vectors.sum_by_count(walk.theirs, rank, walk.result, 0, counts, 0)
    first = _open_payoff(walk, scratch, rank)
    for k in range(walk.theirs.num_counts):
      if counts[k] > zero:
        hand_vectors.fold_one(
            walk.num_counts, counts[k], walk.challenges,
            np.int64(best_claim[rank, k]), k, walk.payoff, first)


# The adversary's claims that are not stored.


@jit.kernel(nogil=True)
def _to_ranks(width, choice, ranks, at):
  """Writes ranks, which are floats, as int8."""
  for h in range(width):
    ranks[at + h] = np.int8(choice[h])


@jit.kernel(nogil=True)
def _from_ranks(width, ranks, at, choice):
  """Writes ranks as floats."""
  for h in range(width):
    choice[h] = ranks[at + h]


@jit.forceinline
def _best_answers(walk, hands, theirs, claim, reach, at, scratch):
  """Writes result, what the adversary gets after a claim without a child.

  scratch.claims has the rank that each hand claims, or `_DUDO`, and the claims.

  Args:
    walk: as everywhere.
    hands: the `hand_vectors.HandPointers` of the adversary.
    theirs: those of the policy.
    claim: the policy's claim.
    reach: pointer to the policy's reach after the claim.
    at: where it begins.
    scratch: as everywhere.
  """
  counts, rank = scratch.reach_counts, walk.game.rank[claim]
  hand_vectors.sum_by_rank(theirs, reach, at, counts)
  payoff = jit.pointer(scratch.claims.payoff)
  hand_vectors.clear_counts(walk.num_counts, payoff, 0)
  hand_vectors.fold((walk.num_counts, theirs.num_counts), jit.pointer(counts),
                    rank * walk.num_counts, walk.adversary_challenges, claim,
                    payoff, 0)
  hand_vectors.write_payoffs(hands, rank, payoff, 0, walk.result, 0)
  hand_vectors.fill(_DUDO, hands.width, jit.pointer(scratch.claims.best_rank),
                    0)
  claimant = unstored_claims.Claimant(hands, theirs.num_counts,
                                      walk.adversary_challenged, 0.0)
  unstored_claims.raise_to_best(walk.game, claimant, claim, counts,
                                scratch.claims, walk.result, 0)


@jit.forceinline
def _meet_answers(walk, claim, node, own_at, scratch):
  """Writes result: the adversary answers a claim of the policy as is best."""
  _best_answers(walk, walk.theirs, walk.mine, claim, walk.own, own_at, scratch)
  zero = jit.cast_like(0.0, walk.own[own_at])
  _pay_for_claims(walk, scratch, walk.other, node.other_at,
                  scratch.claims.best_claim)
  if hand_vectors.choose(jit.pointer(scratch.claims.best_rank), _DUDO,
                         walk.other, node.other_at, walk.theirs.width,
                         walk.result) > zero:
    _pay_for_reach(walk, scratch, claim, walk.challenged, walk.result, 0)
  hand_vectors.clear(walk.mine.width, walk.result, 0)
  _spend(walk, scratch, walk.result, 0)


@jit.forceinline
def _meet_unstored(walk, tables, scratch, node):
  """Adds to the policy's values what the adversary's virtual row gives."""
  width, zero = walk.theirs.width, jit.cast_like(0.0, walk.value[node.at])
  hand_vectors.strategy(walk.unstored_regret, node.hands, width,
                        walk.inverse_sum, node.at, False, walk.strategy)
  if hand_vectors.multiply(walk.other, node.other_at, walk.strategy, node.at,
                           width, walk.strategy, node.at) > zero:
    _from_ranks(width, walk.unstored_rank, node.hands,
                jit.pointer(scratch.claims.best_rank))
    _pay_for_claims(walk, scratch, walk.strategy, node.at,
                    tables.unstored_claim[node.index])
    _spend(walk, scratch, walk.value, node.at)


@jit.forceinline
def _learn_unstored(walk, tree, tables, scratch, node, discounts):
  """Updates the adversary's virtual row at its node."""
  width, claims = walk.mine.width, scratch.claims
  hand_vectors.fill(-np.inf, width, walk.result, 0)
  hand_vectors.fill(0.0, width, jit.pointer(claims.best_rank), 0)
  hand_vectors.clear_counts(walk.mine.num_ranks * walk.num_counts,
                            jit.pointer(claims.best_claim), 0)
  unstored_claims.mark_stored(tree, node.index, claims.is_stored, True)
  claimant = unstored_claims.Claimant(walk.mine, walk.theirs.num_counts,
                                      walk.challenged, 0.0)
  unstored_claims.raise_to_best(
      walk.game, claimant, tree.last[node.index], scratch.counts[node.depth],
      claims, walk.result, 0)
  unstored_claims.mark_stored(tree, node.index, claims.is_stored, False)
  best_claim = tables.unstored_claim[node.index]
  for rank in range(best_claim.shape[0]):
    for k in range(best_claim.shape[1]):
      best_claim[rank, k] = np.int16(claims.best_claim[rank, k])
  hand_vectors.learn_unstored(
      walk.result, walk.inverse_sum, node.at, width, walk.unstored_regret,
      node.hands, walk.value, discounts)
  _to_ranks(width, jit.pointer(claims.best_rank), walk.unstored_rank,
            node.hands)


# Nodes and rows.


@jit.forceinline
def _discounts(step, first, last, zero):
  """Returns (positive, negative), the discounts of iterations after first."""
  products = step.cumulative_discount
  longest = len(products) - 1
  return (jit.cast_like(products[min(last, longest)] /
                        products[min(first, longest)], zero),
          jit.cast_like(NEGATIVE**(last - first), zero))


@jit.forceinline
def _catch_up(walk, tables, step, node, rows):
  """Applies the discounts that an own node has missed."""
  updated, before = walk.update[node.index], step.iteration - 1
  walk.update[node.index] = step.iteration
  if updated < before:
    discounts = _discounts(step, updated, before, walk.value[node.at])
    # The values of the node are still 0.
    for row in range(rows):
      hand_vectors.discount(walk.value, node.at, walk.mine.width, walk.regret,
                            node.table + row * walk.mine.width, discounts)
    if not walk.is_policy:
      hand_vectors.discount(walk.value, node.at, walk.mine.width,
                            walk.unstored_regret, node.hands, discounts)


@jit.forceinline
def _enter(walk, tree, tables, step, scratch, node):
  """Prepares the vectors of a node, and makes up for missed discounts."""
  hand_vectors.clear(walk.mine.width, walk.value, node.at)
  begin = tree.row_begin[node.index]
  rows = tree.row_begin[node.index + 1] - begin
  if node.is_own:
    if node.other_at >= 0:
      _catch_up(walk, tables, step, node, rows)
      if not walk.is_policy:
        hand_vectors.sum_by_rank(walk.theirs, walk.other, node.other_at,
                                 scratch.counts[node.depth])
  elif node.other_at < 0:
    return
  width = walk.mine.width if node.is_own else walk.theirs.width
  if node.is_own == walk.is_policy:
    hand_vectors.inverse_sums(walk.regret, node.table, rows, width,
                              walk.inverse_sum, node.at)
  else:  # the adversary acts
    hand_vectors.inverse_sums_with(
        walk.unstored_regret, node.hands, walk.regret, node.table, rows, width,
        walk.inverse_sum, node.at)


@jit.forceinline
def _own_row(walk, tree, scratch, node, row):
  """Learns an action of the role; the value of a child is added later.

  Returns (int, int), the slots of own and other reach after the row.
  """
  width = walk.mine.width
  number = row - tree.row_begin[node.index]
  first = node.table + number * width
  hand_vectors.strategy(walk.regret, first, width, walk.inverse_sum, node.at,
                        number == 0, walk.strategy)
  own_slot, other_slot = (scratch.slot[node.depth, OWN],
                          scratch.slot[node.depth, OTHER])
  below = node.at + walk.stride
  if own_slot >= 0:
    total = hand_vectors.multiply(walk.own, node.own_at, walk.strategy, node.at,
                                  width, walk.own, below)
    hand_vectors.add_product(walk.weight, walk.own, below, width,
                             walk.cumulative, first)
    own_slot = node.depth + 1 if total > jit.cast_like(0.0, total) else -1
  if tree.child[row] < 0 and other_slot >= 0:
    claim = tree.claim[row]
    if claim == walk.game.num_claims:
      _challenge(walk, scratch, node, tree.last[node.index], walk.challenges)
    elif own_slot < 0:
      _challenge(walk, scratch, node, claim, walk.challenged)
    else:
      _meet_answers(walk, claim, node, below, scratch)
    hand_vectors.learn_row(walk.result, 0, walk.strategy, node.at, width,
                           walk.regret, first, walk.value)
  return own_slot, other_slot


@jit.forceinline
def _challenge(walk, scratch, node, claim, payoffs):
  """Writes result, the values of a challenge at an own node."""
  hand_vectors.clear(walk.mine.width, walk.result, 0)
  if walk.is_policy:
    _pay_for_reach(walk, scratch, claim, payoffs, walk.other, node.other_at)
  else:
    _pay(walk, scratch, claim, payoffs,
         jit.pointer(scratch.counts[node.depth]),
         walk.game.rank[claim] * walk.num_counts)
  _spend(walk, scratch, walk.result, 0)


@jit.forceinline
def _other_row(walk, tree, scratch, node, row):
  """Follows an action of the other role; the value of a child is added later.

  Returns (int, int), the slots of own and other reach after the row.
  """
  own_slot, width = scratch.slot[node.depth, OWN], walk.theirs.width
  if node.other_at < 0:
    return own_slot, -1
  number = row - tree.row_begin[node.index]
  hand_vectors.strategy(walk.regret, node.table + number * width, width,
                        walk.inverse_sum, node.at, number == 0, walk.strategy)
  below = node.at + walk.stride
  total = hand_vectors.multiply(walk.other, node.other_at, walk.strategy,
                                node.at, width, walk.other, below)
  if not total > jit.cast_like(0.0, total):
    return own_slot, -1
  claim = tree.claim[row]
  if claim == walk.game.num_claims:
    _pay_for_reach(walk, scratch, tree.last[node.index], walk.challenged,
                   walk.other, below)
  elif tree.child[row] < 0 and walk.is_policy:
    _pay_for_reach(walk, scratch, claim, walk.challenges, walk.other, below)
  elif tree.child[row] < 0:
    _best_answers(walk, walk.mine, walk.theirs, claim, walk.other, below,
                  scratch)
    hand_vectors.add(walk.result, 0, walk.mine.width, walk.value, node.at)
  _spend(walk, scratch, walk.value, node.at)
  return own_slot, node.depth + 1


@jit.forceinline
def _add_child(walk, tree, scratch, node, row):
  """Adds the value of the child after a row."""
  below = node.depth + 1
  if node.other_at < 0 or scratch.slot[below, OTHER] < 0:
    return
  if node.is_own:
    number = row - tree.row_begin[node.index]
    hand_vectors.learn_row(
        walk.value, below * walk.stride, walk.strategy, node.at,
        walk.mine.width, walk.regret, node.table + number * walk.mine.width,
        walk.value)
  else:
    hand_vectors.add(walk.value, below * walk.stride, walk.mine.width,
                     walk.value, node.at)


@jit.forceinline
def _leave(walk, tree, tables, scratch, node, discounts):
  """Updates the regrets of a node after its last row."""
  if node.other_at < 0:
    return
  if not node.is_own:
    if walk.is_policy:
      _meet_unstored(walk, tables, scratch, node)
    return
  if not walk.is_policy:
    _learn_unstored(walk, tree, tables, scratch, node, discounts)
  width = walk.mine.width
  for row in range(tree.row_begin[node.index + 1] - tree.row_begin[node.index]):
    hand_vectors.discount(walk.value, node.at, width, walk.regret,
                          node.table + row * width, discounts)


@jit.forceinline
def _begin(walk, tree, tables, step, scratch, node):
  """Prepares the traversal of a subtree; its reaches are in the scratch."""
  unstored_claims.compare_claims(walk.game.rank, walk.adversary_challenged,
                                 scratch.claims.ends_rank)
  scratch.has_payoff[:] = False
  scratch.path[0] = node
  root = _node(walk, tree, scratch, 0)
  _enter(walk, tree, tables, step, scratch, root)
  return root


@jit.forceinline
def _begin_at_root(game, walk, tree, tables, step, scratch):
  """Prepares the traversal of the whole tree."""
  own, other = game.hands[step.role].chance, game.hands[1 - step.role].chance
  scratch.own[0, :len(own)], scratch.other[0, :len(other)] = own, other
  scratch.slot[0, OWN], scratch.slot[0, OTHER] = 0 if walk.is_policy else -1, 0
  return _begin(walk, tree, tables, step, scratch, 0)


@jit.forceinline
def _learn(walk, tree, tables, step, scratch, node, values):
  """Updates one side of a game in a subtree that `_begin` has begun.

  `values` are as for `learn`.
  """
  discounts = _discounts(step, step.iteration - 1, step.iteration,
                         scratch.value[0, 0])
  is_known = len(values) > 0
  row = tree.row_begin[node.index]
  while True:
    if row < tree.row_begin[node.index + 1]:
      if node.is_own:
        slots = _own_row(walk, tree, scratch, node, row)
      else:
        slots = _other_row(walk, tree, scratch, node, row)
      if tree.child[row] < 0 or slots[0] < 0 and slots[1] < 0:
        row += 1
        continue
      depth = node.depth + 1
      scratch.slot[depth, OWN], scratch.slot[depth, OTHER] = slots
      if not is_known:
        scratch.path[depth] = tree.child[row]
        node = _node(walk, tree, scratch, depth)
        _enter(walk, tree, tables, step, scratch, node)
        row = tree.row_begin[node.index]
        continue
      scratch.value[depth] = values[row]
    else:
      _leave(walk, tree, tables, scratch, node, discounts)
      if node.depth == 0:
        return
      row = tree.parent_row[node.index]
      node = _node(walk, tree, scratch, node.depth - 1)
    _add_child(walk, tree, scratch, node, row)
    row += 1


@jit.kernel(nogil=True, reassociate=True)
def learn(game, tree, tables, step, scratch, values):
  """Updates one side of a game.

  The counterfactual values are in scratch.value[0] afterwards.

  Args:
    game: the `round_hands.RecallRound`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`, modified in place, as `scratch` is.
    step: the `LearnStep`.
    scratch: the `LearnScratch`.
    values: [row, hand] float, the values of the branches by `learn_branches`,
      after which only the root is left to update; [0, hand] to update all.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  tables, step = jit.borrowed(tables), jit.borrowed(step)
  values = jit.borrowed(values)
  walk = _traversal(game, tables, step, scratch)
  node = _begin_at_root(game, walk, tree, tables, step, scratch)
  _learn(walk, tree, tables, step, scratch, node, values)


@jit.kernel(nogil=True, reassociate=True)
def split(game, tree, tables, step, scratch, branches):
  """Writes the reaches of the branches; `learn` has the other arguments."""
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  tables, step = jit.borrowed(tables), jit.borrowed(step)
  walk = _traversal(game, tables, step, scratch)
  node = _begin_at_root(game, walk, tree, tables, step, scratch)
  width = walk.mine.width if node.is_own else walk.theirs.width
  for row in range(len(branches.slot)):
    hand_vectors.strategy(walk.regret, row * width, width, walk.inverse_sum, 0,
                          row == 0, walk.strategy)
    own, other = branches.own[row], branches.other[row]
    own[:], other[:] = scratch.own[0], scratch.other[0]
    branches.slot[row] = scratch.slot[0]
    acting = jit.pointer(own if node.is_own else other)
    total = hand_vectors.multiply(acting, 0, walk.strategy, 0, width, acting, 0)
    if not total > jit.cast_like(0.0, total):
      branches.slot[row, OWN if node.is_own else OTHER] = -1


@jit.kernel(nogil=True, reassociate=True)
def learn_branches(game, tree, tables, steps, order, counter, scratch,
                   branches):
  """Updates branches of both games until none is left.

  Args:
    game: as for `learn`, like the next two.
    tree: as above.
    tables: as above.
    steps: for each game the `LearnStep`.
    order: [branch, 2] int64, the game and the row of each branch, in the order
      in which threads begin them.
    counter: [1] int64, how many were begun; threads share it.
    scratch: the `LearnScratch` of the thread.
    branches: for each game the `Branches`, modified in place.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  tables, steps = jit.borrowed(tables), jit.borrowed(steps)
  branches = jit.borrowed(branches)
  nothing = branches[0].value[:0]
  while True:
    number = jit.fetch_increment(counter)
    if number >= len(order):
      return
    index, row = order[number]
    step, part = steps[index], branches[index]
    if part.slot[row, OWN] < 0 and part.slot[row, OTHER] < 0:
      continue
    scratch.own[0] = part.own[row]
    scratch.other[0] = part.other[row]
    scratch.slot[0] = part.slot[row]
    walk = _traversal(game, tables, step, scratch)
    node = _begin(walk, tree, tables, step, scratch, tree.child[row])
    _learn(walk, tree, tables, step, scratch, node, nothing)
    part.value[row] = scratch.value[0]


# Tables when the tree changes.


def new_tables(hands, tree, dtype):
  """Returns `LearnTables` with zeros for a tree."""
  dtypes = table_dtypes(dtype)
  return LearnTables(**{
      name: np.zeros(shape, dtypes[name])
      for name, shape in table_shapes(hands, tree).items()})


def table_shapes(hands, tree):
  """Returns {name: tuple of int}, the shapes of `LearnTables` for a tree."""
  entries, values = (tree.num_entries,), (int(tree.value_begin[-1]),)
  nodes = tree.num_nodes
  claims = nodes, hands.order.num_sides, max(hands.dice) + 1
  return dict(zip(LearnTables._fields, (
      entries, entries, entries, (nodes,), (nodes,), values, values, claims)))


def table_dtypes(dtype):
  """Returns {name: type} of `LearnTables` with floats of a type."""
  kinds = dict.fromkeys(LearnTables._fields, np.dtype(dtype))
  return kinds | {name: np.dtype(kind) for name, kind in (
      ("update_0", np.int64), ("update_1", np.int64),
      ("unstored_rank", np.int8), ("unstored_claim", np.int16))}


def moved_by_node(old, new, node_source, tables, iteration):
  """Returns tables after a change of the tree; those of rows are moved apart.

  Args:
    old: the `growing_tree.TreeArrays` before.
    new: the `growing_tree.TreeArrays` after.
    node_source: [new node] int64, the old node, -1 for a new one.
    tables: the `LearnTables`.
    iteration: how many iterations were run, for new nodes.
  """
  is_new, source = node_source < 0, np.maximum(node_source, 0)
  width = np.diff(new.value_begin)
  index = np.repeat(old.value_begin[source] - new.value_begin[:-1], width)
  index += np.arange(int(new.value_begin[-1]))
  is_new_value = np.repeat(is_new, width)
  index[is_new_value] = 0

  def moved(table, index, is_new, start):
    result = table[index]
    result[is_new] = start
    return result

  return tables._replace(
      update_0=moved(tables.update_0, source, is_new, iteration),
      update_1=moved(tables.update_1, source, is_new, iteration),
      unstored_regret=moved(tables.unstored_regret, index, is_new_value, 0),
      unstored_rank=moved(tables.unstored_rank, index, is_new_value, 0),
      unstored_claim=moved(tables.unstored_claim, source, is_new, 0))


@jit.kernel(nogil=True)
def forget_stored(game, tree, tables):
  """Clears regrets for claims that were not stored before, but are now."""
  for node in range(len(tree.last)):
    matches = game.hands[tree.role[node]].matches
    begin = tree.value_begin[node]
    for h in range(tree.value_begin[node + 1] - begin):
      if tables.unstored_regret[begin + h] > 0:
        rank = tables.unstored_rank[begin + h]
        claim = tables.unstored_claim[node, rank, matches[rank, h]]
        for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
          if tree.claim[row] == claim:
            tables.unstored_regret[begin + h] = 0


@jit.kernel(nogil=True)
def find_needed(tree, tables, min_weight, reach, is_kept):
  """Finds the rows that somebody needs.

  A row is needed if the policy or the adversary regrets it, if it was made
  often enough, or if the other role's own moves lead to the node after it.

  Args:
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`.
    min_weight: sums of strategies that are at most this count as 0.
    reach: [node, role] float64, modified in place: sums of strategies of the
      last own move before the node.
    is_kept: [row] bool, modified in place.
  """
  reach[0] = np.inf
  for node in range(len(tree.last)):
    role = tree.role[node]
    width = tree.value_begin[node + 1] - tree.value_begin[node]
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      first = tree.table_begin[node] + (row - tree.row_begin[node]) * width
      total, is_needed = 0.0, row == tree.row_begin[node]
      for i in range(first, first + width):
        total += tables.cumulative[i]
        is_needed = (is_needed or tables.regret_0[i] > 0 or
                     tables.regret_1[i] > 0)
      child = tree.child[row]
      is_needed = is_needed or total > min_weight
      if child >= 0:
        reach[child, role] = total
        reach[child, 1 - role] = reach[node, 1 - role]
        is_needed = is_needed or reach[node, 1 - role] > min_weight
      is_kept[row] = is_needed
