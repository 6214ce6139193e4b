"""The games that files may name.

A game of a file is made before anything can be compared with it. But
constructors of some games of OpenSpiel check nothing: with large parameters
they crash, never end or take all memory. So a file, which may come from a
stranger, can only name games of this package, which check their parameters, and
some of OpenSpiel's up to certain sizes.
"""

import pyspiel

from dudo_spiel import validation

_MAX_LENGTH = 1000  # characters of a name with its parameters
_MAX_OUTCOMES = 10_000  # of a chance node; tables of rounds are its square
_OWN = ("dark_chess_small", "dudo", "dudo_ir", "dudo_single_round",
        "dudo_single_round_ir", "liar_die", "liar_die_ir", "neumann_poker")
_LIARS_DICE = {"dice_sides": (1, 20), "numdice": (1, 5), "players": (2, 2)}
# Games of OpenSpiel, with the least and the largest value of each integer.
# Their other parameters choose among a few values.
_STOCK: dict[str, dict[str, tuple[int, int]]] = {
    "blotto": {"coins": (1, 20), "fields": (1, 4), "players": (2, 4)},
    "goofspiel": {"num_cards": (1, 13), "num_turns": (-1, 13),
                  "players": (2, 4)},
    "kuhn_poker": {"players": (2, 10)},
    "leduc_poker": {"players": (2, 10), "starting_player": (0, 1)},
    "liars_dice": _LIARS_DICE,
    "liars_dice_ir": {**_LIARS_DICE, "recall_length": (1, 200)},
    "tic_tac_toe": {},
    **dict.fromkeys(("matrix_bos", "matrix_brps", "matrix_cd",
                     "matrix_coordination", "matrix_mp", "matrix_pd",
                     "matrix_rps", "matrix_rpsw", "matrix_sh",
                     "matrix_shapleys_game"), {})}
_TURN_BASED = "turn_based_simultaneous_game"


def load(name):
  """Returns the game that a file names, or raises a ValueError.

  Args:
    name: the game's name and parameters, as `str(game)` returns them.
  """
  if len(name) > _MAX_LENGTH:
    raise ValueError(f"its name must have at most {_MAX_LENGTH} letters")
  try:
    parameters = pyspiel.game_parameters_from_string(name)
    _check(parameters)
    game = pyspiel.load_game(parameters.pop("name"), parameters)
  except (pyspiel.SpielError, TypeError, RuntimeError) as error:
    raise ValueError(str(error)) from error
  if game.max_chance_outcomes() > _MAX_OUTCOMES:
    raise ValueError(f"its chance nodes have up to {game.max_chance_outcomes()}"
                     f" outcomes; must be at most {_MAX_OUTCOMES}")
  return game


def _check(parameters):
  """Raises a ValueError unless a game may be made from a file.

  Args:
    parameters: dict of the game's "name" and parameters.
  """
  name = parameters.get("name")
  if name == _TURN_BASED and isinstance(parameters.get("game"), dict):
    _check(parameters["game"])
  elif isinstance(name, str) and name in _STOCK:
    for key, value in parameters.items():
      if type(value) is int:
        validation.integer(key, value, *_STOCK[name].get(key, (0, 0)))
  elif name not in _OWN:
    raise ValueError(
        f"a file may name only {', '.join((*_OWN, *_STOCK))}, and "
        f"{_TURN_BASED} of these")
