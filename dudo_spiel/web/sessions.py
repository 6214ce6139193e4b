"""The people who play, each with a match and its review.

A session is known by a random token in a cookie. There are only so many: the
one that was used least recently makes room for a new one, and a session ends
when nobody has used it for some hours.
"""

import collections
import secrets
import threading
import time

from dudo_spiel.algorithms.dudo.analysis import review

MAX_SESSIONS = 256
MAX_IDLE_SECONDS = 6 * 3600.0
MAX_MOVES = 400  # of one person that are reviewed, the last ones
_TOKEN_BYTES = 24


class PageSession:
  """One person.

  Args:
    library: the `library.Library`.
    now: the time in seconds.

  Attributes:
    lock: held while a request reads or changes the session.
    match: the match under way or just ended, None before the first.
    matches: how many matches were begun.
    score: {"won": n, "lost": n}.
    review: the `review.Review` of the person's moves.
    forgotten: how many of the moves it no longer has.
    forgotten_loss: what those lost.
    used: when it was used last, in seconds.
  """

  def __init__(self, library, now):
    self.lock = threading.Lock()
    self.match = None
    self.matches = 0
    self.score = {"won": 0, "lost": 0}
    self.review = review.Review(library.match, library.values)
    self.forgotten = 0
    self.forgotten_loss = 0.0
    self.used = now

  def note(self, state, action):
    """Notes a move for the review; of the oldest ones only the loss is kept."""
    self.review.note(state, action, self.matches)
    for move in self.review.moves[:-MAX_MOVES]:
      self.forgotten += 1
      self.forgotten_loss += move.loss
    del self.review.moves[:-MAX_MOVES]


class Store:
  """All sessions.

  Args:
    library: the `library.Library` for reviews.
    max_sessions: how many there are at most.
    max_idle: after how many seconds without use a session ends.
    clock: a function that returns the time in seconds.
  """

  def __init__(self, library, max_sessions=MAX_SESSIONS,
               max_idle=MAX_IDLE_SECONDS, clock=time.monotonic):
    self._library = library
    self._max_sessions = max_sessions
    self._max_idle = max_idle
    self._clock = clock
    self._lock = threading.Lock()
    self._sessions = collections.OrderedDict()  # least recently used first

  def __len__(self):
    """Returns how many sessions there are."""
    return len(self._sessions)

  def find(self, token):
    """Returns the session of a token, or None."""
    with self._lock:
      self._drop_old()
      session = self._sessions.get(token)
      if session is not None:
        session.used = self._clock()
        self._sessions.move_to_end(token)
      return session

  def add(self):
    """Returns the token of a new session, and the session."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with self._lock:
      self._drop_old()
      while len(self._sessions) >= self._max_sessions:
        self._sessions.popitem(last=False)
      session = PageSession(self._library, self._clock())
      self._sessions[token] = session
    return token, session

  def _drop_old(self):
    """Drops sessions that nobody has used for long."""
    oldest = self._clock() - self._max_idle
    while self._sessions:
      token, session = next(iter(self._sessions.items()))
      if session.used >= oldest:
        return
      del self._sessions[token]
