"""Trains a match of two-player Dudo with perfect recall, and measures it.

The policy that comes with the package was trained by this program. It trains
for --first seconds, then for twice as long, and so on. After each of these runs
it prints the exact exploitability of the match, the interval in which the value
of the first round lies, and the exploitability of that round alone, if both
players play the policy in all later rounds. --curve writes the same to a CSV
file. Processor seconds count all threads; on a busy machine they are the fairer
measure. Compilation is not counted.

With --checkpoint the solver is saved after each measurement and by Ctrl-C. The
same command then continues from that file, and so does its curve. Nobody else
can train into the same file meanwhile. `examples/tools/make_policies.py` makes
a small policy of such files.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c
from dudo_spiel_examples.support import measuring

import csv
import os
import time
from typing import NamedTuple

from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import perfect_recall

_NUMDICE = flags.DEFINE_integer("numdice", 2, "Dice per player.", lower_bound=1,
                                upper_bound=5)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Seconds to train and measure.",
                              lower_bound=0.0)
_FIRST = flags.DEFINE_float("first", 5.0, "Seconds to train before the first "
                            "measurement.", lower_bound=0.01)
_TARGET = flags.DEFINE_float("target", 0.0, "Stop at this exploitability.",
                             lower_bound=0.0)
_MAX_BYTES = flags.DEFINE_integer("max_bytes", None, "Limit of what the solver "
                                  "may allocate. Default: what is available.",
                                  lower_bound=1)
_THREADS = flags.DEFINE_integer("num_threads", None, "Threads. Default: all.",
                                lower_bound=1)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "Continue from this file "
                                  "and save the solver there.")
_SAVE_POLICY = flags.DEFINE_string(
    "save_policy", None, "Save the average policy, uncompressed, to this file.")
_CURVE = flags.DEFINE_string("curve", None, "Write all measurements to this "
                             "CSV file.")


class Point(NamedTuple):
  """A measurement; the columns of the CSV file.

  Attributes:
    seconds: elapsed time of training and measuring, over all runs.
    processor_seconds: the same in processor time, of all threads.
    iterations: of all rounds.
    nodes: how many nodes all trees have.
    bytes: what the solver has allocated.
    exploitability: of the match.
    low: what the starter's policy guarantees in the first round.
    high: to how much the other's policy holds every starter.
    round_exploitability: of the first round alone.
  """
  seconds: float
  processor_seconds: float
  iterations: int
  nodes: int
  bytes: int
  exploitability: float
  low: float
  high: float
  round_exploitability: float


def measure(solver, seconds, processor_seconds):
  """Returns the `Point` of a solver after this much time."""
  first = solver.rounds[-1]
  return Point(round(seconds, 3), round(processor_seconds, 3), solver.iteration,
               sum(solver.num_nodes(*dice) for dice in solver.rounds),
               solver.memory_bytes, solver.exploitability(),
               *solver.interval(*first), solver.round_exploitability(*first))


def read_curve(iterations):
  """Returns the `Point`s that an earlier run has written to --curve.

  Args:
    iterations: of the solver that was loaded; later points are left out.
  """
  if not (iterations and _CURVE.value and os.path.exists(_CURVE.value)):
    return []
  with open(_CURVE.value, newline="", encoding="utf-8") as file:
    header, *rows = [*csv.reader(file)] or [()]
  try:
    if tuple(header) != Point._fields:
      raise ValueError
    points = [Point(*(kind(text) for kind, text in
                      zip(Point.__annotations__.values(), row, strict=True)))
              for row in rows]
  except ValueError:
    raise ValueError(f"--curve={_CURVE.value}: must be a curve of this "
                     "program") from None
  return [point for point in points if point.iterations <= iterations]


def save(solver, curve):
  """Writes the files that the flags ask for, but for the policy.

  Args:
    solver: the solver.
    curve: list of `Point`.
  """
  with binary.deferred():
    if _CHECKPOINT.value:
      solver.save(_CHECKPOINT.value)
    if _CURVE.value:
      with binary.replacing(_CURVE.value) as file:
        file.write("".join(",".join(map(str, row)) + "\n"
                           for row in [Point._fields, *curve]).encode())


def compile_kernels():
  """Lets a small match compile all kernels, before time is measured."""
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo(numdice=1)"), num_threads=_THREADS.value)
  solver.run(20)
  measure(solver, 0.0, 0.0)


def train(solver):
  """Trains and measures in turn until time is up or the target is reached."""
  curve = read_curve(solver.iteration)
  elapsed, processor = curve[-1][:2] if curve else (0.0, 0.0)
  begin = time.perf_counter(), time.process_time()
  print("seconds processor iterations      nodes      MB exploitability       "
        "low      high  round alone")
  step = _FIRST.value
  while (remaining := _SECONDS.value - (time.perf_counter() - begin[0])) > 0.0:
    try:
      solver.run(seconds=min(step, remaining))
      point = measure(solver, elapsed + time.perf_counter() - begin[0],
                      processor + time.process_time() - begin[1])
    except KeyboardInterrupt:
      save(solver, curve)
      raise
    print(f"{point.seconds:7.0f} {point.processor_seconds:9.0f} "
          f"{point.iterations:10,} {point.nodes:10,} {point.bytes / 1e6:7,.0f} "
          f"{point.exploitability:14.2e} {point.low:+.6f} {point.high:+.6f} "
          f"{point.round_exploitability:12.2e}", flush=True)
    curve.append(point)
    save(solver, curve)
    if point.exploitability <= _TARGET.value:
      break
    step *= 2.0


def main(_):
  binary.check_files(_CHECKPOINT, _SAVE_POLICY, _CURVE)
  solver = perfect_recall.PerfectRecallSolver(
      pyspiel.load_game("dudo", {"numdice": _NUMDICE.value}),
      num_threads=_THREADS.value, max_bytes=_MAX_BYTES.value)
  with ctrl_c.raised(), binary.holding(_CHECKPOINT, "training", is_file=True):
    if _CHECKPOINT.value and os.path.exists(_CHECKPOINT.value):
      solver.load(_CHECKPOINT.value)
    compile_kernels()
    train(solver)
    print(f"memory: {solver.memory_bytes / 1e6:,.0f} MB of the solver; the "
          f"process had at most {measuring.peak_bytes() / 1e6:,.0f} MB")
    for dice in solver.rounds:
      low, high = solver.interval(*dice)
      print(f"{dice[0]}v{dice[1]}: value {solver.value(*dice):+.6f}, between "
            f"{low:+.6f} and {high:+.6f}; {solver.iterations(*dice):,} "
            f"iterations, {solver.num_nodes(*dice):,} nodes")
    if _SAVE_POLICY.value:
      solver.average_policy().save(_SAVE_POLICY.value)
  for flag in (_CHECKPOINT, _SAVE_POLICY, _CURVE):
    if flag.value and os.path.exists(flag.value):
      print(f"wrote {flag.value}")


if __name__ == "__main__":
  binary.run(main)
