"""Makes Ctrl-C work in tests: background jobs of a shell ignore it."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
