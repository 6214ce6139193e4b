"""What a policy with perfect recall has of its rounds, and knows of them.

Rounds may be read when somebody asks for them: a `CodedRound` from its streams,
which is kept then, and others from a file (see `solver_file`).
"""

import collections
import threading
from typing import NamedTuple

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.perfect_recall.compression import codec
from dudo_spiel.algorithms.dudo.perfect_recall.compression import quantize

_ROUNDING = 1e-6  # of measured values
_MOST = 1.0 + _ROUNDING


class Measures(NamedTuple):
  """How good a policy is in the match from a round on, exactly.

  Attributes:
    low: what it gets at least when it starts.
    high: what a starter gets at most against it.
    value: what the starter gets if both play it.
  """
  low: float
  high: float
  value: float

  @property
  def exploitability(self):
    """Half the NashConv of the policy in the match from the round on."""
    return 0.5 * (self.high - self.low)


def measures_of(name, key, numbers):
  """Returns the `Measures` of a round, or raises a ValueError.

  Args:
    name: of the argument or field that they come from.
    key: (starter's dice, other's dice).
    numbers: low, high and value.
  """
  found = Measures(*(validation.number(name, number, -_MOST, _MOST)
                     for number in numbers))
  if not found.low - _ROUNDING <= found.value <= found.high + _ROUNDING:
    raise ValueError(f"{name}: {key[0]}v{key[1]} must have a value between low "
                     "and high")
  return found


def checked_measures(measures, rounds):
  """Returns a copy of measures, or raises a ValueError.

  Args:
    measures: must be {round: `Measures`}, or None.
    rounds: {round: anything}, the rounds that there are.
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
  for key, found in measures.items():
    if not isinstance(found, Measures):
      raise ValueError(f"measures={validation.shown(measures)}: must have "
                       "Measures, as RecallPolicy.measure returns them")
    measures_of("measures", key, found)
  return dict(measures)


class LazyRound:
  """A round that is read when somebody asks for it."""

  num_bytes = 0  # of memory that it takes now

  def tables(self):
    """Returns (hands, `growing_tree.TreeArrays`, [number])."""
    raise NotImplementedError


class CodedRound(LazyRound):
  """A round in streams, read when it is first asked for.

  Args:
    match: the `rounds.MatchRules`.
    dice: (starter's dice, other's dice).
    nodes: how many nodes its tree has.
    rows: how many rows.
    num_shares: see `quantize.share_arrays`.
    streams: two [byte] uint8, by `codec.encode`.
    path: the file that they come from, for messages.
  """

  def __init__(self, match, dice, nodes, rows, num_shares, streams, path=None):
    self._match = match
    self._dice = dice
    self.size = [nodes, rows, num_shares]
    self.streams = streams
    self._path = path
    self._lock = threading.Lock()
    self._tables = None

  @property
  def num_coded(self):
    """How many bytes its streams have."""
    return sum(stream.nbytes for stream in self.streams)

  @property
  def num_bytes(self):
    """How much memory it takes now."""
    tables = self._tables
    total = self.num_coded
    return total if tables is None else (
        total + tables[1].num_bytes + tables[2].nbytes)

  def tables(self):
    """Returns (hands, `growing_tree.TreeArrays`, [number] uint16)."""
    with self._lock:
      if self._tables is None:
        hands = round_hands.RoundHands(self._match, self._dice)
        self._tables = hands, *codec.decode(hands, *self.size,
                                                  self.streams, self._path)
      return self._tables


def coded(match, dice, tables, num_shares, flag):
  """Returns a round in shares: its `CodedRound`, its tree and its weights.

  Args:
    match: the `rounds.MatchRules`.
    dice: (starter's dice, other's dice).
    tables: (hands, `growing_tree.TreeArrays`, [number] float).
    num_shares: how many shares.
    flag: [1] bool, stops it: it raises `round_trainer.StoppedError`.
  """
  hands, tree, table = tables
  small, weights = quantize.in_shares(hands, tree, table, num_shares, flag)
  if flag[0]:
    raise round_trainer.StoppedError
  streams = codec.encode(hands, small, weights, num_shares, flag)
  return CodedRound(match, dice, small.num_nodes, len(small.claim), num_shares,
                    streams), small, weights


class RoundTables(collections.abc.Mapping):
  """{round: (hands, tree, table)}, where lazy rounds are read on demand.

  Args:
    rounds: {round: (hands, tree, table) or `LazyRound`}.

  Attributes:
    raw: as given.
  """

  def __init__(self, rounds):
    self.raw = dict(rounds)

  def __getitem__(self, key):
    """Returns (hands, tree, table) of a round."""
    found = self.raw[key]
    return found.tables() if isinstance(found, LazyRound) else found

  def __contains__(self, key):
    """Returns whether there is a round, without reading it."""
    return key in self.raw

  def __iter__(self):
    """Returns an iterator over the rounds."""
    return iter(self.raw)

  def __len__(self):
    """Returns how many rounds there are."""
    return len(self.raw)
