"""How long a match solver trains each pair of rounds, and its progress bar.

Larger rounds get more of the time, but less than in proportion to their cost:
smaller rounds should be trained well, because larger ones build on them.
"""

import math
import time

_COST_EXPONENT = 0.5  # of a pair's cost: small rounds get more iterations
_MIN_SECONDS = 1e-9  # time for one iteration
_BAR_SECONDS = 0.5
_REGRET_SECONDS = 10.0  # the average regret takes some time to compute


def time_fractions(rules, trainers):
  """Returns which fraction of the time each pair of rounds gets, a list."""
  costs = [sum(math.prod(rules.table_shape(key))
               for key in trainer.rounds)**_COST_EXPONENT
           for trainer in trainers]
  return [cost / sum(costs) for cost in costs]


def time_limits(rules, trainers, seconds, total):
  """Yields (None, seconds) for each pair of rounds.

  A pair that takes longer than it should leaves less for those that follow,
  except that every pair is trained at least once. So each pair should be
  trained before the next limit is asked for.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    trainers: list of `pair_trainer.PairTrainer`, in order of training.
    seconds: how long in all.
    total: whether these include what was run before.
  """
  def spent():
    return sum(trainer.seconds for trainer in trainers)

  begin = 0.0 if total else spent()
  goals = [max(fraction * seconds - (trainer.seconds if total else 0.0), 0.0)
           for trainer, fraction in zip(trainers,
                                        time_fractions(rules, trainers))]
  for number, (trainer, goal) in enumerate(zip(trainers, goals)):
    remaining = max(seconds - (spent() - begin), 0.0)
    limit = goal * min(
        1.0, remaining / max(sum(goals[number:]), _MIN_SECONDS))
    if not trainer.iteration:
      yield None, max(limit, _MIN_SECONDS) if seconds else 0.0
    elif limit < 0.5 * trainer.seconds / trainer.iteration:
      yield None, 0.0  # no time for another iteration
    else:
      yield None, limit


class Status:
  """Shows how training goes beside a progress bar."""

  def __init__(self, bar):
    self._bar = bar
    self._trainer = None
    self._told = self._regret_told = -math.inf
    self._regret = math.nan

  def show(self, trainer, step):
    """Moves the bar on, and now and then tells about the rounds."""
    self._bar.update(step)
    clock = time.perf_counter()
    if self._bar.disable or clock - self._told <= _BAR_SECONDS:
      return
    self._told = clock
    if (trainer is not self._trainer or
        clock - self._regret_told > _REGRET_SECONDS):
      self._trainer, self._regret_told = trainer, clock
      self._regret = trainer.average_regret()
    key = trainer.rounds[0]
    self._bar.set_postfix_str(
        f"{key[0]}v{key[1]}: {trainer.iteration:,} it, value "
        f"{trainer.mean_value(key):+.4f}, regret {self._regret:.3g}")


def bar_format(by_time):
  """Returns how the progress bar looks."""
  unit = "s" if by_time else "iterations"
  return "{percentage:3.0f}%|{bar:10}| {n:.0f}/{total:.0f} " + unit + (
      "{postfix}")
