"""Bots by name: those of `dudo_spiel.bots`, and policies from files.

The bot "trained" plays a policy that comes with the package. It plays
two-player Dudo with up to three dice each, and was trained by
`examples/train_dudo.py`.

Serves users.
"""

import functools
import os

from dudo_spiel import arguments
from dudo_spiel import bots
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.match import policy as match_policy
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.single_round import policy as single_round_policy

TRAINED = "trained"
_TRAINED_FILE = os.path.join(os.path.dirname(bots.__file__), "data",
                             "dudo_3_dice.npz")


@functools.lru_cache(maxsize=4)
def _load_version(path, stamp):
  del stamp  # tells versions of the file apart
  return policies.load_policy(path)


def _load(path):
  """Returns the policy in a file, read anew only if the file was replaced."""
  return _load_version(path, files.stamp(path))


def _plays_trained(game):
  try:
    _load(_TRAINED_FILE).check_game(game)
  except ValueError:
    return False
  return True


def load_policy(name=TRAINED):
  """Returns the policy of a bot, read anew only if its file was replaced.

  Args:
    name: "trained", or the path of a policy file.
  """
  if not isinstance(name, (str, os.PathLike)):
    raise ValueError(f"name={name!r}: must be {TRAINED!r} or a policy file")
  return _load(_TRAINED_FILE if name == TRAINED else name)


def bot_names(game):
  """Returns a list of the bots that play the game, the best first."""
  names = bots.bot_names(game)
  return [TRAINED] * _plays_trained(game) + names


def make_bot(name, game, player_id, rng):
  """Returns a bot.

  Args:
    name: one of `bot_names(game)`, or the path of a policy file for the game.
    game: the game to play.
    player_id: the player whom it plays.
    rng: a random number generator with `choice`, such as
      `np.random.RandomState`.
  """
  others = bots.bot_names(game)
  is_text = isinstance(name, (str, os.PathLike))
  if is_text and name in others:
    return bots.make_bot(name, game, player_id, rng)
  if is_text and name == TRAINED:
    path = _TRAINED_FILE
  elif is_text and os.path.isfile(name):
    path = name
  else:
    raise ValueError(
        f"name={name!r}: must be a policy file, or a bot that plays "
        f"{game.get_type().short_name}: {', '.join(bot_names(game))}")
  arguments.integer("player_id", player_id, 0, game.num_players() - 1)
  policy = _load(path)
  if isinstance(policy, (match_policy.MatchPolicy,
                         single_round_policy.SingleRoundPolicy)):
    policy.check_game(game)
  else:
    _check_by_playing(policy, game)
  bots.check_generator(rng)
  return bots.PolicyBot(player_id, rng, policy)


def _check_by_playing(policy, game):
  """Raises a ValueError if the policy fails in the first history of a game."""
  state = game.new_initial_state()
  while not state.is_terminal():
    if not state.is_chance_node():
      policy.action_probabilities(state)
    state.apply_action(state.legal_actions()[0])
