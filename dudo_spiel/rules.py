"""A round of Dudo, and what follows a challenge.

The rules are those of Neller & Hnath (2011), section 1.1. `HouseRules` has the
three that can be changed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dudo_spiel import claims as claims_lib

DIE_LOSSES = ("difference", "one")


class HouseRules(NamedTuple):
  """The rules that vary.

  Attributes:
    wild_ones: whether ones count for every rank.
    die_loss: how many dice the loser of a challenge loses. "difference": as
      many as the count differs from the claim, but at least one. "one": one.
    exact_reward: whether a claim that is exactly right costs every player
      except the claimant a die. If not, only the challenger loses.
  """
  wild_ones: bool = True
  die_loss: str = "difference"
  exact_reward: bool = True


def count_matches(hands: bytes, rank: int, wild_ones: bool = True) -> int:
  """Returns how many of the dice in `hands` (bytes) count for `rank`."""
  if wild_ones and rank != 1:
    return hands.count(rank) + hands.count(1)
  return hands.count(rank)


def resolve_challenge(dice: Sequence[int], claimant: int, challenger: int,
                      quantity: int, count: int,
                      house: HouseRules) -> tuple[bytes, int]:
  """Returns how many dice each player has after a challenge, and who won it.

  Args:
    dice: sequence of ints, how many dice each player has before it.
    claimant: the player whose claim was challenged.
    challenger: the player who said Dudo.
    quantity: how many dice were claimed.
    count: how many dice count for the claimed rank.
    house: the `HouseRules`.

  Returns:
    (dice, winner): how many dice each player has afterwards, as bytes, and the
    player who won the challenge. The winner starts the next round.

  Example:
    >>> from dudo_spiel import rules
    >>> # Player 0 claimed three dice, but one counts: the difference is lost.
    >>> dice, winner = rules.resolve_challenge(
    ...     [5, 5], claimant=0, challenger=1, quantity=3, count=1,
    ...     house=rules.HouseRules())
    >>> list(dice), winner
    ([3, 5], 1)
  """
  if count == quantity and house.exact_reward:
    return bytes(num_dice - (player != claimant and num_dice > 0)
                 for player, num_dice in enumerate(dice)), claimant
  after = list(dice)
  loser, winner = ((challenger, claimant) if count >= quantity else
                   (claimant, challenger))
  lost = 1 if house.die_loss == "one" else max(1, abs(count - quantity))
  after[loser] = max(0, after[loser] - lost)
  return bytes(after), winner


class Round(NamedTuple):
  """A round of Dudo, finished or not.

  Attributes:
    dice: bytes, how many dice each player has in this round.
    starter: the player who claims first.
    hands: bytes, the hands rolled so far, in seat order.
    claims: int, the set of claims made, with bit s set for strength s.
  """
  dice: bytes
  starter: int
  hands: bytes
  claims: int

  def hand(self, player: int) -> bytes:
    """Returns the player's hand, empty before the roll."""
    begin = sum(self.dice[:player])
    return self.hands[begin:begin + self.dice[player]]

  def all_hands(self) -> list[bytes]:
    """Returns a list of all players' hands, in seat order."""
    return [self.hand(player) for player in range(len(self.dice))]

  def claim_list(self) -> list[int]:
    """Returns the claims made, first to last."""
    return claims_lib.claims_in_mask(self.claims)

  def actor(self, turn: int) -> int:
    """Returns the player who acts in a turn, 0 for the first claim."""
    players = [p for p, num_dice in enumerate(self.dice) if num_dice]
    return players[(players.index(self.starter) + turn) % len(players)]

  def challenge(self, num_sides: int,
                house: HouseRules) -> tuple[int, bytes, int]:
    """Returns what happens if the last claim is challenged.

    Returns:
      (count, dice, winner): how many dice count for the claimed rank, how many
      dice each player has afterwards (bytes), and who wins the challenge.
    """
    order = claims_lib.claim_order(sum(self.dice), num_sides, house.wild_ones)
    quantity, rank = order.claims[self.claims.bit_length() - 1]
    count = count_matches(self.hands, rank, house.wild_ones)
    turn = self.claims.bit_count()
    dice, winner = resolve_challenge(self.dice, self.actor(turn - 1),
                                     self.actor(turn), quantity, count, house)
    return count, dice, winner
