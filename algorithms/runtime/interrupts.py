"""Long kernels in threads, so that Ctrl-C need not wait for them.

Python notices Ctrl-C only when a kernel returns to it. So a kernel that may
take long runs in a thread of its own, without the lock of the interpreter,
while the main thread waits. After Ctrl-C the kernel either stops, as it looks
at a flag now and then, or is finished in the background.

The main thread waits in steps of a fraction of a second. A signal that comes
just before it goes to sleep would not wake it up.

Serves `match.responder_round`, `match.response`, `match.trainer` and the
modules of `match` about perfect recall.
"""

import concurrent.futures
import threading

import numpy as np

_STEP = 0.1  # seconds


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
      pending = futures
      while pending:
        done, pending = concurrent.futures.wait(
            pending, _STEP, concurrent.futures.FIRST_EXCEPTION)
        for future in done:
          future.result()  # raises what the function has raised
      return [future.result() for future in futures]
    except BaseException:
      flag[0] = True
      for future in futures:
        future.cancel()
      raise


def call(function, flag):
  """Returns function(), computed in a thread.

  After a KeyboardInterrupt, or any other exception, it sets the flag and raises
  the exception again. It does not wait for the thread. So the function must
  change nothing that anybody else uses.

  Args:
    function: takes nothing; it ends soon after the flag is set.
    flag: from `new_flag`.
  """
  results = []
  try:
    Background().run(lambda: results.append(function()))
  except BaseException:
    flag[0] = True
    raise
  return results[0]


class _Task:
  """A call that is made once, whoever tries first."""

  def __init__(self, function, args):
    self._function = function
    self._args = args
    self._claim = threading.Lock()
    self._done = threading.Event()
    self._error = None

  def try_to_run(self):
    """Makes the call, unless it was begun before."""
    if self._claim.acquire(blocking=False):
      try:
        self._function(*self._args)
      except BaseException as error:
        self._error = error
      finally:
        self._done.set()

  def wait(self):
    """Waits for the end of the call; returns what it has raised, or None."""
    while not self._done.wait(_STEP):
      pass
    return self._error


class Background:
  """Runs functions that must be finished once they have begun.

  An exception such as KeyboardInterrupt ends the wait for the function, not
  the function. Whoever uses what it changes calls `settle` first.
  """

  def __init__(self):
    self._task = None

  def run(self, function, *args):
    """Calls the function in a thread and waits for it."""
    self.settle()
    self._task = _Task(function, args)
    threading.Thread(target=self._task.try_to_run).start()
    self._finish()

  def settle(self):
    """Waits until nothing is under way."""
    if self._task is not None:
      self._task.try_to_run()  # The interrupt may have come before the thread.
      self._finish()

  def _finish(self):
    error = self._task.wait()
    self._task = None
    if error is not None:
      raise error
