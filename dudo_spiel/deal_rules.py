"""Games that deal hands in private and then play in public, by their rules.

In such a game the play after the deal is the same for all deals: a tree of
lines, where a line is what both players have seen. A line and two hands tell
everything. So the rules are a few small tables, even where there are millions
of histories, and solvers can be made from them without a walk.
"""

import abc
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np

from dudo_spiel import claims as claims_lib
from dudo_spiel import rolls as rolls_lib

END = -4  # who acts where a line ends, the number that OpenSpiel has for it


class Lines(NamedTuple):
  """The public tree: all lines of play, level by level, the empty one first.

  The children of a line follow each other in the order of their actions, which
  are neighbouring numbers.

  Attributes:
    depth_begin: [depth + 1] int64, the first line of each depth.
    parent: [line] int64, -1 for the first.
    action: [line] int64, the action that leads to the line, -1 for the first.
    actor: [line] int64, who acts, END where the line ends.
    table: [line] int64, which table of `DealRules.returns` an ended line has,
      -1 where it goes on.
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

  What a rule has to know of a line is its state, a few whole numbers. The first
  two are the actor and the table, see `Lines`.

  Args:
    first: tuple of int, the state of the empty line.
    legal: function of the states, an array [line] for each number, that returns
      (begin, end): the actions of line l are begin[l]..end[l]-1.
    step: function of the states of lines and one action for each that returns
      the states after these actions, a tuple of arrays.
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
  """The rules of a game of two that deals first and then plays in public.

  Chance draws one outcome after the other, whatever it drew before. Its
  outcomes are the actions 0, 1, 2 and so on. Deals are numbered in the order of
  their outcomes, so that the last draw changes fastest. A player's information
  state is the text of the hand and then the text of the line.

  Making an object takes no time, however large the game. Its attributes are
  known then; the tables are made by the methods.

  Attributes:
    draws: list of [outcome] float64, the probabilities of each draw.
    num_hands: (int, int), how many hands each player may have.
    num_lines: how many lines there are.
    num_tables: how many tables of returns there are.
    forgets: whether different lines may have the same text, so that a player
      cannot tell them apart.
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
    """Returns a list of str, the texts of lines; those that end have any.

    Args:
      lines: the `Lines`.
    """

  @abc.abstractmethod
  def returns(self) -> np.ndarray:
    """Returns [table, player, hand of 0, hand of 1] float64."""


class ClaimRules(DealRules):
  """Hidden dice, claims of which each is stronger than the last, a challenge.

  Claims are the actions 0..n-1, the challenge is action n. A claim says that at
  least so many dice count for a rank. The challenger wins if that is wrong,
  else the claimant. A subclass has the dice.

  Args:
    claims: list of (quantity, number of the rank), by strength.
    names: list of str, the names of the claims.
    texts: (str, str, str): the text of the empty line, what comes before the
      first claim's name, and what stands between names.
    starter: who claims first.
    recall: how many of the last claims players remember; None for all.
    payoffs: what the winner and the loser get.
  """

  def __init__(self, claims: Sequence[tuple[int, int]], names: Sequence[str],
               texts: tuple[str, str, str], *, starter: int = 0,
               recall: int | None = None,
               payoffs: tuple[float, float] = (1.0, -1.0)) -> None:
    # All sets of claims, and a challenge after each but the empty one.
    self.num_lines = 2**(len(claims) + 1) - 1
    self.num_tables = 2 * len(claims)
    # Of two lines that differ in the first claim only, one has one claim more:
    # so another player acts there.
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

    Table 2 c + p is that of claim c, challenged by player p.
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
    **options: see `ClaimRules`.
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
    del player
    return self._table.matches(self._wild_ones)
