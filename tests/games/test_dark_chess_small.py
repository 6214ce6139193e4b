"""Dark chess on small boards: how games end, and what the players see."""

import random

import helpers
import numpy as np
import pyspiel
import pytest

from dudo_spiel import minichess
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms.tabular.tree import game_tree

# Two kings in opposite corners of a board of 3x3.
_KINGS = "dark_chess_small(fen=k2/3/2K,moves_per_player=2)"


@pytest.mark.parametrize("moves, returns", [
    (("d2b2", "a3b2", "c1b2"), [1.0, -1.0]),
    (("c1b1", "a3a2", "b1a1", "a2a1"), [-1.0, 1.0]),
])
def test_capturing_the_king_wins(moves, returns):
  state = helpers.start("dark_chess_small", *moves[:-1])
  assert not state.is_terminal()
  assert state.returns() == [0.0, 0.0]
  helpers.do(state, moves[-1])
  assert state.is_terminal()
  assert state.returns() == returns
  assert state.legal_actions() == []


def test_capturing_another_piece_does_not_end_the_game():
  state = helpers.start("dark_chess_small", "d2a2", "a3a2")
  assert not state.is_terminal()
  assert helpers.legal(state) == ["c1b1", "c1d1", "c1b2", "c1c2", "c1d2"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_draw_when_both_have_made_their_moves(limit):
  game = f"dark_chess_small(fen=k3/4/4/3K,moves_per_player={limit})"
  moves = ["d1c1", "a4b4", "c1d1", "b4a4", "d1d2", "a4a3", "d2d1", "a3b4",
           "d1c1", "b4a4"]
  state = helpers.start(game, *moves[:2 * limit - 1])
  assert not state.is_terminal()
  helpers.do(state, moves[2 * limit - 1])
  assert state.is_terminal()
  assert state.result() == "1/2-1/2"
  assert state.returns() == [0.0, 0.0]


def test_the_last_move_can_still_win():
  game = "dark_chess_small(fen=k3/4/4/3K,moves_per_player=3)"
  state = helpers.start(game, "d1c2", "a4b4", "c2b2", "b4b3", "b2a2", "b3a2")
  assert state.returns() == [-1.0, 1.0]


def test_draw_when_the_player_to_move_has_no_move():
  # Black has no move, whatever White does: knights have none on two columns of
  # three squares, and the king and the pawn are hemmed in by them.
  state = helpers.start("dark_chess_small(fen=kp/nn/K1)", "a1b1")
  assert state.is_terminal()
  assert state.returns() == [0.0, 0.0]
  assert state.result() == "1/2-1/2"


def test_draw_by_the_third_repetition():
  game = "dark_chess_small(moves_per_player=5)"
  round_trip = ["c1d1", "a3b3", "d1c1", "b3a3"]
  state = helpers.start(game, *round_trip, *round_trip[:3])
  assert not state.is_terminal()
  other = state.clone()
  helpers.do(state, "b3a3")
  assert state.is_terminal()
  assert state.returns() == [0.0, 0.0]
  # Another end of the same length goes on.
  helpers.do(other, "b3c3")
  assert not other.is_terminal()


def test_the_same_board_with_the_other_player_to_move_is_no_repetition():
  # The white king loses a tempo on the way round: a triangle of three moves.
  game = "dark_chess_small(fen=k4/5/5/4K,moves_per_player=50)"
  state = helpers.start(game)
  first = state.board
  there = ["e1d1", "a4b4", "d1d2", "b4a4", "d2e1"]
  helpers.do(state, *there)
  assert state.board == first and state.current_player() == 1
  back = ["a4b4", "e1d1", "b4a4", "d1e1"]
  helpers.do(state, *back)
  assert state.board == first and state.current_player() == 1
  # The third time for the board, the second with Black to move.
  assert not state.is_terminal()
  helpers.do(state, *back)
  assert state.is_terminal()


def test_black_can_start():
  state = helpers.start("dark_chess_small(fen=k3/3R/2K1 b,moves_per_player=1)")
  assert state.current_player() == 1
  assert helpers.legal(state) == ["a3a2", "a3b2", "a3b3"]
  helpers.do(state, "a3b3")
  assert state.current_player() == 0
  assert helpers.do(state, "c1d1").is_terminal()


def test_information_states():
  state = helpers.start("dark_chess_small")
  assert state.information_state_string(0) == "p0 boards:???1/3R/?1K1 moves:0"
  assert state.information_state_string(1) == "p1 boards:k1??/2??/???? moves:0"
  helpers.do(state, "d2a2")
  assert state.information_state_string(0) == (
      "p0 boards:???1/3R/?1K1,k???/R3/2K1 moves:1")
  assert state.information_state_string(1) == (
      "p1 boards:k1??/2??/????,k1??/R1??/???? moves:1")
  helpers.do(state, "a3b3")
  assert state.observation_string(0) == "p0 board:1???/R3/2K1 moves:2"
  assert state.observation_string(1) == "p1 board:1k1?/R2?/???? moves:2"


def test_players_are_told_the_result():
  state = helpers.start("dark_chess_small", "d2b2", "a3b2", "c1b2")
  for player in range(2):
    assert state.information_state_string(player).endswith("result:1-0")
    assert state.observation_string(player).endswith("result:1-0")


# OpenSpiel's own dark chess, on boards of 4x4.
_SQUARE = ["r1kr/pppp/PPPP/R1KR w", "k3/4/3R/2K1 b", "qk2/1p1p/P1P1/2KQ w",
           "bnk1/p2p/P2P/1KNB b", "k2p/P3/3p/P2K w", "k3/4/4/3K w"]


@pytest.mark.oracle
@pytest.mark.parametrize("fen", _SQUARE)
def test_equals_open_spiels_dark_chess(fen):
  rng = random.Random(fen)
  stock = pyspiel.load_game(f"dark_chess(board_size=4,fen={fen} - - 0 1)")
  game = pyspiel.load_game(f"dark_chess_small(fen={fen},moves_per_player=50)")
  text = game.chessboard.text
  results = set()
  for number in range(10):
    theirs, ours = stock.new_initial_state(), game.new_initial_state()
    while True:
      assert str(theirs).split()[0] == text(ours.board)
      if ours.num_moves() == game.max_game_length():
        break  # a limit that OpenSpiel does not have
      assert theirs.is_terminal() == ours.is_terminal()
      assert theirs.returns() == ours.returns()[::-1]
      for player in range(2):  # OpenSpiel's player 0 is Black
        assert theirs.observation_string(1 - player).split()[0] == (
            ours.observation_string(player).split()[1].removeprefix("board:"))
      if ours.is_terminal():
        results.add(ours.result())
        break
      assert theirs.current_player() == 1 - ours.current_player()
      their_children = {str(child).split()[0]: child for child in map(
          theirs.child, theirs.legal_actions())}
      our_children = {text(child.board): child for child in map(
          ours.child, ours.legal_actions())}
      assert len(our_children) == len(ours.legal_actions())
      assert their_children.keys() == our_children.keys()
      boards = sorted(our_children)
      if number % 2:  # a long game, in which nobody captures a king
        boards = [board for board in boards
                  if "K" in board and "k" in board] or boards
      board = rng.choice(boards)
      theirs, ours = their_children[board], our_children[board]
  assert results >= {"1-0", "0-1"}
  if "p" not in fen:  # boards come back, because no pawn moves on
    assert "1/2-1/2" in results


def _count(fen, limit):
  """Returns how many (histories, decision nodes) there are, by the rules."""
  chessboard, start, first = minichess.parse(fen)
  after = {}  # (board, player) -> the boards after each legal move

  def children(board, player):
    if (board, player) not in after:
      after[board, player] = [
          chessboard.after(board, move)
          for move in chessboard.position(board).legal[player]]
    return after[board, player]

  def visit(path, player):
    board = path[-1]
    if (len(path) > 2 * limit or minichess.KINGS[player] not in board or
        not children(board, player) or path[::-2].count(board) == 3):
      return 1, 0
    if len(path) == 2 * limit:  # before the last move
      return 1 + len(children(board, player)), 1
    histories, decisions = 1, 1
    for child in children(board, player):
      path.append(child)
      more = visit(path, 1 - player)
      path.pop()
      histories += more[0]
      decisions += more[1]
    return histories, decisions

  return visit([start], first)


_START = "k3/3R/2K1 w"
_ROOKS = "kr2/4/2RK w"


@pytest.mark.parametrize("fen, limit, histories, decisions, info_states", [
    (_START, 1, 37, 10, 5),
    (_START, 2, 1_342, 226, 128),
    (_START, 3, 47_298, 8_899, 4_403),
    (_ROOKS, 1, 42, 7, 4),
    (_ROOKS, 2, 2_164, 292, 206),
    pytest.param(_START, 4, 1_643_820, 294_093, 142_742,
                 marks=pytest.mark.slow),
    pytest.param(_ROOKS, 3, 113_790, 14_880, 10_469, marks=pytest.mark.slow),
])
def test_tree_sizes(fen, limit, histories, decisions, info_states):
  assert _count(fen, limit) == (histories, decisions)
  tree = game_tree.GameTree(pyspiel.load_game(
      f"dark_chess_small(fen={fen},moves_per_player={limit})"))
  assert tree.num_nodes == histories
  assert np.sum(tree.player >= 0) == decisions
  assert tree.num_info_sets == info_states


@pytest.mark.slow
@pytest.mark.parametrize("fen, limit, histories, decisions", [
    (_START, 5, 56_567_531, 10_282_970), (_ROOKS, 4, 5_951_870, 761_321)])
def test_sizes_of_large_trees(fen, limit, histories, decisions):
  assert _count(fen, limit) == (histories, decisions)


def test_white_wins_from_the_start_position():
  # The rook on b2 attacks every square to which the black king can go. If the
  # king captures the rook, the white king captures it.
  state = helpers.start("dark_chess_small(moves_per_player=2)", "d2b2")
  for action in state.legal_actions():
    child = state.child(action)
    assert 1.0 in [child.child(reply).returns()[0]
                   for reply in child.legal_actions()]


def test_cfr_finds_the_value_of_hidden_kings():
  # White steps to b1 or c2, Black to a2 or b3 without seeing it. One of the two
  # pairs meets, and White captures; the other ends in a draw. All else loses
  # the king. So both have to guess: White wins half of the games.
  game = pyspiel.load_game(_KINGS)
  solver = cfr.PDCFRPlusSolver(game)
  assert solver.solve(target_exploitability=1e-5,
                      max_iterations=10_000).exploitability <= 1e-5
  assert solver.expected_values() == pytest.approx([0.5, -0.5], abs=1e-4)
  policy = solver.average_policy()
  for moves, names in [((), ("c1b1", "c1c2")), (("c1b1",), ("a3a2", "a3b3"))]:
    state = helpers.start(_KINGS, *moves)
    chances = {state.action_to_string(action): chance for action, chance
               in policy.action_probabilities(state).items()}
    assert [chances[name] for name in names] == pytest.approx([0.5, 0.5],
                                                              abs=0.01)


def test_resampling_follows_what_the_player_has_seen():
  # White goes to b1 or c2, or to b2, which Black would see.
  rng = np.random.RandomState(1)
  state = helpers.start(_KINGS, "c1b1")
  boards = [state.resample_from_infostate(1, rng.uniform).board
            for _ in range(1000)]
  text = state.get_game().chessboard.text
  assert {text(board) for board in boards} == {"k2/3/1K1", "k2/2K/3"}
  assert boards.count(state.board) / 1000 == pytest.approx(0.5, abs=0.06)


def test_resampling_weighs_moves_by_how_likely_they_are():
  # White has seen nothing of two moves by Black. Of the ways in which Black
  # could have moved at random, each is as likely as 1 over the number of
  # legal moves, twice.
  game = "dark_chess_small(fen=k4/5/5/5/4K,moves_per_player=3)"
  state = helpers.start(game, "e1d1", "a5b5", "d1e1", "b5a5")
  ways = {}
  seen = state.information_state_string(0)
  before = helpers.start(game, "e1d1")
  for one in before.legal_actions():
    middle = helpers.do(before.child(one), "d1e1")
    for two in middle.legal_actions():
      after = middle.child(two)
      if after.information_state_string(0) == seen:
        chance = 1 / len(before.legal_actions()) / len(middle.legal_actions())
        ways[str(after)] = chance
  total = sum(ways.values())
  rng = np.random.RandomState(2)
  drawn = [str(state.resample_from_infostate(0, rng.uniform))
           for _ in range(1000)]
  assert set(drawn) <= set(ways)
  for name, chance in ways.items():
    assert drawn.count(name) / 1000 == pytest.approx(chance / total, abs=0.05)


@pytest.mark.parametrize("limit", [0, -1, 51])
def test_bad_limits(limit):
  with pytest.raises(ValueError, match=f"^moves_per_player={limit}: must be an "
                                       "integer between 1 and 50"):
    pyspiel.load_game(f"dark_chess_small(moves_per_player={limit})")


def test_bad_position():
  with pytest.raises(ValueError, match="^fen='k3/3R/4': must have one king K"):
    pyspiel.load_game("dark_chess_small(fen=k3/3R/4)")


@pytest.mark.parametrize("moves, action, message", [
    ((), 0, "not legal for player 0; allowed are .* \\(d2b2\\)"),
    (("d2b2",), 10_000, "not legal for player 1"),
    (("d2b2", "a3b2", "c1b2"), 0, "the game is over"),
])
def test_illegal_actions(moves, action, message):
  state = helpers.start("dark_chess_small", *moves)
  with pytest.raises(ValueError, match=f"action={action}: {message}"):
    state.apply_action(action)
