"""Play Dudo, or any other game here, against bots in the terminal.

Type a move such as 3x5, "3 fives" or dudo. Type help for the rules, ? for the
legal moves, hint for advice, quit to leave.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import contextlib
import itertools
import os
import sys

from absl import flags
import numpy as np

from dudo_spiel import bots
from dudo_spiel import validation
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.terminal import coach
from dudo_spiel.terminal import narrator
from dudo_spiel.terminal import registry
from dudo_spiel.terminal import session

_GAME = flags.DEFINE_string("game", "dudo", "The game, with its parameters.")
_OPPONENTS = flags.DEFINE_list(
    "opponents", None, "Bots for the other seats in turn, repeated as needed: "
    "odds, heuristic, random, uniform, trained (two-player dudo and small "
    "games for two, such as leduc_poker), or policy files. Default: the best "
    "bot that plays the game.")
_SEAT = flags.DEFINE_integer("seat", 1, "Which player you are, from 1.")
_SEED = flags.DEFINE_integer("seed", None, "Seed of the dice and bots.",
                             lower_bound=0, upper_bound=2**32 - 1)
_HINTS = flags.DEFINE_bool(
    "hints", False, "Show what each move is worth, and after each round what "
    "your moves lost. For two-player dudo, against the opponent's policy or "
    "the one that comes with the package.")
_ODDS = flags.DEFINE_bool("odds", False, "Show the odds of every claim.")


def style():
  """Returns the style: colours on a terminal, unless NO_COLOR is set."""
  if (not sys.stdout.isatty() or os.environ.get("NO_COLOR") or
      os.environ.get("TERM") == "dumb"):
    return narrator.PLAIN
  # Bold, green and red can be read on dark and on light backgrounds.
  return narrator.Style(*(f"\033[{code}m{{}}\033[0m".format
                          for code in ("1", "1;32", "1;31")))


def make_adviser(names, game, seat, rng):
  """Returns a bot with a trained policy for the person's seat, or None.

  Args:
    names: the names of the opponents.
    game: the game.
    seat: the person's seat.
    rng: a random number generator with `choice`.
  """
  untrained = bots.bot_names(game)
  for name in [*names, *policy_bots.bot_names(game)]:
    if name not in untrained:
      return policy_bots.make_bot(name, game, seat, rng)
  return None


def make_coach(names, game, seat):
  """Returns a `coach.Coach`, or raises a ValueError.

  Args:
    names: the names of the opponents.
    game: the game.
    seat: the person's seat.
  """
  untrained = bots.bot_names(game)
  name = next((name for name in names if name not in untrained),
              policy_bots.TRAINED)
  policy = policy_bots.load_policy(name, game)
  if not isinstance(policy, (policies.MatchPolicy, policies.RecallPolicy)):
    raise ValueError(f"game={game}: the opponent's policy must be one for "
                     "two-player dudo")
  policy.check_game(game)
  policy.ensure_values()  # for a file of a solver's own policy
  return coach.Coach(policy, seat)


def main(_):
  rng = np.random.RandomState(_SEED.value)
  game = binary.load_turn_based_game(_GAME.value)
  seat = validation.integer("--seat", _SEAT.value, 1, game.num_players()) - 1
  narration = registry.make_narrator(game, seat, style(), _ODDS.value)
  names = itertools.cycle(_OPPONENTS.value or policy_bots.bot_names(game)[:1])
  opponents = {player: next(names) for player in range(game.num_players())
               if player != seat}
  with binary.errors_of("opponents"):
    players = {player: policy_bots.make_bot(name, game, player, rng)
               for player, name in opponents.items()}
    adviser = make_adviser(opponents.values(), game, seat, rng)
    notes = [line for name in dict.fromkeys(opponents.values())
             for line in narrator.wrapped(
                 f"About {policy_bots.describe(name, game)}")]
  the_coach = None
  if _HINTS.value:
    with binary.errors_of("hints"):
      the_coach = make_coach(opponents.values(), game, seat)
  is_interactive = sys.stdin.isatty()
  if is_interactive:
    with contextlib.suppress(ImportError):  # not every system has it
      import readline  # noqa: F401, input() then lets one edit the line
  with ctrl_c.raised():  # The session says goodbye.
    session.Session(game, narration, players, adviser, rng, input, print,
                    the_coach).run(opponents, is_interactive, notes)


if __name__ == "__main__":
  binary.run(main)
