"""Times and memory, as the benchmarks measure them."""

import math
import sys
import time

try:
  import resource
except ImportError:  # not on Windows
  resource = None


def seconds_of(function, *arguments, clock=time.perf_counter):
  """Returns how long a call takes.

  Args:
    function: what is called.
    *arguments: its arguments.
    clock: function that returns seconds, such as `time.process_time`.
  """
  begin = clock()
  function(*arguments)
  return clock() - begin


def repeated(step):
  """Returns a function of a number of iterations, which makes as many steps.

  Args:
    step: function without arguments.
  """
  def run(iterations):
    for _ in range(iterations):
      step()
  return run


def rate(run, seconds, clock=time.perf_counter):
  """Returns iterations a second.

  It doubles the iterations until they take long enough; the first one is not
  timed, as it may compile.

  Args:
    run: function of a number of iterations.
    seconds: how long the measured iterations take at least.
    clock: function that returns seconds, such as `time.process_time`.
  """
  iterations = 1
  run(1)
  while (elapsed := seconds_of(run, iterations, clock=clock)) < seconds:
    iterations *= 2
  return iterations / elapsed


def peak_bytes():
  """Returns the largest resident memory that this process has had.

  It is nan where the system does not tell.
  """
  if resource is None:
    return math.nan
  unit = 1 if sys.platform == "darwin" else 1024
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def limit_memory(num_bytes):
  """Limits what this process may map; a ValueError where that is impossible."""
  if resource is None:
    raise ValueError("memory: must not be limited on this system")
  resource.setrlimit(resource.RLIMIT_AS, (num_bytes, num_bytes))
