"""Fixed-Strategy Iteration CFR (Neller & Hnath 2011).

`FSICFRSolver` runs it on the graph of any two-player zero-sum game of moderate
size. `MatchSolver` trains whole matches of two-player Dudo, up to the full game
with five dice each: rounds from the fewest dice up, the leaves of each worth
what the smaller rounds were found to be worth.
"""

from dudo_spiel.algorithms.graphs.fsicfr_solver import FSICFRSolver
from dudo_spiel.algorithms.match.solver import MatchSolver
from dudo_spiel.algorithms.match.solver import memory_needed

__all__ = ["FSICFRSolver", "MatchSolver", "memory_needed"]
