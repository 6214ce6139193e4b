"""What users import to run independent jobs, here or on a Ray cluster.

The code is in `runtime/jobs.py`, which says how jobs run.
"""

from dudo_spiel.algorithms.runtime.jobs import check_engine
from dudo_spiel.algorithms.runtime.jobs import ENGINES
from dudo_spiel.algorithms.runtime.jobs import Job
from dudo_spiel.algorithms.runtime.jobs import Outcome
from dudo_spiel.algorithms.runtime.jobs import run

__all__ = ["ENGINES", "Job", "Outcome", "check_engine", "run"]
