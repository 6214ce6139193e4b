"""Best responses in rounds and matches of Dudo, against slower ways."""

import functools

import numpy as np
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response
from dudo_spiel.algorithms.dudo.imperfect_recall import best_response_round
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions

pytestmark = pytest.mark.oracle

_OTHER_MEMORIES = ("claims1_ranks1", "claims2_ranks1", "claims2_ranks2",
                   "player_ranks")


def _random_policy(name, memory, seed=0, zeros=0.3, power=3):
  """Returns a policy with random weights, some of them zero."""
  game = pyspiel.load_game(name)
  rules = abstract_rules.abstract_rules(game, memory)
  rng = np.random.default_rng(seed)
  tables, values = {}, {}
  for key in round_rules.round_keys(game.start_dice):
    weights = rng.random(rules.table_shape(key))**power
    weights[rng.random(weights.shape) < zeros] = 0.0
    tables[key] = weights.astype(np.float32)
    values[key] = rng.uniform(-1.0, 1.0)
  return match_policy.MatchPolicy(game, None, tables, values, memory=memory)


@functools.cache
def _trained_policy(name, memory, iterations):
  solver = fsicfr.MatchSolver(pyspiel.load_game(name), memory=memory,
                              num_threads=1)
  solver.run(iterations)
  return solver.average_policy()


def _brute_force(policy, dice, role, leaves):
  """Returns the best response's value, in plain Python, hand by hand."""
  rules = policy.rules
  own, other = dice[role], dice[1 - role]
  order = rules.claim_order(own + other)
  memory = rules.graph(own + other)
  table = policy.probabilities((other, own)).astype(np.float64)
  rolls, own_rolls = rules.rolls(other), rules.rolls(own)
  counts = rolls.matches(rules.house.wild_ones)
  own_counts = own_rolls.matches(rules.house.wild_ones)

  def challenge(values, claim, hand, reach):
    rank = order.claims[claim][1] - 1
    return sum(x * values[claim, own_counts[hand, rank] + counts[o, rank]]
               for o, x in enumerate(reach))

  def value(claims, hand, reach):
    last = claims[-1] if claims else -1
    rows = table[memory.first_row(claims):]
    if len(claims) % 2 == role:
      options = [value([*claims, claim], hand, reach)
                 for claim in range(last + 1, order.num_claims)]
      if claims:
        options.append(challenge(leaves.challenges, last, hand, reach))
      return max(options)
    total = 0.0
    for a, claim in enumerate(range(last + 1, order.num_claims)):
      total += value([*claims, claim], hand, reach * rows[a, :len(reach)])
    if claims:
      dudo = reach * rows[order.num_claims - 1 - last, :len(reach)]
      total += challenge(leaves.challenged, last, hand, dudo)
    return total

  return sum(chance * value([], hand, rolls.probabilities)
             for hand, chance in enumerate(own_rolls.probabilities))


@pytest.mark.parametrize("memory", [1, 2, 3, 9, *_OTHER_MEMORIES])
@pytest.mark.parametrize("dice, role", [((1, 2), 0), ((1, 2), 1),
                                        ((2, 1), 0), ((2, 1), 1)])
def test_equals_brute_force(dice, role, memory):
  policy = _random_policy("dudo(start_dice=2v1,dice_sides=2)", memory)
  leaves = best_response_round.policy_payoffs(policy, dice, role)
  expected = _brute_force(policy, dice, role, leaves)
  for method in best_response.METHODS:
    assert best_response.best_response_value(
        policy, dice, role, method=method) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("memory", [1, 2, 3, *_OTHER_MEMORIES])
@pytest.mark.parametrize("name", [
    "dudo(numdice=1,dice_sides=3)", "dudo(numdice=1,dice_sides=3,"
    "wild_ones=False)"])
def test_exploitability_of_a_round(name, memory):
  for policy in (_random_policy(name, memory),
                 _trained_policy(name, memory, 50)):
    expected = exploitability.exploitability(policy.game, policy)
    for method in best_response.METHODS:
      assert best_response.round_exploitability(
          policy, (1, 1), method=method) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name, memory", [
    ("dudo(start_dice=2v1,dice_sides=2,exact_reward=False)", 3),
    ("dudo(start_dice=2v1,dice_sides=2,starting_player=1)", 2),
    ("dudo(start_dice=2v1,dice_sides=2,wild_ones=False)", 1),
    ("dudo(start_dice=2v1,dice_sides=2)", "claims2_ranks1"),
    ("dudo(start_dice=1v2,dice_sides=2)", "player_ranks"),
    pytest.param("dudo(start_dice=2v1,dice_sides=2,die_loss=one)", 2,
                 marks=pytest.mark.slow)])
def test_match_equals_the_real_game(name, memory):
  policy = _random_policy(name, memory, seed=3)
  response = best_response.match_best_response(policy, num_threads=1)
  for seat in range(2):
    best = exploitability.best_response(policy.game, policy, seat)
    assert response.values[seat] == pytest.approx(best.value, abs=1e-9)
  assert response.exploitability == pytest.approx(
      sum(response.values) / 2, abs=1e-12)
  bounds = best_response.match_bounds(policy, seconds=0.0, num_threads=1)
  low, high = bounds.exploitability
  assert low <= response.exploitability <= high
  assert high - low < 1.0


def test_match_of_trained_policy():
  policy = _trained_policy("dudo(start_dice=2v1,dice_sides=2)", 3, 200)
  response = best_response.match_best_response(policy, num_threads=2)
  assert response.exploitability == pytest.approx(
      exploitability.exploitability(policy.game, policy), abs=1e-9)
  assert set(response.responder_starts) == {(1, 1), (2, 1)}
  assert response.policy_starts[2, 1] == response.values[1]


@pytest.mark.parametrize("memory", [1, 2, 3, "claims1_ranks2", "player_ranks"])
@pytest.mark.parametrize("role", [0, 1])
def test_bounds_contain_the_exact_value(role, memory):
  policies = [
      (_random_policy("dudo(start_dice=2v2,dice_sides=3)", memory,
                      seed=seed, zeros=zeros, power=power), (2, 2))
      for seed, zeros, power in ((0, 0.0, 1), (1, 0.3, 4), (2, 0.7, 9))]
  policies.append((_trained_policy("dudo(numdice=1)", memory, 100),
                   (1, 1)))
  for policy, dice in policies:
    exact = best_response.best_response_value(policy, dice, role,
                                               method="walk", num_threads=1)
    widths = []
    for min_mass in (1.0, 0.1, 0.01, 1e-4, 1e-6, 0.0):
      bounds = best_response.best_response_bounds(policy, dice, role,
                                                   min_mass)
      assert bounds.lower <= exact + 1e-12
      assert bounds.upper >= exact - 1e-12
      widths.append(bounds.upper - bounds.lower)
    assert widths[-1] < 1e-8
    assert widths[3] < 0.2 * widths[0]


def test_refined_bounds_are_monotone():
  policy = _random_policy("dudo(numdice=2,dice_sides=3)", 2)
  steps = list(best_response.refine_bounds(policy, (2, 2), 1, 1000.0))
  assert len(steps) > 3
  for before, after in zip(steps, steps[1:]):
    assert before.lower <= after.lower <= after.upper + 1e-12
    assert after.upper <= before.upper
    assert after.min_mass < before.min_mass
  assert steps[-1].upper - steps[-1].lower < 1e-9
  assert steps[-1].searched > steps[0].searched
  assert len(list(best_response.refine_bounds(policy, (2, 2), 1, 0.0))) == 1


def test_wider_leaves_make_wider_bounds():
  policy = _random_policy("dudo(start_dice=2v1,dice_sides=2)", 2)
  leaves = best_response_round.policy_payoffs(policy, (2, 1), 0)
  wide = [transitions.Payoffs(*(np.clip(values + shift, -1.0, 1.0)
                                for values in leaves))
          for shift in (-0.1, 0.1)]
  bounds = best_response.best_response_bounds(policy, (2, 1), 0, 0.0, wide)
  ends = [best_response.best_response_value(policy, (2, 1), 0, bound)
          for bound in wide]
  assert bounds[:2] == pytest.approx(ends, abs=1e-9)


def test_threads_do_not_change_the_walk():
  policy = _random_policy("dudo(start_dice=2v2,dice_sides=3)", 3)
  values = [best_response.best_response_value(
      policy, (2, 2), 1, method="walk", num_threads=threads)
            for threads in (1, 2, 3)]
  assert len(set(values)) == 1


def test_nobody_gets_less_than_the_value_of_the_game():
  # With one die the starter's value is -7/258 (Neller & Lanctot 2013).
  losses = []
  for memory in (1, 4):
    policy = _trained_policy("dudo(numdice=1)", memory, 1000)
    starts, follows = (
        best_response.best_response_value(policy, (1, 1), role)
        for role in range(2))
    assert starts > -7 / 258 - 1e-9
    assert follows > 7 / 258 - 1e-9
    losses.append(starts + follows)
  assert losses[1] < 0.1 < 0.3 < losses[0]


def test_estimate_is_a_time():
  policy = _random_policy("dudo(numdice=1)", 2)
  assert best_response.estimate_seconds(policy, (1, 1), 0) > 0.0


@pytest.mark.parametrize("change, message", [
    ({"policy": None}, "policy=None: must be"),
    ({"dice": (3, 1)}, r"dice=\(3, 1\): must be .* 1v1"),
    ({"dice": (1,)}, r"dice=\(1,\): must be"),
    ({"role": 2}, "role=2: must be an integer between 0 and 1"),
    ({"min_mass": -1.0}, "min_mass=-1.0: must be")])
def test_wrong_arguments(change, message):
  arguments = {"policy": _random_policy("dudo(numdice=1)", 1), "dice": (1, 1),
               "role": 0, "min_mass": 0.0, **change}
  with pytest.raises(ValueError, match=message):
    best_response.best_response_bounds(**arguments)


@pytest.mark.parametrize("call, message", [
    (lambda p: best_response.best_response_value(p, (1, 1), 0, method="x"),
     "method='x': must be one of"),
    (lambda p: best_response.best_response_value(p, (1, 1), 0, num_threads=0),
     "num_threads=0: must be"),
    (lambda p: best_response.refine_bounds(p, (1, 1), 0, -1.0),
     "seconds=-1.0: must be"),
    (lambda p: best_response.match_bounds(p, (1, 1, 1)),
     r"start_dice=\(1, 1, 1\): must be"),
    (lambda p: best_response.match_bounds(p, (2, 1)),
     r"dice=\(2, 1\): must be"),
    (lambda p: best_response.match_bounds(p, starting_player=2),
     "starting_player=2: must be"),
    (lambda p: best_response.match_bounds("p"), "policy='p': must be")])
def test_wrong_arguments_of_others(call, message):
  with pytest.raises(ValueError, match=message):
    call(_random_policy("dudo(numdice=1)", 1))


def test_walks_of_large_rounds_are_refused():
  policy = _random_policy("dudo(numdice=4)", 1)
  with pytest.raises(ValueError, match="has 48 claims, must have at most 40"):
    best_response.best_response_value(policy, (4, 4), 0, method="walk")


@pytest.mark.slow
def test_search_equals_walk_with_two_dice_each():
  policy = _trained_policy("dudo(numdice=2)", 3, 100)
  for role in range(2):
    walked, searched = (
        best_response.best_response_value(policy, (2, 2), role, method=method)
        for method in ("walk", "search"))
    assert searched == pytest.approx(walked, abs=1e-9)
