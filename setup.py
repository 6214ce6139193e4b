"""Installs dudo_spiel; the folder algorithms/ is dudo_spiel.algorithms.

The folder examples/ is dudo_spiel_examples, for the console scripts and for
`python -m`. It is not inside dudo_spiel, so that a program can handle Ctrl-C
before OpenSpiel is imported.
"""

import pathlib

import setuptools
from setuptools.command import sdist

_FOLDERS = {"dudo_spiel": "dudo_spiel",
            "dudo_spiel.algorithms": "algorithms",
            "dudo_spiel_examples": "examples"}
# What an sdist has besides the packages: files, and folders with all in them.
_SOURCES = (".ci", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "docs",
            "examples/README.md", "tests")


class SourceDistribution(sdist.sdist):
  """An sdist with the tests and the docs, so that both can be used from it."""

  def make_distribution(self):
    """Writes the archive of all files in `filelist`."""
    for source in map(pathlib.Path, _SOURCES):
      paths = sorted(source.rglob("*")) if source.is_dir() else [source]
      self.filelist.extend(
          [str(path) for path in paths
           if path.is_file() and "__pycache__" not in path.parts])
    super().make_distribution()


setuptools.setup(
    cmdclass={"sdist": SourceDistribution},
    packages=[
        package for root, folder in _FOLDERS.items()
        for package in (root, *(f"{root}.{name}" for name in
                                setuptools.find_packages(folder)))],
    package_dir=_FOLDERS,
    package_data={"dudo_spiel": ["data/*.npz", "py.typed"],
                  "dudo_spiel.web": ["static/*"]},
)
