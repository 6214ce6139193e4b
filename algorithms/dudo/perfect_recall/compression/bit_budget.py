"""How many shares each round of a policy gets, if its file must be small.

Shares take bytes, and too few of them cost exploitability (see
`quantize`). How much of both differs from round to round, so each round is
coded with many numbers of shares, and measured alone: the rounds that follow
are worth what they are worth if both play the policy. A match is as exploitable
as its rounds, times how often it comes there, about.

`ShareTrials.within` begins with the fewest shares. Step by step it gives one
round more of them, the one where each byte gains most, until nothing that fits
gains anything. What counts is the sum of the logarithms of exploitabilities,
over the matches with one die each, two, and so on: it takes as much to make
each of them better by one percent.
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
_STREAM_SHARE = 1.001  # ... which get a little longer in the file
_TRIAL_BYTES = 8  # of memory for a number of the table, while a round is coded
_LEAST = 1e-9  # an exploitability below this is as good as none


class Trial(NamedTuple):
  """A round in shares.

  Attributes:
    num_shares: how many.
    num_bytes: how much longer a file gets by it, at most.
    exploitability: of the round alone.
  """
  num_shares: int
  num_bytes: int
  exploitability: float


class ShareTrials:
  """Knows what shares cost in each round of a policy, and what they gain.

  Args:
    policy: the `recall_policy.RecallPolicy`, not in shares yet.
    max_bytes: how large files may be at most. More shares than fit into that
      are not tried.
    num_threads: how many threads to use, None for all.

  Attributes:
    trials: {round: list of `Trial`, the fewest shares first}.
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
    self.trials, next_rounds = interrupts.call(
        lambda: self._try_all(num_threads, flag), flag)
    starts = [number for number, (a, b) in enumerate(self._keys) if a == b]
    if len(self._keys) - 1 not in starts:
      starts.append(len(self._keys) - 1)
    self._visits = [transitions.visits(next_rounds, start) for start in starts]

  def _try_all(self, num_threads, flag):
    """Returns the trials, and [round, round] float64 for `transitions.visits`.

    Args:
      num_threads: how many threads to use.
      flag: [1] bool, stops it: it raises `interrupts.StoppedError`.
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
        # The fewest shares first, and as many at a time as fit into memory.
        step = min(num_threads, max(1, ram.available_bytes() // (
            _TRIAL_BYTES * stored.tree.num_entries)))
        found = []
        for first in range(0, len(_SHARE_NUMBERS), step):
          found += interrupts.map_tasks(
              pool, attempt, _SHARE_NUMBERS[first:first + step])
          if found[-1].num_bytes > self._max_bytes:
            break
        trials[key] = found[:1] + list(itertools.takewhile(
            lambda trial: trial.num_bytes <= self._max_bytes, found[1:]))
        del stored, attempt
        following = transitions.of_round(policy.match, key)
        values[key] = following.value(outcomes, 0, values)
        next_rounds[i] = following.next_probabilities(outcomes, keys)
        bar.update()
    return trials, next_rounds

  def _loss(self, chosen):
    """Returns the sum of the logarithms of exploitabilities.

    Args:
      chosen: [round] list of `Trial`.
    """
    alone = np.array([trial.exploitability for trial in chosen])
    return sum(math.log(max(visits @ alone, _LEAST))
               for visits in self._visits)

  def within(self, max_bytes: int) -> annotations.ByRound[int]:
    """Returns {round: number of shares}, for a file of at most max_bytes.

    Args:
      max_bytes: how large the file may be, at most what was given before.
    """
    validation.integer("max_bytes", max_bytes, 1, self._max_bytes)
    trials = [self.trials[key] for key in self._keys]
    chosen = [found[0] for found in trials]
    left = max_bytes - _FILE_BYTES - sum(trial.num_bytes for trial in chosen)
    if left < 0:
      raise ValueError(f"max_bytes={max_bytes}: must be at least "
                       f"{max_bytes - left}, what the rounds of "
                       f"{self._policy.game} take with the fewest shares")
    while True:
      loss = self._loss(chosen)
      best, most = None, 0.0
      for i, found in enumerate(trials):
        for trial in found:
          more = trial.num_bytes - chosen[i].num_bytes
          if trial.num_shares > chosen[i].num_shares and more <= left:
            gain = loss - self._loss([*chosen[:i], trial, *chosen[i + 1:]])
            if gain > most * max(more, 1):
              best, most = (i, trial), gain / max(more, 1)
      if best is None:
        return {key: trial.num_shares
                for key, trial in zip(self._keys, chosen)}
      i, trial = best
      left -= trial.num_bytes - chosen[i].num_bytes
      chosen[i] = trial


def _try(match, stored, values, flag, num_shares):
  """Returns the `Trial` of a round.

  Args:
    match: the `round_rules.RoundRules`.
    stored: the `stored_rounds.StoredRound`, with a table of floats.
    values: {round: value} of the rounds that follow.
    flag: [1] bool, stops it: it raises `interrupts.StoppedError`.
    num_shares: how many shares.
  """
  coded, small = coded_round.compress(match, stored, num_shares, flag)
  low, high = round_evaluator.RoundEvaluator(match, small, flag).certify(
      values, values)
  return Trial(
      num_shares, int(_STREAM_SHARE * coded.num_coded_bytes) + _ROUND_BYTES,
      0.5 * (high - low))
