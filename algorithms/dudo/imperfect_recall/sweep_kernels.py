"""FSICFR on a round of Dudo, for all hands at once: kernels.

This is algorithm 2 of Neller & Hnath (2011) on the abstraction graph. The hand
is the innermost axis of every array: tables are [row, hand].

A round has two roles, the starter (0) and the other (1). A player's own reach
depends only on that player's hand, so the forward pass needs no deals. For each
hand it sums, over all paths, the product of the player's own probabilities:

  own_turn_reach[unit, hand]: up to the children of the unit, where this role
    acts (all children have the same, since the opponent made the last claim).
    If units share children, it is summed over this unit and those before it,
  opponent_turn_reach[node, hand]: up to the node, where the opponent acts.

The backward pass computes values for a list of deals. A deal pairs one hand of
each role. Deals are listed so that in runs of them the hands of a role are
neighbours or all the same (`deals.SEGMENT`), and rows of regrets are read and
written along these runs.

Both roles may act at the same node, and on the same rows if they have equally
many dice. So the strategies of both are read before any regret changes.

Threads share out the units of a wave. Each unit is handled by one thread, and
the units of a wave do not touch each other, so no number depends on how many
threads there are.
"""

from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import abstraction_graph
from dudo_spiel.algorithms.dudo.imperfect_recall import table_kernels
from dudo_spiel.algorithms.runtime import jit


class RoleArrays(NamedTuple):
  """What a sweep reads and writes for one role.

  Attributes:
    role: 0 for the starter, 1 for the other.
    table: [row, hand], to which the strategy is proportional where it is
      positive: sums of regrets in a sweep, of strategies in a valuation.
    cumulative: [row, hand], sums of strategies.
    factor: [node, hand], written by `table_kernels.match_regrets`.
    own_turn_reach: [unit + 1, hand], this role's own reach of the children of a
      unit, where it acts.
    opponent_turn_reach: [node, hand], this role's own reach of a node where the
      opponent acts.
    value: [node, deal], what the node is worth to this role if it is to move
      there.
    leaf: [claim, deal], what this role gets when it challenges the claim.
    segments: [segment] `deals.SEGMENT`, this role's hands.
    weight: [deal], what the deal weighs in this role's regrets.
  """
  role: int
  table: np.ndarray
  cumulative: np.ndarray
  factor: np.ndarray
  own_turn_reach: np.ndarray
  opponent_turn_reach: np.ndarray
  value: np.ndarray
  leaf: np.ndarray
  segments: np.ndarray
  weight: np.ndarray


class SweepSettings(NamedTuple):
  """How to sweep.

  Attributes:
    is_shared: whether both roles have the same tables.
    learns: whether to add to the regrets.
    weight: the weight of this iteration, of the type of the tables.
  """
  is_shared: bool
  learns: bool
  weight: float


class SweepScratch(NamedTuple):
  """What every thread of a sweep overwrites.

  Attributes:
    scale: [thread, hand], what a positive regret weighs.
    shift: [thread, hand], what every action weighs.
    strategy: [thread, hand], the probability of an action.
    cf_reach: [thread, deal], the opponent's reach, with the deal's weight.
    action_value: [thread, role, action, deal], what actions are worth.
  """
  scale: np.ndarray
  shift: np.ndarray
  strategy: np.ndarray
  cf_reach: np.ndarray
  action_value: np.ndarray


@jit.inline
def _propagate_acting(graph, node, mine, weight, scale, shift):
  """Adds a strategy, times own reach, to the sums and to the children."""
  row, row_end = graph.row_begin[node], graph.row_begin[node + 1]
  child = graph.child_begin[node]
  table, cumulative = mine.table, mine.cumulative
  child_reach = mine.opponent_turn_reach
  factor = mine.factor[node]
  reach = mine.own_turn_reach[graph.last_parent_unit[node]]
  zero = reach.dtype.type(0.0)
  uniform = reach.dtype.type(1.0 / (row_end - row))
  hands = len(reach)
  if not reach.any():
    return
  for h in range(hands):
    scale[h] = factor[h] * reach[h]
    shift[h] = zero if factor[h] > zero else reach[h] * uniform
  for a in range(graph.num_claims - 1 - graph.last[node]):
    for h in range(hands):
      x = table[row + a, h]
      x = (x if x > zero else zero) * scale[h] + shift[h]
      child_reach[child + a, h] += x
      cumulative[row + a, h] += weight * x
  if node > 0:  # Dudo has no child
    for h in range(hands):
      x = table[row_end - 1, h]
      x = (x if x > zero else zero) * scale[h] + shift[h]
      cumulative[row_end - 1, h] += weight * x


@jit.inline
def _propagate_waiting(mine, unit, node):
  """Adds the reach of a role that does not act to the unit's children."""
  total, reach = mine.own_turn_reach[unit], mine.opponent_turn_reach[node]
  for h in range(len(reach)):
    total[h] += reach[h]


@jit.inline
def _begin_unit(graph, mine, unit):
  """Sets the reach of a unit's children before its nodes are added up."""
  before = graph.unit_before[unit]
  if before >= 0:  # what leads to its children from there
    mine.own_turn_reach[unit] = mine.own_turn_reach[before]
  else:
    mine.own_turn_reach[unit] = 0.0


@jit.kernel
def _forward_unit(graph, unit, starter, other, settings, scratch, thread):
  """Handles one unit in the forward pass."""
  weight = settings.weight
  scale, shift = scratch.scale[thread], scratch.shift[thread]
  _begin_unit(graph, starter, unit)
  _begin_unit(graph, other, unit)
  for i in range(graph.unit_begin[unit], graph.unit_begin[unit + 1]):
    node = graph.unit_node[i]
    starter_acts = graph.acts[node, starter.role]
    if starter_acts:
      table_kernels.match_regrets(graph, node, starter.table, starter.factor)
      _propagate_acting(graph, node, starter, weight, scale, shift)
      _propagate_waiting(other, unit, node)
    if graph.acts[node, other.role]:
      if not (settings.is_shared and starter_acts):
        table_kernels.match_regrets(graph, node, other.table,
                                    other.factor)
      _propagate_acting(graph, node, other, weight, scale, shift)
      _propagate_waiting(starter, unit, node)


@jit.kernel
def _value_actions(graph, unit, values, leaves, out):
  """Writes out[action, deal], what a role's actions in the unit are worth.

  The values [node, deal] are the opponent's, the leaves [claim, deal] its own.
  """
  node = graph.unit_node[graph.unit_begin[unit]]
  last, child = graph.last[node], graph.child_begin[node]
  num_children = graph.num_claims - 1 - last
  for a in range(num_children):
    for j in range(out.shape[1]):
      out[a, j] = -values[child + a, j]
  if last >= 0:
    out[num_children] = leaves[last]


@jit.inline
def _value_node(graph, node, mine, action_values, strategy):
  """Writes mine.value[node], from action_values[action, deal]."""
  row, row_end = graph.row_begin[node], graph.row_begin[node + 1]
  table, factor, segments = mine.table, mine.factor[node], mine.segments
  out = mine.value[node]
  zero = factor.dtype.type(0.0)
  uniform = factor.dtype.type(1.0 / (row_end - row))
  out[:] = zero
  for a in range(row_end - row):
    for h in range(len(factor)):
      x = table[row + a, h]
      x = (x if x > zero else zero) * factor[h]
      strategy[h] = x if factor[h] > zero else uniform
    for s in range(len(segments)):
      run = segments[s]
      deal, hand = np.uintp(run.deal), np.uintp(run.hand)
      if run.step == 1:
        for j in range(np.uintp(run.length)):
          out[deal + j] += strategy[hand + j] * action_values[a, deal + j]
      else:
        probability = strategy[hand]
        for j in range(np.uintp(run.length)):
          out[deal + j] += probability * action_values[a, deal + j]


@jit.kernel(nogil=True, reassociate=True)
def _sum_regret(cf_reach, action_values, value, a, deal, length):
  """Returns the regret of action a, summed over neighbouring deals."""
  total = value.dtype.type(0.0)
  for j in range(length):
    total += cf_reach[deal + j] * (
        action_values[a, deal + j] - value[deal + j])
  return total


@jit.inline
def _learn(graph, node, mine, action_values, cf_reach):
  """Adds the regrets of a node, for every deal; cf_reach is [deal]."""
  row, row_end = graph.row_begin[node], graph.row_begin[node + 1]
  table, value, segments = mine.table, mine.value[node], mine.segments
  for a in range(row_end - row):
    for s in range(len(segments)):
      run = segments[s]
      deal, hand = np.uintp(run.deal), np.uintp(run.hand)
      length = np.uintp(run.length)
      if run.step == 1:
        for j in range(length):
          table[row + a, hand + j] += cf_reach[deal + j] * (
              action_values[a, deal + j] - value[deal + j])
      else:
        table[row + a, hand] += _sum_regret(cf_reach, action_values, value,
                                            np.uintp(a), deal, length)


@jit.kernel
def _reach_of_deals(segments, reach, weights, weight, out):
  """Writes out[deal], the reach of the opponent's hand times the weights."""
  for s in range(len(segments)):
    run = segments[s]
    deal, hand = np.uintp(run.deal), np.uintp(run.hand)
    if run.step == 1:
      for j in range(np.uintp(run.length)):
        out[deal + j] = weight * weights[deal + j] * reach[hand + j]
    else:
      for j in range(np.uintp(run.length)):
        out[deal + j] = weight * weights[deal + j] * reach[hand]


@jit.inline
def _learn_if_reached(graph, node, mine, theirs, weight, action_values,
                      cf_reach):
  """Adds a role's regrets where it acts, if the opponent gets there."""
  if graph.acts[node, mine.role] and theirs.opponent_turn_reach[node].any():
    _reach_of_deals(theirs.segments, theirs.opponent_turn_reach[node],
                    mine.weight, weight, cf_reach)
    _learn(graph, node, mine, action_values, cf_reach)


@jit.kernel
def _backward_unit(graph, unit, starter, other, settings, scratch, thread):
  """Handles one unit in the backward pass."""
  weight = settings.weight
  starter_values = scratch.action_value[thread, starter.role]
  other_values = scratch.action_value[thread, other.role]
  strategy, cf_reach = scratch.strategy[thread], scratch.cf_reach[thread]
  _value_actions(graph, unit, other.value, starter.leaf, starter_values)
  _value_actions(graph, unit, starter.value, other.leaf, other_values)
  for i in range(graph.unit_begin[unit], graph.unit_begin[unit + 1]):
    node = graph.unit_node[i]
    if graph.acts[node, starter.role]:
      _value_node(graph, node, starter, starter_values, strategy)
    if graph.acts[node, other.role]:
      _value_node(graph, node, other, other_values, strategy)
    if settings.learns:
      _learn_if_reached(graph, node, starter, other, weight, starter_values,
                        cf_reach)
      _learn_if_reached(graph, node, other, starter, weight, other_values,
                        cf_reach)


@jit.kernel
def _start_forward(starter, other):
  """Sets the reaches before the first claim, which is the starter's."""
  starter.opponent_turn_reach[:] = 0.0
  starter.own_turn_reach[-1] = 1.0
  other.opponent_turn_reach[:] = 0.0
  other.own_turn_reach[-1] = 0.0
  other.opponent_turn_reach[0] = 1.0


@jit.kernel
def _forward(graph, starter, other, settings, scratch):
  """Computes all reaches, and adds to the sums of strategies."""
  _start_forward(starter, other)
  # To count references takes as long as a small graph does.
  graph, scratch = jit.borrowed(graph), jit.borrowed(scratch)
  starter, other = jit.borrowed(starter), jit.borrowed(other)
  for unit in range(len(graph.unit_begin) - 1):
    _forward_unit(graph, unit, starter, other, settings, scratch, np.int64(0))


# Numba passes to threads only plain tuples that are not nested; this function
# makes the named ones again. Threads count in int64, as all other indices do,
# so that nothing is compiled twice.
@jit.kernel
def _slice(graph, starter, other, settings, scratch, wave, thread, is_forward):
  """Handles a thread's slice of a wave, in the forward or backward pass."""
  graph = abstraction_graph.AbstractionArrays(*jit.borrowed(graph))
  starter = RoleArrays(*jit.borrowed(starter))
  other = RoleArrays(*jit.borrowed(other))
  scratch = SweepScratch(*jit.borrowed(scratch))
  settings = SweepSettings(*settings)
  for unit in range(graph.wave_begin[wave] + thread,
                    graph.wave_begin[wave + 1], len(scratch.scale)):
    if is_forward:
      _forward_unit(graph, unit, starter, other, settings, scratch, thread)
    else:
      _backward_unit(graph, unit, starter, other, settings, scratch, thread)


@jit.kernel(parallel=True)
def _forward_parallel(graph, starter, other, settings, scratch):
  """Does the same as `_forward`, with a thread for each row of scratch."""
  _start_forward(starter, other)
  num_waves, num_threads = graph.num_claims + 1, len(scratch.scale)
  plain_graph, mine, theirs = graph[:], starter[:], other[:]
  plain_settings, plain_scratch = settings[:], scratch[:]
  for wave in range(num_waves):
    for thread in numba.prange(num_threads):
      _slice(plain_graph, mine, theirs, plain_settings, plain_scratch, wave,
             np.int64(thread), True)


@jit.kernel
def backward(graph, starter, other, settings, scratch):
  """Computes the values of all nodes for a list of deals, and learns.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    starter: the `RoleArrays` of role 0; `value` is modified in place, and
      `table` if it learns.
    other: the `RoleArrays` of role 1, modified as those of role 0.
    settings: the `SweepSettings`.
    scratch: the `SweepScratch`.
  """
  graph, scratch = jit.borrowed(graph), jit.borrowed(scratch)
  starter, other = jit.borrowed(starter), jit.borrowed(other)
  for unit in range(len(graph.unit_begin) - 2, -1, -1):
    _backward_unit(graph, unit, starter, other, settings, scratch, np.int64(0))


@jit.kernel(parallel=True)
def backward_parallel(graph, starter, other, settings, scratch):
  """Does the same as `backward`, with a thread for each row of scratch."""
  num_waves, num_threads = graph.num_claims + 1, len(scratch.scale)
  plain_graph, mine, theirs = graph[:], starter[:], other[:]
  plain_settings, plain_scratch = settings[:], scratch[:]
  for wave in range(num_waves - 1, -1, -1):
    for thread in numba.prange(num_threads):
      _slice(plain_graph, mine, theirs, plain_settings, plain_scratch, wave,
             np.int64(thread), False)


@jit.kernel
def _add_to_record(starter, chances, weight, record):
  """Adds a sweep to the record of its round."""
  root = starter.value[0]
  value = 0.0
  for j in range(len(root)):
    value += chances[j] * root[j]
  record[0].value += weight * value
  record[0].weight += weight
  record[0].sweeps += 1.0


@jit.kernel(nogil=True)
def sweep(graph, starter, other, settings, scratch, chances, record):
  """Runs one iteration, forward and backward, for a list of deals.

  It modifies the roles and the record [1] `deals.RECORD` in place, so that they
  fit whenever Python gets to see them. The chances [deal] are float64.
  """
  _forward(graph, starter, other, settings, scratch)
  backward(graph, starter, other, settings, scratch)
  _add_to_record(starter, chances, settings.weight, record)


@jit.kernel(nogil=True)
def sweep_parallel(graph, starter, other, settings, scratch, chances, record):
  """Does the same as `sweep`, with a thread for each row of scratch."""
  _forward_parallel(graph, starter, other, settings, scratch)
  backward_parallel(graph, starter, other, settings, scratch)
  _add_to_record(starter, chances, settings.weight, record)
