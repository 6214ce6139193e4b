"""Hints and reviews in the terminal: words and numbers."""

import helpers
import numpy as np
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms.dudo.analysis import review
from dudo_spiel.terminal import coach
from dudo_spiel.terminal import registry
from dudo_spiel.terminal import session

_GAME = "dudo(numdice=1)"


def _play(num_matches):
  """Returns the lines of a session, and the review of the person's moves."""
  game = pyspiel.load_game(_GAME)
  policy = policy_bots.load_policy()
  rng = np.random.RandomState(3)
  lines, the_coach = [], coach.Coach(policy, 0)
  questions = iter(range(1, num_matches + 1))

  def read(prompt):
    lines.append(prompt)
    if prompt.startswith("Another"):
      return "yes" if next(questions) < num_matches else "no"
    # A bad player: claims 1x2 first, then says Dudo.
    return "1x2" if "You start" in lines[-2] else "dudo"

  session.Session(
      game, registry.make_narrator(game, 0),
      {1: bots.make_bot("heuristic", game, 1, rng)}, None, rng, read,
      lines.append, the_coach).run({1: "heuristic"}, True)
  return lines, the_coach.review


def test_session_with_hints_and_review():
  lines, notes = _play(3)
  assert {move.match for move in notes.moves} <= {1, 2, 3}
  assert sum(line.startswith("Your moves in round 1") for line in lines) >= 1
  losses = [move.loss for move in notes.worst()]
  assert losses == sorted(losses, reverse=True) and losses[0] > 0.01
  assert notes.total_loss() == pytest.approx(sum(losses))
  total = f"{100 * sum(losses):.2f}%"
  assert f"All your moves so far lost {total} of a match." in lines
  for move in notes.moves:
    values = exploitability.action_values(policy_bots.load_policy(), move.dice,
                                          move.claims, move.hand)
    assert move.loss == values.values.max() - values.values[
        values.names.index(move.name)]
  first = lines.index(f"{'move':>6}{'worth':>9}{'loses':>8}{'policy':>8}"
                      f"{'dice':>7}{'claims':>8}")
  best = notes.moves[0].values
  assert lines[first + 1].split()[:3] == [
      notes.moves[0].best_name, f"{100 * best.values.max():.2f}%", "0.00%"]


def test_worst_of_one_round():
  notes = _play(2)[1]
  for move in notes.worst(match=2, round_number=1):
    assert (move.match, move.round) == (2, 1)
  with pytest.raises(ValueError, match="^policy=None"):
    review.Review(None)
  with pytest.raises(ValueError, match="^game="):
    notes.note(pyspiel.load_game("dudo(numdice=6)").new_initial_state(), 0)
  with pytest.raises(ValueError, match="^state=.*a player decides"):
    notes.note(pyspiel.load_game(_GAME).new_initial_state(), 0)


def test_hints_of_the_terminal_game():
  result = helpers.run_example("play_dudo.py", f"--game={_GAME}", "--hints",
                               "--seed=1", stdin="1x2\ndudo\ndudo\n")
  assert "What moves are worth" in result.stdout
  assert "Your moves in round 1, and what they lost:" in result.stdout
  assert "All your moves so far lost" in result.stdout
  helpers.assert_refused("play_dudo.py", ["--game=kuhn_poker", "--hints"],
                         "--hints: game=kuhn_poker")
