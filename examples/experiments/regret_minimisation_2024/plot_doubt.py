"""Teaches an agent when to doubt in Dudo, and draws what it has learned.

These are figures 13 to 16 of a student's report on regret minimisation (2024),
again: win rates against its dummies while the agent learns, and the table of
probabilities to doubt. Dudo is played without wild ones, and every doubt costs
one die.

The report rewards doubts by 1 a round and 10 a game. With its learning rate of
0.1, one game that was won sets all its doubts to certain for good. So this also
teaches an agent that is rewarded by round only.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import time

from absl import flags
import numpy as np
import pyspiel

from dudo_spiel.algorithms import qlearning

_SIZES = flags.DEFINE_list("sizes", ["2x3", "4x3", "2x6", "4x6"],
                           "Players and dice of each.")
_TRAIN_GAMES = flags.DEFINE_integer(
    "train_games", 1_000_000, "Games to learn from.", lower_bound=10)
_REWARDS = flags.DEFINE_list("game_rewards", ["10", "0"],
                             "Rewards of a game to compare.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of dice and moves.",
                             lower_bound=0)
_PLOT = flags.DEFINE_string("plot", None, "Draw the picture to this PNG file.")

_HOUSE = {"wild_ones": False, "die_loss": "one", "exact_reward": False}


def load(size):
  """Returns the game of a size such as "2x3"."""
  players, separator, dice = size.partition("x")
  if not (separator and players.isdecimal() and dice.isdecimal()):
    raise ValueError(f"--sizes={size}: must be players x dice, such as 2x3")
  with binary.errors_of("sizes"):
    try:
      return pyspiel.load_game("dudo", {"players": int(players),
                                        "numdice": int(dice), **_HOUSE})
    except pyspiel.SpielError as error:
      raise ValueError(str(error)) from error


def learn(learner):
  """Returns (games, win rates): of all games so far, as in the report."""
  counts, rates = [], []
  for count in figures.counts(_TRAIN_GAMES.value, growth=1.2):
    learner.run(count - learner.iteration)
    counts.append(count)
    rates.append(100 * learner.wins / count)
  return counts, rates


def draw_table(axis, learner, title):
  """Draws how likely the agent doubts: claims across, rolls down."""
  game, tables = learner.game, learner.tables
  shown = np.where(tables.visits > 0, tables.doubt, np.nan)
  image = axis.imshow(shown, aspect="auto", cmap="viridis", vmin=0, vmax=1,
                      interpolation="nearest")
  axis.set_facecolor("lightgray")
  dice = range(1, max(game.start_dice) + 1)
  ends = np.cumsum([game.rolls(k).num_rolls for k in dice])
  for end in ends[:-1]:
    axis.axhline(end - 0.5, color="white", linewidth=0.8)
  begins = np.array([0, *ends[:-1]])
  axis.set_yticks((begins + ends) / 2 - 0.5, [
      number if end - begin > 0.05 * ends[-1] else ""
      for number, begin, end in zip(dice, begins, ends)])
  total = sum(game.start_dice)
  quantities = np.arange(1, total + 1, max(total // 6, 1))
  axis.set_xticks((quantities - 0.5) * game.num_sides - 0.5, quantities)
  axis.set(title=title, xlabel="claimed quantity, ranks 1 to 6 in each",
           ylabel="rolls, by number of dice")
  return image


def plot(path, results):
  """Draws a row for each size: the win rates, and the tables."""
  figure, axes = figures.subplots(
      len(results), 1 + len(_REWARDS.value), squeeze=False,
      figsize=(4.2 * (1 + len(_REWARDS.value)), 3.4 * len(results)))
  for row, (size, runs) in zip(axes, results.items()):
    players = int(size.partition("x")[0])
    for number, (reward, (learner, counts, rates)) in enumerate(runs.items()):
      row[0].plot(counts, rates, label=f"game reward {reward}")
      image = draw_table(row[1 + number], learner, f"{size}: doubts, game "
                         f"reward {reward}")
    row[0].axhline(100 / players, color="black", linewidth=0.8, linestyle=":",
                   label="even")
    row[0].set(title=f"{players} players, {size.partition('x')[2]} dice each",
               xscale="log", xlabel="train_games", ylim=(0, 80),
               xlim=(min(100, _TRAIN_GAMES.value / 10), _TRAIN_GAMES.value),
               ylabel="games won so far, %")
    row[0].grid(alpha=0.3)
    row[0].legend(fontsize="x-small")
    figure.colorbar(image, ax=row[-1], label="chance to doubt")
  figures.save(figure, path)


def main(_):
  figures.check_plot(_PLOT)
  games = {size: load(size) for size in _SIZES.value}
  try:
    rewards = {text: float(text) for text in _REWARDS.value}
  except ValueError:
    raise ValueError(f"--game_rewards={','.join(_REWARDS.value)}: must be "
                     "numbers") from None
  print(f"{_TRAIN_GAMES.value:,} games against dummies; rates in percent")
  print(f"{'size':>6}{'reward':>8}{'seconds':>9}{'won':>8}{'at the end':>17}"
        f"{'even':>7}{'entries':>9}{'tried':>7}{'certain':>9}{'never':>7}")
  results = {}
  for size, game in games.items():
    results[size] = {}
    for text, reward in rewards.items():
      with binary.errors_of("game_rewards"):
        learner = qlearning.DoubtLearner(game, game_reward=reward,
                                         seed=_SEED.value)
      learner.run(1)  # compiles
      begin = time.perf_counter()
      counts, rates = learn(learner)
      seconds = time.perf_counter() - begin
      results[size][text] = learner, counts, rates
      end = qlearning.play_games(learner.average_policy(), 200_000, seed=1)
      tried = learner.tables.visits > 0
      doubt = learner.tables.doubt[tried]
      print(f"{size:>6}{text:>8}{seconds:>9.1f}{rates[-1]:>8.2f}"
            f"{100 * end.win_rate:>9.2f} ± {100 * end.standard_error:.2f}"
            f"{100 / game.num_players():>8.1f}{tried.size:>9,}"
            f"{100 * tried.mean():>7.1f}{100 * np.mean(doubt == 1):>9.1f}"
            f"{100 * np.mean(doubt == 0):>7.1f}", flush=True)
  if _PLOT.value:
    plot(_PLOT.value, results)


if __name__ == "__main__":
  binary.run(main)
