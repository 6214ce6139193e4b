"""The two tables of a solver that learns by regret matching.

Serves the solvers in `graphs` and `match`.
"""

from typing import NamedTuple

import numpy as np


class RegretTables(NamedTuple):
  """Two arrays of the same shape and type, indexed as their owner says.

  Attributes:
    regret: sums of counterfactual regrets.
    cumulative: sums of strategies, each weighted by the player's own reach.
  """
  regret: np.ndarray
  cumulative: np.ndarray
