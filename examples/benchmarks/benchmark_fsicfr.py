"""Times FSICFR on a round of Dudo, and a plain copy of memory.

For each deal an iteration must read and write the regrets and the sums of
strategies of both players once. The peer copies as many bytes between arrays
that are too large for any cache. Both run in turn; ratios are medians over the
repeats. The last column says whether two threads gave the same result, to the
bit, as one.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import measuring

import statistics

from absl import flags
import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer

_DICE = flags.DEFINE_integer("numdice", 5, "Dice per player.",
                             lower_bound=1, upper_bound=5)
_RECALL = flags.DEFINE_integer("recall", 3, "How many claims players remember.",
                               lower_bound=1)
_ABSTRACTION = flags.DEFINE_string(
    "abstraction", None, "What players remember instead of the last --recall "
    "claims, such as claims2_ranks2 or player_ranks.")
_REPEATS = flags.DEFINE_integer("repeats", 5, "How often to measure.",
                                lower_bound=1)
_WARM_UP = flags.DEFINE_integer("warm_up", 3, "Iterations before measuring.",
                                lower_bound=1)
_HANDS_MET = flags.DEFINE_multi_integer(
    "hands_met", [1, 8], "How many of the opponent's hands each hand meets in "
    "an iteration", lower_bound=1)


def make_trainer(rules, dice, hands_met, num_threads):
  """Returns a trainer of one round."""
  return pair_trainer.PairTrainer(rules, [dice], num_threads=num_threads,
                                  num_shifts=hands_met)


def measure(rules, dice, values, hands_met):
  """Prints the times of an iteration, with one and two threads."""
  rows = rules.graph(sum(dice)).num_rows
  deal_bytes = 2 * 2 * rows * np.dtype(np.float32).itemsize
  source = np.ones(max(deal_bytes, 2**28), np.uint8)
  target = np.zeros_like(source)
  one, two = (make_trainer(rules, dice, hands_met, threads)
              for threads in (1, 2))
  deals = one.num_shifts * rules.rolls(dice[0]).num_rolls
  with one.at_work(values), two.at_work(values):
    one.iterate(_WARM_UP.value)
    two.iterate(_WARM_UP.value)
    times = [(measuring.seconds_of(np.copyto, target, source) * deal_bytes /
              len(source), measuring.seconds_of(one.iterate) / deals,
              measuring.seconds_of(two.iterate) / deals)
             for _ in range(_REPEATS.value)]
  copy, single, double = map(statistics.median, zip(*times))
  is_same = all(np.array_equal(*both)
                for both in zip(one.tables[dice], two.tables[dice]))
  print(f"{one.num_shifts:>9} {deals:>7,} {1e3 * single:>9.3f} "
        f"{1e3 * copy:>9.3f} "
        f"{statistics.median(s / c for c, s, _ in times):>9.2f} "
        f"{1e3 * double:>11.3f} "
        f"{statistics.median(s / d for _, s, d in times):>8.2f} "
        f"{'yes' if is_same else 'NO':>6}")


def main(_):
  dice = (_DICE.value, _DICE.value)
  game = pyspiel.load_game("dudo", {"numdice": _DICE.value})
  rules = abstract_rules.abstract_rules(
      game, _ABSTRACTION.value or _RECALL.value)
  rows, hands = rules.table_shape(dice)
  # Any values will do; what the round is worth does not change its time.
  values = {(a, b): 0.1 * (a - b) for a in range(1, 6) for b in range(1, 6)}
  print(f"round {dice[0]}v{dice[1]}, {rules.abstraction.text}: "
        f"{rules.graph(sum(dice)).num_nodes:,} nodes, {rows:,} rows, "
        f"{rules.rolls(dice[0]).num_rolls} hands, tables of "
        f"{8 * rows * hands / 1e6:,.0f} MB; milliseconds a deal")
  print("hands met   deals 1 thread      copy     ratio   2 threads  "
        "speedup   same")
  for hands_met in _HANDS_MET.value:
    measure(rules, dice, values, hands_met)


if __name__ == "__main__":
  binary.run(main)
