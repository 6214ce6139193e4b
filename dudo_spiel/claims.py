"""Claims and their order.

The claim n x r says that at least n of all the dice in play count for rank r.
With d dice of S sides there are S*d claims. A claim's number is its strength,
its rank among all claims from 0.

With wild ones, the order is that of Neller & Hnath (2011), section 1.1,
equation 1, with its signs corrected and for any number of sides. Other ranks
come up twice as often as ones, because ones count for them too. So n x 1 comes
just before 2n x 2. If there are fewer than 2n dice, n x 1 is among the last
claims. Without wild ones, the order is by quantity, then by rank (Gendre &
Kaneko 2019, section 2.1).
"""

import functools

import numpy as np

from dudo_spiel import validation

_MAX_DICE = 255
_MAX_SIDES = 255


def claim_strength(quantity: int, rank: int, num_dice: int, num_sides: int = 6,
                   wild_ones: bool = True) -> int:
  """Returns the strength of `quantity` x `rank`: its number in the order.

  Args:
    quantity: how many dice are claimed, in 1..num_dice.
    rank: the claimed rank, in 1..num_sides.
    num_dice: how many dice all players have together.
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
  """All claims of a round with `num_dice` dice in play, weakest first.

  Attributes:
    num_dice: how many dice are in play.
    num_sides: how many sides a die has.
    wild_ones: whether ones count for every rank.
    num_claims: num_sides * num_dice.
    claims: tuple of (quantity, rank) of each claim.
    names: tuple of str, the name of each claim, such as "3x5".
    quantities: [claim] int32, the quantity of each claim.
    ranks: [claim] int32, the rank of each claim.

  Example:
    >>> from dudo_spiel import claims
    >>> order = claims.ClaimOrder(num_dice=2)
    >>> order.names[:7]
    ('1x2', '1x3', '1x4', '1x5', '1x6', '1x1', '2x2')
    >>> order.parse("2x2")
    6
  """

  def __init__(self, num_dice: int, num_sides: int = 6,
               wild_ones: bool = True) -> None:
    self.num_dice = num_dice = validation.integer("num_dice", num_dice, 1,
                                                  _MAX_DICE)
    self.num_sides = num_sides = validation.integer("num_sides", num_sides, 2,
                                                    _MAX_SIDES)
    self.wild_ones = validation.boolean("wild_ones", wild_ones)
    self.num_claims = num_sides * num_dice
    claims = [(0, 0)] * self.num_claims
    for quantity in range(1, num_dice + 1):
      for rank in range(1, num_sides + 1):
        claims[self.index(quantity, rank)] = (quantity, rank)
    self.claims = tuple(claims)
    self.names = tuple(f"{n}x{r}" for n, r in claims)
    self.quantities = np.array([n for n, _ in claims], dtype=np.int32)
    self.ranks = np.array([r for _, r in claims], dtype=np.int32)
    self.quantities.setflags(write=False)
    self.ranks.setflags(write=False)

  def index(self, quantity: int, rank: int) -> int:
    """Returns the number of the claim `quantity` x `rank`."""
    quantity = validation.integer("quantity", quantity, 1, self.num_dice)
    rank = validation.integer("rank", rank, 1, self.num_sides)
    return claim_strength(quantity, rank, self.num_dice, self.num_sides,
                          self.wild_ones)

  def parse(self, claim: str) -> int:
    """Returns the number of the claim with a name such as "3x5"."""
    quantity, separator, rank = (
        claim.partition("x") if isinstance(claim, str) else ("", "", ""))
    if not (separator and quantity.isdecimal() and rank.isdecimal()):
      raise ValueError(
          f"claim={claim!r}: must be a quantity, 'x' and a rank, such as '3x5'")
    return self.index(int(quantity), int(rank))

  def check_history(self, claims: list[int] | tuple[int, ...]) -> None:
    """Raises a ValueError unless a round can have this list of claims."""
    if not isinstance(claims, (list, tuple)):
      raise ValueError(f"claims={claims!r}: must be a list of claims")
    for claim in claims:
      validation.integer("claims", claim, 0)
    steps = [-1, *claims, self.num_claims]
    if any(after <= before for before, after in zip(steps, steps[1:])):
      raise ValueError(f"claims={claims!r}: each must be stronger than the one "
                       f"before, and below {self.num_claims}")


@functools.cache
def claim_order(num_dice: int, num_sides: int = 6,
                wild_ones: bool = True) -> ClaimOrder:
  """Returns the `ClaimOrder`, always the same object for the same arguments."""
  return ClaimOrder(num_dice, num_sides, wild_ones)


def claims_in_mask(mask: int) -> list[int]:
  """Returns the list of claims in a set, which has bit s for strength s.

  The weakest is first, as in a round: the set determines the sequence.
  """
  claims = []
  while mask:
    lowest = mask & -mask
    claims.append(lowest.bit_length() - 1)
    mask ^= lowest
  return claims
