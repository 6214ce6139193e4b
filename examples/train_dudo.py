"""Trains a whole match of two-player Dudo and prints each round's value.

With --checkpoint the training is saved to that file about once a minute. The
same command then continues from there, until it has trained for --minutes in
all. With --checkpoint, Ctrl-C saves the training; --save_policy is written only
at the end. As long as the program runs, no other process can train into the
same file.

Rounds with equally many dice in play do not need each other. With
--engine=local they train at the same time, in processes of this machine, and
with --engine=ray on the machines of a Ray cluster.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import os

from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import jobs

_NUMDICE = flags.DEFINE_integer("numdice", 3, "Dice per player.",
                                lower_bound=1, upper_bound=5)
_RECALL = flags.DEFINE_integer("recall", 3, "How many claims players remember.",
                               lower_bound=1)
_ABSTRACTION = flags.DEFINE_string(
    "abstraction", None, "What players remember instead of the last --recall "
    "claims, such as claims2_ranks2 or player_ranks.")
_MINUTES = flags.DEFINE_float("minutes", 1.0, "Minutes to train in all.",
                              lower_bound=0.0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "Continue from this "
                                  "file and save the training there.")
_SAVE_POLICY = flags.DEFINE_string(
    "save_policy", None, "Save the policy to this file, in 8 bits and without "
    "small probabilities.")
_THREADS = flags.DEFINE_integer("num_threads", None, "Threads. Default: all.",
                                lower_bound=1)
_ENGINE = flags.DEFINE_enum(
    "engine", "threads", ["threads", *jobs.ENGINES], "threads: one round after "
    "the other, each on all --num_threads; local, ray: several at the same "
    "time.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals.", lower_bound=0)
_MIN_PROBABILITY = flags.DEFINE_float(
    "min_probability", 0.001, "Drop less likely actions from the policy file.",
    lower_bound=0.0, upper_bound=1.0)
_MIN_REACH = flags.DEFINE_float(
    "min_reach", 1e-6, "Drop situations that the policy's own moves reach less "
    "often from the policy file.", lower_bound=0.0)


def print_values(solver, numdice):
  """Prints the starter's value of each round, and the iterations."""
  columns = range(1, numdice + 1)
  print("value to the starter, by own dice (rows) and opponent's (columns)")
  print("  " + "".join(f"{b:>9}" for b in columns))
  for a in columns:
    print(f"{a:>2}" + "".join(f"{solver.value(a, b):>+9.4f}" for b in columns))
  print("iterations")
  for a in columns:
    print(f"{a:>2}" + "".join(f"{solver.iterations(a, b):>9,}"
                              for b in columns))


def main(_):
  binary.check_files(_SAVE_POLICY, _CHECKPOINT)
  game = pyspiel.load_game("dudo", {"numdice": _NUMDICE.value})
  needed = fsicfr.memory_needed(game, _RECALL.value, _THREADS.value,
                                memory=_ABSTRACTION.value)
  print(f"training needs {needed / 1e9:.2f} GB of memory", flush=True)
  solver = fsicfr.MatchSolver(game, _RECALL.value, _SEED.value,
                              _THREADS.value, memory=_ABSTRACTION.value)
  with ctrl_c.raised(), binary.holding(_CHECKPOINT, "training", is_file=True):
    return train(solver, _CHECKPOINT.value)


def train(solver, path):
  """Trains, and continues what was saved to the file (None for no file)."""
  if path and os.path.exists(path):
    solver.load(path)
  try:
    if solver.seconds:
      print(f"continuing after {solver.seconds / 60:.1f} minutes", flush=True)
    solver.run(seconds=60 * _MINUTES.value, total=True, save_to=path,
               engine=None if _ENGINE.value == "threads" else _ENGINE.value)
  except KeyboardInterrupt:
    if path:
      solver.save(path)
      print(f"\nstopped; the same command continues from {path}")
    else:
      print("\nstopped; nothing is kept without --checkpoint")
    return ctrl_c.EXIT_CODE
  print_values(solver, _NUMDICE.value)
  if path:
    print(f"wrote the training to {path}")
  if _SAVE_POLICY.value:
    policy = solver.average_policy().quantized(_MIN_PROBABILITY.value,
                                               _MIN_REACH.value)
    policy.save(_SAVE_POLICY.value)
    print(f"wrote {_SAVE_POLICY.value}, "
          f"{os.path.getsize(_SAVE_POLICY.value) / 1e6:.2f} MB")
  return 0


if __name__ == "__main__":
  binary.run(main)
