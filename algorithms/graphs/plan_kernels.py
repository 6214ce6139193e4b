"""Kernels that run a plan of iterations of FSI, PFSI or pass-through CFR.

The type of the plan's settings chooses the kernel of one iteration when the
kernels here are compiled.
"""

import numba
from numba import extending
import numpy as np

from dudo_spiel.algorithms.graphs import fsi_kernels
from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import pass_through_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import regret_tables

_ITERATES = {numba.from_dtype(kernels.SETTINGS): kernels.iterate
             for kernels in (fsi_kernels, pass_through_kernels)}
_SETTINGS = graph_kernels.IterationPlan._fields.index("settings")


def _iterate(graph, dice, tables, scratch, plan, thread, i):
  """Runs one iteration of a plan, in kernels only."""
  raise TypeError("_iterate: is for compiled code only")


@extending.overload(_iterate, inline="always")
def _overload_iterate(graph, dice, tables, scratch, plan, thread, i):
  return _ITERATES[plan[_SETTINGS].dtype].py_func


@jit.kernel
def run(graph, dice, tables, scratch, plan, count):
  """Runs iterations one after the other.

  The tables, the solver's scratch and `count` are modified in place. `count`,
  [1] int64, is the number of iterations ever run.
  """
  graph, dice = jit.borrowed(graph), jit.borrowed(dice)
  tables, plan = jit.borrowed(tables), jit.borrowed(plan)
  plain_scratch = jit.borrowed(scratch[:])
  for i in range(len(plan.iterations)):
    _iterate(graph, dice, tables, plain_scratch, plan, 0, i)
    count[0] += 1


@jit.kernel
def _run_slice(graph, dice, tables, scratch, plan, wave, thread):
  """Runs a thread's slice of the iterations of a wave.

  The first five are plain tuples: Numba passes no others to threads.
  """
  graph = graph_arrays.GraphArrays(*graph)
  dice = graph_arrays.DiceOutcomes(*dice)
  tables = regret_tables.RegretTables(*tables)
  plan = graph_kernels.IterationPlan(*plan)
  begin, end = plan.wave_begin[wave], plan.wave_begin[wave + 1]
  for i in range(begin + thread, end, len(scratch[0])):
    _iterate(graph, dice, tables, scratch, plan, thread, i)


@jit.kernel(parallel=True)
def run_parallel(graph, dice, tables, scratch, plan, count):
  """Does what `run` does with a plan sorted by wave; a wave is parallel."""
  threads = len(scratch.offsets)
  plain_graph, plain_dice, plain_tables = graph[:], dice[:], tables[:]
  plain_scratch, plain_plan = scratch[:], plan[:]
  for wave in range(len(plan.wave_begin) - 1):
    for thread in numba.prange(threads):
      _run_slice(plain_graph, plain_dice, plain_tables, plain_scratch,
                 plain_plan, wave, np.int64(thread))
    count[0] += plan.wave_begin[wave + 1] - plan.wave_begin[wave]
