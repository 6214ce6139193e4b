"""Dudo and other bluffing games for OpenSpiel, and solvers for them.

`import dudo_spiel` registers the games `dudo`, `dudo_ir`, `dudo_single_round`,
`dudo_single_round_ir`, `neumann_poker`, `liar_die` and `liar_die_ir`, so that
`pyspiel.load_game` finds them.
"""

from dudo_spiel import games

__all__ = ["games"]
__version__ = "0.1.0"
