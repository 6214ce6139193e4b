"""Random numbers for compiled code, as functions of counters.

Number k of stream n of a seed is always the same, whoever asks for it and when:
results do not depend on the number of threads, and a solver that goes on from a
file needs no state of a generator. The hash is the output function of
splitmix64 (Steele, Lea & Flood 2014).
"""

import numpy as np

from dudo_spiel.algorithms.runtime import jit

STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)


@jit.kernel
def mix(x):
  """Returns a hash of 64 bits (uint64)."""
  x = (x ^ (x >> np.uint64(30))) * _FACTOR_1
  x = (x ^ (x >> np.uint64(27))) * _FACTOR_2
  return x ^ (x >> np.uint64(31))


def seed_for(seed, use):
  """Returns a seed (uint64) whose numbers have nothing to do with the seed's.

  What measures a policy must not see the deals from which it was learned.

  Args:
    seed: the user's.
    use: a number for each use beside learning.
  """
  return np.uint64(mix(np.uint64(seed) ^ mix(np.uint64(use))))


def permutation(seeds, size):
  """Returns a random order of range(size), an [size] int64 array.

  Args:
    seeds: tuple of ints at least 0; the same tuple gives the same order.
    size: how many numbers there are.
  """
  return np.random.default_rng(seeds).permutation(size)


@jit.kernel
def to_uniform(bits):
  """Returns uint64 bits as a float64 in [0, 1)."""
  return np.float64(bits >> np.uint64(11)) * 2.0**-53


@jit.kernel
def stream(seed, number):
  """Returns where the stream of this number begins (uint64)."""
  return mix(mix(np.uint64(seed)) + STEP * (np.uint64(number) + np.uint64(1)))


@jit.kernel
def uniform(begin, counter):
  """Returns number `counter` of a stream, uniform in [0, 1)."""
  return to_uniform(mix(np.uint64(begin) +
                        STEP * (np.uint64(counter) + np.uint64(1))))


@jit.kernel
def choose(cumulative, x):
  """Returns the outcome for a uniform x.

  Args:
    cumulative: [outcome] float64, how likely it or one before it is.
    x: float64 in [0, 1).
  """
  low, high = 0, len(cumulative) - 1
  while low < high:
    middle = (low + high) // 2
    if x < cumulative[middle]:
      high = middle
    else:
      low = middle + 1
  return low
