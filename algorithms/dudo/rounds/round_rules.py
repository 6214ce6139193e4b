"""The rules of a round of two-player Dudo, and the rounds that a match has.

In a round (a, b) the starter has a dice and the other player b. Every round
ends with a challenge, which is worth what the next round is worth. So rounds
are solved in order of their dice, fewest first (Neller & Hnath 2011, section
4.1).
"""

import dataclasses

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules as rules_lib
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.games import dudo

_MAX_DICE = 99  # of a player, in files
_MAX_VALUE = 1.0 + 1e-3  # of a match to a player, with rounding


@dataclasses.dataclass(frozen=True)
class RoundRules:
  """All that decides a match of two players, except their dice.

  Attributes:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
  """
  num_sides: int
  house: rules_lib.HouseRules

  def rolls(self, num_dice):
    """Returns the table of rolls of this many dice."""
    return rolls_lib.roll_table(num_dice, self.num_sides)

  def claim_order(self, num_dice):
    """Returns the order of claims with this many dice in play."""
    return claims_lib.claim_order(num_dice, self.num_sides,
                                  self.house.wild_ones)


def check_game(game):
  """Raises a ValueError unless it is `dudo` or `dudo_ir` with two players."""
  if not isinstance(game, dudo.DudoGame) or game.num_players() != 2:
    raise ValueError(f"game={game}: must be dudo or dudo_ir with two players")


def round_rules(game):
  """Returns the `RoundRules` of a two-player `dudo` or `dudo_ir`."""
  check_game(game)
  return RoundRules(game.num_sides, game.house)


def values_from_file(name, value):
  """Returns {(starter's dice, other's dice): value} of a header's field.

  Args:
    name: of the field.
    value: the field, which must be a list of [dice, other's dice, value].
  """
  values = {}
  for item in value if isinstance(value, list) else [value]:
    if not isinstance(item, list) or len(item) != 3:
      raise ValueError(f"{name}: must be a list of [starter's dice, other's "
                       "dice, value]")
    *dice, starters = item
    a, b = (validation.integer(name, count, 1, _MAX_DICE) for count in dice)
    values[a, b] = validation.number(name, starters, -_MAX_VALUE, _MAX_VALUE)
  return values


def round_pair(key):
  """Returns the rounds that share tables: ((a, b), (b, a)) or ((a, a),)."""
  return tuple(dict.fromkeys([key, key[::-1]]))


def round_keys(start_dice):
  """Returns the rounds (starter's dice, other's dice) that a match can have.

  Args:
    start_dice: the dice of both players at the start.

  Returns:
    A list of pairs, fewest dice first; (a, b) and (b, a) are neighbours.
  """
  low, high = sorted(start_dice)
  pairs = [(a, b) for b in range(1, high + 1)
           for a in range(1, min(b, low) + 1)]
  pairs.sort(key=lambda pair: (sum(pair), pair))
  return [key for pair in pairs for key in round_pair(pair)]


def match_keys(game):
  """Returns the rounds that can come up in a game, fewest dice first.

  `round_keys` has more: the winner of a challenge, who keeps all dice, starts
  the next round. So if both begin with two dice, no starter has one die and the
  other player two.
  """
  starter = game.starting_player
  return rounds_from(round_rules(game), (game.start_dice[starter],
                                         game.start_dice[1 - starter]))


def rounds_from(rules, first):
  """Returns the rounds of a match that begins with one, fewest dice first."""
  found, open_rounds = {first}, [first]
  while open_rounds:
    following = transitions.of_round(rules,
                                     open_rounds.pop()).next_rounds - found
    found |= following
    open_rounds += following
  return [key for key in round_keys(first) if key in found]
