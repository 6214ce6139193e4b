"""Plays whole matches of two-player Dudo between policies, in compiled code.

As in Neller & Hnath (2011), section 4.1, two policies play two sets of games
and trade seats in between. Both sets have common random numbers: game k of the
first set and game k of the second draw the same number for the roll of each
seat and for each turn of a round. So what a seat wins by its dice alone cancels
out, and the standard error, which is that of the mean of such pairs, is smaller
than for independent games.

All games with the same numbers of dice play that round together, those with the
most dice first. So a kernel needs the tables of only one round, uses them as
they are, and accesses memory that is close together.

Random numbers depend only on the seed, the game, the number of dice in play and
the turn (see `random_streams`). So no result depends on the number of threads.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import pacing
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.games import base

_DRAWS = 4096  # numbers a round has in a game's stream; it has fewer turns
_MAX_GAMES = 2**31


class MatchResult(NamedTuple):
  """What came of the games, from the first policy's view.

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


# Where a match stands: the dice of both seats, and who starts the next round.
_STATE = np.dtype([("dice_0", np.uint8), ("dice_1", np.uint8),
                   ("starter", np.uint8)])


class SeatedPolicy(NamedTuple):
  """A policy in one round, as arrays that kernels can take.

  Attributes:
    table_0: [row, hand], its weights if it sits at seat 0.
    table_1: [row, hand], its weights if it sits at seat 1.
    row_begin: [node + 1] int64, of the `abstraction_graph.AbstractionArrays`.
    child_begin: [node] int64, of these arrays.
  """
  table_0: np.ndarray
  table_1: np.ndarray
  row_begin: np.ndarray
  child_begin: np.ndarray


class SimulatedRound(NamedTuple):
  """The dice and rules of one round, as arrays that kernels can take.

  Attributes:
    rolls_0: [roll] float64, of seat 0, the sums of probabilities so far.
    rolls_1: [roll] float64, the same for seat 1.
    matches_0: [roll, rank - 1] int32, how many dice of seat 0 match.
    matches_1: [roll, rank - 1] int32, the same for seat 1.
    ranks: [claim] int32.
    dice_after: [challenger's seat, claim, count, seat] uint8, the dice after a
      challenge.
    winner: [challenger's seat, claim, count] uint8, the seat that starts next.
  """
  rolls_0: np.ndarray
  rolls_1: np.ndarray
  matches_0: np.ndarray
  matches_1: np.ndarray
  ranks: np.ndarray
  dice_after: np.ndarray
  winner: np.ndarray


@jit.inline
def _choose(table, row, row_end, hand, x):
  """Returns an action (from 0), as likely as its weight among the rows."""
  total = 0.0
  for i in range(row, row_end):
    total += np.float64(table[i, hand])
  if not total > 0.0:
    return np.int64(x * (row_end - row))
  remainder = x * total
  action = 0
  for i in range(row, row_end):
    weight = np.float64(table[i, hand])
    if weight > 0.0:
      action = i - row
      if remainder < weight:
        break
      remainder -= weight
  return action


@jit.inline
def _play_round(first, second, this_round, seat, stream, starter):
  """Plays one round of one game.

  Args:
    first: the `SeatedPolicy` that sits at `seat`.
    second: the `SeatedPolicy` of the other seat.
    this_round: the `SimulatedRound`.
    seat: of the first policy.
    stream: of random numbers, where those of the game for this round begin.
    starter: the seat that claims first.

  Returns:
    (challenger's seat, claim, count) of the challenge that ends the round.
  """
  hand_0 = random_streams.choose(this_round.rolls_0,
                                 random_streams.uniform(stream, 0))
  hand_1 = random_streams.choose(this_round.rolls_1,
                                 random_streams.uniform(stream, 1))
  ranks = this_round.ranks
  node_1st, node_2nd, last = 0, 0, -1  # of each policy's abstraction graph
  actor = starter
  turn = 2
  while True:
    hand = hand_0 if actor == 0 else hand_1
    x = random_streams.uniform(stream, turn)
    if actor == seat:
      table = first.table_0 if actor == 0 else first.table_1
      action = _choose(table, first.row_begin[node_1st],
                       first.row_begin[node_1st + 1], hand, x)
    else:
      table = second.table_0 if actor == 0 else second.table_1
      action = _choose(table, second.row_begin[node_2nd],
                       second.row_begin[node_2nd + 1], hand, x)
    claim = last + 1 + action
    if claim == len(ranks):  # Dudo
      break
    node_1st = first.child_begin[node_1st] + action
    node_2nd = second.child_begin[node_2nd] + action
    last = claim
    actor = 1 - actor
    turn += 1
  rank = ranks[last] - 1
  count = this_round.matches_0[hand_0, rank] + this_round.matches_1[hand_1,
                                                                    rank]
  return actor, last, count


@jit.kernel
def _play_slice(part, first, second, this_round, seeds, games, states):
  """Plays a part of the games; see `_play_games`."""
  thread, threads = part
  first, second = SeatedPolicy(*first), SeatedPolicy(*second)
  this_round = SimulatedRound(*this_round)
  seed, half = seeds
  for i in range(len(games) * thread // threads,
                 len(games) * (thread + 1) // threads):
    game = games[i]
    number, seat = (game, 0) if game < half else (game - half, 1)
    stream = random_streams.stream(seed, number) + (
        np.uint64(len(this_round.ranks) * _DRAWS) * random_streams.STEP)
    state = states[game]
    challenger, claim, count = _play_round(
        first, second, this_round, seat, stream, np.int64(state.starter))
    state.dice_0 = this_round.dice_after[challenger, claim, count, 0]
    state.dice_1 = this_round.dice_after[challenger, claim, count, 1]
    state.starter = this_round.winner[challenger, claim, count]


@jit.kernel(parallel=True)
def _play_games(threads, first, second, this_round, seeds, games, states):
  """Plays one round of all games that are at the same numbers of dice.

  Args:
    threads: among how many threads to share the games.
    first: the `SeatedPolicy` of the first policy.
    second: the `SeatedPolicy` of the second.
    this_round: the `SimulatedRound`.
    seeds: (seed, half): game half + k has the random numbers of game k, and
      traded seats.
    games: [any] int64, the games to play.
    states: [game] `_STATE`, modified in place.
  """
  ours, theirs, dice = first[:], second[:], this_round[:]
  for thread in numba.prange(threads):
    _play_slice((np.int64(thread), threads), ours, theirs, dice, seeds, games,
                states)


def _check(policies, start_dice):
  """Raises a ValueError unless the policies can play this match."""
  if not isinstance(policies, (tuple, list)) or len(policies) != 2 or not all(
      isinstance(policy, match_policy.MatchPolicy) for policy in policies):
    raise ValueError(f"policies={policies!r}: must be two MatchPolicy")
  first, second = policies
  if not first.has_rules_of(second.game):
    raise ValueError(f"policies: play {first.game} and {second.game}; must "
                     "play by the same rules")
  try:
    dice = tuple(start_dice)
  except TypeError:
    dice = ()
  if len(dice) != 2:
    raise ValueError(f"start_dice={start_dice!r}: must be the dice of both "
                     "seats, such as (2, 2)")
  dice = tuple(validation.integer("start_dice", n, 1, base.MAX_DICE)
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


def play_matches(policies: Sequence[match_policy.MatchPolicy],
                 start_dice: annotations.Dice, num_games: int, seed: int = 0,
                 starter: int = 0,
                 num_threads: int | None = None) -> MatchResult:
  """Plays two policies against each other; they trade seats halfway.

  Both halves have common random numbers.

  Args:
    policies: two `policies.MatchPolicy` for the same rules. They may remember
      different things. Their tables may have any type of number, and
      are not copied.
    start_dice: the dice of seat 0 and seat 1 at the start.
    num_games: how many games to play, an even number.
    seed: the same seed gives the same games, for any number of threads.
    starter: the seat that claims first.
    num_threads: how many threads to use, None for all.

  Returns:
    A `MatchResult`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import simulation
    >>> game = pyspiel.load_game("dudo(numdice=2)")
    >>> bots = [simulation.bot_policy(game, name)
    ...         for name in ("heuristic", "uniform")]
    >>> result = simulation.play_matches(bots, (2, 2), 1000, num_threads=1)
    >>> result.win_rate > 0.5
    True
  """
  first, second, dice = _check(policies, start_dice)
  validation.integer("num_games", num_games, 2, _MAX_GAMES)
  if num_games % 2:
    raise ValueError(f"num_games={num_games}: must be even, as the policies "
                     "trade seats after half of them")
  validation.integer("seed", seed, 0, 2**63 - 1)
  validation.integer("starter", starter, 0, 1)
  threads = jit.thread_count(num_threads)
  half = num_games // 2
  states = np.empty(num_games, _STATE)
  states[:] = *dice, starter
  rounds = [(a, b) for a in range(1, dice[0] + 1)
            for b in range(1, dice[1] + 1)]
  for key in sorted(rounds, key=sum, reverse=True):
    games = np.flatnonzero((states["dice_0"] == key[0]) &
                           (states["dice_1"] == key[1]))
    if len(games):
      _play_all(threads, _seated(first, key), _seated(second, key),
                _simulated_round(first.rules, key), (seed, half), games,
                states)
  seat_0_wins = states["dice_0"] > 0
  pairs = np.stack([seat_0_wins[:half], ~seat_0_wins[half:]])
  rates = pairs.mean(axis=1)
  error = pairs.mean(axis=0).std(ddof=1) if half > 1 else math.nan
  return MatchResult(num_games, float(rates.mean()),
                     float(error / math.sqrt(half)), float(rates[starter]),
                     float(rates[1 - starter]))


def _play_all(threads, first, second, this_round, seeds, games, states):
  """Does what `_play_games` does, a fraction of a second at a time."""

  def play(begin, end):
    some = games[begin:end]
    jit.run(
        threads,
        lambda: _play_slice((0, 1), first[:], second[:], this_round[:],
                            seeds, some, states),
        lambda: _play_games(threads, first, second, this_round, seeds, some,
                            states))

  pacing.run_slices(play, len(games))


def _seated(policy, dice):
  """Returns the `SeatedPolicy` in the round in which seats have these dice."""
  graph = policy.rules.graph(sum(dice)).arrays
  return SeatedPolicy(policy.tables[dice], policy.tables[dice[::-1]],
                      graph.row_begin, graph.child_begin)


def _simulated_round(rules, dice):
  """Returns the `SimulatedRound` in which seats have these dice."""
  order = rules.claim_order(sum(dice))
  rolls = [rules.rolls(n) for n in dice]
  # Roles of the transitions are seats here, whoever starts.
  following = transitions.of_round(rules, dice)
  return SimulatedRound(
      *(np.cumsum(table.probabilities) for table in rolls),
      *(table.matches(rules.house.wild_ones) for table in rolls),
      order.ranks, following.dice, following.winner)
