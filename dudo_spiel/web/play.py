"""Matches of a person against bots, as the page shows them.

A view is what one answer says about a match: plain lists, numbers and texts. It
has only what the person may know. Other players' dice, and their decisions on a
claim that is still open, are in a view only after the reveal.
"""

import numpy as np

from dudo_spiel import bots
from dudo_spiel import odds
from dudo_spiel import rules

OPPONENTS = ("trained", "heuristic")
_PERSON = 0  # the person's seat in a match of two


def claim_view(order, claim):
  """Returns a claim: its name, quantity and rank."""
  quantity, rank = order.claims[claim]
  return {"name": order.names[claim], "quantity": quantity, "rank": rank}


def count_view(hands, order, claim):
  """Returns how many dice count for a claim.

  Args:
    hands: list of bytes, all players' dice.
    order: the `claims.ClaimOrder`.
    claim: the claim.
  """
  quantity, rank = order.claims[claim]
  count = rules.count_matches(b"".join(hands), rank, order.wild_ones)
  counts = [[rules.count_matches(bytes([face]), rank, order.wild_ones) > 0
             for face in hand] for hand in hands]
  return {"hands": [list(hand) for hand in hands], "counts": counts,
          "count": count, "claim": claim_view(order, claim),
          "is_true": count >= quantity, "is_exact": count == quantity}


def odds_alone(order, hand):
  """Returns [claim], how likely each claim is true by one hand alone."""
  return [odds.claim_odds(quantity, rank, hand, order.num_dice,
                          order.num_sides, order.wild_ones)
          for quantity, rank in order.claims]


class _Match:
  """What matches of both games share.

  Args:
    game: the game.
    seat: the person's player id.
    players: {player: bot} of the other seats.
    names: list of str, what the seats are called.
    number: which match of the session it is.
    rng: a random number generator with `choice`.

  Attributes:
    number: as given.
    state: the state; it has everybody's dice, so it must not leave the server.
    turn: how many moves and rolls there were; it tells stale requests.
    note: a function (state, action) that is told of the person's moves.
  """

  def __init__(self, game, seat, players, names, number, rng):
    self._game = game
    self._seat = seat
    self._bots = players
    self._names = names
    self._rng = rng
    self.state = game.new_initial_state()
    self.number = number
    self.turn = 0
    self.note = None
    self._go_on(rolls=True)

  def _go_on(self, rolls):
    """Rolls dice and lets the bots move until the person is to decide.

    Args:
      rolls: whether to roll the dice of a new round.
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

  def check_turn(self, turn):
    """Raises a ValueError if the match has gone on since the page saw it."""
    if turn != self.turn:
      raise ValueError(f"turn={turn}: the match is at turn {self.turn} "
                       "already; look at it again")

  def move(self, name):
    """Makes a move of the person, and those of the bots after it.

    Args:
      name: the move, such as "3x5", "Dudo", "Pass" or "Challenge".
    """
    legal = self.legal()
    if not legal:
      raise ValueError(f"move={name!r}: it is not your turn")
    if name not in legal:
      raise ValueError(f"move={name!r}: must be one of {', '.join(legal)}")
    if self.note is not None:
      self.note(self.state.clone(), legal[name])
    self.state.apply_action(legal[name])
    self.turn += 1
    self._go_on(rolls=False)

  def _claims(self, order, claims, maker):
    return [{**claim_view(order, claim), "player": maker(turn)}
            for turn, claim in enumerate(claims)]


class DudoMatch(_Match):
  """A match of two-player Dudo.

  Args:
    library: the `library.Library`.
    numdice: how many dice each player has at the start.
    opponent: one of `OPPONENTS`.
    number: which match of the session it is; the person starts the odd ones.
    rng: a random number generator with `choice`.
  """

  kind = "dudo"

  def __init__(self, library, numdice, opponent, number, rng):
    game = library.dudo_game(numdice, (number - 1) % 2)
    if opponent == "trained":
      if not library.knows((numdice, numdice)):
        raise ValueError(f"dice={numdice}: the policy does not know so many "
                         "dice; play fewer, or the heuristic bot")
      bot = bots.PolicyBot(1, rng, library.match)
      name = "Policy"
    else:
      bot, name = bots.make_bot("heuristic", game, 1, rng), "Heuristic bot"
    self._opponent = opponent
    self.is_known = library.knows((numdice, numdice))
    super().__init__(game, _PERSON, {1: bot}, ["You", name], number, rng)

  def go_on(self):
    """Begins the next round after a reveal."""
    if not self.state.is_chance_node():
      raise ValueError("match: no round has just ended")
    self._go_on(rolls=True)

  def result(self):
    """Returns "won" or "lost" when the match is over, else None."""
    if not self.state.is_terminal():
      return None
    return "won" if self.state.returns()[_PERSON] > 0 else "lost"

  def view(self):
    """Returns what the person may know."""
    state = self.state
    past = state.past_rounds()
    is_reveal = state.is_chance_node() or state.is_terminal()
    shown = past[-1] if is_reveal else state.round()
    order = self._game.claim_order(sum(shown.dice))
    legal = self.legal()
    return {
        "kind": self.kind, "match": self.number, "turn": self.turn,
        "phase": ("over" if state.is_terminal() else
                  "reveal" if is_reveal else "move"),
        "opponent": self._opponent, "players": self._names,
        "seat": _PERSON, "has_values": self.is_known,
        "start_dice": list(self._game.start_dice), "dice": list(shown.dice),
        "round": len(past) + (not is_reveal), "starter": shown.starter,
        "hand": list(shown.hand(_PERSON)), "sides": self._game.num_sides,
        "wild_ones": order.wild_ones,
        "ladder": [{**claim_view(order, claim), "legal": name in legal}
                   for claim, name in enumerate(order.names)],
        "claims": self._claims(order, shown.claim_list(), shown.actor),
        "legal": list(legal), "result": self.result(),
        "reveal": self._reveal(past[-1]) if is_reveal else None,
        "past": [self._past(number, done) for number, done in
                 enumerate(past, 1)]}

  def _reveal(self, done):
    """Returns what everyone sees at the end of a round."""
    order = self._game.claim_order(sum(done.dice))
    claims = done.claim_list()
    _, after, winner = done.challenge(self._game.num_sides, self._game.house)
    return {**count_view(done.all_hands(), order, claims[-1]),
            "claimant": done.actor(len(claims) - 1),
            "challenger": done.actor(len(claims)), "starter": winner,
            "lost": [had - has for had, has in zip(done.dice, after)],
            "dice": list(after)}

  def _past(self, number, done):
    """Returns a finished round in short."""
    reveal = self._reveal(done)
    return {"round": number, "dice": list(done.dice),
            "claim": reveal["claim"]["name"], "count": reveal["count"],
            "claimant": reveal["claimant"], "lost": reveal["lost"]}


class SingleRound(_Match):
  """One game of `dudo_single_round`.

  Args:
    library: the `library.Library`.
    opponent: one of `OPPONENTS`; "trained" needs a policy of the library.
    number: which game of the session it is; the person changes seats.
    rng: a random number generator with `choice`.
  """

  kind = "single_round"
  is_known = False

  def __init__(self, library, opponent, number, rng):
    game = library.single_round_game()
    seat = (number - 1) % game.num_players()
    if opponent == "trained" and library.single_round is None:
      raise ValueError("opponent='trained': there is no policy for the single "
                       "round; must be 'heuristic'")
    others = [p for p in range(game.num_players()) if p != seat]
    players = {p: bots.PolicyBot(p, rng, library.single_round)
               if opponent == "trained" else
               bots.make_bot("heuristic", game, p, rng) for p in others}
    self._opponent = opponent
    names = ["You" if p == seat else f"Player {p + 1}"
             for p in range(game.num_players())]
    super().__init__(game, seat, players, names, number, rng)

  def result(self):
    """Returns "won" or "lost" when the game is over, else None."""
    if not self.state.is_terminal():
      return None
    return "won" if self.state.returns()[self._seat] > 0 else "lost"

  def view(self):
    """Returns what the person may know."""
    state, legal = self.state, self.legal()
    order = self._game.order
    is_over = state.is_terminal()
    players = self._game.num_players()
    # Claims far above the window would only lengthen the ladder.
    top = min(order.num_claims, state.last_claim() + 1 +
              self._game.claim_window)
    # Until a step ends nobody knows who has decided what, so nobody is told
    # whose decision is awaited but the person's own.
    phase = "over" if is_over else state.phase()
    return {
        "kind": self.kind, "match": self.number, "turn": self.turn,
        "phase": "over" if is_over else "move", "step": phase,
        "opponent": self._opponent, "players": self._names,
        "seat": self._seat, "has_values": False,
        "start_dice": [self._game.numdice] * players,
        "dice": [self._game.numdice] * players, "round": 1,
        "starter": 0, "hand": list(state.hand(self._seat)),
        "sides": order.num_sides, "wild_ones": False,
        "ladder": [{**claim_view(order, claim),
                    "legal": order.names[claim] in legal}
                   for claim in range(top)],
        "claims": self._claims(order, state.claim_list(), state.claim_maker),
        "legal": list(legal), "result": self.result(),
        "share": state.returns()[self._seat] if is_over else None,
        "reveal": self._reveal() if is_over else None, "past": []}

  def _reveal(self):
    """Returns what everyone sees at the end."""
    state = self.state
    players = range(self._game.num_players())
    return {**count_view([state.hand(p) for p in players], self._game.order,
                         state.last_claim()),
            "claimant": state.claimer(),
            "challengers": [p for p in players if state.challenges(p)],
            "survivors": state.survivors()}


def new_generator():
  """Returns a generator of dice that nobody can guess."""
  return np.random.RandomState(np.random.MT19937(np.random.SeedSequence()))
