"""Whole matches of two-player Dudo with perfect recall within the round.

`PerfectRecallSolver` keeps all claims of a round in mind and stores only the
histories that matter, in trees that grow where an exact best response says so.
Every round has a certified interval, and the exploitability of the whole match
is exact at any time. Its policies are `RecallPolicy`. `average_policy` reads
the policy of a solver's file, and `merged` makes one policy of several.
`ShareTrials` finds out how to make one that fits into a file of some size.
The code is in `dudo/perfect_recall/`.
"""

from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall import recall_solver
from dudo_spiel.algorithms.dudo.perfect_recall import solver_file
from dudo_spiel.algorithms.dudo.perfect_recall.compression import bit_budget

average_policy = solver_file.average_policy
merged = recall_policy.merged
PerfectRecallSolver = recall_solver.PerfectRecallSolver
RecallPolicy = recall_policy.RecallPolicy
ShareTrials = bit_budget.ShareTrials

__all__ = ["average_policy", "merged", "PerfectRecallSolver", "RecallPolicy",
           "ShareTrials"]
