"""Game after game of a person against bots, with the score.

A session decides what is asked and told. It reads and writes through functions,
so it does not depend on a terminal.
"""

import collections

_PROMPT = "Your move: "
_LEAVE = ("quit", "exit", "q")
_YES = ("", "y", "yes")
_NO = ("n", "no", *_LEAVE)


class _LeaveError(Exception):
  """The person leaves."""


class Session:
  """Games of a person against bots.

  Args:
    game: the game.
    narrator: the `narrator.Narrator` that speaks to the person.
    bots: {player: bot} of all seats but the person's.
    adviser: a bot for the person's seat that gives hints, or None.
    rng: a random number generator with `choice`, for the dice.
    read: a function that shows a prompt and returns what the person types. It
      raises an EOFError when there is no more.
    tell: a function that shows a line.
    coach: a `coach.Coach` that says what moves are worth, or None.
  """

  def __init__(self, game, narrator, bots, adviser, rng, read, tell,
               coach=None):
    self._game = game
    self._narrator = narrator
    self._bots = bots
    self._adviser = adviser
    self._rng = rng
    self._read = read
    self._tell = tell
    self._coach = coach
    self._verdicts = collections.Counter()
    self._total = 0.0

  def run(self, opponents, asks_again, notes=()):
    """Plays one game, or if it asks again as many as the person wants.

    It greets with the names of the opponents, {player: name}, and the notes.
    """
    try:
      self._say(self._narrator.greeting(opponents))
      self._say(notes)
      self._play()
      while asks_again and self._wants_another():
        self._play()
      if not asks_again:
        return
    except _LeaveError:
      pass
    except (KeyboardInterrupt, EOFError):
      self._tell("")  # ends the line of the prompt
    self._tell("Goodbye.")

  def _say(self, lines):
    for line in lines:
      self._tell(line)

  def _play(self):
    """Plays one game, and tells the result and the score."""
    self._tell("")
    state = self._game.new_initial_state()
    while not state.is_terminal():
      before = state.clone()
      action = self._choose(state)
      state.apply_action(action)
      self._say(self._narrator.after(before, action, state))
      if self._coach is not None:
        self._say(self._coach.after(before, action, state))
    self._verdicts[self._narrator.verdict(state)] += 1
    self._total += state.returns()[self._narrator.seat]
    self._tell(self._narrator.result(state))
    if self._verdicts.total() > 1:
      self._tell(self._score())

  def _choose(self, state):
    """Returns the next action, whoever makes it."""
    if state.is_chance_node():
      outcomes, probabilities = zip(*state.chance_outcomes())
      return self._rng.choice(outcomes, p=probabilities)
    if state.current_player() in self._bots:
      return self._bots[state.current_player()].step(state)
    return self._ask(state)

  def _ask(self, state):
    """Returns the person's move."""
    self._say(self._narrator.situation(state))
    if self._coach is not None:
      self._say(self._coach.before(state))
    while True:
      self._say(self._narrator.status(state))
      text = self._read(_PROMPT)
      command = text.strip().lower()
      if command in _LEAVE:
        raise _LeaveError
      if command in ("?", "moves"):
        self._say(self._narrator.legal_moves(state))
      elif command == "help":
        self._say(self._narrator.help())
      elif command == "hint":
        self._say(self._narrator.hint(state, self._adviser))
      else:
        action, lines = self._narrator.understand(state, text)
        if action is not None:
          return action
        self._say(lines)

  def _wants_another(self):
    while True:
      answer = self._read("Another game? (yes or no) ").strip().lower()
      if answer in _YES or answer in _NO:
        return answer in _YES
      self._tell("Type yes or no.")

  def _score(self):
    """Returns a line about all games so far."""
    always = () if self._verdicts[None] else ("win", "loss")
    counts = [f"{self._verdicts[verdict]} {word}, "
              for verdict, word in (("win", "won"), ("shared win", "shared"),
                                    ("tie", "tied"), ("loss", "lost"))
              if self._verdicts[verdict] or verdict in always]
    return (f"Score after {self._verdicts.total()} games: {''.join(counts)}"
            f"your returns sum to {self._total:g}.")
