"""Jobs: every result comes once, whatever happens to processes."""

import multiprocessing.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from dudo_spiel.algorithms import jobs
from dudo_spiel.algorithms.runtime import ram


def _call(what, folder):
  """What the jobs of these tests do, in processes of their own."""
  path = pathlib.Path(folder, what)
  if what == "dies once" and not path.exists():
    path.touch()
    os._exit(9)
  if what == "dies":
    with path.open("a", encoding="utf-8") as file:
      file.write("x")
    os._exit(9)
  if what == "fails":
    raise ValueError("what='fails': must be something else")
  if what == "is wrong":
    return [][1]
  if what == "cannot be sent":
    return lambda: None
  if what == "waits":
    path.write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)
  if what == "sees a death":
    with path.open("a", encoding="utf-8") as file:
      file.write("x")
    other = pathlib.Path(folder, "dies")
    while not other.exists() or other.read_text(encoding="utf-8") != "xx":
      time.sleep(0.01)
  if what.startswith("is large"):
    busy = pathlib.Path(folder, "busy")
    busy.touch(exist_ok=False)  # fails if another large one runs
    time.sleep(0.1)
    busy.unlink()
  return f"{what} is done"


def _jobs(*names, folder, **options):
  return [jobs.Job(name, (name, str(folder)), **options) for name in names]


def test_every_job_has_one_outcome(tmp_path):
  available = ram.available_bytes()
  calls = [*_jobs("sees a death", "a", "dies once", "b", "fails", "is wrong",
                  "dies", "cannot be sent", folder=tmp_path),
           *_jobs("is large", "is large too", "is large as well",
                  folder=tmp_path, memory=int(0.6 * available)),
           *_jobs("is too large", folder=tmp_path, memory=int(2 * available))]
  outcomes = list(jobs.run(_call, calls, num_workers=2, tries=2))
  assert sorted(outcome.job for outcome in outcomes) == sorted(calls)
  errors = {outcome.job.name: outcome.error for outcome in outcomes
            if outcome.error}
  assert errors.pop("fails") == "what='fails': must be something else"
  assert errors.pop("is wrong") == "IndexError: list index out of range"
  assert errors.pop("dies").startswith("dies: its process died 2 times")
  assert errors.pop("cannot be sent").startswith(
      "its result must be picklable (")
  assert (tmp_path / "dies").read_text(encoding="utf-8") == "xx"
  # A death leaves alone what other processes are doing.
  assert (tmp_path / "sees a death").read_text(encoding="utf-8") == "x"
  assert errors.pop("is too large").startswith("is too large: needs ")
  assert not errors
  for outcome in outcomes:
    name = outcome.job.name
    assert outcome.result == (None if outcome.error else f"{name} is done")


def _is_running(process):
  try:
    os.kill(process, 0)
  except ProcessLookupError:
    return False
  return True


def _assert_ends(process):
  end = time.monotonic() + 30
  while _is_running(process) and time.monotonic() < end:
    time.sleep(0.05)
  assert not _is_running(process)


def test_who_leaves_early_leaves_no_process(tmp_path):
  calls = _jobs("waits", "a", "b", folder=tmp_path)
  path = tmp_path / "waits"
  for outcome in jobs.run(_call, calls, num_workers=2):
    assert outcome.result
    while not (path.exists() and path.read_text(encoding="utf-8")):
      time.sleep(0.01)
    break
  # The generator is closed when it is no longer referred to.
  assert not _is_running(int(path.read_text(encoding="utf-8")))


def test_who_leaves_at_once_does_not_wait_for_large_arguments(tmp_path):
  calls = [jobs.Job("large", (b"x" * 10_000_000, str(tmp_path))),
           jobs.Job("cannot be sent", (lambda: None, ""))]
  for outcome in jobs.run(_call, calls, num_workers=2):
    assert outcome.job.name == "cannot be sent"
    break  # the other one's process has just been started


def test_ctrl_c_waits_until_a_process_has_started(monkeypatch, capfd,
                                                  tmp_path):
  spawn, started = multiprocessing.util.spawnv_passfds, []

  def spawn_and_interrupt(path, args, fds):
    process = spawn(path, args, fds)
    if "--multiprocessing-fork" in args:
      started.append(process)
      os.kill(os.getpid(), signal.SIGINT)
      time.sleep(0.1)
    return process

  monkeypatch.setattr(multiprocessing.util, "spawnv_passfds",
                      spawn_and_interrupt)
  # Signals may come to any thread, and are handled in the main one.
  end = threading.Event()
  threading.Thread(target=end.wait, daemon=True).start()
  with pytest.raises(KeyboardInterrupt):
    list(jobs.run(_call, _jobs("waits", folder=tmp_path)))
  end.set()
  assert len(started) == 1
  _assert_ends(started[0])
  assert capfd.readouterr().err == ""


def _kill_caller(tmp_path, end):
  """Kills a process with a job; returns (its folder of jobs, the job's id)."""
  program = tmp_path / "program.py"
  program.write_text(
      "import os, pathlib, time\n"
      "from dudo_spiel.algorithms import jobs\n"
      "def wait(path):\n"
      "  path.with_suffix('.new').write_text(str(os.getpid()))\n"
      "  path.with_suffix('.new').rename(path)\n"
      "  time.sleep(600)\n"
      "if __name__ == '__main__':\n"
      f"  path = pathlib.Path({str(tmp_path / 'process')!r})\n"
      "  list(jobs.run(wait, [jobs.Job('waits', (path,))]))\n",
      encoding="utf-8")
  folder = tmp_path / "temporary"
  folder.mkdir()
  caller = subprocess.Popen([sys.executable, program],
                            env={**os.environ, "TMPDIR": str(folder)},
                            start_new_session=True)
  path = tmp_path / "process"
  while not path.exists():
    assert caller.poll() is None
    time.sleep(0.05)
  end(caller.pid, signal.SIGKILL)
  caller.wait()
  return folder, int(path.read_text("utf-8"))


@pytest.mark.slow
def test_processes_end_with_a_caller_who_is_killed(tmp_path):
  folder, job = _kill_caller(tmp_path, os.kill)
  _assert_ends(job)
  assert not list(folder.glob("dudo_spiel*"))


@pytest.mark.slow
def test_what_a_killed_group_of_processes_leaves_is_removed(
    tmp_path, monkeypatch):
  folder, job = _kill_caller(tmp_path, os.killpg)
  _assert_ends(job)
  left, = folder.glob("dudo_spiel*")
  monkeypatch.setattr(tempfile, "tempdir", str(folder))
  run = jobs.run(_call, _jobs("x", folder=tmp_path))
  assert next(run).error == ""
  assert not left.exists()


def test_what_cannot_be_sent_is_an_error():
  (outcome,) = jobs.run(_call, [jobs.Job("x", (lambda: None, ""))])
  assert outcome.error.startswith(
      "x: its function and arguments must be picklable (")


@pytest.mark.parametrize("options, message", [
    ({"engine": "roy"}, "engine='roy': must be one of"),
    ({"num_workers": 0}, "num_workers=0: must be"),
    ({"tries": 0}, "tries=0: must be")])
def test_bad_arguments_are_refused(options, message):
  with pytest.raises(ValueError, match=message):
    jobs.run(_call, [], **options)


def test_no_jobs_have_no_outcomes():
  assert not list(jobs.run(_call, []))


def test_without_ray_the_error_says_what_to_install(monkeypatch):
  monkeypatch.setitem(sys.modules, "ray", None)
  with pytest.raises(ValueError, match="engine='ray': Ray is not installed; "
                     "install it with .* -m pip install ray"):
    jobs.run(_call, [], engine="ray")
