"""The deals of a round that a sweep goes through, and the tables it learns.

An information set is a player's own dice, how many dice the opponent has, and
what the abstraction keeps of the claims. Who started the round does not matter.
So tables are indexed by (own dice, opponent's dice), and the rounds (a, b) and
(b, a), which share their tables, are trained as a pair.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import regret_tables

# A run of deals in which one role's hands are neighbours (step 1) or all the
# same (step 0): deal + i has hand + i * step, for i < length.
SEGMENT = np.dtype([("deal", np.int64), ("hand", np.int64),
                    ("length", np.int64), ("step", np.int64)])

# What was learned about a round so far: the number of sweeps, and the weighted
# sums over the sweeps of the round's value to its starter and of the weights.
# Files hold it as three float64.
RECORD = np.dtype([("sweeps", np.float64), ("value", np.float64),
                   ("weight", np.float64)])


class DealBatch(NamedTuple):
  """A list of deals for the kernels.

  Attributes:
    hands: for each role [deal] int64, its hand.
    segments: for each role [segment] `SEGMENT`, the same hands as runs.
    weights: for each role [deal], the chance of the opponent's hand, scaled so
      that the deals of a hand weigh 1 on average.
    chances: [deal] float64, how likely the deal is, scaled likewise.
  """
  hands: tuple[np.ndarray, np.ndarray]
  segments: tuple[np.ndarray, np.ndarray]
  weights: tuple[np.ndarray, np.ndarray]
  chances: np.ndarray


def shifted_deals(rules, dice, shifts, dtype):
  """Returns a `DealBatch` with every hand of the role that has more hands.

  For each shift, hand h of the role with more dice meets hand
  (h + shift) mod n of the other role, which has n hands. All n shifts together
  make all deals.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    dice: the dice of both roles.
    shifts: sequence of int.
    dtype: the type of the weights.
  """
  large = int(dice[1] > dice[0])
  many, few = (rules.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole, parts = [], []
  for number, shift in enumerate(shifts):
    begin = number * many
    whole.append((begin, 0, many, 1))
    deal, hand = 0, shift % few
    while deal < many:
      length = min(few - hand, many - deal)
      parts.append((begin + deal, hand, length, 1))
      deal, hand = deal + length, 0
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deal_batch(rules, dice, segments, few / len(shifts), dtype)


def all_deals(rules, dice, dtype):
  """Returns a `DealBatch` of all deals.

  Runs of deals have neighbouring hands of the role with more dice and one hand
  of the other role, which is fast if that role has few hands. The arguments are
  those of `shifted_deals`.
  """
  large = int(dice[1] > dice[0])
  many, few = (rules.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole = [(hand * many, 0, many, 1) for hand in range(few)]
  parts = [(hand * many, hand, many, 0) for hand in range(few)]
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deal_batch(rules, dice, segments, 1.0, dtype)


def _deal_batch(rules, dice, runs, scale, dtype):
  """Returns the `DealBatch` of runs; deals weigh `scale` times their chances.

  `runs` has for each role a list of (deal, hand, length, step).
  """
  hands = tuple(
      np.concatenate([hand + step * np.arange(length)
                      for _, hand, length, step in role_runs])
      for role_runs in runs)
  chances = [rules.rolls(num_dice).probabilities[own]
             for num_dice, own in zip(dice, hands)]
  return DealBatch(
      hands, tuple(np.array(role_runs, SEGMENT) for role_runs in runs),
      tuple((scale * chances[1 - role]).astype(dtype) for role in range(2)),
      scale * chances[0] * chances[1])


def leaf_values(rules, dice, deals, values, dtype):
  """Returns for each role [claim, deal], what it gets by a challenge.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    dice: the dice of both roles.
    deals: the `DealBatch`.
    values: {(starter's dice, other's dice): the starter's value}.
    dtype: the type of the result.
  """
  order = rules.claim_order(sum(dice))
  matches = [rules.rolls(num_dice).matches(rules.house.wild_ones)[own]
             for num_dice, own in zip(dice, deals.hands)]
  counts = (matches[0] + matches[1])[:, order.ranks - 1].T
  claims = np.arange(order.num_claims)[:, None]
  following = transitions.of_round(rules, dice)
  return tuple(
      following.payoffs(role, values).challenges[claims, counts].astype(dtype)
      for role in range(2))


def new_tables(rules, key, dtype):
  """Returns empty [row, hand] `RegretTables` of (own, opponent's) dice."""
  # The system hands out zeros in small pages, so they are written here.
  shape = rules.table_shape(key)
  tables = regret_tables.RegretTables(np.empty(shape, dtype),
                                      np.empty(shape, dtype))
  for table in tables:
    table.fill(0)
  return tables
