"""How much memory there is, to refuse in time what would not fit.

Serves solvers and responders that take gigabytes.
"""


def available_bytes():
  """Returns how many bytes of memory are free for use."""
  limits = [float("inf")]
  for path, begin, unit in (("/proc/meminfo", "MemAvailable:", 1024),
                            ("/sys/fs/cgroup/memory.max", "", 1)):
    try:
      with open(path, encoding="ascii") as file:
        limits += [unit * int(line.removeprefix(begin).split()[0])
                   for line in file if line.startswith(begin)]
    except (OSError, ValueError):
      pass  # another system, which does not tell, or no limit
  return min(limits)


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
