"""Trains the rounds (a, b) and (b, a) of Dudo by FSICFR.

An iteration sweeps over a list of deals in each of the two rounds. The deals
are all there are, or a few random shifts, so that every hand meets some hands
of the opponent (see `deals.shifted_deals`). Shifts are drawn without
replacement: after as many as there are, all deals have come up equally often.
They depend only on the seed and the number of the iteration.
"""

import contextlib
import time

import numpy as np

from dudo_spiel.algorithms.dudo.imperfect_recall import deals
from dudo_spiel.algorithms.dudo.imperfect_recall import sweep_kernels
from dudo_spiel.algorithms.dudo.imperfect_recall import table_kernels
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

MIN_PARALLEL_CELLS = 3_000_000  # rows times hands; threads cost time, too
_EXACT_HANDS = 21  # with at most two dice a player meets all hands
_SAMPLED_HANDS = 8  # with more dice, this many
LONG_SECONDS = 0.2  # a sweep that takes longer need not be waited for


def round_pairs(rounds):
  """Returns the pairs of rounds that share tables, in order.

  They are ((a, b), (b, a)) or ((a, a),).
  """
  return list(dict.fromkeys(
      round_rules.round_pair(tuple(sorted(key))) for key in rounds))


def num_shifts(rules, pair, hands_met):
  """Returns how many hands each hand meets in an iteration of a pair.

  `hands_met` is a number, "all", or None for the default.
  """
  few = min(rules.rolls(n).num_rolls for n in pair[0])
  if hands_met is None:
    hands_met = "all" if few <= _EXACT_HANDS else _SAMPLED_HANDS
  return few if hands_met == "all" else min(hands_met, few)


def scratch_bytes(rules, rounds, num_shifts, num_threads, dtype):
  """Returns how much memory the work arrays of a pair of rounds take."""
  num_claims = rules.num_sides * sum(rounds[0])
  num_nodes = rules.num_nodes(sum(rounds[0]))
  hands = sum(rules.table_shape(key)[1] for key in rounds) * 2 // len(rounds)
  many = max(rules.rolls(n).num_rolls for n in rounds[0])
  num_deals = num_shifts * many
  entries = (num_nodes * (3 * hands + 2 * num_deals) +
             2 * num_threads * (num_claims + 2) * num_deals)
  return entries * np.dtype(dtype).itemsize


class PairTrainer:
  """Owns all that is learned about a pair of rounds, and trains them.

  Work arrays exist only within `at_work`:

    with trainer.at_work(values_of_smaller_rounds):
      trainer.iterate(100)
      trainer.update_values()

  Args:
    rules: the `abstract_rules.AbstractRules`.
    rounds: the rounds trained together: ((a, b), (b, a)) or ((a, a),).
    seed: for the shifts.
    num_threads: how many threads to use if the rounds are large enough.
    num_shifts: how many hands of the opponent each hand meets in an iteration;
      None for all.
    gamma: iteration t weighs t^gamma in regrets and averages.
    dtype: the type of the tables.

  Attributes:
    rounds: as given, a tuple.
    values: dict from each round to its starter's value if both play the average
      policy; empty while that is not known.
    seconds: how long the rounds were trained.
    num_shifts: how many hands of the opponent each hand meets.
  """

  def __init__(self, rules, rounds, *, seed=0, num_threads=1, num_shifts=None,
               gamma=1.0, dtype=np.float32):
    self.rounds = tuple(rounds)
    self.values = {}
    self.seconds = 0.0
    self._tables = {key: deals.new_tables(rules, key, dtype)
                    for key in self.rounds}
    self._records = np.zeros(len(self.rounds), deals.RECORD)
    self._background = interrupts.Background()
    self._last_seconds = 0.0  # that a sweep took
    self._rules = rules
    self._seed = seed
    self._gamma = gamma
    self._dtype = np.dtype(dtype)
    self._all_shifts = min(rules.rolls(n).num_rolls for n in self.rounds[0])
    self._is_exact = num_shifts is None or num_shifts >= self._all_shifts
    self.num_shifts = self._all_shifts if self._is_exact else num_shifts
    rows, hands = map(max, zip(*(rules.table_shape(key)
                                 for key in self.rounds)))
    self._num_threads = (num_threads if rows * hands >= MIN_PARALLEL_CELLS
                         else 1)
    self._sweeper = None
    self._order_of = None  # the round and epoch to which `_order` belongs
    self._order = None  # of the shifts

  @property
  def tables(self):
    """{(own dice, opponent's dice): [row, hand] `RegretTables`}."""
    self._background.settle()
    return self._tables

  @property
  def records(self):
    """[round] `deals.RECORD`."""
    self._background.settle()
    return self._records

  @property
  def iteration(self):
    """How many iterations were finished."""
    return int(self.records["sweeps"].min())

  @property
  def num_dice(self):
    """How many dice are in play."""
    return sum(self.rounds[0])

  @property
  def num_sweeps(self):
    """How many sweeps there were, over all rounds."""
    return int(self.records["sweeps"].sum())

  @property
  def memory_bytes(self):
    """How much memory the tables and the work arrays take."""
    tables = sum(table.nbytes for tables in self.tables.values()
                 for table in tables)
    return tables + scratch_bytes(self._rules, self.rounds, self.num_shifts,
                                  self._num_threads, self._dtype)

  def copy_from(self, other):
    """Becomes what another trainer of the same rounds is."""
    with interrupts.deferred():  # tables and counts must fit together
      for key, tables in self.tables.items():
        for table, new in zip(tables, other.tables[key]):
          table[:] = new
      self.records[:] = other.records
      self.values = other.values
      self.seconds = other.seconds

  def reset(self):
    """Forgets all that was learned."""
    for tables in self.tables.values():
      for table in tables:
        table.fill(0)
    self.records.fill(0)
    self.values = {}
    self.seconds = 0.0

  @contextlib.contextmanager
  def at_work(self, values, num_threads=None):
    """Holds the work arrays for as long as the context lasts.

    Args:
      values: dict from smaller rounds to their starters' values.
      num_threads: how many threads to use at most, None for all it may.
    """
    num_threads = min(num_threads or self._num_threads, self._num_threads)
    self._sweeper = _Sweeper(self._rules, self.tables, num_threads,
                             self.num_shifts, values)
    try:
      yield
    finally:
      self._sweeper = None

  def shifts(self, key, iteration):
    """Returns the shifts of an iteration (from 0), if it does not meet all."""
    shifts = []
    for i in range(iteration * self.num_shifts,
                   (iteration + 1) * self.num_shifts):
      epoch, index = divmod(i, self._all_shifts)
      if self._order_of != (key, epoch):
        self._order_of = key, epoch
        self._order = np.random.default_rng(
            (self._seed, *key, epoch)).permutation(self._all_shifts)
      shifts.append(int(self._order[index]))
    return shifts

  def iterate(self, iterations=1):
    """Runs iterations; finishes one that was interrupted first.

    With 0 iterations it compiles what the others will run.
    """
    if not iterations:
      self._sweeper.compile()
      return
    begin = time.perf_counter()
    self.values = {}
    first = self.iteration
    try:
      for iteration in range(first, first + iterations):
        for number, key in enumerate(self.rounds):
          if self.records[number]["sweeps"] == iteration:
            self._sweep(number, key, iteration)
    finally:
      self.seconds += time.perf_counter() - begin

  def _sweep(self, number, key, iteration):
    """Runs a sweep; Ctrl-C does not stop a long one, nor wait for it."""
    args = (key, None if self._is_exact else self.shifts(key, iteration),
            (iteration + 1)**self._gamma, self.records[number:number + 1])
    begin = time.perf_counter()
    if self._last_seconds > LONG_SECONDS:
      self._background.run(self._sweeper.sweep, *args)
    else:
      self._sweeper.sweep(*args)
    self._last_seconds = time.perf_counter() - begin

  def update_values(self):
    """Computes `values`, what the rounds are worth."""
    self._sweeper.value_averages()
    self.values = {key: self._value(key) for key in self.rounds}

  def _value(self, key):
    value, done = 0.0, 0
    while done < self._all_shifts:
      # Always the same number of shifts; those done before do not count.
      end = min(done + self.num_shifts, self._all_shifts)
      value += self._sweeper.value(key, range(end - self.num_shifts, end),
                                   self.num_shifts - (end - done))
      done = end
    return value * self.num_shifts / self._all_shifts

  def _weight(self):
    """Returns the weight of all sweeps that added to each table."""
    return float(self.records["weight"].sum())

  def average_weights(self, key):
    """Returns [row, hand] float32, the average policy times own reach."""
    weights = self.tables[key].cumulative.astype(np.float32)
    weights *= np.float32(1.0 / max(self._weight(), 1.0))
    return weights

  def mean_value(self, key):
    """Returns what the round was worth on average during training."""
    record = self.records[self.rounds.index(key)]
    return record["value"] / max(record["weight"], 1.0)

  def average_regret(self):
    """Returns the sum of all sets' average positive regrets.

    In a game of perfect recall it bounds both players' exploitability.
    """
    total = 0.0
    for key in self.rounds:
      rolls = self._rules.rolls(key[0])
      chances = np.zeros(self._rules.table_shape(key)[1])
      chances[:rolls.num_rolls] = rolls.probabilities
      regrets = table_kernels.sum_regrets(
          self._rules.graph(sum(key)).arrays, self.tables[key].regret, chances)
      total += regrets / max(self._weight() / len(self.rounds), 1.0)
    return total / len(self.rounds)


class _Sweeper:
  """The work arrays of a pair of rounds, and what their leaves are worth.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    tables: {(own dice, opponent's dice): `RegretTables`}.
    num_threads: how many threads to use.
    num_shifts: how many shifts a list of deals has.
    values: {smaller round: its starter's value}.
  """

  def __init__(self, rules, tables, num_threads, num_shifts, values):
    self._rules = rules
    self._tables = tables
    self._num_threads = num_threads
    self._num_shifts = num_shifts
    self._values = values
    a, b = next(iter(tables))
    self._dtype = tables[a, b].regret.dtype
    self._graph = rules.graph(a + b).arrays
    self._many = max(rules.rolls(n).num_rolls for n in (a, b))
    self._roles = self._make_roles(a, b)
    self._scratch = self._make_scratch()
    self._deals = {}  # by round, if they never change

  def _zeros(self, *shape):
    return np.zeros(shape, self._dtype)

  def _make_roles(self, a, b):
    """Returns {round: (starter, other)}, pairs of `RoleArrays` without deals.

    Reaches and factors belong to a number of dice, values to a role.
    """
    num_deals = self._num_shifts * self._many
    values = [self._zeros(len(self._graph.last), num_deals) for _ in range(2)]
    first = self._role_arrays((a, b), 0, values[0])
    second = self._role_arrays((b, a), 1, values[1])
    if a == b:
      return {(a, a): (first, second._replace(factor=first.factor))}
    return {(a, b): (first, second),
            (b, a): (second._replace(role=0, value=values[0]),
                     first._replace(role=1, value=values[1]))}

  def _role_arrays(self, key, role, value):
    """Returns the `RoleArrays` of (own dice, opponent's dice) in a role."""
    nodes, units = len(self._graph.last), len(self._graph.unit_begin)
    hands = self._tables[key].regret.shape[1]
    return sweep_kernels.RoleArrays(
        role=role, table=self._tables[key].regret,
        cumulative=self._tables[key].cumulative,
        factor=self._zeros(nodes, hands),
        own_turn_reach=self._zeros(units, hands),
        opponent_turn_reach=self._zeros(nodes, hands), value=value,
        leaf=self._zeros(0, 0),
        segments=np.zeros(0, deals.SEGMENT), weight=self._zeros(0))

  def _make_scratch(self):
    threads = self._num_threads
    hands = max(table.regret.shape[1] for table in self._tables.values())
    num_deals = self._num_shifts * self._many
    return sweep_kernels.SweepScratch(
        *(self._zeros(threads, hands) for _ in range(3)),
        self._zeros(threads, num_deals),
        self._zeros(threads, 2, self._graph.num_claims + 1, num_deals))

  def _dealt(self, key, shifts):
    """Returns (starter, other, `DealBatch`), the roles with their deals."""
    if shifts is not None:
      return self._with_deals(key, deals.shifted_deals(
          self._rules, key, shifts, self._dtype))
    if key not in self._deals:
      self._deals[key] = self._with_deals(key, deals.all_deals(
          self._rules, key, self._dtype))
    return self._deals[key]

  def _with_deals(self, key, batch):
    leaves = deals.leaf_values(self._rules, key, batch, self._values,
                               self._dtype)
    starter, other = (
        arrays._replace(leaf=leaves[role], segments=batch.segments[role],
                        weight=batch.weights[role])
        for role, arrays in enumerate(self._roles[key]))
    return starter, other, batch

  def _settings(self, key, weight, learns):
    return sweep_kernels.SweepSettings(key[0] == key[1], learns,
                                       self._dtype.type(weight))

  def sweep(self, key, shifts, weight, record, graph=None):
    """Runs one sweep of a round.

    Args:
      key: the round.
      shifts: sequence of int, or None for all deals.
      weight: the weight of the iteration.
      record: [1] `deals.RECORD`, modified in place.
      graph: the `abstraction_graph.AbstractionArrays`; None for the round's.
    """
    starter, other, batch = self._dealt(key, shifts)
    jit.run(self._num_threads, sweep_kernels.sweep,
            sweep_kernels.sweep_parallel,
            self._graph if graph is None else graph, starter, other,
            self._settings(key, weight, True), self._scratch, batch.chances,
            record)

  def compile(self):
    """Compiles what `sweep` runs, by a sweep over a graph without units."""
    empty = self._graph._replace(num_claims=-1,
                                 unit_begin=self._graph.unit_begin[:1])
    self.sweep(next(iter(self._tables)), range(self._num_shifts), 1.0,
               np.zeros(1, deals.RECORD), empty)

  def value_averages(self):
    """Prepares `value`: matches the average policies instead of regrets."""
    first = next(iter(self._roles.values()))
    for arrays in first[:len(self._tables)]:
      table_kernels.match_all_regrets(self._graph, arrays.cumulative,
                                      arrays.factor)

  def value(self, key, shifts, skipped):
    """Returns the starter's value if both play their averages.

    Args:
      key: the round.
      shifts: sequence of int, as many as always.
      skipped: how many of the first shifts do not count.
    """
    starter, other, batch = self._dealt(key, shifts)
    jit.run(self._num_threads, sweep_kernels.backward,
            sweep_kernels.backward_parallel, self._graph,
            starter._replace(table=starter.cumulative),
            other._replace(table=other.cumulative),
            self._settings(key, 1.0, False), self._scratch)
    new = slice(skipped * self._many, None)
    return float(batch.chances[new] @ starter.value[0, new])


def known_values(trainers):
  """Returns {round: the starter's value} of all rounds that have one."""
  return {key: value for trainer in trainers
          for key, value in trainer.values.items()}
