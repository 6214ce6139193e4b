"""Trains pairs of rounds at the same time, in jobs.

Pairs with equally many dice in play do not need each other's values, so they
can train in processes of their own, on this machine or others.
"""

from dudo_spiel.algorithms.runtime import jobs
from dudo_spiel.algorithms.runtime import pacing

_PROCESS_BYTES = 300_000_000  # Python and the kernels, in a job


def is_done(iterations, seconds):
  """Returns whether the limits leave nothing to train."""
  return iterations == 0 or seconds == 0.0


def _train(trainer, values, iterations, seconds, max_seconds, num_threads):
  """Trains a pair of rounds until a limit is reached; then sets its values.

  It is a job (`runtime.jobs`): in another process it trains a copy. It stops
  without values after `max_seconds` seconds.

  Returns:
    (trainer, iterations, seconds): how many it ran, and how long.
  """
  limit = max_seconds if seconds is None else min(seconds, max_seconds)
  first, before = trainer.iteration, trainer.seconds
  with trainer.at_work(values, num_threads):
    trainer.iterate(0)  # compiles what the others run
    for _ in pacing.chunks(trainer.iterate, iterations, limit):
      pass
    size = trainer.iteration - first
    if (size == iterations) if seconds is None else seconds <= max_seconds:
      trainer.update_values()
  return trainer, size, trainer.seconds - before


def run(trainers, values, limits, engine, num_threads, max_seconds):
  """Trains pairs of rounds at the same time, in short jobs.

  Args:
    trainers: list of `pair_trainer.PairTrainer`, with equally many dice in
      play.
    values: dict from smaller rounds to their starters' values.
    limits: list of (iterations, seconds), one of which is None.
    engine: where, see `runtime.jobs`.
    num_threads: how many threads they may use together.
    max_seconds: how many seconds a job lasts at most.

  Yields:
    (trainer, iterations, seconds) after each job.
  """
  remaining = dict(zip(trainers, limits))
  while waiting := [trainer for trainer in trainers
                    if not is_done(*remaining[trainer]) or
                    trainer.iteration and not trainer.values]:
    threads = max(num_threads // len(waiting), 1)
    by_name = {str(trainer.rounds[0]): trainer for trainer in waiting}
    for job, result, error in jobs.run(_train, [
        jobs.Job(name, (trainer, values, *remaining[trainer], max_seconds,
                        threads),
                 _PROCESS_BYTES + 2 * trainer.memory_bytes, threads)
        for name, trainer in by_name.items()], engine):
      if error:
        raise ValueError(f"engine={engine!r}: training the rounds {job.name} "
                         f"failed ({error})")
      trained, size, elapsed = result
      trainer = by_name[job.name]
      trainer.copy_from(trained)
      iterations, seconds = remaining[trainer]
      if seconds is None:
        remaining[trainer] = iterations - size, None
      else:
        remaining[trainer] = None, (0.0 if trainer.values else
                                    max(seconds - elapsed, 0.0))
      yield trainer, size, elapsed
