"""How fast the games are, beside OpenSpiel's own Python games.

Plays random games, and clones a state after four moves of a game. Each round of
measurements times all games, so that a noisy machine disturbs all alike; the
median of the rounds is printed, as a ratio to the peer.
"""

import random
import statistics
import time

from absl import app
from absl import flags
from open_spiel.python import games  # noqa: F401, registers the peers
import pyspiel

import dudo_spiel  # noqa: F401, registers the games

_GAMES = flags.DEFINE_multi_string(
    "game", ["dudo", "dudo_single_round", "neumann_poker", "liar_die"],
    "A game to measure, with its parameters; may be repeated.")
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Rounds of measurements.",
                               lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 0.1, "Seconds a measurement.",
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


def main(argv):
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument {argv[1]!r}; flags have --")
  rng = random.Random(0)
  names = [*_GAMES.value, _PLAY_PEER, _CLONE_PEER]
  try:
    loaded = {name: pyspiel.load_game(name) for name in names}
  except (ValueError, pyspiel.SpielError) as error:
    raise app.UsageError(str(error)) from None
  for title, measure, peer in [("move of a random game", play, _PLAY_PEER),
                               ("clone of a state", clone, _CLONE_PEER)]:
    times = {name: [] for name in names}
    for _ in range(_ROUNDS.value):
      for name in names:
        times[name].append(measure(loaded[name], _SECONDS.value, rng))
    print(f"{title:<28} {'us':>8}   ratio to {peer}")
    for name in names:
      ratio = statistics.median(
          own / other for own, other in zip(times[name], times[peer]))
      print(f"  {name:<26} {statistics.median(times[name]):8.2f} {ratio:8.2f}")


if __name__ == "__main__":
  app.run(main)
