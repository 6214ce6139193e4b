"""Sessions: their limits, and that they are apart."""

from web import page_client

from dudo_spiel.web import sessions


def test_old_sessions_are_dropped():
  seconds = 0.0
  store = sessions.SessionStore(page_client.packaged_store(), max_sessions=3,
                                max_idle=10.0, clock=lambda: seconds)
  tokens = [store.add()[0] for _ in range(3)]
  assert len(set(tokens)) == 3 and store.find(tokens[0]) is not None
  fourth, _ = store.add()  # the second was used least recently
  assert store.find(tokens[1]) is None and len(store) == 3
  assert store.find(tokens[0]) is not None
  seconds = 8.0
  assert store.find(fourth) is not None
  seconds = 15.0
  assert store.find(tokens[0]) is None and store.find(fourth) is not None
  assert store.find("") is None and len(store) == 1


def test_sessions_are_apart():
  store = sessions.SessionStore(page_client.packaged_store())
  first, second = (page_client.PageClient(seed, session_store=store)
                   for seed in (1, 2))
  first.post("match", {"dice": 1})
  second.post("match", {"dice": 3})
  assert first.get("match")["dice"] == [1, 1]
  assert second.get("match")["dice"] == [3, 3]
  cookie = first.app.test_client().post(
      "/api/match", json={}, base_url=page_client.BASE).headers["Set-Cookie"]
  assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
