"""Computes which abstraction of claims pays in two-player Dudo.

Neller & Hnath (2011) let players remember the last claims of a round, and ask
which abstraction is best. For each one, this trains matches in which both
players begin with one die, two dice, and so on, and computes exactly how
exploitable the policy is in the first round: what a responder wins on average
over both seats who knows the policy and forgets nothing. Later rounds are
valued as if both played the policy. The next column is the number of nodes of
the abstraction, which decides how much memory and time the training takes.

With --table the results are kept in that file, and what it has is not computed
again. --plot draws all of it.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import csv
import os
import re
import statistics
from typing import NamedTuple

from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr

_ABSTRACTIONS = flags.DEFINE_list(
    "abstractions", ["claims1", "claims2", "claims3", "claims4",
                     "claims1_ranks1", "claims1_ranks2", "claims1_ranks3",
                     "claims2_ranks1", "claims2_ranks2", "player_ranks"],
    "What players remember.")
_NUMDICE = flags.DEFINE_multi_integer(
    "numdice", [1, 2], "Dice per player; may be given several times.",
    lower_bound=1, upper_bound=3)
_ITERATIONS = flags.DEFINE_integer("iterations", 4000, "Iterations of each "
                                   "round.", lower_bound=1)
_TABLE = flags.DEFINE_string("table", None, "Write the results to this CSV "
                             "file, and compute none that it has.")
_PLOT = flags.DEFINE_string("plot", None, "Draw all results to this PNG file.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals.", lower_bound=0)


class Family(NamedTuple):
  """Abstractions that are one line of the plot.

  Attributes:
    pattern: of their names.
    text: what they have in common.
    label: of a point, with the number in its name.
    color: of the line.
    offset: of the labels from their points.
  """
  pattern: str
  text: str
  label: str
  color: str
  offset: tuple[int, int]


_FAMILIES = [
    Family(r"claims(\d+)", "the last m claims", "m={}", "tab:blue", (6, -9)),
    Family(r"claims1_ranks(\d+)", "the last claim, and the ranks of the k "
           "before it", "k={}", "tab:green", (-6, 5)),
    Family(r"claims2_ranks(\d+)", "the last two claims, and the ranks of the k "
           "before them", "k={}", "tab:red", (-6, -12)),
    Family(r"player_ranks", "the last claim, and which ranks each player had "
           "claimed before it", "", "black", (-6, 6))]


class Result(NamedTuple):
  """A row of the table.

  Attributes:
    round: the first round, such as "2v2".
    abstraction: the name of the abstraction.
    iterations: how many iterations each round was trained.
    seed: of the deals.
    nodes: how many nodes the abstraction of the first round has.
    seconds: how long all rounds were trained, without compilation.
    exploitability: of the average policy in the first round.
  """
  round: str
  abstraction: str
  iterations: int
  seed: int
  nodes: int
  seconds: float
  exploitability: float


def measure(numdice, abstraction):
  """Trains a match and returns the `Result`."""
  game = pyspiel.load_game("dudo", {"numdice": numdice})
  solver = fsicfr.MatchSolver(game, memory=abstraction, seed=_SEED.value)
  solver.run(_ITERATIONS.value)
  return Result(
      f"{numdice}v{numdice}", abstraction, _ITERATIONS.value, _SEED.value,
      solver.rules.num_nodes(2 * numdice), round(solver.seconds, 1),
      round(exploitability.round_exploitability(
          solver.average_policy(), (numdice, numdice)), 6))


def read_table():
  """Returns the results of the table, an empty list if there is none."""
  if not _TABLE.value or not os.path.exists(_TABLE.value):
    return []
  with open(_TABLE.value, encoding="utf-8", newline="") as file:
    rows = list(csv.reader(file))
  try:
    if tuple(rows[0]) != Result._fields:
      raise ValueError(f"its columns are {rows[0]}")
    return [Result(row[0], row[1], *map(int, row[2:5]), *map(float, row[5:]))
            for row in rows[1:]]
  except (ValueError, IndexError, TypeError) as error:
    raise ValueError(f"--table={_TABLE.value}: must be a table of this program "
                     f"({error})") from error


def write_table(results):
  """Replaces the table."""
  with binary.replacing(_TABLE.value) as file:
    lines = [",".join(map(str, row)) for row in [Result._fields, *results]]
    file.write("".join(f"{line}\n" for line in lines).encode())


def draw(results, path):
  """Draws exploitability by the number of nodes, a panel for each round."""
  rounds = sorted({result.round for result in results})
  figure, panels = figures.subplots(
      1, len(rounds), figsize=(max(4.4 * len(rounds), 6.0), 5.4), squeeze=False,
      sharey=True)
  handles = {}
  for axes, name in zip(panels[0], rounds):
    shown = [result for result in results if result.round == name]
    usual = statistics.mode(result.iterations for result in shown)
    for family in _FAMILIES:
      members = sorted((result for result in shown
                        if re.fullmatch(family.pattern, result.abstraction)),
                       key=lambda result: (result.nodes, result.iterations))
      if members:
        handles[family.text] = draw_family(axes, family, members, usual)
    for side in "xy":
      figures.set_logarithmic(axes, side)
    axes.margins(x=0.12)
    axes.set(xlabel="nodes of the abstraction (logarithmic)",
             title=f"{name}, {usual:,} iterations")
    axes.tick_params(axis="x", labelrotation=45)
    axes.grid(alpha=0.3)
  panels[0][0].set_ylabel("exact exploitability (logarithmic)")
  figure.legend(handles.values(), handles.keys(), loc="outside lower center",
                ncols=min(len(rounds), 2), fontsize=9)
  figure.suptitle("Dudo: how exploitable players are, by what they remember")
  figures.save(figure, path)


def draw_family(axes, family, members, usual):
  """Draws a line with a label at each point; returns it.

  Args:
    axes: matplotlib's.
    family: the `Family`.
    members: its `Result`s, fewest nodes first.
    usual: how many iterations need not be mentioned.
  """
  line, = axes.plot([result.nodes for result in members],
                    [result.exploitability for result in members], marker="o",
                    markersize=5, linewidth=1.2, color=family.color)
  for result in members:
    label = family.label.format(
        *re.fullmatch(family.pattern, result.abstraction).groups())
    if result.iterations != usual:
      label += f" ({result.iterations:,} iterations)"
    axes.annotate(label.strip(), (result.nodes, result.exploitability),
                  xytext=family.offset, textcoords="offset points",
                  fontsize=8, color=family.color,
                  ha="left" if family.offset[0] > 0 else "right")
  return line


def main(_):
  binary.check_files(_TABLE, _PLOT)
  figures.check_plot(_PLOT)
  results = read_table()
  known = {result[:4]: result for result in results}
  print(f"{'round':<7}{'abstraction':<17}{'nodes':>9}{'iterations':>12}"
        f"{'seconds':>10}{'exploitability':>16}")
  for numdice in _NUMDICE.value:
    for abstraction in _ABSTRACTIONS.value:
      key = (f"{numdice}v{numdice}", abstraction, _ITERATIONS.value,
             _SEED.value)
      if key not in known:
        known[key] = measure(numdice, abstraction)
        results.append(known[key])
        if _TABLE.value:
          write_table(results)
      result = known[key]
      print(f"{result.round:<7}{abstraction:<17}{result.nodes:>9,}"
            f"{result.iterations:>12,}{result.seconds:>10,.1f}"
            f"{result.exploitability:>16.4f}", flush=True)
  if _PLOT.value:
    draw(results, _PLOT.value)


if __name__ == "__main__":
  binary.run(main)
