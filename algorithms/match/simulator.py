"""Plays whole matches of two-player Dudo between policies, in compiled code.

As in Neller & Hnath (2011), section 4.1, two policies play two sets of games
in which they trade positions. Both sets have the same luck (common random
numbers): game k of the first set and game k of the second draw the same number
for the roll of each seat and for each turn of a round. So what a seat wins by
its dice alone cancels out, and the standard error, which is that of the mean of
such pairs, is smaller than for independent games.

All games that are at the same numbers of dice play that round together, those
with the most dice first. So a kernel needs the tables of one round only, just
as they are, and keeps its memory accesses close to each other.

Random numbers are a function of the seed, the game, the number of dice in play
and the turn alone (see `random_streams`). No result depends on the number of
threads.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel import rules
from dudo_spiel.algorithms.match import policy as match_policy
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.games import base

_DRAWS = 4096  # numbers a round has in a game's stream; it has fewer turns
_MAX_GAMES = 2**31


class MatchResult(NamedTuple):
  """What came of the games, seen by the first policy.

  Attributes:
    games: how many games were played.
    win_rate: the share that the first policy won.
    standard_error: of the win rate.
    win_rate_as_starter: its share of the games that it started.
    win_rate_as_other: its share of the games that the other started.
  """
  games: int
  win_rate: float
  standard_error: float
  win_rate_as_starter: float
  win_rate_as_other: float


@jit.kernel
def _choose(table, row, row_end, hand, x):
  """Returns an action (from 0), as likely as its weight among the rows."""
  total = 0.0
  for i in range(row, row_end):
    total += np.float64(table[i, hand])
  if not total > 0.0:
    return np.int64(x * (row_end - row))
  rest = x * total
  action = 0
  for i in range(row, row_end):
    weight = np.float64(table[i, hand])
    if weight > 0.0:
      action = i - row
      if rest < weight:
        break
      rest -= weight
  return action


@jit.kernel
def _play_round(tables_0, tables_1, rows, children, seat, begin, cumulative,
                matches, quantities, ranks, after, starter):
  """Plays one round of one game with policy 0 in this seat; see `_play_games`.

  The game's random numbers for this round begin at `begin`. Returns the dice of
  seat 0, those of seat 1 and the seat that starts the next round.
  """
  hand_0 = random_streams.choose(cumulative[0],
                                 random_streams.uniform(begin, 0))
  hand_1 = random_streams.choose(cumulative[1],
                                 random_streams.uniform(begin, 1))
  node_0, node_1, last = 0, 0, -1  # the memories of policies 0 and 1
  actor = starter
  turn = 2
  while True:
    hand = hand_0 if actor == 0 else hand_1
    x = random_streams.uniform(begin, turn)
    if actor == seat:
      action = _choose(tables_0[actor], rows[0][node_0], rows[0][node_0 + 1],
                       hand, x)
    else:
      action = _choose(tables_1[actor], rows[1][node_1], rows[1][node_1 + 1],
                       hand, x)
    claim = last + 1 + action
    if claim == len(ranks):  # Dudo
      break
    node_0 = children[0][node_0] + action
    node_1 = children[1][node_1] + action
    last = claim
    actor = 1 - actor
    turn += 1
  rank = ranks[last] - 1
  count = matches[0][hand_0, rank] + matches[1][hand_1, rank]
  claimant, quantity = 1 - actor, quantities[last]
  return (after[claimant, quantity, count, 0],
          after[claimant, quantity, count, 1],
          after[claimant, quantity, count, 2])


@jit.kernel
def _play_share(thread, threads, tables_0, tables_1, rows, children, cumulative,
                matches, quantities, ranks, after, seed, half, games, state):
  """Plays a thread's share of one round; see `_play_games`."""
  begin = len(games) * thread // threads
  end = len(games) * (thread + 1) // threads
  for i in range(begin, end):
    game = games[i]
    number, seat = (game, 0) if game < half else (game - half, 1)
    draws = random_streams.stream(seed, number) + (
        np.uint64(len(ranks) * _DRAWS) * random_streams.STEP)
    dice_0, dice_1, starter = _play_round(
        tables_0, tables_1, rows, children, seat, draws, cumulative, matches,
        quantities, ranks, after, np.int64(state[game, 2]))
    state[game, 0] = dice_0
    state[game, 1] = dice_1
    state[game, 2] = starter


@jit.parallel
def _play_games(threads, tables_0, tables_1, rows, children, cumulative,
                matches, quantities, ranks, after, seed, half, games, state):
  """Plays one round of all games that are at the same numbers of dice.

  Args:
    threads: among how many threads to share the games.
    tables_0: for each seat [row, hand], the weights of policy 0 there.
    tables_1: the same of policy 1.
    rows: for each policy [memory + 1] int64, `MemoryArrays.row_begin`.
    children: for each policy [memory] int64, `MemoryArrays.child_begin`.
    cumulative: for each seat [roll] float64, for `roll`.
    matches: for each seat [roll, rank - 1] int32, how many dice count.
    quantities: [claim] int32.
    ranks: [claim] int32.
    after: [claimant's seat, quantity, count, 3] uint8: the dice of both seats
      after a challenge, and the seat that starts the next round.
    seed: of the random numbers.
    half: games from this one on have policy 0 in seat 1.
    games: [any] int64, the games to play.
    state: [game, 3] uint8, modified in place: the dice of both seats, and who
      starts the next round.
  """
  for thread in numba.prange(threads):
    _play_share(thread, threads, tables_0, tables_1, rows, children, cumulative,
                matches, quantities, ranks, after, seed, half, games, state)


def _outcomes(match, dice):
  """Returns what challenges come to: `after` of `_play_games`."""
  num_dice = sum(dice)
  after = np.zeros((2, num_dice + 1, num_dice + 1, 3), np.uint8)
  for claimant in range(2):
    for quantity in range(1, num_dice + 1):
      for count in range(num_dice + 1):
        left, winner = rules.resolve_challenge(
            dice, claimant, 1 - claimant, quantity, count, match.house)
        after[claimant, quantity, count] = *left, winner
  return after


def _check(policies, start_dice):
  """Raises a ValueError unless the policies can play this match."""
  if not isinstance(policies, (tuple, list)) or len(policies) != 2 or not all(
      isinstance(policy, match_policy.MatchPolicy) for policy in policies):
    raise ValueError(f"policies={policies!r}: must be two MatchPolicy")
  first, second = policies
  if first.match[:2] != second.match[:2]:
    raise ValueError(f"policies: play {first.game} and {second.game}; must "
                     "play by the same rules")
  try:
    dice = tuple(start_dice)
  except TypeError:
    dice = ()
  if len(dice) != 2:
    raise ValueError(f"start_dice={start_dice!r}: must be the dice of both "
                     "seats, such as (2, 2)")
  dice = tuple(arguments.integer("start_dice", n, 1, base.MAX_DICE)
               for n in dice)
  for number, policy in enumerate((first, second)):
    for a in range(1, dice[0] + 1):
      for b in range(1, dice[1] + 1):
        for key in ((a, b), (b, a)):
          if key not in policy.tables:
            raise ValueError(
                f"start_dice={start_dice!r}: policy {number} has no table for "
                f"{key[0]}v{key[1]}; it must have all that can come up")
  return first, second, dice


def play_matches(policies, start_dice, num_games, seed=0, starter=0,
                 num_threads=None):
  """Lets two policies play each other, trading seats after half of the games.

  Both halves have the same luck; see the top of this file.

  Args:
    policies: two `match_policy.MatchPolicy` for the same rules. They may
      remember different numbers of claims, and their tables may be of any type
      of number; they are used as they are, without a copy.
    start_dice: the dice of seat 0 and seat 1 at the start.
    num_games: how many games to play, an even number.
    seed: the same seed gives the same games, for any number of threads.
    starter: the seat that claims first.
    num_threads: how many threads to use, None for all.

  Returns:
    A `MatchResult`.
  """
  first, second, dice = _check(policies, start_dice)
  arguments.integer("num_games", num_games, 2, _MAX_GAMES)
  if num_games % 2:
    raise ValueError(f"num_games={num_games}: must be even, as the policies "
                     "trade seats after half of them")
  arguments.integer("seed", seed, 0, 2**63 - 1)
  arguments.integer("starter", starter, 0, 1)
  threads = jit.thread_count(num_threads)
  half = num_games // 2
  state = np.empty((num_games, 3), np.uint8)
  state[:] = *dice, starter
  rounds = [(a, b) for a in range(1, dice[0] + 1)
            for b in range(1, dice[1] + 1)]
  numba.set_num_threads(threads)
  for key in sorted(rounds, key=sum, reverse=True):
    games = np.flatnonzero((state[:, 0] == key[0]) & (state[:, 1] == key[1]))
    if len(games):
      _play_key(first, second, key, threads, seed, half, games, state)
  seat_0_wins = state[:, 0] > 0
  pairs = np.stack([seat_0_wins[:half], ~seat_0_wins[half:]])
  rates = pairs.mean(axis=1)
  error = pairs.mean(axis=0).std(ddof=1) if half > 1 else math.nan
  return MatchResult(num_games, float(rates.mean()),
                     float(error / math.sqrt(half)), float(rates[starter]),
                     float(rates[1 - starter]))


def _play_key(first, second, key, threads, seed, half, games, state):
  """Plays the round with these dice in all these games."""
  match = first.match
  order = match.claim_order(sum(key))
  rolls = [match.rolls(n) for n in key]
  memories = [policy.match.memory(sum(key)).arrays
              for policy in (first, second)]
  tables = [(policy.tables[key], policy.tables[key[::-1]])
            for policy in (first, second)]
  _play_games(
      threads, *tables, tuple(memory.row_begin for memory in memories),
      tuple(memory.child_begin for memory in memories),
      tuple(np.cumsum(table.probabilities) for table in rolls),
      tuple(table.matches(match.house.wild_ones) for table in rolls),
      order.quantities, order.ranks, _outcomes(match, key), seed, half, games,
      state)
