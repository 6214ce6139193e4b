"""FSICFR on a round of Dudo, for all hands at once.

This is algorithm 2 of Neller & Hnath (2011) on the graph of `claim_memory`,
with the hand as the innermost axis of every array: tables are [row, hand].

The two roles of a round are the starter (0) and the other (1). A player's own
reach depends on the own hand alone, so the forward pass needs no deals: it sums
over all paths, for each hand, the product of the own probabilities,

  own[role][unit, hand]: up to the children of the unit where this role acts
    (it is the same for all of them, as the last claim is the other's),
  seen[role][memory, hand]: up to the memory where the other role acts.

The backward pass computes values for a list of deals. A deal pairs a hand of
each role; deals are listed so that in runs of them the hands of a role are
neighbours or all the same: a segment (deal, hand, length, step) says that
deal + i has hand + i * step, where step is 1 or 0. Rows of regrets are read and
written along segments.

Both roles may act at the same memory, on the same rows if they have equally
many dice: strategies of both are taken before regrets of either are changed.
Units of one level are shared out to threads. No number depends on how, since a
unit is handled by one thread, and units of a level do not touch each other.
"""

import numba
import numpy as np

from dudo_spiel.algorithms.match import claim_memory
from dudo_spiel.algorithms.runtime import jit


@jit.kernel
def _acts(memory, role, node):
  """Returns whether the role may act there: who started may be forgotten."""
  length = memory.length[node]
  return length == memory.recall_length or length % 2 == role


@jit.kernel
def sum_factors(memory, node, table, factors):
  """Writes factors[node, hand]: max(row, 0) * factor is then the strategy.

  It is zero where no row is positive: the strategy is uniform there.
  """
  total = factors[node]
  zero = total.dtype.type(0.0)
  one = total.dtype.type(1.0)
  total[:] = zero
  for row in range(memory.row_begin[node], memory.row_begin[node + 1]):
    for h in range(len(total)):
      x = table[row, h]
      total[h] += x if x > zero else zero
  for h in range(len(total)):
    total[h] = one / total[h] if total[h] > zero else zero


@jit.kernel
def _spread(memory, node, regret, sums, share, reach, seen, weight, scale,
            shift):
  """Adds a node's strategy, times own reach, to the sums and the children."""
  row, row_end = memory.row_begin[node], memory.row_begin[node + 1]
  child = memory.child_begin[node]
  zero = reach.dtype.type(0.0)
  uniform = reach.dtype.type(1.0 / (row_end - row))
  hands = len(reach)
  if not reach.any():
    return
  for h in range(hands):
    scale[h] = share[h] * reach[h]
    shift[h] = zero if share[h] > zero else reach[h] * uniform
  for a in range(memory.num_claims - 1 - memory.last[node]):
    for h in range(hands):
      x = regret[row + a, h]
      x = (x if x > zero else zero) * scale[h] + shift[h]
      seen[child + a, h] += x
      sums[row + a, h] += weight * x
  if node > 0:  # Dudo has no child
    for h in range(hands):
      x = regret[row_end - 1, h]
      x = (x if x > zero else zero) * scale[h] + shift[h]
      sums[row_end - 1, h] += weight * x


@jit.kernel
def _forward_unit(memory, unit, regrets, sums, factors, own, seen, is_shared,
                  weight, work):
  """Handles one unit in the forward pass."""
  begin, end = memory.unit_begin[unit], memory.unit_begin[unit + 1]
  first = memory.unit_memory[begin]
  for role in range(2):
    if memory.carry and first > 0:
      own[role][unit] = own[role][memory.group[first]]
    else:
      own[role][unit] = 0.0
  for i in range(begin, end):
    node = memory.unit_memory[i]
    for role in range(2):
      if not _acts(memory, role, node):
        continue
      if role == 0 or not (is_shared and _acts(memory, 0, node)):
        sum_factors(memory, node, regrets[role], factors[role])
      _spread(memory, node, regrets[role], sums[role], factors[role][node],
              own[role][memory.group[node]], seen[role], weight, work[0],
              work[1])
      # The other role's reach passes on as it is.
      passed, reach = own[1 - role][unit], seen[1 - role][node]
      for h in range(len(reach)):
        passed[h] += reach[h]


@jit.kernel
def _value_actions(memory, unit, values, leaves, out):
  """Writes out[action, deal], what a role's actions in the unit are worth.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    unit: the unit.
    values: [memory, deal], the values of the other role.
    leaves: [claim, deal], of the role itself.
    out: [action, deal], modified in place.
  """
  node = memory.unit_memory[memory.unit_begin[unit]]
  last, child = memory.last[node], memory.child_begin[node]
  num_children = memory.num_claims - 1 - last
  for a in range(num_children):
    for j in range(out.shape[1]):
      out[a, j] = -values[child + a, j]
  if last >= 0:
    out[num_children] = leaves[last]


@jit.kernel
def _play(memory, node, table, share, segments, action_values, sigma, out):
  """Writes out[deal], the value of the node under the table's strategy."""
  row, row_end = memory.row_begin[node], memory.row_begin[node + 1]
  zero = share.dtype.type(0.0)
  uniform = share.dtype.type(1.0 / (row_end - row))
  out[:] = zero
  for a in range(row_end - row):
    for h in range(len(share)):
      x = table[row + a, h]
      x = (x if x > zero else zero) * share[h]
      sigma[h] = x if share[h] > zero else uniform
    for s in range(len(segments)):
      deal, hand = np.uintp(segments[s, 0]), np.uintp(segments[s, 1])
      if segments[s, 3] == 1:
        for j in range(np.uintp(segments[s, 2])):
          out[deal + j] += sigma[hand + j] * action_values[a, deal + j]
      else:
        probability = sigma[hand]
        for j in range(np.uintp(segments[s, 2])):
          out[deal + j] += probability * action_values[a, deal + j]


@jit.sums
def _sum_regret(cf_reach, action_values, value, a, deal, length):
  """Returns the regret of action a, summed over neighbouring deals."""
  total = value.dtype.type(0.0)
  for j in range(length):
    total += cf_reach[deal + j] * (
        action_values[a, deal + j] - value[deal + j])
  return total


@jit.kernel
def _learn(memory, node, table, segments, cf_reach, action_values, value):
  """Adds the regrets of a node, for every deal."""
  row, row_end = memory.row_begin[node], memory.row_begin[node + 1]
  for a in range(row_end - row):
    for s in range(len(segments)):
      deal, hand = np.uintp(segments[s, 0]), np.uintp(segments[s, 1])
      length = np.uintp(segments[s, 2])
      if segments[s, 3] == 1:
        for j in range(length):
          table[row + a, hand + j] += cf_reach[deal + j] * (
              action_values[a, deal + j] - value[deal + j])
      else:
        table[row + a, hand] += _sum_regret(cf_reach, action_values, value,
                                            np.uintp(a), deal, length)


@jit.kernel
def _reach_of_deals(segments, reach, weights, weight, out):
  """Writes out[deal], the reach of the other role's hand times the weights."""
  for s in range(len(segments)):
    deal, hand = np.uintp(segments[s, 0]), np.uintp(segments[s, 1])
    if segments[s, 3] == 1:
      for j in range(np.uintp(segments[s, 2])):
        out[deal + j] = weight * weights[deal + j] * reach[hand + j]
    else:
      for j in range(np.uintp(segments[s, 2])):
        out[deal + j] = weight * weights[deal + j] * reach[hand]


@jit.kernel
def _backward_unit(memory, unit, tables, factors, seen, values, leaves,
                   segments, weights, weight, learns, work, lines):
  """Handles one unit in the backward pass."""
  for role in range(2):
    _value_actions(memory, unit, values[1 - role], leaves[role], work[role])
  for i in range(memory.unit_begin[unit], memory.unit_begin[unit + 1]):
    node = memory.unit_memory[i]
    for role in range(2):
      if _acts(memory, role, node):
        _play(memory, node, tables[role], factors[role][node], segments[role],
              work[role], lines[0], values[role][node])
    if not learns:
      continue
    for role in range(2):
      if _acts(memory, role, node) and seen[1 - role][node].any():
        _reach_of_deals(segments[1 - role], seen[1 - role][node],
                        weights[role], weight, lines[1])
        _learn(memory, node, tables[role], segments[role], lines[1],
               work[role], values[role][node])


@jit.kernel
def _start_forward(own, seen):
  """Sets the reaches before the first claim: the starter is to move."""
  for role in range(2):
    seen[role][:] = 0.0
    own[role][-1] = 1.0 - role
    seen[role][0] = role


@jit.kernel
def forward(memory, regrets, sums, factors, own, seen, is_shared, weight,
            work):
  """Computes all reaches, and adds to the sums of strategies.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    regrets: for each role [row, hand].
    sums: for each role [row, hand], modified in place: strategy times own
      reach times `weight` is added.
    factors: for each role [memory, hand], modified in place by
      `sum_factors`.
    own: for each role [unit + 1, hand], modified in place.
    seen: for each role [memory, hand], modified in place.
    is_shared: whether both roles have the same tables.
    weight: the weight of this iteration.
    work: [thread, 2, hand] scratch.
  """
  _start_forward(own, seen)
  for unit in range(len(memory.unit_begin) - 1):
    _forward_unit(memory, unit, regrets, sums, factors, own, seen, is_shared,
                  weight, work[0])


@jit.kernel
def _forward_share(memory, level, thread, regrets, sums, factors, own, seen,
                   is_shared, weight, work):
  """Handles a thread's share of a level in the forward pass."""
  arrays = claim_memory.MemoryArrays(*memory)
  for unit in range(arrays.level_begin[level] + thread,
                    arrays.level_begin[level + 1], len(work)):
    _forward_unit(arrays, unit, regrets, sums, factors, own, seen, is_shared,
                  weight, work[thread])


@jit.parallel
def forward_parallel(memory, regrets, sums, factors, own, seen, is_shared,
                     weight, work):
  """Does the same as `forward` with len(work) threads.

  Numba does not pass named tuples to threads, so here `memory` is a plain tuple
  of the same arrays.
  """
  _start_forward(own, seen)
  for level in range(memory[0] + 1):
    for thread in numba.prange(len(work)):
      _forward_share(memory, level, thread, regrets, sums, factors, own, seen,
                     is_shared, weight, work)


@jit.kernel
def backward(memory, tables, factors, seen, values, leaves, segments, weights,
             weight, learns, work, lines):
  """Computes the values of all memories for a list of deals, and learns.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    tables: for each role [row, hand], modified in place if it learns: sums of
      regrets (or, if it does not, anything proportional to a strategy).
    factors: for each role [memory, hand], from `forward` or `sum_factors`.
    seen: for each role [memory, hand], from `forward`.
    values: for each role [memory, deal], modified in place: what the memory
      is worth to this role, which is to move.
    leaves: for each role [claim, deal], what it is worth to this role to
      challenge the claim.
    segments: for each role [segment, 4] int64: (deal, hand, length, step).
    weights: for each role [deal], what the deal weighs in its regrets.
    weight: the weight of this iteration.
    learns: whether to add to the regrets.
    work: [thread, role, action, deal] scratch.
    lines: [thread, 2, hand or deal] scratch.
  """
  for unit in range(len(memory.unit_begin) - 2, -1, -1):
    _backward_unit(memory, unit, tables, factors, seen, values, leaves,
                   segments, weights, weight, learns, work[0], lines[0])


@jit.kernel
def _backward_share(memory, level, thread, tables, factors, seen, values,
                    leaves, segments, weights, weight, learns, work, lines):
  """Handles a thread's share of a level in the backward pass."""
  arrays = claim_memory.MemoryArrays(*memory)
  for unit in range(arrays.level_begin[level] + thread,
                    arrays.level_begin[level + 1], len(work)):
    _backward_unit(arrays, unit, tables, factors, seen, values, leaves,
                   segments, weights, weight, learns, work[thread],
                   lines[thread])


@jit.parallel
def backward_parallel(memory, tables, factors, seen, values, leaves, segments,
                      weights, weight, learns, work, lines):
  """Does the same as `backward` with len(work) threads and a plain tuple."""
  for level in range(memory[0], -1, -1):
    for thread in numba.prange(len(work)):
      _backward_share(memory, level, thread, tables, factors, seen, values,
                      leaves, segments, weights, weight, learns, work, lines)


@jit.kernel
def _record(values, chances, weight, state):
  """Adds a sweep to its round's record; see `sweep`."""
  root = values[0][0]
  value = 0.0
  for j in range(len(root)):
    value += chances[j] * root[j]
  state[1] += weight * value
  state[2] += weight
  state[0] += 1.0


@jit.kernel
def sweep(memory, regrets, sums, factors, own, seen, is_shared, values, leaves,
          segments, weights, chances, weight, forward_work, work, lines, state):
  """Runs one iteration, forward and backward, for a list of deals.

  Args: those of `forward` and `backward`, and
    chances: [deal] float64, how likely each deal is.
    state: [3] float64, modified in place here, so that it is right whenever
      Python gets to see it: how many sweeps there were, and the weighted sums
      of the round's value to the starter and of the weights.
  """
  forward(memory, regrets, sums, factors, own, seen, is_shared, weight,
          forward_work)
  backward(memory, regrets, factors, seen, values, leaves, segments, weights,
           weight, True, work, lines)
  _record(values, chances, weight, state)


@jit.kernel
def sweep_parallel(memory, regrets, sums, factors, own, seen, is_shared,
                   values, leaves, segments, weights, chances, weight,
                   forward_work, work, lines, state):
  """Does the same as `sweep` with len(work) threads and a plain tuple."""
  forward_parallel(memory, regrets, sums, factors, own, seen, is_shared, weight,
                   forward_work)
  backward_parallel(memory, regrets, factors, seen, values, leaves, segments,
                    weights, weight, True, work, lines)
  _record(values, chances, weight, state)


@jit.kernel
def all_factors(memory, table, factors):
  """Writes the factors of a whole table (see `sum_factors`)."""
  for node in range(len(memory.last)):
    sum_factors(memory, node, table, factors)


@jit.kernel
def sum_regrets(memory, table, chances):
  """Returns the sum over memories and hands of the largest positive regret.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    table: [row, hand], sums of regrets.
    chances: [hand] float64, how likely each hand is.
  """
  largest = np.empty(len(chances), table.dtype)
  total = 0.0
  for node in range(len(memory.last)):
    largest[:] = 0.0
    for row in range(memory.row_begin[node], memory.row_begin[node + 1]):
      for h in range(len(chances)):
        x = table[row, h]
        largest[h] = x if x > largest[h] else largest[h]
    for h in range(len(chances)):
      total += chances[h] * largest[h]
  return total


@jit.kernel
def normalize(memory, table):
  """Turns weights [row, hand] into probabilities, in place."""
  for node in range(len(memory.last)):
    begin, end = memory.row_begin[node], memory.row_begin[node + 1]
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
def quantize(memory, table, min_probability, min_reach, levels, out):
  """Writes weights as whole numbers, relative to the largest of a memory.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    table: [row, hand] weights.
    min_probability: actions less likely than this get 0.
    min_reach: memories whose weights sum to less get 0 everywhere.
    levels: the largest number.
    out: [row, hand] uint8, modified in place.
  """
  for node in range(len(memory.last)):
    begin, end = memory.row_begin[node], memory.row_begin[node + 1]
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
          out[row, h] = np.uint8(weight / largest * levels + 0.5)
