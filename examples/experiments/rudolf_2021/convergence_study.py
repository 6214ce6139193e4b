"""Compares how solvers converge, on any set of games.

The default is Rudolf's thesis on variants of CFR, and the variants since then:
Goofspiel, Liar's Dice, Oshi-Zumo and dark chess up to a million histories. The
games with more are --preset=large. --games takes any others.

Each solver on each game is a job. Jobs run on the cores of this machine, or
with --engine=ray on a Ray cluster. What was measured is in the folder --folder
as soon as a job ends: convergence.csv has a line for each measurement, and a
picture has a panel for each game. The same command continues where it stopped;
other games and solvers are added to what is there.
"""

from dudo_spiel_examples.experiments.rudolf_2021 import study_panels
from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c
from dudo_spiel_examples.support import figures

import contextlib
import csv
import io
import itertools
import math
import os
import re

from absl import flags
import tqdm

from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms import jobs


def goofspiel(num_cards, order):
  """Returns Rudolf's variants of Goofspiel with an order of the prizes."""
  games = []
  for returns, imp_info in itertools.product(
      ("win_loss", "point_difference"), (False, True)):
    name = (f"goofspiel(imp_info={imp_info},num_cards={num_cards},"
            f"points_order={order},returns_type={returns})")
    # OpenSpiel's information states forget in which order cards were played.
    games.append(name if imp_info or num_cards < 4 else
                 f"perfect_recall({name})")
  return games


PRESETS = {
    "goofspiel3": goofspiel(3, "ascending") + goofspiel(3, "random"),
    "goofspiel4": goofspiel(4, "ascending") + goofspiel(4, "random"),
    "goofspiel5": goofspiel(5, "ascending"),
    "liars_dice": [
        *(f"liars_dice(dice_sides={sides})" for sides in range(2, 7)),
        *(f"liars_dice(dice_sides={sides},numdice=2)" for sides in (2, 3))],
    "oshi_zumo": ["oshi_zumo(coins=10,min_bid=1,size=5)"],
    "dark_chess": [
        *(f"dark_chess_small(moves_per_player={moves})" for moves in (2, 3)),
        # A rook each: unlike the thesis's position, nobody wins by force.
        *(f"dark_chess_small(fen=kr2/4/2RK,moves_per_player={moves})"
          for moves in (2, 3))],
    "goofspiel5_random": goofspiel(5, "random"),
    "liars_dice_large": ["liars_dice(dice_sides=4,numdice=2)"],
    "dark_chess_large": [f"dark_chess_small(moves_per_player={moves})"
                         for moves in (4, 5)],
}
_LARGE = ("goofspiel5_random", "liars_dice_large", "dark_chess_large")
_GROUPS = {"small": [name for name in PRESETS if name not in _LARGE],
           "large": list(_LARGE)}
_THESIS = ("cfr", "cfr+", "cfr+(gamma=2)", "lcfr", "dcfr",
           "dcfr(alpha=1.5,beta=0.5,gamma=2)",
           "dcfr(alpha=1.5,beta=-inf,gamma=2)")
_SINCE = [name for name in convergence.cfr.SOLVERS if name not in _THESIS]
_COLUMNS = ("solver", "parameters", "game", *convergence.Measurement._fields)
_FIRST = 32
_LATE = 0.2  # by which part of the seconds a measurement may be late or early

_PRESET = flags.DEFINE_list("preset", None, "Sets of games: "
                            f"{', '.join([*_GROUPS, *PRESETS])}. Default: "
                            "small, unless there are --games.")
_GAMES = flags.DEFINE_string("games", None, "Games with their parameters, with "
                             "; between them. Those in perfect_recall(...) are "
                             "solved as if their players forgot nothing.")
_SOLVERS = flags.DEFINE_string(
    "solvers", ",".join([*_THESIS, *_SINCE]), "Solvers, with , between them "
    "and their arguments in brackets: cfr,dcfr(alpha=1.5,beta=-inf,gamma=2).")
_ITERATIONS = flags.DEFINE_integer("iterations", 8192, "Measure at 32, 64, "
                                   "..., and at this many iterations.",
                                   lower_bound=1)
_AT = flags.DEFINE_list("at", None, "Measure after these numbers of iterations "
                        "instead, such as 100,1000,5000.")
_AT_SECONDS = flags.DEFINE_list(
    "at_seconds", None, "Measure after these seconds of iterating instead, "
    "such as 1,10,60.")
_FOLDER = flags.DEFINE_string("folder", "convergence", "Save everything to "
                              "this folder.")
_ENGINE = flags.DEFINE_enum("engine", "local", jobs.ENGINES, "Where jobs run: "
                            "on this machine or on a Ray cluster.")
_WORKERS = flags.DEFINE_integer("workers", None, "How many jobs run at a time "
                                "on this machine. Default: one on each core.",
                                lower_bound=1)
_DRAW = flags.DEFINE_bool("draw", True, "Draw the pictures; they need "
                          "matplotlib.")


def chosen_games():
  """Returns {name of the picture: list of games}.

  The names are those that OpenSpiel gives the games, however they were written.
  """
  pictures = {}
  groups = _PRESET.value or ([] if _GAMES.value else ["small"])
  for name in groups:
    if name not in {**_GROUPS, **PRESETS}:
      raise ValueError(f"--preset={name}: must be of "
                       f"{', '.join([*_GROUPS, *PRESETS])}")
    for preset in _GROUPS.get(name, [name]):
      pictures[preset] = PRESETS[preset]
  if _GAMES.value is not None:
    games = [name.strip() for name in _GAMES.value.split(";") if name.strip()]
    if not games:
      raise ValueError(f"--games={_GAMES.value}: must be at least one game")
    for name in games:
      if "," in re.sub(r"\(.*\)", "", name, flags=re.DOTALL):
        raise ValueError(f"--games={name}: must be games with ; between them, "
                         "not commas")
    with binary.errors_of("games"):
      pictures["games"] = list(dict.fromkeys(
          convergence.load_game(name).name for name in games))
  return pictures


def chosen_points():
  """Returns {"iterations" or "seconds": list}, when to measure."""
  if _AT.value is not None and _AT_SECONDS.value is not None:
    raise ValueError("--at, --at_seconds: must not both be given")
  if _AT_SECONDS.value is not None:
    return {"seconds": binary.positive_numbers(_AT_SECONDS)}
  if _AT.value is not None:
    return {"iterations": binary.positive_numbers(_AT, int)}
  last = _ITERATIONS.value
  doubled = (_FIRST * 2**power for power in itertools.count())
  return {"iterations": [*itertools.takewhile(lambda x: x < last, doubled),
                         last]}


def _is_near(measured, seconds):
  """Returns whether a `Measurement` is as near to a time as can be."""
  iteration = measured.seconds / max(measured.iteration, 1)
  return abs(measured.seconds - seconds) <= _LATE * seconds + 2 * iteration


def _is_other():
  """Returns the ValueError for a file that no study has written."""
  return ValueError(f"--folder={_FOLDER.value}: its convergence.csv is of "
                    "another study; it must have the columns "
                    f"{','.join(_COLUMNS)}")


class Table:
  """What was measured, in a file that always is whole.

  Args:
    path: of the CSV file.
  """

  def __init__(self, path):
    self.path = path
    self._cells = {}  # (game, solver, parameters): list of Measurement
    if os.path.exists(path):
      try:
        with open(path, newline="", encoding="utf-8") as file:
          self._read(csv.DictReader(file))
      except (csv.Error, UnicodeDecodeError):
        raise _is_other() from None

  def _read(self, reader):
    if tuple(reader.fieldnames or ()) != _COLUMNS:
      raise _is_other()
    for line in reader:
      try:
        key = tuple(line[name] for name in ("game", "solver", "parameters"))
        measured = convergence.Measurement(
            int(line["iteration"]), *(float(line[name]) for name in (
                "seconds", "exploitability", "value")))
        if not all(map(math.isfinite, measured)):
          raise ValueError
      except (TypeError, ValueError):
        raise ValueError(
            f"--folder={_FOLDER.value}: line {reader.line_num} of its "
            "convergence.csv must have a number in each of the columns "
            "iteration, seconds, exploitability and value") from None
      self._cells.setdefault(key, []).append(measured)

  def has(self, key, points):
    """Returns whether a job was measured at all points.

    Args:
      key: tuple of str, (game, solver, parameters).
      points: {"iterations" or "seconds": list}, when to measure.
    """
    measured = self._cells.get(key, [])
    if "seconds" in points:
      return all(any(_is_near(point, seconds) for point in measured)
                 for seconds in points["seconds"])
    return set(points["iterations"]) <= {point.iteration for point in measured}

  def add(self, key, measured):
    """Adds the measurements of a job; those at other points stay."""
    new = {point.iteration: point for point in measured}
    old = {point.iteration: point for point in self._cells.get(key, [])}
    self._cells[key] = [point for _, point in sorted({**old, **new}.items())]
    self._write()

  def _write(self):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for (game, solver, parameters), measured in sorted(self._cells.items()):
      for point in measured:
        writer.writerow([solver, parameters, game, point.iteration,
                         f"{point.seconds:.6f}", f"{point.exploitability:.9g}",
                         f"{point.value:.9g}"])
    with binary.replacing(self.path) as file:
      file.write(text.getvalue().encode())

  def curves(self, game, solvers):
    """Returns {str(solver): list of Measurement} of a game."""
    curves = {str(solver): self._cells.get(
        (game, solver.name, solver.parameters)) for solver in solvers}
    return {name: curve for name, curve in curves.items() if curve}


def run_jobs(games, solvers, points, table):
  """Measures all that is missing; returns a list of str, what failed."""
  arguments = points.get("iterations"), points.get("seconds")
  planned = {}  # Job.name: key in the table
  job_list = []
  for game in games:
    missing = [solver for solver in solvers if not table.has(
        (game, solver.name, solver.parameters), points)]
    memory = convergence.estimated_memory(game) if missing else 0
    for solver in missing:
      name = f"{solver} on {game}"
      planned[name] = game, solver.name, solver.parameters
      job_list.append(jobs.Job(name, (game, str(solver), *arguments), memory))
  errors = []
  running = jobs.run(convergence.measure, job_list, _ENGINE.value,
                     _WORKERS.value)
  with (contextlib.closing(running) as outcomes,
        tqdm.tqdm(total=len(job_list), unit="job", disable=None) as bar):
    for job, result, error in outcomes:
      if error:
        errors.append(f"{job.name}: {error.removeprefix(job.name + ': ')}")
      else:
        table.add(planned[job.name], result)
      bar.update()
  print(f"{len(job_list) - len(errors)} jobs done, "
        f"{len(games) * len(solvers) - len(job_list)} were done before")
  if len(errors) < len(job_list):
    print(f"wrote {table.path}")
  return errors


def main(_):
  pictures = chosen_games()
  games = list(dict.fromkeys(itertools.chain(*pictures.values())))
  with binary.errors_of("solvers"):
    solvers = [convergence.solver_name(name) for name in
               convergence.split_solvers(_SOLVERS.value)]
    if not solvers:
      raise ValueError("must be at least one")
    for solver in solvers:
      convergence.make_solver(str(solver), "kuhn_poker")
  # A solver looks the same in the pictures of all studies.
  names = [convergence.solver_name(name) for name in (*_THESIS, *_SINCE)]
  points = chosen_points()
  if "iterations" in points:
    solvers, names = (
        [convergence.with_plan(solver, points["iterations"][-1])
         for solver in group] for group in (solvers, names))
  names = list(dict.fromkeys(map(str, (*names, *solvers))))
  jobs.check_engine(_ENGINE.value)
  if _DRAW.value:
    figures.check_matplotlib(_DRAW)
  binary.make_folder(_FOLDER)
  with ctrl_c.raised(), binary.holding(_FOLDER, "study"):
    table = Table(os.path.join(_FOLDER.value, "convergence.csv"))
    errors = run_jobs(games, solvers, points, table)
    for name, panels in pictures.items() if _DRAW.value else ():
      curves = {game: table.curves(game, solvers) for game in panels}
      study_panels.draw(
          {game: lines for game, lines in curves.items() if lines}, names,
          "seconds" in points, os.path.join(_FOLDER.value, f"{name}.png"))
  if errors:
    raise ValueError(f"{len(errors)} of {len(games) * len(solvers)} jobs "
                     "failed: " + "; ".join(errors))
  return 0


if __name__ == "__main__":
  binary.run(main)
