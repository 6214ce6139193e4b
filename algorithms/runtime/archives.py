"""Files of solvers and policies: whole or not at all.

A file is a NumPy archive with a JSON header. It takes its place only when it is
whole (see `files`), so a process that dies while it writes leaves the old file
as it was. Archives carry checksums, which reveal damage.

A file may also come from a stranger. So nothing in it is run, and an array is
compared with what it must be before it is expanded: its own header says how
large it is. Every error is a ValueError that names the file and the field.
"""

import contextlib
import hashlib
import json
import math
import os
import re
from typing import NamedTuple
import zipfile
import zlib

import numpy as np

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import ram

MAX_COUNT = 2**53  # of iterations and the like: what a float64 can count

_FORMAT = "dudo_spiel"
_VERSION = 1
_HEADER = "header"
_NAMES = "arrays"  # in the header: the names of all arrays
_MAX_PACKED_HEADER = 2**20  # bytes of a header that is compressed
_MAX_DEFLATE = 1032  # times as many bytes as compressed ones
_MAX_NAMED = 200  # characters of a value in a message
_BLOCK_BYTES = 2**22  # read at a time
_ARRAY_MAGIC = b"\x93NUMPY\x01\x00"
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf][1248])', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n")
# Largest magnitude of a table's numbers, by their bytes. A sum of float32
# stops growing when it is 2^25 times as large as what is added, one of float64
# at 2^54 times, and games pay at most 1e15 or 1e100: no training gets here.
# Sums over the actions of a set stay finite, and so do squares of float64.
MAX_MAGNITUDES = {4: 1e33, 8: 1e150}
# How many times as large as in the file an array may be (real ones of more than
# a megabyte: at most 13), and what all arrays may have besides.
_MAX_PACKING = 32
_FREE_BYTES = 2**26
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_IS_ENCRYPTED = 1  # a flag of a member of an archive


class _Layout(NamedTuple):
  """What an array in a file says of itself."""
  shape: tuple[int, ...]
  dtype: np.dtype
  order: str  # of its numbers: "C" or "F"
  begin: int  # of its numbers


def save(path, kind, header, arrays, compress=False):
  """Writes a file.

  Args:
    path: where.
    kind: str, what the file holds; `load` must ask for the same.
    header: dict that JSON can hold.
    arrays: dict of NumPy arrays.
    compress: whether to take time to make the file smaller.

  Returns:
    The `Archive.digest` of the file.
  """
  text = json.dumps({"format": _FORMAT, "version": _VERSION, "kind": kind,
                     **header, _NAMES: sorted(arrays)})
  path = os.path.abspath(files.path_text(path))
  if os.path.isdir(path):
    raise ValueError(f"path={path!r}: is a folder; must be a file")
  with files.replacing(path) as file:
    write = np.savez_compressed if compress else np.savez
    try:
      write(file, **{_HEADER: np.frombuffer(text.encode(), np.uint8)}, **arrays)
    except ValueError as error:
      # An archive that Ctrl-C has cut short may fail to close, which hides it.
      if isinstance(error.__context__, KeyboardInterrupt):
        raise error.__context__ from None
      raise
    with zipfile.ZipFile(file) as archive:
      return _digest(archive)


@contextlib.contextmanager
def opened(path, kind):
  """Yields the `Archive` of a file, of which only the header is read at first.

  Args:
    path: of the file.
    kind: str, what the file must hold, or tuple of such.
  """
  path = files.path_text(path)
  with contextlib.ExitStack() as stack:
    with _reading(path):
      file = stack.enter_context(files.open_regular(path))
      archive = Archive(path, file,
                        stack.enter_context(zipfile.ZipFile(file)))
    header = archive.header
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
      raise ValueError(f"path={path!r}: must be a file written by dudo_spiel")
    kinds = (kind,) if isinstance(kind, str) else kind
    if header.get("version") != _VERSION or header.get("kind") not in kinds:
      raise ValueError(
          f"path={path!r}: holds a {_named(header.get('kind'))} of version "
          f"{_named(header.get('version'))}; must be a {' or '.join(kinds)} of "
          f"version {_VERSION}")
    names = header.pop(_NAMES, None)
    if names != sorted(archive.names):
      raise ValueError(f"path={path!r}: has the arrays {archive.names}; must "
                       f"have {_named(names)}")
    yield archive


class Archive:
  """A file that is open for reading.

  Attributes:
    path: as given.
    header: its header, a dict if the file is one of ours.
    names: list of the names of its arrays.
    digest: str, tells what it holds from anything else.
    stamp: its `files.stamp`.
  """

  def __init__(self, path, file, archive):
    self.path = path
    self._archive = archive
    self._file_size = os.fstat(file.fileno()).st_size
    self._members = {member.filename.removesuffix(".npy"): member
                     for member in archive.infolist()}
    if len(self._members) != len(archive.infolist()):
      raise ValueError("two of its arrays have the same name")
    for member in archive.infolist():
      if (member.compress_type not in _METHODS or
          member.flag_bits & _IS_ENCRYPTED):
        raise ValueError("it is packed in an unusual way")
      ratio = 1 if member.compress_type == zipfile.ZIP_STORED else _MAX_DEFLATE
      if (member.file_size > ratio * member.compress_size or
          member.compress_size > self._file_size):
        raise ValueError(f"its {member.filename} says that it takes "
                         f"{member.file_size} bytes, more than it can hold")
    member = self._members[_HEADER]
    if (member.compress_type != zipfile.ZIP_STORED and
        member.file_size > _MAX_PACKED_HEADER):
      raise ValueError("its header is too large")
    self.header = json.loads(self._read(_HEADER, None).tobytes())
    self.names = [name for name in self._members if name != _HEADER]
    self.digest = _digest(archive)
    self.stamp = files.stamp(file.fileno())

  def check(self, name, shape, dtypes):
    """Raises a ValueError unless an array has this shape and such a type."""
    must = f"must be {shape} {' or '.join(str(np.dtype(d)) for d in dtypes)}"
    if name not in self.names:
      raise ValueError(f"path={self.path!r}: its {name} is missing; {must}")
    layout = self._layout(name)
    if layout.shape != tuple(shape) or layout.dtype not in dtypes:
      raise ValueError(f"path={self.path!r}: its {name} is {layout.shape} "
                       f"{layout.dtype}; {must}")

  def num_bytes(self, name):
    """Returns how many bytes an array takes, 0 if there is none."""
    return self._members[name].file_size if name in self.names else 0

  def check_packing(self, names=None, ratio=_MAX_PACKING,
                    free_bytes=_FREE_BYTES):
    """Raises a ValueError if arrays are much larger than in the file.

    A small file could else fill the memory with one number, repeated.

    Args:
      names: of the arrays, None for all.
      ratio: how many times as large as in the file they may be, ...
      free_bytes: ... apart from so many bytes.
    """
    names = self.names if names is None else names
    packed = min(sum(self._members[name].compress_size for name in names),
                 self._file_size)  # an archive may lie
    size = sum(map(self.num_bytes, names))
    if size > free_bytes + ratio * packed:
      what = names[0] if len(names) == 1 else "arrays"
      raise ValueError(f"path={self.path!r}: its {what} would take {size:,} "
                       f"bytes of memory, but take {packed:,} in the file; "
                       "must be of training, which does not shrink so much")

  def read(self, name, shape=None, dtypes=None, low=-math.inf, high=None):
    """Returns an array, unless its numbers are too large to be of training.

    Args:
      name: of the array.
      shape: tuple, what its shape must be; None for any that fits in memory.
      dtypes: tuple of the types that it may have, if a shape is given.
      low: what its numbers must be at least.
      high: what their magnitudes must be at most; None for what training makes.
    """
    if shape is not None:
      self.check(name, shape, dtypes)
    with _reading(self.path):
      return self._read(name, None, low, high)

  def read_into(self, name, table, low=-math.inf, high=None):
    """Reads an array, as `read` does, into a table of its shape and type."""
    self.check(name, table.shape, (table.dtype,))
    with _reading(self.path):
      self._read(name, table, low, high)

  def verify(self, name, low=-math.inf, high=None):
    """Raises a ValueError unless an array is whole, and keeps none of it."""
    with _reading(self.path), self._open_array(name) as (layout, member):
      count = math.prod(layout.shape)
      block = np.empty(min(count, _block_size(layout.dtype)), layout.dtype)
      for begin in range(0, count, len(block) or 1):
        _fill(member, block[:count - begin], name, low, high)
      _finish(member)

  def _layout(self, name):
    """Returns the `_Layout` of an array."""
    with _reading(self.path), self._open_array(name) as (layout, _):
      return layout

  @contextlib.contextmanager
  def _open_array(self, name):
    """Yields (`_Layout`, file that stands where the array's numbers begin)."""
    info = self._members[name]
    with self._archive.open(info) as member:
      start = member.read(len(_ARRAY_MAGIC) + 2)
      text = member.read(int.from_bytes(start[-2:], "little"))
      match = _ARRAY_HEADER.fullmatch(text)
      if start[:-2] != _ARRAY_MAGIC or not match:
        raise ValueError(f"its {name} is not an array")
      layout = _Layout(
          tuple(int(size) for size in match[3].split(b",") if size.strip()),
          np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C",
          len(start) + len(text))
      size = math.prod(layout.shape) * layout.dtype.itemsize
      if layout.begin + size != info.file_size:
        raise ValueError(f"its {name} takes {info.file_size} bytes; must be "
                         f"{layout.begin + size}")
      yield layout, member

  def _read(self, name, table, low=-math.inf, high=None):
    """Returns the table with an array read into it; None for a new one."""
    with self._open_array(name) as (layout, member):
      count = math.prod(layout.shape)
      is_direct = table is not None and table.flags.c_contiguous and (
          layout.order == "C")
      if is_direct:
        flat = table.reshape(-1)
      else:
        size = count * layout.dtype.itemsize
        if size > _BLOCK_BYTES and size > ram.available_bytes():
          raise ValueError(f"its {name} needs {size / 1e9:.1f} GB of memory, "
                           "more than there is")
        flat = np.empty(count, layout.dtype)
      step = _block_size(layout.dtype)
      for begin in range(0, count, step):
        _fill(member, flat[begin:begin + step], name, low, high)
      _finish(member)
    if is_direct:
      return table
    array = flat.reshape(layout.shape, order=layout.order)
    if table is None:
      return array
    table[:] = array
    return table


def check_header(path, header, expected):
  """Raises a ValueError unless a file's header has all that is expected."""
  for name, value in expected.items():
    if header.get(name) != value:
      raise ValueError(f"path={os.fsdecode(path)!r}: was saved with {name}="
                       f"{_named(header.get(name))}; must be {value}")


def field(path, header, name, check, *limits):
  """Returns a field of a file's header, or raises a ValueError.

  Args:
    path: of the file.
    header: dict, its header or a part of it.
    name: of the field.
    check: function of the name, the value and the limits: one of `validation`,
      or one like these.
    *limits: what else the function takes.
  """
  if name not in header:
    raise ValueError(f"path={os.fsdecode(path)!r}: its {name} is missing")
  try:
    return check(name, header[name], *limits)
  except ValueError as error:
    raise ValueError(f"path={os.fsdecode(path)!r}: its {error}") from error


def text(name, value):
  """Returns the value if it is a str, or raises a ValueError."""
  if not isinstance(value, str):
    raise ValueError(f"{name}={_named(value)}: must be a string")
  return value


def number(name, value, low=-math.inf):
  """Returns the value as a finite float, or raises a ValueError."""
  limit = np.finfo(np.float64).max
  return validation.number(name, value, max(low, -limit), limit)


def number_list(name, value, count):
  """Returns the value as so many finite floats, or raises a ValueError."""
  if not isinstance(value, list) or len(value) != count:
    raise ValueError(f"{name}={_named(value)}: must be a list of {count}")
  return [number(name, item) for item in value]


@contextlib.contextmanager
def _reading(path):
  """Turns every error of a damaged file into a ValueError that names it."""
  try:
    yield
  except FileNotFoundError:
    raise
  except (OSError, EOFError, KeyError, ValueError, OverflowError, MemoryError,
          NotImplementedError, RecursionError, zipfile.BadZipFile,
          zlib.error) as error:
    raise ValueError(f"path={path!r}: must be a whole file written by "
                     f"dudo_spiel ({error})") from error


def _block_size(dtype):
  """Returns how many numbers are read at a time."""
  return _BLOCK_BYTES // dtype.itemsize


def _fill(member, block, name, low, high=None):
  """Reads the next numbers of an array into a block, and checks them."""
  unread = memoryview(block.view(np.uint8))
  while unread:
    piece = member.read(len(unread))
    if not piece:
      raise EOFError(f"its {name} ends early")
    unread[:len(piece)] = piece
    unread = unread[len(piece):]
  if block.dtype.kind == "f":
    if not np.isfinite(block).all():
      raise ValueError(f"its {name} has numbers that are not finite")
    if high is None:
      high = MAX_MAGNITUDES.get(block.dtype.itemsize, math.inf)
    if block.size and max(block.max(), -block.min()) > high:
      raise ValueError(f"its {name} has numbers above {high:g} in size, which "
                       "no training makes")
  if low > -math.inf and block.min() < low:
    raise ValueError(f"its {name} has numbers below {low}")


def _finish(member):
  """Reads the end of an array, at which its checksum is compared."""
  if member.read(1):
    raise ValueError("it has more numbers than it says")


def _digest(archive):
  """Returns what tells the contents of a `zipfile.ZipFile` from others."""
  contents = sorted((member.filename, member.file_size, member.CRC)
                    for member in archive.infolist())
  return hashlib.sha256(repr(contents).encode()).hexdigest()[:16]


def _named(value):
  """Returns a value from a file as messages show it."""
  shown = str(value)
  return shown if len(shown) <= _MAX_NAMED else f"{shown[:_MAX_NAMED]}..."
