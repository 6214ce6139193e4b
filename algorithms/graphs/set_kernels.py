"""What all solvers on a `single_round_graph` share: deals, their order, strategies.

An iteration touches the columns of its players' rolls and no others. So two
iterations without a common roll may run at the same time, and the result is
exactly that of one after the other: `find_levels` puts each iteration on the
first level on which it may run.
"""

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import simd
from dudo_spiel.algorithms.single_round import graph as single_round_graph

_0, _1, _3 = np.uintp(0), np.uintp(1), np.uintp(3)

# The first columns of the settings of an iteration; solvers have more.
TREMBLE, WEIGHT, EVEN = range(3)
NUM_COMMON = 3


@jit.kernel
def graph_pointers(graph):
  """Returns a tuple of `single_round_graph.GraphArrays` as such, of pointers."""
  return single_round_graph.GraphArrays(
      jit.pointer(graph[0]), jit.pointer(graph[1]),
      jit.pointer(graph[2]), jit.pointer(graph[3]),
      jit.pointer(graph[4]), jit.pointer(graph[5]), graph[6])


@jit.kernel
def sample_rolls(cumulative, seed, iteration, rolls):
  """Writes the rolls of one iteration; none where there are no rolls.

  Args:
    cumulative: [roll] float64, how likely it or one before it is.
    seed: uint64.
    iteration: the number of the iteration.
    rolls: [player] int64, modified in place.
  """
  if len(cumulative) == 0:
    return
  begin = random_streams.stream(seed, iteration)
  for player in range(len(rolls)):
    rolls[player] = random_streams.choose(
        cumulative, random_streams.uniform(begin, player))


@jit.kernel
def find_levels(rolls, num_columns):
  """Returns on which level each iteration may run.

  Args:
    rolls: [iteration, player] int64.
    num_columns: how many columns there are.

  Returns:
    [iteration] int64: one more than the largest level of an iteration before
    with a common roll.
  """
  last = np.full(num_columns, -1, np.int64)
  levels = np.zeros(len(rolls), np.int64)
  for i in range(len(rolls)):
    for player in range(rolls.shape[1]):
      levels[i] = max(levels[i], last[rolls[i, player]] + 1)
    for player in range(rolls.shape[1]):
      last[rolls[i, player]] = levels[i]
  return levels


@jit.kernel
def write_returns(deals, first_terminal, rolls, value, seats):
  """Writes the returns at the terminals of a deal of Dudo.

  Args:
    deals: the `single_round_graph.DealArrays`.
    first_terminal: the number of the first terminal.
    rolls: [player] int64.
    value: [(node or terminal) * seats + player], modified in place.
    seats: how many numbers a node has there.
  """
  counts, amounts, payoff = deals.counts, deals.amounts, deals.payoff
  players, masks = payoff.shape[1], payoff.shape[2]
  to = first_terminal * seats
  for claim in range(len(amounts)):
    count = 0
    for player in range(players):
      count += counts[rolls[player], claim % counts.shape[1]]
    is_true = 1 if count >= amounts[claim] else 0
    for claimer in range(players):
      for mask in range(masks):
        for player in range(players):
          value[to + player] = payoff[is_true, claimer, mask, player]
        to += seats


@jit.inline
def match_regrets(regret, first, strategy, begin, count, zero, one):
  """Writes the strategy of an information set.

  Args:
    regret: [entry].
    first: the first entry of the set.
    strategy: array to which it is written, from `begin` on.
    begin: where.
    count: how many actions the set has.
    zero: 0.0 in the type of the regrets (to make it here would take long).
    one: 1.0 likewise.
  """
  f, b, n = np.uintp(first), np.uintp(begin), np.uintp(count)
  if count == 2:
    x, y = regret[f], regret[f + _1]
    x = x if x > zero else zero
    y = y if y > zero else zero
    total = x + y
    if total > zero:
      strategy[b] = x / total
      strategy[b + _1] = y / total
    else:
      strategy[b] = strategy[b + _1] = 0.5
    return
  last = n & ~_3
  sums = simd.splat(zero)
  for a in range(_0, last, simd.STEP):
    sums += simd.above(simd.load(regret, f + a), zero)
  total = simd.total(sums)
  for a in range(last, n):
    x = regret[f + a]
    total += x if x > zero else zero
  if total > 1e-30:
    factor = one / total
    factors = simd.splat(factor)
    for a in range(_0, last, simd.STEP):
      x = simd.above(simd.load(regret, f + a), zero)
      simd.store(strategy, b + a, x * factors)
    for a in range(last, n):
      x = regret[f + a]
      strategy[b + a] = x * factor if x > zero else zero
  elif total > zero:  # one of which the inverse may be no number
    for a in range(n):
      x = regret[f + a]
      strategy[b + a] = x / total if x > zero else zero
  else:
    for a in range(n):
      strategy[b + a] = 1.0 / count


@jit.inline
def tremble_at(strategy, begin, count, tremble, one):
  """Makes a strategy uniform with a probability.

  Args:
    strategy: array, modified in place from `begin` on.
    begin: where.
    count: how many actions there are.
    tremble: the probability, in the type of the strategy.
    one: 1.0 likewise.
  """
  if tremble > 0.0:
    share = tremble / jit.cast_like(count, one)
    for a in range(np.uintp(begin), np.uintp(begin + count)):
      strategy[a] = (one - tremble) * strategy[a] + share


@jit.inline
def add_strategy(cumulative, first, strategy, begin, count, weight):
  """Adds a strategy to the averages.

  Args:
    cumulative: [entry], modified in place.
    first: the first entry of the set.
    strategy: array in which the strategy stands, from `begin` on.
    begin: where.
    count: how many actions there are.
    weight: float, of the type of the strategy.
  """
  f, b, n = np.uintp(first), np.uintp(begin), np.uintp(count)
  last = n & ~_3
  weights = simd.splat(weight)
  for a in range(_0, last, simd.STEP):
    x = simd.load(cumulative, f + a) + weights * simd.load(strategy, b + a)
    simd.store(cumulative, f + a, x)
  for a in range(last, n):
    cumulative[f + a] += weight * strategy[b + a]


@jit.inline
def add_regrets(regret, first, worth, count, mean, weight):
  """Adds to the regrets of a set.

  Args:
    regret: [entry], modified in place.
    first: the first entry of the set.
    worth: [action], what each action is worth.
    count: how many actions there are.
    mean: what the strategy is worth, of their type.
    weight: float, likewise.
  """
  f, n = np.uintp(first), np.uintp(count)
  last = n & ~_3
  means, weights = simd.splat(mean), simd.splat(weight)
  for a in range(_0, last, simd.STEP):
    x = weights * (simd.load(worth, a) - means)
    simd.store(regret, f + a, simd.load(regret, f + a) + x)
  for a in range(last, n):
    regret[f + a] += weight * (worth[a] - mean)


@jit.kernel
def normalize(set_entry, num_columns, table):
  """Divides each set's entries by the sum of their positive parts.

  Args:
    set_entry: [set + 1] int32, where the sets of a column begin.
    num_columns: how many columns there are.
    table: [column * entries + entry], modified in place; uniform where nothing
      is positive.
  """
  zero, one = table.dtype.type(0.0), table.dtype.type(1.0)
  for column in range(num_columns):
    offset = column * set_entry[-1]
    for s in range(len(set_entry) - 1):
      begin = offset + set_entry[s]
      match_regrets(table, begin, table, begin,
                    set_entry[s + 1] - set_entry[s], zero, one)
