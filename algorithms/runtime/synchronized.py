"""Synchronized objects: a lock lets one Python thread at a time call methods.

So several threads may use an object, and none sees what another one has changed
by half. A method that runs for long lets other threads in between two of its
steps.
"""

import functools
import inspect
import threading
import time
import weakref

from dudo_spiel.algorithms.runtime import interrupts

_TURN_SECONDS = 1e-3  # for a thread that waits to wake up
_OBJECTS: weakref.WeakSet = weakref.WeakSet()  # all that there are


class Synchronized:
  """Base of a class whose methods take the lock of the object.

  That holds for all methods of subclasses whose names do not begin with an
  underscore, and for those of `_LOCKED`. A thread may call one inside of
  another. Properties never wait. Copies have a lock of their own.
  """

  # No other thread may call any of these while one of them is under way. They
  # hold the lock only within what they call.
  _LONG = frozenset({"run", "solve", "evaluate_and_update_policy"})
  # Nor may it call these, which hold the lock throughout.
  _EXCLUSIVE = frozenset({"load"})
  # These take the lock in spite of the underscore.
  _LOCKED = frozenset({"_advance", "_check"})

  def __init_subclass__(cls, **kwargs):
    """Makes the methods of a new class take the lock."""
    super().__init_subclass__(**kwargs)
    for name, method in list(vars(cls).items()):
      if inspect.isfunction(method) and (
          name in cls._LOCKED or not name.startswith("_")):
        setattr(cls, name, _in_turn(name, method))

  def __new__(cls, *args, **kwargs):
    """Returns a new object with a lock, also where a copy is made of one."""
    del args, kwargs
    self = super().__new__(cls)
    self._renew_lock()
    _OBJECTS.add(self)
    return self

  def __getstate__(self):
    """Returns what copies and pickles contain."""
    return {name: value for name, value in vars(self).items()
            if name not in ("_lock", "_owner", "_waiting", "_runner")}

  def _renew_lock(self):
    self._lock = threading.Lock()
    # Threads, by their identifiers:
    self._owner = None  # of the lock
    self._waiting = set()
    self._runner = None  # in one of `_LONG`

  def _hold(self, function, *args):
    """Returns function(*args), called while this thread has the lock."""
    thread = threading.get_ident()
    if self._owner == thread:
      return function(*args)
    if self._waiting:
      time.sleep(_TURN_SECONDS)  # else this thread would be first again
    self._waiting.add(thread)
    try:
      with self._lock:
        self._owner = thread
        try:
          self._waiting.discard(thread)
          return function(*args)
        finally:
          self._owner = None
    finally:
      self._waiting.discard(thread)

  def _steps(self, steps):
    """Yields what a generator yields; other threads get turns in between."""
    try:
      while True:
        step = self._hold(next, steps, None)
        if step is None:
          return
        yield step
    finally:
      self._hold(steps.close)

  def _call_alone(self, name, function):
    """Returns function(), or raises an error while another thread runs."""
    if self._runner not in (None, threading.get_ident()):
      raise RuntimeError(
          f"{name}: this {type(self).__name__} runs in another thread; wait "
          "until that is done, or use another solver")
    return function()

  def _call_long(self, name, function):
    """Returns function(), while this thread is the runner."""
    thread = threading.get_ident()
    outer = thread if self._runner == thread else None
    try:
      self._hold(self._call_alone, name,
                 lambda: setattr(self, "_runner", thread))
      return function()
    finally:
      if self._runner == thread:
        self._runner = outer


def _in_turn(name, method):
  """Returns a method that calls another one when this thread may do so."""

  @functools.wraps(method)
  def call(self, *args, **kwargs):
    function = functools.partial(method, self, *args, **kwargs)
    if name in self._LONG:
      return self._call_long(name, function)
    if name in self._EXCLUSIVE:
      return self._hold(self._call_alone, name, function)
    return self._hold(function)

  return call


def _renew_locks():
  """Renews the locks that threads held which a forked child does not have."""
  for locked in list(_OBJECTS):
    if locked._owner != threading.get_ident():
      locked._renew_lock()


interrupts.call_after_fork(_renew_locks)
