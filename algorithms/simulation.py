"""Games between policies and bots, millions in a few seconds, or exactly.

`play_matches` plays two-player Dudo between two match policies; `play_games`
plays one round of Dudo with 2 to 6 players (`dudo_single_round`) between a
line-up of policies and bots. Both report standard errors. `exact_match`
computes what a policy with perfect recall wins against a match policy, and
`bot_policy` turns a bot into a policy.
"""

from dudo_spiel.algorithms.dudo.analysis.exact_match import exact_match
from dudo_spiel.algorithms.dudo.analysis.exact_match import ExactResult
from dudo_spiel.algorithms.dudo.analysis.match_simulator import MatchResult
from dudo_spiel.algorithms.dudo.analysis.match_simulator import play_matches
from dudo_spiel.algorithms.dudo_single_round.simulator import play_games
from dudo_spiel.algorithms.dudo_single_round.simulator import SimulationResult
from dudo_spiel.algorithms.policies import bot_policy

__all__ = ["bot_policy", "exact_match", "ExactResult", "MatchResult",
           "play_games", "play_matches", "SimulationResult"]
