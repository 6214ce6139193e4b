"""Trains one round of Dudo with perfect recall, on a tree that grows.

An iteration is guarded training on the stored tree (`guarded_kernels`): two
games, in each of which first the adversary learns and then the policy, by
discounted CFR. An expansion measures the average policy by two exact best
responses over the whole round, and stores the claims that gain more than a
small fraction of the exploitability: those by which a best response to a policy
gains, and those by which a policy gains against its adversary.

Claims that are rarely made and that neither the policy nor the adversary
regrets, and to which the opponent's own moves do not lead either, are dropped
with their subtrees. They are stored again if they are needed.
"""

import functools

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import expansion_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import guarded_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import round_evaluator
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import size_model
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.runtime import interrupts

EXPANSION_FRACTION, EXPANSION_SLOPE = 1e-6, 1e-3
DROP_FRACTION = 1e-8
_MAX_DISCOUNTED = 2**20  # iterations; later discounts differ from 1 by 1e-9
_MIN_DISCOUNTED = 2**10  # how many discounts are computed at least
MAX_PROPOSALS = 2**16  # of one traversal
MIN_SPLIT_ENTRIES = 2**16  # smaller trees are for one thread
MAX_THREADS = 16  # of a round


@functools.cache
def _cumulative_discounts(size):
  """Returns [size + 1] float64, the products of the discounts up to each t."""
  discounts = np.ones(size + 1)
  t = np.arange(1, size + 1, dtype=np.float64)**guarded_kernels.ALPHA
  np.divide(t, t + 1.0, out=discounts[1:])
  return np.cumprod(discounts, out=discounts)


def num_discounted(iteration):
  """Returns for how many iterations discounts are computed by then."""
  return min(max(1 << iteration.bit_length(), _MIN_DISCOUNTED),
             _MAX_DISCOUNTED)


class RecallTrainer:
  """Has the tree and the tables of a round, and trains them.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    dtype: the type of the tables, float32 or float64.
    num_threads: how many threads to use at most.
    expansion_fraction: a claim is stored if it gains more than this fraction of
      the exploitability ...
    expansion_slope: ... and more than this times its square.
    drop_fraction: a claim is dropped only if its average probability is below
      this fraction of the exploitability.
    max_proposals: how many claims one traversal proposes at most.
    min_split_entries: smaller trees are for one thread.
    flag: [1] bool; soon after it is set, measurements raise an
      `interrupts.StoppedError`. None for one that nobody sets.

  Attributes:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `guarded_kernels.LearnTables`.
    iteration: how many iterations were run.
    payoffs: for each role the `transitions.Payoffs` by which it learns.
    outcomes: [role, claim, count] float64, the probabilities of challenges at
      the last expansion, or None.
    flag: as given, or one of its own.
    evaluator: the `round_evaluator.RoundEvaluator` of the average policy.
  """

  def __init__(self, match, dice, *, dtype=np.float32, num_threads=1,
               expansion_fraction=EXPANSION_FRACTION,
               expansion_slope=EXPANSION_SLOPE, drop_fraction=DROP_FRACTION,
               max_proposals=MAX_PROPOSALS,
               min_split_entries=MIN_SPLIT_ENTRIES, flag=None):
    self.hands = round_hands.RoundHands(match, dice)
    self.payoffs = None
    self.outcomes = None
    self.flag = interrupts.new_flag() if flag is None else flag
    self._match = match
    self._dtype = np.dtype(dtype)
    self._expansion_fraction = expansion_fraction
    self._expansion_slope = expansion_slope
    self._drop_fraction = drop_fraction
    self._max_proposals = max_proposals
    self._min_split_entries = min_split_entries
    self._num_threads = min(num_threads, MAX_THREADS)
    self._scratch = []  # a `LearnScratch` for each thread
    self.set_state(growing_tree.new_tree(self.hands))

  def set_state(self, tree, tables=None, iteration=0):
    """Replaces the tree and its tables.

    Args:
      tree: the `growing_tree.TreeArrays`.
      tables: the `guarded_kernels.LearnTables`; None for zeros.
      iteration: how many iterations were run.
    """
    if tables is None:
      tables = guarded_kernels.new_tables(self.hands, tree, self._dtype)
    self.tree, self.tables, self.iteration = tree, tables, iteration
    self.evaluator = self._evaluator(tables.cumulative)

  def _evaluator(self, table):
    return round_evaluator.RoundEvaluator(
        self._match, stored_rounds.StoredRound(self.hands, self.tree, table),
        self.flag)

  @functools.cached_property
  def memory(self):
    """The `size_model.RoundMemory`."""
    return size_model.RoundMemory(self.hands, self._dtype, self._max_proposals)

  @property
  def memory_bytes(self):
    """How many bytes the round takes at most, measurements included."""
    size = size_model.size_of(self.tree)
    return (self.memory.permanent(size) + self.memory.learning +
            self.memory.measuring(size))

  def release_scratch(self):
    """Frees the scratch that only learning needs."""
    self._scratch = []

  def set_values(self, values):
    """Sets the payoffs from the values of the rounds that follow.

    Args:
      values: {(starter's dice, other's dice): the starter's value}.
    """
    self.payoffs = tuple(self.evaluator.payoffs(role, values, values)
                         for role in range(2))

  def average_table(self):
    """Returns [entry] float, to which the average policy is proportional."""
    return self.tables.cumulative.copy()

  def current_table(self):
    """Returns [entry] float, to which the current policy is proportional."""
    is_starter = np.repeat(self.tree.role == 0,
                           np.diff(self.tree.table_begin))
    return np.where(is_starter, *(self.tables.regret(game)
                                  for game in range(2)))

  # Learning. A `pool` is the `concurrent.futures.Executor` whose threads share
  # the work, or None for the calling thread.

  def iterate(self, pool=None):
    """Runs one iteration of both games: first the adversaries learn."""
    if not self._scratch:
      self._scratch = [guarded_kernels.new_scratch(self.hands, self._dtype)
                       for _ in range(self._num_threads)]
    game = self.hands.arrays(self._dtype), self.tree, self.tables
    branches = [guarded_kernels.new_branches(self.hands, self.tree, self._dtype)
                for _ in range(2)]
    for is_policy in (False, True):
      steps = tuple(self._step(p, p if is_policy else 1 - p) for p in range(2))
      is_split = self.tree.num_entries >= self._min_split_entries
      if is_split:
        self._learn_branches(game, steps, branches, pool)
      for step, branch in zip(steps, branches):
        guarded_kernels.learn(*game, step, self._scratch[0],
                              branch.value if is_split else branch.value[:0])
    self.iteration += 1

  def _learn_branches(self, game, steps, branches, pool):
    """Learns the branches of both games, the largest first, on threads."""
    for step, branch in zip(steps, branches):
      guarded_kernels.split(*game, step, self._scratch[0], branch)
    tree = self.tree
    children = tree.child[:tree.row_begin[1]]
    rows = np.flatnonzero(children >= 0)
    nodes = children[rows]
    sizes = tree.table_begin[tree.end[nodes]] - tree.table_begin[nodes]
    rows = rows[np.argsort(-sizes, kind="stable")]
    order = np.array([(p, row) for row in rows for p in range(2)], np.int64)
    counter = np.zeros(1, np.int64)
    interrupts.map_tasks(
        pool, lambda scratch: guarded_kernels.learn_branches(
            *game, steps, order.reshape(-1, 2), counter, scratch,
            tuple(branches)), self._scratch)

  def _step(self, game, role):
    """Returns the `LearnStep` in which a role learns in a game."""
    t = self.iteration + 1
    return guarded_kernels.LearnStep(
        game, role, t, self._dtype.type(
            guarded_kernels.weight(t, self.tree.num_entries)),
        _cumulative_discounts(num_discounted(t)),
        *(payoff.astype(self._dtype) for payoff in self.payoffs[role]))

  # Expansion.

  def expand(self, max_bytes, pool=None):
    """Measures the average policy, and stores claims that it lacks.

    Args:
      max_bytes: how many bytes the round may take afterwards, measurements
        included. If not all claims fit, those that gain most are stored.
      pool: as for `iterate`.

    Returns:
      [role] float64, the payoffs of best responses, by the values of later
      rounds that training uses.
    """
    responses, proposals = self._find(pool)
    num_affordable = int((max_bytes - self.memory_bytes) //
                         self.memory.proposal())
    proposals = proposals[:max(num_affordable, 0)]
    if len(proposals):
      self._change(growing_tree.changed(self.hands, self.tree, proposals=tuple(
          proposals[name].copy() for name in ("node", "row", "claim"))), True,
                   pool)
    return responses

  def _find(self, pool):
    """Returns best responses' payoffs, and proposals, the largest gain first.

    Returns:
      ([role] float64, [proposal] `expansion_kernels.PROPOSAL`).
    """
    responses, choices = self.evaluator.best_responses(self.payoffs, pool)
    exploitability = max(0.5 * responses.sum(), 0.0)
    threshold = exploitability * max(self._expansion_fraction,
                                     self._expansion_slope * exploitability)
    nobody = np.zeros(0, self._dtype)  # best responses follow their choices
    # The longest tasks come first, to balance the threads.
    tasks = [*(functools.partial(self._propose_answers, role, threshold)
               for role in range(2)),
             *(functools.partial(self._propose, self.evaluator, role, choices,
                                 nobody, threshold) for role in range(2)),
             self.evaluator.outcomes]
    *proposals, self.outcomes = interrupts.map_tasks(
        pool, lambda task: task(), tasks)
    return responses, expansion_kernels.best_first(
        np.concatenate(proposals), self.tree.num_nodes,
        self.hands.order.num_claims)

  def _propose_answers(self, role, threshold):
    """Returns the claims by which a role's policy gains against its adversary.

    The adversary plays its present strategy, stored claims only.
    """
    evaluator = self._evaluator(self.tables.regret(role))
    choices = best_response_kernels.new_choices(self.tree)
    evaluator.run_kernel(best_response_kernels.respond, self._responder(role),
                         None, choices)
    return self._propose(evaluator, role, choices, self.tables.cumulative,
                         threshold)

  def _responder(self, role):
    return best_response_kernels.Responder(role, *self.payoffs[role])

  def _propose(self, evaluator, role, choices, own_table, threshold):
    """Returns [proposal] `expansion_kernels.PROPOSAL` of a role.

    Args:
      evaluator: the `round_evaluator.RoundEvaluator` of the other role.
      role: the role.
      choices: as for `expansion_kernels.propose`.
      own_table: as for `expansion_kernels.Criterion`.
      threshold: likewise.
    """
    proposals = np.zeros(self._max_proposals, expansion_kernels.PROPOSAL)
    count = evaluator.run_kernel(
        expansion_kernels.propose, self._responder(role), None, choices,
        expansion_kernels.Criterion(own_table, threshold), proposals)
    return proposals[:count]

  def drop(self, responses, pool=None):
    """Drops claims that nobody needs.

    Args:
      responses: [role] float64, the payoffs of best responses, by `expand`.
      pool: as for `iterate`.
    """
    min_probability = self._drop_fraction * max(0.5 * responses.sum(), 0.0)
    min_weight = min_probability * guarded_kernels.total_weight(
        self.iteration, self.tree.num_entries)
    is_kept = np.zeros(len(self.tree.claim), np.bool_)
    guarded_kernels.find_needed(self.tree, self.tables, min_weight,
                                np.zeros((self.tree.num_nodes, 2)), is_kept)
    if not is_kept.all():
      self._change(growing_tree.changed(self.hands, self.tree, is_kept), False,
                   pool)

  def _change(self, change, is_growing, pool):
    """Moves the tables in place to the tree of `growing_tree.changed`.

    Args:
      change: what that has returned.
      is_growing: whether rows were added, not removed.
      pool: as for `iterate`.
    """
    tree, node_source, row_source = change
    old, tables = self.tree, self.tables
    interrupts.map_tasks(
        pool, lambda table: growing_tree.move_table(
            old, tree, row_source, is_growing, table),
        (tables.regret_0, tables.regret_1, tables.cumulative))
    tables = guarded_kernels.moved_by_node(old, tree, node_source, tables,
                                           self.iteration)
    if is_growing:
      guarded_kernels.forget_stored(self.hands.arrays(np.float64), tree, tables)
    self.set_state(tree, tables, self.iteration)


def compile_kernels(match, dtype):
  """Compiles all kernels of a trainer of these rules, on a small round."""
  trainer = RecallTrainer(match, (1, 1), dtype=dtype, max_proposals=64,
                          min_split_entries=0)
  trainer.set_values({})
  trainer.iterate()
  responses = trainer.expand(2**40)
  trainer.iterate()
  trainer.drop(2.0**40 * responses)
  trainer.evaluator.outcomes()
