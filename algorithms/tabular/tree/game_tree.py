"""The tree of an OpenSpiel game as flat arrays, from one traversal.

Every compiled form of a game is made from this tree; no solver visits pyspiel
states.
"""

import copy
import hashlib

import numpy as np
import pyspiel

from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.tabular.tree import split_sets
from dudo_spiel.algorithms.tabular.tree import tree_size
from dudo_spiel.algorithms.tabular.tree import tree_walk

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = tree_walk.TERMINAL

# Sums over histories and iterations must stay finite, and so must squares.
_MAX_PAYOFF = {"float64": 1e100, "float32": 1e15}
_MAX_NODES = 2**31 - 2  # node numbers are int32
_CHECK_INTERVAL = 2**13  # histories between two looks at free memory
# Bytes of memory. `docs/solvers.md` has measurements.
_WALK_BYTES = 32  # of a history in the traversal
_NODE_BYTES = (35, 16)  # of a history in tree and form, and more per player
_SET_BYTES = 30  # of an information set in tree and form
_ENTRY_BYTES = 70  # of an action of a set; most of it is a solver's
_TEXT_GROWTH = 4  # the buffer of texts may grow by one part in so many at once
_SPARE_BYTES = 2**26


class GameTree:
  """The histories of a game and its information sets.

  Nodes are numbered in breadth-first order; the children of a node are
  consecutive, in the order of its actions. Information sets are numbered player
  by player.

  A game may be as large as memory allows. A game that is surely larger is
  refused before the traversal. During the traversal, the memory that the game
  will need is compared with the free memory.

  Args:
    game: a `pyspiel.Game` with sequential moves.
    max_nodes: largest allowed number of histories; None for as many as fit.
    node_bytes: bytes of memory of a history in all that is made of the tree;
      None for those of the forms and their solvers.

  Attributes:
    game: the `pyspiel.Game`.
    num_players: number of players.
    num_nodes: number of histories, terminal ones included.
    player: [node] int8, who acts: a player, CHANCE or TERMINAL.
    parent: [node] int32, -1 for the root.
    action: [node] int32, the action that leads to the node, -1 for the root.
    child_begin: [node + 1] int32, children of n are child_begin[n]..[n+1]-1.
    chance: [node] float64, probability of the edge to the node where its parent
      is a chance node, else 1.
    info_set: [node] int32, the information set, -1 where no player acts.
    depth_begin: [depth + 1] int64, the first node of each depth.
    returns: [node, player] float64, zero at all nodes that are not terminal.
    num_info_sets: number of information sets.
    info_states: the `info_states.InfoStates` of the sets, like a list of str.
    set_player: [set] int8, who acts there.
    set_actions: list of tuple, each set's legal actions.
    set_node: [set] int32, the first node of the set.
    is_split: whether `with_perfect_recall` has split the sets; OpenSpiel does
      not know the information states then.
    is_deal_form: whether the tree is from rules by which each set is a hand at
      a public node (`rules_tree.RulesTree.public_tree`).
  """

  is_split = False
  is_deal_form = False

  def __init__(self, game, max_nodes=None, node_bytes=None):
    check_game(game)
    self.game = game
    self.num_players = game.num_players()
    self._node_bytes = _bytes_of_node(game, node_bytes)
    max_nodes = _MAX_NODES if max_nodes is None else max_nodes
    self._check_size(max_nodes)
    walk = tree_walk.Walk(self.game)
    try:
      self._visit(walk, max_nodes)
      self._number_nodes(walk)
    except MemoryError as error:
      raise self._no_memory("memory ran out in the walk") from error

  def _check_size(self, max_nodes):
    """Raises a ValueError if the game is surely too large."""
    available = ram.available_bytes()
    limit = max_histories(self.game, max_nodes, self._node_bytes, available)
    if limit <= _CHECK_INTERVAL or (
        not tree_size.is_surely_larger(self.game, limit)):
      return  # with little memory the traversal ends soon
    if limit == max_nodes:
      raise _too_large(self.game, max_nodes)
    raise self._no_memory(f"it has more than {limit:,} histories", available)

  def _visit(self, walk, max_nodes):
    """Traverses, and raises a ValueError as soon as the game is too large."""
    with progress.progress_bar(desc="walking the game", unit=" histories",
                               delay=2) as bar:
      for count in walk.visit(_CHECK_INTERVAL):
        bar.update(count - bar.n)
        if count > max_nodes:
          raise _too_large(self.game, max_nodes)
        needed = (count * self._node_bytes + walk.sets.num_sets * _SET_BYTES +
                  walk.num_entries * _ENTRY_BYTES +
                  walk.sets.num_letters // _TEXT_GROWTH + _SPARE_BYTES)
        available = ram.available_bytes()
        if needed > available:
          raise self._no_memory(
              f"after {count:,} histories it needs {needed / 1e9:.1f} GB more",
              available)

  def _no_memory(self, why, available=None):
    """Returns the ValueError of a game that does not fit into memory."""
    have = "" if available is None else (
        f", but {available / 1e9:.1f} GB are available")
    return ValueError(f"game={self.game}: takes more memory than there is: "
                      f"{why}{have}; {_advice(self.game)}")

  def _number_nodes(self, walk):
    """Numbers the nodes of a traversal in breadth-first order."""
    release = vars(walk).pop  # so that each buffer is freed when it was used
    # Within a depth, preorder keeps siblings together.
    depths = np.asarray(release("depths"))
    order = np.argsort(depths, kind="stable")
    self.depth_begin = np.append(0, np.cumsum(np.bincount(depths)))
    del depths
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1  # the parent of the root
    self.num_nodes = len(order)
    self.parent = rank[np.asarray(release("parents"))[order]]
    self.action = np.asarray(release("actions"))[order]
    self.chance = np.asarray(release("chances"))[order]
    found = np.asarray(release("info_sets"))[order]
    players = np.asarray(release("players"))
    self.player = players[order]
    del order
    self.child_begin = child_begins(self.parent)
    self.returns = np.zeros((self.num_nodes, self.num_players))
    self.returns[rank[:-1][players == TERMINAL]] = np.asarray(
        release("returns")).reshape(-1, self.num_players)
    del rank, players
    check_payoffs(self.game, self.returns, "float64")
    self._number_sets(walk, found)

  def _number_sets(self, walk, found):
    """Numbers the sets player by player, in order of discovery.

    Args:
      walk: the `tree_walk.Walk`.
      found: [node] int32, its set in order of discovery, or -1.
    """
    self.info_states, self.set_player, legal, rank = walk.sets.finish()
    self.num_info_sets = len(self.info_states)
    distinct = list(walk.legal_actions)
    self.set_actions = [distinct[number] for number in legal.tolist()]
    self.info_set = np.append(rank, np.int32(-1))[found]
    # The first node, so that the set before it has a smaller one.
    acts = np.flatnonzero(self.info_set >= 0)[::-1]
    self.set_node = np.empty(self.num_info_sets, dtype=np.int32)
    self.set_node[self.info_set[acts]] = acts

  def fingerprint(self):
    """Returns a content hash of the tree."""
    digest = hashlib.sha256()
    for array in (self.player, self.parent, self.action, self.chance,
                  self.info_set, self.returns):
      digest.update(np.ascontiguousarray(array))
    for number in range(self.num_info_sets):
      digest.update(b"\n" if number else b"")
      digest.update(self.info_states.encoded(number))
    return digest.hexdigest()[:16]

  @property
  def payoffs(self):
    """Array of all returns."""
    return self.returns

  def last_own_actions(self, player):
    """Returns [node] int32, the node after the player's last action, or 0."""
    last = np.zeros(self.num_nodes, dtype=np.int32)
    for begin, end in zip(self.depth_begin[1:-1], self.depth_begin[2:]):
      parent = self.parent[begin:end]
      last[begin:end] = np.where(self.player[parent] == player,
                                 np.arange(begin, end), last[parent])
    return last

  def with_perfect_recall(self):
    """Returns the tree with sets split so that players have perfect recall."""
    tree = copy.copy(self)
    tree.is_split = True
    sets, tree.info_set = split_sets.split(self)
    tree.info_states = split_sets.SplitInfoStates(self.info_states, sets)
    tree.set_actions = [self.set_actions[old] for old in sets.original.tolist()]
    tree.num_info_sets = len(sets.node)
    entries = sum(map(len, tree.set_actions))
    ram.check("game", self.game,
              len(sets.node) * _SET_BYTES + entries * _ENTRY_BYTES,
              "to solve it with perfect recall", "a smaller game")
    tree.set_player = self.player[sets.node]
    tree.set_node = sets.node
    return tree

  def history(self, node):
    """Returns the actions that lead to the node."""
    actions = []
    while node > 0:
      actions.append(int(self.action[node]))
      node = self.parent[node]
    return actions[::-1]

  def state(self, node):
    """Returns the pyspiel state of the node."""
    state = self.game.new_initial_state()
    for action in self.history(node):
      state.apply_action(action)
    return state

  def chance_reach(self):
    """Returns [node] float64, the reach probability of chance."""
    reach = self.chance.copy()
    for begin, end in zip(self.depth_begin[1:-1], self.depth_begin[2:]):
      reach[begin:end] *= reach[self.parent[begin:end]]
    return reach


def child_begins(parent):
  """Returns `GameTree.child_begin` of the nodes with these parents."""
  begins = np.ones(len(parent) + 1, dtype=np.int32)
  begins[1:] += np.cumsum(np.bincount(parent[1:], minlength=len(parent)),
                          dtype=np.int32)
  return begins


def _bytes_of_node(game, node_bytes):
  """Returns the bytes of memory of a history in tree and form."""
  if node_bytes is not None:
    return node_bytes
  return _NODE_BYTES[0] + _NODE_BYTES[1] * game.num_players()


def max_histories(game, max_nodes=None, node_bytes=None, available=None):
  """Returns the largest number of histories that a game may have.

  Args:
    game: the `pyspiel.Game`.
    max_nodes: limit besides memory; None for none.
    node_bytes: bytes of memory of a history in all that is made of the tree;
      None for those of the forms and their solvers.
    available: number of free bytes; None asks the system.
  """
  if available is None:
    available = ram.available_bytes()
  room = available // (_WALK_BYTES + _bytes_of_node(game, node_bytes))
  limit = _MAX_NODES if max_nodes is None else max_nodes
  return int(min(room, limit, _MAX_NODES))


def _too_large(game, max_nodes):
  """Returns the ValueError of a game with too many histories."""
  return ValueError(f"game={game}: has more than {max_nodes:,} histories, too "
                    f"many to walk; {_advice(game)}")


def _sizes(game):
  """Returns the names of the parameters that may decide the size of a game.

  For a game made from another one, such as a turn-based game, these are the
  parameters of the other game.
  """
  kind, given = game.get_type(), game.get_parameters()
  kinds = {one.short_name: one for one in pyspiel.registered_games()}
  while "game" in kind.parameter_specification:
    given = given["game"]
    kind = kinds[given["name"]]
  is_fixed = kind.min_num_players == kind.max_num_players
  return [name for name, default in sorted(kind.parameter_specification.items())
          if type(default) is int and not (name == "players" and is_fixed)]


def _advice(game):
  """Returns advice about a game that is too large to walk."""
  kind = game.get_type()
  sizes = _sizes(game)
  advice = f"choose parameters that make it smaller ({', '.join(sizes)})" if (
      sizes) else "choose a smaller game"
  if kind.short_name in ("dudo", "dudo_ir") and game.num_players() == 2:
    return advice + ", or solve it round by round with fsicfr.MatchSolver"
  if kind.short_name in ("dudo_single_round", "dudo_single_round_ir"):
    return advice + (", or solve an abstraction with pfsi.PFSISolver or the "
                     "solvers of pass_through")
  return advice + (", or sample it with OpenSpiel's outcome_sampling_mccfr, "
                   "which walks one history at a time")


def check_payoffs(game, returns, dtype):
  """Raises a ValueError for payoffs with which sums in a dtype overflow."""
  limit = _MAX_PAYOFF[dtype]
  wrong = returns[~(np.abs(returns) <= limit)]
  if len(wrong):
    raise ValueError(f"game={game}: pays a player {wrong[0]}; payoffs must be "
                     f"between -{limit:g} and {limit:g} for {dtype} tables")


def check_game(game):
  """Raises a ValueError for a game that cannot be walked."""
  kind = game.get_type()
  if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
    raise ValueError(f"game={kind.short_name}: mean-field games are not "
                     "supported; choose a sequential game")
  if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
    raise ValueError(
        f"game={kind.short_name}: its moves are not sequential; convert it "
        "first with pyspiel.convert_to_turn_based(game) or load it as "
        "turn_based_simultaneous_game(game=...)")
  if not kind.provides_information_state_string:
    raise ValueError(
        f"game={kind.short_name}: it has no information states, so no policy "
        "can be defined on it; choose a game that provides them")
  if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
    raise ValueError(
        f"game={kind.short_name}: its chance nodes do not tell their outcomes; "
        "load it with explicit chance nodes")
