"""A disk cache of compiled kernels that notices every change they depend on.

Numba keeps a kernel's machine code until the file that defines the kernel
changes. But the code of a kernel also contains the code of the kernels that it
calls, and these may stand in other files. Here a kernel is compiled anew when
its own module, or any module of this package that it imports, has changed.

Serves `jit`, whose decorators make all kernels.
"""

import functools
import hashlib
import sys
import types

from numba.core import caching
import tqdm

_PACKAGE = "dudo_spiel"


@functools.cache
def module_stamp(name):
  """Returns a digest of a module and of all that it imports of this package.

  It looks at the module's names, so the module must have run its imports.
  Imports of modules are found, and so are imports of classes and functions.

  Args:
    name: the module's full name.
  """
  module = sys.modules[name]
  with open(module.__file__, "rb") as file:
    digest = hashlib.sha256(file.read())
  needed = set()
  for value in vars(module).values():
    owner = (value.__name__ if isinstance(value, types.ModuleType) else
             getattr(value, "__module__", None))
    if isinstance(owner, str) and owner.split(".")[0] == _PACKAGE:
      needed.add(owner)
  for owner in sorted(needed - {name}):
    digest.update(module_stamp(owner).encode())
  return digest.hexdigest()


class KernelCache(caching.FunctionCache):
  """Keeps the machine code of one kernel.

  Args:
    py_func: the Python function.
    variant: str that tells apart kernels that are compiled in different ways.

  Raises:
    RuntimeError: if there is no folder that can be written.
  """

  def __init__(self, py_func, variant):
    super().__init__(py_func)
    self._cache_file = caching.IndexDataCacheFile(
        self._cache_path, self._impl.filename_base + variant,
        module_stamp(py_func.__module__))

  def load_overload(self, sig, target_context):
    """Returns the compiled kernel, or None if it must be compiled now."""
    found = super().load_overload(sig, target_context)
    if found is None:
      announce("compiling kernels (about 10 s, only the first time)")
    return found


class NoCache(caching.NullCache):
  """Keeps nothing, for machines on which no folder can be written."""

  def load_overload(self, sig, target_context):
    """Returns None: the kernel must be compiled."""
    announce("compiling kernels (about 10 s; every time, as no folder for a "
             "cache can be written: set NUMBA_CACHE_DIR to one that can)")


@functools.cache
def announce(message):
  """Writes a line to the terminal, once in a process; nothing on a pipe."""
  if sys.stderr is not None and sys.stderr.isatty():
    tqdm.tqdm.write(message, file=sys.stderr)
