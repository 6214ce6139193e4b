"""Which narrator tells which game."""

from dudo_spiel.games import dudo
from dudo_spiel.games import dudo_single_round
from dudo_spiel.games import liar_die
from dudo_spiel.games import neumann_poker
from dudo_spiel.terminal import dudo_narrators
from dudo_spiel.terminal import liar_die_narrator
from dudo_spiel.terminal import narrator
from dudo_spiel.terminal import poker_narrators

_NARRATORS = (
    (dudo.DudoGame, dudo_narrators.DudoNarrator),
    (dudo_single_round.DudoSingleRoundGame, dudo_narrators.SingleRoundNarrator),
    (liar_die.LiarDieGame, liar_die_narrator.LiarDieNarrator),
    (neumann_poker.NeumannPokerGame, poker_narrators.NeumannPokerNarrator),
)
_STOCK_NARRATORS = {"kuhn_poker": poker_narrators.KuhnPokerNarrator,
                    "leduc_poker": poker_narrators.LeducPokerNarrator}


def make_narrator(game, seat, style=narrator.PLAIN, show_odds=False):
  """Returns the `narrator.Narrator` with the best words for a game.

  `show_odds` lists the odds of the claims before every move.
  """
  maker = next((maker for kind, maker in _NARRATORS if isinstance(game, kind)),
               _STOCK_NARRATORS.get(game.get_type().short_name,
                                    narrator.Narrator))
  if issubclass(maker, dudo_narrators.ClaimNarrator):
    return maker(game, seat, style, show_odds)
  if show_odds:
    raise ValueError(f"show_odds={show_odds}: must be left out, as "
                     f"{game.get_type().short_name} has no claims about dice "
                     "of several players")
  return maker(game, seat, style)
