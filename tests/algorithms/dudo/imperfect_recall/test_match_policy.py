import itertools
import os

import helpers
import numpy as np
from open_spiel.python import policy as policy_lib
from oracles import abstraction_oracle
import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import archives


@pytest.fixture(scope="module", name="policy")
def _policy():
  solver = fsicfr.MatchSolver(pyspiel.load_game("dudo(numdice=2)"),
                              num_threads=1)
  solver.run(iterations=30)
  return solver.average_policy()


def random_states(game, count, seed=0):
  """Yields states in which a player is to move."""
  rng = np.random.RandomState(seed)
  while count:
    state = game.new_initial_state()
    while not state.is_terminal() and count:
      if not state.is_chance_node():
        yield state
        count -= 1
      state.apply_action(rng.choice(state.legal_actions()))


def test_plays_every_state_of_the_match(policy):
  seen = set()
  for state in random_states(pyspiel.load_game("dudo(numdice=2)"), 1500):
    probabilities = policy.action_probabilities(state)
    assert list(probabilities) == state.legal_actions()
    assert sum(probabilities.values()) == pytest.approx(1.0)
    assert min(probabilities.values()) >= 0.0
    seen.add(tuple(state.dice))
  assert seen == {(1, 1), (1, 2), (2, 1), (2, 2)}


@pytest.mark.parametrize("claims", [[], [8], [0, 3, 4, 9]])
def test_probabilities_after_claims_are_those_of_all_hands(policy, claims):
  game = pyspiel.load_game("dudo(numdice=2)")
  table = policy.after_claims((2, 2), claims)
  assert table.shape[1] == 21
  for hand in range(21):
    state = game.new_initial_state()
    for action in (hand, hand, *claims):
      state.apply_action(action)
    np.testing.assert_allclose(
        list(policy.action_probabilities(state).values()), table[:, hand],
        atol=1e-6)


def test_forgets_older_claims_and_who_started(policy):
  game = pyspiel.load_game("dudo(numdice=2)")
  one, two = game.new_initial_state(), game.new_initial_state()
  for action in (3, 7, 0, 2, 5, 8):
    one.apply_action(action)
  for action in (3, 7, 1, 2, 5, 8):
    two.apply_action(action)
  assert (policy.action_probabilities(one) == policy.action_probabilities(two))
  swapped = game.new_initial_state()
  for action in (7, 3, 2, 5, 8):
    swapped.apply_action(action)
  assert swapped.current_player() != one.current_player()
  assert (policy.action_probabilities(one) ==
          policy.action_probabilities(swapped))
  other = game.new_initial_state()
  for action in (3, 7, 0, 2, 4, 8):
    other.apply_action(action)
  assert (policy.action_probabilities(one) !=
          policy.action_probabilities(other))


def test_plays_smaller_matches_and_the_game_with_imperfect_recall(policy):
  for name in ("dudo(numdice=1)", "dudo(start_dice=1v2,starting_player=1)",
               "dudo_ir(numdice=2,recall_length=1)"):
    game = pyspiel.load_game(name)
    policy.check_game(game)
    for state in random_states(game, 20):
      assert list(policy.action_probabilities(state)) == state.legal_actions()


def test_is_an_open_spiel_policy(policy):
  game = pyspiel.load_game("dudo(numdice=1)")
  assert isinstance(policy, policy_lib.Policy)
  values = exploitability.expected_values(game, policy)
  assert values[0] == pytest.approx(policy.values[1, 1], abs=1e-6)


@pytest.mark.parametrize("name", [
    "dudo(numdice=3)", "dudo(numdice=2,wild_ones=False)",
    "dudo(numdice=2,dice_sides=5)", "dudo(numdice=1,players=3)", "liars_dice"])
def test_games_it_does_not_know(policy, name):
  game = pyspiel.load_game(name)
  with pytest.raises(ValueError, match="game="):
    policy.check_game(game)
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(0)
  with pytest.raises(ValueError, match="state="):
    policy.action_probabilities(state)


def test_wrong_questions(policy):
  state = pyspiel.load_game("dudo(numdice=2)").new_initial_state()
  with pytest.raises(ValueError, match="nobody decides"):
    policy.action_probabilities(state)
  for _ in range(2):
    state.apply_action(0)
  with pytest.raises(ValueError, match="player_id=5"):
    policy.action_probabilities(state, 5)
  with pytest.raises(ValueError, match=r"key=\(3, 3\)"):
    policy.after_claims((3, 3), [])
  for claims in ([5, 3], [24], [-1]):
    with pytest.raises(ValueError, match="claims="):
      policy.after_claims((2, 2), claims)


def test_tables_of_the_wrong_shape():
  game = pyspiel.load_game("dudo(numdice=1)")
  with pytest.raises(ValueError, match=r"tables=\(1, 1\): has shape \(2, 3\)"):
    match_policy.MatchPolicy(game, 3, {(1, 1): np.zeros((2, 3))}, {})


def _policy_of(weights, dtype=np.float64):
  """Returns a policy with one die each that has these weights everywhere."""
  game = pyspiel.load_game("dudo(numdice=1)")
  shape = abstract_rules.abstract_rules(game, 2).table_shape((1, 1))
  return match_policy.MatchPolicy(
      game, 2, {(1, 1): np.full(shape, weights, dtype)}, {})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 3e38])
def test_weights_that_are_none(weight, dtype):
  with pytest.raises(ValueError, match=r"tables=\(1, 1\): must be weights bet"):
    _policy_of(weight, dtype)


@pytest.mark.parametrize("weight", [1e-60, 1.0, 2.0**120])
def test_probabilities_of_any_weights_sum_to_one(weight):
  policy = _policy_of(weight)
  policy.tables[1, 1][0] *= 0.5
  found = policy.probabilities((1, 1))[:12, :6]
  np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-6)
  np.testing.assert_allclose(found, policy.after_claims((1, 1), []), rtol=1e-6)


def test_files_with_weights_that_no_training_makes(tmp_path):
  path = tmp_path / "policy.npz"
  _policy_of(1.0, np.float32).save(path)
  header, arrays = helpers.load_file(path, match_policy.FILE_KIND)
  kind = header.pop("kind")
  for dtype in (np.float32, np.float64):
    archives.save(path, kind, header, {
        name: np.full(table.shape, 3e38, dtype)
        for name, table in arrays.items()})
    with pytest.raises(ValueError, match="^path=.*its 1v1 has numbers above"):
      policies.load_policy(path)


def test_quantized_is_close(policy):
  small = policy.quantized()
  for key in policy.tables:
    hands = policy.rules.rolls(key[0]).num_rolls
    exact = policy.probabilities(key)[:, :hands]
    assert small.tables[key].dtype == np.uint8
    np.testing.assert_allclose(small.probabilities(key)[:, :hands], exact,
                               atol=0.03)
  assert small.memory_bytes * 4 == policy.memory_bytes
  assert small.values == policy.values


def test_pruning_drops_what_is_negligible(policy):
  small = policy.quantized(min_probability=0.1)
  exact = policy.probabilities((2, 2))
  pruned = small.probabilities((2, 2))
  memory = policy.rules.graph(4).arrays
  for node in range(0, len(memory.last), 7):
    rows = slice(memory.row_begin[node], memory.row_begin[node + 1])
    for hand in range(0, 21, 4):
      before, after = exact[rows, hand], pruned[rows, hand]
      unlikely = (before < 0.1) & (before < before.max())
      if policy.tables[2, 2][rows, hand].sum() > 0:
        assert not after[unlikely].any()
        assert np.all(after[~unlikely] > 0)
  reached = policy.quantized(min_reach=0.01).tables[2, 2]
  for node in range(0, len(memory.last), 7):
    rows = slice(memory.row_begin[node], memory.row_begin[node + 1])
    reach = policy.tables[2, 2][rows, :21].sum(axis=0)
    assert np.array_equal(reached[rows, :21].any(axis=0), reach >= 0.01)


def test_quantized_twice_is_refused(policy):
  with pytest.raises(ValueError, match="tables: are quantized already"):
    policy.quantized().quantized()
  with pytest.raises(ValueError, match="min_probability=2"):
    policy.quantized(min_probability=2)


@pytest.mark.parametrize("bits", [8, 32])
def test_files(policy, tmp_path, bits):
  saved = policy.quantized(1e-3) if bits == 8 else policy
  path = tmp_path / "policy.npz"
  saved.save(path)
  loaded = policies.load_policy(path)
  assert isinstance(loaded, match_policy.MatchPolicy)
  assert loaded.values == saved.values
  assert loaded.rules == saved.rules
  for key, table in saved.tables.items():
    assert np.array_equal(loaded.tables[key], table)
  with open(path, "r+b") as file:
    file.truncate(os.path.getsize(path) // 2)
  with pytest.raises(ValueError, match="must be a whole file"):
    policies.load_policy(path)


def test_rules_have_their_older_name(policy):
  assert policy.match is policy.rules
  solver = fsicfr.MatchSolver(policy.game, num_threads=1)
  assert solver.match is solver.rules
  recall = policy_bots.load_policy()
  assert recall.match is recall.rules


def test_probabilities_of_nothing_are_uniform():
  game = pyspiel.load_game("dudo(numdice=1)")
  rules = abstract_rules.abstract_rules(game, 2)
  empty = match_policy.MatchPolicy(
      game, 2, {(1, 1): np.zeros(rules.table_shape((1, 1)), np.float32)}, {})
  state = next(random_states(game, 1))
  assert set(empty.action_probabilities(state).values()) == {1 / 12}
  assert np.all(empty.probabilities((1, 1))[:12] == np.float32(1 / 12))


def random_policy(game, memory):
  """Returns a policy in which all weights differ."""
  rng = np.random.default_rng(0)
  rules = abstract_rules.abstract_rules(game, memory)
  tables = {key: rng.random(rules.table_shape(key)).astype(np.float32)
            for key in round_rules.round_keys(game.start_dice)}
  return match_policy.MatchPolicy(game, None, tables, {(1, 1): 0.25},
                                  memory=memory)


@pytest.mark.oracle
@pytest.mark.parametrize("memory", ["claims1_ranks1", "claims2_ranks1",
                                    "claims2_ranks2", "player_ranks"])
def test_plays_by_what_it_remembers_and_nothing_else(memory):
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=4)")
  policy = random_policy(game, memory)
  ranks = policy.rules.claim_order(2).ranks
  known = {}  # what is remembered: what is played
  for length in range(9):
    for claims in itertools.combinations(range(8), length):
      state = game.new_initial_state()
      for action in (2, 2, *claims):
        state.apply_action(action)
      remembered = abstraction_oracle.ABSTRACTIONS[memory](claims, ranks)
      played = policy.action_probabilities(state)
      assert list(played) == state.legal_actions()
      assert known.setdefault(remembered, played) == played
  several = [tuple(played.items()) for played in known.values()
             if len(played) > 1]
  assert len(set(several)) == len(several)


@pytest.mark.parametrize("memory", ["claims2_ranks2", "player_ranks"])
def test_files_of_other_abstractions(memory, tmp_path):
  policy = random_policy(pyspiel.load_game("dudo(numdice=2,dice_sides=2)"),
                         memory)
  path = tmp_path / "policy.npz"
  for saved in (policy, policy.quantized(0.01)):
    saved.save(path)
    loaded = policies.load_policy(path)
    assert loaded.rules == policy.rules
    assert loaded.rules.abstraction.name == memory
    for key, table in saved.tables.items():
      assert np.array_equal(loaded.tables[key], table)
  header, arrays = helpers.load_file(path, match_policy.FILE_KIND)
  kind = header.pop("kind")
  for wrong in ("claims0", 3, None):
    archives.save(path, kind, {**header, "memory": wrong}, arrays)
    with pytest.raises(ValueError, match="its memory=.*: must be"):
      policies.load_policy(path)
  archives.save(path, kind, {**header, "memory": "claims1_ranks1"}, arrays)
  with pytest.raises(ValueError, match=r"its 1v1 is .*; must be \(23, 8\)"):
    policies.load_policy(path)
