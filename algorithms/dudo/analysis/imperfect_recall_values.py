"""Values of the claims of one hand, if both players play tables.

From one point of a round on, both players follow the tables of a
`match_policy.MatchPolicy`. One hand is known. So a position is a node of the
abstraction graph and who acts there, and it has a value for each hand of the
opponent. Positions that the known hand never reaches are left out.
"""

import functools
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

_OWN, _OPPONENT = 0, 1  # who acts: the player with the known hand, or the other
_UNREACHED = -1
_REACHED = 0
_MAX_BYTES = 4 * 10**9  # of the values of positions


class HandArrays(NamedTuple):
  """A round for the player with the known hand.

  Attributes:
    num_claims: how many claims there are.
    row_begin: [node + 1] int64, the first row of a node of the abstraction
      graph.
    child_begin: [node] int64, the node after the weakest stronger claim.
    last: [node] int64, its last claim, -1 before the first.
    order: [node] int64, the nodes by their last claims, weakest first.
    own_weights: [row] float64, the table of the known hand.
    weights: [row, hand] of any type, the opponent's table.
    challenges: [claim, hand] float64, the payoff to the known hand if it
      challenges a claim.
    challenged: [claim, hand] float64, its payoff if the opponent challenges.
  """
  num_claims: int
  row_begin: np.ndarray
  child_begin: np.ndarray
  last: np.ndarray
  order: np.ndarray
  own_weights: np.ndarray
  weights: np.ndarray
  challenges: np.ndarray
  challenged: np.ndarray


@jit.kernel(nogil=True)
def _index_positions(arrays, node, index):
  """Numbers the positions that are reached after a claim at a node.

  Args:
    arrays: the `HandArrays`.
    node: the node at which the player with the known hand acts.
    index: [2, node] int64, all -1; modified in place: the index of the position
      (who acts, node), -1 if it is not reached.

  Returns:
    How many positions there are.
  """
  for child in range(arrays.num_claims - 1 - arrays.last[node]):
    index[_OPPONENT, arrays.child_begin[node] + child] = _REACHED
  count = 0
  for other in arrays.order:
    begin, end = arrays.row_begin[other], arrays.row_begin[other + 1]
    children = arrays.num_claims - 1 - arrays.last[other]
    first = arrays.child_begin[other]
    if index[_OPPONENT, other] == _REACHED:
      index[_OPPONENT, other] = count
      count += 1
      for child in range(children):
        index[_OWN, first + child] = _REACHED
    if index[_OWN, other] == _REACHED:
      index[_OWN, other] = count
      count += 1
      total = 0.0
      for row in range(begin, end):
        total += arrays.own_weights[row]
      for child in range(children):
        if arrays.own_weights[begin + child] > 0.0 or total == 0.0:
          index[_OPPONENT, first + child] = _REACHED
  return count


@jit.kernel(nogil=True, reassociate=True)
def _own_turn(arrays, node, index, values, out):
  """Writes out[hand], the values of a node at which the known hand acts."""
  begin, end = arrays.row_begin[node], arrays.row_begin[node + 1]
  first, last = arrays.child_begin[node], arrays.last[node]
  total = 0.0
  for row in range(begin, end):
    total += arrays.own_weights[row]
  out[:] = 0.0
  for row in range(begin, end):
    probability = (arrays.own_weights[row] / total if total > 0.0 else
                   1.0 / (end - begin))
    if probability == 0.0:
      continue
    if row == end - 1:
      for o in range(len(out)):
        out[o] += probability * arrays.challenges[last, o]
    else:
      child = index[_OPPONENT, first + row - begin]
      for o in range(len(out)):
        out[o] += probability * values[child, o]


@jit.kernel(nogil=True, reassociate=True)
def _opponents_turn(arrays, node, index, values, totals, extra, out):
  """Writes out[hand], the values of a node at which the opponent acts.

  `totals` and `extra` are [hand] scratch; `extra` is 1 for a hand without
  weights there, which plays uniformly.
  """
  begin, end = arrays.row_begin[node], arrays.row_begin[node + 1]
  first, last = arrays.child_begin[node], arrays.last[node]
  totals[:] = 0.0
  out[:] = 0.0
  for row in range(begin, end - 1):
    child = index[_OWN, first + row - begin]
    for o in range(len(out)):
      weight = np.float64(arrays.weights[row, o])
      totals[o] += weight
      out[o] += weight * values[child, o]
  num_extra = 0.0
  for o in range(len(out)):
    weight = np.float64(arrays.weights[end - 1, o])
    totals[o] += weight
    extra[o] = 1.0 if totals[o] == 0.0 else 0.0
    totals[o] += extra[o] * (end - begin)
    out[o] += weight * arrays.challenged[last, o]
    num_extra += extra[o]
  if num_extra > 0.0:
    for row in range(begin, end - 1):
      child = index[_OWN, first + row - begin]
      for o in range(len(out)):
        out[o] += extra[o] * values[child, o]
    for o in range(len(out)):
      out[o] += extra[o] * arrays.challenged[last, o]
  for o in range(len(out)):
    out[o] /= totals[o]


@jit.kernel(nogil=True, reassociate=True)
def _evaluate(arrays, index, values):
  """Writes values[position, hand] of all positions in the index."""
  totals = np.empty(values.shape[1])
  extra = np.empty(values.shape[1])
  for i in range(len(arrays.order) - 1, -1, -1):
    node = arrays.order[i]
    if index[_OWN, node] != _UNREACHED:
      _own_turn(arrays, node, index, values, values[index[_OWN, node]])
    if index[_OPPONENT, node] != _UNREACHED:
      _opponents_turn(arrays, node, index, values, totals, extra,
                      values[index[_OPPONENT, node]])


@functools.lru_cache(maxsize=8)
def _nodes_by_last_claim(rules, num_dice):
  """Returns [node] int64, the nodes by their last claims, weakest first."""
  return np.argsort(rules.graph(num_dice).arrays.last, kind="stable")


def claim_values(policy, dice, claims, hand, challenges, challenged):
  """Returns [stronger claim, opponent's hand], if both play the policy.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (own dice, opponent's dice). It is the player's own turn.
    claims: list of int, the claims so far.
    hand: the index of the own hand.
    challenges: [claim, opponent's hand] float64, payoffs of own challenges.
    challenged: [claim, opponent's hand] float64, payoffs of the opponent's.
  """
  graph = policy.rules.graph(sum(dice))
  num_hands = challenges.shape[1]
  arrays = HandArrays(
      num_claims=graph.num_claims, row_begin=graph.arrays.row_begin,
      child_begin=graph.arrays.child_begin, last=graph.arrays.last,
      order=_nodes_by_last_claim(policy.rules, sum(dice)),
      own_weights=policy.tables[dice][:, hand].astype(np.float64),
      weights=policy.tables[dice[::-1]], challenges=challenges,
      challenged=challenged)
  node = graph.index(claims)
  index = np.full((2, graph.num_nodes), _UNREACHED)
  count = _index_positions(arrays, node, index)
  if 8 * count * num_hands > _MAX_BYTES:
    raise ValueError(f"policy={policy}: the values of {count:,} positions "
                     f"would take {8 * count * num_hands:,} bytes; must be at "
                     f"most {_MAX_BYTES:,}")
  values = np.empty((count, num_hands))
  _evaluate(arrays, index, values)
  first = arrays.child_begin[node]
  children = graph.num_claims - 1 - (claims[-1] if claims else -1)
  return values[index[_OPPONENT, first:first + children]]
