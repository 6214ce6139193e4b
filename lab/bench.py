import sys; sys.path.insert(0, "/tmp/g/lab")
from lab2 import *
import pickle
dice = tuple(int(x) for x in sys.argv[1].split("v")); 
tr = make(dice); t0 = time.time(); compiled(); print("compile", round(time.time()-t0, 1))
f = f"/tmp/state_{sys.argv[1]}.pkl"
if os.path.exists(f):
  tree, tables, it = pickle.load(open(f, "rb")); tr.set_state(growing_tree.TreeArrays(*tree), guarded_kernels.LearnTables(*tables), it)
else:
  s = Scheduled(tr); c = time.process_time()
  while time.process_time()-c < 25: s.step()
  pickle.dump((tuple(tr.tree), tuple(tr.tables), tr.iteration), open(f, "wb"))
tr.iterate()
n = tr.tree.num_entries
names = {}
orig = guarded_kernels.learn
def timed(game, tree, tables, step, scratch):
  c = time.perf_counter(); r = orig(game, tree, tables, step, scratch); names.setdefault((("adversary", "policy")[step.game == step.role], step.role), []).append(time.perf_counter()-c)
guarded_kernels.learn = timed
for _ in range(15): tr.iterate()
tot = 0
for k, v in sorted(names.items()):
  x = min(v)/n*1e9; tot += x; print(k, "%.2f ns/entry" % x)
print("total %.2f ns/entry; nodes %d entries %.1fM rows/node %.2f" % (tot, tr.tree.num_nodes, n/1e6, len(tr.tree.claim)/tr.tree.num_nodes))
c = time.perf_counter(); tr.evaluator.best_responses(tr.payoffs); print("best responses %.3f s" % (time.perf_counter()-c))
c = time.perf_counter(); tr._find(None); print("find %.3f s" % (time.perf_counter()-c))
