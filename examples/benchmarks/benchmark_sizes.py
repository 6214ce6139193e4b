"""Measures what it takes to compile large games: seconds, memory, speed.

The output is two Markdown tables. The first has a line for each of the --games.
Each of them is compiled in a process of its own, so that peaks of memory do not
mix. The peak is that of the process: Python, OpenSpiel and the solver included.
Games that need more memory than there is, or than --memory_gb allows, say so.

The second has a line for each of the --walks: how long it takes to walk all
histories of a game, even if we know its rules and need no walk.

Seconds are those of the processor, on one thread, without compiling kernels.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c
from dudo_spiel_examples.support import measuring

import multiprocessing
import time

from absl import flags

from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms.tabular.tree import game_tree

_LARGE = (
    "liars_dice(dice_sides=4,numdice=2);"
    "goofspiel(imp_info=True,num_cards=5,points_order=random);"
    "perfect_recall(goofspiel(imp_info=False,num_cards=5,points_order=random));"
    "oshi_zumo(coins=10,min_bid=1,size=5);"
    "dark_chess_small(moves_per_player=4)")
_WALKS = ("leduc_poker;liars_dice;goofspiel(imp_info=True,num_cards=4);"
          "dudo(numdice=1);dark_chess_small(moves_per_player=3)")

_GAMES = flags.DEFINE_string("games", _LARGE, "Games with their parameters, "
                             "with ; between them, as convergence_study.py "
                             "takes them.")
_WALKED = flags.DEFINE_string("walks", _WALKS, "Games of the second table, "
                              "with ; between them; \"\" for none.")
_SOLVER = flags.DEFINE_string("solver", "cfr", "The solver whose iterations "
                              "are counted.")
_SECONDS = flags.DEFINE_float("seconds", 10.0, "Seconds to iterate.",
                              lower_bound=0.0)
_MEMORY_GB = flags.DEFINE_float(
    "memory_gb", None, "How many GB a process may map; no limit unless given.",
    lower_bound=0.5)


def measure(game, solver, seconds, memory):
  """Returns a line of the table.

  Args:
    game: its name, as `convergence.load_game` reads it.
    solver: its name, as `convergence.make_solver` reads it.
    seconds: how long to iterate.
    memory: GB that the process may map, or None.
  """
  if memory is not None:
    measuring.limit_memory(int(memory * 1e9))
  # Kernels that are compiled, or read from disk, are not a game's.
  convergence.make_solver(solver, "kuhn_poker").run(1)
  begin, clock = time.process_time(), time.perf_counter()
  try:
    made = convergence.make_solver(solver, game)
  except ValueError as error:
    took = time.perf_counter() - clock
    return f"{game}: refused after {took:.1f} s: {error}"
  compiling = time.process_time() - begin
  made.run(1)
  begin = time.process_time()
  made.run(seconds=seconds)
  rate = (made.iteration - 1) / (time.process_time() - begin)
  made.exploitability()
  tree = made.compiled.tree
  return _row(f"`{game}`", f"{tree.num_nodes:,}", f"{tree.num_info_sets:,}",
              made.compiled.form_name, f"{compiling:.1f}",
              f"{measuring.peak_bytes() / 1e9:.2f}", f"{rate:,.3g}")


def measure_walk(game):
  """Returns a line of the table of walks."""
  game_tree.GameTree(convergence.load_game("kuhn_poker").game)
  loaded = convergence.load_game(game).game
  begin = time.process_time()
  tree = game_tree.GameTree(loaded)
  took = time.process_time() - begin
  return _row(f"`{game}`", f"{tree.num_nodes:,}", f"{took:.2f}",
              f"{took / tree.num_nodes * 1e6:.1f}")


def _row(*cells):
  return "| " + " | ".join(cells) + " |"


def _print_table(head, function, games, *arguments):
  """Prints a table with a line for each game, made in its own process.

  Args:
    head: tuple of str, of the columns.
    function: of a game and the arguments; it returns a line.
    games: list of names.
    *arguments: of the function.
  """
  print(_row(*head))
  print("|---" * len(head) + "|", flush=True)
  context = multiprocessing.get_context("fork")
  for game in games:
    with ctrl_c.raised(), context.Pool(1, ctrl_c.end_main) as pool:
      print(pool.apply(function, (game, *arguments)), flush=True)


def _names(flag):
  """Returns the games of a flag."""
  names = [name.strip() for name in flag.value.split(";") if name.strip()]
  if flag.value and not names:
    raise ValueError(f"--{flag.name}={flag.value}: must be at least one game, "
                     "or nothing")
  with binary.errors_of(flag.name):
    for name in names:
      convergence.load_game(name)
  return names


def main(_):
  games, walks = _names(_GAMES), _names(_WALKED)
  with binary.errors_of("solver"):
    convergence.solver_name(_SOLVER.value)
  if games:
    _print_table(("game", "histories", "information sets", "form",
                  "compiling, s", "peak, GB", "iterations a second"),
                 measure, games, _SOLVER.value, _SECONDS.value,
                 _MEMORY_GB.value)
  if walks:
    print()
    _print_table(("walk", "histories", "s", "µs a history"), measure_walk,
                 walks)
  return 0


if __name__ == "__main__":
  binary.run(main)
