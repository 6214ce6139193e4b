"""Whole matches of two-player Dudo with perfect recall within the round.

`PerfectRecallSolver` keeps all claims of a round in mind and stores only the
histories that matter, in trees that grow where an exact best response says so.
Every round has a certified interval, and the exploitability of the whole match
is exact at any time. Its policies are `RecallPolicy`. `average_policy` reads
the policy of a solver's file, and `merged` makes one policy of several.
`ShareTrials` finds out how to make one that fits into a file of some size.

`SearchBot` plays such a policy, and searches at the table where the policy
stores nothing. `measure_search` tells exactly what that gains.

Serves users.
"""

from dudo_spiel.algorithms.match.recall_budget import ShareTrials
from dudo_spiel.algorithms.match.recall_file import average_policy
from dudo_spiel.algorithms.match.recall_policy import merged
from dudo_spiel.algorithms.match.recall_policy import RecallPolicy
from dudo_spiel.algorithms.match.recall_search import SearchBot
from dudo_spiel.algorithms.match.recall_search import SearchPolicy
from dudo_spiel.algorithms.match.recall_solver import PerfectRecallSolver
from dudo_spiel.algorithms.match.search_measure import measure_search
from dudo_spiel.algorithms.match.search_measure import SearchResult

__all__ = ["average_policy", "measure_search", "merged", "PerfectRecallSolver",
           "RecallPolicy", "SearchBot", "SearchPolicy", "SearchResult",
           "ShareTrials"]
