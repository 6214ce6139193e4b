"""Discounted CFR on a growing tree, for all hands at once: kernels.

The walk goes depth first over the stored nodes and updates one role. On the way
down it carries both reaches, each with the chance of the hand: own[class] of
the role that learns, other[class] of the other role. On the way up it has the
counterfactual value of each own class: the sum over the other's hands of their
reach times what the role gets.

Where nobody of the other role gets, regrets do not change but for their
discount, which is made up later: `seen` is the iteration of a node's last
update. Where additionally the own reach is 0, nothing happens at all, and the
walk turns back.

A cut splits the tree, so that threads can share it. The top is walked first, to
find the reaches at the cut; then each subtree; then the top once more, which
takes the values of the subtrees. Where the tree is cut depends on the tree
only, so the number of threads changes nothing.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit

# Discounted CFR: positive regrets by t^1.5 / (t^1.5 + 1), negative ones by a
# half, and the average by t^2.
ALPHA, NEGATIVE, GAMMA = 1.5, 0.5, 2.0
# What to do at a cut.
NO_CUT, COLLECT, FINISH = 0, 1, 2
# Columns of a path.
NODE, ROW, OWN, OTHER = 0, 1, 2, 3


class LearnTables(NamedTuple):
  """What is learned.

  Attributes:
    regret: [number], see `growing_tree`.
    cumulative: [number], sums of strategies times own reach.
    seen: [node] int64, the iteration of the last update of its regrets.
  """
  regret: np.ndarray
  cumulative: np.ndarray
  seen: np.ndarray


class LearnStep(NamedTuple):
  """One iteration for one role.

  Attributes:
    role: who learns.
    iteration: t, from 1.
    weight: of the strategy in the average, of the type of the tables.
    kept: [iteration + 1] float64, products of the discounts of positive regrets
      up to each iteration; they do not change after the last one.
    negative: the discount of negative regrets.
    challenges: [claim, count], what the role gets by a challenge.
    challenged: [claim, count], what it gets when it is challenged.
  """
  role: int
  iteration: int
  weight: float
  kept: np.ndarray
  negative: float
  challenges: np.ndarray
  challenged: np.ndarray


class LearnScratch(NamedTuple):
  """Memory that a walk overwrites.

  Attributes:
    own: [depth, class].
    other: [depth, class].
    value: [depth, class].
    sigma: [depth, class].
    norm: [depth, class].
    product: [class].
    result: [class].
    counts: [count].
    worth: [count].
    path: [depth, 4] int64: node, row, whether own and other reach are not 0.
  """
  own: np.ndarray
  other: np.ndarray
  value: np.ndarray
  sigma: np.ndarray
  norm: np.ndarray
  product: np.ndarray
  result: np.ndarray
  counts: np.ndarray
  worth: np.ndarray
  path: np.ndarray


class Cut(NamedTuple):
  """Where the tree is cut.

  Attributes:
    place: [node] int32, the number of the subtree that begins there, else -1;
      [0] if there is no cut.
    node: [place] int64, where each subtree begins.
    size: [place] int64, how many numbers a table has for it.
    own: [place, class], reach.
    other: [place, class], reach.
    value: [place, class].
    live: [place, 2] int64, whether own and other reach are not 0.
  """
  place: np.ndarray
  node: np.ndarray
  size: np.ndarray
  own: np.ndarray
  other: np.ndarray
  value: np.ndarray
  live: np.ndarray


def moved_tables(tables, tree, change, is_growing, iteration, each=map):
  """Returns the `LearnTables` of a tree that has changed.

  Args:
    tables: the `LearnTables` before, which move in place and must not be used
      any more.
    tree: the `growing_tree.TreeArrays` before.
    change: what `growing_tree.changed` has returned.
    is_growing: see `growing_tree.move_rows`.
    iteration: from which new nodes learn.
    each: as Python's `map`, which may use threads.
  """
  new, node_source, row_source = change
  seen = np.where(node_source < 0, iteration,
                  tables.seen[np.maximum(node_source, 0)])
  list(each(lambda table: growing_tree.move_table(
      tree, new, row_source, is_growing, table),
            (tables.regret, tables.cumulative)))
  return tables._replace(seen=seen)


def new_scratch(hands, dtype):
  """Returns a new `LearnScratch`.

  Args:
    hands: the `round_hands.RoundHands`.
    dtype: the type of the tables.
  """
  depths = hands.order.num_claims + 2
  most = int(hands.width.max())
  counts = max(hands.dice) + 1

  def lines(*shape):
    return np.zeros((*shape, most), dtype)

  return LearnScratch(
      *(lines(depths) for _ in range(5)), lines(), lines(),
      np.zeros(counts, dtype), np.zeros(counts, dtype),
      np.zeros((depths, 4), np.int64))


@jit.kernel(nogil=True, reassociate=True)
def _catch_up(regret, begin, size, positive, negative):
  """Discounts regrets."""
  zero = jit.cast_like(0.0, regret[begin])
  for i in range(size):
    x = regret[begin + i]
    regret[begin + i] = x * (positive if x > zero else negative)


@jit.kernel(nogil=True, reassociate=True)
def _absorb(regret, first, width, result, sigma, value, at):
  """Adds the value of an own action to its regret and to the mean."""
  for h in range(width):
    x = result[h]
    regret[first + h] += x
    value[at + h] += sigma[at + h] * x


@jit.kernel(nogil=True, reassociate=True)
def _add(result, width, value, at):
  for h in range(width):
    value[at + h] += result[h]


@jit.kernel(nogil=True, reassociate=True)
def _settle(regret, begin, rows, width, value, at, positive, negative):
  """Subtracts the mean from the regrets, and discounts them."""
  zero = jit.cast_like(0.0, regret[begin])
  for row in range(rows):
    first = begin + row * width
    for h in range(width):
      x = regret[first + h] - value[at + h]
      regret[first + h] = x * (positive if x > zero else negative)


@jit.kernel(nogil=True, reassociate=True)
def _average(cumulative, first, width, weight, own, sigma, at):
  for h in range(width):
    cumulative[first + h] += weight * own[at + h] * sigma[at + h]


@jit.kernel(nogil=True, reassociate=True)
def _meet(cut, place, collects, work, depth):
  """Writes reaches at the cut, or reads the value of a subtree."""
  if not collects:
    work.value[depth] = cut.value[place]
    return
  cut.live[place] = work.path[depth, OWN:]
  cut.own[place] = work.own[depth]
  cut.other[place] = work.other[depth]


@jit.kernel(nogil=True, reassociate=True)
def learn(game, tree, tables, step, mode, work, cut):
  """Updates one role in the subtree of work.path[0].

  The caller has written the reaches, and whether they are 0, at depth 0. The
  value is in work.value[0] afterwards.

  Args:
    game: the `round_hands.ClassArrays`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`, modified in place.
    step: the `LearnStep`.
    mode: NO_CUT, COLLECT to find the reaches at the cut without learning, or
      FINISH to learn above the cut.
    work: the `LearnScratch`.
    cut: the `Cut`, modified in place.

  Returns:
    How many numbers of the tables were read or written: at own nodes regrets
    and averages are both, at others regrets are read.
  """
  mine, theirs = game.hands[step.role], game.hands[1 - step.role]
  num_ranks, own_counts, own_stride = mine.onehot.shape[1:]
  num_counts, stride = theirs.onehot.shape[2:]
  num_pays = step.challenges.shape[1]
  own_onehot = jit.pointer(mine.onehot)
  onehot = jit.pointer(theirs.onehot)
  own_merge, merge = jit.pointer(mine.merge), jit.pointer(theirs.merge)
  regret, cumulative = jit.pointer(tables.regret), jit.pointer(
      tables.cumulative)
  own, other = jit.pointer(work.own), jit.pointer(work.other)
  value, sigma = jit.pointer(work.value), jit.pointer(work.sigma)
  norm, product = jit.pointer(work.norm), jit.pointer(work.product)
  result = jit.pointer(work.result)
  scratch = jit.pointer(work.counts), jit.pointer(work.worth), result
  challenges = jit.pointer(step.challenges)
  challenged = jit.pointer(step.challenged)
  path, last = work.path, tree.last
  most = work.norm.shape[1]
  one = work.norm.dtype.type(1.0)
  zero = work.norm.dtype.type(0.0)
  t = step.iteration
  kept = step.kept
  longest = len(kept) - 1
  before = kept[min(t - 1, longest)]
  positive = work.norm.dtype.type(kept[min(t, longest)] / before)
  negative = work.norm.dtype.type(step.negative)
  learns = mode != COLLECT
  touched = 0
  depth = 0
  path[0, ROW] = -1
  while depth >= 0:
    node = path[depth, NODE]
    begin, rows = tree.row_begin[node], (
        tree.row_begin[node + 1] - tree.row_begin[node])
    table = tree.table_begin[node]
    level = game.level[last[node] + 1]
    own_width, width = mine.width[level], theirs.width[level]
    is_own = tree.role[node] == step.role
    own_live, other_live = path[depth, OWN] != 0, path[depth, OTHER] != 0
    acting = own_width if is_own else width
    at = depth * most
    row = path[depth, ROW]
    mine_here = own_onehot, own_width, own_counts, own_stride
    theirs_here = onehot, width, num_counts, stride
    if row < 0:
      touched += (4 if is_own else 1) * rows * acting
      for h in range(own_width):
        value[at + h] = zero
      if is_own or other_live:
        if is_own and other_live and learns and tables.seen[node] < t - 1:
          missed = t - 1 - tables.seen[node]
          _catch_up(regret, table, rows * acting,
                    work.norm.dtype.type(
                        before / kept[min(tables.seen[node], longest)]),
                    work.norm.dtype.type(step.negative**missed))
        hand_vectors.norms(regret, table, rows, acting, norm, at)
    else:  # a child is done
      if other_live and path[depth + 1, OTHER] != 0:
        claim = tree.claim[begin + row]
        hand_vectors.ascend(value, at + most, own_merge,
                     hand_vectors.move_between(mine, level, game.level[claim + 1]),
                     result)
        if not is_own:
          _add(result, own_width, value, at)
        elif learns:
          _absorb(regret, table + row * acting, acting, result, sigma, value,
                  at)
    row += 1
    is_pushed = False
    while row < rows:
      claim = tree.claim[begin + row]
      child = tree.child[begin + row]
      is_dudo = claim == game.num_claims
      rest = one if row == 0 else zero
      live = own_live
      if is_own:
        hand_vectors.strategy(regret, table + row * acting, acting, norm, at, rest,
                       sigma)
        if own_live:
          if learns:
            _average(cumulative, table + row * acting, acting, step.weight,
                     own, sigma, at)
          if child >= 0:
            live = hand_vectors.multiply(own, at, sigma, at, acting, product) > zero
        if child < 0 and other_live and learns:
          target = last[node] if is_dudo else claim
          hand_vectors.leaf(mine_here, theirs_here,
                     (level * num_ranks + game.rank[target],
                      target * num_pays), other, at,
                     challenges if is_dudo else challenged, scratch)
          _absorb(regret, table + row * acting, acting, result, sigma, value,
                  at)
        next_live = other_live
      elif other_live:
        hand_vectors.strategy(regret, table + row * acting, acting, norm, at, rest,
                       sigma)
        next_live = hand_vectors.multiply(other, at, sigma, at, acting,
                                   product) > zero
        if child < 0 and next_live and learns:
          target = last[node] if is_dudo else claim
          hand_vectors.leaf(mine_here, theirs_here,
                     (level * num_ranks + game.rank[target],
                      target * num_pays), product, 0,
                     challenged if is_dudo else challenges, scratch)
          _add(result, own_width, value, at)
      else:
        next_live = False
      if child >= 0 and (live or next_live):
        below = at + most
        new_level = game.level[claim + 1]
        if live:
          hand_vectors.descend(product if is_own else own, 0 if is_own else at,
                        own_merge, hand_vectors.move_between(mine, level, new_level),
                        own, below)
        if next_live:
          hand_vectors.descend(other if is_own else product, at if is_own else 0,
                        merge, hand_vectors.move_between(theirs, level, new_level),
                        other, below)
        path[depth, ROW] = row
        path[depth + 1, NODE] = child
        path[depth + 1, ROW] = -1
        path[depth + 1, OWN] = live
        path[depth + 1, OTHER] = next_live
        is_pushed = True
        if mode != NO_CUT and cut.place[child] >= 0:
          _meet(cut, cut.place[child], not learns, work, depth + 1)
        else:
          depth += 1
        break
      row += 1
    if not is_pushed:
      if is_own and other_live and learns:
        _settle(regret, table, rows, acting, value, at, positive, negative)
        tables.seen[node] = t
      depth -= 1
  return touched


@jit.kernel(nogil=True, reassociate=True)
def learn_parts(game, tree, tables, step, places, counter, work, cut):
  """Updates one role in subtrees below a cut that no other thread has taken.

  Args:
    game: see `learn`.
    tree: see `learn`.
    tables: see `learn`.
    step: see `learn`.
    places: [part] int64, all of them, in the order in which to take them.
    counter: [1] int64, how many are taken, modified in place; threads share it.
    work: the `LearnScratch`.
    cut: the `Cut`, whose values are modified in place.

  Returns:
    See `learn`.
  """
  touched = 0
  while True:
    number = jit.fetch_increment(counter)
    if number >= len(places):
      return touched
    place = places[number]
    if cut.live[place, 0] or cut.live[place, 1]:
      work.path[0, NODE] = cut.node[place]
      work.path[0, OWN:] = cut.live[place]
      work.own[0] = cut.own[place]
      work.other[0] = cut.other[place]
      touched += learn(game, tree, tables, step, NO_CUT, work, cut)
      cut.value[place] = work.value[0]


@jit.kernel(nogil=True)
def find_cut(tree, limit, sizes, place):
  """Finds where to cut a tree.

  Args:
    tree: the `growing_tree.TreeArrays`.
    limit: subtrees with more numbers than this are part of the top.
    sizes: [node] int64, modified in place: the numbers of each subtree.
    place: [node] int32, modified in place, see `Cut`.

  Returns:
    How many subtrees there are.
  """
  for node in range(len(sizes) - 1, -1, -1):
    size = tree.table_begin[node + 1] - tree.table_begin[node]
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      if tree.child[row] >= 0:
        size += sizes[tree.child[row]]
    sizes[node] = size
  count = 0
  place[:] = -1
  for node in range(len(sizes)):
    if sizes[node] > limit:
      for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
        child = tree.child[row]
        if child >= 0 and sizes[child] <= limit:
          place[child] = count
          count += 1
  return count


@jit.kernel(nogil=True)
def find_alive(tree, tables, least, reach, is_kept):
  """Finds the claims that still matter.

  A claim that its player neither makes nor regrets may still be one that the
  other player must be able to answer. So it goes only if nothing is stored
  after it, or if the other player's own moves do not lead there either.

  Args:
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`.
    least: sums of strategies that are at most this count as 0.
    reach: [node, role] float64, modified in place: the sum of strategies with
      which the last own claim of each role leads to the node.
    is_kept: [row] bool, modified in place.
  """
  reach[0] = np.inf
  for node in range(len(tree.last)):
    role = tree.role[node]
    width = tree.value_begin[node + 1] - tree.value_begin[node]
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      first = tree.table_begin[node] + (row - tree.row_begin[node]) * width
      total, is_alive = 0.0, row == tree.row_begin[node]
      for i in range(first, first + width):
        total += tables.cumulative[i]
        is_alive = is_alive or tables.regret[i] > 0
      child = tree.child[row]
      is_alive = is_alive or total > least
      if child >= 0:
        reach[child, role] = total
        reach[child, 1 - role] = reach[node, 1 - role]
        is_alive = is_alive or reach[node, 1 - role] > least
      is_kept[row] = is_alive
