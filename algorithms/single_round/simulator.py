"""Plays `dudo_single_round` between policies and bots, in compiled code.

As in Gendre & Kaneko (2019), section 5.1.3, the players of a line-up are rated
by their mean returns ("win rates"; even play is 1/players). All seatings that
come from turning the line-up are played equally often, and with the same luck:
the games k * players .. k * players + players - 1 have the same dice and the
same random number for each turn of a seat. The standard errors are those of the
means of such groups.

Random numbers are a function of the seed, the group of games and the turn alone
(see `random_streams`). No result depends on the number of threads.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.single_round import layout as single_round_layout
from dudo_spiel.algorithms.single_round import policy as single_round_policy

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


@jit.kernel
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


@jit.kernel
def _read(table, roll, entry, count, weights):
  """Writes a policy's weights; returns whether the set was trained."""
  total = 0.0
  for a in range(count):
    weights[a] = table[roll, entry + a]
    total += weights[a]
  return total > 0.0


@jit.kernel
def _play(tables, claim_entries, challenge_entries, memories, lineup, turn_of,
          rules, counts, amounts, begin, rolls, weights, returns, met, new):
  """Plays one game.

  Args:
    tables: for each player [roll, entry] float32, the weights of a policy.
    claim_entries: for each player, as in `single_round_layout.Layout`.
    challenge_entries: likewise.
    memories: [player] int64, how many memories there are.
    lineup: [place] int64, the players.
    turn_of: which place seat 0 has.
    rules: [4] int64: the window, the first forced claim, the number of claims
      and that of sides.
    counts: [roll, value - 1] int32.
    amounts: [claim] int32.
    begin: uint64, the stream of random numbers.
    rolls: [seat] int64.
    weights: [action] float64, scratch.
    returns: [place] float64, added to.
    met: [place] int64, how many sets were met; added to.
    new: [place] int64, how many of them were never trained; added to.
  """
  window, first_forced = rules[0], rules[1]
  num_claims, sides = rules[2], rules[3]
  seats = len(rolls)
  last, claimer, draw = -1, 0, seats
  memory = np.zeros(len(memories), np.int64)
  out = 0  # bits of the seats that challenge
  while True:
    place = (claimer + turn_of) % seats
    who = lineup[place]
    count = min(last + 1 + window, num_claims) - last - 1
    entry = claim_entries[who][last + 1, memory[who]]
    met[place] += 1
    if not _read(tables[who], rolls[claimer], entry, count, weights):
      new[place] += 1
    action = _choose(weights, count, random_streams.uniform(begin, draw))
    draw += 1
    if last >= 0:
      for player in range(len(memories)):
        memory[player] = (last % sides + 1 +
                          (sides + 1) * memory[player]) % memories[player]
    last += 1 + action
    out = 0
    for wait in range(1, seats):
      seat = (claimer + wait) % seats
      place = (seat + turn_of) % seats
      who = lineup[place]
      x = random_streams.uniform(begin, draw)
      draw += 1
      if last >= first_forced:
        out |= 1 << seat
        continue
      entry = challenge_entries[who][last, memory[who], wait - 1]
      met[place] += 1
      if not _read(tables[who], rolls[seat], entry, 2, weights):
        new[place] += 1
      if _choose(weights, 2, x):
        out |= 1 << seat
    if out:
      break
    claimer = (claimer + 1) % seats
  count = 0
  for seat in range(seats):
    count += counts[rolls[seat], last % sides]
  if count < amounts[last]:
    out = 1 << claimer
  left = 0
  for seat in range(seats):
    left += 1 - (out >> seat & 1)
  for seat in range(seats):
    if not out >> seat & 1:
      returns[(seat + turn_of) % seats] += 1.0 / left


@jit.kernel
def _play_share(thread, threads, tables, claim_entries, challenge_entries,
                memories, lineup, rules, counts, amounts, cumulative, seed,
                groups, returns, met, new):
  """Plays a thread's share of the groups; see `_play_groups`."""
  seats = len(lineup)
  rolls = np.zeros(seats, np.int64)
  weights = np.zeros(max(min(rules[0], rules[2]), 2))
  for group in range(thread, groups, threads):
    begin = random_streams.stream(seed, group)
    for seat in range(seats):
      rolls[seat] = random_streams.choose(
          cumulative, random_streams.uniform(begin, seat))
    for turn in range(seats):
      _play(tables, claim_entries, challenge_entries, memories, lineup, turn,
            rules, counts, amounts, begin, rolls, weights, returns[group],
            met[thread], new[thread])


@jit.parallel
def _play_groups(threads, tables, claim_entries, challenge_entries, memories,
                 lineup, rules, counts, amounts, cumulative, seed, groups,
                 returns, met, new):
  """Plays groups of games, in each of them all turns of the line-up.

  Args:
    threads: among how many threads to share the groups.
    tables: as for `_play`.
    claim_entries: as for `_play`.
    challenge_entries: as for `_play`.
    memories: as for `_play`.
    lineup: as for `_play`.
    rules: as for `_play`.
    counts: as for `_play`.
    amounts: as for `_play`.
    cumulative: [roll] float64, how likely it or one before it is.
    seed: of the random numbers.
    groups: how many groups.
    returns: [group, place] float64, written: the sums of the returns.
    met: [thread, place] int64, added to, as for `_play`.
    new: [thread, place] int64, likewise.
  """
  for thread in numba.prange(threads):
    _play_share(thread, threads, tables, claim_entries, challenge_entries,
                memories, lineup, rules, counts, amounts, cumulative, seed,
                groups, returns, met, new)


def _compile(game, lineup):
  """Returns the different players of a line-up for the kernel.

  Args:
    game: the game.
    lineup: list of policies and names of bots.

  Returns:
    (tables, claim_entries, challenge_entries, memories, numbers) as for
    `_play`, where numbers is the line-up: [place] int64, which player has it.
  """
  players, numbers, found = [], [], []
  for item in lineup:
    same = [i for i, other in enumerate(found)
            if other is item or (isinstance(item, str) and other == item)]
    if same:
      numbers.append(same[0])
      continue
    numbers.append(len(found))
    found.append(item)
    if isinstance(item, str) and item in single_round_policy.BOTS:
      item = single_round_policy.bot_policy(game, item)
    if not isinstance(item, single_round_policy.SingleRoundPolicy):
      names = ", ".join(map(repr, single_round_policy.BOTS))
      raise ValueError(f"lineup={item!r}: must be a SingleRoundPolicy or one "
                       f"of {names}")
    item.check_game(game)
    layout = item.layout
    players.append((item.weights(), layout.claim_entry,
                    layout.challenge_entry, layout.num_memories))
  *arrays, memories = zip(*players)
  return (*arrays, np.array(memories), np.array(numbers))


def play_games(game, lineup, num_games, seed=0, num_threads=None):
  """Lets a line-up of players play each other in all turns of the seats.

  Args:
    game: the `pyspiel.Game`, `dudo_single_round` or an abstraction of it.
    lineup: for each place a `single_round_policy.SingleRoundPolicy`, "random"
      or "heuristic". Policies may have different abstractions. A player may
      have many places.
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
  num_games = arguments.integer("num_games", num_games, 2 * seats, _MAX_GAMES)
  if num_games % seats:
    raise ValueError(f"num_games={num_games}: must be a multiple of {seats}, "
                     "as the line-up is turned")
  seed = arguments.integer("seed", seed, 0, 2**63 - 1)
  threads = jit.thread_count(num_threads)
  *arrays, numbers = _compile(game, lineup)
  groups = num_games // seats
  returns = np.zeros((groups, seats))
  met, new = np.zeros((2, threads, seats), np.int64)
  numba.set_num_threads(threads)
  _play_groups(threads, *arrays, numbers,
               np.array([game.claim_window, game.first_forced,
                         game.order.num_claims, game.order.num_sides]),
               game.roll_table.counts, game.order.quantities,
               np.cumsum(game.roll_table.probabilities),
               random_streams.seed_for(seed, _STREAM), groups, returns, met,
               new)
  returns /= seats
  rates = {}
  for player in range(numbers.max() + 1):
    places = np.flatnonzero(numbers == player)
    means = returns[:, places].mean(axis=1)
    rates[int(places[0])] = (float(means.mean()),
                             float(means.std(ddof=1) / math.sqrt(groups)))
  met, new = met.sum(axis=0), new.sum(axis=0)
  return SimulationResult(num_games, returns.mean(axis=0), rates,
                          new / np.maximum(met, 1))
