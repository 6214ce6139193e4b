"""Computes what forgetting costs in Dudo with one die each.

Neller & Hnath (2011), figure 5, let policies that remember only the last claims
play many games against an optimal policy. This computes the same exactly: it
trains a policy for each memory of claims and compares its expected win rate
against an (almost) optimal policy, in both seats, with optimal play. The last
column, which the paper does not have, is the policy's exploitability: what a
responder wins who knows the policy and forgets nothing.
"""

from dudo_spiel_examples.support import binary

from absl import flags
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import policies

_ABSTRACTIONS = flags.DEFINE_list(
    "abstractions", ["claims1", "claims2", "claims3", "claims4", "claims5"],
    "What players remember, such as claims3 for the last three claims, "
    "claims2_ranks2 or player_ranks.")
_SECONDS = flags.DEFINE_float("seconds", 10.0, "Seconds to train each.",
                              lower_bound=0.0)
_TARGET = flags.DEFINE_float("target", 1e-5, "Exploitability at which a "
                             "policy counts as optimal.", lower_bound=1e-9)
_SIDES = flags.DEFINE_integer("dice_sides", 6, "Sides per die.",
                              lower_bound=2, upper_bound=6)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals.", lower_bound=0)


def main(_):
  game = pyspiel.load_game("dudo", {"numdice": 1, "dice_sides": _SIDES.value})
  solvers = {}
  for name in _ABSTRACTIONS.value:
    with binary.errors_of("abstractions"):
      solvers[name] = fsicfr.MatchSolver(game, memory=name, seed=_SEED.value)
  optimal_solver = cfr.PDCFRPlusSolver(game)
  best = optimal_solver.solve(target_exploitability=_TARGET.value)
  optimal = optimal_solver.average_policy()
  print(f"optimal play: value {best.value:.6f} to the starter (exploitability "
        f"{best.exploitability:.1g})")
  print("win rate lost to optimal play in percent, and exploitability")
  print(f"{'abstraction':<16}{'iterations':>12}{'value':>10}{'starting':>10}"
        f"{'second':>10}{'mean':>10}{'exploitability':>16}")
  for name, solver in solvers.items():
    solver.run(seconds=_SECONDS.value)
    policy = solver.average_policy()
    losses = []
    for seat, seats in enumerate(([policy, optimal], [optimal, policy])):
      values = exploitability.expected_values(
          game, policies.SeatPolicy(game, seats))
      losses.append(50 * (best.values[seat] - values[seat]))
    print(f"{name:<16}{solver.iterations(1, 1):>12,}"
          f"{solver.value(1, 1):>10.5f}{losses[0]:>10.3f}{losses[1]:>10.3f}"
          f"{sum(losses) / 2:>10.3f}"
          f"{exploitability.exploitability(game, policy):>16.5f}", flush=True)


if __name__ == "__main__":
  binary.run(main)
