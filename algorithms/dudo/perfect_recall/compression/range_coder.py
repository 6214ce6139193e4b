"""A range coder: bits that a model predicts well take little room in a file.

This is the coder of LZMA, with models of two speeds. Each binary decision has a
context, and each context learns how likely a 0 is there. The same code writes
and reads: `code_bit` writes the bit that it is given, or returns the one that
the stream has. All numbers are integers, so every machine reads the same.
"""

from typing import NamedTuple

import numpy as np

from dudo_spiel.algorithms.runtime import jit

_BITS = 15  # of a probability
_ONE = 1 << _BITS
_TOP = 1 << 24
_MASK = (1 << 32) - 1
_FAST, _SLOW = 4, 7  # a model learns by 2**-4 and 2**-7 of an error
_LOW, _RANGE, _CODE, _CACHE, _PENDING, _POSITION = range(6)
_START_BYTES = 5  # that a reader takes before the first bit


class Coder(NamedTuple):
  """A stream that is written or read."""
  is_writing: bool  # whether it is written
  stream: np.ndarray  # [byte] uint8; what does not fit is counted only
  state: np.ndarray  # [6] int64, by the columns above
  models: np.ndarray  # [context, 2] int32, the chance of a 0, of two speeds


def writer(num_contexts, max_bytes):
  """Returns a `Coder` that writes at most so many bytes."""
  state = np.zeros(6, np.int64)
  state[_RANGE], state[_PENDING] = _MASK, 1
  return Coder(True, np.zeros(max_bytes, np.uint8), state,
               np.full((num_contexts, 2), _ONE // 2, np.int32))


def reader(num_contexts, stream):
  """Returns a `Coder` that reads a stream, [byte] uint8."""
  state = np.zeros(6, np.int64)
  state[_RANGE], state[_POSITION] = _MASK, _START_BYTES
  for byte in stream[:_START_BYTES].tolist():
    state[_CODE] = (state[_CODE] << 8 | byte) & _MASK
  return Coder(False, np.ascontiguousarray(stream), state,
               np.full((num_contexts, 2), _ONE // 2, np.int32))


@jit.kernel
def _put(coder, byte):
  position = coder.state[_POSITION]
  if position < len(coder.stream):
    coder.stream[position] = byte
  coder.state[_POSITION] = position + 1


@jit.kernel
def _shift(coder):
  """Writes the highest byte, once no carry can change it any more."""
  state = coder.state
  low = state[_LOW]
  if low < _MASK - _TOP + 1 or low > _MASK:
    carry = low >> 32
    _put(coder, (state[_CACHE] + carry) & 255)
    for _ in range(state[_PENDING] - 1):
      _put(coder, (255 + carry) & 255)
    state[_PENDING] = 0
    state[_CACHE] = low >> 24 & 255
  state[_PENDING] += 1
  state[_LOW] = (low & (_TOP - 1)) << 8


@jit.forceinline
def code_bit(coder, context, bit):
  """Writes or reads one bit.

  Args:
    coder: the `Coder`, modified in place.
    context: the number of its model.
    bit: what to write; anything if it is read.

  Returns:
    The bit, 0 or 1.
  """
  state, models = coder.state, coder.models
  fast, slow = models[context, 0], models[context, 1]
  bound = (state[_RANGE] >> _BITS) * ((fast + slow) >> 1)
  if not coder.is_writing:
    bit = 1 if state[_CODE] >= bound else 0
  if bit:
    state[_RANGE] -= bound
    if coder.is_writing:
      state[_LOW] += bound
    else:
      state[_CODE] -= bound
    models[context, 0] = fast - (fast >> _FAST)
    models[context, 1] = slow - (slow >> _SLOW)
  else:
    state[_RANGE] = bound
    models[context, 0] = fast + ((_ONE - fast) >> _FAST)
    models[context, 1] = slow + ((_ONE - slow) >> _SLOW)
  while state[_RANGE] < _TOP:
    state[_RANGE] <<= 8
    if coder.is_writing:
      _shift(coder)
    else:
      position = state[_POSITION]
      byte = np.int64(0)
      if position < len(coder.stream):
        byte = np.int64(coder.stream[position])
      state[_CODE] = (state[_CODE] << 8 | byte) & _MASK
      state[_POSITION] = position + 1
  return bit


@jit.kernel
def is_beyond(coder):
  """Returns whether a stream was read far beyond its end."""
  return (not coder.is_writing and
          coder.state[_POSITION] > len(coder.stream) + _START_BYTES)


def written(coder):
  """Ends a stream.

  Args:
    coder: the `Coder` that wrote it.

  Returns:
    [byte] uint8, or None if it was too long.
  """
  for _ in range(_START_BYTES):
    _shift(coder)
  size = int(coder.state[_POSITION])
  return coder.stream[:size].copy() if size <= len(coder.stream) else None


def is_at_end(coder):
  """Returns whether a reader has read all of its stream, and nothing else."""
  return (int(coder.state[_POSITION]) == len(coder.stream) and
          not coder.state[_CODE])
