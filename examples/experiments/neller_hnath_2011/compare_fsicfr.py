"""Compares FSICFR with recursive CFR: figures 3 and 4 of Neller & Hnath (2011).

Figure 4 is the median time of an iteration, which is one deal. FSICFR sweeps
over many deals at once, so its time is that of a sweep divided by its deals; in
the paper each deal has its own sweep. Rounds such as 1v2 and 2v1 share tables
and train together, so their row is the mean.

Figure 3 trains both algorithms on the round 2v2 for the same time and then lets
the policies play. FSICFR trains the smaller rounds first, for both.

Both run on one thread. Kernels are compiled before anything is timed.
"""

from dudo_spiel_examples.experiments.neller_hnath_2011 import chance_sampled_cfr
from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import collections
import statistics
import time

from absl import flags
import numpy as np
import pyspiel

from dudo_spiel.algorithms import fsicfr
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import simulation
from dudo_spiel.algorithms.dudo.imperfect_recall import abstract_rules
from dudo_spiel.algorithms.dudo.imperfect_recall import pair_trainer

_ROUNDS = flags.DEFINE_list(
    "rounds", ["1v1", "1v2", "2v1", "2v2"], "Figure 4: rounds for both "
    "algorithms, such as 1v1,2v1.")
_FSICFR_ROUNDS = flags.DEFINE_list(
    "fsicfr_rounds", ["2v3", "3v3"],
    "Figure 4: more rounds for FSICFR, up to 5v5 (which takes 2 GB).")
_HANDS_MET = flags.DEFINE_integer(
    "hands_met", 4, "Figure 4: how many of the opponent's hands each hand "
    "meets in a sweep of FSICFR.", lower_bound=1)
_MEASURE_SECONDS = flags.DEFINE_float(
    "measure_seconds", 2.0, "Figure 4: shortest measurement, in seconds.",
    lower_bound=0.0)
_SECONDS = flags.DEFINE_float(
    "seconds", 32.0, "Figure 3: train for 1, 2, 4, ... seconds, up to this; 0: "
    "skip.", lower_bound=0.0)
_NUM_GAMES = flags.DEFINE_integer(
    "num_games", 1_000_000, "Figure 3: games to play.", lower_bound=2)
_PRETRAIN = flags.DEFINE_integer(
    "pretrain", 2000, "Figure 3: sweeps over all deals of the smaller rounds.",
    lower_bound=1)
_GAMMA = flags.DEFINE_float(
    "gamma", 0.0, "Figure 3: FSICFR's iteration t weighs t^gamma; 0 is the "
    "paper's form.", lower_bound=0.0, upper_bound=10.0)
_RECALL = flags.DEFINE_integer("recall", 3, "Claims remembered.",
                               lower_bound=1)
_ABSTRACTION = flags.DEFINE_string(
    "abstraction", None, "What players remember instead of the last --recall "
    "claims, such as claims2_ranks2 or player_ranks.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the deals and games.",
                             lower_bound=0, upper_bound=2**32 - 1)
_PLOT = flags.DEFINE_string("plot", None, "Draw figure 3 to this PNG file.")

# Figure 4 of the paper, [own dice - 1][opponent's dice - 1].
_PAPER_FSICFR = [[0.3, 1.0, 2.1, 4.9, 9.9], [0.7, 2.0, 4.7, 9.7, 18.7],
                 [2.1, 4.7, 9.2, 18.6, 34.4], [5.0, 9.8, 18.7, 32.4, 55.3],
                 [10.0, 18.9, 34.8, 56.1, 94.5]]
_PAPER_CFR = [[13, 49, 1551, 97210, 6179541], [26, 1507, 99019, 6310784],
              [1509, 98483, 6211111], [97611, 6265326], [6290658]]
# Figure 3: the win rates that the text has, by seconds.
_PAPER_WIN_RATES = {4: 0.868, 8192: 0.553}


def parse_rounds(names):
  """Returns [(a, b), (b, a)] or [(a, a)] for each pair, fewest dice first."""
  pairs = set()
  for name in names:
    dice = [int(n) for n in name.split("v") if n.isdecimal()]
    if len(dice) != 2 or name.count("v") != 1 or not all(
        1 <= n <= 5 for n in dice):
      raise ValueError(f"round={name!r}: must be two numbers of dice between "
                       "1 and 5 with 'v' between them, such as 1v2")
    pairs.add(tuple(sorted(dice)))
  return [list(dict.fromkeys([pair, pair[::-1]]))
          for pair in sorted(pairs, key=lambda pair: (sum(pair), pair))]


def make_fsicfr(rules, rounds, num_shifts, gamma):
  """Returns a trainer of the rounds by FSICFR on one thread."""
  return pair_trainer.PairTrainer(rules, rounds, seed=_SEED.value,
                                  num_shifts=num_shifts, gamma=gamma)


def make_cfr(rules, rounds, values):
  """Returns a trainer of the rounds by recursive CFR."""
  return chance_sampled_cfr.ChanceSampledCFR(rules, rounds, values,
                                             seed=_SEED.value)


def milliseconds(trainer, deals):
  """Returns the median time of an iteration, divided by its deals."""
  trainer.iterate()  # may compile kernels
  times, start = [], time.perf_counter()
  while not times or time.perf_counter() - start < _MEASURE_SECONDS.value:
    begin = time.perf_counter()
    trainer.iterate()
    times.append(time.perf_counter() - begin)
  return 1e3 * statistics.median(times) / deals


def figure_4(rules, rounds, fsicfr_rounds):
  """Prints times an iteration, their ratio and their growth."""
  print("Figure 4: milliseconds per iteration (one deal), and how they grow "
        "with each die")
  print(f"{'':>9}{'FSICFR':>10}{'growth':>8}{'CFR':>11}{'growth':>8}"
        f"{'ratio':>10}   paper: FSICFR, CFR (ratio)")
  values = collections.defaultdict(float)  # they do not change the time
  before = [None, None]
  for keys in rounds + [keys for keys in fsicfr_rounds if keys not in rounds]:
    few, many = sorted(rules.rolls(n).num_rolls for n in keys[0])
    shifts = min(_HANDS_MET.value, few)
    ours = make_fsicfr(rules, keys, shifts, 0.0)
    with ours.at_work(values):
      times = [milliseconds(ours, shifts * many * len(keys)), None]
    if keys in rounds:
      times[1] = milliseconds(make_cfr(rules, keys, values), len(keys))
    cells = []
    for i, (ms, width) in enumerate(zip(times, (10, 11))):
      growth = ""
      if ms and before[i]:
        dice, previous = before[i]
        growth = f"{(ms / previous)**(1 / max(1, sum(keys[0]) - dice)):.2f}"
      cells.append((f"{ms:.4g}" if ms else "").rjust(width) + growth.rjust(8))
      before[i] = (sum(keys[0]), ms) if ms else before[i]
    ratio = f"{times[1] / times[0]:,.0f}" if times[1] else ""
    paper = "; ".join(paper_times(*key) for key in keys)
    print(f"{', '.join(f'{a}v{b}' for a, b in keys):>9}{cells[0]}{cells[1]}"
          f"{ratio:>10}   {paper}", flush=True)


def paper_times(a, b):
  """Returns the paper's times of the round."""
  own, row = _PAPER_FSICFR[a - 1][b - 1], _PAPER_CFR[a - 1]
  if b > len(row):
    return f"{own}, -"
  return f"{own}, {row[b - 1]:,} ({row[b - 1] / own:,.0f})"


def train_until(trainer, spent, seconds):
  """Iterates until this many seconds are spent; returns how many were."""
  start = time.perf_counter()
  while spent + time.perf_counter() - start < seconds:
    trainer.iterate()
  return spent + time.perf_counter() - start


def figure_3(game):
  """Prints, and returns, the win rates of FSICFR by seconds of training."""
  smaller = fsicfr.MatchSolver(pyspiel.load_game("dudo(start_dice=2v1)"),
                               _RECALL.value, _SEED.value,
                               memory=_ABSTRACTION.value)
  smaller.run(iterations=_PRETRAIN.value)
  policy = smaller.average_policy()
  rules, key = abstract_rules.abstract_rules(
      game, _ABSTRACTION.value or _RECALL.value), (2, 2)
  ours = make_fsicfr(rules, [key], None, _GAMMA.value)
  make_cfr(rules, [key], policy.values).iterate()  # compiles
  peer = make_cfr(rules, [key], policy.values)
  deals = rules.rolls(2).num_rolls**2
  print(f"\nFigure 3: FSICFR's win rate, 2v2, {_NUM_GAMES.value:,} games")
  print(f"{'seconds':>9}{'sweeps (deals) of FSICFR':>28}{'deals of CFR':>14}"
        f"{'hands met':>11}{'win rate':>20}{'starting':>10}{'second':>9}")
  spent, results, seconds = [0.0, 0.0], {}, 1
  with ours.at_work(policy.values):
    ours.iterate(0)  # compiles
    while seconds <= _SECONDS.value:
      spent[0] = train_until(ours, spent[0], seconds)
      spent[1] += peer.run_seconds(max(0.0, seconds - spent[1]))
      both = [policies.MatchPolicy(
          game, _RECALL.value,
          {**policy.tables, key: trainer.tables[key].cumulative},
          policy.values, memory=_ABSTRACTION.value) for trainer in (ours, peer)]
      result = simulation.play_matches(both, key, _NUM_GAMES.value, _SEED.value)
      results[seconds] = result
      met = int(np.any(peer.tables[key].cumulative, axis=0).sum())
      sweeps = f"{ours.iteration:,} ({ours.iteration * deals:,})"
      rate = f"{result.win_rate:.2%} ± {result.standard_error:.2%}"
      print(f"{seconds:>9}{sweeps:>28}{peer.iteration:>14,}"
            f"{met:>5} of {rules.rolls(2).num_rolls}{rate:>20}"
            f"{result.win_rate_as_starter:>10.2%}"
            f"{result.win_rate_as_other:>9.2%}", flush=True)
      seconds *= 2
  return results


def plot(path, results):
  """Draws figure 3."""
  figure, axes = figures.subplots(figsize=(7, 4.5))
  axes.errorbar(list(results), [100 * r.win_rate for r in results.values()],
                [200 * r.standard_error for r in results.values()], marker="o",
                markersize=4, capsize=3, label="here, ± 2 standard errors")
  paper = {s: rate for s, rate in _PAPER_WIN_RATES.items() if s in results}
  if paper:
    axes.plot(list(paper), [100 * rate for rate in paper.values()], "x",
              color="black", label="Neller & Hnath (2011)")
  axes.axhline(50, color="gray", linewidth=1)
  axes.set_xscale("log", base=2)
  axes.set_xticks(list(results), [str(seconds) for seconds in results])
  axes.set(xlabel="seconds of training (logarithmic)",
           ylabel="win rate of FSICFR (%)",
           title="Dudo 2v2: FSICFR v. recursive CFR after equal training "
           "time")
  axes.grid(alpha=0.3)
  axes.legend()
  figures.save(figure, path)


def main(_):
  rounds = parse_rounds(_ROUNDS.value)
  fsicfr_rounds = parse_rounds(_FSICFR_ROUNDS.value)
  if any(sum(keys[0]) > 5 for keys in rounds):
    raise ValueError(f"--rounds={','.join(_ROUNDS.value)}: must have at "
                     "most 5 dice in play, as CFR would take hours")
  if _NUM_GAMES.value % 2:
    raise ValueError(f"--num_games={_NUM_GAMES.value}: must be even")
  figures.check_plot(_PLOT)
  game = pyspiel.load_game("dudo(numdice=2)")
  if rounds or fsicfr_rounds:
    rules = abstract_rules.abstract_rules(
        game, _ABSTRACTION.value or _RECALL.value)
    figure_4(rules, rounds, fsicfr_rounds)
  if _SECONDS.value:
    results = figure_3(game)
    if _PLOT.value:
      plot(_PLOT.value, results)


if __name__ == "__main__":
  binary.run(main)
