"""The odds of a claim for a player who knows only one hand.

Each hidden die counts for the claimed rank with the same probability, so the
number of hidden dice that count is binomial.
"""

import functools
import math

from dudo_spiel import claims
from dudo_spiel import rules
from dudo_spiel import validation

_MAX_TRIALS = 1000


def binomial_tail(trials: int, successes: int, chance: float) -> float:
  """Returns the probability of at least `successes` in independent `trials`.

  Each trial succeeds with the probability `chance`.
  """
  return _binomial_tail(validation.integer("trials", trials, 0, _MAX_TRIALS),
                        validation.integer("successes", successes),
                        validation.number("chance", chance, 0.0, 1.0))


@functools.cache
def _binomial_tail(trials, successes, chance):
  """Computes `binomial_tail` of checked arguments, and caches it."""
  if successes <= 0:
    return 1.0
  return math.fsum(
      math.comb(trials, k) * chance**k * (1 - chance)**(trials - k)
      for k in range(successes, trials + 1))


def claim_odds(quantity: int, rank: int, hand: bytes, num_dice: int,
               num_sides: int = 6, wild_ones: bool = True) -> float:
  """Returns the probability that a claim is true, given one hand.

  Args:
    quantity: how many dice are claimed.
    rank: the claimed rank.
    hand: bytes, the dice that are known.
    num_dice: how many dice are in play, with those in the hand.
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.

  Example:
    >>> from dudo_spiel import odds
    >>> # One of two unknown dice must show a one or a five.
    >>> round(odds.claim_odds(2, 5, bytes([5, 6]), num_dice=4), 6)
    0.555556
  """
  if not isinstance(hand, bytes):
    raise ValueError(f"hand={hand!r}: must be bytes, one for each die")
  quantity = validation.integer("quantity", quantity)
  rank = validation.integer("rank", rank, 1, 255)
  num_dice = validation.integer("num_dice", num_dice, len(hand), _MAX_TRIALS)
  num_sides = validation.integer("num_sides", num_sides, 2, 255)
  wild_ones = validation.boolean("wild_ones", wild_ones)
  matching_faces = 2 if wild_ones and rank != 1 else 1
  missing = quantity - rules.count_matches(hand, rank, wild_ones)
  return _binomial_tail(num_dice - len(hand), missing,
                        matching_faces / num_sides)


def odds_in_order(order: claims.ClaimOrder, claim: int, hand: bytes) -> float:
  """Returns the probability that a claim of an order is true by one hand."""
  quantity, rank = order.claims[claim]
  return claim_odds(quantity, rank, hand, order.num_dice, order.num_sides,
                    order.wild_ones)
