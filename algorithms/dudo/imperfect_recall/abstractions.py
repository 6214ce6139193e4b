"""What players may remember of the claims of a round of Dudo.

Neller & Hnath (2011), section 2.1, let players remember the last m claims, and
leave open which other abstraction is better. Here are theirs and others.

All of them keep the last claim, which decides what can be claimed next. What is
kept of the claims before it is the *past*, a few whole numbers. A new claim
turns a past and the claim that was the last until then into the next past. So
an abstraction is little more than this one function, for many pasts at once.
`abstraction_graph` makes the graph of it.

Abstractions have names, which users, flags and files have in common:

  claims3: the last three claims, and so on for any number.
  claims2_ranks1: the last two claims, and the rank of the claim before them.
  claims2_ranks2: the last two claims, and the ranks of the two before them, and
    so on for any two numbers.
  player_ranks: the last claim, and which ranks each player had claimed before.
"""

import dataclasses
import math
import re
from typing import Any

import numpy as np

from dudo_spiel import validation

_NOTHING = -1  # in a past: there was no such claim
_LAST_CLAIMS = re.compile(r"claims([1-9]\d{0,8})(?:_ranks([1-9]\d{0,8}))?")
_PLAYER_RANKS = "player_ranks"
_ALLOWED = (
    "a number of claims; a name such as 'claims3' (the last 3 claims), "
    "'claims2_ranks2' (the last 2 claims, and the ranks of the 2 before them), "
    f"both with any numbers, or {_PLAYER_RANKS!r} (the last claim, and which "
    "ranks each player had claimed before); or an object, LastClaims(claims, "
    "ranks) or PlayerRanks()")


class Abstraction:
  """An abstraction. Equal ones are equal, and can be keys of a dict.

  Attributes:
    name: str, by which `parse` finds it.
    text: what players remember, in words.
    span: how many of the last claims suffice to know what is remembered, may be
      inf.
    num_exact: how many of the last claims are remembered exactly.
  """

  name: str
  text: str
  span: float
  num_exact: int

  @property
  def argument(self) -> tuple[str, Any]:
    """(name, value) of the argument by which users ask for it."""
    return "memory", repr(self.name)

  @property
  def identity(self) -> dict[str, Any]:
    """What files say about it."""
    return {"memory": self.name, "recall_length": None}

  def within(self, num_claims: int) -> "Abstraction":
    """Returns an abstraction that is the same with this many claims."""
    del num_claims
    return self

  def first_past(self) -> np.ndarray:
    """Returns [column] int64, the past of the first claim of a round."""
    raise NotImplementedError

  def next_pasts(self, pasts: np.ndarray, claim: int,
                 ranks: np.ndarray) -> np.ndarray:
    """Returns [past, column] int64, the pasts of the claims that follow.

    Args:
      pasts: [past, column] int64.
      claim: the last claim, the same for all.
      ranks: [claim] int, the ranks of all claims of the round.
    """
    raise NotImplementedError

  def num_pasts(self, num_claims: int) -> list[int] | None:
    """Returns how many pasts each last claim has, or None if that is not known.

    Args:
      num_claims: how many claims the round has.
    """
    del num_claims


@dataclasses.dataclass(frozen=True)
class LastClaims(Abstraction):
  """The last claims, and the ranks of a few claims before them.

  The columns of a past are first those ranks and then the claims, the oldest
  first.

  Attributes:
    claims: how many of the last claims are remembered exactly.
    ranks: of how many claims before these the rank is remembered.
    by_memory: whether users asked for it by `memory`, not by `recall_length`;
      for messages only.

  Example:
    >>> from dudo_spiel.algorithms import fsicfr
    >>> fsicfr.LastClaims(2, ranks=2).name
    'claims2_ranks2'
  """
  claims: int
  ranks: int = 0
  by_memory: bool = dataclasses.field(default=False, compare=False, repr=False)

  def __post_init__(self):
    """Checks the numbers, and sets what follows from them."""
    claims = validation.integer("claims", self.claims, 1)
    ranks = validation.integer("ranks", self.ranks, 0)
    text = "the last claim" if claims == 1 else f"the last {claims} claims"
    before = "it" if claims == 1 else "them"
    if ranks == 1:
      text += f" and the rank of the one before {before}"
    elif ranks:
      text += f" and the ranks of the {ranks} before {before}"
    name = f"claims{claims}" + f"_ranks{ranks}" * (ranks > 0)
    for attribute, value in {
        "claims": claims, "ranks": ranks, "name": name, "text": text,
        "span": claims + ranks, "num_exact": claims}.items():
      object.__setattr__(self, attribute, value)

  @property
  def argument(self) -> tuple[str, Any]:
    """(name, value) of the argument by which users ask for it."""
    return (super().argument if self.ranks or self.by_memory else
            ("recall_length", self.claims))

  @property
  def identity(self) -> dict[str, Any]:
    """What files say about it."""
    return super().identity if self.ranks else {
        "memory": None, "recall_length": self.claims}

  def within(self, num_claims: int) -> "Abstraction":
    """Returns an abstraction that is the same with this many claims."""
    claims = min(self.claims, num_claims)
    return LastClaims(claims, min(self.ranks, num_claims - claims))

  def first_past(self) -> np.ndarray:
    """Returns [column] int64, the past of the first claim of a round."""
    return np.full(self.claims + self.ranks - 1, _NOTHING)

  def next_pasts(self, pasts: np.ndarray, claim: int,
                 ranks: np.ndarray) -> np.ndarray:
    """Returns [past, column] int64, the pasts of the claims that follow."""
    longer = np.column_stack([pasts, np.full(len(pasts), claim)])
    after = longer[:, 1:].copy()
    if self.ranks:  # of the oldest claim that was exact only the rank is kept
      oldest = after[:, self.ranks - 1]
      after[:, self.ranks - 1] = np.where(oldest == _NOTHING, _NOTHING,
                                          ranks[oldest])
    return after

  def num_pasts(self, num_claims: int) -> list[int] | None:
    """Returns how many pasts each last claim has, or None with ranks."""
    if self.ranks:
      return None
    return [sum(math.comb(last, k) for k in range(min(self.claims, last + 1)))
            for last in range(num_claims)]


@dataclasses.dataclass(frozen=True)
class PlayerRanks(Abstraction):
  """The last claim, and which ranks each player had claimed before it.

  The columns of a past are the ranks of whoever made the last claim and those
  of the player who is to answer, as sets of bits.

  Example:
    >>> from dudo_spiel.algorithms import fsicfr
    >>> fsicfr.PlayerRanks().name
    'player_ranks'
  """

  name = _PLAYER_RANKS
  text = "the last claim and which ranks each player had claimed before it"
  span = math.inf
  num_exact = 1

  def first_past(self) -> np.ndarray:
    """Returns [column] int64, the past of the first claim of a round."""
    return np.zeros(2, np.int64)

  def next_pasts(self, pasts: np.ndarray, claim: int,
                 ranks: np.ndarray) -> np.ndarray:
    """Returns [past, column] int64, the pasts of the claims that follow."""
    claimant, other = pasts.T
    return np.column_stack([other, claimant | 1 << int(ranks[claim])])


def parse(argument, value):
  """Returns the `Abstraction` that a value stands for, or raises a ValueError.

  Args:
    argument: the name of the argument.
    value: a name (see the top of this file), a `LastClaims` or `PlayerRanks`,
      or how many of the last claims are remembered.
  """
  if isinstance(value, (LastClaims, PlayerRanks)):
    return value
  if isinstance(value, str):
    found = _LAST_CLAIMS.fullmatch(value)
    if found:
      return LastClaims(int(found[1]), int(found[2] or 0))
    if value == _PLAYER_RANKS:
      return PlayerRanks()
  else:
    try:
      return LastClaims(validation.integer(argument, value, 1))
    except ValueError:
      pass
  raise ValueError(f"{argument}={validation.shown(value)}: must be {_ALLOWED}")


def choose(recall_length, memory):
  """Returns the `Abstraction` that users ask for by two arguments.

  Args:
    recall_length: how many of the last claims are remembered, if `memory` is
      None.
    memory: what `parse` takes, or None.
  """
  if memory is not None:
    chosen = parse("memory", memory)
    return (dataclasses.replace(chosen, by_memory=True)
            if isinstance(chosen, LastClaims) else chosen)
  return LastClaims(validation.integer("recall_length", recall_length, 1))
