"""The guard of regret matching."""

import numpy as np
import pytest

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables


@jit.kernel
def _min_sum(values):
  return regret_tables.min_sum(values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smaller_sums_may_have_an_infinite_inverse(dtype):
  for values in (np.zeros(1, dtype), dtype(0.0)):
    found = regret_tables.min_sum(values)
    assert _min_sum(values) == found == np.finfo(dtype).tiny
    assert np.isfinite(dtype(1.0) / dtype(found))
  with np.errstate(over="ignore"):
    assert np.isinf(dtype(1.0) / dtype(found / 16))
