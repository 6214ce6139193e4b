"""Shared by the programs of this folder: solvers, and how they converge."""

from dudo_spiel_examples.support import figures

from typing import NamedTuple

import numpy as np
import pyspiel
import tqdm

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fictitious_play

SOLVERS = {  # by default, as in the paper, with simultaneous updates
    "BDFP": fictitious_play.BDFPSolver,
    "XFP": fictitious_play.XFPSolver,
    "CFR": cfr.CFRSolver,
}
COLORS = {"BDFP": "tab:purple", "BDFP averaged": "tab:pink", "XFP": "tab:green",
          "CFR": "tab:blue", "CFR unaveraged": "tab:cyan"}
LEDUC_SCALE = 2.0  # how much higher the stakes of `leduc` are than the paper's
_TARGET = 1e-7  # the exploitability that exact values are computed to
_MAX_SECONDS = 60.0  # for each of them


class Curve(NamedTuple):
  """How a solver converged.

  Attributes:
    iterations: list of int, when it was measured.
    values: list of float, player 0's values then.
    exploitabilities: list of float, the exploitabilities in the game solved.
  """
  iterations: list[int]
  values: list[float]
  exploitabilities: list[float]


def leduc(ranks):
  """Returns Schulze's Leduc poker: two suits, bets of 1, then 2, ante 1/2.

  OpenSpiel's `universal_poker` has whole chips, so all stakes are doubled.

  Args:
    ranks: how many ranks.
  """
  return pyspiel.load_game("universal_poker", {
      "betting": "limit", "numPlayers": 2, "numRounds": 2, "blind": "1 1",
      "raiseSize": "2 4", "maxRaises": "2 2", "firstPlayer": "1 1",
      "numSuits": 2, "numRanks": ranks, "numHoleCards": 1,
      "numBoardCards": "0 1", "stack": "100 100"})


def solve_neumann(parameters, iterations, epsilon, solve):
  """Solves Neumann poker, plain and perturbed; returns {epsilon: result}.

  Args:
    parameters: of the game.
    iterations: how many each solver runs, for the title.
    epsilon: the smallest probability of every action in the perturbed game.
    solve: function (game, epsilon) that prints its results and returns them.
  """
  game = pyspiel.load_game("neumann_poker", parameters)
  print(f"{game}: {iterations:,} iterations, random initial strategies")
  return {e: solve(game, e) for e in dict.fromkeys([0.0, epsilon])}


def hands(num_ranks):
  """Returns where the ranks are in [0, 1]: [rank] float64."""
  return (np.arange(num_ranks) + 0.5) / num_ranks


def measure(solver):
  """Returns player 0's value of the average policy, and its exploitability.

  For a solver with `epsilon` it is the exploitability in the perturbed game.

  Args:
    solver: any solver.
  """
  return (float(solver.expected_values()[0]),
          solver.exploitability(perturbed=True))


def measure_current(solver):
  """Returns the same for the current policy, in the plain game."""
  policy = solver.current_policy()
  return (float(exploitability.expected_values(solver.game, policy)[0]),
          exploitability.exploitability(solver.game, policy))


def follow(name, solver, iterations, scale=1.0, current=False):
  """Runs a solver; returns the curves of its average and current policies.

  Args:
    name: its name on the progress bar.
    solver: the solver, new.
    iterations: how many.
    scale: what to divide values and exploitabilities by.
    current: whether to measure the current policies too; otherwise their
      curve is empty.
  """
  measures = [measure, measure_current][:1 + current]
  curves = Curve([], [], []), Curve([], [], [])
  with tqdm.tqdm(total=iterations, desc=name, unit="it", disable=None) as bar:
    for count in figures.counts(iterations):
      bar.update(count - solver.iteration)
      solver.run(count - solver.iteration)
      for curve, measured in zip(curves, measures):
        value, gain = measured(solver)
        curve.iterations.append(count)
        curve.values.append(value / scale)
        curve.exploitabilities.append(gain / scale)
  return curves


def last_part(curve):
  """Returns iterations and exploitabilities of the last tenfold: arrays."""
  iterations = np.array(curve.iterations)
  part = iterations >= iterations[-1] / 10
  return iterations[part], np.array(curve.exploitabilities)[part]


def rate(curve):
  """Returns p, where exploitability falls like n^-p in the last tenfold."""
  iterations, gains = last_part(curve)
  if len(iterations) < 2:
    return np.nan
  return -np.polyfit(np.log(iterations), np.log(gains), 1)[0]


def print_value(game, epsilon, limit):
  """Prints the title of a table, with the value of a game; returns the value.

  Computed by predictive discounted CFR+, which is fast in poker. The true
  value differs by at most what both players together could gain.

  Args:
    game: the game.
    epsilon: the smallest probability of every action.
    limit: the value with hands in [0, 1], in words; said of the plain game.
  """
  result = cfr.PDCFRPlusSolver(game, epsilon=epsilon).solve(
      _TARGET, max_seconds=_MAX_SECONDS)
  print(f"\nepsilon = {epsilon:g}: the value is {result.value:.8f} ± "
        f"{2 * result.exploitability:.1e}"
        + ("" if epsilon else f" (with hands in [0, 1]: {limit})"))
  return result.value


def by_rank(policy, betting, action):
  """Returns how likely an action of Neumann poker is: [rank].

  Args:
    policy: a policy of the game.
    betting: the actions before, letters as in the state's string.
    action: which action.
  """
  game, result = policy.game, []
  for rank in range(game.num_ranks):
    state = game.new_initial_state()
    for step in [rank, rank, *(1 if act == "k" else 2 for act in betting)]:
      state.apply_action(step)
    result.append(policy.action_probabilities(state)[action])
  return np.array(result)


def draw_curves(axis, curves, what, **labels):
  """Draws values or exploitabilities by iteration, one line per solver.

  Args:
    axis: matplotlib's, on which to draw.
    curves: {name: `Curve`}.
    what: "values" or "exploitabilities".
    **labels: for `axis.set`.
  """
  for name, curve in curves.items():
    axis.plot(curve.iterations, getattr(curve, what), color=COLORS[name],
              label=name, linewidth=1.2)
  axis.set(xscale="log", xlabel="iterations", **labels)
  if what == "exploitabilities":
    axis.set(yscale="log")
  axis.grid(alpha=0.3)
