"""Times how long solvers take to an exploitability, ours and their peers.

The output is one Markdown table per game: iterations and seconds to each
target. Seconds are those of the processor, so that other programs matter
little. The clock runs while a solver iterates. It does not run while kernels
and games are compiled, nor while policies are measured. Peers are OpenSpiel's
CFR, CFR+ and external sampling MCCFR in C++, and those of LiteEFG and noregret,
if they are installed. All runs use one thread, one after the other.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import measuring

import contextlib
import io
import math
import time

from absl import flags
import pyspiel
import tqdm

from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms import exploitability

# By how much iterations grow from one measurement to the next: less when the
# exploitability is near the target.
_GROWTH, _GROWTH_NEAR = 1.2, 1.05
_NEAR = 3.0  # times the target
_PEERS = ("pyspiel CFR", "pyspiel CFR+", "pyspiel external sampling",
          "LiteEFG CFR", "LiteEFG CFR+", "LiteEFG DCFR", "noregret CFR",
          "noregret CFR+", "noregret DCFR", "noregret PCFR+")

_GAMES = flags.DEFINE_multi_string("game", ["leduc_poker", "liars_dice"],
                                   "A game to solve, with its parameters")
_SOLVERS = flags.DEFINE_string(
    "solvers", "cfr,cfr+,dcfr,dcfr+,pcfr+,apcfr+,pdcfr+,vad-cfr",
    "Our solvers, with , between them and their arguments in brackets: "
    "cfr,dcfr(alpha=1.5,beta=-inf,gamma=2).")
_PEER_NAMES = flags.DEFINE_list("peers", list(_PEERS), "Which peers.")
_TARGETS = flags.DEFINE_list("targets", ["1e-3", "1e-6"],
                             "The exploitabilities to reach.")
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Limit of a run, in seconds.",
                              lower_bound=0.0)


class Run:
  """A solver that can be timed.

  Args:
    iterate: function of a number of iterations, which it runs.
    measure: function that returns the exploitability.
  """

  def __init__(self, iterate, measure):
    self._iterate, self._measure = iterate, measure
    self.iterations, self.seconds = 0, 0.0

  def reach(self, target, seconds):
    """Iterates to a target; returns whether it did before the time is up."""
    while True:
      gain = self._measure() if self.iterations else math.inf
      if gain <= target:
        return True
      if self.seconds >= seconds:
        return False
      growth = _GROWTH_NEAR if gain <= _NEAR * target else _GROWTH
      count = max(int(self.iterations * (growth - 1.0)), 1)
      begin = time.process_time()
      self._iterate(count)
      self.seconds += time.process_time() - begin
      self.iterations += count


def our_run(solver, game):
  """Returns the `Run` of one of our solvers."""
  made = convergence.make_solver(solver, game)
  made.run(0)  # these two compile what needs to be, before the clock starts
  made.exploitability()
  return Run(made.run, made.exploitability)


def open_spiel_run(name, game):
  """Returns the `Run` of a peer in OpenSpiel."""
  if name == "pyspiel external sampling":
    solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed=0)
    step = solver.run_iteration
  else:
    solver = {"pyspiel CFR": pyspiel.CFRSolver,
              "pyspiel CFR+": pyspiel.CFRPlusSolver}[name](game)
    step = solver.evaluate_and_update_policy
  return Run(measuring.repeated(step), lambda: exploitability.exploitability(
      game, solver.average_policy()))


def lite_efg_run(name, game):
  """Returns the `Run` of a peer in LiteEFG, or None if that is missing."""
  try:
    import LiteEFG
    from LiteEFG import baselines
  except ImportError:
    return None
  # The module, its policy, and how the environment averages that.
  module, policy, average = {
      "LiteEFG CFR": (baselines.CFR, (), "avg-iterate"),
      "LiteEFG CFR+": (baselines.CFRplus, (), "linear-avg-iterate"),
      "LiteEFG DCFR": (baselines.DCFR, ("average-iterate",), "last-iterate"),
  }[name]
  with contextlib.redirect_stdout(io.StringIO()):  # It greets.
    environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate")
    graph = module.graph()
    environment.set_graph(graph)

  def step():
    graph.update_graph(environment)
    environment.update_strategy(graph.current_strategy(*policy))

  return Run(measuring.repeated(step), lambda: sum(environment.exploitability(
      graph.current_strategy(*policy), average)) / 2)


def no_regret_run(name, game):
  """Returns the `Run` of a peer in noregret, or None if there is none."""
  try:
    import noregret
    kernel = noregret.FPKer()  # NumPy and SciPy on the processor
  except (ImportError, AttributeError):  # Old versions are empty.
    return None
  # The class, its arguments, and whether it predicts the next regrets.
  minimizer, arguments, predicts = {
      "noregret CFR": (noregret.CFR, {}, False),
      "noregret CFR+": (noregret.CFR_plus, {}, False),
      "noregret DCFR": (noregret.DCFR, {}, False),
      "noregret PCFR+": (noregret.CFR_plus, {"gamma": 2}, True),
  }[name]
  try:
    form = noregret.to_efg(kernel, noregret.OpenSpielGame(kernel, str(game)))
  except NotImplementedError:  # It only takes zero-sum games for two.
    return None
  players = [minimizer(kernel, polytope, **arguments)
             for polytope in form.sequence_form_polytopes]

  strategies = [player.output(predicts) for player in players]

  def step():  # as noregret.rm does with alternation; that cannot go on
    for i, player in enumerate(players):
      player.observe(form.utility(i, *strategies[:i], *strategies[i + 1:]))
      strategies[i] = player.output(predicts)

  return Run(measuring.repeated(step), lambda: float(form.exploitability(
      *(player.average_strategy for player in players))))


def make_run(name, game_name):
  """Returns the `Run` of a solver or peer, or None if there is none."""
  if name.startswith("pyspiel "):
    return open_spiel_run(name, convergence.load_game(game_name).game)
  if name.startswith("LiteEFG "):
    return lite_efg_run(name, convergence.load_game(game_name).game)
  if name.startswith("noregret "):
    return no_regret_run(name, convergence.load_game(game_name).game)
  return our_run(name, game_name)


def cells(run, targets):
  """Returns the texts of a row of the table."""
  texts = []
  for target in targets:
    has_reached = run.reach(target, _SECONDS.value)
    sign = "" if has_reached else "> "
    texts += [f"{sign}{run.iterations:,}", f"{sign}{run.seconds:.3g}"]
  return texts


def main(_):
  targets = binary.positive_numbers(_TARGETS)[::-1]
  with binary.errors_of("solvers"):
    names = [str(convergence.solver_name(name)) for name in
             convergence.split_solvers(_SOLVERS.value)]
  for name in _PEER_NAMES.value:
    if name not in _PEERS:
      raise ValueError(f"--peers={name}: must be of {', '.join(_PEERS)}")
  for game in _GAMES.value:
    with binary.errors_of("game"):
      convergence.load_game(game)
  missing = set()
  for game in _GAMES.value:
    print(f"\n| {game} | " + " | ".join(
        f"{target:g}: iterations | seconds" for target in targets) + " |")
    print("|---" + "|---:|---:" * len(targets) + "|", flush=True)
    rows = [*names, *_PEER_NAMES.value]
    with tqdm.tqdm(rows, desc=game, leave=False, disable=None) as bar:
      for name in bar:
        run = make_run(name, game)
        if run is None:
          missing.add(name)
          continue
        row = [name, *cells(run, targets)]
        with bar.external_write_mode():
          print("| " + " | ".join(row) + " |", flush=True)
  for package in sorted({name.partition(" ")[0] for name in missing}):
    names = [name for name in _PEERS if name in missing and
             name.startswith(f"{package} ")]
    print(f"\nNot measured, as {package} is not installed or does not take the "
          f"game: {', '.join(names)}")


if __name__ == "__main__":
  binary.run(main)
