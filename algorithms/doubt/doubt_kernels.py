"""Whole games of Dudo between a learner of doubt and simple opponents.

A report on regret minimisation (2024), section 4, teaches an agent when to
doubt. The agent has a table of probabilities, [own dice, claim], and doubts a
claim with the probability that it finds there. It claims as the opponents do,
whom the report calls dummies:

  1. Dummies doubt at random half of the time, and otherwise with the
     probability that the claim is false, given their own dice.
  2. They claim honestly, bluff or claim at random with equal chance.
     Honest: the rank of which they have the most (the lowest of equals), and
     one die more than the last claim; at the start, as many as they have.
     Bluff: one die more, the next rank, or both, with equal chance; of the
     highest rank always one die more; at the start, one die more than they
     have, of a random rank.
     Random: any stronger claim.
     Where there are not as many dice, they claim at random.

After a doubt of its own the agent learns: q += alpha R (1 - q), kept between 0
and 1, where R is plus or minus `round_reward`. After a game it learns the same
once more from all of its doubts in that game, with `game_reward`.

Opponents may also be the heuristic bot (`dudo_spiel.bots.HeuristicBot`). The
rules are those of `dudo` without wild ones and exact rewards, where a doubt
costs one die; so claim (n, r) has the number (n - 1) sides + r - 1 at any time.

All random numbers of a game come from one stream, in this order: in a round,
one for each roll, in seat order; then for each turn one for a doubt, unless it
is forced or impossible, and those of a claim.

Kernels take some of these:

  rules, settings, tables: the NamedTuples below; `tables` is modified in place.
  row: the row of a player's roll. `own` is the player's number of dice.
  total: number of dice in play.
  last: the last claim, -1 for none.
  stream, counter: the stream of random numbers, and [1] int64, the number that
    was drawn last; counted up.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel import odds
from dudo_spiel import rolls
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams

DUMMY, HEURISTIC = 0, 1  # kinds of opponents

_HONEST, _BLUFF = 0, 1  # how dummies claim; anything else is at random


class DoubtRules(NamedTuple):
  """A game of Dudo, as arrays that kernels can take.

  Attributes:
    num_sides: how many sides a die has.
    start_dice: [player] int64.
    starter: the player who claims first.
    row_begin: [largest number of dice + 2] int64, where the rolls of k dice
      begin among all rows.
    distribution: [row] float64, the probability of this roll or one before it
      with as many dice.
    counts: [row, rank - 1] int32, how many dice of the roll show each rank.
    tails: [trials, successes] float64, the probability that at least
      `successes` of `trials` dice show a rank.
  """
  num_sides: int
  start_dice: np.ndarray
  starter: int
  row_begin: np.ndarray
  distribution: np.ndarray
  counts: np.ndarray
  tails: np.ndarray


class DoubtSettings(NamedTuple):
  """How the agent learns, and from whom.

  Attributes:
    player: the agent's seat.
    opponents: DUMMY or HEURISTIC.
    alpha: the learning rate; 0 learns nothing.
    round_reward: what a doubt that was right is worth.
    game_reward: what a game that was won is worth.
    rotates: whether another seat starts each game.
  """
  player: int
  opponents: int
  alpha: float
  round_reward: float
  game_reward: float
  rotates: bool


class DoubtTables(NamedTuple):
  """What the agent has learned.

  Attributes:
    doubt: [row, claim] float64, the probability that it doubts.
    visits: [row, claim] int64, how often it did.
    wins: [1] int64, how many games it won.
  """
  doubt: np.ndarray
  visits: np.ndarray
  wins: np.ndarray


def doubt_rules(game):
  """Returns the `DoubtRules` of a `dudo` game."""
  max_dice, num_dice = max(game.start_dice), sum(game.start_dice)
  tables = [rolls.roll_table(k, game.num_sides)
            for k in range(1, max_dice + 1)]
  begin = np.cumsum([0, 0, *(table.num_rolls for table in tables)])
  tails = [[odds.binomial_tail(trials, successes, 1 / game.num_sides)
            for successes in range(num_dice + 2)]
           for trials in range(num_dice + 1)]
  return DoubtRules(
      game.num_sides, np.array(list(game.start_dice), np.int64),
      game.starting_player, begin.astype(np.int64),
      np.concatenate([np.cumsum(table.probabilities) for table in tables]),
      np.concatenate([table.counts for table in tables]), np.array(tails))


@jit.kernel
def _odds(rules, row, own, claim, total):
  """Returns the probability that a claim is true, given one's own dice."""
  missing = (claim // rules.num_sides + 1
             - rules.counts[row, claim % rules.num_sides])
  return rules.tails[total - own, missing] if missing > 0 else 1.0


@jit.kernel
def _dummy_claim(rules, row, total, last, stream, counter):
  """Returns the claim of a dummy: honest, a bluff, or at random."""
  sides = rules.num_sides
  kind = int(3.0 * random_streams.draw(stream, counter))
  claim = -1
  if kind == _HONEST:
    rank = 0
    for other in range(1, sides):
      if rules.counts[row, other] > rules.counts[row, rank]:
        rank = other
    quantity = rules.counts[row, rank] if last < 0 else last // sides + 2
    claim = (quantity - 1) * sides + rank
  elif kind == _BLUFF:
    x = random_streams.draw(stream, counter)
    if last < 0:
      rank = int(sides * x)
      claim = rules.counts[row, rank] * sides + rank
    elif last % sides == sides - 1:
      claim = last + sides
    else:
      claim = last + (sides, 1, sides + 1)[int(3.0 * x)]
  if claim < 0 or claim >= sides * total:
    x = random_streams.draw(stream, counter)
    claim = last + 1 + int(x * (sides * total - last - 1))
  return claim


@jit.kernel
def _heuristic_claim(rules, row, own, total, last, x):
  """Returns a claim with a probability in proportion to its odds."""
  end = rules.num_sides * total
  norm = 0.0
  for claim in range(last + 1, end):
    norm += _odds(rules, row, own, claim, total)
  if norm <= 0.0:
    return last + 1 + int(x * (end - last - 1))
  remainder = x * norm
  for claim in range(last + 1, end):
    remainder -= _odds(rules, row, own, claim, total)
    if remainder < 0.0:
      return claim
  return end - 1


@jit.kernel
def _learn(settings, doubt, row, claim, reward):
  """Moves a probability of `doubt`, modified in place, by a reward."""
  q = doubt[row, claim]
  q += settings.alpha * reward * (1.0 - q)
  doubt[row, claim] = min(max(q, 0.0), 1.0)


@jit.kernel
def _play_round(rules, settings, doubt, starter, dice, rows, stream, counter):
  """Plays a round; returns (claimant, challenger, the claim doubted).

  `rows`, [player] int64, is filled with the rolls.
  """
  total = 0
  for player in range(len(dice)):
    if dice[player]:
      first, end = rules.row_begin[dice[player]:dice[player] + 2]
      rows[player] = first + random_streams.choose(
          rules.distribution[first:end], random_streams.draw(stream, counter))
      total += dice[player]
  last, claimant, player = -1, -1, starter
  while True:
    own, row = dice[player], rows[player]
    is_heuristic = (player != settings.player and
                    settings.opponents == HEURISTIC)
    if last == rules.num_sides * total - 1:
      break
    if last >= 0:
      if player == settings.player:
        chance = doubt[row, last]
      else:
        chance = 1.0 - _odds(rules, row, own, last, total)
        if not is_heuristic:
          chance = 0.25 + 0.5 * chance
      if random_streams.draw(stream, counter) < chance:
        break
    if is_heuristic:
      last = _heuristic_claim(rules, row, own, total, last,
                              random_streams.draw(stream, counter))
    else:
      last = _dummy_claim(rules, row, total, last, stream, counter)
    claimant = player
    player = (player + 1) % len(dice)
    while dice[player] == 0:
      player = (player + 1) % len(dice)
  return claimant, player, last


@jit.kernel
def _play_game(rules, settings, tables, starter, record, stream):
  """Plays a game and learns from it; returns whether the agent won.

  `record`, [round, 2] int64, is scratch for the agent's doubts.
  """
  dice = rules.start_dice.copy()
  rows = np.zeros_like(dice)
  counter = np.zeros(1, np.int64)
  doubts = 0
  living = len(dice)
  while living > 1 and dice[settings.player] > 0:
    claimant, challenger, claim = _play_round(
        rules, settings, tables.doubt, starter, dice, rows, stream, counter)
    count = 0
    for player in range(len(dice)):
      if dice[player]:
        count += rules.counts[rows[player], claim % rules.num_sides]
    is_false = count <= claim // rules.num_sides
    if challenger == settings.player and settings.alpha > 0.0:
      row = rows[challenger]
      record[doubts] = row, claim
      doubts += 1
      tables.visits[row, claim] += 1
      _learn(settings, tables.doubt, row, claim,
             settings.round_reward if is_false else -settings.round_reward)
    loser = claimant if is_false else challenger
    starter = challenger if is_false else claimant
    dice[loser] -= 1
    living -= dice[loser] == 0
  has_won = dice[settings.player] > 0
  for i in range(doubts):
    _learn(settings, tables.doubt, record[i, 0], record[i, 1],
           settings.game_reward if has_won else -settings.game_reward)
  return has_won


@jit.kernel
def play(rules, settings, tables, seed, games, count):
  """Plays games, one after the other, and counts them in `count`, [1] int64."""
  record = np.empty((np.sum(rules.start_dice), 2), np.int64)
  for _ in range(games):
    starter = rules.starter
    if settings.rotates:
      starter = (starter + count[0]) % len(rules.start_dice)
    stream = random_streams.stream(seed, count[0])
    if _play_game(rules, settings, tables, starter, record, stream):
      tables.wins[0] += 1
    count[0] += 1
