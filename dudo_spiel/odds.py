"""The odds of a claim for a player who knows only one hand.

Each of the other dice counts for the claimed rank with the same probability.
How many of them count is therefore binomial.

Serves the bots and the narrator.
"""

import functools
import math

from dudo_spiel import rules


@functools.cache
def binomial_tail(trials, successes, chance):
  """Returns the probability of at least `successes` in `trials`.

  Args:
    trials: how many independent trials there are.
    successes: how many of them must succeed.
    chance: the probability that a trial succeeds.
  """
  if successes <= 0:
    return 1.0
  return math.fsum(
      math.comb(trials, k) * chance**k * (1 - chance)**(trials - k)
      for k in range(successes, trials + 1))


def claim_odds(quantity, rank, hand, num_dice, num_sides=6, wild_ones=True):
  """Returns the probability that a claim is true, given one hand.

  Args:
    quantity: how many dice are claimed.
    rank: the claimed rank.
    hand: bytes, the dice that are known.
    num_dice: how many dice are in play, with those in the hand.
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
  """
  matching_faces = 2 if wild_ones and rank != 1 else 1
  missing = quantity - rules.count_matches(hand, rank, wild_ones)
  return binomial_tail(num_dice - len(hand), missing,
                       matching_faces / num_sides)
