"""Measures how far a Dudo policy compresses before its play suffers.

Neller & Hnath (2011) end with this question. This trains a match and stores its
policy in 32 bits a number, then in 8 bits, then without more and more of its
small probabilities and rare situations. For each version it prints the file
size, the exact exploitability in rounds with few dice, and the win rate against
the uncompressed policy.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import ctrl_c

import os
import tempfile

from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import simulation

_NUMDICE = flags.DEFINE_integer("numdice", 2, "Dice per player.",
                                lower_bound=1, upper_bound=5)
_RECALL = flags.DEFINE_integer("recall", 3, "How many claims players remember.",
                               lower_bound=1)
_ABSTRACTION = flags.DEFINE_string(
    "abstraction", None, "What players remember instead of the last --recall "
    "claims, such as claims2_ranks2 or player_ranks.")
_SECONDS = flags.DEFINE_float("seconds", 30.0, "Seconds to train.",
                              lower_bound=0.0)
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 1_000_000, "Games against the uncompressed policy; even.",
    lower_bound=2)
_EXACT_DICE = flags.DEFINE_integer(
    "exact_dice", 4, "Show the exploitability of rounds with at most this many "
    "dice in play, if both players have equally many.", lower_bound=0,
    upper_bound=4)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals and games.",
                             lower_bound=0)

# Smallest probability of an action, smallest reach of a situation.
_SETTINGS = [(0.0, 0.0), (0.001, 1e-6), (0.003, 1e-4), (0.01, 1e-3),
             (0.03, 0.003), (0.1, 0.01), (0.2, 0.03), (0.5, 0.1)]


def file_size(policy):
  """Returns how many bytes the policy takes in a file."""
  with ctrl_c.raised(), tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "policy.npz")
    policy.save(path)
    return os.path.getsize(path)


def main(_):
  if _NUM_GAMES.value % 2:
    raise ValueError(f"--num_games={_NUM_GAMES.value}: must be even")
  game = pyspiel.load_game("dudo", {"numdice": _NUMDICE.value})
  solver = fsicfr.MatchSolver(game, _RECALL.value, _SEED.value,
                              memory=_ABSTRACTION.value)
  solver.run(seconds=_SECONDS.value)
  original = solver.average_policy()
  rounds = [(n, n) for n in range(1, _NUMDICE.value + 1)
            if 2 * n <= _EXACT_DICE.value]
  print("bits    min probability    min reach          kB"
        + "".join(f"{'exploitability ' + f'{a}v{b}':>20}" for a, b in rounds)
        + "      win rate")
  versions = [("32" + " " * 32, original)]
  versions += [(f" 8 {probability:>18} {reach:>12g}",
                original.quantized(probability, reach))
               for probability, reach in _SETTINGS]
  for name, policy in versions:
    measured = [exploitability.round_exploitability(policy, dice)
                for dice in rounds]
    result = simulation.play_matches(
        (policy, original), game.start_dice, _NUM_GAMES.value, _SEED.value)
    print(f"{name:<34}{file_size(policy) / 1e3:>14,.1f}"
          + "".join(f"{value:>20.5f}" for value in measured)
          + f"  {result.win_rate:.3%} ± {result.standard_error:.3%}",
          flush=True)


if __name__ == "__main__":
  binary.run(main)
