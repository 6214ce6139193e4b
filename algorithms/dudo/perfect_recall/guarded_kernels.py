"""Guarded training on a growing tree, for all hands at once: kernels."""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

OWN, OTHER = 0, 1  # columns of `slot`
_DUDO = -1.0  # a rank: the adversary says Dudo


class GuardedTables(NamedTuple):
  """What is learned."""
  regret: np.ndarray  # [entry] float, of the policies
  cumulative: np.ndarray  # [entry] float
  adversary_regret: np.ndarray  # [entry] float
  unstored_regret: np.ndarray  # [value] float
  unstored_rank: np.ndarray  # [value] int8
  unstored_claim: np.ndarray  # [node, rank, count] int16
  policy_update: np.ndarray  # [node] int64
  adversary_update: np.ndarray  # [node] int64


class GuardedStep(NamedTuple):
  """One walk."""
  role: int  # who learns
  is_policy: bool  # whether the policy of the role learns, else the adversary
  iteration: int
  weight: float
  cumulative_discount: np.ndarray  # [t] float64
  negative_discount: float
  challenges: np.ndarray  # [claim, count] float, of the learner
  challenged: np.ndarray


class GuardedScratch(NamedTuple):
  """Memory that a walk overwrites."""
  own: np.ndarray  # [depth, class] float
  other: np.ndarray  # [depth, class] float
  value: np.ndarray
  strategy: np.ndarray
  inverse_sum: np.ndarray
  result: np.ndarray  # [class]
  best_rank: np.ndarray  # [class] float
  counts: np.ndarray  # [depth, rank, count] float
  payoff: np.ndarray  # [rank, count] float
  is_counted: np.ndarray  # [depth, rank] bool
  is_paid: np.ndarray  # [rank] bool
  best_claim: np.ndarray  # [rank, count] int16
  is_stored: np.ndarray  # [claim] bool
  ends_rank: np.ndarray  # [claim] bool
  path: np.ndarray  # [depth] int64
  slot: np.ndarray  # [depth, 2] int64, where the reaches are; -1 if they are 0


class _View(NamedTuple):
  role: int
  is_policy: bool
  num_claims: int
  rank: object
  mine: hand_vectors.HandPointers
  theirs: hand_vectors.HandPointers
  num_ranks: int
  own_width: int
  other_width: int
  stride: int  # of a line of scratch
  num_counts: int  # stride of counts, payoff, best_claim


class _Pointers(NamedTuple):
  regret: object  # of the learner
  other_regret: object
  cumulative: object
  unstored_regret: object
  unstored_rank: object
  own: object
  other: object
  value: object
  strategy: object
  inverse_sum: object
  result: object
  best_rank: object
  counts: object
  payoff: object


class _Node(NamedTuple):
  index: int
  is_own: bool
  table: int
  first_value: int
  at: int
  own_at: int  # where own reach begins, -1 if 0
  other_at: int


def new_scratch(hands, dtype):
  depths = hands.order.num_claims + 2
  width = int(hands.width.max())
  counts, ranks = max(hands.dice) + 1, hands.order.num_sides
  claims = hands.order.num_claims

  def vectors(*shape):
    return np.zeros((*shape, width), dtype)
  return GuardedScratch(
      *(vectors(depths) for _ in range(5)), vectors(), vectors(),
      np.zeros((depths + 2, ranks, counts), dtype), np.zeros((ranks, counts), dtype),
      np.zeros((depths, ranks), np.bool_), np.zeros(ranks, np.bool_),
      np.zeros((ranks, counts), np.int16), np.zeros(claims + 1, np.bool_),
      np.zeros(claims, np.bool_), np.zeros(depths, np.int64),
      np.zeros((depths, 2), np.int64))


# Vectors.


@jit.forceinline
def _count(hands, rank, reach, at, counts, first):
  """Writes the reach by how many dice of a hand match a rank."""
  zero = jit.cast_like(0.0, reach[at])
  width, size = hands.width[0], simd.strip_size(reach)
  for k in range(hands.num_counts):
    begin = (rank * hands.num_counts + k) * hands.stride
    total = simd.splat(zero, simd.STRIP)
    for h in range(0, width, size):
      total = simd.multiply_add(
          simd.load(hands.onehot, np.uintp(begin + h), simd.STRIP),
          simd.load(reach, np.uintp(at + h), simd.STRIP), total)
    counts[first + k] = simd.total(total)


@jit.forceinline
def _spread(hands, rank, payoff, first, h, zero):
  """Returns the payoffs of a strip of hands by their counts of a rank."""
  total = simd.splat(zero, simd.STRIP)
  begin = rank * hands.num_counts * hands.stride + h
  for j in range(hands.num_counts):
    total = simd.multiply_add(
        simd.load(hands.onehot, np.uintp(begin + j * hands.stride), simd.STRIP),
        simd.splat(payoff[first + j], simd.STRIP), total)
  return total


@jit.forceinline
def _write_payoffs(hands, rank, payoff, first, out, at):
  zero, size = jit.cast_like(0.0, out[at]), simd.strip_size(out)
  for h in range(0, hands.width[0], size):
    simd.store(out, np.uintp(at + h),
               _spread(hands, rank, payoff, first, h, zero))


@jit.forceinline
def _add_payoffs(hands, rank, payoff, first, out, at):
  zero, size = jit.cast_like(0.0, out[at]), simd.strip_size(out)
  for h in range(0, hands.width[0], size):
    simd.store(out, np.uintp(at + h), simd.load(
        out, np.uintp(at + h), simd.STRIP) + _spread(
            hands, rank, payoff, first, h, zero))


@jit.forceinline
def _raise_to_payoffs(hands, rank, payoff, first, best, best_rank):
  """Replaces best[h] and its rank where the payoff is larger."""
  zero, size = jit.cast_like(0.0, best[0]), simd.strip_size(best)
  this = simd.splat(jit.cast_like(rank, zero), simd.STRIP)
  for h in range(0, hands.width[0], size):
    new = _spread(hands, rank, payoff, first, h, zero)
    old = simd.load(best, np.uintp(h), simd.STRIP)
    more = new - old
    simd.store(best, np.uintp(h), simd.where_above(more, zero, new, old))
    simd.store(best_rank, np.uintp(h), simd.where_above(
        more, zero, this, simd.load(best_rank, np.uintp(h), simd.STRIP)))


# Challenges.


@jit.forceinline
def _own_counts(view, pointers, scratch, node, depth, rank):
  """Returns where the other's reach of an own node by count begins."""
  first = (depth * view.num_ranks + rank) * view.num_counts
  if not scratch.is_counted[depth, rank]:
    scratch.is_counted[depth, rank] = True
    _count(view.theirs, rank, pointers.other, node.other_at, pointers.counts,
           first)
  return first


@jit.forceinline
def _fold(view, counts, first, payoffs, claim, payoff, at):
  """Writes payoff[at + j], for each own count j, from the other's counts."""
  for j in range(view.mine.num_counts):
    total = jit.cast_like(0.0, counts[first])
    for k in range(view.theirs.num_counts):
      total += counts[first + k] * payoffs[claim, j + k]
    payoff[at + j] = total


@jit.forceinline
def _fold_more(view, counts, first, payoffs, claim, payoff, at):
  for j in range(view.mine.num_counts):
    total = jit.cast_like(0.0, counts[first])
    for k in range(view.theirs.num_counts):
      total += counts[first + k] * payoffs[claim, j + k]
    payoff[at + j] += total


@jit.kernel(nogil=True, reassociate=True)
def _best_of_rank(num_claims, ranks, rank, last, num_mine, num_theirs, counts,
                  first, challenged, payoff, at, scratch):
  """Finds the best unstored claim of a rank for each own count.

  Returns whether there is one.
  """
  found = False
  for claim in range(last + 1, num_claims):
    if ranks[claim] != rank or scratch.is_stored[claim]:
      continue
    for j in range(num_mine):
      total = jit.cast_like(0.0, counts[first])
      for k in range(num_theirs):
        total += counts[first + k] * challenged[claim, j + k]
      if not found or total > payoff[at + j]:
        payoff[at + j] = total
        scratch.best_claim[rank, j] = claim
    found = True
    if scratch.ends_rank[claim]:
      break
  return found


@jit.forceinline
def _raise_to_unstored(view, hands, num_theirs, last, counts, first,
                       challenged, pointers, scratch):
  """Raises result and best_rank to the best claims after the last one."""
  for rank in range(view.num_ranks):
    at = rank * view.num_counts
    if _best_of_rank(view.num_claims, view.rank, rank, last, hands.num_counts,
                     num_theirs, counts, first + at, challenged,
                     pointers.payoff, at, scratch):
      _raise_to_payoffs(hands, rank, pointers.payoff, at, pointers.result,
                        pointers.best_rank)


@jit.kernel(nogil=True)
def compare_claims(num_claims, rank, challenged, ends_rank):
  """Finds the claims after which no stronger one of the rank is better."""
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


# Nodes.


@jit.forceinline
def _node(view, tree, scratch, depth):
  index = scratch.path[depth]
  return _Node(index, tree.role[index] == view.role, tree.table_begin[index],
               tree.value_begin[index], depth * view.stride,
               scratch.slot[depth, OWN] * view.stride,
               scratch.slot[depth, OTHER] * view.stride)


@jit.forceinline
def _discount(regret, begin, size, positive, negative):
  zero = jit.cast_like(0.0, regret[begin])
  for i in range(size):
    x = regret[begin + i]
    regret[begin + i] = x * (positive if x > zero else negative)


@jit.forceinline
def _inverse_sums(pointers, regret, node, rows, width, has_unstored):
  out, at = pointers.inverse_sum, node.at
  zero = jit.cast_like(0.0, out[at])
  if has_unstored:
    for h in range(width):
      x = pointers.unstored_regret[node.first_value + h]
      out[at + h] = x if x > zero else zero
  else:
    for h in range(width):
      out[at + h] = zero
  for row in range(rows):
    first = node.table + row * width
    for h in range(width):
      x = regret[first + h]
      out[at + h] += x if x > zero else zero
  one, min_sum = jit.cast_like(1.0, zero), jit.cast_like(
      hand_vectors.MIN_SUM, zero)
  for h in range(width):
    x = out[at + h]
    out[at + h] = one / x if x > min_sum else zero


@jit.forceinline
def _enter(view, tree, tables, step, pointers, scratch, node, depth):
  """Prepares a node."""
  zero = jit.cast_like(0.0, pointers.value[node.at])
  for h in range(view.own_width):
    pointers.value[node.at + h] = zero
  rows = tree.row_begin[node.index + 1] - tree.row_begin[node.index]
  if node.is_own:
    if node.other_at >= 0:
      update = (tables.policy_update if view.is_policy else
                tables.adversary_update)
      updated, before = update[node.index], step.iteration - 1
      if updated < before:
        products = step.cumulative_discount
        longest = len(products) - 1
        positive = jit.cast_like(products[min(before, longest)] /
                                 products[min(updated, longest)], zero)
        negative = jit.cast_like(step.negative_discount**(before - updated),
                                 zero)
        _discount(pointers.regret, node.table, rows * view.own_width, positive,
                  negative)
        if not view.is_policy:
          _discount(pointers.unstored_regret, node.first_value, view.own_width,
                    positive, negative)
      for rank in range(view.num_ranks):
        scratch.is_counted[depth, rank] = False
    _inverse_sums(pointers, pointers.regret, node, rows, view.own_width,
                  not view.is_policy)
  elif node.other_at >= 0:
    _inverse_sums(pointers, pointers.other_regret, node, rows,
                  view.other_width, view.is_policy)


@jit.forceinline
def _add_own_value(view, pointers, node, first):
  """Adds result, the value of an own row."""
  for h in range(view.own_width):
    x = pointers.result[h]
    pointers.regret[first + h] += x
    pointers.value[node.at + h] += pointers.strategy[node.at + h] * x


@jit.kernel(nogil=True, reassociate=True)
def _split_reach(hands, rank, reach, at, ranks, product):
  """Writes the reach of the hands of a rank; returns its sum."""
  zero = jit.cast_like(0.0, reach[at])
  total, this = zero, jit.cast_like(rank, zero)
  for h in range(hands.width[0]):
    x = reach[at + h] if ranks[h] == this else zero
    product[h] = x
    total += x
  return total


@jit.kernel(nogil=True, reassociate=True)
def _add_split(view, rank, challenges, reach, at, best_claim, pointers,
               scratch):
  """Adds to payoff what claims of one rank give that we challenge at once.

  pointers.best_rank has the ranks of the claims, best_claim their claims.
  pointers.result is overwritten.
  """
  zero = jit.cast_like(0.0, reach[at])
  if not _split_reach(view.theirs, rank, reach, at, pointers.best_rank,
                      pointers.result) > zero:
    return
  first = rank * view.num_counts
  if not scratch.is_paid[rank]:
    scratch.is_paid[rank] = True
    for j in range(view.mine.num_counts):
      pointers.payoff[first + j] = zero
  counts = pointers.counts
  where = len(scratch.path) * view.num_ranks * view.num_counts
  _count(view.theirs, rank, pointers.result, 0, counts, where)
  for k in range(view.theirs.num_counts):
    x = counts[where + k]
    if x > zero:
      claim = best_claim[rank, k]
      for j in range(view.mine.num_counts):
        pointers.payoff[first + j] += x * challenges[claim, j + k]


@jit.forceinline
def _add_single(view, claim, payoffs, reach, at, pointers, scratch):
  """Adds to payoff what a challenge of one claim gives, against a reach."""
  rank = view.rank[claim]
  first = rank * view.num_counts
  if not scratch.is_paid[rank]:
    scratch.is_paid[rank] = True
    for j in range(view.mine.num_counts):
      pointers.payoff[first + j] = jit.cast_like(0.0, reach[at])
  where = len(scratch.path) * view.num_ranks * view.num_counts
  _count(view.theirs, rank, reach, at, pointers.counts, where)
  _fold_more(view, pointers.counts, where, payoffs, claim, pointers.payoff,
             first)


@jit.forceinline
def _clear_payoff(view, scratch):
  for rank in range(view.num_ranks):
    scratch.is_paid[rank] = False


@jit.forceinline
def _spend_payoff(view, pointers, scratch, out, at):
  """Adds payoff, by rank and own count, to the value of every own hand."""
  for rank in range(view.num_ranks):
    if scratch.is_paid[rank]:
      _add_payoffs(view.mine, rank, pointers.payoff, rank * view.num_counts,
                   out, at)


@jit.kernel(nogil=True, reassociate=True)
def _answer(view, step, claim, reach, at, own, own_at, pointers, scratch):
  """Writes result: a claim of the policy is answered as is best.

  own: the policy's reach after the claim.
  """
  theirs, mine = view.theirs, view.mine
  zero = jit.cast_like(0.0, reach[at])
  where = (len(scratch.path) + 1) * view.num_ranks * view.num_counts
  for rank in range(view.num_ranks):
    _count(mine, rank, own, own_at, pointers.counts,
           where + rank * view.num_counts)
  # the adversary's values, which are minus those of the policy
  rank = view.rank[claim]
  first = rank * view.num_counts
  for k in range(theirs.num_counts):
    total = zero
    for j in range(mine.num_counts):
      total -= pointers.counts[where + first + j] * step.challenged[
          claim, j + k]
    pointers.payoff[first + k] = total
  _write_payoffs(theirs, rank, pointers.payoff, first, pointers.result, 0)
  for h in range(view.other_width):
    pointers.best_rank[h] = jit.cast_like(_DUDO, zero)
  for rank in range(view.num_ranks):
    first = rank * view.num_counts
    found = False
    for new in range(claim + 1, view.num_claims):
      if view.rank[new] != rank:
        continue
      for k in range(theirs.num_counts):
        total = zero
        for j in range(mine.num_counts):
          total -= pointers.counts[where + first + j] * step.challenges[
              new, j + k]
        if not found or total > pointers.payoff[first + k]:
          pointers.payoff[first + k] = total
          scratch.best_claim[rank, k] = new
      found = True
      if scratch.ends_rank[new]:
        break
    if found:
      _raise_to_payoffs(theirs, rank, pointers.payoff, first, pointers.result,
                        pointers.best_rank)
  _clear_payoff(view, scratch)
  for rank in range(view.num_ranks):
    _add_split(view, rank, step.challenges, reach, at, scratch.best_claim,
               pointers, scratch)
  if _split_reach(theirs, -1, reach, at, pointers.best_rank,
                  pointers.result) > zero:
    _add_single(view, claim, step.challenged, pointers.result, 0, pointers,
                scratch)
  for h in range(view.own_width):
    pointers.result[h] = zero
  _spend_payoff(view, pointers, scratch, pointers.result, 0)


@jit.forceinline
def _own_row(view, tree, step, pointers, scratch, node, depth, row):
  """Learns an own action. Returns (own slot, other slot) of the child."""
  child, claim, width = tree.child[row], tree.claim[row], view.own_width
  number = row - tree.row_begin[node.index]
  first = node.table + number * width
  hand_vectors.strategy(pointers.regret, first, width, pointers.inverse_sum,
                        node.at, number == 0, pointers.strategy)
  own_slot, other_slot = scratch.slot[depth, OWN], scratch.slot[depth, OTHER]
  if own_slot >= 0:  # the policy learns
    below = (depth + 1) * view.stride
    total = jit.cast_like(0.0, pointers.own[0])
    for h in range(width):
      x = pointers.own[node.own_at + h] * pointers.strategy[node.at + h]
      pointers.cumulative[first + h] += step.weight * x
      pointers.own[below + h] = x
      total += x
    own_slot = depth + 1 if total > jit.cast_like(0.0, total) else -1
  if child < 0 and other_slot >= 0:
    is_dudo = claim == view.num_claims
    if is_dudo or not view.is_policy or own_slot < 0:
      target = tree.last[node.index] if is_dudo else claim
      counts = _own_counts(view, pointers, scratch, node, depth,
                           view.rank[target])
      _fold(view, pointers.counts, counts,
            step.challenges if is_dudo else step.challenged, target,
            pointers.payoff, 0)
      _write_payoffs(view.mine, view.rank[target], pointers.payoff, 0,
                     pointers.result, 0)
    else:
      _answer(view, step, claim, pointers.other, node.other_at, pointers.own,
              own_slot * view.stride, pointers, scratch)
    _add_own_value(view, pointers, node, first)
  return own_slot, other_slot


@jit.forceinline
def _other_row(view, tree, step, pointers, scratch, node, depth, row):
  """Follows an action of the other role."""
  child, claim = tree.child[row], tree.claim[row]
  own_slot = scratch.slot[depth, OWN]
  if node.other_at < 0:
    return own_slot, -1
  width = view.other_width
  number = row - tree.row_begin[node.index]
  hand_vectors.strategy(pointers.other_regret, node.table + number * width,
                        width, pointers.inverse_sum, node.at, number == 0,
                        pointers.strategy)
  below = (depth + 1) * view.stride
  total = jit.cast_like(0.0, pointers.other[0])
  for h in range(width):
    x = pointers.other[node.other_at + h] * pointers.strategy[node.at + h]
    pointers.other[below + h] = x
    total += x
  if not total > jit.cast_like(0.0, total):
    return own_slot, -1
  if child < 0:
    is_dudo = claim == view.num_claims
    if is_dudo or view.is_policy:
      _clear_payoff(view, scratch)
      _add_single(view, tree.last[node.index] if is_dudo else claim,
                  step.challenged if is_dudo else step.challenges,
                  pointers.other, below, pointers, scratch)
      _spend_payoff(view, pointers, scratch, pointers.value, node.at)
    else:  # the adversary answers a claim of the policy that nothing follows
      where = len(scratch.path) * view.num_ranks * view.num_counts
      for rank in range(view.num_ranks):
        _count(view.theirs, rank, pointers.other, below, pointers.counts,
               where + rank * view.num_counts)
      rank = view.rank[claim]
      _fold(view, pointers.counts, where + rank * view.num_counts,
            step.challenges, claim, pointers.payoff, 0)
      _write_payoffs(view.mine, rank, pointers.payoff, 0, pointers.result, 0)
      _raise_to_unstored(view, view.mine, view.theirs.num_counts, claim,
                         pointers.counts, where, step.challenged, pointers,
                         scratch)
      for h in range(view.own_width):
        pointers.value[node.at + h] += pointers.result[h]
  return own_slot, depth + 1


@jit.forceinline
def _meet_unstored(view, tables, step, pointers, scratch, node):
  """Adds what the adversary's claims give that are not stored."""
  width = view.other_width
  zero = jit.cast_like(0.0, pointers.value[node.at])
  total = zero
  product = pointers.strategy  # at node.at
  for h in range(width):
    x = pointers.unstored_regret[node.first_value + h]
    x = (x if x > zero else zero) * (pointers.inverse_sum[node.at + h] *
                                     pointers.other[node.other_at + h])
    product[node.at + h] = x
    pointers.best_rank[h] = jit.cast_like(
        pointers.unstored_rank[node.first_value + h], zero)
    total += x
  if not total > zero:
    return
  _clear_payoff(view, scratch)
  for rank in range(view.num_ranks):
    _add_split(view, rank, step.challenges, product, node.at,
               tables.unstored_claim[node.index], pointers, scratch)
  _spend_payoff(view, pointers, scratch, pointers.value, node.at)


@jit.forceinline
def _learn_unstored(view, tree, tables, step, pointers, scratch, node, depth,
                    discounts):
  """Updates the adversary's regret for claims that are not stored."""
  begin, end = tree.row_begin[node.index], tree.row_begin[node.index + 1]
  for row in range(begin, end):
    scratch.is_stored[tree.claim[row]] = True
  last = tree.last[node.index]
  zero = jit.cast_like(0.0, pointers.value[node.at])
  for h in range(view.own_width):
    pointers.result[h] = jit.cast_like(-np.inf, zero)
    pointers.best_rank[h] = zero
  for rank in range(view.num_ranks):
    at = rank * view.num_counts
    is_any = False
    for claim in range(last + 1, view.num_claims):
      if view.rank[claim] == rank and not scratch.is_stored[claim]:
        is_any = True
        break
    if is_any:
      first = _own_counts(view, pointers, scratch, node, depth, rank)
      _best_of_rank(view.num_claims, view.rank, rank, last,
                    view.mine.num_counts, view.theirs.num_counts,
                    pointers.counts, first, step.challenged, pointers.payoff,
                    at, scratch)
      _raise_to_payoffs(view.mine, rank, pointers.payoff, at, pointers.result,
                        pointers.best_rank)
  for row in range(begin, end):
    scratch.is_stored[tree.claim[row]] = False
  tables.unstored_claim[node.index] = scratch.best_claim
  positive, negative = discounts
  low = jit.cast_like(-1e30, zero)
  for h in range(view.own_width):
    new, old = pointers.result[h], pointers.unstored_regret[
        node.first_value + h]
    is_any = new > low
    new = new if is_any else zero
    share = (old if old > zero else zero) * pointers.inverse_sum[node.at + h]
    value = pointers.value[node.at + h] + share * new
    pointers.value[node.at + h] = value
    x = old + new - value
    x *= positive if x > zero else negative
    pointers.unstored_regret[node.first_value + h] = x if is_any else zero
  for h in range(view.own_width):
    pointers.unstored_rank[node.first_value + h] = np.int8(
        pointers.best_rank[h])


@jit.forceinline
def _subtract_mean(view, pointers, node, rows, discounts):
  positive, negative = discounts
  zero = jit.cast_like(0.0, pointers.value[node.at])
  for row in range(rows):
    first = node.table + row * view.own_width
    for h in range(view.own_width):
      x = pointers.regret[first + h] - pointers.value[node.at + h]
      pointers.regret[first + h] = x * (positive if x > zero else negative)


@jit.kernel(nogil=True, reassociate=True)
def learn(game, tree, tables, step, scratch):
  """Updates one role. The caller has written the reaches at depth 0."""
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  tables, step = jit.borrowed(tables), jit.borrowed(step)
  mine = hand_vectors.hand_pointers(game.hands[step.role])
  theirs = hand_vectors.hand_pointers(game.hands[1 - step.role])
  view = _View(step.role, step.is_policy, game.num_claims,
               jit.pointer(game.rank), mine, theirs, scratch.payoff.shape[0],
               mine.width[0], theirs.width[0], scratch.value.shape[1],
               scratch.payoff.shape[1])
  own, other = tables.adversary_regret, tables.regret
  if step.is_policy:
    own, other = other, own
  pointers = _Pointers(
      jit.pointer(own), jit.pointer(other), jit.pointer(tables.cumulative),
      jit.pointer(tables.unstored_regret), jit.pointer(tables.unstored_rank),
      jit.pointer(scratch.own), jit.pointer(scratch.other),
      jit.pointer(scratch.value), jit.pointer(scratch.strategy),
      jit.pointer(scratch.inverse_sum), jit.pointer(scratch.result),
      jit.pointer(scratch.best_rank), jit.pointer(scratch.counts),
      jit.pointer(scratch.payoff))
  adversary_challenged = (-step.challenges if step.is_policy else
                          step.challenged)
  compare_claims(game.num_claims, game.rank, adversary_challenged,
                 scratch.ends_rank)
  products, t = step.cumulative_discount, step.iteration
  longest = len(products) - 1
  discounts = (scratch.value.dtype.type(products[min(t, longest)] /
                                        products[min(t - 1, longest)]),
               scratch.value.dtype.type(step.negative_discount))
  depth = 0
  scratch.path[0] = 0
  scratch.slot[0, OWN] = 0 if step.is_policy else -1
  scratch.slot[0, OTHER] = 0
  node = _node(view, tree, scratch, 0)
  _enter(view, tree, tables, step, pointers, scratch, node, 0)
  row = tree.row_begin[node.index]
  while True:
    if row < tree.row_begin[node.index + 1]:
      if node.is_own:
        slots = _own_row(view, tree, step, pointers, scratch, node, depth, row)
      else:
        slots = _other_row(view, tree, step, pointers, scratch, node, depth,
                           row)
      child = tree.child[row]
      if child < 0 or slots[0] < 0 and slots[1] < 0:
        row += 1
        continue
      depth += 1
      scratch.path[depth] = child
      scratch.slot[depth, OWN], scratch.slot[depth, OTHER] = slots
      node = _node(view, tree, scratch, depth)
      _enter(view, tree, tables, step, pointers, scratch, node, depth)
      row = tree.row_begin[child]
      continue
    if node.other_at >= 0:
      if node.is_own:
        if not view.is_policy:
          _learn_unstored(view, tree, tables, step, pointers, scratch, node,
                          depth, discounts)
          tables.adversary_update[node.index] = t
        else:
          tables.policy_update[node.index] = t
        _subtract_mean(view, pointers, node, row - tree.row_begin[node.index],
                       discounts)
      elif view.is_policy:
        _meet_unstored(view, tables, step, pointers, scratch, node)
    if depth == 0:
      return
    row = tree.parent_row[node.index]
    child_at = depth * view.stride
    is_reached = scratch.slot[depth, OTHER] >= 0
    depth -= 1
    node = _node(view, tree, scratch, depth)
    if node.other_at >= 0 and is_reached:
      if node.is_own:
        number = row - tree.row_begin[node.index]
        first = node.table + number * view.own_width
        for h in range(view.own_width):
          x = pointers.value[child_at + h]
          pointers.regret[first + h] += x
          pointers.value[node.at + h] += pointers.strategy[node.at + h] * x
      else:
        for h in range(view.own_width):
          pointers.value[node.at + h] += pointers.value[child_at + h]
    row += 1
