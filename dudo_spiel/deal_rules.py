"""Rules as tables, for games that deal private hands and then play in public.

In such a game the public tree is the same for all deals. Its nodes are lines:
sequences of public actions. A line and two hands determine a history. So the
rules are a few small tables, even with millions of histories, and solvers are
built from them without a traversal of the game tree.

A game of this package returns them from its method `deal_rules` (see
`games.base.Game`).
"""

import abc
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib

END = -4  # the actor of a line that has ended, OpenSpiel's TERMINAL


class Lines(NamedTuple):
  """The public tree: all lines in breadth-first order, the empty one first.

  The children of a line are adjacent, and their actions are consecutive.

  Attributes:
    depth_begin: [depth + 1] int64, the first line of each depth.
    parent: [line] int64, -1 for the root.
    action: [line] int64, the action that leads to the line, -1 for the root.
    actor: [line] int64, the player to act, END where the line has ended.
    table: [line] int64, the table of `DealRules.returns` of an ended line, -1
      for others.
  """
  depth_begin: np.ndarray
  parent: np.ndarray
  action: np.ndarray
  actor: np.ndarray
  table: np.ndarray


def grow_lines(first: tuple[int, ...],
               legal: Callable[..., tuple[np.ndarray, np.ndarray]],
               step: Callable[..., tuple[np.ndarray, ...]]) -> Lines:
  """Returns the `Lines` of a game.

  The state of a line is a tuple of integers. The first is the actor or END, the
  second the table of returns or -1, and the game chooses the others.

  Args:
    first: tuple of int, the state of the empty line.
    legal: legal(*states) takes an array [line] int64 for each integer of the
      states and returns (begin, end): line l has the actions
      begin[l]..end[l]-1.
    step: step(*states, action) takes the states of lines and action, [line]
      int64, and returns the states after the actions, a tuple of arrays.
  """
  states = tuple(np.array([number]) for number in first)
  parent = action = np.array([-1])
  columns, begin_of = [], [0]
  while len(parent):
    columns.append((parent, action, *states[:2]))
    begin_of.append(begin_of[-1] + len(parent))
    begin, end = legal(*states)
    count = np.where(states[0] == END, 0, end - begin)
    sources = np.repeat(np.arange(len(parent)), count)
    parent = begin_of[-2] + sources
    action = np.arange(len(sources)) - np.repeat(
        np.cumsum(count) - count - begin, count)
    states = step(*(state[sources] for state in states), action)
  return Lines(np.array(begin_of), *map(np.concatenate, zip(*columns)))


class DealRules(abc.ABC):
  """The rules of a two-player game that deals first and then plays in public.

  Chance makes independent draws, whose outcomes are the actions 0, 1, 2 and so
  on. Deals are numbered in lexicographic order of their outcomes. A player's
  information state is the text of the hand and then the text of the line.

  The constructor is cheap, however large the game: the methods make the tables.

  Attributes:
    draws: list of [outcome] float64, the probabilities of each draw.
    num_hands: (int, int), how many different hands each player may have.
    num_lines: how many lines there are.
    num_tables: how many tables of returns there are.
    forgets: whether different lines may have the same text, so that players
      have imperfect recall.
  """

  draws: Sequence[np.ndarray] = ()
  num_hands = (0, 0)
  num_lines = num_tables = 0
  forgets = False

  @abc.abstractmethod
  def hands(self) -> np.ndarray:
    """Returns [player, deal] int64, the hands."""

  @abc.abstractmethod
  def hand_texts(self, player: int) -> list[str]:
    """Returns a list of str, the texts of a player's hands, all different."""

  @abc.abstractmethod
  def lines(self) -> Lines:
    """Returns the `Lines`."""

  @abc.abstractmethod
  def line_texts(self, lines: Lines) -> list[str]:
    """Returns a list of str, the texts of lines; those that end have any."""

  @abc.abstractmethod
  def returns(self) -> np.ndarray:
    """Returns [table, player, hand of 0, hand of 1] float64."""


class ClaimRules(DealRules):
  """Hidden dice, increasing claims, and a challenge that ends the game.

  Claims are the actions 0..n-1, the challenge is action n. A claim says that at
  least `quantity` dice count for a rank. The challenger wins if that is false,
  otherwise the claimant. A subclass has the dice.

  Args:
    claims: list of (quantity, rank - 1), by strength.
    names: list of str, the names of the claims.
    texts: (str, str, str): the text of the empty line, the prefix of the first
      claim's name, and the separator of names.
    starter: the player who claims first.
    recall: how many of the last claims players remember; None for all.
    payoffs: (float, float), the returns of the winner and the loser.
  """

  def __init__(self, claims: Sequence[tuple[int, int]], names: Sequence[str],
               texts: tuple[str, str, str], *, starter: int = 0,
               recall: int | None = None,
               payoffs: tuple[float, float] = (1.0, -1.0)) -> None:
    # All sets of claims, and a challenge after each but the empty one.
    self.num_lines = 2**(len(claims) + 1) - 1
    self.num_tables = 2 * len(claims)
    # With recall n-1 only the first of all n claims is ever forgotten. The line
    # without it has one claim fewer, so the other player acts there.
    self.forgets = recall is not None and recall < len(claims) - 1
    self._claims, self._names, self._texts = claims, names, texts
    self._starter, self._recall, self._payoffs = starter, recall, payoffs

  @abc.abstractmethod
  def matches(self, player: int) -> np.ndarray:
    """Returns [hand, rank] int, how many of a hand's dice count for a rank."""

  def lines(self) -> Lines:
    """Returns the `Lines`."""
    count = len(self._claims)

    def legal(actor, table, last):
      del actor, table
      return last + 1, np.where(last < 0, count, count + 1)

    def step(actor, table, last, action):
      del table
      ends = action == count
      return (np.where(ends, END, 1 - actor),
              np.where(ends, 2 * last + actor, -1), action)

    return grow_lines((self._starter, -1, -1), legal, step)

  def line_texts(self, lines: Lines) -> list[str]:
    """Returns a list of str, the texts of lines."""
    head, first, between = self._texts
    names, recall = self._names, self._recall
    if recall is not None:
      return [head + (first + between.join(made) if made else "")
              for made in self._remembered(lines, recall)]
    texts = [head]
    for parent, action in zip(lines.parent[1:].tolist(),
                              lines.action[1:].tolist()):
      text = texts[parent]
      if action < len(names):
        text += (between if text is not head else first) + names[action]
      texts.append(text)
    return texts

  def _remembered(self, lines, recall):
    """Returns a list of tuples, the names of the last claims of each line."""
    claims = [()]
    for parent, action in zip(lines.parent[1:].tolist(),
                              lines.action[1:].tolist()):
      made = claims[parent]
      if action < len(self._names):
        made = (*made, self._names[action])[-recall:]
      claims.append(made)
    return claims

  def returns(self) -> np.ndarray:
    """Returns [table, player, hand of 0, hand of 1] float64.

    Table 2 c + p is for claim c, challenged by player p.
    """
    quantity, rank = np.array(self._claims).T
    own, other = (self.matches(player)[:, rank].T for player in range(2))
    holds = own[:, :, None] + other[:, None, :] >= quantity[:, None, None]
    won, lost = self._payoffs
    returns = np.empty((len(quantity), 2, 2, *holds.shape[1:]))
    for challenger in range(2):
      returns[:, challenger, challenger] = np.where(holds, lost, won)
      returns[:, challenger, 1 - challenger] = np.where(holds, won, lost)
    return returns.reshape(-1, *returns.shape[2:])


class RollRules(ClaimRules):
  """Claims about two rolls, each of which is one draw.

  Args:
    table: the `rolls.RollTable` of each player's dice.
    order: the `claims.ClaimOrder`.
    head: the text of the empty line.
    **options: `starter`, `recall` and `payoffs` of `ClaimRules`.
  """

  def __init__(self, table: rolls_lib.RollTable, order: claims_lib.ClaimOrder,
               head: str, **options: Any) -> None:
    super().__init__([(quantity, rank - 1) for quantity, rank in order.claims],
                     order.names, (head, " claims:", ","), **options)
    self.draws = [table.probabilities] * 2
    self.num_hands = (table.num_rolls,) * 2
    self._table, self._wild_ones = table, order.wild_ones

  def hands(self) -> np.ndarray:
    """Returns [player, deal] int64, the hands."""
    return np.indices(self.num_hands).reshape(2, -1)

  def hand_texts(self, player: int) -> list[str]:
    """Returns a list of str, the texts of a player's hands."""
    return [f"p{player} roll:{rolls_lib.hand_name(hand)}"
            for hand in self._table.hands]

  def matches(self, player: int) -> np.ndarray:
    """Returns [hand, rank] int, how many of a hand's dice count for a rank."""
    return self._table.matches(self._wild_ones)
