"""Observers made of pieces, each of which has a tensor and a text."""

from collections.abc import Callable
import math
from typing import Any
from typing import NamedTuple

import numpy as np
import pyspiel


class Piece(NamedTuple):
  """One part of an observation.

  Attributes:
    name: the name of its tensor.
    shape: the shape of its tensor.
    write: write(state, player, array) fills the tensor, which is all zeros
      before.
    text: text(state, player) returns the text, or "" if there is nothing to
      say.
  """
  name: str
  shape: tuple[int, ...]
  write: Callable[[Any, int, np.ndarray], None]
  text: Callable[[Any, int], str]


def labelled(label, items):
  """Returns "label:item,item", or "" if there are no items."""
  return f"{label}:{','.join(map(str, items))}" if items else ""


def no_text(state, player):
  """Returns "": the text of a piece that another piece's text covers."""
  del state, player
  return ""


def player_piece(num_players):
  """Returns the piece that says whose observation this is."""

  def write(state, player, array):
    del state
    array[player] = 1

  return Piece("player", (num_players,), write,
               lambda state, player: f"p{player}")


def _seen_by(seat, piece, name):
  """Returns a piece that shows everyone what the player in a seat sees."""
  return Piece(
      name, piece.shape,
      lambda state, player, array: piece.write(state, seat, array),
      lambda state, player: piece.text(state, seat))


class PieceObserver:
  """An observer for OpenSpiel's `open_spiel.python.observation`.

  Attributes:
    tensor: [sum of the pieces' sizes] float32, what was observed last.
    dict: {name of a piece: its part of `tensor`, in the piece's shape}.

  Args:
    pieces: list of `Piece`.
  """

  def __init__(self, pieces):
    self._pieces = pieces
    sizes = [math.prod(piece.shape) for piece in pieces]
    self.tensor = np.zeros(sum(sizes), np.float32)
    self.dict = {}
    begin = 0
    for piece, size in zip(pieces, sizes):
      self.dict[piece.name] = self.tensor[begin:begin + size].reshape(
          piece.shape)
      begin += size

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
  """Returns the observer for a type of observation.

  Args:
    kind: a `pyspiel.IIGObservationType`.
    num_players: how many players the game has.
    private: list of the pieces that only one player sees.
    public: list of the pieces that all players see.
  """
  if not kind.public_info:
    public = []
  if kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
    return PieceObserver([player_piece(num_players), *private, *public])
  pieces = [_seen_by(0, piece, piece.name) for piece in public]
  if kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
    for seat in range(num_players):
      pieces += [
          _seen_by(seat, piece, f"{piece.name}_{seat}") for piece in private
      ]
  return PieceObserver(pieces)
