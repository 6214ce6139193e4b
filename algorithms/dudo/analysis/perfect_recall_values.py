"""What claims of one hand are worth against a policy with perfect recall.

Both players go on as the policy does, which has a tree of histories. One walk
from a node on follows the known hand and all hands of the opponent, and turns
back where the policy leads none of them.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.runtime import jit

_NODE, _ROW = 0, 1  # columns of a path


class HandRound(NamedTuple):
  """A round as the player with the known hand sees it.

  Attributes:
    num_claims: C; row C of a node is Dudo.
    level: [claim + 1] int64, see `round_hands.ClassArrays`.
    role: of the player with the known hand.
    own: [level] int64, the class of the known hand.
    other: [level, hand] int64, the classes of the opponent's hands.
    challenges: [claim, hand] float64, what it is worth to the known hand to
      challenge a claim.
    challenged: [claim, hand] float64, the same if the opponent challenges.
  """
  num_claims: int
  level: np.ndarray
  role: int
  own: np.ndarray
  other: np.ndarray
  challenges: np.ndarray
  challenged: np.ndarray


class _Scratch(NamedTuple):
  """Memory that a walk overwrites.

  Attributes:
    reach: [depth, hand] float64, of the known hand and the opponent's hand.
    norm: [depth, class] float64, see `hand_vectors.norms`.
    sigma: [depth, class] float64, see `hand_vectors.strategy`.
    path: [depth, 2] int64.
  """
  reach: np.ndarray
  norm: np.ndarray
  sigma: np.ndarray
  path: np.ndarray


@jit.kernel(nogil=True)
def _enter(tree, table, node, work, depth):
  """Goes on at a node."""
  work.path[depth, _NODE] = node
  work.path[depth, _ROW] = tree.row_begin[node]
  hand_vectors.norms(jit.pointer(table), tree.table_begin[node],
              tree.row_begin[node + 1] - tree.row_begin[node],
              tree.value_begin[node + 1] - tree.value_begin[node],
              jit.pointer(work.norm), depth * work.norm.shape[1])


@jit.kernel(nogil=True)
def _add(game, tree, table, node, work, result):
  """Adds what a node is worth to the result; see `claim_values`.

  Args:
    game: the `HandRound`.
    tree: the `growing_tree.TreeArrays`.
    table: [number], to which the policy is proportional.
    node: where to begin.
    work: the `_Scratch`.
    result: [hand] float64, modified in place.
  """
  reach, path = work.reach, work.path
  reach[0] = 1.0
  depth = 0
  _enter(tree, table, node, work, 0)
  while depth >= 0:
    node, row = path[depth, _NODE], path[depth, _ROW]
    if row == tree.row_begin[node + 1]:
      depth -= 1
      continue
    path[depth, _ROW] = row + 1
    number = row - tree.row_begin[node]
    width = tree.value_begin[node + 1] - tree.value_begin[node]
    hand_vectors.strategy(jit.pointer(table), tree.table_begin[node] + number * width,
                   width, jit.pointer(work.norm), depth * work.norm.shape[1],
                   1.0 if number == 0 else 0.0, jit.pointer(work.sigma))
    level = game.level[tree.last[node] + 1]
    is_own = tree.role[node] == game.role
    is_any = False
    for h in range(len(result)):
      x = reach[depth, h] * work.sigma[
          depth, game.own[level] if is_own else game.other[level, h]]
      reach[depth + 1, h] = x
      is_any = is_any or x > 0.0
    if not is_any:
      continue
    claim, child = tree.claim[row], tree.child[row]
    if child >= 0:
      depth += 1
      _enter(tree, table, child, work, depth)
      continue
    is_dudo = claim == game.num_claims
    target = tree.last[node] if is_dudo else claim
    for h in range(len(result)):
      result[h] += reach[depth + 1, h] * (
          game.challenges[target, h] if is_own == is_dudo else
          game.challenged[target, h])


def claim_values(stored, claims, hand, challenges, challenged):
  """Returns [claim, opponent's hand] float64, if both go on as the policy does.

  The claims are those stronger than the last one, weakest first.

  Args:
    stored: the `stored_rounds.StoredRound`.
    claims: list of int, the claims so far.
    hand: the number of the own hand.
    challenges: [claim, opponent's hand] float64, the worth of own challenges.
    challenged: the same of the opponent's.
  """
  hands, tree, table = stored
  num_claims, role = hands.order.num_claims, len(claims) % 2
  game = HandRound(num_claims, hands.level, role,
                   np.ascontiguousarray(hands.classes[role][:, hand]),
                   hands.classes[1 - role], challenges, challenged)
  depths, most = num_claims + 3, int(hands.width.max())
  work = _Scratch(np.empty((depths, challenges.shape[1])),
                  np.empty((depths, most)), np.empty((depths, most)),
                  np.empty((depths, 2), np.int64))
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
      _add(game, tree, table, child, work, values[claim - first])
  return values
