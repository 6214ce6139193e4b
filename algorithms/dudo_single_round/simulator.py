"""Plays `dudo_single_round` between policies and bots, in compiled code.

As in Gendre & Kaneko (2019), section 5.1.3, the players of a line-up are rated
by their mean returns ("win rates"; even play is 1/players). All rotations of
the line-up play each deal, with common random numbers: the games k * players ..
k * players + players - 1 have the same dice and the same random number for each
turn of a seat. The standard errors are those of the means of deals.

Random numbers are a function of the seed, the deal and the turn alone (see
`random_streams`). No result depends on the number of threads.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numba
import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.dudo_single_round import single_round_policy
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import pacing
from dudo_spiel.algorithms.runtime import random_streams

_MAX_GAMES = 2**28
_STREAM = 1  # deals that no solver has learned from


class SimulationResult(NamedTuple):
  """The result of the games.

  Attributes:
    games: number of games played.
    returns: [index in the line-up] float64, the mean return of each.
    rates: dict from each distinct player of the line-up (by its first index) to
      (mean return over all its indices, standard error).
    untrained: [index in the line-up] float64, the fraction of its decisions at
      information sets for which its policy was never trained (figure 4 of the
      paper); 0 for bots.
  """
  games: int
  returns: np.ndarray
  rates: dict
  untrained: np.ndarray


class Lineup(NamedTuple):
  """The distinct players, and their positions in the line-up.

  The tables of all players are concatenated in flat arrays.

  Attributes:
    players: [position] int64, the player at each position.
    num_pasts: [player] int64, number of pasts.
    num_entries: [player] int64, number of entries of a roll.
    weights: [sum of sizes] float32, for each player [roll, entry], the weights
      of its policy.
    weight_begin: [player] int64, where the player's weights begin.
    claim_entry: [sum of sizes] int32, for each player [claim + 1, past], as
      in `single_round_layout.SetLayout`.
    claim_begin: [player] int64, where the player's part begins.
    challenge_entry: [sum of sizes] int32, for each player [claim, past, wait
      - 1], as in `single_round_layout.SetLayout`.
    challenge_begin: [player] int64, where the player's part begins.
  """
  players: np.ndarray
  num_pasts: np.ndarray
  num_entries: np.ndarray
  weights: np.ndarray
  weight_begin: np.ndarray
  claim_entry: np.ndarray
  claim_begin: np.ndarray
  challenge_entry: np.ndarray
  challenge_begin: np.ndarray


class DiceRules(NamedTuple):
  """The rules of a game.

  Attributes:
    claim_window: number of next claims that are legal.
    first_forced: claims from this number on must be challenged.
    counts: [roll, value - 1] int32, number of dice that show the value.
    amounts: [claim] int32, number of dice that it claims.
    distribution: [roll] float64, the distribution function of rolls.
  """
  claim_window: int
  first_forced: int
  counts: np.ndarray
  amounts: np.ndarray
  distribution: np.ndarray


class Tally(NamedTuple):
  """Sums over the games.

  Attributes:
    returns: [deal, position] float64, sums of returns.
    decisions: [thread, position] int64, number of decisions.
    untrained: [thread, position] int64, number of decisions at information sets
      that were never trained.
  """
  returns: np.ndarray
  decisions: np.ndarray
  untrained: np.ndarray


class SimulationScratch(NamedTuple):
  """Scratch of threads.

  Attributes:
    rolls: [thread, seat] int64, the rolls of a deal.
    past: [thread, player] int64, the past that each player remembers.
    weights: [thread, action] float64; converting each weight once is faster.
  """
  rolls: np.ndarray
  past: np.ndarray
  weights: np.ndarray


class GameTurn(NamedTuple):
  """A game with a deal.

  Attributes:
    deal: the number of the deal.
    stream: uint64, the deal's stream of random numbers.
    rotation: the position in the line-up of seat 0.
  """
  deal: int
  stream: np.uint64
  rotation: int


@jit.inline
def _act(lineup, weights, counts, position, roll, entry, count, x):
  """Returns a player's action, sampled by the uniform random number x.

  It counts the decision in `counts`, (decisions, untrained), the thread's rows
  of the `Tally`. `entry` is the first of the information set.
  """
  decisions, untrained = counts
  player = lineup.players[position]
  begin = (lineup.weight_begin[player] + roll * lineup.num_entries[player] +
           entry)
  total = 0.0
  for a in range(count):
    weights[a] = lineup.weights[begin + a]
    total += weights[a]
  decisions[position] += 1
  if not total > 0.0:
    untrained[position] += 1
    return np.int64(x * count)
  quantile = x * total
  action = 0
  for a in range(count):
    if weights[a] > 0.0:
      action = a
      if quantile < weights[a]:
        break
      quantile -= weights[a]
  return action


@jit.inline
def _challengers(lineup, rules, scratch, game, tally, thread, claim, draw):
  """Returns the seats that challenge a claim (claim, claimer), as bits.

  `draw` is the number of the first random number.
  """
  last, claimer = claim
  past, rolls = scratch.past[thread], scratch.rolls[thread]
  counts = tally.decisions[thread], tally.untrained[thread]
  seats = len(lineup.players)
  challengers = 0
  for wait in range(1, seats):
    seat = (claimer + wait) % seats
    if last >= rules.first_forced:
      challengers |= 1 << seat
      continue
    position = (seat + game.rotation) % seats
    player = lineup.players[position]
    entry = lineup.challenge_entry[
        lineup.challenge_begin[player] + wait - 1 +
        (last * lineup.num_pasts[player] + past[player]) * (seats - 1)]
    x = random_streams.uniform(game.stream, draw + wait - 1)
    if _act(lineup, scratch.weights[thread], counts, position, rolls[seat],
            entry, 2, x):
      challengers |= 1 << seat
  return challengers


@jit.inline
def _add_returns(rules, rolls, game, claim, challengers, returns):
  """Adds the returns of a game whose last claim was challenged.

  `claim` is (claim, claimer), `challengers` are seats as bits.
  """
  last, claimer = claim
  seats = len(returns)
  count = 0
  for seat in range(seats):
    count += rules.counts[rolls[seat], last % rules.counts.shape[1]]
  losers = challengers if count >= rules.amounts[last] else 1 << claimer
  winners = 0
  for seat in range(seats):
    winners += 1 - (losers >> seat & 1)
  for seat in range(seats):
    if not losers >> seat & 1:
      returns[(seat + game.rotation) % seats] += 1.0 / winners


@jit.kernel
def _play(lineup, rules, scratch, game, tally, thread):
  """Plays one game."""
  rolls, past = scratch.rolls[thread], scratch.past[thread]
  num_pasts = lineup.num_pasts
  counts = tally.decisions[thread], tally.untrained[thread]
  seats, sides = len(lineup.players), rules.counts.shape[1]
  for player in range(len(num_pasts)):
    past[player] = 0
  last, claimer, draw = -1, 0, seats
  while True:
    position = (claimer + game.rotation) % seats
    player = lineup.players[position]
    count = min(rules.claim_window, len(rules.amounts) - last - 1)
    entry = lineup.claim_entry[lineup.claim_begin[player] + past[player] +
                               (last + 1) * num_pasts[player]]
    action = _act(lineup, scratch.weights[thread], counts, position,
                  rolls[claimer], entry, count,
                  random_streams.uniform(game.stream, draw))
    if last >= 0:
      for player in range(len(num_pasts)):
        past[player] = (last % sides + 1 +
                        (sides + 1) * past[player]) % num_pasts[player]
    last += 1 + action
    challengers = _challengers(lineup, rules, scratch, game, tally, thread,
                               (last, claimer), draw + 1)
    draw += seats
    if challengers:
      break
    claimer = (claimer + 1) % seats
  _add_returns(rules, rolls, game, (last, claimer), challengers,
               tally.returns[game.deal])


@jit.kernel
def _play_slice(lineup, rules, scratch, seed, tally, deals, thread):
  """Plays a thread's slice of the deals.

  Named tuples are plain ones here. The caller must keep the arrays.
  """
  begin, end = deals
  players = jit.borrowed(Lineup(*lineup))
  dice_rules = jit.borrowed(DiceRules(*rules))
  own_scratch = jit.borrowed(SimulationScratch(*scratch))
  sums = jit.borrowed(Tally(*tally))
  seats = len(players.players)
  for deal in range(begin + thread, end, len(sums.decisions)):
    stream = random_streams.stream(seed, deal)
    for seat in range(seats):
      own_scratch.rolls[thread, seat] = random_streams.choose(
          dice_rules.distribution, random_streams.uniform(stream, seat))
    for rotation in range(seats):
      _play(players, dice_rules, own_scratch,
            GameTurn(deal, stream, rotation), sums, thread)


@jit.kernel(parallel=True)
def _play_deals(lineup, rules, scratch, seed, tally, deals):
  """Plays some deals: each of them by all rotations of the line-up.

  `deals` is (begin, end), which the threads share.
  """
  plain_lineup, plain_rules, plain_tally = lineup[:], rules[:], tally[:]
  plain_scratch = scratch[:]
  for thread in numba.prange(len(tally.decisions)):
    _play_slice(plain_lineup, plain_rules, plain_scratch, seed, plain_tally,
                deals, np.int64(thread))


def _find_players(game, lineup):
  """Returns the distinct policies of a line-up, and [position] who plays."""
  keys = [item if isinstance(item, str) else id(item) for item in lineup]
  distinct = list(dict.fromkeys(keys))
  policies = [_as_policy(game, lineup[keys.index(key)]) for key in distinct]
  return policies, np.array([distinct.index(key) for key in keys])


def _as_policy(game, item):
  """Returns an item of a line-up as a `SingleRoundPolicy` for the game."""
  if isinstance(item, str) and item in single_round_policy.BOTS:
    item = single_round_policy.bot_policy(game, item)
  if not isinstance(item, single_round_policy.SingleRoundPolicy):
    names = ", ".join(map(repr, single_round_policy.BOTS))
    raise ValueError(f"lineup={item!r}: must be a SingleRoundPolicy or one "
                     f"of {names}")
  item.check_game(game)
  return item


def _make_lineup(policies, players):
  """Returns the `Lineup` of policies and the players at each position."""
  layouts = [policy.layout for policy in policies]
  claim_entry, claim_begin = _join([p.claim_entry for p in layouts])
  challenge_entry, challenge_begin = _join([p.challenge_entry for p in layouts])
  sizes = [policy.table.size for policy in policies]
  weight_begin = np.cumsum([0, *sizes])
  weights = np.empty(weight_begin[-1], np.float32)
  for policy, begin, end in zip(policies, weight_begin, weight_begin[1:]):
    weights[begin:end] = policy.weights().ravel()
  return Lineup(
      players=players,
      num_pasts=np.array([layout.num_pasts for layout in layouts]),
      num_entries=np.array([layout.num_entries for layout in layouts]),
      weights=weights, weight_begin=weight_begin,
      claim_entry=claim_entry, claim_begin=claim_begin,
      challenge_entry=challenge_entry, challenge_begin=challenge_begin)


def _join(arrays):
  """Returns arrays as one flat array, and where each begins."""
  begins = np.cumsum([0, *(array.size for array in arrays)])
  return np.concatenate([array.ravel() for array in arrays]), begins


def play_games(game: pyspiel.Game,
               lineup: Sequence[single_round_policy.SingleRoundPolicy | str],
               num_games: int, seed: int = 0,
               num_threads: int | None = None) -> SimulationResult:
  """Lets a line-up of players play each other, in all its rotations.

  Args:
    game: the `pyspiel.Game`, `dudo_single_round` or an abstraction of it.
    lineup: list with a `policies.SingleRoundPolicy`, "odds", "heuristic" or
      "random" for each player. Policies may have different abstractions. An
      item may occur several times.
    num_games: number of games to play, a multiple of the number of players.
    seed: the same seed gives the same games, for any number of threads.
    num_threads: number of threads to use, None for all.

  Returns:
    A `SimulationResult`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import simulation
    >>> game = pyspiel.load_game("dudo_single_round(players=4)")
    >>> result = simulation.play_games(
    ...     game, ["heuristic", "random", "random", "random"], 4000,
    ...     num_threads=1)
    >>> result.rates[0] > result.rates[1]  # the heuristic bot wins more often
    True
  """
  if not single_round_layout.is_single_round(game):
    raise ValueError(f"game={game}: must be dudo_single_round")
  seats = game.num_players()
  if not isinstance(lineup, (tuple, list)) or len(lineup) != seats:
    raise ValueError(f"lineup={lineup!r}: must be a list of {seats} players")
  num_games = validation.integer("num_games", num_games, 2 * seats, _MAX_GAMES)
  if num_games % seats:
    raise ValueError(f"num_games={num_games}: must be a multiple of {seats}, "
                     "as the line-up is turned")
  seed = validation.integer("seed", seed, 0, 2**63 - 1)
  threads = jit.thread_count(num_threads)
  tables = _make_lineup(*_find_players(game, lineup))
  rules = DiceRules(game.claim_window, game.first_forced,
                    game.roll_table.counts, game.order.quantities,
                    np.cumsum(game.roll_table.probabilities))
  num_deals = num_games // seats
  tally = Tally(np.zeros((num_deals, seats)),
                *np.zeros((2, threads, seats), np.int64))
  scratch = SimulationScratch(
      graph_kernels.thread_rows(threads, seats, np.int64),
      graph_kernels.thread_rows(threads, seats, np.int64),
      graph_kernels.thread_rows(threads, max(game.claim_window, 2)))
  _play_all(tables, rules, scratch, random_streams.seed_for(seed, _STREAM),
            tally)
  returns = tally.returns / seats
  rates = {}
  for player in range(tables.players.max() + 1):
    positions = np.flatnonzero(tables.players == player)
    means = returns[:, positions].mean(axis=1)
    rates[int(positions[0])] = (float(means.mean()),
                                float(means.std(ddof=1) / math.sqrt(num_deals)))
  untrained = (tally.untrained.sum(axis=0) /
               np.maximum(tally.decisions.sum(axis=0), 1))
  return SimulationResult(num_games, returns.mean(axis=0), rates, untrained)


def _play_all(lineup, rules, scratch, seed, tally):
  """Plays all deals of a tally, a fraction of a second at a time."""

  def play(*deals):
    jit.run(
        len(tally.decisions),
        lambda: _play_slice(lineup[:], rules[:], scratch[:], seed, tally[:],
                            deals, 0),
        lambda: _play_deals(lineup, rules, scratch, seed, tally, deals))

  pacing.run_slices(play, len(tally.returns))
