"""A graph as arrays that kernels can take, and the outcomes of the dice."""

from typing import NamedTuple

import numpy as np
import pyspiel

CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)


class GraphArrays(NamedTuple):
  """A graph as arrays that kernels can take, in topological order.

  `game_graph` defines the nodes. The root is node 0. The edges of node n are
  child_begin[n]..[n + 1] - 1, in the order of its actions or outcomes. The
  entries of an information set, one per action, are consecutive.

  Attributes:
    actor: [node] int8, who acts (first): a player, CHANCE or TERMINAL.
    deciders: [node] int8, number of players who decide one after the other
      without seeing each other's decisions; 0 at all other nodes.
    child_begin: [node + 1] int32, the first edge of each node.
    child: [edge] int32, the node or terminal to which it leads.
    entry: [node] int32: where a player acts, the first entry of the information
      set in the player's column; at chance nodes, where their probabilities
      begin in `chance`; -1 at terminals.
    chance: [edge of a chance node] float64, its probability.
    stride: distance between the entries of consecutive deciders.
    num_entries: number of entries of a column.
  """
  actor: np.ndarray
  deciders: np.ndarray
  child_begin: np.ndarray
  child: np.ndarray
  entry: np.ndarray
  chance: np.ndarray
  stride: int
  num_entries: int


class DiceOutcomes(NamedTuple):
  """The outcomes of the dice of a deal; empty arrays for a walked game.

  Attributes:
    distribution: [roll] float64, the distribution function of rolls.
    counts: [roll, value - 1] int32, number of dice that show the value.
    amounts: [claim] int32, number of dice that it claims.
    payoff: [is true, claimer, mask, player] float64, the returns when the
      players of the mask have challenged; the last to decide is its lowest bit.
  """
  distribution: np.ndarray
  counts: np.ndarray
  amounts: np.ndarray
  payoff: np.ndarray


NO_DICE = DiceOutcomes(np.zeros(0), np.zeros((0, 0), np.int32),
                       np.zeros(0, np.int32), np.zeros((0, 0, 0, 0)))
