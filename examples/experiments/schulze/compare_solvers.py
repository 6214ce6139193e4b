"""Counts the iterations that solvers need to reach an exploitability.

The output is one Markdown table per game. A number is the first iteration after
which the measured exploitability was at most the target. Exploitability is
measured after each of the first 200 iterations, then after counts about one per
cent apart. "> n" means that a limit ended the run after n iterations, short of
the target. "BDFP" is measured on its iterates, "BDFP averaged" on their running
average.
"""

from dudo_spiel_examples.experiments.schulze import solver_runs
from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import functools
import time

from absl import flags
import tqdm

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play

_NAMES = {
    "Kuhn": "kuhn_poker",
    "Leduc": "leduc_poker",
    "Leduc(10,2)": None,  # made by solver_runs.leduc
    "Neumann(10,2)": "neumann_poker(num_ranks=10)",
    "Neumann(100,2)": "neumann_poker(num_ranks=100)",
    "Liar's Dice": "liars_dice",
    "Dudo 1v1": "dudo(numdice=1)",
}
_SOLVERS = {
    "BDFP": fictitious_play.BDFPSolver,
    "BDFP averaged": functools.partial(fictitious_play.BDFPSolver,
                                       average=True),
    "XFP": fictitious_play.XFPSolver,
    "CFR": cfr.CFRSolver,
    "CFR+": cfr.CFRPlusSolver,
    "DCFR": cfr.DiscountedCFRSolver,
    "PCFR+": cfr.PredictiveCFRPlusSolver,
}
_ALL = {**_SOLVERS, **{name.upper(): solver
                       for name, solver in cfr.SOLVERS.items()}}
_GROWTH = 1.01

_GAME = flags.DEFINE_multi_string(
    "game", list(_NAMES), "A game: one of the default names, or any that "
    "OpenSpiel loads, with its parameters")
_SOLVER = flags.DEFINE_list("solvers", list(_SOLVERS),
                            f"Which solvers, of {', '.join(_ALL)}.")
_TARGETS = flags.DEFINE_list("targets", ["1e-2", "1e-3", "1e-4"],
                             "The exploitabilities to reach.")
_ITERATIONS = flags.DEFINE_integer("iterations", 1_000_000, "Limit of a run, "
                                   "in iterations.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 12.0, "Limit of a run, in seconds of "
                              "processor time.", lower_bound=0.0)
_EPSILON = flags.DEFINE_float("epsilon", 0.0, "Above 0: solve and measure the "
                              "perturbed game, in which every action has at "
                              "least this probability.", lower_bound=0.0,
                              upper_bound=0.5)
_INITIAL = flags.DEFINE_enum("initial", "uniform", ["uniform", "random"],
                             "The initial strategies.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of random initial strategies.",
                             lower_bound=0)
_MINIMUM = flags.DEFINE_bool(
    "minimum", False, "Add the smallest exploitability that was measured.")


def load(name):
  """Returns a game, and by how much its stakes are too high."""
  if name == "Leduc(10,2)":
    return solver_runs.leduc(10), solver_runs.LEDUC_SCALE
  return binary.load_game(_NAMES.get(name, name)), 1.0


def first_counts(solver, scale, targets, bar):
  """Runs a solver until it has reached all targets, or a limit.

  Args:
    solver: the solver, new.
    scale: what to divide exploitabilities by.
    targets: list of float, the largest first.
    bar: a `tqdm` bar to show them on.

  Returns:
    [target] int or None, the first counts; and the smallest exploitability.
  """
  found, minimum = [], float("inf")
  solver.run(0)  # these two compile what needs to be, before the clock starts
  solver.exploitability()
  begin = time.process_time()
  for count in figures.counts(_ITERATIONS.value, _GROWTH):
    solver.run(count - solver.iteration)
    reached = solver.exploitability(perturbed=True) / scale
    minimum = min(minimum, reached)
    bar.set_postfix(iterations=count, exploitability=f"{reached:.1e}")
    while len(found) < len(targets) and reached <= targets[len(found)]:
      found.append(count)
    if (len(found) == len(targets) or
        time.process_time() - begin > _SECONDS.value):
      break
  return found + [None] * (len(targets) - len(found)), minimum


def cells(name, game, scale, targets, alternating, bar):
  """Returns the table's cells for one run."""
  solver = _ALL[name](game, alternating=alternating, epsilon=_EPSILON.value,
                      initial=_INITIAL.value, seed=_SEED.value)
  found, minimum = first_counts(solver, scale, targets, bar)
  texts = [f"{count:,}" if count else f"> {solver.iteration:,}"
           for count in found]
  return texts + ([f"{minimum:.1e}"] if _MINIMUM.value else [])


def compare(name, solvers, targets):
  """Prints the table of one game."""
  game, scale = load(name)
  columns = [f"{target:g}" for target in targets]
  columns += ["minimum"] if _MINIMUM.value else []
  print(f"\n| {name} | " + " | ".join(
      f"{update} {columns[0]} | " + " | ".join(columns[1:])
      for update in ("simultaneous:", "alternating:")).replace("|  |", "|")
        + " |")
  print("|---" * (1 + 2 * len(columns)) + "|")
  with tqdm.tqdm(total=2 * len(solvers), desc=name, disable=None) as bar:
    for solver in solvers:
      row = [solver]
      for alternating in (False, True):
        row += cells(solver, game, scale, targets, alternating, bar)
        bar.update()
      with bar.external_write_mode():
        print("| " + " | ".join(row) + " |", flush=True)


def main(_):
  targets = binary.positive_numbers(_TARGETS)[::-1]
  for name in _SOLVER.value or [""]:
    if name not in _ALL:
      raise ValueError(f"--solvers={name}: must be of {', '.join(_ALL)}")
  for name in _GAME.value:
    load(name)  # raises an error now, not after the first table
  for name in _GAME.value:
    compare(name, _SOLVER.value, targets)


if __name__ == "__main__":
  binary.run(main)
