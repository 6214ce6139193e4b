"""Lets bots play each other and prints the mean return of each.

A pairing seats one bot of the first kind among bots of the second kind. That
bot takes every seat equally often.
"""

from dudo_spiel_examples.support import binary

import math

from absl import flags
import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import tqdm

from dudo_spiel.algorithms import policy_bots

_GAME = flags.DEFINE_string("game", "dudo", "The game, with its parameters.")
_BOTS = flags.DEFINE_list("bots", None, "Names of bots or policy files. "
                          "Default: every bot that plays the game.")
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 300, "Games per pairing.", lower_bound=2)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the dice and bots.",
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


def main(_):
  game = binary.load_game(_GAME.value)
  names = _BOTS.value or policy_bots.bot_names(game)
  with binary.errors_of("bots"):
    for name in names:
      policy_bots.make_bot(name, game, 0, None)  # raises an error early
  rng = np.random.RandomState(_SEED.value)
  pairings = [(one, others) for one in names for others in names]
  results = {pairing: match(game, *pairing, _NUM_GAMES.value, rng)
             for pairing in tqdm.tqdm(pairings, disable=None)}
  print(f"{game.get_type().long_name}: mean return ± standard error of one bot "
        f"(row) among bots of another kind (column), {_NUM_GAMES.value} games "
        "each")
  print(" " * 12 + "".join(f"{name:>18}" for name in names))
  for one in names:
    cells = ("{:+.3f} ± {:.3f}".format(*results[one, others])
             for others in names)
    print(f"{one:<12}" + "".join(f"{cell:>18}" for cell in cells))
  for name in names:
    print(f"About {policy_bots.describe(name, game)}")


if __name__ == "__main__":
  binary.run(main)
