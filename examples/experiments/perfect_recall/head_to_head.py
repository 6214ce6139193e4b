"""What a policy with perfect recall wins against others, exactly.

For each number of dice: how often the policy wins when it starts, when the
other starts, and in all, if they trade seats. These are exact values, not
samples. The last opponent is the worst that there is: a best response to the
policy. What it gets is read from the policy's file if it is stored there. With
--num_games the same pairs also play that many games, as a check; the standard
error says how far the two may differ.
"""

from dudo_spiel_examples.support import binary

import math

from absl import flags
import numpy as np
from open_spiel.python.algorithms import evaluate_bots
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel import bots
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms import simulation

_NUMDICE = flags.DEFINE_multi_integer(
    "numdice", [2], "Dice per player; may be given several times.",
    lower_bound=1, upper_bound=5)
_POLICY = flags.DEFINE_string("policy", policy_bots.TRAINED,
                              "The policy: trained, or a policy file.")
_OPPONENTS = flags.DEFINE_list(
    "opponents", ["recall3", "heuristic", "random", "uniform"],
    "Bots, or files of policies that remember some claims. Those that do not "
    "know this many dice are left out.")
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 0, "Also play this many games a pair.", lower_bound=0)
flags.register_validator("num_games", lambda games: games != 1,
                         "must be 0, or at least 2 for a standard error")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the dice and bots.",
                             lower_bound=0, upper_bound=2**32 - 1)


def opponent_policy(name, game):
  """Returns an opponent as a policy with tables, None if it cannot play."""
  if name in bots.bot_names(game):
    return simulation.bot_policy(game, name)
  policy = policy_bots.load_policy(name)
  if not isinstance(policy, policies.MatchPolicy):
    raise ValueError(f"{name!r}: must be a bot, or a policy that remembers "
                     "some claims")
  try:
    policy.check_game(game)
  except ValueError:
    return None
  return policy


def play(policy, name, game, rng):
  """Returns the win rate in sampled games, and its standard error."""
  wins = []
  for number in range(_NUM_GAMES.value):
    seat = number % 2
    players = [bots.PolicyBot(p, rng, policy) if p == seat else
               policy_bots.make_bot(name, game, p, rng) for p in range(2)]
    wins.append(evaluate_bots.evaluate_bots(
        game.new_initial_state(), players, rng)[seat] > 0.0)
  return np.mean(wins), np.std(wins, ddof=1) / math.sqrt(len(wins))


def main(_):
  rng = np.random.RandomState(_SEED.value)
  measured = []  # here, and not only by files
  print("| dice | against | starts: wins % | other starts: wins % | in all % "
        + "| played % " * (_NUM_GAMES.value > 0) + "|")
  print("|---" * (6 if _NUM_GAMES.value > 0 else 5) + "|")
  for number in _NUMDICE.value:
    game = pyspiel.load_game("dudo", {"numdice": number})
    with binary.errors_of("policy"):
      policy = policy_bots.load_policy(_POLICY.value, game)
      if not isinstance(policy, policies.RecallPolicy):
        raise ValueError(f"{_POLICY.value!r}: has no perfect recall with "
                         f"{number} dice each")
      policy.check_game(game)
    if not policy.measures:
      policy.measure()
      measured.append(policy)
    for name in _OPPONENTS.value:
      with binary.errors_of("opponents"):
        other = opponent_policy(name, game)
      if other is None:
        continue
      found = simulation.exact_match(policy, other, game)
      played = ""
      if _NUM_GAMES.value > 0:
        mean, error = play(policy, name, game, rng)
        played = f" {100 * mean:.2f} ± {100 * error:.2f} |"
      show(number, name, found.win_rate_as_starter, found.win_rate_as_other,
           played)
    found = policy.measures[number, number]
    is_told = policy not in measured and _POLICY.value != policy_bots.TRAINED
    show(number, "its best response" + ", by its file" * is_told,
         0.5 * (1.0 + found.low), 0.5 * (1.0 - found.high),
         " |" * (_NUM_GAMES.value > 0))


def show(number, name, as_starter, as_other, played):
  """Prints a row."""
  print(f"| {number} | {name} | {100 * as_starter:.3f} | "
        f"{100 * as_other:.3f} | {50 * (as_starter + as_other):.3f} |{played}",
        flush=True)


if __name__ == "__main__":
  binary.run(main)
