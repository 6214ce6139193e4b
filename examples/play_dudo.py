"""Play Dudo, or any other game here, against bots in the terminal.

Type a move such as 3x5 or Dudo. Type ? for the legal moves, quit to leave.
"""

import binary

import itertools

from absl import flags
import numpy as np

from dudo_spiel import narrator
from dudo_spiel.algorithms import policy_bots

_GAME = flags.DEFINE_string("game", "dudo", "The game, with its parameters.")
_OPPONENTS = flags.DEFINE_list(
    "opponents", None, "Bots for the other seats in turn, repeated as needed: "
    "heuristic, random, uniform, trained (two-player dudo, up to three dice "
    "each), or policy files. Default: the best bot that plays the game.")
_SEAT = flags.DEFINE_integer("seat", 0, "Your seat, from 0.")
_SEED = flags.DEFINE_integer("seed", None, "Seed of the dice and bots.",
                             lower_bound=0, upper_bound=2**32 - 1)
_ODDS = flags.DEFINE_bool("odds", False, "Show the odds of every claim.")


def ask(narration, state):
  """Returns the person's move, or None if the person leaves."""
  for line in narration.situation(state):
    print(line)
  while True:
    text = input("Your move: ").strip()
    if text.lower() in ("quit", "exit", "q"):
      return None
    if text == "?":
      print("\n".join(narration.legal_moves(state)))
      continue
    try:
      return narration.parse(state, text)
    except ValueError as error:
      print(error)


def play(game, players, narration, rng):
  """Plays one game; returns its last state, or None if the person left."""
  state = game.new_initial_state()
  while not state.is_terminal():
    if state.is_chance_node():
      outcomes, probabilities = zip(*state.chance_outcomes())
      action = rng.choice(outcomes, p=probabilities)
    elif state.current_player() in players:
      action = players[state.current_player()].step(state)
    else:
      action = ask(narration, state)
      if action is None:
        return None
    before = state.clone()
    state.apply_action(action)
    for line in narration.after(before, action, state):
      print(line)
  return state


def main(_):
  rng = np.random.RandomState(_SEED.value)
  game = binary.load_game(_GAME.value)
  narration = narrator.Narrator(game, _SEAT.value, _ODDS.value)
  names = itertools.cycle(_OPPONENTS.value or policy_bots.bot_names(game)[:1])
  with binary.errors_of("opponents"):
    players = {
        player: policy_bots.make_bot(next(names), game, player, rng)
        for player in range(game.num_players()) if player != _SEAT.value
    }
  try:
    state = play(game, players, narration, rng)
  except (KeyboardInterrupt, EOFError):
    state = None
    print()
  print(narration.result(state) if state else "Goodbye.")


if __name__ == "__main__":
  binary.run(main)
