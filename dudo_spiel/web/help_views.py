"""Help for the hand that a person holds, and the review of the moves made.

Nothing here looks at another player's dice: help knows the person's own hand,
the public claims and the policy.
"""

from dudo_spiel import odds
from dudo_spiel import rolls as rolls_lib

_MAX_HANDS = 12  # of the opponent that are listed
_MIN_CHANCE = 0.0005  # of a hand that is listed


def rounded(value):
  """Returns a value as a float that is short in JSON."""
  return round(float(value), 6)


def belief_view(rules, num_dice, belief):
  """Returns what claims tell about a player's dice, a `Posterior`."""
  table = rules.rolls(num_dice)
  matches = table.matches(rules.house.wild_ones)
  likely = sorted(range(table.num_rolls),
                  key=lambda hand: -belief.chances[hand])[:_MAX_HANDS]
  return {
      "is_expected": belief.is_expected,
      # [rank][count], the probability that this many dice count for a rank.
      "counts": [[rounded(sum(belief.chances[matches[:, rank] == count]))
                  for count in range(num_dice + 1)]
                 for rank in range(rules.num_sides)],
      "hands": [{"hand": rolls_lib.hand_name(table.hands[hand]),
                 "chance": rounded(belief.chances[hand])}
                for hand in likely if belief.chances[hand] > _MIN_CHANCE]}


def values_view(store, dice, claims, hand):
  """Returns what each action of a hand is worth, with own dice first."""
  result = store.values(tuple(dice), tuple(claims), bytes(hand))
  order = store.rules.claim_order(sum(dice))
  return {"names": result.names, "values": [*map(rounded, result.values)],
          "probabilities": [*map(rounded, result.probabilities)],
          "best": result.names[int(result.values.argmax())],
          "value": rounded(result.values @ result.probabilities),
          "odds": [*map(rounded, result.odds)],
          "odds_alone": _odds_alone(order, hand)}


def _odds_alone(order, hand):
  """Returns [claim], the odds of each claim given one hand alone."""
  return [rounded(odds.odds_in_order(order, claim, bytes(hand)))
          for claim in range(order.num_claims)]


def help_view(store, match):
  """Returns help for the person's move in a match of `play`."""
  if not match.is_persons_turn():
    raise ValueError("match: there is help only when it is your turn")
  state, seat = match.state, match.state.current_player()
  order, hand, claims = (state.claim_order(), state.hand(seat),
                         state.claim_list())
  view = {"claim_names": list(order.names), "last": state.last_claim()}
  if match.has_values:
    dice = state.dice[seat], state.dice[1 - seat]
    belief = store.belief(dice, tuple(claims))
    return {**view, **values_view(store, dice, claims, hand),
            "belief": belief_view(store.rules, dice[1], belief)}
  legal, probabilities = match.legal(), None
  if match.kind == "single_round" and store.single_round is not None:
    chances = store.single_round.action_probabilities(state)
    probabilities = [rounded(chances.get(action, 0.0))
                     for action in legal.values()]
  return {**view, "names": list(legal), "values": None,
          "probabilities": probabilities, "best": None, "odds": None,
          "belief": None, "odds_alone": _odds_alone(order, hand)}


def review_view(store, session):
  """Returns a person's moves and what they lost, the worst first.

  Moves of a round that is not over are left out. The total is of the whole
  session, including moves that are forgotten.
  """
  open_round, match, moves = None, session.match, []
  if match is not None and match.is_persons_turn() and match.has_values:
    open_round = match.number, len(match.state.past_rounds()) + 1
  for move in session.review.worst():
    if (move.match, move.round) == open_round:
      continue
    order = store.rules.claim_order(sum(move.dice))
    names = [order.names[claim] for claim in move.claims]
    starts = len(names) % 2 == 0  # whether the person started the round
    dice = move.dice if starts else move.dice[::-1]
    values = move.values
    index = values.names.index(move.name)
    moves.append({
        "match": move.match, "round": move.round, "dice": list(move.dice),
        "hand": rolls_lib.hand_name(move.hand), "claims": names,
        "move": move.name, "best": move.best_name, "loss": rounded(move.loss),
        "value": rounded(values.values[index]),
        "best_value": rounded(values.values.max()),
        "probability": rounded(values.probabilities[index]),
        "position": {"round": f"{dice[0]}v{dice[1]}",
                     "claims": ".".join(names)}})
  return {"moves": moves, "score": session.score,
          "forgotten": session.forgotten,
          "total": rounded(session.forgotten_loss +
                           sum(move["loss"] for move in moves))}
