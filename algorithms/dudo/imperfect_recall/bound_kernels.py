"""Bounds of best responses from what the policy will remember: kernels.

A responder who forgets nothing has too many turns for a table. So the tables
here have bounds of what it gets, for every unit of the graph. Both are
linear in the policy's reach, and for both the responder's strategy depends only
on the unit:

  upper[unit, hand, own hand]: the responder sees the policy's hand. Nobody who
    sees less gets more.
  lower[unit, hand, own hand]: the responder plays one fixed strategy, the best
    one for the mean reach of all histories of the unit.
"""

import numba
import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import abstraction_graph
from dudo_spiel.algorithms.dudo.imperfect_recall import full_response_kernels
from dudo_spiel.algorithms.runtime import jit

LOWER, UPPER = full_response_kernels.LOWER, full_response_kernels.UPPER

_RESPONDER, _POLICY = 0, 1  # who is to move


@jit.kernel(nogil=True, reassociate=True)
def mean_reaches(graph, arrays, role, responder, weights):
  """Writes weights[unit, hand], the reach of the responder's turns there.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    arrays: the `RoundArrays`.
    role: the responder's.
    responder: [row] float64, the probabilities with which the responder is
      assumed to play.
    weights: [unit, hand] float64, modified in place.
  """
  num_nodes, hands = len(graph.last), len(arrays.chances)
  reach = np.zeros((2, num_nodes, hands))  # by who is to move
  first = _RESPONDER if role == 0 else _POLICY
  reach[first, 0] = arrays.chances
  for i in range(num_nodes):
    node = graph.unit_node[i]
    for a in range(arrays.num_claims - 1 - graph.last[node]):
      child, row = arrays.child_begin[node] + a, arrays.row_begin[node] + a
      for o in range(hands):
        reach[_POLICY, child, o] += (reach[_RESPONDER, node, o] *
                                     responder[row])
        reach[_RESPONDER, child, o] += (reach[_POLICY, node, o] *
                                        arrays.probabilities[row, o])
    for o in range(hands):
      weights[arrays.unit[node], o] += reach[_RESPONDER, node, o]


@jit.kernel(nogil=True, reassociate=True)
def _improve(chance, values, best, scores, tables, unit):
  """Updates a unit's bounds with what one action gives.

  Args:
    chance: [hand], the mean reach of the unit.
    values: [2, hand, own hand], bounds of what the action gives.
    best: [own hand], the highest score so far, modified in place.
    scores: [own hand] scratch.
    tables: [2, unit, hand, own hand], modified in place.
    unit: the unit.
  """
  hands, own_hands = values.shape[1], values.shape[2]
  scores[:] = 0.0
  for o in range(hands):
    for h in range(own_hands):
      scores[h] += chance[o] * values[LOWER, o, h]
      tables[UPPER, unit, o, h] = max(tables[UPPER, unit, o, h],
                                      _rounded_up(values[UPPER, o, h]))
  for h in range(own_hands):
    if scores[h] > best[h]:
      best[h] = scores[h]
      for o in range(hands):
        tables[LOWER, unit, o, h] = -_rounded_up(-values[LOWER, o, h])


@jit.kernel(nogil=True, reassociate=True)
def _rounded_up(x):
  """Returns a float32 that is not below x."""
  y = np.float32(x)
  return y if y >= x else np.nextafter(y, np.float32(np.inf))


@jit.kernel(nogil=True, reassociate=True)
def _bound_unit(graph, arrays, weights, unit, tables):
  """Writes a unit's bounds from those of units with stronger claims."""
  hands, own_hands = tables.shape[2], tables.shape[3]
  node = graph.unit_node[graph.unit_begin[unit]]
  last = graph.last[node]
  values = np.empty((2, hands, own_hands))
  best = np.full(own_hands, -np.inf)
  scores = np.empty(own_hands)
  for bound in range(2):
    tables[bound, unit] = -np.inf
  if last >= 0:
    rank = arrays.rank[last]
    for bound in range(2):
      for o in range(hands):
        for h in range(own_hands):
          count = arrays.matches[rank, o] + arrays.own_matches[rank, h]
          values[bound, o, h] = arrays.challenges[bound, last, count]
    _improve(weights[unit], values, best, scores, tables, unit)
  for claim in range(last + 1, arrays.num_claims):
    child = arrays.child_begin[node] + claim - last - 1
    dudo = arrays.row_begin[child + 1] - 1
    rank = arrays.rank[claim]
    for bound in range(2):
      for o in range(hands):
        for h in range(own_hands):
          count = arrays.matches[rank, o] + arrays.own_matches[rank, h]
          values[bound, o, h] = (arrays.probabilities[dudo, o] *
                                 arrays.challenged[bound, claim, count])
    for a in range(arrays.num_claims - 1 - claim):
      row = arrays.row_begin[child] + a
      after = arrays.unit[arrays.child_begin[child] + a]
      for o in range(hands):
        p = np.float64(arrays.probabilities[row, o])
        if p > 0.0:
          for bound in range(2):
            for h in range(own_hands):
              values[bound, o, h] += p * tables[bound, after, o, h]
    _improve(weights[unit], values, best, scores, tables, unit)


@jit.kernel(nogil=True, reassociate=True)
def _bound_unit_of(graph, arrays, weights, unit, tables):
  """Does the same with plain tuples, as threads get them."""
  _bound_unit(abstraction_graph.AbstractionArrays(*graph),
              full_response_kernels.RoundArrays(*arrays), weights, unit, tables)


@jit.kernel(nogil=True, reassociate=True)
def bound_units(graph, arrays, weights, tables):
  """Writes all bounds; the arguments are those of `bound_units_parallel`."""
  for unit in range(len(graph.unit_begin) - 2, -1, -1):
    _bound_unit(graph, arrays, weights, unit, tables)


@jit.kernel(parallel=True, nogil=True, reassociate=True)
def bound_units_parallel(graph, arrays, weights, tables):
  """Writes all bounds, on all threads.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    arrays: the `full_response_kernels.RoundArrays`.
    weights: [unit, hand] float64, from `mean_reaches`.
    tables: [2, unit, hand, own hand] float32, modified in place.
  """
  wave_begin = graph.wave_begin
  graph_parts, array_parts = graph[:], arrays[:]
  for wave in range(len(wave_begin) - 2, -1, -1):
    for unit in numba.prange(wave_begin[wave], wave_begin[wave + 1]):
      _bound_unit_of(graph_parts, array_parts, weights, np.int64(unit), tables)
