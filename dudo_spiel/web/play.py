"""Matches of a person against bots, and their views.

A view is what an answer says about a match: plain lists, numbers and texts. It
has only what the person may know. Other players' dice, and their decisions on a
claim that is still open, are in a view only after the reveal.
"""

import numpy as np

from dudo_spiel import bots
from dudo_spiel import rules

_BOTS = {"odds": "Odds bot", "heuristic": "Heuristic bot"}
OPPONENTS = ("trained", *_BOTS)
_PERSON = 0  # the person's seat in a match of two


def claim_view(order, claim):
  """Returns a claim: its name, quantity and rank."""
  quantity, rank = order.claims[claim]
  return {"name": order.names[claim], "quantity": quantity, "rank": rank}


def _count_view(hands, order, claim):
  """Returns how many of all players' dice count for a claim."""
  quantity, rank = order.claims[claim]
  count = rules.count_matches(b"".join(hands), rank, order.wild_ones)
  counts = [[rules.count_matches(bytes([face]), rank, order.wild_ones) > 0
             for face in hand] for hand in hands]
  return {"hands": [list(hand) for hand in hands], "counts": counts,
          "count": count, "claim": claim_view(order, claim),
          "is_true": count >= quantity, "is_exact": count == quantity}


class _Match:
  """The base class of matches.

  Args:
    game: the game.
    seat: the person's player id.
    opponent: one of `OPPONENTS`.
    players: {player: bot} of the other seats.
    names: list of str, what the seats are called.
    number: int, counts the matches of the session from 1.
    rng: a random number generator with `choice`.

  Attributes:
    state: the state. It has everybody's dice, so it must not leave the server.
    turn: how many moves and rolls there were. It identifies stale requests.
    has_values: whether there are values of the person's moves.
    on_move: on_move(state, action) is called before each move of the person;
      None for no call.
  """

  kind = ""
  has_values = False

  def __init__(self, game, seat, opponent, players, names, number, rng):
    self._game = game
    self._seat = seat
    self._opponent = opponent
    self._bots = players
    self._names = names
    self._rng = rng
    self.state = game.new_initial_state()
    self.number = number
    self.turn = 0
    self.on_move = None
    self._advance(rolls=True)

  def _advance(self, rolls):
    """Lets the bots move until the person decides or dice are to be rolled.

    With `rolls` it rolls the dice of a new round first.
    """
    state = self.state
    while not state.is_terminal():
      if state.is_chance_node():
        if not rolls:
          return
        actions, chances = zip(*state.chance_outcomes())
        action = int(self._rng.choice(actions, p=chances))
      elif state.current_player() == self._seat:
        return
      else:
        rolls = False
        action = int(self._bots[state.current_player()].step(state))
      state.apply_action(action)
      self.turn += 1

  def is_persons_turn(self):
    """Returns whether the person is to decide."""
    return (not self.state.is_terminal() and
            self.state.current_player() == self._seat)

  def legal(self):
    """Returns {name: action} of the person's legal moves."""
    if not self.is_persons_turn():
      return {}
    return {self.state.action_to_string(self._seat, action): action
            for action in self.state.legal_actions()}

  def move(self, name):
    """Makes a move of the person such as "3x5", and the bots' moves."""
    legal = self.legal()
    if not legal:
      raise ValueError(f"move={name!r}: it is not your turn")
    if name not in legal:
      raise ValueError(f"move={name!r}: must be one of {', '.join(legal)}")
    if self.on_move is not None:
      self.on_move(self.state.clone(), legal[name])
    self.state.apply_action(legal[name])
    self.turn += 1
    self._advance(rolls=False)

  def next_round(self):
    """Begins the next round after a reveal."""
    if not self.state.is_chance_node():
      raise ValueError("match: no round has just ended")
    self._advance(rolls=True)

  def result(self):
    """Returns "won" or "lost" when the match is over, else None."""
    if not self.state.is_terminal():
      return None
    return "won" if self.state.returns()[self._seat] > 0 else "lost"

  def view(self):
    """Returns what the person may know."""
    return {"kind": self.kind, "match": self.number, "turn": self.turn,
            "opponent": self._opponent, "players": self._names,
            "seat": self._seat, "has_values": self.has_values,
            "legal": list(self.legal()), "result": self.result(),
            **self._table_view()}

  def _table_view(self):
    """Returns the dice and claims on the table that the person may know."""
    raise NotImplementedError

  def _claims_view(self, order, num_claims, claims, maker):
    """Returns a ladder of claims, and the claims made by `maker(turn)`."""
    legal = self.legal()
    return {"sides": order.num_sides, "wild_ones": order.wild_ones,
            "ladder": [{**claim_view(order, claim),
                        "legal": order.names[claim] in legal}
                       for claim in range(num_claims)],
            "claims": [{**claim_view(order, claim), "player": maker(turn)}
                       for turn, claim in enumerate(claims)]}


class DudoMatch(_Match):
  """A match of two-player Dudo. The person starts if its number is odd."""

  kind = "dudo"

  def __init__(self, store, numdice, opponent, number, rng):
    game = store.dudo_game(numdice, (number - 1) % 2)
    self.has_values = store.dudo.plays_from((numdice, numdice))
    if opponent == "trained":
      if not self.has_values:
        raise ValueError(f"dice={numdice}: the policy does not know so many "
                         "dice; play fewer, or the odds bot")
      bot, name = bots.PolicyBot(1, rng, store.dudo), "Policy"
    else:
      bot, name = bots.make_bot(opponent, game, 1, rng), _BOTS[opponent]
    super().__init__(game, _PERSON, opponent, {1: bot}, ["You", name], number,
                     rng)

  def _table_view(self):
    state = self.state
    past = state.past_rounds()
    is_reveal = state.is_chance_node() or state.is_terminal()
    shown = past[-1] if is_reveal else state.round()
    order = self._game.claim_order(sum(shown.dice))
    return {
        "phase": ("over" if state.is_terminal() else
                  "reveal" if is_reveal else "move"),
        "start_dice": list(self._game.start_dice), "dice": list(shown.dice),
        "round": len(past) + (not is_reveal), "starter": shown.starter,
        "hand": list(shown.hand(_PERSON)),
        **self._claims_view(order, order.num_claims, shown.claim_list(),
                            shown.actor),
        "reveal": self._reveal(past[-1]) if is_reveal else None}

  def _reveal(self, finished):
    """Returns what everyone sees at the end of a `rules.Round`."""
    order = self._game.claim_order(sum(finished.dice))
    claims = finished.claim_list()
    _, after, winner = finished.challenge(self._game.num_sides,
                                          self._game.house)
    return {**_count_view(finished.all_hands(), order, claims[-1]),
            "claimant": finished.actor(len(claims) - 1),
            "challenger": finished.actor(len(claims)), "starter": winner,
            "lost": [had - has for had, has in zip(finished.dice, after)],
            "dice": list(after)}


class SingleRound(_Match):
  """One game of `dudo_single_round`. The person's seat is that of its number.

  The opponent "trained" needs a policy in the store.
  """

  kind = "single_round"

  def __init__(self, store, opponent, number, rng):
    game = store.single_round_game()
    seat = (number - 1) % game.num_players()
    if opponent == "trained" and store.single_round is None:
      raise ValueError("opponent='trained': there is no policy for the single "
                       f"round; must be {' or '.join(map(repr, _BOTS))}")
    players = {player: bots.PolicyBot(player, rng, store.single_round)
               if opponent == "trained" else
               bots.make_bot(opponent, game, player, rng)
               for player in range(game.num_players()) if player != seat}
    names = [f"Player {player + 1}" if player in players else "You"
             for player in range(game.num_players())]
    super().__init__(game, seat, opponent, players, names, number, rng)

  def _table_view(self):
    state, order = self.state, self._game.order
    is_over = state.is_terminal()
    dice = [self._game.numdice] * self._game.num_players()
    # Claims far above the window would only lengthen the ladder.
    num_claims = min(order.num_claims,
                     state.last_claim() + 1 + self._game.claim_window)
    # Until a step ends nobody knows who has decided what, so nobody is told
    # whose decision is awaited but the person's own.
    return {
        "phase": "over" if is_over else "move",
        "start_dice": dice, "dice": dice, "round": 1, "starter": 0,
        "hand": list(state.hand(self._seat)),
        **self._claims_view(order, num_claims, state.claim_list(),
                            state.claim_maker),
        "share": state.returns()[self._seat] if is_over else None,
        "reveal": self._reveal() if is_over else None}

  def _reveal(self):
    """Returns what everyone sees at the end."""
    state = self.state
    players = range(self._game.num_players())
    return {**_count_view([state.hand(player) for player in players],
                          self._game.order, state.last_claim()),
            "claimant": state.claimer(),
            "challengers": [player for player in players
                            if state.challenges(player)],
            "survivors": state.survivors()}


def new_generator():
  """Returns a generator of dice that nobody can guess."""
  return np.random.RandomState(np.random.MT19937(np.random.SeedSequence()))
