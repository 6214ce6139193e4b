"""Installs dudo_spiel; the folder algorithms/ is dudo_spiel.algorithms."""

import setuptools

setuptools.setup(
    packages=["dudo_spiel", "dudo_spiel.games", "dudo_spiel.algorithms"],
    package_dir={"dudo_spiel.algorithms": "algorithms"},
    package_data={"dudo_spiel": ["data/*.npz"]},
)
