"""How long to stay in compiled code.

Compiled code cannot be interrupted, and knows no clock. So solvers run in
chunks of a fraction of a second, after which Ctrl-C, limits of time and the
progress bar get their turn. Results do not depend on how a run is cut.
"""

import math
import time

CHUNK_SECONDS = 0.2
_GROWTH = 4.0  # a chunk has at most so many times the iterations of the last


def chunks(advance, iterations=None, seconds=None):
  """Runs iterations in chunks until one of the limits is reached.

  The time limit is met as closely as whole iterations allow: another one begins
  if at least half of it fits.

  Args:
    advance: function of a number of iterations, which it runs.
    iterations: how many to run at most, or None.
    seconds: how long to run at most, or None. What the caller does between two
      chunks does not count.

  Yields:
    (iterations of the chunk, seconds that it took), after each chunk.
  """
  remaining = math.inf if iterations is None else iterations
  seconds = math.inf if seconds is None else seconds
  iteration_seconds = 0.0
  size = 1 / _GROWTH
  while (remaining > 0 and seconds > 0.0 and
         seconds >= 0.5 * iteration_seconds):
    size = min(size * _GROWTH, remaining)
    if iteration_seconds > 0.0:
      size = min(size, max(
          min(CHUNK_SECONDS, seconds) / iteration_seconds, 1.0))
    size = max(round(size), 1)
    begin = time.perf_counter()
    advance(size)
    elapsed = time.perf_counter() - begin
    iteration_seconds = elapsed / size
    remaining -= size
    seconds -= elapsed
    yield size, elapsed


def run_slices(run, size):
  """Calls run(begin, end) for one slice of range(size) after the other.

  Args:
    run: function of where a slice begins and ends.
    size: the end of the last slice.
  """
  begin = 0

  def advance(count):
    nonlocal begin
    run(begin, begin + count)
    begin += count

  for _ in chunks(advance, size):
    pass
