"""Ctrl-C ends a binary with a sentence, whatever it is doing.

Imported before all else, as imports alone take a second or two. Ctrl-C ends the
process at once: most binaries have nothing to keep, and libraries may lose the
exception that Python would raise. What must be kept or cleared away is in
`with ctrl_c.raised():`. There Ctrl-C raises KeyboardInterrupt, so that
solvers can stop where their tables are whole. Whatever exception then ends
`main`, Ctrl-C was the reason. Saves of several files are in
`binary.deferred()`, which postpones it. Ctrl-C does nothing when `main`
has ended.
"""

# Only what Python has imported before, or nearly so.
import contextlib
import os
import signal
import sys

EXIT_CODE = 130  # what shells use for Ctrl-C
_MESSAGE = "stopped by Ctrl-C"
_PATIENCE = 0.05  # seconds until an interrupt that was lost is repeated
_depth = 0  # how many contexts of `raised` there are
_has_come = False  # in one of them


def _handle(signum, frame):
  """Ends the process, or raises KeyboardInterrupt."""
  del signum, frame
  global _has_come
  if not _depth:
    if sys.stderr:  # there is none after `2>&-`
      with contextlib.suppress(OSError):
        os.write(2, f"\n{_MESSAGE}\n".encode())
    exit_at_once()
  _has_come = True
  raise KeyboardInterrupt


def _set_handler(handler):
  """Sets what Ctrl-C does, unless whoever started the process ignores it."""
  if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, handler)


def _report_unraisable(report):
  """Repeats an interrupt that came where Python cannot raise it.

  Such as in a function that a library calls: Python would report it and
  continue. After an interrupt, what else goes wrong there is no news.

  Args:
    report: what `sys.unraisablehook` gets.
  """
  import _thread
  import threading
  if report.exc_type is KeyboardInterrupt:
    threading.Timer(_PATIENCE, _thread.interrupt_main).start()
  elif not _has_come:
    sys.__unraisablehook__(report)


@contextlib.contextmanager
def raised():
  """Lets Ctrl-C raise KeyboardInterrupt as long as the context lasts."""
  global _depth
  sys.unraisablehook = _report_unraisable
  _depth += 1
  try:
    yield
  finally:
    _depth -= 1


def has_come():
  """Returns whether Ctrl-C has raised KeyboardInterrupt."""
  return _has_come


def end_main():
  """Lets Ctrl-C do nothing from now on."""
  _set_handler(signal.SIG_IGN)


def say_stopped():
  """Says that Ctrl-C was the reason; returns the exit code."""
  end_main()
  print(f"\n{_MESSAGE}", file=sys.stderr)
  return EXIT_CODE


def exit_at_once():
  """Ends the process without waiting for its threads.

  Python would wait for computations that nobody needs any more.
  """
  for stream in (sys.stdout, sys.stderr):
    # There may be none, nobody may read it, or it is just being written.
    with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):
      stream.flush()
  os._exit(EXIT_CODE)


_set_handler(_handle)
