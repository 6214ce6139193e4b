"""Dark chess on a small board, with few moves for each player.

The game is from Rudolf, "Efficiency of Counterfactual Regret Minimizations
Variants in Diverse Domains" (2021), section 5.1.4, which plays it on a board of
4x3 squares with 2 to 5 moves for each player. It says only that players see the
pieces that they can capture. All other rules are those of OpenSpiel's
`dark_chess`, which has neither information states nor boards that are not
square. `minichess` says how pieces move and what players see. The game ends as
follows:

- Whoever captures the king wins.
- It is a draw if the player to move has no legal move, if the same board comes
  up for the third time with the same player to move, or when both players have
  made `moves_per_player` moves.

Both players know the start position. After each move, whoever made it, both see
their new view of the board. Player 0 has the white pieces.

Action n is the move number n of `minichess.Chessboard.moves`.
"""

import collections
from collections.abc import Callable
import operator
from typing import Any
from typing import Self

import numpy as np
import pyspiel

from dudo_spiel import minichess
from dudo_spiel import validation
from dudo_spiel.games import base
from dudo_spiel.games import observer

_NUM_PLAYERS = 2
_MAX_MOVES = 50
_MAX_REPETITIONS = 3
_RESAMPLING_TRIES = 100

# The thesis does not show its start position. In GTLib2, a library of the same
# group, the Kriegspiel board "minimal 4x3" has these pieces.
_START = "k3/3R/2K1 w"

_GAME_TYPE = base.game_type(
    "dark_chess_small", "Dark chess on a small board",
    {"fen": _START, "moves_per_player": 3}, has_chance=False)

_RESULTS = ("1-0", "1/2-1/2", "0-1")
# What can be on a square of a view, in the order of the tensors.
_SYMBOLS = minichess.PIECES + minichess.EMPTY + minichess.UNSEEN
_SYMBOL_NUMBERS = {symbol: i for i, symbol in enumerate(_SYMBOLS)}


class DarkChessSmallGame(base.Game):
  """Dark chess on a small board.

  Attributes:
    chessboard: the `minichess.Chessboard`.
    start: the board at the start, a str as in `minichess`.
    first_player: who moves first.
    moves_per_player: the maximum number of moves of each player.
  """

  _TYPE = _GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    params = self._parameters(params)
    self.moves_per_player = validation.integer(
        "moves_per_player", params["moves_per_player"], 1, _MAX_MOVES)
    self.chessboard, self.start, self.first_player = minichess.parse(
        params["fen"])
    super().__init__(
        pyspiel.GameInfo(
            num_distinct_actions=len(self.chessboard.moves),
            max_chance_outcomes=0,
            num_players=_NUM_PLAYERS,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=_NUM_PLAYERS * self.moves_per_player), params)

  def new_initial_state(self) -> "DarkChessSmallState":
    """Returns the state in which a game starts."""
    return DarkChessSmallState(self)

  def _pieces(self):
    return [_view_piece(self)], _public_pieces(self)

  def _recall_pieces(self):
    return [_views_piece(self)], _public_pieces(self)


class DarkChessSmallState(base.State):
  """A state of dark chess on a small board."""

  def __init__(self, game: DarkChessSmallGame) -> None:
    super().__init__(game)
    self._current = game.first_player
    self._boards = game.start  # all boards so far, one after another

  @property
  def board(self) -> str:
    """The present board, a str as in `minichess`."""
    return self._boards[-self.get_game().chessboard.num_squares:]

  def boards(self) -> list[str]:
    """Returns a list of all boards so far, the start position first."""
    size = self.get_game().chessboard.num_squares
    return [self._boards[i:i + size]
            for i in range(0, len(self._boards), size)]

  def num_moves(self) -> int:
    """Returns how many moves both players have made together."""
    return len(self._boards) // self.get_game().chessboard.num_squares - 1

  def result(self) -> str:
    """Returns "1-0", "1/2-1/2" or "0-1", or "" before the end."""
    if self._current != base.TERMINAL:
      return ""
    board = self.board
    captured = [king not in board for king in minichess.KINGS]
    return _RESULTS[1 + captured[0] - captured[1]]

  def _is_over(self, board, opponent):
    """Returns whether the move to a board ends the game of the opponent."""
    game = self.get_game()
    if (minichess.KINGS[opponent] not in board or
        not game.chessboard.position(board).legal[opponent]):
      return True
    moves = self.num_moves()
    if moves == game.max_game_length():
      return True
    # A board can come back after two moves of each player, not before.
    return (moves >= 4 * (_MAX_REPETITIONS - 1) and
            self.boards()[moves % 2::2].count(board) >= _MAX_REPETITIONS)

  def resample_from_infostate(self, player_id: int,
                              rng: Callable[[], float]) -> Self:
    """Returns a random state that looks the same to the player as this one.

    The opponent's moves are sampled from their posterior, given all that the
    player has seen; the prior is uniform over legal moves. If no sample has the
    same repetitions, which is rare, the result is a copy of this state.
    """
    looks = self.information_state_string(player_id)
    weights = self._possible_boards(player_id)
    for _ in range(_RESAMPLING_TRIES):
      state = self.get_game().new_initial_state()
      for action in self._draw_moves(weights, rng):
        if state.is_terminal():
          break
        state.apply_action(action)
      if state.information_state_string(player_id) == looks:
        return state
    return self.clone()

  def _possible_boards(self, player):
    """Returns {board: weight} after each move, the boards that are possible.

    A weight is the probability, under uniform play of the opponent, of the
    sequences of moves that lead to the board and look the same to the player.
    """
    game = self.get_game()
    position = game.chessboard.position
    weights = [{game.start: 1.0}]
    for item, board in zip(self.full_history(), self.boards()[1:]):
      view = position(board).views[player]
      following = collections.defaultdict(float)
      for before, weight in weights[-1].items():
        legal = position(before).legal[item.player]
        if item.player == player:
          actions = [item.action]
        else:
          actions, weight = legal, weight / max(len(legal), 1)
        for action in actions:
          after = game.chessboard.after(before, action)
          if position(after).views[player] == view:
            following[after] += weight
      weights.append(following)
    return weights

  def _draw_moves(self, weights, rng):
    """Samples moves backwards by weights that `_possible_boards` returns."""
    chessboard = self.get_game().chessboard
    board = base.sample(weights[-1].items(), rng())
    actions = []
    for item, earlier in zip(reversed(self.full_history()),
                             reversed(weights[:-1])):
      moves = []  # ((board before, action), weight)
      for before, weight in earlier.items():
        legal = chessboard.position(before).legal[item.player]
        moves += [((before, action), weight / len(legal)) for action in legal
                  if chessboard.after(before, action) == board]
      board, action = base.sample(moves, rng())
      actions.append(action)
    return actions[::-1]

  # OpenSpiel (PySpiel) API functions are below.

  def _legal_actions(self, player):
    return list(self.get_game().chessboard.position(self.board).legal[player])

  def _apply_action(self, action):
    chessboard = self.get_game().chessboard
    board = self.board
    if (self._current == base.TERMINAL or
        action not in chessboard.position(board).legal[self._current]):
      raise self._illegal(action)
    board = chessboard.after(board, action)
    self._boards += board
    opponent = 1 - self._current
    over = self._is_over(board, opponent)
    self._current = base.TERMINAL if over else opponent

  def _action_to_string(self, player, action):
    """Returns the move's name, such as "d2a2", or "a3b4q" for a promotion."""
    return self.get_game().chessboard.move_name(action)

  def _to_struct(self):
    chessboard = self.get_game().chessboard
    return {**super()._to_struct(), "board": chessboard.text(self.board),
            "history": list(map(chessboard.move_name, self.history()))}

  def returns(self) -> list[float]:
    """Returns each player's total reward so far, as a list."""
    gain = {"1-0": 1.0, "0-1": -1.0}.get(self.result(), 0.0)
    return [gain, 0.0 - gain]  # -gain would be -0.0 after a draw

  def __str__(self):
    """Returns the board and the moves so far, unique to the history."""
    chessboard = self.get_game().chessboard
    turn = self.result() or "wb"[self._current]
    names = map(chessboard.move_name, self.history())
    return " ".join([chessboard.text(self.board), turn, *names])


# The pieces of observations.


def _write_view(view, array):
  """Writes a view to `array`, [square, symbol] float32."""
  array[np.arange(len(view)), [_SYMBOL_NUMBERS[s] for s in view]] = 1


def _view_piece(game):
  """What the player sees of the board now."""
  position = game.chessboard.position

  return observer.Piece(
      "board", (game.chessboard.num_squares, len(_SYMBOLS)),
      lambda state, player, array: _write_view(
          position(state.board).views[player], array),
      lambda state, player: f"board:{position(state.board).texts[player]}")


def _views_piece(game):
  """What the player has seen of each board, the start position first.

  These views also tell the player's own moves.
  """
  position = game.chessboard.position

  def write(state, player, array):
    for board, rows in zip(state.boards(), array):
      _write_view(position(board).views[player], rows)

  def text(state, player):
    return "boards:" + ",".join(
        [position(board).texts[player] for board in state.boards()])

  return observer.Piece(
      "boards", (game.max_game_length() + 1, game.chessboard.num_squares,
                 len(_SYMBOLS)), write, text,
      lambda state, player: {"boards": [position(board).texts[player]
                                        for board in state.boards()]})


def _public_pieces(game):
  """How many moves both players have made, and the result of a game."""
  return [observer.number_piece("moves", game.max_game_length() + 1,
                                lambda state, player: state.num_moves(),
                                "moves"),
          observer.choice_piece("result", _RESULTS,
                                operator.methodcaller("result"))]


pyspiel.register_game(_GAME_TYPE, DarkChessSmallGame)
