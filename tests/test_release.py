"""The version is the same everywhere; an installed wheel does all it should."""

import ast
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile

import helpers
import pytest
from web import page_server

import dudo_spiel

_ROOT = pathlib.Path(__file__).parent.parent
# Folders of the clone, by where the wheel has them.
_FOLDERS = {"algorithms": "dudo_spiel/algorithms", "dudo_spiel": "dudo_spiel",
            "examples": "dudo_spiel_examples"}
_NOT_INSTALLED = ("README.md",)


def test_changelog_has_the_version():
  text = (_ROOT / "CHANGELOG.md").read_text("utf-8")
  titles = re.findall(r"^## \[(.*?)\](.*)$", text, re.MULTILINE)
  assert titles[0] == ("Unreleased", "")
  assert titles[1][0] == dudo_spiel.__version__
  for _, date in titles[1:]:
    assert re.fullmatch(r" - \d{4}-\d{2}-\d{2}", date)


def test_citation_has_the_version_and_its_date():
  text = (_ROOT / "CITATION.cff").read_text("utf-8")
  changes = (_ROOT / "CHANGELOG.md").read_text("utf-8")
  fields = dict(re.findall(r"^([\w-]+): (.*)$", text, re.MULTILINE))
  assert fields["version"] == dudo_spiel.__version__
  assert f"[{fields['version']}] - {fields['date-released']}" in changes
  assert "  - name: The dudo_spiel developers\n" in text and "@" not in text


def test_readme_names_the_wheel():
  text = (_ROOT / "README.md").read_text("utf-8")
  assert set(re.findall(r"dudo_spiel-[\d.]+-py3-none-any\.whl", text)) == {
      f"dudo_spiel-{dudo_spiel.__version__}-py3-none-any.whl"}


def _run(command, stdin="", code=0, **options):
  """Runs a command, asserts its exit code; returns what it prints."""
  result = subprocess.run(command, input=stdin, capture_output=True, text=True,
                          check=False, **options)
  assert result.returncode == code, result.stderr
  assert "Traceback" not in result.stderr
  return result.stdout


def _sources():
  """Returns {path in the wheel: path} of all files of the packages."""
  return {pathlib.PurePosixPath(package, path.relative_to(_ROOT / folder)): path
          for folder, package in _FOLDERS.items()
          for path in (_ROOT / folder).rglob("*")
          if path.is_file() and "__pycache__" not in path.parts and
          path.name not in _NOT_INSTALLED}


@pytest.fixture(scope="module", name="archives")
def _archives(tmp_path_factory):
  """Returns the sdist, and the wheel that was made of the sdist."""
  folder = tmp_path_factory.mktemp("dist")
  _run([sys.executable, "-m", "build", f"--outdir={folder}", str(_ROOT)])
  name = f"dudo_spiel-{dudo_spiel.__version__}"
  sdist, wheel = folder / f"{name}.tar.gz", folder / f"{name}-py3-none-any.whl"
  assert set(folder.iterdir()) == {sdist, wheel}
  return sdist, wheel


@pytest.fixture(scope="module", name="scripts")
def _scripts(archives, tmp_path_factory):
  """Installs the wheel only; returns the folder of Python and the scripts."""
  folder = tmp_path_factory.mktemp("environment")
  venv.create(folder, with_pip=True)
  scripts = folder / "bin"
  _run([scripts / "python", "-m", "pip", "install", "-q", str(archives[1])])
  return scripts


@pytest.mark.slow
def test_wheel_has_all_files_of_the_packages(archives):
  sources = _sources()
  with zipfile.ZipFile(archives[1]) as wheel:
    names = {pathlib.PurePosixPath(name) for name in wheel.namelist()
             if ".dist-info/" not in name}
    assert names == sources.keys()
    for name, path in sources.items():
      assert wheel.read(str(name)) == path.read_bytes(), name


@pytest.mark.slow
def test_sdist_has_tests_and_docs(archives):
  root = pathlib.PurePosixPath(archives[0].name.removesuffix(".tar.gz"))
  with tarfile.open(archives[0]) as sdist:
    names = {pathlib.PurePosixPath(name) for name in sdist.getnames()}
  wanted = [*_ROOT.glob("*.md"), *_ROOT.glob("docs/*"),
            *_ROOT.glob("tests/**/*.py"), *_ROOT.glob("tests/data/**/*.npz"),
            _ROOT / "CITATION.cff", _ROOT / "LICENSE"]
  for path in wanted:
    assert root / path.relative_to(_ROOT) in names
  assert not [name for name in names if "__pycache__" in name.parts]


@pytest.mark.slow
def test_every_program_is_an_installed_module(scripts, tmp_path):
  for path in helpers.PROGRAMS.values():
    name = ".".join(path.relative_to(helpers.EXAMPLES).with_suffix("").parts)
    output = _run([scripts / "python", "-m", f"dudo_spiel_examples.{name}",
                   "--help"], code=1, cwd=tmp_path)
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert output.partition("\nflags:\n")[0].strip() == docstring


def _outside_environment():
  return {key: value for key, value in os.environ.items()
          if key not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}


@pytest.mark.slow
def test_installed_page(scripts, tmp_path):
  """It says what is missing; that command installs it; then it serves."""
  result = subprocess.run([scripts / "dudo-page"], capture_output=True,
                          text=True, check=False, cwd=tmp_path)
  assert (result.returncode, result.stdout) == (1, "")
  message, _, command = result.stderr.partition(" with ")
  assert message == ("error: the page needs waitress, of the extra web; "
                     "install it")
  _run(shlex.split(command), cwd=tmp_path)
  with page_server.PageServer(
      command=[scripts / "dudo-page"], cwd=tmp_path,
      env=_outside_environment()) as server:
    with urllib.request.urlopen(server.url, timeout=60) as answer:
      assert b"<title>" in answer.read()
    with urllib.request.urlopen(f"{server.url}api/info",
                                timeout=60) as answer:
      assert json.load(answer)["trained_dice"]
    server.process.send_signal(signal.SIGINT)
    _, errors = server.process.communicate(timeout=60)
    assert server.process.returncode == 130 and "Traceback" not in errors


@pytest.mark.slow
def test_installed_programs_and_policies_work(scripts, tmp_path):
  """All of it in one environment, as kernels are compiled once."""
  environment = _outside_environment()

  def run(name, *flags, **options):
    return _run([scripts / name, *flags], cwd=tmp_path, env=environment,
                **options)

  version = run("python", "-c", "import dudo_spiel, importlib.metadata as m; "
                "print(dudo_spiel.__version__, m.version('dudo_spiel'), "
                "dudo_spiel.__file__)").split()
  assert version[:2] == [dudo_spiel.__version__] * 2
  assert version[2].startswith(str(scripts.parent))
  solve = ("--game=dudo(numdice=1,dice_sides=3)", "--target=1e-3")
  for command in (("dudo-solve",),
                  ("python", "-m", "dudo_spiel_examples.solve_game")):
    assert "exploitability" in run(*command, *solve)
  assert "Solves a game of OpenSpiel" in run("dudo-solve", "--help", code=1)
  played = run("dudo-play", "--game=dudo(numdice=3)", stdin="6x1\n" * 9)
  assert "Player 2 (trained)" in played
  assert "Your return is" in played.splitlines()[-1]
  for dice in (1, 5):
    assert run("python", "-c", "import pyspiel, dudo_spiel; "
               "from dudo_spiel.algorithms import policy_bots; "
               f"game = pyspiel.load_game('dudo(numdice={dice})'); "
               "policy = policy_bots.load_policy('trained', game); "
               "state = game.new_initial_state(); "
               "[state.apply_action(0) for _ in range(2)]; "
               "print(sum(policy.action_probabilities(state).values()))"
               ).startswith(("1.0", "0.99999"))
