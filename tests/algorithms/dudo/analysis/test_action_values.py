"""What actions are worth in a round of Dudo, against plain Python."""

import numpy as np
import pyspiel
import pytest

from dudo_spiel import rules as rules_lib
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules


def _random_policy(name, memory, seed=0, zeros=0.3, dtype=np.float32):
  """Returns a policy with random weights, some of them zero."""
  game = pyspiel.load_game(name)
  rules = abstract_rules.abstract_rules(game, memory)
  rng = np.random.default_rng(seed)
  tables, values = {}, {}
  for key in round_rules.round_keys(game.start_dice):
    weights = 255 * rng.random(rules.table_shape(key))**3
    weights[rng.random(weights.shape) < zeros] = 0.0
    tables[key] = weights.astype(dtype)
    values[key] = rng.uniform(-1.0, 1.0)
  return match_policy.MatchPolicy(game, None, tables, values, memory=memory)


class _Oracle:
  """Plays all ways on, hand by hand, from the rules and the policy alone."""

  def __init__(self, policy, dice, is_best):
    self._policy = policy
    self._dice = dice
    self._is_best = is_best
    self._rules = policy.rules
    self._order = policy.rules.claim_order(sum(dice))

  def _chances(self, player, claims, hand):
    """Returns {action: probability} of a player's hand; None is Dudo."""
    dice = self._dice[player], self._dice[1 - player]
    column = self._policy.after_claims(dice, claims)[
        :, self._rules.rolls(dice[0]).index(hand)]
    first = claims[-1] + 1 if claims else 0
    actions = [*range(first, self._order.num_claims), *[None] * bool(claims)]
    return dict(zip(actions, column))

  def _challenge(self, challenger, claim, hands):
    """Returns player 0's value of a challenge."""
    house = self._rules.house
    quantity, rank = self._order.claims[claim]
    count = rules_lib.count_matches(b"".join(hands), rank, house.wild_ones)
    after, winner = rules_lib.resolve_challenge(
        self._dice, 1 - challenger, challenger, quantity, count, house)
    if not all(after):
      return 1.0 if after[0] else -1.0
    value = self._policy.values[after[winner], after[1 - winner]]
    return value if winner == 0 else -value

  def _after(self, action, claims, hand, reach):
    """Returns sum of reach times value after player 0's action."""
    if action is None:
      return sum(x * self._challenge(0, claims[-1], [hand, other])
                 for other, x in reach.items())
    claims = [*claims, action]
    total = 0.0
    for reply in range(action + 1, self._order.num_claims):
      after = {other: x * self._chances(1, claims, other)[reply]
               for other, x in reach.items()}
      if any(after.values()):
        total += self._turn([*claims, reply], hand, after)
    return total + sum(
        x * self._chances(1, claims, other)[None] *
        self._challenge(1, action, [hand, other])
        for other, x in reach.items())

  def _turn(self, claims, hand, reach):
    chances = self._chances(0, claims, hand)
    if self._is_best:
      return max(self._after(action, claims, hand, reach)
                 for action in chances)
    return sum(chance * self._after(action, claims, hand, reach)
               for action, chance in chances.items() if chance)

  def posterior(self, claims):
    """Returns {opponent's hand: probability}, None if it never claims so."""
    rolls = self._rules.rolls(self._dice[1])
    reach = dict(zip(rolls.hands, rolls.probabilities))
    for turn in range(len(claims)):
      if (len(claims) - turn) % 2:
        for hand in reach:
          reach[hand] *= self._chances(1, claims[:turn], hand)[claims[turn]]
    total = sum(reach.values())
    return {hand: x / total for hand, x in reach.items()} if total else None

  def values(self, claims, hand):
    """Returns the win rate of each action."""
    reach = self.posterior(claims)
    return [(1.0 + self._after(action, claims, hand, reach)) / 2.0
            for action in self._chances(0, claims, hand)]


@pytest.mark.oracle
@pytest.mark.parametrize("continuation", ["policy", "best"])
@pytest.mark.parametrize("name, dice, memory, dtype", [
    ("dudo(numdice=1,dice_sides=3)", (1, 1), 2, np.float32),
    ("dudo(numdice=2,dice_sides=2)", (1, 2), 1, np.uint8),
    ("dudo(numdice=2,dice_sides=2)", (2, 1), 3, np.float32),
    ("dudo(numdice=2,dice_sides=2)", (2, 1), "claims1_ranks2", np.float32),
    ("dudo(numdice=2,dice_sides=2)", (2, 2), "player_ranks", np.float32),
    ("dudo(numdice=2,dice_sides=2)", (2, 2), 2, np.uint8),
    ("dudo(numdice=2,dice_sides=2,wild_ones=False,exact_reward=False)", (2, 2),
     9, np.float32),
    pytest.param("dudo(numdice=2,dice_sides=2)", (2, 1), 3, np.float64,
                 marks=pytest.mark.slow)])
def test_equal_brute_force(name, dice, memory, dtype, continuation):
  policy = _random_policy(name, memory, dtype=dtype)
  oracle = _Oracle(policy, dice, continuation == "best")
  rolls = policy.rules.rolls(dice[0])
  for claims in ([], [1], [0, 2], [0, 1, 3], [0, 1, 2, 4],
                 [policy.rules.claim_order(sum(dice)).num_claims - 1]):
    expected = oracle.posterior(claims)
    if expected is None:
      continue
    belief = exploitability.posterior(policy, dice, claims)
    assert belief.is_expected
    assert belief.chances == pytest.approx(list(expected.values()), abs=1e-12)
    for hand in rolls.hands[::2]:
      result = exploitability.action_values(policy, dice, claims, hand,
                                            continuation=continuation)
      assert result.values == pytest.approx(oracle.values(claims, hand),
                                            abs=1e-12)


@pytest.mark.oracle
def test_policies_with_perfect_recall_equal_brute_force():
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(start_dice=2v1,dice_sides=2)"), num_threads=1,
      dtype="float64")
  solver.run(60)
  policy = solver.average_policy()
  with pytest.raises(ValueError, match="^policy=.*was not measured"):
    exploitability.action_values(policy, (2, 1), [], b"\1\2")
  policy.measure(1)
  count = 0
  for claims in ([], [1], [0, 2], [0, 1, 3], [2], [1, 2], [5]):
    dice = (2, 1) if len(claims) % 2 == 0 else (1, 2)
    oracle = _Oracle(policy, dice, False)
    expected = oracle.posterior(claims)
    if expected is None:
      continue
    belief = exploitability.posterior(policy, dice, claims)
    assert belief.chances == pytest.approx(list(expected.values()), abs=1e-12)
    for hand in policy.rules.rolls(dice[0]).hands:
      result = exploitability.action_values(policy, dice, claims, hand)
      assert result.values == pytest.approx(oracle.values(claims, hand),
                                            abs=1e-12)
      count += 1
  assert count > 6
  with pytest.raises(ValueError, match="^continuation='best': must be 'pol"):
    exploitability.action_values(policy, (2, 1), [], b"\1\2",
                                 continuation="best")


def test_claims_that_the_policy_never_makes_tell_nothing():
  policy = _random_policy("dudo(numdice=1,dice_sides=3)", 2, zeros=0.0)
  row = policy.rules.graph(2).first_row([])
  policy.tables[1, 1][row] = 0.0  # it never opens with the weakest claim
  belief = exploitability.posterior(policy, (1, 1), [0])
  assert not belief.is_expected and belief.likelihood == 0.0
  assert belief.chances == pytest.approx([1 / 3] * 3)
  later = exploitability.posterior(policy, (1, 1), [0, 1, 2])
  expected = policy.after_claims((1, 1), [0, 1])[0]
  assert later.chances == pytest.approx(expected / expected.sum())


def test_odds_are_binomial_before_the_opponent_claims():
  policy = _random_policy("dudo(numdice=2)", 2)
  result = exploitability.action_values(policy, (2, 1), [], b"\1\5")
  order = policy.rules.claim_order(3)
  odds = dict(zip(order.names, result.odds))
  assert [odds[name] for name in ("2x5", "3x5", "1x1", "2x1", "3x2")] == (
      pytest.approx([1.0, 1 / 3, 1.0, 1 / 6, 0.0]))
  assert result.names == list(order.names)
  assert result.loss(result.names[int(np.argmax(result.values))]) == 0.0


def test_the_mean_over_hands_and_actions_is_the_value_of_the_round():
  """If later rounds are worth what they are worth to the policy."""
  policy = _random_policy("dudo(numdice=1,dice_sides=3)", 1, zeros=0.0)
  total = 0.0
  for hand in policy.rules.rolls(1).hands:
    result = exploitability.action_values(policy, (1, 1), [], hand)
    total += result.probabilities @ result.values / 3
  game = policy.game
  value = exploitability.expected_values(game, policy)[0]
  assert 2.0 * total - 1.0 == pytest.approx(value)


def test_of_a_state():
  policy = _random_policy("dudo(numdice=2,dice_sides=3)", 2)
  state = policy.game.new_initial_state()
  for action in (1, 3, 0, 2):
    state.apply_action(action)
  result = exploitability.state_action_values(policy, state)
  same = exploitability.action_values(policy, (2, 2), [0, 2], state.hand(0))
  assert state.current_player() == 0
  assert result.values.tolist() == same.values.tolist()
  assert result.names == same.names


@pytest.mark.parametrize("change, message", [
    ({"policy": None}, "policy=None"), ({"dice": (3, 1)}, "dice=(3, 1)"),
    ({"dice": 3}, "dice=3"), ({"claims": [2, 1]}, "claims=[2, 1]"),
    ({"claims": [99]}, "claims=[99]"), ({"claims": "1x2"}, "claims='1x2'"),
    ({"hand": b"\1"}, "hand=b'\\x01'"), ({"hand": None}, "hand=None"),
    ({"continuation": "none"}, "continuation='none'")])
def test_wrong_arguments_are_named(change, message):
  arguments = {"policy": _random_policy("dudo(numdice=2,dice_sides=3)", 2),
               "dice": (2, 1), "claims": [], "hand": b"\1\2", **change}
  with pytest.raises(ValueError) as error:
    exploitability.action_values(**arguments)
  assert str(error.value).startswith(message)


def test_best_play_is_refused_where_it_would_take_long():
  policy = _random_policy("dudo(numdice=2)", 1)
  with pytest.raises(ValueError, match="continuation='best'"):
    exploitability.action_values(policy, (2, 2), [], b"\1\2",
                                 continuation="best")
