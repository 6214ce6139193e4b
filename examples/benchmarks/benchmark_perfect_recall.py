"""Times the kernels of Dudo with perfect recall, on one thread and on two.

It trains the largest round of a match alone, until its tree has some size. Then
it times an iteration, an expansion of the tree and a certified interval, beside
a copy of as many bytes as an iteration reads and writes. All of them run in
turn, so a noisy machine disturbs them alike; times are medians.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import measuring

import statistics

from absl import flags
import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts

_NUMDICE = flags.DEFINE_integer("numdice", 2, "Dice per player.", lower_bound=1,
                                upper_bound=5)
_REPEATS = flags.DEFINE_integer("repeats", 5, "How often to measure.",
                                lower_bound=1)
flags.DEFINE_alias("turns", "repeats")  # its name before version 0.2.0


def measure(dice):
  """Prints the times of a round on one and two threads, and of a copy."""
  game = pyspiel.load_game("dudo", {"numdice": dice[0]})
  rules = round_rules.round_rules(game)
  values = {(a, b): 0.1 * (a - b) for a in range(1, 6) for b in range(1, 6)}
  trainers = [round_trainer.RecallTrainer(rules, dice, num_threads=threads)
              for threads in (1, 2)]
  times = {"iteration": [], "growth": [], "interval": [], "copy": []}
  with interrupts.thread_pool(2) as pool:
    both = (trainers[0], None), (trainers[1], pool)
    for trainer, threads in both:
      trainer.set_values(values)
      for _ in range(20):
        for _ in range(5):
          trainer.iterate(threads)
        trainer.expand(2**33, threads)
    for _ in range(_REPEATS.value):
      times["iteration"].append([measuring.seconds_of(trainer.iterate, threads)
                                 for trainer, threads in both])
      times["interval"].append([
          measuring.seconds_of(trainer.evaluator.certify, values, values,
                               threads)
          for trainer, threads in both])
      num_bytes = trainers[0].num_touched * trainers[0].tables.regret.itemsize
      source = np.ones(max(num_bytes, 2**27), np.uint8)
      copy = measuring.seconds_of(np.copyto, np.empty_like(source), source)
      times["copy"].append([copy * num_bytes / len(source)])
    nodes = trainers[0].tree.num_nodes
    for _ in range(_REPEATS.value):
      times["growth"].append([
          measuring.seconds_of(trainer.expand, 2**33, threads)
          for trainer, threads in both])
  is_same = all(np.array_equal(a, b) for a, b in zip(
      trainers[0].tables, trainers[1].tables))
  print(f"round {dice[0]}v{dice[1]}, {nodes:,} nodes; one thread and two have "
        f"{'the same' if is_same else 'ANOTHER'} result")
  for name in ("iteration", "growth", "interval"):
    one, two = map(statistics.median, zip(*times[name]))
    print(f"{name}: {1e3 * one:.2f} ms, on two threads {1e3 * two:.2f} ms "
          f"({one / two:.2f} times as fast)")
  (copy,) = map(statistics.median, zip(*times["copy"]))
  print(f"a copy of the {num_bytes / 1e6:.1f} MB that an iteration reads and "
        f"writes: {1e3 * copy:.2f} ms", flush=True)


def main(_):
  measure((_NUMDICE.value, _NUMDICE.value))


if __name__ == "__main__":
  binary.run(main)
