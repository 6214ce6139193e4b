"""Measures a stored round of Dudo exactly: best responses and values.

Best responses are over the whole round: responders may also make claims that
the policy has not stored.
"""

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts


class RoundEvaluator:
  """Measures the policy of both players in one round.

  Args:
    match: the `round_rules.RoundRules`.
    stored: the `stored_rounds.StoredRound`.
    flag: [1] bool; soon after it is set all methods raise an
      `interrupts.StoppedError`.
  """

  def __init__(self, match, stored, flag):
    self._stored = stored.as_float()
    self._transitions = transitions.of_round(match, stored.hands.dice)
    self._flag = flag

  def run_kernel(self, kernel, *args):
    """Returns what a kernel returns for the policy.

    Args:
      kernel: of `best_response_kernels` or `expansion_kernels`; its first
        arguments are the round, the tree and the table.
      *args: its other arguments, with None for its scratch.
    """
    hands, tree, table = self._stored
    scratch = best_response_kernels.new_scratch(hands, self._flag)
    result = kernel(hands.arrays(np.float64), tree, table,
                    *(scratch if arg is None else arg for arg in args))
    interrupts.check_flag(self._flag)
    return result

  def payoffs(self, role, lows, highs):
    """Returns the `transitions.Payoffs` of a responder, padded.

    Args:
      role: the responder's, 0 for the starter.
      lows: {(starter's dice, other's dice): the least that the policy gets as
        the starter of that round}.
      highs: {(starter's dice, other's dice): the most that a starter gets
        against the policy}.
    """
    return self._stored.hands.padded_payoffs(self._transitions.payoffs(
        role, highs, {key: -low for key, low in lows.items()}))

  def best_responses(self, payoffs, pool=None):
    """Returns the best responses of both roles to the policy.

    Args:
      payoffs: for each role the responder's `transitions.Payoffs`.
      pool: the `concurrent.futures.Executor` whose threads compute it, or None
        for the calling thread.

    Returns:
      ([role] float64, `best_response_kernels.Choices`): the expected payoff of
      each role, and its choices at each node.
    """
    choices = best_response_kernels.new_choices(self._stored.tree)

    def respond(role):  # each role writes to its own nodes
      return self.run_kernel(
          best_response_kernels.respond,
          best_response_kernels.Responder(role, *payoffs[role]), None, choices)

    return np.array(interrupts.map_tasks(pool, respond, range(2))), choices

  def certify(self, lows, highs, pool=None):
    """Returns (low, high), certified bounds of the round's value.

    In the match from this round on, the policy gets at least `low` as the
    starter, and no starter gets more than `high` against it. `lows` and `highs`
    are those of the rounds that follow, as for `payoffs`; `pool` is as for
    `best_responses`.
    """
    values, _ = self.best_responses(
        [self.payoffs(role, lows, highs) for role in range(2)], pool)
    return -float(values[1]), float(values[0])

  def outcomes(self):
    """Returns [role, claim, count] float64, probabilities of the challenges.

    The role challenges the claim, and count dice match, if both players play
    the policy.
    """
    order = self._stored.hands.order
    outcomes = np.zeros((2, order.num_claims, order.num_dice + 1))
    self.run_kernel(best_response_kernels.play, None, outcomes)
    return outcomes

  def measure(self, later, pool=None):
    """Returns the `stored_rounds.Measures` of the round.

    Args:
      later: {(starter's dice, other's dice): `stored_rounds.Measures`} of the
        rounds that follow.
      pool: as for `best_responses`.
    """
    lows, highs, values = (
        {key: getattr(measures, name) for key, measures in later.items()}
        for name in ("low", "high", "value"))
    low, high = self.certify(lows, highs, pool)
    value = self._transitions.value(self.outcomes(), 0, values)
    return stored_rounds.Measures(low, high, value)
