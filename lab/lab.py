"""Experiments on guarded training of one round."""
import sys, time, threading, concurrent.futures as cf, functools
import numpy as np, pyspiel
from dudo_spiel.algorithms.dudo.perfect_recall import (round_hands, round_trainer, growing_tree, guarded_kernels as gk, dcfr_kernels,
  expansion_kernels, best_response_kernels, size_model)
from dudo_spiel.algorithms.dudo.rounds import round_rules, transitions
from dudo_spiel.algorithms.runtime import interrupts
import dudo_spiel

def no_levels(order):
  return [tuple(range(order.num_sides))], np.zeros(order.num_claims + 1, np.int64)
round_hands.hand_levels = no_levels
round_hands.CLASS_MULTIPLE = 16

def known_values(n):
  """Values of rounds from the policy that ships (approximate)."""
  from dudo_spiel.algorithms import perfect_recall
  import os
  cache = f"/tmp/values.npy"
  if os.path.exists(cache):
    return np.load(cache, allow_pickle=True).item()
  import subprocess
  code = f"""
import pyspiel, numpy as np
from dudo_spiel.algorithms import policy_bots
p = policy_bots.load_policy()
m = p.measures
np.save({cache!r}, {{k: v.value for k, v in m.items()}}, allow_pickle=True)
"""
  subprocess.run([sys.executable, "-c", code], check=True)
  return np.load(cache, allow_pickle=True).item()

class Guarded(round_trainer.RecallTrainer):
  gamma, alpha, negative, forgetting = 5.0, 1.5, 0.75, 0.0
  kinds = None  # proposals
  def set_state(self, tree, tables=None, iteration=0):
    if tables is None:
      n, v = tree.num_entries, int(tree.value_begin[-1])
      r, c = self.hands.order.num_sides, max(self.hands.dice)+1
      z = lambda k, d: np.zeros(k, d)
      tables = gk.GuardedTables(z(n, self._dtype), z(n, self._dtype), z(n, self._dtype), z(v, self._dtype), z(v, np.int8),
        np.full((tree.num_nodes, r, c), -1, np.int16), z(tree.num_nodes, np.int64), z(tree.num_nodes, np.int64))
    super().set_state(tree, tables, iteration)
  @functools.cached_property
  def _discounts(self):
    d = np.ones(2**16); t = np.arange(1, 2**16)**self.alpha; d[1:] = t/(t+1); return np.cumprod(d)
  def walk(self, role, is_policy, t, scratch):
    pay = self.payoffs[role]
    step = gk.GuardedStep(role, is_policy, t, self._dtype.type(float(t)**self.gamma), self._discounts, self.negative,
                          pay[0].astype(self._dtype), pay[1].astype(self._dtype))
    game = self.hands.arrays(self._dtype)
    for reach, hands in ((scratch.own, game.hands[role]), (scratch.other, game.hands[1-role])):
      reach[0, :len(hands.chance)] = hands.chance
    gk.learn(game, self.tree, self.tables, step, scratch)
  def iterate(self, pool=None):
    if len(self._scratch) < 2: self._scratch = [gk.new_scratch(self.hands, self._dtype) for _ in range(2)]
    t = self.iteration+1
    def play(p):
      self.walk(1-p, False, t, self._scratch[p]); self.walk(p, True, t, self._scratch[p])
    interrupts.map_tasks(pool, play, range(2))
    self.iteration = t
  def _add(self, proposals, pool):
    if not len(proposals): return
    before = self.tree.num_entries
    self._change(growing_tree.changed(self.hands, self.tree, proposals=tuple(proposals[n].copy() for n in ("node", "row", "claim"))), True, pool)
    d = self._dtype.type((before/self.tree.num_entries)**self.forgetting)
    for t in (self.tables.regret, self.tables.adversary_regret, self.tables.unstored_regret): np.multiply(t, d, out=t)
  def _change(self, change, is_growing, pool):
    tree, node_source, row_source = change
    old, tb = self.tree, self.tables
    for table in (tb.regret, tb.cumulative, tb.adversary_regret): growing_tree.move_table(old, tree, row_source, is_growing, table)
    src = np.maximum(node_source, 0); new = node_source < 0
    pu, au = (np.where(new, self.iteration, u[src]) for u in (tb.policy_update, tb.adversary_update))
    uc = tb.unstored_claim[src]; uc[new] = -1
    width = np.diff(tree.value_begin); off = np.arange(int(tree.value_begin[-1])) - np.repeat(tree.value_begin[:-1], width)
    idx = np.repeat(old.value_begin[src], width)+off; isnew = np.repeat(new, width)
    ur = np.where(isnew, 0, tb.unstored_regret[idx]).astype(self._dtype); uk = np.where(isnew, 0, tb.unstored_rank[idx]).astype(np.int8)
    # claims that are stored now
    if is_growing:
      clear_stored(tree, self.counts_by(), uc, ur, uk)
    self.set_state(tree, tb._replace(policy_update=pu, adversary_update=au, unstored_claim=uc, unstored_regret=ur, unstored_rank=uk), self.iteration)
  def counts_by(self):
    g = self.hands.arrays(np.float64)
    return tuple(np.ascontiguousarray(h.onehot[0].argmax(axis=1)) for h in g.hands)
  def drop(self, responses, pool=None):
    minp = self._drop_fraction*max(0.5*responses.sum(), 0.0)
    mins = minp*self.iteration**(self.gamma+1)/(self.gamma+1)
    kept = np.zeros(len(self.tree.claim), np.bool_)
    dcfr_kernels.find_needed(self.tree, dcfr_kernels.LearnTables(self.tables.regret, self.tables.cumulative, self.tables.policy_update), mins, np.zeros((self.tree.num_nodes, 2)), kept)
    if not kept.all(): self._change(growing_tree.changed(self.hands, self.tree, kept), False, pool)

import numba
@numba.njit
def clear_stored(tree, counts, claim, regret, rank):
  for node in range(len(tree.last)):
    # the adversary of the node's role: its own hands
    c = counts[tree.role[node]]
    b = tree.value_begin[node]
    for h in range(tree.value_begin[node+1]-b):
      if regret[b+h] > 0:
        r = rank[b+h]; x = claim[node, r, c[r, h]]
        for row in range(tree.row_begin[node], tree.row_begin[node+1]):
          if tree.claim[row] == x: regret[b+h] = 0

EPOCH = 10
class Scheduled:
  """A round alone: epochs as in PerfectRecallSolver."""
  def __init__(self, tr, max_entries=10**12):
    self.tr = tr; self.ng, self.nd, self.resp = 1, 100, np.ones(2); self.max_entries = max_entries; self.pool = None
    self.learn_time = 0.0; self.work = 0.0
  def step(self):
    tr = self.tr; c = time.process_time(); tr.iterate(self.pool); self.learn_time += time.process_time()-c; self.work += tr.tree.num_entries
    t = tr.iteration
    if t >= self.ng:
      if t >= self.nd: tr.drop(self.resp); self.nd = 2*t
      before = tr.tree.num_entries
      self.resp = tr.expand(2**50 if before < self.max_entries else 0, self.pool)
      calm = tr.tree.num_entries <= 1.01*before
      self.ng = t+max(min(1+t//4, EPOCH), t//(20 if calm else 100))
      return True
    return False

def make(dice, cls=Guarded, n=None, **kw):
  attrs = {k: kw.pop(k) for k in list(kw) if hasattr(cls, k) and not k.startswith("_")}
  n = n or max(dice)
  game = pyspiel.load_game(f"dudo(numdice={n})"); match = round_rules.round_rules(game)
  tr = cls(match, dice, **kw)
  for k, v in attrs.items(): setattr(tr, k, v)
  tr.set_values(known_values(n))
  return tr

from dudo_spiel.algorithms.dudo.perfect_recall import round_evaluator, stored_rounds
EK = expansion_kernels
class Both(Guarded):
  """Proposals also of what the policy gains against its adversary's current strategy."""
  use = (EK.BEST_RESPONSE,); adv = True; adv_factor = 1.0; adv_kind = EK.AVERAGE
  def _find(self, pool):
    responses, choices = self.evaluator.best_responses(self.payoffs, pool)
    e = max(0.5*responses.sum(), 0.0)
    threshold = e*max(self._expansion_fraction, self._expansion_slope*e)
    proposals = [self._propose(role, kind, choices, threshold) for kind in self.use for role in range(2)]
    self.num_old = sum(map(len, proposals))
    if self.adv:
      sizes = np.diff(self.tree.table_begin)
      choices = best_response_kernels.new_choices(self.tree)
      for p in range(2):
        mask = np.repeat(self.tree.role == p, sizes)
        mixed = np.where(mask, self.tables.cumulative, self.tables.adversary_regret)
        ev = round_evaluator.RoundEvaluator(self._match, stored_rounds.StoredRound(self.hands, self.tree, mixed), self.flag)
        r = best_response_kernels.Responder(p, *self.payoffs[p])
        ev.run_kernel(best_response_kernels.respond, r, None, choices)
        found = np.zeros(self._max_proposals, EK.PROPOSAL)
        n = ev.run_kernel(EK.propose, r, None, choices, EK.Criterion(self.adv_kind, threshold*self.adv_factor), found)
        proposals.append(found[:n])
      self.num_new = sum(map(len, proposals))-self.num_old
    return responses, EK.best_first(np.concatenate(proposals), self.tree.num_nodes, self.hands.order.num_claims)
