"""Files that are replaced as a whole, locks that end with their process.

A new file is written beside its target, under a name that ends in ".part", then
synced (fsync) and renamed. Its writer holds a lock on it (`flock`). What a
killed process has left is not locked, and the next save overwrites it. Neither
is a temporary folder that it has left, which the next such folder removes.
"""

import contextlib
import errno
import os
import pathlib
import shutil
import stat
import tempfile

import filelock

try:
  import fcntl
except ImportError:  # not a Unix system
  fcntl = None

_FLAGS = (os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) |
          getattr(os, "O_BINARY", 0))
_FOLDER_LOCK = "lock"  # in a temporary folder
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
_NO_LOCKS = (errno.EINVAL, errno.ENOTSUP, errno.ENOLCK)


class HeldError(Exception):
  """Another process, or another part of this one, holds a lock.

  Attributes:
    process: its process id as str, "" if that is not known.
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


def open_regular(path):
  """Returns a file, open for reading in binary, unless it is not a regular one.

  Devices and pipes may never begin or never end. A symbolic link is followed.
  """
  # So that a pipe without a writer does not wait for one.
  flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (
      getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
  descriptor = os.open(path, flags)
  if stat.S_ISREG(os.fstat(descriptor).st_mode):
    return os.fdopen(descriptor, "rb")
  os.close(descriptor)
  raise ValueError("it is not a regular file")


def stamp(file):
  """Returns what changes when a file (a path or descriptor) is replaced.

  None if there is no file.
  """
  try:
    status = os.stat(file)
  except FileNotFoundError:
    return None
  return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def replacing(path):
  """Yields a new binary file that replaces another when it is complete.

  If the body raises an error, the old file stays. A symbolic link at the path
  is replaced, not followed. A pipe or a device is refused with a ValueError.

  Args:
    path: str, the absolute path of the file.
  """
  with contextlib.suppress(FileNotFoundError):
    mode = os.lstat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
      raise ValueError(f"path={path!r}: must be that of a regular file")
  part, descriptor = _open_part(path)
  with os.fdopen(descriptor, "w+b") as file:
    try:
      yield file
      file.flush()
      os.fsync(descriptor)
      if not fcntl:  # Windows does not rename open files.
        file.close()
      os.replace(part, path)
    except BaseException:
      with contextlib.suppress(OSError):
        if file.closed or _is_own(part, descriptor):
          os.unlink(part)
      raise
  _sync_folder(os.path.dirname(path))


def _open_part(path):
  """Returns (path, descriptor) of an empty file beside a path, locked."""
  number = 0
  while True:
    part = f"{path}.{number}.part"
    number += 1
    try:
      descriptor = os.open(part, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
      is_new = True
    except FileExistsError:
      try:
        descriptor = os.open(part, _FLAGS)
        is_new = False
      except OSError:
        continue  # It is a link, or belongs to somebody else.
    if _lock(descriptor, is_new) and _is_own(part, descriptor):
      os.truncate(descriptor, 0)
      return part, descriptor
    os.close(descriptor)


def _lock(descriptor, default):
  """Locks an open file; returns whether that worked (where there are locks)."""
  try:
    if fcntl:
      fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
      return True
  except BlockingIOError:
    return False
  except OSError:
    pass  # The file system has no locks.
  return default


def _is_own(part, descriptor):
  """Returns whether a path, and no other, is the open file's."""
  status = os.fstat(descriptor)
  try:
    return (stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and
            os.path.samestat(status, os.lstat(part)))
  except FileNotFoundError:
    return False  # Its writer has just renamed it.


def _sync_folder(path):
  """Syncs a folder (fsync), so that a rename in it outlasts a power failure."""
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


@contextlib.contextmanager
def locked(path):
  """Holds a lock as long as the context lasts.

  The lock file is removed at the end. One that a killed process has left does
  no harm: the lock itself has ended with its process. A forked child does not
  hold the lock, and does not remove the file. Where the file system has no
  locks, nothing is locked.

  Args:
    path: of the lock file.

  Raises:
    HeldError: if somebody else holds the lock.
  """
  lock = filelock.FileLock(path, timeout=0, thread_local=False)
  process = os.getpid()
  try:
    lock.acquire()
  except filelock.Timeout:
    holder = ""
    with contextlib.suppress(OSError):
      holder = pathlib.Path(path).read_text("ascii", "replace").strip()
    raise HeldError(holder) from None
  except OSError as error:
    if error.errno not in _NO_LOCKS:
      raise
  try:
    with contextlib.suppress(OSError):
      pathlib.Path(path).write_text(f"{process}\n", "ascii")
    yield
  finally:
    if os.getpid() == process:
      with contextlib.suppress(OSError):
        os.unlink(path)
      lock.release()


@contextlib.contextmanager
def temporary_folder(prefix):
  """Yields a new folder, and removes it in the end.

  Before that it removes the folders of killed processes. Where the file system
  has no locks, nobody knows them.

  Args:
    prefix: how the names of such folders begin.
  """
  _remove_left_folders(prefix)
  with contextlib.ExitStack() as stack:
    while True:
      folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix))
      lock = os.path.join(folder, _FOLDER_LOCK)
      with contextlib.suppress(HeldError):
        stack.enter_context(locked(lock))
        if os.path.exists(lock):
          break
      # Another process has just begun to remove it.
    yield folder


def _remove_left_folders(prefix):
  """Removes temporary folders of this user whose locks have ended."""
  if not fcntl:
    return
  try:
    entries = list(os.scandir(tempfile.gettempdir()))
  except OSError:
    return  # Its names are hidden from users, as on some shared machines.
  for entry in entries:
    if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
      try:
        if entry.stat(follow_symlinks=False).st_uid != os.getuid():
          continue
        descriptor = os.open(os.path.join(entry.path, _FOLDER_LOCK), _FLAGS)
      except OSError:
        continue  # It is not locked yet, or not any more.
      try:
        if _lock(descriptor, False):
          shutil.rmtree(entry.path, ignore_errors=True)
      finally:
        os.close(descriptor)
