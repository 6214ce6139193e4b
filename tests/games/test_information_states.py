"""Histories share an information state if and only if they look the same.

While walking the whole tree of a small game, these tests write down what each
player has seen, event by event and without the observers. Two histories look
the same to a player who has seen the same events in both.
"""

import math

import helpers
from open_spiel.python import observation
import pyspiel
import pytest

import dudo_spiel  # noqa: F401

_SMALL = {
    "dudo": ["start_dice=2v1,dice_sides=2",
             "start_dice=1v2,dice_sides=2,starting_player=1,wild_ones=False",
             "numdice=1,dice_sides=3",
             "players=3,numdice=1,dice_sides=2,die_loss=one"],
    "dudo_single_round": ["players=3,numdice=1,dice_sides=2",
                          "players=2,numdice=2,dice_sides=2,claim_window=3,"
                          "max_amount=2"],
    "neumann_poker": ["num_ranks=3", "num_ranks=2,num_bets=4",
                      "num_ranks=3,asymmetric=True"],
    "liar_die": ["sides=3", "sides=4"],
    "dark_chess_small": [
        "moves_per_player=2", "fen=k2/3/2K b,moves_per_player=3",
        "fen=k2/p1P/1KN,moves_per_player=2", "fen=kp/nn/K1,moves_per_player=3"],
}


def _see_dudo(before, action, after, seen):
  """Returns what each player has seen after the action."""
  actor = before.current_player()
  if before.is_chance_node():
    living = [p for p, dice in enumerate(before.dice) if dice]
    waiting = [p for p in living if not before.hand(p)]
    return [(*events, ("rolled", action)) if p == waiting[0] else events
            for p, events in enumerate(seen)]
  public = ("did", actor, action)
  if action == before.get_game().dudo_action:
    public += tuple(before.hand(p) for p in range(len(before.dice)))
  return [(*events, public) for events in seen]


def _see_single_round(before, action, after, seen):
  actor = before.current_player()
  if before.is_chance_node():
    roller = len(before.history())
    return [(*events, ("rolled", action)) if p == roller else events
            for p, events in enumerate(seen)]
  if action < before.get_game().pass_action:
    return [(*events, ("claimed", actor, action)) for events in seen]
  seen = [(*events, ("decided", action)) if p == actor else events
          for p, events in enumerate(seen)]
  pass_action = before.get_game().pass_action
  claims = [i for i, a in enumerate(after.history()) if a < pass_action]
  decisions = after.history()[claims[-1] + 1:]
  if len(decisions) == len(seen) - 1:
    # When all have decided, everyone sees the decisions (and, if the game is
    # over, the dice).
    hands = tuple(after.hand(p) for p in range(len(seen)))
    shown = (*decisions, *(hands if after.is_terminal() else ()))
    seen = [(*events, ("shown", shown)) for events in seen]
  return seen


def _see_poker(before, action, after, seen):
  if before.is_chance_node():
    player = len(before.history())
    return [(*events, action) if p == player else events
            for p, events in enumerate(seen)]
  shown = (action,)
  if after.is_terminal() and before.action_to_string(action) != "Fold":
    shown += tuple(after.history()[:2])
  return [(*events, shown) for events in seen]


def _see_liar_die(before, action, after, seen):
  if before.is_chance_node():
    return [(*events, ("rolled", action if p == after.current_player() else
                       "?")) for p, events in enumerate(seen)]
  shown = (action,)
  if after.is_terminal():
    shown += (after.rolls[-1],)
  return [(*events, shown) for events in seen]


def _see_dark_chess(before, action, after, seen):
  chessboard = before.get_game().chessboard
  board = after.board
  legal = chessboard.position(board).legal
  told = (action, None) if before.current_player() == 0 else (None, action)
  result = after.returns() if after.is_terminal() else None
  views = []
  for player in range(2):
    targets = {chessboard.moves[move].target for move in legal[player]}
    views.append(tuple(
        piece if square in targets or piece.isupper() == (player == 0) and
        piece.isalpha() else None for square, piece in enumerate(board)))
  return [(*events, (told[player], views[player], str(result)))
          for player, events in enumerate(seen)]


_SEE = {"dudo": _see_dudo, "dudo_single_round": _see_single_round,
        "neumann_poker": _see_poker, "liar_die": _see_liar_die,
        "dark_chess_small": _see_dark_chess}


def _walk(state, seen, see):
  """Yields (state, what each player has seen) for all states."""
  yield state, seen
  if not state.is_terminal():
    for action in state.legal_actions():
      child = state.child(action)
      yield from _walk(child, see(state, action, child, seen), see)


class _Partition:
  """Asserts that information states are equal exactly if memories are.

  This holds for both forms of an information state, the string and the tensor.

  Args:
    game: the game whose information states these are.
  """

  def __init__(self, game):
    self._observation = _information_states(game)
    self._view_of = {}  # (player, memory) -> (string, tensor)
    self._key_of = {}  # string or tensor -> (player, memory)
    self._legal_in = {}  # (player, memory) -> legal actions

  def add(self, state, player, memory):
    """Compares a player's information state with all added before it."""
    self._observation.set_from(state, player)
    string = self._observation.string_from(state, player)
    tensor = self._observation.tensor.tobytes()
    key = player, memory
    view = string, tensor
    assert self._view_of.setdefault(key, view) == view
    assert self._key_of.setdefault(string, key) == key
    assert self._key_of.setdefault(tensor, key) == key
    if player == state.current_player():
      legal = state.legal_actions()
      assert self._legal_in.setdefault(key, legal) == legal

  def __len__(self):
    return len(self._view_of)


def _information_states(game):
  return observation.make_observation(
      game, pyspiel.IIGObservationType(perfect_recall=True))


@pytest.mark.parametrize("game", [
    *(f"{name}({parameters})" for name, all_parameters in _SMALL.items()
      for parameters in all_parameters),
    "dudo_ir(start_dice=2v1,dice_sides=2)",
    "dudo_single_round_ir(players=3,numdice=1)", "liar_die_ir(sides=4)"])
def test_states_show_what_the_observer_writes(game):
  state = pyspiel.load_game(game).new_initial_state()
  observed = _information_states(state.get_game())
  while not state.is_terminal():
    state.apply_action(state.legal_actions()[0])
    for player in range(state.num_players()):
      observed.set_from(state, player)
      assert list(observed.tensor) == state.information_state_tensor(player)
      assert observed.string_from(state, player) == (
          state.information_state_string(player))


@pytest.mark.parametrize("name, parameters", [
    pytest.param(name, parameters, marks=[pytest.mark.slow] if
                 name == "dudo" and "players=3" in parameters else [])
    for name in _SMALL for parameters in _SMALL[name]])
def test_perfect_recall_of_all_that_was_seen(name, parameters):
  game = pyspiel.load_game(f"{name}({parameters})")
  players = range(game.num_players())
  partition = _Partition(game)
  for state, seen in _walk(game.new_initial_state(), [()] * len(players),
                           _SEE[name]):
    if not state.is_chance_node():
      for player in players:
        partition.add(state, player, seen[player])
  assert len(partition) > 10


def _dudo_memory(state, player, recall_length):
  dice = state.dice
  others = [dice[(player + i) % len(dice)] for i in range(1, len(dice))]
  claims = []
  for item in state.full_history():
    if item.player >= 0:
      if item.action == state.get_game().dudo_action:
        claims = []
      else:
        claims.append(item.action)
  return (dice[player], *others, state.hand(player),
          tuple(claims[-recall_length:]))


@pytest.mark.parametrize("parameters", [
    "start_dice=2v1,dice_sides=2",
    pytest.param("players=3,numdice=1,dice_sides=2", marks=pytest.mark.slow)])
def test_dudo_ir_is_exactly_the_abstraction(parameters):
  # The rules do not depend on the recall, so one walk serves all lengths.
  partitions = {
      length: _Partition(pyspiel.load_game(
          f"dudo_ir({parameters},recall_length={length})"))
      for length in (1, 2, 3, 100)}
  for state in helpers.all_states(pyspiel.load_game(f"dudo({parameters})")):
    player = state.current_player()
    if player >= 0:
      for length, partition in partitions.items():
        partition.add(state, player, _dudo_memory(state, player, length))
  sizes = list(map(len, partitions.values()))
  assert 10 < sizes[0] < sizes[1] < sizes[2] < sizes[3]


def _single_round_memory(state, player, abstraction, recall_length):
  order = state.claim_order()
  claims = [item.action for item in state.full_history()
            if item.player >= 0 and item.action < order.num_claims]
  claimed_last = state.full_history()[-1].action < order.num_claims
  is_claiming = helpers.legal(state)[0] not in ("Pass", "Challenge")
  memory = [state.hand(player), claims[-1:], is_claiming]
  assert not (is_claiming and claimed_last and claims)
  if abstraction != "no_recall":
    memory.append([order.claims[claim][1]
                   for claim in claims[:-1]][-recall_length:])
  if abstraction == "wait_type_recall":
    next_claimer = len(claims) % state.num_players()
    wait = (player - next_claimer) % state.num_players()
    memory.append(wait if is_claiming else wait + 1)
  return str(memory)


@pytest.mark.parametrize("recall_length", [1, 3])
@pytest.mark.parametrize("abstraction", ["no_recall", "type_recall",
                                         "wait_type_recall"])
def test_dudo_single_round_ir_is_exactly_the_abstraction(
    abstraction, recall_length):
  game = pyspiel.load_game(
      "dudo_single_round_ir(players=3,numdice=1,dice_sides=2,"
      f"abstraction={abstraction},recall_length={recall_length})")
  _assert_abstraction(
      game, lambda state, player: _single_round_memory(
          state, player, abstraction, recall_length))


def _liar_die_memory(state, player):
  accept = state.get_game().accept_action
  claims = [item.action + 1 for item in state.full_history()
            if item.player >= 0 and item.action < accept]
  own = [item.action + 1 for item in state.full_history()
         if item.player == player and item.action < accept]
  if "Doubt" in helpers.legal(state):
    return ("answer", own[-1:] or 0, claims[-1])
  return ("claim", claims[-1:] or 0, state.full_history()[-1].action)


def test_liar_die_ir_is_exactly_the_abstraction():
  game = pyspiel.load_game("liar_die_ir(sides=4)")
  _assert_abstraction(
      game, lambda state, player: str(_liar_die_memory(state, player)))


def _assert_abstraction(game, memory):
  """Asserts that players remember exactly `memory(state, player)`."""
  partition = _Partition(game)
  for state in helpers.all_states(game):
    player = state.current_player()
    if player >= 0:
      partition.add(state, player, memory(state, player))
  assert len(partition) > 10


@pytest.mark.parametrize("sides, recall_length", [
    (3, 1), (4, 2), pytest.param(6, 3, marks=pytest.mark.slow)])
def test_number_of_abstract_sets_is_the_papers(sides, recall_length):
  # Neller & Hnath (2011), figure 1 (b): 1794 for m = 3 and one die each.
  game = pyspiel.load_game(f"dudo_ir(numdice=1,dice_sides={sides},"
                           f"recall_length={recall_length})")
  found = set()
  stack = [game.new_initial_state()]
  while stack:
    state = stack.pop()
    actions = state.legal_actions()
    if not state.is_chance_node():
      found.add(state.information_state_string()[3:])  # the same in both seats
      actions = [a for a in actions if a != game.dudo_action]  # ends the game
    stack.extend(map(state.child, actions))
  num_memories = sum(math.comb(2 * sides, k) for k in range(recall_length + 1))
  assert len(found) == sides * num_memories
  if recall_length == 3:
    assert len(found) == 1794
