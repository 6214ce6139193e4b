"""Policies for matches of Dudo that go by the last claim only, such as bots.

As a `match_policy.MatchPolicy`, a bot can play millions of matches and be
measured exactly.
"""

import functools

import numpy as np
import pyspiel

from dudo_spiel import bots
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules


def last_claim_policy(game, weights):
  """Returns a `match_policy.MatchPolicy` that goes by the last claim only.

  Args:
    game: the `pyspiel.Game`, `dudo` or `dudo_ir` with two players.
    weights: function of (own dice, opponent's dice) and the last claim, -1 if
      there is none. It returns [action, hand] float64, to which the
      probabilities are proportional. The actions are the stronger claims,
      weakest first, and then Dudo, which nobody can say before the first claim.
  """
  rules = abstract_rules.abstract_rules(game, 1)
  tables = {}
  for dice in round_rules.round_keys(game.start_dice):
    graph = rules.graph(sum(dice))
    tables[dice] = np.zeros(rules.table_shape(dice), np.float32)
    for last in range(-1, graph.num_claims):
      row = graph.first_row([last] if last >= 0 else [])
      rows = weights(dice, last)
      tables[dice][row:row + len(rows), :rows.shape[1]] = rows
  return match_policy.MatchPolicy(game, 1, tables, {})


def bot_policy(game, name):
  """Returns a bot as a `match_policy.MatchPolicy`.

  Args:
    game: the `pyspiel.Game`, `dudo` with two players.
    name: one of `bots.bot_names(game)`.
  """
  rules = round_rules.round_rules(game)
  validation.choice("name", name, tuple(bots.bot_names(game)))

  @functools.cache
  def started_with(dice):
    return pyspiel.load_game("dudo", {
        **game.get_parameters(), "starting_player": 0,
        "start_dice": f"{dice[0]}v{dice[1]}"})

  def weights(dice, last):
    num_claims = rules.claim_order(sum(dice)).num_claims
    shape = num_claims - last - (last < 0), rules.rolls(dice[0]).num_rolls
    if name == "uniform":
      return np.ones(shape)
    player = int(last >= 0)  # the other player made the last claim
    start = started_with(dice[::-1] if player else dice)
    bot = bots.make_bot(name, game, player, None)
    result = np.zeros(shape)
    for hand in range(shape[1]):
      state = start.new_initial_state()
      for action in [0, hand, last] if player else [hand, 0]:
        state.apply_action(action)
      for action, probability in bot.get_policy(state):
        result[min(action, num_claims) - last - 1, hand] = probability
    return result

  return last_claim_policy(game, weights)
