"""Solves Liar Die by FSICFR and prints how to answer and what to claim.

These are tables 6 and 7 of a student's report on regret minimisation (2024),
again. The report's code forgets to subtract a node's value from the regrets of
claims, so its tables are no equilibrium. Below each row of probabilities is
what a best responder gets with each action, against an opponent who plays the
policy. Where the policy is in equilibrium, the actions that it takes are worth
the most. A dash means that the policy never leads there.

Players remember only what `liar_die_ir` lets them remember. The seats have
tables of their own, and those after the shortest histories are printed. The
responder forgets nothing, and all values are exact.
"""

from dudo_spiel_examples.support import binary

import functools

from absl import flags
import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr

_SIDES = flags.DEFINE_integer(
    "dice_sides", 6, "Sides of the die.", lower_bound=2, upper_bound=8)
_ITERATIONS = flags.DEFINE_integer("iterations", 1_000_000, "Iterations of "
                                   "FSICFR.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the rolls.", lower_bound=0)

_REPORT_SIDES = 6
# Table 6 of the report: the chance to doubt, [old claim][new claim - old - 1].
_REPORT_DOUBTS = [[0, 0, 0, .2516, 1, 1], [.1185, 0, .2525, 1, 1],
                  [0, .2998, 1, 1], [1, 1, 1], [1, 1], [1]]
# Table 7: [last claim][roll - 1][new claim - last claim - 1].
_REPORT_CLAIMS = [
    [[.0962, .0962, .4241, .1911, .0962, .0962],
     [.0981, .0981, .2077, .3997, .0981, .0981],
     [.0828, .0828, .4793, .1894, .0828, .0828], [0, 0, .0059, .9941, 0, 0],
     [0, 0, .0031, .3524, .6446, 0], [0, 0, .0016, .2064, .3798, .4122]],
    [[.1994, .1994, .2026, .1994, .1994], [.1380, .2660, .4304, .0828, .0828],
     [.0300, .8154, .1546, 0, 0], [.0037, .0001, .9963, 0, 0],
     [.0004, .0084, .3451, .6461, 0], [.0004, .0045, .2060, .3844, .4048]],
    [[.2291, .3127, .2291, .2291], [.2250, .3249, .2250, .2250],
     [.8942, .1058, 0, 0], [0, 1, 0, 0], [.0012, .3344, .6644, 0],
     [.0031, .2032, .3969, .3969]],
    [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]],
    [[1, 1], [1, 1], [1, 1], [1, 1], [1, 0], [1, 1]], [[1]] * 6]


class ReportPolicy(policy_lib.Policy):
  """Plays by the report's own tables."""

  def __init__(self, game):
    super().__init__(game, [0, 1])

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability}."""
    claims, legal = [0, 0, *state.claim_list()], state.legal_actions()
    if state.phase() == "claim":
      weights = _REPORT_CLAIMS[claims[-1]][state.rolls[-1] - 1]
    else:
      doubt = _REPORT_DOUBTS[claims[-2]][claims[-1] - claims[-2] - 1]
      weights = [1.0 - doubt, doubt][-len(legal):]
    return {action: weight / sum(weights)
            for action, weight in zip(legal, weights)}


class Responder:
  """What a best responder gets against a policy that remembers little.

  Args:
    game: `liar_die`.
    policy: an OpenSpiel policy that plays it.
  """

  def __init__(self, game, policy):
    self._game = game
    self._policy = policy
    self._rolls = range(1, game.sides + 1)

  def _chances(self, claims, roll=None):
    """Returns [action] of who claims after a roll, or answers without one."""
    state = self._game.new_initial_state()
    for number, claim in enumerate(claims):
      if number:
        state.apply_action(self._game.accept_action)
      for action in (0, claim - 1):
        state.apply_action(action)
    if roll is not None:
      if claims:
        state.apply_action(self._game.accept_action)
      state.apply_action(roll - 1)
    return np.array(list(self._policy.action_probabilities(state).values()))

  @functools.cache  # noqa: B019, responders live as long as the program
  def claim(self, player, last, roll):
    """Returns the policy's chances of claims, and what each claim is worth."""
    values = []
    for claim in range(last + 1, self._game.sides + 1):
      doubt = self.answer(1 - player, last, claim)[0][-1]
      value = doubt * (1.0 if roll >= claim else -1.0)
      if doubt < 1.0:
        value += (1.0 - doubt) * self._follow(player, claim)
      values.append(value)
    return self.claim_chances(player, last, roll), np.array(values)

  def _follow(self, player, claim):
    """Returns what a player gets whose claim was accepted."""
    return sum(self.reached(player, claim, new) *
               np.max(self.answer(player, claim, new)[1])
               for new in range(claim + 1, self._game.sides + 1)
               if self.reached(player, claim, new) > 0.0)

  def reached(self, player, old, new):
    """Returns how likely the other claims `new`, given the claim `old`."""
    return np.mean([self.claim_chances(1 - player, old, roll)[new - old - 1]
                    for roll in self._rolls])

  @functools.cache  # noqa: B019
  def claim_chances(self, player, last, roll):
    """Returns the policy's chances of claims."""
    return self._chances(([last] if player else [1, last]) if last else [],
                         roll)

  @functools.cache  # noqa: B019
  def answer(self, player, old, new):
    """Returns the chances of (accept and) doubt, and what they are worth."""
    before = [new] if not old else [old, new] if player == 0 else [1, old, new]
    chances = self._chances(before)
    weights = np.array([self.claim_chances(1 - player, old, roll)[new - old - 1]
                        for roll in self._rolls])
    if not weights.sum() > 0.0:
      return chances, np.full(len(chances), np.nan)
    lies = weights[:new - 1].sum() / weights.sum()
    values = [2.0 * lies - 1.0]
    if new < self._game.sides:
      values.insert(0, np.mean([np.max(self.claim(player, new, roll)[1])
                                for roll in self._rolls]))
    return chances, np.array(values)


def _cell(number, digits, sign=""):
  return f"{'-':>8}" if np.isnan(number) else f"{number:>{sign}8.{digits}f}"


def print_tables(responder, sides):
  """Prints tables 6 and 7, with what the actions are worth."""
  print("\nanswers: the chance to doubt; what accepting and doubting are worth")
  print("old claim   " + "".join(f"{f'new {new}':>10}"
                                 for new in range(1, sides + 1)))
  for old in range(sides):
    player = 0 if old else 1
    answers = [responder.answer(player, old, new)
               for new in range(old + 1, sides + 1)]
    rows = {f"{old:>9}   ": [_cell(chances[-1], 4) for chances, _ in answers],
            "     accept ": [_cell(values[0] if len(values) == 2 else np.nan,
                                   4, "+") for _, values in answers],
            "      doubt ": [_cell(values[-1], 4, "+")
                             for _, values in answers]}
    for label, cells in rows.items():
      print(label + " " * 10 * old + "".join(f"{cell:>10}" for cell in cells))
  print("\nclaims: their chances, and below what they are worth")
  print("last  roll  " + "".join(f"{claim:>8}" for claim in
                                 range(1, sides + 1)))
  for last in range(sides):
    for roll in range(1, sides + 1):
      chances, values = responder.claim(1 if last else 0, last, roll)
      print(f"{last:>4}{roll:>6}  " + " " * 8 * last
            + "".join(_cell(chance, 4) for chance in chances))
      print(" " * (12 + 8 * last) + "".join(_cell(value, 4, "+")
                                            for value in values))


def main(_):
  parameters = {"sides": _SIDES.value}
  game = pyspiel.load_game("liar_die", parameters)
  solver = fsicfr.FSICFRSolver(pyspiel.load_game("liar_die_ir", parameters),
                               seed=_SEED.value)
  solver.run(_ITERATIONS.value)
  policies = {f"FSICFR, {_ITERATIONS.value:,} iterations":
              solver.average_policy()}
  if _SIDES.value == _REPORT_SIDES:
    policies["the report's tables"] = ReportPolicy(game)
  print(f"Liar Die, {_SIDES.value} sides: what the first player gets if both "
        "play the policy, what\nbest responders get against it as first and "
        "as second player, and exploitability")
  print(f"{'':30}{'value':>10}{'first':>10}{'second':>10}"
        f"{'exploitability':>16}")
  for name, policy in policies.items():
    value = exploitability.expected_values(game, policy)[0]
    best = [exploitability.best_response(game, policy, player).value
            for player in range(2)]
    print(f"{name:30}{value:>10.5f}{best[0]:>10.5f}{best[1]:>10.5f}"
          f"{sum(best) / 2:>16.5f}")
  print_tables(Responder(game, solver.average_policy()), _SIDES.value)


if __name__ == "__main__":
  binary.run(main)
