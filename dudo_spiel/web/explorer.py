"""What the policy does with every hand at one position of a round.

A position is a round such as 3v2, in which the starter has three dice, and the
claims made in it. Both come from an address as text, so they are checked here.
"""

import re

import numpy as np

from dudo_spiel import rolls as rolls_lib
from dudo_spiel.algorithms import exploitability
from dudo_spiel.web import help_views
from dudo_spiel.web import play

_MAX_TEXT = 400  # characters of a list of claims
_ROUND = re.compile(r"([1-9][0-9]?)v([1-9][0-9]?)")
# A face above 9 is in brackets, as `rolls.hand_name` writes it.
_FACE = r"[1-9]|\([1-9][0-9]\)"
_HAND = re.compile(f"(?:{_FACE}){{1,20}}")
_PATTERNS = {1: "no pair", 2: "pair", 3: "three alike", 4: "four alike",
             5: "five alike"}


class Position:
  """A position in a round, from texts such as "3v2" and "1x2.2x3".

  Attributes:
    dice: (starter's dice, other's dice).
    claims: list of int.
    order: the `claims.ClaimOrder`.
    first: the weakest legal claim.
    own: how many dice the player has who acts.
    other: how many dice the other player has.
  """

  def __init__(self, store, round_text, claims_text):
    parsed = _ROUND.fullmatch(round_text)
    dice = (int(parsed[1]), int(parsed[2])) if parsed else None
    if dice not in store.rounds:
      known = ", ".join(f"{a}v{b}" for a, b in store.rounds)
      raise ValueError(f"round={round_text[:20]!r}: must be one of {known}")
    if len(claims_text) > _MAX_TEXT:
      raise ValueError(f"claims={claims_text[:20]!r}...: must have at most "
                       f"{_MAX_TEXT} characters")
    self._store = store
    self.dice = dice
    self.order = store.rules.claim_order(sum(dice))
    try:
      self.claims = [self.order.parse(name) for name in
                     claims_text.split(".") if name]
      self.order.check_history(self.claims)
    except ValueError as error:
      raise ValueError(f"claims={claims_text[:60]!r}: {error}") from None
    self.first = self.claims[-1] + 1 if self.claims else 0
    turn = len(self.claims) % 2
    self.own, self.other = dice[turn], dice[1 - turn]

  def hand_view(self, text):
    """Returns what each action of a hand is worth, from text such as "125"."""
    rules = self._store.rules
    table = rules.rolls(self.own)
    try:
      if not _HAND.fullmatch(text):
        raise ValueError
      faces = [int(face.strip("()")) for face in re.findall(_FACE, text)]
      hand = table.hands[table.index(faces)]
    except ValueError:
      raise ValueError(f"hand={text[:20]!r}: must be {self.own} faces between "
                       f"1 and {rules.num_sides}") from None
    return help_views.values_view(self._store, (self.own, self.other),
                                  self.claims, hand)

  def view(self):
    """Returns all that the explorer shows of the position."""
    rules, order = self._store.rules, self.order
    table = rules.rolls(self.own)
    own = self._own_belief()
    other = self._store.belief((self.own, self.other), tuple(self.claims))
    # [action, hand] float64
    policy = self._store.dudo.after_claims((self.own, self.other), self.claims)
    matches = table.matches(rules.house.wild_ones)
    return {
        "round": f"{self.dice[0]}v{self.dice[1]}",
        "dice": list(self.dice), "actor": len(self.claims) % 2,
        "own": self.own, "other": self.other,
        "sides": rules.num_sides, "wild_ones": rules.house.wild_ones,
        "claims": [play.claim_view(order, claim) for claim in self.claims],
        "ladder": [{**play.claim_view(order, claim),
                    "legal": claim >= self.first}
                   for claim in range(order.num_claims)],
        "value": _win_rate(self._store, self.dice),
        "likelihood": own.likelihood * other.likelihood,
        "is_expected": own.is_expected and other.is_expected,
        "actions": [*order.names[self.first:], *["Dudo"] * bool(self.claims)],
        "facts": self._facts(policy * own.chances, other.chances),
        "hands": [{"hand": rolls_lib.hand_name(table.hands[hand]),
                   "chance": help_views.rounded(own.chances[hand]),
                   "pattern": _pattern(table.counts[hand]),
                   "matches": matches[hand].tolist(),
                   "row": np.round(policy[:, hand], 4).tolist()}
                  for hand in range(table.num_rolls)],
        "range": help_views.belief_view(rules, self.other, other)}

  def _own_belief(self):
    """Returns the `Posterior` of the dice of the player who acts."""
    if not self.claims:
      return exploitability.Posterior(
          self._store.rules.rolls(self.own).probabilities, 1.0, True)
    # The other player made the last claim. What it knew then was the same.
    return self._store.belief((self.other, self.own), tuple(self.claims[:-1]))

  def _facts(self, reach, other_chances):
    """Returns for each action how often it is chosen, a bluff, and true.

    Args:
      reach: [action, hand] float64, the joint probability of hand and action.
      other_chances: [hand] float64, of the other player.
    """
    rules = self._store.rules
    own, other = (rules.rolls(dice).matches(rules.house.wild_ones)
                  for dice in (self.own, self.other))
    facts = []
    for claim, by_hand in enumerate(reach, self.first):
      total = float(by_hand.sum())
      fact = {"probability": help_views.rounded(total), "bluff": None,
              "true": None}
      facts.append(fact)
      if total == 0.0:
        continue
      is_dudo = claim == self.order.num_claims
      quantity, rank = self.order.claims[self.claims[-1] if is_dudo else claim]
      own_counts = own[:, rank - 1]
      holds = own_counts[:, None] + other[:, rank - 1] >= quantity
      if not is_dudo:
        fact["bluff"] = help_views.rounded(
            by_hand[own_counts == 0].sum() / total)
      # Dudo is right if the claim does not hold.
      fact["true"] = help_views.rounded(
          by_hand @ (holds != is_dudo) @ other_chances / total)
    return facts


def _pattern(counts):
  """Returns the pattern of a hand's faces, by [face - 1] int."""
  pairs = sorted((int(n) for n in counts if n > 1), reverse=True)
  if pairs[:2] == [2, 2]:
    return "two pairs"
  if pairs[:2] == [3, 2]:
    return "full house"
  return _PATTERNS.get(max(counts), f"{max(counts)} alike")


def _win_rate(store, dice):
  """Returns how often the starter of a round wins, None if unknown."""
  value = store.dudo.values.get(dice)
  return None if value is None else help_views.rounded((1.0 + value) / 2.0)


def rounds_view(store):
  """Returns the values of all rounds, and exploitability where measured."""
  return {"name": store.dudo_name,
          "rounds": [{"round": f"{dice[0]}v{dice[1]}", "dice": list(dice),
                      "value": _win_rate(store, dice),
                      "is_measurable": store.is_measurable(dice),
                      "exploitability": store.exploitability_bounds(dice)}
                     for dice in store.rounds],
          "is_exact": store.dudo.has_perfect_recall,
          "remembers": store.dudo.remembered_text,
          "is_certain": store.is_verified}
