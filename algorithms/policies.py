"""Policies in files, and what turns policies into each other.

`load_policy` is the one place that knows all kinds of policy files.
`bot_policy` turns a bot into a policy with tables, `from_open_spiel` any policy
of OpenSpiel. The methods `to_tabular` and `to_pyspiel` do the reverse.
"""

from collections.abc import Sequence
import warnings

import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.doubt import doubt_policy
from dudo_spiel.algorithms.doubt.doubt_policy import DoubtPolicy
from dudo_spiel.algorithms.dudo.analysis import bot_policies
from dudo_spiel.algorithms.dudo.imperfect_recall import match_policy
from dudo_spiel.algorithms.dudo.imperfect_recall.match_policy import MatchPolicy
from dudo_spiel.algorithms.dudo.perfect_recall import recall_policy
from dudo_spiel.algorithms.dudo.perfect_recall.recall_policy import RecallPolicy
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.dudo_single_round import single_round_policy
from dudo_spiel.algorithms.dudo_single_round.single_round_policy import (
    SingleRoundPolicy,
)
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.tabular import compiled_game
from dudo_spiel.algorithms.tabular import table_policy
from dudo_spiel.algorithms.tabular.table_policy import SeatPolicy
from dudo_spiel.algorithms.tabular.table_policy import TablePolicy
from dudo_spiel.algorithms.tabular.tree import named_games

__all__ = ["DoubtPolicy", "MatchPolicy", "RecallPolicy", "SeatPolicy",
           "SavedPolicy", "SingleRoundPolicy", "TablePolicy", "bot_policy",
           "from_open_spiel", "load_policy"]

SavedPolicy = (DoubtPolicy | MatchPolicy | RecallPolicy | SingleRoundPolicy |
               TablePolicy)

_READERS = {table_policy.FILE_KIND: table_policy.from_file,
            match_policy.FILE_KIND: match_policy.from_file,
            doubt_policy.FILE_KIND: doubt_policy.from_file,
            recall_policy.FILE_KIND: recall_policy.from_file,
            single_round_policy.FILE_KIND: single_round_policy.from_file}


def bot_policy(game: pyspiel.Game,
               name: str) -> MatchPolicy | SingleRoundPolicy:
  """Returns a hand-made bot as a policy with tables.

  It is a `MatchPolicy` for `dudo` with two players, and a `SingleRoundPolicy`
  for `dudo_single_round` and its abstractions. Up to version 0.1, one of two
  functions of this name took the name first. That order still works here, with
  a DeprecationWarning.

  Args:
    game: the game.
    name: the bot: "odds", "heuristic" or "random"; also "uniform" for
      `dudo`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policies
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> type(policies.bot_policy(game, "heuristic")).__name__
    'SingleRoundPolicy'
  """
  if isinstance(game, str) and isinstance(name, pyspiel.Game):
    warnings.warn("bot_policy(name, game) is deprecated: pass the game first",
                  DeprecationWarning, stacklevel=2)
    game, name = name, game
  validation.game("game", game)
  if single_round_layout.is_single_round(game):
    return single_round_policy.bot_policy(game, name)
  return bot_policies.bot_policy(game, name)


def from_open_spiel(
    game: pyspiel.Game,
    policy: annotations.Policy | Sequence[annotations.Policy]) -> TablePolicy:
  """Returns any OpenSpiel policy as a `TablePolicy`, which can be saved.

  Its methods `to_tabular` and `to_pyspiel` give the same probabilities back.
  The whole game is walked, and the policy is asked once for each information
  state.

  Args:
    game: a `pyspiel.Game` whose players move in turns.
    policy: a policy for the game in Python or C++, or a list of one for each
      player.

  Raises:
    ValueError: if the game does not fit into memory, or the policy has no
      distribution over the legal actions at one of its information states.

  Example:
    >>> from open_spiel.python.algorithms import cfr
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policies
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> solver = cfr.CFRSolver(game)  # OpenSpiel's
    >>> for _ in range(100):
    ...   solver.evaluate_and_update_policy()
    >>> policy = policies.from_open_spiel(game, solver.average_policy())
    >>> policy.distance(solver.average_policy())
    0.0
  """
  compiled = compiled_game.compile_game(validation.game("game", game))
  return table_policy.from_strategy(
      compiled, table_policy.to_strategy(compiled, policy))


def load_policy(path: annotations.PathLike,
                game: pyspiel.Game | None = None) -> SavedPolicy:
  """Returns the policy that was saved to the file.

  It is a `TablePolicy`, `MatchPolicy`, `RecallPolicy`, `SingleRoundPolicy` or
  `DoubtPolicy`, whichever was saved. A damaged file is refused with a
  ValueError. A file from a stranger runs no code.

  Args:
    path: the file.
    game: the game, needed unless it is one of this package, or a small one of
      OpenSpiel: `kuhn_poker`, `leduc_poker`, `liars_dice`, `goofspiel`,
      `blotto`, `tic_tac_toe`, the matrix games, and these made turn-based
      (`docs/reliability.md` has the sizes). It must be the game for which the
      policy was made, even if another one prints the same, or else the
      abstraction on which it was learned.

  Example:
    >>> import os
    >>> import tempfile
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import cfr
    >>> from dudo_spiel.algorithms import policies
    >>> solver = cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
    >>> solver.run(10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   path = os.path.join(folder, "policy.npz")
    ...   solver.average_policy().save(path)
    ...   policy = policies.load_policy(path)
    >>> policy.distance(solver.average_policy())
    0.0
  """
  if game is not None:
    validation.game("game", game)
  with archives.opened(path, tuple(_READERS)) as archive:
    games = _games(archive, game)
    try:
      return _READERS[archive.header["kind"]](archive, *games)
    except ValueError as error:
      if str(error).startswith("path="):
        raise
      raise ValueError(f"path={archive.path!r}: {error}") from error


def _games(archive, game):
  """Returns the game that has the information states of a policy in a file.

  If that is another one than the policy is for, this one is returned as well.
  """
  path, header = archive.path, archive.header
  names = [archives.field(path, header, "game", archives.text)]
  if "plays" in header and header["kind"] not in (match_policy.FILE_KIND,
                                                  recall_policy.FILE_KIND,
                                                  doubt_policy.FILE_KIND):
    names.append(archives.field(path, header, "plays", archives.text))
  if game is None:
    return tuple(_load_game(path, name) for name in names)
  if str(game) not in names:
    raise ValueError(f"game={game}: must be {names[-1]}, the game of the saved "
                     "policy")
  if str(game) == names[0]:
    return (game,)
  return _load_game(path, names[0]), game


def _load_game(path, name):
  """Returns the game with this name, or raises a ValueError."""
  try:
    return named_games.load(name)
  except ValueError as error:
    raise ValueError(f"path={path!r}: its game {name[:99]} cannot be loaded; "
                     f"pass the game ({error})") from error
