"""Counterfactual regret minimization and its variants.

All variants share one traversal (see `compiled.game`) and one update
(`compiled.blocks.learn_block`). They differ in four numbers:

  alpha: in iteration t positive regrets are multiplied by
    t^alpha / (t^alpha + 1); infinity keeps them as they are.
  beta: the same for negative regrets; minus infinity sets them to zero, which
    is regret matching+.
  gamma: the strategy of iteration t weighs t^gamma in the average.
  prediction: how much the newest regrets count once more when the next strategy
    is made, from 0 to 1.

Some variants change alpha, beta and gamma from iteration to iteration.

The order is OpenSpiel's: new regrets are added, then the sums are discounted.
Other papers discount the sums before they add the next iteration's regrets, and
then write (t - 1)^alpha where we write t^alpha. That gives the same strategies.

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
    prediction: the weight of the last regrets as a prediction of the next, from
      0 to 1; True is 1.
    **kwargs: `alternating`, `initial`, `seed`, `epsilon`, `dtype`,
      `num_threads` and `form`, see `compiled.table_solver.TableSolver`.
  """

  def __init__(self, game, *, alpha=np.inf, beta=np.inf, gamma=0.0,
               prediction=False, **kwargs):
    self._alpha = arguments.number("alpha", alpha)
    self._beta = arguments.number("beta", beta)
    self._gamma = arguments.number("gamma", gamma, 0.0, 1000.0)
    self._prediction = (bool(prediction) if isinstance(prediction, bool) else
                        arguments.number("prediction", prediction, 0.0, 1.0))
    super().__init__(game, **kwargs)

  def _parameters(self):
    return {**super()._parameters(), "alpha": str(self._alpha),
            "beta": str(self._beta), "gamma": self._gamma,
            "prediction": self._prediction}

  def _powers(self, t):
    """Returns (alpha, beta, gamma) of iterations: numbers or [iteration].

    Args:
      t: [iteration] float64, their numbers.
    """
    del t
    return self._alpha, self._beta, self._gamma

  def _rule(self, first, last):
    t = np.arange(first, last + 1, dtype=np.float64)
    # What is discounted now is what the next iteration adds to.
    alpha, beta, _ = self._powers(t + 1)
    _, _, gamma = self._powers(t)
    # Weights w(t) = t^gamma, as the factor w(t-1) / w(t) on what was summed.
    decay = ((t - 1) / t)**gamma
    return blocks.Rule(
        positive=_discount(t, alpha), negative=_discount(t, beta),
        prediction=float(self._prediction), decay=decay, epsilon=self._epsilon)


def _discount(t, power):
  """Returns t^power / (t^power + 1)."""
  if np.ndim(power) == 0 and np.isinf(power):
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


class DCFRPlusSolver(RegretSolver):
  """DCFR+ (Xu et al. 2024): discounted CFR with regret matching+.

  The paper has t^alpha + 1 below the line, and so have we. Its authors' code
  has t^alpha + 1.5 there.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    gamma: weight of the average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, alpha=1.5, gamma=4.0, **kwargs):
    super().__init__(game, alpha=alpha, beta=-np.inf, gamma=gamma, **kwargs)


class SAPCFRPlusSolver(RegretSolver):
  """SAPCFR+ (Meng et al. 2026): the prediction of PCFR+ counts one third.

  Args:
    game: a `pyspiel.Game`.
    gamma: weight of the average.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, gamma=2.0, **kwargs):
    super().__init__(game, beta=-np.inf, gamma=gamma, prediction=1 / 3,
                     **kwargs)


class ScheduledSolver(RegretSolver):
  """Base of the solvers with hyperparameter schedules (Zhang et al. 2024).

  The powers of iteration t depend on t / n, where n is how many iterations are
  planned. After the last of these the powers stay as they are.

  Args:
    game: a `pyspiel.Game`.
    planned_iterations: n.
    gamma: weight of the average at the beginning; it falls by 5 until the end.
      The paper uses 30 and 15.
    **kwargs: see `RegretSolver`.
  """

  def __init__(self, game, *, planned_iterations=1000, gamma=30.0, **kwargs):
    self._planned = arguments.integer("planned_iterations", planned_iterations,
                                      1, 2**53)
    arguments.number("gamma", gamma, 5.0, 1000.0)
    super().__init__(game, gamma=gamma, **kwargs)

  def _parameters(self):
    return {**super()._parameters(), "planned_iterations": self._planned}

  def _share(self, t):
    """Returns how much of the planned iterations is over, from 0 to 1."""
    return np.minimum(t / self._planned, 1.0)

  def _powers(self, t):
    return self._alpha, self._beta, self._gamma - 5.0 * self._share(t)


class HSDCFRSolver(ScheduledSolver):
  """HS-DCFR (Zhang et al. 2024): alpha from 1 to 4, beta from -1 to -3.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: see `ScheduledSolver`.
  """

  def _powers(self, t):
    share = self._share(t)
    _, _, gamma = super()._powers(t)
    return 1.0 + 3.0 * share, -1.0 - 2.0 * share, gamma


class HSPCFRPlusSolver(ScheduledSolver):
  """HS-PCFR+ (Zhang et al. 2024): PCFR+ with a scheduled average.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: see `ScheduledSolver`.
  """

  def __init__(self, game, **kwargs):
    super().__init__(game, beta=-np.inf, prediction=True, **kwargs)


class HSPDCFRPlusSolver(ScheduledSolver):
  """HS-PDCFR+ (Zhang et al. 2024): PDCFR+ with a scheduled average.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    **kwargs: see `ScheduledSolver`.
  """

  def __init__(self, game, *, alpha=2.3, **kwargs):
    super().__init__(game, alpha=alpha, beta=-np.inf, prediction=True, **kwargs)


SOLVERS = {
    "cfr": CFRSolver,
    "cfr+": CFRPlusSolver,
    "lcfr": LinearCFRSolver,
    "dcfr": DiscountedCFRSolver,
    "pcfr+": PredictiveCFRPlusSolver,
    "pdcfr+": PDCFRPlusSolver,
    "dcfr+": DCFRPlusSolver,
    "sapcfr+": SAPCFRPlusSolver,
    "hs-dcfr": HSDCFRSolver,
    "hs-pcfr+": HSPCFRPlusSolver,
    "hs-pdcfr+": HSPDCFRPlusSolver,
}
