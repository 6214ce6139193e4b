"""What solvers learn, as arrays that kernels can take.

Serves every solver that matches regrets.
"""

from typing import NamedTuple

import numpy as np


class RegretTables(NamedTuple):
  """What regret matching keeps: sums of regrets and weighted sums of
  strategies.
  """
  regret: np.ndarray
  cumulative: np.ndarray
