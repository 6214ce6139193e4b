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
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import transitions
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit

_NODE, _ROW, _MEMORY = 0, 1, 2  # columns of a path


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
    row_begin: [memory + 1] int64, see `abstraction_graph.AbstractionArrays`.
    child_begin: [memory] int64, likewise.
    chance: [hand] float64.
    matches: [hand, rank] int64.
  """
  weights: np.ndarray
  row_begin: np.ndarray
  child_begin: np.ndarray
  chance: np.ndarray
  matches: np.ndarray


@jit.kernel(nogil=True, reassociate=True)
def _add(game, other, place, reach, their_reach, work, outcomes):
  """Adds a challenge to the outcomes.

  Args:
    game: the `round_hands.ClassArrays`, float64.
    other: the `_Tables`.
    place: (claim, level of the classes, role of the policy with the tree,
      whether it challenges).
    reach: [class] float64.
    their_reach: [hand] float64.
    work: [2, count] float64 scratch.
    outcomes: [role, claim, count] float64, modified in place.
  """
  claim, level, role, is_own = place
  rank, hands = game.rank[claim], game.hands[role]
  work[:] = 0.0
  for j in range(hands.onehot.shape[2]):
    total = 0.0
    for h in range(hands.width[level]):
      total += hands.onehot[level, rank, j, h] * reach[h]
    work[0, j] = total
  for h in range(len(their_reach)):
    work[1, other.matches[h, rank]] += their_reach[h]
  line = outcomes[role if is_own else 1 - role, claim]
  for j in range(work.shape[1]):
    if work[0, j] > 0.0:
      for k in range(work.shape[1]):
        if work[1, k] > 0.0:
          line[j + k] += work[0, j] * work[1, k]


@jit.kernel(nogil=True, reassociate=True)
def _answer(game, other, place, reach, their_reach, work, product, outcomes):
  """Lets the other answer a claim after which nothing is stored.

  Args:
    game: see `_add`.
    other: see `_add`.
    place: (claim, level, memory, role of the policy with the tree).
    reach: see `_add`.
    their_reach: see `_add`.
    work: see `_add`.
    product: [hand] float64 scratch.
    outcomes: see `_add`.
  """
  last, level, memory, role = place
  for claim in range(last + 1, game.num_claims + 1):
    row = other.row_begin[memory] + claim - last - 1
    is_any = False
    for h in range(len(their_reach)):
      product[h] = their_reach[h] * other.weights[row, h]
      is_any = is_any or product[h] > 0.0
    if is_any:
      is_dudo = claim == game.num_claims
      _add(game, other, (last if is_dudo else claim, level, role, not is_dudo),
           reach, product, work, outcomes)


@jit.kernel(nogil=True, reassociate=True)
def _play(game, tree, table, role, other, scratch, their_reach, outcomes):
  """Finds how likely each challenge is; see `_outcomes`.

  Args:
    game: the `round_hands.ClassArrays`, float64.
    tree: the `growing_tree.TreeArrays`.
    table: [number], to which the policy with the tree is proportional.
    role: its role.
    other: the `_Tables` of the other.
    scratch: the `best_response_kernels.GrowthScratch`.
    their_reach: [depth, hand] float64 scratch.
    outcomes: [role, claim, count] float64, 0, modified in place.
  """
  mine = game.hands[role]
  most = scratch.sigma.shape[1]
  reach, product = scratch.own, scratch.product
  their_product = np.zeros(their_reach.shape[1])
  work = np.zeros((2, outcomes.shape[2]))
  path = np.zeros((len(reach), 3), np.int64)
  reach[0, :len(mine.chance)] = mine.chance
  their_reach[0] = other.chance
  depth = 0
  path[0, _ROW] = -1
  while depth >= 0 and not scratch.stop[0]:
    node, memory = path[depth, _NODE], path[depth, _MEMORY]
    begin, end = tree.row_begin[node], tree.row_begin[node + 1]
    last = tree.last[node]
    level = game.level[last + 1]
    is_own = tree.role[node] == role
    row = path[depth, _ROW]
    if row < 0 and is_own:
      best_response_kernels.enter(tree, table, node, scratch, depth)
    row += 1
    is_pushed = False
    # Own rows are those that are stored; the other may make any claim.
    rows = end - begin if is_own else game.num_claims - last - (last < 0)
    while row < rows and not is_pushed:
      claim = tree.claim[begin + row] if is_own else last + 1 + row
      is_dudo = claim == game.num_claims
      child = -1
      if is_own:
        child = tree.child[begin + row]
        is_any = best_response_kernels.row_reach(tree, table, node, row, reach, scratch,
                                    depth) > 0.0
      else:
        at = other.row_begin[memory] + row
        is_any = False
        for h in range(len(their_product)):
          their_product[h] = their_reach[depth, h] * other.weights[at, h]
          is_any = is_any or their_product[h] > 0.0
        for stored in range(begin, end):
          if not is_dudo and tree.claim[stored] == claim:
            child = tree.child[stored]
      if is_any:
        new_memory = (0 if is_dudo else
                      other.child_begin[memory] + claim - last - 1)
        if is_dudo:
          if is_own:
            _add(game, other, (last, level, role, True), product,
                 their_reach[depth], work, outcomes)
          else:
            _add(game, other, (last, level, role, False), reach[depth],
                 their_product, work, outcomes)
        elif child < 0 and is_own:
          _answer(game, other, (claim, level, new_memory, role), product,
                  their_reach[depth], work, their_product, outcomes)
        elif child < 0:
          _add(game, other, (claim, level, role, True), reach[depth],
               their_product, work, outcomes)
        else:
          move = hand_vectors.move_between(mine, level, game.level[claim + 1])
          if is_own:
            hand_vectors.descend(jit.pointer(product), 0, jit.pointer(mine.merge),
                          move, jit.pointer(reach), (depth + 1) * most)
            their_reach[depth + 1] = their_reach[depth]
          else:
            hand_vectors.descend(jit.pointer(reach), depth * most,
                          jit.pointer(mine.merge), move, jit.pointer(reach),
                          (depth + 1) * most)
            their_reach[depth + 1] = their_product
          path[depth, _ROW] = row
          depth += 1
          path[depth, _NODE] = child
          path[depth, _ROW] = -1
          path[depth, _MEMORY] = new_memory
          is_pushed = True
      row += 1
    if not is_pushed:
      depth -= 1


def _outcomes(stored, role, policy, key, flag):
  """Returns [role, claim, count] float64, how likely each challenge is.

  Args:
    stored: the `stored_rounds.StoredRound` of the policy with the tree.
    role: its role in the round.
    policy: the `policy.MatchPolicy` of the other.
    key: (other's dice, dice of the policy with the tree).
    flag: [1] bool, stops it: it raises `interrupts.StoppedError`.
  """
  hands, tree, table = stored.as_float()
  rolls = policy.match.rolls(key[0])
  memory = policy.match.graph(sum(key)).arrays
  other = _Tables(
      np.ascontiguousarray(policy.probabilities(key)[:, :rolls.num_rolls]),
      memory.row_begin, memory.child_begin, rolls.probabilities,
      rolls.matches(policy.match.house.wild_ones).astype(np.int64))
  outcomes = np.zeros((2, hands.order.num_claims, hands.order.num_dice + 1))
  _play(hands.arrays(np.float64), tree, table, role, other,
        best_response_kernels.new_scratch(hands, flag),
        np.zeros((hands.order.num_claims + 2, rolls.num_rolls)), outcomes)
  interrupts.check_flag(flag)
  return outcomes


def exact_match(policy: recall_policy.RecallPolicy,
                other: match_policy.MatchPolicy,
                game: pyspiel.Game) -> ExactResult:
  """Returns the `ExactResult` of a match between two policies.

  Args:
    policy: a `recall_policy.RecallPolicy`.
    other: a `policy.MatchPolicy` with the same rules.
    game: the `pyspiel.Game`, `dudo` that both play.
  """
  if not isinstance(policy, recall_policy.RecallPolicy):
    raise ValueError(f"policy={policy!r}: must be a policies.RecallPolicy")
  if not isinstance(other, match_policy.MatchPolicy):
    raise ValueError(f"other={other!r}: must be a policies.MatchPolicy")
  policy.check_game(game)
  other.check_game(game)
  flag = interrupts.new_flag()
  values = interrupts.call(lambda: _values(policy, other, game, flag), flag)
  first = policy.first_round(game)
  return ExactResult(*(0.5 * (1.0 + by_round[first]) for by_round in values))


def _values(policy, other, game, flag):
  """Returns what the first policy gets as starter and as other, by rounds.

  Args:
    policy: see `exact_match`.
    other: see `exact_match`.
    game: see `exact_match`.
    flag: see `_outcomes`.
  """
  starts, answers = {}, {}  # by (starter's dice, other's), to the first policy
  for key in round_rules.match_keys(game):
    for role, values in ((0, starts), (1, answers)):
      dice = key[role], key[1 - role]
      outcomes = _outcomes(policy.round_tables(key), role, other, dice[::-1],
                           flag)
      values[key] = transitions.of_round(policy.match, key).value(
          outcomes, role, starts, answers)
  return starts, answers
