"""Measures what it takes to compile large games: seconds, memory, speed.

Each game is compiled in a process of its own, so that peaks of memory do not
mix. The peak is that of the process: Python, OpenSpiel and the solver included.
Seconds are those of one processor, and for compiling those of the clock too,
which are more where other programs want the processor. Games that need more
memory than there is, or than --memory allows, say so.
"""

import binary
import interrupts

import multiprocessing
import resource
import time

from absl import flags

from dudo_spiel.algorithms import convergence

_LARGE = (
    "liars_dice(dice_sides=4,numdice=2);"
    "goofspiel(imp_info=True,num_cards=5,points_order=random);"
    "perfect_recall(goofspiel(imp_info=False,num_cards=5,points_order=random));"
    "oshi_zumo(coins=10,min_bid=1,size=5)")

_GAMES = flags.DEFINE_string("games", _LARGE, "Games with their parameters, "
                             "with ; between them, as convergence_study.py "
                             "takes them.")
_SOLVER = flags.DEFINE_string("solver", "cfr", "The solver whose iterations "
                              "are counted.")
_SECONDS = flags.DEFINE_float("seconds", 10.0, "How long it iterates.",
                              lower_bound=0.0)
_MEMORY = flags.DEFINE_float("memory", None, "How many GB a process may map; "
                             "no limit unless given.", lower_bound=0.5)


def measure(game, solver, seconds, memory):
  """Returns a line of the table.

  Args:
    game: its name, see `convergence.load_game`.
    solver: likewise.
    seconds: how long to iterate.
    memory: GB that the process may map, or None.
  """
  if memory is not None:
    limit = int(memory * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
  # Kernels that are compiled, or read from disk, are not a game's.
  convergence.make_solver(solver, "kuhn_poker").run(1)
  begin, busy = time.perf_counter(), time.process_time()
  try:
    made = convergence.make_solver(solver, game)
  except ValueError as error:
    took = time.perf_counter() - begin
    return f"{game}: refused after {took:.1f} s: {error}"
  took, busy = time.perf_counter() - begin, time.process_time() - busy
  made.run(1)
  begin = time.process_time()
  made.run(seconds=seconds)
  rate = (made.iteration - 1) / (time.process_time() - begin)
  made.exploitability()
  tree = made.compiled.tree
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
  return (f"{game}: {tree.num_nodes:,} histories, {tree.num_info_sets:,} "
          f"information sets, {made.compiled.form_name} form; {took:.1f} s "
          f"({busy:.1f} s of the processor), peak {peak / 1e9:.2f} GB, "
          f"{rate:.1f} iterations a second of the processor")


def main(_):
  games = [name.strip() for name in _GAMES.value.split(";") if name.strip()]
  if not games:
    raise ValueError(f"--games={_GAMES.value}: must be at least one game")
  with binary.errors_of("solver"):
    convergence.solver_name(_SOLVER.value)
  with binary.errors_of("games"):
    for game in games:
      convergence.load_game(game)
  context = multiprocessing.get_context("fork")
  for game in games:
    with interrupts.raised(), context.Pool(1, interrupts.end_main) as pool:
      print(pool.apply(measure, (game, _SOLVER.value, _SECONDS.value,
                                 _MEMORY.value)), flush=True)
  return 0


if __name__ == "__main__":
  binary.run(main)
