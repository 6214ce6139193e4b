"""What policies for matches of two-player Dudo have in common.

Such a policy knows some rounds, by numbers of dice, and plays every game with
its rules that has no others.
"""

import numbers

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.rounds import sizes
from dudo_spiel.algorithms.tabular import convertible
from dudo_spiel.games import dudo


def is_dice(key):
  """Returns whether a value can be a key of rounds, a tuple of integers."""
  return isinstance(key, tuple) and all(
      isinstance(number, numbers.Integral) for number in key)


class RoundsPolicy(convertible.ConvertiblePolicy):
  """A policy with something for each pair of numbers of dice.

  A subclass implements `_known` and `_needed`.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.
  """

  def __init__(self, game):
    super().__init__(validation.game("game", game), [0, 1])

  def _known(self):
    """Returns the pairs of numbers of dice that the policy knows."""
    raise NotImplementedError

  def _needed(self, game):
    """Returns the pairs of numbers of dice that come up in a game."""
    raise NotImplementedError

  def check_game(self, game):
    """Raises a ValueError if the policy cannot play all of the game."""
    if not self.has_rules_of(game):
      raise ValueError(f"game={game}: must have the rules of {self.game}, the "
                       "policy's game")
    if not set(self._needed(game)) <= set(self._known()):
      raise ValueError(
          f"game={game}: starts with {' and '.join(map(str, game.start_dice))} "
          f"dice; the policy knows {self._known_text()}")

  def has_rules_of(self, game):
    """Returns whether a game is two-player Dudo by the policy's rules."""
    return (isinstance(game, dudo.DudoGame) and game.num_players() == 2 and
            game.num_sides == self.game.num_sides and
            game.house == self.game.house)

  def _num_info_states(self, game):
    return sizes.num_info_states(game)

  def _known_text(self):
    return ", ".join(f"{a}v{b}" for a, b in sorted(self._known()))
