"""Counterfactual regret minimization and its variants.

All variants share one traversal (`tabular.forms`), and all but two share one
update (`tabular.updates.cfr_update`). They differ in four parameters:

  alpha: in iteration t positive regrets are multiplied by
    t^alpha / (t^alpha + 1); infinity keeps them as they are.
  beta: the same for negative regrets; minus infinity sets them to zero, which
    is regret matching+.
  gamma: the strategy of iteration t weighs t^gamma in the average.
  prediction: weight with which the newest regrets count a second time in the
    next strategy, from 0 to 1.

Some variants change alpha, beta and gamma from iteration to iteration. APCFR+
and VAD-CFR keep more than sums of regrets for an information set, and have
updates of their own (`tabular.updates.cfr_variants`).

The order is OpenSpiel's: new regrets are added, then the sums are discounted.
Other papers discount the sums before they add the next iteration's regrets, and
then write (t - 1)^alpha where we write t^alpha. That gives the same strategies.

Up to rounding, the iterates are OpenSpiel's, except after ties. Where the
largest regret of a set is exactly zero, regret matching is uniform, and so are
we in float64 (`set_blocks.min_regrets`). In OpenSpiel, and here in float32, a
rounding error may decide the strategy there.

With `epsilon` the game is perturbed: players play epsilon + (1 - |A| epsilon)
times regret matching (Farina, Kroer & Sandholm 2017). Regrets compare each
action with regret matching and not with the perturbed strategy: the loss that
the perturbation forces would be regretted forever.
"""

from typing import Any

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.tabular import table_solver
from dudo_spiel.algorithms.tabular.updates import update_rules


class RegretSolver(table_solver.TableSolver):
  """The whole family; the classes below have the parameters of the papers.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of positive regrets.
    beta: discount of negative regrets.
    gamma: weight of the average.
    prediction: the weight of the last regrets as a prediction of the next, from
      0 to 1; True is 1.
    **kwargs: `alternating`, `initial`, `seed`, `epsilon`, `dtype`,
      `num_threads` and `form` of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, alpha: float = np.inf,
               beta: float = np.inf, gamma: float = 0.0,
               prediction: float = False, **kwargs: Any) -> None:
    self._alpha = validation.number("alpha", alpha)
    self._beta = validation.number("beta", beta)
    self._gamma = validation.number("gamma", gamma, 0.0, 1000.0)
    self._prediction = (bool(prediction) if isinstance(prediction, bool) else
                        validation.number("prediction", prediction, 0.0, 1.0))
    super().__init__(game, **kwargs)

  def _parameters(self):
    return {**super()._parameters(), "alpha": str(self._alpha),
            "beta": str(self._beta), "gamma": self._gamma,
            "prediction": self._prediction}

  def _powers(self, t):
    """Returns (alpha, beta, gamma) of iterations t: numbers or [iteration]."""
    del t
    return self._alpha, self._beta, self._gamma

  def _rule(self, first, last):
    t = np.arange(first, last + 1, dtype=np.float64)
    # The sums that are discounted here are those of the next iteration.
    alpha, beta, _ = self._powers(t + 1)
    _, _, gamma = self._powers(t)
    # Weights w(t) = t^gamma, as the factor w(t-1) / w(t) on the sums so far.
    decay = ((t - 1) / t)**gamma
    return update_rules.Rule(
        positive=_discount(t, alpha), negative=_discount(t, beta),
        prediction=float(self._prediction), decay=decay, epsilon=self._epsilon,
        rounding=t)


def _discount(t, power):
  """Returns t^power / (t^power + 1)."""
  if np.ndim(power) == 0 and np.isinf(power):
    return np.full(len(t), 1.0 if power > 0 else 0.0)
  with np.errstate(over="ignore"):  # 1 / infinity is 0, the limit
    return 1.0 / (1.0 + t**-power)


# The parameters that tell variants apart, and solvers that have each.
_SOLVERS_WITH = {"alpha": "DiscountedCFRSolver or DCFRPlusSolver",
                 "beta": "DiscountedCFRSolver", "gamma": "DiscountedCFRSolver",
                 "prediction": "PredictiveCFRPlusSolver"}


def _common(solver, kwargs, *own):
  """Returns the arguments of a class, none of which makes it another variant.

  Args:
    solver: the name of the class, for the message.
    kwargs: dict of the arguments; else they raise a ValueError.
    *own: which parameters of `_SOLVERS_WITH` the class has.
  """
  for name, others in _SOLVERS_WITH.items():
    if name in kwargs and name not in own:
      allowed = " and ".join(own) if own else "none"
      raise ValueError(f"{name}={kwargs[name]!r}: {solver} takes {allowed} of "
                       f"{', '.join(_SOLVERS_WITH)}; use {others}, or "
                       "RegretSolver, which takes all")
  return kwargs


class CFRSolver(RegretSolver):
  """CFR (Zinkevich et al. 2007).

  Args:
    game: a `pyspiel.Game`.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
    >>> solver.run(1000)
    >>> solver.iteration, solver.exploitability() < 1e-2
    (1000, True)
  """

  def __init__(self, game: pyspiel.Game, **kwargs: Any) -> None:
    super().__init__(game, **_common("CFRSolver", kwargs))


class CFRPlusSolver(RegretSolver):
  """CFR+ (Tammelin 2014): regret matching+ and a linear average.

  Args:
    game: a `pyspiel.Game`.
    gamma: 1 for the linear, 2 for the quadratic average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> solver = cfr.CFRPlusSolver(pyspiel.load_game("kuhn_poker"))
    >>> result = solver.solve(target_exploitability=1e-4)
    >>> print(result.reason, round(result.value, 3))
    target -0.056
  """

  def __init__(self, game: pyspiel.Game, *, gamma: float = 1.0,
               **kwargs: Any) -> None:
    super().__init__(game, beta=-np.inf, gamma=gamma,
                     **_common("CFRPlusSolver", kwargs, "gamma"))


class LinearCFRSolver(RegretSolver):
  """Linear CFR (Brown & Sandholm 2019): iteration t weighs t everywhere.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, **kwargs: Any) -> None:
    super().__init__(game, alpha=1.0, beta=1.0, gamma=1.0,
                     **_common("LinearCFRSolver", kwargs))


class DiscountedCFRSolver(RegretSolver):
  """Discounted CFR (Brown & Sandholm 2019).

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of positive regrets.
    beta: discount of negative regrets.
    gamma: weight of the average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> solver = cfr.DiscountedCFRSolver(game, initial="random", seed=5)
    >>> solver.run(100)
    >>> policy = solver.average_policy()
    >>> state = game.new_initial_state()
    >>> for card in (2, 0):  # player 0 has the king, player 1 the jack
    ...   state.apply_action(card)
    >>> sorted(policy.action_probabilities(state))  # pass and bet
    [0, 1]
  """

  def __init__(self, game: pyspiel.Game, *, alpha: float = 1.5,
               beta: float = 0.0, gamma: float = 2.0, **kwargs: Any) -> None:
    super().__init__(
        game, alpha=alpha, beta=beta, gamma=gamma,
        **_common("DiscountedCFRSolver", kwargs, "alpha", "beta", "gamma"))


class PredictiveCFRPlusSolver(RegretSolver):
  """Predictive CFR+ (Farina, Kroer & Sandholm 2021), quadratic average.

  Args:
    game: a `pyspiel.Game`.
    gamma: weight of the average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, gamma: float = 2.0,
               **kwargs: Any) -> None:
    super().__init__(game, beta=-np.inf, gamma=gamma, prediction=True,
                     **_common("PredictiveCFRPlusSolver", kwargs, "gamma"))


class PDCFRPlusSolver(RegretSolver):
  """Predictive discounted CFR+ (Xu et al. 2024).

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    gamma: weight of the average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> solver = cfr.PDCFRPlusSolver(pyspiel.load_game("kuhn_poker"))
    >>> result = solver.solve(target_exploitability=1e-6, max_seconds=60)
    >>> result.exploitability <= 1e-6
    True
    >>> solver.expected_values().round(4)
    array([-0.0556,  0.0556])
  """

  def __init__(self, game: pyspiel.Game, *, alpha: float = 2.3,
               gamma: float = 5.0, **kwargs: Any) -> None:
    super().__init__(game, alpha=alpha, beta=-np.inf, gamma=gamma,
                     prediction=True,
                     **_common("PDCFRPlusSolver", kwargs, "alpha", "gamma"))


class DCFRPlusSolver(RegretSolver):
  """DCFR+ (Xu et al. 2024): discounted CFR with regret matching+.

  The paper has t^alpha + 1 below the line, and so have we. Its authors' code
  has t^alpha + 1.5 there.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    gamma: weight of the average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, alpha: float = 1.5,
               gamma: float = 4.0, **kwargs: Any) -> None:
    super().__init__(game, alpha=alpha, beta=-np.inf, gamma=gamma,
                     **_common("DCFRPlusSolver", kwargs, "alpha", "gamma"))


class SAPCFRPlusSolver(RegretSolver):
  """SAPCFR+ (Meng et al. 2026): the prediction of PCFR+ counts one third.

  Args:
    game: a `pyspiel.Game`.
    gamma: weight of the average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, gamma: float = 2.0,
               **kwargs: Any) -> None:
    super().__init__(game, beta=-np.inf, gamma=gamma, prediction=1 / 3,
                     **_common("SAPCFRPlusSolver", kwargs, "gamma"))


class APCFRPlusSolver(table_solver.TableSolver):
  """APCFR+ (Meng et al. 2026): PCFR+ that learns the weight of predictions.

  At each information set the newest regrets r(t) count 1 / (1 + a) times in the
  next strategy. The asymmetry a is the square root of the sum of |r(s) -
  r(s-1)|^2 over the sum of |R(s+1) - R(s)|^2, for s from 1 to t, where R(s+1) =
  [R(s) + r(s)]+ and the norms are Euclidean; and at most `max_asymmetry`.
  Nothing is discounted.

  Args:
    game: a `pyspiel.Game`.
    gamma: weight of the average.
    max_asymmetry: the largest asymmetry. 0 is PCFR+.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  _TABLES = ("regret", "cumulative", "latest", "state")

  def __init__(self, game: pyspiel.Game, *, gamma: float = 2.0,
               max_asymmetry: float = 5.0, **kwargs: Any) -> None:
    self._gamma = validation.number("gamma", gamma, 0.0, 1000.0)
    self._limit = validation.number("max_asymmetry", max_asymmetry, 0.0, 1e100)
    super().__init__(game, **_common("APCFRPlusSolver", kwargs, "gamma"))

  def _parameters(self):
    return {**super()._parameters(), "gamma": self._gamma,
            "max_asymmetry": self._limit}

  def _rule(self, first, last):
    t = np.arange(first, last + 1, dtype=np.float64)
    return update_rules.AsymmetricRule(
        decay=((t - 1) / t)**self._gamma, epsilon=self._epsilon, step=0.0,
        rounding=t, limit=self._limit)


class VADCFRSolver(table_solver.TableSolver):
  """VAD-CFR (Li et al. 2026): discounts and weights follow the regrets' sizes.

  In iteration t, from 1, m is the size of an information set's largest new
  regret (by its absolute value), and v is half the moving average of m, in
  which the newest counts one tenth; v is at most 1.

  1. Old sums are discounted by their old sign, by t^p / (t^p + 1) with p = 1.5
     - v/2 where they are not negative, and p = -0.1 - v/2 where they are.
  2. New regrets are added, the positive ones 1.1 times. Sums stay above -20.
  3. The next strategy is proportional to the power 1.5 of what is positive of
     the new sums, discounted once more in the same way by their new sign, plus
     the new regrets of step 2 times (1 - v/2) / (1 + (t - 1) / 100).
  4. After `warmup_iterations`, the strategy that was played weighs t^g sqrt(1 +
     m/2) / (1 + m^1.5) in the average, where g = 2 + 1.5 min(1, m/2).

  This is the paper's full listing (its fifth). The abridged one (its third)
  differs in the discount and in step 3. Neither says whether all information
  sets share one moving average; here each has its own. The numbers suit payoffs
  of order one and about 1,000 iterations. No proof of convergence is known.

  Until the average begins, `average_policy` is the current policy.

  Args:
    game: a `pyspiel.Game`.
    warmup_iterations: number of first iterations that do not count in the
      average.
    **kwargs: the arguments of `tabular.table_solver.TableSolver`.
  """

  _TABLES = ("regret", "cumulative", "state")

  def __init__(self, game: pyspiel.Game, *, warmup_iterations: int = 500,
               **kwargs: Any) -> None:
    self._warmup = validation.integer("warmup_iterations", warmup_iterations, 0,
                                      2**53)
    super().__init__(game, **_common("VADCFRSolver", kwargs))

  def _parameters(self):
    return {**super()._parameters(), "warmup_iterations": self._warmup}

  def _rule(self, first, last):
    t = np.arange(first, last + 1, dtype=np.float64)
    return update_rules.VolatileRule(
        time=t, optimism=1.0 / (1.0 + (t - 1.0) / 100.0),
        is_averaged=t > self._warmup, epsilon=self._epsilon, step=0.0,
        rounding=t)

  def _average(self):
    if self.iteration <= self._warmup:
      return self.tables.strategy.astype(np.float64)
    return super()._average()


class ScheduledSolver(RegretSolver):
  """Base of the solvers with hyperparameter schedules (Zhang et al. 2024).

  The powers of iteration t depend on t / n, where n is the planned number of
  iterations. After iteration n they stay constant.

  Args:
    game: a `pyspiel.Game`.
    planned_iterations: n.
    gamma: weight of the average at the beginning; it falls by 5 until the end.
      The paper uses 30 and 15.
    **kwargs: the other arguments of `RegretSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, planned_iterations: int = 1000,
               gamma: float = 30.0, **kwargs: Any) -> None:
    self._planned = validation.integer("planned_iterations", planned_iterations,
                                       1, 2**53)
    validation.number("gamma", gamma, 5.0, 1000.0)
    super().__init__(game, gamma=gamma, **kwargs)

  def _parameters(self):
    return {**super()._parameters(), "planned_iterations": self._planned}

  def _progress(self, t):
    """Returns the completed fraction of the planned iterations."""
    return np.minimum(t / self._planned, 1.0)

  def _powers(self, t):
    return self._alpha, self._beta, self._gamma - 5.0 * self._progress(t)


class HSDCFRSolver(ScheduledSolver):
  """HS-DCFR (Zhang et al. 2024): alpha from 1 to 4, beta from -1 to -3.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: `planned_iterations` and `gamma` of `ScheduledSolver`, and the
      arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, **kwargs: Any) -> None:
    super().__init__(game, **_common("HSDCFRSolver", kwargs, "gamma"))

  def _powers(self, t):
    progress = self._progress(t)
    _, _, gamma = super()._powers(t)
    return 1.0 + 3.0 * progress, -1.0 - 2.0 * progress, gamma


class HSPCFRPlusSolver(ScheduledSolver):
  """HS-PCFR+ (Zhang et al. 2024): PCFR+ with a scheduled average.

  Args:
    game: a `pyspiel.Game`.
    **kwargs: `planned_iterations` and `gamma` of `ScheduledSolver`, and the
      arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, **kwargs: Any) -> None:
    super().__init__(game, beta=-np.inf, prediction=True,
                     **_common("HSPCFRPlusSolver", kwargs, "gamma"))


class HSPDCFRPlusSolver(ScheduledSolver):
  """HS-PDCFR+ (Zhang et al. 2024): PDCFR+ with a scheduled average.

  Args:
    game: a `pyspiel.Game`.
    alpha: discount of the (positive) regrets.
    **kwargs: `planned_iterations` and `gamma` of `ScheduledSolver`, and the
      arguments of `tabular.table_solver.TableSolver`.
  """

  def __init__(self, game: pyspiel.Game, *, alpha: float = 2.3,
               **kwargs: Any) -> None:
    super().__init__(
        game, alpha=alpha, beta=-np.inf, prediction=True,
        **_common("HSPDCFRPlusSolver", kwargs, "alpha", "gamma"))


SOLVERS = {
    "cfr": CFRSolver,
    "cfr+": CFRPlusSolver,
    "lcfr": LinearCFRSolver,
    "dcfr": DiscountedCFRSolver,
    "pcfr+": PredictiveCFRPlusSolver,
    "pdcfr+": PDCFRPlusSolver,
    "dcfr+": DCFRPlusSolver,
    "sapcfr+": SAPCFRPlusSolver,
    "apcfr+": APCFRPlusSolver,
    "vad-cfr": VADCFRSolver,
    "hs-dcfr": HSDCFRSolver,
    "hs-pcfr+": HSPCFRPlusSolver,
    "hs-pdcfr+": HSPDCFRPlusSolver,
}
