"""Values of moves in Dudo: hints before a move, a review after a round."""

from dudo_spiel import odds
from dudo_spiel import rolls as rolls_lib
from dudo_spiel.algorithms import exploitability
from dudo_spiel.algorithms.dudo.analysis import review
from dudo_spiel.terminal import narrator

_MAX_MOVES = 8  # in a table of hints
_MIN_PROBABILITY = 0.005  # of a bad move that is in the table anyway
_MIN_LOSS = 0.00005  # smaller losses count as none


def _points(probability):
  """Returns a probability in percent, with two decimals."""
  return f"{100 * probability:.2f}%"


class Coach:
  """Tells what moves are worth.

  Args:
    policy: the policy for two-player Dudo that values are computed against.
    seat: the person's player id.

  Attributes:
    review: the `review.Review` of the person's moves.
  """

  def __init__(self, policy, seat):
    self.review = review.Review(policy)
    self._policy = policy
    self._seat = seat
    self._match = 1

  def before(self, state):
    """Returns lines that say what each move of the person is worth."""
    result = exploitability.state_action_values(self._policy, state)
    order = state.claim_order()
    best = result.values.max()
    ranked = sorted(range(len(result.names)), key=lambda i: -result.values[i])
    shown = [i for rank, i in enumerate(ranked)
             if rank < _MAX_MOVES or result.names[i] == "Dudo" or
             result.probabilities[i] >= _MIN_PROBABILITY]
    lines = ["What moves are worth, in matches won against the policy; how "
             "often it makes", "them; how likely they are true by your dice "
             "alone, and by its claims too:",
             f"{'move':>6}{'worth':>9}{'loses':>8}{'policy':>8}{'dice':>7}"
             f"{'claims':>8}"]
    for i in shown:
      name = result.names[i]
      claim = state.last_claim() if name == "Dudo" else order.parse(name)
      alone = odds.odds_in_order(order, claim, state.hand(self._seat))
      believed = result.odds[claim]
      if name == "Dudo":
        alone, believed = 1.0 - alone, 1.0 - believed
      lines.append(
          f"{name:>6}{_points(result.values[i]):>9}"
          f"{_points(best - result.values[i]):>8}"
          f"{narrator.percent(result.probabilities[i]):>8}"
          f"{narrator.percent(alone):>7}{narrator.percent(believed):>8}")
    if not result.posterior.is_expected:
      lines.append("The policy never makes all of these claims itself.")
    return lines

  def after(self, before, action, state):
    """Notes a move; returns the review if it ends a round or the match."""
    if before.current_player() == self._seat:
      self.review.note(before, action, self._match)
    rounds = len(state.past_rounds())
    if rounds == len(before.past_rounds()):
      return []
    lines = self._told(f"Your moves in round {rounds}",
                       self.review.worst(self._match, rounds))
    if state.is_terminal():
      bad = [move for move in self.review.worst(self._match)
             if move.loss >= _MIN_LOSS]
      lines += (self._told("Your worst moves in this match", bad[:_MAX_MOVES])
                or ["None of your moves in this match lost anything."])
      lines.append("All your moves so far lost "
                   f"{_points(self.review.total_loss())} of a match.")
      self._match += 1
    return lines

  def _told(self, title, moves):
    """Returns lines about moves, the worst first."""
    if not moves:
      return []
    lines = [f"{title}, and what they lost:"]
    for move in moves:
      hand = rolls_lib.hand_name(move.hand)
      best = move.values.values.max()
      lost = (f"lost {_points(move.loss)} of a match: it wins "
              f"{_points(best - move.loss)}, the best move {move.best_name} "
              f"{_points(best)}"
              if move.loss >= _MIN_LOSS else "lost nothing")
      lines += narrator.wrapped(
          f"- round {move.round}, with {hand}: {move.name} {lost}")
    return lines
