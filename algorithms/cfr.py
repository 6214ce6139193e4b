"""Counterfactual regret minimization and its variants.

All variants share one traversal (see `compiled.game`) and one update
(`compiled.blocks.learn_block`). They differ in four numbers:

  alpha: in iteration t positive regrets are multiplied by
    t^alpha / (t^alpha + 1); infinity keeps them as they are.
  beta: the same for negative regrets; minus infinity sets them to zero, which
    is regret matching+.
  gamma: the strategy of iteration t weighs t^gamma in the average.
  prediction: whether the newest regrets count once more when the next strategy
    is made.

The order is OpenSpiel's: new regrets are added, then the sums are discounted.
Brown & Sandholm (2019) discount the sums before they add the next iteration's
regrets, which gives the same strategies.

Up to rounding, the iterates are OpenSpiel's. Where all regrets of a set are
zero, rounding may decide the current strategy there, both here and in
OpenSpiel. Average strategies of sets that are reached do not depend on it.

With `epsilon` the game is perturbed: players play epsilon + (1 - |A| epsilon)
times regret matching (Farina, Kroer & Sandholm 2017). Regrets compare each
action with regret matching and not with what is played. What is played is worse
by what the perturbation forces, and that would be regretted forever.

Serves users.
"""

import numpy as np

from dudo_spiel.algorithms.compiled import blocks
from dudo_spiel.algorithms.compiled import table_solver
from dudo_spiel.algorithms.runtime import arguments


class RegretSolver(table_solver.TableSolver):
  """The whole family; the classes below have the numbers of the papers.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of positive regrets.
    beta: discount of negative regrets.
    gamma: weight of the average.
    prediction: whether to predict the next regrets by the last.
    **kwargs: `alternating`, `initial`, `seed`, `epsilon`, `dtype`,
      `num_threads` and `form`, see `compiled.table_solver.TableSolver`.
  """

  def __init__(self, game, *, alpha=np.inf, beta=np.inf, gamma=0.0,
               prediction=False, **kwargs):
    self._alpha = arguments.number("alpha", alpha)
    self._beta = arguments.number("beta", beta)
    self._gamma = arguments.number("gamma", gamma, 0.0, 1000.0)
    self._prediction = arguments.boolean("prediction", prediction)
    super().__init__(game, **kwargs)

  def _parameters(self):
    return {**super()._parameters(), "alpha": str(self._alpha),
            "beta": str(self._beta), "gamma": self._gamma,
            "prediction": self._prediction}

  def _rule(self, first, last):
    t = np.arange(first, last + 1, dtype=np.float64)
    # Weights w(t) = t^gamma, as the factor w(t-1) / w(t) on what was summed.
    decay = ((t - 1) / t)**self._gamma
    return blocks.Rule(
        positive=_discount(t, self._alpha), negative=_discount(t, self._beta),
        prediction=float(self._prediction), decay=decay, epsilon=self._epsilon)


def _discount(t, power):
  """Returns t^power / (t^power + 1)."""
  if np.isinf(power):
    return np.full(len(t), 1.0 if power > 0 else 0.0)
  with np.errstate(over="ignore"):  # 1 / infinity is the 0 that it should be
    return 1.0 / (1.0 + t**-power)


class CFRSolver(RegretSolver):
  """CFR (Zinkevich et al. 2007).

  Args:
    game: a `pyspiel.Game`.
    **kwargs: see `RegretSolver`.
  """


class CFRPlusSolver(RegretSolver):
  """CFR+ (Tammelin 2014): regret matching+ and a linear average.

  Args:
    game: a `pyspiel.Game`.
    gamma: 1 for the linear, 2 for the quadratic average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, gamma=1.0, **kwargs):
    super().__init__(game, beta=-np.inf, gamma=gamma, **kwargs)


class LinearCFRSolver(RegretSolver):
  """Linear CFR (Brown & Sandholm 2019): iteration t weighs t everywhere.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, **kwargs):
    super().__init__(game, alpha=1.0, beta=1.0, gamma=1.0, **kwargs)


class DiscountedCFRSolver(RegretSolver):
  """Discounted CFR (Brown & Sandholm 2019).

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of positive regrets.
    beta: discount of negative regrets.
    gamma: weight of the average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, alpha=1.5, beta=0.0, gamma=2.0, **kwargs):
    super().__init__(game, alpha=alpha, beta=beta, gamma=gamma, **kwargs)


class PredictiveCFRPlusSolver(RegretSolver):
  """Predictive CFR+ (Farina, Kroer & Sandholm 2021), quadratic average.

  Args:
    game: a `pyspiel.Game`.
    gamma: weight of the average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, gamma=2.0, **kwargs):
    super().__init__(game, beta=-np.inf, gamma=gamma, prediction=True,
                     **kwargs)


class PDCFRPlusSolver(RegretSolver):
  """Predictive discounted CFR+ (Xu et al. 2024).

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    gamma: weight of the average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, alpha=2.3, gamma=5.0, **kwargs):
    super().__init__(game, alpha=alpha, beta=-np.inf, gamma=gamma,
                     prediction=True, **kwargs)


SOLVERS = {
    "cfr": CFRSolver,
    "cfr+": CFRPlusSolver,
    "lcfr": LinearCFRSolver,
    "dcfr": DiscountedCFRSolver,
    "pcfr+": PredictiveCFRPlusSolver,
    "pdcfr+": PDCFRPlusSolver,
}
