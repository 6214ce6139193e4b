"""Tells what search at the table gains for two-player Dudo.

Takes a policy with perfect recall from a file, or trains one. It may be made
coarse first. Then it prints how exploitable the policy is, alone and with a
search wherever it stores nothing, exactly. Last, the bot that searches plays
games with seats traded: against the policy alone, or against another bot, which
then plays the policy alone, too.
"""

import binary

import math
import time

from absl import flags
import numpy as np
from open_spiel.python.algorithms import evaluate_bots

from dudo_spiel import bots
from dudo_spiel.algorithms import perfect_recall
from dudo_spiel.algorithms import policies

_POLICY = flags.DEFINE_string("policy", None, "A file with a policy of "
                              "perfect_recall; None trains one.")
_GAME = flags.DEFINE_string("game", "dudo(numdice=2)", "The game to train, "
                            "with its parameters.")
_TRAIN = flags.DEFINE_integer("train_iterations", 300, "How long to train.",
                              lower_bound=1)
_MAX_BYTES = flags.DEFINE_integer("max_bytes", None, "How much memory "
                                  "training may take.")
_SHARES = flags.DEFINE_integer("num_shares", None, "Make the policy coarse: in "
                               "so many whole shares.", lower_bound=1)
_ITERATIONS = flags.DEFINE_integer("iterations", None, "Iterations of a "
                                   "search; None for the bot's default.",
                                   lower_bound=1)
_TOLERANCE = flags.DEFINE_float("tolerance", None, "How much a hand of the "
                                "opponent may gain by a search; None for the "
                                "bot's default.", lower_bound=0.0)
_EXACT = flags.DEFINE_bool("exact", True, "Measure exactly. That takes "
                           "a search for each way to leave the policy: minutes "
                           "with two dice each, too long with more.")
_GAMES = flags.DEFINE_integer("games", 1000, "Games to play; 0 for none.",
                              lower_bound=0)
_AGAINST = flags.DEFINE_enum("against", "policy", ["policy", "heuristic",
                                                   "random", "uniform"],
                             "Whom the search plays: the policy alone or a "
                             "bot.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the dice and bots.",
                             lower_bound=0, upper_bound=2**32 - 1)


def seconds_now():
  """Returns [2] float64, the elapsed and the processor seconds so far."""
  return np.array([time.perf_counter(), time.process_time()])


class TimedPolicy(perfect_recall.SearchPolicy):
  """A search that notes how long it takes.

  Attributes:
    seconds: list of (elapsed, processor) seconds of all moves that needed a
      new search.
  """

  def __init__(self, *args, **kwargs):
    super().__init__(*args, **kwargs)
    self.seconds = []

  def action_probabilities(self, state, player_id=None):
    """Returns {action: probability} for the legal actions of the state."""
    before, begin = self.num_searches, seconds_now()
    chances = super().action_probabilities(state, player_id)
    if self.num_searches > before:
      self.seconds.append(seconds_now() - begin)
    return chances


def load_policy():
  """Returns the policy of the flags."""
  if _POLICY.value is not None:
    policy = policies.load_policy(_POLICY.value)
    if not isinstance(policy, perfect_recall.RecallPolicy):
      raise ValueError(f"--policy={_POLICY.value}: must be a policy of "
                       "perfect_recall")
  else:
    solver = perfect_recall.PerfectRecallSolver(
        binary.load_game(_GAME.value), max_bytes=_MAX_BYTES.value)
    solver.run(_TRAIN.value)
    policy = solver.average_policy()
  return (policy if _SHARES.value is None else
          policy.compressed(_SHARES.value))


def show_exact(search):
  """Prints the exact exploitability of the search."""
  begin = time.perf_counter()
  result = perfect_recall.measure_search(search)
  print(f"{result.num_searches:,} searches in "
        f"{time.perf_counter() - begin:.0f} s; {result.num_useful:,} found "
        f"something other than Dudo, to which {100 * result.dudo_share:.1f}% "
        "Dudo was added on average")
  print(f"exploitability with search: {result.exploitability:.6f}")
  print(f"against the policy alone the search gets {result.value:+.6f}, a win "
        f"rate of {50 + 50 * result.value:.3f}%, exactly")


def show_games(policy, search):
  """Lets the search, and maybe the policy alone, play the opponent."""
  search.prepare()
  players = {"the search": search}
  if _AGAINST.value != "policy":
    players["the policy alone"] = policy
  for name, player in players.items():
    rng = np.random.RandomState(_SEED.value)
    results = [play(policy, player, number % 2, rng)
               for number in range(_GAMES.value)]
    error = np.std(results, ddof=1) / math.sqrt(len(results))
    print(f"{len(results):,} games against "
          f"{_AGAINST.value.replace('policy', 'the policy alone')}: {name} "
          f"wins {50 + 50 * np.mean(results):.2f}% ± {50 * error:.2f}%",
          flush=True)
  if search.seconds:
    mean, most = np.mean(search.seconds, axis=0), np.max(search.seconds, axis=0)
    print(f"it made {search.num_searches:,} different searches; a move with a "
          f"new one took {mean[0]:.2f} s on average and {most[0]:.2f} s at "
          f"most, of which {mean[1]:.2f} s and {most[1]:.2f} s of the "
          "processor")


def play(policy, player, seat, rng):
  """Returns what a player, a policy, gets in a game in a seat."""
  game = policy.game
  if _AGAINST.value == "policy":
    other = bots.PolicyBot(1 - seat, rng, policy)
  else:
    other = bots.make_bot(_AGAINST.value, game, 1 - seat, rng)
  own = bots.PolicyBot(seat, rng, player)
  return evaluate_bots.evaluate_bots(
      game.new_initial_state(), [own, other] if seat == 0 else [other, own],
      rng)[seat]


def main(_):
  if _GAMES.value == 1:
    raise ValueError("--games=1: must be 0 or at least 2")
  policy = load_policy()
  options = {flag.name: flag.value for flag in (_ITERATIONS, _TOLERANCE)
             if flag.value is not None}
  print(f"exploitability of the policy alone: {policy.exploitability():.6f}",
        flush=True)
  if _EXACT.value:
    show_exact(perfect_recall.SearchPolicy(policy, **options))
  if _GAMES.value:
    show_games(policy, TimedPolicy(policy, **options))


if __name__ == "__main__":
  binary.run(main)
