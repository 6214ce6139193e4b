"""The tutorial: its page has the code and the numbers of its script."""

import ast
import contextlib
import io
import re
import textwrap

import helpers
import pytest

_PAGE = (helpers.EXAMPLES.parent / "docs" / "tutorial.md").read_text("utf-8")
_SCRIPT = helpers.PROGRAMS["tutorial.py"].read_text("utf-8")
_NUM_STEPS = 10
_SLOW_STEPS = (9, 10)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d*)?(?:e-?\d+)?")


def _blocks(text, language):
  return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL |
                    re.MULTILINE)


def _sections():
  """Returns the introduction, then [(title, text)] of the steps."""
  introduction, *parts = re.split(r"^## (\d+)\. (.*)\n", _PAGE,
                                  flags=re.MULTILINE)
  assert parts[::3] == [str(number) for number in range(1, _NUM_STEPS + 1)]
  return introduction, list(zip(parts[1::3], parts[2::3]))


def _steps():
  """Returns [(title, code)] of the script's steps, without indentation."""
  nodes = ast.parse(_SCRIPT).body
  functions = {node.name: node for node in nodes
               if isinstance(node, ast.FunctionDef)}
  order = next(node.value for node in nodes if isinstance(node, ast.Assign) and
               node.targets[0].id == "STEPS")
  lines = _SCRIPT.splitlines(keepends=True)
  steps = [functions[name.id] for name in order.elts]
  return [(ast.get_docstring(step).rstrip("."), textwrap.dedent("".join(
      lines[step.body[0].end_lineno:step.end_lineno]))) for step in steps]


def _assert_same_output(printed, shown):
  """Asserts equal words, and numbers that differ by rounding errors only.

  Compiled sums may be rounded differently on another processor, so numbers may
  differ by 2% or by one in the last digit shown.

  Args:
    printed: what a step prints.
    shown: what the page shows.
  """
  assert _NUMBER.sub("#", printed).split() == _NUMBER.sub("#", shown).split()
  for found, expected in zip(_NUMBER.findall(printed), _NUMBER.findall(shown)):
    digits = len(expected.partition(".")[2])
    last = 0.0 if "e" in expected or "." not in expected else 10.0**-digits
    assert float(found.replace(",", "")) == pytest.approx(
        float(expected.replace(",", "")), rel=0.02, abs=1.01 * last), printed


def test_page_has_the_code_of_the_script():
  introduction, sections = _sections()
  imports = _blocks(introduction, "python")[0].splitlines()
  missing = set(imports) - set(_SCRIPT.splitlines())
  assert missing == {"import dudo_spiel  # registers the games"}
  for (title, text), (name, code) in zip(sections, _steps(), strict=True):
    *before, block = _blocks(text, "python")
    assert title == name
    assert block == code
    assert all(other in _SCRIPT for other in before)


@pytest.mark.parametrize("steps", [
    [number for number in range(1, _NUM_STEPS + 1) if number not in
     _SLOW_STEPS], pytest.param(_SLOW_STEPS, marks=pytest.mark.slow)])
def test_script_prints_what_the_page_shows(steps):
  result = helpers.run_example("tutorial.py",
                               f"--steps={','.join(map(str, steps))}")
  assert result.stderr == ""
  outputs = re.split(r"^\d+\. .*\n", result.stdout, flags=re.MULTILINE)[1:]
  for number, printed in zip(steps, outputs, strict=True):
    shown = _blocks(_sections()[1][number - 1][1], "text")[-1]
    _assert_same_output(printed, shown)


@pytest.mark.slow
def test_page_runs_as_printed():
  """In one session, as a reader types it."""
  introduction, sections = _sections()
  namespace = {}
  for code in _blocks(introduction, "python"):
    exec(code, namespace)
  for _, text in sections:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      for code in _blocks(text, "python"):
        exec(code, namespace)
    _assert_same_output(printed.getvalue(), _blocks(text, "text")[-1])


@pytest.mark.parametrize("printed, shown, is_same", [
    ("value: 0.413", "value: 0.412", True),
    ("value: 0.43", "value: 0.41", False),
    ("value: 0.41", "payoff: 0.41", False),
    ("24,577 sets", "24,576 sets", True),
    ("25,576 sets", "24,576 sets", False),
    ("close to -7/258", "close to 7/258", False),
    ("2e-06", "3e-06", False)])
def test_outputs_are_compared_by_words_and_numbers(printed, shown, is_same):
  if is_same:
    _assert_same_output(printed, shown)
  else:
    with pytest.raises(AssertionError):
      _assert_same_output(printed, shown)


@pytest.mark.parametrize("flags, num_pictures", [
    (["--picture=self_play"], 1), pytest.param([], 3, marks=pytest.mark.slow)])
def test_plot_tutorial(flags, num_pictures, tmp_path):
  result = helpers.run_example("plot_tutorial.py", f"--folder={tmp_path}",
                               *flags)
  assert result.stderr == ""
  pictures = list(tmp_path.iterdir())
  assert len(pictures) == num_pictures
  for path in pictures:
    assert path.read_bytes().startswith(b"\x89PNG")
    assert 5_000 < path.stat().st_size < 60_000
    assert f"]({path.name})" in _PAGE


def test_a_step_that_does_not_exist_is_refused():
  helpers.assert_refused("tutorial.py", ["--steps=1,11"],
                         "--steps=1,11: must be numbers from 1 to 10")
