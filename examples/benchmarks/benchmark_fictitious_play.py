"""Times iterations of fictitious play, OpenSpiel's XFP and our CFR.

All solvers run in turn in one process, on one thread, so a noisy machine
disturbs them alike. Ratios are medians over the repeats. Times are processor
time, and compilation is not timed.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import measuring

import statistics
import time

from absl import flags
from open_spiel.python.algorithms import fictitious_play as open_spiel

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import fictitious_play

_GAMES = flags.DEFINE_multi_string(
    "game", ["leduc_poker", "neumann_poker(num_ranks=100)"],
    "A game to measure, with its parameters")
_REPEATS = flags.DEFINE_integer(
    "repeats", 7, "How often to measure.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.3, "Seconds per measurement.",
                              lower_bound=0.0)
_PEER_NODES = flags.DEFINE_integer("peer_nodes", 20_000, "Leave OpenSpiel's "
                                   "solver out of games with more histories.",
                                   lower_bound=0)

_OURS = {
    "BDFP": lambda game: fictitious_play.BDFPSolver(game),
    "BDFP, alternating": lambda game: fictitious_play.BDFPSolver(
        game, alternating=True),
    "BDFP, averaged": lambda game: fictitious_play.BDFPSolver(game,
                                                              average=True),
    "BDFP, perturbed": lambda game: fictitious_play.BDFPSolver(game,
                                                               epsilon=0.01),
    "XFP": lambda game: fictitious_play.XFPSolver(game),
    "CFR": lambda game: cfr.CFRSolver(game, alternating=False),
    "CFR, alternating": lambda game: cfr.CFRSolver(game),
}
_PEER = "OpenSpiel XFP"


def measure(game, num_nodes):
  """Returns {name: [repeat] iterations a second}.

  Args:
    game: the game.
    num_nodes: how many histories it has.
  """
  runs = {name: make(game).run for name, make in _OURS.items()}
  if num_nodes <= _PEER_NODES.value:
    runs[_PEER] = measuring.repeated(open_spiel.XFPSolver(game).iteration)
  rates = {name: [] for name in runs}
  for _ in range(_REPEATS.value):
    for name, run in runs.items():
      rates[name].append(measuring.rate(run, _SECONDS.value,
                                        clock=time.process_time))
  return rates


def ratio(rates, name, peer):
  """Returns the median ratio of two rates, as text; a dash without a peer."""
  if peer not in rates:
    return "-"
  value = statistics.median(a / b for a, b in zip(rates[name], rates[peer]))
  return f"{value:,.2f}"


def main(_):
  games = {name: binary.load_game(name) for name in _GAMES.value}
  compiled = {name: cfr.CFRSolver(game).compiled
              for name, game in games.items()}
  for name, game in games.items():
    rates = measure(game, compiled[name].tree.num_nodes)
    print(f"{name} ({compiled[name].form_name} form)")
    print(f"  {'':<18} {'a second':>12} {'times ' + _PEER:>20} "
          f"{'times CFR':>10}")
    for kind, values in rates.items():
      print(f"  {kind:<18} {statistics.median(values):12,.1f} "
            f"{ratio(rates, kind, _PEER):>20} {ratio(rates, kind, 'CFR'):>10}")


if __name__ == "__main__":
  binary.run(main)
