"""Policies for `dudo_single_round` as tables of an abstraction.

Trained policies and the hand-made bots are of the same class. A table is [roll,
entry] of weights, with the entries of `single_round_layout.SetLayout`. The
probabilities of the actions of an information set are proportional to their
weights. Where all weights are zero, the set was never trained and the policy is
uniform.
"""

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import bots
from dudo_spiel import odds
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.tabular import convertible

FILE_KIND = "single_round_policy"
BOTS = ("random", "heuristic", "odds")
_DTYPES = ("float32", "float64", "uint8")


class SingleRoundPolicy(convertible.ConvertiblePolicy):
  """An OpenSpiel policy that plays every state of single-round Dudo.

  It plays any seat of `dudo_single_round` and `dudo_single_round_ir` with the
  same rules.

  Args:
    game: the `pyspiel.Game` that the policy is for, a `dudo_single_round_ir`;
      with a layout also `dudo_single_round`.
    table: [roll, entry] float32, float64 or uint8, weights from 0 to 1e33,
      1e150 or 255.
    layout: the `single_round_layout.SetLayout` of an abstraction with the rules
      of the game; None for that of the game itself.

  Attributes:
    layout: the `single_round_layout.SetLayout`.
    table: as given.
  """

  def __init__(self, game: pyspiel.Game, table: np.ndarray,
               layout: single_round_layout.SetLayout | None = None) -> None:
    if layout is None:
      _check_abstract(game)
      layout = single_round_layout.SetLayout(game)
    elif not isinstance(layout, single_round_layout.SetLayout):
      raise ValueError(f"layout={layout!r}: must be a SetLayout")
    elif not _have_same_rules(game, layout.game):
      raise ValueError(f"game={game}: must have the rules of {layout.game}, "
                       "the game of the layout")
    super().__init__(game, list(range(game.num_players())))
    self.layout = layout
    self.table = np.ascontiguousarray(table)
    shape = self.layout.num_rolls, self.layout.num_entries
    high = archives.MAX_MAGNITUDES.get(self.table.itemsize, 255)
    if (self.table.shape != shape or self.table.dtype not in _DTYPES or
        not np.all((self.table >= 0) & (self.table <= high))):
      raise ValueError(
          f"table: is {self.table.shape} of {self.table.dtype}; must be {shape}"
          f" of {' or '.join(_DTYPES)}, all between 0 and {high:g}")

  def check_game(self, game: pyspiel.Game) -> None:
    """Raises a ValueError if the policy cannot play the game."""
    if not self._plays(game):
      raise ValueError(f"game={game}: must have the rules of {self.game}, for "
                       "which the policy is made")

  def _plays(self, game):
    return _have_same_rules(game, self.game)

  def _is_table_of(self, game):
    return str(game) == str(self.layout.game)

  def _num_info_states(self, game):
    return single_round_layout.num_info_states(game)

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} for the legal actions of the state."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    if not self._plays(state.get_game()):
      raise ValueError(f"state={state}: must be one of a game with the rules "
                       f"of {self.game}")
    actions = state.legal_actions(player)
    entry = self.layout.locate(state, player)
    if entry < 0:
      return dict.fromkeys(actions, 1.0)
    roll = self.game.roll_table.index(state.hand(player))
    weights = self.table[roll, entry:entry + len(actions)].tolist()
    total = sum(weights)
    if not total:
      return dict.fromkeys(actions, 1.0 / len(actions))
    return {action: weight / total for action, weight in zip(actions, weights)}

  def weights(self) -> np.ndarray:
    """Returns [roll, entry] float32, weights that do not overflow."""
    if self.table.dtype != np.float64:
      return self.table.astype(np.float32)
    begins = self.layout.set_entries()
    totals = np.add.reduceat(self.table, begins[:-1], axis=1)
    totals[totals == 0.0] = 1.0
    return (self.table / np.repeat(totals, np.diff(begins), axis=1)).astype(
        np.float32)

  @property
  def memory_bytes(self) -> int:
    """Bytes of memory of the table."""
    return self.table.nbytes

  def save(self, path: annotations.PathLike) -> None:
    """Writes the policy to one file, which `policies.load_policy` reads."""
    header = {"game": str(self.layout.game)}
    if not self._is_table_of(self.game):
      header["plays"] = str(self.game)
    archives.save(path, FILE_KIND, header, {"table": self.table},
                  compress=True)


def from_file(archive, game, plays=None):
  """Returns the policy in a `archives.Archive`.

  `game` has the policy's information states; the policy is for `plays`, if that
  is another game.
  """
  _check_abstract(game)
  layout = single_round_layout.SetLayout(game)
  table = archive.read("table", (layout.num_rolls, layout.num_entries),
                       _DTYPES, 0)
  return SingleRoundPolicy(game if plays is None else plays, table, layout)


def bot_policy(game, name):
  """Returns a hand-made bot as a `SingleRoundPolicy`.

  Args:
    game: the `pyspiel.Game`, `dudo_single_round` or an abstraction of it.
    name: one of BOTS, the bots of `bots.make_bot`.
  """
  validation.choice("name", name, BOTS)
  layout = single_round_layout.SetLayout(
      single_round_layout.abstract_game(game, "wait_type_recall", 0))
  table = np.zeros((layout.num_rolls, layout.num_entries))
  chances = _claim_chances(game, layout.num_claims)
  for claim in range(-1, layout.first_forced):
    window = layout.window(claim)
    first = layout.claim_entry[claim + 1, 0]
    weights = table[:, first:first + len(window)]
    if name == "heuristic":
      weights[:] = chances[:, window]
      weights[~weights.any(axis=1)] = 1.0
    elif name == "odds":  # the last of the best
      best = len(window) - 1 - np.argmax(chances[:, window][:, ::-1], axis=1)
      weights[np.arange(len(best)), best] = 1.0
    else:
      near = bots.RandomBot.CLAIM_WEIGHTS[:len(window)]
      weights[:, :len(near)] = near
    if claim < 0:
      continue
    for wait, entry in enumerate(layout.challenge_entry[claim, 0]):
      if name == "random":
        table[:, entry + 1] = bots.RandomBot.CHALLENGE
      elif name == "odds":
        table[:, entry + 1] = chances[:, claim] < bots.OddsBot.THRESHOLD
      elif wait == 0:  # the next to claim
        table[:, entry + 1] = 1.0 - chances[:, claim]
      table[:, entry] = 1.0 - table[:, entry + 1]
  return SingleRoundPolicy(game, table, layout)


def _claim_chances(game, num_claims):
  """Returns [roll, claim] float64, the probability that a claim is true."""
  return np.array([[odds.odds_in_order(game.order, claim, hand)
                    for claim in range(num_claims)]
                   for hand in game.roll_table.hands])


def _check_abstract(game):
  """Raises a ValueError unless the game is an abstraction."""
  if not (single_round_layout.is_single_round(game) and
          hasattr(game, "abstraction")):
    raise ValueError(f"game={game}: must be dudo_single_round_ir")


def _have_same_rules(game, other):
  """Returns whether both are single-round Dudo with the same rules."""
  return (single_round_layout.is_single_round(game) and
          _rules_of(game) == _rules_of(other))


def _rules_of(game):
  return (game.num_players(), game.numdice, game.order.num_sides,
          game.claim_window, game.first_forced)
