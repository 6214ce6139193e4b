"""Trains one round of Dudo with perfect recall, on a tree that grows.

Each iteration is discounted CFR (Brown & Sandholm 2019, DCFR(1.5, 0, 2)) with
alternating updates, on what is stored. Now and then the average policy is
measured by two exact best responses over the whole round. Claims that are not
stored, and by which a best response gains more than a small share of the
exploitability, are stored from then on. So are claims that answer a best
response well where nothing is stored after its claim.

What was learned on a smaller tree is partly out of date. So regrets forget when
the tree grows: they are multiplied by a power of how large it was compared with
what it is now. A tree that hardly grows any more forgets hardly anything, and
converges as discounted CFR does.

Claims that are hardly made any more and not regretted, and to which the other
player's own moves do not lead either, are dropped with all that follows them.
They come back if a best response asks for them.
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

GROWTH_SHARE, GROWTH_SLOPE, ANSWER_SHARE = 1e-6, 3e-4, 0.1
DROP_SHARE = 1e-8
FORGETTING = 0.7  # the power of the growth by which regrets become smaller
_MAX_DISCOUNTED = 2**20  # iterations; later discounts differ from 1 by 1e-9
_LEAST_DISCOUNTED = 2**10  # how many are computed at least
MAX_PROPOSALS = 2**16  # of a walk
MIN_CUT_NUMBERS = 2**16  # smaller trees are for one thread
_CUT_PARTS = 64  # a subtree with less than this part of all numbers is not cut


@functools.cache
def _kept(size):
  """Returns [size + 1] float64, products of the discounts by iteration."""
  kept = np.ones(size + 1)
  t = np.arange(1, size + 1, dtype=np.float64)**dcfr_kernels.ALPHA
  np.divide(t, t + 1.0, out=kept[1:])
  return np.cumprod(kept, out=kept)


def num_discounted(iteration):
  """Returns how many discounts are known in an iteration."""
  return min(max(1 << iteration.bit_length(), _LEAST_DISCOUNTED),
             _MAX_DISCOUNTED)


class RecallTrainer:
  """Owns all that is learned about a round, and trains it.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    dtype: the type of the tables.
    num_threads: how many threads to use at most.
    growth_share: which share of the exploitability a claim must gain to be
      stored, ...
    growth_slope: ... and which share of its square.
    answer_share: which share of that an answer to the other's best response
      must gain.
    drop_share: which share of the exploitability bounds how often a claim that
      is dropped was played.
    max_proposals: how many claims each walk proposes at most.
    flag: [1] bool; soon after it is set, measurements raise an
      `interrupts.StoppedError`. None for one that nobody sets.

  Attributes:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    tables: the `dcfr_kernels.LearnTables`.
    iteration: how many iterations were run.
    touched: how many numbers the last iteration read or wrote.
    leaves: for each role its `transitions.Payoffs`, by which it learns.
    played: [role, claim, count] float64, the probabilities of challenges when
      the tree last grew, or None.
    flag: as given, or one of its own.
    evaluator: the `round_evaluator.RoundEvaluator` of the average policy.
  """

  def __init__(self, match, dice, *, dtype=np.float32, num_threads=1,
               growth_share=GROWTH_SHARE, growth_slope=GROWTH_SLOPE,
               answer_share=ANSWER_SHARE, drop_share=DROP_SHARE,
               max_proposals=MAX_PROPOSALS, flag=None):
    self.hands = round_hands.RoundHands(match, dice)
    self.iteration = 0
    self.touched = 0
    self.leaves = None
    self.played = None
    self._match = match
    self.flag = interrupts.new_flag() if flag is None else flag
    self._dtype = np.dtype(dtype)
    self._num_threads = min(num_threads, size_model.MAX_THREADS)
    self._growth_share = growth_share
    self._growth_slope = growth_slope
    self._answer_share = answer_share
    self._drop_share = drop_share
    self._max_proposals = max_proposals
    self._works = []  # a `LearnScratch` for each thread
    self.set_state(growing_tree.new_tree(self.hands))

  def set_state(self, tree, tables=None, iteration=0):
    """Goes on with a tree and its tables; None for empty ones."""
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
    return size_model.RoundMemory(self.hands, self._dtype,
                                      self._max_proposals)

  @property
  def memory_bytes(self):
    """How much memory the round takes at most, measurements included."""
    size = size_model.size_of(self.tree)
    return (self.memory.kept(size) + self.memory.learning(size) +
            self.memory.measuring(size))

  def release_scratch(self):
    """Frees what only learning needs."""
    self._works, self._cut = [], None

  def set_values(self, values):
    """Sets what the rounds that follow are worth in training.

    Args:
      values: dict from (starter's dice, other's dice) to the starter's value.
    """
    self.leaves = tuple(self.evaluator.payoffs(role, values, values)
                        for role in range(2))

  # Learning.

  def _step(self, role):
    """Returns the `dcfr_kernels.LearnStep` of the next iteration."""
    t = self.iteration + 1
    return dcfr_kernels.LearnStep(
        role, t, self._dtype.type(float(t)**dcfr_kernels.GAMMA),
        _kept(num_discounted(t)), dcfr_kernels.NEGATIVE,
        *(leaf.astype(self._dtype) for leaf in self.leaves[role]))

  def iterate(self, pool=None):
    """Runs one iteration.

    Args:
      pool: a `concurrent.futures.Executor` with threads, or None.
    """
    if not self._works:
      self._works = [dcfr_kernels.new_scratch(self.hands, self._dtype)
                     for _ in range(self._num_threads)]
    self.touched = sum(self._update(self._step(role), pool)
                       for role in range(2))
    self.iteration += 1

  def _update(self, step, pool):
    """Updates one role; returns how many numbers it read or wrote."""
    game = self.hands.arrays(self._dtype)
    if self._cut is None:
      self._cut = self._find_cut()
    cut = self._cut
    if not len(cut.node):
      return self._walk_top(game, step, dcfr_kernels.NO_CUT)
    cut.is_reached[:] = 0
    self._walk_top(game, step, dcfr_kernels.COLLECT)
    largest_first = np.argsort(-cut.size, kind="stable")
    counter = np.zeros(1, np.int64)
    touched = sum(interrupts.map_tasks(
        pool, lambda work: dcfr_kernels.learn_parts(
            game, self.tree, self.tables, step, largest_first, counter, work,
            cut), self._works))
    return touched + self._walk_top(game, step, dcfr_kernels.FINISH)

  def _walk_top(self, game, step, mode):
    """Walks the tree, or what is above the cut."""
    work = self._works[0]
    for reach, hands in ((work.own, game.hands[step.role]),
                         (work.other, game.hands[1 - step.role])):
      reach[0, :len(hands.chance)] = hands.chance
    work.path[0] = 0
    work.is_reached[0] = 1
    return dcfr_kernels.learn(game, self.tree, self.tables, step, mode, work,
                                 self._cut)

  def split(self, max_numbers):
    """Cuts the tree for threads, now and not only when it is large.

    Args:
      max_numbers: how many numbers a subtree may have in a table.
    """
    self._cut = self._find_cut(max_numbers)

  def _find_cut(self, max_numbers=None):
    """Returns the `dcfr_kernels.Cut` of the tree; see `split`."""
    nodes, numbers = self.tree.num_nodes, self.tree.num_entries
    part = np.full(nodes, -1, np.int32)
    max_parts, count = nodes, 0
    if max_numbers is None and numbers >= MIN_CUT_NUMBERS:
      max_parts = self.memory.max_parts(numbers)
      max_numbers = numbers // _CUT_PARTS
    if max_numbers is not None:
      count = dcfr_kernels.find_cut(self.tree, max_numbers, part)
      while count > max_parts:
        max_numbers *= 2
        count = dcfr_kernels.find_cut(self.tree, max_numbers, part)
    lines = [np.zeros((count, int(self.hands.width.max())), self._dtype)
             for _ in range(3)]
    node = np.zeros(count, np.int64)
    node[part[part >= 0]] = np.flatnonzero(part >= 0)
    begin = self.tree.table_begin
    return dcfr_kernels.Cut(
        part, node, begin[self.tree.end[node]] - begin[node], *lines,
        np.zeros((count, 2), np.int64))

  # Growing.

  def grow(self, max_bytes, pool=None):
    """Measures the average policy, and stores claims that it lacks.

    Args:
      max_bytes: how much memory the round may take afterwards, see
        `memory_bytes`. If that is too little, the claims that gain most are
        stored.
      pool: see `iterate`.

    Returns:
      [role] float64, what a best response gets if the rounds that follow are
      worth what training takes them for.
    """
    responses, found = self._find(pool)
    self._add(found[:self._num_affordable(max_bytes)], pool)
    return responses

  def _find(self, pool):
    """Returns (what best responses get, proposals, the largest gains first)."""
    responses, choices = self.evaluator.best_responses(self.leaves, pool)
    exploitability = max(0.5 * responses.sum(), 0.0)
    threshold = exploitability * max(self._growth_share,
                                     self._growth_slope * exploitability)

    # Those that take longest first, for the balance between threads.
    *found, self.played = interrupts.map_tasks(pool, lambda task: task(), [
        *(functools.partial(self._propose, role, kind, choices, threshold)
          for kind in expansion_kernels.KINDS for role in range(2)),
        self.evaluator.outcomes])
    return responses, expansion_kernels.best_first(
        np.concatenate(found), self.tree.num_nodes,
        self.hands.order.num_claims)

  def _propose(self, role, kind, choices, threshold):
    """Returns [proposal] `expansion_kernels.PROPOSAL`.

    Args:
      role: the responder's.
      kind: one of `expansion_kernels.KINDS`.
      choices: the `best_response_kernels.Choices` of best responses.
      threshold: what a claim must gain that is no answer.
    """
    if kind == expansion_kernels.ANSWER:
      threshold *= self._answer_share
    found = np.zeros(self._max_proposals, expansion_kernels.PROPOSAL)
    count = self.evaluator.run_kernel(
        expansion_kernels.propose,
        best_response_kernels.Responder(role, *self.leaves[role]), None,
        choices, expansion_kernels.Criterion(kind, threshold), found)
    return found[:count]

  def _num_affordable(self, max_bytes):
    """Returns how many proposals surely fit into memory."""
    return max(int((max_bytes - self.memory_bytes) // self.memory.proposal()),
               0)

  def _add(self, found, pool):
    """Stores claims, and lets regrets forget as much as the tree grows."""
    if not len(found):
      return
    before = self.tree.num_entries
    self._change(growing_tree.changed(
        self.hands, self.tree, proposals=tuple(
            found[name].copy() for name in ("node", "row", "claim"))), True,
                 pool)
    kept = self._dtype.type((before / self.tree.num_entries)**FORGETTING)
    interrupts.map_tasks(pool, lambda part: np.multiply(part, kept, out=part),
         np.array_split(self.tables.regret, self._num_threads))

  def drop(self, responses, pool=None):
    """Drops claims that neither player needs any more.

    Args:
      responses: what `grow` has returned.
      pool: see `iterate`.
    """
    t = self.iteration
    weight = t * (t + 1) * (2 * t + 1) / 6  # the sum of t^2
    least = self._drop_share * max(0.5 * responses.sum(), 0.0)
    is_kept = np.zeros(len(self.tree.claim), np.bool_)
    dcfr_kernels.find_needed(self.tree, self.tables, least * weight,
                             np.zeros((self.tree.num_nodes, 2)), is_kept)
    if not is_kept.all():
      self._change(growing_tree.changed(self.hands, self.tree, is_kept), False,
                   pool)

  def _change(self, change, is_growing, pool):
    """Goes on with another tree; see `growing_tree.changed`."""
    tables = dcfr_kernels.moved_tables(
        self.tables, self.tree, change, is_growing, self.iteration,
        functools.partial(interrupts.map_tasks, pool))
    self.set_state(change[0], tables, self.iteration)


def compile_kernels(match, dtype):
  """Compiles all that a trainer runs, on a small round.

  Args:
    match: the `round_rules.RoundRules`.
    dtype: the type of the tables.
  """
  trainer = RecallTrainer(match, (1, 1), dtype=dtype, max_proposals=64)
  trainer.set_values({})
  trainer.iterate()
  trainer.split(1)
  trainer.iterate()
  responses = trainer.grow(2**40)
  trainer.split(1)
  trainer.iterate()
  trainer.drop(2.0**40 * responses)
  trainer.evaluator.outcomes()
