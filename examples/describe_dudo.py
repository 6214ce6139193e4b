"""Writes a page that shows people what a trained Dudo policy does.

The page has the value of every round, what to open with and when to say Dudo.
Its two pictures are written next to it.
"""

import binary

import os

from absl import flags
import figures
import numpy as np

from dudo_spiel import rolls
from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.runtime import files

_POLICY = flags.DEFINE_string("policy", None, "The policy file, as written by "
                              "train_dudo.py.", required=True)
_OUTPUT = flags.DEFINE_string("output", "dudo.md", "The page to write.")
_ROLLS = flags.DEFINE_integer("rolls", 14, "How many rolls to list.",
                              lower_bound=1)
_TRAINING = flags.DEFINE_string("training", "", "A sentence for the page that "
                                "says how the policy was trained.")
_RARE = 2e-4  # openings less likely than this are not shown
_SHARE = 0.08  # claims of a roll less likely than this are not listed


class Round:
  """What the policy does in the round of the most dice, as arrays.

  Attributes:
    dice: how many dice each player has.
    order: the `claims.ClaimOrder`.
    table: the `rolls.RollTable` of a player's dice.
    matches: [hand, rank - 1], how many dice count for the rank.
    opening: [claim, hand], the probability of each first claim.
    often: [claim], how often each claim is the first.
    doubt: [claim, hand], the probability of Dudo after that first claim.
  """

  def __init__(self, policy, dice):
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
    """Returns [most dice for one rank, quantity], P(first claim's quantity)."""
    most = self.matches[:, 1:].max(axis=1)
    result = np.zeros((self.dice + 1, 2 * self.dice + 1))
    for claim, quantity in enumerate(self.order.quantities):
      np.add.at(result[:, quantity], most,
                self.opening[claim] * self.table.probabilities)
    totals = result.sum(axis=1, keepdims=True)
    return np.divide(result, totals, out=np.full_like(result, np.nan),
                     where=totals > 0)

  def support_of_openings(self):
    """Returns [own dice for the claimed rank], how often a first claim has."""
    result = np.zeros(self.dice + 1)
    for claim, rank in enumerate(self.order.ranks):
      np.add.at(result, self.matches[:, rank - 1],
                self.opening[claim] * self.table.probabilities)
    return result

  def doubts(self):
    """Returns [quantity, own dice for the rank], P(Dudo after first claim)."""
    says = np.zeros((2 * self.dice + 1, self.dice + 1))
    meets = np.zeros_like(says)
    for claim, (quantity, rank) in enumerate(self.order.claims):
      if rank != 1 and self.often[claim] >= _RARE:
        chances = self.often[claim] * self.table.probabilities
        np.add.at(meets[quantity], self.matches[:, rank - 1], chances)
        np.add.at(says[quantity], self.matches[:, rank - 1],
                  chances * self.doubt[claim])
    return np.divide(says, meets, out=np.full_like(says, np.nan),
                     where=meets > 0)


def draw(path, table, labels, title, is_shown):
  """Draws a table of probabilities as a picture."""
  rows, columns = (np.flatnonzero(is_shown.any(axis=axis)) for axis in (1, 0))
  shown = table[np.ix_(rows, columns)]
  figure, axes = figures.subplots(figsize=(7, 4))
  image = axes.imshow(100 * shown, cmap="Blues", vmin=0, vmax=100,
                      aspect="auto")
  for (i, j), share in np.ndenumerate(shown):
    if not np.isnan(share):
      axes.text(j, i, f"{100 * share:.0f}", ha="center", va="center",
                color="white" if share > 0.6 else "black")
  axes.set(xticks=range(len(columns)), xticklabels=columns,
           yticks=range(len(rows)), yticklabels=rows, title=title,
           xlabel=labels[1], ylabel=labels[0])
  figure.colorbar(image, label="%")
  figures.save(figure, path)


def value_lines(policy, dice):
  """Yields the table of values as win rates."""
  columns = range(1, dice + 1)
  yield "| starter's dice | " + " | ".join(
      f"against {b}" for b in columns) + " |"
  yield "|---" * (dice + 1) + "|"
  for a in columns:
    cells = (f"{50 + 50 * policy.values[a, b]:.2f}%" for b in columns)
    yield f"| {a} | " + " | ".join(cells) + " |"


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


def page(policy, this_round, names):
  """Yields the lines of the page."""
  dice = this_round.dice
  support = this_round.support_of_openings()
  quantity = this_round.order.quantities @ this_round.often
  yield f"# How to play Dudo with {dice} dice each"
  yield ""
  yield (f"This page shows how a trained policy plays. The policy remembers "
         f"the last {policy.match.recall_length} claims of a round. "
         f"{_TRAINING.value}".strip())
  yield "`examples/describe_dudo.py` wrote this page."
  yield ""
  yield "## What each round is worth"
  yield ""
  yield ("How often the player who starts the round wins the match when both "
         "play the policy:")
  yield ""
  yield from value_lines(policy, dice)
  yield ""
  yield "## The first claim"
  yield ""
  yield (f"The average opening claim is {quantity:.1f} dice. Behind "
         f"{100 * support[0]:.0f}% of all opening claims the player has no die "
         "that counts for the claimed rank (ones count for every rank), behind "
         f"{100 * support[1]:.0f}% one die, behind "
         f"{100 * support[2:].sum():.0f}% two or more. In the picture, a row "
         "is how many dice the player has for their best rank, and a "
         "column is how many dice the player claims.")
  yield ""
  yield f"![first claims]({names[0]})"
  yield ""
  yield ("One roll of each of the most common kinds, with the opening claims "
         f"that the policy makes at least {100 * _SHARE:.0f}% of the time:")
  yield ""
  yield from roll_lines(this_round, _ROLLS.value)
  yield ""
  yield "## When to say Dudo"
  yield ""
  yield ("How often the policy answers an opening claim with Dudo. A row is "
         "how many dice were claimed; a column is how many of the policy's "
         "dice count for the claimed rank. Claims of ones are left out.")
  yield ""
  yield f"![Dudo]({names[1]})"


def main(_):
  stem, _ = os.path.splitext(_OUTPUT.value)
  paths = [f"{stem}_openings.png", f"{stem}_doubts.png"]
  for path in (_OUTPUT.value, *paths):
    binary.check_file(_OUTPUT.name, path)
  figures.check_matplotlib(_OUTPUT)
  policy = policies.load_policy(_POLICY.value)
  if not isinstance(policy, policies.MatchPolicy):
    raise ValueError(f"--policy={_POLICY.value}: must be of a match of Dudo, "
                     "such as train_dudo.py writes")
  this_round = Round(policy, min(policy.game.start_dice))
  openings, doubts = this_round.openings_by_strength(), this_round.doubts()
  draw(paths[0], openings,
       ("own dice for the best rank", "dice claimed"),
       "Size of the opening claim, by best holding (% of each row)",
       openings > 0.005)
  draw(paths[1], doubts,
       ("dice claimed", "own dice for the claimed rank"),
       "How often an opening claim is answered with Dudo (%)",
       ~np.isnan(doubts))
  text = "\n".join(page(policy, this_round, [os.path.basename(path)
                                             for path in paths])) + "\n"
  with files.replacing(os.path.abspath(_OUTPUT.value)) as file:
    file.write(text.encode())
  print(f"wrote {_OUTPUT.value}")


if __name__ == "__main__":
  binary.run(main)
