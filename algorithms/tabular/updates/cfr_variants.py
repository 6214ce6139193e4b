"""Variants of CFR with an update of their own: APCFR+ and VAD-CFR.

They keep more than sums of regrets for a set. Each has an update kernel with
the arguments of `cfr_update.learn_block`, and a class of rules (see
`update_rules`).

The last line of this module registers them: from then on, a kernel that calls
`learn_block` is compiled with the update of its rule's class. So kernels call
`learn_block` of this module, which is that of `cfr_update`, and all of them see
the registration.
"""

import math

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.algorithms.tabular.updates import cfr_update
from dudo_spiel.algorithms.tabular.updates import strips
from dudo_spiel.algorithms.tabular.updates import update_rules


@jit.forceinline
def _match_regrets(block, strategy, total, epsilon):
  """Turns a block's positive regrets in `strategy` into probabilities.

  Args:
    block: the `set_blocks.Block`.
    strategy: [entry], modified in place.
    total: [set], the sums of the positive regrets, overwritten.
    epsilon: the lowest probability of an action.
  """
  begin, width, num_actions = block.begin, block.width, len(block.rows)
  uniform = 1.0 / num_actions
  low = strategy.dtype.type(epsilon)
  scale = strategy.dtype.type(1.0 - num_actions * epsilon)
  min_sum = regret_tables.min_sum(total)
  for j in range(width):
    total[j] = scale / total[j] if total[j] >= min_sum else -1.0
  for a in range(num_actions):
    first = begin + a * block.stride
    p = strategy[first:first + width]
    for j in range(width):
      p[j] = low + p[j] * total[j] if total[j] >= 0.0 else uniform


# APCFR+.


@jit.forceinline
def _learn_asymmetric(block, tables, values, out, reach, rule, scratch):
  """Is the `learn_block` of APCFR+, with the same arguments.

  Its `state` of a set has two entries: the sum of squared changes of the
  regrets from one iteration to the next, and that of squared changes of their
  sums.
  """
  begin, width, rows = block.begin, block.width, block.rows
  strips.play_block(block, tables.strategy, values, out)
  for a in range(len(rows)):
    first = begin + a * block.stride
    last = first + width
    strategy = tables.strategy[first:last]
    cumulative = tables.cumulative[first:last]
    for j in range(width):
      cumulative[j] = cumulative[j] * rule.decay + reach[j] * strategy[j]
  if len(rows) == 1:
    return  # nothing to regret, and no room for two entries of the state
  base = out
  if rule.epsilon > 0.0:
    base = scratch[width:2 * width]
    strips.write_unperturbed(block, values, out, rule.epsilon, base)
  min_regret = block.min_regret * rule.rounding
  zero = tables.strategy.dtype.type(0.0)
  errors = tables.state[begin:begin + width]
  moves = tables.state[begin + block.stride:begin + block.stride + width]
  for a in range(len(rows)):
    first = begin + a * block.stride
    last = first + width
    regret, latest = tables.regret[first:last], tables.latest[first:last]
    value = values[rows[a]:rows[a] + width]
    for j in range(width):
      new = value[j] - base[j]
      r = regret[j] + new
      r = r if r > min_regret else zero
      error = np.float64(new - latest[j])
      move = np.float64(r - regret[j])
      errors[j] += error * error
      moves[j] += move * move
      regret[j] = r
      latest[j] = new
  total, prediction = scratch[:width], scratch[width:2 * width]
  for j in range(width):
    asymmetry = (math.sqrt(errors[j] / moves[j]) if moves[j] > 0.0 else
                 rule.limit)
    prediction[j] = 1.0 / (1.0 + min(asymmetry, rule.limit))
    total[j] = 0.0
  for a in range(len(rows)):
    first = begin + a * block.stride
    last = first + width
    strategy, regret = tables.strategy[first:last], tables.regret[first:last]
    latest = tables.latest[first:last]
    for j in range(width):
      r = regret[j] + prediction[j] * latest[j]
      strategy[j] = r if r > min_regret else zero
      total[j] += strategy[j]
  _match_regrets(block, tables.strategy, total, rule.epsilon)


# VAD-CFR, with the parameters of its paper.
_ALPHA, _BETA, _MIN_ALPHA = 1.5, -0.1, 0.1
_SENSITIVITY = 0.5  # of discounts and optimism to volatility
_USUAL_REGRET = 2.0  # at this size of regrets the volatility is 1
_NEWEST = 0.1  # weight of the newest size in the moving average of sizes
_BOOST = 1.1  # factor on new regrets that are positive
_MIN_REGRET = -20.0
_GAMMA, _MAX_GAMMA, _GAMMA_SENSITIVITY = 2.0, 4.0, 1.5


@jit.kernel
def _volatile_weight(time, size):
  """Returns a strategy's weight in the average, given its largest regret."""
  gamma = _GAMMA + _GAMMA_SENSITIVITY * min(1.0, size / _USUAL_REGRET)
  return (time**min(_MAX_GAMMA, gamma) * math.sqrt(1.0 + size / _USUAL_REGRET)
          / (1.0 + size * math.sqrt(size)))


@jit.kernel
def _discount(time, power):
  """Returns time^power / (time^power + 1)."""
  return 1.0 / (1.0 + time**-power)


@jit.kernel
def _learn_volatile(block, tables, values, out, reach, rule, scratch):
  """Is the `learn_block` of VAD-CFR, with the same arguments.

  Its `state` of a set is the moving average of the absolute value of its
  largest regret. It computes in float64, set by set.
  """
  begin, width, rows = block.begin, block.width, block.rows
  strips.play_block(block, tables.strategy, values, out)
  min_regret = block.min_regret * rule.rounding
  base = out
  if rule.epsilon > 0.0:
    base = scratch[width:2 * width]
    strips.write_unperturbed(block, values, out, rule.epsilon, base)
  low, scale = rule.epsilon, 1.0 - len(rows) * rule.epsilon
  # Below it, regrets in the strategy's type are not exact enough.
  min_sum = max(np.float64(regret_tables.min_sum(tables.strategy))**1.5,
                regret_tables.min_sum(np.float64(0.0)))
  for j in range(width):
    size = 0.0
    for a in range(len(rows)):
      size = max(size, abs(np.float64(values[rows[a] + j]) - base[j]))
    mean = size
    if rule.time > 1.0:
      mean = _NEWEST * size + (1.0 - _NEWEST) * tables.state[begin + j]
    tables.state[begin + j] = mean
    volatility = min(1.0, mean / _USUAL_REGRET)
    alpha = max(_MIN_ALPHA, _ALPHA - _SENSITIVITY * volatility)
    beta = min(alpha, _BETA - _SENSITIVITY * volatility)
    positive, negative = _discount(rule.time, alpha), _discount(rule.time, beta)
    optimism = rule.optimism * (1.0 - _SENSITIVITY * volatility)
    weight = rule.is_averaged * reach[j]
    if weight > 0.0:
      weight *= _volatile_weight(rule.time, size)
    total = 0.0
    for a in range(len(rows)):
      e = begin + a * block.stride + j
      tables.cumulative[e] += weight * tables.strategy[e]
      new = np.float64(values[rows[a] + j]) - base[j]
      new *= _BOOST if new > 0.0 else 1.0
      r = np.float64(tables.regret[e])
      r = max(_MIN_REGRET, r * (positive if r >= 0.0 else negative) + new)
      tables.regret[e] = r
      r = r * (positive if r >= 0.0 else negative) + optimism * new
      r = r if r > min_regret else 0.0
      tables.strategy[e] = r
      total += r * math.sqrt(r)
    for a in range(len(rows)):
      e = begin + a * block.stride + j
      r = np.float64(tables.strategy[e])
      tables.strategy[e] = (low + scale * (r * math.sqrt(r) / total)
                            if total >= min_sum else 1.0 / len(rows))


learn_block = cfr_update.learn_block  # for kernels: that of the rule's class
update_rules.choose_by_rule(learn_block, _learn_asymmetric, _learn_volatile)
