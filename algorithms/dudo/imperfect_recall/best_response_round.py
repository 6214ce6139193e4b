"""A round of Dudo from the side of a responder to a `MatchPolicy`.

`ResponderRound` has the arrays of a round, and walks or searches them for what
the best response gets. `transitions.Payoffs` say what challenges are worth to
the responder, and `Bounds` what a search has found.
"""

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
  """Returns the `Payoffs` if later rounds are worth the policy's values.

  Args:
    policy: the `match_policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: of the player that gets them, 0 if it starts the round.
  """
  return transitions.of_round(policy.match, tuple(dice)).payoffs(
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


def _probabilities(policy, key):
  """Returns [row, hand] float64, the policy's probabilities."""
  weights = policy.tables[key].astype(np.float64)
  table_kernels.normalize(policy.match.graph(sum(key)).arrays, weights)
  return weights


class ResponderRound:
  """A round from the responder's side: its arrays, and searches on them.

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
    match = policy.match
    self.role = role
    self.policy = policy
    self.key = other, own  # of the policy's table
    self.graph = match.graph(own + other)
    if leaves is None:
      leaves = policy_payoffs(policy, dice, role)
    if isinstance(leaves, transitions.Payoffs):
      leaves = leaves, leaves
    if not isinstance(leaves, (list, tuple)) or len(leaves) != 2 or not all(
        isinstance(bound, transitions.Payoffs) for bound in leaves):
      raise ValueError(f"leaves={leaves!r}: must be None, a Payoffs, or a pair "
                       "of them")
    width = match.table_shape(self.key)[1]
    rolls, own_rolls = match.rolls(other), match.rolls(own)
    matches = np.zeros((match.num_sides, width), np.int64)
    matches[:, :rolls.num_rolls] = rolls.matches(match.house.wild_ones).T
    chances = np.zeros(width)
    chances[:rolls.num_rolls] = rolls.probabilities
    arrays = self.graph.arrays
    unit = np.empty(self.graph.num_nodes, np.int64)
    unit[arrays.unit_node] = np.repeat(
        np.arange(len(arrays.unit_begin) - 1), np.diff(arrays.unit_begin))
    self.num_hands = rolls.num_rolls
    self.game = full_response_kernels.RoundArrays(
        num_claims=self.graph.num_claims, row_begin=arrays.row_begin,
        child_begin=arrays.child_begin, unit=unit,
        probabilities=_probabilities(policy, self.key), chances=chances,
        own_chances=own_rolls.probabilities.copy(),
        by_count=np.stack([matches == k for k in range(other + 1)],
                          axis=1).astype(np.float64),
        matches=matches,
        own_matches=np.ascontiguousarray(
            own_rolls.matches(match.house.wild_ones).T, dtype=np.int64),
        rank=match.claim_order(own + other).ranks.astype(np.int64) - 1,
        challenges=np.stack([bound.challenges for bound in leaves]),
        challenged=np.stack([bound.challenged for bound in leaves]))
    if not np.all(np.isfinite([self.game.challenges, self.game.challenged])):
      raise ValueError(f"leaves={leaves!r}: must be finite")

  def keep_hand(self, hand):
    """Restricts the responder to one hand."""
    own_matches = self.game.own_matches[:, hand:hand + 1]
    self.game = self.game._replace(
        own_chances=np.ones(1), own_matches=np.ascontiguousarray(own_matches))

  def claim_values(self, claims, chances):
    """Returns [claim], what stronger claims are worth to the only own hand.

    Args:
      claims: list of int, the claims made.
      chances: [hand], the probabilities of the policy's hands.
    """
    game, nowhere = self.game, self.frontier(-1, 0)
    last = claims[-1] if claims else -1
    values = np.zeros(game.num_claims - 1 - last)
    for number in range(len(values)):
      claim = last + 1 + number
      node = self.graph.index([*claims, claim])
      dudo = game.row_begin[node + 1] - 1
      scratch = self.scratch()
      reach = np.zeros(len(game.chances))
      reach[:len(chances)] = chances
      rank = game.rank[claim]
      counts = game.own_matches[rank, 0] + game.matches[rank]
      values[number] = (reach * game.probabilities[dudo]) @ (
          game.challenged[full_response_kernels.LOWER, claim, counts])
      for row in range(game.num_claims - 1 - claim):
        scratch.reach[0] = reach * game.probabilities[
            game.row_begin[node] + row]
        if scratch.reach[0].any():
          full_response_kernels.respond(
              game, game.child_begin[node] + row, claim + 1 + row, 0, scratch,
              nowhere)
          values[number] += scratch.value[0, 0]
    return values

  @property
  def _depths(self):
    return self.graph.num_claims // 2 + 3

  def _line(self, *shape):
    return np.zeros((*shape, len(self.game.own_chances)))

  def scratch(self):
    """Returns a new `full_response_kernels.WalkScratch`."""
    game, depths = self.game, self._depths
    return full_response_kernels.WalkScratch(
        reach=np.zeros((depths, len(game.chances))), value=self._line(depths),
        total=self._line(depths),
        challenge_reach=np.zeros((1, len(game.chances))),
        counts=np.zeros(game.by_count.shape[1]),
        payoff_by_count=np.zeros(game.own_matches.max() + 1),
        stack=np.zeros(depths, full_response_kernels.WALK_FRAME),
        visited=np.zeros(1, np.int64), flag=self.flag)

  def frontier(self, depth, size, is_known=False):
    """Returns a new `full_response_kernels.Frontier`.

    Args:
      depth: the depth at which it stops the traversal, -1 for never.
      size: how many turns it can hold.
      is_known: whether the values there are known.
    """
    return full_response_kernels.Frontier(
        depth=depth, is_known=is_known, node=np.zeros(size, np.int64),
        last=np.zeros(size, np.int64),
        reach=np.zeros((size, len(self.game.chances))), value=self._line(size),
        size=np.zeros(1, np.int64))

  def walk(self):
    """Returns (exact value, how many histories were visited)."""
    depth = 1 + self.role  # two or three claims
    count = self.frontier(depth, 0)
    full_response_kernels.respond_first(self.game, self.role, self.scratch(),
                                        count)
    frontier = self.frontier(depth, int(count.size[0]))
    full_response_kernels.respond_first(self.game, self.role, self.scratch(),
                                        frontier)
    nowhere = self.frontier(-1, 0)

    def respond(index):
      scratch = self.scratch()
      scratch.reach[0] = frontier.reach[index]
      full_response_kernels.respond(
          self.game, frontier.node[index], frontier.last[index], 0, scratch,
          nowhere)
      frontier.value[index] = scratch.value[0]
      return int(scratch.visited[0])

    order = np.argsort(frontier.last, kind="stable").tolist()
    visited = sum(interrupts.run_in_threads(respond, order, self._num_threads,
                                            self.flag))
    frontier.size[0] = 0
    scratch = self.scratch()
    full_response_kernels.respond_first(self.game, self.role, scratch,
                                        frontier._replace(is_known=True))
    return self._mean(scratch.value[0]), visited + int(scratch.visited[0])

  def _mean(self, values):
    """Returns the mean of [own hand]."""
    return float(self.game.own_chances @ values)

  def probe(self, seconds):
    """Returns seconds a history, timed on the last histories of the round."""
    spent, visited = 0.0, 0
    game, nowhere = self.game, self.frontier(-1, 0)
    for first in range(game.num_claims - 1, -1, -1):
      scratch = self.scratch()
      scratch.reach[0] = game.chances
      node = self.graph.index([first])
      begin = time.perf_counter()
      full_response_kernels.respond(game, node, first, 0, scratch, nowhere)
      last = time.perf_counter() - begin
      if first < game.num_claims - 1:  # the first call may compile
        spent += last
        visited += int(scratch.visited[0])
      if spent + 2.0 * last > seconds:
        break
    return spent / max(visited, 1)

  @functools.cached_property
  def _tables(self):
    """[2, unit, hand, own hand] float32, the bounds of `bound_kernels`."""
    arrays, game = self.graph.arrays, self.game
    units = len(arrays.unit_begin) - 1
    shape = 2, units, self.num_hands, len(game.own_chances)
    num_bytes = 4 * int(np.prod(shape))
    if num_bytes > MAX_BOUND_BYTES:
      raise ValueError(f"dice={self.key}: bounds would take {num_bytes:,} "
                       f"bytes; must be at most {MAX_BOUND_BYTES:,}")
    own_key = self.key[::-1]
    if own_key in self.policy.tables:
      own = self.policy.probabilities(own_key)[:, :len(game.own_chances)]
      responder = own @ game.own_chances
    else:
      responder = np.ones(self.graph.num_rows)
    weights = np.zeros((units, len(game.chances)))
    bound_kernels.mean_reaches(arrays, game, self.role, responder, weights)
    tables = np.empty(shape, np.float32)
    jit.run(self._num_threads, bound_kernels.bound_units,
            bound_kernels.bound_units_parallel, arrays, game, weights, tables)
    return tables

  def search(self, min_mass):
    """Returns the `Bounds`; Ctrl-C stops it."""
    return interrupts.run_in_threads(self.search_here, [min_mass], 1,
                                     self.flag)[0]

  def search_here(self, min_mass):
    """Returns the `Bounds`; only the flag stops it."""
    game, depths = self.game, self._depths
    claims, hands = game.num_claims, len(game.chances)
    scratch = branch_and_bound_kernels.SearchScratch(
        reach=np.zeros((depths, hands)), bar=self._line(depths),
        value=self._line(depths, 2), action=self._line(depths, claims),
        child=self._line(depths, claims, 2),
        child_doubt=np.zeros((depths, claims)),
        done=np.zeros((depths, claims), np.bool_),
        stack=np.zeros(depths, branch_and_bound_kernels.SEARCH_FRAME),
        total=self._line(depths, 2), challenge_reach=np.zeros((1, hands)),
        counts=np.zeros(game.by_count.shape[1]),
        payoff_by_count=np.zeros(game.own_matches.max() + 1),
        record=np.zeros(1, branch_and_bound_kernels.SEARCH_RECORD),
        flag=self.flag)
    leaves = np.stack([game.challenges, game.challenged])
    limits = branch_and_bound_kernels.SearchLimits(
        min_mass, leaves[:, full_response_kernels.LOWER].min(),
        leaves[:, full_response_kernels.UPPER].max())
    branch_and_bound_kernels.search(game, self._tables, self.role, scratch,
                                    limits)
    lower, upper = (self._mean(scratch.value[0, bound]) for bound in (
        full_response_kernels.LOWER, full_response_kernels.UPPER))
    record = scratch.record[0]
    return Bounds(lower, upper, min_mass, int(record["searched"]),
                  int(record["pruned"]), float(record["pruned_mass"]))
