"""Tables of what follows the challenge that ends a round of two-player Dudo.

`rules.resolve_challenge` says it for one challenge; here it is tabulated.

A challenge is indexed by [role, claim, count]: the starter (role 0) or the
other player (role 1) challenges the claim, and count dice match its rank. It
ends the match, or leads to a round with fewer dice, which its winner starts.
"""

import functools
from typing import NamedTuple

import numpy as np

from dudo_spiel import rules as rules_lib


class Payoffs(NamedTuple):
  """What the challenges of a round are worth to one player.

  Attributes:
    challenges: [claim, count] float64, when the player challenges the claim and
      count dice match.
    challenged: [claim, count] float64, when the opponent challenges.
  """
  challenges: np.ndarray
  challenged: np.ndarray


class Transitions:
  """What follows each challenge of a round.

  Args:
    rules: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).

  Attributes:
    shape: (2, claims, counts), of arrays by challenges.
    dice: [role, claim, count, 2] uint8, the dice that the starter and the other
      player of this round have afterwards.
    winner: [role, claim, count] uint8, who won the challenge: the starter (0)
      or the other player (1) of this round. The winner starts the next round.
  """

  def __init__(self, rules, dice):
    order = rules.claim_order(sum(dice))
    self.shape = 2, order.num_claims, order.num_dice + 1
    self.dice = np.zeros((*self.shape, 2), np.uint8)
    self.winner = np.zeros(self.shape, np.uint8)
    self._result = np.zeros(self.shape, np.int64)  # index into `_results`
    results = {}
    resolve = functools.cache(
        lambda role, quantity, count: rules_lib.resolve_challenge(
            dice, 1 - role, role, quantity, count, rules.house))
    for challenge in np.ndindex(*self.shape):
      role, claim, count = challenge
      after, winner = resolve(role, order.claims[claim][0], count)
      self.dice[challenge] = *after,
      self.winner[challenge] = winner
      self._result[challenge] = results.setdefault((tuple(after), winner),
                                                   len(results))
    self._results = list(results)

  @property
  def next_rounds(self):
    """The rounds (starter's dice, other's dice) that may follow, a set."""
    return {(after[winner], after[1 - winner])
            for after, winner in self._results if all(after)}

  def _table(self, role, as_starter, as_other):
    """Returns [role, claim, count] float64, the payoff to one role."""
    values = np.empty(len(self._results))
    for i, (after, winner) in enumerate(self._results):
      key = after[winner], after[1 - winner]
      if not all(after):
        values[i] = 1.0 if after[role] else -1.0
      elif winner == role:
        values[i] = as_starter[key]
      else:
        values[i] = -as_starter[key] if as_other is None else as_other[key]
    return values[self._result]

  def payoffs(self, role, as_starter, as_other=None):
    """Returns the `Payoffs` to one player.

    Args:
      role: of the player, 0 if it starts this round.
      as_starter: {(starter's dice, other's dice): what a later round that the
        player starts is worth to it}.
      as_other: the same of later rounds that its opponent starts; None if
        rounds are worth the same to whoever starts them.
    """
    table = self._table(role, as_starter, as_other)
    return Payoffs(table[role], table[1 - role])

  def value(self, outcomes, role, as_starter, as_other=None):
    """Returns what the round is worth to one player.

    Args:
      outcomes: [role, claim, count] float64, the probabilities of challenges.
      role: of the player, 0 if it starts this round.
      as_starter: {(starter's dice, other's dice): what a later round that the
        player starts is worth to it}.
      as_other: the same of later rounds that its opponent starts; None if
        rounds are worth the same to whoever starts them.
    """
    return float((outcomes * self._table(role, as_starter, as_other)).sum())

  def next_probabilities(self, outcomes, rounds):
    """Returns [round] float64, the probability that a round comes next.

    Args:
      outcomes: [role, claim, count] float64, the probabilities of challenges.
      rounds: list of (starter's dice, other's dice), all that may follow.
    """
    index = {key: i for i, key in enumerate(rounds)}
    target = np.array([
        index[after[winner], after[1 - winner]] if all(after) else -1
        for after, winner in self._results])[self._result]
    is_inner = target >= 0
    return np.bincount(target[is_inner], outcomes[is_inner], len(rounds))


@functools.lru_cache(maxsize=256)
def of_round(rules, dice):
  """Returns the `Transitions` of a round, which all callers share."""
  return Transitions(rules, dice)


def visits(next_probabilities, start):
  """Returns [round] float64, the probability that a match comes to a round.

  Args:
    next_probabilities: [round, round] float64, the probability that the second
      comes next after the first; rounds with fewer dice first.
    start: the index of the round in which the match begins.
  """
  reach = np.zeros(len(next_probabilities))
  reach[start] = 1.0
  for index in range(start, -1, -1):
    reach += reach[index] * next_probabilities[index]
  return reach
