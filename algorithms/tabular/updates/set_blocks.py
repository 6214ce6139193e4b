"""The layout of tables over information sets, and the updates of blocks.

A block holds information sets of one player with equally many actions, which
are processed together. Each set has one entry per action. The entries of a
block are ordered by action, so that all loops run over neighbouring sets:

  entry of action a in set j of block b = entry_begin[b] + a * width[b] + j

Each form of a game (`deal_form`, `sequence_form`, `history_form`) chooses the
sets of a block, and computes counterfactual values from the last sets to the
first. `update_block` does the same with the values of a block in all forms:
this module has the updates of fictitious play, `cfr_update` that of CFR, and
`cfr_variants` those of variants that need their own.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.updates import cfr_variants
from dudo_spiel.algorithms.tabular.updates import strips

# What `update_block` does with the values of a block.
EVALUATE = 0  # play the strategy
LEARN = 1  # play the strategy, then change it by regrets
DECIDE = 2  # play the strategy, then move it towards the best action
RESPOND = 3  # play the best action, and make it the response
MIX = 4  # respond, then mix the response into the strategy


class Blocks(NamedTuple):
  """The layout, as arrays that kernels can take.

  Attributes:
    player: [block] int64, the player who acts in its sets.
    actions: [block] int64, number of actions of each set.
    width: [block] int64, number of sets.
    entry_begin: [block] int64, the first entry.
  """
  player: np.ndarray
  actions: np.ndarray
  width: np.ndarray
  entry_begin: np.ndarray


_NONE = np.zeros(0)


class SolverTables(NamedTuple):
  """The tables of a solver: arrays [entry] of float64 or float32.

  Tables that a solver does not need are empty. Averages over all iterations are
  always float64: a sum of millions of float32 numbers would no longer change
  when another one is added.

  Attributes:
    strategy: the current strategy.
    regret: the (discounted, clipped) sums of regrets.
    cumulative: float64, the weighted sums of strategies, each times the own
      reach of the player who acts. Where the strategy itself is an average
      (mode DECIDE), the strategy before it was rounded to float32.
    response: the best response to the others' strategies.
    mean: float64, the sums of all strategies so far, each with weight one.
    latest: the regrets of the last iteration.
    state: float64, what an update keeps for a set besides its entries; the k-th
      number is at the entry of action k.
  """
  strategy: np.ndarray
  regret: np.ndarray = _NONE
  cumulative: np.ndarray = _NONE
  response: np.ndarray = _NONE
  mean: np.ndarray = _NONE
  latest: np.ndarray = _NONE
  state: np.ndarray = _NONE


AVERAGES = ("cumulative", "mean", "state")  # tables that are always float64


@jit.kernel
def set_uniform(blocks, table):
  """Sets a table to uniform probabilities; modified in place."""
  for b in range(len(blocks.width)):
    begin = blocks.entry_begin[b]
    end = begin + blocks.actions[b] * blocks.width[b]
    table[begin:end] = 1.0 / blocks.actions[b]


@jit.kernel
def normalize(blocks, table, out):
  """Writes the table with each set divided by its sum; uniform if that is 0."""
  for b in range(len(blocks.width)):
    width, actions = blocks.width[b], blocks.actions[b]
    begin = blocks.entry_begin[b]
    for j in range(width):
      total = 0.0
      for a in range(actions):
        total += table[begin + a * width + j]
      for a in range(actions):
        e = begin + a * width + j
        out[e] = table[e] / total if total > 0.0 else 1.0 / actions


@jit.kernel
def perturb(blocks, epsilon, strategy):
  """Gives every action at least the probability epsilon, in place.

  A set with an action below it gets epsilon + (1 - |A| epsilon) times its
  strategy.
  """
  for b in range(len(blocks.width)):
    width, actions = blocks.width[b], blocks.actions[b]
    begin = blocks.entry_begin[b]
    for j in range(width):
      lowest = 1.0
      for a in range(actions):
        lowest = min(lowest, strategy[begin + a * width + j])
      if lowest < epsilon:
        for a in range(actions):
          e = begin + a * width + j
          strategy[e] = epsilon + (1.0 - actions * epsilon) * strategy[e]


class Block(NamedTuple):
  """One block during a traversal of a form.

  Attributes:
    begin: int, its first entry.
    width: int, number of its sets.
    stride: int, distance between the entries of consecutive actions of a set.
      Equals `width`, except for slices of a block, which only CFR updates
      receive.
    rows: [action] int64, where the values of each action begin in an array of
      values.
    min_regret: up to this size new regrets may be rounding errors (see
      `min_regrets`).
  """
  begin: int
  width: int
  stride: int
  rows: np.ndarray
  min_regret: float = 0.0


@jit.kernel
def _choose(block, values, best, choice):
  """Writes each set's best value and the first action that has it."""
  width, rows = block.width, block.rows
  value = values[rows[0]:rows[0] + width]
  for j in range(width):
    best[j] = value[j]
    choice[j] = 0.0
  for a in range(1, len(rows)):
    value = values[rows[a]:rows[a] + width]
    number = choice.dtype.type(a)
    for j in range(width):
      is_better = value[j] > best[j]
      best[j] = value[j] if is_better else best[j]
      choice[j] = number if is_better else choice[j]


@jit.kernel
def respond_block(block, response, values, out, rule, scratch):
  """Writes the best response of each set, and its value.

  It is the first of the best actions. With `rule.epsilon` above 0, it plays
  every other action with that probability. The arguments are those of
  `update_block`.
  """
  begin, width, rows = block.begin, block.width, block.rows
  best, choice = scratch[:width], scratch[width:2 * width]
  _choose(block, values, best, choice)
  low = response.dtype.type(rule.epsilon)
  high = response.dtype.type(1.0 - (len(rows) - 1) * rule.epsilon)
  for j in range(width):
    out[j] = best[j]
  for a in range(len(rows)):
    probability = response[begin + a * width:begin + (a + 1) * width]
    value = values[rows[a]:rows[a] + width]
    number = response.dtype.type(a)
    for j in range(width):
      probability[j] = high if choice[j] == number else low
    if low > 0.0:
      for j in range(width):
        out[j] += low * (value[j] - best[j])


@jit.kernel
def decide_block(block, tables, values, out, rule, scratch):
  """Moves a block's strategy towards the best decisions; writes its values.

  Equations 3 and 23 of Schulze, with d = epsilon + (1 - |A| epsilon) [a is
  best] in place of equation 35, which does not sum to one. The arguments are
  those of `update_block`; strategy, cumulative and mean are modified in place.
  """
  begin, width, rows = block.begin, block.width, block.rows
  best, choice = scratch[:width], scratch[width:2 * width]
  strips.play_block(block, tables.strategy, values, out)
  _choose(block, values, best, choice)
  is_rounded = len(tables.cumulative) > 0
  low = tables.strategy.dtype.type(rule.epsilon)
  high = tables.strategy.dtype.type(1.0 - (len(rows) - 1) * rule.epsilon)
  for a in range(len(rows)):
    first, last = begin + a * width, begin + (a + 1) * width
    strategy = tables.strategy[first:last]
    number = tables.strategy.dtype.type(a)
    if is_rounded:
      exact = tables.cumulative[first:last]
      for j in range(width):
        decision = high if choice[j] == number else low
        exact[j] += rule.step * (decision - exact[j])
        strategy[j] = exact[j]
    else:
      for j in range(width):
        decision = high if choice[j] == number else low
        strategy[j] += rule.step * (decision - strategy[j])
  _add_to_mean(begin, begin + len(rows) * width, tables)


@jit.kernel
def mix_block(begin, width, num_actions, tables, reach, scratch):
  """Mixes a block's response into its strategy, weighted by own reaches.

  Equation 21 of Schulze (Heinrich, Lanctot & Silver 2015) with step 1/(n+1):
  `cumulative` is the sum of reach times response over all iterations, the first
  strategy included. The strategy is that sum, normalized.

  Args:
    begin: the block's first entry.
    width: number of its sets.
    num_actions: number of actions of each set.
    tables: the `SolverTables`; strategy, cumulative and mean are modified.
    reach: [set], the player's own reach of each set with the response.
    scratch: [set].
  """
  total = scratch[:width]
  total[:] = 0.0
  for a in range(num_actions):
    first, last = begin + a * width, begin + (a + 1) * width
    response = tables.response[first:last]
    cumulative = tables.cumulative[first:last]
    for j in range(width):
      cumulative[j] += reach[j] * response[j]
      total[j] += cumulative[j]
  for a in range(num_actions):
    first, last = begin + a * width, begin + (a + 1) * width
    strategy = tables.strategy[first:last]
    cumulative = tables.cumulative[first:last]
    for j in range(width):
      # A set that was never reached keeps its strategy.
      if total[j] > 0.0:
        strategy[j] = cumulative[j] / total[j]
  _add_to_mean(begin, begin + num_actions * width, tables)


@jit.kernel
def _add_to_mean(begin, end, tables):
  """Adds strategies to their sums, if the solver keeps these."""
  if len(tables.mean) > 0:
    strategy, mean = tables.strategy[begin:end], tables.mean[begin:end]
    for e in range(end - begin):
      mean[e] += strategy[e]


@jit.inline
def update_block(block, tables, values, out, reach, mode, rule, scratch):
  """Writes the values of a block, and changes its tables as the mode says.

  Args:
    block: the `Block`.
    tables: the `SolverTables`, modified in place.
    values: array that `block.rows` points into.
    out: [set], written: each set's value.
    reach: [set], the player's own reach of each set; read in mode LEARN only.
    mode: EVALUATE, RESPOND, LEARN, DECIDE or MIX.
    rule: the `update_rules.Rule` of this iteration.
    scratch: [2 * set].
  """
  if mode >= RESPOND:
    respond_block(block, tables.response, values, out, rule, scratch)
  elif mode == DECIDE:
    decide_block(block, tables, values, out, rule, scratch)
  elif mode == LEARN:
    cfr_variants.learn_block(block, tables, values, out, reach, rule, scratch)
  else:
    strips.play_block(block, tables.strategy, values, out)


class FormWorkspace(NamedTuple):
  """What traversals of a form need besides a solver's tables.

  The form's arrays document the axes.

  Attributes:
    arrays: the form's arrays, their floats in the type of the tables.
    reach: own reaches of all players, kept up to date by `propagate`.
    values: counterfactual values, written by `evaluate`.
    scratch: of the updates of blocks.
  """
  arrays: NamedTuple
  reach: np.ndarray
  values: np.ndarray
  scratch: np.ndarray


ROUNDING = 2.0**-49  # 16 times the rounding error of one number


def min_regrets(tree):
  """Returns [set] float64, up to which size regrets may be rounding errors.

  A regret is a difference of sums of payoffs, each times the reach of chance
  and of the other players. The largest payoff times the reach of chance bounds
  these sums. Where all actions of a set have the same value, the exact regrets
  are zero, and their rounding errors must not decide the strategy.
  """
  acts = tree.info_set >= 0
  # Histories that differ in others' actions share the reach of chance.
  reach = np.minimum(np.bincount(tree.info_set[acts],
                                 tree.chance_reach()[acts],
                                 tree.num_info_sets), 1.0)
  return ROUNDING * reach * np.abs(tree.returns).max(axis=0)[tree.set_player]


def with_dtype(arrays, dtype):
  """Returns a form's arrays with all floats in the given type.

  In float32 `min_regret` is 0: the bound is not small against the regrets of a
  set that others rarely reach.
  """
  if dtype == np.float32:
    arrays = arrays._replace(min_regret=np.zeros_like(arrays.min_regret))
  return arrays._replace(**{
      name: array.astype(dtype, copy=False)
      for name, array in arrays._asdict().items()
      if isinstance(array, np.ndarray) and array.dtype.kind == "f"
  })
