"""Neumann poker and Liar Die: solves them in seconds, and shows policies."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.web import help_views

_LETTERS = {"k": "check", "b": "bet", "r": "raise", "c": "call", "f": "fold"}


def _neumann_view(game, policy):
  """Returns what each player does with each rank, after each betting.

  `reach` is how often a player who holds the rank gets there.
  """
  spots, queue = [], [((), np.ones((2, game.num_ranks)))]
  while queue:
    steps, reach = queue.pop(0)  # [player, rank] float64, by own moves
    rows = []
    for rank in range(game.num_ranks):
      state = game.new_initial_state()
      for action in (rank, rank, *steps):
        state.apply_action(action)
      rows.append(policy.action_probabilities(state))
    legal = state.legal_actions()
    player = state.current_player()
    # [action, rank] float64
    shares = np.array([[row.get(action, 0.0) for row in rows]
                       for action in legal])
    spots.append({
        "player": player + 1,
        "betting": [_LETTERS[letter] for letter in state.betting],
        "actions": [state.action_to_string(player, action)
                    for action in legal],
        "shares": shares.round(6).tolist(),
        "reach": (reach[player] * reach[1 - player].mean()).round(6).tolist()})
    for action, share in zip(legal, shares):
      if not state.child(action).is_terminal():
        after = reach.copy()
        after[player] *= share
        queue.append(((*steps, action), after))
  values = exploitability.expected_values(game, policy)
  return {"game": "neumann_poker", "ranks": game.num_ranks, "spots": spots,
          "value": help_views.rounded(values[0]),
          "exploitability": float(exploitability.exploitability(game, policy))}


def _liar_die_chances(game, policy, claims, roll=None):
  """Returns the probabilities of the actions after accepted claims.

  The last claim is still open, unless the next claimant has rolled already.
  """
  state = game.new_initial_state()
  for number, claim in enumerate(claims):
    if number:
      state.apply_action(game.accept_action)
    state.apply_action(0)
    state.apply_action(claim - 1)
  if roll is not None:
    if claims:
      state.apply_action(game.accept_action)
    state.apply_action(roll - 1)
  chances = policy.action_probabilities(state)
  return [help_views.rounded(chances.get(action, 0.0))
          for action in state.legal_actions()]


def _liar_die_view(game, policy):
  """Returns the tables of Liar Die: when to doubt, and what to claim."""
  sides = game.sides
  # [old claim][new claim - old claim - 1], the probability to doubt.
  doubts = [[_liar_die_chances(game, policy, [old, new] if old else [new])[-1]
             for new in range(old + 1, sides + 1)] for old in range(sides)]
  # [last claim][roll - 1][claim - last claim - 1].
  claims = [[_liar_die_chances(game, policy, [last] if last else [], roll)
             for roll in range(1, sides + 1)] for last in range(sides)]
  made = [np.mean(rows, axis=0) for rows in claims]
  # [last claim], how often it is the first one and is accepted.
  accepted = [1.0, *(made[0] * (1.0 - np.array(doubts[0])))]
  return {
      "game": "liar_die", "sides": sides, "doubts": doubts, "claims": claims,
      "doubt_reach": [(chance * shares).round(6).tolist()
                      for chance, shares in zip(accepted, made)],
      "claim_reach": [*map(help_views.rounded, accepted[:sides])],
      "value": help_views.rounded(
          exploitability.expected_values(game, policy)[0]),
      "exploitability": float(exploitability.exploitability(game, policy))}


class SmallGame(NamedTuple):
  """A game that the page solves: view(game, policy) returns its tables.

  The parameter named `size` is between `min_size` and `max_size` on the page.
  """
  size: str
  min_size: int
  max_size: int
  view: Callable


SMALL_GAMES = {"neumann_poker": SmallGame("num_ranks", 3, 100, _neumann_view),
               "liar_die": SmallGame("sides", 2, 8, _liar_die_view)}


def solve(name, size, report):
  """Solves one of `SMALL_GAMES`, reports progress, and returns its view."""
  small = SMALL_GAMES[name]
  game = pyspiel.load_game(name, {small.size: size})
  policy, _ = policy_bots.solve_game(game, report)
  return small.view(game, policy)
