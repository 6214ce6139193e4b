"""Installs dudo_spiel; the folder algorithms/ is dudo_spiel.algorithms.

The folder examples/ is dudo_spiel_examples, for the console scripts and for
`python -m`. It is not inside dudo_spiel, so that a program can handle Ctrl-C
before OpenSpiel is imported.
"""

import setuptools

_FOLDERS = {"dudo_spiel": "dudo_spiel",
            "dudo_spiel.algorithms": "algorithms",
            "dudo_spiel_examples": "examples"}

setuptools.setup(
    packages=[
        package for root, folder in _FOLDERS.items()
        for package in (root, *(f"{root}.{name}" for name in
                                setuptools.find_packages(folder)))],
    package_dir=_FOLDERS,
    package_data={"dudo_spiel": ["data/*.npz"],
                  "dudo_spiel.web": ["static/*"]},
)
