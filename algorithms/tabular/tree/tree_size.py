"""The size of a game, before its traversal.

A traversal of millions of histories takes minutes, and a game that is too large
should be refused at once. Two ways prove that it is:

  1. Where the rules are known, so is the number of histories (`known_rules`).
     Other games of this package know a lower bound (`min_histories`).
  2. For any game, estimates depth by depth (stochastic enumeration: Rubinstein,
     Ridder & Vaisman 2014). A uniform sample of the histories of one depth has
     an average number of children, which estimates the number of histories of
     the next depth. Some of these children are the next sample.

Such an estimate is unbiased. So, if a game is within the limit, a bet that
stakes three quarters of its capital on each estimate, and is paid the estimate
divided by the limit, ever grows a million times with a probability of at most
one in a million (Ville's inequality). Estimates refuse a game only then. A few
small estimates, which are common in deep games, do not lose the bet.
"""

import random
import time

from dudo_spiel.algorithms.tabular.tree import known_rules

_WIDTHS = (64, 512)  # histories in a sample: at first, at most
_MAX_CHILDREN = 30_000  # of a sample; with more it becomes smaller
_MIN_WIDTH = 8
_MAX_ESTIMATES = 50
_MAX_SECONDS = 1.5  # for all estimates
_STAKE = 0.75
_PROOF = 1e6  # capital of the bet at which a game is refused
_HOPELESS = 1e-3  # capital at which estimates end and the game is walked
_SAMPLES = 16  # estimates in a mean
_SAMPLE_WIDTH = 256
_SAMPLE_SECONDS = 1.0
_MAX_COUNTED = 10**15  # histories
_MAX_RATIO = 1e3  # of an estimate to the limit, at which it ends


def is_surely_larger(game, limit, seed=0):
  """Returns whether a game surely has more histories than a limit.

  It takes a fraction of a second in most games, and less than two seconds of
  the processor in all. If it returns False, the game may still be larger.
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
  """Returns an estimate of the number of histories, terminal ones included.

  It takes a second at most; very large games are underestimated.

  Args:
    game: a `pyspiel.Game` with sequential moves.
    seed: for the samples.
  """
  rng = random.Random(seed)
  end = time.thread_time() + _SAMPLE_SECONDS
  found = []
  while len(found) < _SAMPLES and time.thread_time() < end:
    found.append(_estimate(game, _MAX_COUNTED, _SAMPLE_WIDTH, end, rng))
  return sum(found) / len(found)


def _estimate(game, max_total, width, end, rng):
  """Returns an estimate of the number of histories of a game.

  Its mean is the number of histories, or less where it ends early: at
  `max_total` histories, or at the thread's time `end`. Samples have at most
  `width` histories.
  """
  sample = [game.new_initial_state()]
  depth_size = total = 1.0
  while total < max_total and time.thread_time() < end:
    actions = [() if state.is_terminal() else state.legal_actions()
               for state in sample]
    count = sum(map(len, actions))
    if count == 0:
      break
    # The size may depend on earlier samples, but not on the chosen children.
    size = min(width, max(_MAX_CHILDREN * len(sample) // count, _MIN_WIDTH))
    chosen = sorted(rng.sample(range(count), min(size, count)))
    depth_size *= count / len(sample)
    total += depth_size
    sample = _children(sample, actions, chosen)
  return min(total, max_total)


def _children(states, actions, chosen):
  """Returns the children of states with the chosen indices, in order.

  The last chosen child of a state reuses it: copies take most of the time.
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
