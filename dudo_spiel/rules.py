"""What happens when a claim is challenged, and the record of a round.

The rules are those of Neller & Hnath (2011), section 1.1, with three house
rules: whether ones are wild, how many dice the loser loses, and whether an
exact claim is rewarded.
"""

from typing import NamedTuple

from dudo_spiel import claims as claims_lib

DIE_LOSSES = ("difference", "one")


class HouseRules(NamedTuple):
  """The rules that differ from table to table.

  Attributes:
    wild_ones: ones count for every rank.
    die_loss: "difference": the loser loses as many dice as the claim was off;
      "one": exactly one.
    exact_reward: when the count is exactly what was claimed, every player but
      the claimant loses one die; otherwise the challenger alone loses.
  """
  wild_ones: bool = True
  die_loss: str = "difference"
  exact_reward: bool = True


def count_matches(hands, rank, wild_ones=True):
  """Returns how many of the dice in `hands` (bytes) count for `rank`."""
  if wild_ones and rank != 1:
    return hands.count(rank) + hands.count(1)
  return hands.count(rank)


def resolve_challenge(dice, claimant, challenger, quantity, count, house):
  """Returns who has how many dice after a challenge, and who won it.

  Args:
    dice: sequence of ints, the dice of each player before the challenge.
    claimant: the player whose claim was challenged.
    challenger: the player who said Dudo.
    quantity: how many dice were claimed.
    count: how many dice there are.
    house: the `HouseRules`.

  Returns:
    (dice, winner): the dice of each player afterwards, as bytes, and the
    player who won the challenge and starts the next round.
  """
  after = list(dice)
  if count == quantity and house.exact_reward:
    for player, num_dice in enumerate(after):
      if player != claimant and num_dice:
        after[player] -= 1
    return bytes(after), claimant
  if count >= quantity:
    loser, winner = challenger, claimant
  else:
    loser, winner = claimant, challenger
  lost = 1 if house.die_loss == "one" else max(1, abs(count - quantity))
  after[loser] = max(0, after[loser] - lost)
  return bytes(after), winner


class Round(NamedTuple):
  """One round of Dudo, finished or under way.

  Attributes:
    dice: bytes, how many dice each player had when it began.
    starter: the player who claims first.
    hands: bytes, the dice rolled so far: the players' hands one after another.
    claims: int, the set of claims made (see `claims.claims_in_mask`).
  """
  dice: bytes
  starter: int
  hands: bytes
  claims: int

  def hand(self, player):
    """Returns the player's hand, empty while it is not rolled."""
    begin = sum(self.dice[:player])
    return self.hands[begin:begin + self.dice[player]]

  def all_hands(self):
    """Returns every player's hand, by seat."""
    return [self.hand(player) for player in range(len(self.dice))]

  def claim_list(self):
    """Returns the claims made, first to last."""
    return claims_lib.claims_in_mask(self.claims)

  def actor(self, turn):
    """Returns who acts in this turn (0 is the first claim)."""
    living = [p for p, num_dice in enumerate(self.dice) if num_dice]
    return living[(living.index(self.starter) + turn) % len(living)]

  def challenge(self, num_sides, house):
    """Returns what a challenge of the last claim comes to.

    Args:
      num_sides: how many sides a die has.
      house: the `HouseRules`.

    Returns:
      (count, dice, winner): how many dice count for the claimed rank, each
      player's dice afterwards (bytes), and who won the challenge.
    """
    order = claims_lib.claim_order(sum(self.dice), num_sides, house.wild_ones)
    quantity, rank = order.claims[self.claims.bit_length() - 1]
    count = count_matches(self.hands, rank, house.wild_ones)
    turn = self.claims.bit_count()
    dice, winner = resolve_challenge(self.dice, self.actor(turn - 1),
                                     self.actor(turn), quantity, count, house)
    return count, dice, winner
