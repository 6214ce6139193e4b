"""What each action of one hand is worth in a round of Dudo against a policy.

The opponent plays a policy for matches. What it has claimed so far tells
something about its dice: `posterior` weighs each of its hands by the chance
that the policy makes these claims with it. `action_values` then gives the
probability of winning the match after each action, exactly and not by samples.
Rounds that follow are worth what the policy's file says, as if both played the
policy.

Two plans for the rest of the round are offered:

  "policy": both go on as the policy does. This takes less than a second with
    five dice each.
  "best": the player remembers everything and responds in the best way. This
    walks all ways on, so it is offered only when few claims remain, and only
    against a `policy.MatchPolicy`.

A policy is a `policy.MatchPolicy` or a `recall_policy.RecallPolicy` that was
measured.
"""

from collections.abc import Sequence
import functools
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
MAX_BEST_CLAIMS = 18  # that remain for the plan "best"; time doubles with each
_MAX_BYTES = 4 * 10**9  # of the values of places


class Posterior(NamedTuple):
  """What claims tell about the opponent's dice.

  Attributes:
    chances: [hand] float64, the probability of each of its hands.
    likelihood: how likely the policy's own moves are on these claims, on
      average over its hands; 0.0 if the policy never makes them.
    is_expected: whether the policy makes these claims. If it does not, the
      claims up to the last that surprises tell nothing, and only those after
      it count.
  """
  chances: np.ndarray
  likelihood: float
  is_expected: bool


class ActionValues(NamedTuple):
  """What one hand can do, and what it gets.

  Actions are the stronger claims, weakest first, and then Dudo, which nobody
  can say before the first claim.

  Attributes:
    names: list of str, the actions, such as "3x5" or "Dudo".
    values: [action] float64, the probability of winning the match.
    probabilities: [action] float64, how likely the policy takes it.
    posterior: the `Posterior` of the opponent's dice.
    odds: [claim] float64, how likely each claim of the round is true, by the
      own dice and the posterior.
  """
  names: list
  values: np.ndarray
  probabilities: np.ndarray
  posterior: Posterior
  odds: np.ndarray

  def loss(self, name: str) -> float:
    """Returns how much less an action is worth than the best one."""
    if name not in self.names:
      raise ValueError(f"name={name!r}: must be an action, one of "
                       f"{', '.join(self.names)}")
    return float(np.max(self.values) - self.values[self.names.index(name)])


def check_policy(policy):
  """Raises a ValueError if nothing can be computed against it."""
  if not isinstance(policy, rounds_policy.RoundsPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.MatchPolicy or a "
                     "policies.RecallPolicy")


def _check_position(policy, dice, claims):
  """Returns (own dice, other's dice) and the claims, or raises.

  Args:
    policy: see the top of this file.
    dice: must be (own dice, opponent's dice) of a round that it knows.
    claims: must be a list of claims that grow.
  """
  check_policy(policy)
  key = tuple(dice) if isinstance(dice, (tuple, list, bytes)) else None
  num_claims = len(claims) if isinstance(claims, (tuple, list)) else 0
  if not policy.knows(key, num_claims):
    known = ", ".join(f"{a}v{b}" for a, b in sorted(policy.rounds))
    raise ValueError(f"dice={validation.shown(dice)}: after {num_claims} "
                     "claims must be (own, opponent's) dice of a round (the "
                     f"starter's first there): {known}")
  policy.match.claim_order(sum(key)).check_history(claims)
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
    >>> claim = policy.match.claim_order(2).parse("1x6")
    >>> belief = exploitability.posterior(policy, (1, 1), [claim])
    >>> bool(belief.chances[5] > 1 / 6)  # who claims a six has one more often
    True
  """
  key, claims = _check_position(policy, dice, claims)
  prior = policy.match.rolls(key[1]).probabilities
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


def _claim_odds(match, key, hand, chances):
  """Returns [claim], how likely each claim is true.

  Args:
    match: the `round_rules.RoundRules`.
    key: (own dice, opponent's dice).
    hand: the number of the own hand.
    chances: [hand], the probabilities of the opponent's hands.
  """
  order = match.claim_order(sum(key))
  own, other = (match.rolls(dice).matches(match.house.wild_ones)
                for dice in key)
  ranks = order.ranks - 1
  counts = own[hand, ranks][:, None] + other[:, ranks].T
  return (counts >= order.quantities[:, None]) @ chances


def _leaves(policy, key, hand):
  """Returns what challenges are worth to a hand, [claim, opponent's hand].

  Args:
    policy: the `policy.MatchPolicy`.
    key: (own dice, opponent's dice).
    hand: the number of the own hand.

  Returns:
    The own challenges, and those of the opponent.
  """
  match = policy.match
  payoffs = transitions.of_round(match, key).payoffs(
      0, policy.continuation_values(key))
  own, other = (match.rolls(dice).matches(match.house.wild_ones)
                for dice in key)
  ranks = match.claim_order(sum(key)).ranks - 1
  counts = own[hand, ranks][:, None] + other[:, ranks].T
  claims = np.arange(len(ranks))[:, None]
  return payoffs.challenges[claims, counts], payoffs.challenged[claims, counts]


@functools.lru_cache(maxsize=8)
def _memory_order(match, num_dice):
  """Returns [memory], the memories by their last claims."""
  return np.argsort(match.graph(num_dice).arrays.last, kind="stable")


def _policy_values(policy, key, claims, hand, challenges, challenged):
  """Returns [claim, opponent's hand], if both go on as the policy does.

  Args:
    policy: the `policy.MatchPolicy`.
    key: (own dice, opponent's dice).
    claims: list of int.
    hand: the number of the own hand.
    challenges: [claim, opponent's hand], the worth of own challenges.
    challenged: the same of the opponent's.
  """
  if policy.has_perfect_recall:
    start = key[::-1] if len(claims) % 2 else key
    return perfect_recall_values.claim_values(
        policy.round_tables(start), claims, hand, challenges, challenged)
  memory = policy.match.graph(sum(key))
  arrays = memory.arrays
  num_hands = challenges.shape[1]
  game = imperfect_recall_values.HandArrays(
      num_claims=memory.num_claims, row_begin=arrays.row_begin,
      child_begin=arrays.child_begin, last=arrays.last,
      order=_memory_order(policy.match, sum(key)),
      own_weights=policy.tables[key][:, hand].astype(np.float64),
      weights=policy.tables[key[::-1]], challenges=challenges,
      challenged=challenged)
  node = memory.index(claims)
  place = np.full((2, memory.num_nodes), -1)
  size = imperfect_recall_values.number_places(game, node, place)
  if 8 * size * num_hands > _MAX_BYTES:
    raise ValueError(f"policy={policy}: the values of {size:,} places would "
                     f"take {8 * size * num_hands:,} bytes; must be at most "
                     f"{_MAX_BYTES:,}")
  values = np.empty((size, num_hands))
  imperfect_recall_values.evaluate(game, place, values)
  first = arrays.child_begin[node]
  children = memory.num_claims - 1 - (claims[-1] if claims else -1)
  return values[place[imperfect_recall_values.OPPONENT, first:first + children]]


def action_values(policy: rounds_policy.RoundsPolicy, dice: annotations.Dice,
                  claims: Sequence[int], hand: Sequence[int], *,
                  continuation: str = "policy") -> ActionValues:
  """Returns the `ActionValues` of one hand at one point of a round.

  Args:
    policy: the policy that the opponent plays.
    dice: (own dice, opponent's dice). It is the player's own turn.
    claims: list of int, the claims of the round, first to last.
    hand: the own dice, a sequence of faces in any order.
    continuation: the player's plan for the rest of the round, "policy" or
      "best" (with at most `MAX_BEST_CLAIMS` stronger claims).

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> claim = policy.match.claim_order(2).parse("1x6")
    >>> values = exploitability.action_values(policy, (1, 1), [claim], [6])
    >>> values.names[-1], values.loss("Dudo") > 0.1  # a six in hand
    ('Dudo', True)
  """
  validation.choice("continuation", continuation, CONTINUATIONS)
  key, claims = _check_position(policy, dice, claims)
  match = policy.match
  try:
    roll = match.rolls(key[0]).index(hand)
  except ValueError:
    raise ValueError(f"hand={hand!r}: must be {key[0]} faces between 1 and "
                     f"{match.num_sides}") from None
  belief = posterior(policy, key, claims)
  order = match.claim_order(sum(key))
  challenges, challenged = _leaves(policy, key, roll)
  first = claims[-1] + 1 if claims else 0
  if continuation == "best" and policy.has_perfect_recall:
    raise ValueError("continuation='best': must be 'policy' against a policy "
                     "with perfect recall")
  if continuation == "policy":
    values = _policy_values(policy, key, claims, roll, challenges,
                            challenged) @ belief.chances
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
      belief, _claim_odds(match, key, roll, belief.chances))


def state_action_values(policy: rounds_policy.RoundsPolicy,
                        state: pyspiel.State, *,
                        continuation: str = "policy") -> ActionValues:
  """Returns the `ActionValues` of the player who acts in a state.

  Args:
    policy: the policy that the opponent plays.
    state: a state of a game that the policy plays, at which a player acts.
    continuation: as of `action_values`.
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
