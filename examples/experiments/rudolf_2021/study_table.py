"""Prints tables of a convergence study: exploitability by solver and game.

The output is one Markdown table for each number of iterations. The heads of
its columns are the games, with a line for each parameter. The best of a game is
bold. All that is below 1e-12 counts as equal, as it is mostly rounding.
Order of rows and columns is that of the study's file.

With --summary the table has a row for each solver instead: its geometric mean
over all games, and in how many games it is within 10 times of the best.
"""

from dudo_spiel_examples.support import binary

import csv
import statistics

from absl import flags

_STUDY = flags.DEFINE_string("study", "convergence/convergence.csv", "The file "
                             "of convergence_study.py.")
_AT = flags.DEFINE_list("at", ["100", "1000", "5000"], "After how many "
                        "iterations.")
_SUMMARY = flags.DEFINE_bool("summary", False, "Print means over all games.")
_SMALL = 1e-12  # Less is mostly rounding.
_NEAR = 10  # times the best
_COLUMNS = {"solver", "parameters", "game", "iteration", "exploitability"}


def read(path):
  """Returns {iteration: {game: {solver: exploitability}}}."""
  try:
    with open(path, newline="", encoding="utf-8") as file:
      reader = csv.DictReader(file, restval="")  # of cells that are missing
      if _COLUMNS.issubset(reader.fieldnames or ()):
        return _results(list(reader))
  except (OSError, csv.Error, ValueError):
    pass
  raise ValueError(f"--study={path}: must be the convergence.csv of a study")


def _results(lines):
  """Returns what `read` does, of dicts by the names of the columns."""
  plans = {text for line in lines for text in line["parameters"].split(",")
           if text.startswith("planned_iterations=")}
  results = {}
  for line in lines:
    # A planned length that all runs share would only make names longer.
    parameters = ",".join(text for text in line["parameters"].split(",")
                          if text and (len(plans) > 1 or text not in plans))
    solver = line["solver"] + (f"({parameters})" if parameters else "")
    games = results.setdefault(int(line["iteration"]), {})
    games.setdefault(line["game"], {})[solver] = float(line["exploitability"])
  return results


def _head(game):
  """Returns a game's name with a line for each parameter."""
  name, _, parameters = game.rpartition("(")
  name, parameters = (name, parameters.rstrip(")")) if name else (
      parameters, "")
  lines = [name.replace("(", " "), *parameters.split(",")]
  return "<br>".join(lines).removesuffix("<br>")


def print_table(games):
  """Prints the table of {game: {solver: exploitability}}."""
  solvers = list(dict.fromkeys(solver for values in games.values()
                               for solver in values))
  print("| | " + " | ".join(map(_head, games)) + " |")
  print("|---" + "|---:" * len(games) + "|")
  for solver in solvers:
    row = [solver]
    for values in games.values():
      value = values.get(solver)
      text = ("" if value is None else f"{value:.2e}" if value >= _SMALL else
              f"< {_SMALL:g}")
      is_best = text and value <= max(min(values.values()), _SMALL)
      row.append(f"**{text}**" if is_best else text)
    print("| " + " | ".join(row) + " |")


def print_summary(games):
  """Prints means and counts of {game: {solver: exploitability}}."""
  results = {}  # {solver: list of (exploitability, is near the best)}
  for values in games.values():
    best = max(min(values.values()), _SMALL)
    for solver, value in values.items():
      value = max(value, _SMALL)
      results.setdefault(solver, []).append((value, value <= _NEAR * best))
  means = {solver: statistics.geometric_mean(value for value, _ in result)
           for solver, result in results.items()}
  print(f"| | geometric mean | within {_NEAR} times of the best | games |")
  print("|---|---:|---:|---:|")
  for solver in sorted(means, key=means.get):
    near = sum(is_near for _, is_near in results[solver])
    print(f"| {solver} | {means[solver]:.1e} | {near} | "
          f"{len(results[solver])} |")


def main(_):
  results = read(_STUDY.value)
  for text in _AT.value:
    if not text.isdecimal() or int(text) not in results:
      known = ", ".join(map(str, sorted(results)))
      raise ValueError(f"--at={text}: must be of those measured: {known}")
  for text in _AT.value:
    print(f"\nAfter {int(text):,} iterations:\n")
    (print_summary if _SUMMARY.value else print_table)(results[int(text)])


if __name__ == "__main__":
  binary.run(main)
