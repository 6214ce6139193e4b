"""Search at the table, against plain Python and against the policy alone."""

import functools
import re

import helpers
import numpy as np
import pyspiel
import pytest
import search_oracle

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.match import response as match_response
from dudo_spiel.algorithms.match import round_hands
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import subgame_solver

_SMALL = "dudo(start_dice=2v1,dice_sides=2)"


def _solver_and_oracle(name, dice, claims, trust, share):
  """Returns a `SubgameSolver`, its oracle, and classes, with random numbers."""
  game = pyspiel.load_game(name)
  hands = round_hands.RoundHands(match_rounds.match_rules(game, 1), dice)
  rng = np.random.default_rng(0)
  # Random leaves have no ties, which rounding would decide.
  shape = game.num_sides * sum(dice), sum(dice) + 1
  gets = rng.uniform(-1.0, 1.0, (2, *shape))
  role = len(claims) % 2
  before = claims[-2] if len(claims) > 1 else -1

  def classes(of, last):
    return hands.classes[of][hands.level[last + 1]]

  def by_class(of, last, numbers):
    width = hands.width[of, hands.level[last + 1]]
    return np.bincount(classes(of, last), numbers, width)

  reach, prior = (rng.dirichlet(np.ones(len(classes(of, -1))))
                  for of in (role, 1 - role))
  leave = rng.uniform(-0.5, 0.5, hands.width[1 - role, hands.level[before + 1]])
  limit = np.maximum(leave, 0.3)
  solver = subgame_solver.SubgameSolver(
      subgame_solver.Subgame(
          hands, claims, by_class(role, claims[-1], reach),
          by_class(1 - role, before, prior), leave, limit,
          match_response.Leaves(gets[1 - role], -gets[role])),
      trust=trust, max_nodes=10**6, growth_share=share, dtype=np.float64)
  of_hand = classes(1 - role, before)
  oracle = search_oracle.GadgetOracle(
      dice, game.num_sides, game.house.wild_ones, gets.tolist(), claims,
      reach.tolist(), prior.tolist(), leave[of_hand].tolist(), trust)
  return solver, oracle, of_hand, hands, limit[of_hand]


def _assert_equal(solver, oracle, of_hand, hands):
  """Asserts that trees, tables and gadgets are equal."""
  tree = solver.tree
  nodes, left = {}, [(oracle.history, 0)]
  while left:
    history, node = left.pop()
    nodes[history] = node
    for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
      if tree.child[row] >= 0:
        left.append(((*history, int(tree.claim[row])), int(tree.child[row])))
  assert nodes.keys() == oracle.nodes.keys()
  for history, node in nodes.items():
    actions = oracle.actions(history)
    classes = hands.classes[len(history) % 2][hands.level[history[-1] + 1]]
    begin, end = tree.table_begin[node:node + 2]
    regrets, sums = (table[begin:end].reshape(len(actions), -1)[:, classes]
                     for table in solver.tables[:2])
    # Regrets that were not needed are discounted later.
    missed = solver.iteration - int(solver.tables.seen[node])
    for row, action in enumerate(actions):
      theirs = [oracle.regret[history, hand].get(action, 0.0)
                for hand in range(len(classes))]
      if missed:
        np.testing.assert_array_equal(np.sign(regrets[row]), np.sign(theirs))
      else:
        np.testing.assert_allclose(regrets[row], theirs, atol=1e-9)
      weights = [oracle.cumulative[history, oracle.counts(history, hand)].get(
          action, 0.0) for hand in range(len(classes))]
      np.testing.assert_allclose(sums[row], weights, atol=1e-9)
  np.testing.assert_allclose(solver.gadget[:, of_hand],
                             np.array(oracle.gadget).T, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("name, dice, claims, trust", [
    ("dudo(numdice=1,dice_sides=3)", (1, 1), (0,), 0.0),
    ("dudo(numdice=1,dice_sides=3)", (1, 1), (0, 2), 0.3),
    (_SMALL, (2, 1), (0,), 0.1), (_SMALL, (1, 2), (1,), 1.0),
    ("dudo(numdice=2,dice_sides=3)", (2, 1), (0, 2, 4), 0.1)])
def test_equals_the_oracle_step_by_step(name, dice, claims, trust):
  share = 1e-3
  *both, limits = _solver_and_oracle(name, dice, claims, trust, share)
  solver, oracle, of_hand, _ = both
  for iteration in range(1, 14):
    solver.iterate()
    oracle.iterate()
    _assert_equal(*both)
    if iteration in (1, 2, 3, 5, 8, 12):
      np.testing.assert_allclose(solver.opponent_values()[of_hand],
                                 oracle.best_values(), atol=1e-9)
      assert solver.gap() == pytest.approx(oracle.gap(), abs=1e-9)
      solver.grow()
      oracle.grow(share)
      _assert_equal(*both)
  assert len(oracle.nodes) > 1  # it did grow
  for tolerance in (0.0, 0.05):
    assert solver.dudo_share(tolerance) == pytest.approx(
        oracle.dudo_share(limits + tolerance), abs=1e-9)


@functools.cache
def _policy(name, iterations):
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game(name), num_threads=1, dtype="float64")
  solver.run(iterations)
  return solver.average_policy()


@functools.cache
def _coarse():
  return _policy(_SMALL, 20).compressed(8)


@functools.cache
def _search(tolerance):
  return perfect_recall.SearchPolicy(_coarse(), iterations=60,
                                     tolerance=tolerance)


@functools.cache
def _measured():
  return perfect_recall.measure_search(_search(0.0))


def _lines(game):
  """Yields (round, claims) of the first round."""
  key = tuple(game.start_dice)
  count = game.num_sides * sum(key)
  for mask in range(2**(count - 1)):
    yield key, tuple(c for c in range(count) if mask >> c & 1)


@pytest.mark.parametrize("tolerance", [0.0, 1e-2])
def test_no_hand_of_the_opponent_gains(tolerance):
  search, count = _search(tolerance), 0
  for key, claims in _lines(search.game):
    if search.is_stored(key, claims):
      continue
    subgame, found = (search.subgame(key, claims),
                      search.solution(key, claims))
    values = subgame_solver.best_values(
        subgame.hands, found.tree, found.table, 1 - subgame.role,
        subgame.reach, subgame.leaves)
    before, after = subgame.levels
    opponents = subgame.hands.classes[1 - subgame.role]
    gains = values[opponents[after]] - subgame.limit[opponents[before]]
    assert gains.max() <= tolerance + 1e-6
    count += len(found.tree.claim) > 1
  assert count > 3


def test_search_is_no_more_exploitable_than_the_policy():
  """All states are searched, also within what was found."""
  search, policy = _search(0.0), _coarse()
  alone = exploitability.exploitability(policy.game, policy)
  searched = exploitability.exploitability(policy.game, search)
  assert policy.exploitability() == pytest.approx(alone, abs=1e-6)
  assert searched < alone - 0.01
  result = _measured()
  assert result.exploitability < alone - 0.01


def test_measures_of_the_first_searches():
  search, policy = _search(0.0), _coarse()
  result = _measured()
  game = policy.game
  values = [exploitability.expected_values(game, players)[seat]
            for seat, players in enumerate(((search, policy),
                                            (policy, search)))]
  # The policy alone never plays where a second search would be.
  assert result.value == pytest.approx(np.mean(values), abs=1e-6)
  assert result.num_searches >= result.num_useful > 0
  assert 0.0 <= result.dudo_share < 1.0


def test_bots_play_whole_matches():
  policy, rng = _coarse(), np.random.RandomState(0)
  bot = perfect_recall.SearchBot(0, rng, policy, iterations=20)
  search = perfect_recall.SearchPolicy(policy, iterations=20)
  both = [bot, perfect_recall.SearchBot(1, rng, search)]
  num_searched = 0
  for _ in range(20):
    state = policy.game.new_initial_state()
    while not state.is_terminal():
      if state.is_chance_node():
        state.apply_action(int(rng.choice(state.legal_actions())))
        continue
      player = state.current_player()
      chances, action = both[player].step_with_policy(state)
      assert dict(chances) == search.action_probabilities(state)
      assert sum(dict(chances).values()) == pytest.approx(1.0)
      plain = policy.action_probabilities(state)
      num_searched += plain != dict(chances)
      # Players who do anything leave what is stored.
      state.apply_action(int(rng.choice(state.legal_actions())) if
                         rng.rand() < 0.5 else action)
  assert num_searched > 3
  assert search.num_searches > 0


def test_where_the_policy_stores_it_is_the_policy():
  search = _search(0.0)
  state = search.game.new_initial_state()
  for hand in (1, 1):
    state.apply_action(hand)
  assert search.is_stored((2, 1), ())
  assert search.action_probabilities(state) == (
      _coarse().action_probabilities(state))


def test_a_subgame_has_the_reaches_of_the_policy():
  """The claims that the policy never makes tell nothing."""
  search = _search(0.0)
  for key, claims in _lines(search.game):
    if search.is_stored(key, claims):
      continue
    subgame = search.subgame(key, claims)
    opponents = subgame.hands.classes[1 - subgame.role][subgame.levels[0]]
    assert subgame.reach.sum() == pytest.approx(1.0)
    assert subgame.prior.sum() == pytest.approx(1.0)
    assert subgame.prior[opponents].min() > 0.0
    assert np.all(subgame.leave <= subgame.limit + 1e-9)


@pytest.mark.parametrize("change, message", [
    ({"iterations": 0}, "^iterations=0: must be"),
    ({"max_nodes": 0}, "^max_nodes=0: must be"),
    ({"tolerance": -1.0}, "^tolerance=-1.0: must be"),
    ({"player_id": 2}, "^player_id=2: must be"),
    ({"rng": 3}, "^rng=3: must have a method `choice`"),
    ({"policy": None}, "^policy=None: must be a perfect_recall.RecallPolicy")])
def test_bad_arguments(change, message):
  good = {"player_id": 0, "rng": None, "policy": _coarse()}
  with pytest.raises(ValueError, match=message):
    perfect_recall.SearchBot(**{**good, **change})


def test_what_cannot_be_searched_is_refused():
  search = _search(0.0)
  with pytest.raises(ValueError, match="^policy: searches already; iterations"):
    perfect_recall.SearchBot(0, None, search, iterations=3)
  with pytest.raises(ValueError, match="^search=3: must be a perfect_recall."):
    perfect_recall.measure_search(3)
  with pytest.raises(ValueError, match="^claims="):
    search.solution((2, 1), ())
  with pytest.raises(ValueError, match="^key="):
    search.solution((3, 1), (0,))
  state = pyspiel.load_game("dudo(numdice=1)").new_initial_state()
  with pytest.raises(ValueError, match="^state="):
    search.action_probabilities(state.child(0).child(0))


def test_search_dudo(tmp_path):
  _coarse().save(tmp_path / "policy.npz")
  output = helpers.run_example(
      "search_dudo.py", f"--policy={tmp_path / 'policy.npz'}",
      "--iterations=20", "--games=20", "--against=heuristic").stdout
  alone, searched = map(float, re.findall(r"exploitability .*: (\S+)", output))
  assert alone == pytest.approx(_coarse().exploitability(), abs=1e-6)
  assert searched < alone
  assert re.search(r"against heuristic: the search wins \S+% ±", output)
  assert re.search(r"against heuristic: the policy alone wins \S+% ±", output)


@pytest.mark.parametrize("flags, message", [
    (["--games=1"], "--games=1: must be 0 or at least 2"),
    (["--policy=nowhere.npz"], "nowhere.npz"),
    (["--iterations=0"], "--iterations")])
def test_search_dudo_with_wrong_flags(flags, message):
  helpers.assert_refused("search_dudo.py", flags, message)
