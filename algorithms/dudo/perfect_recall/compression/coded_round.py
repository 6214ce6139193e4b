"""A round of a policy with perfect recall as two streams of bytes."""

import threading

import numpy as np

from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.perfect_recall.compression import codec
from dudo_spiel.algorithms.dudo.perfect_recall.compression import quantize
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import ram


class CodedRound(stored_rounds.LazyRound):
  """A round in streams, which is decoded when it is first needed.

  Args:
    match: the `round_rules.RoundRules`.
    dice: (starter's dice, other's dice).
    nodes: how many nodes the tree has.
    rows: how many rows the tree has.
    num_quanta: into how many quanta the reach of a player was divided, over all
      of its hands.
    streams: two [byte] uint8, the tree and the table, by `codec.encode`.
    path: the file that the streams come from, for messages, if any.

  Attributes:
    size: [nodes, rows, num_quanta], as given.
    streams: as given.
  """

  is_quantized = True

  def __init__(self, match, dice, nodes, rows, num_quanta, streams, path=None):
    self._match = match
    self._dice = dice
    self.size = [nodes, rows, num_quanta]
    self.streams = streams
    self._path = path
    self._lock = threading.Lock()
    self._stored = None

  @property
  def num_coded_bytes(self):
    """How many bytes the streams have."""
    return sum(stream.nbytes for stream in self.streams)

  @property
  def num_bytes(self):
    """How many bytes of memory the round takes at present."""
    stored = self._stored
    return self.num_coded_bytes + (0 if stored is None else stored.num_bytes)

  def read(self):
    """Returns the `stored_rounds.StoredRound`, its table in uint16."""
    with self._lock:
      if self._stored is None:
        ram.check("path", repr(self._path), round_hands.num_bytes(
            self._match, self._dice, np.float64),
                  "its round {}v{}".format(*self._dice),
                  "a machine that has more")
        hands = round_hands.RoundHands(self._match, self._dice)
        self._stored = stored_rounds.StoredRound(hands, *codec.decode(
            hands, *self.size, self.streams, self._path))
      return self._stored


def compress(match, stored, num_quanta, flag):
  """Quantises and encodes a round.

  Args:
    match: the `round_rules.RoundRules`.
    stored: the `stored_rounds.StoredRound`, with a table of floats.
    num_quanta: as for `CodedRound`.
    flag: [1] bool; soon after it is set an `interrupts.StoppedError` is raised.

  Returns:
    (`CodedRound`, `stored_rounds.StoredRound`): the streams, and what they
    encode.
  """
  hands = stored.hands
  small = stored_rounds.StoredRound(
      hands, *quantize.quantized(*stored, num_quanta, flag))
  interrupts.check_flag(flag)
  streams = codec.encode(*small, num_quanta, flag)
  return CodedRound(match, hands.dice, small.tree.num_nodes,
                    len(small.tree.claim), num_quanta, streams), small
