"""Times the solvers for four-player Dudo: table 2 of Gendre & Kaneko (2019).

The speed of PFSI depends on how sharp the strategies are, so PFSI trains for
--warm_up_seconds first. The table shows iterations a second, the memory
that the solver takes, and the paper's numbers (in Python, on one core).
"""

from dudo_spiel_examples.support import binary

import time

from absl import flags

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import pass_through
from dudo_spiel.algorithms import pfsi
from dudo_spiel.algorithms import simulation

_GAME = flags.DEFINE_string("game", "dudo_single_round", "The game.")
_ABSTRACTION = flags.DEFINE_enum("abstraction", "wait_type_recall",
                                 pfsi.ABSTRACTIONS, "What players remember.")
_SOLVERS = flags.DEFINE_list(
    "solvers", ["FSI", "PFSI-4", "PFSI-1", "PPT", "MCPT"], "Which solvers to "
    "measure.")
_WARM_UP = flags.DEFINE_float(
    "warm_up_seconds", 300.0, "Seconds that PFSI trains before it is measured.",
    lower_bound=0.0)
_SECONDS = flags.DEFINE_float("seconds", 10.0, "Seconds per measurement.",
                              lower_bound=0.0)
_THREADS = flags.DEFINE_integer("num_threads", None, "Threads. Default: all.",
                                lower_bound=1)

_MAKERS = {
    "FSI": pfsi.FSISolver,
    "PFSI-4": pfsi.PFSISolver,
    "PFSI-1": lambda game, **kwargs: pfsi.PFSISolver(game, depth=1, **kwargs),
    "PPT": pass_through.PrunedPassThroughSolver,
    "MCPT": pass_through.MonteCarloPassThroughSolver,
}
_GAMES = 100_000  # of the simulator, times the players
_PAPER = {"FSI": 357, "PFSI-4": 63_774, "PFSI-1": 158_889, "PPT": 419_709,
          "MCPT": 589_974}  # an hour, wait_type_recall


def measure(name, game):
  """Returns a solver's iterations a second, all its iterations, its memory."""
  solver = _MAKERS[name](game, abstraction=_ABSTRACTION.value,
                         num_threads=_THREADS.value)
  solver.run(iterations=2)  # may compile kernels
  if name.startswith("PFSI"):
    solver.run(seconds=_WARM_UP.value)
  first, begin = solver.iteration, time.perf_counter()
  solver.run(iterations=1)
  solver.run(seconds=_SECONDS.value)
  seconds = time.perf_counter() - begin
  return ((solver.iteration - first) / seconds, solver.iteration,
          solver.memory_bytes)


def simulated(game):
  """Returns how many games a second the simulator plays."""
  games = _GAMES * game.num_players()
  lineup = ["heuristic"] * game.num_players()
  simulation.play_games(game, lineup, 2 * game.num_players())  # may compile
  begin = time.perf_counter()
  simulation.play_games(game, lineup, games, num_threads=_THREADS.value)
  return games / (time.perf_counter() - begin)


def main(_):
  unknown = set(_SOLVERS.value) - set(_MAKERS)
  if unknown:
    raise ValueError(f"--solvers={','.join(_SOLVERS.value)}: must be among "
                     f"{', '.join(_MAKERS)}")
  game = binary.load_game(_GAME.value)
  pfsi.abstract_game(game)
  print(f"{_GAME.value}, {_ABSTRACTION.value}")
  print(f"{'solver':<8}{'iterations':>12}{'a second':>10}{'to FSI':>8}"
        f"{'GB':>7}   paper: a second, to FSI")
  rates = {}
  for name in _SOLVERS.value:
    rates[name], iterations, size = measure(name, game)
    ratio = f"{rates[name] / rates['FSI']:.1f}" if "FSI" in rates else ""
    print(f"{name:<8}{iterations:>12,}{rates[name]:>10.1f}{ratio:>8}"
          f"{size / 1e9:>7.2f}   {_PAPER[name] / 3600:.1f}, "
          f"{_PAPER[name] / _PAPER['FSI']:.0f}", flush=True)
  print(f"simulator: {simulated(game):,.0f} games a second, heuristic bots")


if __name__ == "__main__":
  binary.run(main)
