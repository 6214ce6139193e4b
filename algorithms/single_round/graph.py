"""Games of n players as graphs for fixed-strategy iteration.

Gendre & Kaneko (2019), section 3.3.1: two states are one node if neither the
players nor the rules can tell them apart. There are two ways to make a graph:

  `graph_of_layout`: `dudo_single_round` from its rules, for one deal. The graph
    is the same for all deals; which claims are true, and in which columns the
    players' entries stand, depends on the deal. For each situation (claim,
    memory, claimer; see `single_round`) there is one node for all decisions to
    pass or to challenge, and one where the next player claims. A challenge that
    is forced is no node.
  `graph_of_tree`: a walked game; chance nodes are part of the graph.

The terminals of Dudo stand behind all nodes; those of a walked game among them.

A node of decisions stands for a small tree. Its states are numbered as in a
heap: 1 is the decision of the first player after the claimer, 2 * h that of the
next player after a pass in state h, 2 * h + 1 after a challenge. With d who
decide, the numbers from 2^d on are the node's children: number 2^d + mask, with
the first to decide in the highest bit of the mask, and mask 0 if all pass.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.graphs import game_graph

CHANCE = game_graph.CHANCE
TERMINAL = game_graph.TERMINAL


class GraphArrays(NamedTuple):
  """A graph as arrays that kernels can take; parents stand before children.

  The root is node 0. The edges of node n are child_begin[n]..[n + 1] - 1, in
  the order of its actions or outcomes. The entries of an information set, one
  an action, follow each other.

  Attributes:
    actor: [node] int8, who acts (first): a player, CHANCE or TERMINAL.
    deciders: [node] int8, how many players decide in turn without seeing each
      other's decisions; 0 at all other nodes.
    child_begin: [node + 1] int32, the first edge of each node.
    child: [edge] int32, the node or terminal to which it leads.
    entry: [node] int32: where a player acts, the first entry of the information
      set in the player's column; at chance nodes, where their probabilities
      begin in `chance`; -1 at terminals.
    chance: [edge of a chance node] float64, its probability.
    stride: how far the entry of the next to decide is from that of the one
      before.
  """
  actor: np.ndarray
  deciders: np.ndarray
  child_begin: np.ndarray
  child: np.ndarray
  entry: np.ndarray
  chance: np.ndarray
  stride: int


class DealArrays(NamedTuple):
  """What a deal of Dudo decides; all but empty for a walked game.

  Attributes:
    cumulative: [roll] float64, how likely it or one before it is.
    counts: [roll, value - 1] int32, how many dice show the value.
    amounts: [claim] int32, how many dice it claims.
    payoff: [is true, claimer, mask, player] float64, the returns when those of
      the mask have challenged: the last to decide is its lowest bit.
  """
  cumulative: np.ndarray
  counts: np.ndarray
  amounts: np.ndarray
  payoff: np.ndarray


class Graph:
  """A game of n players as a graph.

  Attributes:
    game: the `pyspiel.Game` whose information sets these are.
    layout: the `single_round.Layout`, or None for a walked game.
    num_players: how many players there are.
    arrays: the `GraphArrays`.
    deals: the `DealArrays`.
    returns: [node or terminal, player] float64, the returns at terminals; in
      Dudo a deal decides them, and they are zero.
    num_columns: how many columns of entries there are.
    num_entries: how many entries a column has.
    set_entry: [set + 1] int32, where the sets of a column begin.
    info_states: list of str, each set's information state, of a walked game.
    set_player: [set] int8, who acts there, of a walked game.
    set_actions: list of tuple, the legal actions, of a walked game.
  """

  def __init__(self, game, layout, arrays, deals, returns, num_columns,
               set_entry, info_states=None, set_player=None, set_actions=None):
    self.game = game
    self.layout = layout
    self.num_players = game.num_players()
    self.arrays = arrays
    self.deals = deals
    self.returns = returns
    self.num_columns = num_columns
    self.set_entry = set_entry
    self.num_entries = int(set_entry[-1])
    self.info_states = info_states
    self.set_player = set_player
    self.set_actions = set_actions

  @property
  def num_nodes(self):
    """How many nodes there are."""
    return len(self.arrays.actor)

  @property
  def memory_bytes(self):
    """How much memory the arrays take."""
    return sum(array.nbytes for array in (*self.arrays[:-1], *self.deals,
                                          self.returns))


def graph_of_tree(tree):
  """Returns the `Graph` of a walked game.

  Args:
    tree: its `game_tree.GameTree`.
  """
  arrays, first = game_graph.merged_arrays(tree)
  returns = np.ascontiguousarray(tree.returns[first])
  counts = [len(legal) for legal in tree.set_actions]
  set_entry = np.append(0, np.cumsum(counts)).astype(np.int32)
  deals = DealArrays(np.zeros(0), np.zeros((0, 0), np.int32),
                     np.zeros(0, np.int32), np.zeros((0, 0, 0, 0)))
  arrays = GraphArrays(arrays[0], np.zeros_like(arrays[0]),
                       *map(np.ascontiguousarray, arrays[1:]), 0)
  return Graph(tree.game, None, arrays, deals, returns, 1, set_entry,
               tree.info_states, tree.set_player, tree.set_actions)


# Dudo, from the rules.


def graph_of_layout(layout):
  """Returns the `Graph` of single-round Dudo.

  After the root, the first claim, come for each claim first the decisions in
  each of its situations, by memory and claimer, then the next claims.

  Args:
    layout: the `single_round.Layout`.
  """
  return _Builder(layout).build()


class _Builder:
  """Numbers the nodes of single-round Dudo and puts its arrays together."""

  def __init__(self, layout):
    self._layout = layout
    self._num_masks = 2**(layout.num_players - 1)
    # [claim, memory, claimer]: the node of the decisions, or a terminal
    self._nodes = np.full(layout.situations[1:].shape, -1, np.int64)
    node = 1
    for claim in range(layout.first_forced):
      found = layout.situations[claim + 1]
      size = int(found.sum())
      self._nodes[claim][found] = node + np.arange(size)
      node += 2 * size
    self._num_nodes = node
    for claim in range(layout.first_forced, layout.num_claims):
      self._nodes[claim] = self._terminals(
          claim, np.arange(layout.num_players))[:, -1]

  def _terminals(self, claim, claimer):
    """Returns [claimer, mask], the terminals when this claim is resolved."""
    first = claim * self._layout.num_players + claimer
    return (self._num_nodes + first[:, np.newaxis] * self._num_masks +
            np.arange(self._num_masks))

  def build(self):
    """Returns the `Graph`."""
    layout = self._layout
    players = layout.num_players
    parts = [self._claims(-1, np.zeros(1, np.int64), np.array([players - 1]))]
    for claim in range(layout.first_forced):
      memory, claimer = np.nonzero(layout.situations[claim + 1])
      parts += [self._decisions(claim, memory, claimer),
                self._claims(claim, memory, claimer)]
    arrays = self._join(parts)
    game = layout.game
    deals = DealArrays(
        np.cumsum(game.roll_table.probabilities),
        game.roll_table.counts.copy(),  # one that can be written, as all are
        game.order.quantities[:layout.num_claims].copy(), self._payoff())
    num_terminals = layout.num_claims * players * self._num_masks
    returns = np.zeros((self._num_nodes + num_terminals, players))
    return Graph(game, layout, arrays, deals, returns, layout.num_rolls,
                 layout.set_entries())

  def _join(self, parts):
    """Returns the `GraphArrays` of [(actor, deciders, child, entry)]."""
    actor = np.concatenate([part[0] for part in parts]).astype(np.int8)
    deciders = np.concatenate([np.full(len(part[0]), part[1], np.int8)
                               for part in parts])
    degree = np.concatenate([np.full(len(part[0]), part[2].shape[1])
                             for part in parts])
    child = np.concatenate([part[2].ravel() for part in parts])
    entry = np.concatenate([part[3] for part in parts])
    return GraphArrays(
        actor, deciders, np.append(0, np.cumsum(degree)).astype(np.int32),
        child.astype(np.int32), entry.astype(np.int32), np.zeros(0),
        2 if self._layout.has_wait else 0)

  def _decisions(self, claim, memory, claimer):
    """Returns the part of the nodes where players decide about a claim."""
    layout = self._layout
    child = self._terminals(claim, claimer)
    child[:, 0] = self._nodes[claim, memory, claimer] + len(memory)
    return ((claimer + 1) % layout.num_players, layout.num_players - 1, child,
            layout.challenge_entry[claim, memory, 0])

  def _claims(self, claim, memory, claimer):
    """Returns the part of the nodes where the next player claims."""
    layout = self._layout
    following = (claimer + 1) % layout.num_players
    after = layout.after(memory, claim)
    child = np.stack([self._nodes[stronger, after, following]
                      for stronger in layout.window(claim)], axis=1)
    return following, 0, child, layout.claim_entry[claim + 1, memory]

  def _payoff(self):
    players, masks = self._layout.num_players, self._num_masks
    payoff = np.zeros((2, players, masks, players))
    for claimer in range(players):
      payoff[0, claimer] = 1.0 / (players - 1)
      payoff[0, claimer, :, claimer] = 0.0
      for mask in range(masks):
        out = [(claimer + turn) % players for turn in range(1, players)
               if mask >> (players - 1 - turn) & 1]
        payoff[1, claimer, mask] = 1.0 / (players - len(out))
        payoff[1, claimer, mask, out] = 0.0
    return payoff
