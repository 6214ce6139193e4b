"""Clients of the application without a browser, for tests."""

import functools
import itertools
import time

import numpy as np
import pytest

pytest.importorskip("flask", reason="needs the extra web")

from dudo_spiel.algorithms import policy_bots  # noqa: E402
from dudo_spiel.web import app as app_lib  # noqa: E402
from dudo_spiel.web import policy_store  # noqa: E402
from dudo_spiel.web import sessions  # noqa: E402

BASE = "http://127.0.0.1:8000"


@functools.cache
def packaged_store():
  """Returns the store with the package's policies, always the same."""
  return policy_store.PolicyStore()


def store_of(policy, folder):
  """Returns a store with a policy that is saved in a folder first."""
  path = str(folder / "policy.npz")
  policy.save(path)
  return policy_store.PolicyStore([path])


def recall3_store(folder):
  """Returns a store whose policy remembers the last three claims."""
  return store_of(policy_bots.load_policy("recall3"), folder)


def cautious(view):
  """Returns the weakest claim, or Dudo when more than half is claimed."""
  claims = view["claims"]
  if claims and 2 * claims[-1]["quantity"] > sum(view["dice"]) and (
      "Dudo" in view["legal"]):
    return "Dudo"
  return view["legal"][0]


class PageClient:
  """A browser without a screen.

  Args:
    seed: of the dice.
    store: the `policy_store.PolicyStore`, None for that of the package.
    session_store: the `sessions.SessionStore`, None for a new one.
  """

  def __init__(self, seed=0, store=None, session_store=None):
    store = store or packaged_store()
    self.session_store = session_store or sessions.SessionStore(store)
    seeds = itertools.count(1000 * seed)
    self.app = app_lib.make_app(
        store, session_store=self.session_store,
        make_rng=lambda: np.random.RandomState(next(seeds)))
    self._client = self.app.test_client()
    self.answers = []

  def get(self, path, status=200, **headers):
    """Returns the answer to a GET, whose status is checked."""
    return self._keep(self._client.get(
        f"/api/{path}", base_url=BASE, headers=headers), status)

  def post(self, path, body, status=200, **headers):
    """Returns the answer to a POST, whose status is checked."""
    return self._keep(self._client.post(
        f"/api/{path}", json=body, base_url=BASE, headers=headers), status)

  def raw(self, **arguments):
    """Returns the response to any request."""
    return self._client.open(base_url=BASE, **arguments)

  def _keep(self, response, status):
    assert response.status_code == status, response.get_data(as_text=True)
    self.answers.append(response.get_data(as_text=True))
    return response.get_json()

  def session(self):
    """Returns the session on the server, with all its secrets."""
    return self.session_store.find(self._client.get_cookie(
        "dudo_8000", "127.0.0.1").value)

  def finish(self, key):
    """Returns a task after it is done."""
    for _ in range(600):
      task = self.get(f"task?task={key}")
      if task["is_done"]:
        return task
      time.sleep(0.1)
    raise AssertionError("the task does not end")

  def play(self, choose, seen=lambda view: None, limit=400):
    """Plays the match to its end; returns the last view.

    Args:
      choose: a function of the view that returns a move.
      seen: a function that is told each view.
      limit: the maximum number of moves and rounds.
    """
    view = self.get("match")
    for _ in range(limit):
      seen(view)
      if view["phase"] == "over":
        return view
      if view["phase"] == "reveal":
        view = self.post("next", {"turn": view["turn"]})
      else:
        view = self.post("move", {"move": choose(view), "turn": view["turn"]})
    raise AssertionError("the match does not end")
