"""Kernels of a responder's best decisions in single-round Dudo.

`response_rate` describes the algorithm. Whatever depends on a deal of the other
players is a vector over deals. Policies are tables [policy, entry, roll] of
probabilities, so that a vector reads one row of an entry.

Kernels take some of these:

  graph: the `graph_arrays.GraphArrays`.
  dice: the `graph_arrays.DiceOutcomes`.
  others: the `Others`; of two of them, `sample` has the deals on which to
    decide, and `test` those on which to measure.
  responder: the `ResponderRoll`.
  decisions: the `Decisions`; `value` is written, and `choice` if the responder
    is learning.
  scratch: the `ResponseScratch`, modified in place.
"""

from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.graphs import graph_arrays
from dudo_spiel.algorithms.runtime import jit


class Others(NamedTuple):
  """The policies and rolls of all players except the responder.

  Attributes:
    tables: [policy, entry, roll] float32, probabilities.
    which: [player] int64, the number of the player's policy.
    rolls: [player, deal] int32; the responder's are not used.
    counts: [value - 1, deal] int32, number of all their dice that show the
      value.
    weights: [deal] float64, the weight of a deal in means.
  """
  tables: np.ndarray
  which: np.ndarray
  rolls: np.ndarray
  counts: np.ndarray
  weights: np.ndarray


class ResponderRoll(NamedTuple):
  """The responder and its roll.

  Attributes:
    seat: the seat.
    roll: the roll.
    is_learning: whether to choose actions, or to play those chosen before.
  """
  seat: int
  roll: int
  is_learning: bool


class Decisions(NamedTuple):
  """The responder's decisions with one roll, their values, and scratch.

  Attributes:
    reach: [node, deal] float32, from `forward`; nodes that no deal reaches are
      skipped.
    choice: [node] int16, the responder's actions: the first of those with the
      highest value over all deals.
    value: [node, deal] float32, the responder's expected return at each node.
    is_true: [deal] float32: 1 where a claim is true, else 0.
    challenges: [count, deal] float32: the probability that this many of the
      others challenge.
  """
  reach: np.ndarray
  choice: np.ndarray
  value: np.ndarray
  is_true: np.ndarray
  challenges: np.ndarray


class ResponseScratch(NamedTuple):
  """Scratch and results of threads, one roll per thread.

  Attributes:
    sample_reach: [node, deal] float32, from `forward`, of the deals on which to
      decide.
    test_reach: [node, deal] float32, of the deals on which to measure; no nodes
      if these are the same deals.
    choices: [thread, node] int16, written.
    values: [thread, deal] float64, written: the responder's expected return in
      each deal.
    value: [thread, node, deal] float32.
    is_true: [thread, deal] float32.
    challenges: [thread, count, deal] float32.
  """
  sample_reach: np.ndarray
  test_reach: np.ndarray
  choices: np.ndarray
  values: np.ndarray
  value: np.ndarray
  is_true: np.ndarray
  challenges: np.ndarray


# Numba's own `any` and copies of slices take seconds to compile.


@jit.inline
def _is_any(row):
  """Returns whether a row has a nonzero element."""
  d = 0
  while d < len(row) and row[d] == 0.0:
    d += 1
  return d < len(row)


@jit.inline
def _fill(row, number):
  """Writes a number to all elements of a row."""
  for d in range(len(row)):
    row[d] = number


@jit.inline
def _copy(row, other):
  """Copies the row `other` to `row`."""
  for d in range(len(row)):
    row[d] = other[d]


@jit.kernel
def forward(graph, others, seat, reach):
  """Writes the others' reach of each node, summed over all paths.

  `reach` is [node, deal] float32, zeros before. The actions of the responder's
  seat count with probability 1.
  """
  players = len(others.which)
  _fill(reach[0], 1.0)
  for node in range(len(graph.actor)):
    mine = reach[node]
    if not _is_any(mine):
      continue
    begin, entry = graph.child_begin[node], graph.entry[node]
    if graph.deciders[node]:
      passed = reach[graph.child[begin]]
      _copy(passed, mine)
      for j in range(graph.deciders[node]):
        player = (graph.actor[node] + j) % players
        if player != seat:
          row = others.tables[others.which[player], entry + graph.stride * j]
          rolls = others.rolls[player]
          for d in range(len(mine)):
            passed[d] *= row[rolls[d]]
      continue
    player = graph.actor[node]
    for a in range(graph.child_begin[node + 1] - begin):
      child = graph.child[begin + a]
      if child >= len(graph.actor):
        continue
      to = reach[child]
      if player == seat:
        for d in range(len(mine)):
          to[d] += mine[d]
      else:
        row = others.tables[others.which[player], entry + a]
        rolls = others.rolls[player]
        for d in range(len(mine)):
          to[d] += mine[d] * row[rolls[d]]


@jit.kernel
def _claim_of(graph, players, terminal):
  """Returns the claim that is resolved at a terminal."""
  num_masks = 1 << (players - 1)
  return (terminal - len(graph.actor)) // num_masks // players


@jit.kernel
def _write_truth(dice, others, claim, roll, is_true):
  """Writes [deal] float32, 1 where a claim is true, else 0."""
  value = claim % dice.counts.shape[1]
  missing = dice.amounts[claim] - dice.counts[roll, value]
  counts = others.counts[value]
  for d in range(len(is_true)):
    is_true[d] = 1.0 if counts[d] >= missing else 0.0


@jit.kernel
def _decide(graph, dice, others, responder, decisions, node):
  """Writes the value of a node of decisions."""
  value, challenges = decisions.value, decisions.challenges
  players = len(others.which)
  one = np.float32(1.0)
  begin, first = graph.child_begin[node], graph.actor[node]
  is_true, passed = decisions.is_true, value[graph.child[begin]]
  _write_truth(dice, others, _claim_of(graph, players, graph.child[begin + 1]),
               responder.roll, is_true)
  nobody = challenges[0]
  _fill(nobody, 1.0)
  num_others = 0  # of those who have decided before
  for j in range(graph.deciders[node]):
    player = (first + j) % players
    if player == responder.seat:
      continue
    row = others.tables[others.which[player],
                        graph.entry[node] + graph.stride * j]
    rolls = others.rolls[player]
    num_others += 1
    _fill(challenges[num_others], 0.0)
    for m in range(num_others, -1, -1):
      here, fewer = challenges[m], challenges[max(m - 1, 0)]
      for d in range(len(here)):
        p = row[rolls[d]]
        more = fewer[d] * (one - p) if m else np.float32(0.0)
        here[d] = here[d] * p + more
  to = value[node]
  for d in range(len(to)):
    to[d] = nobody[d] * passed[d]
  is_claimer = (first + players - 1) % players == responder.seat
  # The return if the claim is false, and below if it is true.
  if_false = np.float32(0.0 if is_claimer else 1.0 / (players - 1))
  for m in range(1, num_others + 1):
    here, if_true = challenges[m], np.float32(1.0 / (players - m))
    for d in range(len(to)):
      to[d] += here[d] * (if_false + is_true[d] * (if_true - if_false))
  if is_claimer:
    return
  if responder.is_learning:
    gain = 0.0  # by a challenge
    weights, node_reach = others.weights, decisions.reach[node]
    for d in range(len(to)):
      gain += weights[d] * node_reach[d] * (
          if_false * (one - is_true[d]) - to[d])
    decisions.choice[node] = gain > 0.0
  if decisions.choice[node]:
    for d in range(len(to)):
      to[d] = if_false * (one - is_true[d])


@jit.kernel
def _backward(graph, dice, others, responder, decisions):
  """Writes the responder's expected return at each node, for one roll."""
  choice, value, is_true = decisions.choice, decisions.value, decisions.is_true
  players, num_nodes = len(others.which), len(graph.actor)
  for node in range(num_nodes - 1, -1, -1):
    to, node_reach = value[node], decisions.reach[node]
    if not _is_any(node_reach):
      _fill(to, 0.0)
      continue
    if graph.deciders[node]:
      _decide(graph, dice, others, responder, decisions, node)
      continue
    player, begin = graph.actor[node], graph.child_begin[node]
    _fill(to, 0.0)
    best = -1.0
    for a in range(graph.child_begin[node + 1] - begin):
      child = graph.child[begin + a]
      if child < num_nodes:
        after = value[child]
      else:  # all others must challenge
        after = is_true
        _write_truth(dice, others, _claim_of(graph, players, child),
                     responder.roll, is_true)
        if player != responder.seat:
          for d in range(len(to)):
            is_true[d] = ((np.float32(1.0) - is_true[d]) /
                          np.float32(players - 1))
      if player != responder.seat:
        row = others.tables[others.which[player], graph.entry[node] + a]
        rolls = others.rolls[player]
        for d in range(len(to)):
          to[d] += row[rolls[d]] * after[d]
      elif responder.is_learning:
        score = 0.0
        for d in range(len(to)):
          score += others.weights[d] * node_reach[d] * after[d]
        if score > best:
          best, choice[node] = score, a
          _copy(to, after)
      elif a == choice[node]:
        _copy(to, after)


@jit.kernel
def _respond_with(graph, dice, sample, test, responder, scratch, thread):
  """Finds the decisions of one roll.

  NamedTuples are plain tuples here. `responder` is (seat, roll).
  """
  nodes = graph_arrays.GraphArrays(*graph)
  outcomes = graph_arrays.DiceOutcomes(*dice)
  seat, roll = responder
  rows = ResponseScratch(*scratch)
  choice, value = rows.choices[thread], rows.value[thread]
  is_true, challenges = rows.is_true[thread], rows.challenges[thread]
  _backward(nodes, outcomes, Others(*sample), ResponderRoll(seat, roll, True),
            Decisions(rows.sample_reach, choice, value, is_true, challenges))
  if len(rows.test_reach):
    _backward(nodes, outcomes, Others(*test), ResponderRoll(seat, roll, False),
              Decisions(rows.test_reach, choice, value, is_true, challenges))
  _copy(rows.values[thread], value[0])


def respond_serial(graph, dice, sample, test, seat, rolls, scratch):
  """Does what `respond` does, with the same arguments, in one thread."""
  for thread, roll in enumerate(rolls):
    _respond_with(graph[:], dice[:], sample[:], test[:], (seat, roll),
                  scratch[:], thread)


@jit.kernel(parallel=True)
def respond(graph, dice, sample, test, seat, rolls, scratch):
  """Finds the decisions of some rolls, and their values.

  `rolls` is [thread] int64, the responder's rolls, one per thread.
  """
  plain_graph, plain_dice, plain_scratch = graph[:], dice[:], scratch[:]
  plain_sample, plain_test = sample[:], test[:]
  for thread in numba.prange(len(rolls)):
    _respond_with(plain_graph, plain_dice, plain_sample, plain_test,
                  (seat, rolls[thread]), plain_scratch, np.int64(thread))
