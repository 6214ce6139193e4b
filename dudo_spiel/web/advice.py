"""Help for the hand that a person holds, and the review of the moves made.

Nothing here looks at another player's dice: help knows the person's own hand,
the public claims and the policy.
"""

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.web import play

_MAX_HANDS = 12  # of the opponent that are listed


def _rounded(numbers):
  return [round(float(number), 6) for number in numbers]


def belief_view(rules, num_dice, belief):
  """Returns what claims tell of a player's dice.

  Args:
    rules: the `round_rules.RoundRules`.
    num_dice: how many dice the player has.
    belief: the `Posterior`.
  """
  table = rules.rolls(num_dice)
  matches = table.matches(rules.house.wild_ones)
  likely = sorted(range(table.num_rolls),
                  key=lambda hand: -belief.chances[hand])[:_MAX_HANDS]
  return {
      "is_expected": belief.is_expected,
      # [rank][count], how likely so many dice count for a rank.
      "counts": [_rounded(sum(belief.chances[matches[:, rank] == count])
                          for count in range(num_dice + 1))
                 for rank in range(rules.num_sides)],
      "hands": [{"hand": rolls_lib.hand_name(table.hands[hand]),
                 "chance": round(float(belief.chances[hand]), 6)}
                for hand in likely if belief.chances[hand] > 0.0005]}


def values_view(library, dice, claims, hand):
  """Returns what each action of a hand is worth.

  Args:
    library: the `library.Library`.
    dice: (own dice, opponent's dice).
    claims: list of int.
    hand: bytes, the own dice.
  """
  result = library.values(tuple(dice), tuple(claims), bytes(hand))
  order = library.rules.claim_order(sum(dice))
  return {"names": result.names, "values": _rounded(result.values),
          "probabilities": _rounded(result.probabilities),
          "best": result.names[int(result.values.argmax())],
          "value": round(float(result.values @ result.probabilities), 6),
          "odds": _rounded(result.odds),
          "odds_alone": _rounded(play.odds_alone(order, bytes(hand)))}


def help_view(library, match):
  """Returns help for the person's move.

  Args:
    library: the `library.Library`.
    match: a match of `play` in which it is the person's turn.
  """
  if not match.is_persons_turn():
    raise ValueError("match: there is help only when it is your turn")
  state, seat = match.state, match.state.current_player()
  order, hand = state.claim_order(), state.hand(seat)
  if not match.is_known:
    legal = match.legal()
    probabilities = None
    if match.kind == "single_round" and library.single_round is not None:
      chances = library.single_round.action_probabilities(state)
      probabilities = _rounded(chances.get(action, 0.0)
                               for action in legal.values())
    return {"names": list(legal), "values": None,
            "probabilities": probabilities, "best": None, "odds": None,
            "belief": None,
            "claim_names": list(order.names), "last": state.last_claim(),
            "odds_alone": _rounded(play.odds_alone(order, hand))}
  dice = state.dice[seat], state.dice[1 - seat]
  claims = state.claim_list()
  view = values_view(library, dice, claims, hand)
  belief = library.belief(dice, tuple(claims))
  return {**view, "claim_names": list(order.names), "last": state.last_claim(),
          "belief": belief_view(library.rules, dice[1], belief)}


def review_view(library, session):
  """Returns a person's moves and what they lost, the worst first.

  Moves of a round that is not over are left out. The total is of the whole
  session, also of moves that are forgotten.

  Args:
    library: the `library.Library`.
    session: the `sessions.PageSession`.
  """
  open_round = None
  if session.match is not None and session.match.is_persons_turn() and (
      session.match.is_known):
    open_round = (session.match.number,
                  len(session.match.state.past_rounds()) + 1)
  moves = []
  for move in session.review.worst():
    if (move.match, move.round) == open_round:
      continue
    order = library.rules.claim_order(sum(move.dice))
    names = [order.names[claim] for claim in move.claims]
    starts = len(names) % 2 == 0  # whether the person started the round
    dice = move.dice if starts else move.dice[::-1]
    values = move.values
    moves.append({
        "match": move.match, "round": move.round, "dice": list(move.dice),
        "hand": rolls_lib.hand_name(move.hand), "claims": names,
        "move": move.name, "best": move.best_name,
        "loss": round(move.loss, 6),
        "value": round(float(values.values[values.names.index(move.name)]), 6),
        "best_value": round(float(values.values.max()), 6),
        "probability": round(float(
            values.probabilities[values.names.index(move.name)]), 6),
        "position": {"round": f"{dice[0]}v{dice[1]}",
                     "claims": ".".join(names)}})
  return {"moves": moves, "score": session.score,
          "forgotten": session.forgotten,
          "total": round(session.forgotten_loss +
                         sum(move["loss"] for move in moves), 6)}
