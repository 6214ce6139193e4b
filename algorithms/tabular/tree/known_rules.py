"""The games whose rules are known, and their sizes.

The games of this package have the method `deal_rules`. The rules of OpenSpiel's
`liars_dice` are here, because its traversal takes seconds, and with two dice
each minutes.
"""

import itertools
import math
import operator
import warnings

import numpy as np
import pyspiel

from dudo_spiel import deal_rules

_LINE_BYTES = 500  # of a line while the form is made
_FLOAT_BYTES = 8


class LiarsDiceRules(deal_rules.ClaimRules):
  """OpenSpiel's `liars_dice` for two players.

  Dice are rolled one by one, first all of player 0. A hand is their faces in
  ascending order. The highest face is wild.

  Args:
    num_dice: number of dice of each player.
    sides: number of sides of a die.
    bidding_rule: "reset-face" or "reset-quantity", the order of claims.
  """

  def __init__(self, num_dice, sides, bidding_rule):
    quantities, ranks = range(1, 2 * num_dice + 1), range(sides)
    claims = (list(itertools.product(quantities, ranks))
              if bidding_rule == "reset-face" else
              [(quantity, rank) for rank in ranks for quantity in quantities])
    super().__init__(claims, [f"{quantity}-{rank + 1}"
                              for quantity, rank in claims], ("", " ", " "))
    self.draws = [np.full(sides, 1.0 / sides)] * (2 * num_dice)
    self.num_hands = (math.comb(num_dice + sides - 1, num_dice),) * 2
    self._num_dice, self._sides = num_dice, sides

  def _hands(self):
    """Returns the list of all hands, tuples of faces from 0 on."""
    return list(itertools.combinations_with_replacement(range(self._sides),
                                                        self._num_dice))

  def hands(self):
    """Returns [player, deal] int64, the hands."""
    number = {hand: i for i, hand in enumerate(self._hands())}
    rolls = np.array([number[tuple(sorted(roll))] for roll in itertools.product(
        range(self._sides), repeat=self._num_dice)])
    return np.stack([np.repeat(rolls, len(rolls)), np.tile(rolls, len(rolls))])

  def hand_texts(self, player):
    """Returns a list of str, the texts of a player's hands."""
    del player
    return ["".join(str(face + 1) for face in hand) for hand in self._hands()]

  def matches(self, player):
    """Returns [hand, rank] int, the number of dice that count for a rank."""
    del player
    faces = np.array(self._hands())[:, :, None]
    counts = (faces == np.arange(self._sides)).sum(axis=1)
    counts[:, :-1] += counts[:, -1:]
    return counts


def _liars_dice(game):
  """Returns the `LiarsDiceRules` of a game, or None for other variants."""
  parameters = game.get_parameters()
  if set(parameters) - {"numdice", "dice_sides", "bidding_rule", "players"}:
    return None
  return LiarsDiceRules(parameters["numdice"], parameters["dice_sides"],
                        parameters["bidding_rule"])


def find_rules(game):
  """Returns the `deal_rules.DealRules` of a game, or None if unknown.

  It warns if a game only inherits rules: a subclass may play by others than its
  parent, so they are not used.
  """
  if game.num_players() != 2:
    return None
  if type(game) is pyspiel.Game:  # written in C++
    is_known = game.get_type().short_name == "liars_dice"
    return _liars_dice(game) if is_known else None
  rules = getattr(game, "deal_rules", lambda: None)()
  if rules is None or "deal_rules" in vars(type(game)):
    return rules
  name = type(game).__name__
  warnings.warn(
      f"game={game}: {name} inherits its method deal_rules, which is not used, "
      "as a subclass may have other rules; the game is walked, which takes "
      f"longer. Define deal_rules in {name}, which returns its rules or None",
      UserWarning, stacklevel=1)
  return None


def num_histories(rules):
  """Returns the number of histories of a game, terminal ones included."""
  sizes = list(itertools.accumulate(map(len, rules.draws), operator.mul,
                                    initial=1))
  return sum(sizes[:-1]) + sizes[-1] * rules.num_lines


def form_bytes(rules):
  """Returns about how many bytes a game in deal form and a solver need."""
  # Returns, payoffs, and copies of them while they are made.
  tables = 7 * math.prod(rules.num_hands) * rules.num_tables
  # Reaches, values and three tables; a line has two entries, on average.
  cells = 8 * sum(rules.num_hands) * rules.num_lines
  deals = 4 * math.prod(map(len, rules.draws))
  return (_LINE_BYTES * rules.num_lines +
          _FLOAT_BYTES * (tables + cells + deals))
