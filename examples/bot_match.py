"""Lets the bots play each other and prints what each gets.

Each pairing puts one bot of the first kind among bots of the second kind; it
takes the seats in turn.
"""

import math

from absl import app
from absl import flags
import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import pyspiel
import tqdm

from dudo_spiel.algorithms import policy_bots

_GAME = flags.DEFINE_string("game", "dudo", "The game, with its parameters.")
_BOTS = flags.DEFINE_list("bots", None, "The bots, or files with policies; "
                          "default: all bots that fit.")
_GAMES = flags.DEFINE_integer("games", 300, "Games a pairing.", lower_bound=2)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of dice and bots.",
                             lower_bound=0, upper_bound=2**32 - 1)


def match(game, one, others, num_games, rng):
  """Returns the mean return of `one` among `others`, and its standard error."""
  results = []
  for number in range(num_games):
    seat = number % game.num_players()
    names = [one if player == seat else others
             for player in range(game.num_players())]
    players = [policy_bots.make_bot(name, game, player, rng)
               for player, name in enumerate(names)]
    results.append(evaluate_bots.evaluate_bots(game.new_initial_state(),
                                               players, rng)[seat])
  return np.mean(results), np.std(results, ddof=1) / math.sqrt(num_games)


def main(argv):
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument {argv[1]!r}; flags have --")
  try:
    game = pyspiel.load_game(_GAME.value)
    names = _BOTS.value or policy_bots.bot_names(game)
    for name in names:
      policy_bots.make_bot(name, game, 0, None)
  except (ValueError, pyspiel.SpielError) as error:
    raise app.UsageError(str(error)) from None
  rng = np.random.RandomState(_SEED.value)
  pairings = [(one, others) for one in names for others in names]
  results = {pairing: match(game, *pairing, _GAMES.value, rng)
             for pairing in tqdm.tqdm(pairings, disable=None)}
  print(f"{game.get_type().long_name}: mean return of one bot (row) among "
        f"the others (column), {_GAMES.value} games each")
  print(" " * 12 + "".join(f"{name:>18}" for name in names))
  for one in names:
    cells = ("{:+.3f} ± {:.3f}".format(*results[one, others])
             for others in names)
    print(f"{one:<12}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
  app.run(main)
