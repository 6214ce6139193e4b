"""Bots by name: those of `dudo_spiel.bots`, and policies from files.

The bot "trained" plays the best policy that there is for a game:

  Two-player Dudo has policies that come with the package. Those with perfect
  recall know how exploitable they are, exactly, and the least exploitable one
  is chosen. `examples/tools/make_policies.py` makes them. Where none of them
  knows the dice, "recall3" plays instead. So it does in `dudo_ir`, if players
  remember as many claims there as it does.

  Small zero-sum games for two, such as Kuhn and Leduc poker, Neumann poker and
  Liar Die, are solved when somebody asks for the bot, which takes seconds.

The bot "recall3" plays two-player Dudo with up to three dice each. It remembers
the last three claims, and was trained by `examples/train_dudo.py`.
"""

from collections.abc import Callable
import functools
import math
import os
import time

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import bots
from dudo_spiel import validation
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.dudo.rounds import rounds_policy
from dudo_spiel.algorithms.runtime import files
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular.tree import game_tree
from dudo_spiel.algorithms.tabular.tree import known_rules
from dudo_spiel.games import dudo
from dudo_spiel.games import liar_die

TRAINED = "trained"
RECALL_3 = "recall3"
_FOLDER = os.path.join(os.path.dirname(bots.__file__), "data")
_RECALL_PREFIX = "dudo_recall"  # of files with perfect recall
_RECALL_3_FILE = os.path.join(_FOLDER, "dudo_3_dice.npz")
_TARGET = 1e-6  # exploitability of what is solved here
_MAX_SECONDS = 10.0  # of iterations, without compilation
_CHUNK = 50  # iterations between two measurements
_MAX_HISTORIES = 2 * 10**6  # of a game whose rules are known, or Liar Die
_MAX_WALKED = 100_000  # histories of other games that are solved
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
  candidates = [policy for policy in _shipped() if _can_play(policy, game)]

  def recorded(policy):
    exact = policy.known_exploitability(game)
    return math.inf if exact is None else exact

  # The first one among equals.
  return min(candidates, default=None, key=recorded)


@functools.lru_cache(maxsize=64)
def _is_small(name, kind):
  """Returns whether a game is small enough to be solved when it is played.

  Args:
    name: the game's name, with parameters.
    kind: the game's class. A name may belong to another game, or to none: games
      that are made of a text have all the same.
  """
  try:
    game = pyspiel.load_game(name)
  except pyspiel.SpielError:
    return False
  if type(game) is not kind:
    return False
  rules = known_rules.find_rules(game)
  if rules is not None:
    return known_rules.num_histories(rules) <= _MAX_HISTORIES
  if type(game) is liar_die.LiarDieGame:
    return game.min_histories() <= _MAX_HISTORIES
  try:
    game_tree.GameTree(game, _MAX_WALKED)
  except ValueError:
    return False
  return True


def _is_solved(game):
  """Returns whether "trained" is an equilibrium that is computed here."""
  kind = game.get_type()
  return (game.num_players() == 2 and
          kind.utility == pyspiel.GameType.Utility.ZERO_SUM and
          kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL and
          kind.provides_information_state_string and
          # With imperfect recall, CFR need not find an equilibrium.
          not kind.short_name.endswith("_ir") and _best_for_dudo(game) is None
          and _is_small(str(game), type(game)))


def solve_game(game: pyspiel.Game,
               report: Callable[[float, str], None] = lambda *_: None
              ) -> tuple[policies.TablePolicy, float]:
  """Solves a small zero-sum game for two, in ten seconds at most.

  Args:
    game: the game.
    report: report(fraction, text) is called now and then, with the fraction of
      the work that is done.

  Returns:
    (policy, exploitability).

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> policy, exploitability = policy_bots.solve_game(game)
    >>> exploitability < 1e-6
    True
  """
  report(0.0, "compiling the game")
  solver = cfr.PDCFRPlusSolver(game)
  # The first call may compile kernels, which does not count as solving.
  solver.run(1)
  solver.exploitability()
  begin, fraction, first = time.monotonic(), 0.0, None
  while True:
    solver.run(_CHUNK)
    gap = solver.exploitability()
    spent = (time.monotonic() - begin) / _MAX_SECONDS
    if gap <= _TARGET or spent >= 1.0:
      return solver.average_policy(), float(gap)
    first = first or 2.0 * gap
    # Errors shrink geometrically, so their logarithm measures the progress.
    done = math.log(first / gap) / math.log(first / _TARGET)
    fraction = max(fraction, spent, done)
    report(fraction,
           f"{solver.iteration:,} iterations, exploitability {gap:.1e}")


@functools.lru_cache(maxsize=8)
def _equilibrium(name):
  return solve_game(pyspiel.load_game(name))


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


def _strength(game, gap):
  """Returns in words how much one can win against a policy for two."""
  if gap is None:
    return "how much one can win against it is not in its file"
  if game.max_utility() <= 1.0:  # to win is worth 1, to lose -1
    rate = evaluator.max_win_rate(gap)
    gain = f"{100.0 * rate:.2f}".rstrip("0").rstrip(".") + "%"
  else:
    gain = np.format_float_positional(max(gap, _TARGET), 2,
                                      fractional=False) + " a game"
  return (f"nobody who plays both seats equally often can win more than {gain} "
          "against it")


def describe(name: annotations.PathLike, game: pyspiel.Game) -> str:
  """Returns a sentence about what a bot is and how good.

  Args:
    name: one of `bot_names(game)`, or the path of a policy file.
    game: the game.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("dudo(numdice=2)")
    >>> print(policy_bots.describe("trained", game))
    trained: remembers all claims; nobody who plays ... against it.
  """
  if _check_name(name, game):
    return f"{name}: {bots.describe(str(name))}."
  policy = load_policy(name, game)
  gap = exploitability(name, game)
  if isinstance(policy, rounds_policy.RoundsPolicy):
    kind = f"remembers {policy.remembered_text}"
  else:
    kind = "was solved just now" if name == TRAINED else "comes from a file"
  # Files of others may say anything.
  source = ("" if gap is None or name in (TRAINED, RECALL_3) else
            "its file says that ")
  return f"{name}: {kind}; {source}{_strength(game, gap)}."


def bot_names(game: pyspiel.Game) -> list[str]:
  """Returns a list of the bots that play the game, the best first.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy_bots.bot_names(pyspiel.load_game("dudo(numdice=2)"))
    ['trained', 'recall3', 'odds', 'heuristic', 'random', 'uniform']
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
  if _check_name(name, game):
    return bots.make_bot(str(name), game, player_id, rng)
  validation.integer("player_id", player_id, 0, game.num_players() - 1)
  policy = load_policy(name, game)
  if isinstance(policy, _CHECKED):
    policy.check_game(game)
  else:
    _check_by_playing(policy, game)
  bots.check_generator(rng)
  return bots.PolicyBot(player_id, rng, policy)


def _check_name(name, game):
  """Returns whether a bot needs no policy, or raises a ValueError.

  Args:
    name: what must be one of `bot_names(game)`, or the path of a policy file.
    game: the game.
  """
  validation.game("game", game)
  is_text = isinstance(name, (str, os.PathLike))
  if is_text and name in bots.bot_names(game):
    return True
  if not is_text or (name not in bot_names(game) and not os.path.isfile(name)):
    raise ValueError(
        f"name={name!r}: must be a policy file, or a bot that plays "
        f"{game.get_type().short_name}: {', '.join(bot_names(game))}")
  return False


def _check_by_playing(policy, game):
  """Raises a ValueError if the policy fails in the first history of a game."""
  state = game.new_initial_state()
  while not state.is_terminal():
    if not state.is_chance_node():
      policy.action_probabilities(state)
    state.apply_action(state.legal_actions()[0])
