"""Files of solvers and policies: whole or not at all.

A file is a NumPy archive with a JSON header. It is written beside its place and
then renamed, so a process that dies while it writes leaves the old file as it
was. Archives carry checksums, which reveal damage.

Serves `solver` and all policies.
"""

import json
import os
import zipfile
import zlib

import numpy as np

_FORMAT = "dudo_spiel"
_VERSION = 1
_HEADER = "header"


def save(path, kind, header, arrays, compress=False):
  """Writes a file.

  Args:
    path: where.
    kind: str, what the file holds; `load` must ask for the same.
    header: dict that JSON can hold.
    arrays: dict of NumPy arrays.
    compress: whether to take time to make the file smaller.
  """
  text = json.dumps({"format": _FORMAT, "version": _VERSION, "kind": kind,
                     **header})
  path = os.path.abspath(os.fspath(path))
  temporary = f"{path}.{os.getpid()}.part"
  try:
    with open(temporary, "wb") as file:
      write = np.savez_compressed if compress else np.savez
      write(file, **{_HEADER: np.frombuffer(text.encode(), np.uint8)}, **arrays)
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
  except BaseException:
    if os.path.exists(temporary):
      os.unlink(temporary)
    raise


def load(path, kind):
  """Reads a file.

  Args:
    path: where.
    kind: str, what the file must hold, or tuple of such.

  Returns:
    (header, arrays); header["kind"] tells what the file holds.
  """
  try:
    with (open(path, "rb") as file,
          np.load(file, allow_pickle=False) as archive):
      arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop(_HEADER).tobytes())
  except FileNotFoundError:
    raise
  except (OSError, EOFError, KeyError, ValueError, TypeError, RuntimeError,
          zipfile.BadZipFile, zlib.error) as error:
    raise ValueError(f"path={os.fspath(path)!r}: must be a whole file written "
                     f"by dudo_spiel ({error})") from error
  if not isinstance(header, dict) or header.get("format") != _FORMAT:
    raise ValueError(f"path={os.fspath(path)!r}: must be a file written by "
                     "dudo_spiel")
  kinds = (kind,) if isinstance(kind, str) else kind
  if header["version"] != _VERSION or header["kind"] not in kinds:
    raise ValueError(
        f"path={os.fspath(path)!r}: holds a {header['kind']} of version "
        f"{header['version']}; must be a {' or '.join(kinds)} of version "
        f"{_VERSION}")
  return header, arrays


def check_header(path, header, expected):
  """Raises a ValueError if a file was saved by another solver or game.

  Args:
    path: the file.
    header: its header.
    expected: dict of what the header must have.
  """
  for name, value in expected.items():
    if header.get(name) != value:
      raise ValueError(f"path={os.fspath(path)!r}: was saved with {name}="
                       f"{header.get(name)}; must be {value}")


def copy_tables(path, arrays, tables):
  """Copies all arrays of a file into tables, or none if one does not fit.

  Args:
    path: the file.
    arrays: dict of its arrays.
    tables: dict of arrays with some of the same names, modified in place.
  """
  for name, table in tables.items():
    saved = arrays.get(name, table[:0])
    if (saved.shape, saved.dtype) != (table.shape, table.dtype):
      raise ValueError(f"path={os.fspath(path)!r}: its {name} is {saved.shape} "
                       f"{saved.dtype}; must be {table.shape} {table.dtype}")
  for name, table in tables.items():
    table[:] = arrays[name]
