"""Guarded training: against discounted CFR, and on threads."""

import functools

import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms.dudo.perfect_recall import guarded_kernels
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts


class _DiscountedCFR:
  """Discounted CFR on a round in which everything is stored, in plain Python.

  A history is a tuple of claims; tables are [action, hand] float64 by history,
  Dudo first. One role learns first.

  Args:
    payoffs: for each role (challenges, challenged), [claim, count] float64.
    ranks: [claim], from 0.
    chances: for each role [hand] float64.
    matches: for each role [rank, hand].
    first: the role that learns first.
    regret: function of a history that returns what to begin with.
  """

  def __init__(self, payoffs, ranks, chances, matches, first, regret):
    self._payoffs, self._ranks = payoffs, ranks
    self._chances, self._matches = chances, matches
    self._first = first
    self.regret = {}
    self.cumulative = {}
    self._begin = regret
    self._t = 0

  def iterate(self, weight):
    """Runs an iteration, with a weight in the average."""
    self._t += 1
    for role in (self._first, 1 - self._first):
      self._walk((), role, list(self._chances), weight)

  def _strategy(self, history):
    if history not in self.regret:
      self.regret[history] = self._begin(history)
      self.cumulative[history] = np.zeros_like(self.regret[history])
    positive = np.maximum(self.regret[history], 0.0)
    return positive / positive.sum(axis=0)

  def _challenge(self, role, challenger, claim, reach):
    values = self._payoffs[role][0 if role == challenger else 1][claim]
    counts = [matches[self._ranks[claim]] for matches in self._matches]
    return values[counts[role][:, None] + counts[1 - role]] @ reach

  def _walk(self, history, role, reaches, weight):
    actor = len(history) % 2
    if history and history[-1] == len(self._ranks) - 1:
      return self._challenge(role, actor, history[-1], reaches[1 - role])
    strategy, values = self._strategy(history), []
    first = history[-1] + 1 if history else 0
    actions = ([None] if history else []) + list(range(first, len(self._ranks)))
    for action, played in zip(actions, strategy):
      after = list(reaches)
      after[actor] = reaches[actor] * played
      values.append(
          self._challenge(role, actor, history[-1], after[1 - role])
          if action is None else
          self._walk((*history, action), role, after, weight))
    if actor != role:
      return sum(values)
    mean = (strategy * values).sum(axis=0)
    total = self.regret[history] + values - mean
    positive = self._t**1.5 / (self._t**1.5 + 1.0)
    self.regret[history] = total * np.where(
        total > 0.0, positive, guarded_kernels.NEGATIVE)
    self.cumulative[history] += weight * reaches[role] * strategy
    return mean


@pytest.mark.oracle
@pytest.mark.parametrize("sides", [
    3, pytest.param(6, marks=pytest.mark.slow)])
def test_with_everything_stored_each_game_is_discounted_cfr(sides):
  trainer, _ = recall_helpers.trainer_and_oracle(
      f"dudo(numdice=1,dice_sides={sides})", (1, 1))
  trainer.set_state(recall_helpers.full_tree(trainer.hands))
  tree, arrays = trainer.tree, trainer.hands.arrays(np.float64)
  # Both start from the same random regrets. So there are no ties, which
  # rounding would decide, and everywhere some regret stays positive: without
  # one, plain CFR plays uniformly, and a growing tree its default action.
  histories = [()]
  rng = np.random.default_rng(0)
  for node in range(1, tree.num_nodes):
    row = tree.parent_row[node]
    parent = int(np.searchsorted(tree.row_begin, row, side="right")) - 1
    histories.append((*histories[parent], int(tree.claim[row])))
  begins = {}
  for game in range(2):
    regrets = trainer.tables.regret(game)
    for node, history in enumerate(histories):
      entries = regrets[tree.table_begin[node]:tree.table_begin[node + 1]]
      rows = int(tree.row_begin[node + 1] - tree.row_begin[node])
      numbers = rng.exponential(size=(rows, len(entries) // rows))
      entries[:] = numbers.ravel()
      begins[game, history] = numbers[:, :sides]
  plain = [_DiscountedCFR(
      trainer.payoffs, arrays.rank.tolist(),
      [hands.chance[:sides] for hands in arrays.hands],
      [hands.matches[:, :sides].astype(int) for hands in arrays.hands],
      1 - game, functools.partial(_begin, begins, game)) for game in range(2)]
  for t in range(1, 31):
    trainer.iterate()
    for oracle in plain:
      oracle.iterate(guarded_kernels.weight(t, tree.num_entries))
  for node, history in enumerate(histories):
    entries = slice(tree.table_begin[node], tree.table_begin[node + 1])
    policy = len(history) % 2  # the game in which the policy acts there
    rows = int(tree.row_begin[node + 1] - tree.row_begin[node])
    ours = [table[entries].reshape(rows, -1)[:, :sides]
            for table in trainer.tables[:3]]
    for game in range(2):
      regrets = recall_helpers.discounted(trainer, game, node, ours[game])
      np.testing.assert_allclose(regrets, plain[game].regret[history],
                                 atol=1e-9)
    np.testing.assert_allclose(ours[2], plain[policy].cumulative[history],
                               rtol=1e-9, atol=1e-12)


def _begin(begins, game, history):
  return begins[game, history].copy()


@pytest.mark.slow
def test_threads_change_nothing():
  match = round_rules.round_rules(pyspiel.load_game("dudo(numdice=2)"))
  trainers = [round_trainer.RecallTrainer(match, (2, 1), num_threads=threads,
                                          min_split_entries=entries)
              for threads, entries in ((1, 10**9), (3, 0))]
  with interrupts.thread_pool(3) as pool:
    for trainer, threads in zip(trainers, (None, pool)):
      trainer.set_values({(1, 1): -0.027})
      for _ in range(30):
        trainer.iterate(threads)
        trainer.expand(10**9, threads)
  assert trainers[0].tree.num_nodes > 50
  for first, second in zip(trainers[0].tables, trainers[1].tables):
    np.testing.assert_array_equal(first, second)
