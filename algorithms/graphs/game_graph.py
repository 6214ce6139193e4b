"""Games as graphs: histories with the same continuation are one node.

Fixed-strategy iteration (Neller & Hnath 2011, section 3) needs a directed
acyclic graph of nodes in topological order. There are two ways to make one:

  `graph_of_tree` merges the histories of a walked game from the last to the
    first: two are one node if the same player acts in the same information set
    (or chance with the same probabilities) and all their children are the same
    nodes. Terminal histories are one node if they have the same returns.
  `graph_of_match` makes the graph of a whole match of two-player Dudo from its
    rules, where there are too many histories to walk. A node is a deal, the
    last `recall_length` claims and whose turn it is (section 2.1 there). One
    chance node deals both hands of a round, and there is one for each way to
    begin a round: the dice of both seats, and who starts. The nodes of a deal
    follow each other.

The information sets are those of the `pyspiel` game `graph.game`.
"""

import hashlib
import math
from typing import NamedTuple

import numpy as np
import pyspiel

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel.algorithms.compiled import game_tree

CHANCE = game_tree.CHANCE
TERMINAL = game_tree.TERMINAL

# The largest match that is made from the rules: 30 million edges and what a
# solver needs beside them take about 0.6 gigabytes.
MAX_EDGES = 30_000_000


class GraphArrays(NamedTuple):
  """A graph as arrays that kernels can take; parents stand before children.

  The root is node 0. The edges of node n are child_begin[n]..[n + 1] - 1, in
  the order of its actions or outcomes. The entries of an information set, one
  an action, follow each other.

  Attributes:
    actor: [node] int8, who acts: 0, 1, CHANCE or TERMINAL.
    child_begin: [node + 1] int32, the first edge of each node.
    child: [edge] int32, the node to which it leads.
    entry: [node] int32: where a player acts, the first entry of the information
      set; at chance nodes, where their probabilities begin in `chance`; -1 at
      terminals.
    chance: [edge of a chance node] float64, its probability.
    value: [node] float64, player 0's return, zero but for terminals.
  """
  actor: np.ndarray
  child_begin: np.ndarray
  child: np.ndarray
  entry: np.ndarray
  chance: np.ndarray
  value: np.ndarray


class Graph:
  """A two-player zero-sum game as a graph.

  Attributes:
    game: the `pyspiel.Game` whose information sets these are.
    arrays: the `GraphArrays`.
    info_states: list of str, each set's information state.
    set_player: [set] int8, who acts there.
    set_actions: list of tuple, each set's legal actions.
    set_entry: [set + 1] int64, the first entry of each set.
    chance_nodes: [chance node] int64, the chance nodes in topological order.
    chance_labels: list: for each of them, in a graph from the rules, (dice,
      starter) with the dice of both seats; outcome h0 * (number of rolls of
      seat 1) + h1 then deals the rolls h0 and h1 (see `rolls`). In a graph of a
      walked game, the actions of one history that leads there.
  """

  def __init__(self, game, arrays, info_states, set_player, set_actions,
               chance_labels):
    self.game = game
    self.arrays = arrays
    self.info_states = info_states
    self.set_player = set_player
    self.set_actions = set_actions
    counts = np.array([len(legal) for legal in set_actions], dtype=np.int64)
    self.set_entry = np.append(0, np.cumsum(counts))
    self.chance_nodes = np.flatnonzero(arrays.actor == CHANCE)
    self.chance_labels = chance_labels

  @property
  def num_nodes(self):
    """How many nodes there are, terminal ones included."""
    return len(self.arrays.actor)

  @property
  def num_edges(self):
    """How many edges there are."""
    return len(self.arrays.child)

  @property
  def num_entries(self):
    """How many entries a strategy has."""
    return int(self.set_entry[-1])

  @property
  def memory_bytes(self):
    """How much memory the arrays take."""
    return sum(array.nbytes for array in self.arrays)

  def fingerprint(self):
    """Returns a str that tells this graph from others."""
    digest = hashlib.sha256()
    for array in self.arrays:
      digest.update(np.ascontiguousarray(array).tobytes())
    digest.update("\n".join(self.info_states).encode())
    return digest.hexdigest()[:16]


def abstraction(game, recall_length):
  """Returns the game whose information sets a graph has.

  `dudo` becomes `dudo_ir`, and `liars_dice` OpenSpiel's `liars_dice_ir`, with
  this recall length. (That of OpenSpiel 2.0.2 remembers four bids, whatever
  its recall length.) Every other game is returned as it is: a game of imperfect
  recall has its own recall length, and the rest have no such abstraction.

  Args:
    game: a `pyspiel.Game`.
    recall_length: how many of the last claims players remember.
  """
  name = game.get_type().short_name
  if name not in ("dudo", "liars_dice"):
    return game
  specification = game.get_type().parameter_specification
  parameters = {key: value for key, value in game.get_parameters().items()
                if key in specification}
  return pyspiel.load_game(f"{name}_ir",
                           {**parameters, "recall_length": recall_length})


def make_graph(game):
  """Returns the `Graph` of a game: of Dudo from the rules, else by walking."""
  if game.get_type().short_name == "dudo_ir":
    return graph_of_match(game)
  return graph_of_tree(game_tree.GameTree(game))


# Walked games.


def graph_of_tree(tree):
  """Returns the `Graph` of a walked game.

  Args:
    tree: the `game_tree.GameTree` of a two-player zero-sum game.
  """
  sums = tree.returns.sum(axis=1)
  if np.any(np.abs(sums) > 1e-9):
    raise ValueError(f"game={tree.game}: its returns sum up to "
                     f"{float(sums[np.argmax(np.abs(sums))])}; must be a "
                     "zero-sum game")
  arrays, first = merged_arrays(tree)
  value = np.ascontiguousarray(tree.returns[first, 0])
  labels = [tree.history(node) for node in first[arrays[0] == CHANCE]]
  return Graph(tree.game, GraphArrays(*arrays, value), tree.info_states,
               tree.set_player, tree.set_actions, labels)


def merged_arrays(tree):
  """Returns the graph of a walked game of any number of players.

  Args:
    tree: the `game_tree.GameTree`.

  Returns:
    (arrays, first): all of `GraphArrays` but the values, as a tuple; and [node]
    int64, a node of the tree that is merged in each.
  """
  merged, first = _merge(tree)
  player = tree.player[first]
  sets = tree.info_set[first]
  counts = np.array([len(legal) for legal in tree.set_actions], dtype=np.int64)
  degree = tree.child_begin[first + 1] - tree.child_begin[first]
  child_begin = np.append(0, np.cumsum(degree)).astype(np.int32)
  # The tree's children of each node that stands for a merged one, in order.
  edges = (np.arange(child_begin[-1]) +
           np.repeat(tree.child_begin[first] - child_begin[:-1], degree))
  is_chance = player == CHANCE
  entry = np.full(len(first), -1, dtype=np.int32)
  entry[sets >= 0] = (np.cumsum(counts) - counts)[sets[sets >= 0]]
  entry[is_chance] = (np.cumsum(degree[is_chance]) - degree[is_chance])
  return (player, child_begin, merged[edges].astype(np.int32), entry,
          tree.chance[edges[np.repeat(is_chance, degree)]]), first


def _merge(tree):
  """Merges histories that have the same continuation.

  Args:
    tree: the `game_tree.GameTree`.

  Returns:
    (merged, first): [node of the tree] int64, the node of the graph; and [node
    of the graph] int64, a node of the tree that is merged in it.
  """
  merged = [0] * tree.num_nodes
  found = {}  # what tells a node from others -> its number from the end
  first = []
  players, sets = tree.player.tolist(), tree.info_set.tolist()
  begins = tree.child_begin.tolist()
  chances = tree.chance.tolist()
  returns = list(map(tuple, tree.returns.tolist()))
  for node in range(tree.num_nodes - 1, -1, -1):
    begin, end = begins[node], begins[node + 1]
    if players[node] == TERMINAL:
      key = returns[node]
    elif players[node] == CHANCE:
      key = (*chances[begin:end], *merged[begin:end])
    else:
      key = (sets[node], tuple(merged[begin:end]))
    number = found.setdefault(key, len(found))
    if number == len(first):
      first.append(node)
    merged[node] = number
  # Children were found before their parents.
  return len(first) - 1 - np.array(merged), np.array(first[::-1])


# Matches of Dudo, from the rules.


class _Round(NamedTuple):
  """The nodes of one deal of a round, without the hands.

  All deals of the same dice have such nodes, in this order.

  Attributes:
    memories: list of tuple, the last claims at each node.
    actor: [node] int64, whose turn it is.
    last: [node] int64, the last claim, -1 before the first.
    begin: [node + 1] int64, the first edge of each node.
    child: [edge] int64, the node to which it leads, -1 for a challenge.
    offset: [node] int64, the first entry among the actor's, for one hand.
  """
  memories: list
  actor: np.ndarray
  last: np.ndarray
  begin: np.ndarray
  child: np.ndarray
  offset: np.ndarray


def _play_round(num_claims, recall_length, starters):
  """Returns the `_Round` of this many claims and these starters."""
  nodes = {((), starter) for starter in starters}
  stack = list(nodes)
  while stack:
    for node in _successors(stack.pop(), num_claims, recall_length):
      if node not in nodes:
        nodes.add(node)
        stack.append(node)
  # Claims only grow, so that children have a stronger last claim.
  nodes = sorted(nodes, key=lambda node: (node[0][-1:], node))
  number = {node: i for i, node in enumerate(nodes)}
  child, begin = [], [0]
  for node in nodes:
    child += [number[successor] for successor in
              _successors(node, num_claims, recall_length)]
    if node[0]:
      child.append(-1)
    begin.append(len(child))
  actor = np.array([player for _, player in nodes])
  degree = np.diff(begin)
  offset = np.zeros(len(nodes), dtype=np.int64)
  for player in range(2):
    own = actor == player
    offset[own] = np.cumsum(degree[own]) - degree[own]
  return _Round([memory for memory, _ in nodes], actor,
                np.array([(memory or (-1,))[-1] for memory, _ in nodes]),
                np.array(begin), np.array(child), offset)


def _successors(node, num_claims, recall_length):
  """Returns the (memory, actor) after each stronger claim."""
  memory, actor = node
  last = memory[-1] if memory else -1
  return [((*memory, claim)[-recall_length:], 1 - actor)
          for claim in range(last + 1, num_claims)]


def _num_round_edges(num_claims, recall_length, num_starters):
  """Returns how many edges a `_Round` has, without making it.

  C(c, k - 1) memories of k claims end with claim c, and num_claims - c edges
  lead on from each. Shorter memories than the recall length are whole, so that
  the starter and their length tell whose turn it is. At the others it may be
  anybody's, if there is a weaker claim than the oldest or another starter.
  """
  edges = num_starters * num_claims
  for length in range(1, min(recall_length - 1, num_claims) + 1):
    edges += num_starters * math.comb(num_claims + 1, length + 1)
  full = math.comb(num_claims + 1, recall_length + 1)
  oldest = math.comb(num_claims, recall_length)  # begin with the weakest claim
  return edges + 2 * full - (2 - num_starters) * oldest


def _rounds_of_match(dice, starter, house):
  """Returns {dice: [starters]} of all rounds, those with most dice first."""
  found = {(bytes(dice), starter)}
  stack = list(found)
  while stack:
    now, _ = stack.pop()
    total = sum(now)
    for quantity in range(1, total + 1):
      for count in range(total + 1):
        for claimant in range(2):
          after = rules.resolve_challenge(now, claimant, 1 - claimant, quantity,
                                          count, house)
          if all(after[0]) and after not in found:
            found.add(after)
            stack.append(after)
  rounds = {}
  for now, starter in sorted(found, key=lambda key: (-sum(key[0]), key)):
    rounds.setdefault(now, []).append(starter)
  return rounds


def num_match_edges(dice, starter, num_sides, recall_length, house):
  """Returns how many edges the graph of a match has, without making it.

  Args:
    dice: the dice of both seats at the start.
    starter: who claims first.
    num_sides: how many sides a die has.
    recall_length: how many of the last claims players remember.
    house: the `rules.HouseRules`.
  """
  edges = 0
  for now, starters in _rounds_of_match(dice, starter, house).items():
    deals = math.prod(rolls_lib.num_rolls(n, num_sides) for n in now)
    edges += deals * (len(starters) + _num_round_edges(
        num_sides * sum(now), recall_length, len(starters)))
  return edges


def _check_size(game):
  """Raises a ValueError if the graph of a match would be too large."""
  sides, recall_length = game.num_sides, game.recall_length
  edges = num_match_edges(game.start_dice, game.starting_player, sides,
                          recall_length, game.house)
  if edges <= MAX_EDGES:
    return
  possible = []
  for most in range(1, max(game.start_dice) + 1):
    fits = [f"{least}v{most}" for least in range(1, most + 1)
            if num_match_edges((least, most), game.starting_player, sides,
                               recall_length, game.house) <= MAX_EDGES]
    if not fits:
      break
    possible += fits
  raise ValueError(
      f"start_dice={'v'.join(map(str, game.start_dice))}: its graph has "
      f"{edges} edges, more than {MAX_EDGES}; with dice_sides={sides} and "
      f"recall_length={recall_length} it must be one of: "
      f"{', '.join(possible) or 'none'} (or the other way round); choose a "
      "smaller recall_length, or solve the match round by round with "
      "fsicfr.MatchSolver")


def graph_of_match(game):
  """Returns the `Graph` of a match of two-player Dudo.

  Args:
    game: the `pyspiel.Game`, a `dudo_ir` with two players.
  """
  _check_size(game)
  return _MatchBuilder(game).build()


class _MatchBuilder:
  """Puts the rounds of a match of the `dudo_ir` game together."""

  def __init__(self, game):
    self._game = game
    self._starters = _rounds_of_match(game.start_dice, game.starting_player,
                                      game.house)
    self._rounds = {
        dice: _play_round(game.num_sides * sum(dice), game.recall_length,
                          starters)
        for dice, starters in self._starters.items()}
    self._chance_node = {}  # (dice, starter) -> node
    node = 0
    for dice, play in self._rounds.items():
      for starter in self._starters[dice]:
        self._chance_node[dice, starter] = node
        node += 1
      node += self._num_deals(dice) * len(play.actor)
    self._terminal = node  # player 0 wins; the next one: player 1 wins
    self._info_states, self._set_player, self._set_actions = [], [], []
    self._num_entries = 0

  def _rolls(self, dice):
    return [self._game.rolls(num_dice) for num_dice in dice]

  def _num_deals(self, dice):
    return math.prod(table.num_rolls for table in self._rolls(dice))

  def build(self):
    """Returns the `Graph`."""
    parts = []  # (actor, degree, child, entry) of nodes that follow each other
    chances = []
    num_chances = 0
    for dice, play in self._rounds.items():
      table0, table1 = self._rolls(dice)
      deals = np.outer(table0.probabilities, table1.probabilities).ravel()
      starters = self._starters[dice]
      first = self._chance_node[dice, starters[0]] + len(starters)
      for starter in starters:
        # A deal begins with the nodes before the first claim, by starter.
        begins = (first + starters.index(starter) +
                  len(play.actor) * np.arange(len(deals)))
        parts.append(([CHANCE], [len(deals)], begins, [num_chances]))
        num_chances += len(deals)
        chances.append(deals)
      parts.append((np.tile(play.actor, len(deals)),
                    np.tile(np.diff(play.begin), len(deals)),
                    self._children(dice, play, first),
                    self._entries(dice, play)))
    parts.append(([TERMINAL] * 2, [0] * 2, [], [-1] * 2))
    actor, degree, child, entry = (
        np.concatenate([np.asarray(array, dtype=np.int32) for array in arrays])
        for arrays in zip(*parts))
    value = np.zeros(len(actor))
    value[self._terminal:] = 1.0, -1.0
    arrays = GraphArrays(
        actor.astype(np.int8),
        np.append(0, np.cumsum(degree)).astype(np.int32), child, entry,
        np.concatenate(chances), value)
    return Graph(self._game, arrays, self._info_states,
                 np.array(self._set_player, dtype=np.int8), self._set_actions,
                 [(tuple(dice), starter) for dice, starter in
                  self._chance_node])

  def _children(self, dice, play, first):
    """Returns [deal, edge] int32, flat; `first` is the first deal's node."""
    num_deals = self._num_deals(dice)
    begins = first + len(play.actor) * np.arange(num_deals, dtype=np.int32)
    child = begins[:, np.newaxis] + play.child.astype(np.int32)
    challenged = play.last >= 0
    edges = play.begin[1:][challenged] - 1  # Dudo is the last action
    ends = self._challenges(dice)
    child[:, edges] = ends[:, play.last[challenged],
                           1 - play.actor[challenged]]
    return child.ravel()

  def _challenges(self, dice):
    """Returns [deal, claim, claimant] int32, the node after a challenge."""
    total, house = sum(dice), self._game.house
    order = claims_lib.claim_order(total, self._game.num_sides,
                                   house.wild_ones)
    matches0, matches1 = (table.matches(house.wild_ones)
                          for table in self._rolls(dice))
    ranks = order.ranks - 1
    counts = (matches0[:, np.newaxis, ranks] + matches1[:, ranks]).reshape(
        -1, order.num_claims)
    ends = np.empty((total + 1, total + 1, 2), dtype=np.int32)
    for quantity in range(1, total + 1):
      for count in range(total + 1):
        for claimant in range(2):
          ends[quantity, count, claimant] = self._next_node(
              rules.resolve_challenge(dice, claimant, 1 - claimant, quantity,
                                      count, house))
    return ends[order.quantities, counts]

  def _next_node(self, after):
    """Returns the node after a challenge that ended with (dice, winner)."""
    dice = after[0]
    if all(dice):
      return self._chance_node[after]
    return self._terminal + (dice[0] == 0)

  def _entries(self, dice, play):
    """Adds the information sets of a round; returns [deal, node], flat."""
    tables = self._rolls(dice)
    entries = np.empty((*(table.num_rolls for table in tables),
                        len(play.actor)), dtype=np.int32)
    total = self._game.num_sides * sum(dice)
    names = claims_lib.claim_order(sum(dice), self._game.num_sides,
                                   self._game.house.wild_ones).names
    memories = [
        f" claims:{','.join(names[claim] for claim in memory)}" if memory
        else "" for memory in play.memories]
    actions = [tuple(range(last + 1, total)) +
               ((self._game.dudo_action,) if last >= 0 else ())
               for last in play.last.tolist()]
    for player, table in enumerate(tables):
      own = np.flatnonzero(play.actor == player).tolist()
      num_entries = sum(len(actions[node]) for node in own)
      begins = self._num_entries + num_entries * np.arange(table.num_rolls)
      begins = begins[:, np.newaxis] + play.offset[own]
      entries[:, :, own] = np.expand_dims(begins, 1 - player)
      for hand in table.hands:
        begin = (f"p{player} roll:{rolls_lib.hand_name(hand)} "
                 f"dice:{dice[player]},{dice[1 - player]}")
        self._info_states += [begin + memories[node] for node in own]
        self._set_actions += [actions[node] for node in own]
      self._set_player += [player] * (len(own) * table.num_rolls)
      self._num_entries += num_entries * table.num_rolls
    return entries.ravel()
