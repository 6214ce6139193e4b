"""No narrator tells what the person's own information does not have.

The tests play a game twice. The second time one hidden action is another, and
the rest stays the same as far as it can. As long as the person cannot tell the
two worlds apart, the words must be the same. At the end of Kuhn and Leduc poker
the person also sees the cards of those who have not folded.
"""

import random

from open_spiel.python import games  # noqa: F401, registers games
import pyspiel
import pytest

from dudo_spiel.terminal import narrator
from dudo_spiel.terminal import registry

_TURN_BASED = "turn_based_simultaneous_game(game={})".format
_WITH_PARAMETERS = (
    "dudo(players=3,numdice=2)", "dudo_ir(numdice=2,recall_length=1)",
    "dudo_single_round(players=3,numdice=1)", "kuhn_poker(players=3)",
    "leduc_poker(players=3)", "liars_dice(numdice=2)",
    "bridge(use_double_dummy_result=false)",
    "misere(game=kuhn_poker())", "add_noise(epsilon=1.,seed=1,"
    "game=kuhn_poker())", "zerosum(game=bargaining())",
    "restricted_nash_response(game=kuhn_poker())",
    "cached_tree(game=kuhn_poker())", _TURN_BASED("goofspiel(num_cards=4)"),
    _TURN_BASED("goofspiel(num_cards=4,imp_info=True)"),
    _TURN_BASED("matrix_rps()"), _TURN_BASED("oshi_zumo(coins=4)"),
    _TURN_BASED("matching_pennies_3p()"),
    _TURN_BASED("repeated_game(stage_game=matrix_pd(),num_repetitions=3)"))
# These take seconds for each game, or need other programs.
_SLOW = ("bridge", "bridge_uncontested_bidding", "chat_game",
         "python_ant_foraging")
_NO_ACTIONS = "crossword"


def _names(dynamics, perfect):
  """Returns the registered games with these dynamics and information.

  Args:
    dynamics: a `pyspiel.GameType.Dynamics`.
    perfect: whether the information is perfect.
  """
  return [kind.short_name for kind in pyspiel.registered_games()
          if kind.default_loadable and kind.dynamics == dynamics and
          kind.short_name not in (*_SLOW, _NO_ACTIONS) and perfect == (
              kind.information ==
              pyspiel.GameType.Information.PERFECT_INFORMATION)]


_HIDDEN = [*_names(pyspiel.GameType.Dynamics.SEQUENTIAL, False),
           *_WITH_PARAMETERS]
_PERFECT = _names(pyspiel.GameType.Dynamics.SEQUENTIAL, True)


def _text(method, seat):
  """Returns an information state or observation, "" if there is none."""
  try:
    return method(seat)
  except (pyspiel.SpielError, NotImplementedError):
    return ""


def _information(state, seat):
  """Returns what the game says that the player knows and sees now."""
  kind = state.get_game().get_type()
  texts = []
  if kind.provides_information_state_string:
    texts.append(_text(state.information_state_string, seat))
  if kind.provides_observation_string:
    texts.append(_text(state.observation_string, seat))
  return tuple(texts)


def _showdown(state):
  """Returns {player: card} of those who show it at the end of a game."""
  players = state.get_game().num_players()
  if state.get_game().get_type().short_name not in ("kuhn_poker",
                                                    "leduc_poker"):
    return {}
  moves = [(item.player, item.action) for item in state.full_history()
           if item.player >= 0]
  first_bet = next((number for number, (_, action) in enumerate(moves)
                    if action), len(moves))
  folded = {player for player, action in moves[first_bet:] if action == 0}
  return {player: state.history()[player] for player in range(players)
          if player not in folded} if len(folded) < players - 1 else {}


def _play(game, seat, choose, limit):
  """Plays and returns (moments, history).

  Args:
    game: the game.
    seat: the person's seat.
    choose: a function from (state, number of the action) to an action.
    limit: how many actions to play at most.

  Returns:
    moments: list of (knowledge, words, length of the history) at each of the
      person's turns and at the end. The knowledge is what the person has seen
      and done so far, the words are all that was told.
    history: list of (player, action).
  """
  narration = registry.make_narrator(game, seat)
  state = game.new_initial_state()
  knowledge, words, moments, history = [], [], [], []
  while not state.is_terminal() and len(history) < limit:
    player = state.current_player()
    if player == seat:
      words += [*narration.situation(state), *narration.status(state),
                *narration.legal_moves(state), *narration.hint(state)]
      knowledge.append((_information(state, seat), state.legal_actions()))
      moments.append((knowledge[:], words[:], len(history)))
    before = state.clone()
    action = choose(state, len(history))
    state.apply_action(action)
    history.append((player, action))
    if player == seat:
      knowledge.append(action)
    words += narration.after(before, action, state)
  if state.is_terminal():
    words.append(narration.result(state))
    knowledge.append((_information(state, seat), state.returns()[seat],
                      _showdown(state)))
    moments.append((knowledge, words, len(history)))
  return moments, history


def _two_worlds(game, rng, limit):
  """Returns two of `_play`'s results that differ in a hidden action, if any."""
  seat = rng.randrange(game.num_players())
  first = _play(game, seat, lambda state, number: rng.choice(
      state.legal_actions()), limit)
  history = first[1]
  hidden = [number for number, (player, _) in enumerate(history)
            if player != seat]
  changed = rng.choice(hidden) if hidden else -1
  instead = {}  # cards are swapped

  def choose(state, number):
    legal = state.legal_actions()
    action = history[number][1] if number < len(history) else None
    others = [other for other in legal if other != action]
    if number == changed and others:
      other = rng.choice(others)
      instead[other] = action
      return other
    for candidate in (action, instead.get(action)):
      if candidate in legal:
        return candidate
    return rng.choice(legal)

  return first, _play(game, seat, choose, limit)


def _assert_no_leak(name, rounds, limit):
  """Returns how often two different worlds looked the same to the person."""
  rng = random.Random(name)
  game = pyspiel.load_game(name)
  alike = 0
  for _ in range(rounds):
    (first, history), (second, other_history) = _two_worlds(game, rng, limit)
    for (knowledge, words, length), (other_knowledge, other_words,
                                     other_length) in zip(first, second):
      if knowledge != other_knowledge:
        break
      assert words == other_words
      alike += history[:length] != other_history[:other_length]
  return alike


@pytest.mark.parametrize("name", _HIDDEN)
def test_what_is_hidden_stays_hidden(name):
  _assert_no_leak(name, rounds=3, limit=70)


@pytest.mark.parametrize("name", [
    "kuhn_poker", "leduc_poker", "liars_dice", "dudo(numdice=1)", "liar_die",
    "dudo_single_round(players=3,numdice=1)", "neumann_poker", "phantom_ttt",
    "hearts", "euchre", _TURN_BASED("matrix_rps()")])
def test_the_worlds_of_the_test_above_often_look_the_same(name):
  assert _assert_no_leak(name, rounds=20, limit=60) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", _HIDDEN)
def test_what_is_hidden_stays_hidden_in_many_games(name):
  _assert_no_leak(name, rounds=30, limit=200)


@pytest.mark.parametrize("name", _PERFECT)
def test_games_of_perfect_information_are_told_too(name):
  rng = random.Random(name)
  moments, _ = _play(pyspiel.load_game(name), 0, lambda state, _: rng.choice(
      state.legal_actions()), 5)
  assert all(words for _, words, _ in moments)


@pytest.mark.parametrize("name", [
    kind.short_name for kind in pyspiel.registered_games()
    if kind.default_loadable and
    kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS])
def test_joint_moves_are_refused(name):
  game = pyspiel.load_game(name)
  with pytest.raises(ValueError, match=f"^game={name}: players must move in "
                     r"turn.* turn_based_simultaneous_game\(game="):
    registry.make_narrator(game, 0)


@pytest.mark.parametrize("name, message", [
    ("mfg_crowd_modelling", "^game=mfg_crowd_modelling: players must move in"),
    (_NO_ACTIONS, "^game=crossword: must list its legal actions$")])
def test_what_cannot_be_told_is_refused(name, message):
  with pytest.raises(ValueError, match=message):
    registry.make_narrator(pyspiel.load_game(name), 0)


@pytest.mark.parametrize("seat", [-1, 2, "0"])
def test_a_seat_that_is_not_there(seat):
  with pytest.raises(ValueError, match="^seat=.*: must be an integer between "
                     "0 and 1"):
    registry.make_narrator(pyspiel.load_game("dudo"), seat)


@pytest.mark.parametrize("seat", [0, 1])
def test_kuhn_poker_never_shows_the_other_card(seat):
  """With a fold nobody ever sees it."""
  game = pyspiel.load_game("kuhn_poker")
  actions = [2, 1, 1, 0] if seat == 0 else [1, 2, 1, 0]
  _, words, _ = _play(game, seat, lambda _, number: actions[number], 4)[0][-1]
  text = "\n".join(words)
  assert "King" in text and "Queen" not in text and "Jack" not in text
  assert ("Player 2: Fold" if seat == 0 else "Player 1: Bet") in words


def test_others_returns_are_told_only_if_they_are_known():
  """In bargaining nobody knows what the other player's share is worth."""
  state = pyspiel.load_game("bargaining").new_initial_state()
  while not state.is_terminal():
    state.apply_action(state.legal_actions()[-1])
  narration = registry.make_narrator(state.get_game(), 0)
  assert narration.verdict(state) is None
  assert narration.result(state) == f"Your return is {state.returns()[0]:g}."


def test_moves_of_other_games():
  state = pyspiel.load_game("tic_tac_toe").new_initial_state()
  narration = registry.make_narrator(state.get_game(), 0)
  for text in ("x(1,2)", "1 2", "1,2", "X (1, 2)"):
    action, lines = narration.understand(state, text)
    assert (state.action_to_string(action), lines) == ("x(1,2)", [])
  action, lines = narration.understand(state, "middle")
  assert action is None
  assert "I do not understand 'middle'" in lines[0]
  assert "dudo-solve --game='tic_tac_toe()'" in narration.hint(state)[1]


def test_no_command_is_named_that_cannot_train_a_policy():
  game = pyspiel.load_game("backgammon")  # without information states
  narration = registry.make_narrator(game, 0)
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  assert narration.hint(state) == [
      "I have no hint: no policy was trained for this game."]


def test_the_only_move_needs_no_name():
  state = pyspiel.load_game("liars_dice").new_initial_state()
  narration = registry.make_narrator(state.get_game(), 1)
  for action in (0, 0, 11):
    state.apply_action(action)
  assert narration.status(state) == ["Your only move is Liar: press Enter."]
  assert narration.understand(state, "") == (12, [])


def test_probabilities_are_never_rounded_to_certainty():
  assert [narrator.percent(p) for p in (0, 1e-9, 0.014, 0.5, 0.9999, 1)] == [
      "0%", "<1%", "1%", "50%", ">99%", "100%"]
