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
limit, the product of independent estimates, each divided by the limit, ever
exceeds a million with a probability of at most one in a million (Ville's
inequality). Estimates refuse a game only then.

Serves `game_tree`.
"""

import time

from dudo_spiel.algorithms.compiled import known_rules
from dudo_spiel.algorithms.runtime import random_streams

_WIDTHS = (128, 256, 512, 1024)  # histories on a level that are looked at
_MAX_CHILDREN = 30_000  # of a sample; with more it becomes smaller
_LEAST_WIDTH = 8
_MAX_ESTIMATES = 50
_MAX_SECONDS = 1.2  # for all estimates
_PROOF = 1e6  # by what product a game is refused
_HOPELESS = 1e-3  # at what product it is walked without further estimates
_MAX_RATIO = 1e3  # of an estimate to the limit; it is not followed further


def is_surely_larger(game, limit, seed=0):
  """Returns whether a game surely has more histories than a limit.

  It takes a fraction of a second in most games, and less than two seconds in
  all. If it returns False, the game may still be larger.

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
  rng = random_streams.chooser(seed)
  end = time.perf_counter() + _MAX_SECONDS
  product = 1.0
  for number in range(_MAX_ESTIMATES):
    width = _WIDTHS[min(number // 2, len(_WIDTHS) - 1)]
    product *= _estimate(game, _MAX_RATIO * limit, width, end, rng) / limit
    if not _HOPELESS < product < _PROOF or time.perf_counter() > end:
      break
  return product >= _PROOF


def _estimate(game, most, width, end, rng):
  """Returns an estimate of how many histories a game has.

  Its mean is the number of histories, or less where it ends early.

  Args:
    game: a `pyspiel.Game`.
    most: the estimate ends when it is as large as this.
    width: how many histories of a level are looked at, at most.
    end: the time at which the estimate ends.
    rng: Python's generator of random numbers.
  """
  sample = [game.new_initial_state()]
  level_size = total = 1.0
  while total < most and time.perf_counter() < end:
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
