"""Discounted CFR on a growing tree, for all hands at once: kernels.

`learn` traverses the stored nodes depth first, and updates one role. On the way
down it carries the reach probabilities of both roles, each with the chance of
the hand: own[class] of the role that learns, other[class] of the other one. On
the way up it has the counterfactual value of each own class: the sum over the
other's hands of their reach times the payoff.

If the other's reach of a node is zero for all hands, its regrets change only by
the discount, which is applied on the next visit (`last_update` has the
iteration). If the own reach is zero as well, the subtree is skipped.

A cut splits the tree, so that threads can share it. The top is traversed first,
to find the reaches at the cut; then each subtree; then the top once more, with
the values of the subtrees. Where the tree is cut depends on the tree only, so
the number of threads changes nothing.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit

# DCFR(1.5, 0, 2) of Brown & Sandholm (2019): positive regrets are discounted by
# t^1.5 / (t^1.5 + 1), negative ones by 1/2, and strategies are weighted by t^2.
ALPHA, NEGATIVE, GAMMA = 1.5, 0.5, 2.0
# What to do at a cut.
NO_CUT, COLLECT, FINISH = 0, 1, 2
OWN, OTHER = 0, 1  # columns of `is_reached`


class LearnTables(NamedTuple):
  """What is learned.

  Attributes:
    regret: [entry] float, by `growing_tree.TreeArrays.table_begin`.
    cumulative: [entry] float, sums of strategies times own reach.
    last_update: [node] int64, the iteration of the last update of its regrets.
  """
  regret: np.ndarray
  cumulative: np.ndarray
  last_update: np.ndarray


class LearnStep(NamedTuple):
  """One iteration for one role."""
  role: int  # who learns
  iteration: int  # t, from 1
  weight: float  # of the strategy in the average, of the type of the tables
  # [t] float64, the product over s <= t of the discounts
  # s^ALPHA / (s^ALPHA + 1); later t use the last one
  cumulative_discount: np.ndarray
  negative_discount: float  # the discount of negative regrets
  # [claim, count] float, the role's payoff if it challenges
  challenges: np.ndarray
  challenged: np.ndarray  # [claim, count] float, its payoff if it is challenged


class LearnScratch(NamedTuple):
  """Memory that a traversal overwrites."""
  own: np.ndarray  # [depth, class] float, the reach of the role that learns
  other: np.ndarray  # [depth, class] float, the reach of the other role
  value: np.ndarray  # [depth, class] float, counterfactual values
  strategy: np.ndarray  # [depth, class] float, the strategy of one row
  # [depth, class] float, 1 / the sum of positive regrets
  inverse_sum: np.ndarray
  product: np.ndarray  # [class] float, a reach after a row
  result: np.ndarray  # [class] float, the value of a row
  counts: np.ndarray  # [count] float, a reach by count
  payoff_by_count: np.ndarray  # [count] float
  # [depth] int64, the nodes from the first one to the present one
  path: np.ndarray
  # [depth, 2] int64, whether own and other reach are not 0
  is_reached: np.ndarray


class Cut(NamedTuple):
  """Where the tree is cut."""
  # [node] int32, the index of the subtree that begins there, else -1; [0] if
  # there is no cut
  part: np.ndarray
  node: np.ndarray  # [part] int64, where each subtree begins
  size: np.ndarray  # [part] int64, how many entries a table has for it
  own: np.ndarray  # [part, class] float, the reach of the role that learns
  other: np.ndarray  # [part, class] float, the reach of the other role
  value: np.ndarray  # [part, class] float, counterfactual values
  # [part, 2] int64, whether own and other reach are not 0
  is_reached: np.ndarray


class _RoundView(NamedTuple):
  """A round as the role that learns sees it."""
  role: int  # that role
  num_claims: int  # C; row C of a node is Dudo
  rank: object  # pointer to [claim] int64, its rank, from 0
  # pointer to [claim + 1] int64, that of a node by its last claim plus 1
  hand_level: object
  mine: hand_vectors.HandPointers  # of the role
  theirs: hand_vectors.HandPointers  # of the other role


class _Pointers(NamedTuple):
  """Pointers to the arrays that are read and written at every node.

  The names are those of `LearnTables`, `LearnStep` and `LearnScratch`;
  challenge is the `hand_vectors.ChallengeScratch`.
  """
  regret: object
  cumulative: object
  challenges: object
  challenged: object
  own: object
  other: object
  value: object
  strategy: object
  inverse_sum: object
  product: object
  challenge: hand_vectors.ChallengeScratch


class _Node(NamedTuple):
  """A node on the path."""
  index: int  # of the node
  is_own: bool  # whether the role that learns acts
  hand_level: int  # of its hand classes
  own_width: int  # how many classes the role that learns has there
  other_width: int  # how many the other role has
  table: int  # where its entries begin in the tables
  at: int  # where its vectors begin in the scratch arrays
  own_reached: bool  # whether the own reach is not 0
  other_reached: bool  # whether the other's is not 0


def total_weight(iterations):
  """Returns the weight of so many iterations in the average, a float."""
  return iterations * (iterations + 1) * (2 * iterations + 1) / 6  # of t^GAMMA


def new_scratch(hands, dtype):
  """Returns a new `LearnScratch` for a `round_hands.RoundHands`."""
  depths = hands.order.num_claims + 2
  max_width = int(hands.width.max())
  counts = max(hands.dice) + 1

  def vectors(*shape):
    return np.zeros((*shape, max_width), dtype)

  return LearnScratch(
      *(vectors(depths) for _ in range(5)), vectors(), vectors(),
      np.zeros(counts, dtype), np.zeros(counts, dtype),
      np.zeros(depths, np.int64), np.zeros((depths, 2), np.int64))


@jit.kernel(nogil=True, reassociate=True)
def _discount(regret, begin, size, positive, negative):
  """Discounts positive and negative regrets."""
  zero = jit.cast_like(0.0, regret[begin])
  for i in range(size):
    x = regret[begin + i]
    regret[begin + i] = x * (positive if x > zero else negative)


@jit.kernel(nogil=True, reassociate=True)
def _add_own_value(regret, first, width, result, strategy, value, at):
  """Adds the value of an own action to its regret and to the node's value."""
  for h in range(width):
    x = result[h]
    regret[first + h] += x
    value[at + h] += strategy[at + h] * x


@jit.kernel(nogil=True, reassociate=True)
def _add_value(result, width, value, at):
  for h in range(width):
    value[at + h] += result[h]


@jit.kernel(nogil=True, reassociate=True)
def _subtract_mean(regret, begin, rows, width, value, at, discounts):
  """Subtracts the node's value from the regrets, and discounts them."""
  positive, negative = discounts
  zero = jit.cast_like(0.0, regret[begin])
  for row in range(rows):
    first = begin + row * width
    for h in range(width):
      x = regret[first + h] - value[at + h]
      regret[first + h] = x * (positive if x > zero else negative)


@jit.kernel(nogil=True, reassociate=True)
def _add_strategy(cumulative, first, width, weight, own, strategy, at):
  for h in range(width):
    cumulative[first + h] += weight * own[at + h] * strategy[at + h]


@jit.kernel(nogil=True, reassociate=True)
def _cross_cut(cut, part, collects, scratch, depth):
  """Writes the reaches at the cut, or reads the value of a subtree."""
  if not collects:
    scratch.value[depth] = cut.value[part]
    return
  cut.is_reached[part] = scratch.is_reached[depth]
  cut.own[part] = scratch.own[depth]
  cut.other[part] = scratch.other[depth]


# The parts of `learn` share these arguments:
#
#   view: the `_RoundView`.
#   tree: the `growing_tree.TreeArrays`.
#   tables, step: the `LearnTables`, modified in place, and the `LearnStep`.
#   scratch, pointers: the `LearnScratch`, modified in place, and `_Pointers` to
#     it and to the tables.
#   node, row: the `_Node`, and one of its rows.
#   learns: whether regrets and averages may change.


@jit.inline
def _pointers(tables, step, scratch):
  return _Pointers(
      jit.pointer(tables.regret), jit.pointer(tables.cumulative),
      jit.pointer(step.challenges), jit.pointer(step.challenged),
      jit.pointer(scratch.own), jit.pointer(scratch.other),
      jit.pointer(scratch.value), jit.pointer(scratch.strategy),
      jit.pointer(scratch.inverse_sum), jit.pointer(scratch.product),
      hand_vectors.ChallengeScratch(
          jit.pointer(scratch.counts), jit.pointer(scratch.payoff_by_count),
          jit.pointer(scratch.result)))


@jit.forceinline
def _node(view, tree, scratch, depth):
  """Returns the `_Node` at a depth of the path."""
  index = scratch.path[depth]
  level = view.hand_level[tree.last[index] + 1]
  return _Node(index, tree.role[index] == view.role, level,
               view.mine.width[level], view.theirs.width[level],
               tree.table_begin[index], depth * scratch.value.shape[1],
               scratch.is_reached[depth, OWN] != 0,
               scratch.is_reached[depth, OTHER] != 0)


@jit.forceinline
def _enter(tree, tables, step, pointers, node, learns):
  """Prepares the vectors of a node, and makes up for missed discounts.

  Returns how many entries of the tables are read or written at the node.
  """
  zero = jit.cast_like(0.0, pointers.value[node.at])
  for h in range(node.own_width):
    pointers.value[node.at + h] = zero
  rows = tree.row_begin[node.index + 1] - tree.row_begin[node.index]
  width = node.own_width if node.is_own else node.other_width
  if node.is_own or node.other_reached:
    if node.is_own and node.other_reached and learns:
      updated, before = tables.last_update[node.index], step.iteration - 1
      if updated < before:
        products = step.cumulative_discount
        longest = len(products) - 1
        _discount(pointers.regret, node.table, rows * width,
                  jit.cast_like(products[min(before, longest)] /
                                products[min(updated, longest)], zero),
                  jit.cast_like(step.negative_discount**(before - updated),
                                zero))
    hand_vectors.inverse_sums(pointers.regret, node.table, rows, width,
                              pointers.inverse_sum, node.at)
  return (4 if node.is_own else 1) * rows * width


@jit.forceinline
def _challenge(view, tree, step, pointers, node, row, reach):
  """Writes the values of a row that a challenge follows, or that is Dudo.

  `reach` is (pointer to the other's reach, where it begins).
  """
  is_dudo = tree.claim[row] == view.num_claims
  claim = tree.last[node.index] if is_dudo else tree.claim[row]
  hand_vectors.challenge_values(
      view.mine, view.theirs, (node.hand_level, view.rank[claim]), reach[0],
      reach[1],
      pointers.challenges if is_dudo == node.is_own else pointers.challenged,
      claim * step.challenges.shape[1], pointers.challenge)


@jit.forceinline
def _own_row(view, tree, step, pointers, node, row, learns):
  """Learns an action of the role; the value of a child is added later.

  pointers.product becomes the own reach after the row. Returns (bool, bool),
  whether own and other reach are not 0 there.
  """
  child, width = tree.child[row], node.own_width
  number = row - tree.row_begin[node.index]
  first = node.table + number * width
  hand_vectors.strategy(pointers.regret, first, width, pointers.inverse_sum,
                        node.at, number == 0, pointers.strategy)
  own_reached = node.own_reached
  if own_reached:
    if learns:
      _add_strategy(pointers.cumulative, first, width, step.weight,
                    pointers.own, pointers.strategy, node.at)
    if child >= 0:
      own_reached = hand_vectors.multiply(
          pointers.own, node.at, pointers.strategy, node.at, width,
          pointers.product) > 0.0
  if child < 0 and node.other_reached and learns:
    _challenge(view, tree, step, pointers, node, row, (pointers.other, node.at))
    _add_own_value(pointers.regret, first, width, pointers.challenge.result,
                   pointers.strategy, pointers.value, node.at)
  return own_reached, node.other_reached


@jit.forceinline
def _other_row(view, tree, step, pointers, node, row, learns):
  """Follows an action of the other role; the value of a child is added later.

  pointers.product becomes the other's reach after the row. Returns (bool,
  bool), whether own and other reach are not 0 there.
  """
  if not node.other_reached:
    return node.own_reached, False
  width = node.other_width
  number = row - tree.row_begin[node.index]
  hand_vectors.strategy(pointers.regret, node.table + number * width, width,
                        pointers.inverse_sum, node.at, number == 0,
                        pointers.strategy)
  other_reached = hand_vectors.multiply(
      pointers.other, node.at, pointers.strategy, node.at, width,
      pointers.product) > 0.0
  if tree.child[row] < 0 and other_reached and learns:
    _challenge(view, tree, step, pointers, node, row, (pointers.product, 0))
    _add_value(pointers.challenge.result, node.own_width, pointers.value,
               node.at)
  return node.own_reached, other_reached


@jit.forceinline
def _descend(view, pointers, node, claim, reached, scratch, depth):
  """Writes the reaches of the child after a claim, at its depth.

  `reached` is (bool, bool), whether own and other reach are not 0 there.
  """
  level, below = view.hand_level[claim + 1], depth * scratch.value.shape[1]
  own_reached, other_reached = reached
  if own_reached:
    hand_vectors.descend(
        view.mine, (node.hand_level, level),
        pointers.product if node.is_own else pointers.own,
        0 if node.is_own else node.at, pointers.own, below)
  if other_reached:
    hand_vectors.descend(
        view.theirs, (node.hand_level, level),
        pointers.other if node.is_own else pointers.product,
        node.at if node.is_own else 0, pointers.other, below)
  scratch.is_reached[depth, OWN] = own_reached
  scratch.is_reached[depth, OTHER] = other_reached


@jit.forceinline
def _add_child(view, tree, pointers, node, row, scratch, depth, learns):
  """Adds the value of the child after a row, which is at a depth."""
  if not node.other_reached or scratch.is_reached[depth, OTHER] == 0:
    return
  result = pointers.challenge.result
  hand_vectors.ascend(view.mine,
                      (node.hand_level, view.hand_level[tree.claim[row] + 1]),
                      pointers.value, depth * scratch.value.shape[1], result)
  if not node.is_own:
    _add_value(result, node.own_width, pointers.value, node.at)
  elif learns:
    number = row - tree.row_begin[node.index]
    _add_own_value(pointers.regret, node.table + number * node.own_width,
                   node.own_width, result, pointers.strategy, pointers.value,
                   node.at)


@jit.kernel(nogil=True, reassociate=True)
def learn(game, tree, tables, step, mode, scratch, cut):
  """Updates one role in the subtree of scratch.path[0].

  The caller has written the reaches, and whether they are 0, at depth 0. The
  counterfactual values are in scratch.value[0] afterwards.

  Args:
    game: the `round_hands.ClassArrays`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`, modified in place, as `scratch` and `cut` are.
    step: the `LearnStep`.
    mode: NO_CUT, COLLECT to find the reaches at the cut without learning, or
      FINISH to learn above the cut.
    scratch: the `LearnScratch`.
    cut: the `Cut`.

  Returns:
    How many entries of the tables were read or written: at own nodes regrets
    and averages are both, at others regrets are read.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  tables, step, cut = (jit.borrowed(tables), jit.borrowed(step),
                       jit.borrowed(cut))
  view = _RoundView(
      step.role, game.num_claims, jit.pointer(game.rank),
      jit.pointer(game.hand_level),
      hand_vectors.hand_pointers(game.hands[step.role]),
      hand_vectors.hand_pointers(game.hands[1 - step.role]))
  pointers = _pointers(tables, step, scratch)
  products, t = step.cumulative_discount, step.iteration
  longest = len(products) - 1
  discounts = (scratch.value.dtype.type(products[min(t, longest)] /
                                        products[min(t - 1, longest)]),
               scratch.value.dtype.type(step.negative_discount))
  learns = mode != COLLECT
  depth = 0
  node = _node(view, tree, scratch, 0)
  touched = _enter(tree, tables, step, pointers, node, learns)
  row = tree.row_begin[node.index]
  while True:
    if row < tree.row_begin[node.index + 1]:
      if node.is_own:
        reached = _own_row(view, tree, step, pointers, node, row, learns)
      else:
        reached = _other_row(view, tree, step, pointers, node, row, learns)
      child = tree.child[row]
      if child < 0 or not (reached[0] or reached[1]):
        row += 1
        continue
      _descend(view, pointers, node, tree.claim[row], reached, scratch,
               depth + 1)
      if mode == NO_CUT or cut.part[child] < 0:
        depth += 1
        scratch.path[depth] = child
        node = _node(view, tree, scratch, depth)
        touched += _enter(tree, tables, step, pointers, node, learns)
        row = tree.row_begin[child]
        continue
      _cross_cut(cut, cut.part[child], not learns, scratch, depth + 1)
    else:
      if node.is_own and node.other_reached and learns:
        _subtract_mean(pointers.regret, node.table, row - tree.row_begin[
            node.index], node.own_width, pointers.value, node.at, discounts)
        tables.last_update[node.index] = t
      if depth == 0:
        return touched
      row = tree.parent_row[node.index]
      depth -= 1
      node = _node(view, tree, scratch, depth)
    _add_child(view, tree, pointers, node, row, scratch, depth + 1, learns)
    row += 1


@jit.kernel(nogil=True, reassociate=True)
def learn_parts(game, tree, tables, step, order, counter, scratch, cut):
  """Updates one role in subtrees below a cut until none is left, by `learn`.

  `order`, [part] int64, has all subtrees, in the order in which threads begin
  them. `counter`, [1] int64, is how many were begun; threads share it.

  Returns:
    How many entries of the tables this thread has read or written.
  """
  touched = 0
  while True:
    number = jit.fetch_increment(counter)
    if number >= len(order):
      return touched
    part = order[number]
    if cut.is_reached[part, OWN] or cut.is_reached[part, OTHER]:
      scratch.path[0] = cut.node[part]
      scratch.is_reached[0] = cut.is_reached[part]
      scratch.own[0] = cut.own[part]
      scratch.other[0] = cut.other[part]
      touched += learn(game, tree, tables, step, NO_CUT, scratch, cut)
      cut.value[part] = scratch.value[0]


@jit.kernel(nogil=True)
def find_cut(tree, max_entries, part):
  """Finds where to cut a tree: writes `Cut.part`.

  Subtrees with more entries than `max_entries` belong to the top.

  Returns:
    How many subtrees there are.
  """
  count = 0
  part[:] = -1
  for node in range(len(part)):
    if growing_tree.subtree_entries(tree, node) > max_entries:
      for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
        child = tree.child[row]
        if child >= 0 and (
            growing_tree.subtree_entries(tree, child) <= max_entries):
          part[child] = count
          count += 1
  return count


@jit.kernel(nogil=True)
def find_needed(tree, tables, min_sum, reach, is_kept):
  """Finds the rows that the tree still needs.

  A claim that its player neither makes nor regrets may still be one that the
  other player must be able to answer. So it is dropped only if nothing is
  stored after it, or if the other player's own moves do not lead there either.

  Args:
    tree: the `growing_tree.TreeArrays`.
    tables: the `LearnTables`.
    min_sum: sums of strategies that are at most this count as 0.
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
      total, is_needed = 0.0, row == tree.row_begin[node]
      for i in range(first, first + width):
        total += tables.cumulative[i]
        is_needed = is_needed or tables.regret[i] > 0
      child = tree.child[row]
      is_needed = is_needed or total > min_sum
      if child >= 0:
        reach[child, role] = total
        reach[child, 1 - role] = reach[node, 1 - role]
        is_needed = is_needed or reach[node, 1 - role] > min_sum
      is_kept[row] = is_needed
