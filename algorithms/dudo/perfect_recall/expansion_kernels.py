"""Which claims a growing tree should store: a kernel.

`best_response_kernels.respond` has found, for every own class at every own node,
whether a claim that is not stored is better than all that are, and by how much.
`propose` sums this gain over the hands that come there, and lists the claims
that gain more than a threshold. There are two ways to come there: by a best
response, or by the responder's own average policy. The first finds what is
needed for the exploitability to fall. The second finds many more claims at a
time, since a best response tries only one line of play with each hand.

There is a third kind, answers. Most of what a best response gains it gains by
claims that are challenged at once, as nothing is stored after them, and it
makes these with hands for which they are true. Against the other's average
policy there is little to be gained there, since it still makes such claims
rarely. So the answers are sought to the other's best response: it comes there
by its choices, and the responder by its own average policy.
"""

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import unstored_claims
from dudo_spiel.algorithms.runtime import jit

# (follows, answers) of a `best_response_kernels.Responder`; what takes longest is
# first.
KINDS = (True, False), (True, True), (False, False)

# A claim to store at a node or, if the row is not -1, after a row of the node
# that has no child.
PROPOSAL = np.dtype([("node", np.int64), ("row", np.int64),
                     ("claim", np.int64), ("gain", np.float64)])


def best_first(found, num_nodes, num_claims):
  """Returns proposals without those made twice, the largest gains first.

  Args:
    found: [proposal] `PROPOSAL`.
    num_nodes: how many nodes the tree has.
    num_claims: how many claims the round has.
  """
  places = np.where(found["row"] < 0, found["node"], found["row"] + num_nodes)
  keys = places * num_claims + found["claim"]
  order = np.argsort(-found["gain"], kind="stable")
  _, first = np.unique(keys[order], return_index=True)
  return found[order[np.sort(first)]]


@jit.kernel(nogil=True, reassociate=True)
def _write(found, place, node, row, claim, gain):
  """Writes a proposal."""
  found[place].node = node
  found[place].row = row
  found[place].claim = claim
  found[place].gain = gain


@jit.kernel(nogil=True, reassociate=True)
def _sink(found, place):
  """Moves a proposal down the heap until none below it gains less.

  Args:
    found: [proposal] `PROPOSAL`, a heap but for this one, modified in place.
    place: where it stands.
  """
  node, row = found[place].node, found[place].row
  claim, gain = found[place].claim, found[place].gain
  while True:
    below = 2 * place + 1
    if below + 1 < len(found) and found[below + 1].gain < found[below].gain:
      below += 1
    if below >= len(found) or found[below].gain >= gain:
      break
    _write(found, place, found[below].node, found[below].row,
           found[below].claim, found[below].gain)
    place = below
  _write(found, place, node, row, claim, gain)


@jit.kernel(nogil=True, reassociate=True)
def _list_gains(work, last, num_claims, threshold, place, found, size):
  """Lists the claims whose work.gains exceed the threshold, and clears these.

  If there are more than fit, those that gain most stay. (The list is then a
  heap, with the one that gains least first.)

  Args:
    work: the `best_response_kernels.GrowthScratch`.
    last: the last claim.
    num_claims: C.
    threshold: what a claim must gain.
    place: (node, row) to list them with.
    found: [proposal] `PROPOSAL`, modified in place.
    size: how many there were already.

  Returns:
    How many there were in all, also those that do not fit.
  """
  node, row = place
  for claim in range(last + 1, num_claims):
    gain = work.gains[claim]
    if gain > threshold:
      if size < len(found):
        _write(found, size, node, row, claim, gain)
        if size + 1 == len(found):
          for i in range(len(found) // 2 - 1, -1, -1):
            _sink(found, i)
      elif len(found) > 0 and gain > found[0].gain:
        _write(found, 0, node, row, claim, gain)
        _sink(found, 0)
      size += 1
    work.gains[claim] = 0.0
  return size


@jit.kernel(nogil=True, reassociate=True)
def _chosen_reach(choices, first, row, reach, width, product):
  """Writes the reach of those who choose a row; returns its sum.

  Args:
    choices: the `best_response_kernels.Choices`.
    first: where the classes of the node begin there.
    row: the row, from 0.
    reach: [class] float64, before it.
    width: how many classes there are.
    product: [class] float64, modified in place.
  """
  total = 0.0
  for h in range(width):
    x = reach[h] if choices.action[first + h] == row else 0.0
    product[h] = x
    total += x
  return total


@jit.kernel(nogil=True, reassociate=True)
def propose(game, tree, table, responder, work, choices, threshold, found):
  """Lists the claims that are not stored and gain enough; see above.

  Args:
    game: see `respond`.
    tree: see `respond`.
    table: see `respond`.
    responder: see `respond`.
    work: the `best_response_kernels.GrowthScratch`.
    choices: the `best_response_kernels.Choices` by `respond`, of the responder or,
      for answers, of the other.
    threshold: what a claim must gain.
    found: [proposal] `PROPOSAL`, modified in place.

  Returns:
    How many there are, also if they do not fit.
  """
  mine, theirs = game.hands[responder.role], game.hands[1 - responder.role]
  most = work.sigma.shape[1]
  path = work.path
  unstored_claims.compare_claims(game, responder, work)
  work.other[0, :len(theirs.chance)] = theirs.chance
  work.own[0, :len(mine.chance)] = mine.chance
  work.gains[:] = 0.0
  size = 0
  depth = 0
  path[0, best_response_kernels.NODE] = 0
  path[0, best_response_kernels.ROW] = -1
  while depth >= 0 and not work.stop[0]:
    node = path[depth, best_response_kernels.NODE]
    begin, first = tree.row_begin[node], tree.value_begin[node]
    rows = tree.row_begin[node + 1] - begin
    last = tree.last[node]
    level = game.level[last + 1]
    own_width = mine.width[level]
    is_own = tree.role[node] == responder.role
    row = path[depth, best_response_kernels.ROW]
    if row < 0:
      if is_own and not responder.answers:
        for h in range(own_width):
          action = choices.action[first + h]
          if action < 0:
            work.gains[-1 - action] += (work.own[depth, h] *
                                        choices.gain[first + h])
        size = _list_gains(work, last, game.num_claims, threshold, (node, -1),
                           found, size)
      if responder.follows if is_own else not responder.answers:
        best_response_kernels.enter(tree, table, node, work, depth)
    row += 1
    is_pushed = False
    while row < rows and not is_pushed:
      claim, child = tree.claim[begin + row], tree.child[begin + row]
      if claim == game.num_claims:
        row += 1
        continue
      new_level = game.level[claim + 1]
      own_move = hand_vectors.move_between(mine, level, new_level)
      move = hand_vectors.move_between(theirs, level, new_level)
      if is_own:
        if child >= 0:
          if responder.follows:
            total = best_response_kernels.row_reach(tree, table, node, row, work.own, work,
                                       depth)
          else:
            total = _chosen_reach(choices, first, row, work.own[depth],
                                  own_width, work.product)
          if total > 0.0:
            hand_vectors.descend(jit.pointer(work.product), 0,
                          jit.pointer(mine.merge), own_move,
                          jit.pointer(work.own), (depth + 1) * most)
            hand_vectors.descend(jit.pointer(work.other), depth * most,
                          jit.pointer(theirs.merge), move,
                          jit.pointer(work.other), (depth + 1) * most)
            is_pushed = True
      else:
        if responder.answers:
          mass = _chosen_reach(choices, first, row, work.other[depth],
                               theirs.width[level], work.product)
        else:
          mass = best_response_kernels.row_reach(tree, table, node, row, work.other, work,
                                    depth)
        own_mass = 0.0
        for h in range(own_width):
          own_mass += work.own[depth, h]
        # Nothing can gain more than from -1 to 1.
        if 2.0 * mass * own_mass > threshold:
          if child >= 0:
            hand_vectors.descend(jit.pointer(work.own), depth * most,
                          jit.pointer(mine.merge), own_move,
                          jit.pointer(work.own), (depth + 1) * most)
            hand_vectors.descend(jit.pointer(work.product), 0,
                          jit.pointer(theirs.merge), move,
                          jit.pointer(work.other), (depth + 1) * most)
            is_pushed = True
          else:
            unstored_claims.challenge(game, responder, True, claim, level,
                             work.product, work)
            unstored_claims.best_new(game, responder, claim, level, work.product, work)
            for h in range(own_width):
              gain = work.best[h] - work.result[h]
              if gain > unstored_claims.TIE and work.own[depth, h] > 0.0:
                new = unstored_claims.new_claim(game, responder, level, h, work)
                work.gains[new] += work.own[depth, h] * gain
            size = _list_gains(work, claim, game.num_claims, threshold,
                               (node, begin + row), found, size)
      if is_pushed:
        path[depth, best_response_kernels.ROW] = row
        depth += 1
        path[depth, best_response_kernels.NODE] = child
        path[depth, best_response_kernels.ROW] = -1
      row += 1
    if not is_pushed:
      depth -= 1
  return size
