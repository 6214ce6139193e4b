"""Matches on the page, and that views hide what they must."""

import json

import numpy as np
import pytest
from web import page_client

from dudo_spiel import rules


@pytest.mark.parametrize("opponent, dice", [("trained", 3), ("trained", 1),
                                            ("heuristic", 5), ("odds", 4)])
def test_a_match_to_the_end(opponent, dice):
  client = page_client.PageClient(seed=dice)
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

  view = client.play(page_client.cautious, seen)
  assert 0 in view["reveal"]["dice"]
  assert view["result"] == ("won" if view["reveal"]["dice"][0] else "lost")
  assert sum(view["score"].values()) == 1 == view["score"][view["result"]]
  again = client.post("match", {"opponent": opponent, "dice": dice})
  assert (again["match"], again["starter"]) == (2, 1)


def test_four_players():
  client = page_client.PageClient(seed=5)
  results = []
  for number in range(1, 5):
    view = client.post("match", {"game": "single_round", "opponent":
                                 ("odds", "heuristic")[number % 2]})
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
  client = page_client.PageClient()
  assert client.get("match")["phase"] == "none"
  begun = client.post("match", {})
  assert client.get("match") == begun
  moved = client.post("move", {"move": "1x2", "turn": begun["turn"]})
  assert client.get("match") == moved != begun
  # A second window that still shows the old view changes nothing.
  client.post("move", {"move": "1x3", "turn": begun["turn"]}, status=409)
  assert client.get("match") == moved


def test_no_answer_depends_on_the_opponents_dice():
  """Whatever the others hold, the person is told the same until the reveal."""
  for body in ({"dice": 3}, {"dice": 2, "opponent": "heuristic"},
               {"game": "single_round", "opponent": "heuristic"}):
    client = page_client.PageClient(seed=9)
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
  client = page_client.PageClient(seed=11)
  view = client.post("match", {"dice": 3})
  while view["phase"] == "move":
    client.get("help")
    view = client.post("move", {"move": page_client.cautious(view),
                                "turn": view["turn"]})
  for answer in client.answers[:-1]:
    found = json.loads(answer)
    assert "reveal" not in found or found["reveal"] is None
    assert "hands" not in found
  assert len(json.loads(client.answers[-1])["reveal"]["hands"]) == 2
