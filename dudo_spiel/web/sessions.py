"""Sessions: one for each browser, with its match and the review of its moves.

A random token in a cookie identifies a session. The number of sessions is
bounded: a new one evicts the least recently used one, and a session expires
after some hours without use.
"""

import collections
import secrets
import threading
import time

from dudo_spiel.algorithms.dudo.analysis import review

MAX_SESSIONS = 256
MAX_IDLE_SECONDS = 6 * 3600.0
MAX_MOVES = 400  # of a session that are reviewed, the last ones
_TOKEN_BYTES = 24


class PlayerSession:
  """The session of one person.

  Attributes:
    lock: held while a request reads or changes the session.
    match: the match under way or just ended, None before the first.
    num_matches: how many matches were begun.
    score: {"won": n, "lost": n}.
    review: the `review.Review` of the person's moves.
    forgotten: how many older moves it no longer has.
    forgotten_loss: what those lost, in all.
    last_used: float, the time of the last request in seconds.
  """

  def __init__(self, store, seconds):
    self.lock = threading.Lock()
    self.match = None
    self.num_matches = 0
    self.score = {"won": 0, "lost": 0}
    self.review = review.Review(store.dudo, store.values)
    self.forgotten = 0
    self.forgotten_loss = 0.0
    self.last_used = seconds

  def note(self, state, action):
    """Notes a move for the review; of the oldest ones only the loss is kept."""
    self.review.note(state, action, self.num_matches)
    for move in self.review.moves[:-MAX_MOVES]:
      self.forgotten += 1
      self.forgotten_loss += move.loss
    del self.review.moves[:-MAX_MOVES]


class SessionStore:
  """All sessions; `max_idle` is in seconds of the clock."""

  def __init__(self, store, max_sessions=MAX_SESSIONS,
               max_idle=MAX_IDLE_SECONDS, clock=time.monotonic):
    self._store = store
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
      self._drop_expired()
      session = self._sessions.get(token)
      if session is not None:
        session.last_used = self._clock()
        self._sessions.move_to_end(token)
      return session

  def add(self):
    """Returns the token of a new session, and the session."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with self._lock:
      self._drop_expired()
      while len(self._sessions) >= self._max_sessions:
        self._sessions.popitem(last=False)
      session = PlayerSession(self._store, self._clock())
      self._sessions[token] = session
    return token, session

  def _drop_expired(self):
    expiry = self._clock() - self._max_idle
    while self._sessions:
      token, session = next(iter(self._sessions.items()))
      if session.last_used >= expiry:
        return
      del self._sessions[token]
