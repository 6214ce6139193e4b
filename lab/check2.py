import sys; sys.path[:0] = ["/tmp/g/lab", "/tmp/g/tests"]
s = open("/tmp/g/lab/check.py").read()
s = s.replace("from lab import *", "from lab2 import *\nfrom dudo_spiel.algorithms.dudo.rounds import transitions")
s = s.replace("tr = Guarded(match, dice, dtype=np.float64, expansion_slope=0.0, expansion_fraction=1e-3)", "tr = round_trainer.RecallTrainer(match, dice, dtype=np.float64, expansion_slope=0.0, expansion_fraction=1e-3); tr._discounts = round_trainer._cumulative_discounts(1024); tr.negative = .75")
s = s.replace("tr.payoffs = tuple(transitions.Payoffs(gets[r], -gets[1-r]) for r in range(2))", "raw = tuple(transitions.Payoffs(gets[r], -gets[1-r]) for r in range(2)); tr.payoffs = tuple(tr.hands.padded_payoffs(x) for x in raw)")
s = s.replace("for x in tr.payoffs]", "for x in raw]")
s = s.replace("**4))", "**6))").replace("tr.forgetting", "0.0").replace("y = o.adversary_regret[h, hand].get(guarded_oracle.UNSTORED, 0.0)", "y = o.adversary_regret[h, hand].get(guarded_oracle.UNSTORED, 0.0)\n      if len(o.nodes[h]) == C-1-(h[-1] if h else -1): y = z")
s = s.replace("  o.counts = lambda", "  o.gamma = 5; o.counts = lambda")
exec(s)
