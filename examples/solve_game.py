"""Solves a game of OpenSpiel and reports how good the solution is.

The solver stops at --target, after --iterations or after --seconds, whichever
comes first. Ctrl-C stops it early, and it still reports. With --checkpoint it
continues from that file, if there is one, and saves its state there.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c
from dudo_spiel_examples.support import figures

import fractions
import os

from absl import flags

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play

_SOLVERS = {**cfr.SOLVERS, **fictitious_play.SOLVERS}
_GAME = flags.DEFINE_string("game", "dudo(numdice=1)",
                            "The game to solve, with its parameters.")
_SOLVER = flags.DEFINE_enum("solver", "cfr+", list(_SOLVERS), "The solver.")
_EPSILON = flags.DEFINE_float("epsilon", 0.0, "Above 0: solve the perturbed "
                              "game, in which every action has at least this "
                              "probability.")
_ALTERNATING = flags.DEFINE_bool(
    "alternating", None, "Update the players one after the other, or all at "
    "once. Default: alternating for the CFR family, simultaneous for BDFP and "
    "XFP.")
_AVERAGE = flags.DEFINE_bool("average", None, "BDFP and XFP only: return the "
                             "mean of all iterates.")
_TARGET = flags.DEFINE_float("target", 5e-7, "Stop at this exploitability.",
                             lower_bound=0.0)
_ITERATIONS = flags.DEFINE_integer("iterations", None, "Stop after this many "
                                   "iterations.", lower_bound=0)
_SECONDS = flags.DEFINE_float(
    "seconds", 60.0, "Seconds to iterate; walking the game and compiling "
    "kernels come first and do not count.", lower_bound=0.0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "Continue from this file "
                                  "and save the solver there.")
_SAVE_POLICY = flags.DEFINE_string("save_policy", None,
                                   "Save the policy to this file.")
_PLOT = flags.DEFINE_string("plot", None, "Draw the convergence curve "
                            "to this PNG file.")

_REASONS = {"interrupted": "Ctrl-C", "seconds": "--seconds",
            "iterations": "--iterations", "target": "target"}


def make_solver(game):
  """Returns the solver that the flags ask for."""
  options = {"alternating": _ALTERNATING.value, "average": _AVERAGE.value}
  options = {name: on for name, on in options.items() if on is not None}
  if "average" in options and _SOLVER.value not in fictitious_play.SOLVERS:
    raise ValueError(f"--average: must be left out with --solver="
                     f"{_SOLVER.value}, which always averages")
  return _SOLVERS[_SOLVER.value](game, epsilon=_EPSILON.value, **options)


def plot(path, history, title):
  """Draws exploitability by iteration."""
  figure, axes = figures.subplots(figsize=(7, 4.5))
  axes.loglog([max(check.iteration, 1) for check in history],
              [check.exploitability for check in history], marker=".")
  axes.set(xlabel="iterations", ylabel="exploitability", title=title)
  axes.grid(alpha=0.3)
  figures.save(figure, path)


def main(_):
  binary.check_files(_CHECKPOINT, _SAVE_POLICY, _PLOT)
  figures.check_plot(_PLOT)
  solver = make_solver(binary.load_turn_based_game(_GAME.value))
  if _CHECKPOINT.value and os.path.exists(_CHECKPOINT.value):
    solver.load(_CHECKPOINT.value)
  begin = solver.iteration
  with ctrl_c.raised():
    result = solver.solve(_TARGET.value, _ITERATIONS.value, _SECONDS.value)
  with binary.deferred():
    if _CHECKPOINT.value:
      solver.save(_CHECKPOINT.value)
    if _SAVE_POLICY.value:
      solver.best_policy().save(_SAVE_POLICY.value)
  rate = (result.iterations - begin) / result.seconds
  fraction = fractions.Fraction(result.value).limit_denominator(1000)
  # A fraction this close must not be luck.
  is_close = (abs(fraction - result.value) <= result.exploitability <
              0.1 / max(fraction.denominator, 10)**2)
  print(f"game            {_GAME.value} ({solver.compiled.form_name} form, "
        f"{solver.compiled.tree.num_info_sets:,} information sets)")
  print(f"value           {result.value:.9f} to player 1"
        + (f" (close to {fraction})" if is_close else ""))
  print(f"exploitability  {result.exploitability:.3g}" + (
      f" with every action at least {_EPSILON.value}, "
      f"{solver.exploitability():.3g} without" if _EPSILON.value else ""))
  if (_SOLVER.value in fictitious_play.SOLVERS and
      solver.best_check.iteration != solver.iteration):
    print(f"best            {solver.best_check.exploitability:.3g} after "
          f"{solver.best_check.iteration:,} iterations; --save_policy saves it")
  print(f"iterations      {result.iterations:,} of {_SOLVER.value}, "
        f"{rate:,.0f} a second")
  print(f"time            {result.seconds:.2f} s, stopped by "
        f"{_REASONS[result.reason]}")
  for flag in (_CHECKPOINT, _SAVE_POLICY):
    if flag.value:
      print(f"wrote {flag.value}")
  if _PLOT.value:
    plot(_PLOT.value, result.history, f"{_GAME.value}: {_SOLVER.value}")
  return ctrl_c.EXIT_CODE if result.reason == "interrupted" else 0


if __name__ == "__main__":
  binary.run(main)
