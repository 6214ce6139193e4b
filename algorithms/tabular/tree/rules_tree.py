"""The tree of a game of deal form, from its rules instead of a traversal.

Some games give their rules as a few tables: hands, lines of play and returns
(see `deal_rules`). Every history is then a deal and a line. What solvers need
of the tree follows from the tables; arrays over all histories are made on first
use.

The tree is equal to the one of a traversal. A few histories are compared with
the game's own states. If one differs, there is a warning, and the game is
walked.
"""

import functools
import hashlib
import random
from typing import NamedTuple
import warnings

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import known_rules

_MAX_NODES = 2**31 - 1  # histories are numbered by int32
_SAMPLES = 12  # histories that are compared with the game's states
_NODE_BYTES = 32  # of the largest array over histories, while it is made
_TEXT_BYTES = 150  # of an information state, and more for long ones
_ATTRIBUTES = (  # of a `GameTree`
    "game", "num_players", "num_nodes", "player", "parent", "action",
    "child_begin", "chance", "info_set", "depth_begin", "returns",
    "num_info_sets", "info_states", "set_player", "set_actions", "set_node")


def make_tree(game, max_nodes=None, deal_form=False, node_bytes=None):
  """Returns the `RulesTree` of a game with known rules, or else its `GameTree`.

  Args:
    game: a `pyspiel.Game`.
    max_nodes: largest allowed number of histories; None for as many as fit.
    deal_form: whether the deal form is wanted, if the game has it. Then a game
      with known rules may have as many histories as memory allows.
    node_bytes: bytes of memory of a history in all that is made of the tree;
      None for those of the forms and their solvers.
  """
  rules = known_rules.find_rules(game)
  if rules is not None:
    is_free = deal_form and not rules.forgets
    if is_free or known_rules.num_histories(rules) <= (
        game_tree.max_histories(game, max_nodes, node_bytes)):
      tree = RulesTree(game, rules)
      difference = tree.difference_from_states()
      if difference is None:
        return tree
      warnings.warn(
          f"game={game}: does not play by the rules of {type(rules).__name__}: "
          f"{difference}. So the game is walked, which takes longer",
          UserWarning, stacklevel=1)
  return game_tree.GameTree(game, max_nodes, node_bytes)


def _joined(parts):
  """Returns the cached property that joins the arrays of all depths."""
  def join(tree):
    ram.check("game", tree.game, _NODE_BYTES * tree.num_nodes,
              f"an array of {tree.num_nodes:,} histories", "a smaller game")
    return np.concatenate(list(parts(tree)))

  return functools.cached_property(join)


class RulesTree(game_tree.GameTree):
  """The `GameTree` of a game with known rules.

  Args:
    game: the `pyspiel.Game`.
    rules: its `deal_rules.DealRules`.

  Attributes:
    num_hands: (int, int), number of hands of each player. Hands are numbered in
      the order of their names, as in `public_tree.merge_deals`.
    hands: [player, deal] int64.
    deal_reach: [deal] float64, the probabilities of the deals.
    lines: the `deal_rules.Lines`.
    table_returns: [table, player, hand of 0, hand of 1] float64, the tables to
      which `lines.table` refers.
    num_children: [line] int64.
    set_line: [set] int64, the first line of each information set.
    set_hand: [set] int64, the hand.
  """

  def __init__(self, game, rules):
    game_tree.check_game(game)
    self.game = game
    self.num_players = 2
    self.is_deal_form = not rules.forgets
    self._draws = rules.draws
    self.num_nodes = known_rules.num_histories(rules)
    if self.num_nodes > _MAX_NODES:
      raise ValueError(f"game={game}: has more than {_MAX_NODES:,} histories, "
                       "too many to number them; choose smaller parameters")
    ram.check("game", game, known_rules.form_bytes(rules), "its deal form",
              "smaller parameters")
    self.lines = rules.lines()
    self.num_children = np.bincount(self.lines.parent[1:],
                                    minlength=rules.num_lines)
    self.deal_reach = functools.reduce(
        lambda reach, draw: np.multiply.outer(reach, draw).ravel(),
        rules.draws, np.ones(1))
    self._line_texts = rules.line_texts(self.lines)
    self._sort_hands(rules)
    game_tree.check_payoffs(game, self.table_returns, "float64")
    sizes = np.cumprod([1, *map(len, self._draws)])
    self._depth_sizes = np.concatenate(
        [sizes[:-1], sizes[-1] * np.diff(self.lines.depth_begin)])
    self._number_sets_by_lines()

  def _sort_hands(self, rules):
    """Numbers the hands in the order of their names."""
    self.num_hands = rules.num_hands
    self._hand_texts, sorted_hands = [], []
    self.table_returns = rules.returns()
    for player, hands in enumerate(rules.hands()):
      texts = rules.hand_texts(player)
      order = np.argsort([text + self._line_texts[0] for text in texts])
      rank = np.empty(len(order), np.int64)
      rank[order] = np.arange(len(order))
      sorted_hands.append(rank[hands])
      self._hand_texts.append([texts[hand] for hand in order])
      self.table_returns = self.table_returns.take(order, axis=2 + player)
    self.hands = np.stack(sorted_hands)

  def _number_sets_by_lines(self):
    """Numbers the sets player by player, in the order of a traversal.

    A traversal finds all sets of a hand in the first deal of the hand, in the
    preorder of their lines.
    """
    lines = self.lines
    acts = np.flatnonzero(lines.actor >= 0)
    order = acts[np.argsort(self._preorder()[acts])]
    first = np.arange(len(lines.actor))  # of the lines with the same text
    if not self.is_deal_form:
      seen = {}
      for line in acts.tolist():
        first[line] = seen.setdefault(
            (int(lines.actor[line]), self._line_texts[line]), line)
    self._rank = np.full(len(first), -1, np.int32)  # [line] among `looks`
    self._set_begin = []  # for each player [hand] int32, the first of its sets
    columns = []
    count = 0
    for player, hands in enumerate(self.hands):
      _, deals = np.unique(hands, return_index=True)
      looks = first[order[lines.actor[order] == player]]
      looks = looks[np.sort(np.unique(looks, return_index=True)[1])]
      self._rank[looks] = np.arange(len(looks))
      found = np.argsort(deals)  # the hands in order of discovery
      begin = np.empty(len(found), np.int32)
      begin[found] = count + len(looks) * np.arange(len(found))
      self._set_begin.append(begin)
      size = len(found) * len(looks)
      columns.append((np.full(size, player, np.int8),
                      np.tile(looks, len(found)),
                      np.repeat(found, len(looks)),
                      np.repeat(deals[found], len(looks))))
      count += size
    self._rank = self._rank[first]
    self.num_info_sets = count
    self.set_player, self.set_line, self.set_hand, deals = map(
        np.concatenate, zip(*columns))
    self.set_node = self._nodes(deals, self.set_line)

  def _preorder(self):
    """Returns [line] int64, the index of each line in preorder."""
    lines = self.lines
    size = np.ones(len(lines.parent), np.int64)  # of the subtree
    begins = lines.depth_begin
    for begin, end in zip(begins[-2:0:-1], begins[:1:-1]):
      np.add.at(size, lines.parent[begin:end], size[begin:end])
    order = np.zeros_like(size)
    for begin, end in zip(begins[1:-1], begins[2:]):
      before = np.cumsum(size[begin:end]) - size[begin:end]
      parent = lines.parent[begin:end]
      eldest = np.searchsorted(parent, parent)  # the first of the siblings
      order[begin:end] = order[parent] + 1 + before - before[eldest]
    return order

  def _nodes(self, deals, lines):
    """Returns int32, the nodes of deals and lines."""
    depth = np.searchsorted(self.lines.depth_begin, lines, side="right") - 1
    begin = self.lines.depth_begin[depth]
    width = self.lines.depth_begin[depth + 1] - begin
    return (self.depth_begin[depth + len(self._draws)] + deals * width + lines -
            begin).astype(np.int32)

  def difference_from_states(self, seed=0):
    """Returns in words how a few random histories differ from the game's.

    None if they do not.
    """
    rng = random.Random(seed)
    ends = np.flatnonzero(self.num_children == 0)
    for _ in range(_SAMPLES):
      deal = rng.randrange(len(self.deal_reach))
      difference = self._difference(deal, int(ends[rng.randrange(len(ends))]))
      if difference is not None:
        return difference
    return None

  def _difference(self, deal, end):
    """Returns in words what differs first in a history, None if nothing."""
    state = self.game.new_initial_state()
    for told, action in self._told(deal, end):
      for method, expected in told.items():
        found = getattr(state, method)()
        if found != expected:
          return (f"after the actions {state.history()} {method} is "
                  f"{validation.shown(found)}, and by the rules "
                  f"{validation.shown(expected)}")
      if action is not None:
        state.apply_action(action)
    return None

  def _told(self, deal, end):
    """Yields what the rules tell of the states of a history, and the actions.

    The former is a dict from methods of a state to what they return.
    """
    for draw, outcome in zip(self._draws, self._outcomes(deal, self._draws)):
      yield {"is_chance_node": True,
             "chance_outcomes": list(enumerate(draw.tolist()))}, outcome
    path = self._path(end)
    for line, child in zip(path, path[1:]):
      player = int(self.lines.actor[line])
      yield {"current_player": player,
             "legal_actions": list(self._legal_actions(line)),
             "information_state_string": self._info_state(
                 player, self.hands[player, deal], line)
             }, int(self.lines.action[child])
    own, other = self.hands[:, deal]
    yield {"is_terminal": True, "returns": self.table_returns[
        self.lines.table[end], :, own, other].tolist()}, None

  def _outcomes(self, index, draws):
    """Returns the list of chance outcomes that lead to a node of the deal."""
    outcomes = []
    for draw in reversed(draws):
      index, outcome = divmod(index, len(draw))
      outcomes.append(outcome)
    return outcomes[::-1]

  def _path(self, line):
    """Returns the list of lines from the first to this one."""
    path = [line]
    while path[-1] > 0:
      path.append(int(self.lines.parent[path[-1]]))
    return path[::-1]

  def history(self, node):
    """Returns the actions that lead to the node."""
    depth = int(np.searchsorted(self.depth_begin, node, side="right")) - 1
    index, line_depth = int(node - self.depth_begin[depth]), depth - len(
        self._draws)
    if line_depth < 0:
      return self._outcomes(index, self._draws[:depth])
    begin, end = self.lines.depth_begin[line_depth:line_depth + 2].tolist()
    deal, line = divmod(index, end - begin)
    path = self._path(begin + line)
    return (self._outcomes(deal, self._draws) +
            self.lines.action[path[1:]].tolist())

  def _legal_actions(self, line):
    """Returns the tuple of legal actions at a line."""
    begin = int(self._first_action[line])
    return tuple(range(begin, begin + int(self.num_children[line])))

  def _info_state(self, player, hand, line):
    return self._hand_texts[player][hand] + self._line_texts[line]

  @functools.cached_property
  def _first_action(self):
    """[line] int64, the first legal action; arbitrary at terminal lines."""
    first_child = 1 + np.cumsum(self.num_children) - self.num_children
    return self.lines.action[np.minimum(first_child, len(first_child) - 1)]

  def public_tree(self):
    """Returns the `RulesPublicTree`."""
    return RulesPublicTree(self.num_hands, self.lines.actor, self.num_children)

  # Arrays over histories, as one for each depth.

  def _line_slices(self):
    """Yields the lines of each depth, as a slice."""
    for begin, end in zip(self.lines.depth_begin, self.lines.depth_begin[1:]):
      yield slice(begin, end)

  def _players(self):
    for size in self._depth_sizes[:len(self._draws)]:
      yield np.full(size, game_tree.CHANCE, np.int8)
    actor = self.lines.actor.astype(np.int8)
    for span in self._line_slices():
      yield np.tile(actor[span], len(self.deal_reach))

  def _parents(self):
    begins = self.depth_begin
    yield np.array([-1], np.int32)
    for number, draw in enumerate(self._draws):
      yield np.repeat(np.arange(begins[number], begins[number + 1],
                                dtype=np.int32), len(draw))
    line_begin = self.lines.depth_begin
    deals = np.arange(len(self.deal_reach), dtype=np.int32)[:, None]
    for number, span in enumerate(self._line_slices()):
      if number:
        width = line_begin[number] - line_begin[number - 1]
        before = (begins[len(self._draws) + number - 1] +
                  self.lines.parent[span] - line_begin[number - 1])
        yield (deals * np.int32(width) + before.astype(np.int32)).ravel()

  def _actions(self):
    yield np.array([-1], np.int32)
    for size, draw in zip(self._depth_sizes, self._draws):
      yield np.tile(np.arange(len(draw), dtype=np.int32), size)
    action = self.lines.action.astype(np.int32)
    for number, span in enumerate(self._line_slices()):
      if number:
        yield np.tile(action[span], len(self.deal_reach))

  def _chances(self):
    yield np.ones(1)
    for size, draw in zip(self._depth_sizes, self._draws):
      yield np.tile(draw, size)
    for size in self._depth_sizes[len(self._draws) + 1:]:
      yield np.ones(size)

  def _info_sets(self):
    for size in self._depth_sizes[:len(self._draws)]:
      yield np.full(size, -1, np.int32)
    for span in self._line_slices():
      rank, actor = self._rank[span], self.lines.actor[span]
      begin = [begin[hands][:, None] for begin, hands in zip(self._set_begin,
                                                             self.hands)]
      info_set = rank + np.where(actor == 0, *begin)
      info_set[:, actor < 0] = -1
      yield info_set.ravel()

  def _returns(self):
    for size in self._depth_sizes[:len(self._draws)]:
      yield np.zeros((size, 2))
    own, other = self.hands[:, :, None]
    for span in self._line_slices():
      table = self.lines.table[span]
      returns = self.table_returns[table, :, own, other]  # [deal, line, player]
      returns[:, table < 0] = 0.0
      yield returns.reshape(-1, 2)

  # The attributes of a `GameTree`, made on first use.

  player, parent = _joined(_players), _joined(_parents)
  action, chance = _joined(_actions), _joined(_chances)
  info_set, returns = _joined(_info_sets), _joined(_returns)

  @functools.cached_property
  def info_states(self):
    """List of str, each set's information state."""
    ram.check("game", self.game, _TEXT_BYTES * self.num_info_sets,
              f"a list of {self.num_info_sets:,} information states",
              "a smaller game")
    return list(map(self._info_state, self.set_player.tolist(),
                    self.set_hand.tolist(), self.set_line.tolist()))

  @functools.cached_property
  def set_actions(self):
    """List of tuple, each set's legal actions."""
    legal = {}  # the different ones, each once
    begin, count = self._first_action[self.set_line], self.num_children[
        self.set_line]
    return [legal.setdefault((first, size), tuple(range(first, first + size)))
            for first, size in zip(begin.tolist(), count.tolist())]

  @functools.cached_property
  def depth_begin(self):
    """[depth + 1] int64, the first node of each depth."""
    return np.append(0, np.cumsum(self._depth_sizes))

  @functools.cached_property
  def child_begin(self):
    """[node + 1] int32, children of n are child_begin[n]..[n+1]-1."""
    return game_tree.child_begins(self.parent)

  def fingerprint(self):
    """Returns a content hash of the tree, equal to that of a `GameTree`."""
    digest = hashlib.sha256()
    for parts in (self._players, self._parents, self._actions, self._chances,
                  self._info_sets, self._returns):
      for part in parts():
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update("\n".join(self.info_states).encode())
    return digest.hexdigest()[:16]

  def with_perfect_recall(self):
    """Returns the tree with sets split so that players have perfect recall.

    It is a plain `GameTree`, because its sets do not follow from the rules.
    """
    plain = game_tree.GameTree.__new__(game_tree.GameTree)
    for name in _ATTRIBUTES:
      setattr(plain, name, getattr(self, name))
    return plain.with_perfect_recall()

  @property
  def payoffs(self):
    """Array of all returns."""
    return self.table_returns


class RulesPublicTree(NamedTuple):
  """Has the `public_tree.PublicTree` of a `RulesTree`: its nodes are lines."""
  num_hands: tuple[int, int]
  actor: np.ndarray
  num_children: np.ndarray

  def sets(self, tree):
    """Returns each information set's public node and hand."""
    return tree.set_line, tree.set_hand

  def payoffs(self, tree, terminals):
    """Returns the payoff tables, and the table of each terminal."""
    own, other = tree.hands
    payoffs = np.zeros((2, *self.num_hands, len(tree.table_returns)))
    for player in range(2):
      returns = tree.table_returns[:, player, own, other].T  # [deal, table]
      np.add.at(payoffs[player], (own, other),
                tree.deal_reach[:, None] * returns)
    return payoffs, tree.lines.table[terminals]
