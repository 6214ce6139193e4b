"""Regret matching in rock, paper, scissors and Blotto.

These are figures 1 to 7 of a student's report on regret minimisation (2024),
again, with average strategies: current ones do not converge. In Blotto each
player puts 5 soldiers on 3 fields and gets a point for each field won. The
report adds up only positive regrets and shows the last strategy; its Blotto
strategy is measured beside ours.

Exploitability is that of the average strategies. The distances to (coarse)
correlated equilibria are those of what both players have played together. Only
conditional regrets bring the distance to correlated equilibria to zero.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

from absl import flags
import numpy as np
import pyspiel

from dudo_spiel.algorithms import regret_matching

_ITERATIONS = flags.DEFINE_integer("iterations", 100_000, "Iterations of the "
                                   "long runs.", lower_bound=100)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the sampled actions.",
                             lower_bound=0)
_PLOT = flags.DEFINE_string("plot", None, "Draw the picture to this PNG file.")

_INITIAL = {"(0.4, 0.3, 0.3)": [0.4, 0.3, 0.3], "(1, 0, 0)": [1.0, 0.0, 0.0]}
_REPORT = {(0, 0, 5): 0.015221416, (0, 1, 4): 0.042718941,
           (0, 2, 3): 0.060107203, (1, 1, 3): 0.054736100,
           (1, 2, 2): 0.057723529}  # the chance of each order
_GROUPS = [tuple(sorted(allocation))
           for allocation in regret_matching.blotto_allocations(5, 3)]
_DISTANCES = {"exploitability": "exploitability", "cce_dist": "coarse "
              "correlated", "ce_dist": "correlated"}


def follow(solver, iterations):
  """Returns (iterations, [time, action] averages, {distance: list})."""
  counts, averages, distances = [], [], {name: [] for name in _DISTANCES}
  for count in figures.counts(iterations, growth=1.08):
    solver.run(count - solver.iteration)
    counts.append(count)
    averages.append(solver.average_strategies()[0])
    for name, measured in distances.items():
      measured.append(getattr(solver, name)())
  return counts, np.array(averages), distances


def by_group(strategy):
  """Returns {sorted allocation: mean chance of its orders}."""
  return {group: np.mean([chance for other, chance in zip(_GROUPS, strategy)
                          if other == group]) for group in _REPORT}


def report(blotto, games):
  """Prints how far each game was solved, and Blotto's strategies."""
  print(f"{'game':22}{'updates':12}{'iterations':>11}{'value':>9}"
        f"{'exploitability':>16}{'coarse corr.':>14}{'correlated':>12}")
  for name, game in games.items():
    for updates in ("exact", "sampled", "conditional"):
      conditional = updates == "conditional"
      solver = regret_matching.RegretMatchingSolver(
          game, updates="sampled" if conditional else updates,
          conditional=conditional, seed=_SEED.value)
      solver.run(_ITERATIONS.value)
      print(f"{name:22}{updates:12}{solver.iteration:>11,}"
            f"{solver.expected_values()[0]:>9.5f}"
            f"{solver.exploitability():>16.6f}{solver.cce_dist():>14.6f}"
            f"{solver.ce_dist():>12.6f}")
  theirs = np.array([_REPORT[group] for group in _GROUPS])
  gain = blotto.form.nash_conv((theirs, theirs)) / 2
  print(f"\nBlotto, the chance of each order (the report's strategy has an "
        f"exploitability of {gain:.4f}):")
  ours = by_group(blotto.average_strategies()[0])
  for group, chance in _REPORT.items():
    print(f"  {str(group):12}{ours[group]:>9.4f}  report {chance:.4f}")


def draw_rps(axis, runs, iterations, title, ylim):
  """Draws player 0's average strategy by iteration, a line an action."""
  for style, (initial, (counts, averages, _)) in zip("-:", runs.items()):
    shown = [count <= iterations for count in counts]
    for action, name in enumerate(("rock", "paper", "scissors")):
      axis.plot(np.array(counts)[shown], averages[shown, action], style,
                color=f"C{action}", linewidth=1.2,
                label=name if len(runs) == 1 else f"{name}, from {initial}")
  axis.axhline(1 / 3, color="black", linewidth=0.6)
  axis.set(title=title, xscale="log", ylim=ylim,
           ylabel="average strategy")
  if len(runs) == 1:  # the end of the run
    axis.set(xlim=(iterations / 100, iterations))


def draw_blotto(axis, run, iterations, title):
  """Draws the chances of all allocations, in a colour for each group."""
  counts, averages, _ = run
  shown = [count <= iterations for count in counts]
  for color, group in enumerate(_REPORT):
    for number, action in enumerate(np.flatnonzero(
        [other == group for other in _GROUPS])):
      axis.plot(np.array(counts)[shown], averages[shown, action],
                color=f"C{color}", linewidth=0.9,
                label=None if number else f"orders of {group}")
  axis.set(title=title, xscale="log", ylabel="average strategy")


def draw_bars(axis, strategies):
  """Draws the chances of all orders of a group together, as bars."""
  width = 0.8 / len(strategies)
  for i, (name, chances) in enumerate(strategies.items()):
    axis.bar(np.arange(len(_REPORT)) + i * width,
             [chances[group] * _GROUPS.count(group) for group in _REPORT],
             width, label=name)
  axis.set(title="7: Blotto, all orders together", ylabel="chance",
           xlabel="allocation")
  axis.set_xticks(np.arange(len(_REPORT)) + 0.4 - width / 2,
                  ["".join(map(str, group)) for group in _REPORT])


def plot(path, runs, blotto, exact, last):
  """Draws figures 1 to 7, and how fast Blotto converges."""
  figure, axes = figures.subplots(4, 2, figsize=(10, 12.5))
  long, short = _ITERATIONS.value, _ITERATIONS.value // 10
  first, second = ({name: run} for name, run in runs.items())
  draw_rps(axes[0, 0], runs, short, f"1: rock, paper, scissors, {short:,} "
           "iterations", (0, 1))
  draw_rps(axes[0, 1], first, short, "2: the end of it, from "
           "(0.4, 0.3, 0.3)", (0.28, 0.39))
  draw_rps(axes[1, 0], first, long, f"3: {long:,} iterations, the end",
           (0.32, 0.35))
  draw_rps(axes[1, 1], second, long, "4: the same from (1, 0, 0)",
           (0.32, 0.35))
  draw_blotto(axes[2, 0], blotto, short, f"5: Blotto, {short:,} iterations")
  draw_blotto(axes[2, 1], blotto, long, f"6: Blotto, {long:,} iterations")
  half = {group: {(0, 2, 3): 1 / 12, (1, 1, 3): 1 / 6}.get(group, 0.0)
          for group in _REPORT}
  draw_bars(axes[3, 0], {"ours": by_group(last), "report": _REPORT,
                         "an exact equilibrium": half})
  for style, updates, run in (("-", "sampled", blotto), ("--", "exact", exact)):
    for color, (name, words) in enumerate(_DISTANCES.items()):
      axes[3, 1].plot(run[0], np.maximum(run[2][name], 1e-9), style,
                      color=f"C{color}", linewidth=1.2,
                      label=f"{words}, {updates}")
  axes[3, 1].set(title="Blotto: exploitability, distances to equilibria",
                 xscale="log", yscale="log", ylim=(1e-5, 2))
  for axis in axes.flat:
    axis.grid(alpha=0.3)
    axis.legend(fontsize="x-small")
    if axis is not axes[3, 0]:
      axis.set(xlabel="iterations")
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  rps, fields_won = (pyspiel.load_game("matrix_rps"),
                     regret_matching.blotto_fields_won(5, 3))
  solvers = {updates: regret_matching.RegretMatchingSolver(
      fields_won, updates=updates, seed=_SEED.value)
             for updates in ("sampled", "exact")}
  curves = {updates: follow(solver, _ITERATIONS.value)
            for updates, solver in solvers.items()}
  report(solvers["sampled"], {
      "rock, paper, scissors": rps, "Blotto, fields won": fields_won,
      "blotto of OpenSpiel": pyspiel.load_game("blotto(coins=5,fields=3)"),
      "Shapley's game": pyspiel.load_game("matrix_shapleys_game")})
  if _PLOT.value:
    runs = {name: follow(regret_matching.RegretMatchingSolver(
        rps, updates="sampled", initial=(start, start),
        seed=_SEED.value + number), _ITERATIONS.value)
            for number, (name, start) in enumerate(_INITIAL.items())}
    plot(_PLOT.value, runs, curves["sampled"], curves["exact"],
         solvers["sampled"].average_strategies()[0])


if __name__ == "__main__":
  binary.run(main)
