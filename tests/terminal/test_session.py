import numpy as np
import pyspiel
import pytest

from dudo_spiel import bots
from dudo_spiel.terminal import registry
from dudo_spiel.terminal import session

_QUESTION = "Another game? (yes or no) "


def _run(name, typed, *, asks_again=True, end=EOFError, seat=0):
  """Returns the lines of a session, prompts with what the person typed.

  Args:
    name: the game.
    typed: list of what the person types.
    asks_again: whether the session asks for another game.
    end: what happens when nothing more is typed.
    seat: the person's seat.
  """
  game = pyspiel.load_game(name)
  rng = np.random.RandomState(1)
  others = [player for player in range(game.num_players()) if player != seat]
  lines, answers = [], iter(typed)

  def read(prompt):
    text = next(answers, None)
    lines.append(prompt if text is None else prompt + text)
    if text is None:
      raise end
    return text

  session.Session(
      game, registry.make_narrator(game, seat),
      {player: bots.make_bot("uniform", game, player, rng)
       for player in others}, None, rng, read, lines.append,
  ).run(dict.fromkeys(others, "uniform"), asks_again)
  return lines


def test_score_over_games():
  lines = _run("neumann_poker", ["bet", "yes", "bet", "", "bet", "what", "no"])
  results = [line for line in lines if "Your return is" in line]
  scores = [line for line in lines if line.startswith("Score after")]
  assert len(results) == 3 and len(scores) == 2
  assert scores[-1].startswith("Score after 3 games: ")
  won = sum("You win" in line for line in results)
  lost = sum("You lose" in line for line in results)
  assert f"{won} won" in scores[-1] and f"{lost} lost" in scores[-1]
  total = sum(float(line.split()[-1].rstrip(".")) for line in results)
  assert f"your returns sum to {total:g}." in scores[-1]
  assert lines[-4:] == [f"{_QUESTION}what", "Type yes or no.", f"{_QUESTION}no",
                        "Goodbye."]


def test_score_without_winners():
  lines = _run("lewis_signaling", ["1", "yes", "message 2", "no"])
  score = next(line for line in lines if line.startswith("Score after 2 games"))
  assert "won" not in score and "your returns sum to" in score


def test_one_game_if_nobody_can_be_asked():
  lines = _run("neumann_poker", ["bet"], asks_again=False)
  assert "Your return is" in lines[-1]
  assert not any(line.startswith("Another game?") for line in lines)


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
@pytest.mark.parametrize("typed", [[], ["zzz"], ["bet"], ["bet", "yes"]])
def test_leaving_at_any_prompt(end, typed):
  lines = _run("neumann_poker", typed, end=end)
  assert lines[-2:] == ["", "Goodbye."]


def test_ctrl_c_while_a_bot_thinks():
  class Interrupted:
    def step(self, state):
      raise KeyboardInterrupt

  game = pyspiel.load_game("tic_tac_toe")
  lines = []
  session.Session(game, registry.make_narrator(game, 1), {0: Interrupted()},
                  None, None, input, lines.append).run({}, True)
  assert lines[-2:] == ["", "Goodbye."]


@pytest.mark.parametrize("word", ["quit", " Exit ", "q"])
def test_quitting(word):
  assert _run("dudo", [word])[-2:] == [f"Your move: {word}", "Goodbye."]


def test_commands_leave_dice_and_claim_in_the_last_line():
  lines = _run("dudo", ["?", "help", "hint", "2x9", "quit"])
  prompts = [number for number, line in enumerate(lines)
             if line.startswith("Your move: ")]
  assert len(prompts) == 5
  assert len({lines[number - 1] for number in prompts}) == 1
  assert lines[prompts[0] - 1].startswith("Your dice: ")
  text = "\n".join(lines)
  assert "1x2   1x3   1x4" in text
  assert "The odds suggest" in text and "2x9: a die shows" in text


@pytest.mark.parametrize("seat", [0, 2])
def test_dice_are_in_sight_on_a_small_terminal(seat):
  """With four players, at each prompt of a whole game."""
  lines = _run("dudo(players=4,numdice=2)", ["8x1"] * 9, seat=seat)
  prompts = [number for number, line in enumerate(lines)
             if line.startswith("Your move: ")]
  assert prompts
  for number in prompts:
    screen = "\n".join(lines[max(number - 23, 0):number + 1])
    assert "Your dice: " in screen.splitlines()[-2]
    assert "To beat: " in screen or "You start" in screen
  assert all(len(line) < 80 for line in lines)
