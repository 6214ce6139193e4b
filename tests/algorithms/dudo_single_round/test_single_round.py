import helpers
import numpy as np
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.dudo_single_round import single_round_policy

_GAMES = [
    "players=2,numdice=1,dice_sides=2,claim_window=3,max_amount=2",
    "players=3,numdice=1,dice_sides=2,claim_window=2,max_amount=2",
    "players=2,numdice=1,dice_sides=3,claim_window=4,max_amount=9",
    "players=2,numdice=2,dice_sides=2,claim_window=2,max_amount=2",
    "players=3,numdice=1,dice_sides=2,claim_window=9,max_amount=1",
]


@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
@pytest.mark.parametrize("parameters", _GAMES)
def test_sets_are_those_of_the_walked_game(abstraction, parameters):
  for recall_length in (1, 3):
    game = pyspiel.load_game(
        f"dudo_single_round_ir({parameters},abstraction={abstraction},"
        f"recall_length={recall_length})")
    layout = single_round_layout.SetLayout(game)
    sets, cells = {}, {}
    for state in helpers.all_states(game):
      player = state.current_player()
      if player < 0:
        continue
      entry = layout.locate(state, player)
      if entry < 0:
        assert state.legal_actions() == [game.challenge_action]
        continue
      cell = game.roll_table.index(state.hand(player)), entry
      # Seats share their sets; the string begins with the player.
      key = state.information_state_string().partition(" ")[2]
      assert sets.setdefault(key, cell) == cell
      assert cells.setdefault(cell, key) == key
      begins = layout.set_entries().tolist()
      assert (begins[begins.index(entry) + 1] - entry ==
              len(state.legal_actions()))
    assert len(sets) == layout.num_rolls * layout.num_sets
    assert len(layout.set_entries()) == layout.num_sets + 1


# Situations before a forced challenge, sets and entries of a roll.
@pytest.mark.parametrize("abstraction, sizes", [
    ("no_recall", (259, 133, 1338)),
    ("type_recall", (48367, 27397, 273978)),
    ("wait_type_recall", (48367, 54793, 328770))])
def test_full_size(abstraction, sizes):
  layout = single_round_layout.SetLayout(single_round_layout.abstract_game(
      pyspiel.load_game("dudo_single_round"), abstraction))
  assert (layout.situations[:67].sum(), layout.num_sets,
          layout.num_entries) == sizes
  assert layout.num_rolls == 252


def test_abstract_game():
  game = pyspiel.load_game("dudo_single_round_ir(abstraction=no_recall)")
  assert str(single_round_layout.abstract_game(game)) == str(game)
  assert "type_recall" in str(
      single_round_layout.abstract_game(game, "type_recall"))
  real = pyspiel.load_game("dudo_single_round(players=2)")
  abstract = single_round_layout.abstract_game(real, recall_length=1)
  assert abstract.num_players() == 2 and abstract.recall_length == 1
  assert str(abstract.abstraction) == "wait_type_recall"


@pytest.mark.parametrize("call, message", [
    (lambda game: single_round_layout.abstract_game(game, "all"),
     "abstraction='all'"),
    (lambda game: single_round_layout.abstract_game(game, recall_length=-1),
     "recall_length=-1"),
    (lambda game: single_round_layout.abstract_game(pyspiel.load_game("dudo")),
     "game=dudo"),
    (lambda game: single_round_layout.SetLayout(
        single_round_layout.abstract_game(game, recall_length=9)),
     "recall_length=9")])
def test_wrong_arguments(call, message):
  with pytest.raises(ValueError, match=message):
    call(pyspiel.load_game("dudo_single_round"))


@pytest.mark.parametrize("parameters", [
    *_GAMES, "players=4,numdice=2",  # a window wider than the sides
    "players=4,numdice=2,dice_sides=7,claim_window=5",
    "players=3,numdice=2,dice_sides=3,claim_window=11,max_amount=8",
    "players=2,numdice=3,dice_sides=4,claim_window=1,max_amount=5",
    "players=2,numdice=2,dice_sides=2,claim_window=30,max_amount=20"])
@pytest.mark.parametrize("abstraction", single_round_layout.ABSTRACTIONS)
def test_entries_are_counted_from_the_rules(parameters, abstraction):
  for recall_length in range(5):
    layout = single_round_layout.SetLayout(single_round_layout.abstract_game(
        pyspiel.load_game(f"dudo_single_round({parameters})"), abstraction,
        recall_length))
    assert layout.count_entries() == layout.num_entries


@pytest.mark.parametrize("name", single_round_policy.BOTS)
@pytest.mark.parametrize("parameters", [
    "players=3,numdice=2,dice_sides=3,claim_window=4",
    "players=2,numdice=2,claim_window=24,max_amount=4"])
def test_bots_as_tables_are_the_bots(parameters, name):
  game = pyspiel.load_game(f"dudo_single_round({parameters})")
  policy = single_round_policy.bot_policy(game, name)
  rng = np.random.RandomState(2)
  for _ in range(60):
    state = game.new_initial_state()
    while not state.is_terminal():
      legal = state.legal_actions()
      if not state.is_chance_node():
        player = state.current_player()
        bot = bots.make_bot(name, game, player, None)
        expected = dict.fromkeys(legal, 0.0) | dict(
            bot.get_policy(state))
        assert policy.action_probabilities(state) == pytest.approx(expected)
        if state.phase() != "claim":  # long games have more claims
          legal = legal[:1 + (rng.rand() < 0.2)]
      state.apply_action(int(rng.choice(legal)))


@pytest.mark.parametrize("make", [
    lambda game, table: (pyspiel.load_game("dudo_single_round"), table),
    lambda game, table: (game, table[:, 1:]),
    lambda game, table: (game, table.astype(np.int64)),
    lambda game, table: (game, table - 1.0),
    lambda game, table: (game, table / 0.0),
    lambda game, table: (game, table + 1e300),  # infinite sums
    lambda game, table: (game, (table + 1e38).astype(np.float32))])
def test_tables_that_are_no_policies(make):
  game = pyspiel.load_game("dudo_single_round_ir(players=2,numdice=1)")
  layout = single_round_layout.SetLayout(game)
  table = np.zeros((layout.num_rolls, layout.num_entries))
  with np.errstate(invalid="ignore"):
    arguments = make(game, table)
  with pytest.raises(ValueError, match="must be"):
    single_round_policy.SingleRoundPolicy(*arguments)
