"""Observers made of pieces, each with a tensor and a text form."""

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
    write: write(state, player, array) fills the (zeroed) tensor.
    text: text(state, player) returns its text, "" for nothing to say.
  """
  name: str
  shape: tuple[int, ...]
  write: Callable[[Any, int, np.ndarray], None]
  text: Callable[[Any, int], str]


def labelled(label, items):
  """Returns "label:item,item", or "" where there are no items."""
  return f"{label}:{','.join(map(str, items))}" if items else ""


def no_text(state, player):
  """The text of a piece that another piece's text already tells."""
  del state, player
  return ""


def player_piece(num_players):
  """Returns the piece that tells whose observation this is."""

  def write(state, player, array):
    del state
    array[player] = 1

  return Piece("player", (num_players,), write,
               lambda state, player: f"p{player}")


def _seen_by(seat, piece, name):
  """Returns the piece as the given seat sees it, whoever looks."""
  return Piece(
      name, piece.shape,
      lambda state, player, array: piece.write(state, seat, array),
      lambda state, player: piece.text(state, seat))


class PieceObserver:
  """Conforms to OpenSpiel's PyObserver interface (see observation.py)."""

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
    """Updates `tensor` and `dict` to what `player` sees in `state`."""
    self.tensor.fill(0)
    for piece in self._pieces:
      piece.write(state, player, self.dict[piece.name])

  def string_from(self, state, player):
    """Returns what `player` sees in `state` as text."""
    texts = (piece.text(state, player) for piece in self._pieces)
    return " ".join(filter(None, texts))


def make_observer(kind, num_players, private, public):
  """Returns the observer for an observation type.

  Args:
    kind: a `pyspiel.IIGObservationType`.
    num_players: how many players the game has.
    private: pieces that a player sees alone.
    public: pieces that all see.
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
