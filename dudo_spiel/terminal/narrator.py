"""Tells a person in words what happens in any OpenSpiel game.

A narrator speaks to the person in one seat. It tells only what follows from
that seat's information: with perfect information everything, otherwise the
seat's information states or observations, the seat's own moves, the moves of
the others in games whose moves are all public, and the cards that players of
Kuhn and Leduc poker show at the end. A test checks this for all games of
OpenSpiel: it changes what the person cannot see, and the words must stay the
same.
"""

from collections.abc import Callable
import textwrap
from typing import NamedTuple

import pyspiel

from dudo_spiel import validation
from dudo_spiel.terminal import moves

_WIDTH = 78
_MAX_TYPED = 100  # characters of a move; what follows is cut off
_MAX_HINTS = 6
_MIN_SPREAD = 1e-6  # of probabilities; an untrained policy is uniform
# Games of OpenSpiel in which everyone sees all moves of the players, and what
# their information states mean.
_PUBLIC_MOVES = {
    "liars_dice": "your dice, then the bids as number-rank; the highest rank "
                  "is wild",
}


class Style(NamedTuple):
  """How words look, as functions from text to text.

  Attributes:
    strong: for what must be in sight, such as the person's dice.
    good: for a win.
    bad: for a loss.
  """
  strong: Callable[[str], str] = str
  good: Callable[[str], str] = str
  bad: Callable[[str], str] = str


PLAIN = Style()


class Narrator:
  """Speaks to the person who plays in one seat, in a `Style`.

  All methods return lines or texts. `seat` is the person's player id. States
  that methods get are those in which it is the person's turn.
  """

  def __init__(self, game, seat, style=PLAIN):
    validation.integer("seat", seat, 0, game.num_players() - 1)
    kind = game.get_type()
    _check_can_be_told(game, kind)
    self._game = game
    self.seat = seat
    self._style = style
    self._is_perfect = (
        kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION)
    self._legend = _PUBLIC_MOVES.get(kind.short_name)

  def name(self, player):
    """Returns what the narrator calls a player; people count from 1."""
    return "You" if player == self.seat else f"Player {player + 1}"

  def greeting(self, opponents):
    """Returns lines that say what is played, against whom and how.

    `opponents` has the name of what plays in each of the other seats.
    """
    others = ", ".join(f"{self.name(player)} ({name})"
                       for player, name in opponents.items())
    against = f" against {others}" if others else ""
    return [*self._title(),
            *wrapped(f"You are Player {self.seat + 1}{against}."),
            *self._words(), *wrapped(self._how_to_move()),
            "Type help for the rules and commands, quit to leave."]

  def help(self):
    """Returns lines that say what the person may type."""
    return [*self._rules(), *self._words(), *wrapped(self._how_to_move()),
            "  ?     lists the legal moves", "  hint  says what to consider",
            "  quit  leaves, as do Ctrl-C and Ctrl-D"]

  def _title(self):
    """Returns lines with the name of the game and what is special about it."""
    return [f"{self._game.get_type().long_name}."]

  def _rules(self):
    """Returns lines that sum up the rules."""
    return []

  def _words(self):
    """Returns lines that explain the words of OpenSpiel, if there are any."""
    return wrapped(f"What you know: {self._legend}.") if self._legend else []

  def _how_to_move(self):
    """Returns a text that says how to type a move."""
    return ("Type the name of a move or the beginning of it; ? lists the legal "
            "moves.")

  def after(self, before, action, state):
    """Returns what the person learns from an action between two states."""
    lines = self._told(before, action, state)
    return lines + self._ending(state) if state.is_terminal() else lines

  def _told(self, before, action, state):
    """Returns what the person learns from an action, before any ending."""
    player = before.current_player()
    if player == self.seat or self._is_public(before):
      who = "Chance" if before.is_chance_node() else self.name(player)
      return [f"{who}: {self._action_name(before, action)}"]
    return []

  def _is_public(self, before):
    """Returns whether everyone sees the action made here."""
    return self._is_perfect or (self._legend is not None and
                                not before.is_chance_node())

  def _ending(self, state):
    """Returns lines that say what the person sees when the game is over."""
    if self._is_perfect:
      return ["The end:", *str(state).splitlines()]
    if self._legend:  # all moves have been told
      return []
    try:
      return self._information(state)
    except (pyspiel.SpielError, NotImplementedError):  # none at the end
      return []

  def _information(self, state):
    """Returns what the person knows, as lines in the words of OpenSpiel."""
    if self._game.get_type().provides_information_state_string:
      text = state.information_state_string(self.seat)
    else:
      text = state.observation_string(self.seat)
    lines = text.splitlines() or [""]
    if len(lines) > 1:
      return ["You know:", *lines]
    return [f"You know: {lines[0]}"]

  def situation(self, state):
    """Returns lines that say what the person knows before a move."""
    return str(state).splitlines() if self._is_perfect else (
        self._information(state))

  def status(self, state):
    """Returns lines that must stay in sight while the person thinks."""
    line = f"Moves: {', '.join(self._legal_names(state))}."
    return self._only_move(state) or [line] * (len(line) <= _WIDTH)

  def _only_move(self, state):
    """Returns a line that names the only legal move, if there is only one."""
    first, *others = self._legal_names(state)
    return [] if others else [f"Your only move is {first}: press Enter."]

  def legal_moves(self, state):
    """Returns lines that list the legal moves."""
    return columns(self._legal_names(state))

  def _action_name(self, state, action):
    """Returns what an action is called."""
    return action_name(state, action)

  def _legal_names(self, state):
    return [self._action_name(state, action)
            for action in state.legal_actions()]

  def _names(self, state):
    """Returns {name: action}, all names of legal actions."""
    return dict(zip(self._legal_names(state), state.legal_actions()))

  def understand(self, state, text):
    """Returns (action, lines) of what the person typed.

    If it is no legal move, the action is None and the lines say why. The name
    of a move may be cut short. "" means the only legal move.
    """
    text = text[:_MAX_TYPED]
    legal = state.legal_actions()
    if not text.strip() and len(legal) == 1:
      return legal[0], []
    action = moves.find(self._names(state), text)
    if action is not None:
      return action, []
    return None, wrapped(self._why_not(state, text))

  def _why_not(self, state, text):
    """Returns why a text is no legal move."""
    return (f"I do not understand {text!r}. Type ? for the legal moves, or "
            "help.")

  def hint(self, state, adviser=None):
    """Returns lines that say what to consider, by an adviser if there is one.

    That is a bot that could play in the person's seat.
    """
    if adviser is None:
      reason = "I have no hint: no policy was trained for this game."
      if not self._game.get_type().provides_information_state_string:
        return [reason]  # nor can any be
      return [f"{reason} To have one:",
              f"  dudo-solve --game='{self._game}' --save_policy=FILE",
              f"  dudo-play --game='{self._game}' --opponents=FILE"]
    policy = sorted(adviser.get_policy(state), key=lambda pair: -pair[1])
    if len(policy) > 2 and policy[0][1] - policy[-1][1] < _MIN_SPREAD:
      return ["The policy never met this situation in its training."]
    shown = [f"{self._action_name(state, action)} {percent(probability)}"
             for action, probability in policy[:_MAX_HINTS] if probability > 0]
    return wrapped(f"The policy would play: {', '.join(shown)}.")

  def result(self, state):
    """Returns a line that says how the game ended for the person."""
    verdict = self.verdict(state)
    words = {"win": self._style.good("You win. "),
             "shared win": self._style.good("You share the win. "),
             "loss": self._style.bad("You lose. "), "tie": "A tie. ",
             None: ""}[verdict]
    return f"{words}Your return is {state.returns()[self.seat]:g}."

  def verdict(self, state):
    """Returns "win", "shared win", "tie", "loss" or None at a game's end.

    It is None in a game of one player, and where the others' returns are not
    for the person to know.
    """
    returns = list(state.returns())
    mine = returns.pop(self.seat)
    if not returns or not self._knows_returns():
      return None
    if mine > max(returns):
      return "win"
    if mine < max(returns):
      return "loss"
    return "shared win" if min(returns) < mine else "tie"

  def _knows_returns(self):
    """Returns whether the person's information has everyone's returns."""
    utility = self._game.get_type().utility
    sums = (pyspiel.GameType.Utility.ZERO_SUM,
            pyspiel.GameType.Utility.CONSTANT_SUM)
    return self._is_perfect or (utility in sums and
                                self._game.num_players() == 2)


def _check_can_be_told(game, kind):
  """Raises a ValueError for a game that no narrator can tell."""
  name = kind.short_name
  if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
    raise ValueError(
        f"game={name}: players must move in turn, but here they move at the "
        f"same time; load turn_based_simultaneous_game(game={game}) instead")
  if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
    raise ValueError(f"game={name}: players must move in turn, which they do "
                     "not in a mean field game")
  if (kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION and
      not kind.provides_information_state_string and
      not kind.provides_observation_string):
    raise ValueError(f"game={name}: must have perfect information, "
                     "information states or observations as text")
  try:
    game.new_initial_state().legal_actions()
  except pyspiel.SpielError as error:
    raise ValueError(f"game={name}: must list its legal actions") from error


def action_name(state, action):
  """Returns the name of an action of the player whose turn it is."""
  return state.action_to_string(state.current_player(), action)


def percent(probability):
  """Returns a probability as text, rounded but never to a false certainty."""
  if 0 < probability < 0.01:
    return "<1%"
  if 0.99 < probability < 1:
    return ">99%"
  return f"{100 * probability:.0f}%"


def wrapped(text):
  """Returns a text as lines that fit on a terminal."""
  return textwrap.wrap(text, _WIDTH, subsequent_indent="  ",
                       break_on_hyphens=False)


def columns(entries):
  """Returns lines with the entries in columns of equal width."""
  width = max(map(len, entries), default=0) + 2
  per_row = max(1, _WIDTH // width)
  return ["".join(entry.ljust(width) for entry in entries[i:i + per_row])
          .rstrip() for i in range(0, len(entries), per_row)]


def last_that_fit(entries, start):
  """Returns one line with the start and as many last entries as fit."""
  line = f"{start}{', '.join(entries)}"
  while len(line) > _WIDTH and len(entries) > 1:
    entries = entries[1:]
    line = f"{start}..., {', '.join(entries)}"
  return line
