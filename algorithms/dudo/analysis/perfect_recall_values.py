"""Values of claims with one hand, against a policy with perfect recall.

Both players continue as the policy does, which has a tree of histories. One
traversal from a node on follows the known hand and all hands of the opponent,
and skips subtrees to which the policy leads none of them.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit


class HandRound(NamedTuple):
  """A round as the player with the known hand sees it.

  Attributes:
    num_claims: C; row C of a node is Dudo.
    hand_level: [claim + 1] int64, that of a node by its last claim plus 1.
    role: of the player with the known hand.
    own: [level] int64, the class of the known hand.
    other: [level, hand] int64, the classes of the opponent's hands.
    challenges: [claim, hand] float64, the payoff of the known hand if it
      challenges a claim.
    challenged: [claim, hand] float64, its payoff if the opponent does.
  """
  num_claims: int
  hand_level: np.ndarray
  role: int
  own: np.ndarray
  other: np.ndarray
  challenges: np.ndarray
  challenged: np.ndarray


class _Scratch(NamedTuple):
  """Memory that a traversal overwrites.

  Attributes:
    reach: [depth, hand] float64, the product of both players' probabilities,
      by the opponent's hand.
    inverse_sum: [depth, class] float64, 1 / the sum of positive entries.
    strategy: [depth, class] float64, the policy of one row.
    path: [depth] int64, the nodes from the first one to the present one.
  """
  reach: np.ndarray
  inverse_sum: np.ndarray
  strategy: np.ndarray
  path: np.ndarray


@jit.kernel(nogil=True)
def _enter(tree, table, node, scratch, depth):
  """Writes a node to the path, and prepares `_reach_row` there."""
  scratch.path[depth] = node
  hand_vectors.inverse_sums(
      jit.pointer(table), tree.table_begin[node],
      tree.row_begin[node + 1] - tree.row_begin[node],
      tree.value_begin[node + 1] - tree.value_begin[node],
      jit.pointer(scratch.inverse_sum), depth * scratch.inverse_sum.shape[1])


@jit.kernel(nogil=True)
def _reach_row(arrays, tree, table, row, scratch, depth):
  """Writes the reach after a row of the last node of the path, at depth + 1.

  Returns whether it is not 0 for all hands.
  """
  node = scratch.path[depth]
  number = row - tree.row_begin[node]
  width = tree.value_begin[node + 1] - tree.value_begin[node]
  hand_vectors.strategy(
      jit.pointer(table), tree.table_begin[node] + number * width, width,
      jit.pointer(scratch.inverse_sum), depth * scratch.inverse_sum.shape[1],
      number == 0, jit.pointer(scratch.strategy))
  level = arrays.hand_level[tree.last[node] + 1]
  is_own = tree.role[node] == arrays.role
  is_any = False
  for h in range(scratch.reach.shape[1]):
    x = scratch.reach[depth, h] * scratch.strategy[
        depth, arrays.own[level] if is_own else arrays.other[level, h]]
    scratch.reach[depth + 1, h] = x
    is_any = is_any or x > 0.0
  return is_any


@jit.kernel(nogil=True)
def _add(arrays, tree, table, first, scratch, result):
  """Adds the value of a node to result[hand], by the opponent's hand."""
  scratch.reach[0] = 1.0
  _enter(tree, table, first, scratch, 0)
  node, row, depth = first, tree.row_begin[first], 0
  while True:
    if row == tree.row_begin[node + 1]:
      if depth == 0:
        return
      row = tree.parent_row[node] + 1
      depth -= 1
      node = scratch.path[depth]
    elif not _reach_row(arrays, tree, table, row, scratch, depth):
      row += 1
    elif tree.child[row] >= 0:
      node = tree.child[row]
      depth += 1
      _enter(tree, table, node, scratch, depth)
      row = tree.row_begin[node]
    else:
      is_dudo = tree.claim[row] == arrays.num_claims
      claim = tree.last[node] if is_dudo else tree.claim[row]
      is_challenger = (tree.role[node] == arrays.role) == is_dudo
      for h in range(len(result)):
        result[h] += scratch.reach[depth + 1, h] * (
            arrays.challenges[claim, h] if is_challenger else
            arrays.challenged[claim, h])
      row += 1


def claim_values(stored, claims, hand, challenges, challenged):
  """Returns [stronger claim, opponent's hand], if both play the policy.

  Args:
    stored: the `stored_rounds.StoredRound`.
    claims: list of int, the claims so far.
    hand: the number of the own hand.
    challenges: [claim, opponent's hand] float64, payoffs of own challenges.
    challenged: [claim, opponent's hand] float64, payoffs of the opponent's.
  """
  hands, tree, table = stored
  num_claims, role = hands.order.num_claims, len(claims) % 2
  arrays = HandRound(num_claims, hands.hand_level, role,
                     np.ascontiguousarray(hands.classes[role][:, hand]),
                     hands.classes[1 - role], challenges, challenged)
  depths, max_width = num_claims + 3, int(hands.width.max())
  scratch = _Scratch(np.empty((depths, challenges.shape[1])),
                     np.empty((depths, max_width)),
                     np.empty((depths, max_width)), np.empty(depths, np.int64))
  node = growing_tree.find(tree, claims)
  children = {}
  if node >= 0:
    rows = slice(tree.row_begin[node], tree.row_begin[node + 1])
    children = dict(zip(tree.claim[rows].tolist(), tree.child[rows].tolist()))
  first = claims[-1] + 1 if claims else 0
  values = challenged[first:].copy()  # where nothing is stored
  for claim in range(first, num_claims):
    child = children.get(claim, -1)
    if child >= 0:
      values[claim - first] = 0.0
      _add(arrays, tree, table, child, scratch, values[claim - first])
  return values
