"""Neumann poker: each player gets a random rank and bets on it.

The rules are those of Schulze, "An extensive-form fictitious play algorithm
with local best decision updates", section 4.2. Each player antes and gets one
of `num_ranks` ranks. The ranks are independent, so there can be a tie, which
splits the pot. One betting round follows, with at most `num_bets` bets and
raises.

`asymmetric=True` is the game of von Neumann and Morgenstern (section 4.1
there). It has only one bet, and the first player's check leads straight to the
showdown. `num_bets` is then 1 and can be left out.

The actions are those of OpenSpiel's Leduc poker: 0 folds, 1 checks or calls,
2 bets or raises.
"""

import enum
from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import deal_rules
from dudo_spiel import validation
from dudo_spiel.games import base
from dudo_spiel.games import observer

_NUM_PLAYERS = 2
_MAX_RANKS = 10_000
_MAX_BETS = 100
_MAX_STAKE = 1e9

_GAME_TYPE = base.game_type(
    "neumann_poker", "Neumann poker", {
        "num_ranks": 10,
        "num_bets": 2,
        "ante": 0.5,
        "bet": 1.0,
        "raise_size": 1.0,
        "asymmetric": False,
    })


class Action(enum.IntEnum):
  """The actions of the players."""
  FOLD = 0
  CALL = 1  # a check if there is no bet to call
  RAISE = 2  # a bet if there is no bet to raise


_FACING_BET = {Action.FOLD: "f", Action.CALL: "c", Action.RAISE: "r"}
_FACING_NONE = {Action.CALL: "k", Action.RAISE: "b"}


class NeumannPokerGame(base.Game):
  """Neumann poker.

  Attributes:
    num_ranks: how many ranks there are.
    num_bets: how many bets and raises there may be.
    ante: what each player pays before the deal.
    bet: the size of the first bet.
    raise_size: how much a raise adds to the previous bet or raise.
    asymmetric: whether the first player's check leads to the showdown.
  """

  _TYPE = _GAME_TYPE

  def __init__(self, params: dict[str, Any] | None = None) -> None:
    params = self._parameters(params)
    validation.integer("num_ranks", params["num_ranks"], 2, _MAX_RANKS)
    validation.integer("num_bets", params["num_bets"], 1, _MAX_BETS)
    for name in ("ante", "bet", "raise_size"):
      if not 0 < params[name] <= _MAX_STAKE:
        raise ValueError(f"{name}={params[name]}: must be above 0 and at most "
                         f"{_MAX_STAKE:g}")
    self.num_ranks, self.asymmetric = params["num_ranks"], params["asymmetric"]
    self.ante, self.bet = params["ante"], params["bet"]
    self.raise_size = params["raise_size"]
    if self.asymmetric and params["num_bets"] > 2:
      raise ValueError(
          f"num_bets={params['num_bets']}: must be 1 or left out with "
          "asymmetric=True, which is a game of one bet")
    self.num_bets = 1 if self.asymmetric else params["num_bets"]
    max_stake = self.stake(self.num_bets)
    super().__init__(
        pyspiel.GameInfo(
            num_distinct_actions=len(Action),
            max_chance_outcomes=self.num_ranks,
            num_players=_NUM_PLAYERS,
            min_utility=-max_stake,
            max_utility=max_stake,
            utility_sum=0.0,
            # The longest: a check, all bets and raises, a call. If the game
            # is asymmetric: a bet, a call.
            max_game_length=self.num_bets + (1 if self.asymmetric else 2)),
        params)

  def stake(self, bets: int) -> float:
    """Returns what a player has paid after making or calling so many bets."""
    return self.ante + (self.bet + (bets - 1) * self.raise_size if bets else 0)

  def max_chance_nodes_in_history(self) -> int:
    """Returns how many deals there are: one per player."""
    return _NUM_PLAYERS

  def num_lines(self) -> int:
    """Returns how many lines of betting there are, finished or not."""
    # A player who faces a bet, a fold and a call: for each bet three lines.
    after_bet = 3 * self.num_bets
    after_check = 1 if self.asymmetric else 2 + after_bet
    return 1 + after_check + after_bet

  def min_histories(self) -> int:
    """Returns how many histories there are."""
    return 1 + self.num_ranks + self.num_ranks**2 * self.num_lines()

  def deal_rules(self) -> deal_rules.DealRules:
    """Returns the `deal_rules.DealRules`."""
    return NeumannPokerRules(self)

  def new_initial_state(self) -> "NeumannPokerState":
    """Returns the state in which a game starts."""
    return NeumannPokerState(self)

  def _pieces(self):
    return [_rank_piece(self)], [_pot_piece(), _showdown_piece(self)]

  def _recall_pieces(self):
    return ([_rank_piece(self)],
            [_betting_piece(self), _showdown_piece(self)])


class NeumannPokerRules(deal_rules.DealRules):
  """The rules as tables.

  The first tables of returns are those of a showdown after 0, 1, 2 bets and so
  on. Then come those of folds: for 1, 2 bets and so on one for each player.
  """

  def __init__(self, game: NeumannPokerGame) -> None:
    ranks = game.num_ranks
    self.draws = [np.full(ranks, 1.0 / ranks)] * _NUM_PLAYERS
    self.num_hands = (ranks, ranks)
    self.num_lines = game.num_lines()
    self.num_tables = 1 + 3 * game.num_bets
    self._game = game

  def hands(self) -> np.ndarray:
    """Returns [player, deal] int64, the ranks."""
    return np.indices(self.num_hands).reshape(2, -1)

  def hand_texts(self, player: int) -> list[str]:
    """Returns a list of str, the texts of a player's ranks."""
    return [f"p{player} rank:{rank + 1}"
            for rank in range(self._game.num_ranks)]

  def lines(self) -> deal_rules.Lines:
    """Returns the `deal_rules.Lines`."""
    num_bets, asymmetric = self._game.num_bets, self._game.asymmetric

    def legal(actor, table, bets, checks):
      del actor, table, checks
      return (np.where(bets > 0, Action.FOLD, Action.CALL),
              np.where(bets < num_bets, Action.RAISE, Action.CALL) + 1)

    def step(actor, table, bets, checks, action):
      del table
      checks = checks + ((bets == 0) & (action == Action.CALL))
      shows = (action == Action.CALL) & (
          (bets > 0) | (checks == (1 if asymmetric else 2)))
      folds = action == Action.FOLD
      table = np.where(shows, bets, np.where(
          folds, num_bets + 2 * bets - 1 + actor, -1))
      return (np.where(table >= 0, deal_rules.END, 1 - actor), table,
              bets + (action == Action.RAISE), checks)

    return deal_rules.grow_lines((0, -1, 0, 0), legal, step)

  def line_texts(self, lines: deal_rules.Lines) -> list[str]:
    """Returns a list of str, the texts of lines."""
    betting = [""]
    for parent, action in zip(lines.parent[1:].tolist(),
                              lines.action[1:].tolist()):
      before = betting[parent]
      letters = _FACING_BET if before[-1:] in ("b", "r") else _FACING_NONE
      betting.append(before + letters[action])
    return [f" betting:{line}" if line else "" for line in betting]

  def returns(self) -> np.ndarray:
    """Returns [table, player, rank of 0, rank of 1] float64."""
    game = self._game
    rank = np.arange(game.num_ranks)
    sign = np.sign(rank[:, None] - rank).astype(np.float64)
    stakes = np.array([game.stake(bets) for bets in range(game.num_bets + 1)])
    # Who folds has not matched the last bet.
    folds = stakes[:-1, None] * np.array([-1.0, 1.0])
    gain = np.concatenate([
        stakes[:, None, None] * sign,
        np.broadcast_to(folds.reshape(-1, 1, 1), (folds.size, *sign.shape))])
    return np.stack([gain, 0.0 - gain], axis=1)


class NeumannPokerState(base.State):
  """A state of Neumann poker."""

  def __init__(self, game: NeumannPokerGame) -> None:
    super().__init__(game)
    self._rank0 = -1  # player 0's rank in 0..num_ranks-1; -1 before the deal
    self._rank1 = -1
    self._betting = ""  # k: check, b: bet, r: raise, c: call, f: fold

  @property
  def betting(self) -> str:
    """The betting so far: k check, b bet, r raise, c call, f fold."""
    return self._betting

  def rank(self, player: int) -> int:
    """Returns the player's rank in 0..num_ranks-1, or -1 before the deal."""
    return self._rank1 if player else self._rank0

  def stakes(self) -> list[float]:
    """Returns what each player has paid, as a list."""
    game = self.get_game()
    bets = [0, 0]
    for turn, act in enumerate(self._betting):
      if act in "br":
        bets[turn % 2] = max(bets) + 1
      elif act == "c":
        bets[turn % 2] = max(bets)
    return [game.stake(bets[0]), game.stake(bets[1])]

  def is_showdown(self) -> bool:
    """Returns whether the game is over and the ranks decide it."""
    return self._current == base.TERMINAL and self._betting[-1] != "f"

  def _is_hidden_from(self, player, earlier):
    return (earlier.is_chance_node() and not self.is_showdown() and
            player != (0 if earlier._rank0 < 0 else 1))

  def _is_facing_bet(self):
    return self._betting[-1:] in ("b", "r")

  # OpenSpiel (PySpiel) API functions are below.

  def _legal_actions(self, player):
    actions = [Action.CALL]
    if self._is_facing_bet():
      actions.insert(0, Action.FOLD)
    num_bets = len(self._betting) - self._betting.count("k")
    if num_bets < self.get_game().num_bets:
      actions.append(Action.RAISE)
    return actions

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """Returns a list of (rank, probability) of the next player's rank."""
    num_ranks = self.get_game().num_ranks
    return [(rank, 1.0 / num_ranks) for rank in range(num_ranks)]

  def _apply_action(self, action):
    game = self.get_game()
    if self._current == base.CHANCE:
      if not 0 <= action < game.num_ranks:
        raise self._illegal(action)
      if self._rank0 < 0:
        self._rank0 = action
      else:
        self._rank1 = action
        self._current = 0
    elif (self._current == base.TERMINAL or
          action not in self._legal_actions(self._current)):
      raise self._illegal(action)
    else:
      facing = self._is_facing_bet()
      letters = _FACING_BET if facing else _FACING_NONE
      self._betting += letters[action]
      checked_down = self._betting == ("k" if game.asymmetric else "kk")
      over = checked_down or (facing and action != Action.RAISE)
      self._current = base.TERMINAL if over else 1 - self._current

  def _action_to_string(self, player, action):
    if player == base.CHANCE:
      return f"Deal {action + 1}"
    if action == Action.FOLD:
      return "Fold"
    if self._is_facing_bet():
      return "Call" if action == Action.CALL else "Raise"
    return "Check" if action == Action.CALL else "Bet"

  def _action_fields(self, player, action):
    return {"rank": action + 1} if player == base.CHANCE else {}

  def returns(self) -> list[float]:
    """Returns each player's total reward so far, as a list."""
    if self._current != base.TERMINAL:
      return [0.0, 0.0]
    stakes = self.stakes()
    if self._betting[-1] == "f":
      folder = (len(self._betting) - 1) % 2
      gain = stakes[folder] if folder else -stakes[folder]
    else:
      sign = (self._rank0 > self._rank1) - (self._rank0 < self._rank1)
      gain = sign * stakes[0]
    return [gain, 0.0 - gain]  # -gain would be -0.0 after a tie

  def __str__(self):
    """Returns the ranks and the betting, unique to the history."""
    ranks = [str(self.rank(p) + 1) if self.rank(p) >= 0 else "?"
             for p in range(_NUM_PLAYERS)]
    return " ".join(filter(None, [*ranks, self._betting]))


# The pieces of observations.


def _rank_piece(game):
  """The player's own rank."""
  return observer.number_piece("rank", game.num_ranks,
                               lambda state, player: state.rank(player) + 1,
                               "rank", first=1)


def _betting_piece(game):
  """The betting so far."""
  letters = "kbrcf"

  return observer.counting_piece(
      "betting", (game.max_game_length(), len(letters)),
      lambda state, player: [(turn, letters.index(act))
                             for turn, act in enumerate(state.betting)],
      lambda state, player: state.betting and f"betting:{state.betting}",
      lambda state, player: {"betting": state.betting,
                             "stakes": state.stakes()})


def _pot_piece():
  """What each player has paid, and who is to act."""

  def write(state, player, array):
    array[:2] = state.stakes()
    if state.current_player() >= 0:
      array[2 + state.current_player()] = 1

  def text(state, player):
    stakes = "stakes:" + ",".join(map(repr, state.stakes()))
    actor = state.current_player()
    return f"{stakes} turn:{actor}" if actor >= 0 else stakes

  return observer.Piece("stakes_and_turn", (4,), write, text)


def _showdown_piece(game):
  """Both ranks, once there is a showdown."""

  def ranks(state):
    return [state.rank(0), state.rank(1)] if state.is_showdown() else []

  return observer.counting_piece(
      "showdown", (_NUM_PLAYERS, game.num_ranks),
      lambda state, player: enumerate(ranks(state)),
      lambda state, player: observer.labelled(
          "showdown", [rank + 1 for rank in ranks(state)]),
      lambda state, player: {"showdown": [rank + 1 for rank in ranks(state)]})


pyspiel.register_game(_GAME_TYPE, NeumannPokerGame)
