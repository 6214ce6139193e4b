"""Von Neumann and Morgenstern's poker: figure 1 of Schulze, with exact numbers.

Player 1 bets or checks; player 2 calls a bet or folds. With hands in [0, 1],
player 1 bets below x1 = 1/9 and above x2 = 7/9, and player 2 calls above y1 =
5/9 (the paper's formula for y1 has 2B² where B² is right). Player 2 has many
other optimal strategies, and solvers drift among them. In the perturbed game,
where every action has at least probability epsilon, only this one is left.

Nobody decides twice, so BDFP and XFP are the same here.

Thresholds are measured as shares of hands: x1 by how often weak hands bet, x2
by how often strong hands check, y1 by how often hands fold, without epsilon.
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
                              upper_bound=0.49)
_ITERATIONS = flags.DEFINE_integer("iterations", 100_000, "Iterations per "
                                   "solver.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the initial strategies.",
                             lower_bound=0)
_PLOT = flags.DEFINE_string("plot", None, "Draw the picture to this PNG file.")

_ANTE, _BET = 0.5, 1.0
_THRESHOLDS = {"x1": 1 / 9, "x2": 7 / 9, "y1": 5 / 9}
_CALL, _RAISE = 1, 2


def strategy(policy):
  """Returns the probabilities to bet and to call: [rank] each."""
  return [solver_runs.by_rank(policy, "", _RAISE),
          solver_runs.by_rank(policy, "b", _CALL)]


def gains(bet, call):
  """Returns what a bet gains over a check, and a call over a fold: [rank]."""
  ranks = np.arange(len(bet))
  sign = np.sign(ranks[:, None] - ranks)  # [own rank, other's rank]
  to_bet = np.mean((1 - call) * _ANTE + call * (_ANTE + _BET) * sign -
                   _ANTE * sign, axis=1)
  to_call = ((_ANTE + _BET) * sign + _ANTE) @ bet / np.sum(bet)
  return to_bet, to_call


def thresholds(bet, call, epsilon):
  """Returns the measured x1, x2 and y1."""
  bet, call = ((p - epsilon) / (1 - 2 * epsilon) for p in (bet, call))
  half = len(bet) // 2
  return {"x1": np.sum(bet[:half]) / len(bet),
          "x2": 1 - np.sum(bet[half:]) / len(bet), "y1": 1 - np.mean(call)}


def solve(game, epsilon):
  """Prints a table; returns {name: (bet, call)}."""
  solver_runs.print_value(game, epsilon, f"1/18 = {1 / 18:.8f}")
  print(f"{'':6}{'value':>12}{'exploitability':>16}"
        + "".join(f"{name:>9}" for name in _THRESHOLDS))
  strategies = {}
  for name, make in solver_runs.SOLVERS.items():
    solver = make(game, epsilon=epsilon, alternating=False, initial="random",
                  seed=_SEED.value)
    solver.run(_ITERATIONS.value)
    reached, gain = solver_runs.measure(solver)
    strategies[name] = strategy(solver.average_policy())
    measured = thresholds(*strategies[name], epsilon)
    print(f"{name:6}{reached:>12.8f}{gain:>16.2e}"
          + "".join(f"{measured[key]:>9.4f}" for key in _THRESHOLDS))
  print(f"{'exact, hands in [0, 1]':34}"
        + "".join(f"{exact:>9.4f}" for exact in _THRESHOLDS.values()))
  return strategies


def plot(path, results):
  """Draws strategies above what they gain; one column per player."""
  figure, axes = figures.subplots(2, 2, figsize=(11, 7), sharex=True)
  hands = solver_runs.hands(_RANKS.value)
  for color, (epsilon, strategies) in zip(("tab:purple", "tab:green"),
                                          results.items()):
    for name, style in [("BDFP", "-"), ("CFR", ":")]:
      bet, call = strategies[name]
      label = f"{name.replace('BDFP', 'BDFP and XFP')}, ε = {epsilon:g}"
      for axis, y in zip(axes.flat, [bet, call, *gains(bet, call)]):
        axis.plot(hands, y, style, color=color, linewidth=1.8, label=label)
  for column, names in enumerate([("x1", "x2"), ("y1",)]):
    for axis, name in [(a, n) for a in axes[:, column] for n in names]:
      axis.axvline(_THRESHOLDS[name], color="black", linewidth=0.8)
      axis.annotate(f"${name[0]}_{name[1]}$", (_THRESHOLDS[name], 1), (0, 3),
                    xycoords=("data", "axes fraction"), ha="center",
                    textcoords="offset points")
  titles = ["player 1 bets", "player 2 calls", "player 1: bet − check",
            "player 2: call − fold"]
  for i, (axis, title) in enumerate(zip(axes.flat, titles)):
    axis.set_title(title, loc="left" if i % 2 else "center")
    axis.set(ylabel="gain" if i >= 2 else "probability",
             **({"xlabel": "hand"} if i >= 2 else {}))
    axis.grid(alpha=0.3)
  axes[0, 0].legend(fontsize="small", loc="center")
  figure.suptitle(f"Asymmetric Neumann poker, {_RANKS.value} ranks, "
                  f"{_ITERATIONS.value:,} iterations")
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  parameters = {"num_ranks": _RANKS.value, "asymmetric": True, "ante": _ANTE,
                "bet": _BET}
  results = solver_runs.solve_neumann(parameters, _ITERATIONS.value,
                                      _EPSILON.value, solve)
  if _PLOT.value:
    plot(_PLOT.value, results)


if __name__ == "__main__":
  binary.run(main)
