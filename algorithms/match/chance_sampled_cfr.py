"""Recursive CFR with sampled deals on a round of Dudo: the peer of FSICFR.

This is algorithm 1 of Neller & Hnath (2011), "Approximating Optimal Dudo Play
with Fixed-Strategy Iteration Counterfactual Regret Minimization". An iteration
samples a deal and then, for each of the two players, walks over every sequence
of claims: 2^C nodes with C claims, however few of them are remembered. Each
visit of one of the player's own information sets changes its strategy at once.

  1. The columns of both hands are copied from the [row, hand] tables, so that
     the walk finds its numbers close together.
  2. The walk is depth first with a stack. Before the strongest claim it looks
     ahead: the answer can only be Dudo.
  3. The player's own columns are copied back.

All nodes are visited, also those that the strategies do not reach, as in the
paper. The results have the layout of `round_trainer`, for a `MatchPolicy`.
"""

import time

import numpy as np

from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams

_CHUNK_SECONDS = 0.01  # the clock is looked at about so often


@jit.kernel
def _load(table, hand, column, base):
  """Copies a column of a [row, hand] table to column[base + row]."""
  for row in range(len(table)):
    column[base + row] = table[row, hand]


@jit.kernel
def _store(table, hand, column, base):
  """Copies column[base + row] back."""
  for row in range(len(table)):
    table[row, hand] = column[base + row]


@jit.kernel
def _match_regrets(memory, regret, strategy, base):
  """Sets the strategies of all memories by equation 5 of the paper."""
  for node in range(len(memory.last)):
    begin = base + memory.row_begin[node]
    end = base + memory.row_begin[node + 1]
    total = 0.0
    for i in range(begin, end):
      strategy[i] = max(regret[i], 0.0)
      total += strategy[i]
    scale = 1.0 / total if total > 0.0 else 0.0
    uniform = 0.0 if total > 0.0 else 1.0 / (end - begin)
    for i in range(begin, end):
      strategy[i] = strategy[i] * scale + uniform


@jit.kernel
def _walk(memory, learner, bases, regret, total, strategy, leaves, stack,
          cursors, values):
  """Walks over all sequences of claims and returns the learner's value.

  A node's value is summed as differences to its first action's value, so that
  equal values give regrets of zero and not rounding errors.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    learner: the role (0 the starter, 1 the other) that learns.
    bases: for each role, where its rows begin in the columns.
    regret: [base + row], modified in place.
    total: [base + row], modified in place.
    strategy: [base + row], modified in place.
    leaves: [2, claim], what it is worth to the learner if the learner (0) or
      the other (1) challenges the claim.
    stack: [depth, 3] scratch: value, own reach and the other's reach of nodes.
    cursors: [depth, 2] int64 scratch: node and action.
    values: [depth, action] scratch: what the actions are worth.
  """
  strongest = memory.num_claims - 1
  learns = learner == 0
  base, next_base = bases
  learner_base = base if learns else next_base
  depth, node, action = 0, 0, 0
  row, last = base, -1
  value, own, other = 0.0, 1.0, 1.0
  while True:
    if last + 1 + action < strongest:  # go down: lines 13 to 17 of the paper
      stack[depth, 0] = value
      stack[depth, 1] = own
      stack[depth, 2] = other
      cursors[depth, 0] = node
      cursors[depth, 1] = action
      if learns:
        own *= strategy[row + action]
      else:
        other *= strategy[row + action]
      depth += 1
      last += 1 + action
      node = memory.child_begin[node] + action
      learns = not learns
      base, next_base = next_base, base
      row = base + memory.row_begin[node]
      value, action = 0.0, 0
      continue
    # What is left are the strongest claim, to which Dudo is the answer, and
    # Dudo itself.
    challenger = 0 if learns else 1
    values[depth, action] = leaves[1 - challenger, strongest]
    if not learns:
      child = memory.child_begin[node] + action
      total[learner_base + memory.row_begin[child]] += own
    first = values[depth, 0]
    if action == 0:
      value = first
    else:
      value += strategy[row + action] * (values[depth, action] - first)
    action += 1
    if node > 0:
      values[depth, action] = leaves[challenger, last]
      value += strategy[row + action] * (values[depth, action] - first)
      action += 1
    if learns:  # lines 21 to 25; a call of another function would cost time
      positive = 0.0
      for a in range(action):
        total[row + a] += own * strategy[row + a]
        x = regret[row + a] + other * (values[depth, a] - value)
        regret[row + a] = x
        strategy[row + a] = max(x, 0.0)
        positive += strategy[row + a]
      if positive > 0.0:
        scale = 1.0 / positive
        for a in range(action):
          strategy[row + a] *= scale
      else:
        for a in range(action):
          strategy[row + a] = 1.0 / action
    if depth == 0:
      return value
    child_value = value  # go up: line 18
    depth -= 1
    value = stack[depth, 0]
    own = stack[depth, 1]
    other = stack[depth, 2]
    node = cursors[depth, 0]
    action = cursors[depth, 1]
    last = memory.last[node]
    learns = not learns
    base, next_base = next_base, base
    row = base + memory.row_begin[node]
    values[depth, action] = child_value
    if action == 0:
      value = child_value
    else:
      value += strategy[row + action] * (child_value - values[depth, 0])
    action += 1


@jit.kernel
def deal(seed, number, cumulative, number_of_round):
  """Returns the hands (starter's, other's) of a deal.

  Args:
    seed: of all deals of the rounds.
    number: counts the deals.
    cumulative: for each of both dice [roll] float64 (see `random_streams`).
    number_of_round: 0 or, if the starter has the second number of dice, 1.
  """
  begin = random_streams.stream(seed, number)
  return (random_streams.choose(cumulative[number_of_round],
                                random_streams.uniform(begin, 0)),
          random_streams.choose(cumulative[1 - number_of_round],
                                random_streams.uniform(begin, 1)))


@jit.kernel
def _traverse(memory, regrets, totals, cumulative, matches, ranks, worth,
              is_symmetric, seed, number, number_of_round, learner, columns,
              leaves, stack, cursors, values):
  """Deals, walks for one learner and returns the starter's value; see `run`."""
  hands = deal(seed, number, cumulative, number_of_round)
  shared = is_symmetric and hands[0] == hands[1]
  bases = (0, 0 if shared else memory.row_begin[len(memory.last)])
  regret, total, strategy = columns[0], columns[1], columns[2]
  for role in range(2):
    if role == 0 or not shared:
      _load(regrets[role ^ number_of_round], hands[role], regret, bases[role])
      _match_regrets(memory, regret, strategy, bases[role])
  own = learner ^ number_of_round  # whose dice the learner has
  _load(totals[own], hands[learner], total, bases[learner])
  for claim in range(memory.num_claims):
    rank = ranks[claim] - 1
    count = (matches[number_of_round][hands[0], rank] +
             matches[1 - number_of_round][hands[1], rank])
    for role in range(2):
      x = worth[number_of_round, role, claim, count]
      if role == learner:
        leaves[0, claim] = x
      else:
        leaves[1, claim] = -x
  value = _walk(memory, learner, bases, regret, total, strategy, leaves, stack,
                cursors, values)
  _store(regrets[own], hands[learner], regret, bases[learner])
  _store(totals[own], hands[learner], total, bases[learner])
  return value if learner == 0 else -value


@jit.kernel
def run(memory, regrets, totals, cumulative, matches, ranks, worth,
        is_symmetric, seed, begin, end, states, columns, leaves, stack, cursors,
        values):
  """Runs traversals: for each iteration, round and learner, in this order.

  Args:
    memory: the `claim_memory.MemoryArrays`.
    regrets: for each of both dice [row, hand], modified in place.
    totals: for each of both dice [row, hand], modified in place.
    cumulative: for each of both dice [roll] float64, for `roll`.
    matches: for each of both dice [roll, rank - 1] int32, how many count.
    ranks: [claim] int32.
    worth: [round, role, claim, count] float64, of challenges to the challenger.
    is_symmetric: whether both have equally many dice, and so the same tables.
    seed: of the deals.
    begin: how many traversals were run before.
    end: how many there are afterwards.
    states: for the first and the last round [3] float64, modified in place:
      how many iterations there were (a traversal is half of one), and sums
      over them of the round's value to the starter and of their weights.
    columns: [3, 2 * rows] float64 scratch: regrets, sums and strategies.
    leaves: [2, claim] float64 scratch.
    stack: as for `_walk`.
    cursors: as for `_walk`.
    values: as for `_walk`.
  """
  for traversal in range(begin, end):
    number = traversal // 2
    number_of_round = number % len(worth)
    value = _traverse(memory, regrets, totals, cumulative, matches, ranks,
                      worth, is_symmetric, seed, number, number_of_round,
                      traversal % 2, columns, leaves, stack, cursors, values)
    states[number_of_round][0] += 0.5
    states[number_of_round][1] += 0.5 * value
    states[number_of_round][2] += 0.5


class ChanceSampledCFR:
  """Trains the rounds (a, b) and (b, a) by recursive chance-sampled CFR.

  Deals are drawn by their probabilities, by a hash of the seed, the dice and
  the number of the deal. Both traversals of an iteration have the same deal.

  Args:
    match: the `rounds.MatchRules`.
    rounds: the rounds trained together: [(a, b), (b, a)] or [(a, a)].
    tables: dict from (own dice, other's dice) to `rounds.Table` of float64
      or float32, modified in place. It is computed in float64.
    states: dict from each round to its state (see `run`), modified in place.
    values: dict from smaller rounds to their starters' values.
    seed: for the deals.
  """

  def __init__(self, match, rounds, tables, states, values, seed):
    arguments.integer("seed", seed, 0, 2**63 - 1)
    self.rounds = list(rounds)
    a, b = self.rounds[0]
    allowed = list(dict.fromkeys([(a, b), (b, a)]))
    if self.rounds != allowed:
      raise ValueError(f"rounds={rounds}: must be {allowed}")
    dice = (a, b)
    memory = match.memory(a + b)
    order = match.claim_order(a + b)
    rolls = [match.rolls(n) for n in dice]
    self._seed = np.uint64(random_streams.stream(seed, 256 * a + b))
    self._cumulative = tuple(np.cumsum(table.probabilities)
                             for table in rolls)
    both = [tables[a, b], tables[b, a]]
    worth = np.array([
        [rounds.challenge_values(match, own, other, values)
         for own, other in (key, key[::-1])] for key in self.rounds])
    depths = memory.num_claims + 1
    self._states = tuple(states[key] for key in self.rounds)
    self._before = (
        memory.arrays, tuple(table.regret for table in both),
        tuple(table.total for table in both), self._cumulative,
        tuple(table.matches(match.house.wild_ones) for table in rolls),
        order.ranks, worth, a == b, self._seed)
    self._after = (
        # Always two, so that the kernel is compiled but once.
        (self._states[0], self._states[-1]),
        np.zeros((3, 2 * memory.num_rows)),
        np.zeros((2, memory.num_claims)), np.zeros((depths, 3)),
        np.zeros((depths, 2), np.int64), np.zeros((depths, depths)))

  def deal(self, key, iteration):
    """Returns the hands (starter's, other's) in an iteration (from 0)."""
    number = self.rounds.index(key)
    return deal(self._seed, len(self.rounds) * iteration + number,
                self._cumulative, number)

  @property
  def traversals(self):
    """How many traversals were run; an iteration of a round has two."""
    return round(sum(2 * state[0] for state in self._states))

  @property
  def iteration(self):
    """How many iterations of all rounds were finished."""
    return self.traversals // (2 * len(self.rounds))

  def _run(self, begin, end):
    run(*self._before, begin, end, *self._after)

  def iterate(self, iterations=1):
    """Runs this many iterations, the rest of one that was begun included."""
    arguments.integer("iterations", iterations, 0)
    begin = self.traversals
    self._run(begin, 2 * len(self.rounds) * (self.iteration + iterations))

  def run_seconds(self, seconds):
    """Runs traversals until the time is up.

    One that is under way is finished, so that it may take longer; an iteration
    may be left half done.

    Args:
      seconds: how long.

    Returns:
      How many seconds it took.
    """
    arguments.number("seconds", seconds, 0.0)
    start = time.perf_counter()
    chunk, elapsed = 1, 0.0
    while elapsed < seconds:
      begin = self.traversals
      before = elapsed
      self._run(begin, begin + chunk)
      elapsed = time.perf_counter() - start
      if elapsed - before < _CHUNK_SECONDS / 2:
        chunk *= 2
    return elapsed
