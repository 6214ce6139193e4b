"""Exact best responses to the average policy of a growing tree: kernels.

Where nothing is stored the policy challenges at once. So a responder who makes
a claim there, or one that is not stored, gets what its challenge gives, and the
best response over the whole game is found by one walk over the stored nodes:

  `respond` finds its value and, for every own class at every own node, its
  choice: a row, or a claim that is not stored and what that claim gains.
  `play` finds how likely each challenge is if both play the average policy.

All numbers are float64, except for the tables.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import unstored_claims
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

NODE, ROW = 0, 1  # columns of a path


class Responder(NamedTuple):
  """Who responds.

  Attributes:
    role: the responder's.
    challenges: [claim, count] float64, what it gets by a challenge.
    challenged: [claim, count] float64, what it gets when it is challenged.
    follows: whether `propose` looks where the responder's own average policy
      leads, and not where a best response does.
    answers: whether `propose` looks for answers to the other's best response,
      and not to its average policy; then `follows` must be True.
  """
  role: int
  challenges: np.ndarray
  challenged: np.ndarray
  follows: bool = False
  answers: bool = False


class Choices(NamedTuple):
  """What a best response does at stored nodes.

  Attributes:
    action: [value] int16, by `growing_tree.TreeArrays.value_begin`: a row, or
      -1 - claim for a claim that is not stored.
    gain: [value] float32, what such a claim gains over the best row.
  """
  action: np.ndarray
  gain: np.ndarray


class GrowthScratch(NamedTuple):
  """Memory that a walk overwrites.

  Attributes:
    own: [depth, class] float64, the responder's reach.
    other: [depth, class] float64.
    value: [depth, class] float64.
    action: [depth, class] int16, the best row so far.
    norm: [depth, class] float64.
    sigma: [depth, class] float64.
    product: [class] float64.
    result: [class] float64.
    best: [class] float64, of the best claim that is not stored.
    line: [class] float64.
    counts: [count] float64.
    worth: [count] float64.
    claim_worth: [rank, count] float64.
    claim_of: [rank, count] int16.
    is_stored: [claim] bool.
    ends_rank: [claim] bool, see `unstored_claims.compare_claims`.
    gains: [claim] float64.
    path: [depth, 2] int64.
    stop: [1] bool, whether to return at once, without a result.
  """
  own: np.ndarray
  other: np.ndarray
  value: np.ndarray
  action: np.ndarray
  norm: np.ndarray
  sigma: np.ndarray
  product: np.ndarray
  result: np.ndarray
  best: np.ndarray
  line: np.ndarray
  counts: np.ndarray
  worth: np.ndarray
  claim_worth: np.ndarray
  claim_of: np.ndarray
  is_stored: np.ndarray
  ends_rank: np.ndarray
  gains: np.ndarray
  path: np.ndarray
  stop: np.ndarray


def new_choices(tree):
  """Returns new `Choices` for all nodes of a `growing_tree.TreeArrays`."""
  size = int(tree.value_begin[-1])
  return Choices(np.empty(size, np.int16), np.empty(size, np.float32))


def new_scratch(hands, stop=None):
  """Returns a new `GrowthScratch`.

  Args:
    hands: the `round_hands.RoundHands`.
    stop: [1] bool, a flag that stops walks (see `interrupts`); None for one of
      its own.
  """
  depths, most = hands.order.num_claims + 2, int(hands.width.max())
  counts = max(hands.dice) + 1

  def lines(*shape):
    return np.zeros((*shape, most))

  return GrowthScratch(
      lines(depths), lines(depths), lines(depths),
      np.zeros((depths, most), np.int16), lines(depths), lines(depths), lines(),
      lines(), lines(), lines(), np.zeros(counts), np.zeros(counts),
      np.zeros((hands.order.num_sides, counts)),
      np.zeros((hands.order.num_sides, counts), np.int16),
      np.zeros(hands.order.num_claims + 1, np.bool_),
      np.zeros(hands.order.num_claims, np.bool_),
      np.zeros(hands.order.num_claims), np.zeros((depths, 2), np.int64),
      interrupts.new_flag() if stop is None else stop)


@jit.kernel(nogil=True, reassociate=True)
def _mark(tree, node, is_stored, mark):
  """Marks the claims that are stored at a node."""
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    is_stored[tree.claim[row]] = mark


@jit.kernel(nogil=True, reassociate=True)
def _take_row(work, depth, row, width):
  """Takes work.result as the value of a row, where it is the best so far."""
  value, action, result = work.value[depth], work.action[depth], work.result
  for h in range(width):
    is_better = result[h] > value[h]
    value[h] = result[h] if is_better else value[h]
    action[h] = row if is_better else action[h]


@jit.kernel(nogil=True, reassociate=True)
def _add_row(work, depth, width):
  """Adds work.result to the value of a node."""
  value, result = work.value[depth], work.result
  for h in range(width):
    value[h] += result[h]


@jit.kernel(nogil=True, reassociate=True)
def _finish_own(game, tree, responder, node, work, depth, choices):
  """Compares the rows of an own node with claims that are not stored."""
  last = tree.last[node]
  level = game.level[last + 1]
  _mark(tree, node, work.is_stored, True)
  unstored_claims.best_new(game, responder, last, level, work.other[depth], work)
  _mark(tree, node, work.is_stored, False)
  begin = tree.value_begin[node]
  value, action = work.value[depth], work.action[depth]
  for h in range(tree.value_begin[node + 1] - begin):
    is_better = work.best[h] > value[h] + unstored_claims.TIE
    choices.gain[begin + h] = work.best[h] - value[h] if is_better else 0.0
    choices.action[begin + h] = action[h]
    value[h] = max(work.best[h], value[h])
  for h in range(tree.value_begin[node + 1] - begin):
    if choices.gain[begin + h] > 0.0:
      choices.action[begin + h] = -1 - unstored_claims.new_claim(game, responder, level,
                                                        h, work)


@jit.kernel(nogil=True, reassociate=True)
def _best_virtual(game, responder, last, level, work):
  """Writes work.result, the best response where nothing is stored.

  Args:
    game: the `round_hands.ClassArrays`.
    responder: the `Responder`.
    last: the last claim.
    level: of the classes, which is that of the node before.
    work: the `GrowthScratch`; work.product has the other's reach. Its best
      is modified in place, too.
  """
  unstored_claims.challenge(game, responder, True, last, level, work.product, work)
  unstored_claims.best_new(game, responder, last, level, work.product, work)
  for h in range(game.hands[responder.role].width[level]):
    work.result[h] = max(work.best[h], work.result[h])


@jit.kernel(nogil=True, reassociate=True)
def row_reach(tree, table, node, row, reach, work, depth):
  """Writes work.product, the actor's reach after a row; returns its sum.

  Args:
    tree: the `growing_tree.TreeArrays`.
    table: [number], to which the policy is proportional.
    node: the node.
    row: its row, from 0.
    reach: [depth, class] float64, of the role that acts there.
    work: the `GrowthScratch`.
    depth: of the node.
  """
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  at = depth * work.sigma.shape[1]
  hand_vectors.strategy(jit.pointer(table), tree.table_begin[node] + row * width,
                 width, jit.pointer(work.norm), at, 1.0 if row == 0 else 0.0,
                 jit.pointer(work.sigma))
  return hand_vectors.multiply(jit.pointer(reach), at, jit.pointer(work.sigma), at,
                        width, jit.pointer(work.product))


@jit.kernel(nogil=True, reassociate=True)
def enter(tree, table, node, work, depth):
  """Prepares `row_reach`."""
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  hand_vectors.norms(jit.pointer(table), tree.table_begin[node],
              tree.row_begin[node + 1] - tree.row_begin[node], width,
              jit.pointer(work.norm), depth * work.norm.shape[1])


@jit.kernel(nogil=True, reassociate=True)
def respond(game, tree, table, responder, work, choices):
  """Finds a best response to the average policy.

  Args:
    game: the `round_hands.ClassArrays`, float64.
    tree: the `growing_tree.TreeArrays`.
    table: [number], to which the average policy is proportional.
    responder: the `Responder`.
    work: the `GrowthScratch`; work.value[0] has the value of each hand, times
      the chance of the other's hands, afterwards.
    choices: the `Choices`, modified in place at the responder's nodes that the
      policy plays to.

  Returns:
    What the responder gets.
  """
  game, tree, work = jit.borrowed(game), jit.borrowed(tree), jit.borrowed(work)
  responder, choices = jit.borrowed(responder), jit.borrowed(choices)
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  most = work.sigma.shape[1]
  path = work.path
  unstored_claims.compare_claims(game, responder, work)
  work.other[0, :len(theirs.chance)] = theirs.chance
  depth = 0
  path[0, NODE] = 0
  path[0, ROW] = -1
  while depth >= 0 and not work.stop[0]:
    node = path[depth, NODE]
    begin = tree.row_begin[node]
    rows = tree.row_begin[node + 1] - begin
    level = game.level[tree.last[node] + 1]
    own_width = mine.width[level]
    is_own = tree.role[node] == responder.role
    row = path[depth, ROW]
    if row < 0:
      if is_own:
        work.value[depth] = -np.inf
      else:
        work.value[depth] = 0.0
        enter(tree, table, node, work, depth)
    else:
      hand_vectors.ascend(
          jit.pointer(work.value), (depth + 1) * most, jit.pointer(mine.merge),
          hand_vectors.move_between(mine, level,
                             game.level[tree.claim[begin + row] + 1]),
          jit.pointer(work.result))
      if is_own:
        _take_row(work, depth, row, own_width)
      else:
        _add_row(work, depth, own_width)
    row += 1
    is_pushed = False
    while row < rows and not is_pushed:
      claim, child = tree.claim[begin + row], tree.child[begin + row]
      is_dudo = claim == game.num_claims
      if is_own:
        if child < 0:
          unstored_claims.challenge(game, responder, is_dudo,
                           tree.last[node] if is_dudo else claim, level,
                           work.other[depth], work)
          _take_row(work, depth, row, own_width)
        else:
          hand_vectors.descend(
              jit.pointer(work.other), depth * most, jit.pointer(theirs.merge),
              hand_vectors.move_between(theirs, level, game.level[claim + 1]),
              jit.pointer(work.other), (depth + 1) * most)
          is_pushed = True
      elif row_reach(tree, table, node, row, work.other, work, depth) > 0.0:
        if is_dudo:
          unstored_claims.challenge(game, responder, False, tree.last[node], level,
                           work.product, work)
          _add_row(work, depth, own_width)
        elif child < 0:
          _best_virtual(game, responder, claim, level, work)
          _add_row(work, depth, own_width)
        else:
          hand_vectors.descend(
              jit.pointer(work.product), 0, jit.pointer(theirs.merge),
              hand_vectors.move_between(theirs, level, game.level[claim + 1]),
              jit.pointer(work.other), (depth + 1) * most)
          is_pushed = True
      if is_pushed:
        path[depth, ROW] = row
        depth += 1
        path[depth, NODE] = child
        path[depth, ROW] = -1
      row += 1
    if not is_pushed:
      if is_own:
        _finish_own(game, tree, responder, node, work, depth, choices)
      depth -= 1
  total = 0.0
  for h in range(len(mine.chance)):
    total += mine.chance[h] * work.value[0, h]
  return total


@jit.kernel(nogil=True, reassociate=True)
def _count(hands, place, reach, counts):
  """Writes counts[k], the reach of classes with k dice that match a rank.

  Args:
    hands: the `round_hands.RoleHands`.
    place: (level, rank).
    reach: [class] float64.
    counts: [count] float64, modified in place.
  """
  level, rank = place
  for k in range(hands.onehot.shape[2]):
    total = 0.0
    for h in range(hands.width[level]):
      total += hands.onehot[level, rank, k, h] * reach[h]
    counts[k] = total


@jit.kernel(nogil=True, reassociate=True)
def play(game, tree, table, work, outcomes):
  """Finds how likely each challenge is if both play the average policy.

  Args:
    game: see `respond`.
    tree: see `respond`.
    table: see `respond`.
    work: the `GrowthScratch`; own is the starter's reach.
    outcomes: [role, claim, count] float64, modified in place: how likely it is
      that the role challenges the claim and that count dice match.
  """
  most = work.sigma.shape[1]
  path = work.path
  for role in range(2):
    chance = game.hands[role].chance
    (work.own if role == 0 else work.other)[0, :len(chance)] = chance
  outcomes[:] = 0.0
  depth = 0
  path[0, NODE] = 0
  path[0, ROW] = -1
  while depth >= 0 and not work.stop[0]:
    node = path[depth, NODE]
    begin = tree.row_begin[node]
    rows = tree.row_begin[node + 1] - begin
    level = game.level[tree.last[node] + 1]
    role = tree.role[node]
    acting, waiting = game.hands[role], game.hands[1 - role]
    reach = work.own if role == 0 else work.other
    others = work.other if role == 0 else work.own
    row = path[depth, ROW]
    if row < 0:
      enter(tree, table, node, work, depth)
    row += 1
    is_pushed = False
    while row < rows and not is_pushed:
      claim, child = tree.claim[begin + row], tree.child[begin + row]
      if row_reach(tree, table, node, row, reach, work, depth) > 0.0:
        if child < 0:
          is_dudo = claim == game.num_claims
          target = tree.last[node] if is_dudo else claim
          place = level, game.rank[target]
          _count(acting, place, work.product, work.counts)
          _count(waiting, place, others[depth], work.worth)
          challenger = role if is_dudo else 1 - role
          for j in range(acting.onehot.shape[2]):
            for k in range(waiting.onehot.shape[2]):
              outcomes[challenger, target, j + k] += (
                  work.counts[j] * work.worth[k])
        else:
          new_level = game.level[claim + 1]
          hand_vectors.descend(jit.pointer(work.product), 0, jit.pointer(acting.merge),
                        hand_vectors.move_between(acting, level, new_level),
                        jit.pointer(reach), (depth + 1) * most)
          hand_vectors.descend(jit.pointer(others), depth * most,
                        jit.pointer(waiting.merge),
                        hand_vectors.move_between(waiting, level, new_level),
                        jit.pointer(others), (depth + 1) * most)
          path[depth, ROW] = row
          depth += 1
          path[depth, NODE] = child
          path[depth, ROW] = -1
          is_pushed = True
      row += 1
    if not is_pushed:
      depth -= 1
