"""The graph of `dudo_single_round`, from its rules.

Gendre & Kaneko (2019), section 3.3.1: two states are one node if neither the
players nor the rules distinguish them. For each situation (claim, past,
claimer; see `single_round_layout`) there is one node for all decisions to pass
or to challenge, and one where the next player claims. A forced challenge is no
node. All deals share the graph.
"""

import numpy as np

from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.dudo_single_round import single_round_policy
from dudo_spiel.algorithms.graphs import game_graph
from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_solver

_MAX_WALKED = 5_000_000  # histories, a traversal of two minutes
_MAX_FLOAT32_CLAIMS = 100  # up to 2^claims paths are counted in this type


def make_graph(game, abstraction=None, recall_length=None):
  """Returns the `game_graph.Graph` of a game.

  Args:
    game: a `pyspiel.Game`: `dudo_single_round` or an abstraction of it, whose
      graph follows from the rules, or another game, which is walked.
    abstraction: of `dudo_single_round`, one of
      `single_round_layout.ABSTRACTIONS` or None for the default; None for any
      other game.
    recall_length: number of values that the abstraction remembers, or None for
      the default; None for any other game.
  """
  if single_round_layout.is_single_round(game):
    return SingleRoundGraph(single_round_layout.SetLayout(
        single_round_layout.abstract_game(game, abstraction, recall_length)))
  for name, value in (("abstraction", abstraction),
                      ("recall_length", recall_length)):
    if value is not None:
      raise ValueError(f"{name}={value!r}: must be None, as {game} is not "
                       "dudo_single_round")
  return game_graph.walked_graph(game)


def training_graph(game, abstraction, recall_length, dtype):
  """Returns what `make_graph` does, if the tables of a solver fit into memory.

  The size of `dudo_single_round` is counted from its rules. So a game that is
  too large is refused before its information sets are listed.

  Args:
    game: the `pyspiel.Game`.
    abstraction: of `dudo_single_round`; None for the default.
    recall_length: of `dudo_single_round`; None for the default.
    dtype: the type of the tables; None for the graph's default.
  """
  if single_round_layout.is_single_round(game):
    sizes = single_round_layout.LayoutSizes(
        single_round_layout.abstract_game(game, abstraction, recall_length))
    graph_solver.check_memory(game, sizes.num_rolls * sizes.count_entries(),
                              _table_dtype(sizes, dtype))
  return make_graph(game, abstraction, recall_length)


def _table_dtype(sizes, dtype):
  """Returns float32 as the default, unless there are too many claims."""
  is_large = sizes.num_claims > _MAX_FLOAT32_CLAIMS
  if is_large and dtype == "float32":
    raise ValueError(f"dtype='float32': must be 'float64' with more than "
                     f"{_MAX_FLOAT32_CLAIMS} claims; {sizes.game} has "
                     f"{sizes.num_claims}")
  return dtype or ("float64" if is_large else "float32")


class SingleRoundGraph(game_graph.Graph):
  """The graph of single-round Dudo, with a column of entries for each roll.

  After the root, the first claim, come for each claim first the decisions in
  each of its situations, by past and claimer, then the next claims.

  Attributes:
    layout: the `single_round_layout.SetLayout`, as given.
  """

  def __init__(self, layout):
    self.layout = layout
    builder = _GraphBuilder(layout)
    super().__init__(layout.game, builder.arrays(), builder.returns(),
                     layout.set_entries(), layout.num_rolls, builder.dice())

  def _identifying_arrays(self):
    stride = np.array(self.arrays.stride)
    return (*super()._identifying_arrays(), self.arrays.deciders, stride,
            *self.dice, self.set_entry)

  def table_dtype(self, dtype):
    """Returns the name of the type that tables of this graph should have."""
    return _table_dtype(self.layout, dtype)

  def policy(self, weights, game):
    """Returns a `single_round_policy.SingleRoundPolicy`."""
    return single_round_policy.SingleRoundPolicy(
        game, np.maximum(weights, 0).reshape(self.num_columns, -1),
        self.layout)

  def compiled(self):
    """Returns the `compiled_game.CompiledGame`, if it is not too large."""
    cause = None
    num_deals = self.layout.num_rolls**self.num_players
    num_lines = single_round_layout.num_claim_lines(self.game)
    if num_deals * num_lines <= _MAX_WALKED:
      try:
        return super().compiled()
      except ValueError as error:
        cause = error
    raise ValueError(
        f"game={self.game}: has too many histories to walk, so that neither "
        "expected values nor the NashConv can be computed; call "
        "exploitability.best_response_rate(solver.average_policy(), seat) "
        "instead") from cause


class _GraphBuilder:
  """Numbers the nodes of single-round Dudo and makes its arrays."""

  def __init__(self, layout):
    self._layout = layout
    self._num_masks = 2**(layout.num_players - 1)
    # [claim, past, claimer]: the node of the decisions, or a terminal
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

  def arrays(self):
    """Returns the `graph_arrays.GraphArrays`."""
    layout = self._layout
    parts = [self._claims(-1, np.zeros(1, np.int64),
                          np.array([layout.num_players - 1]))]
    for claim in range(layout.first_forced):
      past, claimer = np.nonzero(layout.situations[claim + 1])
      parts += [self._decisions(claim, past, claimer),
                self._claims(claim, past, claimer)]
    return self._join(parts)

  def returns(self):
    """Returns [node or terminal, player] zeros: a deal decides the returns."""
    layout = self._layout
    num_terminals = layout.num_claims * layout.num_players * self._num_masks
    return np.zeros((self._num_nodes + num_terminals, layout.num_players))

  def dice(self):
    """Returns the `graph_arrays.DiceOutcomes`."""
    game = self._layout.game
    return graph_arrays.DiceOutcomes(
        np.cumsum(game.roll_table.probabilities),
        game.roll_table.counts.copy(),  # writable, as kernels expect
        game.order.quantities[:self._layout.num_claims].copy(), self._payoff())

  def _join(self, parts):
    """Returns the arrays of parts (actor, deciders, child, entry)."""
    actors, deciders, children, entries = zip(*parts)
    sizes = [len(actor) for actor in actors]
    degrees = [child.shape[1] for child in children]
    child_begin = np.append(0, np.cumsum(np.repeat(degrees, sizes)))
    return graph_arrays.GraphArrays(
        actor=np.concatenate(actors).astype(np.int8),
        deciders=np.repeat(np.array(deciders, np.int8), sizes),
        child_begin=child_begin.astype(np.int32),
        child=np.concatenate([child.ravel() for child in children]).astype(
            np.int32),
        entry=np.concatenate(entries).astype(np.int32), chance=np.zeros(0),
        stride=2 if self._layout.has_wait else 0,
        num_entries=self._layout.num_entries)

  def _decisions(self, claim, past, claimer):
    """Returns the part of the nodes where players decide about a claim."""
    layout = self._layout
    child = self._terminals(claim, claimer)
    child[:, 0] = self._nodes[claim, past, claimer] + len(past)
    return ((claimer + 1) % layout.num_players, layout.num_players - 1, child,
            layout.challenge_entry[claim, past, 0])

  def _claims(self, claim, past, claimer):
    """Returns the part of the nodes where the next player claims."""
    layout = self._layout
    following = (claimer + 1) % layout.num_players
    after = layout.after(past, claim)
    child = np.stack([self._nodes[stronger, after, following]
                      for stronger in layout.window(claim)], axis=1)
    return following, 0, child, layout.claim_entry[claim + 1, past]

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
