"""Narrators of OpenSpiel's Kuhn poker and Leduc poker.

OpenSpiel numbers cards and moves. Here they have the names that they have at a
table: Jack and King, check and fold. Who has not folded shows the card at the
end, as at a table.
"""

import re

from dudo_spiel.terminal import moves
from dudo_spiel.terminal import narrator

_RANKS = ("Jack", "Queen", "King", "Ace")


class PokerNarrator(narrator.Narrator):
  """The base class of both: everyone gets one card and sees all moves."""

  _FOLD = 0  # the action, once there is a bet

  def _num_ranks(self):
    return self._game.num_players() + 1

  def _rank(self, card):
    """Returns the rank of a card, from 0."""
    raise NotImplementedError

  def _bets(self, state):
    """Returns how many bets and raises there were in this round."""
    raise NotImplementedError

  def _paid(self, state):
    """Returns a list of what each player has paid."""
    raise NotImplementedError

  def _card(self, card):
    """Returns the name of a card."""
    ranks = self._num_ranks()
    name = (_RANKS[self._rank(card)] if ranks <= len(_RANKS) else
            f"card {self._rank(card) + 1} of {ranks}")
    return self._style.strong(name)

  def _cards(self, state):
    """Returns the cards that were dealt to players, in seat order."""
    return state.history()[:self._game.num_players()]

  def _ranks_text(self):
    ranks = self._num_ranks()
    if ranks > len(_RANKS):
      return f"the ranks 1 to {ranks}"
    return f"{', '.join(_RANKS[:ranks - 1])} and {_RANKS[ranks - 1]}"

  def _how_to_move(self):
    return "Type check, bet, call, raise or fold, or the first letters of it."

  def _move_names(self, state):
    """Returns {name of OpenSpiel: what a player says}."""
    raise NotImplementedError

  def _action_name(self, state, action):
    name = super()._action_name(state, action)
    return self._move_names(state).get(name, name)

  def _names(self, state):
    # The names of OpenSpiel are understood, too.
    return {super(PokerNarrator, self)._action_name(state, action): action
            for action in state.legal_actions()} | super()._names(state)

  def _told(self, before, action, state):
    player = before.current_player()
    if not before.is_chance_node():
      return [f"{self.name(player)}: {self._action_name(before, action)}"]
    dealt = len(before.history())
    if dealt == self.seat:
      return [f"You get the {self._card(action)}."]
    if dealt >= self._game.num_players():
      return [f"On the table: the {self._card(action)}."]
    return []

  def _ending(self, state):
    bets, folded = 0, set()
    for item in state.full_history():
      if item.player >= 0 and item.action == self._FOLD and bets:
        folded.add(item.player)
      bets += item.player >= 0 and item.action != self._FOLD
    shown = [player for player in range(self._game.num_players())
             if player not in folded]
    if len(shown) == 1:
      return []
    cards = self._cards(state)
    return [f"{self.name(player)} had the {self._card(cards[player])}."
            for player in shown if player != self.seat]

  def situation(self, state):
    """Returns a line with the stakes."""
    paid = ", ".join(f"{self.name(player)} {stake}"
                     for player, stake in enumerate(self._paid(state)))
    return [f"Paid so far: {paid}."]

  def _table_text(self, state):
    """Returns what the status says of the cards on the table."""
    return ""

  def status(self, state):
    """Returns the line with the person's card and the legal moves."""
    legal = ", ".join(self._action_name(state, action)
                      for action in state.legal_actions())
    card = self._card(self._cards(state)[self.seat])
    return [f"Your card: {card}{self._table_text(state)} | {legal}?"]

  def _why_not(self, state, text):
    legal = " or ".join(self._action_name(state, action).lower()
                        for action in state.legal_actions())
    if moves.is_doubt(text):
      return f"There are no claims in poker. Type {legal}."
    return f"I do not understand {text!r}. Type {legal}."


class KuhnPokerNarrator(PokerNarrator):
  """Tells about `kuhn_poker`."""

  def _rules(self):
    return narrator.wrapped(
        "Everyone pays 1 and gets a card; there is one each of "
        f"{self._ranks_text()}. The bet is 1, and nobody raises. Those who do "
        "not fold show their cards, and the highest wins.")

  def _rank(self, card):
    return card

  def _moves(self, state):
    return state.history()[self._game.num_players():]

  def _bets(self, state):
    return sum(self._moves(state))

  def _paid(self, state):
    players, made = self._game.num_players(), self._moves(state)
    return [1 + sum(made[player::players]) for player in range(players)]

  def _move_names(self, state):
    return ({"Pass": "Fold", "Bet": "Call"} if self._bets(state) else
            {"Pass": "Check"})


class LeducPokerNarrator(PokerNarrator):
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

  def _bets(self, state):
    sequence = self._field(state, "Round2" if self._field(state, "Public")
                           else "Round1")
    return sequence.split().count(self._RAISE)

  def _paid(self, state):
    return [self._MONEY - int(money)
            for money in self._field(state, "Money").split()]

  def _table_text(self, state):
    public = self._field(state, "Public")
    return f", on the table: {self._card(int(public))}" if public else ""

  def _move_names(self, state):
    return {} if self._bets(state) else {"Call": "Check", "Raise": "Bet"}
