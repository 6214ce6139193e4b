"""Files that are replaced as a whole, and locks that end with their process.

A new file is written beside its place, under a name of its own that ends in
".part", brought to the disk and then renamed. As long as a process writes it,
it holds a lock on it. What is not locked was abandoned by a process that died,
and the next one to write the same file removes it.

Locks are those of the system (`flock`). They vanish with their process, however
it ends. Where there are none, on another system or some network drives, nothing
is locked and nothing counts as abandoned.
"""

import contextlib
import errno
import os
import re
import secrets
import stat

try:
  import fcntl
except ImportError:  # not a Unix system
  fcntl = None

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# What is written now, and what version 0.1.0 named by its process.
_TEMPORARY = re.compile(
    r"(?P<target>.+)\.(?:[0-9a-f]{16}|(?P<process>\d{1,10}))\.part")
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


class HeldError(Exception):
  """Another process, or another part of this one, holds a lock.

  Attributes:
    process: its number as str, "" if that is not known.
  """

  def __init__(self, process):
    super().__init__(f"held by process {process}")
    self.process = process


def path_text(path):
  """Returns a path as str, or raises a ValueError."""
  try:
    text = os.fsdecode(path)
  except TypeError:
    text = ""
  if not text or "\0" in text:
    raise ValueError(f"path={path!r}: must be the path of a file or a folder")
  return text


def stamp(file):
  """Returns what changes when a file is replaced; None if there is none.

  Args:
    file: its path or descriptor.
  """
  try:
    status = os.stat(file)
  except FileNotFoundError:
    return None
  return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def replacing(path):
  """Yields a new binary file that takes the place of another when it is whole.

  If the body raises an error, the old file stays. The place may be a symbolic
  link: it is replaced and not followed.

  Args:
    path: str, the absolute path of the file.
  """
  folder, name = os.path.split(path)
  remove_abandoned(folder, re.escape(name))
  temporary, descriptor = _new_temporary(path)
  try:
    with os.fdopen(descriptor, "w+b") as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
      if fcntl is None:
        file.close()
      os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(FileNotFoundError):
      os.unlink(temporary)
    raise
  _sync_folder(folder)


def remove_abandoned(folder, targets):
  """Removes what processes that died have left half-written.

  Args:
    folder: where.
    targets: a regular expression for the names of the files that they wrote.
  """
  if fcntl is None:
    return
  try:
    names = os.listdir(folder)
  except PermissionError:
    return  # a folder that one may write to, but not read
  for name in names:
    match = _TEMPORARY.fullmatch(name)
    if match and re.fullmatch(targets, match["target"]):
      with contextlib.suppress(OSError):  # it is gone, or not ours to remove
        _remove_if_abandoned(os.path.join(folder, name), match["process"])


@contextlib.contextmanager
def locked(path):
  """Holds a lock as long as the context lasts.

  The lock file is removed at the end. One that a process has left when it was
  killed does no harm: its lock has vanished. A process that is forked inside
  the context does not hold the lock, and leaves the lock file alone.

  Args:
    path: of the lock file.

  Raises:
    HeldError: if somebody else holds the lock.
  """
  descriptor, process = _open_locked(path), os.getpid()
  _HELD.add(descriptor)
  try:
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{process}\n".encode())
    yield
  finally:
    if os.getpid() == process:
      with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
      _HELD.discard(descriptor)
      os.close(descriptor)


def _let_go_after_fork():
  """Closes lock files in a forked child, which would keep them locked."""
  for descriptor in _HELD:
    os.close(descriptor)
  _HELD.clear()


_HELD = set()  # descriptors of the lock files that this process has locked
if hasattr(os, "register_at_fork"):
  os.register_at_fork(after_in_child=_let_go_after_fork)


def _open_locked(path):
  """Returns the descriptor of a lock file, locked; see `locked`."""
  while True:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
    is_locked = _lock(descriptor, wait=False)
    if is_locked is False:
      process = os.read(descriptor, 20).decode("ascii", "replace").strip()
      os.close(descriptor)
      raise HeldError(process)
    if os.fstat(descriptor).st_nlink or is_locked is None:
      return descriptor
    os.close(descriptor)  # its last holder has removed it in the meantime


def _lock(descriptor, wait):
  """Locks an open file.

  Args:
    descriptor: of the file.
    wait: whether to wait until it is free.

  Returns:
    Whether it is locked now; None where files cannot be locked.
  """
  if fcntl is None:
    return None
  try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
  except BlockingIOError:
    return False
  except OSError:
    return None
  return True


def _new_temporary(path):
  """Returns (path, descriptor) of a new file beside a path, locked."""
  while True:
    temporary = f"{path}.{secrets.token_hex(8)}.part"
    descriptor = os.open(temporary,
                         os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
    _lock(descriptor, wait=True)
    if os.fstat(descriptor).st_nlink:
      return temporary, descriptor
    os.close(descriptor)  # somebody took it for abandoned before it was locked


def _remove_if_abandoned(path, process):
  """Removes a temporary file unless somebody still writes it.

  Args:
    path: of the file.
    process: the number of the process that wrote it without a lock, or None.
  """
  descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
  try:
    if (stat.S_ISREG(os.fstat(descriptor).st_mode) and
        _lock(descriptor, wait=False) and
        (process is None or not _is_alive(int(process)))):
      os.unlink(path)
  finally:
    os.close(descriptor)


def _is_alive(process):
  """Returns whether there is a process with this number."""
  try:
    os.kill(process, 0)
  except (ProcessLookupError, OverflowError):
    return False
  except PermissionError:
    pass  # it is somebody else's
  return True


def _sync_folder(path):
  """Brings a folder to the disk, so that what was renamed there stays so."""
  try:
    descriptor = os.open(path, os.O_RDONLY)
  except PermissionError:
    return
  try:
    os.fsync(descriptor)
  except OSError as error:
    if error.errno not in _NO_FOLDER_SYNC:
      raise
  finally:
    os.close(descriptor)
