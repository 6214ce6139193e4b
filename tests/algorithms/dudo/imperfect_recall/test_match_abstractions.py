"""What the players of a `MatchSolver` remember, and what it is worth."""

import match_helpers
import pyspiel
import pytest

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr


@pytest.fixture(scope="module", name="one_die")
def _one_die():
  solvers = {recall: match_helpers.solver_of(match_helpers.load(numdice=1),
                                             recall_length=recall)
             for recall in (1, 2, 3, 5)}
  for solver in solvers.values():
    solver.run(iterations=1500)
  return solvers


# With one die each the starter's value is -7/258 (Neller & Lanctot 2013). Two
# players who forget equally much come close to it. With a short memory CFR need
# not converge: after thousands of iterations the value still wanders by about
# 0.002, and rounding, which differs between machines, decides its path.
@pytest.mark.slow
@pytest.mark.parametrize("recall, error", [(2, 0.008), (3, 0.008), (5, 0.003)])
def test_one_die_each_is_worth_what_it_should_be(one_die, recall, error):
  solver = one_die[recall]
  assert solver.value(1, 1) == pytest.approx(-7 / 258, abs=error)
  # This holds whatever the path: both values lie between what the starter gets
  # against a best response and what a best response gets as the starter.
  assert abs(solver.value(1, 1) + 7 / 258) < solver.nash_conv()


@pytest.mark.slow
def test_who_remembers_more_is_less_exploitable(one_die):
  game = match_helpers.load(numdice=1)
  measured = {recall: exploitability.exploitability(
      game, solver.average_policy()) for recall, solver in one_die.items()}
  assert measured[5] < 0.03 < measured[3] < 0.1 < measured[1]
  assert measured[2] < measured[1]


_MEMORIES = 1, 3, "claims1_ranks2", "claims2_ranks1", "player_ranks"


_RULES = (
    {"start_dice": "2v1", "dice_sides": 2},
    {"start_dice": "1v2", "dice_sides": 2, "die_loss": "one",
     "starting_player": 1},
    {"numdice": 1, "dice_sides": 3, "wild_ones": False},
    {"start_dice": "2v1", "dice_sides": 2, "exact_reward": False})


# The usual tests have every memory and every rule, but not all pairs.
@pytest.mark.parametrize("memory, parameters", [
    pytest.param(memory, parameters, marks=[pytest.mark.slow] * (
        (i + j) % len(_RULES) != 0 and parameters is not _RULES[2]))
    for i, memory in enumerate(_MEMORIES)
    for j, parameters in enumerate(_RULES)])
def test_values_are_those_of_the_real_game(parameters, memory):
  game = match_helpers.load(**parameters)
  solver = match_helpers.solver_of(game, memory=memory, dtype="float64")
  solver.run(iterations=20)
  policy = solver.average_policy()
  real = exploitability.expected_values(game, policy)
  starter = game.starting_player
  dice = game.start_dice[starter], game.start_dice[1 - starter]
  assert solver.value(*dice) == pytest.approx(real[starter], abs=1e-6)
  assert policy.values[dice] == solver.value(*dice)


def test_the_recall_length_of_an_ir_game_is_its_own():
  game = pyspiel.load_game("dudo_ir(numdice=1,recall_length=2)")
  assert match_helpers.solver_of(game).rules.abstraction.name == "claims2"
  other = match_helpers.solver_of(game, memory="claims1_ranks1")
  assert other.rules.abstraction.name == "claims1_ranks1"
  for memory in ("claims2_ranks1", "player_ranks"):
    with pytest.raises(ValueError, match=f"memory='{memory}': .*last 2 claims"):
      match_helpers.solver_of(game, memory=memory)
    with pytest.raises(ValueError, match=f"memory='{memory}': .*last 2 claims"):
      fsicfr.memory_needed(game, memory=memory)


@pytest.mark.parametrize("memory, same", [
    ("claims3", {"recall_length": 3}),
    ("claims2_ranks2", {"memory": fsicfr.LastClaims(2, ranks=2)}),
    ("player_ranks", {"memory": fsicfr.PlayerRanks()})])
def test_a_memory_goes_by_its_name_or_as_an_object(memory, same, tmp_path):
  one = match_helpers.solver_of(memory=memory)
  two = match_helpers.solver_of(**same)
  one.run(3, save_to=tmp_path / "training.npz")
  two.load(tmp_path / "training.npz")
  match_helpers.assert_same(one, two)
  one.run(2)
  two.run(2)
  match_helpers.assert_same(one, two)
