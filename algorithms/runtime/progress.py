"""What long work shows on a terminal: progress bars and single lines."""

import sys
import threading

import tqdm

from dudo_spiel.algorithms.runtime import interrupts


class ProgressBar(tqdm.tqdm):
  """A bar whose lock no other process shares.

  Processes that are forked share the lock of `tqdm.tqdm`. When one of them is
  killed while it holds that lock, all others wait for ever.
  """

  monitor_interval = 0  # A thread of its own could hold the lock in a fork.


def _renew_lock():
  ProgressBar.set_lock(threading.RLock())


_renew_lock()
interrupts.call_after_fork(_renew_lock)


def progress_bar(total=None, **options):
  """Returns a `tqdm.tqdm` for a terminal, which a pipe does not show."""
  options = {"unit": "it", "delay": 1, "leave": False, "miniters": 1, **options}
  return ProgressBar(total=total, disable=None, **options)


def write_line(message):
  """Writes a line above the bars of a terminal; nothing on a pipe."""
  if sys.stderr and sys.stderr.isatty():
    ProgressBar.write(message, file=sys.stderr)
