import helpers
import pyspiel
import pytest

import dudo_spiel  # noqa: F401


def _start(parameters, ranks, *names):
  return helpers.start(f"neumann_poker({parameters})",
                       *map(str, ranks), *names)


@pytest.mark.parametrize("names, stake", [
    (["Check", "Check"], 0.5),
    (["Bet", "Call"], 1.5),
    (["Check", "Bet", "Call"], 1.5),
    (["Bet", "Raise", "Call"], 2.5),
    (["Check", "Bet", "Raise", "Call"], 2.5),
])
def test_showdowns(names, stake):
  for ranks, sign in [((3, 2), 1), ((2, 3), -1), ((2, 2), 0)]:
    state = _start("num_ranks=3", ranks, *names)
    assert state.is_terminal()
    assert state.returns() == [sign * stake, -sign * stake]


@pytest.mark.parametrize("names, gain", [
    (["Bet", "Fold"], 0.5),
    (["Check", "Bet", "Fold"], -0.5),
    (["Bet", "Raise", "Fold"], -1.5),
    (["Check", "Bet", "Raise", "Fold"], 1.5),
])
def test_folds_lose_what_was_paid_whatever_the_ranks(names, gain):
  for ranks in [(3, 2), (2, 3), (2, 2)]:
    state = _start("num_ranks=3", ranks, *names)
    assert state.is_terminal()
    assert state.returns() == [gain, -gain]


def test_legal_actions():
  assert helpers.legal(_start("", (1, 1))) == ["Check", "Bet"]
  assert helpers.legal(_start("", (1, 1), "Check")) == ["Check", "Bet"]
  assert helpers.legal(_start("", (1, 1), "Bet")) == ["Fold", "Call", "Raise"]
  assert helpers.legal(_start("", (1, 1), "Check", "Bet")) == [
      "Fold", "Call", "Raise"]
  assert helpers.legal(_start("", (1, 1), "Bet", "Raise")) == ["Fold", "Call"]
  assert helpers.legal(_start("num_bets=3", (1, 1), "Bet", "Raise")) == [
      "Fold", "Call", "Raise"]
  assert helpers.legal(_start("num_bets=1", (1, 1), "Bet")) == ["Fold", "Call"]


def test_asymmetric_game_has_one_bet_and_one_check():
  assert _start("asymmetric=True", (5, 4), "Check").returns() == [0.5, -0.5]
  state = _start("asymmetric=True", (5, 4), "Bet")
  assert helpers.legal(state) == ["Fold", "Call"]
  assert state.get_game().max_game_length() == 2


def test_stakes_and_bounds():
  game = pyspiel.load_game(
      "neumann_poker(num_bets=3,ante=0.25,bet=2.0,raise_size=0.5)")
  assert game.max_utility() == -game.min_utility() == 0.25 + 2 + 2 * 0.5
  state = _start("num_bets=3,ante=0.25,bet=2.0,raise_size=0.5", (10, 1),
                 "Check", "Bet", "Raise", "Raise", "Call")
  assert state.returns() == [game.max_utility(), game.min_utility()]
  assert len(state.history()) == 2 + game.max_game_length()


def test_ranks_are_dealt_with_replacement():
  state = pyspiel.load_game("neumann_poker(num_ranks=4)").new_initial_state()
  assert state.chance_outcomes() == [(rank, 0.25) for rank in range(4)]
  state.apply_action(2)
  assert state.chance_outcomes() == [(rank, 0.25) for rank in range(4)]


def test_showdown_shows_the_ranks_and_a_fold_does_not():
  shown = _start("", (7, 2), "Check", "Check")
  assert shown.information_state_string(1) == (
      "p1 rank:2 betting:kk showdown:7,2")
  folded = _start("", (7, 2), "Bet", "Fold")
  assert folded.information_state_string(1) == "p1 rank:2 betting:bf"


@pytest.mark.parametrize("parameters, message", [
    ("num_ranks=1", "num_ranks=1: must be an integer between 2 and"),
    ("num_bets=0", "num_bets=0: must be an integer between 1 and 100"),
    ("num_bets=2147483647", "num_bets=2147483647: must be"),
    ("bet=10000000000.0", "bet=10000000000.0: must be above 0 and at most"),
    ("ante=0.0", "ante=0.0: must be above 0"),
    ("bet=-1.0", "bet=-1.0: must be above 0"),
    ("raise_size=0.0", "raise_size=0.0"),
    ("asymmetric=True,num_bets=3", "num_bets=3: must be 1"),
])
def test_bad_parameters(parameters, message):
  with pytest.raises(ValueError, match=f"^{message}"):
    pyspiel.load_game(f"neumann_poker({parameters})")


@pytest.mark.parametrize("names, action", [
    ([], 0), ([], 3), (["Bet", "Raise"], 2), (["Check", "Check"], 1)])
def test_illegal_actions(names, action):
  state = _start("", (1, 2), *names)
  with pytest.raises(ValueError, match=f"action={action}"):
    state.apply_action(action)
  with pytest.raises(ValueError, match="action=10: not a chance outcome"):
    pyspiel.load_game("neumann_poker").new_initial_state().apply_action(10)
