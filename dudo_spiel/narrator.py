"""Tells a person in words what happens in a game.

The narrator turns actions into sentences and understands what the person types.
It says only what the rules let the person know. It works for every OpenSpiel
game that has observations, but has the best words for the games of this
package.

Serves `examples/play_dudo.py`.
"""

from open_spiel.python import observation
import pyspiel

from dudo_spiel import arguments
from dudo_spiel import odds
from dudo_spiel import rolls as rolls_lib
from dudo_spiel.games import dudo
from dudo_spiel.games import dudo_single_round
from dudo_spiel.games import liar_die
from dudo_spiel.games import neumann_poker

_WIDTH = 78
_DICE_GAMES = (dudo.DudoGame, dudo_single_round.DudoSingleRoundGame)


class Narrator:
  """Speaks to the person who plays in one seat.

  Args:
    game: the game.
    seat: the person's player id.
    show_odds: whether `situation` lists the odds of the claims.
  """

  def __init__(self, game, seat, show_odds=False):
    arguments.integer("seat", seat, 0, game.num_players() - 1)
    if show_odds and not isinstance(game, _DICE_GAMES):
      raise ValueError(f"show_odds={show_odds}: must be left out, as "
                       f"{game.get_type().short_name} has no claims about dice "
                       "of several players")
    self._game = game
    self._seat = seat
    self._show_odds = show_odds
    self._private = observation.make_observation(
        game,
        pyspiel.IIGObservationType(
            public_info=False, perfect_recall=False,
            private_info=pyspiel.PrivateInfoType.SINGLE_PLAYER))

  def name(self, player):
    """Returns what the narrator calls a player."""
    return "You" if player == self._seat else f"Player {player}"

  def after(self, before, action, state):
    """Returns what the person learns from an action.

    Args:
      before: the state before the action.
      action: the action.
      state: the state after the action.

    Returns:
      A list of lines, empty if the person learns nothing.
    """
    player = before.current_player()
    text = before.action_to_string(player, action)
    if before.is_chance_node():
      lines = self._after_chance(before, text, state)
    elif self._is_hidden(before) and player != self._seat:
      lines = []
    else:
      lines = [f"{self.name(player)}: {text}"]
    return lines + self._reveal(before, state)

  def _after_chance(self, before, text, state):
    if self._private is None:  # the game has no private observations
      return []
    learned = (self._private.string_from(before, self._seat) !=
               self._private.string_from(state, self._seat))
    return [f"You: {text}"] if learned else []

  def _is_hidden(self, before):
    """Returns whether the other players cannot see the move made here."""
    return (isinstance(self._game, dudo_single_round.DudoSingleRoundGame) and
            before.phase() == "challenge")

  def _reveal(self, before, state):
    """Returns lines that say what everyone sees at the end of a round."""
    game = self._game
    if isinstance(game, dudo.DudoGame):
      if len(state.past_rounds()) > len(before.past_rounds()):
        return self._reveal_dudo(state.past_rounds()[-1], state.dice)
    elif isinstance(game, dudo_single_round.DudoSingleRoundGame):
      if state.is_terminal():
        return self._reveal_single_round(state)
      if before.phase() == "challenge" and state.phase() == "claim":
        return ["Nobody challenges."]
    elif state.is_terminal():
      if isinstance(game, liar_die.LiarDieGame):
        return [f"{self.name(state.claimer())} had rolled {state.rolls[-1]}."]
      if isinstance(game, neumann_poker.NeumannPokerGame):
        return self._reveal_poker(state)
      return [f"The end: {state}"]
    return []

  def _reveal_dudo(self, past, dice):
    order = self._game.claim_order(sum(past.dice))
    count, _, _ = past.challenge(self._game.num_sides, self._game.house)
    lines = self._show_hands(past.all_hands())
    lines.append(f"The claim was {order.names[past.claim_list()[-1]]}, "
                 f"the count is {count}.")
    for player, (had, has) in enumerate(zip(past.dice, dice)):
      if had > has:
        lose, own, be = (("lose", "have", "are") if player == self._seat else
                         ("loses", "has", "is"))
        noun = "die" if had - has == 1 else "dice"
        left = f"{own} {has} left" if has else f"{be} out"
        lines.append(f"{self.name(player)} {lose} {had - has} {noun} and "
                     f"{left}.")
    return lines

  def _reveal_single_round(self, state):
    players = range(self._game.num_players())
    challengers = [self.name(p) for p in players if state.challenges(p)]
    lines = [f"Challenged by: {', '.join(challengers)}."]
    lines += self._show_hands([state.hand(p) for p in players])
    survivors = ", ".join(map(self.name, state.survivors()))
    return [*lines, f"Left in the game: {survivors}."]

  def _reveal_poker(self, state):
    if not state.is_showdown():
      return []
    return [f"{self.name(p)} had rank {state.rank(p) + 1}."
            for p in range(self._game.num_players())]

  def _show_hands(self, hands):
    return [f"  {self.name(player)} had {rolls_lib.hand_name(hand)}"
            for player, hand in enumerate(hands) if hand]

  def situation(self, state):
    """Returns lines that say what the person knows before a move.

    Args:
      state: a state in which it is the person's turn.
    """
    if isinstance(self._game, _DICE_GAMES):
      return self._dice_situation(state)
    if isinstance(self._game, liar_die.LiarDieGame):
      return self._liar_die_situation(state)
    if isinstance(self._game, neumann_poker.NeumannPokerGame):
      stakes = [f"{self.name(player)} {stake:g}"
                for player, stake in enumerate(state.stakes())]
      return [f"Paid so far: {', '.join(stakes)}.",
              f"Your rank: {state.rank(self._seat) + 1} of "
              f"{self._game.num_ranks}."]
    kind = self._game.get_type()
    if kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION:
      return [str(state)]
    if kind.provides_information_state_string:
      return [f"You know: {state.information_state_string(self._seat)}"]
    return [f"You see: {state.observation_string(self._seat)}"]

  def _dice_situation(self, state):
    names = state.claim_order().names
    claims = [f"{self.name(state.claim_maker(turn))} {names[claim]}"
              for turn, claim in enumerate(state.claim_list())]
    dice = [f"{self.name(player)} {num_dice}"
            for player, num_dice in enumerate(state.dice)]
    hand = rolls_lib.hand_name(state.hand(self._seat))
    lines = [f"Dice: {', '.join(dice)}.",
             f"Claims so far: {', '.join(claims) or 'none'}.",
             f"Your dice: {hand}."]
    return lines + self._odds_table(state) if self._show_odds else lines

  def _liar_die_situation(self, state):
    claims = [f"{self.name(turn % 2)} {claim}"
              for turn, claim in enumerate(state.claim_list())]
    lines = [f"Claims so far: {', '.join(claims) or 'none'}."]
    if state.phase() == "claim":
      lines.append(f"Your roll: {state.rolls[-1]}.")
    return lines

  def _odds_table(self, state):
    """Returns lines with the odds of the last claim and of the legal ones."""
    order = state.claim_order()
    hand = state.hand(self._seat)

    def entry(claim):
      quantity, rank = order.claims[claim]
      chance = odds.claim_odds(quantity, rank, hand, order.num_dice,
                               order.num_sides, order.wild_ones)
      return f"{order.names[claim]:>5} {100 * chance:5.1f}%"

    lines = []
    if state.last_claim() >= 0:
      lines.append(f"Odds of the last claim: {entry(state.last_claim())}")
    claims = [action for action in state.legal_actions()
              if action < order.num_claims]
    if claims:
      lines.append("Odds of each claim:")
    return lines + columns([entry(claim) for claim in claims])

  def legal_moves(self, state):
    """Returns lines that list the legal moves."""
    return columns([state.action_to_string(action)
                    for action in state.legal_actions()])

  def parse(self, state, move):
    """Returns the legal action that the person means.

    Args:
      state: the state in which it is the person's turn.
      move: what the person typed. It may be the name of a move, in upper or
        lower case; the beginning of a word, if only one move begins so; or the
        number of a "Claim ..." move.
    """
    typed = " ".join(move.lower().split())
    names = {state.action_to_string(action).lower(): action
             for action in state.legal_actions()}
    for candidate in (typed, typed.replace(" ", ""), f"claim {typed}"):
      if candidate in names:
        return names[candidate]
    meant = [name for name in names if name.startswith(typed)]
    if typed.isalpha() and len(meant) == 1:
      return names[meant[0]]
    raise ValueError(f"move={move!r}: not a legal move; type ? for a list")

  def result(self, state):
    """Returns a line that says how the game ended for the person."""
    returns = state.returns()
    mine = returns[self._seat]
    others = [x for player, x in enumerate(returns) if player != self._seat]
    if all(mine > other for other in others):
      verdict = "You win."
    elif mine < max(others):
      verdict = "You lose."
    else:
      verdict = "You share the win." if min(returns) < mine else "A tie."
    return f"{verdict} Your return is {mine:g}."


def columns(entries):
  """Returns lines with the entries in columns of equal width."""
  width = max(map(len, entries), default=0) + 2
  per_row = max(1, _WIDTH // width)
  return ["".join(entry.ljust(width) for entry in entries[i:i + per_row])
          .rstrip() for i in range(0, len(entries), per_row)]
