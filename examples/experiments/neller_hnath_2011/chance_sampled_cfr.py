"""Recursive CFR with sampled deals on a round of Dudo: the peer of FSICFR.

This is algorithm 1 of Neller & Hnath (2011), "Approximating Optimal Dudo Play
with Fixed-Strategy Iteration Counterfactual Regret Minimization". An iteration
samples a deal and then, for each of the two players, traverses every sequence
of claims. With C claims there are 2^C of them, however few are remembered. Each
visit to one of the player's own information sets changes its strategy at once.

  1. The columns of both hands are copied from the [row, hand] tables, so that
     the traversal finds them close together.
  2. The traversal is depth first, with a stack. Before the strongest claim it
     looks ahead: the answer can only be Dudo.
  3. The player's own columns are copied back.

As in the paper, nodes that the strategies do not reach are visited, too. Tables
have the layout of a `PairTrainer`, so they can become a `MatchPolicy`.
"""

import time
from typing import NamedTuple

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import deals
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.runtime import regret_tables

_CHUNK_SECONDS = 0.01  # about how long to run between looks at the clock

# A history on the stack of the traversal: its value so far, the reaches of the
# learner and of the opponent, its node in the graph, and the action that is
# evaluated.
_FRAME = np.dtype([("value", np.float64), ("own", np.float64),
                   ("other", np.float64), ("node", np.int64),
                   ("action", np.int64)])


class SampledRounds(NamedTuple):
  """The rounds (a, b) and (b, a), as arrays that kernels can take.

  Attributes:
    regrets: for each of both dice [row, hand].
    cumulatives: for each of both dice [row, hand].
    roll_chances: for each of both dice [roll] float64, cumulative, for
      `random_streams.choose`.
    matches: for each of both dice [roll, rank - 1] int32, how many dice match.
    ranks: [claim] int32.
    challenges: [round, role, claim, count] float64, what a challenge is worth
      to the challenger.
    is_symmetric: whether both have equally many dice, and so the same tables.
    seed: uint64, for the deals.
  """
  regrets: tuple[np.ndarray, np.ndarray]
  cumulatives: tuple[np.ndarray, np.ndarray]
  roll_chances: tuple[np.ndarray, np.ndarray]
  matches: tuple[np.ndarray, np.ndarray]
  ranks: np.ndarray
  challenges: np.ndarray
  is_symmetric: bool
  seed: int


class CFRScratch(NamedTuple):
  """Arrays that every traversal overwrites.

  Attributes:
    regret: [base + row] float64, the columns of both hands.
    cumulative: [base + row] float64, the learner's column.
    strategy: [base + row] float64, the columns of both hands.
    leaves: [2, claim] float64, what it is worth to the learner if the learner
      (0) or the opponent (1) challenges the claim.
    stack: [depth] `_FRAME`.
    values: [depth, action] float64, what the actions are worth.
  """
  regret: np.ndarray
  cumulative: np.ndarray
  strategy: np.ndarray
  leaves: np.ndarray
  stack: np.ndarray
  values: np.ndarray


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


@jit.inline
def _match_regrets(regret, strategy, begin, count):
  """Sets the strategy of a node by equation 5 of the paper.

  The per-set kernel of `graphs` does the same with vectors. A traversal mostly
  meets nodes of two or three actions, for which this loop is faster.

  Args:
    regret: [base + row].
    strategy: [base + row], modified in place.
    begin: where the node's rows begin.
    count: how many there are.
  """
  total = 0.0
  for i in range(begin, begin + count):
    x = max(regret[i], 0.0)
    strategy[i] = x
    total += x
  if total >= regret_tables.min_sum(total):
    scale = 1.0 / total
    for i in range(begin, begin + count):
      strategy[i] *= scale
  else:
    for i in range(begin, begin + count):
      strategy[i] = 1.0 / count


@jit.kernel
def _match_all_regrets(graph, regret, strategy, base):
  """Sets the strategies of all nodes."""
  for node in range(len(graph.last)):
    begin = base + graph.row_begin[node]
    count = graph.row_begin[node + 1] - graph.row_begin[node]
    _match_regrets(regret, strategy, begin, count)


@jit.inline
def _mixed(value, strategy, row, values, action):
  """Returns the value of a node's actions up to this one.

  It is summed as differences to the first action's value, so that equal values
  give regrets of zero and not rounding errors.

  Args:
    value: that of the actions before this one.
    strategy: [base + row].
    row: where the node's rows begin.
    values: [action] float64, of the node.
    action: the last action to count.
  """
  if action == 0:
    return values[0]
  return value + strategy[row + action] * (values[action] - values[0])


@jit.inline
def _learn(scratch, row, num_actions, values, value, own, other):
  """Updates a set of the learner: lines 21 to 25 of the paper.

  Args:
    scratch: the `CFRScratch`, modified in place.
    row: where the set's rows begin.
    num_actions: how many there are.
    values: [action] float64, what the actions are worth.
    value: what the set is worth.
    own: reach probability of the learner.
    other: reach probability of the opponent.
  """
  for i in range(num_actions):
    scratch.cumulative[row + i] += own * scratch.strategy[row + i]
    scratch.regret[row + i] += other * (values[i] - value)
  _match_regrets(scratch.regret, scratch.strategy, row, num_actions)


@jit.kernel
def _walk(graph, learner, bases, scratch):
  """Traverses all sequences of claims; returns the learner's value.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    learner: the role (0 the starter, 1 the other) that learns.
    bases: for each role, where its rows begin in the columns.
    scratch: the `CFRScratch`, modified in place.
  """
  cumulative = scratch.cumulative
  strategy, leaves = scratch.strategy, scratch.leaves
  stack, values = scratch.stack, scratch.values
  strongest = graph.num_claims - 1
  learns = learner == 0
  base, next_base = bases
  learner_base = base if learns else next_base
  depth, node, action = 0, 0, 0
  row, last = base, -1
  value, own, other = 0.0, 1.0, 1.0
  while True:
    if last + 1 + action < strongest:  # go down: lines 13 to 17 of the paper
      frame = stack[depth]
      frame.value = value
      frame.own = own
      frame.other = other
      frame.node = node
      frame.action = action
      if learns:
        own *= strategy[row + action]
      else:
        other *= strategy[row + action]
      depth += 1
      last += 1 + action
      node = graph.child_begin[node] + action
      learns = not learns
      base, next_base = next_base, base
      row = base + graph.row_begin[node]
      value, action = 0.0, 0
      continue
    # What is left are the strongest claim, to which Dudo is the answer, and
    # Dudo itself.
    challenger = 0 if learns else 1
    values[depth, action] = leaves[1 - challenger, strongest]
    if not learns:
      child = graph.child_begin[node] + action
      cumulative[learner_base + graph.row_begin[child]] += own
    value = _mixed(value, strategy, row, values[depth], action)
    action += 1
    if node > 0:
      values[depth, action] = leaves[challenger, last]
      value = _mixed(value, strategy, row, values[depth], action)
      action += 1
    if learns:
      _learn(scratch, row, action, values[depth], value, own, other)
    if depth == 0:
      return value
    depth -= 1  # go up: line 18
    frame = stack[depth]
    node, action, own, other = frame.node, frame.action, frame.own, frame.other
    last = graph.last[node]
    learns = not learns
    base, next_base = next_base, base
    row = base + graph.row_begin[node]
    values[depth, action] = value
    value = _mixed(frame.value, strategy, row, values[depth], action)
    action += 1


@jit.kernel
def deal(seed, number, roll_chances, number_of_round):
  """Returns the hands (starter's, other's) of a deal.

  Args:
    seed: of all deals of the rounds.
    number: counts the deals.
    roll_chances: for each of both dice [roll] float64, cumulative.
    number_of_round: 0 or, if the starter has the second number of dice, 1.
  """
  stream = random_streams.stream(seed, number)
  return (random_streams.choose(roll_chances[number_of_round],
                                random_streams.uniform(stream, 0)),
          random_streams.choose(roll_chances[1 - number_of_round],
                                random_streams.uniform(stream, 1)))


@jit.kernel
def _traverse(graph, rounds, number, number_of_round, learner, scratch):
  """Deals and traverses for one learner; returns the starter's value."""
  hands = deal(rounds.seed, number, rounds.roll_chances, number_of_round)
  shared = rounds.is_symmetric and hands[0] == hands[1]
  bases = (0, 0 if shared else graph.row_begin[len(graph.last)])
  for role in range(2):
    if role == 0 or not shared:
      _load(rounds.regrets[role ^ number_of_round], hands[role],
            scratch.regret, bases[role])
      _match_all_regrets(graph, scratch.regret, scratch.strategy, bases[role])
  own = learner ^ number_of_round  # whose dice the learner has
  _load(rounds.cumulatives[own], hands[learner], scratch.cumulative,
        bases[learner])
  for claim in range(graph.num_claims):
    rank = rounds.ranks[claim] - 1
    count = (rounds.matches[number_of_round][hands[0], rank] +
             rounds.matches[1 - number_of_round][hands[1], rank])
    for role in range(2):
      x = rounds.challenges[number_of_round, role, claim, count]
      if role == learner:
        scratch.leaves[0, claim] = x
      else:
        scratch.leaves[1, claim] = -x
  value = _walk(graph, learner, bases, scratch)
  _store(rounds.regrets[own], hands[learner], scratch.regret, bases[learner])
  _store(rounds.cumulatives[own], hands[learner], scratch.cumulative,
         bases[learner])
  return value if learner == 0 else -value


@jit.kernel
def run(graph, rounds, begin, end, records, scratch):
  """Runs traversals: for each iteration, round and learner, in this order.

  Args:
    graph: the `abstraction_graph.AbstractionArrays`.
    rounds: the `SampledRounds`; its tables are modified in place.
    begin: how many traversals were run before.
    end: how many there are afterwards.
    records: [round] `deals.RECORD`, modified in place; a traversal counts as
      half a sweep.
    scratch: the `CFRScratch`.
  """
  for traversal in range(begin, end):
    number = traversal // 2
    number_of_round = number % len(records)
    value = _traverse(graph, rounds, number, number_of_round, traversal % 2,
                      scratch)
    record = records[number_of_round]
    record.sweeps += 0.5
    record.value += 0.5 * value
    record.weight += 0.5


class ChanceSampledCFR:
  """Trains the rounds (a, b) and (b, a) by recursive chance-sampled CFR.

  Deals are drawn by their probabilities. They depend only on the seed, the dice
  and the number of the deal. Both traversals of an iteration have the same
  deal.

  Args:
    rules: the `abstract_rules.AbstractRules`.
    rounds: the rounds trained together: ((a, b), (b, a)) or ((a, a),).
    values: dict from smaller rounds to their starters' values.
    seed: for the deals.
    dtype: the type of the tables; all is computed in float64.

  Attributes:
    rounds: as given, a tuple.
    tables: dict from (own dice, opponent's dice) to [row, hand] `RegretTables`.
    records: [round] `deals.RECORD`; a sweep is an iteration here.
  """

  def __init__(self, rules, rounds, values, *, seed=0, dtype=np.float32):
    validation.integer("seed", seed, 0, 2**63 - 1)
    self.rounds = tuple(rounds)
    dice = a, b = self.rounds[0]
    allowed = round_rules.round_pair(dice)
    if self.rounds != allowed:
      raise ValueError(f"rounds={rounds}: must be {allowed}")
    self.tables = {key: deals.new_tables(rules, key, dtype)
                   for key in self.rounds}
    self.records = np.zeros(len(self.rounds), deals.RECORD)
    graph, rolls = rules.graph(a + b), [rules.rolls(n) for n in dice]
    both = [self.tables[a, b], self.tables[b, a]]
    self._graph = graph.arrays
    self._rounds = SampledRounds(
        tuple(tables.regret for tables in both),
        tuple(tables.cumulative for tables in both),
        tuple(np.cumsum(table.probabilities) for table in rolls),
        tuple(table.matches(rules.house.wild_ones) for table in rolls),
        rules.claim_order(a + b).ranks,
        np.array([[transitions.of_round(rules, key).payoffs(
            role, values).challenges for role in range(2)]
                  for key in self.rounds]),
        a == b, np.uint64(random_streams.stream(seed, 256 * a + b)))
    depths = graph.num_claims + 1
    self._scratch = CFRScratch(
        *(np.zeros(2 * graph.num_rows) for _ in range(3)),
        np.zeros((2, graph.num_claims)), np.zeros(depths, _FRAME),
        np.zeros((depths, depths)))

  def deal(self, key, iteration):
    """Returns the hands (starter's, other's) in an iteration (from 0)."""
    number = self.rounds.index(key)
    return deal(self._rounds.seed, len(self.rounds) * iteration + number,
                self._rounds.roll_chances, number)

  @property
  def traversals(self):
    """How many traversals were run; an iteration of a round has two."""
    return round(2 * self.records["sweeps"].sum())

  @property
  def iteration(self):
    """How many iterations of all rounds were finished."""
    return self.traversals // (2 * len(self.rounds))

  def _run(self, begin, end):
    run(self._graph, self._rounds, begin, end, self.records, self._scratch)

  def iterate(self, iterations=1):
    """Runs this many iterations; finishes one that was begun first."""
    validation.integer("iterations", iterations, 0)
    begin = self.traversals
    self._run(begin, 2 * len(self.rounds) * (self.iteration + iterations))

  def run_seconds(self, seconds):
    """Runs traversals until the time is up.

    The traversal under way is finished, so it may take longer. An iteration may
    be left half done.

    Args:
      seconds: how long.

    Returns:
      How many seconds it took.
    """
    validation.number("seconds", seconds, 0.0)
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
