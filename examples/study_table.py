"""Prints tables of a convergence study: exploitability by solver and game.

The output is one Markdown table for each number of iterations. The best of a
game is bold. Order of rows and columns is that of the study's file.
"""

import binary

import csv

from absl import flags

_STUDY = flags.DEFINE_string("study", "convergence/convergence.csv", "The file "
                             "that examples/convergence_study.py wrote.")
_AT = flags.DEFINE_list("at", ["100", "1000", "5000"], "After how many "
                        "iterations.")
_COLUMNS = {"solver", "parameters", "game", "iteration", "exploitability"}


def read(path):
  """Returns {iteration: {game: {solver: exploitability}}}."""
  results = {}
  with open(path, newline="", encoding="utf-8") as file:
    reader = csv.DictReader(file)
    if not _COLUMNS.issubset(reader.fieldnames or ()):
      raise ValueError(f"--study={path}: must be the convergence.csv of a "
                       "study")
    for line in reader:
      # The planned length is that of the run, and only makes names longer.
      parameters = ",".join(
          text for text in line["parameters"].split(",")
          if text and not text.startswith("planned_iterations="))
      solver = line["solver"] + (f"({parameters})" if parameters else "")
      games = results.setdefault(int(line["iteration"]), {})
      games.setdefault(line["game"], {})[solver] = float(line["exploitability"])
  return results


def print_table(games):
  """Prints the table of {game: {solver: exploitability}}."""
  solvers = list(dict.fromkeys(solver for values in games.values()
                               for solver in values))
  print("| | " + " | ".join(games) + " |")
  print("|---" + "|---:" * len(games) + "|")
  for solver in solvers:
    row = [solver]
    for values in games.values():
      text = f"{values[solver]:.2e}" if solver in values else ""
      is_best = solver in values and values[solver] == min(values.values())
      row.append(f"**{text}**" if is_best else text)
    print("| " + " | ".join(row) + " |")


def main(_):
  results = read(_STUDY.value)
  for text in _AT.value:
    if not text.isdecimal() or int(text) not in results:
      known = ", ".join(map(str, sorted(results)))
      raise ValueError(f"--at={text}: must be of those measured: {known}")
  for text in _AT.value:
    print(f"\nAfter {int(text):,} iterations:\n")
    print_table(results[int(text)])


if __name__ == "__main__":
  binary.run(main)
