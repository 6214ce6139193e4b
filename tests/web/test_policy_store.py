"""Policies of the package and from files."""

import pyspiel
import pytest
from web import page_client

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.web import policy_store


def test_a_policy_with_perfect_recall(tmp_path):
  game = pyspiel.load_game("dudo(numdice=2)")
  policy = policy_bots.load_policy("trained", game)
  client = page_client.PageClient(store=page_client.store_of(policy, tmp_path))
  info = client.get("info")
  gap = policy.known_exploitability(game)
  assert info["exploitability"]["2"] == gap and 2 in info["trained_dice"]
  assert "2v1" in info["rounds"]
  found = client.get("rounds")
  assert found["is_exact"] and found["remembers"] == "all claims"
  # What a file says of itself may be wrong.
  assert not info["is_certain"] and not found["is_certain"]
  assert page_client.PageClient().get("info")["is_certain"]
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

  assert client.play(page_client.cautious, seen)["result"] in ("won", "lost")
  assert helped and all(0.0 <= value <= 1.0 for one in helped
                        for value in one["values"])
  moves = client.get("review")["moves"]
  assert len(moves) == len(helped) and moves[0]["loss"] >= 0.0


@pytest.mark.parametrize("memory, text", [
    ("claims2", "the last 2 claims"),
    ("claims2_ranks1",
     "the last 2 claims and the rank of the one before them")])
def test_what_a_policy_remembers_in_its_own_words(memory, text, tmp_path):
  solver = fsicfr.MatchSolver(
      pyspiel.load_game("dudo(numdice=1,dice_sides=3)"), memory=memory,
      num_threads=1)
  solver.run(1)
  store = page_client.store_of(solver.average_policy(), tmp_path)
  found = page_client.PageClient(store=store).get("rounds")
  assert found["remembers"] == text and not found["is_exact"]


@pytest.mark.slow
def test_a_policy_for_the_single_round(tmp_path):
  solver = pfsi.PFSISolver(
      pyspiel.load_game("dudo_single_round(players=3,numdice=1)"),
      abstraction="no_recall", seed=0)
  solver.run(20)
  policy = solver.average_policy()
  client = page_client.PageClient(store=page_client.store_of(policy, tmp_path))
  view = client.post("match", {"game": "single_round", "opponent": "trained"})
  found = client.get("help")
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
  assert policy_store.PolicyStore([str(path)]).dudo_name.endswith("file")
  with pytest.raises(OSError):
    policy_store.PolicyStore([str(tmp_path / "none.npz")])
  solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(2)
  solver.average_policy().save(path)
  with pytest.raises(ValueError, match="^policy=.*kuhn_poker.*must be"):
    policy_store.PolicyStore([str(path)])
  solver = cfr.CFRSolver(pyspiel.load_game("neumann_poker(num_ranks=4)"))
  solver.run(2)
  store = page_client.store_of(solver.average_policy(), tmp_path)
  found = page_client.PageClient(store=store).get("small?game=neumann_poker")
  assert found["ranks"] == 4 and len(found["spots"]) == 6


@pytest.mark.slow
def test_exploitability_is_measured(tmp_path):
  """With one die each: the whole policy is measured in a moment."""
  solver = fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=1)"), 2,
                              num_threads=1)
  solver.run(20)
  policy = solver.average_policy()
  client = page_client.PageClient(store=page_client.store_of(policy, tmp_path))
  client.post("task", {"what": "measure"})
  client.finish("measure")
  (found,) = client.get("rounds")["rounds"]
  exact = exploitability.round_exploitability(policy, (1, 1))
  assert found["exploitability"] == pytest.approx([exact, exact])
