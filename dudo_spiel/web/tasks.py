"""Background tasks whose progress the page can poll.

Tasks wait in a bounded queue, and one thread runs them in turn. Tasks have
keys, so that the same task runs once for all users.
"""

import collections
import logging
import threading

MAX_WAITING = 8
MAX_DONE = 64


class BusyError(Exception):
  """Too many tasks are waiting."""


class Task:
  """One task.

  Attributes:
    key: str that identifies what it does.
    result: what the function returned, None until it is done. The function may
      call report(fraction, text) with the fraction that is done, 0 to 1.
    error: what went wrong, as text, or None.
  """

  def __init__(self, key, function):
    self.key = key
    self.result = None
    self.error = None
    self._function = function
    self._progress = 0.0, "waiting"
    self._is_done = threading.Event()

  def run(self):
    """Runs the task and stores its result or its error."""
    try:
      self.result = self._function(self._report)
    except (ValueError, MemoryError) as error:
      self.error = str(error) or type(error).__name__
    except Exception as error:  # whatever it is, the next task must begin
      logging.getLogger(__name__).error("a task failed", exc_info=error)
      self.error = "the server failed; its terminal says why"
    self._progress = 1.0, "done"
    self._is_done.set()

  def _report(self, fraction, text):
    self._progress = min(max(float(fraction), 0.0), 1.0), text

  def wait(self, seconds):
    """Returns whether the task is done, after at most this many seconds."""
    return self._is_done.wait(seconds)

  def view(self):
    """Returns the progress and the result, for the page."""
    fraction, text = self._progress
    return {"task": self.key, "progress": round(fraction, 3), "text": text,
            "is_done": self._is_done.is_set(), "error": self.error,
            "result": self.result}


class TaskQueue:
  """A queue of tasks with one daemon thread, which ends with the process."""

  def __init__(self):
    self._lock = threading.Lock()
    self._tasks = collections.OrderedDict()  # key: Task
    self._waiting = collections.deque()
    self._thread = None

  def find(self, key):
    """Returns the task, or None."""
    with self._lock:
      return self._tasks.get(key)

  def start(self, key, function):
    """Returns the task of a key; queues it if there is none or it failed."""
    with self._lock:
      task = self._tasks.get(key)
      if task is not None and task.error is None:
        return task
      if len(self._waiting) >= MAX_WAITING:
        raise BusyError("too many tasks are waiting; try again later")
      task = self._tasks[key] = Task(key, function)
      self._waiting.append(task)
      while len(self._tasks) > MAX_DONE + MAX_WAITING + 1:
        self._tasks.popitem(last=False)
      if self._thread is None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
    return task

  def _run(self):
    while True:
      with self._lock:
        if not self._waiting:
          self._thread = None
          return
        task = self._waiting.popleft()
      task.run()
