"""Decorators for compiled code, and what kernels need besides Numba's own.

All kernels of the package are made by these decorators:

  kernel: a compiled function; `kernel(nogil=True)` lets other Python threads
    run meanwhile, `kernel(reassociate=True)` may add in any order (always the
    same one), so that sums are vectorised, and `kernel(parallel=True)` may have
    loops with `numba.prange`.
  inline: a small function, inlined by Numba before type inference.
  forceinline: a function that LLVM always inlines (`alwaysinline`). Use it for
    functions with many array arguments, which a real call would copy.

Compiled code is kept on disk (see `kernel_cache`). A kernel that another one
calls becomes part of it (see `kernel_parts`). With the environment
variable DUDO_SPIEL_CHECKED=1 kernels check bounds and run on one thread. Even
then indices of arrays may be negative, as in NumPy; those of pointers may not.

Numba passes named tuples to threads only as plain ones, and no nested ones. So
a parallel kernel takes `columns = named[:]` out of its `prange` loop, and what
the loop calls makes `Named(*columns)` of it.
"""

import contextlib
import functools
import os
import threading

import numba
from numba import extending
from numba import types
from numba.core import cgutils
from numba.core import errors

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import checked
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import kernel_cache
from dudo_spiel.algorithms.runtime import kernel_parts

# Threads that wait for others must not keep a core busy: where other processes
# want the cores too, that makes a parallel loop a thousand times slower. The
# runtime reads this when the first one starts.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _decorator(py_func=None, *, reassociate=False, parallel=False, **options):
  """Returns a dispatcher, or a decorator with these options of `numba.njit`."""
  if py_func is None:
    return functools.partial(_decorator, reassociate=reassociate,
                             parallel=parallel, **options)
  options |= {"fastmath": {"contract", "reassoc"} if reassociate else
                          {"contract"},
              "error_model": "numpy", "no_cfunc_wrapper": True,
              "boundscheck": checked.IS_CHECKED,
              "parallel": parallel and not checked.IS_CHECKED}
  dispatcher = numba.njit(**options)(py_func)
  try:
    dispatcher._cache = kernel_cache.KernelCache(
        py_func, ".checked" if checked.IS_CHECKED else "")
  except RuntimeError:  # there is no folder that can be written
    dispatcher._cache = kernel_cache.NoCache()
  if kernel_parts.IS_TRIED and not parallel and not checked.IS_CHECKED:
    # Parts are not kept on disk: what Numba makes of those that it reads was
    # a quarter to a third slower.
    kernel_parts.call_from_kernels(dispatcher, numba.njit(
        **options, no_cpython_wrapper=True,
        pipeline_class=kernel_parts.PartCompiler)(py_func))
  kernel_parts.collect_later(dispatcher)
  return dispatcher


kernel = _decorator
inline = _decorator(inline="always")
forceinline = _decorator(forceinline=True)


def choose_by_types(dispatcher, choose):
  """Lets the types of arguments choose what kernels get that call a kernel.

  Python gets the kernel itself.

  Args:
    dispatcher: the kernel.
    choose: function of the types that returns it, or another such kernel.
  """
  own = dispatcher.get_call_template, dispatcher.get_overload

  def chosen(kinds):
    kernel = choose(kinds)
    return (own if kernel is dispatcher else
            (kernel.get_call_template, kernel.get_overload))

  dispatcher.get_call_template = lambda args, kws: chosen(args)[0](args, kws)
  dispatcher.get_overload = lambda args: chosen(args)[1](args)


@extending.intrinsic
def borrowed(typing_context, array):
  """Returns the array, or tuple of arrays, without its count of references.

  Compiled code counts the references of arrays wherever it passes them on, and
  threads wait for each other to do so. In a hot loop that may take longer than
  all the rest. The caller must keep the array itself.
  """
  del typing_context

  def strip(context, builder, kind, value):
    if isinstance(kind, types.BaseTuple):
      for i, part in enumerate(kind.types):
        stripped = strip(context, builder, part,
                         builder.extract_value(value, i))
        value = builder.insert_value(value, stripped, i)
      return value
    if not isinstance(kind, types.Array):
      return value
    view = context.make_array(kind)(context, builder, value)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()

  def generate(context, builder, signature, values):
    return strip(context, builder, signature.args[0], values[0])

  return array(array), generate


@extending.intrinsic
def _pointer(typing_context, array):
  """Returns the address of the first entry of a contiguous array."""
  del typing_context
  if array.layout != "C" or not array.mutable:
    raise errors.TypingError(f"{array} must be contiguous and not read-only")

  def generate(context, builder, signature, values):
    return context.make_array(signature.args[0])(context, builder,
                                                 values[0]).data

  return types.CPointer(array.dtype)(array), generate


# Returns the address of the first entry of a contiguous array. A pointer is
# indexed as the flat array is, from 0 on, without checks (except in the checked
# mode, see `checked`). It counts no references, so small functions in a hot
# loop best get pointers. The owner must keep the array while it is used.
pointer = checked.checked_pointer if checked.IS_CHECKED else _pointer


@extending.intrinsic
def cast_like(typing_context, number, other):
  """Returns a number in the type of another."""
  del typing_context

  def generate(context, builder, signature, values):
    return context.cast(builder, values[0], *signature.args)

  return other(number, other), generate


@extending.intrinsic
def fetch_increment(typing_context, counter):
  """Returns counter[0] and adds 1 to it, atomically (fetch-and-add).

  The counter is [1] int64. Threads share out tasks by it: whoever is done
  begins the next one.
  """
  del typing_context

  def generate(context, builder, signature, values):
    address = context.make_array(signature.args[0])(context, builder,
                                                    values[0]).data
    return builder.atomic_rmw("add", address,
                              context.get_constant(types.int64, 1),
                              "monotonic")

  return types.int64(counter), generate


class _Threads:
  """What became of the threads on which parallel kernels run."""

  def __init__(self):
    # Not all of Numba's threading layers can serve two callers at a time.
    self.lock = threading.RLock()
    self.have_begun = False  # whether they ran in this process
    # Whether they ran before a fork: the child has no such threads, and Numba
    # would end it, or wait for them forever.
    self.are_lost = False

  def after_fork(self):
    """Takes note in the child of a fork."""
    self.lock = threading.RLock()  # another thread may have held it
    self.are_lost = self.are_lost or self.have_begun


_THREADS = _Threads()
interrupts.call_after_fork(_THREADS.after_fork)


@contextlib.contextmanager
def threads(count):
  """Is the context in which parallel kernels may run.

  Args:
    count: how many threads they use.

  Raises:
    RuntimeError: in a forked process whose parent has used threads before.
  """
  if _THREADS.are_lost:
    raise RuntimeError(
        f"num_threads={count}: this process was forked from one that had used "
        "several threads, which a fork does not copy; start processes with "
        "multiprocessing.get_context('spawn'), or use num_threads=1 here")
  with _THREADS.lock:
    _THREADS.have_begun = True
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    yield


def run(num_threads, serial, parallel, *args):
  """Calls one of two kernels that do the same, by the number of threads."""
  if num_threads == 1:
    serial(*args)
  else:
    with threads(num_threads):
      parallel(*args)


def thread_count(num_threads):
  """Returns how many threads to use.

  Args:
    num_threads: None for all that Numba has (one in a forked process that has
      lost them).
  """
  max_threads = numba.config.NUMBA_NUM_THREADS
  if num_threads is None:
    return 1 if _THREADS.are_lost else max_threads
  return min(max_threads, validation.integer("num_threads", num_threads, 1))
