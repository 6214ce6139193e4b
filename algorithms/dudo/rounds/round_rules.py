"""The rounds of a two-player match of Dudo: rules, deals, leaves and tables.

In a round (a, b) the starter has a dice and the other player b. Every leaf is a
challenge, and it is worth what the next round is worth. So rounds are solved in
order of their dice, fewest first (Neller & Hnath 2011, section 4.1).

An information set is a player's own dice, how many dice the opponent has, and
the claims that the player remembers. Who started the round does not matter. So
tables are indexed by (own dice, opponent's dice), and the rounds (a, b) and
(b, a), which share their tables, are trained as a pair.
"""

import collections
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstraction_graph
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.runtime import regret_tables
from dudo_spiel.games import dudo

_MAX_DICE = 99  # of a player, in files
_MAX_VALUE = 1.0 + 1e-3  # of a match to a player, with rounding
_HAND_MULTIPLE = 8  # hands are padded to full vectors of the processor

# A run of deals in which one role's hands are neighbours (step 1) or all the
# same (step 0): deal + i has hand + i * step, for i < length.
SEGMENT = np.dtype([("deal", np.int64), ("hand", np.int64),
                    ("length", np.int64), ("step", np.int64)])

# What was learned about a round so far: the number of sweeps, and the weighted
# sums over the sweeps of the round's value to its starter and of the weights.
# Files hold it as three float64.
RECORD = np.dtype([("sweeps", np.float64), ("value", np.float64),
                   ("weight", np.float64)])


class MatchRules(NamedTuple):
  """All that decides a match of two players, except their dice.

  Attributes:
    num_sides: how many sides a die has.
    house: the `rules.HouseRules`.
    remembered: the `memories.Memory`, what players remember of a round.
  """
  num_sides: int
  house: rules.HouseRules
  remembered: abstractions.Memory

  def rolls(self, num_dice):
    """Returns the table of rolls of this many dice."""
    return rolls_lib.roll_table(num_dice, self.num_sides)

  def claim_order(self, num_dice):
    """Returns the order of claims with this many dice in play."""
    return claims_lib.claim_order(num_dice, self.num_sides,
                                  self.house.wild_ones)

  def memory(self, num_dice):
    """Returns the `abstraction_graph.ClaimMemory` with this many dice in play."""
    return abstraction_graph.claim_memory(self.remembered,
                                     self.claim_order(num_dice))

  def num_memories(self, num_dice):
    """Returns how many memories there are with this many dice in play."""
    return abstraction_graph.num_memories(self.remembered,
                                     self.claim_order(num_dice))

  def table_shape(self, key):
    """Returns (rows, padded hands) of the table of (own, opponent's) dice."""
    rows = abstraction_graph.num_rows(self.remembered, self.claim_order(sum(key)))
    hands = rolls_lib.num_rolls(key[0], self.num_sides)
    return rows, -(-hands // _HAND_MULTIPLE) * _HAND_MULTIPLE


def match_rules(game, memory):
  """Returns the `MatchRules` of a two-player `dudo` or `dudo_ir`.

  Args:
    game: the `pyspiel.Game`.
    memory: the `memories.Memory`, or how many of the last claims are
      remembered.
  """
  if not isinstance(game, dudo.DudoGame) or game.num_players() != 2:
    raise ValueError(f"game={game}: must be dudo or dudo_ir with two players")
  return MatchRules(game.num_sides, game.house,
                    abstractions.parse("memory", memory))


def values_from_file(name, value):
  """Returns the values of rounds as a header of a file has them.

  Args:
    name: of the field.
    value: the field, which must be a list of [dice, other's dice, value].

  Returns:
    A dict from (starter's dice, other's dice) to the starter's value.
  """
  values = {}
  for item in value if isinstance(value, list) else [value]:
    if not isinstance(item, list) or len(item) != 3:
      raise ValueError(f"{name}: must be a list of [starter's dice, other's "
                       "dice, value]")
    *dice, starters = item
    a, b = (validation.integer(name, count, 1, _MAX_DICE) for count in dice)
    values[a, b] = validation.number(name, starters, -_MAX_VALUE, _MAX_VALUE)
  return values


def round_pair(key):
  """Returns the rounds that share tables: ((a, b), (b, a)) or ((a, a),)."""
  return tuple(dict.fromkeys([key, key[::-1]]))


def round_keys(start_dice):
  """Returns the rounds (starter's dice, other's dice) that a match can have.

  Args:
    start_dice: the dice of both players at the start.

  Returns:
    A list of pairs, fewest dice first; (a, b) and (b, a) are neighbours.
  """
  low, high = sorted(start_dice)
  pairs = [(a, b) for b in range(1, high + 1)
           for a in range(1, min(b, low) + 1)]
  pairs.sort(key=lambda pair: (sum(pair), pair))
  return [key for pair in pairs for key in round_pair(pair)]


def match_keys(game):
  """Returns the rounds that can come up in a game, fewest dice first.

  `round_keys` has more: the winner of a challenge, who keeps all dice, starts
  the next round. So if both begin with two dice, no starter has one die and the
  other player two.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.

  Returns:
    A list of (starter's dice, other's dice).
  """
  starter = game.starting_player
  first = game.start_dice[starter], game.start_dice[1 - starter]
  found, left = {first}, [first]
  while left:
    dice = left.pop()
    for claimant, quantity, count in itertools.product(
        range(2), range(1, sum(dice) + 1), range(sum(dice) + 1)):
      after, winner = rules.resolve_challenge(
          dice, claimant, 1 - claimant, quantity, count, game.house)
      key = after[winner], after[1 - winner]
      if all(key) and key not in found:
        found.add(key)
        left.append(key)
  return [key for key in round_keys(game.start_dice) if key in found]


def num_info_states(game):
  """Returns how many information states both players have together.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.
  """
  total = 0
  seen = {}  # dice of both -> set of those who may start with them
  ways = {(tuple(game.start_dice), game.starting_player): 1}
  while ways:
    # Dice only get fewer: no other way leads to the most that there are.
    dice, starter = max(ways, key=lambda key: sum(key[0]))
    count = ways.pop((dice, starter))
    seen.setdefault(dice, set()).add(starter)
    # All rounds before are public. Half of the sets of claims are even.
    total += count * 2**(game.num_sides * sum(dice) - 1) * sum(
        rolls_lib.num_rolls(own, game.num_sides) for own in dice)
    for after, more in _ways_on(game, dice, starter).items():
      ways[after] = ways.get(after, 0) + count * more
  if not hasattr(game, "recall_length"):
    return total
  return sum(rolls_lib.num_rolls(dice[player], game.num_sides) *
             _num_memories(game, sum(dice), {player == s for s in starters})
             for dice, starters in seen.items() for player in (0, 1))


def _ways_on(game, dice, starter):
  """Returns how many ways lead through a round to each start of the next.

  Args:
    game: the `pyspiel.Game`.
    dice: (player 0's, player 1's), how many they have.
    starter: who starts the round.

  Returns:
    A dict from (dice, starter) of the next round to the number of deals and
    lines of claims that lead there.
  """
  ways = collections.Counter()
  wild = game.house.wild_ones
  tables = [rolls_lib.roll_table(own, game.num_sides) for own in dice]
  # By rank: [count] of pairs of rolls in which so many dice match it.
  pairs = [np.convolve(*(np.bincount(table.matches(wild)[:, rank])
                         for table in tables)).tolist()
           for rank in range(game.num_sides)]
  order = claims_lib.claim_order(sum(dice), game.num_sides, wild)
  for claim, (quantity, rank) in enumerate(order.claims):
    for claimant in (0, 1):
      # Half of the sets of weaker claims: their parity says whose turn it was.
      lines = 2**(claim - 1) if claim else int(claimant == starter)
      for count, deals in enumerate(pairs[rank - 1]):
        after, winner = rules.resolve_challenge(
            dice, claimant, 1 - claimant, quantity, count, game.house)
        if lines and deals and all(after):
          ways[tuple(after), winner] += deals * lines
  return ways


def _num_memories(game, num_dice, may_start):
  """Returns how many memories a player can have who is to act.

  Args:
    game: the `pyspiel.Game`, a `dudo_ir`.
    num_dice: how many dice are in play.
    may_start: set of bool, whether the player started the round.
  """
  num_claims = game.num_sides * num_dice
  length = min(game.recall_length, num_claims)
  if len(may_start) == 2:
    return sum(math.comb(num_claims, k) for k in range(length + 1))
  parity = 0 if may_start == {True} else 1
  total = sum(math.comb(num_claims, k) for k in range(parity, length, 2))
  # A full memory may hide an older claim, unless it has the weakest one.
  hides = length % 2 != parity
  return total + math.comb(num_claims - hides, length)


def challenge_values(match, challenger_dice, claimant_dice, values):
  """Returns what a challenge is worth to the challenger.

  Args:
    match: the `MatchRules`.
    challenger_dice: how many dice the challenger has.
    claimant_dice: how many dice the claimant has.
    values: dict from (starter's dice, other's dice) to the starter's value.

  Returns:
    [claim, count] float64, where count dice match the claimed rank.
  """
  num_dice = challenger_dice + claimant_dice
  order = match.claim_order(num_dice)

  @functools.cache
  def value(quantity, count):
    after, winner = rules.resolve_challenge(
        (challenger_dice, claimant_dice), 1, 0, quantity, count, match.house)
    own, other = after
    if not own or not other:
      return 1.0 if own else -1.0
    return values[own, other] if winner == 0 else -values[other, own]

  return np.array([[value(quantity, count) for count in range(num_dice + 1)]
                   for quantity, _ in order.claims])


class DealBatch(NamedTuple):
  """A list of deals for the kernels.

  Attributes:
    hands: for each role [deal] int64, its hand.
    segments: for each role [segment] `SEGMENT`, the same hands as runs.
    weights: for each role [deal], the chance of the opponent's hand, scaled so
      that the deals of a hand weigh 1 on average.
    chances: [deal] float64, how likely the deal is, scaled likewise.
  """
  hands: tuple[np.ndarray, np.ndarray]
  segments: tuple[np.ndarray, np.ndarray]
  weights: tuple[np.ndarray, np.ndarray]
  chances: np.ndarray


def shifted_deals(match, dice, shifts, dtype):
  """Returns a `DealBatch` with every hand of the role that has more hands.

  For each shift, hand h of the role with more dice meets hand
  (h + shift) mod n of the other role, which has n hands. All n shifts together
  make all deals.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    shifts: sequence of int.
    dtype: the type of the weights.
  """
  large = int(dice[1] > dice[0])
  many, few = (match.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole, parts = [], []
  for number, shift in enumerate(shifts):
    begin = number * many
    whole.append((begin, 0, many, 1))
    deal, hand = 0, shift % few
    while deal < many:
      length = min(few - hand, many - deal)
      parts.append((begin + deal, hand, length, 1))
      deal, hand = deal + length, 0
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deal_batch(match, dice, segments, few / len(shifts), dtype)


def all_deals(match, dice, dtype):
  """Returns a `DealBatch` of all deals.

  Runs of deals have neighbouring hands of the role with more dice and one hand
  of the other role, which is fast if that role has few hands.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    dtype: the type of the weights.
  """
  large = int(dice[1] > dice[0])
  many, few = (match.rolls(dice[role]).num_rolls for role in (large, 1 - large))
  whole = [(hand * many, 0, many, 1) for hand in range(few)]
  parts = [(hand * many, hand, many, 0) for hand in range(few)]
  segments = (whole, parts) if large == 0 else (parts, whole)
  return _deal_batch(match, dice, segments, 1.0, dtype)


def _deal_batch(match, dice, runs, scale, dtype):
  """Returns the `DealBatch` of runs; deals weigh `scale` times their chances.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    runs: for each role a list of (deal, hand, length, step).
    scale: float.
    dtype: the type of the weights.
  """
  hands = tuple(
      np.concatenate([hand + step * np.arange(length)
                      for _, hand, length, step in role_runs])
      for role_runs in runs)
  chances = [match.rolls(num_dice).probabilities[own]
             for num_dice, own in zip(dice, hands)]
  return DealBatch(
      hands, tuple(np.array(role_runs, SEGMENT) for role_runs in runs),
      tuple((scale * chances[1 - role]).astype(dtype) for role in range(2)),
      scale * chances[0] * chances[1])


def leaf_values(match, dice, deals, values, dtype):
  """Returns for each role [claim, deal], what it gets by a challenge.

  Args:
    match: the `MatchRules`.
    dice: the dice of both roles.
    deals: the `DealBatch`.
    values: dict from (starter's dice, other's dice) to the starter's value.
    dtype: the type of the result.
  """
  order = match.claim_order(sum(dice))
  matches = [match.rolls(num_dice).matches(match.house.wild_ones)[own]
             for num_dice, own in zip(dice, deals.hands)]
  counts = (matches[0] + matches[1])[:, order.ranks - 1].T
  claims = np.arange(order.num_claims)[:, None]
  return tuple(
      challenge_values(match, dice[role], dice[1 - role],
                       values)[claims, counts].astype(dtype)
      for role in range(2))


def new_tables(match, key, dtype):
  """Returns empty [row, hand] `RegretTables` of (own, opponent's) dice."""
  # The system hands out zeros in small pages, so they are written here.
  shape = match.table_shape(key)
  tables = regret_tables.RegretTables(np.empty(shape, dtype),
                                   np.empty(shape, dtype))
  for table in tables:
    table.fill(0)
  return tables
