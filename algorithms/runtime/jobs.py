"""Independent jobs, on the cores of this machine or on a Ray cluster.

A job is a call of a function that does not need the other jobs' results. Both
engines run the same function with the same arguments, so their results are the
same:

  "local": processes of this machine, one for each core. The standard library
    does all that is needed.
  "ray": tasks of a Ray cluster (the extra `ray`): the one that is running, or
    else one on this machine for as long as the jobs take.

A job whose process dies is tried again, in another process. A job starts where
there is enough memory for it. Results come as jobs finish, so whoever saves
them loses at most the jobs that are under way when the program ends.

Serves `jobs`, which users import, and `match.solver`.
"""

import concurrent.futures
import contextlib
import io
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any
from typing import NamedTuple

import numba

from dudo_spiel.algorithms.runtime import arguments
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


def run(function, jobs, engine="local", num_workers=None, tries=_TRIES):
  """Runs jobs and yields what becomes of them, as they finish.

  Leaving the loop early, or Ctrl-C, ends the jobs that are under way.

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
  """
  arguments.choice("engine", engine, ENGINES)
  arguments.integer("tries", tries, 1)
  if num_workers is None:
    num_workers = numba.config.NUMBA_DEFAULT_NUM_THREADS
  arguments.integer("num_workers", num_workers, 1)
  if engine == "ray":
    check_engine(engine)
    return _run_ray(function, list(jobs), tries)
  return _run_local(function, list(jobs), num_workers, tries)


def check_engine(engine):
  """Raises a ValueError if an engine cannot be used."""
  arguments.choice("engine", engine, ENGINES)
  if engine == "ray":
    try:
      import ray  # noqa: F401, the extra `ray`
    except ModuleNotFoundError as error:
      raise ValueError(
          "engine='ray': Ray is not installed; install it with "
          f"{sys.executable} -m pip install ray, or choose 'local' ({error})"
      ) from None


def _answer(packed, pickler):
  """Does a job, in its process.

  Args:
    packed: bytes, the pickled (function, arguments).
    pickler: the module that pickles.

  Returns:
    Bytes, the pickled (result, error).
  """
  try:
    function, values = pickler.loads(packed)
    return pickler.dumps((function(*values), ""))
  except Exception as error:  # noqa: BLE001, the caller is in another process
    message = " ".join(str(error).split())
    if not (isinstance(error, (ValueError, OSError)) and message):
      message = f"{type(error).__name__}: {message}".rstrip(": ")
    return pickler.dumps((None, message))


def _too_large(job, available):
  """Returns the `Outcome` of a job for which no memory is large enough."""
  return Outcome(job, None, f"{job.name}: needs {job.memory / 1e9:.1f} GB of "
                 f"memory, but {available / 1e9:.1f} GB are available; choose "
                 "something smaller")


def _died(job, tries):
  return Outcome(job, None, f"{job.name}: its process died {tries} times; it "
                 "may need more memory than there is")


# Processes of this machine.


class _Worker:
  """A process that runs one job after the other."""

  def __init__(self):
    context = multiprocessing.get_context("spawn")  # threads forbid a fork
    self._pipe, other = context.Pipe()
    self._process = context.Process(target=_serve, args=(other,), daemon=True)
    with _blocked_interrupts():  # which the process inherits
      self._process.start()
    other.close()

  def answer(self, packed):
    """Returns what `_answer` returns in the process, or None if it died."""
    try:
      self._pipe.send_bytes(packed)
      return self._pipe.recv_bytes()
    except (EOFError, ConnectionError):
      return None

  def end(self):
    """Kills the process, whatever it is doing."""
    self._process.kill()
    self._process.join()


@contextlib.contextmanager
def _blocked_interrupts():
  """Keeps Ctrl-C away from this thread; it is for the main one."""
  if not hasattr(signal, "pthread_sigmask"):  # on Windows
    yield
    return
  before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
  try:
    yield
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Silent(io.TextIOWrapper):
  """A stream that never is a terminal, so that no bar is drawn on it."""

  def isatty(self):
    return False


def _end_with_caller():
  """Ends this process when the one that has started it dies."""
  multiprocessing.parent_process().join()
  os._exit(1)


def _serve(pipe):
  """Answers calls until the other end is closed; runs in the process."""
  threading.Thread(target=_end_with_caller, daemon=True).start()
  sys.stderr = _Silent(os.fdopen(os.dup(2), "wb"), line_buffering=True)
  with contextlib.suppress(EOFError, ConnectionError):
    while True:
      pipe.send_bytes(_answer(pipe.recv_bytes(), pickle))


class _Memory:
  """What jobs that run at the same time may take together."""

  def __init__(self, size):
    self._free = self._size = size
    self._changed = threading.Condition()
    self._is_over = False

  def take(self, amount):
    """Waits until there is enough; returns whether to go on."""
    with self._changed:
      # A job that needs all of it runs alone.
      self._changed.wait_for(lambda: self._is_over or amount <= self._free or
                             self._free == self._size)
      self._free -= amount
      return not self._is_over

  def give(self, amount):
    with self._changed:
      self._free += amount
      self._changed.notify_all()

  def end(self):
    """Lets no further job begin."""
    with self._changed:
      self._is_over = True
      self._changed.notify_all()


class _Machine:
  """The processes of this machine, one for each thread that waits for it."""

  def __init__(self, function, tries):
    self._function = function
    self._tries = tries
    self._own = threading.local()  # this thread's worker
    self._workers = set()
    self._lock = threading.Lock()
    self._is_over = False
    self.memory = _Memory(ram.available_bytes())
    self.outcomes = queue.SimpleQueue()

  def run(self, job):
    """Runs a job in this thread's process and puts its outcome."""
    if not self.memory.take(job.memory):
      return
    try:
      outcome = self._outcome(job)
    except Exception as error:  # noqa: BLE001, such as what cannot be pickled
      outcome = Outcome(job, None, f"{job.name}: {error}")
    finally:
      self.memory.give(job.memory)
    self.outcomes.put(outcome)

  def _outcome(self, job):
    packed = pickle.dumps((self._function, job.arguments))
    for _ in range(self._tries):
      worker = self._worker()
      answer = worker.answer(packed)
      if answer is not None:
        return Outcome(job, *pickle.loads(answer))
      self._forget(worker)
    return _died(job, self._tries)

  def _worker(self):
    """Returns this thread's worker; raises an error if all is over."""
    with self._lock:
      if self._is_over:
        raise InterruptedError("the jobs were stopped")
      if getattr(self._own, "worker", None) is None:
        self._own.worker = _Worker()
        self._workers.add(self._own.worker)
    return self._own.worker

  def _forget(self, worker):
    """Forgets this thread's worker, which has died."""
    with self._lock:
      if not self._is_over:
        worker.end()
        self._workers.remove(worker)
    self._own.worker = None

  def end(self):
    """Ends all processes; jobs that have not begun never will."""
    self.memory.end()
    with self._lock:
      self._is_over = True
      for worker in self._workers:
        worker.end()


def _run_local(function, jobs, num_workers, tries):
  """Yields the outcomes of jobs in processes of this machine; see `run`."""
  machine = _Machine(function, tries)
  available = ram.available_bytes()
  fitting = [job for job in jobs if job.memory <= available]
  yield from (_too_large(job, available) for job in jobs
              if job.memory > available)
  pool = concurrent.futures.ThreadPoolExecutor(
      max(min(num_workers, len(fitting)), 1))
  try:
    for job in fitting:
      pool.submit(machine.run, job)
    for _ in fitting:
      yield machine.outcomes.get()
  finally:
    machine.end()
    pool.shutdown(cancel_futures=True)


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

  What is packed is copied. Ray would share arrays between processes, so that
  nobody could change them.
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
          outcome = Outcome(job, None, f"{job.name}: {error}")
        yield outcome
    finally:
      for reference in waiting:
        ray.cancel(reference, force=True)
