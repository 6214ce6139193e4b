"""What the policy does with every hand at one point of a round.

A position is a round such as 3v2, in which the starter has three dice, and the
claims made in it. Both are texts that come from an address, so they are checked
here.
"""

import re

import numpy as np

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.algorithms import exploitability
from dudo_spiel.web import advice
from dudo_spiel.web import play

MAX_MEASURED_DICE = 8  # in play
_MAX_TEXT = 400  # characters of a list of claims
_ROUND = re.compile(r"([1-9][0-9]?)v([1-9][0-9]?)")
# A face above 9 stands in brackets, as `rolls.hand_name` writes it.
_FACE = r"[1-9]|\([1-9][0-9]\)"
_HAND = re.compile(f"(?:{_FACE}){{1,20}}")
_GROUPS = {1: "no pair", 2: "pair", 3: "three alike", 4: "four alike",
           5: "five alike"}


class Position:
  """A point of a round.

  Args:
    library: the `library.Library`.
    round_text: such as "3v2", the starter's and the other's dice.
    claims_text: such as "1x2.2x3", the claims, first to last.

  Attributes:
    dice: (starter's dice, other's dice).
    claims: list of int.
    order: the `claims.ClaimOrder`.
    own: how many dice the player has who acts.
    other: how many dice the other player has.
  """

  def __init__(self, library, round_text, claims_text):
    found = _ROUND.fullmatch(round_text)
    dice = (int(found[1]), int(found[2])) if found else None
    if dice not in library.rounds:
      known = ", ".join(f"{a}v{b}" for a, b in library.rounds)
      raise ValueError(f"round={round_text[:20]!r}: must be one of {known}")
    if len(claims_text) > _MAX_TEXT:
      raise ValueError(f"claims={claims_text[:20]!r}...: must have at most "
                       f"{_MAX_TEXT} characters")
    self.dice = dice
    self.order = library.rules.claim_order(sum(dice))
    try:
      self.claims = [self.order.parse(name) for name in
                     claims_text.split(".") if name]
    except ValueError as error:
      raise ValueError(f"claims={claims_text[:60]!r}: {error}") from None
    if any(after <= before for before, after in
           zip(self.claims, self.claims[1:])):
      raise ValueError(f"claims={claims_text[:60]!r}: each must be stronger "
                       "than the one before")
    turn = len(self.claims) % 2
    self.own, self.other = dice[turn], dice[1 - turn]

  def hand(self, library, text):
    """Returns the hand of the player who acts, from text such as "125"."""
    table = library.rules.rolls(self.own)
    sides = library.rules.num_sides
    try:
      if not _HAND.fullmatch(text):
        raise ValueError
      faces = [int(face.strip("()")) for face in re.findall(_FACE, text)]
      return table.hands[table.index(faces)]
    except ValueError:
      raise ValueError(f"hand={text[:20]!r}: must be {self.own} faces between "
                       f"1 and {sides}") from None


def _own_belief(library, position):
  """Returns the `Posterior` of the dice of the player who acts."""
  if not position.claims:
    return exploitability.Posterior(
        library.rules.rolls(position.own).probabilities, 1.0, True)
  # The other player made the last claim. What it knew then was the same.
  return library.belief((position.other, position.own),
                        tuple(position.claims[:-1]))


def _pattern(counts):
  """Returns what a hand looks like, by its faces alone."""
  pairs = sorted((int(n) for n in counts if n > 1), reverse=True)
  if pairs[:2] == [2, 2]:
    return "two pairs"
  if pairs[:2] == [3, 2]:
    return "full house"
  return _GROUPS.get(max(counts), f"{max(counts)} alike")


def _claim_facts(library, position, shares, other_chances):
  """Returns for each action how often it is taken, a bluff, and true.

  Args:
    library: the `library.Library`.
    position: the `Position`.
    shares: [action, hand], how likely a hand is there and takes the action.
    other_chances: [hand] of the other player.
  """
  rules, order = library.rules, position.order
  own, other = (rules.rolls(dice).matches(rules.house.wild_ones)
                for dice in (position.own, position.other))
  first = position.claims[-1] + 1 if position.claims else 0
  facts = []
  for number, share in enumerate(shares):
    total = float(share.sum())
    fact = {"probability": round(total, 6), "bluff": None, "true": None}
    claim = first + number
    if claim < order.num_claims:
      quantity, rank = order.claims[claim]
      counts = own[:, rank - 1][:, None] + other[:, rank - 1][None, :]
      if total > 0.0:
        fact["bluff"] = round(float(share[own[:, rank - 1] == 0].sum()) / total,
                              6)
        fact["true"] = round(float(share @ (counts >= quantity) @
                                   other_chances) / total, 6)
    elif total > 0.0:
      quantity, rank = order.claims[position.claims[-1]]
      counts = own[:, rank - 1][:, None] + other[:, rank - 1][None, :]
      fact["true"] = round(float(share @ (counts < quantity) @
                                 other_chances) / total, 6)
    facts.append(fact)
  return facts


def position_view(library, position):
  """Returns all that the explorer shows of a position.

  Args:
    library: the `library.Library`.
    position: the `Position`.
  """
  rules, order, claims = library.rules, position.order, position.claims
  key = position.own, position.other
  table = rules.rolls(position.own)
  own = _own_belief(library, position)
  other = library.belief(key, tuple(claims))
  grid = library.match.after_claims(key, claims)
  matches = table.matches(rules.house.wild_ones)
  first = claims[-1] + 1 if claims else 0
  names = [*order.names[first:], *["Dudo"] * bool(claims)]
  value = library.match.values.get(position.dice)
  return {
      "round": f"{position.dice[0]}v{position.dice[1]}",
      "dice": list(position.dice), "actor": len(claims) % 2,
      "own": position.own, "other": position.other,
      "sides": rules.num_sides, "wild_ones": rules.house.wild_ones,
      "claims": [play.claim_view(order, claim) for claim in claims],
      "ladder": [{**play.claim_view(order, claim), "legal": claim >= first}
                 for claim in range(order.num_claims)],
      "value": None if value is None else round((1.0 + value) / 2.0, 6),
      "likelihood": own.likelihood * other.likelihood,
      "is_expected": own.is_expected and other.is_expected,
      "actions": names,
      "facts": _claim_facts(library, position, grid * own.chances,
                            other.chances),
      "hands": [{"hand": rolls_lib.hand_name(table.hands[hand]),
                 "chance": round(float(own.chances[hand]), 6),
                 "pattern": _pattern(table.counts[hand]),
                 "matches": matches[hand].tolist(),
                 "row": np.round(grid[:, hand], 4).tolist()}
                for hand in range(table.num_rolls)],
      "range": advice.belief_view(rules, position.other, other)}


def hand_view(library, position, hand):
  """Returns what each action of a hand is worth at a position."""
  return advice.values_view(library, (position.own, position.other),
                            position.claims, hand)


def rounds_view(library, measured):
  """Returns the values of all rounds, and exploitability where measured.

  Args:
    library: the `library.Library`.
    measured: {(starter's dice, other's dice): [lower bound, upper bound]}.
  """
  rounds, values = [], library.match.values
  for dice in library.rounds:
    value = values.get(dice)
    exact = library.exploitability(dice)
    rounds.append({
        "round": f"{dice[0]}v{dice[1]}", "dice": list(dice),
        "value": None if value is None else round((1.0 + value) / 2.0, 6),
        "is_measurable": exact is None and sum(dice) <= MAX_MEASURED_DICE,
        "exploitability": (measured.get(dice) if exact is None else
                           [exact, exact])})
  return {"name": library.match_name, "rounds": rounds,
          "is_exact": library.remembers_all, "remembers": library.remembers,
          "is_certain": library.is_certain}
