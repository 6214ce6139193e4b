"""Fixed-Strategy Iteration CFR (Neller & Hnath 2011).

`FSICFRSolver` runs on the graph of any two-player zero-sum game of moderate
size. `MatchSolver` trains whole matches of two-player Dudo, up to the full game
with five dice each. It goes from the rounds with the fewest dice to those with
the most, and the leaves of a round are worth what the smaller rounds were found
to be worth. `memory_needed` says how much memory a `MatchSolver` takes.

`LastClaims` and `PlayerRanks` say what the players of a `MatchSolver` remember:

  fsicfr.MatchSolver(game, memory=fsicfr.LastClaims(2, ranks=2))
  fsicfr.MatchSolver(game, memory="claims2_ranks2")  # the same
"""

from dudo_spiel.algorithms.dudo.imperfect_recall.abstractions import LastClaims
from dudo_spiel.algorithms.dudo.imperfect_recall.abstractions import PlayerRanks
from dudo_spiel.algorithms.dudo.imperfect_recall.match_solver import MatchSolver
from dudo_spiel.algorithms.dudo.imperfect_recall.match_solver import (
    memory_needed,
)
from dudo_spiel.algorithms.graphs.fsicfr_solver import FSICFRSolver

__all__ = ["FSICFRSolver", "LastClaims", "MatchSolver", "memory_needed",
           "PlayerRanks"]
