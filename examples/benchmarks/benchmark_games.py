"""Times moves and clones of the games and of OpenSpiel's Python games.

It plays random games, and clones the state after four moves. All games are
timed in turn, so a noisy machine disturbs them alike. The ratios to the peer
are medians over the repeats.
"""

from dudo_spiel_examples.support import binary

import random
import statistics
import time

from absl import flags
from open_spiel.python import games  # noqa: F401, registers the peers

_GAMES = flags.DEFINE_multi_string(
    "game", ["dudo", "dudo_single_round", "neumann_poker", "liar_die"],
    "A game to measure, with its parameters")
_REPEATS = flags.DEFINE_integer(
    "repeats", 15, "How often to measure.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.1, "Seconds per measurement.",
                              lower_bound=0.0)

_PLAY_PEER = "python_liars_poker"
_CLONE_PEER = "python_kuhn_poker"


def play(game, seconds, rng):
  """Plays random games; returns microseconds a move."""
  moves = 0
  begin = time.perf_counter()
  while True:
    state = game.new_initial_state()
    while not state.is_terminal():
      state.apply_action(rng.choice(state.legal_actions()))
      moves += 1
    elapsed = time.perf_counter() - begin
    if elapsed >= seconds:
      return elapsed / moves * 1e6


def clone(game, seconds, rng):
  """Clones the state after four moves; returns microseconds a clone."""
  state = game.new_initial_state()
  while not state.is_terminal() and len(state.history()) < 4:
    children = [state.child(action) for action in state.legal_actions()]
    going_on = [child for child in children if not child.is_terminal()]
    state = rng.choice(going_on or children)
  clones = 0
  begin = time.perf_counter()
  while True:
    for _ in range(100):
      state.clone()
    clones += 100
    elapsed = time.perf_counter() - begin
    if elapsed >= seconds:
      return elapsed / clones * 1e6


def main(_):
  rng = random.Random(0)
  names = [*_GAMES.value, _PLAY_PEER, _CLONE_PEER]
  loaded = {name: binary.load_game(name) for name in names}
  for title, measure, peer in [("move of a random game", play, _PLAY_PEER),
                               ("clone of a state", clone, _CLONE_PEER)]:
    times = {name: [] for name in names}
    for _ in range(_REPEATS.value):
      for name in names:
        times[name].append(measure(loaded[name], _SECONDS.value, rng))
    print(f"{title:<28} {'us':>8}   ratio to {peer}")
    for name in names:
      ratio = statistics.median(
          own / other for own, other in zip(times[name], times[peer]))
      print(f"  {name:<26} {statistics.median(times[name]):8.2f} {ratio:8.2f}")


if __name__ == "__main__":
  binary.run(main)
