"""A round of Dudo from the side of a responder to a `MatchPolicy`."""

import functools
import time
from typing import NamedTuple

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.imperfect_recall import bound_kernels
from dudo_spiel.algorithms.dudo.imperfect_recall import branch_and_bound_kernels
from dudo_spiel.algorithms.dudo.imperfect_recall import full_response_kernels
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.imperfect_recall import table_kernels
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

MAX_BOUND_BYTES = 4 * 10**9


def policy_payoffs(policy, dice, role):
  """Returns a role's `Payoffs`, with later rounds by the policy's values."""
  return transitions.of_round(policy.rules, tuple(dice)).payoffs(
      role, policy.continuation_values(dice))


def check_policy(policy):
  """Raises a ValueError if it is not a policy for matches."""
  if not isinstance(policy, match_policy.MatchPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.MatchPolicy")


def check_round(policy, dice, role):
  """Returns (responder's dice, policy's dice) of a round, or raises."""
  check_policy(policy)
  validation.integer("role", role, 0, 1)
  if not isinstance(dice, (tuple, list, bytes)):
    raise ValueError(f"dice={dice!r}: must be (starter's, other's) dice")
  for number in dice:
    validation.integer("dice", number, 1)
  key = tuple(dice) if role else tuple(dice)[::-1]  # (policy's, responder's)
  if key not in policy.tables:
    known = ", ".join(f"{a}v{b}" for a, b in sorted(policy.tables))
    raise ValueError(f"dice={dice!r}: must be (starter's, other's) dice for "
                     "which the policy has a table; its (own, other's) dice "
                     f"are {known}")
  return key[::-1]


class Bounds(NamedTuple):
  """Bounds of a best response in a round, and what they took.

  Attributes:
    lower: the responder can get at least this.
    upper: it cannot get more than this.
    min_mass: turns with less mass in doubt were not searched.
    searched: how many turns of the responder were searched.
    pruned: how many turns and claims were left out, though they might matter.
    pruned_mass: the sum of their mass in doubt. It counts all that the
      responder may try, so it exceeds upper - lower.
  """
  lower: float
  upper: float
  min_mass: float
  searched: int
  pruned: int
  pruned_mass: float


class ResponderRound:
  """A round from the responder's side: its arrays, traversals and searches.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's.
    leaves: the `transitions.Payoffs` of the round, or a pair of them, lower and
      upper bounds; None if later rounds are worth the policy's values.
    num_threads: how many threads to use.
    flag: [1] bool, which stops searches (see `interrupts`); None for one of
      its own.
  """

  def __init__(self, policy, dice, role, leaves, num_threads, flag=None):
    own, other = check_round(policy, dice, role)
    self._num_threads = num_threads
    self.flag = interrupts.new_flag() if flag is None else flag
    rules = policy.rules
    self.role = role
    self.policy = policy
    self.key = other, own  # of the policy's table
    self.graph = rules.graph(own + other)
    if leaves is None:
      leaves = policy_payoffs(policy, dice, role)
    if isinstance(leaves, transitions.Payoffs):
      leaves = leaves, leaves
    if not isinstance(leaves, (list, tuple)) or len(leaves) != 2 or not all(
        isinstance(bound, transitions.Payoffs) for bound in leaves):
      raise ValueError(f"leaves={leaves!r}: must be None, a Payoffs, or a pair "
                       "of them")
    width = rules.table_shape(self.key)[1]
    rolls, own_rolls = rules.rolls(other), rules.rolls(own)
    matches = np.zeros((rules.num_sides, width), np.int64)
    matches[:, :rolls.num_rolls] = rolls.matches(rules.house.wild_ones).T
    chances = np.zeros(width)
    chances[:rolls.num_rolls] = rolls.probabilities
    graph = self.graph.arrays
    probabilities = policy.tables[self.key].astype(np.float64)
    table_kernels.normalize(graph, probabilities)
    unit = np.empty(self.graph.num_nodes, np.int64)
    unit[graph.unit_node] = np.repeat(
        np.arange(len(graph.unit_begin) - 1), np.diff(graph.unit_begin))
    self.num_hands = rolls.num_rolls
    self.arrays = full_response_kernels.RoundArrays(
        num_claims=self.graph.num_claims, row_begin=graph.row_begin,
        child_begin=graph.child_begin, unit=unit,
        probabilities=probabilities, chances=chances,
        own_chances=own_rolls.probabilities.copy(),
        by_count=np.stack([matches == k for k in range(other + 1)],
                          axis=1).astype(np.float64),
        matches=matches,
        own_matches=np.ascontiguousarray(
            own_rolls.matches(rules.house.wild_ones).T, dtype=np.int64),
        rank=rules.claim_order(own + other).ranks.astype(np.int64) - 1,
        challenges=np.stack([bound.challenges for bound in leaves]),
        challenged=np.stack([bound.challenged for bound in leaves]))
    if not np.all(np.isfinite([self.arrays.challenges,
                               self.arrays.challenged])):
      raise ValueError(f"leaves={leaves!r}: must be finite")

  def keep_hand(self, hand):
    """Restricts the responder to one hand."""
    own_matches = self.arrays.own_matches[:, hand:hand + 1]
    self.arrays = self.arrays._replace(
        own_chances=np.ones(1), own_matches=np.ascontiguousarray(own_matches))

  @property
  def _depths(self):
    return self.graph.num_claims // 2 + 3

  def _line(self, *shape):
    return np.zeros((*shape, len(self.arrays.own_chances)))

  def _walk_scratch(self, reach):
    """Returns a new `full_response_kernels.WalkScratch` for a reach."""
    hands, depths = len(reach), self._depths
    scratch = full_response_kernels.WalkScratch(
        reach=np.zeros((depths, hands)), value=self._line(depths),
        total=self._line(depths), challenge_reach=np.zeros((1, hands)),
        counts=np.zeros(self.arrays.by_count.shape[1]),
        payoff_by_count=np.zeros(self.arrays.own_matches.max() + 1),
        stack=np.zeros(depths, full_response_kernels.WALK_FRAME),
        visited=np.zeros(1, np.int64), flag=self.flag)
    scratch.reach[0] = reach
    return scratch

  def turn_values(self, turns):
    """Returns what the responder gets at some of its turns, by a traversal.

    Args:
      turns: list of ([claim] int, [hand] float64), the claims before a turn and
        the policy's reach of it.

    Returns:
      For each turn a list of [own hand] float64: the value of a challenge, -inf
      before the first claim, and of each stronger claim, times the reach.
    """
    arrays, results, tasks = self.arrays, [], []
    for claims, reach in turns:
      node, last = self.graph.index(claims), claims[-1] if claims else -1
      scratch = self._walk_scratch(reach)
      full_response_kernels.begin_turn(arrays, node, last, 0, scratch)
      results.append([scratch.value[0].copy()])
      for claim in range(last + 1, arrays.num_claims):
        child = arrays.child_begin[node] + claim - last - 1
        full_response_kernels.begin_claim(arrays, claim, child, 0, scratch)
        total = scratch.total[0].copy()
        results[-1].append(total)
        for answer in range(claim + 1, arrays.num_claims):
          number = answer - claim - 1
          after = reach * arrays.probabilities[arrays.row_begin[child] + number]
          if after.any():
            tasks.append((total, arrays.child_begin[child] + number, answer,
                          after))

    def respond(task):
      _, node, last, reach = task
      scratch = self._walk_scratch(reach)
      full_response_kernels.respond(arrays, node, last, scratch)
      return scratch.value[0]

    tasks.sort(key=lambda task: task[2])  # those that take longest first
    for (total, *_), value in zip(tasks, interrupts.run_in_threads(
        respond, tasks, self._num_threads, self.flag)):
      total += value
    return results

  def walk(self):
    """Returns the exact value, by a traversal of all histories."""
    arrays = self.arrays
    turns = [((), arrays.chances)]
    if self.role == 1:
      reaches = arrays.chances * arrays.probabilities[:arrays.num_claims]
      turns = [((claim,), reach) for claim, reach in enumerate(reaches)
               if reach.any()]
    return self._mean(sum(np.max(values, axis=0)
                          for values in self.turn_values(turns)))

  def _mean(self, values):
    """Returns the mean of [own hand]."""
    return float(self.arrays.own_chances @ values)

  def probe(self, seconds):
    """Returns seconds a history, timed on the last histories of the round."""
    spent, visited = 0.0, 0
    arrays = self.arrays
    for first in range(arrays.num_claims - 1, -1, -1):
      scratch = self._walk_scratch(arrays.chances)
      node = self.graph.index([first])
      begin = time.perf_counter()
      full_response_kernels.respond(arrays, node, first, scratch)
      last = time.perf_counter() - begin
      if first < arrays.num_claims - 1:  # the first call may compile
        spent += last
        visited += int(scratch.visited[0])
      if spent + 2.0 * last > seconds:
        break
    return spent / max(visited, 1)

  @functools.cached_property
  def _tables(self):
    """[2, unit, hand, own hand] float32, the bounds of `bound_kernels`."""
    graph, arrays = self.graph.arrays, self.arrays
    units = len(graph.unit_begin) - 1
    shape = 2, units, self.num_hands, len(arrays.own_chances)
    num_bytes = 4 * int(np.prod(shape))
    if num_bytes > MAX_BOUND_BYTES:
      raise ValueError(f"dice={self.key}: bounds would take {num_bytes:,} "
                       f"bytes; must be at most {MAX_BOUND_BYTES:,}")
    own_key = self.key[::-1]
    if own_key in self.policy.tables:
      own = self.policy.probabilities(own_key)[:, :len(arrays.own_chances)]
      responder = own @ arrays.own_chances
    else:
      responder = np.ones(self.graph.num_rows)
    weights = np.zeros((units, len(arrays.chances)))
    bound_kernels.mean_reaches(graph, arrays, self.role, responder, weights)
    tables = np.empty(shape, np.float32)
    jit.run(self._num_threads, bound_kernels.bound_units,
            bound_kernels.bound_units_parallel, graph, arrays, weights, tables)
    return tables

  def search(self, min_mass):
    """Returns the `Bounds`; Ctrl-C stops it."""
    return interrupts.run_in_threads(self.search_here, [min_mass], 1,
                                     self.flag)[0]

  def search_here(self, min_mass):
    """Returns the `Bounds`; only the flag stops it."""
    arrays, depths = self.arrays, self._depths
    claims, hands = arrays.num_claims, len(arrays.chances)
    scratch = branch_and_bound_kernels.SearchScratch(
        reach=np.zeros((depths, hands)), alpha=self._line(depths),
        value=self._line(depths, 2), action=self._line(depths, claims),
        child=self._line(depths, claims, 2),
        child_gap=np.zeros((depths, claims)),
        done=np.zeros((depths, claims), np.bool_),
        stack=np.zeros(depths, branch_and_bound_kernels.SEARCH_FRAME),
        total=self._line(depths, 2), challenge_reach=np.zeros((1, hands)),
        counts=np.zeros(arrays.by_count.shape[1]),
        payoff_by_count=np.zeros(arrays.own_matches.max() + 1),
        record=np.zeros(1, branch_and_bound_kernels.SEARCH_RECORD),
        flag=self.flag)
    leaves = np.stack([arrays.challenges, arrays.challenged])
    limits = branch_and_bound_kernels.SearchLimits(
        min_mass, leaves[:, full_response_kernels.LOWER].min(),
        leaves[:, full_response_kernels.UPPER].max())
    branch_and_bound_kernels.search(arrays, self._tables, self.role, scratch,
                                    limits)
    lower, upper = (self._mean(scratch.value[0, bound]) for bound in (
        full_response_kernels.LOWER, full_response_kernels.UPPER))
    record = scratch.record[0]
    return Bounds(lower, upper, min_mass, int(record["searched"]),
                  int(record["pruned"]), float(record["pruned_mass"]))
