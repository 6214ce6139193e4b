"""Trains the rounds (a, b) and (b, a) of Dudo by FSICFR.

An iteration sweeps over a list of deals (see `match_rounds.shifted_deals`) in
each of the two rounds. The deals are a few random shifts, so that every hand
meets some hands of the other player, or all deals. Shifts are drawn without
replacement: after as many as there are, all deals have been met equally often.
They are a function of the seed and the number of the iteration alone.
"""

import numba
import numpy as np

from dudo_spiel.algorithms.match import claim_memory
from dudo_spiel.algorithms.match import kernels as match_kernels
from dudo_spiel.algorithms.match import rounds as match_rounds

_MIN_PARALLEL_CELLS = 3_000_000  # rows times hands; threads cost time, too


def memory_bytes(match, rounds, num_shifts, num_threads, dtype):
  """Returns how much memory a `RoundTrainer` takes beside its tables."""
  num_claims = match.num_sides * sum(rounds[0])
  num_memories = claim_memory.num_memories(num_claims, match.recall_length)
  hands = sum(match.table_shape(key)[1] for key in rounds) * 2 // len(rounds)
  many = max(match.rolls(n).num_rolls for n in rounds[0])
  deals = num_shifts * many
  numbers = (num_memories * (3 * hands + 2 * deals) +
             2 * num_threads * (num_claims + 2) * deals)
  return numbers * np.dtype(dtype).itemsize


class RoundTrainer:
  """Holds the work arrays for the rounds of a pair of tables.

  Args:
    match: the `match_rounds.MatchRules`.
    rounds: the rounds trained together: [(a, b), (b, a)] or [(a, a)].
    tables: dict from (own dice, other's dice) to `match_rounds.Table`.
    states: dict from each round to its state (see `match_kernels.sweep`),
      modified in place.
    values: dict from smaller rounds to their starters' values.
    seed: for the shifts.
    num_threads: how many threads to use, if the round is large enough.
    num_shifts: how many hands of the other each hand meets in an iteration;
      None for all.
    power: iteration t weighs t^power, in regrets and averages.
  """

  def __init__(self, match, rounds, tables, states, values, seed, num_threads,
               num_shifts, power):
    self._match = match
    self.rounds = rounds
    self._tables = {key: tables[key] for key in rounds}
    self._states = states
    self._values = values
    self._seed = seed
    self._power = power
    self._memory = match.memory(sum(rounds[0]))
    self._all_shifts = min(match.rolls(n).num_rolls for n in rounds[0])
    self._is_exact = num_shifts is None or num_shifts >= self._all_shifts
    self.num_shifts = self._all_shifts if self._is_exact else num_shifts
    rows, hands = map(max, zip(*(match.table_shape(key) for key in rounds)))
    self._threads = num_threads if rows * hands >= _MIN_PARALLEL_CELLS else 1
    self._dtype = tables[rounds[0]].regret.dtype
    self._make_arrays()
    self._space = self._deal_space(self.num_shifts)
    self._deals = {}  # by round, if they never change
    self._order = (None, None)  # (round and epoch, its order of shifts)

  def _make_arrays(self):
    """Makes the arrays that do not depend on the deals, by dice."""
    units = len(self._memory.arrays.unit_begin)
    a, b = self.rounds[0]
    hands = [self._match.table_shape(key)[1] for key in ((a, b), (b, a))]

    def new(size):
      return tuple(np.zeros((size, n), self._dtype) for n in hands)

    self._own, self._seen = new(units), new(self._memory.num_memories)
    factors = new(self._memory.num_memories)
    self._factors = (factors[0], factors[int(a != b)])
    self._forward_work = np.zeros((self._threads, 2, max(hands)), self._dtype)
    self._chances = {}
    for key, width in zip(((a, b), (b, a)), hands):
      self._chances[key] = np.zeros(width)
      table = self._match.rolls(key[0])
      self._chances[key][:table.num_rolls] = table.probabilities

  def _deal_space(self, num_shifts):
    """Returns (values, work, lines) for deals with this many shifts."""
    deals = num_shifts * max(self._match.rolls(n).num_rolls
                             for n in self.rounds[0])
    values = tuple(np.zeros((self._memory.num_memories, deals), self._dtype)
                   for _ in range(2))
    actions = self._memory.num_claims + 1
    width = max(deals, self._forward_work.shape[2])
    return (values, np.zeros((self._threads, 2, actions, deals), self._dtype),
            np.zeros((self._threads, 2, width), self._dtype))

  def _roles(self, key, arrays):
    """Returns a pair of arrays by dice as a pair by role in the round."""
    return arrays if key == self.rounds[0] else arrays[::-1]

  def _role_tables(self, key, name):
    """Returns the tables of both roles."""
    return tuple(getattr(self._tables[own], name) for own in (key, key[::-1]))

  def shifts(self, key, iteration):
    """Returns the shifts of an iteration (from 0), if it does not meet all."""
    shifts = []
    for i in range(iteration * self.num_shifts,
                   (iteration + 1) * self.num_shifts):
      epoch, place = divmod(i, self._all_shifts)
      if self._order[0] != (key, epoch):
        rng = np.random.default_rng((self._seed, *key, epoch))
        self._order = ((key, epoch), rng.permutation(self._all_shifts))
      shifts.append(int(self._order[1][place]))
    return shifts

  def _with_leaves(self, key, deals):
    return deals, match_rounds.leaf_values(self._match, key, deals, self._values,
                                         self._dtype)

  def _shifted(self, key, shifts):
    return self._with_leaves(key, match_rounds.shifted_deals(
        self._match, key, shifts, self._dtype))

  @property
  def iteration(self):
    """How many iterations were run."""
    return int(min(self._states[key][0] for key in self.rounds))

  def iterate(self):
    """Runs one iteration of the rounds, or what was left of one."""
    done = self.iteration
    for key in self.rounds:
      if self._states[key][0] == done:
        self._sweep(key, done)

  def _sweep(self, key, iteration):
    if self._is_exact:
      if key not in self._deals:
        self._deals[key] = self._with_leaves(
            key, match_rounds.all_deals(self._match, key, self._dtype))
      deals, leaves = self._deals[key]
    else:
      deals, leaves = self._shifted(key, self.shifts(key, iteration))
    values, work, lines = self._space
    kernel, memory = self._kernel(match_kernels.sweep,
                                  match_kernels.sweep_parallel)
    kernel(memory, self._role_tables(key, "regret"),
           self._role_tables(key, "total"), self._roles(key, self._factors),
           self._roles(key, self._own), self._roles(key, self._seen),
           key[0] == key[1], values, leaves, deals.segments, deals.weights,
           deals.chances, self._dtype.type((iteration + 1)**self._power),
           self._forward_work, work, lines, self._states[key])

  def _kernel(self, serial, parallel):
    """Returns the kernel to use, and the memory as it takes it."""
    if self._threads == 1:
      return serial, self._memory.arrays
    numba.set_num_threads(self._threads)
    return parallel, tuple(self._memory.arrays)

  def values(self):
    """Returns {round: the starter's value}, both playing their averages."""
    a, b = self.rounds[0]
    for key, factor in zip(((a, b), (b, a)), self._factors):
      match_kernels.all_factors(self._memory.arrays, self._tables[key].total,
                                factor)
    return {key: self._value(key) for key in self.rounds}

  def _value(self, key):
    values, work, lines = self._space
    kernel, memory = self._kernel(match_kernels.backward,
                                  match_kernels.backward_parallel)
    many = values[0].shape[1] // self.num_shifts
    value, done = 0.0, 0
    while done < self._all_shifts:
      # As many shifts as always; those that were done before do not count.
      end = min(done + self.num_shifts, self._all_shifts)
      deals, leaves = self._shifted(key, range(end - self.num_shifts, end))
      kernel(memory, self._role_tables(key, "total"),
             self._roles(key, self._factors), self._roles(key, self._seen),
             values, leaves, deals.segments, deals.weights,
             self._dtype.type(1.0), False, work, lines)
      new = slice((self.num_shifts - (end - done)) * many, None)
      value += float(deals.chances[new] @ values[0][0, new])
      done = end
    return value * self.num_shifts / self._all_shifts

  def average_regret(self):
    """Returns the sum of all sets' average positive regrets.

    In a game of perfect recall both players' exploitability is at most this.
    """
    total = 0.0
    for key in self.rounds:
      weight = sum(self._states[k][2] for k in {key, key[::-1]}) / len(
          self.rounds)
      regrets = match_kernels.sum_regrets(
          self._memory.arrays, self._tables[key].regret, self._chances[key])
      total += regrets / max(weight, 1.0)
    return total / len(self.rounds)
