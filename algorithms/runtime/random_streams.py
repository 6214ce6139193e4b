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
_MAX_TRIALS = 500  # of a binomial number, drawn at once


@jit.kernel
def mix(x):
  """Returns a hash of 64 bits (uint64)."""
  x = (x ^ (x >> np.uint64(30))) * _FACTOR_1
  x = (x ^ (x >> np.uint64(27))) * _FACTOR_2
  return x ^ (x >> np.uint64(31))


def seed_for(seed, use):
  """Returns an independent seed (uint64) for a use other than learning.

  What measures a policy must not see the deals from which it was learned.
  """
  return np.uint64(mix(np.uint64(seed) ^ mix(np.uint64(use))))


@jit.kernel
def to_uniform(bits):
  """Returns uint64 bits as a float64 in [0, 1)."""
  return np.float64(bits >> np.uint64(11)) * 2.0**-53


@jit.kernel
def stream(seed, number):
  """Returns where the stream of this number begins (uint64)."""
  return mix(mix(np.uint64(seed)) + STEP * (np.uint64(number) + np.uint64(1)))


@jit.kernel
def uniform(stream, counter):
  """Returns number `counter` of a stream, uniform in [0, 1)."""
  return to_uniform(mix(np.uint64(stream) +
                        STEP * (np.uint64(counter) + np.uint64(1))))


@jit.kernel
def node_uniform(seed, iteration, node):
  """Returns the number of a node in an iteration, uniform in [0, 1)."""
  bits = mix(seed + STEP)
  bits = mix((bits ^ np.uint64(iteration)) + STEP)
  return to_uniform(mix((bits ^ np.uint64(node)) + STEP))


@jit.kernel
def choose(distribution, x):
  """Returns the outcome for a uniform x.

  Args:
    distribution: [outcome] float64, the probability of this outcome or one
      before it.
    x: uniform in [0, 1).
  """
  low, high = 0, len(distribution) - 1
  while low < high:
    middle = (low + high) // 2
    if x < distribution[middle]:
      high = middle
    else:
      low = middle + 1
  return low


@jit.kernel
def draw(stream, counter):
  """Returns the next number of a stream, uniform in [0, 1).

  The counter, [1] int64, has the number that was drawn last and is counted up.
  """
  counter[0] += 1
  return uniform(stream, counter[0])


@jit.kernel
def binomial(trials, chance, stream, counter):
  """Returns how many of some trials (float64) succeed, each with a chance.

  It draws by inversion, from a stream as `draw`, and returns a float64.
  """
  if chance > 0.5:
    return trials - _rare_successes(trials, 1.0 - chance, stream, counter)
  return _rare_successes(trials, chance, stream, counter)


@jit.kernel
def _rare_successes(trials, chance, stream, counter):
  """Returns `binomial` for a chance of at most one half."""
  if chance <= 0.0:
    return 0.0
  total = 0.0
  odds = chance / (1.0 - chance)
  while trials > 0:
    batch = min(trials, _MAX_TRIALS)
    trials -= batch
    x = draw(stream, counter)
    mass = (1.0 - chance)**batch
    successes = 0.0
    while x >= mass and successes < batch:
      x -= mass
      mass *= odds * (batch - successes) / (successes + 1.0)
      successes += 1.0
    total += successes
  return total
