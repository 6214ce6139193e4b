"""Regret matching in games of one simultaneous move for two players.

The simplest of the algorithms here, and the heart of CFR. A solver plays a game
such as rock, paper, scissors or Blotto against itself, and players prefer the
actions that they regret not to have played (Hart & Mas-Colell 2000;
`tabular.forms.normal_form` has the steps).

In a zero-sum or constant-sum game the average strategies approach an
equilibrium. In any game the joint distribution of what was played approaches
the set of coarse correlated equilibria, and with conditional regrets the set of
correlated equilibria.
"""

from collections.abc import Sequence
import itertools
import math

import numpy as np
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import base_solver
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.forms import normal_form

_UPDATES = ("exact", "sampled")
_MAX_ALLOCATIONS = 5000
_ROUNDING = 1e-6  # relative to payoffs, of what an iteration adds to a regret


class RegretMatchingSolver(base_solver.Solver):
  """Regret matching (Hart & Mas-Colell 2000).

  Args:
    game: a `pyspiel.Game` of one simultaneous move for two players, such as a
      `pyspiel.MatrixGame` or `blotto`.
    updates: "exact": regrets are expected ones, and the result does not depend
      on luck. "sampled": both players sample an action in each iteration.
    conditional: whether players regret separately for each action that they
      took, which needs sampled updates. Then it is the joint distribution that
      approaches an equilibrium, a correlated one.
    initial: the strategies of the first iteration: "uniform", or two lists of
      probabilities, one for each player.
    seed: for sampled actions.

  Attributes:
    game: the game.
    form: the `normal_form.NormalForm`, which has the payoffs.
    tables: the `normal_form.MatchingTables`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import regret_matching
    >>> game = pyspiel.load_game("matrix_brps")  # biased rock, paper, scissors
    >>> solver = regret_matching.RegretMatchingSolver(game)
    >>> solver.run(100000)
    >>> row, column = solver.average_strategies()
    >>> row.round(1)  # the equilibrium is 1/16, 10/16, 5/16
    array([0.1, 0.6, 0.3])
  """

  def __init__(self, game: pyspiel.Game, *, updates: str = "exact",
               conditional: bool = False,
               initial: str | Sequence[Sequence[float]] = "uniform",
               seed: int = 0) -> None:
    super().__init__(game, seed=seed, num_threads=1, dtype="float64")
    self._updates = validation.choice("updates", updates, _UPDATES)
    self._conditional = validation.boolean("conditional", conditional)
    if conditional and updates != "sampled":
      raise ValueError(f"conditional={conditional}: must be False unless "
                       "updates='sampled'")
    self.form = normal_form.NormalForm(game)
    self.tables = self.form.new_tables(self._conditional)
    strategies = self._initial_strategies(initial)
    self.tables.strategy_0[:], self.tables.strategy_1[:] = strategies

  def _initial_strategies(self, initial):
    """Returns two arrays of probabilities, or raises a ValueError."""
    if isinstance(initial, str) and initial == "uniform":
      return self.tables.strategy_0, self.tables.strategy_1
    sizes = [len(actions) for actions in self.form.actions]
    try:
      strategies = [np.array(part, np.float64) for part in initial]
    except (TypeError, ValueError):
      strategies = []
    if [part.shape for part in strategies] != [(size,) for size in sizes] or (
        not all(_is_distribution(part) for part in strategies)):
      raise ValueError(f"initial={initial!r}: must be 'uniform' or two lists "
                       f"of {sizes[0]} and {sizes[1]} probabilities")
    return strategies

  def _advance(self, iterations):
    if self._conditional:
      normal_form.match_conditional_regrets(
          self.form.payoffs, self.tables, self.form.inertia(),
          np.uint64(self._seed), iterations, self._count)
      return
    normal_form.match_regrets(
        self.form.payoffs, self.tables, self._updates == "sampled",
        np.uint64(self._seed), iterations, self._count)

  def _tables(self):
    return self.tables._asdict()

  def _parameters(self):
    parameters = {"updates": self._updates, "conditional": self._conditional}
    if self._updates == "sampled":
      parameters["seed"] = self._seed
    return parameters

  def _fingerprint(self):
    return self.form.fingerprint()

  def _read_extras(self, archive, tables):
    for name in ("strategy_0", "strategy_1"):
      if not _is_distribution(tables[name]):
        raise ValueError(f"path={archive.path!r}: its {name} must be a "
                         "distribution")
    for name in ("cumulative_0", "cumulative_1", "joint"):
      if np.any(tables[name] < 0.0):
        raise ValueError(f"path={archive.path!r}: its {name} must not have "
                         "negative numbers")
    for payoffs, name in zip(self.form.payoffs, ("regret_0", "regret_1")):
      # No difference of two payoffs is larger, apart from rounding.
      gain = np.ptp(payoffs) + _ROUNDING * np.max(np.abs(payoffs))
      high = gain * archive.header["iteration"]
      if np.any(np.abs(tables[name]) > high):
        raise ValueError(f"path={archive.path!r}: its {name} has numbers above "
                         f"{high:g} in size, which its iterations cannot make")

  @property
  def memory_bytes(self) -> int:
    """Bytes of memory of the solver."""
    return sum(array.nbytes for array in (*self.tables, *self.form.payoffs))

  def current_strategies(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns both players' current strategies: [row], [column] float64."""
    return self.tables.strategy_0.copy(), self.tables.strategy_1.copy()

  def average_strategies(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns both players' average strategies: [row], [column] float64."""
    cumulative = self.tables.cumulative_0, self.tables.cumulative_1
    if not (cumulative[0].any() and cumulative[1].any()):
      return self.current_strategies()
    return tuple(table / table.sum() for table in cumulative)

  def joint_distribution(self) -> np.ndarray:
    """Returns the distribution of joint play: [row, column] float64.

    With exact updates both players' strategies count with their probabilities.
    """
    if not self.tables.joint.any():
      return np.outer(*self.current_strategies())
    return self.tables.joint / self.tables.joint.sum()

  def current_policy(self) -> normal_form.NormalFormPolicy:
    """Returns the current policy, an OpenSpiel policy (a copy)."""
    return normal_form.NormalFormPolicy(self.form, self.current_strategies())

  def _average_policy(self):
    return normal_form.NormalFormPolicy(self.form, self.average_strategies())

  def expected_values(self) -> np.ndarray:
    """Returns [player] float64, each player's value of the average policy."""
    return self.form.expected_values(self.average_strategies())

  def nash_conv(self) -> float:
    """Returns the NashConv of the average policy."""
    return self.form.nash_conv(self.average_strategies())

  def ce_dist(self) -> float:
    """Returns how far the joint distribution is from a correlated equilibrium.

    That is the sum of both players' gains if each may replace every action that
    the distribution recommends, as in `pyspiel.ce_dist`. It is zero in a
    correlated equilibrium.
    """
    return self.form.ce_dist(self.joint_distribution())

  def cce_dist(self) -> float:
    """Returns how far it is from a coarse correlated equilibrium.

    That is the sum of both players' gains if each may always play one action
    instead of those that the distribution recommends. Regret matching brings it
    to zero; conditional regret matching brings `ce_dist` to zero, which is
    never less.
    """
    return self.form.cce_dist(self.joint_distribution())


def _is_distribution(strategy):
  return table_policy.are_distributions(np.zeros(len(strategy), np.int64),
                                        strategy)


def blotto_allocations(coins: int, fields: int) -> list[tuple[int, ...]]:
  """Returns a list of all ways to share out coins to fields, as tuples.

  They are numbered as the actions of OpenSpiel's `blotto` are.

  Args:
    coins: number of coins of each player.
    fields: number of fields.

  Example:
    >>> from dudo_spiel.algorithms import regret_matching
    >>> regret_matching.blotto_allocations(coins=2, fields=2)
    [(0, 2), (1, 1), (2, 0)]
  """
  validation.integer("coins", coins, 1, _MAX_ALLOCATIONS)
  validation.integer("fields", fields, 1, _MAX_ALLOCATIONS)
  size = math.comb(coins + fields - 1, fields - 1)
  if size > _MAX_ALLOCATIONS:
    raise ValueError(f"coins={coins}, fields={fields}: must have at most "
                     f"{_MAX_ALLOCATIONS} allocations, but has {size}")
  # Bars between the coins of neighbouring fields.
  ends = itertools.combinations(range(coins + fields - 1), fields - 1)
  return [tuple(end - begin - 1 for begin, end in
                zip((-1, *bars), (*bars, coins + fields - 1)))
          for bars in ends]


def blotto_fields_won(coins: int = 5, fields: int = 3) -> pyspiel.MatrixGame:
  """Returns Blotto in which the payoff is how many fields a player wins.

  OpenSpiel's `blotto` pays 1 to the player who wins more fields. Here each
  field pays 1 to the player with more coins on it, and half to each in a tie;
  so the sum is the number of fields.

  Args:
    coins: number of coins of each player.
    fields: number of fields.

  Returns:
    A `pyspiel.MatrixGame`. Its actions are those of `blotto`.

  Example:
    >>> from dudo_spiel.algorithms import regret_matching
    >>> game = regret_matching.blotto_fields_won(coins=2, fields=2)
    >>> game.row_utility(0, 2)  # each wins one field
    1.0
  """
  counts = np.array(blotto_allocations(coins, fields))
  won = np.sum(0.5 + 0.5 * np.sign(counts[:, None] - counts[None, :]), axis=-1)
  names = ["-".join(map(str, row)) for row in counts.tolist()]
  return pyspiel.create_matrix_game(
      f"blotto_fields_won_{coins}_{fields}", "Blotto, fields won", names, names,
      won, won.T)
