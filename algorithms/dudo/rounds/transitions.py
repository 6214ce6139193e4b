"""What the challenges that end a round lead to: payoffs, or other rounds."""

import numpy as np

from dudo_spiel import rules


class RoundEnds:
  """Knows what follows each challenge of a round.

  How likely challenges are is [role, claim, count] float64, as
  `round_trainer.RecallTrainer.outcomes` returns it: the role challenges the
  claim, and count dice match.

  Args:
    match: the `rounds.MatchRules`.
    dice: (starter's dice, other's dice).
    number: dict from rounds to their numbers, smaller ones first.

  Attributes:
    shape: of arrays by challenges.
  """

  def __init__(self, match, dice, number):
    order = match.claim_order(sum(dice))
    self.shape = 2, order.num_claims, order.num_dice + 1
    # The next round or -1; the payoff to the starter of this round, or the sign
    # of the next round's value to it.
    self._next = np.full(self.shape, -1, np.int64)
    self._sign = np.zeros(self.shape)
    for role, claim, count in np.ndindex(*self.shape):
      after, winner = rules.resolve_challenge(
          dice, 1 - role, role, order.claims[claim][0], count, match.house)
      self._sign[role, claim, count] = 1.0 if winner == 0 else -1.0
      if all(after):
        self._next[role, claim, count] = number[after[winner],
                                                after[1 - winner]]
      else:
        self._sign[role, claim, count] = 1.0 if after[0] else -1.0

  def value(self, outcomes, values):
    """Returns the starter's value.

    Args:
      outcomes: how likely challenges are.
      values: [round] float64, of smaller rounds.
    """
    worth = np.append(values, 1.0)[self._next]  # -1 is the last one
    return float((outcomes * self._sign * worth).sum())

  def next_rounds(self, outcomes, count):
    """Returns [round] float64, how likely each round comes next.

    Args:
      outcomes: how likely challenges are.
      count: how many rounds there are.
    """
    inner = self._next >= 0
    return np.bincount(self._next[inner], outcomes[inner], count)


def visits(next_rounds, start):
  """Returns [round] float64, how likely a match comes to each round.

  Args:
    next_rounds: [round, round] float64, how likely the second one comes next
      after the first; smaller rounds first.
    start: the round in which the match begins.
  """
  found = np.zeros(len(next_rounds))
  found[start] = 1.0
  for number in range(start, -1, -1):
    found += found[number] * next_rounds[number]
  return found
