"""The pages: links lead somewhere, code compiles, every binary is listed."""

import ast
import re

import helpers
import pytest

_ROOT = helpers.EXAMPLES.parent
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md",
          helpers.EXAMPLES / "README.md", *sorted(_ROOT.glob("docs/*.md"))]
_BINARIES = sorted(path for path in helpers.EXAMPLES.glob("*.py")
                   if path.name not in ("binary.py", "figures.py"))


def _anchors(page):
  text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
  titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
  return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
          for title in titles}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links(page):
  for link in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
    if link.startswith("https://"):
      continue
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    assert target.exists(), link
    assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_code_compiles(page):
  for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"),
                         re.DOTALL):
    compile(code, page.name, "exec")


def test_readme_is_short():
  assert len(_PAGES[0].read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("path", _BINARIES, ids=lambda path: path.name)
def test_binaries(path):
  doc = ast.get_docstring(ast.parse(path.read_text("utf-8")))
  assert "%" not in doc  # absl would put the program's name there
  assert f"`{path.name}`" in (helpers.EXAMPLES / "README.md").read_text("utf-8")
