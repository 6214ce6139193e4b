"""What CFR learns from the values of a block: the updates, and their numbers.

Most variants of CFR are one update with different numbers, a `Rule`. Some keep
more of a set than sums of regrets. Such an update is a kernel of its own, and
so is its rule: a named tuple of another class. A kernel is compiled for the
types of its arguments. So the class of the rule chooses the update when the
kernel is compiled, and no solver pays for the updates of others.

Serves `blocks`, the forms and the solvers on compiled games.
"""

import math
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd

_TINY_32 = float(np.finfo(np.float32).tiny)
_TINY_64 = float(np.finfo(np.float64).tiny)
_LANES_32 = 16  # numbers of float32 in a strip


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


@jit.embedded
def _match(block, strategy, total, epsilon):
  """Divides a block's positive regrets by their sums, in a perturbed game too.

  Args:
    block: the `blocks.Block`.
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


class _Strips(NamedTuple):
  """What the strips of a block are made of: numbers and pointers.

  Attributes:
    begin: the block's first entry.
    stride: how far apart the entries of a set are.
    num_actions: how many actions each set has.
    rows: [action] int64, where each action's values begin.
    strategy: [entry].
    values: what `rows` points into.
    out: [set], the value of each set.
  """
  begin: int
  stride: int
  num_actions: int
  rows: np.ndarray
  strategy: np.ndarray
  values: np.ndarray
  out: np.ndarray


@jit.embedded
def _strips(block, strategy, values, out):
  """Returns the `_Strips` of a block."""
  return _Strips(block.begin, block.stride, len(block.rows),
                 jit.pointer(block.rows), jit.pointer(strategy),
                 jit.pointer(values), jit.pointer(out))


@jit.embedded
def _play_strip(strips, j, count):
  """Writes and returns the values of the sets from j on.

  Args:
    strips: the `_Strips`.
    j: the first of the sets.
    count: how many there are, None for a whole strip (see `simd`).
  """
  values = strips.values
  first = simd.load_strip(values, strips.rows[0] + j, count)
  out = first
  for a in range(1, strips.num_actions):
    entry = strips.begin + a * strips.stride + j
    out += (simd.load_strip(strips.strategy, entry, count) *
            (simd.load_strip(values, strips.rows[a] + j, count) - first))
  simd.store_strip(strips.out, j, out, count)
  return out


@jit.embedded
def play_block(block, strategy, values, out):
  """Writes the value of each set: its strategy times its actions' values.

  The sum is taken over differences from the first action's value. So a set
  whose actions are all worth the same is worth exactly that: its regrets are
  zero, and not rounding errors that would look like preferences.

  Args:
    block: the `blocks.Block`.
    strategy: [entry].
    values: array that `block.rows` points into.
    out: [set], modified in place.
  """
  strips = _strips(block, strategy, values, out)
  lanes = simd.strip_size(strategy)
  whole = block.width // lanes * lanes
  for j in range(0, whole, lanes):
    _play_strip(strips, j, None)
  if whole < block.width:
    _play_strip(strips, whole, block.width - whole)


@jit.embedded
def _matched_strip(strips, out, epsilon, j, count):
  """Returns values of regret matching as `_matched_value` writes them."""
  values = strips.values
  first = simd.load_strip(values, strips.rows[0] + j, count)
  scale = 1.0 - strips.num_actions * epsilon
  factor = 1.0 / scale if scale > 0.0 else 0.0
  matched = out - first
  low = simd.splat_like(epsilon, first)
  for a in range(1, strips.num_actions):
    matched -= low * (simd.load_strip(values, strips.rows[a] + j, count) -
                      first)
  return first + simd.splat_like(factor, first) * matched


@jit.embedded
def _average_strip(strips, cumulative, own, decay, a, j, count):
  """Adds the strategy of one action of the sets from j on to the average."""
  entry = strips.begin + a * strips.stride + j
  share = simd.load_strip(strips.strategy, entry, count)
  old = simd.load_like(cumulative, entry, own, count)
  simd.store_strip(
      cumulative, entry,
      simd.multiply_add(old, simd.splat_like(decay, old),
                        simd.widen(own * share)), count)


@jit.embedded
def _learn_strip(strips, regret, cumulative, reach, rule, least, j, count):
  """Does for the sets from j on what `learn_block` does for a block.

  Args:
    strips: the `_Strips`.
    regret: pointer to the regrets.
    cumulative: pointer to the sums of strategies.
    reach: [set] pointer, how likely the player plays to each set.
    rule: the `Rule` of this iteration.
    least: sums of regrets up to this size may be rounding errors.
    j: the first of the sets.
    count: how many there are, None for a whole strip (see `simd`).
  """
  num_actions, strategy = strips.num_actions, strips.strategy
  base = _play_strip(strips, j, count)
  if rule.epsilon > 0.0:
    base = _matched_strip(strips, base, rule.epsilon, j, count)
  own = simd.load_strip(reach, j, count)
  positive = simd.splat_like(rule.positive, base)
  negative = simd.splat_like(rule.negative, base)
  prediction = simd.splat_like(rule.prediction, base)
  zero = simd.splat_like(0.0, base)
  total = zero
  for a in range(num_actions):
    _average_strip(strips, cumulative, own, rule.decay, a, j, count)
    entry = strips.begin + a * strips.stride + j
    new = simd.load_strip(strips.values, strips.rows[a] + j, count) - base
    r = simd.load_strip(regret, entry, count) + new
    r = r * simd.where_above(r, least, positive, negative)
    simd.store_strip(regret, entry, r, count)
    r += prediction * new
    r = simd.where_above(r, least, r, zero)
    simd.store_strip(strategy, entry, r, count)
    total += r
  low = simd.splat_like(rule.epsilon, base)
  scale = simd.splat_like(1.0 - num_actions * rule.epsilon, base)
  uniform = simd.splat_like(1.0 / num_actions, base)
  # Where the sum is below every normal number its inverse could be infinite.
  tiny = _TINY_32 if simd.strip_size(strategy) == _LANES_32 else _TINY_64
  inverse = scale / total
  for a in range(num_actions):
    entry = strips.begin + a * strips.stride + j
    share = low + simd.load_strip(strategy, entry, count) * inverse
    simd.store_strip(strategy, entry,
                     simd.where_from(total, tiny, share, uniform), count)


@jit.embedded
def _pass_strip(strips, cumulative, reach, decay, j, count):
  """Does what `_learn_strip` does where sets have one action only."""
  value = simd.load_strip(strips.values, strips.rows[0] + j, count)
  simd.store_strip(strips.out, j, value, count)
  own = simd.load_strip(reach, j, count)
  old = simd.load_like(cumulative, strips.begin + j, own, count)
  simd.store_strip(
      cumulative, strips.begin + j,
      simd.multiply_add(old, simd.splat_like(decay, old), simd.widen(own)),
      count)


@jit.embedded
def learn_block(block, tables, values, out, reach, rule, work):
  """Writes the values of a block, and learns from them.

  It adds the regrets and the strategy, and makes the next strategy. All of this
  is done for a strip of sets before the next one, so that the numbers come
  from memory once. Where there is only one action nothing is to be learnt.

  In a perturbed game the next strategy is epsilon + (1 - |A| epsilon) times
  regret matching, and regrets are those of regret matching (Farina, Kroer &
  Sandholm 2017): nobody regrets what is forced.

  Sums of regrets that may be rounding errors do not count as positive (see
  `blocks.least_regrets`).

  Args:
    block: the `blocks.Block`.
    tables: the `blocks.SolverTables`, modified in place.
    values: array that `block.rows` points into.
    out: [set], modified in place: the value of each set.
    reach: [set], how likely the player plays to each set.
    rule: the `Rule` of this iteration.
    work: not used here; [2 * set] scratch of other updates.
  """
  strips = _strips(block, tables.strategy, values, out)
  regret, own = jit.pointer(tables.regret), jit.pointer(reach)
  cumulative = jit.pointer(tables.cumulative)
  least = block.least * rule.rounding
  lanes = simd.strip_size(tables.strategy)
  whole = block.width // lanes * lanes
  rest = block.width - whole
  if strips.num_actions == 1:
    for j in range(0, whole, lanes):
      _pass_strip(strips, cumulative, own, rule.decay, j, None)
    if rest > 0:
      _pass_strip(strips, cumulative, own, rule.decay, whole, rest)
    return
  for j in range(0, whole, lanes):
    _learn_strip(strips, regret, cumulative, own, rule, least, j, None)
  if rest > 0:
    _learn_strip(strips, regret, cumulative, own, rule, least, whole, rest)


# APCFR+.


@jit.embedded
def _learn_asymmetric(block, tables, values, out, reach, rule, work):
  """Does what `learn_block` does, as APCFR+ does it.

  Its `state` of a set: the sums of squared changes of the regrets from one
  iteration to the next, and of squared changes of their sums.
  """
  begin, width, rows = block.begin, block.width, block.rows
  play_block(block, tables.strategy, values, out)
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
  play_block(block, tables.strategy, values, out)
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


_choose(rule_at, _asymmetric_rule_at, _volatile_rule_at)
_choose(named_rule, _named_asymmetric_rule, _named_volatile_rule)
_choose(learn_block, _learn_asymmetric, _learn_volatile)
