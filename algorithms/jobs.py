"""Independent jobs, on the cores of this machine or on a Ray cluster.

`runtime.jobs` says how they run.
"""

from dudo_spiel.algorithms.runtime.jobs import check_engine
from dudo_spiel.algorithms.runtime.jobs import ENGINES
from dudo_spiel.algorithms.runtime.jobs import Job
from dudo_spiel.algorithms.runtime.jobs import Outcome
from dudo_spiel.algorithms.runtime.jobs import run

__all__ = ["ENGINES", "Job", "Outcome", "check_engine", "run"]
