"""Installs dudo_spiel; the folder algorithms/ is dudo_spiel.algorithms.

The folder examples/ is dudo_spiel_examples, for the console scripts. It is not
inside dudo_spiel, so that a script can start before OpenSpiel is imported.
"""

import setuptools

setuptools.setup(
    packages=[
        "dudo_spiel",
        "dudo_spiel.games",
        "dudo_spiel.narration",
        "dudo_spiel.page",
        *(f"dudo_spiel.algorithms{package}" for package in (
            "", ".runtime", ".compiled", ".graphs", ".single_round",
            ".match")),
        "dudo_spiel_examples",
    ],
    package_dir={"dudo_spiel.algorithms": "algorithms",
                 "dudo_spiel_examples": "examples"},
    package_data={"dudo_spiel": ["data/*.npz"],
                  "dudo_spiel.page": ["static/*"]},
)
