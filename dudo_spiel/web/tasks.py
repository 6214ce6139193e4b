"""Work that takes seconds, with a progress that the page can ask for.

Tasks wait in one line and one thread works them off. A task is known by what it
does, so the same work is done once for everybody. There are only so many: when
the line is full, a new task is refused.
"""

import collections
import logging
import threading

MAX_WAITING = 8
MAX_DONE = 64


class BusyError(Exception):
  """Too many tasks are waiting."""


class Task:
  """One piece of work.

  Args:
    key: text that says what it does.
    work: a function that takes a function `report(share, text)` and returns
      the result. It may call `report` with the share that is done, 0 to 1.

  Attributes:
    key: as given.
    result: what the work returned, None until it is done.
    error: what went wrong, as text, or None.
  """

  def __init__(self, key, work):
    self.key = key
    self.result = None
    self.error = None
    self._work = work
    self._progress = 0.0, "waiting"
    self._is_done = threading.Event()

  def run(self):
    """Does the work; errors are kept, not raised."""
    try:
      self.result = self._work(self._report)
    except (ValueError, MemoryError) as error:
      self.error = str(error) or type(error).__name__
    except Exception as error:  # whatever it is, the next task must begin
      logging.getLogger(__name__).error("a task failed", exc_info=error)
      self.error = "the server failed; its terminal says why"
    self._progress = 1.0, "done"
    self._is_done.set()

  def _report(self, share, text):
    self._progress = min(max(float(share), 0.0), 1.0), text

  def wait(self, seconds):
    """Returns whether the task is done, after at most so many seconds."""
    return self._is_done.wait(seconds)

  def view(self):
    """Returns how far the task is."""
    share, text = self._progress
    return {"task": self.key, "progress": round(share, 3), "text": text,
            "is_done": self._is_done.is_set(), "error": self.error,
            "result": self.result}


class TaskLine:
  """The line of tasks, and the thread that works."""

  def __init__(self):
    self._lock = threading.Lock()
    self._tasks = collections.OrderedDict()  # key -> Task
    self._waiting = collections.deque()
    self._thread = None

  def find(self, key):
    """Returns the task, or None."""
    with self._lock:
      return self._tasks.get(key)

  def start(self, key, work):
    """Returns the task of this key, which is begun if there is none.

    Args:
      key: text that says what it does.
      work: a function, as of `Task`.
    """
    with self._lock:
      task = self._tasks.get(key)
      if task is not None and task.error is None:
        return task
      if len(self._waiting) >= MAX_WAITING:
        raise BusyError("too many tasks are waiting; try again later")
      task = self._tasks[key] = Task(key, work)
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
