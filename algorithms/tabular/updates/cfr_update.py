"""The update of CFR: how the values of a block change its tables.

`learn_block` is what most variants of CFR do, with different numbers in the
`update_rules.Rule`: counterfactual regrets are added and discounted, the
strategy is added to the average, and the next strategy is computed by regret
matching. It goes over a block strip by strip (see `strips`).

Some variants have an update of their own. `cfr_variants` lets the class of the
rule choose it: a kernel that calls `learn_block` with such a rule is compiled
with the update of that variant in its place. Python gets the one here.
"""

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import simd
from dudo_spiel.algorithms.tabular.updates import strips


@jit.forceinline
def _average_strip(cumulative, entry, played, decay, count):
  """Discounts an action's sums of strategies, and adds reach times strategy."""
  old = simd.load(cumulative, entry, played, count)
  simd.store(
      cumulative, entry,
      simd.multiply_add(old, simd.splat(decay, old), simd.widen(played)),
      count)


@jit.forceinline
def _learn_strip(block, tables, reach, rule, min_regret, j, count):
  """Does for a strip what `learn_block` does for a block."""
  regret, cumulative = tables
  num_actions, strategy = block.num_actions, block.strategy
  base = strips.play_strip(block, j, count)
  if rule.epsilon > 0.0:
    base = strips.unperturbed_strip(block, base, rule.epsilon, j, count)
  own = simd.load(reach, j, simd.STRIP, count)
  positive = simd.splat(rule.positive, base)
  negative = simd.splat(rule.negative, base)
  prediction = simd.splat(rule.prediction, base)
  zero = simd.splat(0.0, base)
  total = zero
  for a in range(num_actions):
    entry = block.begin + a * block.stride + j
    probability = simd.load(strategy, entry, simd.STRIP, count)
    _average_strip(cumulative, entry, own * probability, rule.decay, count)
    new = simd.load(block.values, block.rows[a] + j, simd.STRIP, count) - base
    r = simd.load(regret, entry, simd.STRIP, count) + new
    r = r * simd.where_above(r, min_regret, positive, negative)
    simd.store(regret, entry, r, count)
    r += prediction * new
    r = simd.where_above(r, min_regret, r, zero)
    simd.store(strategy, entry, r, count)
    total += r
  low = simd.splat(rule.epsilon, base)
  scale = simd.splat(1.0 - num_actions * rule.epsilon, base)
  uniform = simd.splat(1.0 / num_actions, base)
  inverse = scale / total
  for a in range(num_actions):
    entry = block.begin + a * block.stride + j
    probability = low + simd.load(strategy, entry, simd.STRIP, count) * inverse
    simd.store(
        strategy, entry,
        simd.where_from(total, block.min_sum, probability, uniform), count)


@jit.forceinline
def _pass_strip(block, cumulative, reach, decay, j, count):
  """Does what `_learn_strip` does where sets have only one action."""
  value = simd.load(block.values, block.rows[0] + j, simd.STRIP, count)
  simd.store(block.out, j, value, count)
  own = simd.load(reach, j, simd.STRIP, count)
  _average_strip(cumulative, block.begin + j, own, decay, count)


@jit.forceinline
def learn_block(block, tables, values, out, reach, rule, scratch):
  """Writes the values of a block, and updates its tables by them.

  It adds the regrets and the strategy, and computes the next strategy. Where
  sets have only one action there is nothing to learn.

  In a perturbed game the next strategy is epsilon + (1 - |A| epsilon) times
  regret matching, and regrets compare actions with regret matching (Farina,
  Kroer & Sandholm 2017): nobody regrets what is forced.

  Sums of regrets that may be rounding errors do not count as positive (see
  `set_blocks.min_regrets`).

  The arguments are those of `set_blocks.update_block`; only other updates use
  `scratch`.
  """
  pointers = strips.block_pointers(block, tables.strategy, values, out)
  cumulative, own = jit.pointer(tables.cumulative), jit.pointer(reach)
  lanes = simd.strip_size(tables.strategy)
  if pointers.num_actions == 1:
    strips.for_each_strip(_pass_strip, (pointers, cumulative, own, rule.decay),
                          block.width, lanes)
  else:
    strips.for_each_strip(_learn_strip,
                          (pointers, (jit.pointer(tables.regret), cumulative),
                           own, rule, block.min_regret * rule.rounding),
                          block.width, lanes)
