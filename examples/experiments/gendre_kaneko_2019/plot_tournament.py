"""Draws the log of dudo_tournament.py: figures 2 to 7 of Gendre & Kaneko.

`dudo_tournament.py --folder=FOLDER` writes the log. Speed is measured between
two lines of the log. Win rates are those of one player against three of another
kind; the dotted line is even play.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import csv

from absl import flags

_LOG = flags.DEFINE_string("log", None, "The log, FOLDER/log.csv.",
                           required=True)
_PLOT = flags.DEFINE_string("plot", "tournament.png", "The PNG file to write.")
_EVEN = flags.DEFINE_float("even", 25.0, "Win rate of even play, in percent.")

_COLUMNS = {"seconds": 1 / 60, "iterations": 1, "untrained": 100,
            "random": 100, "heuristic": 100}  # and the factor of what is drawn


def read(path):
  """Returns {solver: {column: [number]}}, solvers as they come in the log."""
  solvers = {}
  try:
    with open(path, newline="", encoding="utf-8") as file:
      for line in csv.DictReader(file):
        columns = solvers.setdefault(line["solver"],
                                     {name: [] for name in _COLUMNS})
        for name, factor in _COLUMNS.items():
          columns[name].append(factor * float(line[name]))
  except (OSError, KeyError, ValueError, TypeError) as error:
    raise ValueError(f"--log={path}: must be a log written by "
                     f"dudo_tournament.py ({error!r})") from None
  if not solvers:
    raise ValueError(f"--log={path}: must have lines; it has none")
  for columns in solvers.values():
    ends = list(zip([0.0, *columns["seconds"]], [0.0, *columns["iterations"]]))
    columns["speed"] = [(new[1] - old[1]) / max(new[0] - old[0], 1e-9) / 60
                        for old, new in zip(ends, ends[1:])]
  return solvers


def is_full(name):
  """Returns whether a solver goes through whole deals, not through games."""
  return name.startswith(("FSI", "PFSI"))


def panels(solvers):
  """Yields (title, x, y, solvers, whether the scales are logarithmic)."""
  full = {k: v for k, v in solvers.items() if is_full(k)}
  games = {k: v for k, v in solvers.items() if not is_full(k)}
  yield "2: speed", "seconds", "speed", solvers, (False, True)
  yield "3: speed of FSI and PFSI", "seconds", "speed", full, (False, False)
  yield ("4: untrained states against three heuristic bots", "seconds",
         "untrained", solvers, (False, False))
  yield ("5: pass-through against three heuristic bots", "seconds", "heuristic",
         games, (False, False))
  yield ("6: FSI and PFSI against three heuristic bots", "seconds", "heuristic",
         full, (False, False))
  yield ("7: the same, by iteration", "iterations", "heuristic", full,
         (True, False))


def draw(solvers, path):
  """Writes the sheet."""
  labels = {"seconds": "minutes of training", "iterations": "iterations",
            "speed": "iterations a second",
            "untrained": "untrained states met, %",
            "heuristic": "win rate, %"}
  colors = {name: f"C{i}" for i, name in enumerate(solvers)}
  figure, axes = figures.subplots(3, 2, figsize=(11, 12))
  for axis, (title, x, y, some, logarithmic) in zip(axes.flat,
                                                    panels(solvers)):
    for name, columns in some.items():
      axis.plot(columns[x], columns[y], ".-", color=colors[name], label=name)
    axis.set(title=title, xlabel=labels[x], ylabel=labels[y])
    for name, is_logarithmic in zip("xy", logarithmic):
      if is_logarithmic:
        figures.set_logarithmic(axis, name)
    if y == "heuristic":
      axis.axhline(_EVEN.value, color="gray", linestyle=":")
    axis.grid(alpha=0.3)
    if some:
      if logarithmic[1]:
        axis.margins(y=0.2)  # room for the legend
      axis.legend(fontsize="small", ncols=1 if len(some) < 5 else 3)
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  draw(read(_LOG.value), _PLOT.value)


if __name__ == "__main__":
  binary.run(main)
