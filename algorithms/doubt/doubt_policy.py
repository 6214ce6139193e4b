"""Policies for Dudo that know only their own dice and the last claim.

`DummyPolicy`, `HeuristicPolicy` and `DoubtPolicy` play what `doubt_kernels`
plays in compiled code: the simple opponents, and the agent that has learned
when to doubt. They play any `dudo` and `dudo_ir` with the rules of that module.
For two players each becomes a `MatchPolicy` with a recall of one claim, so it
can play millions of matches and be measured exactly.
"""

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import odds
from dudo_spiel import rules
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.analysis import bot_policies
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import info_state_count
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.tabular import convertible
from dudo_spiel.games import dudo

FILE_KIND = "doubt_policy"
_HOUSE = rules.HouseRules(wild_ones=False, die_loss="one", exact_reward=False)


def check_game(game):
  """Returns the game if it has the rules of the report, or raises."""
  validation.game("game", game)
  if not isinstance(game, dudo.DudoGame) or game.house != _HOUSE:
    raise ValueError(f"game={game}: must be dudo or dudo_ir with "
                     "wild_ones=False, die_loss=one and exact_reward=False")
  return game


def table_shape(game):
  """Returns (rows, claims) of the table of a `DoubtPolicy`.

  Rows are the rolls of one die, then those of two, and so on (see `rolls`).
  Claims are n x r with the number (n - 1) sides + r - 1.
  """
  rows = sum(game.rolls(k).num_rolls
             for k in range(1, max(game.start_dice) + 1))
  return rows, game.num_sides * sum(game.start_dice)


class LastClaimPolicy(convertible.ConvertiblePolicy):
  """The base of policies that know their own dice and the last claim.

  A subclass implements `_doubts` and `_claims`.

  Args:
    game: a `dudo` or `dudo_ir` without wild ones and exact rewards, where a
      doubt costs one die.
  """

  def __init__(self, game: pyspiel.Game) -> None:
    super().__init__(check_game(game), list(range(game.num_players())))

  def check_game(self, game: pyspiel.Game) -> None:
    """Raises a ValueError if the policy cannot play all of the game."""
    check_game(game)
    if (game.num_sides != self.game.num_sides or
        sum(game.start_dice) > sum(self.game.start_dice) or
        max(game.start_dice) > max(self.game.start_dice)):
      raise ValueError(f"game={game}: must have dice as those of {self.game}, "
                       "the policy's game, and no more of them")

  def _num_info_states(self, game):
    return (info_state_count.num_info_states(game) if game.num_players() == 2
            else None)

  def _doubts(self, hands, total, last):
    """Returns [hand] float64, the probability that a hand doubts a claim.

    `hands` is (number of dice, slice of their rolls), `total` the number of
    dice in play.
    """
    raise NotImplementedError

  def _claims(self, hands, total, last):
    """Returns [hand, claim above the last] float64, chances of claims."""
    raise NotImplementedError

  def _counts(self, hands):
    """Returns [hand, rank - 1] int32, how many dice show each rank."""
    return self.game.rolls(hands[0]).counts[hands[1]]

  def _odds(self, hands, total, claim):
    """Returns [hand] float64, the probability that a claim is true."""
    sides = self.game.num_sides
    return np.array([
        odds.binomial_tail(total - hands[0], claim // sides + 1 - count,
                           1 / sides)
        for count in self._counts(hands)[:, claim % sides].tolist()])

  def _actions(self, hands, total, last):
    """Returns [hand, action] float64: the stronger claims, and then Dudo."""
    if last == self.game.num_sides * total - 1:
      return np.ones((len(self._counts(hands)), 1))
    claims = self._claims(hands, total, last)
    if last < 0:
      return claims
    doubts = self._doubts(hands, total, last)[:, None]
    return np.concatenate([claims * (1.0 - doubts), doubts], axis=1)

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} for the legal actions of the state."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    game = state.get_game()
    try:
      self.check_game(game)
    except ValueError as error:
      raise ValueError(f"state={state}: is not one of {self.game}") from error
    if state.current_player() < 0:
      raise ValueError(f"state={state}: nobody decides there")
    hand = state.hand(player)
    roll = game.rolls(len(hand)).index(hand)
    chances = self._actions((len(hand), slice(roll, roll + 1)),
                            sum(state.dice), state.last_claim())
    return dict(zip(state.legal_actions(player), chances[0].tolist()))

  def to_match_policy(self) -> match_policy.MatchPolicy:
    """Returns the same policy as a `MatchPolicy`, for two players."""
    return bot_policies.last_claim_policy(
        self.game, lambda dice, last: self._actions(
            (dice[0], slice(None)), sum(dice), last).T)


class DummyPolicy(LastClaimPolicy):
  """Claims and doubts as the dummies of `doubt_kernels` do."""

  def _doubts(self, hands, total, last):
    return 0.75 - 0.5 * self._odds(hands, total, last)

  def _claims(self, hands, total, last):
    sides = self.game.num_sides
    counts = self._counts(hands)
    rows = np.arange(len(counts))
    end = sides * total
    best = np.argmax(counts, axis=1)
    if last < 0:
      made = [((counts[rows, best] - 1) * sides + best, 1 / 3)]
      made += [(counts[:, rank] * sides + rank, 1 / 3 / sides)
               for rank in range(sides)]
    else:
      steps = ([sides] * 3 if last % sides == sides - 1 else
               [sides, 1, sides + 1])
      made = [((last // sides + 1) * sides + best, 1 / 3)]
      made += [(np.full(len(counts), last + step), 1 / 9) for step in steps]
    chances = np.zeros((len(counts), end - last - 1))
    for claims, chance in made:
      possible = claims < end
      chances[rows[possible], claims[possible] - last - 1] += chance
    # The remaining probability is uniform.
    chances += (1.0 - chances.sum(axis=1, keepdims=True)) / chances.shape[1]
    return chances


class HeuristicPolicy(LastClaimPolicy):
  """Claims and doubts as `dudo_spiel.bots.HeuristicBot` does."""

  def _doubts(self, hands, total, last):
    return 1.0 - self._odds(hands, total, last)

  def _claims(self, hands, total, last):
    weights = np.stack([self._odds(hands, total, claim) for claim in
                        range(last + 1, self.game.num_sides * total)], axis=1)
    weights[weights.sum(axis=1) <= 0.0] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


class DoubtPolicy(DummyPolicy):
  """Doubts by a table and claims as dummies do.

  Args:
    game: a `dudo` or `dudo_ir` without wild ones and exact rewards, where a
      doubt costs one die.
    table: [row, claim] float64, the probability that a roll doubts a claim.
      Rows are the rolls of one die, then those of two, and so on. Claims are
      n x r with the number (n - 1) sides + r - 1.

  Attributes:
    table: as given.
  """

  def __init__(self, game: pyspiel.Game, table: np.ndarray) -> None:
    super().__init__(game)
    try:
      self.table = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
      raise ValueError(f"table={table!r}: must be an array of numbers"
                       ) from None
    if self.table.shape != table_shape(game):
      raise ValueError(f"table: has shape {self.table.shape}; must be "
                       f"{table_shape(game)}")
    if not np.all((self.table >= 0.0) & (self.table <= 1.0)):
      raise ValueError("table: must have probabilities between 0 and 1")

  def row(self, hand: bytes) -> int:
    """Returns the row of a hand.

    Args:
      hand: bytes, one for each die.
    """
    max_dice = max(self.game.start_dice)
    if (not isinstance(hand, bytes) or not 1 <= len(hand) <= max_dice or
        not all(1 <= face <= self.game.num_sides for face in hand)):
      raise ValueError(f"hand={hand!r}: must be bytes, one for each of 1 to "
                       f"{max_dice} dice, between 1 and {self.game.num_sides}")
    begin = sum(self.game.rolls(k).num_rolls for k in range(1, len(hand)))
    return begin + self.game.rolls(len(hand)).index(hand)

  def _doubts(self, hands, total, last):
    own, chosen = hands
    begin = sum(self.game.rolls(k).num_rolls for k in range(1, own))
    end = begin + self.game.rolls(own).num_rolls
    return self.table[begin:end, last][chosen]

  def save(self, path: annotations.PathLike) -> None:
    """Writes the policy to one file, which `policies.load_policy` reads."""
    archives.save(path, FILE_KIND, {"game": str(self.game)},
                  {"table": self.table}, compress=True)


def from_file(archive, game):
  """Returns the policy in a `archives.Archive`."""
  table = archive.read("table", table_shape(check_game(game)), (np.float64,),
                       0.0)
  return DoubtPolicy(game, table)
