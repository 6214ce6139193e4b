"""Observers made of pieces, and the pieces that several games share.

A piece is a part of an observation. It has a tensor and a text. The functions
whose names end in `_piece` return one. Their pieces call the methods of states
that they are about, such as `hand(player)` and `claim_list()`.
"""

from collections.abc import Callable
import math
import operator
from typing import Any
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import rolls as rolls_lib


class Piece(NamedTuple):
  """One part of an observation.

  Attributes:
    name: the name of its tensor.
    shape: the shape of its tensor.
    write: write(state, player, array) fills the tensor, which is all zeros
      before.
    text: text(state, player) returns the text, or "" if there is nothing to
      say.
    fields: fields(state, player) returns the same as a dict for JSON.
  """
  name: str
  shape: tuple[int, ...]
  write: Callable[[Any, int, np.ndarray], None]
  text: Callable[[Any, int], str] = lambda state, player: ""
  fields: Callable[[Any, int], dict[str, Any]] = lambda state, player: {}


class PieceObserver:
  """An observer for OpenSpiel's `open_spiel.python.observation`.

  Attributes:
    tensor: [sum of the pieces' sizes] float32, what was observed last.
    dict: {name of a piece: its part of `tensor`, in the piece's shape}.
  """

  def __init__(self, pieces):
    self._pieces = pieces
    ends = np.cumsum([math.prod(piece.shape) for piece in pieces], dtype=int)
    self.tensor = np.zeros(ends[-1] if pieces else 0, np.float32)
    self.dict = {
        piece.name: part.reshape(piece.shape)
        for piece, part in zip(pieces, np.split(self.tensor, ends[:-1]))}

  def set_from(self, state, player):
    """Writes what the player sees in the state to `tensor` and `dict`."""
    self.tensor.fill(0)
    for piece in self._pieces:
      piece.write(state, player, self.dict[piece.name])

  def string_from(self, state, player):
    """Returns what the player sees in the state, as text."""
    texts = (piece.text(state, player) for piece in self._pieces)
    return " ".join(filter(None, texts))


def make_observer(kind, num_players, private, public):
  """Returns the observer for a `pyspiel.IIGObservationType`.

  One player sees the pieces in `private`; all players see those in `public`.
  """
  if not kind.public_info:
    public = []
  if kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
    return PieceObserver([_player_piece(num_players), *private, *public])
  pieces = [_seen_by(0, piece, piece.name) for piece in public]
  if kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
    pieces += [_seen_by(seat, piece, f"{piece.name}_{seat}")
               for seat in range(num_players) for piece in private]
  return PieceObserver(pieces)


def _seen_by(seat, piece, name):
  """Returns a piece that shows everyone what the player in a seat sees."""
  return Piece(
      name, piece.shape,
      lambda state, player, array: piece.write(state, seat, array),
      lambda state, player: piece.text(state, seat))


def counting_piece(name, shape, indices, *text_and_fields):
  """A piece that adds one to its tensor at each of `indices(state, player)`."""

  def write(state, player, array):
    for index in indices(state, player):
      array[index] += 1

  return Piece(name, shape, write, *text_and_fields)


def _player_piece(num_players):
  """The player whose observation this is."""
  return counting_piece("player", (num_players,),
                        lambda state, player: [player],
                        lambda state, player: f"p{player}")


def labelled(label, items):
  """Returns "label:item,item", or "" if there are no items."""
  return f"{label}:{','.join(map(str, items))}" if items else ""


def number_piece(name, size, number, label, first=0):
  """One number: the tensor is one-hot, the text "label:number".

  Args:
    name: the name of the tensor.
    size: how many different numbers there are.
    number: number(state, player) returns it. If it is below `first`, the tensor
      is zero and the text empty.
    label: the label of the text.
    first: the smallest number.
  """

  def write(state, player, array):
    value = number(state, player)
    if value >= first:
      array[value - first] = 1

  def text(state, player):
    value = number(state, player)
    return f"{label}:{value}" if value >= first else ""

  def fields(state, player):
    value = number(state, player)
    return {name: value if value >= first else None}

  return Piece(name, (size,), write, text, fields)


def choice_piece(name, choices, choice):
  """One of several words: the tensor is one-hot, the text "name:word".

  Args:
    name: the name of the tensor.
    choices: tuple of str.
    choice: choice(state) returns one of them, or "" for a tensor of zeros and
      no text.
  """

  def write(state, player, array):
    word = choice(state)
    if word:
      array[choices.index(word)] = 1

  def text(state, player):
    word = choice(state)
    return f"{name}:{word}" if word else ""

  return Piece(name, (len(choices),), write, text,
               lambda state, player: {name: choice(state) or None})


def phase_piece(phases):
  """The phase of the game, one of `phases`."""
  return choice_piece("phase", phases, operator.methodcaller("phase"))


def claimer_piece(num_players):
  """The player who is to claim, or whose claim the others are to answer."""
  return number_piece("claimer", num_players,
                      lambda state, player: state.claimer(), "claimer")


def hand_names(hands):
  """Returns the hands as a list of texts, with "-" for an empty hand."""
  return [rolls_lib.hand_name(hand) or "-" for hand in hands]


def hands_indices(hands):
  """Returns the indices (player, face - 1) of all dice, for tensors."""
  return [(player, face - 1) for player, hand in enumerate(hands)
          for face in hand]


def roll_piece(num_sides):
  """The player's own dice: how many show each face."""

  def text(state, player):
    hand = state.hand(player)
    return f"roll:{rolls_lib.hand_name(hand)}" if hand else ""

  return counting_piece(
      "roll", (num_sides,),
      lambda state, player: [face - 1 for face in state.hand(player)], text,
      lambda state, player: {"roll": list(state.hand(player))})


def claims_piece(num_claims):
  """All claims of the round so far."""
  return counting_piece(
      "claims", (num_claims,), lambda state, player: state.claim_list(),
      lambda state, player: _claims_text(state, state.claim_list()),
      lambda state, player: {"claims": _claim_names(state, state.claim_list())})


def recent_claims_piece(length, num_claims):
  """The last claims of the round, at most `length`.

  The tensor is [age, claim] with the latest claim first. The text names the
  latest claim last.
  """
  length = min(length, num_claims)  # a round has each claim at most once

  def recent(state):
    return state.claim_list()[-length:]

  return counting_piece(
      "recent_claims", (length, num_claims),
      lambda state, player: enumerate(reversed(recent(state))),
      lambda state, player: _claims_text(state, recent(state)),
      lambda state, player: {"claims": _claim_names(state, recent(state))})


def _claim_names(state, claims):
  names = state.claim_order().names
  return [names[claim] for claim in claims]


def _claims_text(state, claims):
  return labelled("claims", _claim_names(state, claims))
