import pickle, numpy as np, sys
tree, tables, it = pickle.load(open(f"/tmp/state_{sys.argv[1]}.pkl", "rb"))
last, role, rb, tb, vb, claim, child = tree[:7]
C = claim.max()
rr = np.repeat(role, np.diff(rb))
for p in range(2):
  m = rr == p
  print("role", p, "nodes", (role == p).sum(), "rows", m.sum(), "dudo", (m & (claim == C)).sum(), "leaf claims", (m & (claim != C) & (child < 0)).sum(), "entries", (np.diff(tb)[role == p]).sum())
