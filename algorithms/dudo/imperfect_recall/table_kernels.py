"""Strategies from one table of a round, of regrets or of weights: kernels.

They are made by regret matching, as probabilities, or as small whole numbers
for files. A table is [row, hand]; its rows are those of `abstraction_graph`,
where the actions of one node are neighbours.
"""

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables

# Larger numbers are refused: of float32, those of all actions of a node must
# have a finite sum.
MAX_WEIGHT = 2.0**120


@jit.kernel
def match_regrets(graph, node, table, factor):
  """Matches regrets at one node, for all hands at once.

  The strategy of a hand is max(row, 0) * factor, or uniform if the factor is 0.
  Whoever needs the strategy makes it from the two.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    node: the node of the graph.
    table: [row, hand].
    factor: [node, hand], modified in place at the node: 1 divided by the
      sum of the positive rows, 0 where that sum is below
      `regret_tables.min_sum`.
  """
  total = factor[node]
  zero = total.dtype.type(0.0)
  one = total.dtype.type(1.0)
  min_sum = regret_tables.min_sum(total)
  total[:] = zero
  for row in range(graph.row_begin[node], graph.row_begin[node + 1]):
    for h in range(len(total)):
      x = table[row, h]
      total[h] += x if x > zero else zero
  for h in range(len(total)):
    total[h] = one / total[h] if total[h] >= min_sum else zero


@jit.kernel
def match_all_regrets(graph, table, factor):
  """Writes the factors of all nodes, as `match_regrets` does for one."""
  for node in range(len(graph.last)):
    match_regrets(graph, node, table, factor)


@jit.kernel
def sum_regrets(graph, table, chances):
  """Returns the sum over nodes and hands of the largest positive regret.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    table: [row, hand], sums of regrets.
    chances: [hand] float64, how likely each hand is.
  """
  largest = np.empty(len(chances), table.dtype)
  total = 0.0
  for node in range(len(graph.last)):
    largest[:] = 0.0
    for row in range(graph.row_begin[node], graph.row_begin[node + 1]):
      for h in range(len(chances)):
        x = table[row, h]
        largest[h] = x if x > largest[h] else largest[h]
    for h in range(len(chances)):
      total += chances[h] * largest[h]
  return total


@jit.kernel
def normalize(graph, table):
  """Turns weights [row, hand] into probabilities, in place."""
  for node in range(len(graph.last)):
    begin, end = graph.row_begin[node], graph.row_begin[node + 1]
    for h in range(table.shape[1]):
      total = table.dtype.type(0.0)
      for row in range(begin, end):
        total += table[row, h]
      for row in range(begin, end):
        if total > 0.0:
          table[row, h] /= total
        else:
          table[row, h] = 1.0 / (end - begin)


@jit.kernel
def quantize(graph, table, min_probability, min_reach, max_quantum, out):
  """Writes weights as whole numbers, relative to the largest of a graph.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    table: [row, hand] weights.
    min_probability: actions less likely than this get 0.
    min_reach: nodes whose weights sum to less get 0 everywhere.
    max_quantum: the largest of these numbers.
    out: [row, hand] uint8, modified in place.
  """
  for node in range(len(graph.last)):
    begin, end = graph.row_begin[node], graph.row_begin[node + 1]
    for h in range(table.shape[1]):
      total, largest = 0.0, 0.0
      for row in range(begin, end):
        total += table[row, h]
        largest = max(largest, table[row, h])
      if total <= 0.0 or total < min_reach:
        continue
      for row in range(begin, end):
        weight = table[row, h]
        if weight == largest or weight >= min_probability * total:
          out[row, h] = np.uint8(weight / largest * max_quantum + 0.5)
