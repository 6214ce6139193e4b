"""Dudo: the whole game, and a version with imperfect recall of claims.

The rules are those of Neller & Hnath, "Approximating Optimal Dudo Play with
Fixed-Strategy Iteration Counterfactual Regret Minimization" (2011), section
1.1, for two to six players. Players of `dudo_ir` remember only the last claims,
as in section 2.1 of that paper.

A round begins with one chance node for each player who has dice, in seat order.
Its outcomes are the rolls, which are multisets of faces (module `rolls`). Then
the starter claims. The others in turn make a stronger claim or say Dudo. Action
s is the claim of strength s with the present number of dice (module `claims`).
The last action is Dudo.
"""

import functools
import math
import re
from typing import Any

import pyspiel

from dudo_spiel import claims as claims_lib
from dudo_spiel import deal_rules
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel import validation
from dudo_spiel.games import base
from dudo_spiel.games import observer

_PARAMETERS = {
    "players": 2,
    "numdice": 5,
    "dice_sides": 6,
    "start_dice": "",
    "starting_player": 0,
    "wild_ones": True,
    "die_loss": "difference",
    "exact_reward": True,
}

_GAME_TYPE = base.game_type(
    "dudo", "Dudo", _PARAMETERS, max_num_players=base.MAX_PLAYERS)
_IR_GAME_TYPE = base.game_type(
    "dudo_ir", "Dudo with imperfect recall of claims",
    {**_PARAMETERS, "recall_length": 3}, max_num_players=base.MAX_PLAYERS)


def parse_start_dice(start_dice: str, numdice: int, players: int) -> bytes:
  """Returns how many dice each player has at the start, as bytes.

  That is `numdice` if `start_dice` is "", which otherwise is such as "3v2".
  """
  validation.integer("numdice", numdice, 1, base.MAX_DICE)
  if not start_dice:
    return bytes([numdice] * players)
  dice = ([int(part) for part in start_dice.split("v")]
          if re.fullmatch("[0-9]+(v[0-9]+)*", start_dice) else [0])
  if not all(1 <= num_dice <= base.MAX_DICE for num_dice in dice):
    raise ValueError(
        f"start_dice={start_dice!r}: must be each player's number of dice, "
        f"between 1 and {base.MAX_DICE}, with 'v' between them, such as '3v2'")
  if len(dice) != players:
    raise ValueError(
        f"start_dice={start_dice!r}: has {len(dice)} numbers but "
        f"players={players}; both must agree")
  return bytes(dice)


class DudoGame(base.Game):
  """The game of Dudo.

  Attributes:
    num_sides: how many sides a die has.
    start_dice: bytes, how many dice each player has at the start.
    starting_player: the player who claims first.
    house: the `rules.HouseRules`.
    dudo_action: the action that challenges. The claims are 0..dudo_action-1.
    max_rounds: the maximum number of rounds.
    mask_bytes: the size of a set of claims in bytes.
  """

  _TYPE = _GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    params = self._parameters(params)
    players = params["players"]
    validation.integer("players", players, 2, base.MAX_PLAYERS)
    validation.integer("dice_sides", params["dice_sides"], 2, base.MAX_SIDES)
    validation.integer("starting_player", params["starting_player"], 0,
                       players - 1)
    validation.choice("die_loss", params["die_loss"], rules.DIE_LOSSES)
    self.num_sides = params["dice_sides"]
    self.start_dice = parse_start_dice(params["start_dice"], params["numdice"],
                                       players)
    self.starting_player = params["starting_player"]
    self.house = rules.HouseRules(params["wild_ones"], params["die_loss"],
                                  params["exact_reward"])
    num_dice = sum(self.start_dice)
    self.dudo_action = self.num_sides * num_dice
    # Every round costs a die or more, and the winner keeps at least one.
    self.max_rounds = num_dice - 1
    self.mask_bytes = (self.dudo_action + 7) // 8
    super().__init__(
        pyspiel.GameInfo(
            num_distinct_actions=self.dudo_action + 1,
            max_chance_outcomes=self.rolls(max(self.start_dice)).num_rolls,
            num_players=players,
            min_utility=-1.0 / (players - 1),
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=sum(self.num_sides * dice + 1
                                for dice in range(2, num_dice + 1))), params)

  def max_chance_nodes_in_history(self) -> int:
    """Returns the maximum number of rolls: each round costs one die."""
    return sum(min(self.num_players(), dice)
               for dice in range(2, sum(self.start_dice) + 1))

  def min_histories(self) -> int:
    """Returns a lower bound on the number of histories: the first round's."""
    deals = math.prod(self.rolls(dice).num_rolls for dice in self.start_dice)
    # All sequences of claims, and a Dudo after each but the empty one.
    return deals * (2**(self.dudo_action + 1) - 1)

  def deal_rules(self) -> deal_rules.DealRules | None:
    """Returns the `deal_rules.DealRules` of a match of one round, else None.

    A loser of the only die is out. In longer matches dice are rolled again.
    """
    return self._round_rules(f" dice:1,1 start:{self.starting_player}")

  def _round_rules(self, head, recall=None):
    if self.start_dice != b"\1\1":
      return None
    return deal_rules.RollRules(self.rolls(1), self.claim_order(2), head,
                                starter=self.starting_player, recall=recall)

  def new_initial_state(self) -> "DudoState":
    """Returns the state in which a game starts."""
    return DudoState(self)

  def rolls(self, num_dice: int) -> rolls_lib.RollTable:
    """Returns the `rolls.RollTable` of this many dice."""
    return rolls_lib.roll_table(num_dice, self.num_sides)

  def claim_order(self, num_dice: int) -> claims_lib.ClaimOrder:
    """Returns the `claims.ClaimOrder` with this many dice in play."""
    return claims_lib.claim_order(num_dice, self.num_sides,
                                  self.house.wild_ones)

  def _pieces(self):
    return ([observer.roll_piece(self.num_sides)],
            [*_table_pieces(self),
             observer.recent_claims_piece(1, self.dudo_action),
             _reveal_piece(self)])

  def _recall_pieces(self):
    # When a round is over, everyone has seen all of its dice.
    return ([observer.roll_piece(self.num_sides)],
            [*_table_pieces(self), observer.claims_piece(self.dudo_action),
             *_past_pieces(self)])


class DudoIRGame(DudoGame):
  """Dudo in which players remember only the last claims of the round.

  Attributes:
    recall_length: how many claims they remember.
  """

  _TYPE = _IR_GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    self.recall_length = self._parameters(params)["recall_length"]
    validation.integer("recall_length", self.recall_length, 1)
    super().__init__(params)

  def deal_rules(self) -> deal_rules.DealRules | None:
    """Returns the `deal_rules.DealRules` of a match of one round, else None."""
    return self._round_rules(" dice:1,1", self.recall_length)

  def _recall_pieces(self):
    # Dice are in turn from the player on, as players forget the seats.
    in_turn = _dice_piece(
        "dice_in_turn", self,
        lambda state, player: state.dice[player:] + state.dice[:player])
    return ([observer.roll_piece(self.num_sides)],
            [in_turn,
             observer.recent_claims_piece(self.recall_length,
                                          self.dudo_action)])

  def _history_pieces(self):
    return super()._recall_pieces()


class DudoState(base.State):
  """A state of Dudo: the present round and the rounds before it."""

  def __init__(self, game: DudoGame) -> None:
    super().__init__(game)
    self._dice = game.start_dice  # bytes: how many dice each player has
    self._starter = game.starting_player
    self._hands = b""  # the hands rolled so far, in seat order
    self._claims = 0  # the set of claims made in this round
    self._past = b""  # the finished rounds, packed by `_pack`

  @property
  def dice(self) -> bytes:
    """How many dice each player has, as bytes."""
    return self._dice

  def round(self) -> rules.Round:
    """Returns the present `rules.Round`."""
    return rules.Round(self._dice, self._starter, self._hands, self._claims)

  def past_rounds(self) -> list[rules.Round]:
    """Returns the finished rounds as a list of `rules.Round`."""
    return _unpack(self._past, len(self._dice), self.get_game().mask_bytes)

  def hand(self, player: int) -> bytes:
    """Returns the player's dice as sorted bytes, empty before the roll."""
    return self.round().hand(player)

  def claim_list(self) -> list[int]:
    """Returns the claims of this round, first to last."""
    return claims_lib.claims_in_mask(self._claims)

  def claim_maker(self, turn: int) -> int:
    """Returns the player who made a claim of this round, 0 for the first."""
    return self.round().actor(turn)

  def last_claim(self) -> int:
    """Returns the last claim of this round, or -1 if there is none."""
    return self._claims.bit_length() - 1

  def claim_order(self) -> claims_lib.ClaimOrder:
    """Returns the `claims.ClaimOrder` of the present number of dice."""
    return self.get_game().claim_order(sum(self._dice))

  # OpenSpiel (PySpiel) API functions are below.

  def _legal_actions(self, player):
    game = self.get_game()
    last = self._claims.bit_length()
    actions = list(range(last, game.num_sides * sum(self._dice)))
    if last:
      actions.append(game.dudo_action)
    return actions

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """Returns a list of (roll, probability) of the player who rolls next."""
    return list(self._roll_table().outcomes)

  def _roll_table(self):
    """Returns the `rolls.RollTable` of the player who rolls next."""
    return self.get_game().rolls(self._dice[self._roller()])

  def _roller(self):
    """Returns the player who rolls next."""
    rolled = len(self._hands)
    for player, num_dice in enumerate(self._dice):
      if rolled < num_dice:
        return player
      rolled -= num_dice
    raise ValueError("state: must be a chance node; nobody rolls here")

  def _is_hidden_from(self, player, earlier):
    # Only the other players' rolls of the present round are hidden.
    return (earlier.is_chance_node() and earlier._roller() != player and
            len(earlier._past) == len(self._past))

  def _apply_action(self, action):
    game = self.get_game()
    if self._current >= 0:
      if action == game.dudo_action and self._claims:
        self._challenge(game)
      elif self.last_claim() < action < game.num_sides * sum(self._dice):
        self._claims |= 1 << action
        self._pass_turn()
      else:
        raise self._illegal(action)
    else:
      if self._current == base.TERMINAL:
        raise self._illegal(action)
      table = self._roll_table()
      if not 0 <= action < table.num_rolls:
        raise self._illegal(action)
      self._hands += table.hands[action]
      if len(self._hands) == sum(self._dice):
        self._current = self._starter

  def _pass_turn(self):
    self._current = (self._current + 1) % len(self._dice)
    while not self._dice[self._current]:
      self._current = (self._current + 1) % len(self._dice)

  def _challenge(self, game):
    """Ends the round, and also the game if only one player is left."""
    this_round = self.round()
    _, self._dice, self._starter = this_round.challenge(
        game.num_sides, game.house)
    self._past += _pack(this_round, game.mask_bytes)
    self._hands = b""
    self._claims = 0
    over = self._dice.count(0) == len(self._dice) - 1
    self._current = base.TERMINAL if over else base.CHANCE

  def _action_to_string(self, player, action):
    if player == base.CHANCE:
      return "Roll " + rolls_lib.hand_name(self._roll_table().hands[action])
    if action == self.get_game().dudo_action:
      return "Dudo"
    return self.claim_order().names[action]

  def _action_fields(self, player, action):
    if player == base.CHANCE:
      return {"roll": list(self._roll_table().hands[action])}
    if action == self.get_game().dudo_action:
      return {}
    return dict(zip(("quantity", "rank"), self.claim_order().claims[action]))

  def returns(self) -> list[float]:
    """Returns each player's total reward so far, as a list."""
    players = len(self._dice)
    if self._current != base.TERMINAL:
      return [0.0] * players
    return [1.0 if dice else -1.0 / (players - 1) for dice in self._dice]

  def __str__(self):
    """Returns a text of one line per round, unique to the history."""
    game = self.get_game()
    lines = [_describe(past, game.num_sides, game.house)
             for past in self.past_rounds()]
    if self._current == base.TERMINAL:
      lines.append(f"Player {self._starter} wins")
    else:
      lines.append(_describe(self.round(), game.num_sides, game.house, False))
    return "\n".join(lines)


def _pack(finished, mask_bytes):
  """Returns a finished round as bytes."""
  return (finished.dice + bytes([finished.starter]) + finished.hands +
          finished.claims.to_bytes(mask_bytes, "little"))


def _unpack(past, players, mask_bytes):
  """Returns the list of `rules.Round` that `_pack` packed into `past`."""
  finished = []
  begin = 0
  while begin < len(past):
    dice = past[begin:begin + players]
    hands_begin = begin + players + 1
    mask_begin = hands_begin + sum(dice)
    begin = mask_begin + mask_bytes
    finished.append(
        rules.Round(dice, past[hands_begin - 1], past[hands_begin:mask_begin],
                    int.from_bytes(past[mask_begin:begin], "little")))
  return finished


@functools.lru_cache(maxsize=4096)
def _describe(this_round, num_sides, house, finished=True):
  """Returns a `rules.Round` as a line: the dice, the claims and the losses."""
  dice = this_round.dice
  hands = [
      f"P{player} {rolls_lib.hand_name(this_round.hand(player)) or '?' * n}"
      for player, n in enumerate(dice) if n]
  order = claims_lib.claim_order(sum(dice), num_sides, house.wild_ones)
  acts = [order.names[claim] for claim in this_round.claim_list()]
  if finished:
    acts.append("Dudo")
  parts = [", ".join(hands)]
  if acts:
    parts.append(", ".join(f"P{this_round.actor(turn)} {act}"
                           for turn, act in enumerate(acts)))
  if finished:
    count, after, _ = this_round.challenge(num_sides, house)
    losses = ", ".join(f"P{p} loses {n - m}"
                       for p, (n, m) in enumerate(zip(dice, after)) if n > m)
    parts.append(f"count {count}: {losses}")
  else:
    parts.append(f"P{this_round.starter} starts")
  return " | ".join(parts)


# The pieces of observations.


def _dice_piece(name, game, dice):
  """How many dice each player has: dice(state, player), as bytes."""

  def write(state, player, array):
    array[:] = list(dice(state, player))

  return observer.Piece(
      name, (game.num_players(),), write,
      lambda state, player: observer.labelled("dice", dice(state, player)),
      lambda state, player: {name: list(dice(state, player))})


def _table_pieces(game):
  """How many dice each player has, and who starts this round."""
  return [_dice_piece("dice", game, lambda state, player: state.dice),
          observer.number_piece("starter", game.num_players(),
                                lambda state, player: state.round().starter,
                                "start")]


def _reveal_piece(game):
  """The dice that were revealed at the end of the last round."""

  def hands(state):
    return [hand for past in state.past_rounds()[-1:]
            for hand in past.all_hands()]

  return observer.counting_piece(
      "revealed", (game.num_players(), game.num_sides),
      lambda state, player: observer.hands_indices(hands(state)),
      lambda state, player: observer.labelled(
          "revealed", observer.hand_names(hands(state))))


def _past_pieces(game):
  """The finished rounds: the claims made and the dice revealed in each."""

  def claims(state, player):
    return [(number, claim) for number, past in enumerate(state.past_rounds())
            for claim in past.claim_list()]

  def dice(state, player):
    return [(number, *index) for number, past in enumerate(state.past_rounds())
            for index in observer.hands_indices(past.all_hands())]

  def text(state, player):
    return " ".join(f"[{_describe(past, game.num_sides, game.house)}]"
                    for past in state.past_rounds())

  def fields(state, player):
    return {"past_rounds": [{
        "dice": list(past.dice), "starter": past.starter,
        "rolls": list(map(list, past.all_hands())),
        "claims": [game.claim_order(sum(past.dice)).names[claim]
                   for claim in past.claim_list()]}
        for past in state.past_rounds()]}

  rounds = game.max_rounds
  return [
      observer.counting_piece("past_claims", (rounds, game.dudo_action), claims,
                              text, fields),
      observer.counting_piece(
          "past_rolls", (rounds, game.num_players(), game.num_sides), dice),
  ]


pyspiel.register_game(_GAME_TYPE, DudoGame)
pyspiel.register_game(_IR_GAME_TYPE, DudoIRGame)
