"""Help before moves and the review after them."""

import pytest
from web import page_client

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.web import sessions


def test_help_has_the_numbers_of_the_library():
  client = page_client.PageClient(seed=2)
  policy = policy_bots.load_policy()
  view = client.post("match", {"dice": 2})
  checked = 0

  def choose(view):
    nonlocal checked
    found = client.get("help")
    order = policy.rules.claim_order(sum(view["dice"]))
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
  client = page_client.PageClient(seed=4)
  for _ in range(2):
    client.post("match", {"dice": 2})
    client.play(lambda view: view["legal"][-1])  # Dudo, or the strongest claim
  found = client.get("review")
  losses = [move["loss"] for move in found["moves"]]
  assert losses == sorted(losses, reverse=True) and losses[0] > 0.05
  assert found["total"] == pytest.approx(sum(losses), abs=1e-4)
  assert {move["match"] for move in found["moves"]} == {1, 2}
  for move in found["moves"]:
    position = move["position"]
    shown = client.get(f"values?round={position['round']}"
                       f"&claims={position['claims']}&hand={move['hand']}")
    value = dict(zip(shown["names"], shown["values"]))
    assert value[move["move"]] == pytest.approx(move["value"], abs=2e-6)
    assert max(value.values()) - value[move["move"]] == pytest.approx(
        move["loss"], abs=2e-6)


def test_moves_of_an_open_round_are_not_reviewed():
  client = page_client.PageClient(seed=1)
  view = client.post("match", {"dice": 3})
  while view["phase"] == "move":
    assert client.get("review")["moves"] == []
    view = client.post("move", {"move": page_client.cautious(view),
                                "turn": view["turn"]})
  assert client.get("review")["moves"]


def test_forgotten_moves_stay_in_the_sum(monkeypatch):
  totals = []
  for limit in (sessions.MAX_MOVES, 2):
    monkeypatch.setattr(sessions, "MAX_MOVES", limit)
    client = page_client.PageClient(seed=4)
    client.post("match", {"dice": 3})
    client.play(page_client.cautious)
    found = client.get("review")
    totals.append((found["total"], len(found["moves"]) + found["forgotten"]))
  assert len(found["moves"]) == 2 and found["forgotten"] > 0
  assert totals[0] == pytest.approx(totals[1], abs=1e-5)


def test_without_values_help_has_odds(tmp_path):
  client = page_client.PageClient(store=page_client.recall3_store(tmp_path))
  for body in ({"opponent": "heuristic", "dice": 5},
               {"game": "single_round", "opponent": "heuristic"}):
    view = client.post("match", body)
    found = client.get("help")
    assert found["values"] is None and not view["has_values"]
    first = found["odds_alone"][0]
    assert 0.0 < first <= 1.0
  assert client.get("review")["moves"] == []
