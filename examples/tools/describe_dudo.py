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
import re
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
_OFTEN = 0.005  # rows with a smaller fraction of a round's claims are left out
_LIKELY = 0.08  # claims of a roll less likely than this are not listed

_PAGE = """\
# How to play Dudo with {dice} dice each

**How good is the player that this page describes?** Its exploitability is
{gap}: somebody who knows all that it does, and answers it perfectly, wins
{rate}% of all games. This was measured by exact best responses. It remembers
all claims of a round.
{training}

`{command}` wrote this page.

## What each round is worth

How often the player who starts the round wins the match when both play the
policy. In brackets: the bounds between which the win rate of perfect play
surely lies. (The winner of a round keeps all dice and starts the next one, so
the empty rounds do not come up.)

{values}

## What a die is worth

The loser of the first die is the second to claim in the next round, with a die
less. The cost is what that takes from 50%.

{dies}

## The first claim

What first claims are like on average, in rounds with equally many dice. Ones
count for every rank. Who holds none of the claimed dice is bluffing.

{openings}

With {dice} dice each, how many dice the policy claims first. A column is how
many dice the player has for their best rank; it adds up to 100%.

![first claims]({openings_picture})

One roll of each of the most common kinds, with the first claims that the policy
makes at least {percent} of the time:

{rolls}

## Bluffs

All claims of a round with {dice} dice each when both play the policy, except
claims of ones. The columns say how many of the claimed dice the player has.

{claims}

## When to say Dudo

How often the policy answers a claim with Dudo, with {dice} dice each, over all
claims of a round when both play it. A column is how many dice the one who
answers has for the claimed rank. Claims of ones are left out.

![Dudo]({doubts_picture})

## Rules of thumb, and what they cost

A player who follows a rule wins less than half of the games against the policy.
The table says how much less, exactly, if seats are traded. The odds of a claim
are those for somebody who knows their own dice and takes the other's for
random.

{rules}
"""
_FORGETTING = """
## What forgetting costs

Neller and Hnath (2011) trained players who remember only the last few claims of
a round, and let them play against an optimal one (their figure 5). These are
players trained in the same way. The table says how much less than half of the
games they win against the policy of this page, exactly, if seats are traded. A
player who remembers more must also learn more: trained for as long, it may lose
more. Somebody who knows such a player wins much more ([fsicfr.md](fsicfr.md)).
{training}

{losses}
"""


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
    self.order = policy.rules.claim_order(2 * dice)
    self.table = policy.rules.rolls(dice)
    self.matches = self.table.matches(policy.rules.house.wild_ones)
    self.opening = policy.after_claims(key, [])
    self.often = self.opening @ self.table.probabilities
    self.doubt = np.array([policy.after_claims(key, [claim])[-1]
                           for claim in range(self.order.num_claims)])

  def openings_by_strength(self):
    """Returns [quantity, most dice for one rank], P(first claim's quantity)."""
    best_rank = self.matches[:, 1:].max(axis=1)
    result = np.zeros((2 * self.dice + 1, self.dice + 1))
    for claim, quantity in enumerate(self.order.quantities):
      np.add.at(result[quantity], best_rank,
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
  """Returns `dudo` with this many dice each."""
  return pyspiel.load_game("dudo", {"numdice": dice})


def win_rate(value):
  """Returns a value as a percentage of games won."""
  return 50 + 50 * value


def table(head, rows):
  """Returns a Markdown table.

  Args:
    head: list of str, the heads of the columns.
    rows: iterable of lists of str.
  """
  lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
  return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def percent(shares):
  """Returns a list of str: shares in whole percent."""
  return [f"{100 * share:.0f}%" for share in shares]


def value_table(policy, dice):
  """Returns the table of values as win rates, with certain bounds of them."""
  def cell(known):
    return "" if known is None else (
        f"{win_rate(known.value):.3f}%<br>({win_rate(known.low):.3f} to "
        f"{win_rate(known.high):.3f})")

  columns = range(1, dice + 1)
  return table(["starter's dice", *(f"against {b}" for b in columns)],
               ([str(a), *(cell(policy.measures.get((a, b))) for b in columns)]
                for a in columns))


def die_table(policy, dice):
  """Returns the table of what the first lost die costs, by dice."""
  rows = []
  for n in range(2, dice + 1):
    even = win_rate(policy.measures[n, n].value)
    behind = 100 - win_rate(policy.measures[n, n - 1].value)
    rows.append([str(n), f"{even:.1f}%", f"{behind:.1f}%",
                 f"{50 - behind:.1f}"])
  return table(["dice each", "who starts wins", "who has lost one die wins",
                "cost"], rows)


def opening_table(rounds):
  """Returns the table of what first claims are like, by dice."""
  rows = []
  for this_round in rounds:
    quantity, *shares = this_round.summary()
    rows.append([str(this_round.dice), f"{quantity:.2f}", *percent(shares)])
  return table(["dice each", "dice claimed", "none of them held", "one held",
                "the claim is true", "answered with Dudo"], rows)


def claim_table(claims):
  """Returns the table of what claims are like, by how many dice they claim."""
  total = claims.met.sum()
  names = ["none", "one", "two", "three"][:claims.held.shape[1]]
  last = len(names) - 1
  if last + 1 < claims.held.shape[1]:
    names[last] += " or more"
  rows = []
  for quantity, held in enumerate(claims.held):
    often = held.sum()
    if often >= _OFTEN * total:
      rows.append([str(quantity), *percent([
          often / total, *(held[:last] / often), held[last:].sum() / often,
          claims.is_true[quantity] / often,
          claims.doubted[quantity].sum() / often])])
  return table(["dice claimed", "of all claims",
                *(f"{name} held" for name in names), "the claim is true",
                "answered with Dudo"], rows)


def roll_table(this_round, count):
  """Returns the table of rolls, each of another kind, and of first claims."""
  kinds = {}
  for hand, counts in enumerate(this_round.table.counts):
    kinds.setdefault((counts[0], tuple(sorted(counts[1:]))), []).append(hand)
  often = sorted(kinds.values(), reverse=True,
                 key=lambda hands: this_round.table.probabilities[hands].sum())
  rows = []
  for hands in often[:count]:
    hand = hands[len(hands) // 2]
    chances = this_round.opening[:, hand]
    rows.append([rolls.hand_name(this_round.table.hands[hand]), ", ".join(
        f"{this_round.order.names[claim].replace('x', '×')} "
        f"({100 * chances[claim]:.0f}%)"
        for claim in np.argsort(-chances)[:4] if chances[claim] >= _LIKELY)])
  return table(["roll", "first claim"], rows)


def loss_table(policy, head, others, dice, digits):
  """Returns the table of what others lose against the policy, by dice.

  Args:
    policy: the `policies.RecallPolicy`.
    head: of the first column.
    others: {name: function of a game, which returns a `policies.MatchPolicy`}.
    dice: the largest number of dice each.
    digits: of the losses, in percent.
  """
  games = [new_game(n) for n in range(1, dice + 1)]
  rows = []
  for name, other in others.items():
    losses = (100 * simulation.exact_match(
        policy, other(game), game).win_rate - 50 for game in games)
    rows.append([name, *(f"{loss:.{digits}f}%" for loss in losses)])
  return table([head, "1 die", *(f"{n} dice" for n in range(2, dice + 1))],
               rows)


def command():
  """Returns the command that writes the page, as far as it decides on it."""
  given = (flags.FLAGS[flag.name] for flag in (_POLICY, _DICE, _ROLLS,
                                               _FORGETFUL))
  return " ".join(["examples/tools/describe_dudo.py",
                   *(shlex.quote(flag.serialize()) for flag in given
                     if not flag.using_default_value)])


def page(policy, forgetful, rounds, claims, names):
  """Returns the text of the page.

  Args:
    policy: the `policies.RecallPolicy`.
    forgetful: list of `policies.MatchPolicy`, which may be for fewer dice.
    rounds: list of `Round`, the one with the most dice last.
    claims: the `Claims` of that one.
    names: of the pictures.
  """
  dice = rounds[-1].dice
  gap = policy.measures[dice, dice].exploitability
  rules = {f"{number}. {rule.text}": functools.partial(thumb_rules.policy_of,
                                                       rule)
           for number, rule in enumerate(thumb_rules.RULES, 1)}
  text = _PAGE.format(
      dice=dice, gap=f"{gap:.2g}", rate=f"{win_rate(gap):.2f}",
      training=_TRAINING.value, command=command(),
      values=value_table(policy, dice), dies=die_table(policy, dice),
      openings=opening_table(rounds), openings_picture=names[0],
      percent=f"{100 * _LIKELY:.0f}%",
      rolls=roll_table(rounds[-1], _ROLLS.value), claims=claim_table(claims),
      doubts_picture=names[1], rules=loss_table(policy, "rule", rules, dice, 1))
  if forgetful:
    known = min(dice, *(min(other.game.start_dice) for other in forgetful))
    others = {other.rules.abstraction.text: lambda _, other=other: other
              for other in forgetful}
    text += _FORGETTING.format(
        training=_FORGETFUL_TRAINING.value,
        losses=loss_table(policy, "remembered", others, known, 2))
  # A paragraph is one line.
  return re.sub(r"(?<![|\n])\n(?!\n|\Z)", " ", text).replace(" \n", "\n")


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
  text = page(policy, forgetful, rounds, claims,
              [os.path.basename(path) for path in paths])
  with binary.replacing(_OUTPUT.value) as file:
    file.write(text.encode())
  print(f"wrote {_OUTPUT.value}")


if __name__ == "__main__":
  binary.run(main)
