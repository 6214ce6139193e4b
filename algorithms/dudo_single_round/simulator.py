"""Plays `dudo_single_round` between policies and bots, in compiled code.

As in Gendre & Kaneko (2019), section 5.1.3, the players of a line-up are rated
by their mean returns ("win rates"; even play is 1/players). All seatings that
come from turning the line-up are played equally often, and with the same luck:
the games k * players .. k * players + players - 1, a group, have the same dice
and the same random number for each turn of a seat. The standard errors are
those of the means of groups.

Random numbers are a function of the seed, the group of games and the turn alone
(see `random_streams`). No result depends on the number of threads.
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
  """What came of the games.

  Attributes:
    games: how many games were played.
    returns: [place in the line-up] float64, the mean return of each.
    rates: dict from each different player of the line-up (by its first place)
      to (mean return of all its places, standard error).
    untrained: [place in the line-up] float64, the share of its decisions at
      information sets that its policy was never trained for (figure 4 of the
      paper); 0 for bots.
  """
  games: int
  returns: np.ndarray
  rates: dict
  untrained: np.ndarray


class Lineup(NamedTuple):
  """Who plays: the different players, and their places.

  All tables of the players stand in flat arrays, one player after the other.

  Attributes:
    places: [place] int64, which player has it.
    memories: [player] int64, how many memories there are.
    num_entries: [player] int64, how many entries a roll has.
    weights: [any] float32, for each player [roll, entry], the weights of a
      policy.
    weight_begin: [player] int64, where they begin.
    claim_entry: [any] int32, for each player as in `layout.SetLayout`.
    claim_begin: [player] int64, where they begin.
    challenge_entry: [any] int32, likewise.
    challenge_begin: [player] int64, where they begin.
  """
  places: np.ndarray
  memories: np.ndarray
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
    claim_window: how many of the next claims are legal.
    first_forced: claims from this number on must be challenged.
    num_claims: how many claims there are.
    num_sides: how many sides a die has.
    counts: [roll, value - 1] int32, how many dice show the value.
    amounts: [claim] int32, how many dice it claims.
    cumulative: [roll] float64, how likely it or one before it is.
  """
  claim_window: int
  first_forced: int
  num_claims: int
  num_sides: int
  counts: np.ndarray
  amounts: np.ndarray
  cumulative: np.ndarray


class Tally(NamedTuple):
  """What comes of the games; kernels add to it.

  Attributes:
    returns: [group, place] float64, the sums of the returns.
    met: [thread, place] int64, how many information sets were met.
    new: [thread, place] int64, how many of them were never trained.
  """
  returns: np.ndarray
  met: np.ndarray
  new: np.ndarray


class SimulationScratch(NamedTuple):
  """What threads work in.

  Attributes:
    rolls: [thread, seat] int64, the rolls of a group of games.
    memory: [thread, player] int64, the values that each player remembers.
    weights: [thread, action] float64.
  """
  rolls: np.ndarray
  memory: np.ndarray
  weights: np.ndarray


class GameTurn(NamedTuple):
  """Which game is played.

  Attributes:
    group: the number of its group.
    stream: uint64, the group's stream of random numbers.
    turned: which place seat 0 has.
  """
  group: int
  stream: np.uint64
  turned: int


@jit.inline
def _choose(weights, count, x):
  """Returns an action, as likely as its share of the weights [action]."""
  total = 0.0
  for a in range(count):
    total += weights[a]
  if not total > 0.0:
    return np.int64(x * count)
  rest = x * total
  action = 0
  for a in range(count):
    if weights[a] > 0.0:
      action = a
      if rest < weights[a]:
        break
      rest -= weights[a]
  return action


@jit.inline
def _read(lineup, who, roll, entry, count, weights):
  """Writes a player's weights; returns whether the set was trained."""
  begin = lineup.weight_begin[who] + roll * lineup.num_entries[who] + entry
  total = 0.0
  for a in range(count):
    weights[a] = lineup.weights[begin + a]
    total += weights[a]
  return total > 0.0


@jit.kernel
def _play(lineup, rules, scratch, game, tally, thread):
  """Plays one game.

  Args:
    lineup: the `Lineup`.
    rules: the `DiceRules`.
    scratch: the `SimulationScratch`, with the rolls.
    game: the `GameTurn`.
    tally: the `Tally`, added to.
    thread: the number of the thread.
  """
  stream, turned = game.stream, game.turned
  rolls, weights = scratch.rolls[thread], scratch.weights[thread]
  memory, memories = scratch.memory[thread], lineup.memories
  met, new = tally.met[thread], tally.new[thread]
  seats = len(lineup.places)
  last, claimer, draw = -1, 0, seats
  for player in range(len(memories)):
    memory[player] = 0
  out = 0  # bits of the seats that challenge
  while True:
    place = (claimer + turned) % seats
    who = lineup.places[place]
    count = min(last + 1 + rules.claim_window, rules.num_claims) - last - 1
    entry = lineup.claim_entry[lineup.claim_begin[who] + memory[who] +
                               (last + 1) * memories[who]]
    met[place] += 1
    if not _read(lineup, who, rolls[claimer], entry, count, weights):
      new[place] += 1
    action = _choose(weights, count, random_streams.uniform(stream, draw))
    draw += 1
    if last >= 0:
      for player in range(len(memories)):
        memory[player] = (
            last % rules.num_sides + 1 +
            (rules.num_sides + 1) * memory[player]) % memories[player]
    last += 1 + action
    out = 0
    for wait in range(1, seats):
      seat = (claimer + wait) % seats
      place = (seat + turned) % seats
      who = lineup.places[place]
      x = random_streams.uniform(stream, draw)
      draw += 1
      if last >= rules.first_forced:
        out |= 1 << seat
        continue
      entry = lineup.challenge_entry[
          lineup.challenge_begin[who] + wait - 1 +
          (last * memories[who] + memory[who]) * (seats - 1)]
      met[place] += 1
      if not _read(lineup, who, rolls[seat], entry, 2, weights):
        new[place] += 1
      if _choose(weights, 2, x):
        out |= 1 << seat
    if out:
      break
    claimer = (claimer + 1) % seats
  count = 0
  for seat in range(seats):
    count += rules.counts[rolls[seat], last % rules.num_sides]
  if count < rules.amounts[last]:
    out = 1 << claimer
  left = 0
  for seat in range(seats):
    left += 1 - (out >> seat & 1)
  returns = tally.returns[game.group]
  for seat in range(seats):
    if not out >> seat & 1:
      returns[(seat + turned) % seats] += 1.0 / left


@jit.kernel
def _play_share(lineup, rules, scratch, seed, tally, groups, thread):
  """Plays a thread's share of the groups.

  It takes the named tuples of `_play_groups` as plain ones, whose arrays the
  caller of that keeps.
  """
  begin, end = groups
  players = jit.borrowed(Lineup(*lineup))
  dice_rules = jit.borrowed(DiceRules(*rules))
  work = jit.borrowed(SimulationScratch(*scratch))
  sums = jit.borrowed(Tally(*tally))
  seats = len(players.places)
  for group in range(begin + thread, end, len(sums.met)):
    stream = random_streams.stream(seed, group)
    for seat in range(seats):
      work.rolls[thread, seat] = random_streams.choose(
          dice_rules.cumulative, random_streams.uniform(stream, seat))
    for turned in range(seats):
      _play(players, dice_rules, work, GameTurn(group, stream, turned), sums,
            thread)


@jit.kernel(parallel=True)
def _play_groups(lineup, rules, scratch, seed, tally, groups):
  """Plays groups of games, in each of them all turns of the line-up.

  Args:
    lineup: the `Lineup`.
    rules: the `DiceRules`.
    scratch: the `SimulationScratch`.
    seed: uint64, of the random numbers.
    tally: the `Tally`, added to. Its threads share the groups.
    groups: (begin, end), which of its groups to play.
  """
  plain_lineup, plain_rules, plain_tally = lineup[:], rules[:], tally[:]
  plain_scratch = scratch[:]
  for thread in numba.prange(len(tally.met)):
    _play_share(plain_lineup, plain_rules, plain_scratch, seed, plain_tally,
                groups, np.int64(thread))


def _find_players(game, lineup):
  """Returns (policies, places) of a line-up of policies and names of bots.

  Args:
    game: the game.
    lineup: list of policies and names of bots.

  Returns:
    (policies, places): a `SingleRoundPolicy` for each different player; and
    [place] int64, which player has it.
  """
  policies, places, found = [], [], []
  for item in lineup:
    same = [i for i, other in enumerate(found)
            if other is item or (isinstance(item, str) and other == item)]
    if same:
      places.append(same[0])
      continue
    places.append(len(found))
    found.append(item)
    if isinstance(item, str) and item in single_round_policy.BOTS:
      item = single_round_policy.bot_policy(game, item)
    if not isinstance(item, single_round_policy.SingleRoundPolicy):
      names = ", ".join(map(repr, single_round_policy.BOTS))
      raise ValueError(f"lineup={item!r}: must be a SingleRoundPolicy or one "
                       f"of {names}")
    item.check_game(game)
    policies.append(item)
  return policies, np.array(places)


def _make_lineup(policies, places):
  """Returns the `Lineup` of policies and their places."""
  layouts = [policy.layout for policy in policies]
  claim_entry, claim_begin = _join([p.claim_entry for p in layouts])
  challenge_entry, challenge_begin = _join([p.challenge_entry for p in layouts])
  sizes = [policy.table.size for policy in policies]
  weight_begin = np.cumsum([0, *sizes])
  weights = np.empty(weight_begin[-1], np.float32)
  for policy, begin, end in zip(policies, weight_begin, weight_begin[1:]):
    weights[begin:end] = policy.weights().ravel()
  return Lineup(
      places=places,
      memories=np.array([layout.num_memories for layout in layouts]),
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
  """Lets a line-up of players play each other in all turns of the seats.

  Args:
    game: the `pyspiel.Game`, `dudo_single_round` or an abstraction of it.
    lineup: for each place a `policies.SingleRoundPolicy`, "random" or
      "heuristic". Policies may have different abstractions. A player may have
      many places.
    num_games: how many games to play, a multiple of the number of players.
    seed: the same seed gives the same games, for any number of threads.
    num_threads: how many threads to use, None for all.

  Returns:
    A `SimulationResult`.
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
  players = _make_lineup(*_find_players(game, lineup))
  rules = DiceRules(game.claim_window, game.first_forced,
                    game.order.num_claims, game.order.num_sides,
                    game.roll_table.counts, game.order.quantities,
                    np.cumsum(game.roll_table.probabilities))
  groups = num_games // seats
  tally = Tally(np.zeros((groups, seats)),
                *np.zeros((2, threads, seats), np.int64))
  num_actions = max(min(rules.claim_window, rules.num_claims), 2)
  scratch = SimulationScratch(
      graph_kernels.thread_rows(threads, seats, np.int64),
      graph_kernels.thread_rows(threads, seats, np.int64),
      graph_kernels.thread_rows(threads, num_actions))
  _play_all(players, rules, scratch, random_streams.seed_for(seed, _STREAM),
            tally)
  returns = tally.returns / seats
  rates = {}
  for player in range(players.places.max() + 1):
    places = np.flatnonzero(players.places == player)
    means = returns[:, places].mean(axis=1)
    rates[int(places[0])] = (float(means.mean()),
                             float(means.std(ddof=1) / math.sqrt(groups)))
  met, new = tally.met.sum(axis=0), tally.new.sum(axis=0)
  return SimulationResult(num_games, returns.mean(axis=0), rates,
                          new / np.maximum(met, 1))


def _play_all(lineup, rules, scratch, seed, tally):
  """Plays all groups of a tally, a fraction of a second at a time."""
  threads, done = len(tally.met), 0

  def play(count):
    nonlocal done
    groups = done, done + count
    if threads == 1:
      _play_share(lineup[:], rules[:], scratch[:], seed, tally[:], groups, 0)
    else:
      with jit.threads(threads):
        _play_groups(lineup, rules, scratch, seed, tally, groups)
    done += count

  for _ in pacing.chunks(play, len(tally.returns)):
    pass
