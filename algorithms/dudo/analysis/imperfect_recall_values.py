"""What both players' plans are worth to one hand, for all hands of the other.

From one point of a round on, both players follow their tables. What happens
then depends on the memory, on who acts, and on both hands. One hand is known,
so a place is a memory and who acts there, and it has a value for each hand of
the opponent. A place that the known hand never leads to is left out.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

HERO, OPPONENT = 0, 1  # who acts: the player with the known hand, or the other
_NOWHERE = -1
_MET = 0


class HandArrays(NamedTuple):
  """A round as the player with the known hand plans it.

  Attributes:
    num_claims: how many claims there are.
    row_begin: [memory + 1] int64, the first row of a memory.
    child_begin: [memory] int64, the memory after the weakest stronger claim.
    last: [memory] int64, its last claim, -1 before the first.
    order: [memory] int64, the memories by their last claims, weakest first.
    own_weights: [row] float64, the table of the known hand.
    weights: [row, hand] of any type, the opponent's table.
    challenges: [claim, hand] float64, what it is worth to the known hand to
      challenge a claim.
    challenged: [claim, hand] float64, the same if the opponent challenges.
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
def number_places(game, node, place):
  """Numbers the places that may be met after an action at a memory.

  Args:
    game: the `HandArrays`.
    node: the memory at which the player with the known hand acts.
    place: [2, memory] int64, all -1; modified in place: the number of
      (who acts, memory), -1 if it is not met.

  Returns:
    How many places there are.
  """
  for child in range(game.num_claims - 1 - game.last[node]):
    place[OPPONENT, game.child_begin[node] + child] = _MET
  count = 0
  for other in game.order:
    begin, end = game.row_begin[other], game.row_begin[other + 1]
    children = game.num_claims - 1 - game.last[other]
    first = game.child_begin[other]
    if place[OPPONENT, other] == _MET:
      place[OPPONENT, other] = count
      count += 1
      for child in range(children):
        place[HERO, first + child] = _MET
    if place[HERO, other] == _MET:
      place[HERO, other] = count
      count += 1
      total = 0.0
      for row in range(begin, end):
        total += game.own_weights[row]
      for child in range(children):
        if game.own_weights[begin + child] > 0.0 or total == 0.0:
          place[OPPONENT, first + child] = _MET
  return count


@jit.kernel(nogil=True, reassociate=True)
def _own_turn(game, node, place, values, out):
  """Writes out[hand], the value where the known hand acts by its table."""
  begin, end = game.row_begin[node], game.row_begin[node + 1]
  first, last = game.child_begin[node], game.last[node]
  total = 0.0
  for row in range(begin, end):
    total += game.own_weights[row]
  out[:] = 0.0
  for row in range(begin, end):
    share = (game.own_weights[row] / total if total > 0.0 else
             1.0 / (end - begin))
    if share == 0.0:
      continue
    if row == end - 1:
      for o in range(len(out)):
        out[o] += share * game.challenges[last, o]
    else:
      child = place[OPPONENT, first + row - begin]
      for o in range(len(out)):
        out[o] += share * values[child, o]


@jit.kernel(nogil=True, reassociate=True)
def _opponents_turn(game, node, place, values, totals, extra, out):
  """Writes out[hand], the value where the opponent acts.

  Args:
    game: the `HandArrays`.
    node: the memory.
    place: [2, memory] int64, from `number_places`.
    values: [place, hand] float64; those of stronger claims are known.
    totals: [hand] float64, overwritten.
    extra: [hand] float64, overwritten: 1 for a hand that has no weights there
      and so takes all actions alike, else 0.
    out: [hand] float64, modified in place.
  """
  begin, end = game.row_begin[node], game.row_begin[node + 1]
  first, last = game.child_begin[node], game.last[node]
  totals[:] = 0.0
  out[:] = 0.0
  for row in range(begin, end - 1):
    child = place[HERO, first + row - begin]
    for o in range(len(out)):
      weight = np.float64(game.weights[row, o])
      totals[o] += weight
      out[o] += weight * values[child, o]
  num_extra = 0.0
  for o in range(len(out)):
    weight = np.float64(game.weights[end - 1, o])
    totals[o] += weight
    extra[o] = 1.0 if totals[o] == 0.0 else 0.0
    totals[o] += extra[o] * (end - begin)
    out[o] += weight * game.challenged[last, o]
    num_extra += extra[o]
  if num_extra > 0.0:
    for row in range(begin, end - 1):
      child = place[HERO, first + row - begin]
      for o in range(len(out)):
        out[o] += extra[o] * values[child, o]
    for o in range(len(out)):
      out[o] += extra[o] * game.challenged[last, o]
  for o in range(len(out)):
    out[o] /= totals[o]


@jit.kernel(nogil=True, reassociate=True)
def evaluate(game, place, values):
  """Writes the values of all places.

  Args:
    game: the `HandArrays`.
    place: [2, memory] int64, from `number_places`.
    values: [place, hand] float64, modified in place.
  """
  totals = np.empty(values.shape[1])
  extra = np.empty(values.shape[1])
  for i in range(len(game.order) - 1, -1, -1):
    node = game.order[i]
    if place[HERO, node] != _NOWHERE:
      _own_turn(game, node, place, values, values[place[HERO, node]])
    if place[OPPONENT, node] != _NOWHERE:
      _opponents_turn(game, node, place, values, totals, extra,
                      values[place[OPPONENT, node]])
