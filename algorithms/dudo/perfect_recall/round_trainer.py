"""Trains one round of Dudo with perfect recall, on a tree that grows.

An iteration is discounted CFR (Brown & Sandholm 2019, DCFR(1.5, 0, 2)) with
alternating updates, on the stored tree. An expansion measures the average
policy by two exact best responses over the whole round, and stores the claims
by which a best response gains more than a small fraction of the exploitability.
It also stores good answers to a best response's claim after which nothing is
stored.

Regrets that were learned on a smaller tree are partly out of date. So an
expansion multiplies all regrets by a power of (size before / size after). A
tree that hardly grows forgets hardly anything, and converges as discounted CFR
does.

Claims that are rarely made and not regretted, and to which the opponent's own
moves do not lead either, are dropped with their subtrees. They are stored again
if a best response uses them.
"""

import functools

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import dcfr_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import expansion_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_evaluator
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import size_model
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.runtime import interrupts

EXPANSION_FRACTION, EXPANSION_SLOPE, ANSWER_FRACTION = 1e-6, 3e-4, 0.1
DROP_FRACTION = 1e-8
FORGETTING = 0.7  # the exponent of (size before / size after) for regrets
_MAX_DISCOUNTED = 2**20  # iterations; later discounts differ from 1 by 1e-9
_MIN_DISCOUNTED = 2**10  # how many discounts are computed at least
MAX_PROPOSALS = 2**16  # of one traversal
MIN_CUT_ENTRIES = 2**16  # smaller trees are for one thread
_CUT_PARTS = 64  # subtrees with fewer than entries / _CUT_PARTS are not cut


@functools.cache
def _cumulative_discounts(size):
  """Returns [size + 1] float64, the products of the discounts up to each t."""
  discounts = np.ones(size + 1)
  t = np.arange(1, size + 1, dtype=np.float64)**dcfr_kernels.ALPHA
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
    answer_fraction: an answer to the opponent's best response must gain this
      fraction of that.
    drop_fraction: a claim is dropped only if its average probability is below
      this fraction of the exploitability.
    max_proposals: how many claims one traversal proposes at most.
    flag: [1] bool; soon after it is set, measurements raise an
      `interrupts.StoppedError`. None for one that nobody sets.

  Attributes:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `dcfr_kernels.LearnTables`.
    iteration: how many iterations were run.
    num_touched: how many table entries the last iteration read or wrote.
    payoffs: for each role the `transitions.Payoffs` by which it learns.
    outcomes: [role, claim, count] float64, the probabilities of challenges at
      the last expansion, or None.
    flag: as given, or one of its own.
    evaluator: the `round_evaluator.RoundEvaluator` of the average policy.
  """

  def __init__(self, match, dice, *, dtype=np.float32, num_threads=1,
               expansion_fraction=EXPANSION_FRACTION,
               expansion_slope=EXPANSION_SLOPE,
               answer_fraction=ANSWER_FRACTION, drop_fraction=DROP_FRACTION,
               max_proposals=MAX_PROPOSALS, flag=None):
    self.hands = round_hands.RoundHands(match, dice)
    self.num_touched = 0
    self.payoffs = None
    self.outcomes = None
    self.flag = interrupts.new_flag() if flag is None else flag
    self._match = match
    self._dtype = np.dtype(dtype)
    self._num_threads = min(num_threads, size_model.MAX_THREADS)
    self._expansion_fraction = expansion_fraction
    self._expansion_slope = expansion_slope
    self._answer_fraction = answer_fraction
    self._drop_fraction = drop_fraction
    self._max_proposals = max_proposals
    self._scratch = []  # a `LearnScratch` for each thread
    self.set_state(growing_tree.new_tree(self.hands))

  def set_state(self, tree, tables=None, iteration=0):
    """Replaces the tree and its tables.

    Args:
      tree: the `growing_tree.TreeArrays`.
      tables: the `dcfr_kernels.LearnTables`; None for zeros.
      iteration: how many iterations were run.
    """
    if tables is None:
      tables = dcfr_kernels.LearnTables(
          np.zeros(tree.num_entries, self._dtype),
          np.zeros(tree.num_entries, self._dtype),
          np.zeros(tree.num_nodes, np.int64))
    self.tree, self.tables, self.iteration = tree, tables, iteration
    self.evaluator = round_evaluator.RoundEvaluator(
        self._match, stored_rounds.StoredRound(self.hands, tree,
                                               tables.cumulative), self.flag)
    self._cut = None

  @functools.cached_property
  def memory(self):
    """The `size_model.RoundMemory`."""
    return size_model.RoundMemory(self.hands, self._dtype, self._max_proposals)

  @property
  def memory_bytes(self):
    """How many bytes the round takes at most, measurements included."""
    size = size_model.size_of(self.tree)
    return (self.memory.permanent(size) + self.memory.learning(size) +
            self.memory.measuring(size))

  def release_scratch(self):
    """Frees the per-thread scratch and the cut, which only learning needs."""
    self._scratch, self._cut = [], None

  def set_values(self, values):
    """Sets the payoffs from the values of the rounds that follow.

    Args:
      values: {(starter's dice, other's dice): the starter's value}.
    """
    self.payoffs = tuple(self.evaluator.payoffs(role, values, values)
                         for role in range(2))

  # Learning. A `pool` is the `concurrent.futures.Executor` whose threads share
  # the work, or None for the calling thread.

  def iterate(self, pool=None):
    """Runs one iteration."""
    if not self._scratch:
      self._scratch = [dcfr_kernels.new_scratch(self.hands, self._dtype)
                       for _ in range(self._num_threads)]
    if self._cut is None:
      self.cut()
    t = self.iteration + 1
    self.num_touched = sum(
        self._update(dcfr_kernels.LearnStep(
            role, t, self._dtype.type(float(t)**dcfr_kernels.GAMMA),
            _cumulative_discounts(num_discounted(t)), dcfr_kernels.NEGATIVE,
            *(payoff.astype(self._dtype) for payoff in self.payoffs[role])),
                     pool) for role in range(2))
    self.iteration = t

  def _update(self, step, pool):
    """Updates one role; returns how many entries it read or wrote."""
    game, cut = self.hands.arrays(self._dtype), self._cut
    if not len(cut.node):
      return self._learn_top(game, step, dcfr_kernels.NO_CUT)
    cut.is_reached[:] = 0
    self._learn_top(game, step, dcfr_kernels.COLLECT)
    largest_first = np.argsort(-cut.size, kind="stable")
    counter = np.zeros(1, np.int64)
    touched = sum(interrupts.map_tasks(
        pool, lambda scratch: dcfr_kernels.learn_parts(
            game, self.tree, self.tables, step, largest_first, counter, scratch,
            cut), self._scratch))
    return touched + self._learn_top(game, step, dcfr_kernels.FINISH)

  def _learn_top(self, game, step, mode):
    """Updates the tree, or the part above the cut, by `dcfr_kernels.learn`."""
    scratch = self._scratch[0]
    for reach, hands in ((scratch.own, game.hands[step.role]),
                         (scratch.other, game.hands[1 - step.role])):
      reach[0, :len(hands.chance)] = hands.chance
    scratch.path[0] = 0
    scratch.is_reached[0] = 1
    return dcfr_kernels.learn(game, self.tree, self.tables, step, mode, scratch,
                              self._cut)

  def cut(self, max_entries=None):
    """Cuts the tree into subtrees for threads.

    Args:
      max_entries: how many entries a subtree may have in a table; None to
        decide by the size of the tree, which is not cut if it is small.
    """
    nodes, entries = self.tree.num_nodes, self.tree.num_entries
    part = np.full(nodes, -1, np.int32)
    max_parts, count = nodes, 0
    if max_entries is None and entries >= MIN_CUT_ENTRIES:
      max_parts = self.memory.max_parts(entries)
      max_entries = entries // _CUT_PARTS
    if max_entries is not None:
      count = dcfr_kernels.find_cut(self.tree, max_entries, part)
      while count > max_parts:
        max_entries *= 2
        count = dcfr_kernels.find_cut(self.tree, max_entries, part)
    lines = [np.zeros((count, int(self.hands.width.max())), self._dtype)
             for _ in range(3)]
    node = np.zeros(count, np.int64)
    node[part[part >= 0]] = np.flatnonzero(part >= 0)
    begin = self.tree.table_begin
    self._cut = dcfr_kernels.Cut(
        part, node, begin[self.tree.end[node]] - begin[node], *lines,
        np.zeros((count, 2), np.int64))

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
    self._add(proposals[:max(num_affordable, 0)], pool)
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
    # The longest tasks come first, to balance the threads.
    tasks = [*(functools.partial(self._propose, role, kind, choices, threshold)
               for kind in expansion_kernels.KINDS for role in range(2)),
             self.evaluator.outcomes]
    *proposals, self.outcomes = interrupts.map_tasks(
        pool, lambda task: task(), tasks)
    return responses, expansion_kernels.best_first(
        np.concatenate(proposals), self.tree.num_nodes,
        self.hands.order.num_claims)

  def _propose(self, role, kind, choices, threshold):
    """Returns [proposal] `expansion_kernels.PROPOSAL` of a kind.

    `threshold` is what a claim must gain that is no answer.
    """
    if kind == expansion_kernels.ANSWER:
      threshold *= self._answer_fraction
    proposals = np.zeros(self._max_proposals, expansion_kernels.PROPOSAL)
    count = self.evaluator.run_kernel(
        expansion_kernels.propose,
        best_response_kernels.Responder(role, *self.payoffs[role]), None,
        choices, expansion_kernels.Criterion(kind, threshold), proposals)
    return proposals[:count]

  def _add(self, proposals, pool):
    """Stores claims, and discounts regrets by how much the tree grows."""
    if not len(proposals):
      return
    before = self.tree.num_entries
    self._change(growing_tree.changed(
        self.hands, self.tree, proposals=tuple(
            proposals[name].copy() for name in ("node", "row", "claim"))), True,
                 pool)
    discount = self._dtype.type((before / self.tree.num_entries)**FORGETTING)
    interrupts.map_tasks(
        pool, lambda part: np.multiply(part, discount, out=part),
        np.array_split(self.tables.regret, self._num_threads))

  def drop(self, responses, pool=None):
    """Drops claims that neither player needs.

    Args:
      responses: [role] float64, the payoffs of best responses, by `expand`.
      pool: as for `iterate`.
    """
    min_probability = self._drop_fraction * max(0.5 * responses.sum(), 0.0)
    min_sum = min_probability * dcfr_kernels.total_weight(self.iteration)
    is_kept = np.zeros(len(self.tree.claim), np.bool_)
    dcfr_kernels.find_needed(self.tree, self.tables, min_sum,
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
    last_update = np.where(node_source < 0, self.iteration,
                           self.tables.last_update[np.maximum(node_source, 0)])
    interrupts.map_tasks(
        pool, lambda table: growing_tree.move_table(
            self.tree, tree, row_source, is_growing, table),
        (self.tables.regret, self.tables.cumulative))
    self.set_state(tree, self.tables._replace(last_update=last_update),
                   self.iteration)


def compile_kernels(match, dtype):
  """Compiles all kernels of a trainer of these rules, on a small round."""
  trainer = RecallTrainer(match, (1, 1), dtype=dtype, max_proposals=64)
  trainer.set_values({})
  trainer.iterate()
  trainer.cut(1)
  trainer.iterate()
  responses = trainer.expand(2**40)
  trainer.cut(1)
  trainer.iterate()
  trainer.drop(2.0**40 * responses)
  trainer.evaluator.outcomes()
