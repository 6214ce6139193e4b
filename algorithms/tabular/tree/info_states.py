"""Information states as text, kept in little memory.

A Python string takes 50 bytes besides its letters, and a place in a dictionary
100 more. Here all texts of a game stand behind each other in one buffer, and a
hash table of 32-bit numbers finds them: about 30 bytes a text.
"""

import collections.abc
from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

_ENCODING = ("utf-8", "surrogatepass")
_LEAST_SLOTS = 2**10
_EMPTY = -1
_GROWTH = 1.25
_HASH_SEED = np.uint64(14695981039346656037)  # of the hash FNV-1a
_HASH_FACTOR = np.uint64(1099511628211)
_BITS = np.uint64(32)


class InfoStates(collections.abc.Sequence):
  """Texts, like a list of str.

  Args:
    text: bytes-like, the letters of all texts.
    begin: [number] int64, where each text begins.
    length: [number] int32, how many bytes it has.
  """

  def __init__(self, text, begin, length):
    self._text = text
    self._begin, self._length = begin, length

  def __len__(self):
    """Returns how many texts there are."""
    return len(self._begin)

  def __getitem__(self, number):
    """Returns a text, or a list of those of a slice."""
    if isinstance(number, slice):
      return [self[i] for i in range(*number.indices(len(self)))]
    return self.encoded(number).decode(*_ENCODING)

  def encoded(self, number):
    """Returns a text as bytes."""
    begin = int(self._begin[number])
    return bytes(self._text[begin:begin + int(self._length[number])])

  def __eq__(self, other):
    """Returns whether the texts are those of another list."""
    if not isinstance(other, (InfoStates, list)):
      return NotImplemented
    return len(self) == len(other) and all(map(str.__eq__, self, other))

  __hash__ = None

  def __repr__(self):
    """Returns the texts as they would be written in a program."""
    return repr(list(self))


class _Sets(NamedTuple):
  """What an index knows of its sets, as arrays that kernels can take.

  The arrays have room for more; the counts are the caller's.

  Attributes:
    begin: [set] int64, where its text begins.
    length: [set] int32, how many bytes it has.
    hash: [set] uint32, of the text and the player.
    player: [set] int8, who acts there.
    legal: [set] int32, the number of its legal actions.
  """
  begin: np.ndarray
  length: np.ndarray
  hash: np.ndarray
  player: np.ndarray
  legal: np.ndarray


class _Histories(NamedTuple):
  """Histories whose sets are looked up.

  Attributes:
    length: [history] int32, how many bytes their texts have.
    player: [history] int8, who acts.
    legal: [history] int32, the numbers of their legal actions.
  """
  length: np.ndarray
  player: np.ndarray
  legal: np.ndarray


class SetIndex:
  """Numbers information sets, players' information states, as they are found.

  Attributes:
    num_sets: how many there are.
    num_letters: how many bytes their texts take.
  """

  def __init__(self):
    self.num_sets = 0
    self._text = bytearray()
    self._sets = _Sets(np.zeros(0, np.int64), np.zeros(0, np.int32),
                       np.zeros(0, np.uint32), np.zeros(0, np.int8),
                       np.zeros(0, np.int32))
    self._slots = np.full(_LEAST_SLOTS, _EMPTY, np.int32)

  @property
  def num_letters(self):
    """How many bytes the texts take."""
    return len(self._text)

  def add(self, players, info_states, legal):
    """Returns [history] int32, the number of each history's set.

    Args:
      players: [history] int8, who acts.
      info_states: list of str, the information states.
      legal: [history] int32, the numbers of their legal actions.

    Raises:
      DifferentActionsError: if histories of one set differ in these.
    """
    encoded = [text.encode(*_ENCODING) for text in info_states]
    lengths = np.fromiter(map(len, encoded), np.int32, len(encoded))
    self._make_room(len(encoded))
    before = len(self._text)
    self._text += b"".join(encoded)
    letters = np.frombuffer(self._text, np.uint8)
    numbers = np.empty(len(encoded), np.int32)
    self.num_sets, used, wrong = _add(
        letters, before, _Histories(lengths, players, legal), self._sets,
        self.num_sets, self._slots, numbers)
    del letters  # it would keep the buffer from changing its size
    del self._text[used:]
    if wrong >= 0:
      raise DifferentActionsError(info_states[wrong])
    return numbers

  def _make_room(self, count):
    """Makes room for so many new sets."""
    most = self.num_sets + count
    if most > len(self._sets.begin):
      size = max(int(most * _GROWTH), _LEAST_SLOTS)
      self._sets = _Sets(*(_resized(column, size) for column in self._sets))
    if 2 * most > len(self._slots):
      slots = len(self._slots)
      while slots < 2 * most:
        slots *= 2
      self._slots = None  # before the new ones take memory
      self._slots = np.full(slots, _EMPTY, np.int32)
      _fill(self._sets.hash, self.num_sets, self._slots)

  def legal_since(self, first):
    """Returns the numbers of the legal actions of sets first, first + 1, ..."""
    return self._sets.legal[first:self.num_sets].copy()

  def finish(self):
    """Returns the sets player by player, in order of discovery.

    Returns:
      (info_states, players, legal, numbers): the `InfoStates`; [set] int8;
      [set] int32, the numbers of the legal actions; and [set in order of
      discovery] int32, its number here.
    """
    sets = _Sets(*(column[:self.num_sets] for column in self._sets))
    order = np.argsort(sets.player, kind="stable")
    numbers = np.empty(self.num_sets, np.int32)
    numbers[order] = np.arange(self.num_sets, dtype=np.int32)
    info_states = InfoStates(self._text, sets.begin[order], sets.length[order])
    return info_states, sets.player[order], sets.legal[order], numbers


class DifferentActionsError(ValueError):
  """Histories of an information state differ in their legal actions.

  Its only argument is the information state.
  """


def _resized(column, size):
  """Returns a longer copy of an array."""
  out = np.zeros(size, column.dtype)
  out[:len(column)] = column
  return out


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
def _add(letters, base, histories, sets, num_sets, slots, numbers):
  """Numbers the sets of some histories; new texts stay in the buffer.

  Args:
    letters: uint8, the buffer; from `base` on stand the texts of the histories.
      New ones move to the front, the others are overwritten.
    base: where the texts that are known end.
    histories: the `_Histories`.
    sets: the `_Sets`, modified in place, with room for all histories.
    num_sets: how many sets are known.
    slots: int32, the hash table, modified in place, large enough.
    numbers: [history] int32, written.

  Returns:
    (num_sets, used, wrong): how many sets are known now, where their texts end,
    and the first history whose legal actions are not those of its set, or -1.
  """
  mask = len(slots) - 1
  begin = used = base
  wrong = -1
  for i in range(len(numbers)):
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
    numbers[i] = number
    begin += length
  return num_sets, used, wrong


@jit.kernel
def _fill(hashes, num_sets, slots):
  """Puts sets into an empty hash table, modified in place."""
  mask = len(slots) - 1
  for number in range(num_sets):
    slot = np.int64(hashes[number]) & mask
    while slots[slot] != _EMPTY:
      slot = (slot + 1) & mask
    slots[slot] = number
