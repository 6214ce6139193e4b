
import graph_helpers
import numpy as np
from oracles import pfsi_oracle
import pyspiel
import pytest

from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.runtime import random_streams

pytestmark = pytest.mark.oracle

_GAME = "players=3,numdice=1,dice_sides=2,claim_window=3,max_amount=2"


def player_of(graph, seed, iteration):
  """Returns play(state, sigma), which draws as a solver does."""
  stream = np.uint64(random_streams.stream(np.uint64(seed), iteration))
  counter = [graph.num_players]

  def play(state, sigma):
    del state
    quantile = random_streams.uniform(stream, counter[0])
    counter[0] += 1
    played = None
    for action, share in sigma.items():
      if share > 0.0:
        played = action
        if quantile < share:
          break
        quantile -= share
    return played

  return play


@pytest.mark.oracle
@pytest.mark.parametrize("threshold", [0.0, 0.0831])
@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
@pytest.mark.parametrize("learning", [{"gamma": 0.0},
                                      {"tremble": 0.2, "gamma": 1.0}])
def test_pruned_is_the_oracles(abstraction, threshold, learning):
  game = graph_helpers.load(_GAME, abstraction)
  solver = pass_through.PrunedPassThroughSolver(
      game, threshold, seed=3, dtype="float64", num_threads=1, **learning)
  oracle = graph_helpers.SingleRoundOracle(game, **learning)
  for iteration in range(1, 13):
    solver.run(1)
    oracle.pass_through(graph_helpers.dealt_chooser(solver, iteration),
                        player_of(solver.graph, 3, iteration), threshold)
    graph_helpers.assert_same_tables(solver, oracle)


@pytest.mark.oracle
@pytest.mark.parametrize("name, threshold", [
    ("kuhn_poker(players=3)", 0.0), ("kuhn_poker(players=3)", 0.2173),
    ("dudo(players=3,numdice=1,dice_sides=2)", 0.0831)])
def test_pruned_on_a_walked_game_is_the_oracles(name, threshold):
  game = pyspiel.load_game(name)
  solver = pass_through.PrunedPassThroughSolver(game, np.float32(threshold),
                                                seed=1)
  oracle = pfsi_oracle.Oracle(game, pfsi_oracle.walked_set,
                              pfsi_oracle.history_key, gamma=1.0)
  graph = solver.graph
  for iteration in range(1, 21):
    solver.run(1)
    oracle.pass_through(graph_helpers.walked_chooser(graph, 1, iteration),
                        player_of(graph, 1, iteration), threshold)
  graph_helpers.assert_same_walked_tables(solver, oracle)


class _ChainGame(pyspiel.Game):
  """Two players in turn stop or go on, longer than the game says."""

  LENGTH = 100

  def __init__(self, params=None):
    super().__init__(
        pyspiel.GameType(
            short_name="test_chain", long_name="Chain",
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
            information=pyspiel.GameType.Information.PERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.ZERO_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=2, min_num_players=2,
            provides_information_state_string=True,
            provides_information_state_tensor=False,
            provides_observation_string=False,
            provides_observation_tensor=False, parameter_specification={}),
        pyspiel.GameInfo(num_distinct_actions=2, max_chance_outcomes=0,
                         num_players=2, min_utility=-1.0, max_utility=1.0,
                         utility_sum=0.0, max_game_length=1), params or {})

  def new_initial_state(self):
    return _ChainState(self)


class _ChainState(pyspiel.State):

  def __init__(self, game):
    super().__init__(game)
    self._moves = 0
    self._has_stopped = False

  def current_player(self):
    is_over = self._has_stopped or self._moves == _ChainGame.LENGTH
    return pyspiel.PlayerId.TERMINAL if is_over else self._moves % 2

  def _legal_actions(self, player):
    del player
    return [0, 1]

  def _apply_action(self, action):
    self._moves += 1
    self._has_stopped = action == 0

  def information_state_string(self, player=None):
    del player
    return str(self._moves)

  def is_terminal(self):
    return self.current_player() == pyspiel.PlayerId.TERMINAL

  def returns(self):
    if not self.is_terminal():
      return [0.0, 0.0]
    value = (self._moves * 37 % 11) / 5.0 - 1.0
    return [value, -value]

  def __str__(self):
    return f"{self._moves} {self._has_stopped}"


@pytest.mark.oracle
def test_games_that_are_longer_than_they_say_are_the_oracles():
  game = _ChainGame()
  solver = pass_through.PrunedPassThroughSolver(game, 0.0, tremble=0.9)
  oracle = pfsi_oracle.Oracle(game, pfsi_oracle.walked_set,
                              pfsi_oracle.history_key, tremble=0.9, gamma=1.0)
  assert game.max_game_length() == 1
  for iteration in range(1, 4):
    solver.run(1)
    oracle.pass_through(None, player_of(solver.graph, 0, iteration), 0.0)
  assert len(oracle.tables) == _ChainGame.LENGTH
  graph_helpers.assert_same_walked_tables(solver, oracle)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tremble", [0.0, 0.3])
def test_monte_carlo_comes_close_to_exact_regrets(seed, tremble):
  game = graph_helpers.load(_GAME)
  solver = pass_through.MonteCarloPassThroughSolver(
      game, 100_000, seed=seed, tremble=tremble, gamma=0.0, dtype="float64",
      num_threads=1)
  solver.run(1)
  layout = solver.graph.layout
  regret, visits = (table.reshape(layout.num_rolls, -1)
                    for table in solver.tables)
  oracle = graph_helpers.SingleRoundOracle(game, tremble=tremble)
  choose = graph_helpers.dealt_chooser(solver, 1)
  state = oracle.dealt(game.new_initial_state(), choose)
  claims = 0
  while True:  # all strategies are uniform before, so utilities are known
    player = state.current_player()
    entry = layout.locate(state, player)
    roll = game.roll_table.index(state.hand(player))
    actions = state.legal_actions()
    utility = np.array([
        oracle.utility(oracle.child(state, a), player, choose, 0.0)
        for a in actions])
    span = slice(entry, entry + len(actions))
    assert np.all(visits[roll, span] > 0.0)
    np.testing.assert_allclose(regret[roll, span], utility - utility.mean(),
                               atol=0.01)
    if state.phase() == "claim":  # go on to who decides first
      claims += 1
      following = [oracle.child(state, a) for a in actions]
    else:  # and to the next claim, if all passed
      for _ in range(game.num_players() - 1):
        state = state.child(game.pass_action)
      following = [state]
    following = [s for s in following if not s.is_terminal() and np.all(
        visits[game.roll_table.index(s.hand(s.current_player())),
               layout.locate(s, s.current_player())] > 0.0)]
    if not following:
      break
    state, = following
  assert claims > 0


@pytest.mark.parametrize("trials, chance", [(1, 0.3), (7, 0.5), (40, 0.9),
                                            (2000, 0.02), (1500, 0.97)])
def test_binomial(trials, chance):
  counter = np.zeros(1, np.int64)
  stream = np.uint64(random_streams.stream(np.uint64(1), 1))
  draws = np.array([
      random_streams.binomial(float(trials), chance, stream, counter)
      for _ in range(4000)])
  variance = trials * chance * (1 - chance)
  assert draws.min() >= 0 and draws.max() <= trials
  assert abs(draws.mean() - trials * chance) < 4 * (variance / 4000)**0.5
  assert draws.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("make", [
    pass_through.PrunedPassThroughSolver,
    lambda game, **kwargs: pass_through.MonteCarloPassThroughSolver(
        game, 20, **kwargs)])
def test_threads_do_not_change_the_result(make):
  game = pyspiel.load_game("dudo_single_round(numdice=2,max_amount=4)")
  one, two = (make(game, num_threads=n, seed=4) for n in (1, 2))
  one.run(150)
  two.run(150)
  for first, second in zip(one.tables, two.tables):
    np.testing.assert_array_equal(first, second)


def test_goes_on_from_a_file(tmp_path):
  game = graph_helpers.load(_GAME)
  whole, part, resumed = (
      pass_through.MonteCarloPassThroughSolver(
          game, 10, dtype="float64", num_threads=1) for _ in range(3))
  whole.run(20)
  part.run(7)
  part.save(tmp_path / "solver.npz")
  resumed.load(tmp_path / "solver.npz")
  resumed.run(13)
  np.testing.assert_array_equal(whole.tables.regret, resumed.tables.regret)


@pytest.mark.parametrize("call, message", [
    (lambda game: pass_through.PrunedPassThroughSolver(game, -1.0),
     "threshold=-1.0"),
    (lambda game: pass_through.MonteCarloPassThroughSolver(game, 0),
     "num_playouts=0")])
def test_wrong_arguments(call, message):
  with pytest.raises(ValueError, match=message):
    call(graph_helpers.load(_GAME))
