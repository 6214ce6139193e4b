"""Leduc poker with ten ranks: figure 2 of Schulze, with the exact value.

Leduc(10, 2) has two cards of each of ten ranks, antes of 1/2, and two rounds of
betting with at most two bets of 1, then of 2. OpenSpiel's `universal_poker` has
whole chips, so this solves it with doubled stakes and halves the results. The
exact value is -0.0492877. The paper plots about -0.0165; no reading of its
rules that we tried gives that value.

CFR's current policies are drawn too: unlike BDFP's, they do not converge. A
rate of p means that exploitability fell like n^-p between a tenth of the
iterations and the end. The paper's total exploitability is twice ours.
"""

from dudo_spiel_examples.experiments.schulze import solver_runs
from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

from absl import flags

_RANKS = flags.DEFINE_integer("ranks", 10, "How many ranks.", lower_bound=2,
                              upper_bound=13)
_ITERATIONS = flags.DEFINE_integer("iterations", 20_000, "Iterations per "
                                   "solver.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the initial strategies.",
                             lower_bound=0)
_ALTERNATING = flags.DEFINE_bool("alternating", False, "Update the "
                                 "players one after the other.")
_PLOT = flags.DEFINE_string("plot", None, "Draw the picture to this PNG file.")

_EXACT = {3: -0.0428032, 10: -0.0492877}  # by the number of ranks
_PAPER = {10: -0.0165}


def solve(game):
  """Returns {name: curve}."""
  options = {"alternating": _ALTERNATING.value, "initial": "random",
             "seed": _SEED.value}
  curves = {}
  for name, make in solver_runs.SOLVERS.items():
    more = {"average": True} if name == "BDFP" else {}
    solver = make(game, **options, **more)
    average, current = solver_runs.follow(
        name, solver, _ITERATIONS.value, scale=solver_runs.LEDUC_SCALE,
        current=name != "XFP")
    if name == "BDFP":
      curves |= {"BDFP": current, "BDFP averaged": average}
    else:
      curves[name] = average
    if name == "CFR":
      curves["CFR unaveraged"] = current
  return curves


def report(curves):
  """Prints where the solvers end, and their smallest exploitability."""
  print(f"{'':16}{'value':>11}{'exploitability':>16}{'minimum':>11}"
        f"{'at iteration':>14}{'rate':>7}")
  for name, curve in curves.items():
    minimum, when = min(zip(curve.exploitabilities, curve.iterations))
    print(f"{name:16}{curve.values[-1]:>11.7f}"
          f"{curve.exploitabilities[-1]:>16.3e}{minimum:>11.2e}{when:>14,}"
          f"{solver_runs.rate(curve):>7.2f}")
  exact = _EXACT.get(_RANKS.value)
  if exact:
    print(f"{'exact':16}{exact:>11.7f}")
  xfp = solver_runs.last_part(curves["XFP"])[1]
  for name in ("BDFP", "BDFP averaged"):
    ratios = solver_runs.last_part(curves[name])[1] / xfp
    print(f"{name} / XFP, exploitabilities over the last tenfold: "
          f"{ratios.min():.2f} to {ratios.max():.2f}, mean {ratios.mean():.2f}")


def plot(path, curves):
  """Draws values, exploitabilities, and those with unaveraged CFR."""
  figure, axes = figures.subplots(3, 1, figsize=(8, 11), sharex=True)
  last = curves.pop("CFR unaveraged")
  solver_runs.draw_curves(axes[0], curves, "values", ylabel="value to player 1")
  for name, known, style in [("exact", _EXACT, "-"), ("paper", _PAPER, ":")]:
    if _RANKS.value in known:
      axes[0].axhline(known[_RANKS.value], color="black", linewidth=0.9,
                      linestyle=style,
                      label=f"{name}: {known[_RANKS.value]:g}")
  middle = curves["XFP"].values[-1]
  axes[0].set(ylim=(middle - 0.04, middle + 0.04))
  solver_runs.draw_curves(axes[1], curves, "exploitabilities",
                          ylabel="exploitability")
  solver_runs.draw_curves(axes[2], {**curves, "CFR unaveraged": last},
                          "exploitabilities", ylabel="exploitability")
  axes[2].set(yscale="linear", ylim=(0, None))
  for axis in axes:
    axis.legend(fontsize="small")
    axis.label_outer()
  figure.suptitle(f"Leduc({_RANKS.value}, 2), random initial strategies, "
                  + ("alternating" if _ALTERNATING.value else "simultaneous")
                  + " updates")
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  curves = solve(solver_runs.leduc(_RANKS.value))
  print(f"Leduc({_RANKS.value}, 2), {_ITERATIONS.value:,} iterations")
  report(curves)
  if _PLOT.value:
    plot(_PLOT.value, curves)


if __name__ == "__main__":
  binary.run(main)
