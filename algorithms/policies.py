"""Policies in files, and what turns policies into each other.

`load_policy` is the one place that knows all kinds of policy files.

Serves users.
"""

import pyspiel

from dudo_spiel.algorithms.compiled import table_policy
from dudo_spiel.algorithms.compiled.table_policy import SeatPolicy
from dudo_spiel.algorithms.compiled.table_policy import TablePolicy
from dudo_spiel.algorithms.match import policy as match_policy
from dudo_spiel.algorithms.match.policy import MatchPolicy
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.single_round import policy as single_round_policy
from dudo_spiel.algorithms.single_round.policy import bot_policy
from dudo_spiel.algorithms.single_round.policy import SingleRoundPolicy

__all__ = ["MatchPolicy", "SeatPolicy", "SingleRoundPolicy", "TablePolicy",
           "bot_policy", "load_policy"]


def load_policy(path, game=None):
  """Returns the policy that was saved to the file.

  It is a `TablePolicy`, a `MatchPolicy` or a `SingleRoundPolicy`, whichever was
  saved.

  Args:
    path: the file.
    game: the game, needed only where `pyspiel.load_game` cannot make it from
      its string (EFG games).
  """
  header, arrays = checkpoint.load(path, (
      table_policy.FILE_KIND, match_policy.FILE_KIND,
      single_round_policy.FILE_KIND))
  if game is None:
    try:
      game = pyspiel.load_game(header["game"])
    except pyspiel.SpielError as error:
      raise ValueError(f"path={str(path)!r}: its game {header['game']} cannot "
                       "be loaded; pass the game") from error
  elif str(game) != header["game"]:
    raise ValueError(f"game={game}: must be {header['game']}, the game of the "
                     "saved policy")
  if header["kind"] == match_policy.FILE_KIND:
    return match_policy.from_file(path, header, arrays, game)
  if header["kind"] == single_round_policy.FILE_KIND:
    return single_round_policy.from_file(path, arrays, game)
  return TablePolicy(game, header["info_states"], arrays["players"],
                     header["actions"], arrays["probabilities"])
