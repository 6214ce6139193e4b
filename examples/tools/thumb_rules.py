"""Rules of thumb for Dudo that people can follow at the table.

A rule looks at the own dice and the last claim only. It has two halves: when to
say Dudo, and what to claim otherwise. Both go by the odds of a claim for
somebody who knows their own dice and takes the other's for random.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel import odds
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.rounds import round_rules

SAFEST, BOLDEST, WEAKEST = "safest", "boldest", "weakest"


class Rule(NamedTuple):
  """A rule of thumb.

  Attributes:
    text: what it says.
    doubt: it says Dudo if the last claim is less likely than this.
    trust: how many of the other's dice it believes to be as claimed.
    claim: `SAFEST`, the strongest of the claims with the best odds; `BOLDEST`,
      the strongest one that is more likely than not, else the safest; or
      `WEAKEST`.
  """
  text: str
  doubt: float
  trust: int
  claim: str


RULES = (
    Rule("Say Dudo if the odds of the claim are below 40%. Otherwise make the "
         "claim with the best odds; of several, the strongest.", 0.4, 0,
         SAFEST),
    Rule("The same, but say Dudo below 50%.", 0.5, 0, SAFEST),
    Rule("The same, but say Dudo only below 25%.", 0.25, 0, SAFEST),
    Rule("The same as the first, but believe that one of the other's dice is "
         "as claimed.", 0.4, 1, SAFEST),
    Rule("Say Dudo below 40%. Otherwise make the strongest claim that is more "
         "likely than not.", 0.4, 0, BOLDEST),
    Rule("Say Dudo below 40%. Otherwise make the weakest claim.", 0.4, 0,
         WEAKEST),
)


def _odds(order, table, other_dice, house, trust):
  """Returns [claim, hand] float64, how likely claims are for each hand.

  Args:
    order: the `claims.ClaimOrder`.
    table: the `rolls.RollTable` of the own dice.
    other_dice: how many dice the other has.
    house: the house rules.
    trust: how many of them count for the claim; the rest are random.
  """
  trust = min(trust, other_dice)
  matches = table.matches(house.wild_ones)
  result = np.zeros((order.num_claims, table.num_rolls))
  for claim, (quantity, rank) in enumerate(order.claims):
    faces = 2 if house.wild_ones and rank != 1 else 1
    for hand in range(table.num_rolls):
      result[claim, hand] = odds.binomial_tail(
          other_dice - trust, int(quantity - trust - matches[hand, rank - 1]),
          faces / order.num_sides)
  return result


def _choice(rule, chances):
  """Returns the claim that a rule makes.

  Args:
    rule: the `Rule`.
    chances: [claim] float64, how likely those are that it may make.
  """
  if rule.claim == WEAKEST:
    return 0
  likely = np.flatnonzero(chances > 0.5)
  if rule.claim == BOLDEST and len(likely):
    return int(likely[-1])
  return int(np.flatnonzero(chances == chances.max())[-1])


def policy_of(rule, game):
  """Returns the `policies.MatchPolicy` that plays a rule.

  Args:
    rule: the `Rule`.
    game: `dudo` with two players.
  """
  rules = abstract_rules.abstract_rules(game, 1)
  tables = {}
  for own, other in round_rules.round_keys(game.start_dice):
    memory, order = rules.graph(own + other), rules.claim_order(own + other)
    rolls = rules.rolls(own)
    chances, believed = (_odds(order, rolls, other, rules.house, trust)
                         for trust in (0, rule.trust))
    table = np.zeros(rules.table_shape((own, other)), np.float32)
    for last in range(-1, order.num_claims):
      row = memory.first_row([last] * (last >= 0))
      for hand in range(rolls.num_rolls):
        is_dudo = last == order.num_claims - 1 or (
            last >= 0 and believed[last, hand] < rule.doubt)
        choice = (order.num_claims - last - 1 if is_dudo else
                  _choice(rule, chances[last + 1:, hand]))
        table[row + choice, hand] = 1.0
    tables[own, other] = table
  return policies.MatchPolicy(game, 1, tables, {})
