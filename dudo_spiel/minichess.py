"""Dark chess on small boards: players see only where their pieces can move.

The rules are those of OpenSpiel's `dark_chess` on boards that are not 8x8.
Pieces move as in chess. There is no check: a king may stay under attack or move
into it, and whoever captures the king wins. A pawn steps one square at a time,
and becomes a queen, rook, bishop or knight on the last rank. There are no
double steps, no captures en passant and no castling.

A player sees the squares of their own pieces and the squares to which these
can move, with the pieces there. So an opponent's piece is seen if it can be
captured. A pawn sees the square ahead only if that is empty, and a diagonal
only if there is something to capture.

A board is a str with a character for each square: a1, b1, ..., a2, b2, ... and
so on. `PIECES` are the pieces, "." is an empty square. In a view of the board,
"?" is a square that the player does not see. Player 0 has the white pieces,
player 1 the black ones.
"""

import functools
import re
from typing import NamedTuple

PIECES = "KQRBNPkqrbnp"  # those of player 0 are upper case
KINGS = "Kk"  # by player
EMPTY = "."
UNSEEN = "?"
PROMOTIONS = "qrbn"
MIN_SIZE = 2
MAX_SIZE = 7  # on an 8x8 board chess has castling and double steps

_PAWNS = "Pp"
_STRAIGHT = ((1, 0), (0, 1), (-1, 0), (0, -1))
_DIAGONAL = ((1, 1), (-1, 1), (-1, -1), (1, -1))
_KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2),
           (-1, -2), (-2, -1), (-2, 1), (-1, 2))
# Piece: its (file, rank) steps and whether it can repeat a step.
_STEPS = {
    "K": (_STRAIGHT + _DIAGONAL, False),
    "Q": (_STRAIGHT + _DIAGONAL, True),
    "R": (_STRAIGHT, True),
    "B": (_DIAGONAL, True),
    "N": (_KNIGHT, False),
}
_FORWARD = (1, -1)  # by player, the step in ranks of a pawn
_MAX_CACHED_POSITIONS = 1 << 15


class Move(NamedTuple):
  """A move, of whatever piece.

  Attributes:
    origin: the square from which the piece moves.
    target: the square to which it moves.
    promotion: what a pawn becomes, one of `PROMOTIONS`, or "".
  """
  origin: int
  target: int
  promotion: str = ""


class Position(NamedTuple):
  """What each player can do and see on a board.

  Attributes:
    legal: by player, a tuple of the numbers of the legal moves, ascending.
    views: by player, the board with `UNSEEN` where the player does not see it.
    texts: by player, the view as text, as in FEN.
  """
  legal: tuple[tuple[int, ...], tuple[int, ...]]
  views: tuple[str, str]
  texts: tuple[str, str]


class Chessboard:
  """The squares and moves of boards of one size.

  Attributes:
    columns: how many squares a rank has.
    rows: how many ranks there are.
    num_squares: how many squares there are.
    moves: tuple of all `Move` that any piece could make on some board.
    position: position(board) returns the `Position` of a board. Results are
      cached, because boards recur in a game tree.
  """

  def __init__(self, columns: int, rows: int) -> None:
    self.columns = columns
    self.rows = rows
    self.num_squares = columns * rows
    # Upper case piece: for each square, a list of lines. A line is a list of
    # squares to which the piece can move, up to the first obstacle.
    self._lines = {
        piece: [self._lines_from(square, *steps)
                for square in range(self.num_squares)]
        for piece, steps in _STEPS.items()}
    # By player: for each square, the squares that a pawn there can capture on.
    self._pawn_captures = tuple(
        [[line[0] for line in self._lines_from(
            square, ((-1, forward), (1, forward)), False)]
         for square in range(self.num_squares)] for forward in _FORWARD)
    self.moves = tuple(self._all_moves())
    self._number = {move: number for number, move in enumerate(self.moves)}
    self.position = functools.lru_cache(_MAX_CACHED_POSITIONS)(self._position)

  def _lines_from(self, square, steps, repeats):
    rank, file = divmod(square, self.columns)
    lines = []
    for files, ranks in steps:
      targets = [(file + files * n, rank + ranks * n)
                 for n in range(1, MAX_SIZE if repeats else 2)]
      lines.append([y * self.columns + x for x, y in targets
                    if 0 <= x < self.columns and 0 <= y < self.rows])
    return list(filter(None, lines))

  def _all_moves(self):
    """Yields all moves by origin, target and promotion."""
    for origin in range(self.num_squares):
      targets = {target for piece in "QN"
                 for line in self._lines[piece][origin] for target in line}
      for target in sorted(targets):
        yield Move(origin, target)
        if any(self._is_promotion(origin, target, player)
               for player in range(2)):
          for promotion in PROMOTIONS:
            yield Move(origin, target, promotion)

  def _is_promotion(self, origin, target, player):
    """Returns whether a pawn that makes this move is promoted."""
    rank, file = divmod(origin, self.columns)
    new_rank, new_file = divmod(target, self.columns)
    last_rank = self.rows - 1 if player == 0 else 0
    return (new_rank == last_rank == rank + _FORWARD[player] and
            abs(new_file - file) <= 1)

  def _targets(self, board, square, player):
    """Yields the squares to which the player's piece on a square can move."""
    piece = board[square].upper()
    if piece == "P":
      ahead = square + _FORWARD[player] * self.columns
      if 0 <= ahead < self.num_squares and board[ahead] == EMPTY:
        yield ahead
      for target in self._pawn_captures[player][square]:
        if owner(board[target]) == 1 - player:
          yield target
      return
    for line in self._lines[piece][square]:
      for target in line:
        if owner(board[target]) != player:
          yield target
        if board[target] != EMPTY:
          break

  def _position(self, board):
    legal, views = [], []
    for player in range(2):
      actions, seen = [], set()
      for square, piece in enumerate(board):
        if owner(piece) != player:
          continue
        seen.add(square)
        for target in self._targets(board, square, player):
          seen.add(target)
          promotes = piece in _PAWNS and self._is_promotion(
              square, target, player)
          actions += [self._number[square, target, promotion]
                      for promotion in (PROMOTIONS if promotes else ("",))]
      legal.append(tuple(sorted(actions)))
      views.append("".join(piece if square in seen else UNSEEN
                           for square, piece in enumerate(board)))
    return Position(tuple(legal), tuple(views), tuple(map(self.text, views)))

  def after(self, board: str, number: int) -> str:
    """Returns the board after a legal move, which has a number in `moves`."""
    origin, target, promotion = self.moves[number]
    squares = list(board)
    piece = squares[origin]
    if promotion:
      piece = promotion.upper() if owner(piece) == 0 else promotion
    squares[target] = piece
    squares[origin] = EMPTY
    return "".join(squares)

  def text(self, board: str) -> str:
    """Returns a board or a view as in FEN: "k3/3R/2K1".

    The highest rank comes first, and a digit stands for that many empty
    squares. A square that the player does not see is "?".
    """
    ranks = (board[i:i + self.columns]
             for i in range(0, self.num_squares, self.columns))
    return re.sub(r"\.+", lambda run: str(len(run[0])),
                  "/".join(reversed([*ranks])))

  def move_name(self, number: int) -> str:
    """Returns the move's name: its two squares, and the promotion: "a3b4q"."""
    *squares, promotion = self.moves[number]
    return "".join(f"{'abcdefg'[square % self.columns]}"
                   f"{square // self.columns + 1}"
                   for square in squares) + promotion


def owner(piece: str) -> int:
  """Returns the player whose piece this is, or -1 if it is no piece."""
  return 0 if piece.isupper() else 1 if piece.islower() else -1


def parse(fen: str) -> tuple[Chessboard, str, int]:
  """Returns (chessboard, board, player) of a position.

  Args:
    fen: the first two fields of Forsyth-Edwards notation, such as
      "k3/3R/2K1 w". The second says who moves first, "w" if it is left out.

  Returns:
    The `Chessboard`, the board as a str, and the player who moves first.
  """
  def refuse(reason):
    return ValueError(f"fen={fen!r}: {reason}; a position looks like "
                      "'k3/3R/2K1 w'")

  fields = fen.split()
  if len(fields) not in (1, 2) or fields[1:] not in ([], ["w"], ["b"]):
    raise refuse("must be the ranks from the top and then w or b")
  ranks = [re.sub(r"[1-9]", lambda digit: EMPTY * int(digit[0]), rank)
           for rank in fields[0].split("/")]
  columns, rows = len(ranks[0]), len(ranks)
  if any(len(rank) != columns for rank in ranks) or not (
      MIN_SIZE <= columns <= MAX_SIZE and MIN_SIZE <= rows <= MAX_SIZE):
    raise refuse(f"must have {MIN_SIZE} to {MAX_SIZE} ranks with equally many "
                 f"squares, {MIN_SIZE} to {MAX_SIZE}")
  board = "".join(reversed(ranks))
  if not set(board) <= {*PIECES, EMPTY} or EMPTY in fields[0]:
    raise refuse(f"must have only the pieces {PIECES} and digits for empty "
                 "squares")
  if any(board.count(king) != 1 for king in KINGS):
    raise refuse("must have one king K and one king k")
  if _PAWNS[0] in ranks[0] or _PAWNS[1] in ranks[-1]:
    raise refuse("must have no pawn on its last rank")
  chessboard = Chessboard(columns, rows)
  player = int(fields[1:] == ["b"])
  if not chessboard.position(board).legal[player]:
    raise refuse("must let the first player move")
  return chessboard, board, player
