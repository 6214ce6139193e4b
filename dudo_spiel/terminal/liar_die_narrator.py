"""The narrator of Liar Die."""

from dudo_spiel.terminal import moves
from dudo_spiel.terminal import narrator


class LiarDieNarrator(narrator.Narrator):
  """Tells about `liar_die` and `liar_die_ir`."""

  def _how_to_move(self):
    return "Type the number that you claim, or accept or doubt a claim."

  def _rules(self):
    return narrator.wrapped(
        "The claimer rolls a die in secret and claims a number above the last "
        "claim. The other player accepts and rolls next, or doubts. Who doubts "
        "wins if the roll is below the claim, and loses otherwise.")

  def _told(self, before, action, state):
    player = before.current_player()
    if before.is_chance_node():
      is_mine = state.claimer() == self.seat
      return [f"You roll {state.rolls[-1]}."] if is_mine else []
    return [f"{self.name(player)}: {narrator.action_name(before, action)}"]

  def _ending(self, state):
    roll, claim = state.rolls[-1], state.highest_claim()
    exactly = "exactly " if roll == claim else ""
    return [f"{self.name(state.claimer())} had rolled {exactly}{roll}."]

  def situation(self, state):
    """Returns a line with the claims so far."""
    claims = [f"{self.name(turn % 2)} {claim}"
              for turn, claim in enumerate(state.claim_list())]
    return [narrator.last_that_fit(claims, "Claims: ")] if claims else []

  def status(self, state):
    """Returns the line with the person's roll and the last claim."""
    last = self._style.strong(str(state.highest_claim()))
    if state.phase() == "answer":
      line = (f"{self.name(state.claimer())} claims {last}: accept or "
              "doubt?")
    else:
      roll = self._style.strong(str(state.rolls[-1]))
      above = f"Claim more than {last}." if state.highest_claim() else (
          "You start: make a claim.")
      line = f"Your roll: {roll} | {above}"
    return [line, *self._only_move(state)]

  def hint(self, state, adviser=None):
    """Returns what the adviser or the odds suggest."""
    if adviser is not None:
      return super().hint(state, adviser)
    sides, claim = self._game.sides, state.highest_claim()
    if state.phase() == "answer":
      chance = narrator.percent((sides - claim + 1) / sides)
      return [f"A roll of {claim} or more has a probability of {chance}."]
    roll = state.rolls[-1]
    truth = "true" if roll > claim else "false"
    return [f"The lowest claim is {claim + 1}. It is {truth}."]

  def _why_not(self, state, text):
    if state.phase() == "answer":
      if state.highest_claim() == self._game.sides:
        return "The highest claim must be doubted."
      return "You are to answer the claim: type accept or doubt."
    typed = moves.parse_numbers(text)
    if typed is not None and len(typed) == 1:
      return (f"{typed[0]} is not a claim between {state.highest_claim() + 1} "
              f"and {self._game.sides}.")
    return f"Type the number that you claim, up to {self._game.sides}."
