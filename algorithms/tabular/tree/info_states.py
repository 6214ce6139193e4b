"""Information states as text, kept in little memory.

A Python string takes 50 bytes besides its characters, and an entry of a
dictionary 100 more. Here all texts of a game are concatenated in one buffer,
and a hash table of 32-bit integers finds them: about 30 bytes per text.
"""

import collections.abc
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

ENCODING = ("utf-8", "surrogatepass")
_MIN_SLOTS = 2**10
_EMPTY = -1
_GROWTH = 1.25
_HASH_SEED = np.uint64(14695981039346656037)  # of the hash FNV-1a
_HASH_FACTOR = np.uint64(1099511628211)
_BITS = np.uint64(32)


class InfoStates(collections.abc.Sequence):
  """Texts, like a list of str.

  Args:
    text: bytes-like, all texts.
    begin: [index] int64, where each text begins.
    length: [index] int32, its number of bytes.
  """

  def __init__(self, text, begin, length):
    self._text = text
    self._begin, self._length = begin, length

  def __len__(self):
    """Returns the number of texts."""
    return len(self._begin)

  def __getitem__(self, number):
    """Returns a text, or a list of those of a slice."""
    if isinstance(number, slice):
      return [self[i] for i in range(*number.indices(len(self)))]
    return self.encoded(number).decode(*ENCODING)

  def encoded(self, number):
    """Returns a text as bytes."""
    begin = int(self._begin[number])
    return bytes(self._text[begin:begin + int(self._length[number])])

  def __eq__(self, other):
    """Returns whether another list has equal texts."""
    if not isinstance(other, (InfoStates, list)):
      return NotImplemented
    return len(self) == len(other) and all(map(str.__eq__, self, other))

  __hash__ = None

  def __repr__(self):
    """Returns the texts as a list would be written in a program."""
    return repr(list(self))


class _Sets(NamedTuple):
  """The sets of an index, as arrays that kernels can take.

  The arrays may be longer than the number of sets.

  Attributes:
    begin: [set] int64, where its text begins.
    length: [set] int32, number of bytes of the text.
    hash: [set] uint32, of the text and the player.
    player: [set] int8, who acts there.
    legal: [set] int32, the number of its tuple of legal actions.
  """
  begin: np.ndarray
  length: np.ndarray
  hash: np.ndarray
  player: np.ndarray
  legal: np.ndarray


class _Histories(NamedTuple):
  """The same of histories whose sets are looked up: arrays [history]."""
  length: np.ndarray
  player: np.ndarray
  legal: np.ndarray


class SetIndex:
  """Numbers information sets in order of discovery.

  A set is a player and an information state. There are `num_sets` so far.
  """

  def __init__(self):
    self.num_sets = 0
    self._text = bytearray()
    self._sets = _Sets(np.zeros(0, np.int64), np.zeros(0, np.int32),
                       np.zeros(0, np.uint32), np.zeros(0, np.int8),
                       np.zeros(0, np.int32))
    self._slots = np.full(_MIN_SLOTS, _EMPTY, np.int32)

  @property
  def num_letters(self):
    """Number of bytes of the texts."""
    return len(self._text)

  def add(self, players, info_states, legal):
    """Returns [history] int32, the set of each history.

    Args:
      players: [history] int8, who acts.
      info_states: list of str, the information states.
      legal: [history] int32, the numbers of their tuples of legal actions.

    Raises:
      DifferentActionsError: if histories of one set differ in these.
    """
    encoded = [text.encode(*ENCODING) for text in info_states]
    lengths = np.fromiter(map(len, encoded), np.int32, len(encoded))
    self._make_room(len(encoded))
    before = len(self._text)
    self._text += b"".join(encoded)
    letters = np.frombuffer(self._text, np.uint8)
    found = np.empty(len(encoded), np.int32)
    self.num_sets, used, wrong = _add(
        letters, before, _Histories(lengths, players, legal), self._sets,
        self.num_sets, self._slots, found)
    del letters  # a view keeps the buffer from changing its size
    del self._text[used:]
    if wrong >= 0:
      raise DifferentActionsError(info_states[wrong])
    return found

  def _make_room(self, count):
    """Makes room for a number of new sets."""
    max_sets = self.num_sets + count
    if max_sets > len(self._sets.begin):
      size = max(int(max_sets * _GROWTH), _MIN_SLOTS)
      self._sets = _Sets(*(np.pad(column, (0, size - len(column)))
                           for column in self._sets))
    if 2 * max_sets > len(self._slots):
      slots = len(self._slots)
      while slots < 2 * max_sets:
        slots *= 2
      self._slots = None  # freed before the new table is allocated
      self._slots = np.full(slots, _EMPTY, np.int32)
      _fill(self._sets.hash, self.num_sets, self._slots)

  def legal_since(self, first):
    """Returns `_Sets.legal` of the sets first, first + 1, ..."""
    return self._sets.legal[first:self.num_sets].copy()

  def finish(self):
    """Returns the sets player by player, in order of discovery.

    Returns:
      (info_states, players, legal, rank): the `InfoStates`; [set] int8, who
      acts; [set] int32, the numbers of the tuples of legal actions; and [set in
      order of discovery] int32, its new number.
    """
    sets = _Sets(*(column[:self.num_sets] for column in self._sets))
    order = np.argsort(sets.player, kind="stable")
    rank = np.empty(self.num_sets, np.int32)
    rank[order] = np.arange(self.num_sets, dtype=np.int32)
    info_states = InfoStates(self._text, sets.begin[order], sets.length[order])
    return info_states, sets.player[order], sets.legal[order], rank


class DifferentActionsError(ValueError):
  """Histories of an information state differ in their legal actions.

  Its only argument is the information state.
  """


# Kernels.


@jit.inline
def _hash(letters, begin, length, player):
  """Returns the hash of a player's text: FNV-1a, folded to 32 bits."""
  value = _HASH_SEED ^ np.uint64(player)
  for i in range(begin, begin + length):
    value = (value ^ np.uint64(letters[i])) * _HASH_FACTOR
  return np.uint32(value ^ (value >> _BITS))


@jit.inline
def _is_equal(letters, first, second, length):
  """Returns whether two texts of the same length are equal."""
  i = 0
  while i < length and letters[first + i] == letters[second + i]:
    i += 1
  return i == length


@jit.kernel
def _add(letters, base, histories, sets, num_sets, slots, found):
  """Finds or adds the sets of some histories; new texts stay in the buffer.

  Args:
    letters: [byte] uint8, the buffer, which has the texts of the histories from
      `base` on. New texts move to the front, the others are overwritten.
    base: where the texts of known sets end.
    histories: the `_Histories`.
    sets: the `_Sets`, modified in place, with room for all histories.
    num_sets: number of known sets.
    slots: [slot] int32, the hash table, modified in place, large enough.
    found: [history] int32, written: the set of each history.

  Returns:
    (num_sets, used, wrong): the new number of sets, where their texts end, and
    the first history whose legal actions are not those of its set, or -1.
  """
  mask = len(slots) - 1
  begin = used = base
  wrong = -1
  for i in range(len(found)):
    length, player = histories.length[i], histories.player[i]
    value = _hash(letters, begin, length, player)
    slot = np.int64(value) & mask
    while True:
      number = slots[slot]
      if number == _EMPTY:
        number = slots[slot] = num_sets
        num_sets += 1
        for k in range(length):
          letters[used + k] = letters[begin + k]
        sets.begin[number], sets.length[number] = used, length
        sets.hash[number], sets.player[number] = value, player
        sets.legal[number] = histories.legal[i]
        used += length
        break
      if (sets.hash[number] == value and sets.player[number] == player and
          sets.length[number] == length and
          _is_equal(letters, sets.begin[number], begin, length)):
        break
      slot = (slot + 1) & mask
    if sets.legal[number] != histories.legal[i] and wrong < 0:
      wrong = i
    found[i] = number
    begin += length
  return num_sets, used, wrong


@jit.kernel
def _fill(hashes, num_sets, slots):
  """Inserts sets into an empty hash table, modified in place."""
  mask = len(slots) - 1
  for number in range(num_sets):
    slot = np.int64(hashes[number]) & mask
    while slots[slot] != _EMPTY:
      slot = (slot + 1) & mask
    slots[slot] = number
