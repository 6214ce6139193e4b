"""Tasks in the background: progress, failures and limits."""

import threading

import pytest

from dudo_spiel.web import tasks


def test_tasks_report_and_share():
  line = tasks.TaskQueue()
  calls = []

  def function(report):
    calls.append(1)
    report(0.5, "half")
    return "result"

  task = line.start("a", function)
  assert task.wait(30.0) and line.start("a", function) is task
  assert calls == [1] and task.view()["result"] == "result"
  assert line.find("b") is None

  def fail(report):
    raise ValueError("broken")

  failed = line.start("b", fail)
  assert failed.wait(30.0) and failed.view()["error"] == "broken"


def test_a_task_that_fails_does_not_hold_up_the_others(caplog):
  line = tasks.TaskQueue()
  broken = line.start("broken", lambda report: {}["secret"])
  after = line.start("after", lambda report: "result")
  assert broken.wait(30.0) and "secret" not in broken.view()["error"]
  assert after.wait(30.0) and after.result == "result"
  assert "secret" in caplog.text


def test_too_many_tasks_are_refused():
  line, gate = tasks.TaskQueue(), threading.Event()
  try:
    with pytest.raises(tasks.BusyError):
      for number in range(tasks.MAX_WAITING + 3):
        line.start(str(number), lambda report: gate.wait(30.0))
  finally:
    gate.set()
