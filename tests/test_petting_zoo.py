"""The games as PettingZoo environments, by way of Shimmy.

`docs/open_spiel.md` says how to use them.
"""

import pyspiel
import pytest

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr

pytestmark = pytest.mark.slow
shimmy = pytest.importorskip("shimmy", reason="needs the extra pettingzoo")
pettingzoo_test = pytest.importorskip("pettingzoo.test",
                                      reason="needs the extra pettingzoo")

_GAMES = {
    "dudo": {"numdice": 1},
    "dudo_ir": {"numdice": 2, "recall_length": 2},
    "dudo_single_round": {"players": 3, "numdice": 2},
    "dudo_single_round_ir": {"players": 2, "numdice": 1},
    "neumann_poker": {"num_ranks": 10},
    "liar_die": {"sides": 4},
    "liar_die_ir": {"sides": 4},
    "dark_chess_small": {"moves_per_player": 5},
}


def _environment(name, **parameters):
  """Returns the environment of a game.

  Shimmy loads the game anew whenever it resets, by its short name. So it takes
  parameters as a dict; those of a game or a game string would be lost.

  Args:
    name: the short name.
    **parameters: of the game.
  """
  return shimmy.OpenSpielCompatibilityV0(game_name=name,
                                         config=parameters or None)


@pytest.mark.filterwarnings("ignore:Agent's m.* observation space value is")
@pytest.mark.parametrize("name", _GAMES)
@pytest.mark.parametrize("is_default", [True, False])
def test_api(name, is_default):
  parameters = {} if is_default else _GAMES[name]
  pettingzoo_test.api_test(_environment(name, **parameters), num_cycles=200)


@pytest.mark.parametrize("name", _GAMES)
def test_seeds_decide_chance(name):
  histories = []
  for seed in (1, 1, 2, 3):
    environment = _environment(name, **_GAMES[name])
    environment.reset(seed=seed)
    while not (environment.game_state.is_terminal() or
               any(environment.truncations.values())):
      environment.step(environment.game_state.legal_actions()[-1])
    histories.append(environment.game_state.history())
  assert histories[0] == histories[1]
  assert len(set(map(tuple, histories))) > 1 or name == "dark_chess_small"


def _play(environment, policy, seed):
  """Plays a game as the docs do; returns what the players get."""
  environment.reset(seed=seed)
  for agent in environment.agent_iter():
    observation, _, terminated, truncated, info = environment.last()
    assert not truncated
    if terminated:
      return environment.rewards
    state = environment.game_state
    player = state.current_player()
    assert environment.agent_name_id_mapping[agent] == player
    assert observation.tolist() == state.observation_tensor(player)
    assert info["action_mask"].nonzero()[0].tolist() == state.legal_actions()
    chances = policy.action_probabilities(state)
    environment.step(max(chances, key=chances.get))
  raise AssertionError("the game must end")


def test_a_policy_plays():
  game = pyspiel.load_game("dudo(numdice=1,dice_sides=3)")
  solver = cfr.CFRPlusSolver(game)
  solver.run(100)
  environment = _environment("dudo", numdice=1, dice_sides=3)
  results = [_play(environment, solver.average_policy(), seed)
             for seed in range(20)]
  assert {tuple(result.values()) for result in results} == {(1, -1), (-1, 1)}
