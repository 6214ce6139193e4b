"""How fast dudo with perfect recall is solved, and how fast its kernel is.

First a curve: the exact exploitability of the whole match by seconds of
training. Processor seconds count all threads of this process; on an idle
machine they are what training and measuring take, and on a busy one they are
the fairer measure. Then, if asked for, how far the policy compresses. Last, one
iteration of the largest round, on one and two threads, beside a copy of as many
bytes as it reads and writes.
"""

import binary
import interrupts

import os
import statistics
import tempfile
import time

from absl import flags
import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.match import recall_trainer
from dudo_spiel.algorithms.match import rounds as match_rounds

_DICE = flags.DEFINE_integer("numdice", 2, "Dice per player.", lower_bound=1,
                             upper_bound=5)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "How long to train.",
                              lower_bound=0.0)
_FIRST = flags.DEFINE_float("first", 5.0, "Seconds until the first "
                            "measurement; each takes twice as long.",
                            lower_bound=0.01)
_TARGET = flags.DEFINE_float("target", 0.0, "Stop at this exploitability.",
                             lower_bound=0.0)
_THREADS = flags.DEFINE_integer("num_threads", None, "How many threads; None "
                                "for all.", lower_bound=1)
_MAX_BYTES = flags.DEFINE_integer("max_bytes", None, "Memory of all trees.")
_SHARES = flags.DEFINE_multi_integer(
    "shares", [], "Also write the policy in so many shares, and measure it.",
    lower_bound=1)
_TURNS = flags.DEFINE_integer("turns", 5, "How often to time an iteration; 0 "
                              "for never.", lower_bound=0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "A file to go on from, "
                                  "and to save to after each measurement.")


def keep(solver):
  """Saves the solver if it is wanted."""
  if _CHECKPOINT.value:
    with interrupts.ignored():
      solver.save(_CHECKPOINT.value)
    print(f"wrote {_CHECKPOINT.value}", flush=True)


def show_curve(solver):
  """Trains and prints how good the policy is, again and again."""
  print("seconds processor iterations   nodes  MB  kB a node exploitability "
        "     low      high")
  begin, begin_cpu = time.perf_counter(), time.process_time()
  step = _FIRST.value
  while True:
    left = _SECONDS.value - (time.perf_counter() - begin)
    if left <= 0.0:
      return
    try:
      with interrupts.raised():
        solver.run(seconds=min(step, left))
    except KeyboardInterrupt:
      keep(solver)
      raise
    low, high = solver.interval(*solver.rounds[-1])
    nodes = sum(solver.num_nodes(*key) for key in solver.rounds)
    print(f"{time.perf_counter() - begin:7.0f} "
          f"{time.process_time() - begin_cpu:9.0f} {solver.iteration:10,} "
          f"{nodes:7,} {solver.memory_bytes / 1e6:3.0f} "
          f"{solver.memory_bytes / nodes / 1e3:9.2f} "
          f"{solver.exploitability():14.2e} {low:+.6f} {high:+.6f}",
          flush=True)
    keep(solver)
    if solver.exploitability() <= _TARGET.value:
      return
    step *= 2.0


def show_files(policy):
  """Prints how large files are, and how exploitable what is in them."""
  with interrupts.raised(), tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "policy.npz")
    for shares in _SHARES.value:
      small = policy.compressed(shares)
      small.save(path)
      print(f"{shares:,} shares: {os.path.getsize(path) / 1e3:,.0f} kB, "
            "exploitability "
            f"{small.known_exploitability(small.game):.3g}", flush=True)


def seconds_of(function, *arguments):
  """Returns how long a call takes."""
  begin = time.perf_counter()
  function(*arguments)
  return time.perf_counter() - begin


def show_kernel(dice, turns):
  """Prints the time of an iteration beside that of a copy."""
  game = pyspiel.load_game("dudo", {"numdice": dice[0]})
  match = match_rounds.match_rules(game, 1)
  values = {(a, b): 0.1 * (a - b) for a in range(1, 6) for b in range(1, 6)}
  trainers = [recall_trainer.RecallTrainer(match, dice, num_threads=threads)
              for threads in (1, 2)]
  with recall_trainer.thread_pool(2) as pool:
    for trainer in trainers:
      trainer.set_values(values)
      for _ in range(20):
        for _ in range(5):
          trainer.iterate(pool)
        trainer.grow(2**33, pool)
    times = []
    for _ in range(turns):
      one, two = (seconds_of(trainer.iterate, pool) for trainer in trainers)
      num_bytes = trainers[0].touched * trainers[0].tables.regret.itemsize
      source = np.ones(max(num_bytes, 2**27), np.uint8)
      copy = seconds_of(np.copyto, np.empty_like(source), source)
      times.append((one, two, copy * num_bytes / len(source)))
  one, two, copy = map(statistics.median, zip(*times))
  is_same = all(np.array_equal(a, b) for a, b in zip(
      trainers[0].tables, trainers[1].tables))
  print(f"round {dice[0]}v{dice[1]}, {trainers[0].tree.num_nodes:,} nodes: an "
        f"iteration takes {1e3 * one:.2f} ms, on two threads {1e3 * two:.2f} "
        f"ms ({one / two:.2f} times as fast, "
        f"{'same' if is_same else 'ANOTHER'} result); a copy of the "
        f"{num_bytes / 1e6:.1f} MB it reads and writes takes "
        f"{1e3 * copy:.2f} ms")


def main(_):
  binary.check_files(_CHECKPOINT)
  game = pyspiel.load_game("dudo", {"numdice": _DICE.value})
  if _SECONDS.value:
    solver = perfect_recall.PerfectRecallSolver(
        game, num_threads=_THREADS.value, max_bytes=_MAX_BYTES.value)
    solver.run(0)
    if _CHECKPOINT.value and os.path.exists(_CHECKPOINT.value):
      solver.load(_CHECKPOINT.value)
    show_curve(solver)
    for key in solver.rounds:
      low, high = solver.interval(*key)
      print(f"{key[0]}v{key[1]}: value {solver.value(*key):+.6f}, between "
            f"{low:+.6f} and {high:+.6f}; {solver.iterations(*key):,} "
            f"iterations, {solver.num_nodes(*key):,} nodes")
    show_files(solver.average_policy())
  if _TURNS.value:
    show_kernel((_DICE.value, _DICE.value), _TURNS.value)


if __name__ == "__main__":
  binary.run(main)
