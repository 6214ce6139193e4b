"""The rounds of a policy with perfect recall, and their measures.

A `StoredRound` is the policy of one round: a tree of histories and a table of
weights. A `LazyRound` reads one when it is needed, from a stream of bytes
(`compression.coded_round`) or from a file (`solver_file`).
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands

_ROUNDING = 1e-6  # of measured values
_MAX_VALUE = 1.0 + _ROUNDING


class StoredRound(NamedTuple):
  """The policy of both players in one round.

  Attributes:
    hands: the `round_hands.RoundHands`.
    tree: the `growing_tree.TreeArrays`, the histories that are stored. The
      policy says Dudo after all others.
    table: [entry] float32, float64 or uint16. The probabilities of the actions
      of a hand are proportional to their positive entries.
  """
  hands: round_hands.RoundHands
  tree: growing_tree.TreeArrays
  table: np.ndarray

  @property
  def num_bytes(self):
    """How many bytes of memory the tree and the table take."""
    return self.tree.num_bytes + self.table.nbytes

  @property
  def is_quantized(self):
    """Whether the table has quanta, which are integers."""
    return self.table.dtype.kind == "u"

  def read(self):
    """Returns the round itself, as a `LazyRound` does."""
    return self

  def as_float(self):
    """Returns the round with a table of floats, as most kernels need it."""
    return (self._replace(table=self.table.astype(np.float32))
            if self.is_quantized else self)

  def after_claims(self, claims):
    """Returns the actions after some claims, and their probabilities.

    Args:
      claims: list of int, first to last.

    Returns:
      (list of int, [action, hand] float64): the claims that are stored, the
      number of claims for Dudo, and their probabilities with each hand. All
      other actions have probability 0.
    """
    hands, tree = self.hands, self.tree
    role = len(claims) % 2
    node = growing_tree.find(tree, claims)
    if node < 0:
      return [hands.order.num_claims], np.ones(
          (1, hands.num_hands[role]))
    actions = tree.claim[tree.row_begin[node]:tree.row_begin[node + 1]]
    return actions.tolist(), hand_vectors.probabilities(
        tree, self.table, node)[:, :hands.num_hands[role]]


class LazyRound:
  """A round that is read when it is needed.

  Attributes:
    num_bytes: how many bytes of memory it takes at present.
    is_quantized: whether its table has quanta.
  """

  num_bytes = 0
  is_quantized = False

  def read(self):
    """Returns the `StoredRound`."""
    raise NotImplementedError


class Measures(NamedTuple):
  """How good a policy is in the match from a round on, exactly.

  Attributes:
    low: the least that the policy gets as the starter, against a best response.
    high: the most that a starter gets against the policy.
    value: what the starter gets if both players play the policy.
  """
  low: float
  high: float
  value: float

  @property
  def exploitability(self):
    """Half the NashConv of the policy in the match from the round on."""
    return 0.5 * (self.high - self.low)


def checked_round_measures(name, dice, item):
  """Returns the `Measures` of a round, or raises a ValueError.

  Args:
    name: the argument or field that they come from, for messages.
    dice: (starter's dice, other's dice).
    item: low, high and value.
  """
  low, high, value = (validation.number(name, number, -_MAX_VALUE, _MAX_VALUE)
                      for number in item)
  if not low - _ROUNDING <= value <= high + _ROUNDING:
    raise ValueError(f"{name}: {dice[0]}v{dice[1]} must have a value between "
                     "low and high")
  return Measures(low, high, value)


def checked_measures(measures, rounds):
  """Returns a copy of a policy's measures, {} for None, or raises a ValueError.

  Args:
    measures: must be {(starter's dice, other's dice): `Measures`}, or None.
    rounds: dict with the rounds of the policy as keys.
  """
  if measures is None:
    return {}
  if not isinstance(measures, dict):
    raise ValueError(f"measures={validation.shown(measures)}: must be a dict "
                     "by rounds, or None")
  if measures and measures.keys() != rounds.keys():
    raise ValueError(f"measures={validation.shown(measures)}: must be of all "
                     "rounds of the policy, as RecallPolicy.measure returns "
                     "them")
  for dice, entry in measures.items():
    if not isinstance(entry, Measures):
      raise ValueError(f"measures={validation.shown(measures)}: must have "
                       "Measures, as RecallPolicy.measure returns them")
    checked_round_measures("measures", dice, entry)
  return dict(measures)
