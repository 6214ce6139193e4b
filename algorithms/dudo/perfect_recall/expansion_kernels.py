"""Which claims a growing tree should store: a kernel.

`best_response_kernels.respond` has found, for every own class at every own
node, whether a claim that is not stored is better than all that are, and by how
much. `propose` sums this gain over the hands that reach the node, and lists the
claims that gain more than a threshold. There are three kinds of proposals:

  BEST_RESPONSE: the responder reaches the node by its best response. Without
    these the exploitability cannot fall.
  AVERAGE: the responder reaches it by its average policy. This finds many more
    claims at a time, since a best response tries only one line of play with
    each hand.
  ANSWER: the other role plays its best response, and the responder, by its
    average policy, meets a claim after which nothing is stored. Most of what a
    best response gains it gains by such claims, which are challenged at once,
    and it makes them with hands for which they are true. Against the other's
    average policy an answer gains little, since that makes such claims rarely.

Arguments have the names and meanings of those in `best_response_kernels`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit

BEST_RESPONSE, AVERAGE, ANSWER = 0, 1, 2
KINDS = AVERAGE, ANSWER, BEST_RESPONSE  # what takes longest is first

# A claim to store at a node or, if the row is not -1, after a row of the node
# that has no child.
PROPOSAL = np.dtype([("node", np.int64), ("row", np.int64),
                     ("claim", np.int64), ("gain", np.float64)])


class Criterion(NamedTuple):
  """Which claims to propose."""
  kind: int  # BEST_RESPONSE, AVERAGE or ANSWER
  threshold: float  # what a claim must gain


def best_first(found, num_nodes, num_claims):
  """Returns proposals without those made twice, the largest gains first.

  Args:
    found: [proposal] `PROPOSAL`.
    num_nodes: how many nodes the tree has.
    num_claims: how many claims the round has.
  """
  parents = np.where(found["row"] < 0, found["node"], found["row"] + num_nodes)
  keys = parents * num_claims + found["claim"]
  order = np.argsort(-found["gain"], kind="stable")
  _, first = np.unique(keys[order], return_index=True)
  return found[order[np.sort(first)]]


@jit.kernel(nogil=True, reassociate=True)
def _write(found, i, node, row, claim, gain):
  """Writes a proposal."""
  found[i].node = node
  found[i].row = row
  found[i].claim = claim
  found[i].gain = gain


@jit.kernel(nogil=True, reassociate=True)
def _sift_down(found, i):
  """Moves a proposal down the heap until none below it gains less.

  Args:
    found: [proposal] `PROPOSAL`, a heap but for this one, modified in place.
    i: its index.
  """
  node, row = found[i].node, found[i].row
  claim, gain = found[i].claim, found[i].gain
  while True:
    below = 2 * i + 1
    if below + 1 < len(found) and found[below + 1].gain < found[below].gain:
      below += 1
    if below >= len(found) or found[below].gain >= gain:
      break
    _write(found, i, found[below].node, found[below].row,
           found[below].claim, found[below].gain)
    i = below
  _write(found, i, node, row, claim, gain)


@jit.kernel(nogil=True, reassociate=True)
def _list_gains(gains, last, threshold, parent, found, size):
  """Lists the claims whose gains exceed the threshold, and clears the gains.

  If there are more than fit, those that gain most stay. (The list is then a
  heap, with the one that gains least first.)

  Args:
    gains: [claim] float64, modified in place.
    last: the last claim.
    threshold: what a claim must gain.
    parent: (node, row) to list them with.
    found: [proposal] `PROPOSAL`, modified in place.
    size: how many there were already.

  Returns:
    How many there were in all, also those that do not fit.
  """
  node, row = parent
  for claim in range(last + 1, len(gains)):
    gain = gains[claim]
    if gain > threshold:
      if size < len(found):
        _write(found, size, node, row, claim, gain)
        if size + 1 == len(found):
          for i in range(len(found) // 2 - 1, -1, -1):
            _sift_down(found, i)
      elif len(found) > 0 and gain > found[0].gain:
        _write(found, 0, node, row, claim, gain)
        _sift_down(found, 0)
      size += 1
    gains[claim] = 0.0
  return size


@jit.kernel(nogil=True, reassociate=True)
def _chosen_reach(choices, first, number, reach, width, product):
  """Writes the reach of the classes that choose a row; returns its sum.

  Args:
    choices: the `best_response_kernels.Choices`.
    first: where the classes of the node begin there.
    number: of the row, from 0.
    reach: [class] float64, before it.
    width: how many classes there are.
    product: [class] float64, modified in place.
  """
  total = 0.0
  for h in range(width):
    x = reach[h] if choices.action[first + h] == number else 0.0
    product[h] = x
    total += x
  return total


@jit.kernel(nogil=True, reassociate=True)
def _propose_at_node(tree, node, reach, choices, threshold, gains, found, size):
  """Lists the claims that gain enough at a node, as `_list_gains` does.

  `reach` is [class] float64, and `choices` the `best_response_kernels.Choices`,
  both of the responder.
  """
  first = tree.value_begin[node]
  for h in range(tree.value_begin[node + 1] - first):
    action = choices.action[first + h]
    if action < 0:
      gains[-1 - action] += reach[h] * choices.gain[first + h]
  return _list_gains(gains, tree.last[node], threshold, (node, -1), found, size)


@jit.kernel(nogil=True, reassociate=True)
def _add_answers(game, responder, claim, level, reach, scratch):
  """Adds to scratch.gains what answers to a claim gain over Dudo.

  Nothing is stored after the claim; the hand level is that of the node before.
  `reach` is [class] float64, the responder's, and scratch.product the other's.
  """
  best_response_kernels.challenge(game, responder, True, claim, level,
                                  scratch.product, scratch)
  best_response_kernels.best_unstored(game, responder, claim, level,
                                      scratch.product, scratch)
  for h in range(game.hands[responder.role].width[level]):
    gain = scratch.best[h] - scratch.result[h]
    if gain > best_response_kernels.TIE and reach[h] > 0.0:
      new = best_response_kernels.unstored_claim(game, responder, level, h,
                                                 scratch)
      scratch.gains[new] += reach[h] * gain


@jit.forceinline
def _row_reach(tree, table, is_chosen, choices, position, reach, scratch,
               depth):
  """Writes scratch.product, the actor's reach after a row; returns its sum.

  The actor plays its best response, `choices`, if `is_chosen`, else the average
  policy. `position` is (node, row), `reach` [depth, class] float64.
  """
  node, row = position
  if is_chosen:
    first = tree.value_begin[node]
    return _chosen_reach(choices, first, row - tree.row_begin[node],
                         reach[depth], tree.value_begin[node + 1] - first,
                         scratch.product)
  return best_response_kernels.row_reach(tree, table, node, row, reach, scratch,
                                         depth)


@jit.kernel(nogil=True, reassociate=True)
def propose(game, tree, table, responder, scratch, choices, criterion, found):
  """Lists the claims that are not stored and gain enough.

  `choices` are the `best_response_kernels.Choices` by `respond`, of the
  responder or, for answers, of the other role. `criterion` is a `Criterion`.
  The claims are written to `found`, [proposal] `PROPOSAL`.

  Returns:
    How many there are, also if they do not fit.
  """
  kind, threshold = criterion
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  responder, choices = jit.borrowed(responder), jit.borrowed(choices)
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  best_response_kernels.compare_claims(game, responder, scratch)
  scratch.other[0, :len(theirs.chance)] = theirs.chance
  scratch.own[0, :len(mine.chance)] = mine.chance
  scratch.gains[:] = 0.0
  scratch.path[0] = 0
  size, node, row, depth, is_new = 0, 0, 0, 0, True
  while not scratch.stop[0]:
    is_own = tree.role[node] == responder.role
    is_chosen = kind == (BEST_RESPONSE if is_own else ANSWER)
    if is_new:
      is_new = False
      row = tree.row_begin[node]
      if is_own and kind != ANSWER:
        size = _propose_at_node(tree, node, scratch.own[depth], choices,
                                threshold, scratch.gains, found, size)
      if not is_chosen:
        best_response_kernels.enter(tree, table, node, scratch, depth)
    if row == tree.row_begin[node + 1]:
      if depth == 0:
        break
      row = tree.parent_row[node] + 1
      depth -= 1
      node = scratch.path[depth]
      continue
    claim, child = tree.claim[row], tree.child[row]
    if claim == game.num_claims or is_own and child < 0:
      row += 1
      continue
    levels = game.hand_level[tree.last[node] + 1], game.hand_level[claim + 1]
    reach = scratch.own if is_own else scratch.other
    total = _row_reach(tree, table, is_chosen, choices, (node, row), reach,
                       scratch, depth)
    if not is_own:  # payoffs are from -1 to 1
      total *= 2.0 * hand_vectors.total(
          jit.pointer(scratch.own), depth * scratch.own.shape[1],
          mine.width[levels[0]])
    if not total > (0.0 if is_own else threshold):
      row += 1
    elif child < 0:
      _add_answers(game, responder, claim, levels[0], scratch.own[depth],
                   scratch)
      size = _list_gains(scratch.gains, claim, threshold, (node, row), found,
                         size)
      row += 1
    else:
      node, is_new = child, True
      depth += 1
      scratch.path[depth] = node
      best_response_kernels.descend(
          mine, levels, scratch.own,
          scratch.product if is_own else scratch.own[depth - 1], depth)
      best_response_kernels.descend(
          theirs, levels, scratch.other,
          scratch.other[depth - 1] if is_own else scratch.product, depth)
  return size
