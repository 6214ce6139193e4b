"""A disk cache of compiled kernels that notices every change they depend on.

Numba keeps a kernel's machine code until the file that defines the kernel
changes. But the code of a kernel also contains the code of the kernels that it
calls, and these may be in other files. Here a kernel is compiled anew when
its own module, or any of our modules that it imports, has changed.

A file of the cache that is damaged is written anew. Where nothing can be
written, as on a full disk, kernels are compiled in every process.
"""

import functools
import hashlib
import math
import os
import pickle
import sys
import time
import types
import warnings
import zlib

from numba.core import caching

from dudo_spiel.algorithms.runtime import progress

_PACKAGES = "dudo_spiel", "dudo_spiel_examples"


@functools.cache
def _digest(path, mtime, size):
  """Returns a digest of a file; the rest tells whether it has changed."""
  del mtime, size
  with open(path, "rb") as file:
    return hashlib.sha256(file.read()).hexdigest()


def _needed_modules(module):
  """Returns the names of our modules that a module imports.

  Imports of modules are found, and so are imports of classes and functions.
  """
  needed = set()
  for value in vars(module).values():
    owner = (value.__name__ if isinstance(value, types.ModuleType) else
             getattr(value, "__module__", None))
    if isinstance(owner, str) and owner.split(".")[0] in _PACKAGES:
      needed.add(owner)
  return needed


def module_stamp(name):
  """Returns a digest of a module and of all our modules that it needs.

  It looks at the modules' names, so the module must have run its imports.
  """
  modules, stack = set(), [name]
  while stack:
    module = stack.pop()
    if module not in modules:
      modules.add(module)
      stack.extend(_needed_modules(sys.modules[module]) - modules)
  stamp = hashlib.sha256()
  for module in sorted(modules):
    path = sys.modules[module].__file__
    status = os.stat(path)
    stamp.update(_digest(path, status.st_mtime_ns, status.st_size).encode())
  return stamp.hexdigest()


def _fields(kind):
  """Returns the fields of all named tuples in a type of Numba.

  A kernel that gets a named tuple contains the order of its fields, though its
  module may not import the class.
  """
  inner = getattr(kind, "types", ())
  own = [(kind.name, kind.fields)] if hasattr(kind, "fields") else []
  return own + [field for part in inner for field in _fields(part)]


class _CacheFiles(caching.IndexDataCacheFile):
  """The files of a kernel: its machine code, by types, and a list of that.

  Numba reads the whole list before it looks at the stamp. The list may name
  classes that have been moved or renamed since: then it is out of date, too.
  Numba writes the list first. So a file of machine code may be of an older
  source, or of another process that has written the list at the same time.
  """

  def save(self, key, data):
    """Keeps machine code with what tells whose it is."""
    super().save(key, (self._source_stamp, key, data))

  def load(self, key):
    """Returns the machine code that was kept for this key, or None."""
    stamp, owner, data = super().load(key) or (None, None, None)
    return data if (stamp, owner) == (self._source_stamp, key) else None

  def _load_index(self):
    try:
      packed = super()._load_index()
      return self._unpacked(packed) if packed else {}
    except (AttributeError, ImportError):
      return {}
    except Exception as error:  # noqa: BLE001, junk may raise anything
      _warn_of_damage(self._index_path, error)
      return {}

  def _save_index(self, overloads):
    super()._save_index(self._packed(overloads))

  def _load_data(self, name):
    try:
      return self._unpacked(super()._load_data(name))
    except FileNotFoundError:
      raise
    except (AttributeError, ImportError) as error:
      raise OSError from error  # which Numba takes for a missing file
    except Exception as error:  # noqa: BLE001, junk may raise anything
      _warn_of_damage(self._data_path(name), error)
      raise OSError from error

  def _save_data(self, name, data):
    super()._save_data(name, self._packed(data))

  def _packed(self, contents):
    """Returns (checksum, bytes) of what is kept."""
    data = self._dump(contents)
    return zlib.crc32(data), data

  def _unpacked(self, packed):
    """Returns what was packed, or raises a ValueError if it is damaged."""
    checksum, data = packed
    if zlib.crc32(data) != checksum:
      raise ValueError("its checksum is wrong")
    return pickle.loads(data)


class KernelCache(caching.FunctionCache):
  """Keeps the machine code of one kernel.

  The variant, a str, tells apart ways to compile the same function. It raises a
  RuntimeError if there is no folder that can be written.
  """

  def __init__(self, py_func, variant):
    super().__init__(py_func)
    self._cache_file = _CacheFiles(
        self._cache_path, self._impl.filename_base + variant,
        module_stamp(py_func.__module__))

  def _index_key(self, sig, codegen):
    """Returns what tells the compiled kernel from others of its function."""
    kinds = getattr(sig, "args", sig)
    fields = [field for kind in kinds for field in _fields(kind)]
    return (*super()._index_key(sig, codegen), repr(fields))

  def load_overload(self, sig, target_context):
    """Returns the compiled kernel, or None if it must be compiled now."""
    kernel = super().load_overload(sig, target_context)
    if kernel is None:
      announce("compiling kernels, once (about 10 s)")
    return kernel

  def save_overload(self, sig, data):
    """Keeps a compiled kernel if it can be written."""
    try:
      super().save_overload(sig, data)
    except OSError as error:
      _warn("not written", f"no kernels can be kept in {self._cache_path!r} "
            f"({error}), so every process compiles them anew; make room there, "
            "or set NUMBA_CACHE_DIR to another folder")


class NoCache(caching.NullCache):
  """Keeps nothing, for machines on which no folder can be written."""

  def load_overload(self, sig, target_context):
    """Returns None: the kernel must be compiled."""
    announce("compiling kernels (about 10 s; in every process, as no folder "
             "for them can be written: set NUMBA_CACHE_DIR to one that can)")


_WARNED: set[str] = set()  # about what


def _warn(subject, message):
  """Warns if that was not done about this subject before."""
  if subject not in _WARNED:
    _WARNED.add(subject)
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _warn_of_damage(path, error):
  reason = " ".join(str(error).split()) or type(error).__name__
  _warn("damage", f"path={path!r}: this file of compiled kernels is damaged "
        f"({reason}); it is compiled and written anew, and so are others like "
        "it")


_ANNOUNCED: dict[str, float] = {}  # message: when it was written last
_QUIET_SECONDS = 60.0


def announce(message):
  """Writes a line to the terminal, once a minute; nothing on a pipe."""
  seconds = time.monotonic()
  if seconds - _ANNOUNCED.get(message, -math.inf) > _QUIET_SECONDS:
    progress.write_line(message)
    _ANNOUNCED[message] = seconds
