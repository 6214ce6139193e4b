"""How fast dudo with perfect recall is solved, and how fast its kernel is.

First a curve: the exact exploitability of the whole match by seconds of
training, and that of its first round alone, if both play the policy after it.
Processor seconds count all threads of this process; on an idle machine they are
what training and measuring take, and on a busy one they are the fairer measure.
Then how much memory the process has taken at most, beside what the solver says,
and, if asked for, how far the policy compresses. Last, the largest round alone
on one and on two threads: an iteration, beside a copy of as many bytes as it
reads and writes, a growth, and a certified interval.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import contextlib
import os
import statistics
import tempfile
import time

from absl import flags
import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts

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
_MAX_BYTES = flags.DEFINE_integer("max_bytes", None, "How much memory the "
                                  "solver may take.")
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
    with ctrl_c.ignored():
      solver.save(_CHECKPOINT.value)
    print(f"wrote {_CHECKPOINT.value}", flush=True)


def show_curve(solver):
  """Trains and prints how good the policy is, again and again."""
  print("seconds processor iterations   nodes  MB  kB a node exploitability "
        "     low      high  round alone")
  begin, begin_cpu = time.perf_counter(), time.process_time()
  step = _FIRST.value
  while True:
    left = _SECONDS.value - (time.perf_counter() - begin)
    if left <= 0.0:
      return
    try:
      solver.run(seconds=min(step, left))
      low, high = solver.interval(*solver.rounds[-1])
      alone = solver.round_exploitability(*solver.rounds[-1])
    except KeyboardInterrupt:
      keep(solver)
      raise
    nodes = sum(solver.num_nodes(*key) for key in solver.rounds)
    print(f"{time.perf_counter() - begin:7.0f} "
          f"{time.process_time() - begin_cpu:9.0f} {solver.iteration:10,} "
          f"{nodes:7,} {solver.memory_bytes / 1e6:3.0f} "
          f"{solver.memory_bytes / nodes / 1e3:9.2f} "
          f"{solver.exploitability():14.2e} {low:+.6f} {high:+.6f} "
          f"{alone:12.2e}", flush=True)
    keep(solver)
    if solver.exploitability() <= _TARGET.value:
      return
    step *= 2.0


def show_files(policy):
  """Prints how large files are, and how exploitable what is in them."""
  with ctrl_c.raised(), tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "policy.npz")
    for shares in _SHARES.value:
      small = policy.compressed(shares)
      small.save(path)
      print(f"{shares:,} shares: {os.path.getsize(path) / 1e3:,.0f} kB, "
            "exploitability "
            f"{small.known_exploitability(small.game):.3g}", flush=True)


def resident_bytes(name):
  """Returns how much memory the process has (Linux only, else 0).

  Args:
    name: "VmRSS" for now, "VmHWM" for the most since `forget_peak`.
  """
  with contextlib.suppress(OSError), open("/proc/self/status",
                                          encoding="ascii") as file:
    for line in file:
      if line.startswith(name):
        return 1024 * int(line.split()[1])
  return 0


def forget_peak():
  """Lets the system forget how much memory the process has had before."""
  with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w",
                                          encoding="ascii") as file:
    file.write("5")


def seconds_of(function, *arguments):
  """Returns how long a call takes."""
  begin = time.perf_counter()
  function(*arguments)
  return time.perf_counter() - begin


def show_kernel(dice, turns):
  """Prints the times of the largest round, and that of a copy."""
  game = pyspiel.load_game("dudo", {"numdice": dice[0]})
  match = round_rules.round_rules(game)
  values = {(a, b): 0.1 * (a - b) for a in range(1, 6) for b in range(1, 6)}
  trainers = [round_trainer.RecallTrainer(match, dice, num_threads=threads)
              for threads in (1, 2)]
  times = {"iteration": [], "growth": [], "interval": [], "copy": []}
  with interrupts.thread_pool(2) as pool:
    both = (trainers[0], None), (trainers[1], pool)
    for trainer, threads in both:
      trainer.set_values(values)
      for _ in range(20):
        for _ in range(5):
          trainer.iterate(threads)
        trainer.grow(2**33, threads)
    for _ in range(turns):
      times["iteration"].append([seconds_of(trainer.iterate, threads)
                                 for trainer, threads in both])
      times["interval"].append([
          seconds_of(trainer.evaluator.certify, values, values, threads)
          for trainer, threads in both])
      num_bytes = trainers[0].touched * trainers[0].tables.regret.itemsize
      source = np.ones(max(num_bytes, 2**27), np.uint8)
      copy = seconds_of(np.copyto, np.empty_like(source), source)
      times["copy"].append([copy * num_bytes / len(source)])
    nodes = trainers[0].tree.num_nodes
    for _ in range(turns):
      times["growth"].append([seconds_of(trainer.grow, 2**33, threads)
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


def train():
  """Trains a solver, and prints all about it."""
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo", {"numdice": _DICE.value}),
      num_threads=_THREADS.value, max_bytes=_MAX_BYTES.value)
  solver.run(0)
  forget_peak()
  before = resident_bytes("VmRSS")
  if _CHECKPOINT.value and os.path.exists(_CHECKPOINT.value):
    solver.load(_CHECKPOINT.value)
  show_curve(solver)
  most = resident_bytes("VmHWM") - before
  print(f"memory: at most {solver.memory_bytes / 1e6:,.0f} MB by the solver; "
        f"the process took {most / 1e6:,.0f} MB more than before")
  for key in solver.rounds:
    low, high = solver.interval(*key)
    print(f"{key[0]}v{key[1]}: value {solver.value(*key):+.6f}, between "
          f"{low:+.6f} and {high:+.6f}; {solver.iterations(*key):,} "
          f"iterations, {solver.num_nodes(*key):,} nodes")
  if _SHARES.value:
    show_files(solver.average_policy())


def main(_):
  binary.check_files(_CHECKPOINT)
  if _SECONDS.value:
    with ctrl_c.raised(), binary.holding(_CHECKPOINT, "training", True):
      train()
  if _TURNS.value:
    show_kernel((_DICE.value, _DICE.value), _TURNS.value)


if __name__ == "__main__":
  binary.run(main)
