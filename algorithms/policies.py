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
from dudo_spiel.algorithms.runtime import arguments
from dudo_spiel.algorithms.runtime import checkpoint
from dudo_spiel.algorithms.single_round import policy as single_round_policy
from dudo_spiel.algorithms.single_round.policy import bot_policy
from dudo_spiel.algorithms.single_round.policy import SingleRoundPolicy

__all__ = ["MatchPolicy", "SeatPolicy", "SingleRoundPolicy", "TablePolicy",
           "bot_policy", "load_policy"]

_READERS = {table_policy.FILE_KIND: table_policy.from_file,
            match_policy.FILE_KIND: match_policy.from_file,
            single_round_policy.FILE_KIND: single_round_policy.from_file}


def load_policy(path, game=None):
  """Returns the policy that was saved to the file.

  It is a `TablePolicy`, a `MatchPolicy` or a `SingleRoundPolicy`, whichever was
  saved. A damaged file is refused with a ValueError. A file from a stranger can
  choose the game that is loaded, unless the game is given, but runs no code.

  Args:
    path: the file.
    game: the game, needed only where `pyspiel.load_game` cannot make it from
      its string (EFG games). It must be the game for which the policy was
      made, even if another one prints the same.
  """
  if game is not None:
    arguments.game("game", game)
  with checkpoint.opened(path, tuple(_READERS)) as archive:
    name = checkpoint.field(path, archive.header, "game", checkpoint.text)
    if game is None:
      game = _load_game(archive.path, name)
    elif str(game) != name:
      raise ValueError(f"game={game}: must be {name}, the game of the saved "
                       "policy")
    try:
      return _READERS[archive.header["kind"]](archive, game)
    except ValueError as error:
      if str(error).startswith("path="):
        raise
      raise ValueError(f"path={archive.path!r}: {error}") from error


def _load_game(path, name):
  """Returns the game with this name, or raises a ValueError."""
  if name.split("(")[0] not in pyspiel.registered_names():
    raise ValueError(f"path={path!r}: its game={name[:99]!r} is not known to "
                     "OpenSpiel; pass the game")
  try:
    return pyspiel.load_game(name)
  except (pyspiel.SpielError, ValueError, TypeError, RuntimeError) as error:
    raise ValueError(f"path={path!r}: its game {name[:99]} cannot be loaded; "
                     "pass the game") from error
