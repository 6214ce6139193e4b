"""How large a game is, before it is walked.

A walk of millions of histories takes minutes, and a game that is too large
should be refused at once. Two ways prove that it is:

  1. Where the rules are known, so is the number of histories (`known_rules`).
     Other games of this package know a number of histories that they surely
     have (`min_histories`).
  2. For any game, estimates level by level (stochastic enumeration: Rubinstein,
     Ridder & Vaisman 2014). A sample of the histories of a level, each as
     likely as the others, tells how many children they have on average, and so
     how large the next level is. Some of these children are the next sample.

The mean of such an estimate is the true number. So, if a game is within the
limit, a bet that stakes three quarters of what it has on each estimate, and is
paid the estimate divided by the limit, ever becomes a million times as large
with a probability of at most one in a million (Ville's inequality). Estimates
refuse a game only then. The bet is not lost by a few small estimates, which are
common in deep games.
"""

import random
import time

from dudo_spiel.algorithms.tabular.tree import known_rules

_WIDTHS = (64, 512)  # histories on a level that are looked at: first, most
_MAX_CHILDREN = 30_000  # of a sample; with more it becomes smaller
_LEAST_WIDTH = 8
_MAX_ESTIMATES = 50
_MAX_SECONDS = 1.5  # for all estimates
_STAKE = 0.75
_PROOF = 1e6  # what the bet has when a game is refused
_HOPELESS = 1e-3  # what it has when a game is walked without further estimates
_SAMPLES = 16  # estimates whose mean is taken
_SAMPLE_WIDTH = 256
_SAMPLE_SECONDS = 1.0
_MOST = 10**15  # histories; more are not counted
_MAX_RATIO = 1e3  # of an estimate to the limit; it is not followed further


def is_surely_larger(game, limit, seed=0):
  """Returns whether a game surely has more histories than a limit.

  It takes a fraction of a second in most games, and less than two seconds of
  the processor in all. If it returns False, the game may still be larger.

  Args:
    game: a `pyspiel.Game` with sequential moves.
    limit: how many histories are allowed.
    seed: for the samples.
  """
  rules = known_rules.find_rules(game)
  if rules is not None:
    return known_rules.num_histories(rules) > limit
  if hasattr(game, "min_histories") and game.min_histories() > limit:
    return True
  rng = random.Random(seed)
  end = time.thread_time() + _MAX_SECONDS
  bet, width = 1.0, _WIDTHS[0]
  for _ in range(_MAX_ESTIMATES):
    ratio = _estimate(game, _MAX_RATIO * limit, width, end, rng) / limit
    bet *= 1.0 - _STAKE + _STAKE * ratio
    if ratio < 1.0:  # a wider sample is less often too small
      width = min(2 * width, _WIDTHS[1])
    if not _HOPELESS < bet < _PROOF or time.thread_time() > end:
      break
  return bet >= _PROOF


def estimated_histories(game, seed=0):
  """Returns about how many histories a game has, terminal ones included.

  It takes a second at most; the size of a very large game is an estimate from
  below.

  Args:
    game: a `pyspiel.Game` with sequential moves.
    seed: for the samples.
  """
  rng = random.Random(seed)
  end = time.thread_time() + _SAMPLE_SECONDS
  found = []
  while len(found) < _SAMPLES and time.thread_time() < end:
    found.append(_estimate(game, _MOST, _SAMPLE_WIDTH, end, rng))
  return sum(found) / len(found)


def _estimate(game, most, width, end, rng):
  """Returns an estimate of how many histories a game has.

  Its mean is the number of histories, or less where it ends early.

  Args:
    game: a `pyspiel.Game`.
    most: the estimate ends when it is as large as this.
    width: how many histories of a level are looked at, at most.
    end: the thread's time at which the estimate ends.
    rng: Python's generator of random numbers.
  """
  sample = [game.new_initial_state()]
  level_size = total = 1.0
  while total < most and time.thread_time() < end:
    actions = [() if state.is_terminal() else state.legal_actions()
               for state in sample]
    count = sum(map(len, actions))
    if count == 0:
      break
    # The width may depend on what was seen before, but not on the children.
    now = min(width, max(_MAX_CHILDREN * len(sample) // count, _LEAST_WIDTH))
    chosen = sorted(rng.sample(range(count), min(now, count)))
    level_size *= count / len(sample)
    total += level_size
    sample = _children(sample, actions, chosen)
  return min(total, most)


def _children(states, actions, chosen):
  """Returns some children of states, which change.

  Args:
    states: list of states; the last child of each that is chosen takes its
      place, as copies take most of the time.
    actions: list of lists of their legal actions.
    chosen: list of int, growing, which of all children to return.
  """
  picks, first, number = [], 0, 0
  for pick in chosen:
    while pick >= first + len(actions[number]):
      first += len(actions[number])
      number += 1
    picks.append((number, actions[number][pick - first]))
  children = []
  for (number, action), after in zip(picks, [*picks[1:], (-1, -1)]):
    if number == after[0]:
      children.append(states[number].child(action))
    else:
      states[number].apply_action(action)
      children.append(states[number])
  return children
