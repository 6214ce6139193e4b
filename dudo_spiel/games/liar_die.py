"""Liar Die, and a version with imperfect recall.

The rules are those of Neller & Lanctot, "An Introduction to Counterfactual
Regret Minimization" (2013), section 5. The claimer rolls a die in secret and
claims a number higher than the last accepted claim. The opponent doubts, which
ends the game, or accepts. Whoever accepts rolls the die and is the next
claimer. The highest number must be doubted.

Actions 0..sides-1 are the claims 1..sides. Then come Accept and Doubt.

Players of `liar_die_ir` remember as little as those of the paper's solver. When
claiming, they know the roll and the last claim. When answering, they know the
last claim and the claim that they made before it.
"""

from typing import Any

import pyspiel

from dudo_spiel import claims as claims_lib
from dudo_spiel import validation
from dudo_spiel.games import base
from dudo_spiel.games import observer

_NUM_PLAYERS = 2
_MAX_SIDES = 100

_GAME_TYPE = base.game_type("liar_die", "Liar Die", {"sides": 6})
_IR_GAME_TYPE = base.game_type("liar_die_ir",
                               "Liar Die with imperfect recall", {"sides": 6})

_PHASES = ("roll", "claim", "answer", "over")


class LiarDieGame(base.Game):
  """Liar Die.

  Attributes:
    sides: how many sides the die has.
    accept_action: the action that accepts a claim.
    doubt_action: the action that doubts a claim.
  """

  _TYPE = _GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    params = self._parameters(params)
    self.sides = params["sides"]
    validation.integer("sides", self.sides, 2, _MAX_SIDES)
    self.accept_action = self.sides
    self.doubt_action = self.sides + 1
    super().__init__(
        pyspiel.GameInfo(
            num_distinct_actions=self.sides + 2,
            max_chance_outcomes=self.sides,
            num_players=_NUM_PLAYERS,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=2 * self.sides), params)

  def max_chance_nodes_in_history(self) -> int:
    """Returns the maximum number of rolls: one before each claim."""
    return self.sides

  def min_histories(self) -> int:
    """Returns how many histories there are."""
    answers = 0  # histories from the answers to all claims above the last one
    for claim in range(self.sides, 0, -1):
      # An answer, a doubt, and if the claim can be beaten, what follows a roll.
      is_last = claim == self.sides
      answers += 2 if is_last else 3 + self.sides * (1 + answers)
    return 1 + self.sides * (1 + answers)

  def new_initial_state(self) -> "LiarDieState":
    """Returns the state in which a game starts."""
    return LiarDieState(self)

  def _pieces(self):
    return ([_roll_piece(self, ("claim", "answer"))],
            [_last_claim_piece(self), observer.phase_piece(_PHASES),
             observer.claimer_piece(_NUM_PLAYERS), _reveal_piece(self)])

  def _recall_pieces(self):
    return ([_rolls_piece(self)],
            [_claims_piece(self), observer.phase_piece(_PHASES),
             _reveal_piece(self)])


class LiarDieIRGame(LiarDieGame):
  """Liar Die in which players remember only the last claims."""

  _TYPE = _IR_GAME_TYPE

  def _recall_pieces(self):
    return ([_roll_piece(self, ("claim",)), _previous_claim_piece(self)],
            [_last_claim_piece(self), observer.phase_piece(_PHASES)])

  def _history_pieces(self):
    return super()._recall_pieces()


class LiarDieState(base.State):
  """A state of Liar Die."""

  def __init__(self, game: LiarDieGame) -> None:
    super().__init__(game)
    self._rolls = b""  # all rolls, first to last; player i % 2 made roll i
    self._claims = 0  # the set of claims made: bit c - 1 for claim c

  @property
  def rolls(self) -> bytes:
    """All rolls as bytes, first to last; player i % 2 made roll i."""
    return self._rolls

  def claim_list(self) -> list[int]:
    """Returns the claimed numbers, first to last."""
    return [claim + 1 for claim in claims_lib.claims_in_mask(self._claims)]

  def highest_claim(self) -> int:
    """Returns the last claimed number, or 0 if there is none."""
    return self._claims.bit_length()

  def claimer(self) -> int:
    """Returns the player who made the last roll, or will make the first."""
    return (max(len(self._rolls), 1) - 1) % 2

  def phase(self) -> str:
    """Returns "roll", "claim", "answer" or "over"."""
    if self._current < 0:
      return "over" if self._current == base.TERMINAL else "roll"
    claimed = self._claims.bit_count() == len(self._rolls)
    return "answer" if claimed else "claim"

  def _is_hidden_from(self, player, earlier):
    # The other player's rolls are hidden, except the one that a doubt reveals.
    roll = len(earlier._rolls)
    revealed = self._current == base.TERMINAL and roll == len(self._rolls) - 1
    return earlier.is_chance_node() and roll % 2 != player and not revealed

  # OpenSpiel (PySpiel) API functions are below.

  def _legal_actions(self, player):
    game = self.get_game()
    if self.phase() == "claim":
      return list(range(self.highest_claim(), game.sides))
    if self.highest_claim() == game.sides:
      return [game.doubt_action]
    return [game.accept_action, game.doubt_action]

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """Returns a list of (face - 1, probability) of the die."""
    sides = self.get_game().sides
    return [(face, 1.0 / sides) for face in range(sides)]

  def _apply_action(self, action):
    game = self.get_game()
    if self._current == base.CHANCE:
      if not 0 <= action < game.sides:
        raise self._illegal(action)
      self._rolls += bytes([action + 1])
      self._current = self.claimer()
    elif (self._current == base.TERMINAL or
          action not in self._legal_actions(self._current)):
      raise self._illegal(action)
    elif action == game.doubt_action:
      self._current = base.TERMINAL
    elif action == game.accept_action:
      self._current = base.CHANCE
    else:
      self._claims |= 1 << action
      self._current = 1 - self._current

  def _action_to_string(self, player, action):
    game = self.get_game()
    if player == base.CHANCE:
      return f"Roll {action + 1}"
    if action == game.accept_action:
      return "Accept"
    if action == game.doubt_action:
      return "Doubt"
    return f"Claim {action + 1}"

  def _action_fields(self, player, action):
    if player == base.CHANCE:
      return {"roll": action + 1}
    return {"claim": action + 1} if action < self.get_game().sides else {}

  def returns(self) -> list[float]:
    """Returns each player's total reward so far, as a list."""
    if self._current != base.TERMINAL:
      return [0.0, 0.0]
    claimer_wins = self._rolls[-1] >= self.highest_claim()
    gain = 1.0 if claimer_wins == (self.claimer() == 0) else -1.0
    return [gain, -gain]

  def __str__(self):
    """Returns the rolls and claims in turn, unique to the history."""
    claims = self.claim_list()
    turns = [f"P{turn % 2} rolls {roll}" +
             (f" claims {claims[turn]}" if turn < len(claims) else "")
             for turn, roll in enumerate(self._rolls)]
    return ", ".join([*turns, self.phase()])


# The pieces of observations.


def _roll_piece(game, phases):
  """The roll, which only the claimer sees and still knows in `phases`."""

  def roll(state, player):
    if state.phase() in phases and player == state.claimer():
      return state.rolls[-1]
    return 0

  return observer.number_piece("roll", game.sides, roll, "roll", first=1)


def _rolls_piece(game):
  """All of the player's own rolls."""

  def write(state, player, array):
    for row, roll in zip(array, state.rolls[player::2]):
      row[roll - 1] = 1

  def text(state, player):
    return observer.labelled("rolls", state.rolls[player::2])

  return observer.Piece(
      "rolls", ((game.sides + 1) // 2, game.sides), write, text,
      lambda state, player: {"rolls": list(state.rolls[player::2])})


def _previous_claim_piece(game):
  """For a player who is to answer: the claim that the player made before."""

  def previous(state, player):
    if state.phase() != "answer" or player == state.claimer():
      return 0
    return (state.claim_list()[:-1] or [0])[-1]

  return observer.number_piece("previous_claim", game.sides, previous,
                               "previous", first=1)


def _claims_piece(game):
  """All claims."""

  def write(state, player, array):
    for claim in state.claim_list():
      array[claim - 1] = 1

  return observer.Piece(
      "claims", (game.sides,), write,
      lambda state, player: observer.labelled("claims", state.claim_list()),
      lambda state, player: {"claims": state.claim_list()})


def _last_claim_piece(game):
  """The last claim."""
  return observer.number_piece("last_claim", game.sides,
                               lambda state, player: state.highest_claim(),
                               "claim", first=1)


def _reveal_piece(game):
  """The roll that a doubt reveals."""
  return observer.number_piece(
      "revealed", game.sides,
      lambda state, player: state.is_terminal() and state.rolls[-1],
      "revealed", first=1)


pyspiel.register_game(_GAME_TYPE, LiarDieGame)
pyspiel.register_game(_IR_GAME_TYPE, LiarDieIRGame)
