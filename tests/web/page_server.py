"""The page's example binary as a process, for tests."""

import re
import subprocess
import sys

import helpers


class PageServer:
  """Serves the page on a free port of the loopback address.

  Attributes:
    process: the `subprocess.Popen`.
    port: the port.
    url: the address of the page.

  Args:
    *flags: flags of the binary.
    command: how to start it; None for the example of this clone.
    **options: what else `subprocess.Popen` takes.
  """

  def __init__(self, *flags, command=None, **options):
    command = command or (sys.executable, helpers.PROGRAMS["dudo_page.py"])
    self.process = subprocess.Popen(
        [*command, "--port=0", *flags], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **options)
    line = self.process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found, line + self.process.stderr.read()
    self.url, self.port = found[0], int(found[1])

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.process.kill()
    self.process.communicate()
