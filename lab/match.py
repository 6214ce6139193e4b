import sys, time, pyspiel, dudo_spiel, numpy as np
from dudo_spiel.algorithms import perfect_recall
name, limit, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
out = sys.argv[4] if len(sys.argv) > 4 else None
g = pyspiel.load_game(name)
s = perfect_recall.PerfectRecallSolver(g, num_threads=threads, max_bytes=12*10**9); s.run(1)
t0 = time.time(); nxt = 10.0
while time.time()-t0 < limit:
  s.run(20)
  if time.time()-t0 > nxt:
    a = time.time(); e = s.exploitability(); lo, hi = s.interval(*s.rounds[-1])
    print("%.0f s cpu %.0f it %d e %.3g (%.3f s) mem %.2f GB value [%.4f %.4f] | " % (time.time()-t0, time.process_time(), s.iteration, e, time.time()-a, s.memory_bytes/1e9, lo, hi)
      + " ".join("%dv%d:%d/%d" % (*r, s.iterations(*r), s.num_nodes(*r)) for r in s.rounds[-6:]), flush=True)
    nxt *= 1.4
    if out: s.save(out)
if out: s.save(out)
