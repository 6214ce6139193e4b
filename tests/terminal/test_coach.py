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


_HEADER = (f"{'move':>6}{'worth':>9}{'loses':>8}{'policy':>8}{'dice':>7}"
           f"{'claims':>8}")


def _bad_move(lines):
  """Claims 1x2 first, then says Dudo."""
  return "1x2" if "You start" in lines[-2] else "dudo"


def _best_move(lines):
  """Makes the first move of the last table."""
  last = len(lines) - 1 - lines[::-1].index(_HEADER)
  return lines[last + 1].split()[0]


def _play(num_matches, choose=_bad_move, game=_GAME):
  """Returns the lines of a session, and the review of the person's moves."""
  game = pyspiel.load_game(game)
  policy = policy_bots.load_policy()
  rng = np.random.RandomState(3)
  lines, the_coach = [], coach.Coach(policy, 0)
  questions = iter(range(1, num_matches + 1))

  def read(prompt):
    lines.append(prompt)
    if prompt.startswith("Another"):
      return "yes" if next(questions) < num_matches else "no"
    return choose(lines)

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
  first = lines.index(_HEADER)
  best = notes.moves[0].values
  assert lines[first + 1].split()[:3] == [
      notes.moves[0].best_name, f"{100 * best.values.max():.2f}%", "0.00%"]


def test_hints_always_show_dudo():
  lines, _ = _play(3, game="dudo(numdice=2)")
  text = "\n".join(lines)
  tables = text.split(_HEADER)
  asked = [("Claims:" in before.rsplit("What moves are worth")[0].rsplit(
      "Round", 1)[-1], table.split("Your dice")[0])
           for before, table in zip(tables, tables[1:])]
  assert sum(has_claim for has_claim, _ in asked) >= 2
  for has_claim, table in asked:
    assert ("  Dudo " in table) == has_claim


def test_the_worst_moves_are_those_that_lost_something():
  lines, notes = _play(3)
  text = " ".join(" ".join(lines).split())
  worst = [part.split("All your moves")[0] for part in
           text.split("Your worst moves in this match, and what they lost:")]
  assert len(worst) > 1
  assert not any("lost nothing" in part for part in worst[1:])
  move = notes.worst()[0]
  wins = [f"{100 * value:.2f}%" for value in (
      move.loss, move.values.values.max() - move.loss,
      move.values.values.max())]
  assert (f"{move.name} lost {wins[0]} of a match: it wins {wins[1]}, "
          f"the best move {move.best_name} {wins[2]}") in text
  lines, notes = _play(1, _best_move)
  assert notes.total_loss() < 1e-9
  assert "None of your moves in this match lost anything." in lines


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
