"""The explorer has the numbers of the library."""

import pyspiel
import pytest
from web import page_client

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import policy_bots


def test_explorer_has_the_numbers_of_the_library():
  client = page_client.PageClient()
  policy = policy_bots.load_policy()
  shown = client.get("explore?round=3v2&claims=1x2.2x4")
  claims = [policy.rules.claim_order(5).parse(name) for name in ("1x2", "2x4")]
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
  client = page_client.PageClient()
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
  found = page_client.PageClient().get("rounds")
  policy = policy_bots.load_policy()
  assert {tuple(one["dice"]): one["value"] for one in found["rounds"]} == (
      pytest.approx({key: (1 + value) / 2 for key, value in
                     policy.values.items()}, abs=1e-6))


def test_dice_with_many_sides_and_other_rules(tmp_path):
  solver = fsicfr.MatchSolver(pyspiel.load_game(
      "dudo(numdice=1,dice_sides=12,wild_ones=False,die_loss=one)"), 1,
      num_threads=1)
  solver.run(20)
  policy = solver.average_policy()
  client = page_client.PageClient(store=page_client.store_of(policy, tmp_path))
  info = client.get("info")
  assert not info["wild_ones"] and info["die_loss"] == "one"
  hands = client.get("explore?round=1v1&claims=1x11")["hands"]
  assert [hand["hand"] for hand in hands][8:] == ["9", "(10)", "(11)", "(12)"]
  found = client.get("values?round=1v1&claims=1x11&hand=(12)")
  exact = exploitability.action_values(policy, (1, 1), [10], [12])
  assert found["values"] == pytest.approx(exact.values, abs=1e-6)
  for hand in ("(13)", "(1)", "12", "()", "(12"):
    refused = client.get(f"values?round=1v1&claims=&hand={hand}", 400)
    assert refused["error"].startswith(f"hand={hand!r}: must be 1 faces")
