import sys; sys.path.insert(0, "/tmp/g/lab")
from lab2 import *
import pickle
tr = make((2, 2)); compiled()
tree, tables, it = pickle.load(open("/tmp/state_2v2.pkl", "rb")); tr.set_state(growing_tree.TreeArrays(*tree), guarded_kernels.LearnTables(*tables), it)
tr.iterate()
for _ in range(300): tr.iterate()
hot = None
import re
for line in open("/proc/self/maps"):
  a, perms = line.split()[:2]
  if "x" in perms and len(line.split()) < 6:
    lo, hi = (int(x, 16) for x in a.split("-"))
    with open("/proc/self/mem", "rb") as f:
      f.seek(lo); open(f"/tmp/code_{lo:x}.bin", "wb").write(f.read(hi-lo))
