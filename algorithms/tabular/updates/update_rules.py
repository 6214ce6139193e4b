"""Rules: the parameters of an iteration of CFR or fictitious play.

Most variants of CFR are one update with different parameters, a `Rule`. Some
need others, and have a rule of another class. A kernel is compiled for the
types of its arguments, so the class of the rule chooses kernels at compile
time (`choose_by_rule`), and no solver pays for the variants of others.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

# Each attribute of a rule is a number, or [iteration]: float64 if it is one of
# `_WEIGHTS`, otherwise of the strategy's type.


class Rule(NamedTuple):
  """The parameters of an iteration of CFR or fictitious play.

  Attributes:
    positive: factor on positive regrets after the new ones are added.
    negative: factor on negative regrets; 0 clips them (regret matching+).
    prediction: weight of the newest regret as a prediction of the next.
    decay: factor on the cumulative strategy before the new one is added.
    epsilon: the lowest probability of an action.
    step: step size of a strategy towards the best action (fictitious play).
    rounding: number of rounding errors that a sum of regrets may contain: one
      for each iteration.
  """
  positive: float
  negative: float
  prediction: float
  decay: float
  epsilon: float = 0.0
  step: float = 0.0
  rounding: float = 0.0


class AsymmetricRule(NamedTuple):
  """The parameters of an iteration of APCFR+: some of `Rule`, and its own.

  Attributes:
    limit: the largest asymmetry.
  """
  decay: float
  epsilon: float
  step: float
  rounding: float
  limit: float


class VolatileRule(NamedTuple):
  """The parameters of an iteration of VAD-CFR: some of `Rule`, and its own.

  Attributes:
    time: the number of the iteration, from 1.
    optimism: weight of the newest regret as a prediction of the next where
      regrets are steady.
    is_averaged: 1 if the strategy counts in the average, otherwise 0.
  """
  time: float
  optimism: float
  is_averaged: float
  epsilon: float
  step: float
  rounding: float


_WEIGHTS = ("decay", "step", "limit", "time", "optimism", "is_averaged")


def rule_arrays(rule, count, dtype):
  """Returns a rule of any class as arrays [iteration], for kernels."""
  return type(rule)(*(
      np.array(np.broadcast_to(column, count),
               np.float64 if name in _WEIGHTS else dtype)
      for name, column in rule._asdict().items()))


@jit.kernel
def rule_at(rules, t):
  """Returns the rule of one iteration of a `Rule` of arrays."""
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
  """Returns the rule of one iteration from a plain tuple of its attributes."""
  return Rule(*columns)


@jit.kernel
def _named_asymmetric_rule(columns):
  return AsymmetricRule(*columns)


@jit.kernel
def _named_volatile_rule(columns):
  return VolatileRule(*columns)


def by_num_fields(rules):
  """Returns {number of fields: class of rules}; two must not have equally many.

  Numba passes a rule to threads as a plain tuple, whose length must tell its
  class.
  """
  found = {len(rule._fields): rule for rule in rules}
  if len(found) < len(rules):
    raise ValueError("rules: must have different numbers of fields, as threads "
                     "cannot tell them apart otherwise")
  return found


def choose_by_rule(*kernels):
  """Lets the class of a rule choose the kernel that other kernels call.

  Args:
    *kernels: those for a `Rule`, an `AsymmetricRule` and a `VolatileRule`.
      Callers use the name of the first.
  """
  kernel_of = dict(zip((Rule, AsymmetricRule, VolatileRule), kernels))
  rule_of = by_num_fields(kernel_of)

  def choose(kinds):
    for kind in kinds:
      rule = getattr(kind, "instance_class", None)
      if rule in kernel_of:
        return kernel_of[rule]
    return kernel_of[rule_of[kinds[0].count]]

  jit.choose_by_types(kernels[0], choose)


choose_by_rule(rule_at, _asymmetric_rule_at, _volatile_rule_at)
choose_by_rule(named_rule, _named_asymmetric_rule, _named_volatile_rule)
