"""How much memory there is, to refuse in time what would not fit.

Serves the walk of games, and solvers and responders that take gigabytes.
"""

try:
  import resource
except ImportError:  # not on Windows
  resource = None

_INFINITE = float("inf")
_CGROUP = "/sys/fs/cgroup/"


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


def available_bytes():
  """Returns how many bytes of memory are free for use."""
  # What a container uses includes pages of files, which it can give back.
  used = (_read(_CGROUP + "memory.current", missing=0) -
          _read(_CGROUP + "memory.stat", "inactive_file", missing=0))
  return max(min(_read("/proc/meminfo", "MemAvailable:", 1024),
                 _read(_CGROUP + "memory.max") - used, _address_space()), 0)


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
