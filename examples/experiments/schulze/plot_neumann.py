"""Neumann poker with a raise: figures 3 to 6 of Schulze, with exact numbers.

The left column shows the plain game, the right one the perturbed game, in which
every action has at least probability epsilon. The upper rows show strategies by
hand: player 1's five sequences, then player 2's replies to a check and to a
bet. The lower rows show value and exploitability by iteration. Exploitability
is half of the paper's total exploitability. A rate of p means that it fell like
n^-p between a tenth of the iterations and the end.

With hands in [0, 1] the value is -44/1083, and the strategies have thresholds,
drawn as lines. Two of player 1's are free, x5 >= 811/1083 and x8 >= 345/361.
They are fitted to BDFP's strategy and drawn in the perturbed game. Player 2
answers a bet by fold < raise < call < raise (the paper's text has a slip).
"""

from dudo_spiel_examples.experiments.schulze import solver_runs
from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

from absl import flags
import numpy as np

_RANKS = flags.DEFINE_integer("ranks", 100, "How many ranks.", lower_bound=3,
                              upper_bound=1000)
_EPSILON = flags.DEFINE_float("epsilon", 0.01, "Smallest probability of every "
                              "action in the perturbed game.", lower_bound=0.0,
                              upper_bound=0.33)
_ITERATIONS = flags.DEFINE_integer("iterations", 200_000, "Iterations per "
                                   "solver.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the initial strategies.",
                             lower_bound=0)
_ALTERNATING = flags.DEFINE_bool("alternating", False, "Update the "
                                 "players one after the other.")
_PLOT = flags.DEFINE_string("plot", None, "Draw the picture to this PNG file.")

# The thresholds of hands in [0, 1]; x4 and x7 follow from x5 and x8.
_X = {"x1": 64 / 1083, "x2": 369 / 722, "x3": 10 / 19, "x6": 307 / 361}
_X5_WIDTH, _X8_WIDTH = 32 / 1083, 22 / 361
_MIN_X5, _MIN_X8 = 811 / 1083, 345 / 361
_PLAYER_2 = {  # by the title of the panel; the paper has no names for them
    "player 2 after a check": {"8/57": 8 / 57, "41/57": 41 / 57,
                               "15/19": 15 / 19},
    "player 2 after a bet": {"1/2": 1 / 2, "10/19": 10 / 19, "17/19": 17 / 19},
}
_LIMIT = -44 / 1083

_FOLD, _CALL, _RAISE = range(3)
_STYLES = {"BDFP": "-", "XFP": "--", "CFR": ":"}
_TITLE_PAD = 18.0  # points, for the labels of lines below a title
# Each panel's sequences: [(betting before, action), ...].
_PANELS = {
    "player 1": {
        "check-fold": [("", _CALL), ("kb", _FOLD)],
        "check-call": [("", _CALL), ("kb", _CALL)],
        "check-raise": [("", _CALL), ("kb", _RAISE)],
        "bet-call": [("", _RAISE), ("br", _CALL)],
        "bet-fold": [("", _RAISE), ("br", _FOLD)]},
    "player 2 after a check": {
        "check": [("k", _CALL)],
        "bet-fold": [("k", _RAISE), ("kbr", _FOLD)],
        "bet-call": [("k", _RAISE), ("kbr", _CALL)]},
    "player 2 after a bet": {
        "fold": [("b", _FOLD)], "call": [("b", _CALL)],
        "raise": [("b", _RAISE)]},
}


def probabilities(policy, steps):
  """Returns [rank], how likely the player plays a sequence."""
  return np.prod([solver_runs.by_rank(policy, *step) for step in steps], axis=0)


def free_thresholds(policy):
  """Returns x5 and x8, fitted to where player 1's hands take sequences."""
  hands = solver_runs.hands(_RANKS.value)
  sequences = _PANELS["player 1"]
  result = []
  for name, low, width in [("bet-fold", _X["x3"], _X5_WIDTH),
                           ("check-raise", _X["x6"], _X8_WIDTH)]:
    weights = probabilities(policy, sequences[name]) * (hands > low)
    weights = np.where(weights > 0.1, weights, 0.0)  # not what epsilon forces
    total = np.sum(weights)
    centre = np.sum(weights * hands) / total if total else np.nan
    result.append(centre + width / 2)
  return result


def solve(game, epsilon):
  """Prints a table; returns {name: curve}, {name: policy} and the value."""
  value = solver_runs.print_value(game, epsilon, f"-44/1083 = {_LIMIT:.8f}")
  print(f"{'':6}{'value':>12}{'exploitability':>16}{'rate':>7}{'x5':>8}"
        f"{'x8':>8}")
  curves, found = {}, {}
  for name, make in solver_runs.SOLVERS.items():
    solver = make(game, epsilon=epsilon, alternating=_ALTERNATING.value,
                  initial="random", seed=_SEED.value)
    curves[name], _ = solver_runs.follow(name, solver, _ITERATIONS.value)
    found[name] = solver.average_policy()
    x5, x8 = free_thresholds(found[name])
    print(f"{name:6}{curves[name].values[-1]:>12.8f}"
          f"{curves[name].exploitabilities[-1]:>16.2e}"
          f"{solver_runs.rate(curves[name]):>7.2f}{x5:>8.3f}{x8:>8.3f}")
  print(f"{'at least':41}{_MIN_X5:>8.3f}{_MIN_X8:>8.3f}")
  return curves, found, value


def draw_lines(axis, lines, width):
  """Draws vertical lines with labels on top.

  Args:
    axis: matplotlib's, on which to draw.
    lines: {label: x}.
    width: how wide a label is. Labels of lines that are closer than this are on
      the outer sides of their lines.
  """
  positions = [-1.0, *sorted(lines.values()), 2.0]
  labels = sorted(lines, key=lines.get)
  for label, before, x, after in zip(labels, positions, positions[1:],
                                     positions[2:]):
    side = ("right" if after - x < width else
            "left" if x - before < width else "center")
    axis.axvline(x, color="black", linewidth=0.6)
    axis.annotate(label, (x, 1), (0, 3), xycoords=("data", "axes fraction"),
                  textcoords="offset points", ha=side, fontsize="small")


def draw_strategies(axis, title, policies, fit):
  """Draws one panel: the policies of the solvers, and labelled thresholds."""
  hands = solver_runs.hands(_RANKS.value)
  for i, (name, sequence) in enumerate(_PANELS[title].items()):
    for solver, policy in policies.items():
      is_first = solver == "BDFP"
      axis.plot(hands, probabilities(policy, sequence), color=f"C{i}",
                linestyle=_STYLES[solver],
                linewidth=1.4 if is_first else 0.8,
                label=name if is_first else None)
  lines, width = _PLAYER_2.get(title), 0.08
  if lines is None:
    width = 0.04
    lines = {f"${name[0]}_{name[1]}$": x for name, x in _X.items()}
    if fit:
      x5, x8 = free_thresholds(policies["BDFP"])
      lines |= {"$x_4$": x5 - _X5_WIDTH, "$x_5$": x5,
                "$x_7$": x8 - _X8_WIDTH, "$x_8$": x8}
  draw_lines(axis, lines, width)
  axis.set_title(title, pad=_TITLE_PAD)
  axis.set(xlabel="hand", ylabel="probability", xlim=(0, 1))
  axis.legend(fontsize="small", loc="upper center", ncols=5,
              bbox_to_anchor=(0.5, -0.2), frameon=False)


def plot(path, results):
  """Draws both games, one per column."""
  figure, axes = figures.subplots(5, len(results), figsize=(12, 16),
                                  squeeze=False, sharey="row")
  for column, (epsilon, (curves, policies, value)) in zip(axes.T,
                                                          results.items()):
    for axis, title in zip(column, _PANELS):
      shown = policies if epsilon else {"BDFP": policies["BDFP"]}
      draw_strategies(axis, title, shown, fit=epsilon > 0)
    solver_runs.draw_curves(column[3], curves, "values", ylabel="value")
    column[3].axhline(value, color="black", linewidth=0.9,
                      label=f"exact: {value:.6f}")
    column[3].set(ylim=(value - 0.01, value + 0.01))
    solver_runs.draw_curves(column[4], curves, "exploitabilities",
                            ylabel="exploitability")
    for axis in column[3:]:
      axis.legend(fontsize="small")
    column[0].set_title(f"ε = {epsilon:g}\nplayer 1", pad=_TITLE_PAD)
  for axis in axes[:, 1:].flat:
    axis.set(ylabel="")
  figure.suptitle(f"Neumann({_RANKS.value}, 2), {_ITERATIONS.value:,} "
                  "iterations; lines are BDFP, if ε > 0 dashes XFP and dots "
                  "CFR")
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  results = solver_runs.solve_neumann({"num_ranks": _RANKS.value},
                                      _ITERATIONS.value, _EPSILON.value, solve)
  if _PLOT.value:
    plot(_PLOT.value, results)


if __name__ == "__main__":
  binary.run(main)
