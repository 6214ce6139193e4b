"""The page: play, help, review, explorer, safety; without a browser."""

import functools
import itertools
import json
import threading
import time
import types

import numpy as np
import pyspiel
import pytest

flask = pytest.importorskip("flask", reason="needs the extra web")

from dudo_spiel import rules  # noqa: E402
from dudo_spiel.algorithms import cfr  # noqa: E402
from dudo_spiel.algorithms import exploitability  # noqa: E402
from dudo_spiel.algorithms import fsicfr  # noqa: E402
from dudo_spiel.algorithms import pfsi  # noqa: E402
from dudo_spiel.algorithms import policy_bots  # noqa: E402
from dudo_spiel.web import app as page_app  # noqa: E402
from dudo_spiel.web import library as page_library  # noqa: E402
from dudo_spiel.web import play as page_play  # noqa: E402
from dudo_spiel.web import sessions  # noqa: E402
from dudo_spiel.web import small_games  # noqa: E402
from dudo_spiel.web import tasks  # noqa: E402

_BASE = "http://127.0.0.1:8000"


@functools.cache
def _library():
  return page_library.Library()


def _old_library(folder):
  """Returns a library whose policy remembers the last three claims."""
  path = str(folder / "recall3.npz")
  policy_bots.load_policy("recall3").save(path)
  return page_library.Library([path])


class _Client:
  """A browser without a screen.

  Args:
    seed: of the dice.
    store: the `sessions.Store`, None for a new one.
    library: the `library.Library`, None for what the package has.
  """

  def __init__(self, seed=0, store=None, library=None):
    library = library or _library()
    self.store = store or sessions.Store(library)
    seeds = itertools.count(1000 * seed)
    self.app = page_app.make_app(
        library, store=self.store,
        make_rng=lambda: np.random.RandomState(next(seeds)))
    self._client = self.app.test_client()
    self.answers = []

  def get(self, path, status=200, **headers):
    return self._keep(self._client.get(
        f"/api/{path}", base_url=_BASE, headers=headers), status)

  def post(self, path, body, status=200, **headers):
    return self._keep(self._client.post(
        f"/api/{path}", json=body, base_url=_BASE, headers=headers), status)

  def raw(self, **arguments):
    return self._client.open(base_url=_BASE, **arguments)

  def _keep(self, response, status):
    assert response.status_code == status, response.get_data(as_text=True)
    self.answers.append(response.get_data(as_text=True))
    return response.get_json()

  def session(self):
    """Returns the session on the server, with all its secrets."""
    return self.store.find(self._client.get_cookie(
        "dudo_8000", "127.0.0.1").value)

  def play(self, choose, seen=lambda view: None, limit=400):
    """Plays the match to its end; returns the last view.

    Args:
      choose: a function of the view that returns a move.
      seen: a function that is told each view.
      limit: how many moves and rounds there are at most.
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


def _cautious(view):
  """Returns the weakest claim, or Dudo when more than half is claimed."""
  claims = view["claims"]
  if claims and 2 * claims[-1]["quantity"] > sum(view["dice"]) and (
      "Dudo" in view["legal"]):
    return "Dudo"
  return view["legal"][0]


def test_a_policy_with_perfect_recall(tmp_path):
  game = pyspiel.load_game("dudo(numdice=2)")
  policy = policy_bots.load_policy("trained", game)
  path = tmp_path / "policy.npz"
  policy.save(path)
  client = _Client(library=page_library.Library([str(path)]))
  info = client.get("info")
  gap = policy.known_exploitability(game)
  assert info["exploitability"]["2"] == gap and 2 in info["trained_dice"]
  assert "2v1" in info["rounds"]
  found = client.get("rounds")
  assert found["is_exact"] and found["remembers"] == "all claims"
  # What a file says of itself may be wrong.
  assert not info["is_certain"] and not found["is_certain"]
  assert _Client().get("info")["is_certain"]
  (start,) = (one for one in found["rounds"] if one["round"] == "2v2")
  assert start["exploitability"] == [gap, gap] and not start["is_measurable"]
  assert start["value"] == pytest.approx((1.0 + policy.values[2, 2]) / 2.0,
                                         abs=1e-6)
  opening = client.get("explore?round=2v2")
  assert sum(fact["probability"] for fact in opening["facts"]) == (
      pytest.approx(1.0, abs=1e-4))
  values = [(hand["chance"], client.get(
      f"values?round=2v2&hand={hand['hand']}")["value"])
            for hand in opening["hands"]]
  # What all hands get on average is what the round is worth.
  assert sum(chance * value for chance, value in values) == pytest.approx(
      start["value"], abs=1e-4)
  assert client.get("explore?round=2v1&claims=1x2")["own"] == 1
  client.post("match", {"dice": 2})
  helped = []

  def seen(view):
    if view["phase"] == "move":
      helped.append(client.get("help"))

  assert client.play(_cautious, seen)["result"] in ("won", "lost")
  assert helped and all(0.0 <= value <= 1.0 for one in helped
                        for value in one["values"])
  moves = client.get("review")["moves"]
  assert len(moves) == len(helped) and moves[0]["loss"] >= 0.0


@pytest.mark.parametrize("opponent, dice", [("trained", 3), ("trained", 1),
                                            ("heuristic", 5)])
def test_a_match_to_the_end(opponent, dice):
  client = _Client(seed=dice)
  view = client.post("match", {"game": "dudo", "opponent": opponent,
                               "dice": dice})
  assert view["dice"] == [dice, dice] and view["phase"] == "move"

  def seen(view):
    if view["phase"] == "move":
      assert len(view["hand"]) == view["dice"][0] and view["reveal"] is None
      shown = {one["name"] for one in view["ladder"] if one["legal"]}
      assert shown == set(view["legal"]) - {"Dudo"}
      return
    reveal = view["reveal"]
    faces = [face for hand in reveal["hands"] for face in hand]
    count = rules.count_matches(bytes(faces), reveal["claim"]["rank"])
    assert reveal["count"] == count == sum(
        counts for hand in reveal["counts"] for counts in hand)
    assert [len(hand) for hand in reveal["hands"]] == view["dice"]
    assert reveal["dice"] == [had - lost for had, lost in
                              zip(view["dice"], reveal["lost"])]

  view = client.play(_cautious, seen)
  assert 0 in view["reveal"]["dice"]
  assert view["result"] == ("won" if view["reveal"]["dice"][0] else "lost")
  assert sum(view["score"].values()) == 1 == view["score"][view["result"]]
  again = client.post("match", {"opponent": opponent, "dice": dice})
  assert (again["match"], again["starter"]) == (2, 1)


def test_four_players():
  client = _Client(seed=5)
  results = []
  for number in range(1, 5):
    view = client.post("match", {"game": "single_round",
                                 "opponent": "heuristic"})
    assert view["seat"] == number - 1 and len(view["players"]) == 4

    def choose(view):
      legal = view["legal"]
      return "Challenge" if "Challenge" in legal and (
          len(legal) == 1 or view["claims"][-1]["quantity"] > 7) else legal[0]

    view = client.play(choose)
    reveal = view["reveal"]
    assert reveal["challengers"] and reveal["survivors"]
    assert (view["seat"] in reveal["survivors"]) == (view["result"] == "won")
    results.append(view["result"])
    assert view["score"] == {name: results.count(name) for name in
                             ("won", "lost")}


def test_the_match_goes_on_after_a_reload():
  client = _Client()
  assert client.get("match")["phase"] == "none"
  begun = client.post("match", {})
  assert client.get("match") == begun
  moved = client.post("move", {"move": "1x2", "turn": begun["turn"]})
  assert client.get("match") == moved != begun
  # A second window that still shows the old view changes nothing.
  client.post("move", {"move": "1x3", "turn": begun["turn"]}, status=409)
  assert client.get("match") == moved


def test_help_has_the_numbers_of_the_library():
  client = _Client(seed=2)
  policy = policy_bots.load_policy()
  view = client.post("match", {"dice": 2})
  checked = 0

  def choose(view):
    nonlocal checked
    found = client.get("help")
    order = policy.match.claim_order(sum(view["dice"]))
    claims = [order.parse(claim["name"]) for claim in view["claims"]]
    exact = exploitability.action_values(policy, tuple(view["dice"]), claims,
                                         bytes(view["hand"]))
    assert found["names"] == view["legal"] == exact.names
    assert found["values"] == pytest.approx(exact.values, abs=1e-6)
    assert found["probabilities"] == pytest.approx(exact.probabilities,
                                                   abs=1e-6)
    assert found["odds"] == pytest.approx(exact.odds, abs=1e-6)
    for rank, row in enumerate(found["belief"]["counts"]):
      assert sum(row) == pytest.approx(1.0, abs=1e-4), rank
    checked += 1
    return found["best"]

  client.play(choose)
  assert checked >= 2
  moves = client.get("review")
  assert moves["total"] == pytest.approx(0.0, abs=1e-6)
  assert len(moves["moves"]) == checked
  assert view["has_values"]


def test_review_of_bad_moves():
  client = _Client(seed=4)
  for _ in range(2):
    client.post("match", {"dice": 2})
    client.play(lambda view: view["legal"][-1])  # Dudo, or the strongest claim
  found = client.get("review")
  losses = [move["loss"] for move in found["moves"]]
  assert losses == sorted(losses, reverse=True) and losses[0] > 0.05
  assert found["total"] == pytest.approx(sum(losses), abs=1e-4)
  assert {move["match"] for move in found["moves"]} == {1, 2}
  for move in found["moves"]:
    place = move["position"]
    shown = client.get(f"values?round={place['round']}&claims={place['claims']}"
                       f"&hand={move['hand']}")
    value = dict(zip(shown["names"], shown["values"]))
    assert value[move["move"]] == pytest.approx(move["value"], abs=2e-6)
    assert max(value.values()) - value[move["move"]] == pytest.approx(
        move["loss"], abs=2e-6)


def test_moves_of_an_open_round_are_not_reviewed():
  client = _Client(seed=1)
  view = client.post("match", {"dice": 3})
  while view["phase"] == "move":
    assert client.get("review")["moves"] == []
    view = client.post("move", {"move": _cautious(view), "turn": view["turn"]})
  assert client.get("review")["moves"]


def test_forgotten_moves_stay_in_the_sum(monkeypatch):
  totals = []
  for limit in (sessions.MAX_MOVES, 2):
    monkeypatch.setattr(sessions, "MAX_MOVES", limit)
    client = _Client(seed=4)
    client.post("match", {"dice": 3})
    client.play(_cautious)
    found = client.get("review")
    totals.append((found["total"], len(found["moves"]) + found["forgotten"]))
  assert len(found["moves"]) == 2 and found["forgotten"] > 0
  assert totals[0] == pytest.approx(totals[1], abs=1e-5)


def test_without_values_help_has_odds(tmp_path):
  client = _Client(library=_old_library(tmp_path))
  for body in ({"opponent": "heuristic", "dice": 5},
               {"game": "single_round", "opponent": "heuristic"}):
    view = client.post("match", body)
    found = client.get("help")
    assert found["values"] is None and not view["has_values"]
    first = found["odds_alone"][0]
    assert 0.0 < first <= 1.0
  assert client.get("review")["moves"] == []


def test_explorer_has_the_numbers_of_the_library():
  client = _Client()
  policy = policy_bots.load_policy()
  shown = client.get("explore?round=3v2&claims=1x2.2x4")
  claims = [policy.match.claim_order(5).parse(name) for name in ("1x2", "2x4")]
  grid = policy.after_claims((3, 2), claims)
  for hand, column in zip(shown["hands"], grid.T):
    assert hand["row"] == pytest.approx(column, abs=1e-4)
  belief = exploitability.posterior(policy, (3, 2), claims)
  other = exploitability.posterior(policy, (2, 3), claims[:1])
  assert shown["likelihood"] == pytest.approx(
      belief.likelihood * other.likelihood)
  assert sum(hand["chance"] for hand in shown["hands"]) == pytest.approx(
      1.0, abs=1e-4)
  made = [fact["probability"] for fact in shown["facts"]]
  assert made == pytest.approx(grid @ other.chances, abs=1e-5)
  assert sum(made) == pytest.approx(1.0, abs=1e-4)
  assert shown["actions"][-1] == "Dudo" and shown["own"] == 3


def test_bluffs_of_the_first_claim():
  """Counted by hand: a bluff has no die that counts."""
  client = _Client()
  policy = policy_bots.load_policy()
  shown = client.get("explore?round=1v1&claims=")
  grid = policy.after_claims((1, 1), [])
  at = shown["actions"].index("1x5")
  bluffs = sum(grid[at, face - 1] for face in (2, 3, 4, 6))
  assert shown["facts"][at]["bluff"] == pytest.approx(
      bluffs / grid[at].sum(), abs=1e-5)
  # It is true if either die is a one or a five.
  honest = sum(grid[at, face - 1] for face in (1, 5))
  assert shown["facts"][at]["true"] == pytest.approx(
      (honest + bluffs / 3) / grid[at].sum(), abs=1e-5)


def test_values_of_all_rounds():
  found = _Client().get("rounds")
  policy = policy_bots.load_policy()
  assert {tuple(one["dice"]): one["value"] for one in found["rounds"]} == (
      pytest.approx({key: (1 + value) / 2 for key, value in
                     policy.values.items()}, abs=1e-6))


@pytest.mark.parametrize("memory, text", [
    ("claims2", "the last 2 claims"),
    ("claims2_ranks1",
     "the last 2 claims and the rank of the one before them")])
def test_what_a_policy_remembers_in_its_own_words(memory, text, tmp_path):
  solver = fsicfr.MatchSolver(
      pyspiel.load_game("dudo(numdice=1,dice_sides=3)"), memory=memory,
      num_threads=1)
  solver.run(1)
  solver.average_policy().save(tmp_path / "policy.npz")
  found = _Client(library=page_library.Library(
      [str(tmp_path / "policy.npz")])).get("rounds")
  assert found["remembers"] == text and not found["is_exact"]


def test_no_answer_depends_on_the_opponents_dice():
  """Whatever the others hold, the person is told the same until the reveal."""
  for body in ({"dice": 3}, {"dice": 2, "opponent": "heuristic"},
               {"game": "single_round", "opponent": "heuristic"}):
    client = _Client(seed=9)
    client.post("match", body)
    hidden = 0

    def seen(view, client=client):
      nonlocal hidden
      if view["phase"] != "move":
        return
      session = client.session()
      state, seat = session.match.state, view["seat"]
      paths = ("match", "help", "review", "rounds", "info",
               "explore?round=2v2&claims=1x2")
      told = [client.get(path) for path in paths]
      for _ in range(3):
        other = state.resample_from_infostate(seat, np.random.random)
        if other.full_history() == state.full_history():
          continue
        hidden += 1
        session.match.state = other
        assert [client.get(path) for path in paths] == told
      session.match.state = state

    client.play(lambda view: view["legal"][0 if len(view["claims"]) < 4 else
                                           -1], seen)
    assert hidden > 3


def test_dice_of_others_are_not_in_any_answer_before_the_reveal():
  """Reads all answers of a match in which the opponent's hand is known."""
  client = _Client(seed=11)
  view = client.post("match", {"dice": 3})
  while view["phase"] == "move":
    client.get("help")
    view = client.post("move", {"move": _cautious(view), "turn": view["turn"]})
  for answer in client.answers[:-1]:
    found = json.loads(answer)
    assert "reveal" not in found or found["reveal"] is None
    assert "hands" not in found
  assert len(json.loads(client.answers[-1])["reveal"]["hands"]) == 2


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
  answer = _Client().get(path, status=400)
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
  client = _Client()
  client.post("match", {})
  answer = client.post(path, body, status=400)
  assert answer["error"].startswith(part)


def test_odd_requests_never_fail():
  """Odd values in every field and address: refused by a 4xx, or answered."""
  client = _Client()
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
  client = _Client()
  client.post("move", {"move": "1x2", "turn": 0}, status=404)
  client.get("help", status=404)
  assert client.get("review")["moves"] == []
  client.get("task?task=none", status=404)
  client.get("small?game=liar_die", status=404)
  assert len(client.store) == 0


def test_foreign_requests_are_refused():
  client = _Client()
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
  client = _Client()
  post = functools.partial(client.raw, path="/api/match", method="POST")
  assert post(data="dice=3").status_code == 415
  assert post(data=b"{", content_type="application/json").status_code == 400
  assert post(data=b"[" * 4000,
              content_type="application/json").status_code == 400
  assert post(data=b" " * 5000,
              content_type="application/json").status_code == 413
  assert post(data=b'{"dice":' + b"9" * 3000 + b"}",
              content_type="application/json").status_code == 400
  assert len(client.store) == 0


def test_files_of_the_page():
  client = _Client()
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
  client = _Client()
  client.post("match", {})

  def fail(self):
    raise RuntimeError("secret")

  monkeypatch.setattr(page_play.DudoMatch, "view", fail)
  answer = client.get("match", status=500)
  assert "secret" not in json.dumps(answer) and "Traceback" not in answer
  assert "secret" in caplog.text


def test_old_sessions_are_dropped():
  now = 0.0
  store = sessions.Store(_library(), max_sessions=3, max_idle=10.0,
                              clock=lambda: now)
  tokens = [store.add()[0] for _ in range(3)]
  assert len(set(tokens)) == 3 and store.find(tokens[0]) is not None
  fourth, _ = store.add()  # the second was used least recently
  assert store.find(tokens[1]) is None and len(store) == 3
  assert store.find(tokens[0]) is not None
  now = 8.0
  assert store.find(fourth) is not None
  now = 15.0
  assert store.find(tokens[0]) is None and store.find(fourth) is not None
  assert store.find("") is None and len(store) == 1


def test_sessions_are_apart():
  store = sessions.Store(_library())
  first, second = _Client(1, store), _Client(2, store)
  first.post("match", {"dice": 1})
  second.post("match", {"dice": 3})
  assert first.get("match")["dice"] == [1, 1]
  assert second.get("match")["dice"] == [3, 3]
  cookie = first.app.test_client().post(
      "/api/match", json={}, base_url=_BASE).headers["Set-Cookie"]
  assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_tasks_report_and_share():
  line = tasks.TaskLine()
  calls = []

  def work(report):
    calls.append(1)
    report(0.5, "half")
    return "result"

  task = line.start("a", work)
  assert task.wait(30.0) and line.start("a", work) is task
  assert calls == [1] and task.view()["result"] == "result"
  assert line.find("b") is None

  def fail(report):
    raise ValueError("broken")

  failed = line.start("b", fail)
  assert failed.wait(30.0) and failed.view()["error"] == "broken"


def test_a_task_that_fails_does_not_hold_up_the_others(caplog):
  line = tasks.TaskLine()
  broken = line.start("broken", lambda report: {}["secret"])
  after = line.start("after", lambda report: "result")
  assert broken.wait(30.0) and "secret" not in broken.view()["error"]
  assert after.wait(30.0) and after.result == "result"
  assert "secret" in caplog.text


def test_small_games_do_not_wait_for_measurements(monkeypatch, tmp_path):
  gate = threading.Event()
  monkeypatch.setattr(exploitability, "round_exploitability",
                      lambda *_: gate.wait(60.0) and 0.0)
  monkeypatch.setattr(exploitability, "refine_bounds",
                      lambda *_: [types.SimpleNamespace(lower=0.0, upper=0.0)])
  client = _Client(library=_old_library(tmp_path))
  try:
    client.post("task", {"what": "measure"})
    client.post("task", {"what": "liar_die", "size": 2})
    for _ in range(600):
      if client.get("task?task=liar_die-2")["is_done"]:
        break
      time.sleep(0.05)
    assert client.get("task?task=liar_die-2")["result"]["sides"] == 2
    assert not client.get("task?task=measure")["is_done"]
  finally:
    gate.set()


def test_compiling_is_no_time_to_solve(monkeypatch):
  now = 0.0

  class SlowStart(cfr.PDCFRPlusSolver):
    """Its first iterations take a minute."""

    def run(self, *args, **kwargs):
      nonlocal now
      now += 0.0 if self.iteration else 60.0
      return super().run(*args, **kwargs)

  monkeypatch.setattr(cfr, "PDCFRPlusSolver", SlowStart)
  monkeypatch.setattr(small_games, "time",
                      types.SimpleNamespace(monotonic=lambda: now))
  found = small_games.solve_neumann(10, lambda share, text: None)
  assert found["exploitability"] < 2e-6


def test_too_many_tasks_are_refused():
  line, gate = tasks.TaskLine(), threading.Event()
  try:
    with pytest.raises(tasks.BusyError):
      for number in range(tasks.MAX_WAITING + 3):
        line.start(str(number), lambda report: gate.wait(30.0))
  finally:
    gate.set()


@pytest.mark.parametrize("name, size", [("liar_die", 3), ("neumann_poker", 5)])
def test_small_games_are_solved(name, size):
  client = _Client()
  task = client.post("task", {"what": name, "size": size})
  for _ in range(600):
    task = client.get(f"task?task={task['task']}")
    if task["is_done"]:
      break
    time.sleep(0.1)
  found = task["result"]
  assert found["exploitability"] < 2e-6
  if name == "liar_die":
    assert found["doubts"][2] == [1.0]  # the highest claim must be doubted
    assert [len(row) for row in found["claims"][0]] == [3, 3, 3]
  else:
    for spot in found["spots"]:
      for shares in zip(*spot["shares"]):
        assert sum(shares) == pytest.approx(1.0, abs=1e-5)
    assert [spot["betting"] for spot in found["spots"]][:2] == [[], ["check"]]


@pytest.mark.slow
def test_a_policy_for_the_single_round(tmp_path):
  path = str(tmp_path / "policy.npz")
  solver = pfsi.PFSISolver(
      pyspiel.load_game("dudo_single_round(players=3,numdice=1)"),
      abstraction="no_recall", seed=0)
  solver.run(20)
  policy = solver.average_policy()
  policy.save(path)
  client = page_app.make_app(page_library.Library([path])).test_client()
  view = client.post("/api/match", base_url=_BASE, json={
      "game": "single_round", "opponent": "trained"}).get_json()
  found = client.get("/api/help", base_url=_BASE).get_json()
  assert view["seat"] == 0 and len(view["players"]) == 3
  state = policy.game.new_initial_state()
  for roll in (view["hand"][0] - 1, 0, 0):
    state.apply_action(roll)
  expected = policy.action_probabilities(state)
  assert found["probabilities"] == pytest.approx(
      [expected[action] for action in state.legal_actions()], abs=1e-6)


def test_policies_from_files(tmp_path):
  path = tmp_path / "policy.npz"
  policy_bots.load_policy().save(path)
  assert page_library.Library([str(path)]).match_name.endswith("file")
  with pytest.raises(OSError):
    page_library.Library([str(tmp_path / "none.npz")])
  solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(2)
  solver.average_policy().save(path)
  with pytest.raises(ValueError, match="^policy=.*kuhn_poker.*must be"):
    page_library.Library([str(path)])
  solver = cfr.CFRSolver(pyspiel.load_game("neumann_poker(num_ranks=4)"))
  solver.run(2)
  solver.average_policy().save(path)
  app = page_app.make_app(page_library.Library([str(path)]))
  found = app.test_client().get("/api/small?game=neumann_poker",
                                base_url=_BASE).get_json()
  assert found["ranks"] == 4 and len(found["spots"]) == 6


def test_dice_with_many_sides_and_other_rules(tmp_path):
  path = str(tmp_path / "policy.npz")
  solver = fsicfr.MatchSolver(pyspiel.load_game(
      "dudo(numdice=1,dice_sides=12,wild_ones=False,die_loss=one)"), 1,
      num_threads=1)
  solver.run(20)
  policy = solver.average_policy()
  policy.save(path)
  client = page_app.make_app(page_library.Library([path])).test_client()

  def get(path, status=200):
    answer = client.get(f"/api/{path}", base_url=_BASE)
    assert answer.status_code == status
    return answer.get_json()

  info = get("info")
  assert not info["wild_ones"] and info["die_loss"] == "one"
  hands = get("explore?round=1v1&claims=1x11")["hands"]
  assert [hand["hand"] for hand in hands][8:] == ["9", "(10)", "(11)", "(12)"]
  found = get("values?round=1v1&claims=1x11&hand=(12)")
  exact = exploitability.action_values(policy, (1, 1), [10], [12])
  assert found["values"] == pytest.approx(exact.values, abs=1e-6)
  for hand in ("(13)", "(1)", "12", "()", "(12"):
    refused = get(f"values?round=1v1&claims=&hand={hand}", 400)
    assert refused["error"].startswith(f"hand={hand!r}: must be 1 faces")


@pytest.mark.slow
def test_exploitability_is_measured(tmp_path):
  """With one die each: the whole policy is measured in a moment."""
  path = str(tmp_path / "policy.npz")
  solver = fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=1)"), 2,
                              num_threads=1)
  solver.run(20)
  policy = solver.average_policy()
  policy.save(path)
  client = page_app.make_app(page_library.Library([path])).test_client()
  assert client.post("/api/task", base_url=_BASE,
                     json={"what": "measure"}).status_code == 200
  for _ in range(600):
    if client.get("/api/task?task=measure", base_url=_BASE).get_json()[
        "is_done"]:
      break
    time.sleep(0.1)
  (found,) = client.get("/api/rounds", base_url=_BASE).get_json()["rounds"]
  exact = exploitability.round_exploitability(policy, (1, 1))
  assert found["exploitability"] == pytest.approx([exact, exact])
