"""Pieces of observations that several games share.

Each function here returns an `observer.Piece`. A piece calls methods of the
state: `hand(player)`, `claim_list()`, `claim_order()`, `phase()` or
`claimer()`. A game's states need only the methods of the pieces that it uses.
"""

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.games import observer


def write_hand(hand, array):
  """Adds a hand to the counts of faces in `array`, [face - 1] float32."""
  for face in hand:
    array[face - 1] += 1


def hand_names(hands):
  """Returns the hands as a list of texts, with "-" for an empty hand."""
  return [rolls_lib.hand_name(hand) or "-" for hand in hands]


def roll(num_sides):
  """The player's own dice: how many show each face."""

  def write(state, player, array):
    write_hand(state.hand(player), array)

  def text(state, player):
    hand = state.hand(player)
    return f"roll:{rolls_lib.hand_name(hand)}" if hand else ""

  return observer.Piece("roll", (num_sides,), write, text)


def phase(phases):
  """What is going on.

  Args:
    phases: tuple of str, everything that `state.phase()` may return.
  """

  def write(state, player, array):
    del player
    array[phases.index(state.phase())] = 1

  return observer.Piece("phase", (len(phases),), write,
                        lambda state, player: f"phase:{state.phase()}")


def claimer(num_players):
  """The player who is to claim, or whose claim the others are to answer."""

  def write(state, player, array):
    del player
    array[state.claimer()] = 1

  return observer.Piece("claimer", (num_players,), write,
                        lambda state, player: f"claimer:{state.claimer()}")


def claims(num_claims):
  """All claims of the round so far."""

  def write(state, player, array):
    del player
    array[state.claim_list()] = 1

  def text(state, player):
    del player
    return observer.labelled("claims", _names(state, state.claim_list()))

  return observer.Piece("claims", (num_claims,), write, text)


def recent_claims(length, num_claims):
  """The last claims of the round.

  The tensor is [age, claim] with the latest claim first. The text names the
  latest claim last.

  Args:
    length: how many claims, at most.
    num_claims: how many different claims there are.
  """
  # A round has each claim at most once.
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
