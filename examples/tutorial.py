"""From rock, paper, scissors to Dudo in ten steps.

Each step is a few lines of code and prints numbers that you can check.
docs/tutorial.md has the same code and numbers, and explains them.
"""

from dudo_spiel_examples.support import binary

import fractions

from absl import flags
import numpy as np
import pyspiel

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import regret_matching
from dudo_spiel.algorithms import simulation

# Rows: I show rock, paper, scissors. Columns: my opponent does.
PAYOFFS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def match_regrets(regrets):
  """Returns probabilities in proportion to the positive regrets."""
  positive = np.maximum(regrets, 0)
  if positive.sum() == 0:
    return np.full(len(regrets), 1 / len(regrets))
  return positive / positive.sum()


def fixed_opponent():
  """Regret matching against a fixed opponent."""
  opponent, rng = [0.4, 0.3, 0.3], np.random.default_rng(seed=0)
  regrets, total = np.zeros(3), np.zeros(3)
  for _ in range(3000):
    strategy = match_regrets(regrets)
    total += strategy
    mine, theirs = rng.choice(3, p=strategy), rng.choice(3, p=opponent)
    regrets += PAYOFFS[:, theirs] - PAYOFFS[mine, theirs]
  average = total / total.sum()
  print("average strategy:", average.round(3))
  print(f"its payoff: {average @ PAYOFFS @ opponent:.3f}")
  print("payoff of each action:", (PAYOFFS @ opponent).round(3))


def self_play():
  """Self-play."""
  strategy = np.array([0.4, 0.3, 0.3])
  regrets, total = np.zeros(3), np.zeros(3)
  for _ in range(10_000):
    total += strategy
    payoffs = PAYOFFS @ strategy  # of each action, against my own copy
    regrets += payoffs - strategy @ payoffs
    strategy = match_regrets(regrets)
  print("last strategy:", strategy.round(3))
  print("average strategy:", (total / total.sum()).round(3))


def rps_exploitability():
  """Exploitability."""
  for strategy in ([1, 0, 0], [0.4, 0.3, 0.3], [1/3, 1/3, 1/3]):
    print(np.round(strategy, 3), f"loses {max(PAYOFFS @ strategy):.3f}")
  solver = regret_matching.RegretMatchingSolver(
      pyspiel.load_game("matrix_rps"), initial=[[0.4, 0.3, 0.3]] * 2)
  for iterations in (100, 10_000, 1_000_000):
    solver.run(iterations - solver.iteration)
    print(f"{iterations:>9,} iterations: {solver.exploitability():.5f}")


def blotto():
  """Blotto."""
  game = regret_matching.blotto_fields_won(coins=5, fields=3)
  solver = regret_matching.RegretMatchingSolver(game)
  solver.run(100_000)
  kinds = [tuple(sorted(coins)) for coins in
           regret_matching.blotto_allocations(coins=5, fields=3)]
  strategy = solver.average_strategies()[0]
  for kind in sorted(set(kinds)):
    print(kind, f"{strategy[[other == kind for other in kinds]].sum():.3f}")
  print(f"value: {solver.expected_values()[0]:.3f}")
  print(f"exploitability: {solver.exploitability():.4f}")
  simple = [{(0, 2, 3): 1/12, (1, 1, 3): 1/6}.get(kind, 0) for kind in kinds]
  best = max(game.row_utilities() @ np.array(simple))
  print(f"best payoff against the simple mixture: {best:.3f}")


def kuhn_poker():
  """Kuhn poker and CFR."""
  game = pyspiel.load_game("kuhn_poker")
  solver = cfr.CFRSolver(game)
  solver.run(10_000)
  policy = solver.average_policy()
  for card, (mine, theirs) in {"jack": (0, 1), "queen": (1, 2),
                               "king": (2, 0)}.items():
    state = game.new_initial_state()
    state.apply_action(mine)  # deals the card of player 1
    state.apply_action(theirs)  # deals the card of player 2
    bet = policy.action_probabilities(state)[1]  # 0 is check, 1 is bet
    print(f"{card} bets {bet:.3f}")
  value = solver.expected_values()[0]
  print(f"value: {value:.5f}, close to",
        fractions.Fraction(value).limit_denominator(100))
  print(f"exploitability: {solver.exploitability():.5f}")


def faster_variants():
  """CFR+ and other faster variants."""
  game = pyspiel.load_game("leduc_poker")
  for name in ("cfr", "cfr+", "dcfr", "pdcfr+"):
    solver, measured = cfr.SOLVERS[name](game), []
    for iterations in (100, 1000, 10_000):
      solver.run(iterations - solver.iteration)
      measured.append(f"{solver.exploitability():.6f}")
    print(f"{name:7}", *measured)
  print(f"value: {solver.expected_values()[0]:.5f}")


def liar_die():
  """Liar Die, a game of claims."""
  for sides in (2, 3, 4):
    game = pyspiel.load_game("liar_die", {"sides": sides})
    solver = cfr.CFRPlusSolver(game)
    solver.run(1000)
    policy, value = solver.average_policy(), solver.expected_values()[0]
    print(f"{sides} sides: {len(policy.info_states)} information sets, value",
          fractions.Fraction(value).limit_denominator(100))
  for roll in (1, 2, 3, 4):
    state = game.new_initial_state()
    state.apply_action(roll - 1)  # actions count from 0
    chances = list(policy.action_probabilities(state).values())
    print(f"roll {roll}: claims 1 to 4", np.round(chances, 2))
  for claim in (1, 2, 3):
    state = game.new_initial_state()
    state.apply_action(0)  # the roll, which the other player does not see
    state.apply_action(claim - 1)
    doubt = policy.action_probabilities(state)[game.doubt_action]
    print(f"claim {claim}: doubted {doubt:.2f}")


def forgetting():
  """Forgetting, and FSICFR."""
  for sides in (2, 3, 4):
    game = pyspiel.load_game("liar_die_ir", {"sides": sides})
    solver = fsicfr.FSICFRSolver(game)
    solver.run(100_000)
    policy = solver.average_policy()
    print(f"{sides} sides: {len(policy.info_states)} information sets, "
          f"value {solver.expected_values()[0]:.3f}, "
          f"exploitability {solver.exploitability():.3f}")


def one_die():
  """Dudo with one die each, exactly."""
  game = pyspiel.load_game("dudo(numdice=1)")
  solver = cfr.CFRPlusSolver(game)
  solver.run(10_000)
  policy, value = solver.average_policy(), solver.expected_values()[0]
  print(f"{len(policy.info_states):,} information sets")
  print(f"value: {value:.7f}, close to",
        fractions.Fraction(value).limit_denominator(1000))
  print(f"exploitability: {solver.exploitability():.0e}")
  for roll in range(1, 7):
    state = game.new_initial_state()
    state.apply_action(roll - 1)  # my die
    state.apply_action(0)  # the other die, which I do not see
    chances = policy.action_probabilities(state)
    print(f"roll {roll}:", *(f"{state.action_to_string(claim)} {chance:.2f}"
                             for claim, chance in chances.items()
                             if chance > 0.01))


def two_dice():
  """A match of Dudo."""
  game = pyspiel.load_game("dudo(numdice=2)")
  solver = fsicfr.MatchSolver(game, recall_length=2)
  solver.run(20)
  beginner = solver.average_policy()
  solver.run(480)
  policy = solver.average_policy()
  for dice in ((1, 1), (1, 2), (2, 1), (2, 2)):
    print(dice, f"the starter wins {(1 + solver.value(*dice)) / 2:.1%}")
  result = simulation.play_matches([policy, beginner], (2, 2), 100_000)
  print(f"beats the beginner in {result.win_rate:.1%} of all matches")
  gain = exploitability.round_exploitability(policy, (1, 1))
  print(f"exploitability with one die each: {gain:.3f}")


STEPS = (fixed_opponent, self_play, rps_exploitability, blotto, kuhn_poker,
         faster_variants, liar_die, forgetting, one_die, two_dice)
_STEPS = flags.DEFINE_list("steps", list(map(str, range(1, len(STEPS) + 1))),
                           "Which steps to run.")


def main(_):
  known = {str(number): step for number, step in enumerate(STEPS, 1)}
  for number in _STEPS.value:
    if number not in known:
      raise ValueError(f"--steps={','.join(_STEPS.value)}: must be numbers "
                       f"from 1 to {len(STEPS)}, with commas between them")
  for number in _STEPS.value:
    print(f"{number}. {known[number].__doc__.rstrip('.')}")
    known[number]()
    print(flush=True)


if __name__ == "__main__":
  binary.run(main)
