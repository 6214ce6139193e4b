"""How many information states a match of two-player Dudo has."""

import collections
import math

import numpy as np

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions


def num_info_states(game):
  """Returns how many information states both players have together."""
  total = 0
  starters_with = {}  # dice of both -> set of those who may start with them
  ways = {(tuple(game.start_dice), game.starting_player): 1}
  while ways:
    # Dice only get fewer, so no unvisited way leads to those with the most.
    dice, starter = max(ways, key=lambda key: sum(key[0]))
    count = ways.pop((dice, starter))
    starters_with.setdefault(dice, set()).add(starter)
    # All rounds before are public. Half of the sets of claims are even.
    total += count * 2**(game.num_sides * sum(dice) - 1) * sum(
        rolls_lib.num_rolls(own, game.num_sides) for own in dice)
    for after, more in _ways_on(game, dice, starter).items():
      ways[after] = ways.get(after, 0) + count * more
  if not hasattr(game, "recall_length"):
    return total
  return sum(rolls_lib.num_rolls(dice[player], game.num_sides) *
             _num_remembered(game, sum(dice), {player == s for s in starters})
             for dice, starters in starters_with.items() for player in (0, 1))


def _ways_on(game, dice, starter):
  """Returns the number of deals and lines of claims to each next round.

  Its keys are (dice of players 0 and 1, who starts).
  """
  rules = round_rules.round_rules(game)
  order = rules.claim_order(sum(dice))
  # [count] by rank: the number of pairs of rolls in which count dice match.
  pairs = [np.convolve(*(
      np.bincount(rules.rolls(own).matches(game.house.wild_ones)[:, rank])
      for own in dice)).tolist() for rank in range(game.num_sides)]
  # Roles of the transitions are players here, whoever starts.
  following = transitions.of_round(rules, dice)
  ways = collections.Counter()
  for challenger, claim, count in np.ndindex(*following.shape):
    # Half of the sets of weaker claims: their parity says whose turn it was.
    lines = 2**(claim - 1) if claim else int(challenger != starter)
    deals = pairs[order.claims[claim][1] - 1][count]
    after = tuple(following.dice[challenger, claim, count].tolist())
    if lines and deals and all(after):
      ways[after, int(following.winner[challenger, claim, count])] += (
          deals * lines)
  return ways


def _num_remembered(game, num_dice, may_start):
  """Returns how many sets of last claims a player of `dudo_ir` may remember.

  The player is to act.

  `may_start` is a set of bool: whether the player started the round.
  """
  num_claims = game.num_sides * num_dice
  length = min(game.recall_length, num_claims)
  if len(may_start) == 2:
    return sum(math.comb(num_claims, k) for k in range(length + 1))
  parity = 0 if may_start == {True} else 1
  total = sum(math.comb(num_claims, k) for k in range(parity, length, 2))
  # A full set may hide an older claim, unless it has the weakest one.
  hides = length % 2 != parity
  return total + math.comb(num_claims - hides, length)
