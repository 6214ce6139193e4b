"""Matches of a policy with perfect recall against one with tables, exactly.

The histories that matter are few: where the first policy has stored nothing, it
challenges at once. So one walk over its tree finds how likely each challenge
is, whatever the other policy does. Bots that go by the last claim only are
policies with tables, too.
"""

from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.perfect_recall import best_response_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit


class ExactResult(NamedTuple):
  """What a policy wins against another, from the first one's view.

  Attributes:
    win_rate_as_starter: its share of the games that it starts.
    win_rate_as_other: its share of the games that the other starts.
  """
  win_rate_as_starter: float
  win_rate_as_other: float

  @property
  def win_rate(self) -> float:
    """Its share if it starts every other game."""
    return 0.5 * (self.win_rate_as_starter + self.win_rate_as_other)


class _Tables(NamedTuple):
  """The policy with tables in a round.

  Attributes:
    weights: [row, hand] float32, probabilities.
    row_begin: [node + 1] int64, of the `abstraction_graph.AbstractionArrays`.
    child_begin: [node] int64, of these arrays.
    chance: [hand] float64, the chance of each hand.
    matches: [hand, rank] int64, how many dice match.
  """
  weights: np.ndarray
  row_begin: np.ndarray
  child_begin: np.ndarray
  chance: np.ndarray
  matches: np.ndarray


class _MatchScratch(NamedTuple):
  """Memory that `_play` overwrites.

  Attributes:
    tree: the `best_response_kernels.TraversalScratch` of the policy with the
      tree; own is its reach.
    reach: [depth, hand] float64, the reach of the policy with tables.
    product: [hand] float64, its reach after an action.
    counts: [2, count] float64, both reaches by count.
    state: [depth] int64, its node of the abstraction graph.
  """
  tree: best_response_kernels.TraversalScratch
  reach: np.ndarray
  product: np.ndarray
  counts: np.ndarray
  state: np.ndarray


@jit.kernel(nogil=True, reassociate=True)
def _add(arrays, other, challenge, reach, their_reach, counts, outcomes):
  """Adds the probability of a challenge to outcomes[role, claim, count].

  `challenge` is (claim, level of the hand classes, role of the policy with the
  tree, whether that one challenges); the reaches are [class] and [hand].
  """
  claim, level, role, is_own = challenge
  rank = arrays.rank[claim]
  counts[:] = 0.0
  best_response_kernels.sum_by_count(arrays.hands[role], level, rank, reach,
                                     counts[0])
  for h in range(len(their_reach)):
    counts[1, other.matches[h, rank]] += their_reach[h]
  by_count = outcomes[role if is_own else 1 - role, claim]
  for j in range(counts.shape[1]):
    if counts[0, j] > 0.0:
      for k in range(counts.shape[1]):
        if counts[1, k] > 0.0:
          by_count[j + k] += counts[0, j] * counts[1, k]


@jit.kernel(nogil=True, reassociate=True)
def _reach_action(other, state, action, reach, product):
  """Writes product[hand], the reach after an action of the policy with tables.

  Actions are counted from the weakest legal claim. Returns whether any hand
  takes this one.
  """
  row = other.row_begin[state] + action
  is_any = False
  for h in range(len(reach)):
    product[h] = reach[h] * other.weights[row, h]
    is_any = is_any or product[h] > 0.0
  return is_any


@jit.kernel(nogil=True, reassociate=True)
def _own_row(arrays, tree, table, role, other, scratch, position, outcomes):
  """Follows an action of the policy with the tree, at (node, row, depth).

  Returns whether to go on at the child. Then its reaches are written.
  """
  node, row, depth = position
  mine, reach = scratch.tree, scratch.reach
  if not best_response_kernels.row_reach(tree, table, node, row, mine.own, mine,
                                         depth) > 0.0:
    return False
  claim, last = tree.claim[row], tree.last[node]
  level = arrays.hand_level[last + 1]
  if claim == arrays.num_claims:
    _add(arrays, other, (last, level, role, True), mine.product, reach[depth],
         scratch.counts, outcomes)
    return False
  state = other.child_begin[scratch.state[depth]] + claim - last - 1
  if tree.child[row] >= 0:
    best_response_kernels.descend(
        arrays.hands[role], (level, arrays.hand_level[claim + 1]), mine.own,
        mine.product, depth + 1)
    reach[depth + 1] = reach[depth]
    scratch.state[depth + 1] = state
    return True
  for answer in range(claim + 1, arrays.num_claims + 1):
    if _reach_action(other, state, answer - claim - 1, reach[depth],
                     scratch.product):
      is_dudo = answer == arrays.num_claims
      _add(arrays, other, (claim if is_dudo else answer, level, role,
                           not is_dudo), mine.product, scratch.product,
           scratch.counts, outcomes)
  return False


@jit.kernel(nogil=True, reassociate=True)
def _other_action(arrays, tree, role, other, scratch, position, outcomes):
  """Follows an action of the other policy, at (node, claim or C, depth).

  Returns the child at which to go on, -1 if there is none. Then its reaches are
  written.
  """
  node, claim, depth = position
  mine, reach, last = scratch.tree, scratch.reach, tree.last[node]
  state = scratch.state[depth]
  if not _reach_action(other, state, claim - last - 1, reach[depth],
                       scratch.product):
    return -1
  level = arrays.hand_level[last + 1]
  child = -1
  for row in range(tree.row_begin[node], tree.row_begin[node + 1]):
    if tree.claim[row] == claim:
      child = tree.child[row]
  if child < 0:
    is_dudo = claim == arrays.num_claims
    _add(arrays, other, (last if is_dudo else claim, level, role, not is_dudo),
         mine.own[depth], scratch.product, scratch.counts, outcomes)
    return -1
  best_response_kernels.descend(
      arrays.hands[role], (level, arrays.hand_level[claim + 1]), mine.own,
      mine.own[depth], depth + 1)
  reach[depth + 1] = scratch.product
  scratch.state[depth + 1] = other.child_begin[state] + claim - last - 1
  return child


@jit.kernel(nogil=True, reassociate=True)
def _play(arrays, tree, table, role, other, scratch, outcomes):
  """Adds the probability of each challenge to outcomes[role, claim, count].

  Args:
    arrays: the `round_hands.ClassArrays`, float64.
    tree: the `growing_tree.TreeArrays`.
    table: [entry] float, to which the policy with the tree is proportional.
    role: its role.
    other: the `_Tables` of the other policy.
    scratch: the `_MatchScratch`, modified in place.
    outcomes: float64, modified in place.
  """
  mine, chance = scratch.tree, arrays.hands[role].chance
  mine.own[0, :len(chance)] = chance
  scratch.reach[0] = other.chance
  mine.path[0] = 0
  scratch.state[0] = 0
  node, depth, is_new = 0, 0, True
  action = 0  # own rows, which are stored; the other may make any claim
  while not mine.stop[0]:
    is_own, last = tree.role[node] == role, tree.last[node]
    if is_new and is_own:
      best_response_kernels.enter(tree, table, node, mine, depth)
    if is_new:
      action = tree.row_begin[node] if is_own else last + 1
    is_new = False
    if action == (tree.row_begin[node + 1] if is_own else
                  arrays.num_claims + (last >= 0)):
      if depth == 0:
        return
      action = (last if is_own else tree.parent_row[node]) + 1
      depth -= 1
      node = mine.path[depth]
      continue
    if is_own:
      child = tree.child[action] if _own_row(
          arrays, tree, table, role, other, scratch, (node, action, depth),
          outcomes) else -1
    else:
      child = _other_action(arrays, tree, role, other, scratch,
                            (node, action, depth), outcomes)
    if child < 0:
      action += 1
    else:
      depth += 1
      node, is_new = child, True
      mine.path[depth] = node


def _outcomes(stored, role, policy, key, flag):
  """Returns [role, claim, count] float64, the probabilities of challenges.

  Args:
    stored: the `stored_rounds.StoredRound` of the policy with the tree.
    role: its role in the round.
    policy: the `match_policy.MatchPolicy` of the other.
    key: (other's dice, dice of the policy with the tree).
    flag: [1] bool, stops it: it raises `interrupts.StoppedError`.
  """
  hands, tree, table = stored.as_float()
  rolls = policy.rules.rolls(key[0])
  graph = policy.rules.graph(sum(key)).arrays
  other = _Tables(
      np.ascontiguousarray(policy.probabilities(key)[:, :rolls.num_rolls]),
      graph.row_begin, graph.child_begin, rolls.probabilities,
      rolls.matches(policy.rules.house.wild_ones).astype(np.int64))
  outcomes = np.zeros((2, hands.order.num_claims, hands.order.num_dice + 1))
  depths = hands.order.num_claims + 2
  scratch = _MatchScratch(
      best_response_kernels.new_scratch(hands, flag),
      np.zeros((depths, rolls.num_rolls)), np.zeros(rolls.num_rolls),
      np.zeros((2, outcomes.shape[2])), np.zeros(depths, np.int64))
  _play(hands.arrays(np.float64), tree, table, role, other, scratch, outcomes)
  interrupts.check_flag(flag)
  return outcomes


def exact_match(policy: recall_policy.RecallPolicy,
                other: match_policy.MatchPolicy,
                game: pyspiel.Game) -> ExactResult:
  """Returns the `ExactResult` of a match between two policies.

  Args:
    policy: a `policies.RecallPolicy`.
    other: a `policies.MatchPolicy` with the same rules.
    game: the `pyspiel.Game`, `dudo` that both play.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> from dudo_spiel.algorithms import simulation
    >>> game = pyspiel.load_game("dudo(numdice=1)")
    >>> result = simulation.exact_match(
    ...     policy_bots.load_policy("trained", game),
    ...     simulation.bot_policy(game, "uniform"), game)
    >>> result.win_rate > 0.5
    True
  """
  if not isinstance(policy, recall_policy.RecallPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.RecallPolicy")
  if not isinstance(other, match_policy.MatchPolicy):
    raise ValueError(f"other={other!r}: must be a policies.MatchPolicy")
  policy.check_game(game)
  other.check_game(game)
  flag = interrupts.new_flag()
  values = interrupts.call_stoppable(
      lambda: _values(policy, other, game, flag), flag)
  first = policy.first_round(game)
  return ExactResult(*(0.5 * (1.0 + by_round[first]) for by_round in values))


def _values(policy, other, game, flag):
  """Returns what the first policy gets as starter and as other, by rounds."""
  as_starter, as_other = {}, {}  # by (starter's dice, other's dice)
  for key in round_rules.match_keys(game):
    for role, values in ((0, as_starter), (1, as_other)):
      dice = key[role], key[1 - role]
      outcomes = _outcomes(policy.round_tables(key), role, other, dice[::-1],
                           flag)
      values[key] = transitions.of_round(policy.rules, key).value(
          outcomes, role, as_starter, as_other)
  return as_starter, as_other
