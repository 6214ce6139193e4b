"""Re-solves a subgame of a round of Dudo, so that no hand of the other gains.

The searcher is to act after a list of claims. There its policy says Dudo, with
all hands. `SubgameSolver` looks for something better, for all hands of both
players at once: discounted CFR on a tree that grows, as `recall_trainer` trains
a whole round. Three things make the result good and safe:

1. The gadget of CFR-D (Burch, Johanson & Bowling 2014) stands above the
   subgame. With each of its hands the opponent may follow into the subgame, or
   leave. If it leaves it gets what its best response to the policy gets at its
   last decision without the claim that led to the subgame. So the searcher
   makes that claim worth less, until another one is better.
2. That asks for nothing where the claim was no good anyway. So a share of the
   opponent's hands cannot leave.
3. At the end an exact best response tells what each hand of the opponent gets.
   If that is more than its best response to the policy gets at its last
   decision, the searcher says Dudo a bit more often, just as much as is needed.
   So the result is safe however far it converged.

Serves `recall_search`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.match import growing_kernels
from dudo_spiel.algorithms.match import growing_proposals
from dudo_spiel.algorithms.match import growing_response
from dudo_spiel.algorithms.match import growing_tree
from dudo_spiel.algorithms.match import response as match_response
from dudo_spiel.algorithms.match import round_hands

_GROWTH_SHARE = 1e-3  # of the gap, which a claim must gain to be stored
_MAX_PROPOSALS = 2**12
_ROUNDING = 1e-9  # of what a best response gets


class Subgame(NamedTuple):
  """A subgame, and what the policy knows about it.

  Attributes:
    hands: the `round_hands.RoundHands`.
    claims: tuple of int, the claims so far, at least one.
    reach: [class] float64, how likely the searcher's own moves lead there with
      each class of hands after the last claim; the sum is 1.
    prior: [class] float64, the same of the opponent, by the classes before its
      last claim; positive for all hands.
    leave: [class] float64, what the opponent gets if it leaves.
    limit: [class] float64, what it must not exceed; at least what it gets if
      the searcher says Dudo.
    leaves: the opponent's `response.Leaves`.
  """
  hands: round_hands.RoundHands
  claims: tuple
  reach: np.ndarray
  prior: np.ndarray
  leave: np.ndarray
  limit: np.ndarray
  leaves: match_response.Leaves

  @property
  def role(self):
    """The searcher's: 0 if it started the round."""
    return len(self.claims) % 2

  @property
  def before(self):
    """The claim before the last one, -1 for none."""
    return self.claims[-2] if len(self.claims) > 1 else -1

  @property
  def levels(self):
    """(level of hands before the last claim, level after it)."""
    return (self.hands.level[self.before + 1],
            self.hands.level[self.claims[-1] + 1])


class Solution(NamedTuple):
  """What was found.

  Attributes:
    tree: the `growing_tree.TreeArrays` of the subgame.
    table: [number] float, to which the policy is proportional.
    dudo_share: how much Dudo was added to make it safe.
  """
  tree: growing_tree.TreeArrays
  table: np.ndarray
  dudo_share: float


def bare_tree(hands, last, role):
  """Returns the `growing_tree.TreeArrays` of a node with nothing but Dudo.

  Args:
    hands: the `round_hands.RoundHands`.
    last: the last claim.
    role: who acts.
  """
  width = np.array([0, hands.width[role, hands.level[last + 1]]], np.int64)
  return growing_tree.TreeArrays(
      np.array([last], np.int32), np.array([role], np.int8),
      np.array([0, 1], np.int64), width, width.copy(),
      np.array([hands.order.num_claims], np.int16), np.array([-1], np.int32))


def subtree(tree, table, node):
  """Returns the (`growing_tree.TreeArrays`, table) of a node and all after it.

  Args:
    tree: the `growing_tree.TreeArrays`.
    table: [number].
    node: the node.
  """
  last, child = node, node
  while child >= 0:  # nodes are in preorder
    last = child
    child = tree.child[tree.row_begin[last]:tree.row_begin[last + 1]].max()
  nodes, begins = slice(node, last + 1), slice(node, last + 2)
  rows = slice(tree.row_begin[node], tree.row_begin[last + 1])
  child = tree.child[rows]
  return growing_tree.TreeArrays(
      tree.last[nodes].copy(), tree.role[nodes].copy(),
      *(begin[begins] - begin[node] for begin in (
          tree.row_begin, tree.table_begin, tree.value_begin)),
      tree.claim[rows].copy(), np.where(child >= 0, child - node, -1).astype(
          np.int32)), table[tree.table_begin[node]:tree.table_begin[last + 1]]


def best_values(hands, tree, table, role, reach, leaves, work=None):
  """Returns [class] float64, what a best response gets from the root of a tree.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`.
    table: [number] float, to which the other's policy is proportional.
    role: the responder's.
    reach: [class] float64, the other's.
    leaves: the responder's `response.Leaves`.
    work: a `growing_response.GrowthScratch`, or None.
  """
  work = work or growing_response.new_scratch(hands)
  game = _with_reaches(hands, role, np.zeros(0), reach)
  growing_response.respond(game, tree, table,
                           growing_response.Responder(role, *leaves), work,
                           growing_response.new_choices(tree))
  level = hands.level[tree.last[0] + 1]
  return work.value[0, :hands.width[role, level]].copy()


def _with_reaches(hands, role, own, other):
  """Returns the `ClassArrays` of a subgame: reaches instead of chances."""
  game = hands.arrays(np.float64)
  parts = [None, None]
  for number, reach in ((role, own), (1 - role, other)):
    chance = np.zeros_like(game.hands[number].chance)
    chance[:len(reach)] = reach
    parts[number] = game.hands[number]._replace(chance=chance)
  return game._replace(hands=tuple(parts))


class SubgameSolver:
  """Solves a subgame below its gadget.

  Args:
    subgame: the `Subgame`.
    trust: the share of the opponent's hands that cannot leave.
    max_nodes: how many histories are stored at most.
    growth_share: which share of half the gap a claim must gain to be stored.
    dtype: the type of the tables.

  Attributes:
    tree: the `growing_tree.TreeArrays`.
    tables: the `growing_kernels.LearnTables`.
    gadget: [2, class] float64, the opponent's regrets: follow, leave.
    iteration: how many iterations were run.
  """

  def __init__(self, subgame, *, trust, max_nodes, growth_share=_GROWTH_SHARE,
               dtype=np.float32):
    hands, role = subgame.hands, subgame.role
    self._subgame = subgame
    self._trust = trust
    self._max_nodes = max_nodes
    self._growth_share = growth_share
    self._dtype = np.dtype(dtype)
    before, after = subgame.levels
    count = len(subgame.prior)
    # [class before the last claim] int64, the class after it.
    self._merge = hands.arrays(np.float64).hands[1 - role].merge[
        before, after, :count]
    mine = match_response.Leaves(-subgame.leaves.challenged,
                                 -subgame.leaves.challenges)
    self._leaves = (mine, subgame.leaves) if role == 0 else (subgame.leaves,
                                                             mine)
    self._pays = [tuple(pay.astype(self._dtype) for pay in leaves)
                  for leaves in self._leaves]
    self._work = growing_kernels.new_scratch(hands, self._dtype)
    self._measure = growing_response.new_scratch(hands)
    self._no_cut = growing_kernels.Cut(
        np.full(1, -1, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64),
        *np.zeros((3, 0, 1), self._dtype), np.zeros((0, 2), np.int64))
    self._found = np.zeros(_MAX_PROPOSALS, growing_proposals.PROPOSAL)
    self._kept = np.ones(1)  # products of the discounts so far
    self.tree = bare_tree(hands, subgame.claims[-1], role)
    self.tables = growing_kernels.LearnTables(
        np.zeros(self.tree.num_numbers, self._dtype),
        np.zeros(self.tree.num_numbers, self._dtype), np.zeros(1, np.int64))
    self.gadget = np.zeros((2, count))
    self._entered = np.zeros(count)
    self.iteration = 0

  def _follows(self):
    """Returns [class] float64, how likely the opponent follows if it may."""
    follow, leave = np.maximum(self.gadget, 0.0)
    total = follow + leave
    return np.where(total > 0.0, follow / np.where(total > 0.0, total, 1.0),
                    1.0)

  def _merged(self, reach):
    """Returns the opponent's reach by the classes after its last claim."""
    subgame = self._subgame
    return subgame.hands.moved(1 - subgame.role, reach, subgame.before,
                               subgame.claims[-1])

  def run(self, iterations):
    """Runs iterations; the tree grows at fixed ones."""
    for _ in range(iterations):
      self.iterate()
      if _grows_at(self.iteration):
        self.grow()

  def iterate(self):
    """Runs one iteration."""
    t = self.iteration + 1
    discount = t**growing_kernels.ALPHA / (t**growing_kernels.ALPHA + 1.0)
    self._kept = np.append(self._kept, self._kept[-1] * discount)
    subgame = self._subgame
    for role in range(2):
      follow = self._follows()
      entering = subgame.prior * (self._trust + (1.0 - self._trust) * follow)
      self._learn(role, t, self._merged(entering))
      if role == subgame.role:
        continue
      value = self._work.value[0].astype(np.float64)[self._merge]
      self._entered += float(t)**growing_kernels.GAMMA * entering
      mean = follow * value + (1.0 - follow) * subgame.leave
      self.gadget += np.stack([value, subgame.leave]) - mean
      self.gadget *= np.where(self.gadget > 0.0, discount,
                              growing_kernels.NEGATIVE)
    self.iteration = t

  def _learn(self, role, t, entering):
    """Updates a role below the gadget."""
    work = self._work
    reaches = [self._subgame.reach, entering]
    if role != self._subgame.role:
      reaches.reverse()
    for line, reach in zip((work.own, work.other), reaches):
      line[0] = 0
      line[0, :len(reach)] = reach
    work.path[0] = 0, -1, work.own[0].any(), work.other[0].any()
    growing_kernels.learn(
        self._subgame.hands.arrays(self._dtype), self.tree, self.tables,
        growing_kernels.LearnStep(
            role, t, self._dtype.type(float(t)**growing_kernels.GAMMA),
            self._kept, growing_kernels.NEGATIVE, False, *self._pays[role]),
        growing_kernels.NO_CUT, work, self._no_cut)

  # Measuring and growing.

  def average_reach(self):
    """Returns [class] float64, how often the opponent comes, on average."""
    t = np.arange(1, self.iteration + 1, dtype=np.float64)
    return self._entered / np.sum(t**growing_kernels.GAMMA)

  def _respond(self, role, opponents, choices):
    """Returns [class] float64, what a best response gets in the subgame."""
    growing_response.respond(
        self._game(opponents), self.tree, self.tables.cumulative,
        growing_response.Responder(role, *self._leaves[role]), self._measure,
        choices)
    return self._measure.value[0].copy()

  def _game(self, opponents):
    """Returns the `ClassArrays` in which the opponent has this reach."""
    reaches = self._subgame.reach, self._merged(opponents)
    return _with_reaches(self._subgame.hands, self._subgame.role, *reaches)

  def opponent_values(self):
    """Returns [class] float64, what a best response of the opponent gets."""
    return self._respond(1 - self._subgame.role, self._subgame.prior,
                         growing_response.new_choices(self.tree))[self._merge]

  def _measured(self, choices):
    """Returns (the opponent's best values [class], NashConv)."""
    subgame, average = self._subgame, self.average_reach()
    best = self._respond(1 - subgame.role, average, choices)[self._merge]
    searchers = self._respond(subgame.role, average, choices)
    gap = subgame.reach @ searchers[:len(subgame.reach)]
    gap += subgame.prior @ (
        self._trust * best +
        (1.0 - self._trust) * np.maximum(best, subgame.leave))
    gap -= (subgame.prior - average) @ subgame.leave
    return best, gap

  def gap(self):
    """Returns the NashConv of the subgame with its gadget."""
    return float(self._measured(growing_response.new_choices(self.tree))[1])

  def grow(self):
    """Stores the claims that gain most."""
    subgame, choices = self._subgame, growing_response.new_choices(self.tree)
    best, gap = self._measured(choices)
    threshold = self._growth_share * 0.5 * max(gap, 0.0)
    average = self.average_reach()
    # An opponent who would come after all counts in full.
    wanted = np.where(best > subgame.leave, subgame.prior, average)
    parts = []
    for role in range(2):
      weights = average if role == subgame.role else wanted
      for follows in (False, True):
        count = growing_proposals.propose(
            self._game(weights), self.tree, self.tables.cumulative,
            growing_response.Responder(role, *self._leaves[role], follows),
            self._measure, choices, threshold, self._found)
        parts.append(self._found[:count].copy())
    found = growing_proposals.best_first(
        np.concatenate(parts), self.tree.num_nodes,
        subgame.hands.order.num_claims)
    self._add(found[:self._max_nodes - self.tree.num_nodes])

  def _add(self, found):
    """Stores claims; new rows are 0."""
    if not len(found):
      return
    change = growing_tree.changed(
        self._subgame.hands, self.tree, proposals=tuple(
            found[name].copy() for name in ("node", "row", "claim")))
    self.tables = growing_kernels.moved_tables(
        self.tables, self.tree, change, True, self.iteration)
    self.tree = change[0]

  # The result.

  def dudo_share(self, tolerance):
    """Returns how much Dudo makes the average policy safe.

    Args:
      tolerance: how much more than the limit a hand of the opponent may get.
    """
    subgame = self._subgame
    last, role = subgame.claims[-1], subgame.role
    bare = bare_tree(subgame.hands, last, role)
    dudo = best_values(
        subgame.hands, bare, np.zeros(bare.num_numbers, self._dtype), 1 - role,
        subgame.reach, subgame.leaves, self._measure)[self._merge]
    best = self.opponent_values()
    excess = np.where(subgame.prior > 0.0, best - subgame.limit - tolerance,
                      0.0)
    is_unsafe = excess > _ROUNDING
    excess, lost = excess[is_unsafe], (best - dudo)[is_unsafe]
    return float(np.max(excess / np.maximum(lost, excess), initial=0.0))

  def solution(self, tolerance):
    """Returns the `Solution`: the average policy, made safe.

    Args:
      tolerance: see `dudo_share`.
    """
    share = self.dudo_share(tolerance)
    table = self.tables.cumulative.copy()
    rows = int(self.tree.row_begin[1])
    root = table[:self.tree.table_begin[1]].reshape(rows, -1)
    total = root.sum(axis=0)
    root *= 1.0 - share
    root[0] += share * total
    return Solution(self.tree, table, share)


def _grows_at(iteration):
  """Returns whether the tree grows: 1, 2, 3, ... and then ever more rarely."""
  step = 1
  while step < iteration:
    step += max(step // 4, 1)
  return step == iteration
