"""One round of Dudo in which everyone may challenge, and its abstractions.

The rules are those of Gendre & Kaneko, "Counterfactual Regret Minimisation for
playing the multiplayer bluffing dice game Dudo" (2019), section 2, for two to
six players. `dudo_single_round_ir` has the abstractions of section 4 there.

Chance rolls each player's dice in seat order. Then the game goes in steps:
1. The claimer makes a claim.
2. The others, in turn from the claimer, pass or challenge. They do not see each
   other's decisions.
3. If nobody challenged, the player after the claimer becomes the claimer.

The actions are the claims in the order of (amount, value), then Pass, then
Challenge. Two kinds of claims must be challenged: those of more dice than
`max_amount`, and the strongest one, which nobody could raise.
"""

import enum
from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import claims as claims_lib
from dudo_spiel import deal_rules
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel import validation
from dudo_spiel.games import base
from dudo_spiel.games import observer

_PARAMETERS = {
    "players": 4,
    "numdice": 5,
    "dice_sides": 6,
    "claim_window": 18,
    "max_amount": 11,
}

_PHASES = ("roll", "claim", "challenge", "over")


class Abstraction(enum.StrEnum):
  """What players of `dudo_single_round_ir` remember.

  With every abstraction, players know their own dice, the current claim, and
  whether they are to claim or to decide on a challenge.

  Attributes:
    NO_RECALL: nothing else.
    TYPE_RECALL: also the values of the claims before the current one.
    WAIT_TYPE_RECALL: also these values, and how many turns remain until the
      player's next claim.
  """
  NO_RECALL = "no_recall"
  TYPE_RECALL = "type_recall"
  WAIT_TYPE_RECALL = "wait_type_recall"


_GAME_TYPE = base.game_type(
    "dudo_single_round", "One round of Dudo, everyone may challenge",
    _PARAMETERS, max_num_players=base.MAX_PLAYERS,
    utility=pyspiel.GameType.Utility.CONSTANT_SUM)
_IR_GAME_TYPE = base.game_type(
    "dudo_single_round_ir", "One round of Dudo with imperfect recall",
    {**_PARAMETERS, "abstraction": str(Abstraction.WAIT_TYPE_RECALL),
     "recall_length": 3},
    max_num_players=base.MAX_PLAYERS,
    utility=pyspiel.GameType.Utility.CONSTANT_SUM)


class DudoSingleRoundGame(base.Game):
  """One round of Dudo with hidden challenges.

  Attributes:
    numdice: how many dice each player has.
    order: the `claims.ClaimOrder`, without wild ones.
    claim_window: how many claims are legal at a time: those just above the
      last claim.
    first_forced: the weakest claim that must be challenged. Stronger ones must
      be too.
    pass_action: the action that lets a claim stand.
    challenge_action: the action that challenges a claim.
    roll_table: the `rolls.RollTable` of one player's dice.
  """

  _TYPE = _GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    params = self._parameters(params)
    players, numdice = params["players"], params["numdice"]
    validation.integer("players", players, 2, base.MAX_PLAYERS)
    validation.integer("numdice", numdice, 1, base.MAX_DICE)
    validation.integer("dice_sides", params["dice_sides"], 2, base.MAX_SIDES)
    validation.integer("claim_window", params["claim_window"], 1)
    validation.integer("max_amount", params["max_amount"], 1)
    sides = params["dice_sides"]
    self.numdice = numdice
    self.order = claims_lib.claim_order(players * numdice, sides, False)
    self.claim_window = params["claim_window"]
    self.pass_action = num_claims = self.order.num_claims
    self.challenge_action = num_claims + 1
    self.first_forced = min(sides * params["max_amount"], num_claims - 1)
    self.roll_table = rolls_lib.roll_table(numdice, sides)
    super().__init__(
        pyspiel.GameInfo(
            num_distinct_actions=num_claims + 2,
            max_chance_outcomes=self.roll_table.num_rolls,
            num_players=players,
            min_utility=0.0,
            max_utility=1.0,
            utility_sum=1.0,
            max_game_length=players * (self.first_forced + 1)), params)

  def max_chance_nodes_in_history(self) -> int:
    """Returns how many rolls there are: one per player."""
    return self.num_players()

  def deal_rules(self) -> deal_rules.DealRules | None:
    """Returns the `deal_rules.DealRules` for two players, else None.

    Two players see all decisions: who does not challenge has passed.
    """
    return SingleRoundRules(self) if self.num_players() == 2 else None

  def new_initial_state(self) -> "DudoSingleRoundState":
    """Returns the state in which a game starts."""
    return DudoSingleRoundState(self)

  def _pieces(self):
    return ([observer.roll_piece(self.roll_table.num_sides), _decision_piece()],
            [observer.recent_claims_piece(1, self.order.num_claims),
             observer.claimer_piece(self.num_players()),
             observer.phase_piece(_PHASES), *_reveal_pieces(self)])

  def _recall_pieces(self):
    return ([observer.roll_piece(self.roll_table.num_sides), _decision_piece()],
            [observer.claims_piece(self.order.num_claims),
             observer.phase_piece(_PHASES), *_reveal_pieces(self)])


class SingleRoundRules(deal_rules.RollRules):
  """The rules for two players as tables."""

  def __init__(self, game: DudoSingleRoundGame) -> None:
    super().__init__(game.roll_table, game.order, "", payoffs=(1.0, 0.0))
    self._game = game
    # From a claim on: a decision, a challenge and what follows a pass.
    sizes: list[int] = []
    for claim in range(game.order.num_claims - 1, -1, -1):
      goes_on = claim < game.first_forced
      sizes.append(2 + (1 + sum(sizes[-game.claim_window:]) if goes_on else 0))
    self.num_lines = 1 + sum(sizes[-game.claim_window:])

  def lines(self) -> deal_rules.Lines:
    """Returns the `deal_rules.Lines`."""
    game = self._game
    num_claims = game.order.num_claims

    def legal(actor, table, last, is_claimed):
      del actor, table
      return (np.where(is_claimed, num_claims + (last >= game.first_forced),
                       last + 1),
              np.where(is_claimed, num_claims + 2,
                       np.minimum(last + 1 + game.claim_window, num_claims)))

    def step(actor, table, last, is_claimed, action):
      del table
      ends = action == game.challenge_action
      goes_on = np.where(is_claimed, actor, 1 - actor)  # who passes claims
      return (np.where(ends, deal_rules.END, goes_on),
              np.where(ends, 2 * last + actor, -1),
              np.where(is_claimed, last, action), 1 - is_claimed)

    return deal_rules.grow_lines((0, -1, -1, 0), legal, step)

  def line_texts(self, lines: deal_rules.Lines) -> list[str]:
    """Returns a list of str, the texts of lines."""
    is_claimed = (lines.action >= 0) & (lines.action < self._game.pass_action)
    return [text + (" phase:challenge" if claimed else " phase:claim")
            for text, claimed in zip(super().line_texts(lines),
                                     is_claimed.tolist())]


class DudoSingleRoundIRGame(DudoSingleRoundGame):
  """One round of Dudo in which players forget.

  Attributes:
    abstraction: the `Abstraction`.
    recall_length: how many values of earlier claims players remember.
  """

  _TYPE = _IR_GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    values = self._parameters(params)
    validation.choice("abstraction", values["abstraction"],
                      tuple(map(str, Abstraction)))
    validation.integer("recall_length", values["recall_length"], 0)
    self.abstraction = Abstraction(values["abstraction"])
    self.recall_length = values["recall_length"]
    super().__init__(params)

  def deal_rules(self) -> None:
    """Returns None: there are no tables of what the players remember."""
    return

  def _recall_pieces(self):
    public = [observer.recent_claims_piece(1, self.order.num_claims),
              observer.phase_piece(_PHASES)]
    if self.abstraction != Abstraction.NO_RECALL:
      public.append(_values_piece(self))
    if self.abstraction == Abstraction.WAIT_TYPE_RECALL:
      # How many turns remain until the player's next claim.
      public.append(observer.number_piece(
          "wait", self.num_players(), lambda state, player: (
              player - state.claimer()) % self.num_players(), "wait"))
    return [observer.roll_piece(self.roll_table.num_sides)], public

  def _history_pieces(self):
    return super()._recall_pieces()


class DudoSingleRoundState(base.State):
  """A state of the single round."""

  def __init__(self, game: DudoSingleRoundGame) -> None:
    super().__init__(game)
    self._claimer = 0  # who is to claim, or made the current claim
    self._hands = b""  # the hands rolled so far, in seat order
    self._claims = 0  # the set of claims made
    self._challengers = 0  # bit p is set if player p challenges

  @property
  def dice(self) -> bytes:
    """How many dice each player has, as bytes."""
    game = self.get_game()
    return bytes([game.numdice] * game.num_players())

  def claimer(self) -> int:
    """Returns the player who is to claim, or who made the current claim."""
    return self._claimer

  def hand(self, player: int) -> bytes:
    """Returns the player's dice as sorted bytes, empty before the roll."""
    numdice = self.get_game().numdice
    return self._hands[numdice * player:numdice * (player + 1)]

  def claim_list(self) -> list[int]:
    """Returns the claims made, first to last."""
    return claims_lib.claims_in_mask(self._claims)

  def claim_maker(self, turn: int) -> int:
    """Returns the player who made a claim, 0 for the first."""
    return turn % self.num_players()

  def last_claim(self) -> int:
    """Returns the last claim, or -1 if there is none."""
    return self._claims.bit_length() - 1

  def claim_order(self) -> claims_lib.ClaimOrder:
    """Returns the `claims.ClaimOrder`."""
    return self.get_game().order

  def phase(self) -> str:
    """Returns "roll", "claim", "challenge" or "over"."""
    if self._current < 0:
      return "over" if self._current == base.TERMINAL else "roll"
    return "claim" if self._current == self._claimer else "challenge"

  def has_decided(self, player: int) -> bool:
    """Returns whether the player has decided on the current claim."""
    if self.phase() != "challenge":
      return False
    players = self.num_players()
    return (0 < (player - self._claimer) % players <
            (self._current - self._claimer) % players)

  def challenges(self, player: int) -> bool:
    """Returns whether the player has challenged the current claim."""
    return bool(self._challengers >> player & 1)

  def survivors(self) -> list[int]:
    """Returns a list of the players who are left at the end of the game."""
    game = self.get_game()
    quantity, rank = game.order.claims[self.last_claim()]
    if rules.count_matches(self._hands, rank, wild_ones=False) < quantity:
      return [p for p in range(self.num_players()) if p != self._claimer]
    return [p for p in range(self.num_players()) if not self.challenges(p)]

  def _is_hidden_from(self, player, earlier):
    # The others' rolls are hidden, and their decisions on the current claim.
    if self._current == base.TERMINAL:
      return False
    if earlier.is_chance_node():
      return len(earlier._hands) // self.get_game().numdice != player
    return (earlier.phase() == "challenge" and
            earlier._claims == self._claims and
            earlier._claimer == self._claimer and earlier._current != player)

  # OpenSpiel (PySpiel) API functions are below.

  def _legal_actions(self, player):
    game = self.get_game()
    last = self.last_claim()
    if player == self._claimer:
      return list(range(last + 1, min(last + 1 + game.claim_window,
                                      game.order.num_claims)))
    if last >= game.first_forced:
      return [game.challenge_action]
    return [game.pass_action, game.challenge_action]

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """Returns a list of (roll, probability) of the player who rolls next."""
    return list(self.get_game().roll_table.outcomes)

  def _apply_action(self, action):
    game = self.get_game()
    if self._current == base.CHANCE:
      if not 0 <= action < game.roll_table.num_rolls:
        raise self._illegal(action)
      self._hands += game.roll_table.hands[action]
      if len(self._hands) == game.numdice * game.num_players():
        self._current = self._claimer
      return
    if (self._current == base.TERMINAL or
        action not in self._legal_actions(self._current)):
      raise self._illegal(action)
    if action == game.challenge_action:
      self._challengers |= 1 << self._current
    elif action != game.pass_action:
      self._claims |= 1 << action
    self._current = (self._current + 1) % game.num_players()
    if self._current == self._claimer:  # everyone has decided
      if self._challengers:
        self._current = base.TERMINAL
      else:
        self._current = self._claimer = (self._claimer + 1) % game.num_players()

  def _action_to_string(self, player, action):
    game = self.get_game()
    if player == base.CHANCE:
      return "Roll " + rolls_lib.hand_name(game.roll_table.hands[action])
    if action == game.pass_action:
      return "Pass"
    if action == game.challenge_action:
      return "Challenge"
    return game.order.names[action]

  def _action_fields(self, player, action):
    game = self.get_game()
    if player == base.CHANCE:
      return {"roll": list(game.roll_table.hands[action])}
    if action >= game.pass_action:
      return {}
    return dict(zip(("quantity", "rank"), game.order.claims[action]))

  def returns(self) -> list[float]:
    """Returns each player's total reward so far, as a list."""
    returns = [0.0] * self.num_players()
    if self._current == base.TERMINAL:
      survivors = self.survivors()
      for player in survivors:
        returns[player] = 1.0 / len(survivors)
    return returns

  def __str__(self):
    """Returns the dice, claims and challenges, unique to the history."""
    names = self.claim_order().names
    players = self.num_players()
    parts = [", ".join(f"P{p} {rolls_lib.hand_name(self.hand(p)) or '?'}"
                       for p in range(players))]
    if self._claims:
      parts.append(", ".join(f"P{turn % players} {names[claim]}"
                             for turn, claim in enumerate(self.claim_list())))
    if self._challengers:
      parts.append(", ".join(f"P{p} Challenge" for p in range(players)
                             if self.challenges(p)))
    if self._current >= 0:
      parts.append(f"P{self._current} to {self.phase()}")
    elif self._current == base.TERMINAL:
      survivors = ", ".join(f"P{p}" for p in self.survivors())
      parts.append(f"left: {survivors}")
    return " | ".join(parts)


# The pieces of observations.


def _decision_piece():
  """The player's own hidden decision on the current claim."""

  def decision(state, player):
    return int(state.challenges(player)) if state.has_decided(player) else -1

  def text(state, player):
    return ["decided:Pass", "decided:Challenge", ""][decision(state, player)]

  return observer.number_piece("decision", 2, decision, "")._replace(
      text=text, fields=lambda state, player: {
          "decision": ["Pass", "Challenge", None][decision(state, player)]})


def _values_piece(game):
  """The values of the claims before the current one, the latest one first."""
  length = min(game.recall_length, game.order.num_claims)

  def values(state):
    claims = state.claim_list()[:-1][::-1][:length]
    return [game.order.claims[claim][1] for claim in claims]

  return observer.counting_piece(
      "values", (length, game.order.num_sides),
      lambda state, player: [(age, value - 1) for age, value
                             in enumerate(values(state))],
      lambda state, player: observer.labelled("values", values(state)),
      lambda state, player: {"values": values(state)})


def _reveal_pieces(game):
  """What everyone sees at the end: who challenged, and all dice."""
  players = game.num_players()

  def challengers(state, player):
    return (list(filter(state.challenges, range(players)))
            if state.is_terminal() else [])

  def hands(state):
    return (list(map(state.hand, range(players)))
            if state.is_terminal() else [])

  def text(state, player):
    if not state.is_terminal():
      return ""
    return (observer.labelled("challengers", challengers(state, player)) + " " +
            observer.labelled("revealed", observer.hand_names(hands(state))))

  def fields(state, player):
    return {"challengers": challengers(state, player),
            "revealed": list(map(list, hands(state)))}

  return [
      observer.counting_piece("challengers", (players,), challengers, text,
                              fields),
      observer.counting_piece(
          "revealed", (players, game.order.num_sides),
          lambda state, player: observer.hands_indices(hands(state))),
  ]


pyspiel.register_game(_GAME_TYPE, DudoSingleRoundGame)
pyspiel.register_game(_IR_GAME_TYPE, DudoSingleRoundIRGame)
