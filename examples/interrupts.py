"""Ctrl-C ends a binary with a sentence, whatever it is doing.

Imported before all else, as imports alone take a second or two. Until `main`
begins, Ctrl-C ends the process at once: there is nothing to keep. While `main`
runs it raises KeyboardInterrupt, so that solvers can stop where their tables
are whole. When `main` has ended, so does the process, and Ctrl-C does nothing.
"""

# Only what Python has imported before, or nearly so.
import os
import signal
import sys

EXIT_CODE = 130  # what shells use for Ctrl-C
_MESSAGE = "stopped by Ctrl-C"
_PATIENCE = 0.05  # seconds until an interrupt that was lost is repeated


def _end(signum, frame):
  """Handles the signal: ends the process."""
  del signum, frame
  os.write(2, f"\n{_MESSAGE}\n".encode())
  os._exit(EXIT_CODE)


def _set_handler(handler):
  """Sets what Ctrl-C does, unless whoever started the process ignores it."""
  if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, handler)


def _repeat_lost(report):
  """Repeats an interrupt that came where Python cannot raise it.

  Such as in a function that a library calls: Python would report it and go on.

  Args:
    report: what `sys.unraisablehook` gets.
  """
  import _thread
  import threading
  if report.exc_type is KeyboardInterrupt:
    threading.Timer(_PATIENCE, _thread.interrupt_main).start()
  else:
    sys.__unraisablehook__(report)


def begin_main():
  """Lets Ctrl-C raise KeyboardInterrupt from now on."""
  sys.unraisablehook = _repeat_lost
  _set_handler(signal.default_int_handler)


def end_main():
  """Lets Ctrl-C do nothing from now on."""
  _set_handler(signal.SIG_IGN)


def say_stopped():
  """Says that Ctrl-C was the reason; returns the exit code."""
  end_main()
  print(f"\n{_MESSAGE}", file=sys.stderr)
  return EXIT_CODE


_set_handler(_end)
