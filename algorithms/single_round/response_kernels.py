"""Kernels of a responder's best decisions in single-round Dudo.

See `single_round_response`. All that depends on a deal of the other players is
a vector over deals. Policies are tables [policy, entry, roll] of probabilities,
so that what a vector needs of an entry stands in one row.
"""

from typing import NamedTuple

import numba
import numpy as np

from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.single_round import graph as single_round_graph


class Others(NamedTuple):
  """What the players beside the responder do and have.

  Attributes:
    tables: [policy, entry, roll] float32, probabilities.
    which: [player] int64, the number of the player's policy.
    rolls: [player, deal] int32; the responder's are not used.
    counts: [value - 1, deal] int32, how many dice of all of them show it.
    weights: [deal] float64, how much a deal counts.
  """
  tables: np.ndarray
  which: np.ndarray
  rolls: np.ndarray
  counts: np.ndarray
  weights: np.ndarray


class Truth(NamedTuple):
  """What decides whether claims are true, and whose they are.

  Attributes:
    counts: [roll, value - 1] int32, how many dice of a roll show the value.
    amounts: [claim] int32, how many dice are claimed.
  """
  counts: np.ndarray
  amounts: np.ndarray


@jit.kernel
def forward(graph, others, responder, reach):
  """Writes how likely the others play to each node, summed over all paths.

  Args:
    graph: the `single_round_graph.GraphArrays`.
    others: the `Others`.
    responder: the responder's seat; whatever it does counts as 1.
    reach: [node, deal] float32, written.
  """
  players = len(others.which)
  reach[:] = 0.0
  reach[0] = 1.0
  for node in range(len(graph.actor)):
    mine = reach[node]
    if not mine.any():
      continue
    begin, entry = graph.child_begin[node], graph.entry[node]
    if graph.deciders[node]:
      passed = reach[graph.child[begin]]
      passed[:] = mine
      for j in range(graph.deciders[node]):
        player = (graph.actor[node] + j) % players
        if player != responder:
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
      if player == responder:
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
def _write_truth(truth, others, claim, roll, is_true):
  """Writes [deal] float32, 1 where a claim is true, else 0."""
  value = claim % truth.counts.shape[1]
  missing = truth.amounts[claim] - truth.counts[roll, value]
  counts = others.counts[value]
  for d in range(len(is_true)):
    is_true[d] = 1.0 if counts[d] >= missing else 0.0


@jit.kernel
def _decide(graph, truth, others, responder, roll, reach, node, choice,
            is_learning, value, parts):
  """Writes the value of a node of decisions; see `backward`.

  Args:
    graph: as for `backward`.
    truth: as for `backward`.
    others: as for `backward`.
    responder: as for `backward`.
    roll: as for `backward`.
    reach: as for `backward`.
    node: the node.
    choice: as for `backward`.
    is_learning: as for `backward`.
    value: as for `backward`.
    parts: as for `backward`; in row m + 1 come the probabilities that m of the
      others challenge.
  """
  players = len(others.which)
  one = np.float32(1.0)
  begin, first = graph.child_begin[node], graph.actor[node]
  is_true, passed = parts[0], value[graph.child[begin]]
  _write_truth(truth, others, _claim_of(graph, players, graph.child[begin + 1]),
               roll, is_true)
  parts[1] = 1.0
  seen = 0
  for j in range(graph.deciders[node]):
    player = (first + j) % players
    if player == responder:
      continue
    row = others.tables[others.which[player],
                        graph.entry[node] + graph.stride * j]
    rolls = others.rolls[player]
    seen += 1
    parts[seen + 1] = 0.0
    for m in range(seen, -1, -1):
      here, fewer = parts[m + 1], parts[m]
      for d in range(len(here)):
        p = row[rolls[d]]
        more = fewer[d] * (one - p) if m else np.float32(0.0)
        here[d] = here[d] * p + more
  to, nobody = value[node], parts[1]
  for d in range(len(to)):
    to[d] = nobody[d] * passed[d]
  is_claimer = (first + players - 1) % players == responder
  caught = np.float32(0.0 if is_claimer else 1.0 / (players - 1))
  for m in range(1, seen + 1):
    here, left = parts[m + 1], np.float32(1.0 / (players - m))
    for d in range(len(to)):
      to[d] += here[d] * (caught + is_true[d] * (left - caught))
  if is_claimer:
    return
  if is_learning:
    gain = 0.0  # by a challenge
    weights, likely = others.weights, reach[node]
    for d in range(len(to)):
      gain += weights[d] * likely[d] * (caught * (one - is_true[d]) - to[d])
    choice[node] = gain > 0.0
  if choice[node]:
    for d in range(len(to)):
      to[d] = caught * (one - is_true[d])


@jit.kernel
def backward(graph, truth, others, responder, roll, reach, choice, is_learning,
             value, parts):
  """Writes what the responder gets from each node on, for one roll.

  Args:
    graph: the `single_round_graph.GraphArrays`.
    truth: the `Truth`.
    others: the `Others`.
    responder: the responder's seat.
    roll: its roll.
    reach: [node, deal] float32, from `forward`; nodes that no deal reaches are
      left out.
    choice: [node] int16, the responder's actions; written if `is_learning`: the
      first of those that are worth most in all deals together.
    is_learning: whether to choose, or to play as chosen.
    value: [node, deal] float32, written.
    parts: [players + 1, deal] float32, scratch.
  """
  players, num_nodes = len(others.which), len(graph.actor)
  is_true = parts[0]
  for node in range(num_nodes - 1, -1, -1):
    to, likely = value[node], reach[node]
    if not likely.any():
      to[:] = 0.0
      continue
    if graph.deciders[node]:
      _decide(graph, truth, others, responder, roll, reach, node, choice,
              is_learning, value, parts)
      continue
    player, begin = graph.actor[node], graph.child_begin[node]
    to[:] = 0.0
    best = -1.0
    for a in range(graph.child_begin[node + 1] - begin):
      child = graph.child[begin + a]
      if child < num_nodes:
        after = value[child]
      else:  # all others must challenge
        after = is_true
        _write_truth(truth, others, _claim_of(graph, players, child), roll,
                     is_true)
        if player != responder:
          for d in range(len(to)):
            is_true[d] = ((np.float32(1.0) - is_true[d]) /
                          np.float32(players - 1))
      if player != responder:
        row = others.tables[others.which[player], graph.entry[node] + a]
        rolls = others.rolls[player]
        for d in range(len(to)):
          to[d] += row[rolls[d]] * after[d]
      elif is_learning:
        score = 0.0
        for d in range(len(to)):
          score += others.weights[d] * likely[d] * after[d]
        if score > best:
          best, choice[node] = score, a
          to[:] = after
      elif a == choice[node]:
        to[:] = after


@jit.parallel
def respond(graph, truth, sample, test, responder, rolls, sample_reach,
            test_reach, choices, values, sample_value, test_value, parts):
  """Finds the decisions of some rolls, and what they are worth.

  Args:
    graph: the `single_round_graph.GraphArrays` as a tuple.
    truth: the `Truth` as a tuple.
    sample: the `Others` as a tuple, on whose deals to decide.
    test: the same with the deals on which to measure; none if these are the
      same deals.
    responder: the responder's seat.
    rolls: [thread] int64, the responder's rolls, one a thread.
    sample_reach: [node, deal] float32, from `forward`.
    test_reach: likewise.
    choices: [thread, node] int16, written.
    values: [thread, deal] float64, written: what each deal of `test` is worth.
    sample_value: [thread, node, deal] float32, scratch.
    test_value: likewise.
    parts: [thread, 2, players + 1, deal] float32, scratch.
  """
  for t in numba.prange(len(rolls)):
    arrays = single_round_graph.GraphArrays(*graph)
    backward(arrays, Truth(*truth), Others(*sample), responder, rolls[t],
             sample_reach, choices[t], True, sample_value[t], parts[t, 0])
    if len(test_reach):
      backward(arrays, Truth(*truth), Others(*test), responder, rolls[t],
               test_reach, choices[t], False, test_value[t], parts[t, 1])
      values[t] = test_value[t, 0]
    else:
      values[t] = sample_value[t, 0]
