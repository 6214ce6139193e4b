"""Ctrl-C: postpones it, and stops kernels that run long.

`deferred` postpones it to the end of what must not be cut short.

Python notices Ctrl-C only when a kernel returns to it. So a kernel that may
take long runs in a thread of its own, without the lock of the interpreter,
while the main thread waits. After Ctrl-C the kernel either stops, as it looks
at a flag now and then (`call_stoppable`, `run_in_threads`), or is finished in
the background (`Background`).

The main thread waits in steps of a fraction of a second. A signal that comes
just before it goes to sleep would not wake it up. It waits for a bare lock, and
starts bare threads: Ctrl-C in the midst of an `Event`, of `Thread.start` or of
an executor may leave their inner lock taken, and then whoever needs it next
waits for ever.
"""

import _thread
import concurrent.futures
import contextlib
import os
import signal
import threading

import numpy as np

_STEP = 0.1  # seconds


@contextlib.contextmanager
def deferred():
  """Postpones Ctrl-C to the end of the context, for what must not be cut short.

  After the body, the handler that was set before is called if Ctrl-C came
  meanwhile; by default it raises KeyboardInterrupt. Processes that are started
  inside never receive Ctrl-C from the terminal: they inherit the signal mask.
  """
  before = None  # also for a handler that is not Python's
  came = []
  if threading.current_thread() is threading.main_thread():
    before = signal.getsignal(signal.SIGINT)
  with contextlib.ExitStack() as stack:
    if callable(before):
      stack.callback(lambda: came and before(*came[0]))
      stack.callback(signal.signal, signal.SIGINT, before)
      signal.signal(signal.SIGINT, lambda *event: came.append(event))
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
      # The mask alone is not enough for this process: another thread may
      # receive the signal, and Python then calls the handler in this one.
      stack.callback(
          signal.pthread_sigmask, signal.SIG_SETMASK,
          signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]))
    yield


def call_after_fork(function):
  """Calls a function in every child that this process forks from here on.

  It repairs what a fork breaks: the child has only the thread that forked, and
  locks that others held stay locked.
  """
  if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=function)


def new_flag():
  """Returns [1] bool, a flag that tells kernels to stop."""
  return np.zeros(1, np.bool_)


def run_in_threads(function, tasks, num_threads, flag):
  """Returns [function(task) for task in tasks], computed in threads.

  After a KeyboardInterrupt, or any other exception, it sets the flag, waits for
  the threads, and raises the exception again. Tasks that have not begun by then
  are left out.

  Args:
    function: called with each task; it ends soon after the flag is set.
    tasks: list of arguments.
    num_threads: how many threads to use.
    flag: from `new_flag`.
  """
  results = []

  def run_task(task):
    if flag[0]:
      return None
    try:
      return function(task)
    except BaseException:
      flag[0] = True
      raise

  def compute():
    with concurrent.futures.ThreadPoolExecutor(num_threads) as pool:
      results.extend(pool.map(run_task, tasks))

  background = Background()
  try:
    background.run(compute)
  except BaseException:
    flag[0] = True
    with contextlib.suppress(Exception):  # one exception is enough
      background.settle()
    raise
  return results


def call_stoppable(function, flag):
  """Returns function(), computed in a thread.

  After a KeyboardInterrupt, or any other exception, it sets the flag (from
  `new_flag`) and raises the exception again. It does not wait for the thread,
  which should end soon then. So the function must change nothing that anybody
  else uses.
  """
  results = []
  try:
    Background().run(lambda: results.append(function()))
  except BaseException:
    flag[0] = True
    raise
  return results[0]


class _Task:
  """A call that is made once, by whichever thread tries first."""

  def __init__(self, function, args):
    self._function = function
    self._args = args
    self._claim = threading.Lock()
    self._is_done = False
    self._end = threading.Lock()  # taken until the end of the call
    self._end.acquire()
    self._error = None

  def start(self):
    """Makes the call in a thread, unless it was begun before."""
    _thread.start_new_thread(self._run, ())

  def _run(self):
    if self._claim.acquire(blocking=False):
      try:
        self._function(*self._args)
      except BaseException as error:
        self._error = error
      self._is_done = True
      self._end.release()

  def wait(self):
    """Waits for the end of the call; returns what it has raised, or None."""
    while not self._is_done:
      self._end.acquire(timeout=_STEP)
    return self._error


class Background:
  """Runs functions that must be finished once they have begun.

  Only the end of the process ends them before.

  An exception such as KeyboardInterrupt ends the wait for the function, not
  the function. Whoever uses what it changes calls `settle` first.
  """

  def __init__(self):
    self._task = None

  def run(self, function, *args):
    """Calls the function in a thread and waits for it."""
    self.settle()
    self._task = _Task(function, args)
    self._task.start()
    self._finish()

  def settle(self):
    """Waits until nothing is under way."""
    if self._task is not None:
      self._task.start()  # The interrupt may have come before the thread.
      self._finish()

  def _finish(self):
    error = self._task.wait()
    self._task = None
    if error is not None:
      raise error


class StoppedError(Exception):
  """A flag has stopped a computation, which has changed nothing."""


def check_flag(flag):
  """Raises a `StoppedError` if a flag (from `new_flag`) is set."""
  if flag[0]:
    raise StoppedError


def thread_pool(num_threads):
  """Returns a context with a pool of threads, or with None for one thread."""
  if num_threads == 1:
    return contextlib.nullcontext()
  return concurrent.futures.ThreadPoolExecutor(num_threads)


def map_tasks(pool, function, tasks):
  """Returns [function(task) for task in tasks], by a pool of `thread_pool`."""
  return list((map if pool is None else pool.map)(function, tasks))
