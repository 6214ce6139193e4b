import pyspiel, dudo_spiel, sys, inspect
from dudo_spiel.algorithms import cfr
name = sys.argv[1]
g = pyspiel.load_game(name)
for cls in [c for n, c in inspect.getmembers(cfr, inspect.isclass) if n.endswith("Solver")]:
  try:
    s = cls(g, num_threads=1); out = []
    n = 0
    for k in (30, 100, 300, 1000):
      s.run(k-n); n = k
      out.append("%.2e" % s.exploitability())
    print(cls.__name__, *out, flush=True)
  except Exception as e: print(cls.__name__, type(e), str(e)[:80])
