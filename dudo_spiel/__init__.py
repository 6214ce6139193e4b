"""Dudo and other bluffing games for OpenSpiel, and solvers for them.

`import dudo_spiel` registers these games, so that `pyspiel.load_game` finds
them: `dudo`, `dudo_ir`, `dudo_single_round`, `dudo_single_round_ir`,
`neumann_poker`, `liar_die`, `liar_die_ir` and `dark_chess_small`. A name that
ends in `_ir` is a game of imperfect recall, in which players forget some of
what they have seen.

The solvers are in `dudo_spiel.algorithms`, which has to be imported separately.
"""

from dudo_spiel import games

__all__ = ["games"]
__version__ = "0.2.0"
