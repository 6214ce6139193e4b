"""Counts what a game consists of, and which of its information sets are mixed.

It prints how deep the game is and how many information sets, decision nodes and
actions it has, and then the number of information sets by two things: how many
moves come before them (columns) and how many histories they have (rows). With
--solver or --policy it also prints in how many of them the policy is pure, by
the same columns. These are the tables of Rudolf's thesis on variants of CFR.

Moves of chance count as moves, but not as decisions. The thesis rolls all dice
in one move, and counts a player's last card as a decision; OpenSpiel has a move
for each die, and plays the last cards by itself.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import itertools

from absl import flags
import numpy as np

from dudo_spiel.algorithms import convergence
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.tabular import table_policy

_GAME = flags.DEFINE_string(
    "game", "liars_dice(dice_sides=4)", "The game, with its parameters; within "
    "perfect_recall(...), as if its players forgot nothing.")
_SOLVER = flags.DEFINE_string("solver", None, "Solve the game with this "
                              "solver, such as cfr+(gamma=2).")
_ITERATIONS = flags.DEFINE_integer("iterations", 8192, "How many iterations it "
                                   "runs.", lower_bound=1)
_POLICY = flags.DEFINE_string("policy", None, "A policy file of the game, "
                              "instead of --solver.")
_PURE = flags.DEFINE_float("pure", 0.99, "A set is pure if an action has at "
                           "least this probability there.", lower_bound=0.0,
                           upper_bound=1.0)
_PLOT = flags.DEFINE_string("plot", None, "Draw the numbers of information "
                            "sets as a heat map to this PNG file.")


def set_depths(tree):
  """Returns [set] int, how many moves come before each information set."""
  depth = np.repeat(np.arange(len(tree.depth_begin) - 1),
                    np.diff(tree.depth_begin))
  return depth[tree.set_node]


def size_classes(tree):
  """Returns [set] int, n for sets of 2^n to 2^(n+1) - 1 histories."""
  sizes = np.bincount(tree.info_set[tree.info_set >= 0],
                      minlength=tree.num_info_sets)
  return np.frexp(sizes)[1] - 1


def heat_map(tree):
  """Returns [class of sizes, depth] int, how many information sets there are.

  Args:
    tree: the game's `game_tree.GameTree`.
  """
  classes, depths = size_classes(tree), set_depths(tree)
  counts = np.zeros((classes.max() + 1, depths.max() + 1), dtype=np.int64)
  np.add.at(counts, (classes, depths), 1)
  return counts


def class_name(number):
  """Returns the sizes of a class, such as "4-7"."""
  low, high = 2**number, 2**(number + 1) - 1
  return f"{low}-{high}" if high > low else f"{low}"


def print_counts(tree):
  """Prints what the game consists of."""
  acts = tree.info_set >= 0
  by_player = np.bincount(tree.set_player, minlength=tree.num_players)
  children = np.diff(tree.child_begin)
  print(f"game              {_GAME.value}")
  print(f"histories         {tree.num_nodes:,}, "
        f"{np.sum(children == 0):,} of them terminal")
  print(f"depth             {set_depths(tree).max()} moves before the last "
        "decision")
  print(f"information sets  {tree.num_info_sets:,} "
        f"({' and '.join(f'{count:,}' for count in by_player)} by player)")
  print(f"decision nodes    {acts.sum():,}")
  print(f"actions           {children[acts].sum():,}")


def print_table(title, heads, rows):
  """Prints a table.

  Args:
    title: above it.
    heads: list of the columns' names.
    rows: {name: list of a str for each column}.
  """
  first = max(map(len, rows))
  width = 1 + max(map(len, itertools.chain(heads, *rows.values())))
  print(f"\n{title}")
  for name, cells in {"": heads, **rows}.items():
    print(f"{name:>{first}}" + "".join(f"{cell:>{width}}" for cell in cells))


def print_heat_map(counts):
  """Prints the table of `heat_map`: [class of sizes, depth], sets."""
  print_table("information sets, by moves before them and histories in them",
              [str(depth) for depth in range(counts.shape[1])],
              {class_name(number): [f"{count:,}" if count else "." for count in
                                    row] for number, row in enumerate(counts)})


def print_mixed(tree, probabilities):
  """Prints how many information sets are pure and mixed.

  Args:
    tree: the game's `game_tree.GameTree`.
    probabilities: of all actions, set by set.
  """
  begin = np.cumsum([0, *map(len, tree.set_actions)])[:-1]
  is_pure = np.maximum.reduceat(probabilities, begin) >= _PURE.value
  depths = set_depths(tree)
  pure, mixed = (np.bincount(depths[which], minlength=depths.max() + 1)
                 for which in (is_pure, ~is_pure))
  fractions = mixed / np.maximum(pure + mixed, 1)
  print_table(
      f"information sets in which an action has at least {_PURE.value:g} (pure)"
      " or not (mixed)", [str(depth) for depth in range(len(pure))],
      {"pure": [f"{count:,}" for count in pure],
       "mixed": [f"{count:,}" for count in mixed],
       "mixed/all": [f"{part:.2f}" for part in fractions]})


def read_probabilities(compiled):
  """Returns the probabilities of the policy that the flags ask for.

  Args:
    compiled: the `compiled_game.CompiledGame`.
  """
  if _POLICY.value:
    with binary.errors_of("policy"):
      policy = policies.load_policy(_POLICY.value)
      _, _, entries = compiled.entries_of_sets()
      return table_policy.to_strategy(compiled, policy)[entries]
  with binary.errors_of("solver"):
    solver = convergence.make_solver(_SOLVER.value, _GAME.value)
  solver.run(_ITERATIONS.value)
  print(f"\n{_SOLVER.value} after {solver.iteration:,} iterations: "
        f"exploitability {solver.exploitability():.3g}")
  return solver.average_policy().probabilities


def plot(counts):
  """Draws the table of `heat_map`: [class of sizes, depth], sets."""
  from matplotlib import colors
  figure, axis = figures.subplots(
      figsize=(2 + 0.7 * counts.shape[1], 1.8 + 0.5 * counts.shape[0]))
  image = axis.imshow(np.ma.masked_equal(counts, 0), cmap="viridis",
                      origin="lower", aspect="auto",
                      norm=colors.LogNorm(1, max(counts.max(), 2)))
  middle = np.sqrt(counts.max())
  for (row, column), count in np.ndenumerate(counts):
    if count:
      axis.text(column, row, f"{count:,}", fontsize=7,
                color="white" if count < middle else "black",
                horizontalalignment="center", verticalalignment="center")
  axis.set(title=_GAME.value, xlabel="moves before the set",
           ylabel="histories in the set")
  axis.set_xticks(range(counts.shape[1]))
  axis.set_yticks(range(counts.shape[0]),
                  [class_name(number) for number in range(counts.shape[0])])
  axis.title.set_fontsize(9)
  figure.colorbar(image, ax=axis, label="information sets")
  figures.save(figure, _PLOT.value)


def main(_):
  if _SOLVER.value and _POLICY.value:
    raise ValueError("--solver, --policy: must not both be given")
  figures.check_plot(_PLOT)
  if _SOLVER.value:
    with binary.errors_of("solver"):
      convergence.solver_name(_SOLVER.value)
  with binary.errors_of("game"):
    compiled = convergence.compile_game(_GAME.value)
  counts = heat_map(compiled.tree)
  print_counts(compiled.tree)
  print_heat_map(counts)
  if _SOLVER.value or _POLICY.value:
    print_mixed(compiled.tree, read_probabilities(compiled))
  if _PLOT.value:
    plot(counts)
  return 0


if __name__ == "__main__":
  binary.run(main)
