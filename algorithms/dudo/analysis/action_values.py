"""Values of the actions of one hand in a round of Dudo against a policy.

The opponent plays a policy for matches, a `match_policy.MatchPolicy` or a
`recall_policy.RecallPolicy` that was measured. `posterior` computes the
distribution of the opponent's dice, given its claims, by Bayes' rule.
`action_values` then computes the probability of winning the match after each
action, exactly and not by samples. Later rounds have their values under the
policy.

There are two continuations of the round:

  "policy": both players play the policy. With five dice each this takes less
    than a second.
  "best": the player has perfect recall and plays a best response. This
    traverses all histories. So it is offered only when few claims remain, and
    only against a `match_policy.MatchPolicy`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.analysis import imperfect_recall_values
from dudo_spiel.algorithms.dudo.analysis import perfect_recall_values
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response
from dudo_spiel.algorithms.dudo.rounds import rounds_policy
from dudo_spiel.algorithms.dudo.rounds import transitions

CONTINUATIONS = ("policy", "best")
MAX_BEST_CLAIMS = 18  # that remain for "best"; time doubles with each


class Posterior(NamedTuple):
  """The distribution of the opponent's dice, given its claims.

  Attributes:
    chances: [hand] float64, the probability of each of its hands.
    likelihood: the probability that the policy makes the opponent's claims,
      over its hands; 0.0 if it never does.
    is_expected: whether the policy makes these claims. If it does not, claims
      up to the last one with probability 0 are ignored.
  """
  chances: np.ndarray
  likelihood: float
  is_expected: bool


class ActionValues(NamedTuple):
  """The actions of one hand, and their values.

  Actions are the stronger claims, weakest first, and then Dudo, which nobody
  can say before the first claim.

  Attributes:
    names: list of str, the actions, such as "3x5" or "Dudo".
    values: [action] float64, the probability of winning the match.
    probabilities: [action] float64, the policy's probability of the action.
    posterior: the `Posterior` of the opponent's dice.
    odds: [claim] float64, the probability that each claim of the round is true,
      given the own dice and the posterior.
  """
  names: list
  values: np.ndarray
  probabilities: np.ndarray
  posterior: Posterior
  odds: np.ndarray

  def loss(self, name: str) -> float:
    """Returns the difference of the best value and that of an action.

    Args:
      name: one of `names`.
    """
    if name not in self.names:
      raise ValueError(f"name={name!r}: must be an action, one of "
                       f"{', '.join(self.names)}")
    return float(np.max(self.values) - self.values[self.names.index(name)])


def check_policy(policy):
  """Raises a ValueError unless it is a policy for matches of Dudo."""
  if not isinstance(policy, rounds_policy.RoundsPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.MatchPolicy or a "
                     "policies.RecallPolicy")


def _check_position(policy, dice, claims):
  """Returns (dice, claims) as a tuple and a list, or raises a ValueError."""
  check_policy(policy)
  key = tuple(dice) if isinstance(dice, (tuple, list, bytes)) else None
  num_claims = len(claims) if isinstance(claims, (tuple, list)) else 0
  if not policy.knows(key, num_claims):
    known = ", ".join(f"{a}v{b}" for a, b in sorted(policy.rounds))
    raise ValueError(f"dice={validation.shown(dice)}: after {num_claims} "
                     "claims must be (own, opponent's) dice of a round (the "
                     f"starter's first there): {known}")
  policy.rules.claim_order(sum(key)).check_history(claims)
  return key, list(claims)


def posterior(policy: rounds_policy.RoundsPolicy, dice: annotations.Dice,
              claims: Sequence[int]) -> Posterior:
  """Returns the `Posterior` of the opponent's dice.

  Args:
    policy: the policy that the opponent plays.
    dice: (own dice, opponent's dice). It is the player's own turn.
    claims: list of int, the claims of the round, first to last.

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> claim = policy.rules.claim_order(2).parse("1x6")
    >>> belief = exploitability.posterior(policy, (1, 1), [claim])
    >>> bool(belief.chances[5] > 1 / 6)  # who claims a six has one more often
    True
  """
  key, claims = _check_position(policy, dice, claims)
  prior = policy.rules.rolls(key[1]).probabilities
  chances, likelihood = prior.copy(), 1.0
  is_expected = True
  # The opponent made the last claim, and every second one before it.
  for turn in range(len(claims) % 2 == 0, len(claims), 2):
    row = claims[turn] - (claims[turn - 1] + 1 if turn else 0)
    chances = chances * policy.after_claims(key[::-1], claims[:turn])[row]
    total = chances.sum()
    likelihood *= total
    if total > 0.0:
      chances = chances / total
    else:
      chances, is_expected = prior.copy(), False
  return Posterior(chances, likelihood, is_expected)


def _match_counts(rules, key, hand):
  """Returns [claim, opponent's hand], how many dice match each claim."""
  own, other = (rules.rolls(dice).matches(rules.house.wild_ones)
                for dice in key)
  ranks = rules.claim_order(sum(key)).ranks - 1
  return own[hand, ranks][:, None] + other[:, ranks].T


def action_values(policy: rounds_policy.RoundsPolicy, dice: annotations.Dice,
                  claims: Sequence[int], hand: Sequence[int], *,
                  continuation: str = "policy") -> ActionValues:
  """Returns the `ActionValues` of one hand at one point of a round.

  Args:
    policy: the policy that the opponent plays.
    dice: (own dice, opponent's dice). It is the player's own turn.
    claims: list of int, the claims of the round, first to last.
    hand: the own dice, a sequence of faces in any order.
    continuation: how the player continues the round: "policy" for the policy,
      or "best" for a best response, which needs at most `MAX_BEST_CLAIMS`
      stronger claims and a `match_policy.MatchPolicy`.

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> claim = policy.rules.claim_order(2).parse("1x6")
    >>> values = exploitability.action_values(policy, (1, 1), [claim], [6])
    >>> values.names[-1], values.loss("Dudo") > 0.1  # a six in hand
    ('Dudo', True)
  """
  validation.choice("continuation", continuation, CONTINUATIONS)
  key, claims = _check_position(policy, dice, claims)
  rules = policy.rules
  try:
    roll = rules.rolls(key[0]).index(hand)
  except ValueError:
    raise ValueError(f"hand={hand!r}: must be {key[0]} faces between 1 and "
                     f"{rules.num_sides}") from None
  belief = posterior(policy, key, claims)
  order = rules.claim_order(sum(key))
  counts = _match_counts(rules, key, roll)
  payoffs = transitions.of_round(rules, key).payoffs(
      0, policy.continuation_values(key))
  # [claim, opponent's hand] float64, the payoffs to the hand.
  challenges, challenged = (table[np.arange(len(counts))[:, None], counts]
                            for table in payoffs)
  first = claims[-1] + 1 if claims else 0
  if continuation == "best" and policy.has_perfect_recall:
    raise ValueError("continuation='best': must be 'policy' against a policy "
                     "with perfect recall")
  if policy.has_perfect_recall:
    start = key[::-1] if len(claims) % 2 else key
    values = perfect_recall_values.claim_values(
        policy.round_tables(start), claims, roll, challenges,
        challenged) @ belief.chances
  elif continuation == "policy":
    values = imperfect_recall_values.claim_values(
        policy, key, claims, roll, challenges, challenged) @ belief.chances
  elif order.num_claims - first > MAX_BEST_CLAIMS:
    raise ValueError(
        f"continuation='best': {order.num_claims - first} stronger claims are "
        f"left; must be at most {MAX_BEST_CLAIMS}, or use 'policy'")
  else:
    values = best_response.best_claim_values(policy, key, claims, roll,
                                             belief.chances)
  names = list(order.names[first:])
  if claims:
    values = np.append(values, challenges[claims[-1]] @ belief.chances)
    names.append("Dudo")
  return ActionValues(
      names, (1.0 + values) / 2.0, policy.after_claims(key, claims)[:, roll],
      belief, (counts >= order.quantities[:, None]) @ belief.chances)


def state_action_values(policy: rounds_policy.RoundsPolicy,
                        state: pyspiel.State, *,
                        continuation: str = "policy") -> ActionValues:
  """Returns the `ActionValues` of the player who acts in a state.

  Args:
    policy: the policy that the opponent plays.
    state: a state of a game that the policy plays, at which a player acts.
    continuation: how the player continues the round: "policy" for the policy,
      or "best" for a best response.
  """
  check_policy(policy)
  validation.state("state", state)
  policy.check_game(state.get_game())
  player = state.current_player()
  if player < 0:
    raise ValueError(f"state={state}: nobody decides there")
  dice = state.dice[player], state.dice[1 - player]
  return action_values(policy, dice, state.claim_list(), state.hand(player),
                       continuation=continuation)
