import sys; sys.path.insert(0, "/tmp/g/lab")
from lab import *
dice = tuple(int(x) for x in sys.argv[1].split("v")); mode = sys.argv[2]; limit = float(sys.argv[3]); kw = eval("dict(%s)" % ",".join(sys.argv[4:]))
EPOCH_ = kw.pop("epoch", 10); import lab; lab.EPOCH = EPOCH_
tr = make(dice, {"guarded": Guarded, "both": Both, "selfplay": round_trainer.RecallTrainer}[mode], **kw)
small = make((1, 1), type(tr), max_proposals=64, n=max(dice)); s = Scheduled(small)
for _ in range(5): s.step()
tr0 = make(dice, type(tr), max_proposals=64); tr0.iterate()
s = Scheduled(tr); start = time.process_time(); nxt = 3.0
while True:
  if s.step():
    used = time.process_time()-start
    if used > nxt or used > limit:
      nxt = used*1.35
      print("%s %s cpu %.1f learn %.1f t=%d nodes %d entries %.2fM e %.3g  ns/entry %.2f" % (dice, mode, used, s.learn_time, tr.iteration, tr.tree.num_nodes,
        tr.tree.num_entries/1e6, 0.5*s.resp.sum(), s.learn_time/s.work*1e9), flush=True)
    if used > limit: break
