"""Who may know whom in `algorithms/`, and what must be there once only."""

import ast
import collections
import pathlib
import subprocess
import sys

import pytest

from dudo_spiel import algorithms

_ROOT = pathlib.Path(algorithms.__file__).parent
_PREFIX = "dudo_spiel.algorithms"
# Packages by what they may know: those before them, and themselves.
_LAYERS = ("runtime", "tabular", "graphs", "dudo_single_round dudo", "doubt",
           "public")
_PUBLIC = {"cfr", "convergence", "exploitability", "fictitious_play", "fsicfr",
           "jobs", "pass_through", "perfect_recall", "pfsi", "policies",
           "policy_bots", "qlearning", "regret_matching", "simulation"}
_MODULES = sorted(path.relative_to(_ROOT) for path in _ROOT.rglob("*.py"))


def _layer(package):
  return next(i for i, names in enumerate(_LAYERS) if package in names.split())


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
  places = collections.defaultdict(list)
  for path in _MODULES:
    for node in _tree(path).body:
      if isinstance(node, ast.ClassDef):
        places[node.name.lstrip("_")].append(str(path))
  shared = {name: paths for name, paths in places.items() if len(paths) > 1}
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
