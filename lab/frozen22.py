import sys; sys.path.insert(0, "/tmp/g/lab")
from lab import *
sp = make((2, 2), round_trainer.RecallTrainer); s = Scheduled(sp); c = time.process_time()
while time.process_time()-c < 30: s.step()
print("self-play", sp.iteration, sp.tree.num_nodes, 0.5*sp.evaluator.best_responses(sp.payoffs)[0].sum(), flush=True)
g = make((2, 2), Guarded); g.set_state(sp.tree)
nxt = 100
while g.iteration < 6400:
  g.iterate()
  if g.iteration == nxt: nxt *= 2; print("guarded", g.iteration, 0.5*g.evaluator.best_responses(g.payoffs)[0].sum(), flush=True)
