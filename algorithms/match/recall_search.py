"""Search at the table: re-solves rounds of Dudo where a policy stores nothing.

A `recall_policy.RecallPolicy` says Dudo wherever it stores nothing. There a
`SearchPolicy` re-solves the subgame, from the claims made so far, for all hands
of both players at once (see `subgame_solver`), and plays what it finds. Where
that stores nothing either, it searches again, from there.

The searcher's reach is that of the policy, with what it has found in this round
so far. So is the opponent's, in part: it may do what the policy never does.
Where a claim has no chance by the policy with any hand, that claim is taken to
tell nothing about the hand. A share of the opponent's hands is always as dealt,
so that no hand is left out.

A search is safe. No hand of the opponent gets more by it than its best response
to the policy gets at its last decision, but for a tolerance. So, by induction
from the last claim to the first, no best response gains by the search. What
later rounds are worth to the opponent is taken from its best response, so this
holds for the whole match.

Serves `perfect_recall` and `search_measure`.
"""

import collections

import numpy as np

from dudo_spiel import bots
from dudo_spiel.algorithms.match import growing_tree
from dudo_spiel.algorithms.match import hand_kernels
from dudo_spiel.algorithms.match import recall_policy
from dudo_spiel.algorithms.match import response as match_response
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.match import rounds_policy
from dudo_spiel.algorithms.match import subgame_solver
from dudo_spiel.algorithms.runtime import arguments

ITERATIONS = 200
MAX_NODES = 1000
TOLERANCE = 0.0
_TRUST = 0.03  # the share of the opponent's hands that cannot leave
_DEALT = 0.5  # the share of the opponent's hands that are as dealt
_NEVER = -2.0  # is worse than all that can happen
_CACHE_BYTES = 2**28


class _Place:
  """Where a list of claims leads, as one player's search sees it.

  Args:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays` that it is in.
    table: its [number] float or uint8.

  Attributes:
    node: the node of the tree, -1 if it is not stored.
    last: the last claim, -1 for none.
    reaches: for each role [class] float64, how likely its own moves lead there;
      where they never do, as before the claim that it never makes.
  """

  def __init__(self, hands, tree, table):
    self.hands, self.tree, self.table = hands, tree, table
    self.node, self.last = 0, -1
    self.reaches = [game.chance.copy()
                    for game in hands.arrays(np.float64).hands]

  def enter(self, solution):
    """Goes on in a `subgame_solver.Solution`, from its root."""
    self.tree, self.table, self.node = solution.tree, solution.table, 0

  def chances(self, claim):
    """Returns [class] float64, how likely the claim is, or None if it never is.

    Args:
      claim: the claim.
    """
    row = self._row(claim)
    if row < 0:
      return None
    role = int(self.tree.role[self.node])
    chances = hand_kernels.probabilities(self.tree, self.table,
                                         self.node)[row]
    return chances if self.reaches[role] @ chances > 0.0 else None

  def _row(self, claim):
    """Returns the row of a claim within its node, -1 if it is not stored."""
    if self.node < 0:
      return -1
    begin, end = self.tree.row_begin[self.node:self.node + 2]
    found = np.flatnonzero(self.tree.claim[begin:end] == claim)
    return int(found[0]) if len(found) else -1

  def advance(self, claim, role):
    """Follows a claim, which a role makes."""
    row, chances = self._row(claim), self.chances(claim)
    if chances is not None:
      self.reaches[role] = self.reaches[role] * chances
    self.reaches = [self.hands.moved(number, reach, self.last, claim)
                    for number, reach in enumerate(self.reaches)]
    self.node = (-1 if row < 0 else
                 int(self.tree.child[self.tree.row_begin[self.node] + row]))
    self.last = claim

  def best_values(self, role, leaves):
    """Returns [class] float64, what a role who acts there gets at best.

    Args:
      role: the role.
      leaves: its `response.Leaves`.
    """
    if self.node >= 0:
      tree, table = subgame_solver.subtree(self.tree, self.table, self.node)
    else:
      tree = subgame_solver.bare_tree(self.hands, self.last, role)
      table = np.zeros(tree.num_numbers, np.float32)
    if table.dtype.kind == "u":
      table = table.astype(np.float32)
    return subgame_solver.best_values(
        self.hands, tree, table, role, _normalized(self.reaches[1 - role]),
        leaves)


def _normalized(reach):
  return reach / reach.sum()


class SearchPolicy(rounds_policy.RoundsPolicy):
  """A policy that searches where another one stores nothing.

  It has no randomness: the same state has always the same probabilities. What
  was found is kept while there is room.

  Args:
    policy: the `recall_policy.RecallPolicy`.
    iterations: how many iterations a search takes.
    max_nodes: how many histories a search stores at most.
    tolerance: how much more than without the search a hand of the opponent may
      get by it, in a round that comes there.

  Attributes:
    policy: as given.
    num_searches: how many searches were made so far.
  """

  def __init__(self, policy, *, iterations=ITERATIONS, max_nodes=MAX_NODES,
               tolerance=TOLERANCE):
    if not isinstance(policy, recall_policy.RecallPolicy):
      raise ValueError(f"policy={arguments.shown(policy)}: must be a "
                       "perfect_recall.RecallPolicy")
    super().__init__(policy.game)
    self._iterations = arguments.integer("iterations", iterations, 1)
    self._max_nodes = arguments.integer("max_nodes", max_nodes, 1)
    self._tolerance = arguments.number("tolerance", tolerance, 0.0)
    self.policy = policy
    self._match = match_rounds.match_rules(policy.game, 1)
    self._solutions = collections.OrderedDict()
    self._num_bytes = 0
    self.num_searches = 0

  def _known(self):
    return self.policy.rounds

  def _needed(self, game):
    return match_rounds.match_keys(game)

  def prepare(self):
    """Measures the policy if need be, which otherwise the first search does."""
    if self.policy.measures.keys() != set(self.policy.rounds):
      self.policy.measure(1)

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability} for the legal actions of the state."""
    chances = self.policy.action_probabilities(state, player_id)
    starter = state.round().starter
    key = state.dice[starter], state.dice[1 - starter]
    claims = tuple(state.claim_list())
    if len(chances) == 1 or self.is_stored(key, claims):
      return chances
    hands, _, _ = self.policy.round_tables(key)
    role = len(claims) % 2
    place = self._place(key, claims, role)
    game = state.get_game()
    hand = game.rolls(key[role]).index(state.hand(state.current_player()))
    number = hands.classes[role][hands.level[claims[-1] + 1], hand]
    found = hand_kernels.probabilities(place.tree, place.table,
                                       place.node)[:, number]
    begin = place.tree.row_begin[place.node]
    chances = dict.fromkeys(chances, 0.0)
    for row, chance in enumerate(found.tolist()):
      claim = int(place.tree.claim[begin + row])
      action = game.dudo_action if claim == hands.order.num_claims else claim
      chances[action] = chance
    return chances

  def is_stored(self, key, claims):
    """Returns whether the policy stores anything after claims of a round.

    Args:
      key: the round, (starter's dice, other's dice).
      claims: list or tuple of int, the claims so far.
    """
    if not isinstance(key, tuple) or key not in self.policy.rounds:
      raise ValueError(f"key={arguments.shown(key)}: must be a round that the "
                       f"policy knows: {self._known_text()}")
    hands, tree, _ = self.policy.round_tables(key)
    numbers = arguments.integers("claims", claims, 0,
                                 hands.order.num_claims - 1).tolist()
    if any(b <= a for a, b in zip(numbers, numbers[1:])):
      raise ValueError(f"claims={claims!r}: must be stronger and stronger")
    return growing_tree.find(tree, numbers) >= 0

  def _place(self, key, claims, role):
    """Returns the `_Place` after claims, where a role has searched so far."""
    place = _Place(*self.policy.round_tables(key))
    for number in range(len(claims) + 1):
      if place.node < 0 and number % 2 == role:
        place.enter(self.solution(key, claims[:number]))
      if number < len(claims):
        place.advance(claims[number], number % 2)
    return place

  def solution(self, key, claims):
    """Returns the `subgame_solver.Solution` after claims.

    Args:
      key: see `is_stored`.
      claims: see `is_stored`; nothing must be stored after them.
    """
    if self.is_stored(key, claims):
      raise ValueError(f"claims={claims!r}: must not be stored by the policy")
    claims = tuple(claims)
    found = self._solutions.pop((key, claims), None)
    if found is None:
      found = self._solve(key, claims)
      self.num_searches += 1
      self._num_bytes += found.table.nbytes + found.tree.num_bytes
    self._solutions[key, claims] = found  # it is the newest one
    while self._num_bytes > _CACHE_BYTES and len(self._solutions) > 1:
      _, old = self._solutions.popitem(last=False)
      self._num_bytes -= old.table.nbytes + old.tree.num_bytes
    return found

  def subgame(self, key, claims):
    """Returns the `subgame_solver.Subgame` after claims; see `solution`."""
    if self.is_stored(key, claims):
      raise ValueError(f"claims={claims!r}: must not be stored by the policy")
    claims, role = tuple(claims), len(claims) % 2
    place = self._place(key, claims[:-1], role)
    leaves = self._leaves(key, 1 - role)
    limit = place.best_values(1 - role, leaves)
    without = leaves.challenged.copy()
    without[claims[-1]] = _NEVER
    leave = place.best_values(1 - role, leaves._replace(challenged=without))
    before = place.reaches[1 - role]
    chances = place.chances(claims[-1])
    reach = _normalized(before if chances is None else before * chances)
    dealt = place.hands.moved(
        1 - role, place.hands.arrays(np.float64).hands[1 - role].chance, -1,
        place.last)
    place.advance(claims[-1], 1 - role)
    return subgame_solver.Subgame(
        place.hands, claims, _normalized(place.reaches[role]),
        (1.0 - _DEALT) * reach + _DEALT * dealt, leave, limit, leaves)

  def _solve(self, key, claims):
    """Returns a new `subgame_solver.Solution`."""
    solver = subgame_solver.SubgameSolver(
        self.subgame(key, claims), trust=_TRUST, max_nodes=self._max_nodes)
    solver.run(self._iterations)
    return solver.solution(self._tolerance)

  def _leaves(self, key, role):
    """Returns what leaves are worth to a best response to the policy.

    Args:
      key: the round.
      role: the responder's.
    """
    self.prepare()
    return match_response.round_leaves(
        self._match, key[role], key[1 - role],
        {k: found.high for k, found in self.policy.measures.items()},
        {k: -found.low for k, found in self.policy.measures.items()})


class SearchBot(bots.PolicyBot):
  """Plays a policy for two-player Dudo, and searches where it stores nothing.

  The policy is measured first, which the values of later rounds come from. So
  no move has to wait for that.

  Args:
    player_id: the player whom it plays.
    rng: a random number generator with `choice`, or None if the bot is only
      asked for its probabilities.
    policy: the `recall_policy.RecallPolicy`; or a `SearchPolicy`, which several
      bots can share.
    **kwargs: of `SearchPolicy`, if it is not given.
  """

  def __init__(self, player_id, rng, policy, **kwargs):
    arguments.integer("player_id", player_id, 0, 1)
    bots.check_generator(rng)
    if not isinstance(policy, SearchPolicy):
      policy = SearchPolicy(policy, **kwargs)
    elif kwargs:
      raise ValueError(f"policy: searches already; {', '.join(kwargs)} must "
                       "not be given, too")
    policy.prepare()
    super().__init__(player_id, rng, policy)
