"""Best responses in rounds and matches of Dudo to a policy that forgets claims.

The policy is a `policy.MatchPolicy`. The responder forgets nothing, so a round
with C claims has 2^C histories. `best_response_value` finds exactly what the
responder can get, in one of two ways: it searches where it may matter (see
`search_kernels`), or it walks all histories, which is simpler and much slower.
Where even the search takes too long, `best_response_bounds` stops it early and
gives a lower and an upper bound; `refine_bounds` tightens them while time
lasts. Bounds are rigorous, up to rounding errors.

The leaves of a round are worth what the rounds that follow are worth.
`round_exploitability` takes the policy's own values of them, so it measures how
well that one round is played. `match_best_response` and `match_bounds` take the
responder's values, from the fewest dice up, and so measure the policy in the
whole match.

Serves `exploitability` and `solver`.
"""

import functools
import time
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.match import kernels as match_kernels
from dudo_spiel.algorithms.match import policy as match_policy
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import search_kernels
from dudo_spiel.algorithms.match import walk_kernels
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

METHODS = ("search", "walk")
MAX_WALK_CLAIMS = 40
MAX_BOUND_BYTES = 4 * 10**9
_PROBE_SECONDS = 0.3
_FIRST_MIN_MASS = 0.1
_LEAST_MIN_MASS = 1e-14


class Leaves(NamedTuple):
  """What challenges are worth to the responder.

  Attributes:
    challenges: [claim, count] float64, when the responder challenges and count
      dice match.
    challenged: [claim, count] float64, when the policy challenges.
  """
  challenges: np.ndarray
  challenged: np.ndarray


def round_leaves(match, own_dice, other_dice, responder_starts, policy_starts):
  """Returns the `Leaves` of a round.

  Args:
    match: the `rounds.MatchRules`.
    own_dice: how many dice the responder has.
    other_dice: how many dice the policy has.
    responder_starts: dict from (responder's, policy's) dice to what a round
      that the responder starts is worth to it.
    policy_starts: dict from (policy's, responder's) dice to what a round that
      the policy starts is worth to the responder.
  """
  to_policy = {key: -value for key, value in policy_starts.items()}
  ones = dict.fromkeys([*responder_starts, *policy_starts], 1.0)

  def values(dice, if_won, if_lost):  # of the challenge, to the challenger
    won, better, worse = (match_rounds.challenge_values(match, *dice, starts)
                          for starts in (ones, if_won, if_lost))
    return np.where(won > 0.0, better, worse)

  return Leaves(
      values((own_dice, other_dice), responder_starts, to_policy),
      -values((other_dice, own_dice), to_policy, responder_starts))


def policy_leaves(policy, own_dice, other_dice):
  """Returns the `Leaves` if later rounds are worth the policy's values."""
  for key in match_rounds.round_keys((own_dice, other_dice)):
    if sum(key) < own_dice + other_dice and key not in policy.values:
      raise ValueError(f"policy={policy}: has no value of the round "
                       f"{key[0]}v{key[1]}; finish its training first")
  return round_leaves(policy.match, own_dice, other_dice, policy.values,
                      {key: -value for key, value in policy.values.items()})


def check_policy(policy):
  """Raises a ValueError if it is not a policy for matches."""
  if not isinstance(policy, match_policy.MatchPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.MatchPolicy")


def _check_round(policy, dice, role):
  """Returns (responder's dice, policy's dice) of a round, or raises."""
  check_policy(policy)
  arguments.integer("role", role, 0, 1)
  if not isinstance(dice, (tuple, list, bytes)):
    raise ValueError(f"dice={dice!r}: must be (starter's, other's) dice")
  for number in dice:
    arguments.integer("dice", number, 1)
  key = tuple(dice) if role else tuple(dice)[::-1]  # (policy's, responder's)
  if key not in policy.tables:
    known = ", ".join(f"{a}v{b}" for a, b in sorted(policy.tables))
    raise ValueError(f"dice={dice!r}: must be (starter's, other's) dice for "
                     "which the policy has a table; its (own, other's) dice "
                     f"are {known}")
  return key[::-1]


def _probabilities(policy, key):
  """Returns [row, hand] float64, the policy's probabilities."""
  weights = policy.tables[key].astype(np.float64)
  match_kernels.normalize(policy.match.memory(sum(key)).arrays, weights)
  return weights


class _ResponderRound:
  """A round from the responder's side: its arrays, and searches on them.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's.
    leaves: the `Leaves`, or a pair of them, lower and upper bounds; None for
      the policy's values of later rounds.
    num_threads: how many threads to use.
    flag: [1] bool, which stops searches (see `interrupts`); None for one of
      its own.
  """

  def __init__(self, policy, dice, role, leaves, num_threads, flag=None):
    own, other = _check_round(policy, dice, role)
    self._num_threads = num_threads
    self.flag = interrupts.new_flag() if flag is None else flag
    match = policy.match
    self.role = role
    self.policy = policy
    self.key = other, own  # of the policy's table
    self.memory = match.memory(own + other)
    if leaves is None:
      leaves = policy_leaves(policy, own, other)
    if isinstance(leaves, Leaves):
      leaves = leaves, leaves
    if not isinstance(leaves, (list, tuple)) or len(leaves) != 2 or not all(
        isinstance(bound, Leaves) for bound in leaves):
      raise ValueError(f"leaves={leaves!r}: must be None, a Leaves, or a pair "
                       "of them")
    width = match.table_shape(self.key)[1]
    rolls, own_rolls = match.rolls(other), match.rolls(own)
    matches = np.zeros((match.num_sides, width), np.int64)
    matches[:, :rolls.num_rolls] = rolls.matches(match.house.wild_ones).T
    chances = np.zeros(width)
    chances[:rolls.num_rolls] = rolls.probabilities
    arrays = self.memory.arrays
    unit = np.empty(self.memory.num_memories, np.int64)
    unit[arrays.unit_memory] = np.repeat(
        np.arange(len(arrays.unit_begin) - 1), np.diff(arrays.unit_begin))
    self.num_hands = rolls.num_rolls
    self.game = walk_kernels.RoundArrays(
        num_claims=self.memory.num_claims, row_begin=arrays.row_begin,
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
    """Leaves the responder with one hand."""
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
      node = self.memory.index([*claims, claim])
      dudo = game.row_begin[node + 1] - 1
      work = self.scratch()
      reach = np.zeros(len(game.chances))
      reach[:len(chances)] = chances
      rank = game.rank[claim]
      counts = game.own_matches[rank, 0] + game.matches[rank]
      values[number] = (reach * game.probabilities[dudo]) @ (
          game.challenged[walk_kernels.LOWER, claim, counts])
      for row in range(game.num_claims - 1 - claim):
        work.reach[0] = reach * game.probabilities[game.row_begin[node] + row]
        if work.reach[0].any():
          walk_kernels.respond(game, game.child_begin[node] + row,
                               claim + 1 + row, 0, work, nowhere)
          values[number] += work.value[0, 0]
    return values

  @property
  def _depths(self):
    return self.memory.num_claims // 2 + 3

  def _line(self, *shape):
    return np.zeros((*shape, len(self.game.own_chances)))

  def scratch(self):
    """Returns a new `walk_kernels.WalkScratch`."""
    game, depths = self.game, self._depths
    return walk_kernels.WalkScratch(
        reach=np.zeros((depths, len(game.chances))), value=self._line(depths),
        total=self._line(depths), asked=np.zeros((1, len(game.chances))),
        counts=np.zeros(game.by_count.shape[1]),
        worth=np.zeros(game.own_matches.max() + 1),
        place=np.zeros(depths, walk_kernels.WALK_PLACE),
        visited=np.zeros(1, np.int64), flag=self.flag)

  def frontier(self, depth, size, is_known=False):
    """Returns a new `walk_kernels.Frontier` with this many places."""
    return walk_kernels.Frontier(
        depth=depth, is_known=is_known, node=np.zeros(size, np.int64),
        last=np.zeros(size, np.int64),
        reach=np.zeros((size, len(self.game.chances))), value=self._line(size),
        size=np.zeros(1, np.int64))

  def walk(self):
    """Returns (exact value, how many histories were visited)."""
    depth = 1 + self.role  # two or three claims
    count = self.frontier(depth, 0)
    walk_kernels.respond_first(self.game, self.role, self.scratch(), count)
    frontier = self.frontier(depth, int(count.size[0]))
    walk_kernels.respond_first(self.game, self.role, self.scratch(), frontier)
    nowhere = self.frontier(-1, 0)

    def work_on(place):
      work = self.scratch()
      work.reach[0] = frontier.reach[place]
      walk_kernels.respond(self.game, frontier.node[place],
                           frontier.last[place], 0, work, nowhere)
      frontier.value[place] = work.value[0]
      return int(work.visited[0])

    order = np.argsort(frontier.last, kind="stable").tolist()
    visited = sum(interrupts.run_in_threads(work_on, order, self._num_threads,
                                            self.flag))
    frontier.size[0] = 0
    work = self.scratch()
    walk_kernels.respond_first(self.game, self.role, work,
                               frontier._replace(is_known=True))
    return self._mean(work.value[0]), visited + int(work.visited[0])

  def _mean(self, values):
    """Returns the mean of [own hand]."""
    return float(self.game.own_chances @ values)

  def probe(self, seconds):
    """Returns seconds a history, timed on the last histories of the round."""
    spent, visited = 0.0, 0
    game, nowhere = self.game, self.frontier(-1, 0)
    for first in range(game.num_claims - 1, -1, -1):
      work = self.scratch()
      work.reach[0] = game.chances
      node = self.memory.index([first])
      begin = time.perf_counter()
      walk_kernels.respond(game, node, first, 0, work, nowhere)
      last = time.perf_counter() - begin
      if first < game.num_claims - 1:  # the first call may compile
        spent += last
        visited += int(work.visited[0])
      if spent + 2.0 * last > seconds:
        break
    return spent / max(visited, 1)

  @functools.cached_property
  def _tables(self):
    """Bounds, [2, unit, hand, own hand] float32; see `search_kernels`."""
    arrays, game = self.memory.arrays, self.game
    units = len(arrays.unit_begin) - 1
    shape = 2, units, self.num_hands, len(game.own_chances)
    num_bytes = 4 * int(np.prod(shape))
    if num_bytes > MAX_BOUND_BYTES:
      raise ValueError(f"dice={self.key}: bounds would take {num_bytes:,} "
                       f"bytes; must be at most {MAX_BOUND_BYTES:,}")
    own_key = self.key[::-1]
    if own_key in self.policy.tables:
      own = self.policy.probabilities(own_key)[:, :len(game.own_chances)]
      shares = own @ game.own_chances
    else:
      shares = np.ones(self.memory.num_rows)
    weights = np.zeros((units, len(game.chances)))
    search_kernels.mean_reaches(arrays, game, self.role, shares, weights)
    tables = np.empty(shape, np.float32)
    if self._num_threads == 1:
      search_kernels.bound_units(arrays, game, weights, tables)
    else:
      with jit.threads(self._num_threads):
        search_kernels.bound_units_parallel(arrays, game, weights, tables)
    return tables

  def search(self, min_mass):
    """Returns the `Bounds`; Ctrl-C stops it."""
    return interrupts.run_in_threads(self.search_here, [min_mass], 1,
                                     self.flag)[0]

  def search_here(self, min_mass):
    """Returns the `Bounds`; only the flag stops it."""
    game, depths = self.game, self._depths
    claims, hands = game.num_claims, len(game.chances)
    work = search_kernels.SearchScratch(
        reach=np.zeros((depths, hands)), bar=self._line(depths),
        value=self._line(depths, 2), action=self._line(depths, claims),
        child=self._line(depths, claims, 2),
        child_doubt=np.zeros((depths, claims)),
        done=np.zeros((depths, claims), np.bool_),
        place=np.zeros(depths, search_kernels.SEARCH_PLACE),
        total=self._line(depths, 2), asked=np.zeros((1, hands)),
        counts=np.zeros(game.by_count.shape[1]),
        worth=np.zeros(game.own_matches.max() + 1),
        record=np.zeros(1, search_kernels.SEARCH_RECORD), flag=self.flag)
    leaves = np.stack([game.challenges, game.challenged])
    search_kernels.search(
        game, self._tables, self.role, work, search_kernels.SearchLimits(
            min_mass, leaves[:, walk_kernels.LOWER].min(),
            leaves[:, walk_kernels.UPPER].max()))
    lower, upper = (self._mean(work.value[0, bound]) for bound in (
        walk_kernels.LOWER, walk_kernels.UPPER))
    record = work.record[0]
    return Bounds(lower, upper, min_mass, int(record["searched"]),
                  int(record["pruned"]), float(record["pruned_mass"]))


def best_response_value(policy, dice, role, leaves=None, *, method="search",
                        num_threads=None):
  """Returns what a best response to the policy gets in a round, exactly.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    leaves: the `Leaves`; None for the policy's values of later rounds.
    method: "search", or "walk" for all histories (see `estimate_seconds`).
    num_threads: how many threads walk, None for all; the result does not
      depend on it. The search takes one.
  """
  num_threads = jit.thread_count(num_threads)
  arguments.choice("method", method, METHODS)
  this_round = _ResponderRound(policy, dice, role, leaves, num_threads)
  if method == "search":
    bounds = this_round.search(0.0)
    return _middle((bounds.lower, bounds.upper))
  claims = this_round.memory.num_claims
  if claims > MAX_WALK_CLAIMS:
    raise ValueError(f"dice={dice!r}: has {claims} claims, must have at most "
                     f"{MAX_WALK_CLAIMS} to be walked")
  return this_round.walk()[0]


def best_claim_values(policy, dice, claims, hand, chances):
  """Returns what each stronger claim of one hand is worth, then best play.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (responder's dice, policy's dice). It is the responder's turn.
    claims: list of int, the claims of the round, first to last.
    hand: the number of the responder's roll.
    chances: [policy's hand], the probabilities of its hands.

  Returns:
    [claim] float64. Later rounds have the policy's values.
  """
  role = len(claims) % 2
  this_round = _ResponderRound(policy, dice if role == 0 else dice[::-1], role,
                               None, 1)
  this_round.keep_hand(hand)
  return this_round.claim_values(claims, chances)


def estimate_seconds(policy, dice, role):
  """Returns about how many seconds one thread needs at most to walk a round.

  It is the number of all histories, 2^claims, times the time of one, which is
  measured on those that begin with the strongest claims. The walk skips
  histories to which the policy never plays, so it may take less.
  """
  this_round = _ResponderRound(policy, dice, role, None, 1)
  return 2.0**this_round.memory.num_claims * this_round.probe(_PROBE_SECONDS)


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


def best_response_bounds(policy, dice, role, min_mass, leaves=None):
  """Returns `Bounds` of what a best response to the policy gets in a round.

  The mass in doubt at a turn of the responder is the mean over its hands of
  (upper - lower bound) times the probability that the policy plays to that
  turn. The search stops where it is at most `min_mass`, and where the turn
  cannot matter.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    min_mass: see above; 0 for the exact value.
    leaves: the `Leaves`, or a pair of them, lower and upper bounds; None for
      the policy's values of later rounds.
  """
  min_mass = arguments.number("min_mass", min_mass, 0.0)
  return _ResponderRound(policy, dice, role, leaves,
                         jit.thread_count(None)).search(min_mass)


def refine_bounds(policy, dice, role, seconds, leaves=None):
  """Yields `Bounds` that become tighter and tighter.

  Every step searches again with a tenth of the mass before. It ends when the
  value is exact, or when the next step would probably not end in time. There is
  always at least one step.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    role: the responder's: 0 if it starts, 1 if the policy does.
    seconds: about how long it may take.
    leaves: see `best_response_bounds`.
  """
  seconds = arguments.number("seconds", seconds, 0.0)
  this_round = _ResponderRound(policy, dice, role, leaves,
                               jit.thread_count(None))
  return _refine(this_round.search, seconds)


def _refine(search, seconds):
  """Yields what `refine_bounds` does; `search` returns `Bounds` by a mass."""
  begin = last = time.perf_counter()
  best, steps = None, [0.0]
  min_mass = _FIRST_MIN_MASS
  while True:
    bounds = search(min_mass)
    if best is not None:
      bounds = bounds._replace(lower=max(bounds.lower, best.lower),
                               upper=min(bounds.upper, best.upper))
    best = bounds
    yield best
    now = time.perf_counter()
    steps.append(now - last)
    last = now
    growth = min(max(steps[-1] / steps[-2], 1.0), 10.0) if steps[-2] else 1.0
    if (min_mass == 0.0 or best.upper <= best.lower or
        now - begin + growth * steps[-1] > seconds):
      return
    min_mass = min_mass / 10 if min_mass > _LEAST_MIN_MASS else 0.0


def round_exploitability(policy, dice, *, method="search", num_threads=None):
  """Returns half the NashConv of a round whose leaves have the policy's values.

  Args:
    policy: the `policy.MatchPolicy`.
    dice: (starter's dice, other's dice).
    method: see `best_response_value`.
    num_threads: see `best_response_value`.
  """
  return 0.5 * sum(
      best_response_value(policy, dice, role, method=method,
                          num_threads=num_threads) for role in range(2))


class MatchBounds(NamedTuple):
  """Bounds of best responses in a match and all its rounds.

  Values are pairs (lower bound, upper bound) of what the responder gets.

  Attributes:
    exploitability: half the NashConv of the match.
    values: by the responder's seat, the value of the match.
    responder_starts: dict from (responder's, policy's) dice to the value of a
      match that begins with them if the responder starts.
    policy_starts: dict from (policy's, responder's) dice to the value of a
      match that begins with them if the policy starts.
    rounds: dict from (starter's dice, other's dice, role) to the `Bounds`.
  """
  exploitability: tuple[float, float]
  values: tuple[tuple[float, float], tuple[float, float]]
  responder_starts: dict[tuple[int, int], tuple[float, float]]
  policy_starts: dict[tuple[int, int], tuple[float, float]]
  rounds: dict[tuple[int, int, int], Bounds]


def match_bounds(policy, start_dice=None, starting_player=None, *, seconds=None,
                 num_threads=None):
  """Returns the `MatchBounds` of best responses in all rounds of a match.

  Args:
    policy: the `policy.MatchPolicy`.
    start_dice: both players' dice at the start; None for those of its game.
    starting_player: who starts; None for the one who does in its game.
    seconds: about how long to search each round in each role; None searches
      until the values are exact.
    num_threads: how many rounds to search at a time, None for all processors.
  """
  num_threads = jit.thread_count(num_threads)
  if seconds is not None:
    arguments.number("seconds", seconds, 0.0)
  check_policy(policy)
  start_dice = policy.game.start_dice if start_dice is None else start_dice
  if not isinstance(start_dice, (tuple, list, bytes)):
    raise ValueError(f"start_dice={start_dice!r}: must be the dice of two "
                     "players")
  start = tuple(start_dice)
  starter = (policy.game.starting_player if starting_player is None else
             arguments.integer("starting_player", starting_player, 0, 1))
  if len(start) != 2:
    raise ValueError(f"start_dice={start!r}: must be the dice of two players")
  for dice in start:
    arguments.integer("start_dice", dice, 1)
  first = start[starter], start[1 - starter]
  if not {first, first[::-1]} <= policy.tables.keys():
    raise ValueError(f"start_dice={start!r}: must be dice for which the policy "
                     "has tables")
  for role in range(2):
    _check_round(policy, first, role)
  starts = {}, {}  # by role, from (starter's, other's dice) to the value
  rounds = {}
  flag = interrupts.new_flag()

  def solve(task):
    key, role = task
    dice = key[role], key[1 - role]
    leaves = tuple(
        round_leaves(policy.match, *dice,
                     *({k: value[bound] for k, value in values.items()}
                       for values in starts)) for bound in range(2))
    this_round = _ResponderRound(policy, key, role, leaves, num_threads, flag)
    if seconds is None:
      return this_round.search_here(0.0)
    for bounds in _refine(this_round.search_here, seconds):
      best = bounds
    return best

  keys = match_rounds.round_keys(start)
  for num_dice in range(2, sum(start) + 1):
    tasks = [(key, role) for key in keys if sum(key) == num_dice
             and (num_dice < sum(start) or key == first) for role in range(2)]
    solved = interrupts.run_in_threads(solve, tasks, num_threads, flag)
    for (key, role), bounds in zip(tasks, solved):
      rounds[*key, role] = bounds
      starts[role][key] = bounds.lower, bounds.upper
  values = tuple(starts[int(seat != starter)][first] for seat in range(2))
  exploitability = tuple(0.5 * (a + b) for a, b in zip(*values))
  return MatchBounds(exploitability, values, *starts, rounds)


def _middle(pair):
  return 0.5 * sum(pair)


class MatchResponse(NamedTuple):
  """Best responses in a match and all its rounds.

  Attributes are those of `MatchBounds`, with exact values instead of bounds.
  """
  exploitability: float
  values: tuple[float, float]
  responder_starts: dict[tuple[int, int], float]
  policy_starts: dict[tuple[int, int], float]


def match_best_response(policy, start_dice=None, starting_player=None, *,
                        num_threads=None):
  """Returns the `MatchResponse`, the exact values of `match_bounds`.

  Args:
    policy: the `policy.MatchPolicy`.
    start_dice: see `match_bounds`.
    starting_player: see `match_bounds`.
    num_threads: see `match_bounds`.
  """
  bounds = match_bounds(policy, start_dice, starting_player,
                        num_threads=num_threads)
  return MatchResponse(
      _middle(bounds.exploitability), tuple(map(_middle, bounds.values)),
      *({key: _middle(pair) for key, pair in starts.items()}
        for starts in (bounds.responder_starts, bounds.policy_starts)))
