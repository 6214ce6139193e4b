"""Tests send interrupts, which a shell's background processes ignore."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
