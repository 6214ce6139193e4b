"""Trains the solvers for four-player Dudo and lets them play each other.

This is table 3 of Gendre & Kaneko (2019). Each solver trains for --seconds.
Then every pairing plays three against one, two against two and one against
three, in all rotations of the seats. A rate is the mean return of the left
solver's players in percent; even play is 25. The last columns are the paper's
rates, after 18 to 60 hours of training. The odds bot, which learns nothing,
plays like a solver, too; --solvers= lets it play without any.

Players learn from opponents who err in one of ten moves, and PFSI prunes what
only such errors lead to. The paper's settings are --tremble=0
--reach_threshold=1e-20 --action_threshold=1e-4.

With --folder the solvers, their policies and a log are saved. The same command
then continues where it stopped, or trains further with more --seconds.
`play_dudo.py` plays the policies, and `plot_tournament.py` draws the log.

Solvers do not need each other. --workers=3 trains three at a time, and
--engine=ray trains them on a Ray cluster, whose machines must share --folder.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import contextlib
import csv
import io
import itertools
import os
import tempfile
import time
from typing import NamedTuple

from absl import flags
import numba
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import jobs
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import simulation

_GAME = flags.DEFINE_string("game", "dudo_single_round", "The game.")
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Seconds to train each solver.",
                              lower_bound=0.0)
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 400_000, "Games per pairing.", lower_bound=100)
_SOLVERS = flags.DEFINE_list(
    "solvers", ["PPT+WT", "MCPT+NR", "FSI+WT", "PFSI+T", "PFSI+WT",
                "PFSI-dynamic+WT"], "Which solvers to train.")
_DYNAMIC = flags.DEFINE_integer("dynamic", 5000, "PFSI-dynamic: iterations "
                                "until it prunes nothing.", lower_bound=1)
_REACH = flags.DEFINE_float("reach_threshold", 1e-4, "PFSI: may prune states "
                            "reached less often than this.", lower_bound=0.0)
_ACTION = flags.DEFINE_float(
    "action_threshold", 0.06, "PFSI: in pruned states, follow only actions "
    "likelier than this.", lower_bound=0.0, upper_bound=1.0)
_TREMBLE = flags.DEFINE_float(
    "tremble", 0.1, "Probability that a player acts at random during training.",
    lower_bound=0.0, upper_bound=0.9)
_GAMMA = flags.DEFINE_float("gamma", 2.0, "Iteration t weighs t^gamma in "
                            "the averages.", lower_bound=0.0, upper_bound=5.0)
_RESPONSE = flags.DEFINE_integer(
    "response_deals", 0, "Also let a responder play against each policy, on "
    "this many deals; 0: skip.", lower_bound=0)
_POINTS = flags.DEFINE_integer("points", 10, "Lines of the log per solver.",
                               lower_bound=1)
_THREADS = flags.DEFINE_integer("num_threads", None, "Threads of each solver. "
                                "Default: all, shared by the workers.",
                                lower_bound=1)
_ENGINE = flags.DEFINE_enum("engine", "local", jobs.ENGINES, "Where solvers "
                            "train: on this machine or on a Ray cluster.")
_WORKERS = flags.DEFINE_integer("workers", 1, "How many solvers train at a "
                                "time on this machine.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals and games.",
                             lower_bound=0, upper_bound=2**63 - 1)
_FOLDER = flags.DEFINE_string("folder", None, "Save everything to this folder.")

_PROCESS_BYTES = 300_000_000  # Python and the kernels
_PAPERS_BOTS = ("random", "heuristic")
_ODDS_BOT = "odds"
_COLUMNS = ("solver", "seconds", "iterations", "untrained", "random",
            "heuristic")
_ABSTRACTIONS = {"NR": "no_recall", "T": "type_recall",
                 "WT": "wait_type_recall"}


class Options(NamedTuple):
  """What a job needs to know of the flags, which its process does not see."""
  game: str
  seconds: float
  points: int
  games: int
  dynamic: int
  reach_threshold: float
  action_threshold: float
  tremble: float
  gamma: float
  seed: int
  threads: int


def pfsi_solver(game, options, **kwargs):
  """Returns a `PFSISolver` with the thresholds of the options."""
  return pfsi.PFSISolver(game, **{
      "reach_threshold": options.reach_threshold,
      "action_threshold": options.action_threshold, **kwargs})


def dynamic_solver(game, options, **kwargs):
  """Returns a `PFSISolver` that prunes less and less."""
  return pfsi_solver(game, options, reach_threshold=pfsi.PruningSchedule(
      options.dynamic), **kwargs)


_MAKERS = {
    "FSI": lambda game, _, **kwargs: pfsi.FSISolver(game, **kwargs),
    "PFSI": pfsi_solver,
    "PFSI-1": lambda game, options, **kwargs: pfsi_solver(
        game, options, depth=1, **kwargs),
    "PFSI-dynamic": dynamic_solver,
    "PPT": lambda game, _, **kwargs: pass_through.PrunedPassThroughSolver(
        game, **kwargs),
    "MCPT": lambda game, _, **kwargs: pass_through.MonteCarloPassThroughSolver(
        game, **kwargs),
}
_PAPERS_GAME = {"players": 4, "numdice": 5, "dice_sides": 6, "claim_window": 18,
                "max_amount": 11}
# Table 3: (left, right) -> percent in 3v1, 2v2 and 1v3.
_PAPER = {
    ("PPT+WT", "random"): (26.29, 26.75, 27.30),
    ("MCPT+NR", "random"): (24.09, 23.09, 21.99),
    ("FSI+WT", "random"): (26.37, 27.24, 28.45),
    ("PFSI+T", "random"): (25.82, 26.80, 28.27),
    ("PFSI+WT", "random"): (26.12, 27.00, 27.85),
    ("PPT+WT", "heuristic"): (26.64, 27.00, 26.78),
    ("MCPT+NR", "heuristic"): (23.83, 22.28, 19.35),
    ("FSI+WT", "heuristic"): (26.42, 27.33, 27.81),
    ("PFSI+T", "heuristic"): (26.05, 26.77, 27.40),
    ("PFSI+WT", "heuristic"): (26.42, 27.00, 27.85),
    ("PPT+WT", "FSI+WT"): (25.14, 25.01, 24.82),
    ("MCPT+NR", "FSI+WT"): (23.00, 20.45, 15.78),
    ("PFSI+T", "FSI+WT"): (24.22, 23.36, 22.38),
    ("PFSI+WT", "FSI+WT"): (24.61, 24.15, 23.55),
    ("PPT+WT", "PFSI+WT"): (25.70, 26.21, 26.60),
    ("MCPT+NR", "PFSI+WT"): (22.49, 19.50, 14.35),
    ("FSI+WT", "PFSI+WT"): (25.48, 25.85, 26.16),
}


def check_solver(name):
  """Raises a ValueError for a solver that there is not."""
  kind, _, abstraction = name.partition("+")
  if kind not in _MAKERS or abstraction not in _ABSTRACTIONS:
    raise ValueError(f"--solvers={name}: must be one of "
                     f"{', '.join(_MAKERS)}, then + and one of "
                     f"{', '.join(_ABSTRACTIONS)}")


def make_solver(name, game, options):
  """Returns the solver called, for example, "FSI+WT"."""
  kind, _, abstraction = name.partition("+")
  return _MAKERS[kind](game, options, abstraction=_ABSTRACTIONS[abstraction],
                       tremble=options.tremble, gamma=options.gamma,
                       seed=options.seed, num_threads=options.threads)


class Log:
  """How the training goes: a line for each point, in a file.

  Args:
    path: of the file.
  """

  def __init__(self, path):
    self._path = path
    self.lines = []
    if os.path.exists(path):
      with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        self.lines = list(reader)
        if tuple(reader.fieldnames or ()) != _COLUMNS:
          raise ValueError(f"--folder={os.path.dirname(path)}: its "
                           f"{os.path.basename(path)} must have the columns "
                           f"{','.join(_COLUMNS)}")

  def of(self, name):
    """Returns the lines of a solver."""
    return [line for line in self.lines if line["solver"] == name]

  def replace(self, name, lines):
    """Has only these lines of a solver; new ones come last."""
    self.lines = [line for line in self.lines
                  if line["solver"] != name or line in lines]
    self.lines += [line for line in lines if line not in self.lines]
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS)
    writer.writeheader()
    writer.writerows(self.lines)
    with binary.replacing(self._path) as file:
      file.write(text.getvalue().encode())


def own_log(folder, name):
  """Returns the path of the log that a solver has while it trains."""
  return os.path.join(folder, f"{name}.log.csv")


def measure(game, policy, options):
  """Returns (untrained, random, heuristic) for a line of the log."""
  results = [simulation.play_games(
      game, [policy] + [name] * (game.num_players() - 1), options.games,
      options.seed, options.threads) for name in _PAPERS_BOTS]
  return (results[1].untrained[0], *(result.rates[0][0] for result in results))


def train(name, options, folder, is_kept, lines):
  """Trains a solver and saves its average policy; this is a job.

  Args:
    name: of the solver.
    options: the `Options`.
    folder: where its files are.
    is_kept: whether the folder is kept, so that the solver is saved too.
    lines: list of dict, the solver's lines of the log so far.

  Returns:
    What to print about it.
  """
  game = pyspiel.load_game(options.game)
  solver = make_solver(name, game, options)
  path = os.path.join(folder, f"{name}.solver.npz")
  if os.path.exists(path):
    solver.load(path)
  log = Log(own_log(folder, name))
  # What the log has after the last save of the solver is forgotten.
  lines = [line for line in log.of(name) or lines
           if int(line["iterations"]) <= solver.iteration]
  seconds = max((float(line["seconds"]) for line in lines), default=0.0)
  if not seconds:
    solver.run(iterations=2)  # may compile kernels
  while True:
    wanted = min(options.seconds / options.points, options.seconds - seconds)
    if wanted <= 0.0:
      break
    begin = time.perf_counter()
    solver.run(seconds=wanted)
    seconds += time.perf_counter() - begin
    if is_kept:
      solver.save(path)
    rates = measure(game, solver.average_policy(), options)
    lines.append(dict(zip(_COLUMNS, (
        name, round(seconds, 3), solver.iteration,
        *(round(float(x), 6) for x in rates)))))
    log.replace(name, lines)
  log.replace(name, lines)
  policy = solver.average_policy()
  policy.save(os.path.join(folder, f"{name}.npz"))
  return (f"{name}: {solver.iteration:,} iterations in {seconds:.0f} s; "
          f"{measure(game, policy, options)[0]:.2%} of the states met against "
          "heuristic bots are untrained")


def train_all(game, options, folder, is_kept):
  """Trains all solvers; returns {name: policy}.

  Args:
    game: the game.
    options: the `Options`.
    folder: where their files are.
    is_kept: whether the folder is kept.
  """
  log = Log(os.path.join(folder, "log.csv"))
  for name in _SOLVERS.value:
    move_log(log, folder, name)  # of a run that was stopped
  job_list = [jobs.Job(name, (name, options, folder, is_kept, log.of(name)),
                       _PROCESS_BYTES + 2 * make_solver(name, game,
                                                        options).memory_bytes,
                       options.threads) for name in _SOLVERS.value]
  try:
    with contextlib.closing(jobs.run(train, job_list, _ENGINE.value,
                                     _WORKERS.value)) as outcomes:
      for job, result, error in outcomes:
        if error:
          raise ValueError(f"{job.name}: {error.removeprefix(job.name + ': ')}")
        move_log(log, folder, job.name)
        print(result, flush=True)
  finally:
    for name in _SOLVERS.value:
      move_log(log, folder, name)
  return {name: policies.load_policy(os.path.join(folder, f"{name}.npz"))
          for name in _SOLVERS.value}


def move_log(log, folder, name):
  """Moves what a solver has logged to the log of all."""
  path = own_log(folder, name)
  if os.path.exists(path):
    log.replace(name, Log(path).of(name))
    os.remove(path)


def print_response(game, name, policy):
  """Prints what a responder in each seat gets against a policy."""
  rates = [exploitability.best_response_rate(
      policy, seat, num_deals=_RESPONSE.value, seed=_SEED.value,
      num_threads=_THREADS.value) for seat in range(game.num_players())]
  mean = sum(result.rate for result in rates) / len(rates)
  print(f"{name:>16}   " + "".join(
      f"{100 * r.rate:8.2f} ± {100 * r.error:.2f}" for r in rates) +
        f"   mean {100 * mean:.2f}", flush=True)


def print_pairing(game, players, left, right):
  """Prints the rates of one pairing, for each number of left players."""
  cells = []
  seats = game.num_players()
  for many in range(seats - 1, 0, -1):
    lineup = [players[left]] * many + [players[right]] * (seats - many)
    rate, error = simulation.play_games(
        game, lineup, _NUM_GAMES.value, _SEED.value, _THREADS.value).rates[0]
    cells.append(f"{100 * rate:6.2f} ± {100 * error:.2f}")
  is_papers = game.get_parameters() in ({}, _PAPERS_GAME)
  paper = _PAPER.get((left, right), ()) if is_papers else ()
  print(f"{left:>16} v {right:<16}" + "".join(f"{c:>16}" for c in cells) +
        "   " + " ".join(f"{rate:.2f}" for rate in paper), flush=True)


def main(_):
  game = binary.load_game(_GAME.value)
  if _NUM_GAMES.value % game.num_players():
    raise ValueError(f"--num_games={_NUM_GAMES.value}: must be a multiple of "
                     f"{game.num_players()}")
  pfsi.abstract_game(game)
  if _RESPONSE.value == 1:
    raise ValueError("--response_deals=1: must be 0 or at least 2")
  for name in _SOLVERS.value:
    check_solver(name)
  jobs.check_engine(_ENGINE.value)
  if _ENGINE.value == "ray" and not _FOLDER.value:
    raise ValueError("--engine=ray: needs a --folder that all machines share")
  binary.make_folder(_FOLDER)
  threads = _THREADS.value or max(
      numba.config.NUMBA_NUM_THREADS // _WORKERS.value, 1)
  options = Options(
      _GAME.value, _SECONDS.value, _POINTS.value, _NUM_GAMES.value,
      _DYNAMIC.value, _REACH.value, _ACTION.value, _TREMBLE.value, _GAMMA.value,
      _SEED.value, threads)
  with ctrl_c.raised(), binary.holding(_FOLDER, "tournament"), (
      contextlib.nullcontext(_FOLDER.value) if _FOLDER.value else
      tempfile.TemporaryDirectory()) as folder:
    players = train_all(game, options, os.path.abspath(folder),
                        _FOLDER.value is not None)
  names = list(players)
  players.update({name: name for name in (*_PAPERS_BOTS, _ODDS_BOT)})
  seats = game.num_players()
  heads = [f"{many}v{seats - many}" for many in range(seats - 1, 0, -1)]
  print(f"\n{'percent':>16}   {'':<16}" + "".join(f"{h:>16}" for h in heads) +
        "   paper (full size)")
  for right in _PAPERS_BOTS:
    for left in [*names, _ODDS_BOT]:
      print_pairing(game, players, left, right)
  for right, left in itertools.permutations(names, 2):
    if (left, right) in _PAPER or names.index(left) < names.index(right) and (
        right, left) not in _PAPER:
      print_pairing(game, players, left, right)
  for right in names:
    print_pairing(game, players, _ODDS_BOT, right)
  if _RESPONSE.value:
    print("\nA responder who knows the policy gets at least, as player "
          f"{', '.join(map(str, range(1, seats + 1)))}:")
    for name in names:
      print_response(game, name, players[name])
  if _FOLDER.value:
    print(f"wrote the solvers, their policies and log.csv to {_FOLDER.value}")


if __name__ == "__main__":
  binary.run(main)
