"""Bots as policies with tables."""

import random

import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import simulation


@pytest.mark.parametrize("name", ["odds", "heuristic", "random", "uniform"])
def test_bots_as_tables(name):
  game = pyspiel.load_game("dudo(numdice=2,dice_sides=2)")
  tables = simulation.bot_policy(game, name)
  rng = random.Random(0)
  for _ in range(10):
    state = game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        bot = bots.make_bot(name, game, state.current_player(), None)
        expected = (dict.fromkeys(state.legal_actions(),
                                  1 / len(state.legal_actions()))
                    if name == "uniform" else dict(bot.get_policy(state)))
        assert tables.action_probabilities(state) == pytest.approx(expected,
                                                                   abs=1e-6)
      state.apply_action(rng.choice(state.legal_actions()))
