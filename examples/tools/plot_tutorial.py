"""Draws the pictures of docs/tutorial.md.

One shows how strategies move when regret matching plays itself, one how fast
variants of CFR learn Leduc poker, and one how the solution of Dudo with one die
each begins. --folder=docs makes those of the page again.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures

import os

from absl import flags
import numpy as np
import pyspiel

from dudo_spiel.algorithms import cfr
from dudo_spiel.algorithms import regret_matching

_FOLDER = flags.DEFINE_string("folder", ".", "Write the pictures to this "
                              "folder.")
_PICTURES = flags.DEFINE_multi_enum(
    "picture", ["self_play", "variants", "first_claims"],
    ["self_play", "variants", "first_claims"], "Which pictures; may be given "
    "several times.")

_SELF_PLAY_ITERATIONS = 1000
_LEDUC_ITERATIONS = 10_000
_DUDO_ITERATIONS = 10_000


def self_play(path):
  """Draws the current and the average strategy in rock, paper, scissors."""
  solver = regret_matching.RegretMatchingSolver(
      pyspiel.load_game("matrix_rps"), initial=[[0.4, 0.3, 0.3]] * 2)
  played = []  # [iteration, action]
  for _ in range(_SELF_PLAY_ITERATIONS):
    played.append(solver.current_strategies()[0])
    solver.run(1)
  counts = np.arange(1, len(played) + 1)
  average = np.cumsum(played, axis=0) / counts[:, np.newaxis]
  figure, axes = figures.subplots(1, 2, figsize=(9, 3.2), sharey=True)
  for axis, title, lines in (
      (axes[0], "played in each iteration: never settles", np.array(played)),
      (axes[1], "average so far: approaches one third", average)):
    for action, name in enumerate(("rock", "paper", "scissors")):
      axis.plot(counts, lines[:, action], label=name, linewidth=1.2)
    axis.axhline(1 / 3, color="black", linewidth=0.6)
    axis.set(title=title, xlabel="iteration", ylim=(-0.02, 1.02))
    axis.grid(alpha=0.3)
  axes[0].set(ylabel="probability")
  axes[1].legend()
  figures.save(figure, path)


def variants(path):
  """Draws exploitability by iteration for four solvers."""
  figure, axis = figures.subplots(figsize=(7, 4.2))
  for name in ("cfr", "cfr+", "dcfr", "pdcfr+"):
    solver = cfr.SOLVERS[name](pyspiel.load_game("leduc_poker"))
    counts, gains = figures.counts(_LEDUC_ITERATIONS, growth=1.1), []
    for count in counts:
      solver.run(count - solver.iteration)
      gains.append(solver.exploitability())
    axis.loglog(counts, gains, linewidth=1.4, label=name)
  axis.set(title="Leduc poker", xlabel="iterations", ylabel="exploitability")
  axis.grid(alpha=0.3)
  axis.legend()
  figures.save(figure, path)


def first_claims(path):
  """Draws what the starter of Dudo with one die each claims, by roll."""
  game = pyspiel.load_game("dudo(numdice=1)")
  solver = cfr.CFRPlusSolver(game)
  solver.run(_DUDO_ITERATIONS)
  policy, rows = solver.average_policy(), []
  for roll in range(6):
    state = game.new_initial_state()
    state.apply_action(roll)
    state.apply_action(0)
    chances = policy.action_probabilities(state)
    names = [state.action_to_string(claim) for claim in chances]
    rows.append(list(chances.values()))
  figure, axis = figures.subplots(figsize=(7, 3.9))
  axis.imshow(rows, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
  for roll, row in enumerate(rows):
    for claim, chance in enumerate(row):
      if chance >= 0.005:
        axis.text(claim, roll, f"{chance:.2f}", ha="center", va="center",
                  color="white" if chance > 0.5 else "black")
  axis.set_xticks(range(len(names)), names)
  axis.set_yticks(range(6), range(1, 7))
  axis.set(title="how likely the starter makes each first claim",
           xlabel="claim, from weakest to strongest", ylabel="own die")
  figures.save(figure, path)


def main(_):
  figures.check_matplotlib(_FOLDER)
  binary.make_folder(_FOLDER)
  for name in _PICTURES.value:
    draw = {"self_play": self_play, "variants": variants,
            "first_claims": first_claims}[name]
    draw(os.path.join(_FOLDER.value, f"tutorial_{name}.png"))


if __name__ == "__main__":
  binary.run(main)
