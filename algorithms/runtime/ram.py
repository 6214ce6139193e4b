"""How much memory there is, to refuse in time what would not fit.

It is the minimum of what the machine has, what the process may map
(`ulimit -v`), and what its cgroups (containers, jobs of a cluster) have left.
"""

import functools
import os
from typing import NamedTuple

try:
  import resource
except ImportError:  # not on Windows
  resource = None

_INFINITE = float("inf")
_GROUPS = "sys/fs/cgroup"
_NO_LIMIT = 2**60


class _Files(NamedTuple):
  """The names of a cgroup's files, and of what it can give back."""
  limit: str
  used: str
  inactive: str


_SECOND = _Files("memory.max", "memory.current", "inactive_file")
_FIRST = _Files("memory.limit_in_bytes", "memory.usage_in_bytes",
                "total_inactive_file")


def _read(path, begin="", unit=1, missing=_INFINITE):
  """Returns the number in the first line of a file that begins so, in bytes."""
  try:
    with open(path, encoding="ascii") as file:
      for line in file:
        if line.startswith(begin):
          return unit * int(line.removeprefix(begin).split()[0])
  except (OSError, ValueError):
    pass  # another system, which does not tell, or no limit
  return missing


def _address_space():
  """Returns how many bytes this process may still map (`ulimit -v`)."""
  if resource is None:
    return _INFINITE
  limit = resource.getrlimit(resource.RLIMIT_AS)[0]
  if limit == resource.RLIM_INFINITY:
    return _INFINITE
  return limit - _read("/proc/self/status", "VmSize:", 1024, 0)


@functools.lru_cache(maxsize=4)
def _groups(root):
  """Returns [(folder, its _Files)] of this process's cgroups with limits.

  The limits of all enclosing cgroups hold as well. In a container the path of
  the cgroup may be that of the host; its own folder is then the root.
  """
  try:
    with open(os.path.join(root, "proc/self/cgroup"), encoding="utf-8") as file:
      lines = [line.rstrip("\n").split(":", 2) for line in file]
  except OSError:
    return []
  groups = []
  for _, controllers, path in (line for line in lines if len(line) == 3):
    if controllers and "memory" not in controllers.split(","):
      continue
    top, names = ("memory", _FIRST) if controllers else ("", _SECOND)
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts) + 1):
      folder = os.path.join(root, _GROUPS, top, *parts[:count])
      if os.path.exists(os.path.join(folder, names.limit)):
        groups.append((folder, names))
  return groups


def _group_bytes(root):
  """Returns how many bytes the cgroups of this process have left."""
  available = _INFINITE
  for folder, names in _groups(root):
    limit = _read(os.path.join(folder, names.limit))
    if limit < min(available, _NO_LIMIT):
      # What a cgroup uses includes pages of files, which it can give back.
      used = (_read(os.path.join(folder, names.used), missing=0) -
              _read(os.path.join(folder, "memory.stat"), names.inactive,
                    missing=0))
      available = min(available, limit - used)
  return available


def available_bytes(root="/"):
  """Returns how many bytes of memory are free for use.

  Args:
    root: the folder of the system's files.
  """
  machine = _read(os.path.join(root, "proc/meminfo"), "MemAvailable:", 1024)
  return max(min(machine, _group_bytes(root), _address_space()), 0)


def check(name, value, needed, what, advice):
  """Raises a ValueError if something needs more memory than there is.

  Args:
    name: the argument that is to blame.
    value: its value.
    needed: how many bytes are needed.
    what: what needs it.
    advice: what to choose instead.
  """
  available = available_bytes()
  if needed > available:
    raise ValueError(
        f"{name}={value}: {what} needs {needed / 1e9:.1f} GB of memory, but "
        f"{available / 1e9:.1f} GB are available; choose {advice}")
