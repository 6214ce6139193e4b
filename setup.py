"""Installs dudo_spiel; the folder algorithms/ is dudo_spiel.algorithms."""

import setuptools

setuptools.setup(
    packages=[
        "dudo_spiel",
        "dudo_spiel.games",
        "dudo_spiel.narration",
        *(f"dudo_spiel.algorithms{package}" for package in (
            "", ".runtime", ".compiled", ".graphs", ".single_round",
            ".match")),
    ],
    package_dir={"dudo_spiel.algorithms": "algorithms"},
    package_data={"dudo_spiel": ["data/*.npz"]},
)
