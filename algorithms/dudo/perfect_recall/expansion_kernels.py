"""Which claims a growing tree should store: a kernel.

`best_response_kernels.respond` has found, for every own hand at every own node,
whether a claim that is not stored is better than all that are, and by how much.
`propose` sums this gain over the hands that reach the node, and lists the
claims that gain more than a threshold. There are two kinds of proposals:

  The best response to the average policy of the other role gains by them, where
    it comes to by itself. Without these the exploitability cannot fall.
  A policy gains by them against the present strategy of its adversary, where
    its average comes to. These are the answers to what exploits the policy.

Arguments have the names and meanings of those in `best_response_kernels`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import unstored_claims
from dudo_spiel.algorithms.runtime import jit

# A claim to store at a node or, if the row is not -1, after a row of the node
# that has no child.
PROPOSAL = np.dtype([("node", np.int64), ("row", np.int64),
                     ("claim", np.int64), ("gain", np.float64)])


class Criterion(NamedTuple):
  """Which claims to propose."""
  # [entry] float, to which the policy is proportional by which the responder
  # comes to a claim; [0] if it comes there by its choices
  own_table: np.ndarray
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
def _chosen_reach(tree, node, number, choices, reach, depth):
  """Writes reach[depth + 1], of the hands that choose a row; returns its sum.

  Args:
    tree: as everywhere.
    node: as everywhere.
    number: of the row, from 0.
    choices: the `best_response_kernels.Choices`.
    reach: [depth, hand] float64, modified in place.
    depth: as everywhere.
  """
  total, first = 0.0, tree.value_begin[node]
  for h in range(tree.value_begin[node + 1] - first):
    x = reach[depth, h] if choices.action[first + h] == number else 0.0
    reach[depth + 1, h] = x
    total += x
  return total


@jit.kernel(nogil=True, reassociate=True)
def _propose_at_node(tree, node, reach, choices, threshold, gains, found, size):
  """Lists the claims that gain enough at a node, as `_list_gains` does.

  `reach` is [hand] float64, and `choices` the `best_response_kernels.Choices`,
  both of the responder.
  """
  first = tree.value_begin[node]
  for h in range(tree.value_begin[node + 1] - first):
    action = choices.action[first + h]
    if action < 0:
      gains[-1 - action] += reach[h] * choices.gain[first + h]
  return _list_gains(gains, tree.last[node], threshold, (node, -1), found, size)


@jit.kernel(nogil=True, reassociate=True)
def _add_answers(game, responder, claim, scratch, depth):
  """Adds to scratch.gains what answers to a claim gain over Dudo.

  Nothing is stored after the claim. The responder's reach is at the depth, the
  other's, after the claim, at the next one.
  """
  best_response_kernels.count_reach(game, responder, scratch, depth + 1)
  best_response_kernels.challenge(game, responder, True, claim, depth + 1,
                                  scratch)
  dudo_value, claims = scratch.value[depth], scratch.claims
  matches = game.hands[responder.role].matches
  for h in range(matches.shape[1]):
    dudo_value[h] = scratch.result[h]
    claims.best_rank[h] = -1.0
  best_response_kernels.raise_to_unstored(game, responder, claim, depth + 1,
                                          scratch)
  for h in range(matches.shape[1]):
    rank = np.int64(claims.best_rank[h])
    if rank >= 0:
      scratch.gains[np.int64(claims.best_claim[rank, matches[rank, h]])] += (
          scratch.own[depth, h] * (scratch.result[h] - dudo_value[h]))


@jit.forceinline
def _reach_row(game, tree, table, responder, scratch, choices, own_table,
               position):
  """Writes the reaches after a row; returns how much may be gained there.

  `position` is (node, row, depth).
  """
  node, row, depth = position
  if tree.role[node] == responder.role:
    if len(own_table):
      return best_response_kernels.row_reach(tree, own_table, node, row,
                                             scratch.own, scratch, depth)
    return _chosen_reach(tree, node, row - tree.row_begin[node], choices,
                         scratch.own, depth)
  total = best_response_kernels.row_reach(tree, table, node, row, scratch.other,
                                          scratch, depth)
  return 2.0 * total * hand_vectors.total(  # payoffs are from -1 to 1
      jit.pointer(scratch.own), depth * scratch.own.shape[1],
      len(game.hands[responder.role].chance))


@jit.kernel(nogil=True, reassociate=True)
def propose(game, tree, table, responder, scratch, choices, criterion, found):
  """Lists the claims that are not stored and gain enough.

  `table` is that of the other role, `choices` are the
  `best_response_kernels.Choices` of the responder, and `criterion` is a
  `Criterion`. The claims are written to `found`, [proposal] `PROPOSAL`.

  Returns:
    How many there are, also if they do not fit.
  """
  game, tree, scratch = (jit.borrowed(game), jit.borrowed(tree),
                         jit.borrowed(scratch))
  responder, choices = jit.borrowed(responder), jit.borrowed(choices)
  own_table, threshold = criterion
  unstored_claims.compare_claims(game.rank, responder.challenged,
                                 scratch.claims.ends_rank)
  reaches = scratch.own, scratch.other
  for side, role in enumerate((responder.role, 1 - responder.role)):
    chance = game.hands[role].chance
    reaches[side][0, :len(chance)] = chance
  scratch.gains[:] = 0.0
  scratch.path[0] = 0
  size, node, row, depth, is_new = 0, 0, 0, 0, True
  while not scratch.stop[0]:
    is_own = tree.role[node] == responder.role
    if is_new:
      is_new = False
      row = tree.row_begin[node]
      if is_own:
        size = _propose_at_node(tree, node, scratch.own[depth], choices,
                                threshold, scratch.gains, found, size)
      if not is_own or len(own_table):
        best_response_kernels.enter(tree, own_table if is_own else table, node,
                                    scratch, depth)
    if row == tree.row_begin[node + 1]:
      if depth == 0:
        break
      row = tree.parent_row[node] + 1
      depth -= 1
      node = scratch.path[depth]
      continue
    claim, child = tree.claim[row], tree.child[row]
    if claim == game.num_claims or is_own and child < 0 or not _reach_row(
        game, tree, table, responder, scratch, choices, own_table,
        (node, row, depth)) > (0.0 if is_own else threshold):
      row += 1
    elif child < 0:
      _add_answers(game, responder, claim, scratch, depth)
      size = _list_gains(scratch.gains, claim, threshold, (node, row), found,
                         size)
      row += 1
    else:
      waiting = scratch.other if is_own else scratch.own
      waiting[depth + 1] = waiting[depth]
      node, is_new = child, True
      depth += 1
      scratch.path[depth] = node
  return size
