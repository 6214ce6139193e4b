"""How independent jobs run: processes of this machine, or tasks of Ray.

Users import the module `algorithms/jobs.py`. A job is a call of a function that
does not need the other jobs' results. Both engines run the same function with
the same arguments, so their results are the same:

  "local": processes of this machine, a new one for each job.
  "ray": tasks of a Ray cluster (the extra `ray`): the one that is running, or
    else one on this machine for as long as the jobs take.

A job whose process dies is tried again, in another process. A job starts where
there is enough memory for it. Results come as jobs finish, so whoever saves
them loses at most the jobs that are under way when the program ends.

Local processes exchange calls and answers with the caller by files. Executors
use pipes: if a process dies while it writes a large result, the reader waits
forever (seen with `concurrent.futures` in Python 3.11.7 and with `loky` 3.7.0).
A death in an executor also ends all its other jobs.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import pickle
import shutil
import sys
import threading
from typing import Any
from typing import NamedTuple

import numba

from dudo_spiel import validation
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import ram

ENGINES = ("local", "ray")
_TRIES = 3


class Job(NamedTuple):
  """A call of the function.

  Attributes:
    name: what messages call it.
    arguments: tuple, of the function; they must be picklable.
    memory: how many bytes the job takes at most; 0 if that does not matter.
    cores: how many cores it uses, for the placement on a cluster.
  """
  name: str
  arguments: tuple[Any, ...]
  memory: int = 0
  cores: int = 1


class Outcome(NamedTuple):
  """How a job ended.

  Attributes:
    job: the `Job`.
    result: what the function returned; None if there is an error.
    error: str, what went wrong; "" if nothing did.
  """
  job: Job
  result: Any
  error: str


def run(function: Callable[..., Any], jobs: Sequence[Job],
        engine: str = "local", num_workers: int | None = None,
        tries: int = _TRIES) -> Iterator[Outcome]:
  """Runs jobs and yields what becomes of them, as they finish.

  Leaving the loop early, or Ctrl-C, ends the jobs that are under way. Processes
  of this machine begin further jobs while the caller waits for an outcome, so
  the caller should not be busy for long.

  Args:
    function: what a job calls. It must be importable: from a module that all
      machines have, or from the program that is run. It should return nothing
      that depends on the process.
    jobs: list of `Job`.
    engine: "local" or "ray".
    num_workers: "local": how many jobs run at a time, None for one on each
      core. A cluster decides by itself.
    tries: how often a job is begun if its process dies.

  Yields:
    The `Outcome` of each job.

  Example:
    >>> import math
    >>> from dudo_spiel.algorithms import jobs
    >>> calls = [jobs.Job(f"{number}!", (number,)) for number in (3, 4, 5)]
    >>> outcomes = jobs.run(math.factorial, calls, num_workers=1)
    >>> sorted(outcome.result for outcome in outcomes)
    [6, 24, 120]
  """
  validation.choice("engine", engine, ENGINES)
  validation.integer("tries", tries, 1)
  if not isinstance(jobs, (list, tuple)) or not all(
      isinstance(job, Job) for job in jobs):
    raise ValueError(f"jobs={validation.shown(jobs)}: must be a list of `Job`")
  if num_workers is None:
    num_workers = numba.config.NUMBA_DEFAULT_NUM_THREADS
  validation.integer("num_workers", num_workers, 1)
  if engine == "ray":
    check_engine(engine)
    return _run_ray(function, list(jobs), tries)
  return _run_local(function, list(jobs), num_workers, tries)


def check_engine(engine: str) -> None:
  """Raises a ValueError if an engine cannot be used."""
  validation.choice("engine", engine, ENGINES)
  if engine == "ray":
    try:
      import ray  # noqa: F401, the extra `ray`
    except ModuleNotFoundError as error:
      raise ValueError(
          "engine='ray': Ray is not installed; install it with "
          f"{sys.executable} -m pip install ray (the extra `ray` of "
          f"dudo_spiel), or choose 'local' ({error})"
      ) from None


def _packed(value, name, pickler=pickle):
  """Returns a pickled value, or raises a ValueError with its name."""
  try:
    return pickler.dumps(value)
  except Exception as error:  # noqa: BLE001, each Python raises others
    raise ValueError(f"{name} must be picklable ({error})") from error


def _answer(packed, pickler=pickle):
  """Returns pickled (result, error) of a pickled (function, arguments)."""
  try:
    function, values = pickler.loads(packed)
    return _packed((function(*values), ""), "its result", pickler)
  except Exception as error:  # noqa: BLE001, the caller is in another process
    message = " ".join(str(error).split())
    if not (isinstance(error, (ValueError, OSError)) and message):
      message = f"{type(error).__name__}: {message}".rstrip(": ")
    return pickler.dumps((None, message))


def _too_large(job, available):
  """Returns the `Outcome` of a job for which no memory is large enough."""
  return _failed(job, f"needs {job.memory / 1e9:.1f} GB of memory, but "
                 f"{available / 1e9:.1f} GB are available; choose something "
                 "smaller")


def _failed(job, error):
  return Outcome(job, None, f"{job.name}: {error}")


def _died(job, tries):
  return _failed(job, f"its process died {tries} times; it may need more "
                 "memory than there is")


# Processes of this machine.


def _end_with_caller(folder):
  """Removes the folder and ends this process when the caller's dies."""
  multiprocessing.parent_process().join()
  shutil.rmtree(folder, ignore_errors=True)
  os._exit(1)


def _answer_file(call, answer):
  """Reads a packed call from a file and writes the answer to another one."""
  threading.Thread(target=_end_with_caller, args=(call.parent,),
                   daemon=True).start()
  if sys.stderr:
    sys.stderr.isatty = lambda: False  # so that no bar is drawn
  answer.write_bytes(_answer(call.read_bytes()))


class _LocalJob:
  """A job, the files of its call and its answer, and its process."""

  def __init__(self, job, path):
    self.job = job
    self.tries = 0  # how often it was begun
    self.process = None
    self._call = path.with_suffix(".call")
    self._answer = path.with_suffix(".answer")

  def start(self, function):
    """Starts a process; returns None, or the `Outcome` if that failed."""
    self.tries += 1
    try:
      self._call.write_bytes(_packed((function, self.job.arguments),
                                     "its function and arguments"))
      # Threads forbid a fork.
      process = multiprocessing.get_context("spawn").Process(
          target=_answer_file, args=(self._call, self._answer))
      # A new process reads its task from a pipe. If Ctrl-C came before the
      # task, it would complain about an empty pipe.
      with interrupts.deferred():
        process.start()
        self.process = process
    except Exception as error:  # noqa: BLE001, such as what cannot be pickled
      return _failed(self.job, error)
    return None

  def end(self):
    """Returns the `Outcome` of the process, which has ended."""
    self.process.join()
    if self.process.exitcode:
      return _died(self.job, self.tries)
    try:
      return Outcome(self.job, *pickle.loads(self._answer.read_bytes()))
    except Exception as error:  # noqa: BLE001, of pickles and files
      return _failed(self.job, error)
    finally:
      self._call.unlink(missing_ok=True)
      self._answer.unlink(missing_ok=True)

  def kill(self):
    """Kills the process, whatever it is doing."""
    if self.process is not None:
      self.process.kill()
      self.process.join()


def _run_local(function, jobs, num_workers, tries):
  """Yields the outcomes of jobs in processes of this machine; see `run`."""
  free = available = ram.available_bytes()
  yield from (_too_large(job, available) for job in jobs
              if job.memory > available)
  with files.temporary_folder("dudo_spiel_jobs_") as folder:
    local_jobs = [_LocalJob(job, pathlib.Path(folder, str(number)))
                  for number, job in enumerate(jobs) if job.memory <= available]
    waiting, running = list(local_jobs), {}  # sentinel: job
    outcomes = []  # of jobs that have just ended; others begin first
    try:
      while waiting or running or outcomes:
        for local in list(waiting):
          if len(running) < num_workers and local.job.memory <= free:
            waiting.remove(local)
            failure = local.start(function)
            if failure:
              outcomes.append(failure)
            else:
              running[local.process.sentinel] = local
              free -= local.job.memory
        yield from outcomes
        outcomes = []
        for sentinel in running and multiprocessing.connection.wait(running):
          local = running.pop(sentinel)
          free += local.job.memory
          outcome = local.end()
          if local.process.exitcode and local.tries < tries:
            waiting.insert(0, local)
          else:
            outcomes.append(outcome)
    finally:
      with interrupts.deferred():
        for local in local_jobs:
          local.kill()


# A Ray cluster.


@contextlib.contextmanager
def _cluster():
  """Yields `ray`, connected to a cluster as long as the context lasts."""
  import ray
  is_ours = not ray.is_initialized()
  if is_ours:
    ray.init(logging_level="error", log_to_driver=False)
  try:
    yield ray
  finally:
    if is_ours:
      ray.shutdown()


def _largest_node(ray):
  """Returns the memory of the node with the most."""
  return max((node["Resources"].get("memory", 0.0) for node in ray.nodes()
              if node["Alive"]), default=0.0)


def _ray_answer(packed):
  """Returns `_answer` on a cluster.

  What is packed is copied: nobody could change arrays that Ray shares.
  """
  from ray import cloudpickle
  return _answer(packed, cloudpickle)


def _run_ray(function, jobs, tries):
  """Yields the outcomes of jobs on a Ray cluster; see `run`."""
  with _cluster() as ray:
    available = _largest_node(ray)
    # Ray would wait for a node that is large enough.
    yield from (_too_large(job, available) for job in jobs
                if job.memory > available)
    task = ray.remote(_ray_answer)
    waiting = {}
    try:
      for job in (job for job in jobs if job.memory <= available):
        begin = task.options(name=job.name, num_cpus=job.cores,
                             memory=job.memory, max_retries=tries - 1)
        waiting[begin.remote(ray.cloudpickle.dumps(
            (function, job.arguments)))] = job
      while waiting:
        (done,), _ = ray.wait(list(waiting))
        job = waiting.pop(done)
        try:
          outcome = Outcome(job, *ray.cloudpickle.loads(ray.get(done)))
        except (ray.exceptions.WorkerCrashedError,
                ray.exceptions.OutOfMemoryError,
                ray.exceptions.NodeDiedError):
          outcome = _died(job, tries)
        except ray.exceptions.RayError as error:
          outcome = _failed(job, error)
        yield outcome
    finally:
      for reference in waiting:
        ray.cancel(reference, force=True)
