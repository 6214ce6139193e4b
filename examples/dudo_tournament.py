"""Trains the solvers for four-player Dudo and lets them play each other.

This is table 3 of Gendre & Kaneko (2019). Each solver trains for --seconds.
Then every pairing plays three against one, two against two and one against
three, in all rotations of the seats. A rate is the mean return of the left
solver's players in percent; even play is 25. The last columns are the paper's
rates, after 18 to 60 hours of training.

Players learn from opponents who err in one of ten moves, and PFSI prunes what
only such errors lead to. The paper's settings are --tremble=0
--reach_threshold=1e-20 --action_threshold=1e-4.

With --folder the solvers, their policies and a log are saved. The same command
then continues where it stopped, or trains further with more --seconds.
`play_dudo.py` plays the policies, and `plot_tournament.py` draws the log.
"""

import binary

import csv
import itertools
import os
import time

from absl import flags

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import simulation

_GAME = flags.DEFINE_string("game", "dudo_single_round", "The game.")
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Seconds to train each solver.",
                              lower_bound=0.0)
_GAMES = flags.DEFINE_integer("games", 400_000, "Games per pairing.",
                              lower_bound=100)
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
_THREADS = flags.DEFINE_integer("threads", None, "Threads. Default: all.",
                                lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals and games.",
                             lower_bound=0, upper_bound=2**63 - 1)
_FOLDER = flags.DEFINE_string("folder", None, "Folder to save everything to.")

_COLUMNS = ("solver", "seconds", "iterations", "untrained", "random",
            "heuristic")
_ABSTRACTIONS = {"NR": "no_recall", "T": "type_recall",
                 "WT": "wait_type_recall"}


def pfsi_solver(game, **kwargs):
  """Returns a `PFSISolver` with the thresholds of the flags."""
  return pfsi.PFSISolver(game, **{
      "reach_threshold": _REACH.value, "action_threshold": _ACTION.value,
      **kwargs})


_MAKERS = {
    "FSI": pfsi.FSISolver,
    "PFSI": pfsi_solver,
    "PFSI-1": lambda game, **kwargs: pfsi_solver(game, depth=1, **kwargs),
    "PFSI-dynamic": lambda game, **kwargs: pfsi_solver(
        game, reach_threshold=pfsi.PruningSchedule(_DYNAMIC.value), **kwargs),
    "PPT": pass_through.PrunedPassThroughSolver,
    "MCPT": pass_through.MonteCarloPassThroughSolver,
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


def make_solver(name, game):
  """Returns the solver called, for example, "FSI+WT"."""
  kind, _, abstraction = name.partition("+")
  return _MAKERS[kind](game, abstraction=_ABSTRACTIONS[abstraction],
                       tremble=_TREMBLE.value, gamma=_GAMMA.value,
                       seed=_SEED.value, num_threads=_THREADS.value)


class Log:
  """How the training goes: a line for each point, in a file if there is one."""

  def __init__(self):
    self._path = _FOLDER.value and os.path.join(_FOLDER.value, "log.csv")
    self.lines = []
    if self._path and os.path.exists(self._path):
      with open(self._path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        self.lines = list(reader)
        if tuple(reader.fieldnames or ()) != _COLUMNS:
          raise ValueError(f"--folder={_FOLDER.value}: its log.csv must have "
                           f"the columns {','.join(_COLUMNS)}")

  def add(self, line):
    """Adds a line: {column: value}."""
    self.lines.append(line)
    if self._path:
      with open(self._path + ".new", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS)
        writer.writeheader()
        writer.writerows(self.lines)
      os.replace(self._path + ".new", self._path)

  def go_back(self, name, iterations):
    """Forgets what came after; returns for how long the solver had trained."""
    self.lines = [line for line in self.lines if line["solver"] != name or
                  int(line["iterations"]) <= iterations]
    return max((float(line["seconds"]) for line in self.lines
                if line["solver"] == name), default=0.0)


def measure(game, policy):
  """Returns (untrained, random, heuristic) for a line of the log."""
  results = [simulation.play_games(
      game, [policy] + [name] * (game.num_players() - 1), _GAMES.value,
      _SEED.value, _THREADS.value) for name in ("random", "heuristic")]
  return (results[1].untrained[0], *(result.rates[0][0] for result in results))


def train(name, game, log):
  """Trains a solver and returns its average policy."""
  solver = make_solver(name, game)
  path = _FOLDER.value and os.path.join(_FOLDER.value, f"{name}.solver.npz")
  if path and os.path.exists(path):
    solver.load(path)
  seconds = log.go_back(name, solver.iteration)
  if not seconds:
    solver.run(iterations=2)  # may compile kernels
  while True:
    wanted = min(_SECONDS.value / _POINTS.value, _SECONDS.value - seconds)
    if wanted <= 0.0:
      break
    begin = time.perf_counter()
    solver.run(seconds=wanted)
    seconds += time.perf_counter() - begin
    if path:
      solver.save(path)
    numbers = measure(game, solver.average_policy())
    log.add(dict(zip(_COLUMNS, (name, round(seconds, 3), solver.iteration,
                                *(round(float(x), 6) for x in numbers)))))
  policy = solver.average_policy()
  if path:
    policy.save(os.path.join(_FOLDER.value, f"{name}.npz"))
  print(f"{name}: {solver.iteration:,} iterations in {seconds:.0f} s; "
        f"{measure(game, policy)[0]:.2%} of the states met against heuristic "
        "bots are untrained", flush=True)
  return policy


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
    rate, error = simulation.play_games(game, lineup, _GAMES.value, _SEED.value,
                                       _THREADS.value).rates[0]
    cells.append(f"{100 * rate:6.2f} ± {100 * error:.2f}")
  is_papers = game.get_parameters() in ({}, _PAPERS_GAME)
  paper = _PAPER.get((left, right), ()) if is_papers else ()
  print(f"{left:>16} v {right:<16}" + "".join(f"{c:>16}" for c in cells) +
        "   " + " ".join(f"{rate:.2f}" for rate in paper), flush=True)


def main(_):
  game = binary.load_game(_GAME.value)
  if _GAMES.value % game.num_players():
    raise ValueError(f"--games={_GAMES.value}: must be a multiple of "
                     f"{game.num_players()}")
  pfsi.abstract_game(game)
  if _RESPONSE.value == 1:
    raise ValueError("--response_deals=1: must be 0 or at least 2")
  for name in _SOLVERS.value:
    check_solver(name)
  binary.make_folder(_FOLDER)
  log = Log()
  players = {name: train(name, game, log) for name in _SOLVERS.value}
  names = list(players)
  players.update({name: name for name in ("random", "heuristic")})
  seats = game.num_players()
  heads = [f"{many}v{seats - many}" for many in range(seats - 1, 0, -1)]
  print(f"\n{'percent':>16}   {'':<16}" + "".join(f"{h:>16}" for h in heads) +
        "   paper (full size)")
  for right in ("random", "heuristic"):
    for left in names:
      print_pairing(game, players, left, right)
  for right, left in itertools.permutations(names, 2):
    if (left, right) in _PAPER or names.index(left) < names.index(right) and (
        right, left) not in _PAPER:
      print_pairing(game, players, left, right)
  if _RESPONSE.value:
    print("\nA responder who knows the policy gets at least, in seat "
          f"{', '.join(map(str, range(seats)))}:")
    for name in names:
      print_response(game, name, players[name])
  if _FOLDER.value:
    print(f"wrote the solvers, their policies and log.csv to {_FOLDER.value}")


if __name__ == "__main__":
  binary.run(main)
