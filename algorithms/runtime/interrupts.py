"""Long kernels in threads, which Ctrl-C can stop.

Python notices Ctrl-C only when a kernel returns to it. So a kernel that may
take minutes runs in a thread of its own, without the lock of the interpreter,
and looks at a flag now and then, while the main thread waits.

Serves `match.response`.
"""

import concurrent.futures

import numpy as np


def new_flag():
  """Returns [1] bool, a flag that tells kernels to stop."""
  return np.zeros(1, np.bool_)


def run_in_threads(function, tasks, num_threads, flag):
  """Returns [function(task) for task in tasks], computed in threads.

  After a KeyboardInterrupt, or any other exception, it sets the flag, waits for
  the threads, and raises the exception again.

  Args:
    function: called with each task; it ends soon after the flag is set.
    tasks: list of arguments.
    num_threads: how many threads to use.
    flag: from `new_flag`.
  """
  with concurrent.futures.ThreadPoolExecutor(num_threads) as pool:
    futures = []
    try:
      futures += [pool.submit(function, task) for task in tasks]
      return [future.result() for future in futures]
    except BaseException:
      flag[0] = True
      for future in futures:
        future.cancel()
      raise
