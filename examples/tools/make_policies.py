"""Makes the policy with perfect recall that comes with the package.

It reads the files that `examples/train_perfect_recall.py --checkpoint=FILE`
writes, one round at a time. Each round comes from the first file that has it:
so give the file of the match with the fewest dice first, if its rounds were
trained best. The policy of the largest match knows all smaller ones.

For each size it prints how large the file is, and how exploitable the policy is
with each number of dice. It writes the largest one. Each round gets as many
shares as pay best for their bytes, by `perfect_recall.ShareTrials`.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import os
import tempfile
import time

from absl import flags

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import perfect_recall

_CHECKPOINTS = flags.DEFINE_multi_string(
    "checkpoint", None, "A file of a solver. The flag may be given several "
    "times.", required=True)
_SAVE_POLICY = flags.DEFINE_string(
    "save_policy", None, "Save the largest policy to this file; without it "
    "only the table is printed.")
_KILOBYTES = flags.DEFINE_list(
    "kilobytes", ["19300"], "How large the file may be; several sizes "
    "for a table. (All policies of the package together have at most 20,000.)")
_THREADS = flags.DEFINE_integer("num_threads", None, "Threads. Default: all.",
                                lower_bound=1)


def size_of(policy):
  """Returns how large the file of a policy is."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "policy.npz")
    policy.save(path)
    return os.path.getsize(path)


def main(_):
  binary.check_files(_SAVE_POLICY)
  limits = [1000 * n for n in binary.positive_numbers(_KILOBYTES, int)]
  with binary.errors_of("checkpoint"):
    solved = [perfect_recall.average_policy(path)
              for path in _CHECKPOINTS.value]
    game = max((policy.game for policy in solved),
               key=lambda game: sum(game.start_dice))
    policy = perfect_recall.merged(game, solved)
  dice = [a for a, b in policy.rounds if a == b]
  with ctrl_c.raised():
    begin = time.perf_counter()
    with binary.errors_of("checkpoint"):
      trials = perfect_recall.ShareTrials(policy, limits[-1],
                                          num_threads=_THREADS.value)
    print(f"tried shares in {time.perf_counter() - begin:.0f} s\n\n| kB | "
          + " | ".join(f"{n} dice" for n in dice) + " | s |")
    print("|---" * (len(dice) + 2) + "|", flush=True)
    for limit in limits:
      begin = time.perf_counter()
      with binary.errors_of("kilobytes"):
        shares = trials.within(limit)
      small = policy.compressed(shares, num_threads=_THREADS.value)
      gaps = [small.measures[n, n].exploitability for n in dice]
      print(f"| {size_of(small) / 1e3:,.0f} | "
            + " | ".join(f"{gap:.2e}" for gap in gaps)
            + f" | {time.perf_counter() - begin:.0f} |", flush=True)
      if _SAVE_POLICY.value:
        with binary.deferred():
          small.save(_SAVE_POLICY.value)
    print("\nshares: " + ", ".join(f"{a}v{b} {number:,}"
                                   for (a, b), number in shares.items()))
    if _SAVE_POLICY.value:
      print(f"wrote {_SAVE_POLICY.value}")


if __name__ == "__main__":
  binary.run(main)
