"""Claims and their order.

A claim n x r says that at least n of all dice in play count for rank r. The
claims of a round with d dice of S sides are numbered 0..S*d-1 by strength, so
that a claim beats exactly those with a smaller number.

With wild ones the order is that of Neller & Hnath (2011), section 1.1,
equation 1 (with its signs mended, and for any number of sides): ones are twice
as hard to get, so n x 1 stands just before 2n x 2, and the claims of ones that
have no such place come last. Without wild ones it is by quantity, then by rank
(Gendre & Kaneko 2019, section 2.1).
"""

import functools

import numpy as np


def claim_strength(quantity, rank, num_dice, num_sides=6, wild_ones=True):
  """Returns the strength of `quantity` x `rank`: its number in the order.

  Arithmetic only, so that compiled code may use it as it stands.

  Args:
    quantity: how many dice are claimed, in 1..num_dice.
    rank: the rank that is claimed, in 1..num_sides.
    num_dice: how many dice are in play, all players together.
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
  """
  if not wild_ones:
    return num_sides * (quantity - 1) + rank - 1
  others = num_sides - 1
  if rank != 1:
    return others * (quantity - 1) + quantity // 2 + rank - 2
  if quantity <= num_dice // 2:
    return others * (2 * quantity - 1) + quantity - 1
  return others * num_dice + quantity - 1


class ClaimOrder:
  """Every claim of a round with `num_dice` dice, weakest first.

  Attributes:
    num_dice: how many dice are in play.
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
    num_claims: num_sides * num_dice.
    claims: tuple of (quantity, rank), by strength.
    names: tuple of str such as "3x5", by strength.
    quantities: [claim] int32, the quantity of each claim.
    ranks: [claim] int32, the rank of each claim.
  """

  def __init__(self, num_dice, num_sides=6, wild_ones=True):
    self.num_dice = num_dice
    self.num_sides = num_sides
    self.wild_ones = wild_ones
    self.num_claims = num_sides * num_dice
    claims = [None] * self.num_claims
    for quantity in range(1, num_dice + 1):
      for rank in range(1, num_sides + 1):
        claims[self.index(quantity, rank)] = (quantity, rank)
    self.claims = tuple(claims)
    self.names = tuple(f"{n}x{r}" for n, r in claims)
    self.quantities = np.array([n for n, _ in claims], dtype=np.int32)
    self.ranks = np.array([r for _, r in claims], dtype=np.int32)
    self.quantities.setflags(write=False)
    self.ranks.setflags(write=False)

  def index(self, quantity, rank):
    """Returns the number of the claim `quantity` x `rank`."""
    if not 1 <= quantity <= self.num_dice:
      raise ValueError(
          f"quantity={quantity}: must be between 1 and {self.num_dice}, the "
          "number of dice in play")
    if not 1 <= rank <= self.num_sides:
      raise ValueError(
          f"rank={rank}: must be between 1 and {self.num_sides}, the number "
          "of sides of a die")
    return claim_strength(quantity, rank, self.num_dice, self.num_sides,
                          self.wild_ones)

  def parse(self, name):
    """Returns the number of the claim called `name`, such as "3x5"."""
    quantity, separator, rank = name.partition("x")
    if not (separator and quantity.isdecimal() and rank.isdecimal()):
      raise ValueError(
          f"claim={name!r}: must be a quantity, 'x' and a rank, such as '3x5'")
    return self.index(int(quantity), int(rank))


@functools.cache
def claim_order(num_dice, num_sides=6, wild_ones=True):
  """Returns the (shared) order of claims for this many dice in play."""
  return ClaimOrder(num_dice, num_sides, wild_ones)


def claims_in_mask(mask):
  """Returns the claims in a set of claims, weakest first.

  Claims of a round only grow, so the set of claims made tells their sequence;
  states keep it as one int with bit s set for the claim of strength s.
  """
  claims = []
  while mask:
    lowest = mask & -mask
    claims.append(lowest.bit_length() - 1)
    mask ^= lowest
  return claims
