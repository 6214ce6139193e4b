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


def make_observer(iig_obs_type, params, num_players, *, public, private,
                  public_recall, private_recall):
  """Returns the observer for an observation type.

  Args:
    iig_obs_type: a `pyspiel.IIGObservationType`, or None (or {}) for the
      default observation.
    params: must be empty: observers take no parameters.
    num_players: how many players the game has.
    public: pieces of the public observation.
    private: pieces of a player's private observation.
    public_recall: pieces of all that was public so far.
    private_recall: pieces of all that a player privately saw so far.
  """
  if params:
    raise ValueError(f"params={params}: observation parameters are not "
                     "supported, leave them out")
  kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
  if kind.perfect_recall:
    public, private = public_recall, private_recall
  if not kind.public_info:
    public = []
  single = pyspiel.PrivateInfoType.SINGLE_PLAYER
  if kind.private_info == single:
    return PieceObserver([player_piece(num_players), *private, *public])
  pieces = [_seen_by(0, piece, piece.name) for piece in public]
  if kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
    for seat in range(num_players):
      pieces += [
          _seen_by(seat, piece, f"{piece.name}_{seat}") for piece in private
      ]
  return PieceObserver(pieces)
