"""Narrators of poker: `neumann_poker`, and OpenSpiel's Kuhn and Leduc poker.

OpenSpiel numbers cards and moves. Here they have the names that they have at a
table: Jack and King, check and fold. Who has not folded shows the card at the
end, as at a table.
"""

import re

from dudo_spiel.terminal import narrator

_RANKS = ("Jack", "Queen", "King", "Ace")


class PokerNarrator(narrator.Narrator):
  """The base class: everyone sees all moves, and what everyone has paid."""

  def _how_to_move(self):
    return "Type check, bet, call, raise or fold, or the first letters of it."

  def _paid(self, state):
    """Returns a list of what each player has paid."""
    raise NotImplementedError

  def _holding(self, state):
    """Returns what the person holds and what is on the table."""
    raise NotImplementedError

  def _told(self, before, action, state):
    if before.is_chance_node():
      return self._told_card(before, action, state)
    player = before.current_player()
    return [f"{self.name(player)}: {self._action_name(before, action)}"]

  def _told_card(self, before, card, state):
    """Returns what the person learns when a card is dealt."""
    raise NotImplementedError

  def situation(self, state):
    """Returns a line with the stakes."""
    paid = ", ".join(f"{self.name(player)} {stake:g}"
                     for player, stake in enumerate(self._paid(state)))
    return [f"Paid so far: {paid}."]

  def status(self, state):
    """Returns the line with what the person holds and the legal moves."""
    legal = ", ".join(self._legal_names(state))
    return [f"{self._holding(state)} | {legal}?"]

  def _why_not(self, state, text):
    legal = " or ".join(self._legal_names(state)).lower()
    return f"I do not understand {text!r}. Type {legal}."


class NeumannPokerNarrator(PokerNarrator):
  """Tells about `neumann_poker`."""

  def _rules(self):
    return narrator.wrapped(
        f"Both players pay {self._game.ante:g} and get a rank from 1 to "
        f"{self._game.num_ranks}; the higher rank wins at the showdown, and "
        "equal ranks share the pot.")

  def _rank(self, rank):
    return f"{self._style.strong(str(rank + 1))} of {self._game.num_ranks}"

  def _told_card(self, before, card, state):
    is_mine = state.rank(self.seat) >= 0 > before.rank(self.seat)
    return [f"You get rank {self._rank(card)}."] if is_mine else []

  def _ending(self, state):
    if not state.is_showdown():
      return []
    return [f"{self.name(player)} had rank {state.rank(player) + 1}."
            for player in range(self._game.num_players())]

  def _paid(self, state):
    return state.stakes()

  def _holding(self, state):
    return f"Your rank: {self._rank(state.rank(self.seat))}"


class StockPokerNarrator(PokerNarrator):
  """The base class for OpenSpiel's: cards and moves get names."""

  _FOLD = 0  # the action, once there is a bet

  def _card(self, card):
    """Returns the name of a card."""
    ranks = self._game.num_players() + 1
    name = (_RANKS[self._rank(card)] if ranks <= len(_RANKS) else
            f"card {self._rank(card) + 1} of {ranks}")
    return self._style.strong(name)

  def _rank(self, card):
    """Returns the rank of a card, from 0."""
    return card

  def _ranks_text(self):
    ranks = self._game.num_players() + 1
    if ranks > len(_RANKS):
      return f"the ranks 1 to {ranks}"
    return f"{', '.join(_RANKS[:ranks - 1])} and {_RANKS[ranks - 1]}"

  def _move_names(self, state):
    """Returns {name of OpenSpiel: what a player says}."""
    raise NotImplementedError

  def _action_name(self, state, action):
    name = narrator.action_name(state, action)
    return self._move_names(state).get(name, name)

  def _names(self, state):
    # The names of OpenSpiel are understood, too.
    return {narrator.action_name(state, action): action
            for action in state.legal_actions()} | super()._names(state)

  def _told_card(self, before, card, state):
    dealt = len(before.history())  # the players' cards come first
    if dealt == self.seat:
      return [f"You get the {self._card(card)}."]
    is_public = dealt >= self._game.num_players()
    return [f"On the table: the {self._card(card)}."] if is_public else []

  def _ending(self, state):
    bets, folded = 0, set()
    for item in state.full_history():
      if item.player >= 0 and item.action == self._FOLD and bets:
        folded.add(item.player)
      bets += item.player >= 0 and item.action != self._FOLD
    shown = set(range(self._game.num_players())) - folded
    return [f"{self.name(player)} had the "
            f"{self._card(state.history()[player])}."
            for player in sorted(shown - {self.seat}) if len(shown) > 1]

  def _holding(self, state):
    return f"Your card: {self._card(state.history()[self.seat])}"


class KuhnPokerNarrator(StockPokerNarrator):
  """Tells about `kuhn_poker`."""

  def _rules(self):
    return narrator.wrapped(
        "Everyone pays 1 and gets a card; there is one each of "
        f"{self._ranks_text()}. The bet is 1, and nobody raises. Those who do "
        "not fold show their cards, and the highest wins.")

  def _paid(self, state):
    players = self._game.num_players()
    moves = state.history()[players:]  # 0 is a pass, 1 a bet
    return [1 + sum(moves[player::players]) for player in range(players)]

  def _move_names(self, state):
    has_bet = max(self._paid(state)) > 1
    return {"Pass": "Fold", "Bet": "Call"} if has_bet else {"Pass": "Check"}


class LeducPokerNarrator(StockPokerNarrator):
  """Tells about `leduc_poker`."""

  _MONEY = 100  # of each player before the game
  _RAISE = "2"

  def _rules(self):
    return narrator.wrapped(
        "Everyone pays 1 and gets a card; there are two each of "
        f"{self._ranks_text()}. After a round of betting, another card is laid "
        "on the table, and a second round follows. A bet is 2 in the first "
        "round and 4 in the second, with at most one raise. Of those who do "
        "not fold, a pair with the card on the table wins, otherwise the "
        "highest card; equal ones share.")

  def _field(self, state, name):
    """Returns a field of the information state, "" if it is not there."""
    found = re.search(rf"\[{name}: ?([^\]]*)\]",
                      state.information_state_string(self.seat))
    return found[1] if found else ""

  def _rank(self, card):
    has_suits = not self._game.get_parameters()["suit_isomorphism"]
    return card // 2 if has_suits else card

  def _paid(self, state):
    return [self._MONEY - int(money)
            for money in self._field(state, "Money").split()]

  def _holding(self, state):
    public = self._field(state, "Public")
    table = f", on the table: {self._card(int(public))}" if public else ""
    return super()._holding(state) + table

  def _move_names(self, state):
    moves = self._field(state, "Round2" if self._field(state, "Public") else
                        "Round1")
    has_bet = self._RAISE in moves.split()
    return {} if has_bet else {"Call": "Check", "Raise": "Bet"}
