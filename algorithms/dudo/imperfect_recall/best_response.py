"""Best responses in rounds and matches of Dudo to a policy that forgets claims.

The policy is a `match_policy.MatchPolicy`. The responder forgets nothing, so a
round with C claims has 2^C histories. `best_response_value` finds exactly what
the responder can get: by branch and bound (`branch_and_bound_kernels`), or by a
traversal of all histories (`full_response_kernels`), which is slower, but needs
no tables of bounds and so checks the first. Where even branch and bound takes
too long, `best_response_bounds` stops early and gives a lower and an upper
bound; `refine_bounds` tightens them while time lasts. Bounds are rigorous, up
to rounding errors.

The leaves of a round are worth what the rounds that follow are worth.
`round_exploitability` takes the policy's own values of them, so it measures how
well that one round is played. `match_best_response` and `match_bounds` take the
responder's values, from the fewest dice up, and so measure the policy in the
whole match.
"""

from collections.abc import Iterator
import time
from typing import NamedTuple

import numpy as np

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response_round
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

METHODS = ("search", "walk")
MAX_WALK_CLAIMS = 40
_PROBE_SECONDS = 0.3
_FIRST_MIN_MASS = 0.1
_SMALLEST_MIN_MASS = 1e-14

Bounds = best_response_round.Bounds
_Leaves = (transitions.Payoffs | None |
           tuple[transitions.Payoffs, transitions.Payoffs])  # two are bounds


def best_response_value(policy: match_policy.MatchPolicy,
                        dice: annotations.Dice, role: int,
                        leaves: transitions.Payoffs | None = None, *,
                        method: str = "search",
                        num_threads: int | None = None) -> float:
  """Returns what a best response to the policy gets in a round, exactly.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    leaves: the `transitions.Payoffs` of the round; None if later rounds are
      worth the policy's values.
    method: "search", or "walk" for all histories (see `estimate_seconds`).
    num_threads: how many threads walk, None for all; the result does not
      depend on it. The search takes one.
  """
  num_threads = jit.thread_count(num_threads)
  validation.choice("method", method, METHODS)
  this_round = best_response_round.ResponderRound(policy, dice, role, leaves,
                                                  num_threads)
  if method == "search":
    bounds = this_round.search(0.0)
    return _middle((bounds.lower, bounds.upper))
  claims = this_round.graph.num_claims
  if claims > MAX_WALK_CLAIMS:
    raise ValueError(f"dice={dice!r}: has {claims} claims, must have at most "
                     f"{MAX_WALK_CLAIMS} to be walked")
  return this_round.walk()


def best_claim_values(policy, dice, claims, hand, chances):
  """Returns what each stronger claim of one hand is worth, then best play.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (responder's dice, policy's dice). It is the responder's turn.
    claims: list of int, the claims of the round, first to last.
    hand: the number of the responder's roll.
    chances: [policy's hand], the probabilities of its hands.

  Returns:
    [claim] float64. Later rounds have the policy's values.
  """
  role = len(claims) % 2
  this_round = best_response_round.ResponderRound(
      policy, dice if role == 0 else dice[::-1], role, None, 1)
  this_round.keep_hand(hand)
  reach = np.zeros(len(this_round.arrays.chances))
  reach[:len(chances)] = chances
  _, *values = this_round.turn_values([(claims, reach)])[0]
  return np.array([value[0] for value in values])


def estimate_seconds(policy: match_policy.MatchPolicy, dice: annotations.Dice,
                     role: int) -> float:
  """Returns about how many seconds one thread needs at most to walk a round.

  It is the number of all histories, 2^claims, times the time of one, which is
  measured on those that begin with the strongest claims. The walk skips
  histories to which the policy never plays, so it may take less.
  """
  this_round = best_response_round.ResponderRound(policy, dice, role, None, 1)
  return 2.0**this_round.graph.num_claims * this_round.probe(_PROBE_SECONDS)


def best_response_bounds(
    policy: match_policy.MatchPolicy, dice: annotations.Dice, role: int,
    min_mass: float,
    leaves: _Leaves = None) -> Bounds:
  """Returns `Bounds` of what a best response to the policy gets in a round.

  The mass in doubt at a turn of the responder is the mean over its hands of
  (upper - lower bound) times the probability that the policy plays to that
  turn. The search stops where it is at most `min_mass`, and where the turn
  cannot matter.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    min_mass: the search stops where at most this much mass is in doubt; 0 for
      the exact value.
    leaves: the `transitions.Payoffs` of the round, or a pair of them, lower and
      upper bounds; None if later rounds are worth the policy's values.
  """
  min_mass = validation.number("min_mass", min_mass, 0.0)
  return best_response_round.ResponderRound(
      policy, dice, role, leaves, jit.thread_count(None)).search(min_mass)


def refine_bounds(
    policy: match_policy.MatchPolicy, dice: annotations.Dice, role: int,
    seconds: float,
    leaves: _Leaves = None) -> Iterator[Bounds]:
  """Yields `Bounds` that become tighter and tighter.

  Every step searches again with a tenth of the mass before. It ends when the
  value is exact, or when the next step would probably not end in time. There is
  always at least one step.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    seconds: about how long it may take.
    leaves: the `transitions.Payoffs` of the round, or a pair of them, lower and
      upper bounds; None if later rounds are worth the policy's values.
  """
  seconds = validation.number("seconds", seconds, 0.0)
  this_round = best_response_round.ResponderRound(policy, dice, role, leaves,
                                                  jit.thread_count(None))
  return _refine(this_round.search, seconds)


def _refine(search, seconds):
  """Yields what `refine_bounds` does; `search` returns `Bounds` by a mass."""
  begin = time.perf_counter()
  best, elapsed, last_step = None, 0.0, 0.0
  min_mass = _FIRST_MIN_MASS
  while True:
    bounds = search(min_mass)
    if best is not None:
      bounds = bounds._replace(lower=max(bounds.lower, best.lower),
                               upper=min(bounds.upper, best.upper))
    best = bounds
    yield best
    step = time.perf_counter() - begin - elapsed
    elapsed += step
    growth = min(max(step / last_step, 1.0), 10.0) if last_step else 1.0
    if (min_mass == 0.0 or best.upper <= best.lower or
        elapsed + growth * step > seconds):
      return
    last_step = step
    min_mass = min_mass / 10 if min_mass > _SMALLEST_MIN_MASS else 0.0


def round_exploitability(policy: match_policy.MatchPolicy,
                         dice: annotations.Dice, *, method: str = "search",
                         num_threads: int | None = None) -> float:
  """Returns half the NashConv of a round whose leaves have the policy's values.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    method: "search", or "walk" for all histories (see `estimate_seconds`).
    num_threads: how many threads walk, None for all; the result does not
      depend on it. The search takes one.

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> round(exploitability.round_exploitability(policy, (1, 1)), 3)
    0.058
  """
  return 0.5 * sum(
      best_response_value(policy, dice, role, method=method,
                          num_threads=num_threads) for role in range(2))


class MatchBounds(NamedTuple):
  """Bounds of best responses in a match and all its rounds.

  Values are pairs (lower bound, upper bound) of what the responder gets.

  Attributes:
    exploitability: half the NashConv of the match.
    values: by the responder's seat, the value of the match.
    responder_starts: dict from (responder's, policy's) dice to the value of a
      match that begins with them if the responder starts.
    policy_starts: dict from (policy's, responder's) dice to the value of a
      match that begins with them if the policy starts.
    rounds: dict from (starter's dice, other's dice, role) to the `Bounds`.
  """
  exploitability: tuple[float, float]
  values: tuple[tuple[float, float], tuple[float, float]]
  responder_starts: dict[tuple[int, int], tuple[float, float]]
  policy_starts: dict[tuple[int, int], tuple[float, float]]
  rounds: dict[tuple[int, int, int], Bounds]


def match_bounds(policy: match_policy.MatchPolicy,
                 start_dice: annotations.Dice | None = None,
                 starting_player: int | None = None, *,
                 seconds: float | None = None,
                 num_threads: int | None = None) -> MatchBounds:
  """Returns the `MatchBounds` of best responses in all rounds of a match.

  Args:
    policy: the `match_policy.MatchPolicy`.
    start_dice: both players' dice at the start; None for those of its game.
    starting_player: who starts; None for the one who does in its game.
    seconds: about how long to search each round in each role; None searches
      until the values are exact.
    num_threads: how many rounds to search at a time, None for all processors.

  Example:
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy("recall3")
    >>> bounds = exploitability.match_bounds(policy, start_dice=(1, 1))
    >>> low, high = bounds.exploitability
    >>> round(low, 3), round(high, 3)
    (0.058, 0.058)
  """
  num_threads = jit.thread_count(num_threads)
  if seconds is not None:
    validation.number("seconds", seconds, 0.0)
  best_response_round.check_policy(policy)
  start_dice = policy.game.start_dice if start_dice is None else start_dice
  if not isinstance(start_dice, (tuple, list, bytes)):
    raise ValueError(f"start_dice={start_dice!r}: must be the dice of two "
                     "players")
  start = tuple(start_dice)
  starter = (policy.game.starting_player if starting_player is None else
             validation.integer("starting_player", starting_player, 0, 1))
  if len(start) != 2:
    raise ValueError(f"start_dice={start!r}: must be the dice of two players")
  for dice in start:
    validation.integer("start_dice", dice, 1)
  first = start[starter], start[1 - starter]
  if not {first, first[::-1]} <= policy.tables.keys():
    raise ValueError(f"start_dice={start!r}: must be dice for which the policy "
                     "has tables")
  for role in range(2):
    best_response_round.check_round(policy, first, role)
  # By role, from (starter's, other's dice) to the value.
  starts: tuple[annotations.ByRound, annotations.ByRound] = {}, {}
  rounds = {}
  flag = interrupts.new_flag()

  def solve(task):
    key, role = task
    leaves = tuple(
        transitions.of_round(policy.rules, key).payoffs(
            role, *({k: value[bound] for k, value in values.items()}
                    for values in starts)) for bound in range(2))
    this_round = best_response_round.ResponderRound(policy, key, role, leaves,
                                                    num_threads, flag)
    if seconds is None:
      return this_round.search_here(0.0)
    for bounds in _refine(this_round.search_here, seconds):
      best = bounds
    return best

  keys = round_rules.round_keys(start)
  for num_dice in range(2, sum(start) + 1):
    tasks = [(key, role) for key in keys if sum(key) == num_dice
             and (num_dice < sum(start) or key == first) for role in range(2)]
    solved = interrupts.run_in_threads(solve, tasks, num_threads, flag)
    for (key, role), bounds in zip(tasks, solved):
      rounds[*key, role] = bounds
      starts[role][key] = bounds.lower, bounds.upper
  values = tuple(starts[int(seat != starter)][first] for seat in range(2))
  exploitability = tuple(0.5 * (a + b) for a, b in zip(*values))
  return MatchBounds(exploitability, values, *starts, rounds)


def _middle(pair):
  return 0.5 * sum(pair)


class MatchResponse(NamedTuple):
  """Best responses in a match and all its rounds.

  Attributes are those of `MatchBounds`, with exact values instead of bounds.
  """
  exploitability: float
  values: tuple[float, float]
  responder_starts: dict[tuple[int, int], float]
  policy_starts: dict[tuple[int, int], float]


def match_best_response(policy: match_policy.MatchPolicy,
                        start_dice: annotations.Dice | None = None,
                        starting_player: int | None = None, *,
                        num_threads: int | None = None) -> MatchResponse:
  """Returns the `MatchResponse`, the exact values of `match_bounds`.

  Args:
    policy: the `match_policy.MatchPolicy`.
    start_dice: both players' dice at the start; None for those of its game.
    starting_player: who starts; None for the one who does in its game.
    num_threads: how many rounds to search at a time, None for all processors.
  """
  bounds = match_bounds(policy, start_dice, starting_player,
                        num_threads=num_threads)
  return MatchResponse(
      _middle(bounds.exploitability), tuple(map(_middle, bounds.values)),
      *({key: _middle(pair) for key, pair in starts.items()}
        for starts in (bounds.responder_starts, bounds.policy_starts)))
