import sys; sys.path.insert(0, "/tmp/g/lab")
from lab2 import *
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.dudo.perfect_recall import hand_vectors as hv, unstored_claims as uc
tr = make((2, 2)); g = tr.hands.arrays(np.float32)
sc = guarded_kernels.new_scratch(tr.hands, np.float32)
pay = tr.payoffs[0].challenged.astype(np.float32)
reach = g.hands[0].chance.copy()
@jit.kernel(nogil=True, reassociate=True)
def t_sum(n, hands, reach, counts):
  h = hv.hand_pointers(hands); p = jit.pointer(reach)
  for _ in range(n): hv.sum_by_rank(h, p, 0, counts)
@jit.kernel(nogil=True, reassociate=True)
def t_find(n, hands, ranks, counts, pay, claims):
  ranks, counts, pay, claims = jit.borrowed(ranks), jit.borrowed(counts), jit.borrowed(pay), jit.borrowed(claims)
  h = hv.hand_pointers(hands)
  s = 0
  for _ in range(n):
    for r in range(6):
      if uc._find_of_rank(ranks, r, 5, 3, counts, pay, 0.0, claims): s += 1
  return s
@jit.kernel(nogil=True, reassociate=True)
def t_raise(n, hands, payoff, out, choice):
  h = hv.hand_pointers(hands)
  for _ in range(n):
    for r in range(6): hv.raise_to_payoffs(h, r, jit.pointer(payoff), r*8, 0.0, jit.pointer(out), 0, jit.pointer(choice))
@jit.kernel(nogil=True, reassociate=True)
def t_add(n, hands, payoff, out):
  h = hv.hand_pointers(hands)
  for _ in range(n):
    for r in range(6): hv.add_payoffs(h, r, jit.pointer(payoff), r*8, jit.pointer(out), 0)
@jit.kernel(nogil=True, reassociate=True)
def t_choose(n, choice, reach, out):
  s = 0.0
  for _ in range(n):
    for r in range(6): s += hv.choose(jit.pointer(choice), r, jit.pointer(reach), 0, 32, jit.pointer(out))
  return s
uc.compare_claims(g.rank, pay, sc.claims.ends_rank)
def run(name, f, *a):
  f(10, *a); n = 20000
  best = min(((time.perf_counter(), f(n, *a), time.perf_counter())[::2] for _ in range(3)), key=lambda x: x[1]-x[0])
  print(name, "%.0f ns" % ((best[1]-best[0])/n*1e9))
run("sum_by_rank", t_sum, g.hands[0], reach, sc.reach_counts)
run("find x6", t_find, g.hands[0], g, sc.reach_counts, pay, sc.claims)
run("raise x6", t_raise, g.hands[0], sc.claims.payoff, sc.value[0].copy(), sc.claims.best_rank)
run("add x6", t_add, g.hands[0], sc.claims.payoff, sc.value[0].copy())
run("choose x6", t_choose, sc.claims.best_rank, reach, sc.value[0].copy())
print(sc.claims.ends_rank.sum(), len(g.rank))
