"""The pairs of rounds of a match that are trained together, and their size.

Rounds (a, b) and (b, a) share tables, so they are trained together.
"""

import math

import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import abstractions
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.games import dudo

_EXACT_HANDS = 21  # with at most two dice a player meets all hands
_SAMPLED_HANDS = 8  # with more dice, this many


def memory_needed(game, recall_length=3, num_threads=None, *, memory=None):
  """Returns how many bytes a `MatchSolver` and its policy need.

  Args:
    game: as for `MatchSolver`, and so are the others.
    recall_length: how many of the last claims players remember.
    num_threads: how many threads to use, None for all.
    memory: what players remember instead.
  """
  match = abstract_rules.abstract_rules(game, memory_of(game, recall_length, memory))
  pairs = round_pairs(round_rules.round_keys(game.start_dice))
  return memory_bytes(match, pairs, None, jit.thread_count(num_threads),
                      np.float32)


def memory_bytes(match, pairs, hands_met, num_threads, dtype):
  """Returns how many bytes a solver and its policy need.

  Args:
    match: the `abstract_rules.AbstractRules`.
    pairs: what `round_pairs` returns.
    hands_met: see `num_shifts`.
    num_threads: how many threads to use.
    dtype: the type of the tables.
  """
  entries = sum(math.prod(match.table_shape(key)) for pair in pairs
                for key in pair)
  policy = entries * np.dtype(np.float32).itemsize
  training = max(
      pair_trainer.memory_bytes(
          match, pair, num_shifts(match, pair, hands_met), num_threads, dtype)
      for pair in pairs)
  return 2 * entries * np.dtype(dtype).itemsize + max(policy, training)


def memory_of(game, recall_length, memory):
  """Returns the `abstractions.Abstraction` of players in the game.

  The information states of `dudo_ir` have only the last claims. So a policy
  can remember less there, but not more.

  Args:
    game: the `pyspiel.Game`.
    recall_length: how many claims they remember in `dudo`.
    memory: what they remember instead, or None.
  """
  if not isinstance(game, dudo.DudoIRGame):
    return abstractions.choose(recall_length, memory)
  chosen = abstractions.choose(game.recall_length, memory)
  if chosen.span > game.recall_length:
    raise ValueError(
        f"memory={chosen.name!r}: remembers {chosen.text}; in {game} must need "
        f"no more than the last {game.recall_length} claims")
  return chosen


def round_pairs(rounds):
  """Returns the pairs of rounds that are trained together, in order."""
  return list(dict.fromkeys(
      round_rules.round_pair(tuple(sorted(key))) for key in rounds))


def num_shifts(match, pair, hands_met):
  """Returns how many hands each hand meets in an iteration of a pair.

  Args:
    match: the `abstract_rules.AbstractRules`.
    pair: the rounds that are trained together.
    hands_met: a number, "all", or None for the default.
  """
  few = min(match.rolls(n).num_rolls for n in pair[0])
  if hands_met is None:
    hands_met = "all" if few <= _EXACT_HANDS else _SAMPLED_HANDS
  return few if hands_met == "all" else min(hands_met, few)
