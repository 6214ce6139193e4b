"""Q-learning of doubt: oracle, policies, games, files, errors."""

import numpy as np
from open_spiel.python.algorithms import exploitability as open_spiel_exploit
from oracles import doubt_oracle
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import qlearning
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.runtime import random_streams

_HOUSE = "wild_ones=False,die_loss=one,exact_reward=False"
_GAME = f"dudo(numdice=2,dice_sides=3,{_HOUSE})"


def _game(parameters):
  return pyspiel.load_game(f"dudo({parameters},{_HOUSE})")


@pytest.fixture(scope="module", name="learned")
def _learned():
  learner = qlearning.DoubtLearner(pyspiel.load_game(_GAME), game_reward=0.0,
                                   seed=4)
  learner.run(20_000)
  return learner


@pytest.mark.oracle
@pytest.mark.parametrize("opponents", ["dummy", "heuristic"])
@pytest.mark.parametrize("parameters, player", [
    ("players=2,numdice=3", 0), ("players=4,numdice=2,starting_player=2", 1),
    ("players=3,start_dice=1v3v2,dice_sides=4", 2)])
def test_every_game_is_the_oracles(parameters, player, opponents):
  game = _game(parameters)
  options = {"player": player, "opponents": opponents, "alpha": 0.25,
             "round_reward": 1.0, "game_reward": 0.5}
  learner = qlearning.DoubtLearner(game, seed=9, **options)
  table, wins = {}, 0
  for number in range(40):
    stream = np.uint64(random_streams.stream(np.uint64(9), number))
    draw = doubt_oracle.Draws(
        lambda counter, stream=stream: random_streams.uniform(stream, counter))
    wins += doubt_oracle.play(game, table, draw, **options)
    learner.run(1)
    assert learner.wins == wins
  policy = learner.average_policy()
  expected = np.full(policy.table.shape, 0.5)
  for (hand, claim), chance in table.items():
    expected[policy.row(hand), claim] = chance
  np.testing.assert_allclose(policy.table, expected, rtol=0.0, atol=1e-9)
  assert len(table) == np.count_nonzero(learner.tables.visits) > 10


def test_dummies_claim_as_their_policy_says():
  """The kernel's twin, the oracle, sampled often, has these frequencies."""
  game = _game("numdice=2,dice_sides=3")
  policy, generator = qlearning.DummyPolicy(game), np.random.default_rng(1)
  for claims in ([], [4], [8], [9]):
    state = game.new_initial_state()
    for action in (1, 2, *claims):
      state.apply_action(action)
    chances = policy.action_probabilities(state)
    assert sum(chances.values()) == pytest.approx(1.0)
    assert list(chances) == state.legal_actions()
    claimed = {claim: chance for claim, chance in chances.items()
               if claim != game.dudo_action}
    found = np.bincount([
        doubt_oracle.dummy_claim(state, state.current_player(),
                                 generator.random) for _ in range(4000)],
        minlength=12) / 4000
    total = sum(claimed.values())
    for claim, chance in claimed.items():
      assert found[claim] == pytest.approx(chance / total, abs=0.04)
    if claims:
      odds = bots.HeuristicBot(state.current_player(), None).claim_weight(
          state, claims[-1])
      assert chances[game.dudo_action] == pytest.approx(0.75 - 0.5 * odds)


def test_the_heuristic_policy_is_the_bot():
  game = _game("players=3,numdice=2,dice_sides=3")
  policy = qlearning.HeuristicPolicy(game)
  for claims in ([], [4], [16], [17]):
    state = game.new_initial_state()
    for action in (1, 2, 0, *claims):
      state.apply_action(action)
    bot = bots.HeuristicBot(state.current_player(), None)
    expected = bot.distribution(state)
    if claims == [17]:
      expected = {game.dudo_action: 1.0}  # the strongest claim
    assert policy.action_probabilities(state) == pytest.approx(expected)


def test_compiled_games_and_match_policies_agree(learned):
  policy = learned.average_policy()
  games = qlearning.play_games(policy, 100_000, seed=3)
  dummy = qlearning.DummyPolicy(learned.game)
  matches = simulation.play_matches(
      [policy.to_match_policy(), dummy.to_match_policy()], (2, 2), 100_000)
  error = 4 * (games.standard_error + matches.standard_error)
  assert games.win_rate == pytest.approx(matches.win_rate, abs=error)
  assert games.win_rate > 0.55  # it has learned something
  before = qlearning.DoubtPolicy(learned.game, np.full_like(policy.table, 0.5))
  assert games.win_rate > qlearning.play_games(before, 20_000).win_rate + 0.1


def test_match_policies_play_the_same(learned):
  policy = learned.average_policy()
  match = policy.to_match_policy()
  state = learned.game.new_initial_state()
  for action in (3, 4, 1, 5):
    state.apply_action(action)
    if not state.is_chance_node():
      assert match.action_probabilities(state) == pytest.approx(
          policy.action_probabilities(state))


def test_policies_become_open_spiels_tables():
  game = _game("numdice=1,dice_sides=2")
  learner = qlearning.DoubtLearner(game)
  learner.run(20)
  policy = learner.average_policy()
  tabular = policy.to_tabular()
  for state in tabular.states:
    assert tabular.action_probabilities(state) == pytest.approx(
        policy.action_probabilities(state))
  with pytest.raises(ValueError, match="^game=.*no more of them"):
    policy.to_tabular(game=_game("numdice=2,dice_sides=2"))


def test_the_games_reward_makes_doubts_certain():
  """A won game times alpha sets a probability to 1, and it stays there."""
  learner = qlearning.DoubtLearner(pyspiel.load_game(_GAME))
  learner.run(20_000)
  seen = learner.tables.doubt[learner.tables.visits > 0]
  assert np.mean((seen == 0.0) | (seen == 1.0)) > 0.9
  ones = learner.tables.doubt == 1.0
  learner.run(1000)
  assert np.all(learner.tables.doubt[ones] == 1.0)


def test_exploitability_is_open_spiels():
  learner = qlearning.DoubtLearner(_game("numdice=1,dice_sides=2"))
  learner.run(50)
  policy = learner.average_policy()
  assert learner.nash_conv() == pytest.approx(
      open_spiel_exploit.nash_conv(learner.game, policy))
  assert learner.nash_conv() == pytest.approx(
      exploitability.nash_conv(learner.game, policy))
  bounds = exploitability.match_best_response(policy.to_match_policy())
  assert bounds.exploitability == pytest.approx(learner.exploitability(),
                                                abs=1e-6)


def test_policies_are_saved_and_play_games_of_imperfect_recall(learned,
                                                               tmp_path):
  path = tmp_path / "policy.npz"
  policy = learned.average_policy()
  policy.save(path)
  loaded = policies.load_policy(path)
  np.testing.assert_array_equal(loaded.table, policy.table)
  other = pyspiel.load_game(_GAME.replace("dudo(", "dudo_ir("))
  state = other.new_initial_state()
  for action in (3, 4, 1):
    state.apply_action(action)
  assert sum(loaded.action_probabilities(state).values()) == pytest.approx(1.0)
  with np.load(path) as archive:
    arrays = dict(archive)
  np.savez(path, **{**arrays, "table": arrays["table"] + 1.0})
  with pytest.raises(ValueError, match="^path=.*table"):
    policies.load_policy(path)


@pytest.mark.parametrize("options, message", [
    ({"opponents": "clever"}, "opponents='clever': must be one of 'dummy'"),
    ({"player": 2}, "player=2: must be"), ({"alpha": 2.0}, "alpha=2.0: must"),
    ({"alpha": float("nan")}, "alpha=nan"), ({"seed": -1}, "seed=-1"),
    ({"round_reward": -1}, "round_reward=-1"),
    ({"game_reward": float("inf")}, "game_reward=inf")])
def test_bad_options_are_refused(options, message):
  with pytest.raises(ValueError, match=f"^{message}"):
    qlearning.DoubtLearner(pyspiel.load_game(_GAME), **options)


@pytest.mark.parametrize("name, number", [
    ("doubt", 1.5), ("visits", 2**62), ("wins", 2**62), ("wins", -1)])
def test_files_with_impossible_numbers_are_refused(name, number, tmp_path):
  learner = qlearning.DoubtLearner(_game("numdice=1,dice_sides=3"))
  getattr(learner.tables, name).flat[0] = number
  learner.save(tmp_path / "doubt.npz")
  with pytest.raises(ValueError, match=f"its {name} must be between 0 and"):
    learner.load(tmp_path / "doubt.npz")


@pytest.mark.parametrize("game", [
    "kuhn_poker", "dudo(numdice=2)", "dudo(numdice=2,wild_ones=False)"])
def test_other_rules_are_refused(game):
  with pytest.raises(ValueError, match="^game=.* with wild_ones=False"):
    qlearning.DoubtLearner(pyspiel.load_game(game))


def test_bad_games_are_refused(learned):
  policy = learned.average_policy()
  for arguments, message in [
      ((policy, 1), "num_games=1"), ((policy, 10, "x"), "opponents='x'"),
      (("policy", 10), "policy='policy': must be a DoubtPolicy")]:
    with pytest.raises(ValueError, match=f"^{message}"):
      qlearning.play_games(*arguments)
  with pytest.raises(ValueError, match="^table: has shape"):
    qlearning.DoubtPolicy(learned.game, [[0.5]])
  with pytest.raises(ValueError, match="^table: must have probabilities"):
    qlearning.DoubtPolicy(learned.game, policy.table + 1.0)
  with pytest.raises(ValueError, match="^state=.*is not one of"):
    policy.action_probabilities(
        pyspiel.load_game("dudo(numdice=1)").new_initial_state())
  three = qlearning.DummyPolicy(_game("players=3,numdice=1"))
  with pytest.raises(ValueError, match="two players"):
    three.to_match_policy()


def test_what_cannot_be_measured_says_what_can():
  learner = qlearning.DoubtLearner(_game("numdice=3"))
  with pytest.raises(ValueError, match="^game=.*play_games.*match_bounds"):
    learner.nash_conv()
