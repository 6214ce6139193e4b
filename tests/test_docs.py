"""The pages: links lead somewhere, code runs, every example is listed."""

import ast
import re
import shlex
import subprocess
import sys

import helpers
import pytest

_ROOT = helpers.EXAMPLES.parent
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md",
          helpers.EXAMPLES / "README.md", *sorted(_ROOT.glob("docs/*.md"))]
_PROGRAMS = list(helpers.PROGRAMS.values())
_SOURCES = [path for folder in ("algorithms", "dudo_spiel", "examples", "tests")
            for path in sorted((_ROOT / folder).rglob("*.py"))]


def _prose(page):
  """Returns the text of a page without its blocks of code."""
  return re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)


def _anchors(page):
  titles = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
  return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
          for title in titles}


def _blocks(page, language):
  """Returns the blocks of code of a page in a language ("" for a shell)."""
  blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"),
                      re.DOTALL | re.MULTILINE)
  return [block for found, block in blocks if found == language]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links(page):
  for link in re.findall(r"\]\(([^)]+)\)", _prose(page)):
    if link.startswith("https://"):
      continue
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    assert target.exists(), link
    assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_code_compiles(page):
  for code in _blocks(page, "python"):
    compile(code, page.name, "exec")


@pytest.mark.parametrize("page, block", [
    pytest.param(page, block, id=f"{page.name}-{i}",
                 marks=() if page == _PAGES[0] else pytest.mark.slow)
    for page in _PAGES[:2] for i, block in enumerate(_blocks(page, "python"))])
def test_python_runs_as_printed(page, block, tmp_path):
  del page
  subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=tmp_path,
                 check=True, capture_output=True)


_COMMAND = re.compile(r"(?:examples/(?:\w+/)*)?(\w+)\.py((?: +-{1,2}[^\s`]+)+)")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_flags_of_commands_exist(page):
  """Also of commands that nobody can run here, as they take hours."""
  for name, given in _COMMAND.findall(page.read_text("utf-8")):
    if f"{name}.py" in helpers.PROGRAMS:
      known = {flag.name for flag in helpers.defined_flags(f"{name}.py")}
      for flag in re.findall(r"-{1,2}(\w+)", re.sub(r"=\S*", "", given)):
        assert flag in known or flag.removeprefix("no") in known, (name, flag)


@pytest.mark.parametrize("path", [*_PAGES, *_SOURCES],
                         ids=lambda path: str(path.relative_to(_ROOT)))
def test_programs_are_where_texts_say(path):
  for named in re.findall(r"\bexamples/[\w/]+\.py\b", path.read_text("utf-8")):
    assert (_ROOT / named).exists() or named == "examples/x.py", named


# What makes commands of README quick, by the beginning of the command.
_SMALLER = {
    "examples/train_dudo.py": ["--numdice=1", "--minutes=0.01"],
    "examples/play_dudo.py --opponents=policy5.npz": ["--game=dudo(numdice=1)"],
}


@pytest.mark.slow
def test_commands_of_readme_run(tmp_path):
  """In their order and in one folder: some need what others write."""
  lines = "".join(_blocks(_PAGES[0], "")).splitlines()
  commands = [line.rpartition(".venv/bin/python ")[2].replace(
      ".venv/bin/dudo-play", "examples/play_dudo.py") for line in lines]
  examples = [command for command in commands
              if command.startswith("examples/")]
  assert set(commands) - set(examples) == {"-m pytest -n 2 --dist loadfile"}
  assert len(examples) >= 6
  for command in examples:
    path, *flags = shlex.split(command)
    smaller = [flag for begin, more in _SMALLER.items()
               if command.startswith(begin) for flag in more]
    result = helpers.run_example(_ROOT / path, *flags, *smaller, cwd=tmp_path)
    assert result.stderr == ""
  assert (tmp_path / "policy5.npz").exists()


def test_readme_is_short():
  assert len(_PAGES[0].read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("path", _PROGRAMS, ids=lambda path: path.name)
def test_docstring_of_a_program_is_its_help(path):
  doc = ast.get_docstring(ast.parse(path.read_text("utf-8")))
  assert "%" not in doc  # absl would put the program's name there


@pytest.mark.parametrize("path", _PROGRAMS, ids=lambda path: path.name)
def test_every_program_says_how_long_it_takes(path):
  text = (helpers.EXAMPLES / "README.md").read_text("utf-8")
  row, = re.findall(rf"^\| `{path.name}`.*$", text, re.MULTILINE)
  assert re.search(r"\| [^|]*(\d s|minutes?)\b[^|]* \|[^|]*\|$", row)


@pytest.mark.parametrize("path", [
    path for path in sorted(helpers.EXAMPLES.rglob("*.py"))
    if path.name != "__init__.py"], ids=lambda path: path.name)
def test_every_file_of_examples_is_listed(path):
  assert f"`{path.name}`" in (helpers.EXAMPLES / "README.md").read_text("utf-8")
