import sys, time, os, functools
import numpy as np, pyspiel
from dudo_spiel.algorithms.dudo.perfect_recall import round_trainer, growing_tree, guarded_kernels
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.runtime import interrupts
import dudo_spiel
VALUES = np.load("/tmp/values.npy", allow_pickle=True).item()
EPOCH = 10; CALM = 20
class Scheduled:
  def __init__(self, tr, pool=None):
    self.tr = tr; self.ng, self.nd, self.resp = 1, 100, np.ones(2); self.pool = pool
    self.learn_time = 0.0; self.work = 0.0
  def step(self):
    tr = self.tr; c = time.process_time(); tr.iterate(self.pool); self.learn_time += time.process_time()-c; self.work += tr.tree.num_entries
    t = tr.iteration
    if t >= self.ng:
      if t >= self.nd: tr.drop(self.resp); self.nd = 2*t
      before = tr.tree.num_entries
      self.resp = tr.expand(2**50, self.pool)
      calm = tr.tree.num_entries <= 1.01*before
      self.ng = t+max(min(1+t//4, EPOCH), min(t//100, CALM))
      return True
    return False
def make(dice, n=None, **kw):
  n = n or max(dice)
  match = round_rules.round_rules(pyspiel.load_game(f"dudo(numdice={n})"))
  tr = round_trainer.RecallTrainer(match, dice, **kw)
  tr.set_values(VALUES)
  return tr
def compiled(n=2):
  round_trainer.compile_kernels(round_rules.round_rules(pyspiel.load_game(f"dudo(numdice={n})")), np.float32)
