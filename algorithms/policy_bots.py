"""Bots by name: those of `dudo_spiel.bots`, and policies from files.

The bot "trained" plays the best policy that there is for a game:

  Two-player Dudo has policies that come with the package. Those with perfect
  recall know how exploitable they are, exactly, and the least exploitable one
  is chosen. `examples/tools/make_policies.py` makes them. Where none of them
  knows the dice, "recall3" plays instead. So it does in `dudo_ir`, if players
  remember as many claims there as it does.

  Neumann poker and Liar Die are solved when somebody asks for the bot, which
  takes seconds.

The bot "recall3" plays two-player Dudo with up to three dice each. It remembers
the last three claims, and was trained by `examples/train_dudo.py`.
"""

import functools
import math
import os

import pyspiel

from dudo_spiel import annotations
from dudo_spiel import bots
from dudo_spiel import validation
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.dudo.rounds import rounds_policy
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.games import dudo
from dudo_spiel.games import liar_die
from dudo_spiel.games import neumann_poker

TRAINED = "trained"
RECALL_3 = "recall3"
_FOLDER = os.path.join(os.path.dirname(bots.__file__), "data")
_RECALL_PREFIX = "dudo_recall"  # of files with perfect recall
_RECALL_3_FILE = os.path.join(_FOLDER, "dudo_3_dice.npz")
_SOLVED = (neumann_poker.NeumannPokerGame, liar_die.LiarDieGame)
_TARGET = 1e-6  # exploitability of what is solved here
_MAX_SECONDS = 10.0
_MAX_HISTORIES = 2 * 10**6
_CHECKED = (rounds_policy.RoundsPolicy, policies.SingleRoundPolicy)


@functools.lru_cache(maxsize=8)
def _load_version(path, stamp):
  del stamp  # tells versions of the file apart
  return policies.load_policy(path)


def _load(path):
  """Returns the policy in a file, read anew only if the file was replaced."""
  return _load_version(path, files.stamp(path))


def _shipped():
  """Returns the policies for Dudo that come with the package.

  Those with perfect recall come first.
  """
  names = sorted(name for name in os.listdir(_FOLDER)
                 if name.startswith(_RECALL_PREFIX) and name.endswith(".npz"))
  return [*(_load(os.path.join(_FOLDER, name)) for name in names),
          _load(_RECALL_3_FILE)]


def _can_play(policy, game):
  try:
    policy.check_game(game)
  except ValueError:
    return False
  # Players must remember what the policy goes by.
  return not isinstance(game, dudo.DudoIRGame) or (
      policy.remembered_span(sum(game.start_dice)) <= game.recall_length)


def _best_for_dudo(game):
  """Returns the policy that comes with the package, None if there is none."""
  known = [policy for policy in _shipped() if _can_play(policy, game)]

  def recorded(policy):
    found = policy.known_exploitability(game)
    return math.inf if found is None else found

  return min(known, default=None, key=recorded)  # the first one among equals


def _is_solved(game):
  # Not their versions with imperfect recall, which are subclasses.
  return type(game) in _SOLVED and game.min_histories() <= _MAX_HISTORIES


@functools.lru_cache(maxsize=8)
def _equilibrium(name):
  """Solves a small game; returns its policy and how exploitable that is."""
  solver = cfr.PDCFRPlusSolver(pyspiel.load_game(name))
  result = solver.solve(target_exploitability=_TARGET,
                        max_seconds=_MAX_SECONDS)
  if result.reason == "interrupted":  # half a solution is of no use
    raise KeyboardInterrupt
  return solver.average_policy(), float(solver.exploitability())


def trained_policy(game: pyspiel.Game) -> policies.SavedPolicy | None:
  """Returns the policy of the bot "trained", None if there is none.

  Args:
    game: the game to play.
  """
  validation.game("game", game)
  if _is_solved(game):
    return _equilibrium(str(game))[0]
  return _best_for_dudo(game)


def load_policy(name: annotations.PathLike = TRAINED,
                game: pyspiel.Game | None = None) -> policies.SavedPolicy:
  """Returns the policy of a bot, read anew only if its file was replaced.

  Args:
    name: "trained", "recall3", or the path of a policy file.
    game: the game that "trained" plays; None for two-player Dudo with as many
      dice as there is a policy for.

  Example:
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy()
    >>> list(policy.game.start_dice)
    [5, 5]
  """
  if not isinstance(name, (str, os.PathLike)):
    raise ValueError(f"name={name!r}: must be {TRAINED!r}, {RECALL_3!r} or a "
                     "policy file")
  if name != TRAINED:
    return _load(_RECALL_3_FILE if name == RECALL_3 else name)
  if game is None:
    # The first one among equals.
    return max(_shipped(), key=lambda policy: sum(policy.game.start_dice))
  policy = trained_policy(game)
  if policy is None:
    raise ValueError(
        f"game={game}: no policy for it comes with the package" +
        (f", none that goes by the last {game.recall_length} claims"
         if isinstance(game, dudo.DudoIRGame) else ""))
  return policy


def exploitability(name: annotations.PathLike,
                   game: pyspiel.Game) -> float | None:
  """Returns how exploitable a bot is in a game, None if unknown.

  Nothing is measured here: a policy for Dudo stores its exact exploitability in
  its file. Files of others may say anything; the method `measure` of a policy
  computes it again.

  Args:
    name: "trained", "recall3", or the path of a policy file.
    game: the game.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("dudo(numdice=2)")
    >>> policy_bots.exploitability("trained", game) < 1e-3
    True
  """
  policy = load_policy(name, game)
  if name == TRAINED and _is_solved(game):
    return _equilibrium(str(game))[1]
  return (policy.known_exploitability(game)
          if isinstance(policy, rounds_policy.RoundsPolicy) else None)


def describe(name: annotations.PathLike, game: pyspiel.Game) -> str | None:
  """Returns a sentence about how good a bot is, None if it has no policy.

  Args:
    name: one of `bot_names(game)`, or the path of a policy file.
    game: the game.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("dudo(numdice=2)")
    >>> print(policy_bots.describe("trained", game))
    trained: remembers all claims; its exploitability is ..., exactly.
  """
  if name in bots.bot_names(game):
    return None
  policy = load_policy(name, game)
  memory, gap = "", exploitability(name, game)
  if isinstance(policy, rounds_policy.RoundsPolicy):
    memory = f"remembers {policy.remembered_text}"
  elif name == TRAINED:
    memory = "was solved just now"
  source = "exactly" if name in (TRAINED, RECALL_3) else "by its file"
  known = ("how exploitable it is was not measured" if gap is None else
           f"its exploitability is {gap:.2g}, {source}")
  return f"{name}: {memory}; {known}." if memory else f"{name}: {known}."


def bot_names(game: pyspiel.Game) -> list[str]:
  """Returns a list of the bots that play the game, the best first.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy_bots.bot_names(pyspiel.load_game("dudo(numdice=2)"))
    ['trained', 'recall3', 'heuristic', 'random', 'uniform']
  """
  names = bots.bot_names(game)
  if _is_solved(game):
    return [TRAINED, *names]
  return ([TRAINED] * (_best_for_dudo(game) is not None) +
          [RECALL_3] * _can_play(_load(_RECALL_3_FILE), game) + names)


def make_bot(name: annotations.PathLike, game: pyspiel.Game, player_id: int,
             rng: annotations.RandomGenerator | None) -> pyspiel.Bot:
  """Returns a bot.

  Args:
    name: one of `bot_names(game)`, or the path of a policy file for the game.
    game: the game to play.
    player_id: the player whom it plays.
    rng: a random number generator with `choice`, such as
      `np.random.RandomState`.

  Example:
    >>> import numpy as np
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("dudo(numdice=1)")
    >>> bot = policy_bots.make_bot("trained", game, 0, np.random.RandomState(1))
    >>> state = game.new_initial_state()
    >>> for roll in (5, 0):  # player 0 rolls a six, player 1 a one
    ...   state.apply_action(roll)
    >>> bot.step(state) in state.legal_actions()
    True
  """
  others = bots.bot_names(game)
  is_text = isinstance(name, (str, os.PathLike))
  if is_text and name in others:
    return bots.make_bot(name, game, player_id, rng)
  if not is_text or (name not in bot_names(game) and not os.path.isfile(name)):
    raise ValueError(
        f"name={name!r}: must be a policy file, or a bot that plays "
        f"{game.get_type().short_name}: {', '.join(bot_names(game))}")
  validation.integer("player_id", player_id, 0, game.num_players() - 1)
  policy = load_policy(name, game)
  if isinstance(policy, _CHECKED):
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
