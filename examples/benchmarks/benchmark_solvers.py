"""Times the CFR solvers, OpenSpiel's C++ ones and LiteEFG, if installed.

All solvers run in turn in one process, so a noisy machine disturbs them alike.
Ratios are medians over the repeats. Compiling a game is timed. Compiling
kernels is not: it happens once on a machine.

With --plot it only draws exploitability by seconds.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures
from dudo_spiel_examples.support import measuring

import statistics
import time

from absl import flags
import pyspiel

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.tabular import compiled_game

_GAMES = flags.DEFINE_multi_string("game", ["leduc_poker", "liars_dice"],
                                   "A game to measure, with its parameters")
_REPEATS = flags.DEFINE_integer(
    "repeats", 5, "How often to measure.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.5, "Seconds per measurement.",
                              lower_bound=0.0)
_PLOT = flags.DEFINE_string("plot", None, "Draw the last game to this PNG file "
                            "instead of measuring.")
_PLOT_SECONDS = flags.DEFINE_float("plot_seconds", 60.0, "Seconds per line of "
                                   "the plot.", lower_bound=0.1)

_LINES = {  # the solver, and how its line looks
    "OpenSpiel's CFR": (pyspiel.CFRSolver, "tab:blue", ":"),
    "OpenSpiel's CFR+": (pyspiel.CFRPlusSolver, "tab:red", ":"),
    "dudo_spiel's CFR": (cfr.CFRSolver, "tab:blue", "-"),
    "dudo_spiel's CFR+": (cfr.CFRPlusSolver, "tab:red", "-"),
}


def lite_efg(game):
  """Returns LiteEFG's run(iterations) of CFR, or None if not installed."""
  try:
    import LiteEFG
    from LiteEFG.baselines import CFR
  except ImportError:
    return None
  environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate")
  graph = CFR.graph()
  environment.set_graph(graph)
  return measuring.repeated(lambda: graph.update_graph(environment))


def compare_iterations(game):
  """Prints iterations a second of CFR, ours and the peers'."""
  peer = pyspiel.CFRSolver(game)
  runs = {"float64": cfr.CFRSolver(game).run,
          "float32": cfr.CFRSolver(game, dtype="float32").run,
          "LiteEFG": lite_efg(game)}
  if compiled_game.compile_game(game).can_use_threads:
    runs["float64, 2 threads"] = cfr.CFRSolver(game, num_threads=2).run
  rates = {name: [] for name, run in runs.items() if run is not None}
  peer_rates = []
  for _ in range(_REPEATS.value):
    peer_rates.append(measuring.rate(
        measuring.repeated(peer.evaluate_and_update_policy), _SECONDS.value))
    for name, values in rates.items():
      values.append(measuring.rate(runs[name], _SECONDS.value))
  print(f"  iterations a second: pyspiel.CFRSolver "
        f"{statistics.median(peer_rates):,.1f}")
  for name, values in rates.items():
    ratio = statistics.median(own / other
                              for own, other in zip(values, peer_rates))
    print(f"    {name:<18} {statistics.median(values):12,.0f}   "
          f"{ratio:8,.1f} times pyspiel")


def compare_policies(game, iterations=10):
  """Prints both exploitabilities after the same number of iterations."""
  ours, theirs = cfr.CFRSolver(game), pyspiel.CFRSolver(game)
  ours.run(iterations)
  measuring.repeated(theirs.evaluate_and_update_policy)(iterations)
  average = theirs.average_policy()
  print(f"  NashConv after {iterations} iterations: {ours.nash_conv():.9f}, "
        f"pyspiel {pyspiel.nash_conv(game, average, True):.9f}")
  own, other = [], []
  for _ in range(_REPEATS.value):
    own.append(measuring.seconds_of(ours.nash_conv))
    other.append(measuring.seconds_of(pyspiel.nash_conv, game, average, True))
  ratio = statistics.median(b / a for a, b in zip(own, other))
  print(f"  time of nash_conv: {statistics.median(own) * 1e3:.3f} ms, "
        f"{ratio:,.0f} times faster than pyspiel")


def compare_compilation(game):
  """Prints the time to compile, and pyspiel's to construct and run ten."""
  own = statistics.median(
      measuring.seconds_of(compiled_game.CompiledGame, game) for _ in range(3))

  def construct():
    measuring.repeated(pyspiel.CFRSolver(game).evaluate_and_update_policy)(10)

  peer = statistics.median(measuring.seconds_of(construct) for _ in range(3))
  print(f"  time to compile: {own:.3f} s, {own / peer:.2g} times "
        "pyspiel.CFRSolver's construction and ten iterations")


def follow(make, name, game):
  """Returns ([seconds], [exploitability]) of a solver.

  The clock counts processor time. It runs while the solver is made, which here
  compiles the game, and while it iterates, not while the policy is measured.

  Args:
    make: returns the solver of a game.
    name: the game.
    game: the same, for measuring.
  """
  begin = time.process_time()
  solver = make(pyspiel.load_game(name))
  run = getattr(solver, "run",
                measuring.repeated(solver.evaluate_and_update_policy))
  seconds, gains, iterations = [0.0], [], 1.0
  while seconds[-1] < _PLOT_SECONDS.value:
    run(int(iterations))
    iterations *= 1.2
    seconds.append(time.process_time() - begin)
    gains.append(exploitability.exploitability(game, solver.average_policy()))
    begin = time.process_time() - seconds[-1]
  return seconds[1:], gains


def plot(name, path):
  """Draws exploitability by seconds."""
  game = binary.load_game(name)
  cfr.CFRSolver(game).run(1)  # compiles the kernels
  figure, axis = figures.subplots(figsize=(8, 4.5))
  for label, (make, color, style) in _LINES.items():
    seconds, gains = follow(make, name, game)
    print(f"{label:<18} exploitability {gains[-1]:.2e} after "
          f"{seconds[-1]:.1f} s", flush=True)
    axis.semilogy(seconds, gains, color=color, linestyle=style, linewidth=2)
    axis.annotate(label, (1, gains[-1]), (6, 0), va="center", color=color,
                  xycoords=("axes fraction", "data"),
                  textcoords="offset points")
  figures.set_logarithmic(axis, "x")
  axis.set(xlabel="CPU seconds since loading the game (kernels already "
           "compiled)",
           ylabel="exploitability (0 is perfect play)",
           title=f"Solving {name}: OpenSpiel's C++ and dudo_spiel")
  axis.grid(alpha=0.3)
  figures.save(figure, path)


def main(_):
  games = {name: binary.load_game(name) for name in _GAMES.value}
  figures.check_plot(_PLOT)
  if _PLOT.value:
    plot(_GAMES.value[-1], _PLOT.value)
    return
  for name, game in games.items():
    print(f"{name} ({compiled_game.compile_game(game).form_name} form)")
    compare_iterations(game)
    compare_policies(game)
    compare_compilation(game)


if __name__ == "__main__":
  binary.run(main)
