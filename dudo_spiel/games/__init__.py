"""The games. Importing this package registers them with OpenSpiel.

Each game's module also works when it is imported alone.
"""

from dudo_spiel.games import dark_chess_small
from dudo_spiel.games import dudo
from dudo_spiel.games import dudo_single_round
from dudo_spiel.games import liar_die
from dudo_spiel.games import neumann_poker

__all__ = ["dark_chess_small", "dudo", "dudo_single_round", "liar_die",
           "neumann_poker"]
