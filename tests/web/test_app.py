"""Requests: the checks of the application, its files and its sessions."""

import functools
import json

import numpy as np
import pytest
from web import page_client

from dudo_spiel.web import play


@pytest.mark.parametrize("path, part", [
    ("explore?round=9v9&claims=", "round="), ("explore", "round="),
    ("explore?round=3v3&claims=2x2.1x2", "claims="),
    ("explore?round=3v3&claims=9x9", "claims="),
    ("explore?round=3v3&claims=" + "1x2." * 200, "claims="),
    ("explore?round=3v3&claims=%00%ff", "claims="),
    ("values?round=3v3&claims=&hand=7", "hand="),
    ("values?round=3v3&claims=&hand=777", "hand="),
    ("values?round=1v1&claims=&hand=../../etc", "hand="),
    ("small?game=/etc/passwd", "game=")])
def test_wrong_addresses_are_named(path, part):
  answer = page_client.PageClient().get(path, status=400)
  assert answer["error"].startswith(part)


@pytest.mark.parametrize("path, body, part", [
    ("match", {"dice": 9}, "dice=9"), ("match", {"dice": "3"}, "dice"),
    ("match", {"dice": True}, "dice"), ("match", {"dice": 6}, "dice=6"),
    ("match", {"game": "chess"}, "game="), ("match", {"x": 1}, "'x'"),
    ("match", {"opponent": "/etc/passwd"}, "opponent="),
    ("match", {"game": "single_round", "opponent": "trained"}, "opponent="),
    ("match", [1], "body"), ("match", {"game": "x" * 200}, "game"),
    ("task", {"what": "all"}, "what="), ("task", {}, "what"),
    ("task", {"what": "neumann_poker", "size": 10**9}, "size="),
    ("task", {"what": "liar_die", "size": 0}, "size="),
    ("move", {"move": "7x7", "turn": 2}, "move='7x7'"),
    ("move", {"move": "Dudo", "turn": 2}, "move='Dudo'"),
    ("move", {"move": "1x2"}, "turn"), ("next", {"turn": 2}, "match")])
def test_wrong_bodies_are_named(path, body, part):
  client = page_client.PageClient()
  client.post("match", {})
  answer = client.post(path, body, status=400)
  assert answer["error"].startswith(part)


def test_odd_requests_never_fail():
  """Odd values in every field and address: refused by a 4xx, or answered."""
  client = page_client.PageClient()
  client.post("match", {"dice": 1})
  rng = np.random.RandomState(0)
  odd = [None, True, -1, 0, 2, 2.5, 10**30, "", "1x2", "Dudo", "dudo", "3v3",
         "1x2.2x2", "\0", "\ud800", "é" * 90, "9" * 90, [], [1], {}, {"a": 1},
         "trained", "single_round", "measure_", "125", "../x", "%s%n", "NaN"]
  fields = {"match": ("game", "opponent", "dice"), "move": ("move", "turn"),
            "next": ("turn",), "task": ("what", "size")}
  addresses = {"explore": ("round", "claims"), "task": ("task",),
               "values": ("round", "claims", "hand"), "small": ("game",)}
  seen = set()
  for _ in range(300):
    path = str(rng.choice([*fields]))
    body = {name: odd[rng.randint(len(odd))] for name in fields[path]
            if rng.rand() < 0.8}
    answer = client.raw(path=f"/api/{path}", method="POST",
                        data=json.dumps(body), content_type="application/json")
    seen.add(answer.status_code)
    path = str(rng.choice([*addresses]))
    query = {name: str(odd[rng.randint(len(odd))]).replace("\ud800", "?")
             for name in addresses[path]}
    answer = client.raw(path=f"/api/{path}", query_string=query)
    seen.add(answer.status_code)
    assert "Traceback" not in answer.get_data(as_text=True)
  assert seen <= {200, 400, 404, 409} and len(seen) >= 3


def test_requests_without_a_match():
  client = page_client.PageClient()
  client.post("move", {"move": "1x2", "turn": 0}, status=404)
  client.get("help", status=404)
  assert client.get("review")["moves"] == []
  client.get("task?task=none", status=404)
  client.get("small?game=liar_die", status=404)
  assert len(client.session_store) == 0


def test_foreign_requests_are_refused():
  client = page_client.PageClient()
  for host in ("evil.example", "evil.example:8000", "127.0.0.1",
               "127.0.0.1:9000", ""):
    assert client.raw(path="/", headers={"Host": host}).status_code == 403
    assert client.raw(path="/api/match",
                      headers={"Host": host}).status_code == 403
  for host in ("127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000",
               "[::1]:8000"):
    assert client.raw(path="/", headers={"Host": host}).status_code == 200
  for origin in ("http://evil.example", "null", "https://127.0.0.1:8000",
                 "http://127.0.0.1:9000"):
    client.post("match", {}, status=403, Origin=origin)
    client.get("match", status=403, Origin=origin)
  client.post("match", {}, Origin="http://127.0.0.1:8000")
  for site in ("cross-site", "same-site"):  # such as another port
    client.get("match", status=403, **{"Sec-Fetch-Site": site})
  client.get("match", **{"Sec-Fetch-Site": "same-origin"})


def test_only_small_json_is_read():
  client = page_client.PageClient()
  post = functools.partial(client.raw, path="/api/match", method="POST")
  assert post(data="dice=3").status_code == 415
  assert post(data=b"{", content_type="application/json").status_code == 400
  assert post(data=b"[" * 4000,
              content_type="application/json").status_code == 400
  assert post(data=b" " * 5000,
              content_type="application/json").status_code == 413
  assert post(data=b'{"dice":' + b"9" * 3000 + b"}",
              content_type="application/json").status_code == 400
  assert len(client.session_store) == 0


def test_files_of_the_page():
  client = page_client.PageClient()
  page = client.raw(path="/")
  assert page.status_code == 200 and page.mimetype == "text/html"
  text = page.get_data(as_text=True)
  names = ["/style.css", "/main.js", "/play.js", "/icon.svg"]
  for name in names:
    answer = client.raw(path=name)
    assert answer.status_code == 200
    text += answer.get_data(as_text=True)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
  addresses = {word for word in text.replace('"', " ").split()
               if word.startswith(("http:", "https:", "//"))}
  assert addresses - {"//"} <= {"http://www.w3.org/2000/svg"}
  for name in ("/../app.py", "/app.py", "/static/main.js", "/%2e%2e/app.py",
               "/api/none", "/main.js/"):
    answer = client.raw(path=name)
    assert answer.status_code == 404 and "error" in answer.get_json()
  assert client.raw(path="/api/move").status_code == 405


def test_a_failure_shows_no_traceback(monkeypatch, caplog):
  client = page_client.PageClient()
  client.post("match", {})

  def fail(self):
    raise RuntimeError("secret")

  monkeypatch.setattr(play.DudoMatch, "view", fail)
  answer = client.get("match", status=500)
  assert "secret" not in json.dumps(answer) and "Traceback" not in answer
  assert "secret" in caplog.text
