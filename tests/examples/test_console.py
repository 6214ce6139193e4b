"""The console scripts, as they are installed."""

import os
import pty
import select
import subprocess
import sysconfig
import termios

_PLAY = os.path.join(sysconfig.get_path("scripts"), "dudo-play")
_CTRL_D = "\x04"


def _run(command, stdin="", **options):
  return subprocess.run(command, input=stdin, capture_output=True, text=True,
                        check=False, **options)


def test_dudo_play_is_play_dudo():
  result = _run([_PLAY, "--seed=1", "--seat=1"], "hint\nquit\n", cwd="/")
  assert "You are Player 1" in result.stdout
  assert result.stdout.endswith("Goodbye.\n")
  assert (result.returncode, result.stderr) == (0, "")


def test_dudo_solve_is_solve_game():
  script = os.path.join(sysconfig.get_path("scripts"), "dudo-solve")
  result = _run([script, "--game=nonsense"], cwd="/")
  assert result.returncode == 1
  assert result.stderr.startswith("error: --game=nonsense: Unknown game")


def test_dudo_page_is_dudo_page():
  script = os.path.join(sysconfig.get_path("scripts"), "dudo-page")
  result = _run([script, "--policy=none.npz"], cwd="/")
  assert result.returncode == 1
  assert result.stderr.startswith("error: ") and "none.npz" in result.stderr


def test_the_page_names_the_extra_that_it_needs(tmp_path):
  (tmp_path / "flask.py").write_text(
      "raise ModuleNotFoundError('No module named flask', name='flask')\n")
  script = os.path.join(sysconfig.get_path("scripts"), "dudo-page")
  result = _run([script], cwd="/",
                env={**os.environ, "PYTHONPATH": str(tmp_path)})
  assert (result.returncode, result.stdout) == (1, "")
  assert result.stderr.startswith(
      "error: the page needs flask, of the extra web; install it with /")
  assert result.stderr.endswith(' -m pip install "dudo_spiel[web]"\n')
  assert result.stderr.count("\n") == 1


def _on_terminal(keys, *flags, **environment):
  """Returns what a person sees who types something at each prompt.

  Args:
    keys: list of what the person types.
    *flags: the flags of `dudo-play`.
    **environment: variables of the environment.
  """
  leader, follower = pty.openpty()
  termios.tcsetwinsize(follower, (24, 80))
  process = subprocess.Popen(
      [_PLAY, *flags], stdin=follower, stdout=follower, stderr=follower,
      start_new_session=True,
      env={**os.environ, "TERM": "xterm", **environment})
  os.close(follower)
  shown, waiting = "", list(keys)
  while piece := _read(leader):
    shown += piece
    if waiting and shown.endswith(("Your move: ", "(yes or no) ")):
      os.write(leader, waiting.pop(0).encode())
  os.close(leader)
  assert process.wait(timeout=60) == 0
  return shown.replace("\r", "")


def _read(leader):
  """Returns what was written to a terminal, "" at the end or after a minute."""
  try:
    ready = select.select([leader], [], [], 60)[0]
    return os.read(leader, 4096).decode() if ready else ""
  except OSError:  # the other end was closed
    return ""


def test_games_in_a_row_and_colours_on_a_terminal():
  moves = ["bet\r", "yes\r", "bet\r", _CTRL_D]
  shown = _on_terminal(moves, "--game=neumann_poker(num_bets=1)")
  assert shown.count("Another game? (yes or no)") == 2
  assert "Score after 2 games: " in shown and "Goodbye." in shown
  assert "\033[1m" in shown and "Traceback" not in shown
  shown = _on_terminal(moves, "--game=neumann_poker(num_bets=1)", NO_COLOR="1")
  assert "Score after 2 games: " in shown
  assert "\033[1" not in shown and "\033[0" not in shown
