import numpy as np
import pfsi_oracle
import pyspiel
import pytest
import test_pfsi

from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.single_round import layout as single_round_layout

_GAME = "players=3,numdice=1,dice_sides=2,claim_window=3,max_amount=2"


def player_of(solver, iteration):
  """Returns play(state, sigma), which draws as the solver does."""
  stream = np.uint64(random_streams.stream(np.uint64(solver._seed), iteration))
  counter = [solver.graph.num_players]

  def play(state, sigma):
    del state
    rest = random_streams.uniform(stream, counter[0])
    counter[0] += 1
    played = None
    for action, share in sigma.items():
      if share > 0.0:
        played = action
        if rest < share:
          break
        rest -= share
    return played

  return play


@pytest.mark.parametrize("threshold", [0.0, 0.0831])
@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
@pytest.mark.parametrize("learning", [{"gamma": 0.0},
                                      {"tremble": 0.2, "gamma": 1.0}])
def test_pruned_is_the_oracles(abstraction, threshold, learning):
  game = test_pfsi.load(_GAME, abstraction)
  solver = pass_through.PrunedPassThroughSolver(
      game, threshold, seed=3, dtype="float64", num_threads=1, **learning)
  oracle = test_pfsi.SingleRoundOracle(game, **learning)
  for iteration in range(1, 21):
    solver.run(1)
    oracle.pass_through(test_pfsi.chooser(solver, iteration),
                        player_of(solver, iteration), threshold)
    test_pfsi.assert_same_tables(solver, oracle, solver.graph.layout)


@pytest.mark.parametrize("name, threshold", [
    ("kuhn_poker(players=3)", 0.0), ("kuhn_poker(players=3)", 0.2173),
    ("dudo(players=3,numdice=1,dice_sides=2)", 0.0831)])
def test_pruned_on_a_walked_game_is_the_oracles(name, threshold):
  game = pyspiel.load_game(name)
  solver = pass_through.PrunedPassThroughSolver(game, np.float32(threshold),
                                                seed=1)
  oracle = pfsi_oracle.Oracle(game, pfsi_oracle.walked_set,
                              pfsi_oracle.history_key)
  graph = solver.graph
  for iteration in range(1, 21):
    solver.run(1)
    oracle.pass_through(test_pfsi.walked_chooser(solver, iteration),
                        player_of(solver, iteration), threshold)
  for s, key in enumerate(zip(graph.set_player.tolist(), graph.info_states)):
    if key in oracle.tables:
      np.testing.assert_allclose(
          solver._tables.regret[graph.set_entry[s]:graph.set_entry[s + 1]],
          list(oracle.tables[key].regret.values()), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tremble", [0.0, 0.3])
def test_monte_carlo_comes_close_to_exact_regrets(seed, tremble):
  game = test_pfsi.load(_GAME)
  solver = pass_through.MonteCarloPassThroughSolver(
      game, 100_000, seed=seed, tremble=tremble, gamma=0.0, dtype="float64",
      num_threads=1)
  solver.run(1)
  layout = solver.graph.layout
  regret, visits = (table.reshape(layout.num_rolls, -1)
                    for table in solver._tables)
  oracle = test_pfsi.SingleRoundOracle(game, tremble=tremble)
  choose = test_pfsi.chooser(solver, 1)
  state = oracle._dealt(game.new_initial_state(), choose)
  claims = 0
  while True:  # all strategies are uniform before, so utilities are known
    player = state.current_player()
    entry = layout.locate(state, player)
    roll = game.roll_table.index(state.hand(player))
    actions = state.legal_actions()
    utility = np.array([
        oracle.utility(oracle._child(state, a), player, choose, 0.0)
        for a in actions])
    span = slice(entry, entry + len(actions))
    assert np.all(visits[roll, span] > 0.0)
    np.testing.assert_allclose(regret[roll, span], utility - utility.mean(),
                               atol=0.01)
    if state.phase() == "claim":  # go on to who decides first
      claims += 1
      following = [oracle._child(state, a) for a in actions]
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
  begin = np.uint64(random_streams.stream(np.uint64(1), 1))
  draws = np.array([pass_through.binomial(float(trials), chance, begin, counter)
                    for _ in range(4000)])
  variance = trials * chance * (1 - chance)
  assert draws.min() >= 0 and draws.max() <= trials
  assert abs(draws.mean() - trials * chance) < 4 * (variance / 4000)**0.5
  assert draws.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("make", [
    pass_through.PrunedPassThroughSolver,
    lambda game, **kwargs: pass_through.MonteCarloPassThroughSolver(
        game, 20, **kwargs)])
def test_threads_do_not_change_the_result(make):
  game = pyspiel.load_game("dudo_single_round(numdice=2,max_amount=4)")
  one, two = (make(game, num_threads=n, seed=4, dtype="float64")
              for n in (1, 2))
  one.run(150)
  two.run(150)
  for first, second in zip(one._tables, two._tables):
    np.testing.assert_array_equal(first, second)


def test_goes_on_from_a_file(tmp_path):
  game = test_pfsi.load(_GAME)
  whole, part, rest = (
      pass_through.MonteCarloPassThroughSolver(
          game, 10, dtype="float64", num_threads=1) for _ in range(3))
  whole.run(20)
  part.run(7)
  part.save(tmp_path / "solver.npz")
  rest.load(tmp_path / "solver.npz")
  rest.run(13)
  np.testing.assert_array_equal(whole._tables.regret, rest._tables.regret)


@pytest.mark.parametrize("call, message", [
    (lambda game: pass_through.PrunedPassThroughSolver(game, -1.0),
     "threshold=-1.0"),
    (lambda game: pass_through.MonteCarloPassThroughSolver(game, 0),
     "num_playouts=0")])
def test_wrong_arguments(call, message):
  with pytest.raises(ValueError, match=message):
    call(test_pfsi.load(_GAME))
