"""How the numbers of all information sets are laid out, and kernels on them.

Sets of one player with equally many actions that can be handled together make
a block. Its entries (one a set and action) stand action by action, so that all
loops run over neighbouring sets:

  entry of action a in set j of block b = entry_begin[b] + a * width[b] + j

A form of a game (see `deal_form`, `sequence_form`, `history_form`) decides
which sets make a block and computes counterfactual values, from the last sets
to the first. What is done with the values of a block is here, and does not
depend on the form.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

# What to do with the values of a block.
EVALUATE = 0  # play the strategy
RESPOND = 1  # play the best action, and make it the response
LEARN = 2  # play the strategy, then change it by regrets
DECIDE = 3  # play the strategy, then move it towards the best action


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


class Tables(NamedTuple):
  """What a solver keeps: arrays [entry] of float64 or float32.

  A solver has the tables that it needs; the others have no entries.

  Attributes:
    strategy: the current strategy.
    regret: the (discounted, clipped) sums of regrets.
    cumulative: the weighted sums of strategies, each times the own reach.
    response: the best response to the others' strategies.
    mean: the sums of all strategies that there were, not weighted.
  """
  strategy: np.ndarray
  regret: np.ndarray = _NONE
  cumulative: np.ndarray = _NONE
  response: np.ndarray = _NONE
  mean: np.ndarray = _NONE


class Rule(NamedTuple):
  """How one iteration changes the tables (see `cfr`, `fictitious_play`).

  Attributes:
    positive: factor on positive regrets after the new ones were added.
    negative: factor on negative regrets; 0 clips them (regret matching+).
    prediction: weight of the newest regret as a prediction of the next.
    decay: factor on the cumulative strategy before the new one is added.
    epsilon: the least probability of every action.
    step: how far a strategy moves towards the best action.
  """
  positive: float
  negative: float
  prediction: float
  decay: float
  epsilon: float = 0.0
  step: float = 0.0


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


@jit.kernel
def play_block(begin, width, rows, strategy, values, out):
  """Writes the value of each set: its strategy times its actions' values.

  The sum is of differences to the first action's value, so that a set whose
  actions are all worth the same is worth exactly that: its regrets are zero,
  and not rounding errors that would be taken for preferences.

  Args:
    begin: the block's first entry.
    width: how many sets it has.
    rows: [action] int64, where the values of each action begin.
    strategy: [entry].
    values: array in which `rows` points.
    out: [set], modified in place.
  """
  first = values[rows[0]:rows[0] + width]
  for j in range(width):
    out[j] = first[j]
  for a in range(1, len(rows)):
    shares = strategy[begin + a * width:begin + (a + 1) * width]
    value = values[rows[a]:rows[a] + width]
    for j in range(width):
      out[j] += shares[j] * (value[j] - first[j])


@jit.kernel
def _choose(width, rows, values, best, choice):
  """Writes each set's best value and its action, the first of equals."""
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
def respond_block(begin, width, rows, response, values, out, rule, work):
  """Writes the best value of each set; its response becomes the best action.

  With `epsilon` the response is the best with every action at least so likely.

  Args:
    begin: as for `play_block`.
    width: as for `play_block`.
    rows: as for `play_block`.
    response: [entry], modified in place; the first of equals is the best.
    values: as for `play_block`.
    out: [set], modified in place.
    rule: the `Rule`.
    work: [2 * set] scratch.
  """
  best, choice = work[:width], work[width:2 * width]
  _choose(width, rows, values, best, choice)
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
def decide_block(begin, width, rows, tables, values, out, rule, work):
  """Moves a block's strategy towards the best decisions; writes its values.

  Equations 3 and 23 of Schulze, with d = epsilon + (1 - |A| epsilon) [a is
  best] in place of equation 35, which does not sum to one.

  Args:
    begin: as for `play_block`.
    width: as for `play_block`.
    rows: as for `play_block`.
    tables: the `Tables`; strategy and mean are modified in place.
    values: as for `play_block`.
    out: [set], the value of each set under the old strategy, modified in
      place.
    rule: the `Rule`.
    work: [2 * set] scratch.
  """
  best, choice = work[:width], work[width:2 * width]
  play_block(begin, width, rows, tables.strategy, values, out)
  _choose(width, rows, values, best, choice)
  step = tables.strategy.dtype.type(rule.step)
  low = tables.strategy.dtype.type(rule.epsilon)
  high = tables.strategy.dtype.type(1.0 - (len(rows) - 1) * rule.epsilon)
  for a in range(len(rows)):
    strategy = tables.strategy[begin + a * width:begin + (a + 1) * width]
    number = tables.strategy.dtype.type(a)
    for j in range(width):
      decision = high if choice[j] == number else low
      strategy[j] += step * (decision - strategy[j])
  _add_to_mean(begin, begin + len(rows) * width, tables)


@jit.kernel
def mix_block(begin, width, num_actions, tables, reach, work):
  """Adds a block's response to its strategy, each weighted by its reach.

  Equation 21 of Schulze (Heinrich, Lanctot & Silver 2015) with step 1/(n+1):
  the sums of reach times response, the first strategy's included, are kept;
  the strategy is each action's share of them.

  Args:
    begin: the block's first entry.
    width: how many sets it has.
    num_actions: how many actions each set has.
    tables: the `Tables`; strategy, cumulative and mean are modified in place.
    reach: [set], the player's own reach of each set with the response.
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
  """Adds strategies to the sums of all, where these are kept."""
  if len(tables.mean) > 0:
    strategy, mean = tables.strategy[begin:end], tables.mean[begin:end]
    for e in range(end - begin):
      mean[e] += strategy[e]


@jit.kernel
def _matched_value(width, rows, values, set_value, epsilon, out):
  """Writes each set's value of regret matching, without the perturbation.

  The strategy is epsilon + (1 - |A| epsilon) times regret matching.
  """
  first = values[rows[0]:rows[0] + width]
  scale = 1.0 - len(rows) * epsilon
  factor = out.dtype.type(1.0 / scale if scale > 0.0 else 0.0)
  for j in range(width):
    out[j] = set_value[j] - first[j]
  for a in range(1, len(rows)):
    value = values[rows[a]:rows[a] + width]
    for j in range(width):
      out[j] -= epsilon * (value[j] - first[j])
  for j in range(width):
    out[j] = first[j] + factor * out[j]


@jit.kernel
def learn_block(begin, width, rows, tables, values, set_value, reach, rule,
                work):
  """Adds a block's regrets and its strategy, and makes the next strategy.

  In a perturbed game the next strategy is epsilon + (1 - |A| epsilon) times
  regret matching, and regrets are those of regret matching (Farina, Kroer &
  Sandholm 2017): what is forced is not regretted.

  Args:
    begin: the block's first entry.
    width: how many sets it has.
    rows: [action] int64, where the values of each action begin.
    tables: the `Tables`, modified in place.
    values: array in which `rows` points.
    set_value: [set], the value of each set.
    reach: [set], the player's own reach of each set.
    rule: the `Rule`.
    work: [set] scratch, [2 * set] in a perturbed game.
  """
  positive, negative = rule.positive, rule.negative
  prediction, decay = rule.prediction, rule.decay
  total = work[:width]
  total[:] = 0.0
  base = set_value
  if rule.epsilon > 0.0:
    base = work[width:2 * width]
    _matched_value(width, rows, values, set_value, rule.epsilon, base)
  for a in range(len(rows)):
    first, last = begin + a * width, begin + (a + 1) * width
    strategy = tables.strategy[first:last]
    cumulative = tables.cumulative[first:last]
    for j in range(width):
      cumulative[j] = cumulative[j] * decay + reach[j] * strategy[j]
    regret = tables.regret[first:last]
    value = values[rows[a]:rows[a] + width]
    for j in range(width):
      new = value[j] - base[j]
      r = regret[j] + new
      r = r * positive if r > 0.0 else r * negative
      regret[j] = r
      r += prediction * new
      strategy[j] = r if r > 0.0 else 0.0
    for j in range(width):
      total[j] += strategy[j]
  uniform = 1.0 / len(rows)
  low = tables.strategy.dtype.type(rule.epsilon)
  scale = tables.strategy.dtype.type(1.0 - len(rows) * rule.epsilon)
  for j in range(width):
    total[j] = scale / total[j] if total[j] > 0.0 else -1.0
  for a in range(len(rows)):
    strategy = tables.strategy[begin + a * width:begin + (a + 1) * width]
    for j in range(width):
      strategy[j] = (low + strategy[j] * total[j] if total[j] >= 0.0 else
                     uniform)


# Each form has a kernel `run` of the same few lines: Numba does not keep on
# disk what it compiles from functions that are arguments, and that takes time.


@jit.kernel
def rule_of(row):
  """Returns the `Rule` in a row, whose numbers stand in the order of Rule."""
  return Rule(row[0], row[1], row[2], row[3], row[4], row[5])


def entry_rows(blocks):
  """Returns [block, most actions] int64, where each action's entries begin."""
  actions = np.arange(blocks.actions.max())
  return blocks.entry_begin[:, None] + actions * blocks.width[:, None]


class Workspace(NamedTuple):
  """What the passes over a form need beside a solver's tables.

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


def with_dtype(arrays, dtype):
  """Returns the arrays with all floats in the given type."""
  return arrays._replace(**{
      name: array.astype(dtype, copy=False)
      for name, array in arrays._asdict().items()
      if isinstance(array, np.ndarray) and array.dtype.kind == "f"
  })
