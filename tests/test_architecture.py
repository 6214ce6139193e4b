"""Who may know whom in `algorithms/`, and what must be there once only."""

import ast
import collections
import pathlib
import re
import subprocess
import sys

import pytest

from dudo_spiel import algorithms

_ROOT = pathlib.Path(algorithms.__file__).parent
_PREFIX = "dudo_spiel.algorithms"
# Packages by what they may know: those before them, and themselves.
_LAYERS = ("runtime", "tabular", "graphs", "dudo_single_round dudo", "doubt",
           "public")
# The same for the packages inside `dudo`, without those below them.
_DUDO_LAYERS = ("rounds", "imperfect_recall perfect_recall", "analysis")
_MAX_MODULES = 20  # of a package
_MAX_LINES = 60  # of code in a function, without its docstring
# Words that stand for many things: whatever has one as its name has a better
# one, such as `max_...`, `entries`, `path`, `index` or `remaining`.
_EMPTY_WORDS = {"each", "least", "live", "most", "now", "numbers", "place",
                "rest", "take", "work"}
_PUBLIC = {"cfr", "convergence", "exploitability", "fictitious_play", "fsicfr",
           "jobs", "pass_through", "perfect_recall", "pfsi", "policies",
           "policy_bots", "qlearning", "regret_matching", "simulation"}
_MODULES = sorted(path.relative_to(_ROOT) for path in _ROOT.rglob("*.py"))
_SOURCES = [path for folder in ("algorithms", "dudo_spiel", "examples")
            for path in sorted((_ROOT.parent / folder).rglob("*.py"))]


def _layer(package, layers=_LAYERS):
  return next(i for i, names in enumerate(layers) if package in names.split())


def _package(path):
  return path.parts[0] if len(path.parts) > 1 else "public"


def _tree(path):
  return ast.parse((_ROOT / path).read_text(encoding="utf-8"))


def _imports(path):
  """Yields the modules of `algorithms/` that a module imports."""
  for node in ast.walk(_tree(path)):
    names = []
    if isinstance(node, ast.Import):
      names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
      if name.startswith(f"{_PREFIX}."):
        yield name.removeprefix(f"{_PREFIX}.").split(".")


@pytest.mark.parametrize("path", _MODULES, ids=str)
def test_no_import_points_upward(path):
  package = _package(path)
  for imported in _imports(path):
    other = imported[0] if imported[0] not in _PUBLIC else "public"
    assert other == package or _layer(other) < _layer(package), (
        f"{path} imports {'.'.join(imported)}")


@pytest.mark.parametrize("path", [path for path in _MODULES if path.parts[
    0] == "dudo" and len(path.parts) > 2], ids=str)
def test_no_import_in_dudo_points_upward_or_aside(path):
  package = path.parts[1]
  for imported in _imports(path):
    if imported[0] == "dudo":
      assert imported[1] == package or (
          _layer(imported[1], _DUDO_LAYERS) < _layer(package, _DUDO_LAYERS)), (
              f"{path} imports {'.'.join(imported)}")


def test_packages_are_small():
  sizes = collections.Counter(
      path.parent for path in _MODULES if path.name != "__init__.py")
  assert max(sizes.values()) <= _MAX_MODULES, sizes


def test_functions_are_short():
  long = []
  for path in _SOURCES:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
      if isinstance(node, ast.FunctionDef):
        has_docstring = ast.get_docstring(node) is not None
        begin = node.body[0].end_lineno if has_docstring else node.lineno
        code = [line for line in lines[begin:node.end_lineno] if line.strip()
                and not line.strip().startswith("#")]
        if len(code) > _MAX_LINES:
          long.append(f"{path}: {node.name} has {len(code)}")
  assert not long


def _names(node):
  """Returns what a node of a syntax tree names, in lower case."""
  if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
    return [node.name.lower()]
  if isinstance(node, ast.arg):
    return [node.arg.lower()]
  if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
    return [node.id.lower()]
  if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
    return [node.attr.lower()]
  return []


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(
    path.relative_to(_ROOT.parent)))
def test_names_say_what_a_thing_is(path):
  found = [name for node in ast.walk(ast.parse(path.read_text("utf-8")))
           for name in _names(node)]
  # `_work` and `most_bytes`, but not `parse_numbers`: a verb says of what.
  assert not [name for name in found if name.strip("_") in _EMPTY_WORDS or
              name.strip("_").split("_")[0] in ("least", "most")]


def test_only_what_users_import_stands_on_top():
  tops = {path.stem for path in _MODULES if len(path.parts) == 1}
  assert tops == _PUBLIC | {"__init__"}


@pytest.mark.parametrize("path", _MODULES, ids=str)
def test_kernels_know_no_solver(path):
  if "kernels" in path.name:
    assert not [name for name in _imports(path) if "solver" in name[-1]]


def test_the_package_is_a_map():
  for name in _PUBLIC:
    assert f"  {name}: " in algorithms.__doc__


def test_cfr_knows_nothing_of_dudo():
  program = (f"import sys, {_PREFIX}.cfr; "
             "print([name for name in sys.modules if name.startswith(("
             f"'{_PREFIX}.dudo', "
             f"'{_PREFIX}.graphs'))])")
  result = subprocess.run([sys.executable, "-c", program], text=True,
                          capture_output=True, check=True)
  assert result.stdout == "[]\n"


def test_no_two_classes_share_a_name():
  paths_of = collections.defaultdict(list)
  for path in _MODULES:
    for node in _tree(path).body:
      if isinstance(node, ast.ClassDef):
        paths_of[node.name.lstrip("_")].append(str(path))
  shared = {name: paths for name, paths in paths_of.items() if len(paths) > 1}
  assert not shared


def test_kernels_have_at_most_eight_arguments():
  """More than that are best a named tuple."""
  long = []
  for path in _MODULES:
    for node in ast.walk(_tree(path)):
      if (isinstance(node, ast.FunctionDef) and len(node.args.args) > 8 and
          any(ast.unparse(decorator).startswith("jit.")
              for decorator in node.decorator_list)):
        long.append(f"{path}: {node.name} has {len(node.args.args)}")
  assert not long


def test_the_page_lists_every_module():
  """docs/architecture.md has a row for each module, and for no other."""
  page = (_ROOT.parent / "docs" / "architecture.md").read_text("utf-8")
  table = page.partition("\n## Packages\n")[2].partition("\n## ")[0]
  listed, package = set(), ""
  for row in table.splitlines()[4:]:
    if row:
      package = row.split("|")[1].strip("` ") or package
      listed |= {f"{package}/{name}.py"
                 for name in re.findall(r"`(\w+)`", row.split("|")[2])}
  modules = {path.as_posix() for path in _MODULES
             if len(path.parts) > 1 and path.name != "__init__.py"}
  assert not listed ^ modules
