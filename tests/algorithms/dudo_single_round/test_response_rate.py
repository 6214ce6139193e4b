import numpy as np
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies as policies_lib
from dudo_spiel.algorithms.dudo_single_round import response_rate
from dudo_spiel.algorithms.dudo_single_round import single_round_policy

_GAMES = ["dudo_single_round(players=2,numdice=1,dice_sides=3)",
          "dudo_single_round(players=3,numdice=1,dice_sides=2)",
          "dudo_single_round(players=2,numdice=2,dice_sides=2,claim_window=3)"]


def train(game, abstraction, iterations=100):
  # Kernels for two threads are those that other tests compile, too.
  solver = pfsi.FSISolver(game, abstraction=abstraction, num_threads=2)
  solver.run(iterations)
  return solver.average_policy()


def value(game, policies, seat):
  joint = policies_lib.SeatPolicy(game, policies)
  return exploitability.expected_values(game, joint)[seat]


@pytest.mark.parametrize("name", _GAMES)
@pytest.mark.parametrize("abstraction", ["no_recall", "wait_type_recall"])
def test_decisions_are_worth_what_is_said_and_less_than_exact(name,
                                                              abstraction):
  game = pyspiel.load_game(name)
  policy = train(game, abstraction)
  for seat in range(game.num_players()):
    policies = [policy] * game.num_players()
    fixed = value(game, policies, seat)
    exact = response_rate.best_response_rate(policy, seat)
    assert exact.is_exact and exact.error == 0.0
    policies[seat] = exact.policy
    assert value(game, policies, seat) == pytest.approx(exact.rate)
    by_decisions = response_rate.best_response_rate(policy, seat, "decisions")
    assert not by_decisions.is_exact and by_decisions.error == 0.0
    policies[seat] = by_decisions.policy
    assert value(game, policies, seat) == pytest.approx(by_decisions.rate,
                                                        abs=1e-6)
    assert fixed - 1e-6 <= by_decisions.rate <= exact.rate + 1e-6
    # it forgets little here, and so loses little
    assert by_decisions.rate > exact.rate - 0.03


def test_nash_conv_is_the_sum_of_what_seats_gain():
  game = pyspiel.load_game(_GAMES[1])
  solver = pfsi.FSISolver(game, abstraction="type_recall", num_threads=2)
  solver.run(100)
  policy = solver.average_policy()
  rates = [response_rate.best_response_rate(policy, seat).rate
           for seat in range(3)]
  assert solver.nash_conv() == pytest.approx(sum(rates) - 1.0)
  assert solver.nash_conv() == pytest.approx(
      exploitability.nash_conv(game, policy))


def test_responds_to_a_policy_of_each_seat():
  game = pyspiel.load_game(_GAMES[1])
  policies = [train(game, "no_recall"), None,
              single_round_policy.bot_policy(game, "heuristic")]
  exact = response_rate.best_response_rate(policies, 1)
  policies[1] = exact.policy
  assert value(game, policies, 1) == pytest.approx(exact.rate)
  by_decisions = response_rate.best_response_rate(policies, 1, "decisions")
  policies[1] = by_decisions.policy
  assert value(game, policies, 1) == pytest.approx(by_decisions.rate, abs=1e-6)
  assert exact.rate - 0.01 < by_decisions.rate <= exact.rate + 1e-6


def test_samples_have_standard_errors_and_threads_do_not_matter():
  game = pyspiel.load_game("dudo_single_round(players=3,numdice=2,"
                           "dice_sides=3)")
  policy = train(game, "wait_type_recall")
  full = response_rate.best_response_rate(policy, 0, "decisions", num_deals=36)
  assert full.error == 0.0
  one, two = (response_rate.best_response_rate(
      policy, 0, "decisions", num_deals=30, num_threads=n) for n in (1, 2))
  assert one.rate == two.rate
  np.testing.assert_array_equal(one.policy.table, two.policy.table)
  other = response_rate.best_response_rate(policy, 0, "decisions", num_deals=30,
                                           seed=1)
  assert 0.0 < one.error < 0.1 and other.rate != one.rate
  for result in (one, other):
    assert full.rate - 5 * result.error - 0.05 < result.rate
    assert result.rate < full.rate + 5 * result.error


@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_bots_as_policies(name):
  game = pyspiel.load_game("dudo_single_round(players=3,numdice=2,"
                           "dice_sides=3,claim_window=5)")
  policy = single_round_policy.bot_policy(game, name)
  rng = np.random.RandomState(0)
  for _ in range(40):
    state = game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        bot = bots.make_bot(name, game, state.current_player(), rng)
        expected = dict(bot.get_policy(state))
        chances = policy.action_probabilities(state)
        assert chances.keys() == expected.keys()
        for action, chance in chances.items():
          assert chance == pytest.approx(expected[action])
      state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize("change, message", [
    ({"policies": []}, "policies="), ({"policies": [None, None]}, "policies="),
    ({"seat": 2}, "seat=2"), ({"method": "best"}, "method='best'"),
    ({"num_deals": 1}, "num_deals=1"), ({"seed": -1}, "seed=-1"),
    ({"num_threads": 0}, "num_threads=0")])
def test_wrong_arguments(change, message):
  game = pyspiel.load_game(_GAMES[0])
  policy = single_round_policy.bot_policy(game, "random")
  arguments = {"policies": [policy] * 2, "seat": 0, **change}
  with pytest.raises(ValueError, match=message):
    response_rate.best_response_rate(**arguments)


def test_many_actions_and_tables_in_any_order():
  game = pyspiel.load_game("dudo_single_round(players=2,numdice=20,"
                           "dice_sides=2,claim_window=80,max_amount=39)")
  policy = single_round_policy.bot_policy(game, "random")
  found = response_rate.best_response_rate(policy, np.uint8(0), "decisions",
                                           num_deals=30)
  other = single_round_policy.SingleRoundPolicy(
      policy.game, np.asfortranarray(policy.table * 1e-60), policy.layout)
  again = response_rate.best_response_rate(other, 0, "decisions", num_deals=30)
  assert again.rate == pytest.approx(found.rate, abs=1e-5)
  assert 0.5 < found.rate <= 1.0


def test_deals_that_measure_are_not_those_that_were_learned_from():
  game = pyspiel.load_game("dudo_single_round(numdice=2)")
  solver = pfsi.FSISolver(game, abstraction="no_recall")
  learned = solver.rolls(range(64))
  samples = [response_rate.sample_rolls(solver.graph, 64, 0, number)
             for number in range(2)]
  for one, two in ((learned, samples[0]), (learned, samples[1]), samples):
    assert np.mean(np.all(one == two, axis=1)) < 0.1


@pytest.mark.slow
def test_full_size():
  game = pyspiel.load_game("dudo_single_round")
  policy = single_round_policy.bot_policy(game, "heuristic")
  found = response_rate.best_response_rate(policy, 0, num_deals=64)
  assert not found.is_exact and found.rate > 0.30 and found.error < 0.01


def test_policies_must_have_the_same_rules():
  first, second = (single_round_policy.bot_policy(pyspiel.load_game(name),
                                                  "random")
                   for name in (_GAMES[1], _GAMES[1][:-1] + ",max_amount=1)"))
  with pytest.raises(ValueError, match="must have the rules"):
    response_rate.best_response_rate([None, first, second], 0)
  with pytest.raises(ValueError, match="must be 3, one for each seat"):
    response_rate.best_response_rate([None, first], 0)
