"""Games between policies and bots, millions in a few seconds.

`play_matches` plays two-player Dudo between two match policies; `play_games`
plays four-player Dudo (`dudo_single_round`) between a line-up of policies and
bots. Both report standard errors.

Serves users.
"""

from dudo_spiel.algorithms.match.simulator import MatchResult
from dudo_spiel.algorithms.match.simulator import play_matches
from dudo_spiel.algorithms.single_round.simulator import play_games
from dudo_spiel.algorithms.single_round.simulator import SimulationResult

__all__ = ["MatchResult", "play_games", "play_matches", "SimulationResult"]
