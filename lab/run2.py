import sys; sys.path.insert(0, "/tmp/g/lab")
import lab2
from lab2 import *
dice = tuple(int(x) for x in sys.argv[1].split("v")); limit = float(sys.argv[2]); kw = eval("dict(%s)" % ",".join(sys.argv[3:]))
for k in ("ALPHA", "GAMMA", "SIZE_POWER"):
  if k in kw: setattr(guarded_kernels, k, kw.pop(k))
lab2.CALM = kw.pop("calm", 20)
lab2.EPOCH = kw.pop("epoch", 10)
tr = make(dice, **kw); compiled(); make(dice, max_proposals=64).iterate()
s = Scheduled(tr); start = time.process_time(); nxt = 3.0
while True:
  if s.step():
    used = time.process_time()-start
    if used > nxt or used > limit:
      nxt = used*1.35
      print("%s cpu %.1f learn %.1f t=%d nodes %d entries %.2fM e %.3g  ns/entry %.2f" % (dice, used, s.learn_time, tr.iteration, tr.tree.num_nodes,
        tr.tree.num_entries/1e6, 0.5*s.resp.sum(), s.learn_time/s.work*1e9), flush=True)
    if used > limit: break
