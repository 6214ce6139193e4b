"""How the numbers of all information sets are laid out, and kernels on them.

A block holds information sets of one player that have equally many actions and
are handled together. Each set has one entry per action. The entries of a block
stand action by action, so that all loops run over neighbouring sets:

  entry of action a in set j of block b = entry_begin[b] + a * width[b] + j

Each form of a game (`deal_form`, `sequence_form`, `history_form`) decides which
sets make a block, and computes counterfactual values from the last sets to the
first. This module decides what happens with the values of a block, whatever the
form: it holds the updates of fictitious play, `learning` those of CFR.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.updates import learning
from dudo_spiel.algorithms.tabular.updates import strips

# What to do with the values of a block.
EVALUATE = 0  # play the strategy
LEARN = 1  # play the strategy, then change it by regrets
DECIDE = 2  # play the strategy, then move it towards the best action
RESPOND = 3  # play the best action, and make it the response
MIX = 4  # respond, then mix the response into the strategy


class Blocks(NamedTuple):
  """The layout, as arrays that kernels can take.

  Attributes:
    player: [block] int64, whose sets these are.
    actions: [block] int64, how many actions each set has.
    width: [block] int64, how many sets there are.
    entry_begin: [block] int64, the first entry.
  """
  player: np.ndarray
  actions: np.ndarray
  width: np.ndarray
  entry_begin: np.ndarray


_NONE = np.zeros(0)


class SolverTables(NamedTuple):
  """What a solver keeps: arrays [entry] of float64 or float32.

  A solver has the tables that it needs; the others are empty. What is averaged
  over all iterations is float64 always: a sum of millions of float32 numbers
  would no longer change when another one is added.

  Attributes:
    strategy: the current strategy.
    regret: the (discounted, clipped) sums of regrets.
    cumulative: float64, the weighted sums of strategies, each times the reach
      of the player who acts. Where the strategy itself is an average (mode
      DECIDE), the strategy before it was rounded to float32.
    response: the best response to the others' strategies.
    mean: float64, the sums of all strategies so far, each with weight one.
    latest: the regrets of the last iteration.
    state: float64, what an update knows of a set besides its entries: the k-th
      number stands where the entry of action k would.
  """
  strategy: np.ndarray
  regret: np.ndarray = _NONE
  cumulative: np.ndarray = _NONE
  response: np.ndarray = _NONE
  mean: np.ndarray = _NONE
  latest: np.ndarray = _NONE
  state: np.ndarray = _NONE


AVERAGES = ("cumulative", "mean", "state")  # the tables that are float64 always


@jit.kernel
def set_uniform(blocks, table):
  """Sets a table to uniform probabilities; modified in place."""
  for b in range(len(blocks.width)):
    begin = blocks.entry_begin[b]
    end = begin + blocks.actions[b] * blocks.width[b]
    table[begin:end] = 1.0 / blocks.actions[b]


@jit.kernel
def normalize(blocks, table, out):
  """Writes each set's shares of the table; uniform where it sums to zero."""
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
  """Makes every action at least so likely; modified in place.

  A set in which one is not gets epsilon + (1 - |A| epsilon) times what it had.
  """
  for b in range(len(blocks.width)):
    width, actions = blocks.width[b], blocks.actions[b]
    begin = blocks.entry_begin[b]
    for j in range(width):
      least = 1.0
      for a in range(actions):
        least = min(least, strategy[begin + a * width + j])
      if least < epsilon:
        for a in range(actions):
          e = begin + a * width + j
          strategy[e] = epsilon + (1.0 - actions * epsilon) * strategy[e]


class Block(NamedTuple):
  """One block during a pass over a form.

  Attributes:
    begin: int, its first entry.
    width: int, how many sets it has.
    stride: int, how far apart the entries of a set are: the width, unless this
      is a part of a block, which only the updates of CFR take.
    rows: [action] int64, where the values of each action begin in an array of
      values.
    least: up to this size new regrets may be rounding errors (see
      `least_regrets`).
  """
  begin: int
  width: int
  stride: int
  rows: np.ndarray
  least: float = 0.0


@jit.kernel
def _choose(block, values, best, choice):
  """Writes each set's best value and its action, the first among equals."""
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
def respond_block(block, response, values, out, rule, work):
  """Writes the best value of each set; its response becomes the best action.

  With `rule.epsilon` above 0, the response plays every other action with that
  probability.

  Args:
    block: the `Block`.
    response: [entry], modified in place; the first among equals is the best.
    values: array that `block.rows` points into.
    out: [set], modified in place.
    rule: the `learning.Rule` of this iteration.
    work: [2 * set] scratch.
  """
  begin, width, rows = block.begin, block.width, block.rows
  best, choice = work[:width], work[width:2 * width]
  _choose(block, values, best, choice)
  low = response.dtype.type(rule.epsilon)
  high = response.dtype.type(1.0 - (len(rows) - 1) * rule.epsilon)
  for j in range(width):
    out[j] = best[j]
  for a in range(len(rows)):
    shares = response[begin + a * width:begin + (a + 1) * width]
    value = values[rows[a]:rows[a] + width]
    number = response.dtype.type(a)
    for j in range(width):
      shares[j] = high if choice[j] == number else low
    if low > 0.0:
      for j in range(width):
        out[j] += low * (value[j] - best[j])


@jit.kernel
def decide_block(block, tables, values, out, rule, work):
  """Moves a block's strategy towards the best decisions; writes its values.

  Equations 3 and 23 of Schulze, with d = epsilon + (1 - |A| epsilon) [a is
  best] in place of equation 35, which does not sum to one.

  Args:
    block: the `Block`.
    tables: the `SolverTables`; strategy, cumulative and mean are modified in
      place.
    values: array that `block.rows` points into.
    out: [set], modified in place: each set's value under the old strategy.
    rule: the `learning.Rule` of this iteration.
    work: [2 * set] scratch.
  """
  begin, width, rows = block.begin, block.width, block.rows
  best, choice = work[:width], work[width:2 * width]
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
def mix_block(begin, width, num_actions, tables, reach, work):
  """Adds a block's response to its strategy, each weighted by its reach.

  Equation 21 of Schulze (Heinrich, Lanctot & Silver 2015) with step 1/(n+1):
  the sums of reach times response, the first strategy included, are kept; the
  strategy is each action's share of them.

  Args:
    begin: the block's first entry.
    width: how many sets it has.
    num_actions: how many actions each set has.
    tables: the `SolverTables`; strategy, cumulative and mean are modified in
      place.
    reach: [set], how likely the player plays to each set with the response.
    work: [set] scratch.
  """
  total = work[:width]
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
  """Adds strategies to the sums of all, if the solver keeps these."""
  if len(tables.mean) > 0:
    strategy, mean = tables.strategy[begin:end], tables.mean[begin:end]
    for e in range(end - begin):
      mean[e] += strategy[e]


@jit.inline
def update_block(block, tables, values, out, reach, mode, rule, work):
  """Writes the values of a block, and changes its tables as the mode says.

  Args:
    block: the `Block`.
    tables: the `SolverTables`, modified in place.
    values: array that `block.rows` points into.
    out: [set], modified in place: each set's value.
    reach: [set], how likely the player plays to each set; read only to learn.
    mode: EVALUATE, RESPOND, LEARN, DECIDE or MIX.
    rule: the `learning.Rule` of this iteration.
    work: [2 * set] scratch.
  """
  if mode >= RESPOND:
    respond_block(block, tables.response, values, out, rule, work)
  elif mode == DECIDE:
    decide_block(block, tables, values, out, rule, work)
  elif mode == LEARN:
    learning.learn_block(block, tables, values, out, reach, rule, work)
  else:
    strips.play_block(block, tables.strategy, values, out)


# Each form has its own copy of the kernels `renew` and `run`: Numba does not
# cache kernels that take functions as arguments. A test keeps the copies equal.


def entry_rows(blocks):
  """Returns [block, most actions] int64, where each action's entries begin."""
  actions = np.arange(blocks.actions.max())
  return blocks.entry_begin[:, None] + actions * blocks.width[:, None]


class FormWorkspace(NamedTuple):
  """What the passes over a form need besides a solver's tables.

  Attributes:
    arrays: the form's arrays, their floats in the type of the tables.
    reach: reaches of all players, kept up to date by `propagate`.
    values: scratch of `evaluate`.
    work: scratch of `evaluate`.
  """
  arrays: NamedTuple
  reach: np.ndarray
  values: np.ndarray
  work: np.ndarray


ROUNDING = 2.0**-49  # 16 times the rounding error of one number


def least_regrets(tree):
  """Returns [set] float64, up to which size regrets may be rounding errors.

  A regret is a difference of sums of payoffs, each times the reach of chance
  and of the other players. The largest payoff times the reach of chance limits
  what is summed. Where all actions of a set are worth the same, the exact
  regrets are zero, and what is left of them must not decide its strategy.

  Args:
    tree: the `game_tree.GameTree`.
  """
  acts = tree.info_set >= 0
  # Histories that differ in others' actions share the reach of chance.
  reach = np.minimum(np.bincount(tree.info_set[acts],
                                 tree.chance_reach()[acts],
                                 tree.num_info_sets), 1.0)
  return ROUNDING * reach * np.abs(tree.returns).max(axis=0)[tree.set_player]


def with_dtype(arrays, dtype):
  """Returns the arrays with all floats in the given type.

  In float32 `least` is 0: as many roundings of it are no longer small beside
  what a set that others rarely reach must learn.

  Args:
    arrays: a form's arrays.
    dtype: float64 or float32.
  """
  if dtype == np.float32:
    arrays = arrays._replace(least=np.zeros_like(arrays.least))
  return arrays._replace(**{
      name: array.astype(dtype, copy=False)
      for name, array in arrays._asdict().items()
      if isinstance(array, np.ndarray) and array.dtype.kind == "f"
  })
