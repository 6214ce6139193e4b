"""The rules of chess on small boards, position by position."""

import subprocess
import sys

import pytest

from dudo_spiel import minichess


def _move_numbers(fen):
  """Returns {name: number} of the legal moves of the player to move."""
  chessboard, board, player = minichess.parse(fen)
  return {chessboard.move_name(number): number
          for number in chessboard.position(board).legal[player]}


def _moves(fen, origin=""):
  """Returns the set of the names of the legal moves from a square."""
  return {name for name in _move_numbers(fen) if name.startswith(origin)}


def _from(origin, targets):
  return {origin + target for target in targets.split()}


@pytest.mark.parametrize("position, targets", [
    ("5/k4/2R2/4K/5", "c1 c2 c4 c5 a3 b3 d3 e3"),
    ("5/k4/2B2/4K/5", "a1 b2 d4 e5 b4 a5 d2 e1"),
    ("5/k4/2Q2/4K/5",
     "c1 c2 c4 c5 a3 b3 d3 e3 a1 b2 d4 e5 b4 a5 d2 e1"),
    ("4k/5/2N2/5/K4", "b1 d1 a2 e2 a4 e4 b5 d5"),
    ("4k/5/2P2/5/K4", "c4"),
])
def test_a_piece_on_an_open_board(position, targets):
  assert _moves(position, "c3") == _from("c3", targets)
  # The same for a black piece, except that a pawn goes down.
  assert _moves(f"{position.swapcase()} b", "c3") == _from(
      "c3", targets if "P" not in position else "c2")


def test_kings_step_one_square_in_all_directions():
  assert _moves("4/1K2/4/3k") == _from("b3", "a2 b2 c2 a3 c3 a4 b4 c4")
  assert _moves("4/1K2/4/3k b") == _from("d1", "c1 c2 d2")


def test_there_is_no_check():
  # The king stands in the rook's line, and may stay there.
  assert _moves("r2k/4/K3") == _from("a1", "a2 b1 b2")
  # Another piece may move although the king is attacked or pinned.
  assert "b1c1" in _moves("r2k/4/KR2")
  assert "a2b2" in _moves("r2k/R3/K3")
  # Kings may go next to each other, and capture each other.
  assert "b1b2" in _moves("k2/3/1K1")
  assert "b1a2" in _moves("3/k2/1K1")


def test_lines_end_at_the_first_piece():
  assert _moves("k3/4/p3/4/R1PK", "a1") == _from("a1", "b1 a2 a3")
  assert _moves("k3/3p/4/1B2/K3", "b2") == _from("b2", "a3 c1 c3 d4")


@pytest.mark.parametrize("fen, origin, targets", [
    # One step, also from where chess has a double step.
    ("k3/4/4/P3/3K w", "a2", "a3"),
    ("k3/p3/4/4/3K b", "a4", "a3"),
    # No step onto a piece, whoever owns it.
    ("k3/4/p3/P3/3K w", "a2", ""),
    ("k3/4/N3/P3/3K w", "a2", ""),
    # Captures go diagonally forward.
    ("k3/4/1npn/1nPn/1n1K w", "c2", "b3 d3"),
    ("k3/1P2/pP2/1P2/3K b", "a3", "a2 b2"),
    # They do not go around the edge of the board.
    ("k3/p2p/P3/3p/3K w", "a3", ""),
    # No capture of an own piece.
    ("k3/4/1R1N/2P1/3K w", "c2", "c3"),
])
def test_pawns(fen, origin, targets):
  assert _moves(fen, origin) == _from(origin, targets)


@pytest.mark.parametrize("fen, targets, after", [
    ("2nk/1P2/K3 w", "b3 c3", {"b2c3n": "2Nk/4/K3", "b2b3q": "1Qnk/4/K3"}),
    ("3k/1p2/K1N1 b", "b1 a1 c1",
     {"b2a1r": "3k/4/r1N1", "b2b1b": "3k/4/KbN1"}),
])
def test_promotion(fen, targets, after):
  chessboard, board, _ = minichess.parse(fen)
  move_numbers = _move_numbers(fen)
  assert _moves(fen, "b2") == {
      name + piece for name in _from("b2", targets) for piece in "qrbn"}
  for name, text in after.items():
    assert chessboard.text(chessboard.after(board, move_numbers[name])) == text


def test_a_move_leaves_its_square_and_captures():
  chessboard, board, _ = minichess.parse("k3/3R/2K1")
  board = chessboard.after(board, _move_numbers("k3/3R/2K1")["d2a2"])
  assert chessboard.text(board) == "k3/R3/2K1"
  board = chessboard.after(board, _move_numbers("k3/R3/2K1 b")["a3a2"])
  assert chessboard.text(board) == "4/k3/2K1"


@pytest.mark.parametrize("position, white, black", [
    # Own squares, and those to which a piece can move.
    ("k3/3R/2K1", "???1/3R/?1K1", "k1??/2??/????"),
    # A piece that can be captured is seen, and nothing behind it.
    ("k3/4/rp2/4/R2K", "????/????/r???/1?2/R2K", "k1??/2??/rp??/2??/R???"),
    # A pawn sees the square ahead if it is free, and no empty diagonals.
    ("k3/4/1P2/3K", "????/?1??/?P2/??1K", "k1??/2??/????/????"),
    # It does not see what blocks its way.
    ("k2n/4/p2p/P3/3K", "????/????/????/P?2/??1K", "k1?n/2??/p?1p/???1/????"),
    # It sees what it can capture.
    ("k3/4/1p2/P3/2K1", "????/????/1p??/P3/?1K1", "k1??/2??/?p??/P1??/????"),
])
def test_views(position, white, black):
  chessboard, board, _ = minichess.parse(position)
  found = chessboard.position(board)
  assert found.texts == (white, black)
  assert tuple(map(chessboard.text, found.views)) == (white, black)


@pytest.mark.parametrize("columns, rows", [(2, 2), (4, 3), (3, 4), (7, 7)])
def test_moves_are_numbered(columns, rows):
  chessboard = minichess.Chessboard(columns, rows)
  names = list(map(chessboard.move_name, range(len(chessboard.moves))))
  assert len(set(names)) == len(names)
  assert list(chessboard.moves) == sorted(
      chessboard.moves, key=lambda move: (
          move.origin, move.target, ["", *"qrbn"].index(move.promotion)))


@pytest.mark.parametrize("fen, columns, rows, board, player", [
    ("k3/3R/2K1 w", 4, 3, "..K....Rk...", 0),
    ("k3/3R/2K1", 4, 3, "..K....Rk...", 0),
    ("k2/3/3/1qK b", 3, 4, ".qK......k..", 1),
    ("k1K/12/2P/3", 3, 4, ".....P...k.K", 0),
])
def test_parse(fen, columns, rows, board, player):
  chessboard, *found = minichess.parse(fen)
  assert (chessboard.columns, chessboard.rows) == (columns, rows)
  assert found == [board, player]


@pytest.mark.parametrize("fen, reason", [
    ("", "must be the ranks"),
    ("k3/3R/2K1 x", "must be the ranks"),
    ("k3/3R/2K1 w - - 0 1", "must be the ranks"),
    ("k3/3R/2K", "must have 2 to 7 ranks"),
    ("k3/3R3/2K1", "must have 2 to 7 ranks"),
    ("k2K", "must have 2 to 7 ranks"),
    ("k/1/K", "must have 2 to 7 ranks"),
    ("k7/8/7K", "must have 2 to 7 ranks"),
    ("k3/3X/2K1", "must have only the pieces"),
    ("k.../3R/2K1", "must have only the pieces"),
    ("k3/3R/3?", "must have only the pieces"),
    ("k3/3R/4", "must have one king"),
    ("4/3R/2K1", "must have one king"),
    ("k3/3K/2K1", "must have one king"),
    ("kP2/4/2K1", "must have no pawn"),
    ("k3/4/2Kp", "must have no pawn"),
    ("kp/nn/1K b", "must let the first player move"),
])
def test_bad_positions(fen, reason):
  with pytest.raises(ValueError) as error:
    minichess.parse(fen)
  assert str(error.value).startswith(f"fen={fen!r}: {reason}")


def test_rules_do_without_pyspiel():
  program = ("import importlib.util, sys; "
             "spec = importlib.util.spec_from_file_location('rules', "
             f"{minichess.__file__!r}); "
             "rules = importlib.util.module_from_spec(spec); "
             "sys.modules['rules'] = rules; "
             "spec.loader.exec_module(rules); "
             "print(rules.parse('k3/3R/2K1')[1], 'pyspiel' in sys.modules)")
  output = subprocess.run([sys.executable, "-c", program], check=True,
                          capture_output=True, text=True).stdout
  assert output == "..K....Rk... False\n"
