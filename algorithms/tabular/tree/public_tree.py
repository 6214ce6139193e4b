"""The public tree of a game that deals in private and then plays in public.

Histories with the same actions and chance outcomes after the deal are one
public node. Each depth is checked as it is made, so that other games are
recognised soon.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.tabular.tree import game_tree


class PublicTree(NamedTuple):
  """The public tree, its nodes in breadth-first order.

  Attributes:
    node: [history] int32, the public node of each history after the deal, -1
      before.
    hands: [player, history] int32, the hands dealt.
    num_hands: (int, int), the number of hands of each player.
    actor: [public node] int64, a player, CHANCE or TERMINAL.
    num_children: [public node] int64.
  """
  node: np.ndarray
  hands: np.ndarray
  num_hands: tuple[int, int]
  actor: np.ndarray
  num_children: np.ndarray

  def sets(self, tree):
    """Returns each information set's public node and hand."""
    return (self.node[tree.set_node],
            self.hands[tree.set_player, tree.set_node])

  def payoffs(self, tree, terminals):
    """Returns the payoff tables, and the table of each terminal.

    Here each terminal has its own: the sum over the histories that end there.

    Args:
      tree: the `game_tree.GameTree`.
      terminals: [terminal] int64, the public nodes in the order of the form.

    Returns:
      (payoffs, payoff_of): for each player [hand of 0, hand of 1, table]
      float64, the player's payoffs times the probability of chance; and
      [terminal] int64, the table of each terminal.
    """
    table_of = np.arange(len(terminals))
    index = np.empty(len(self.actor), dtype=np.int64)
    index[terminals] = table_of
    ends = np.flatnonzero(tree.player == game_tree.TERMINAL)
    where = (*self.hands[:, ends], index[self.node[ends]])
    weight = tree.chance_reach()[ends]
    payoffs = np.zeros((2, *self.num_hands, len(terminals)))
    for player in range(2):
      np.add.at(payoffs[player], where, weight * tree.returns[ends, player])
    return payoffs, table_of


def merge_deals(tree):
  """Returns the `PublicTree` of two players, or None if play is not public."""
  deal_nodes = _deal_nodes(tree)
  if deal_nodes is None:
    return None
  hands = np.zeros((2, tree.num_nodes), dtype=np.int32)
  num_hands = []
  for player in range(2):
    seen = [tree.state(node).information_state_string(player)
            for node in deal_nodes]
    names, hand = np.unique(seen, return_inverse=True)
    hands[player, deal_nodes] = hand
    num_hands.append(len(names))
  public = np.full(tree.num_nodes, -1, dtype=np.int32)
  frontier = deal_nodes
  public[frontier] = 0
  actors, counts = [], []
  num_public = num_sets = 0
  stride = int(tree.action.max()) + 2
  while len(frontier):
    size = int(public[frontier].max()) + 1 - num_public
    checked = _check_depth(tree, frontier, public[frontier] - num_public, size,
                           hands[:, frontier], num_hands)
    if checked is None:
      return None
    actor, count, sets_here = checked
    num_sets += sets_here
    actors.append(actor)
    # Children of equal public parents by equal actions are one public node.
    first, last = tree.child_begin[frontier], tree.child_begin[frontier + 1]
    repeats = last - first
    children = np.repeat(
        (first - np.cumsum(repeats) + repeats).astype(np.int32), repeats)
    children += np.arange(len(children), dtype=np.int32)
    from_public = np.repeat(public[frontier], repeats).astype(np.int64)
    from_public *= stride
    from_public += tree.action[children]
    keys, child_index = np.unique(from_public, return_inverse=True)
    counts.append(np.bincount(keys // stride - num_public, minlength=size))
    if np.any((actor >= 0) & (counts[-1] != count)):
      return None
    num_public += size
    public[children] = num_public + child_index
    for own in hands:
      own[children] = np.repeat(own[frontier], repeats)
    frontier = children
  if num_sets != tree.num_info_sets:  # a set has histories of different length
    return None
  return PublicTree(public, hands, tuple(num_hands), np.concatenate(actors),
                    np.concatenate(counts))


def _deal_nodes(tree):
  """Returns the nodes at which the deal is over, or None if a deal ends all."""
  frontier, found = np.array([0]), []
  while len(frontier):
    is_chance = tree.player[frontier] == game_tree.CHANCE
    found.append(frontier[~is_chance])
    frontier = np.concatenate(
        [np.arange(tree.child_begin[node], tree.child_begin[node + 1])
         for node in frontier[is_chance]] or [np.array([], dtype=np.int64)])
  found = np.concatenate(found)
  return found if np.all(tree.player[found] >= 0) else None


def _check_depth(tree, frontier, public, size, hands, num_hands):
  """Returns each public node's actor and number of actions, and counts sets.

  Returns None where histories of one public node differ in their actor or
  number of actions, or where the sets are not the hands at public nodes.
  """
  actor = np.full(size, -9)
  actor[public] = tree.player[frontier]
  if np.any(actor[public] != tree.player[frontier]):
    return None
  count = np.zeros(size, dtype=np.int64)
  num_actions = (tree.child_begin[frontier + 1] - tree.child_begin[frontier])
  count[public] = num_actions
  decides = actor[public] >= 0
  if np.any(count[public][decides] != num_actions[decides]):
    return None
  num_sets = 0
  for player in range(2):
    acts = actor[public] == player
    cell = (public[acts].astype(np.int64) * num_hands[player] +
            hands[player, acts])
    info_set = tree.info_set[frontier[acts]]
    pairs = len(np.unique(cell * tree.num_info_sets + info_set))
    if pairs != len(np.unique(cell)) or pairs != len(np.unique(info_set)):
      return None
    num_sets += pairs
  return actor, count, num_sets
