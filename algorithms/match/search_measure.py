"""How good a search at the table is, exactly.

`SearchPolicy` searches where its policy stores nothing. `_Searched` runs these
searches for every list of claims after which a player first has to search, and
joins what they find to the policy's tree. Within a subgame that was re-solved
it searches no more (which the search does, and which is safe again). So the
result is a tree as any other, and best responses to it are exact.

It takes one search for each claim that is not stored, after each stored history
of the other player. So it is for small rounds and coarse policies.

Serves `perfect_recall`.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.match import growing_tree
from dudo_spiel.algorithms.match import hand_kernels
from dudo_spiel.algorithms.match import recall_search
from dudo_spiel.algorithms.match import recall_trainer
from dudo_spiel.algorithms.match import response as match_response
from dudo_spiel.algorithms.match import rounds as match_rounds
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import interrupts


class SearchResult(NamedTuple):
  """What searching gains.

  Attributes:
    intervals: {round: (low, high)}: in the match from a round on, the search
      gets at least `low` when it starts, and the starter at most `high` against
      it; as `RecallPolicy.intervals`.
    exploitability: half the NashConv of the search in the whole match.
    value: what it gets from its own policy, which does not search, on average
      over both seats.
    num_searches: how many subgames were re-solved, over all rounds and roles.
    num_useful: in how many of them something other than Dudo was found.
    dudo_share: the mean share of Dudo that made these safe.
  """
  intervals: dict[tuple[int, int], tuple[float, float]]
  exploitability: float
  value: float
  num_searches: int
  num_useful: int
  dudo_share: float


class _Searched:
  """Joins the searches of one role in one round to the tree of the policy.

  Args:
    search: the `recall_search.SearchPolicy`.
    key: the round.
    role: who searches.

  Attributes:
    shares: list of the `dudo_share` of all searches, None if nothing was found.
  """

  def __init__(self, search, key, role):
    self._search, self._key, self._role = search, key, role
    self.hands, self._tree, self._table = search.policy.round_tables(key)
    self._counts, self._claims, self._has_child = [], [], []
    self._numbers = []
    self.shares = []
    self._visit(0, (), self.hands.arrays(np.float64).hands[role].chance)

  def result(self):
    """Returns (`growing_tree.TreeArrays`, [number] float32)."""
    tree = growing_tree.tree_from_rows(
        self.hands, np.array(self._counts, np.int16),
        np.array(self._claims, np.int16), np.array(self._has_child, np.bool_))
    return tree, np.concatenate(self._numbers)

  def _found(self, claims):
    """Returns what a search finds after claims, None if only Dudo."""
    found = self._search.solution(self._key, claims)
    is_useful = len(found.tree.claim) > 1 and found.dudo_share < 1.0
    self.shares.append(found.dudo_share if is_useful else None)
    return found if is_useful else None

  def _begin(self, rows, numbers):
    """Writes a node; `rows` has (claim, whether a node follows) of each."""
    self._counts.append(len(rows))
    self._claims.extend(claim for claim, _ in rows)
    self._has_child.extend(has for _, has in rows)
    self._numbers.append(np.asarray(numbers, np.float32).ravel())

  def _write(self, found):
    """Writes what a search has found; the other player says Dudo there."""
    rows = growing_tree.rows_of(found.tree)
    self._counts.extend(rows["counts"].tolist())
    self._claims.extend(rows["claims"].tolist())
    self._has_child.extend(rows["has_child"].tolist())
    table = found.table.astype(np.float32)
    for node in np.flatnonzero(found.tree.role != self._role):
      begin, end = found.tree.table_begin[node:node + 2]
      table[begin:end] = 0.0
    self._numbers.append(table)

  def _visit(self, node, claims, reach):
    """Writes a stored node and all that follows it."""
    tree, num_claims = self._tree, self.hands.order.num_claims
    last = claims[-1] if claims else -1
    begin, end = tree.row_begin[node:node + 2]
    stored = tree.claim[begin:end].tolist()
    children = dict(zip(stored, tree.child[begin:end].tolist()))
    numbers = self._table[slice(*tree.table_begin[node:node + 2])].reshape(
        len(stored), -1)
    if tree.role[node] == self._role:
      chances = hand_kernels.probabilities(tree, self._table, node)
      reaches = {claim: self.hands.moved(self._role, reach * chance, last,
                                         claim)
                 for claim, chance in zip(stored, chances)
                 if claim < num_claims}
      after = {claim: self._answers((*claims, claim))
               for claim, child in children.items()
               if claim < num_claims and child < 0 and reaches[claim].any()}
      self._begin([(claim, children[claim] >= 0 or bool(after.get(claim)))
                   for claim in stored], numbers)
      for claim in stored:
        if children[claim] >= 0:
          self._visit(children[claim], (*claims, claim), reaches[claim])
        elif after.get(claim):
          width = self.hands.width[1 - self._role, self.hands.level[claim + 1]]
          self._begin([(num_claims, False),
                       *((answer, True) for answer in after[claim])],
                      np.zeros((1 + len(after[claim]), width)))
          for found in after[claim].values():
            self._write(found)
      return
    found = self._answers(claims, children) if reach.any() else {}
    is_dudo = [num_claims] * (num_claims in children)
    rows = is_dudo + sorted({*found, *stored} - {num_claims})
    known = dict(zip(stored, numbers))
    none = np.zeros_like(numbers[0])
    self._begin([(claim, claim in found or children.get(claim, -1) >= 0)
                 for claim in rows], [known.get(claim, none) for claim in rows])
    for claim in rows:
      if claim in found:
        self._write(found[claim])
      elif children.get(claim, -1) >= 0:
        self._visit(children[claim], (*claims, claim),
                    self.hands.moved(self._role, reach, last, claim))

  def _answers(self, claims, children=None):
    """Returns {claim: solution} for the other player's claims after claims.

    Args:
      claims: tuple of int.
      children: {claim: node} of what is stored there, or None.
    """
    first = claims[-1] + 1 if claims else 0
    found = {}
    for claim in range(first, self.hands.order.num_claims - 1):
      if not children or children.get(claim, -1) < 0:
        solution = self._found((*claims, claim))
        if solution is not None:
          found[claim] = solution
    return found


def measure_search(search):
  """Returns the `SearchResult` of a search, exactly.

  Args:
    search: the `recall_search.SearchPolicy`.
  """
  if not isinstance(search, recall_search.SearchPolicy):
    raise ValueError(f"search={arguments.shown(search)}: must be a "
                     "perfect_recall.SearchPolicy")
  game = search.game
  match = match_rounds.match_rules(game, 1)
  lows, highs, shares = {}, {}, []
  values = {}, {}  # by role of the search: {round: what it gets}
  for key in match_rounds.match_keys(game):
    bounds = []
    outcomes = []
    for role in range(2):
      searched = _Searched(search, key, role)
      shares += searched.shares
      tree, table = searched.result()
      trainer = recall_trainer.measuring_trainer(match, key, tree, table)
      found = interrupts.call(
          lambda trainer=trainer: (trainer.certify(lows, highs),
                                   trainer.outcomes()), trainer.flag)
      bounds.append(found[0])
      outcomes.append(found[1])
    lows[key], highs[key] = bounds[0][0], bounds[1][1]
    for role in range(2):
      leaves = match_response.round_leaves(
          match, key[role], key[1 - role], values[0], values[1])
      values[role][key] = float(
          (outcomes[role][role] * leaves.challenges).sum() +
          (outcomes[role][1 - role] * leaves.challenged).sum())
  useful = [share for share in shares if share is not None]
  return SearchResult(
      {k: (lows[k], highs[k]) for k in lows}, 0.5 * (highs[key] - lows[key]),
      0.5 * (values[0][key] + values[1][key]), len(shares), len(useful),
      float(np.mean(useful)) if useful else 0.0)
