"""What CFR learns from the values of a block: the updates, and their numbers.

Most variants of CFR are one update with different numbers, a `Rule`. Some keep
more of a set than sums of regrets. Such an update is a kernel of its own, and
so is its rule: a named tuple of another class. A kernel is compiled for the
types of its arguments. So the class of the rule chooses the update when the
kernel is compiled, and no solver pays for the updates of others.
"""

import math
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.tabular.updates import strips

_TINY_32 = float(np.finfo(np.float32).tiny)
_TINY_64 = float(np.finfo(np.float64).tiny)


class Rule(NamedTuple):
  """How iterations change the tables (see `cfr`, `fictitious_play`).

  Each attribute is a number, or [iteration]: `decay` and `step`, the weights of
  averages, in float64, the others in the type of the strategy.

  Attributes:
    positive: factor on positive regrets after the new ones are added.
    negative: factor on negative regrets; 0 clips them (regret matching+).
    prediction: weight of the newest regret as a prediction of the next.
    decay: factor on the cumulative strategy before the new one is added.
    epsilon: the lowest probability that an action may have.
    step: how far a strategy moves towards the best action.
    rounding: how many rounding errors there may be in a sum of regrets, as each
      iteration adds one.
  """
  positive: float
  negative: float
  prediction: float
  decay: float
  epsilon: float = 0.0
  step: float = 0.0
  rounding: float = 0.0


class AsymmetricRule(NamedTuple):
  """How iterations of APCFR+ change the tables, as `Rule` does.

  Attributes:
    decay: factor on the cumulative strategy before the new one is added.
    epsilon: the lowest probability that an action may have.
    step: not used.
    rounding: as of a `Rule`.
    limit: float64, how large the asymmetry may be.
  """
  decay: float
  epsilon: float
  step: float
  rounding: float
  limit: float


class VolatileRule(NamedTuple):
  """How iterations of VAD-CFR change the tables, as `Rule` does.

  Attributes:
    time: float64, the number of the iteration, from 1.
    optimism: float64, weight of the newest regret as a prediction of the next
      where regrets are steady.
    is_averaged: float64, 1 if the strategy counts in the average, otherwise 0.
    epsilon: the lowest probability that an action may have.
    step: not used.
    rounding: as of a `Rule`.
  """
  time: float
  optimism: float
  is_averaged: float
  epsilon: float
  step: float
  rounding: float


# What is float64 always of any rule.
_WEIGHTS = ("decay", "step", "limit", "time", "optimism", "is_averaged")


def rule_arrays(rule, count, dtype):
  """Returns a rule of arrays [iteration] that kernels can take.

  Args:
    rule: the `Rule`, or another class of rules, of numbers or arrays.
    count: how many iterations there are.
    dtype: the type of the strategy.
  """
  return type(rule)(*(
      np.array(np.broadcast_to(column, count),
               np.float64 if name in _WEIGHTS else dtype)
      for name, column in rule._asdict().items()))


@jit.kernel
def rule_at(rules, t):
  """Returns the rule of one iteration of a rule of arrays."""
  return Rule(rules.positive[t], rules.negative[t], rules.prediction[t],
              rules.decay[t], rules.epsilon[t], rules.step[t],
              rules.rounding[t])


@jit.kernel
def _asymmetric_rule_at(rules, t):
  return AsymmetricRule(rules.decay[t], rules.epsilon[t], rules.step[t],
                        rules.rounding[t], rules.limit[t])


@jit.kernel
def _volatile_rule_at(rules, t):
  return VolatileRule(rules.time[t], rules.optimism[t], rules.is_averaged[t],
                      rules.epsilon[t], rules.step[t], rules.rounding[t])


@jit.kernel
def named_rule(columns):
  """Returns the rule of one iteration that was made a plain tuple."""
  return Rule(*columns)


@jit.kernel
def _named_asymmetric_rule(columns):
  return AsymmetricRule(*columns)


@jit.kernel
def _named_volatile_rule(columns):
  return VolatileRule(*columns)


@jit.kernel
def _matched_value(block, values, set_value, epsilon, out):
  """Writes each set's value of regret matching, without the perturbation.

  The strategy is epsilon + (1 - |A| epsilon) times regret matching.
  """
  width, rows = block.width, block.rows
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


@jit.forceinline
def _match(block, strategy, total, epsilon):
  """Divides a block's positive regrets by their sums, in a perturbed game too.

  Args:
    block: the `set_blocks.Block`.
    strategy: [entry], modified in place: positive regrets, then probabilities.
    total: [set], modified in place: the sums of the positive regrets.
    epsilon: the lowest probability that an action may have.
  """
  begin, width, num_actions = block.begin, block.width, len(block.rows)
  uniform = 1.0 / num_actions
  low = strategy.dtype.type(epsilon)
  scale = strategy.dtype.type(1.0 - num_actions * epsilon)
  # Where the sum is below every normal number its inverse could be infinite.
  least = strategy.dtype.type(_TINY_32 if total.itemsize == 4 else _TINY_64)
  for j in range(width):
    total[j] = scale / total[j] if total[j] >= least else -1.0
  for a in range(num_actions):
    first = begin + a * block.stride
    shares = strategy[first:first + width]
    for j in range(width):
      shares[j] = low + shares[j] * total[j] if total[j] >= 0.0 else uniform


# APCFR+.


@jit.forceinline
def _learn_asymmetric(block, tables, values, out, reach, rule, work):
  """Does what `learn_block` does, as APCFR+ does it.

  Its `state` of a set: the sums of squared changes of the regrets from one
  iteration to the next, and of squared changes of their sums.
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
    return  # nothing to regret, and no room for two numbers
  base = out
  if rule.epsilon > 0.0:
    base = work[width:2 * width]
    _matched_value(block, values, out, rule.epsilon, base)
  least = block.least * rule.rounding
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
      r = r if r > least else zero
      error = np.float64(new - latest[j])
      move = np.float64(r - regret[j])
      errors[j] += error * error
      moves[j] += move * move
      regret[j] = r
      latest[j] = new
  total, share = work[:width], work[width:2 * width]
  for j in range(width):
    asymmetry = (math.sqrt(errors[j] / moves[j]) if moves[j] > 0.0 else
                 rule.limit)
    share[j] = 1.0 / (1.0 + min(asymmetry, rule.limit))
    total[j] = 0.0
  for a in range(len(rows)):
    first = begin + a * block.stride
    last = first + width
    strategy, regret = tables.strategy[first:last], tables.regret[first:last]
    latest = tables.latest[first:last]
    for j in range(width):
      r = regret[j] + share[j] * latest[j]
      strategy[j] = r if r > least else zero
      total[j] += strategy[j]
  _match(block, tables.strategy, total, rule.epsilon)


# VAD-CFR, with the numbers of its paper.
_ALPHA, _BETA, _LEAST_ALPHA = 1.5, -0.1, 0.1
_SENSITIVITY = 0.5  # of discounts and optimism to volatility
_USUAL_REGRET = 2.0  # regrets of this size are as volatile as can be
_NEWEST = 0.1  # share of the newest size in the moving average of sizes
_BOOST = 1.1  # factor on new regrets that are positive
_LEAST_REGRET = -20.0
_GAMMA, _MOST_GAMMA, _GAMMA_SENSITIVITY = 2.0, 4.0, 1.5


@jit.kernel
def _volatile_weight(time, size):
  """Returns what a strategy weighs whose largest regret has this size."""
  gamma = _GAMMA + _GAMMA_SENSITIVITY * min(1.0, size / _USUAL_REGRET)
  return (time**min(_MOST_GAMMA, gamma) * math.sqrt(1.0 + size / _USUAL_REGRET)
          / (1.0 + size * math.sqrt(size)))


@jit.kernel
def _kept(time, power):
  """Returns time^power / (time^power + 1)."""
  return 1.0 / (1.0 + time**-power)


@jit.kernel
def _learn_volatile(block, tables, values, out, reach, rule, work):
  """Does what `learn_block` does, as VAD-CFR does it.

  Its `state` of a set: the moving average of its largest regrets' sizes. All is
  computed in float64, set by set.
  """
  begin, width, rows = block.begin, block.width, block.rows
  strips.play_block(block, tables.strategy, values, out)
  least = block.least * rule.rounding
  base = out
  if rule.epsilon > 0.0:
    base = work[width:2 * width]
    _matched_value(block, values, out, rule.epsilon, base)
  low, scale = rule.epsilon, 1.0 - len(rows) * rule.epsilon
  for j in range(width):
    size = 0.0
    for a in range(len(rows)):
      size = max(size, abs(np.float64(values[rows[a] + j]) - base[j]))
    mean = size
    if rule.time > 1.0:
      mean = _NEWEST * size + (1.0 - _NEWEST) * tables.state[begin + j]
    tables.state[begin + j] = mean
    volatility = min(1.0, mean / _USUAL_REGRET)
    alpha = max(_LEAST_ALPHA, _ALPHA - _SENSITIVITY * volatility)
    beta = min(alpha, _BETA - _SENSITIVITY * volatility)
    positive, negative = _kept(rule.time, alpha), _kept(rule.time, beta)
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
      r = max(_LEAST_REGRET, r * (positive if r >= 0.0 else negative) + new)
      tables.regret[e] = r
      r = r * (positive if r >= 0.0 else negative) + optimism * new
      r = r if r > least else 0.0
      tables.strategy[e] = r
      total += r * math.sqrt(r)
    for a in range(len(rows)):
      e = begin + a * block.stride + j
      r = np.float64(tables.strategy[e])
      tables.strategy[e] = (low + scale * (r * math.sqrt(r) / total)
                            if total >= _TINY_64 else 1.0 / len(rows))


def _choose(standard, asymmetric, volatile):
  """Lets the class of a rule choose the kernel that other kernels call.

  Args:
    standard: the kernel for a `Rule`, whose name stands for all of them.
    asymmetric: the one for an `AsymmetricRule`.
    volatile: the one for a `VolatileRule`.
  """
  kernels = {Rule: standard, AsymmetricRule: asymmetric, VolatileRule: volatile}
  by_length = {len(rule._fields): rule for rule in kernels}

  def choose(kinds):
    for kind in kinds:
      rule = getattr(kind, "instance_class", None)
      if rule in kernels:
        return kernels[rule]
    # Threads get rules as plain tuples, which differ in their lengths.
    return kernels[by_length[kinds[0].count]]

  jit.choose_by_types(standard, choose)


learn_block = strips.learn_block  # the update for a `Rule`
_choose(rule_at, _asymmetric_rule_at, _volatile_rule_at)
_choose(named_rule, _named_asymmetric_rule, _named_volatile_rule)
_choose(learn_block, _learn_asymmetric, _learn_volatile)
