"""Makes the policy with perfect recall that comes with the package.

It reads the files of `PerfectRecallSolver` that
`examples/benchmark_perfect_recall.py --checkpoint=FILE` writes, one round at a
time, and takes each round from the first file that has it: so give the file of
the match with the fewest dice first, if its rounds were trained best. The
policy of the largest match knows all smaller ones.

For each number of shares it prints how large the file is, and how exploitable
the policy is with each number of dice. The last one that is not too large is
written. Rounds of few dice take little room and are trained best, so they may
have more shares than the others.
"""

import binary
import interrupts

import os
import tempfile
import time

from absl import flags

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import perfect_recall

_CHECKPOINTS = flags.DEFINE_multi_string(
    "checkpoint", None, "A file of a solver. The flag may be given several "
    "times.", required=True)
_OUTPUT = flags.DEFINE_string(
    "output", None, "Where to write the policy; without it only the table is "
    "printed.")
_MAX_BYTES = flags.DEFINE_integer("max_bytes", 20 * 10**6, "How large the file "
                                  "may be.", lower_bound=1000)
_SHARES = flags.DEFINE_list(
    "shares", [str(2**k) for k in range(12, 31, 2)], "Numbers of shares to "
    "try, ascending. The first that is too large ends it.")
_MOST_SHARES = 2**40
_FINE_DICE = flags.DEFINE_integer("fine_dice", 0, "Rounds of up to so many "
                                  "dice each have at least --fine_shares.",
                                  lower_bound=0)
_FINE_SHARES = flags.DEFINE_integer("fine_shares", 10**6, "See --fine_dice.",
                                    lower_bound=1, upper_bound=_MOST_SHARES)
_THREADS = flags.DEFINE_integer("num_threads", None, "How many threads; None "
                                "for all.", lower_bound=1)


def share_numbers():
  """Returns the numbers of shares, or raises a ValueError."""
  try:
    numbers = [int(text) for text in _SHARES.value]
  except ValueError:
    numbers = []
  steps = [0, *numbers, _MOST_SHARES + 1]
  if not numbers or any(b <= a for a, b in zip(steps, steps[1:])):
    raise ValueError(f"--shares={','.join(_SHARES.value)}: must be whole "
                     f"numbers between 1 and {_MOST_SHARES}, ascending")
  return numbers


def shares_by_round(policy, number):
  """Returns {round: shares}, `number` of them or more; see --fine_dice."""
  return {key: max(number, _FINE_SHARES.value)
          if max(key) <= _FINE_DICE.value else number for key in policy.rounds}


def size_of(policy):
  """Returns how large the file of a policy is."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "policy.npz")
    policy.save(path)
    return os.path.getsize(path)


def main(_):
  binary.check_files(_OUTPUT)
  shares = share_numbers()
  with binary.errors_of("checkpoint"):
    solved = [perfect_recall.average_policy(path)
              for path in _CHECKPOINTS.value]
    game = max((policy.game for policy in solved),
               key=lambda game: sum(game.start_dice))
    policy = perfect_recall.merged(game, solved)
  numbers = [a for a, b in policy.rounds if a == b]
  print("| shares | kB | "
        + " | ".join(f"{n} dice" for n in numbers) + " | s |")
  print("|---" * (len(numbers) + 3) + "|")
  is_written = False
  with interrupts.raised():
    for number in shares:
      begin = time.perf_counter()
      with binary.errors_of("checkpoint"):
        small = policy.compressed(shares_by_round(policy, number),
                                  num_threads=_THREADS.value)
      size = size_of(small)
      gaps = [small.measures[n, n].exploitability for n in numbers]
      print(f"| {number:,} | {size / 1e3:,.0f} | "
            + " | ".join(f"{gap:.2e}" for gap in gaps)
            + f" | {time.perf_counter() - begin:.0f} |", flush=True)
      if size > _MAX_BYTES.value:
        break
      if _OUTPUT.value:
        with interrupts.ignored():
          small.save(_OUTPUT.value)
        is_written = True
  if is_written:
    print(f"{_OUTPUT.value} has the last one that is not too large")


if __name__ == "__main__":
  binary.run(main)
