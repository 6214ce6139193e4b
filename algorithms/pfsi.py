"""Fixed-strategy iteration for n players, with and without pruning.

Gendre & Kaneko, "Counterfactual Regret Minimisation for playing the multiplayer
bluffing dice game Dudo" (2019), section 3.3. An iteration of FSI fixes a deal
and, on the graph of its states (`deal_graph`):

  1. Forward: strategies from regrets; for every player i the probability that
     the others play to a state, pi_-i, summed over all paths (algorithm 1
     there); to the averages strategies are added, times the own reach.
  2. Backward: the utilities of all players; the regrets of the player i who
     acts, times pi_-i.

PFSI (section 3.3.2) prunes:

  3. An unflagged state with pi_-i of its own player below `reach_threshold`
     flags its children with probability `flag_probability`. A state with any
     parent that asks for it and does not flag it is unflagged.
  4. A flagged state flags its children, asks only for those of actions with a
     probability above `action_threshold` and takes 1/players for the rest.
  5. After `depth` generations of flagged states the next one takes 1/players
     (terminals excepted: their utility is known).
  6. Flagged states pass their utility up, but change no regrets or averages.

The thresholds may change with the iteration, which the paper suggests as future
work: `PruningSchedule`.
"""

import numpy as np

from dudo_spiel.algorithms.graphs import fsi_kernels
from dudo_spiel.algorithms.graphs import fsi_workspace
from dudo_spiel.algorithms.graphs import graph_solver
from dudo_spiel.algorithms.runtime import arguments


class FSISolver(graph_solver.DealSolver):
  """FSI: every state of a deal, every iteration.

  Args:
    game: as for `graph_solver.DealSolver`.
    **kwargs: likewise.
  """

  def _new_workspace(self, threads):
    return fsi_workspace.new_arrays(self.graph, self._dtype, threads)

  def _settings(self, iterations):
    return np.zeros((len(iterations), fsi_workspace.NUM_PRUNING))

  def _parameters(self):
    return {}

  def _kernels(self):
    return fsi_kernels.run, fsi_kernels.run_parallel


class PFSISolver(FSISolver):
  """PFSI: states that are hardly reached are pruned.

  Each of the four settings may be a function of the iteration (the first is 1).
  Its `repr` tells it from others in files, so it must not be that of a lambda
  for a solver that is saved. Reaches below 1e-30 (float32) count as zero.

  Args:
    game: as for `graph_solver.DealSolver`.
    depth: how many generations of flagged states look at their children.
    reach_threshold: below which pi_-i a state may flag its children; 0 for no
      pruning.
    flag_probability: with which probability it does.
    action_threshold: above which probability of an action a flagged state asks
      for its utility.
    **kwargs: as for `graph_solver.DealSolver`.
  """

  def __init__(self, game, depth=4, reach_threshold=1e-20,
               flag_probability=0.98, action_threshold=1e-4, **kwargs):
    self._pruning = {"reach_threshold": reach_threshold,
                     "flag_probability": flag_probability,
                     "action_threshold": action_threshold, "depth": depth}
    self._settings([1])
    self._pruning = {name: value if callable(value) else _plain(value)
                     for name, value in self._pruning.items()}
    super().__init__(game, **kwargs)
    self._check_can_prune("reach_threshold", reach_threshold)

  def _settings(self, iterations):
    columns = []
    for name, setting in self._pruning.items():
      values = ([setting(int(i)) for i in iterations] if callable(setting) else
                [setting])
      for value in values:
        if name == "depth":
          arguments.integer(name, value, 0, fsi_kernels.MAX_DEPTH)
        elif name == "reach_threshold":
          arguments.number(name, value, 0.0)
        else:
          arguments.number(name, value, 0.0, 1.0)
      columns.append(np.broadcast_to(np.asarray(values, float),
                                     len(iterations)))
    return np.stack(columns, axis=1)

  def _parameters(self):
    return {name: repr(setting) if callable(setting) else setting
            for name, setting in self._pruning.items()}


def _plain(value):
  """Returns a number as files can hold it."""
  return int(value) if value == int(value) else float(value)


class PruningSchedule:
  """A reach threshold that begins severe and ends as FSI.

  It falls geometrically from `first` to `last`, and is 0 from then on.

  Args:
    iterations: when pruning ends.
    first: the threshold of the first iteration.
    last: the last threshold above 0.
  """

  def __init__(self, iterations, first=1e-2, last=1e-8):
    self._iterations = arguments.integer("iterations", iterations, 1)
    self._first = arguments.number("first", first, 0.0)
    self._last = arguments.number("last", last, 0.0, self._first)
    if not self._last > 0.0:
      raise ValueError(f"last={last!r}: must be above 0")

  def __call__(self, iteration):
    """Returns the reach threshold of an iteration."""
    if iteration > self._iterations:
      return 0.0
    share = (iteration - 1) / max(self._iterations - 1, 1)
    return self._first * (self._last / self._first)**share

  def __repr__(self):
    """Returns what tells this schedule from others, for files."""
    return (f"PruningSchedule({self._iterations}, {self._first}, "
            f"{self._last})")
