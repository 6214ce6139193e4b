"""Games of n players as graphs: histories with the same continuation merge.

Fixed-strategy iteration (Neller & Hnath 2011, section 3; Gendre & Kaneko 2019,
section 3.3.1) needs a directed acyclic graph of nodes in topological order.
`walked_graph` merges the histories of a walked game from the last to the first.
Two become one node if the same player acts in the same information set (or
chance with the same probabilities) and all their children are the same nodes.
Terminal histories become one node if they have the same returns.

If a game is too large to walk, its rules may give the graph of one deal (see
`single_round_graph`). Such a graph is the same for all deals. A deal decides
the returns (`DiceOutcomes`) and the column of the tables that has the entries
of each player. Its terminals have numbers after all nodes, whereas those of a
walked game are nodes.

A node of decisions stands for a small tree, in which players choose between two
actions one after the other without seeing each other's. Its states are numbered
as in a heap: 1 is the decision of the first player, 2 * h that of the next
player after the first action in state h, 2 * h + 1 after the second. With d
deciders, the numbers from 2^d on are the node's children: number 2^d + mask,
where the first to decide has the highest bit of the mask.
"""

import hashlib

import numpy as np
import pyspiel

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.tree import rules_tree

_NODE_BYTES = 350  # of a history while histories are merged


class Graph:
  """A game of n players as a graph; a subclass implements `policy`.

  Args, which are also attributes:
    game: the `pyspiel.Game` whose information sets these are.
    arrays: the `GraphArrays`.
    returns: [node or terminal, player] float64, the returns at terminals; zero
      where a deal decides them.
    set_entry: [set + 1] int32, where the sets of a column begin.
    num_columns: number of columns of entries.
    dice: the `DiceOutcomes`.

  Attributes:
    num_players: number of players.
  """

  def __init__(self, game, arrays, returns, set_entry, num_columns=1,
               dice=graph_arrays.NO_DICE):
    self.game = game
    self.arrays = arrays
    self.returns = returns
    self.set_entry = set_entry
    self.num_columns = num_columns
    self.dice = dice
    self.num_players = game.num_players()

  @property
  def num_nodes(self):
    """Number of nodes."""
    return len(self.arrays.actor)

  @property
  def num_edges(self):
    """Number of edges."""
    return len(self.arrays.child)

  @property
  def num_entries(self):
    """Number of entries of a column."""
    return self.arrays.num_entries

  @property
  def max_degree(self):
    """Largest number of edges of a node."""
    return int(np.diff(self.arrays.child_begin).max())

  @property
  def memory_bytes(self):
    """Bytes of memory of the arrays."""
    arrays = (*self.arrays, *self.dice, self.returns)
    return sum(array.nbytes for array in arrays
               if isinstance(array, np.ndarray))

  def fingerprint(self):
    """Returns a content hash of the graph."""
    digest = hashlib.sha256()
    for array in self._identifying_arrays():
      digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]

  def _identifying_arrays(self):
    arrays = self.arrays
    return (arrays.actor, arrays.child_begin, arrays.child, arrays.entry,
            arrays.chance)

  def table_dtype(self, dtype):
    """Returns the name of the type that tables of this graph should have.

    `dtype` is what the user chose, or None for the default.
    """
    return dtype or "float64"

  def policy(self, weights, game):
    """Returns an OpenSpiel policy.

    Args:
      weights: [column * entries + entry]; probabilities are proportional to
        their positive parts, and uniform where there are none.
      game: the `pyspiel.Game` that the policy is for: the graph's own, or one
        of which that is an abstraction.
    """
    raise NotImplementedError

  def compiled(self):
    """Returns the `compiled_game.CompiledGame`, in which policies are measured.

    It raises a ValueError if the game is too large for that.
    """
    return compiled_game.compile_game(self.game)


class WalkedGraph(Graph):
  """The graph of a game that was walked, a `game_tree.GameTree`.

  Attributes:
    info_states: list of str, each set's information state.
    set_player: [set] int8, who acts there.
    set_actions: list of tuple, each set's legal actions.
    chance_nodes: [chance node] int64, the chance nodes in topological order.
  """

  def __init__(self, tree):
    counts = [len(legal) for legal in tree.set_actions]
    set_entry = np.append(0, np.cumsum(counts)).astype(np.int32)
    arrays, first = _merged_arrays(tree, set_entry)
    super().__init__(tree.game, arrays,
                     np.ascontiguousarray(tree.returns[first]), set_entry)
    self.info_states = tree.info_states
    self.set_player = tree.set_player
    self.set_actions = tree.set_actions
    self.chance_nodes = np.flatnonzero(arrays.actor == graph_arrays.CHANCE)
    fingerprint = tree.fingerprint()
    self._tree_fingerprint = lambda: fingerprint

  def _identifying_arrays(self):
    # The last player's returns follow from the others' in a zero-sum game.
    utility = self.game.get_type().utility
    is_zero_sum = utility == pyspiel.GameType.Utility.ZERO_SUM
    returns = self.returns[:, :-1] if is_zero_sum else self.returns
    text = "\n".join(self.info_states).encode()
    return (*super()._identifying_arrays(), returns,
            np.frombuffer(text, np.uint8))

  def policy(self, weights, game):
    """Returns a `table_policy.TablePolicy`."""
    probabilities = weights.astype(np.float64)
    set_kernels.normalize(self.set_entry, self.num_columns, probabilities)
    abstraction = None if str(game) == str(self.game) else self.game
    return table_policy.TablePolicy(game, self.info_states, self.set_player,
                                    self.set_actions, probabilities,
                                    self._tree_fingerprint, abstraction)


def walked_graph(game, max_nodes=None):
  """Returns the `WalkedGraph` of a game.

  `max_nodes` is the largest allowed number of histories; None allows as many
  as fit into memory.
  """
  return WalkedGraph(rules_tree.make_tree(game, max_nodes,
                                          node_bytes=_NODE_BYTES))


def _merged_arrays(tree, set_entry):
  """Returns (arrays, first), the graph of a walked game.

  These are the `GraphArrays`; and [node] int64, a node of the tree that is
  merged in each.
  """
  merged, first = _merge(tree)
  player = tree.player[first]
  sets = tree.info_set[first]
  degree = tree.child_begin[first + 1] - tree.child_begin[first]
  child_begin = np.append(0, np.cumsum(degree)).astype(np.int32)
  # The tree's children of each node that stands for a merged one, in order.
  edges = (np.arange(child_begin[-1]) +
           np.repeat(tree.child_begin[first] - child_begin[:-1], degree))
  is_chance = player == graph_arrays.CHANCE
  entry = np.full(len(first), -1, dtype=np.int32)
  entry[sets >= 0] = set_entry[sets[sets >= 0]]
  entry[is_chance] = np.cumsum(degree[is_chance]) - degree[is_chance]
  arrays = graph_arrays.GraphArrays(
      player, np.zeros_like(player), child_begin,
      merged[edges].astype(np.int32), entry,
      tree.chance[edges[np.repeat(is_chance, degree)]], 0, int(set_entry[-1]))
  return arrays, first


def _merge(tree):
  """Merges histories of a tree that have the same continuation.

  Returns:
    (merged, first): [node of the tree] int64, the node of the graph; and [node
    of the graph] int64, a node of the tree that is merged in it.
  """
  merged = [0] * tree.num_nodes
  found = {}  # key of a node -> its number from the end
  first = []
  players, sets = tree.player.tolist(), tree.info_set.tolist()
  begins = tree.child_begin.tolist()
  chances = tree.chance.tolist()
  returns = list(map(tuple, tree.returns.tolist()))
  for node in range(tree.num_nodes - 1, -1, -1):
    begin, end = begins[node], begins[node + 1]
    if players[node] == graph_arrays.TERMINAL:
      key = graph_arrays.TERMINAL, returns[node]
    elif players[node] == graph_arrays.CHANCE:
      key = graph_arrays.CHANCE, (*chances[begin:end], *merged[begin:end])
    else:
      key = sets[node], tuple(merged[begin:end])
    number = found.setdefault(key, len(found))
    if number == len(first):
      first.append(node)
    merged[node] = number
  # Children were found before their parents.
  return len(first) - 1 - np.array(merged), np.array(first[::-1])
