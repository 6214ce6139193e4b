import itertools

import numpy as np
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import evaluate_bots
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.dudo.analysis import match_simulator
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.runtime import random_streams


def random_policy(game, memory, seed, dtype=np.float32):
  """Returns a policy of random weights, some of them zero."""
  rng = np.random.default_rng(seed)
  rules = match_policy.MatchPolicy(game, None, {}, {}, memory=memory).rules
  counts = range(1, max(game.start_dice) + 1)
  tables = {}
  for key in itertools.product(counts, counts):
    shape = rules.table_shape(key)
    weights = 255.0 * rng.random(shape)**4
    weights[rng.random(shape) < 0.3] = 0.0
    begin = rules.graph(sum(key)).arrays.row_begin
    for node in rng.integers(len(begin) - 1, size=len(begin) // 4):
      weights[begin[node]:begin[node + 1]] = 0.0  # uniform
    tables[key] = weights.astype(dtype)
  return match_policy.MatchPolicy(game, None, tables, {}, memory=memory)


class JointPolicy(policy_lib.Policy):
  """Each player plays another policy."""

  def __init__(self, game, policies):
    super().__init__(game, [0, 1])
    self._policies = policies

  def action_probabilities(self, state, player_id=None):
    player = state.current_player() if player_id is None else player_id
    return self._policies[player].action_probabilities(state, player)


def exact_rates(game, first, second):
  """Returns how often the first wins in seat 0 and in seat 1."""
  value = exploitability.expected_values(
      game, JointPolicy(game, (first, second)))[0]
  swapped = exploitability.expected_values(
      game, JointPolicy(game, (second, first)))[1]
  return (1 + value) / 2, (1 + swapped) / 2


@pytest.mark.parametrize("name, memories, dtypes", [
    ("dudo(numdice=1,dice_sides=4)", (3, 3), (np.float32, np.float32)),
    ("dudo(numdice=1,dice_sides=3)", (1, 6), (np.float32, np.float32)),
    ("dudo(numdice=1,dice_sides=4,starting_player=1)", (2, 3),
     (np.uint8, np.float32)),
    ("dudo(start_dice=2v1,dice_sides=2)", (2, 2), (np.float32, np.float32)),
    ("dudo(start_dice=2v1,dice_sides=2)", ("claims2_ranks1", "player_ranks"),
     (np.float32, np.float32)),
    pytest.param(
        "dudo(start_dice=1v2,dice_sides=2,wild_ones=False,starting_player=1)",
        (2, 3), (np.uint8, np.float32), marks=pytest.mark.slow),
    ("dudo(start_dice=2v1,dice_sides=2,die_loss=one,exact_reward=False)",
     (1, 2), (np.float32, np.float32)),
])
def test_win_rates_are_exact(name, memories, dtypes):
  game = pyspiel.load_game(name)
  policies = [random_policy(game, memory, seed, dtype)
              for seed, (memory, dtype) in enumerate(zip(memories, dtypes))]
  num_games, starter = 400_000, game.starting_player
  result = match_simulator.play_matches(policies, game.start_dice, num_games,
                                        starter=starter)
  rates = exact_rates(game, *policies)
  assert result.games == num_games
  assert abs(result.win_rate - np.mean(rates)) < 4 * result.standard_error
  error = 4 * 0.5 / np.sqrt(num_games / 2)
  assert abs(result.win_rate_as_starter - rates[starter]) < error
  assert abs(result.win_rate_as_other - rates[1 - starter]) < error


def test_win_rate_with_one_die_is_exact():
  game = pyspiel.load_game("dudo(numdice=1)")
  policies = [random_policy(game, recall, recall) for recall in (2, 3)]
  result = match_simulator.play_matches(policies, (1, 1), 1_000_000)
  value = exploitability.expected_values(game, JointPolicy(game, policies))[0]
  error = 0.5 / np.sqrt(500_000)
  assert abs(result.win_rate_as_starter - (1 + value) / 2) < 4 * error


def test_win_rate_is_that_of_bots():
  game = pyspiel.load_game("dudo(numdice=2)")
  policies = [random_policy(game, 3, 0), random_policy(game, 2, 1)]
  for table in policies[1].tables.values():
    table[:game.num_sides] *= 50.0  # so that they differ: low first claims
  result = match_simulator.play_matches(policies, game.start_dice, 400_000)
  rng = np.random.RandomState(0)
  wins = []
  for number in range(4000):
    seat = number % 2
    order = policies if seat == 0 else policies[::-1]
    players = [bots.PolicyBot(player, rng, policy)
               for player, policy in enumerate(order)]
    returns = evaluate_bots.evaluate_bots(game.new_initial_state(), players,
                                          rng)
    wins.append(returns[seat] > 0)
  error = np.hypot(np.std(wins) / np.sqrt(len(wins)), result.standard_error)
  assert abs(result.win_rate - np.mean(wins)) < 4 * error


def test_threads_and_types_do_not_matter_but_the_seed_does():
  game = pyspiel.load_game("dudo(numdice=2,dice_sides=3)")
  play = match_simulator.play_matches
  policies = [random_policy(game, 3, seed, np.uint8) for seed in range(2)]
  # All numbers are whole, so they are the same in the other type.
  policies[1].tables.update({key: table.astype(np.float32)
                             for key, table in policies[1].tables.items()})
  first = play(policies, (2, 2), 5002, seed=7, num_threads=1)
  for threads in (2, 3, None):
    assert play(policies, (2, 2), 5002, seed=7, num_threads=threads) == first
  assert play(policies, (2, 2), 5002, seed=8) != first
  policies[0].tables.update({key: table.astype(np.float32)
                             for key, table in policies[0].tables.items()})
  assert play(policies, (2, 2), 5002, seed=7) == first


def test_positions_are_traded_with_the_same_luck():
  game = pyspiel.load_game("dudo(numdice=2,dice_sides=3)")
  policy, other = random_policy(game, 2, 0), random_policy(game, 2, 1)
  play = match_simulator.play_matches
  result = play([policy, policy], (2, 1), 20_000)
  assert result.win_rate == 0.5
  assert result.standard_error == 0.0
  assert result.win_rate_as_starter == 1 - result.win_rate_as_other
  one, two = (play(pair, (2, 1), 20_000)
              for pair in ([policy, other], [other, policy]))
  assert one.win_rate == pytest.approx(1 - two.win_rate)
  assert one.win_rate_as_starter == pytest.approx(1 - two.win_rate_as_other)
  assert one.standard_error == pytest.approx(two.standard_error)


def test_standard_error_is_the_spread_over_seeds():
  game = pyspiel.load_game("dudo(numdice=1)")
  policies = [random_policy(game, 2, seed) for seed in range(2)]
  results = [match_simulator.play_matches(policies, (1, 1), 1000, seed=seed)
             for seed in range(400)]
  spread = np.std([result.win_rate for result in results])
  error = np.mean([result.standard_error for result in results])
  assert spread == pytest.approx(error, rel=0.15)


def test_random_numbers_are_uniform():
  numbers = np.array([random_streams.uniform(
      np.uint64(random_streams.stream(seed, number)), counter)
                      for seed in range(10) for number in range(20)
                      for counter in range(20)])
  assert len(np.unique(numbers)) == len(numbers)
  assert numbers.min() >= 0.0 and numbers.max() < 1.0
  counts = np.histogram(numbers, 10, (0.0, 1.0))[0]
  assert np.all(np.abs(counts - 400) < 4 * np.sqrt(400))


@pytest.mark.parametrize("changes, message", [
    ({"num_games": 3}, "num_games=3: must be even"),
    ({"num_games": 0}, "num_games=0: must be an integer between 2"),
    ({"seed": -1}, "seed=-1"),
    ({"starter": 2}, "starter=2"),
    ({"num_threads": 0}, "num_threads=0"),
    ({"start_dice": (1,)}, "start_dice=.* must be the dice of both"),
    ({"start_dice": 2}, "start_dice=2: must be the dice of both"),
    ({"start_dice": (1, 0)}, "start_dice=0"),
    ({"start_dice": (2, 1)}, "start_dice=.*: policy 0 has no table for 2v1"),
    ({"policies": 1}, "policies=1: must be two"),
    ({"policies": (1, 2)}, "policies=.* must be two MatchPolicy"),
])
def test_bad_arguments(changes, message):
  policy = random_policy(pyspiel.load_game("dudo(numdice=1)"), 2, 0)
  arguments = {"policies": (policy, policy), "start_dice": (1, 1),
               "num_games": 2, **changes}
  with pytest.raises(ValueError, match=message):
    match_simulator.play_matches(**arguments)


def test_policies_must_play_by_the_same_rules():
  policies = [random_policy(pyspiel.load_game(f"dudo(numdice=1{more})"), 2, 0)
              for more in ("", ",die_loss=one")]
  with pytest.raises(ValueError, match="must play by the same rules"):
    match_simulator.play_matches(policies, (1, 1), 2)
