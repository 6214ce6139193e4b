"""Information sets of `dudo_single_round` under an abstraction, by the rules.

Gendre & Kaneko, "Counterfactual Regret Minimisation for playing the multiplayer
bluffing dice game Dudo" (2019), section 4. There is a column of entries for
each roll, with one entry for each action of each information set. So the
entries that a deal reads and writes of a player are contiguous:

  entry of an action = roll * num_entries + first entry of the set + action

A situation is the public state in the abstraction: the current claim, the
values of the claims before it, and the claimer. Seats share the columns: an
information set does not tell the seat of its player.

The remembered values are one integer, the past: with S sides, digits of base
S + 1, the latest value as the lowest digit, 0 for none.
"""

import collections

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.games import dudo_single_round

ABSTRACTIONS = tuple(map(str, dudo_single_round.Abstraction))

# The largest number of triples (claim, past, claimer).
MAX_SITUATIONS = 20_000_000


def is_single_round(game):
  """Returns whether the game is `dudo_single_round` or an abstraction."""
  return isinstance(game, dudo_single_round.DudoSingleRoundGame)


def abstract_game(game: pyspiel.Game, abstraction: str | None = None,
                  recall_length: int | None = None) -> pyspiel.Game:
  """Returns the `dudo_single_round_ir` game with these abstractions.

  Args:
    game: a `pyspiel.Game`, `dudo_single_round` or `dudo_single_round_ir`.
    abstraction: one of ABSTRACTIONS; None for that of the game, or else
      "wait_type_recall".
    recall_length: number of values that are remembered; None for that of the
      game, or else 3.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import pfsi
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> pfsi.abstract_game(game).get_type().short_name
    'dudo_single_round_ir'
  """
  if not is_single_round(game):
    raise ValueError(f"game={game}: must be dudo_single_round or "
                     "dudo_single_round_ir")
  parameters = dict(game.get_parameters())
  if abstraction is not None:
    if not isinstance(abstraction, str) or abstraction not in ABSTRACTIONS:
      raise ValueError(f"abstraction={abstraction!r}: must be None or one of "
                       f"{', '.join(map(repr, ABSTRACTIONS))}")
    parameters["abstraction"] = str(abstraction)
  if recall_length is not None:
    parameters["recall_length"] = validation.integer(
        "recall_length", recall_length, 0, 2**31 - 1)
  return pyspiel.load_game("dudo_single_round_ir", parameters)


def num_claim_lines(game):
  """Returns the number of sequences of claims, the empty one included."""
  return sum(_lines_by_claim(game))


def _lines_by_claim(game):
  """Returns [claim + 1], the number of sequences that end with each claim."""
  num_claims = game.order.num_claims
  lines = [1] + [0] * num_claims
  for claim in range(-1, game.first_forced):
    for stronger in range(claim + 1, min(claim + 1 + game.claim_window,
                                         num_claims)):
      lines[stronger + 1] += lines[claim + 1]
  return lines


def num_info_states(game):
  """Returns the number of information states of all players."""
  others = game.num_players() - 1
  if not hasattr(game, "abstraction"):  # the player to claim, then the others
    lines = _lines_by_claim(game)
    return game.roll_table.num_rolls * (
        sum(lines[:game.first_forced + 1]) + others * sum(lines[1:]))
  layout = SetLayout(game)
  claimers = layout.situations.sum(axis=2)  # [claim + 1, past]
  deciding = others * claimers[1:]
  if not layout.has_wait:  # players do not know the distance to the claimer
    deciding = np.minimum(deciding, others + 1)
  return layout.num_rolls * int(claimers[:layout.first_forced + 1].sum() +
                                deciding.sum())


class LayoutSizes:
  """How large the layout of an abstraction is, by the rules alone.

  Args:
    game: the `pyspiel.Game`, a `dudo_single_round_ir`.

  Attributes:
    game: the game.
    num_players: number of players.
    num_sides: number of sides of a die.
    num_rolls: number of rolls of a player, which is the number of columns.
    claim_window: number of next claims that are legal.
    first_forced: claims from this number on must be challenged.
    num_claims: number of claims that can be made, including those from
      `first_forced` on that are in the window of a weaker one.
    recall_length: number of values that are remembered.
    num_pasts: number of pasts; not all are reachable.
    has_wait: whether players know the number of turns until they claim.
  """

  def __init__(self, game):
    self.game = game
    self.num_players = game.num_players()
    self.num_sides = game.order.num_sides
    self.num_rolls = game.roll_table.num_rolls
    self.claim_window = game.claim_window
    self.first_forced = game.first_forced
    self.num_claims = min(self.first_forced + self.claim_window,
                          game.order.num_claims)
    kinds = dudo_single_round.Abstraction
    length = 0 if game.abstraction == kinds.NO_RECALL else game.recall_length
    self.recall_length = min(length, self.num_claims - 1)
    self.num_pasts = (self.num_sides + 1)**self.recall_length
    self.has_wait = game.abstraction == kinds.WAIT_TYPE_RECALL
    size = (self.num_claims + 1) * self.num_pasts * self.num_players
    if size > MAX_SITUATIONS:
      raise ValueError(
          f"recall_length={game.recall_length}: with {self.num_players} players"
          f" and {self.num_claims} claims of {self.num_sides} values there may "
          f"be {size} situations; must be at most {MAX_SITUATIONS}, so choose "
          "a smaller recall_length")

  def window(self, claim):
    """Returns the range of claims that may follow a claim."""
    return range(claim + 1, min(claim + 1 + self.claim_window, self.num_claims))

  def count_entries(self):
    """Returns the number of entries of a column, without listing any set.

    Claims one above the other make a past. What it tells of a gap between
    them is the gap modulo the number of sides, so it is one of the smallest
    gaps, which leave most room below. Where players remember all claims, the
    first one must be in the window of the start; gaps may then be larger.
    """
    step = min(self.claim_window, self.num_sides)
    num_pasts = np.zeros(self.first_forced, np.int64)  # [claim]
    # (sum of the gaps, by how many times the sides they may grow): pasts
    chains = {(0, 0): 1}
    for length in range(self.recall_length + 1):
      longer = collections.Counter()
      for (total, slack), count in chains.items():
        end = (None if length == self.recall_length else
               total + self.claim_window + slack * self.num_sides)
        num_pasts[total:end] += count
        for gap in range(1, step + 1):
          growth = (self.claim_window - gap) // self.num_sides
          longer[total + gap, slack + growth] += count
      chains = longer
    waits = self.num_players - 1 if self.has_wait else 1
    return len(self.window(-1)) + sum(
        int(count) * (2 * waits + len(self.window(claim)))
        for claim, count in enumerate(num_pasts))


class SetLayout(LayoutSizes):
  """The layout of the information sets of an abstraction.

  Args:
    game: the `pyspiel.Game`, a `dudo_single_round_ir`.

  Attributes:
    situations: [claim + 1, past, claimer] bool, whether it is reachable;
      claim -1, by the last player, is the start.
    claim_entry: [claim + 1, past] int32, the first entry of the set in which
      a player claims, -1 where there is none.
    challenge_entry: [claim, past, wait - 1] int32, the first entry of the set
      in which a player decides on a challenge (Pass, then Challenge), -1 where
      there is none. Without `has_wait` it does not depend on the wait.
    num_entries: number of entries of a column.
    num_sets: number of information sets of a roll.
  """

  def __init__(self, game):
    super().__init__(game)
    self.situations = self._find_situations()
    self._number_entries()

  def after(self, past, claim):
    """Returns the past when the current claim is no longer the last.

    `past` is an int or array, the values of the claims before `claim`. Claim
    -1, before the first, leaves no value.
    """
    if claim < 0:
      return past
    value = claim % self.num_sides + 1
    return (value + (self.num_sides + 1) * past) % self.num_pasts

  def _find_situations(self):
    found = np.zeros((self.num_claims + 1, self.num_pasts,
                      self.num_players), bool)
    found[0, 0, self.num_players - 1] = True
    for claim in range(-1, self.first_forced):
      past, claimer = np.nonzero(found[claim + 1])
      after = self.after(past, claim)
      following = (claimer + 1) % self.num_players
      for stronger in self.window(claim):
        found[stronger + 1, after, following] = True
    return found

  def _number_entries(self):
    """Numbers entries claim by claim: challenges first, then claims."""
    waits = self.num_players - 1
    self.claim_entry = np.full(self.situations.shape[:2], -1, np.int32)
    self.challenge_entry = np.full(
        (self.num_claims, self.num_pasts, waits), -1, np.int32)
    entry = num_sets = 0
    for claim in range(-1, self.first_forced):
      pasts = np.flatnonzero(self.situations[claim + 1].any(axis=1))
      if claim >= 0:
        shape = (len(pasts), waits if self.has_wait else 1)
        index = np.arange(shape[0] * shape[1]).reshape(shape)
        self.challenge_entry[claim, pasts] = entry + 2 * index
        entry += 2 * index.size
        num_sets += index.size
      num_actions = len(self.window(claim))
      self.claim_entry[claim + 1, pasts] = (
          entry + num_actions * np.arange(len(pasts)))
      entry += num_actions * len(pasts)
      num_sets += len(pasts)
    self.num_entries, self.num_sets = entry, num_sets

  def set_entries(self):
    """Returns [set + 1] int32, where the sets of a column begin, in order."""
    begins = [self.claim_entry[self.claim_entry >= 0],
              self.challenge_entry[self.challenge_entry >= 0]]
    return np.append(np.unique(np.concatenate(begins)),
                     self.num_entries).astype(np.int32)

  def locate(self, state, player):
    """Returns the first entry of the set of a player who acts in a state.

    It is -1 where Challenge is the only legal action.
    """
    claims = state.claim_list()
    past = 0
    for claim in claims[:-1]:
      past = self.after(past, claim)
    last = claims[-1] if claims else -1
    if state.phase() == "claim":
      return int(self.claim_entry[last + 1, past])
    if last >= self.first_forced:
      return -1
    wait = (player - state.claimer()) % self.num_players
    return int(self.challenge_entry[last, past, wait - 1])
