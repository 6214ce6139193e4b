"""Neumann poker and Liar Die: solved in seconds, and their policies as tables."""

import math
import time

import pyspiel

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability

MIN_RANKS, MAX_RANKS = 3, 100
MIN_SIDES, MAX_SIDES = 2, 8
_TARGET = 1e-6  # exploitability
_MAX_SECONDS = 10.0
_CHUNK = 50  # iterations between two reports
_LETTERS = {"k": "check", "b": "bet", "r": "raise", "c": "call", "f": "fold"}


def _number(value):
  return round(float(value), 6)


def _solve(game, view, report):
  """Returns the view of a game that is solved here.

  Args:
    game: the game.
    view: a function of the game and a policy.
    report: a function of the share that is done, and a text.
  """
  report(0.0, "compiling the game")
  solver = cfr.PDCFRPlusSolver(game)
  # The first call may compile kernels, which is no time to solve.
  solver.run(1)
  solver.exploitability()
  begin, share, first = time.monotonic(), 0.0, None
  while True:
    solver.run(_CHUNK)
    gap = solver.exploitability()
    spent = (time.monotonic() - begin) / _MAX_SECONDS
    if gap <= _TARGET or spent >= 1.0:
      return view(game, solver.average_policy())
    first = first or 2.0 * gap
    # Errors shrink by factors, so their logarithm says how far it is.
    done = math.log(first / gap) / math.log(first / _TARGET)
    share = max(share, spent, done)
    report(share, f"{solver.iteration:,} iterations, exploitability {gap:.1e}")


def neumann_view(game, policy):
  """Returns what each player does with each rank, after each betting.

  Args:
    game: the game.
    policy: an OpenSpiel policy for it.
  """
  spots, waiting = [], [()]
  while waiting:
    steps = waiting.pop(0)
    rows = []
    for rank in range(game.num_ranks):
      state = game.new_initial_state()
      for action in (rank, rank, *steps):
        state.apply_action(action)
      rows.append(policy.action_probabilities(state))
    legal = state.legal_actions()
    player = state.current_player()
    spots.append({
        "player": player + 1,
        "betting": [_LETTERS[letter] for letter in state.betting],
        "actions": [state.action_to_string(player, action)
                    for action in legal],
        # [action][rank]
        "shares": [[_number(row.get(action, 0.0)) for row in rows]
                   for action in legal]})
    waiting += [(*steps, action) for action in legal
                if not state.child(action).is_terminal()]
  values = exploitability.expected_values(game, policy)
  return {"game": "neumann_poker", "ranks": game.num_ranks, "spots": spots,
          "value": _number(values[0]),
          "exploitability": float(exploitability.exploitability(game, policy))}


def solve_neumann(num_ranks, report):
  """Returns the view of Neumann poker, solved here.

  Args:
    num_ranks: how many ranks there are.
    report: a function of the share that is done, and a text.
  """
  return _solve(pyspiel.load_game("neumann_poker", {"num_ranks": num_ranks}),
                neumann_view, report)


class _LiarDieTables:
  """Asks a policy of Liar Die for its tables.

  Args:
    game: `liar_die`, from which states come.
    policy: a policy that plays it.
  """

  def __init__(self, game, policy):
    self._game = game
    self._policy = policy

  def chances(self, claims, roll=None):
    """Returns the chances of the actions after accepted claims.

    Args:
      claims: list of int; the last is still open unless there is a roll.
      roll: what the next claimant rolled, or None.
    """
    state = self._game.new_initial_state()
    for number, claim in enumerate(claims):
      if number:
        state.apply_action(self._game.accept_action)
      state.apply_action(0)
      state.apply_action(claim - 1)
    if roll is not None:
      if claims:
        state.apply_action(self._game.accept_action)
      state.apply_action(roll - 1)
    chances = self._policy.action_probabilities(state)
    return [_number(chances.get(action, 0.0))
            for action in state.legal_actions()]


def liar_die_view(game, policy):
  """Returns the tables of Liar Die: when to doubt, and what to claim.

  Args:
    game: `liar_die`.
    policy: a policy that plays it.
  """
  tables, sides = _LiarDieTables(game, policy), game.sides
  return {
      "game": "liar_die", "sides": sides,
      # [old claim][new claim - old claim - 1], the chance to doubt.
      "doubts": [[tables.chances([old, new] if old else [new])[-1]
                  for new in range(old + 1, sides + 1)]
                 for old in range(sides)],
      # [last claim][roll - 1][claim - last claim - 1].
      "claims": [[tables.chances([last] if last else [], roll)
                  for roll in range(1, sides + 1)] for last in range(sides)],
      "value": _number(exploitability.expected_values(game, policy)[0]),
      "exploitability": float(exploitability.exploitability(game, policy))}


def solve_liar_die(sides, report):
  """Returns the view of Liar Die, solved here.

  Args:
    sides: how many sides the die has.
    report: a function of the share that is done, and a text.
  """
  return _solve(pyspiel.load_game("liar_die", {"sides": sides}), liar_die_view,
                report)
