"""What follows a challenge, and what a round is worth."""

import math

import numpy as np
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel import rules as rules_lib
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions

_HOUSES = ("", ",wild_ones=False", ",die_loss=one", ",exact_reward=False")


def _rules(parameters):
  return round_rules.round_rules(pyspiel.load_game(f"dudo({parameters})"))


def _resolved(rules, dice):
  """Yields (role, claim, count, dice after, winner) of all challenges."""
  order = rules.claim_order(sum(dice))
  for role in range(2):
    for claim, (quantity, _) in enumerate(order.claims):
      for count in range(sum(dice) + 1):
        after, winner = rules_lib.resolve_challenge(
            dice, 1 - role, role, quantity, count, rules.house)
        yield role, claim, count, tuple(after), winner


def test_payoffs_of_a_claim():
  values = {(1, 1): -0.03, (1, 2): -0.6, (2, 1): 0.62, (2, 2): 0.01}
  rules = _rules("numdice=2")
  payoffs = transitions.of_round(rules, (2, 2)).payoffs(0, values).challenges
  claim = rules.claim_order(4).index(2, 5)
  # Count 0: the claimant loses both dice; 1: one, and the challenger starts.
  # 2, exactly: the challenger loses one; 3: the same; 4: both.
  assert payoffs[claim].tolist() == [1.0, 0.62, -0.62, -0.62, -1.0]


@pytest.mark.parametrize("house", _HOUSES)
@pytest.mark.parametrize("dice", [(2, 3), (3, 1)])
def test_all_challenges_follow_the_rules(house, dice):
  rules = _rules(f"numdice=3,dice_sides=3{house}")
  following = transitions.of_round(rules, dice)
  rng = np.random.default_rng(2)
  as_starter = {key: rng.uniform(-1.0, 1.0)
                for key in round_rules.round_keys(dice)}
  as_other = {key: rng.uniform(-1.0, 1.0) for key in as_starter}
  payoffs = [following.payoffs(role, as_starter, as_other) for role in range(2)]
  rounds = set()
  for role, claim, count, after, winner in _resolved(rules, dice):
    assert tuple(following.dice[role, claim, count]) == after
    assert following.winner[role, claim, count] == winner
    key = after[winner], after[1 - winner]
    if all(after):
      rounds.add(key)
    for player in range(2):
      if all(after):
        expected = as_starter[key] if winner == player else as_other[key]
      else:
        expected = 1.0 if after[player] else -1.0
      table = payoffs[player][0 if role == player else 1]
      assert table[claim, count] == expected
  assert following.next_rounds == rounds


def test_the_value_of_a_round_is_the_mean_payoff():
  rules, dice = _rules("numdice=2,dice_sides=3"), (2, 1)
  following = transitions.of_round(rules, dice)
  values = {(1, 1): 0.25, (2, 1): -0.5, (1, 2): 0.75}
  outcomes = np.random.default_rng(3).dirichlet(
      np.ones(math.prod(following.shape))).reshape(following.shape)
  for role in range(2):
    own, other = following.payoffs(role, values)
    expected = (np.sum(outcomes[role] * own) +
                np.sum(outcomes[1 - role] * other))
    assert following.value(outcomes, role, values) == pytest.approx(expected)
  assert following.value(outcomes, 0, values) == pytest.approx(
      -following.value(outcomes, 1, values))


def _visits(chances, rules, dice):
  """Returns {round: chance} of the rounds of a match, in plain Python."""
  found = {dice: 1.0}
  for role, claim, count, after, winner in _resolved(rules, dice):
    if all(after):
      below = _visits(chances, rules, (after[winner], after[1 - winner]))
      for key, chance in below.items():
        found[key] = (found.get(key, 0.0) +
                      chances[dice][role, claim, count] * chance)
  return found


def test_visits_equal_those_in_plain_python():
  game = pyspiel.load_game("dudo(numdice=2,dice_sides=3)")
  rules, keys = round_rules.round_rules(game), round_rules.match_keys(game)
  rng, chances, next_rounds = np.random.default_rng(0), {}, []
  for key in keys:
    following = transitions.of_round(rules, key)
    chances[key] = rng.dirichlet(
        np.ones(math.prod(following.shape))).reshape(following.shape)
    next_rounds.append(following.next_probabilities(chances[key], keys))
  for start, key in enumerate(keys):
    expected = _visits(chances, rules, key)
    found = transitions.visits(next_rounds, start)
    np.testing.assert_allclose(found, [expected.get(k, 0.0) for k in keys],
                               rtol=0.0, atol=1e-12)
