"""The losses of a person's moves in matches of Dudo, against the best ones.

Moves are noted when they are made. Their losses are computed on demand, because
that takes up to a second with five dice each.
"""

import functools

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.analysis import action_values


class ReviewedMove:
  """One move of a person.

  Args:
    look: a function of the dice, the claims and the hand, which returns the
      `action_values.ActionValues`.
    state: the state before the move.
    action: the action.
    match: which match it belongs to, from 1.

  Attributes:
    match: as given.
    round: which round of the match, from 1.
    dice: (own dice, opponent's dice).
    claims: list of int, the claims of the round before the move.
    hand: bytes, the own dice.
    name: the move, such as "3x5" or "Dudo".
  """

  def __init__(self, look, state, action, match):
    player = state.current_player()
    self._look = look
    self.match = match
    self.round = len(state.past_rounds()) + 1
    self.dice = state.dice[player], state.dice[1 - player]
    self.claims = state.claim_list()
    self.hand = state.hand(player)
    self.name = state.action_to_string(player, action)

  @functools.cached_property
  def values(self):
    """The `action_values.ActionValues`, computed at the first access."""
    return self._look(self.dice, tuple(self.claims), self.hand)

  @property
  def loss(self):
    """The value of the best move minus that of this one."""
    return self.values.loss(self.name)

  @property
  def best_name(self):
    """The move that is worth the most."""
    return self.values.names[int(self.values.values.argmax())]


class Review:
  """The moves of one person, in one match after another.

  Args:
    policy: the `rounds_policy.RoundsPolicy` that values are computed against.
    look: a function of the dice, the claims and the hand that returns what
      `action_values.action_values` does, such as one with a cache; None to
      compute it.

  Attributes:
    moves: list of `ReviewedMove`, first to last.
  """

  def __init__(self, policy, look=None):
    action_values.check_policy(policy)
    self._policy = policy
    self._look = look or functools.partial(action_values.action_values, policy)
    self.moves = []

  def note(self, state, action, match=1):
    """Notes a move of the player who acts in a state.

    Args:
      state: the state before the move.
      action: the action.
      match: which match it belongs to, from 1.
    """
    validation.state("state", state)
    self._policy.check_game(state.get_game())
    if state.current_player() < 0:
      raise ValueError(f"state={state}: must be one in which a player decides")
    self.moves.append(ReviewedMove(self._look, state, action, match))

  def worst(self, match=None, round_number=None):
    """Returns a list of `ReviewedMove`, the one that lost most first.

    Args:
      match: only moves of this match; None for all.
      round_number: only moves of this round of it; None for all.
    """
    chosen = [move for move in self.moves if match in (None, move.match) and
              round_number in (None, move.round)]
    return sorted(chosen, key=lambda move: -move.loss)

  def total_loss(self):
    """Returns the sum of the losses of all moves."""
    return sum(move.loss for move in self.moves)
