"""Pieces of observation that games with dice and claims share.

The states have `hand(player)`, `claim_list()`, `claim_order()`, `phase()` and
`claimer()`, as far as the pieces are used.
"""

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.games import observer


def write_hand(hand, array):
  """Adds how often the hand shows each face; array is [face - 1]."""
  for face in hand:
    array[face - 1] += 1


def hand_names(hands):
  """Returns the hands as texts, "-" for one without dice."""
  return [rolls_lib.hand_name(hand) or "-" for hand in hands]


def roll(num_sides):
  """The player's own dice."""

  def write(state, player, array):
    write_hand(state.hand(player), array)

  def text(state, player):
    hand = state.hand(player)
    return f"roll:{rolls_lib.hand_name(hand)}" if hand else ""

  return observer.Piece("roll", (num_sides,), write, text)


def phase(phases):
  """What is going on: one of the phases that `state.phase()` returns."""

  def write(state, player, array):
    del player
    array[phases.index(state.phase())] = 1

  return observer.Piece("phase", (len(phases),), write,
                        lambda state, player: f"phase:{state.phase()}")


def claimer(num_players):
  """Whose turn it is to claim, or whose claim is to be answered."""

  def write(state, player, array):
    del player
    array[state.claimer()] = 1

  return observer.Piece("claimer", (num_players,), write,
                        lambda state, player: f"claimer:{state.claimer()}")


def claims(num_claims):
  """All claims of the round."""

  def write(state, player, array):
    del player
    array[state.claim_list()] = 1

  def text(state, player):
    del player
    return observer.labelled("claims", _names(state, state.claim_list()))

  return observer.Piece("claims", (num_claims,), write, text)


def recent_claims(length, num_claims):
  """The last `length` claims of the round; the tensor has the latest first."""
  # No round has more claims than there are, so more recall is of no use.
  length = min(length, num_claims)

  def write(state, player, array):
    del player
    recent = state.claim_list()[-length:]
    array[range(len(recent)), recent[::-1]] = 1

  def text(state, player):
    del player
    return observer.labelled("claims",
                             _names(state, state.claim_list()[-length:]))

  return observer.Piece("recent_claims", (length, num_claims), write, text)


def _names(state, claim_numbers):
  names = state.claim_order().names
  return [names[claim] for claim in claim_numbers]
