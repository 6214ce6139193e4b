"""Writes a page that shows people how Dudo is played well.

It describes a policy with perfect recall, and says exactly how good it is: what
each round and each die is worth, what to open with, when to bluff and when to
say Dudo, and what rules of thumb cost against it. Its pictures are written next
to it.
"""

from dudo_spiel_examples.support import binary
from dudo_spiel_examples.support import figures
from dudo_spiel_examples.tools import thumb_rules

import functools
import os
import shlex
from typing import NamedTuple

from absl import flags
import numpy as np
import pyspiel

import dudo_spiel  # noqa: F401, registers the games
from dudo_spiel import rolls
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms import policy_bots
from dudo_spiel.algorithms import simulation

_POLICY = flags.DEFINE_string("policy", policy_bots.TRAINED, "The policy: "
                              "trained, or a policy file.")
_DICE = flags.DEFINE_integer("numdice", None, "Dice per player that the page "
                             "describes; the policy's most unless given.",
                             lower_bound=1, upper_bound=5)
_OUTPUT = flags.DEFINE_string("output", "dudo.md", "The page to write.")
_ROLLS = flags.DEFINE_integer("rolls", 14, "How many rolls to list.",
                              lower_bound=1)
_TRAINING = flags.DEFINE_string("training", "", "A sentence for the page that "
                                "says how the policy was trained.")
_FORGETFUL = flags.DEFINE_list(
    "forgetful", [], "Files of policies that remember fewer claims, as "
    "train_dudo.py writes them: the page says what forgetting costs.")
_FORGETFUL_TRAINING = flags.DEFINE_string(
    "forgetful_training", "", "A sentence that says how these were trained.")
_RARE = 1e-6  # claims less likely than this in a round are left out
_OFTEN = 0.005  # so many claims of a round must be of as many dice
_SHARE = 0.08  # claims of a roll less likely than this are not listed


class Claims(NamedTuple):
  """All claims of a round if both play the policy, except those of ones.

  Attributes:
    held: [quantity, dice], the expected number of claims by how many dice they
      claim, and how many such dice the claimant has.
    is_true: [quantity], of these, how many are true.
    met: [quantity, dice], the same number by the dice of the one who answers.
    doubted: [quantity, dice], how many of these are answered with Dudo.
  """
  held: np.ndarray
  is_true: np.ndarray
  met: np.ndarray
  doubted: np.ndarray


class Round:
  """What the policy does in a round with equally many dice, as arrays.

  Attributes:
    policy: the `policies.RecallPolicy`.
    dice: how many dice each player has.
    order: the `claims.ClaimOrder`.
    table: the `rolls.RollTable` of a player's dice.
    matches: [hand, rank - 1], how many dice count for the rank.
    opening: [claim, hand], the probability of each first claim.
    often: [claim], how often each claim is the first.
    doubt: [claim, hand], the probability of Dudo after that first claim.
  """

  def __init__(self, policy, dice):
    self.policy = policy
    self.dice = dice
    key = (dice, dice)
    self.order = policy.match.claim_order(2 * dice)
    self.table = policy.match.rolls(dice)
    self.matches = self.table.matches(policy.match.house.wild_ones)
    self.opening = policy.after_claims(key, [])
    self.often = self.opening @ self.table.probabilities
    self.doubt = np.array([policy.after_claims(key, [claim])[-1]
                           for claim in range(self.order.num_claims)])

  def openings_by_strength(self):
    """Returns [quantity, most dice for one rank], P(first claim's quantity)."""
    most = self.matches[:, 1:].max(axis=1)
    result = np.zeros((2 * self.dice + 1, self.dice + 1))
    for claim, quantity in enumerate(self.order.quantities):
      np.add.at(result[quantity], most,
                self.opening[claim] * self.table.probabilities)
    totals = result.sum(axis=0)
    return np.divide(result, totals, out=np.full_like(result, np.nan),
                     where=totals > 0)

  def histories(self):
    """Yields where the policy gets to if both play it.

    Yields:
      (claims so far; [hand], the reach of who acts, and of the other one, each
      with the chance of the hand; [action, hand], what the policy does).
    """
    chances = self.table.probabilities
    stack = [([], chances, chances)]
    while stack:
      claims, own, other = stack.pop()
      table = self.policy.after_claims((self.dice, self.dice), claims)
      yield claims, own, other, table
      first, count = (claims[-1] + 1, len(table) - 1) if claims else (
          0, len(table))
      often = other.sum() * (table[:count] @ own)
      stack.extend(([*claims, first + i], other, table[i] * own)
                   for i in np.flatnonzero(often > _RARE).tolist())

  def claims(self):
    """Returns the `Claims` of the round."""
    shape = 2 * self.dice + 1, self.dice + 1
    found = Claims(np.zeros(shape), np.zeros(shape[0]), np.zeros(shape),
                   np.zeros(shape))
    for claims, own, other, table in self.histories():
      if not claims or self.order.ranks[claims[-1]] == 1:
        continue
      quantity, rank = self.order.claims[claims[-1]]
      dice = self.matches[:, rank - 1]
      mine, theirs, doubts = (
          np.bincount(dice, reach, shape[1])
          for reach in (own, other, table[-1] * own))
      found.held[quantity] += own.sum() * theirs
      found.is_true[quantity] += np.convolve(mine, theirs)[quantity:].sum()
      found.met[quantity] += other.sum() * mine
      found.doubted[quantity] += other.sum() * doubts
    return found

  def summary(self):
    """Returns what openings are like on average, a list of numbers.

    They are: dice claimed; how often the player has none of them, and one; how
    often the claim is true; how often it is answered with Dudo.
    """
    chances = self.table.probabilities
    made = self.opening * chances  # [claim, hand]
    counts = self.matches[:, self.order.ranks - 1].T  # [claim, hand]
    is_true = np.zeros(self.order.num_claims)
    for claim, quantity in enumerate(self.order.quantities):
      both = counts[claim][:, None] + counts[claim]
      is_true[claim] = made[claim] @ (both >= quantity) @ chances
    return [float(self.order.quantities @ self.often),
            float(made[counts == 0].sum()), float(made[counts == 1].sum()),
            float(is_true.sum()),
            float(self.often @ (self.doubt @ chances))]


def draw(path, table, labels, title, is_shown):
  """Draws a table of probabilities as a picture, small quantities below."""
  rows, columns = (np.flatnonzero(is_shown.any(axis=axis)) for axis in (1, 0))
  shown = table[np.ix_(rows, columns)]
  figure, axes = figures.subplots(figsize=(6.4, 4))
  axes.imshow(100 * shown, cmap="Blues", vmin=0, vmax=100, aspect="auto",
              origin="lower")
  for (i, j), share in np.ndenumerate(shown):
    if not np.isnan(share):
      axes.text(j, i, f"{100 * share:.0f}%", ha="center", va="center",
                color="white" if share > 0.6 else "black")
  axes.set(xticks=range(len(columns)), xticklabels=columns,
           yticks=range(len(rows)), yticklabels=rows, title=title,
           xlabel=labels[1], ylabel=labels[0])
  figures.save(figure, path)


def new_game(dice):
  """Returns `dudo` with so many dice each."""
  return pyspiel.load_game("dudo", {"numdice": dice})


def win_rate(value):
  """Returns a value as a percentage of games won."""
  return 50 + 50 * value


def value_lines(policy, dice):
  """Yields the table of values as win rates, with what is certain of them."""
  columns = range(1, dice + 1)
  yield "| starter's dice | " + " | ".join(
      f"against {b}" for b in columns) + " |"
  yield "|---" * (dice + 1) + "|"
  for a in columns:
    cells = []
    for b in columns:
      known = policy.measures.get((a, b))
      cells.append("" if known is None else
                   f"{win_rate(known.value):.3f}%<br>"
                   f"({win_rate(known.low):.3f} to {win_rate(known.high):.3f})")
    yield f"| {a} | " + " | ".join(cells) + " |"


def die_lines(policy, dice):
  """Yields what the first lost die costs, by dice."""
  yield "| dice each | who starts wins | who has lost one die wins | cost |"
  yield "|---|---|---|---|"
  for n in range(2, dice + 1):
    even = win_rate(policy.measures[n, n].value)
    behind = 100 - win_rate(policy.measures[n, n - 1].value)
    yield (f"| {n} | {even:.1f}% | {behind:.1f}% | {50 - behind:.1f} |")


def opening_lines(rounds):
  """Yields what first claims are like, by dice."""
  yield ("| dice each | dice claimed | none of them held | one held | the "
         "claim is true | answered with Dudo |")
  yield "|---" * 6 + "|"
  for each in rounds:
    quantity, *shares = each.summary()
    yield f"| {each.dice} | {quantity:.2f} | " + " | ".join(
        f"{100 * share:.0f}%" for share in shares) + " |"


def claim_lines(claims):
  """Yields what claims are like, by how many dice they claim."""
  total = claims.met.sum()
  names = ["none", "one", "two", "three"][:claims.held.shape[1]]
  last = len(names) - 1
  if last + 1 < claims.held.shape[1]:
    names[last] += " or more"
  yield ("| dice claimed | of all claims | "
         + " | ".join(f"{name} held" for name in names)
         + " | the claim is true | answered with Dudo |")
  yield "|---" * (len(names) + 4) + "|"
  for quantity, held in enumerate(claims.held):
    often = held.sum()
    if often >= _OFTEN * total:
      shares = [often / total, *(held[:last] / often),
                held[last:].sum() / often,
                claims.is_true[quantity] / often,
                claims.doubted[quantity].sum() / often]
      yield f"| {quantity} | " + " | ".join(
          f"{100 * share:.0f}%" for share in shares) + " |"


def roll_lines(this_round, count):
  """Yields a table of rolls, each of another kind, and their first claims."""
  kinds = {}
  for hand, counts in enumerate(this_round.table.counts):
    kinds.setdefault((counts[0], tuple(sorted(counts[1:]))), []).append(hand)
  often = sorted(kinds.values(), reverse=True,
                 key=lambda hands: this_round.table.probabilities[hands].sum())
  yield "| roll | first claim |"
  yield "|---|---|"
  for hands in often[:count]:
    hand = hands[len(hands) // 2]
    shares = this_round.opening[:, hand]
    claims = [claim for claim in np.argsort(-shares)[:4]
              if shares[claim] >= _SHARE]
    yield f"| {rolls.hand_name(this_round.table.hands[hand])} | " + ", ".join(
        f"{this_round.order.names[claim].replace('x', '×')} "
        f"({100 * shares[claim]:.0f}%)" for claim in claims) + " |"


def loss_lines(policy, head, others, dice, digits):
  """Yields a table of what others lose against the policy, by dice.

  Args:
    policy: the `policies.RecallPolicy`.
    head: of the first column.
    others: {name: function of a game, which returns a `policies.MatchPolicy`}.
    dice: the most dice each.
    digits: of the losses, in per cent.
  """
  numbers = range(1, dice + 1)
  yield f"| {head} | " + " | ".join(f"{n} dice" for n in numbers).replace(
      "1 dice", "1 die") + " |"
  yield "|---" * (dice + 1) + "|"
  games = [new_game(n) for n in numbers]
  for name, other in others.items():
    losses = (100 * simulation.exact_match(
        policy, other(game), game).win_rate - 50 for game in games)
    yield f"| {name} | " + " | ".join(
        f"{loss:.{digits}f}%" for loss in losses) + " |"


def rule_lines(policy, dice):
  """Returns lines: what rules of thumb cost against the policy, by dice."""
  return loss_lines(policy, "rule", {
      f"{number}. {rule.text}": functools.partial(thumb_rules.policy_of, rule)
      for number, rule in enumerate(thumb_rules.RULES, 1)}, dice, 1)


def forgetting_lines(policy, forgetful, dice):
  """Returns lines: what policies lose that remember fewer claims.

  They may be for fewer dice than the page.

  Args:
    policy: the `policies.RecallPolicy`.
    forgetful: list of `policies.MatchPolicy`.
    dice: the most dice each that the page describes.
  """
  known = min(min(other.game.start_dice) for other in forgetful)
  return loss_lines(policy, "remembered", {
      other.match.abstraction.text: lambda _, other=other: other
      for other in forgetful}, min(known, dice), 2)


def command():
  """Returns the command that writes the page, as far as it decides on it."""
  given = (flags.FLAGS[flag.name] for flag in (_POLICY, _DICE, _ROLLS,
                                               _FORGETFUL))
  return " ".join(["examples/tools/describe_dudo.py",
                   *(shlex.quote(flag.serialize()) for flag in given
                     if not flag.using_default_value)])


def page(policy, forgetful, rounds, claims, names):
  """Yields the lines of the page.

  Args:
    policy: the `policies.RecallPolicy`.
    forgetful: list of `policies.MatchPolicy`.
    rounds: list of `Round`, the one with the most dice last.
    claims: the `Claims` of that one.
    names: of the pictures.
  """
  this_round = rounds[-1]
  dice = this_round.dice
  first = policy.measures[dice, dice]
  yield f"# How to play Dudo with {dice} dice each"
  yield ""
  yield (f"**How good is the player that this page describes?** Its "
         f"exploitability is {first.exploitability:.2g}: somebody who knows "
         "all that it does, and answers it perfectly, wins "
         f"{win_rate(first.exploitability):.2f}% of all games. This was "
         "measured by exact best responses. It remembers all claims of a "
         f"round. {_TRAINING.value}".strip())
  yield ""
  yield f"`{command()}` wrote this page."
  yield ""
  yield "## What each round is worth"
  yield ""
  yield ("How often the player who starts the round wins the match when both "
         "play the policy. In brackets: the bounds between which the win rate "
         "of perfect play surely lies. (The winner of a round keeps all dice "
         "and starts the next one, so the empty rounds do not come up.)")
  yield ""
  yield from value_lines(policy, dice)
  yield ""
  yield "## What a die is worth"
  yield ""
  yield ("The loser of the first die is the second to claim in the next round, "
         "with a die less. The cost is what that takes from 50%.")
  yield ""
  yield from die_lines(policy, dice)
  yield ""
  yield "## The first claim"
  yield ""
  yield ("What first claims are like on average, in rounds with equally many "
         "dice. Ones count for every rank. Who holds none of the claimed dice "
         "is bluffing.")
  yield ""
  yield from opening_lines(rounds)
  yield ""
  yield (f"With {dice} dice each, how many dice the policy claims first. A "
         "column is how many dice the player has for their best rank; it adds "
         "up to 100%.")
  yield ""
  yield f"![first claims]({names[0]})"
  yield ""
  yield ("One roll of each of the most common kinds, with the first claims "
         f"that the policy makes at least {100 * _SHARE:.0f}% of the time:")
  yield ""
  yield from roll_lines(this_round, _ROLLS.value)
  yield ""
  yield "## Bluffs"
  yield ""
  yield (f"All claims of a round with {dice} dice each when both play the "
         "policy, except claims of ones. The columns say how many of the "
         "claimed dice the player has.")
  yield ""
  yield from claim_lines(claims)
  yield ""
  yield "## When to say Dudo"
  yield ""
  yield (f"How often the policy answers a claim with Dudo, with {dice} dice "
         "each, over all claims of a round when both play it. A column is how "
         "many dice the one who answers has for the claimed rank. Claims of "
         "ones are left out.")
  yield ""
  yield f"![Dudo]({names[1]})"
  yield ""
  yield "## Rules of thumb, and what they cost"
  yield ""
  yield ("A player who follows a rule wins less than half of the games against "
         "the policy. The table says how much less, exactly, if seats are "
         "traded. The odds of a claim are those for somebody who knows their "
         "own dice and takes the other's for random.")
  yield ""
  yield from rule_lines(policy, dice)
  if forgetful:
    yield ""
    yield "## What forgetting costs"
    yield ""
    yield ("Neller and Hnath (2011) trained players who remember only the last "
           "few claims of a round, and let them play against an optimal one "
           "(their figure 5). These are players trained in the same way. The "
           "table says how much less than half of the games they win against "
           "the policy of this page, exactly, if seats are traded. A player "
           "who remembers more must also learn more: trained for as long, it "
           "may lose more. Somebody who knows such a player wins much more "
           f"([fsicfr.md](fsicfr.md)). {_FORGETFUL_TRAINING.value}".strip())
    yield ""
    yield from forgetting_lines(policy, forgetful, dice)


def forgetful_policy(path):
  """Returns the `policies.MatchPolicy` in a file."""
  policy = policies.load_policy(path)
  if not isinstance(policy, policies.MatchPolicy):
    raise ValueError(f"{path}: must be a policy that remembers some claims, "
                     "such as train_dudo.py writes")
  policy.check_game(new_game(min(policy.game.start_dice)))
  return policy


def main(_):
  stem, _ = os.path.splitext(_OUTPUT.value)
  paths = [f"{stem}_openings.png", f"{stem}_doubts.png"]
  for path in (_OUTPUT.value, *paths):
    binary.check_file(_OUTPUT.name, path)
  figures.check_matplotlib(_OUTPUT)
  game = None if _DICE.value is None else new_game(_DICE.value)
  with binary.errors_of("policy"):
    policy = policy_bots.load_policy(_POLICY.value, game)
    if not isinstance(policy, policies.RecallPolicy):
      raise ValueError(f"{_POLICY.value}: must be a policy with perfect "
                       "recall, such as make_policies.py writes")
    dice = _DICE.value or min(policy.game.start_dice)
    policy.check_game(new_game(dice))
  with binary.errors_of("forgetful"):
    forgetful = [forgetful_policy(name) for name in _FORGETFUL.value]
  if _POLICY.value != policy_bots.TRAINED:
    policy.measure()
  rounds = [Round(policy, n) for n in range(1, dice + 1)]
  openings, claims = rounds[-1].openings_by_strength(), rounds[-1].claims()
  is_shown = claims.met > _OFTEN * claims.met.sum() / claims.met.shape[1]
  doubts = np.divide(claims.doubted, claims.met, where=is_shown,
                     out=np.full_like(claims.met, np.nan))
  draw(paths[0], openings, ("dice claimed", "own dice for the best rank"),
       "How many dice are claimed first", openings > 0.005)
  draw(paths[1], doubts, ("dice claimed", "own dice for the claimed rank"),
       "How often a claim is answered with Dudo", is_shown)
  text = "\n".join(page(policy, forgetful, rounds, claims, [
      os.path.basename(path) for path in paths])) + "\n"
  with binary.replacing(_OUTPUT.value) as file:
    file.write(text.encode())
  print(f"wrote {_OUTPUT.value}")


if __name__ == "__main__":
  binary.run(main)
