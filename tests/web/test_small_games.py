"""Small games: solved while the page waits."""

import threading
import types

import pyspiel
import pytest
from web import page_client

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.web import small_games


def test_small_games_do_not_wait_for_measurements(monkeypatch, tmp_path):
  gate = threading.Event()
  monkeypatch.setattr(exploitability, "round_exploitability",
                      lambda *_: gate.wait(60.0) and 0.0)
  monkeypatch.setattr(exploitability, "refine_bounds",
                      lambda *_: [types.SimpleNamespace(lower=0.0, upper=0.0)])
  client = page_client.PageClient(store=page_client.recall3_store(tmp_path))
  try:
    client.post("task", {"what": "measure"})
    client.post("task", {"what": "liar_die", "size": 2})
    assert client.finish("liar_die-2")["result"]["sides"] == 2
    assert not client.get("task?task=measure")["is_done"]
  finally:
    gate.set()


def test_compiling_is_no_time_to_solve(monkeypatch):
  seconds = 0.0

  class SlowStart(cfr.PDCFRPlusSolver):
    """Its first iterations take a minute."""

    def run(self, *args, **kwargs):
      nonlocal seconds
      seconds += 0.0 if self.iteration else 60.0
      return super().run(*args, **kwargs)

  monkeypatch.setattr(cfr, "PDCFRPlusSolver", SlowStart)
  monkeypatch.setattr(policy_bots, "time",
                      types.SimpleNamespace(monotonic=lambda: seconds))
  found = small_games.solve("neumann_poker", 10, lambda fraction, text: None)
  assert found["exploitability"] < 2e-6


def _neumann_reach(game, policy, spot, rank):
  """Returns how often a player with a rank gets to a spot, deal by deal."""
  total = 0.0
  for other in range(game.num_ranks):
    ranks = (rank, other) if spot["player"] == 1 else (other, rank)
    state, chance = game.new_initial_state(), 1.0 / game.num_ranks
    for action in ranks:
      state.apply_action(action)
    for name in spot["betting"]:
      actions = {state.action_to_string(action).lower(): action
                 for action in state.legal_actions()}
      chance *= policy.action_probabilities(state).get(actions[name], 0.0)
      state.apply_action(actions[name])
    total += chance
  return total


def test_what_is_reached_in_neumann_poker():
  game = pyspiel.load_game("neumann_poker(num_ranks=5)")
  policy, _ = policy_bots.solve_game(game)
  view = small_games.SMALL_GAMES["neumann_poker"].view(game, policy)
  found = [reach for spot in view["spots"] for reach in spot["reach"]]
  expected = [_neumann_reach(game, policy, spot, rank)
              for spot in view["spots"] for rank in range(5)]
  assert found == pytest.approx(expected, abs=1e-6)
  assert min(found) < 1e-4 and max(found) == 1.0


def test_what_is_reached_in_liar_die():
  game = pyspiel.load_game("liar_die(sides=3)")
  policy, _ = policy_bots.solve_game(game)
  view = small_games.SMALL_GAMES["liar_die"].view(game, policy)
  first = [sum(row[claim] for row in view["claims"][0]) / 3
           for claim in range(3)]
  assert view["doubt_reach"][0] == pytest.approx(first, abs=1e-5)
  assert view["claim_reach"] == pytest.approx(
      [1.0, *(first[claim] * (1.0 - view["doubts"][0][claim])
              for claim in range(2))], abs=1e-5)
  second = [sum(row[claim] for row in view["claims"][1]) / 3
            for claim in range(2)]
  assert view["doubt_reach"][1] == pytest.approx(
      [view["claim_reach"][1] * chance for chance in second], abs=1e-5)


@pytest.mark.parametrize("name, size", [("liar_die", 3), ("neumann_poker", 5)])
def test_small_games_are_solved(name, size):
  client = page_client.PageClient()
  task = client.post("task", {"what": name, "size": size})
  found = client.finish(task["task"])["result"]
  assert found["exploitability"] < 2e-6
  if name == "liar_die":
    assert found["doubts"][2] == [1.0]  # the highest claim must be doubted
    assert [len(row) for row in found["claims"][0]] == [3, 3, 3]
  else:
    for spot in found["spots"]:
      for shares in zip(*spot["shares"]):
        assert sum(shares) == pytest.approx(1.0, abs=1e-5)
    assert [spot["betting"] for spot in found["spots"]][:2] == [[], ["check"]]
