import copy
import os
import pickle
import signal
import threading
import time

import pytest

from dudo_spiel.algorithms.runtime import synchronized


class Counter(synchronized.Synchronized):
  """Counts in steps, each of which other threads would disturb."""

  def __init__(self):
    self.number = 0
    self.events = []

  def _count(self, steps):
    for _ in range(steps):
      before = self.number
      time.sleep(0.002)
      self.number = before + 1
      yield self.number

  def run(self, steps):
    for _ in self._steps(self._count(steps)):
      self.events.append("step")

  def solve(self):
    self.run(1)
    return self.look()

  def look(self):
    self.events.append("look")
    return self.number

  def add(self):
    before = self.number
    time.sleep(0.002)
    self.number = before + 1

  def load(self):
    self.number = -1

  def look_inside(self):
    return self.look()


class Louder(Counter):

  def look(self):
    return 10 * super().look()


def _in_thread(function, *args):
  thread = threading.Thread(target=function, args=args)
  thread.start()
  return thread


def test_methods_wait_for_each_other():
  counter = Counter()
  threads = [_in_thread(counter.add) for _ in range(8)]
  threads.append(_in_thread(counter.run, 8))
  for thread in threads:
    thread.join()
  assert counter.number == 16


def test_others_get_turns_during_a_run():
  counter = Counter()
  thread = _in_thread(counter.run, 200)
  while not counter.events:
    time.sleep(0.001)
  for _ in range(5):
    counter.look()
  assert thread.is_alive()
  thread.join()
  assert counter.number == 200
  # Nobody waited for more than a few steps.
  assert counter.events.index("look") < 100


def test_no_other_thread_may_run_or_load_during_a_run():
  counter = Counter()
  thread = _in_thread(counter.run, 100)
  while not counter.events:
    time.sleep(0.001)
  for name, args in (("run", (1,)), ("solve", ()), ("load", ())):
    with pytest.raises(RuntimeError, match=f"^{name}: this Counter runs in "
                       "another thread"):
      getattr(counter, name)(*args)
  thread.join()
  assert counter.number == 100
  counter.load()
  counter.run(2)
  assert counter.number == 1


def test_a_thread_may_call_methods_inside_of_methods():
  louder = Louder()
  assert louder.solve() == 10
  assert louder.look_inside() == 10
  louder.run(1)


def test_an_error_or_ctrl_c_leaves_the_lock_free():
  counter = Counter()
  timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
  with pytest.raises(KeyboardInterrupt):
    timer.start()
    counter.run(10**6)
  timer.join()
  with pytest.raises(TypeError):
    counter.run("x")
  _in_thread(counter.run, 1).join()
  assert counter.events[-1] == "step"


def test_ctrl_c_ends_the_wait_for_a_turn():
  counter = Counter()
  is_held, may_end = threading.Event(), threading.Event()

  def hold():
    counter._hold(lambda: (is_held.set(), may_end.wait(60)))

  thread = _in_thread(hold)
  is_held.wait(60)
  timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
  with pytest.raises(KeyboardInterrupt):
    timer.start()
    counter.look()
  may_end.set()
  thread.join()
  assert counter.look() == 0
  assert not counter._waiting


@pytest.mark.parametrize("copied", [
    copy.copy, copy.deepcopy,
    lambda solver: pickle.loads(pickle.dumps(solver))])
def test_a_copy_has_a_lock_of_its_own(copied):
  counter = Counter()
  counter.run(2)
  other = counter._hold(copied, counter)
  assert (other.number, other.events) == (2, ["step", "step"])
  assert counter._hold(other.look) == 2
  other.run(1)
  assert (counter.number, other.number) == (2, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_lacks():
  counter = Counter()
  thread = _in_thread(counter.run, 100)
  while not counter.events:
    time.sleep(0.001)
  child = os.fork()
  if not child:
    counter.load()
    os._exit(counter.look() + 1)
  assert os.waitpid(child, 0)[1] == 0
  thread.join()
