import sys; sys.path.insert(0, "/tmp/g/lab")
from lab2 import *
dice = tuple(int(x) for x in sys.argv[1].split("v")); compiled()
trs = []
for split in (10**9, 1):
  pass
  tr = make(dice, min_split_entries=split); s = Scheduled(tr)
  for _ in range(int(sys.argv[2])): s.step()
  trs.append(tr); print(split, tr.tree.num_nodes)
print("same bits", all(np.array_equal(a, b) for a, b in zip(trs[0].tables, trs[1].tables)))
times = {}
for threads in (1, 2):
  tr = trs[1]; tr._num_threads = threads; tr.release_scratch()
  with interrupts.thread_pool(threads) as pool:
    tr.iterate(pool if threads > 1 else None)
    v = []
    for _ in range(9):
      c = time.perf_counter(); tr.iterate(pool if threads > 1 else None); v.append(time.perf_counter()-c)
  times[threads] = min(v)
print(times, "speedup %.2f" % (times[1]/times[2]), "ns/entry %.2f" % (times[1]/tr.tree.num_entries*1e9))
