"""The win rate of a responder against fixed policies in single-round Dudo.

Gendre & Kaneko (2019) could measure their policies only by games. Here one seat
responds to the policies of all others, in one of two ways:

  "exact": in games that can be walked, the responder has perfect recall and
    plays a best response (`exploitability`).
  "decisions": the responder knows what the abstraction `wait_type_recall`
    tells, with the longest recall length of all policies. Decisions are made on
    the graph of situations (`single_round_graph`), for deals of the others. A
    forward pass computes the others' reach of each node, summed over all paths.
    A backward pass for each roll of the responder chooses the action with the
    highest value over all deals. As the seat is known, each information set is
    one node.

The rate of "decisions" is a lower bound for a responder with perfect recall. If
the others have too many deals, decisions are made on one sample of deals and
measured on another. So the rate is not inflated by overfitting, and its
standard error is that of the second sample.
"""

from collections.abc import Sequence
import functools
import math
from typing import NamedTuple

import numpy as np
from open_spiel.python import policy as policy_lib
import pyspiel

from dudo_spiel import validation
from dudo_spiel.algorithms.dudo_single_round import response_kernels
from dudo_spiel.algorithms.dudo_single_round import single_round_graph
from dudo_spiel.algorithms.dudo_single_round import single_round_layout
from dudo_spiel.algorithms.dudo_single_round import single_round_policy
from dudo_spiel.algorithms.graphs import graph_kernels
from dudo_spiel.algorithms.graphs import set_kernels
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import progress
from dudo_spiel.algorithms.runtime import ram
from dudo_spiel.algorithms.runtime import random_streams
from dudo_spiel.algorithms.tabular import evaluator
from dudo_spiel.algorithms.tabular import table_policy

METHODS = ("auto", "exact", "decisions")
_STREAM = 2  # deals to decide on; those to measure on come after it
_MAX_WALKED = 300_000  # histories up to which "auto" walks the game


class ResponseRate(NamedTuple):
  """The win rate of a responder; even play is 1 / players.

  Attributes:
    rate: the mean return.
    error: its standard error; 0 if all deals were evaluated.
    is_exact: whether no responder, whatever it remembers, can do better.
    policy: an OpenSpiel policy that plays the responder's seat.
  """
  rate: float
  error: float
  is_exact: bool
  policy: policy_lib.Policy


def num_histories(game):
  """Returns an upper bound of the number of histories of the game."""
  players = game.num_players()
  return (game.roll_table.num_rolls**players * 2**players *
          single_round_layout.num_claim_lines(game))


def best_response_rate(
    policies: (single_round_policy.SingleRoundPolicy |
               Sequence[single_round_policy.SingleRoundPolicy | None]),
    seat: int, method: str = "auto", num_deals: int = 256, seed: int = 0,
    num_threads: int | None = None,
) -> ResponseRate:
  """Returns the win rate of a responder in one seat against fixed policies.

  Args:
    policies: a `policies.SingleRoundPolicy` for all other seats, or a list with
      one for each seat; that of the responder is not used and may be None.
      `policies.bot_policy` makes one of a bot.
    seat: the responder's seat; seat 0 claims first.
    method: "exact", "decisions", or "auto" for the first where the game has
      few histories.
    num_deals: number of deals of the others to decide on, and to measure on, if
      there are more than that.
    seed: of the samples.
    num_threads: number of threads to use, None for all; no result depends on
      it.

  Returns:
    A `ResponseRate`.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import exploitability
    >>> from dudo_spiel.algorithms import policies
    >>> game = pyspiel.load_game("dudo_single_round(players=3,numdice=1,"
    ...                          "dice_sides=2,claim_window=3,max_amount=2)")
    >>> policy = policies.bot_policy(game, "random")
    >>> response = exploitability.best_response_rate(policy, 0, num_threads=1)
    >>> response.is_exact, response.rate > 1 / 3
    (True, True)
  """
  validation.choice("method", method, METHODS)
  num_deals = validation.integer("num_deals", num_deals, 2, 2**20)
  seed = validation.integer("seed", seed, 0, 2**63 - 1)
  threads = jit.thread_count(num_threads)
  if isinstance(policies, single_round_policy.SingleRoundPolicy):
    policies = [policies] * policies.game.num_players()
  by_seat, seat = _check(policies, seat)
  rules = dict(by_seat[seat - 1].game.get_parameters())
  for name in ("abstraction", "recall_length"):
    rules.pop(name, None)
  game = _load_game(tuple(rules.items()))
  if method == "exact" or (method == "auto" and
                           num_histories(game) <= _MAX_WALKED):
    by_seat[seat] = policy_lib.UniformRandomPolicy(game)  # not asked
    response = evaluator.best_response(
        game, table_policy.SeatPolicy(game, by_seat), seat)
    return ResponseRate(response.value, 0.0, True, response.policy)
  return _DecisionFinder(game, by_seat, seat).run(num_deals, seed, threads)


@functools.lru_cache(maxsize=4)
def _load_game(rules):
  """Returns `dudo_single_round`, the same object for the same rules.

  So the game is walked once for many responses.
  """
  return pyspiel.load_game("dudo_single_round", dict(rules))


def _check(policies, seat):
  """Returns the policies as a list and the seat, or raises."""
  kind = single_round_policy.SingleRoundPolicy
  others = []
  if isinstance(policies, (list, tuple)) and policies:
    seat = validation.integer("seat", seat, 0, len(policies) - 1)
    others = [p for player, p in enumerate(policies) if player != seat]
  if not others or not all(isinstance(p, kind) for p in others):
    raise ValueError(f"policies={policies!r}: must be a SingleRoundPolicy, or "
                     "a list with one for each seat except the responder's")
  if others[0].game.num_players() != len(policies):
    raise ValueError(f"policies: there are {len(policies)}; must be "
                     f"{others[0].game.num_players()}, one for each seat")
  for policy in others[1:]:
    policy.check_game(others[0].game)
  return list(policies), seat


def sample_rolls(graph, count, seed, number):
  """Returns [deal, player] int64, the rolls of a sample of deals.

  They are independent of the deals from which solvers learn.

  Args:
    graph: the `single_round_graph.SingleRoundGraph`.
    count: number of deals.
    seed: of the samples.
    number: the number of the sample; samples are independent.
  """
  rolls = np.zeros((count, graph.num_players), np.int64)
  graph_kernels.sample_rolls(
      graph.dice.distribution, random_streams.seed_for(seed, _STREAM + number),
      np.arange(count), rolls)
  return rolls


class _DecisionFinder:
  """Finds the best decisions of one seat."""

  def __init__(self, game, policies, seat):
    self._seat = seat
    others = {id(p): p for player, p in enumerate(policies) if player != seat}
    lengths = [p.layout.game.recall_length for p in others.values()
               if p.layout.num_pasts > 1]
    self._graph = single_round_graph.make_graph(game, "wait_type_recall",
                                                max(lengths, default=0))
    self._layout = self._graph.layout
    self._tables = np.stack([self._probabilities(p) for p in others.values()])
    ids = list(others)
    self._which = np.array([ids.index(id(p)) if player != seat else -1
                            for player, p in enumerate(policies)])

  def _probabilities(self, policy):
    """Returns [entry, roll] float32, a policy's probabilities."""
    table = policy.weights()
    set_kernels.normalize(policy.layout.set_entries(), len(table),
                          table.reshape(-1))
    return np.ascontiguousarray(table.T[self._entries_in(policy.layout)])

  def _entries_in(self, coarse):
    """Returns [entry] int64, the corresponding entry of a coarser layout."""
    layout = self._layout
    entries = np.zeros(layout.num_entries, np.int64)
    for claim in range(-1, layout.first_forced):
      actions = np.arange(len(layout.window(claim)))
      pasts = np.flatnonzero(layout.claim_entry[claim + 1] >= 0)
      theirs = pasts % coarse.num_pasts
      mine = layout.claim_entry[claim + 1, pasts]
      entries[mine[:, np.newaxis] + actions] = (
          coarse.claim_entry[claim + 1, theirs][:, np.newaxis] + actions)
      if claim >= 0:
        mine = layout.challenge_entry[claim, pasts]
        both = np.arange(2)
        entries[mine[..., np.newaxis] + both] = (
            coarse.challenge_entry[claim, theirs][..., np.newaxis] + both)
    return entries

  def _others(self, rolls, weights):
    counts = self._graph.dice.counts[rolls]  # [player, deal, value - 1]
    counts[self._seat] = 0
    return response_kernels.Others(
        self._tables, self._which, rolls,
        np.ascontiguousarray(counts.sum(axis=0).T, np.int32), weights)

  def _all_deals(self):
    """Returns the `Others` with all deals, weighted by their probabilities."""
    players = self._layout.num_players
    shape = [self._layout.num_rolls] * players
    shape[self._seat] = 1
    rolls = np.indices(shape, np.int32).reshape(players, -1)
    chances = self._layout.game.roll_table.probabilities[rolls]
    chances[self._seat] = 1.0
    return self._others(rolls, chances.prod(axis=0))

  def _sample(self, count, seed, number):
    """Returns the `Others` with a sample of deals."""
    return self._others(
        np.ascontiguousarray(sample_rolls(self._graph, count, seed, number).T,
                             np.int32), np.full(count, 1.0 / count))

  def run(self, num_deals, seed, threads):
    """Returns the `ResponseRate`."""
    layout, graph = self._layout, self._graph
    is_all = layout.num_rolls**(layout.num_players - 1) <= num_deals
    sample = self._all_deals() if is_all else self._sample(num_deals, seed, 0)
    test = sample if is_all else self._sample(num_deals, seed, 1)
    shape = graph.num_nodes, len(sample.weights)
    ram.check("num_deals", num_deals,
              4 * shape[0] * shape[1] * (2 + threads),
              f"a response in {layout.game}", "fewer of them or fewer threads")
    scratch = response_kernels.ResponseScratch(
        sample_reach=np.zeros(shape, np.float32),
        test_reach=np.zeros((0 if is_all else shape[0], shape[1]), np.float32),
        choices=np.zeros((layout.num_rolls, graph.num_nodes), np.int16),
        values=np.zeros((layout.num_rolls, shape[1])),
        value=np.empty((threads, *shape), np.float32),
        is_true=np.empty((threads, shape[1]), np.float32),
        challenges=np.empty((threads, layout.num_players, shape[1]),
                            np.float32))
    response_kernels.forward(graph.arrays, sample, self._seat,
                             scratch.sample_reach)
    if not is_all:
      response_kernels.forward(graph.arrays, test, self._seat,
                               scratch.test_reach)
    choices, values = scratch.choices, scratch.values
    with progress.progress_bar(layout.num_rolls, desc="responding",
                               unit="rolls") as bar:
      for first in range(0, layout.num_rolls, threads):
        rolls = np.arange(first, min(first + threads, layout.num_rolls))
        jit.run(threads, response_kernels.respond_serial,
                response_kernels.respond, graph.arrays, graph.dice, sample,
                test, self._seat, rolls,
                scratch._replace(choices=choices[rolls[0]:rolls[-1] + 1],
                                 values=values[rolls[0]:rolls[-1] + 1]))
        bar.update(len(rolls))
    means = layout.game.roll_table.probabilities @ values  # [deal]
    error = 0.0 if is_all else means.std(ddof=1) / math.sqrt(len(means))
    return ResponseRate(float(means @ test.weights), float(error), False,
                        self._policy(choices))

  def _policy(self, choices):
    """Returns the responder's policy; where it never acts it is uniform."""
    graph = self._graph
    table = np.zeros((len(choices), graph.num_entries), np.uint8)
    turn = (self._seat - graph.arrays.actor) % graph.num_players
    is_own = np.where(graph.arrays.deciders > 0,
                      turn < graph.arrays.deciders, turn == 0)
    entry = graph.arrays.entry + graph.arrays.stride * turn
    for node in np.flatnonzero(is_own):
      table[np.arange(len(choices)), entry[node] + choices[:, node]] = 1
    return single_round_policy.SingleRoundPolicy(self._layout.game, table,
                                                 self._layout)
