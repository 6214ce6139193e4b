import math

import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms.dudo_single_round import simulator

_GAME = "dudo_single_round(players=3,numdice=2,dice_sides=3,claim_window=7)"


@pytest.fixture(scope="module", name="game")
def _game():
  return pyspiel.load_game(_GAME)


@pytest.fixture(scope="module", name="trained")
def _trained(game):
  solver = pfsi.FSISolver(game, num_threads=2)
  solver.run(300)
  return solver.average_policy()


@pytest.fixture(scope="module", name="other")
def _other(game):
  solver = pass_through.PrunedPassThroughSolver(
      game, abstraction="no_recall", num_threads=2)
  solver.run(300)
  return solver.average_policy()


def play_bots(game, lineup, num_games, rng):
  """Returns the mean returns of the places, and their standard errors."""
  seats = game.num_players()
  returns = np.zeros((num_games, seats))
  for k in range(num_games):
    players = []
    for seat in range(seats):
      item = lineup[(seat + k) % seats]
      players.append(bots.make_bot(item, game, seat, rng)
                     if isinstance(item, str) else
                     bots.PolicyBot(seat, rng, item))
    result = evaluate_bots.evaluate_bots(game.new_initial_state(), players, rng)
    for seat in range(seats):
      returns[k, (seat + k) % seats] = result[seat]
  return returns.mean(axis=0), returns.std(axis=0) / math.sqrt(num_games)


@pytest.mark.parametrize("names", [
    ("trained", "other", "random"), ("other", "heuristic", "heuristic")])
def test_agrees_with_pyspiel_bots(game, trained, other, names):
  lineup = [{"trained": trained, "other": other}.get(name, name)
            for name in names]
  ours = simulator.play_games(game, lineup, 300_000, seed=1)
  means, errors = play_bots(game, lineup, 3_000, np.random.RandomState(0))
  assert ours.returns.sum() == pytest.approx(1.0)
  np.testing.assert_array_less(np.abs(ours.returns - means), 3 * errors)


@pytest.mark.slow
def test_agrees_with_pyspiel_bots_at_full_size():
  game = pyspiel.load_game("dudo_single_round")
  solver = pfsi.PFSISolver(game)
  solver.run(300)
  lineup = [solver.average_policy(), "heuristic", "random", "heuristic"]
  ours = simulator.play_games(game, lineup, 1_000_000, seed=1)
  means, errors = play_bots(game, lineup, 10_000, np.random.RandomState(0))
  np.testing.assert_array_less(np.abs(ours.returns - means), 3 * errors)


def test_equal_players_are_even_and_threads_do_not_matter(game, trained):
  one, two = (simulator.play_games(game, [trained] * 3, 3000, 5, n)
              for n in (1, 2))
  rate, error = one.rates[0]
  assert rate == pytest.approx(1 / 3) and error < 1e-9
  np.testing.assert_array_equal(one.returns, two.returns)
  np.testing.assert_array_equal(one.untrained, two.untrained)


def test_rates_and_standard_errors(game, trained):
  result = simulator.play_games(game, [trained, "random", "random"], 30_000)
  assert set(result.rates) == {0, 1}
  assert result.rates[0][0] == pytest.approx(result.returns[0])
  assert result.rates[1][0] == pytest.approx(result.returns[1:].mean())
  assert result.rates[0][0] > 1 / 3 + 4 * result.rates[0][1]
  assert 0.0001 < result.rates[0][1] < 0.005
  assert result.untrained[0] < 0.2 and result.untrained[1] == 0.0


def test_untrained_policies_are_uniform_and_known(game):
  policy = pfsi.FSISolver(game).current_policy()
  result = simulator.play_games(game, [policy, "random", "random"], 3000)
  assert result.untrained[0] == 1.0


def test_policy_plays_all_states_and_comes_back_from_a_file(
    game, trained, tmp_path):
  trained.save(tmp_path / "policy.npz")
  loaded = policies.load_policy(tmp_path / "policy.npz")
  rng = np.random.RandomState(0)
  for _ in range(30):
    state = game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        chances = trained.action_probabilities(state)
        assert list(chances) == state.legal_actions()
        assert sum(chances.values()) == pytest.approx(1.0)
        assert loaded.action_probabilities(state) == chances
      state.apply_action(rng.choice(state.legal_actions()))
  path = str(tmp_path / "policy.npz")
  bot = policy_bots.make_bot(path, game, 0, rng)
  state = game.new_initial_state()
  for roll in (0, 1, 2):
    state.apply_action(roll)
  assert bot.step(state) in state.legal_actions()
  with pytest.raises(ValueError, match="must have the rules"):
    policy_bots.make_bot(path, pyspiel.load_game("dudo_single_round"), 0, rng)


@pytest.mark.parametrize("change, message", [
    ({"lineup": ["random"]}, "lineup="),
    ({"lineup": ["random", "random", "clever"]}, "lineup='clever'"),
    ({"num_games": 7}, "num_games=7"), ({"num_games": 3}, "num_games=3"),
    ({"seed": -1}, "seed=-1"), ({"num_threads": 0}, "num_threads=0")])
def test_wrong_arguments(game, change, message):
  arguments = {"lineup": ["random"] * 3, "num_games": 6, **change}
  with pytest.raises(ValueError, match=message):
    simulator.play_games(game, **arguments)
