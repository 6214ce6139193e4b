"""Chooses the number of quanta of each round, for a file of limited size.

More quanta take more bytes and cost less exploitability (see `quantize`; public
names call them shares). Both depend on the round. So each round is encoded with
many numbers of quanta, and measured alone: later rounds have their values under
the policy. The exploitability of a match is about the sum of those of its
rounds, times the probability that the match comes to each.

`ShareTrials.within` is greedy. It begins with the fewest quanta, and repeats
the step with the largest gain per byte, which gives one round more quanta,
while any step that fits gains something. The objective is the sum of log
exploitability over the matches with one die each, two dice each, and so on, so
a 1% improvement counts the same for every size.
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall import round_evaluator
from dudo_spiel.algorithms.dudo.perfect_recall.compression import coded_round
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import ram

_SHARE_NUMBERS = tuple(2**k for k in range(6, 25))
_FILE_BYTES = 4096  # of a file besides its rounds, ...
_ROUND_BYTES = 512  # ... and of a round besides its streams, ...
_STREAM_FACTOR = 1.001  # ... which are a little longer in the file
_TRIAL_BYTES = 8  # of memory for a table entry, while a round is encoded
_MIN_EXPLOITABILITY = 1e-9  # smaller ones count as this


class Trial(NamedTuple):
  """A round with some number of quanta.

  Attributes:
    num_shares: how many quanta.
    num_bytes: how many bytes the round adds to a file, at most.
    exploitability: of the round alone, with the values of later rounds.
  """
  num_shares: int
  num_bytes: int
  exploitability: float


class ShareTrials:
  """Bytes and exploitability of each round, by its number of quanta.

  Args:
    policy: the `recall_policy.RecallPolicy`, not quantised.
    max_bytes: how many bytes a file may have at most. Numbers of quanta that
      do not fit are not tried.
    num_threads: how many threads to use, None for all.

  Attributes:
    trials: {(starter's dice, other's dice): list of `Trial`, the fewest quanta
      first}.
  """

  def __init__(self, policy: recall_policy.RecallPolicy, max_bytes: int, *,
               num_threads: int | None = None) -> None:
    if not isinstance(policy, recall_policy.RecallPolicy):
      raise ValueError(f"policy={validation.shown(policy)}: must be a "
                       "RecallPolicy")
    if policy.is_in_shares:
      raise ValueError("policy: is in shares already; must be the policy that "
                       "it was made from")
    self._max_bytes = validation.integer("max_bytes", max_bytes, 1)
    num_threads = jit.thread_count(num_threads)
    self._policy = policy
    self._keys = round_rules.match_keys(policy.game)
    flag = interrupts.new_flag()
    self.trials, next_rounds = interrupts.call_stoppable(
        lambda: self._try_all(num_threads, flag), flag)
    starts = [number for number, (a, b) in enumerate(self._keys) if a == b]
    if len(self._keys) - 1 not in starts:
      starts.append(len(self._keys) - 1)
    self._visits = [transitions.visits(next_rounds, start) for start in starts]

  def _try_all(self, num_threads, flag):
    """Returns the trials, and how rounds follow each other.

    Returns:
      ({(starter's dice, other's dice): list of `Trial`}, [round, round]
      float64, the probability that the second comes next after the first).
    """
    policy, keys = self._policy, self._keys
    trials, values = {}, {}
    next_rounds = np.zeros((len(keys), len(keys)))
    with interrupts.thread_pool(num_threads) as pool, progress.progress_bar(
        len(keys), desc="trying shares", unit="round") as bar:
      for i, key in enumerate(keys):
        stored = policy.round_tables(key)
        outcomes = round_evaluator.RoundEvaluator(policy.match, stored,
                                                  flag).outcomes()
        attempt = functools.partial(_try, policy.match, stored, values, flag)
        # The fewest quanta first, and as many trials at a time as fit into
        # memory.
        step = min(num_threads, max(1, ram.available_bytes() // (
            _TRIAL_BYTES * stored.tree.num_entries)))
        attempts = []
        for first in range(0, len(_SHARE_NUMBERS), step):
          attempts += interrupts.map_tasks(
              pool, attempt, _SHARE_NUMBERS[first:first + step])
          if attempts[-1].num_bytes > self._max_bytes:
            break
        trials[key] = attempts[:1] + list(itertools.takewhile(
            lambda trial: trial.num_bytes <= self._max_bytes, attempts[1:]))
        del stored, attempt
        following = transitions.of_round(policy.match, key)
        values[key] = following.value(outcomes, 0, values)
        next_rounds[i] = following.next_probabilities(outcomes, keys)
        bar.update()
    return trials, next_rounds

  def _loss(self, chosen):
    """Returns the sum of log exploitability over the sizes of a match."""
    alone = np.array([trial.exploitability for trial in chosen])
    return sum(math.log(max(visits @ alone, _MIN_EXPLOITABILITY))
               for visits in self._visits)

  def within(self, max_bytes: int) -> annotations.ByRound[int]:
    """Returns {(starter's dice, other's dice): number of quanta}.

    Args:
      max_bytes: how many bytes the file may have, at most the max_bytes of the
        constructor.
    """
    validation.integer("max_bytes", max_bytes, 1, self._max_bytes)
    trials = [self.trials[key] for key in self._keys]
    chosen = [of_round[0] for of_round in trials]
    remainder = max_bytes - _FILE_BYTES - sum(trial.num_bytes
                                              for trial in chosen)
    if remainder < 0:
      raise ValueError(f"max_bytes={max_bytes}: must be at least "
                       f"{max_bytes - remainder}, what the rounds of "
                       f"{self._policy.game} take with the fewest shares")
    while True:
      loss = self._loss(chosen)
      best, max_rate = None, 0.0
      for i, of_round in enumerate(trials):
        for trial in of_round:
          more = trial.num_bytes - chosen[i].num_bytes
          if trial.num_shares > chosen[i].num_shares and more <= remainder:
            gain = loss - self._loss([*chosen[:i], trial, *chosen[i + 1:]])
            if gain > max_rate * max(more, 1):
              best, max_rate = (i, trial), gain / max(more, 1)
      if best is None:
        return {key: trial.num_shares
                for key, trial in zip(self._keys, chosen)}
      i, trial = best
      remainder -= trial.num_bytes - chosen[i].num_bytes
      chosen[i] = trial


def _try(match, stored, values, flag, num_shares):
  """Encodes and measures a round, by the values of those that follow.

  Returns its `Trial`.
  """
  coded, small = coded_round.compress(match, stored, num_shares, flag)
  low, high = round_evaluator.RoundEvaluator(match, small, flag).certify(
      values, values)
  return Trial(
      num_shares, int(_STREAM_FACTOR * coded.num_coded_bytes) + _ROUND_BYTES,
      0.5 * (high - low))
