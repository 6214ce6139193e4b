"""What policies for matches of two-player Dudo have in common.

Such a policy knows some rounds, by numbers of dice, and plays every game with
its rules that has no others.
"""

from collections.abc import Sequence
import math
import numbers

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.rounds import info_state_count
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.tabular import convertible
from dudo_spiel.games import dudo


def is_dice(key):
  """Returns whether a value can be a key of rounds, a tuple of integers."""
  return isinstance(key, tuple) and all(
      isinstance(number, numbers.Integral) for number in key)


class RoundsPolicy(convertible.ConvertiblePolicy):
  """The base of policies for whole matches of two-player Dudo.

  A subclass implements `rounds`, `continuation_values`, `_after_claims`,
  `_known` and `_needed`, and sets the attributes.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.

  Attributes:
    rules: the `round_rules.RoundRules`.
    has_perfect_recall: whether the policy remembers all claims of a round.
    remembered_text: what it remembers of a round, such as "the last 3 claims".
  """

  rules: round_rules.RoundRules
  has_perfect_recall = False
  remembered_text: str
  _span: float = math.inf  # how many of the last claims it may remember

  def __init__(self, game: pyspiel.Game) -> None:
    super().__init__(validation.game("game", game), [0, 1])

  def _known(self):
    """Returns the pairs of numbers of dice that the policy knows."""
    raise NotImplementedError

  def _needed(self, dice):
    """Returns the pairs of numbers of dice of a match from a round on."""
    raise NotImplementedError

  def _after_claims(self, key, claims):
    """Returns `after_claims`, or raises a ValueError."""
    raise NotImplementedError

  @property
  def match(self) -> round_rules.RoundRules:
    """The `rules`, by the name that they had in version 0.2.0."""
    return self.rules

  @property
  def rounds(self) -> list[annotations.Dice]:
    """The rounds (starter's dice, other's dice) that it plays, a list."""
    raise NotImplementedError

  def remembered_span(self, num_dice: int) -> float:
    """Returns how many of the last claims may decide what the policy does.

    Args:
      num_dice: how many dice are in play.
    """
    return min(self._span, self.rules.claim_order(num_dice).num_claims)

  def after_claims(self, key: annotations.Dice,
                   claims: Sequence[int]) -> np.ndarray:
    """Returns the probabilities of all hands after some claims of a round.

    Args:
      key: (own dice, opponent's dice) of the player who acts.
      claims: list of int, first to last.

    Returns:
      [action, hand] float64. Actions are the stronger claims, weakest first,
      and then Dudo, which nobody can say before the first claim. Hands are
      those of `rolls`.
    """
    return self._after_claims(key, claims)

  def continuation_values(self,
                          dice: annotations.Dice) -> annotations.ByRound[float]:
    """Returns the values of the rounds after one, if both play the policy.

    Args:
      dice: (starter's dice, other's dice) of the round.

    Returns:
      {(starter's dice, other's dice): the starter's value}.

    Raises:
      ValueError: the policy does not know them.
    """
    raise NotImplementedError

  def ensure_values(self) -> None:
    """Computes the values of rounds, if the policy can and lacks them."""

  def exploitability_from(self, dice: annotations.Dice) -> float | None:
    """Returns half the NashConv in the match from a round on, if measured.

    Args:
      dice: (starter's dice, other's dice) of the round.
    """

  def known_exploitability(self, game: pyspiel.Game) -> float | None:
    """Returns how exploitable the policy is in a game, None if not measured.

    Args:
      game: a `pyspiel.Game` that the policy plays.
    """
    self.check_game(game)
    return self.exploitability_from(self.first_round(game))

  @staticmethod
  def first_round(game: pyspiel.Game) -> annotations.Dice:
    """Returns (starter's dice, other's dice) at the start of a game."""
    starter = game.starting_player
    return game.start_dice[starter], game.start_dice[1 - starter]

  def knows(self, dice: annotations.Dice, num_claims: int = 0) -> bool:
    """Returns whether the policy plays a round after so many claims.

    Args:
      dice: (own dice, opponent's dice) of the player who acts.
      num_claims: how many claims there were.
    """
    return is_dice(dice) and (
        dice[::-1] if num_claims % 2 else dice) in self.rounds

  def plays_from(self, dice: annotations.Dice) -> bool:
    """Returns whether the policy plays all of a match from a round on.

    Args:
      dice: (starter's dice, other's dice) of the round.
    """
    return set(self._needed(dice)) <= set(self._known())

  def check_game(self, game: pyspiel.Game) -> None:
    """Raises a ValueError if the policy cannot play all of the game."""
    if not self.has_rules_of(game):
      raise ValueError(f"game={game}: must have the rules of {self.game}, the "
                       "policy's game")
    if not self.plays_from(self.first_round(game)):
      raise ValueError(
          f"game={game}: starts with {' and '.join(map(str, game.start_dice))} "
          f"dice; the policy knows {self._known_text()}")

  def has_rules_of(self, game: pyspiel.Game) -> bool:
    """Returns whether a game is two-player Dudo by the policy's rules."""
    return (isinstance(game, dudo.DudoGame) and game.num_players() == 2 and
            game.num_sides == self.game.num_sides and
            game.house == self.game.house)

  def _num_info_states(self, game):
    return info_state_count.num_info_states(game)

  def _known_text(self):
    return ", ".join(f"{a}v{b}" for a, b in sorted(self._known()))
