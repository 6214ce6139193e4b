import sys; sys.path[:0] = ["/tmp/g/lab", "/tmp/g/tests"]
from lab import *
from oracles import guarded_oracle
def check(name, dice, epochs, per):
  game = pyspiel.load_game(name); match = round_rules.round_rules(game)
  tr = Guarded(match, dice, dtype=np.float64, expansion_slope=0.0, expansion_fraction=1e-3)
  shape = game.num_sides*sum(dice), sum(dice)+1
  gets = np.random.default_rng(0).uniform(-1, 1, (2, *shape))
  tr.payoffs = tuple(transitions.Payoffs(gets[r], -gets[1-r]) for r in range(2))
  o = guarded_oracle.GuardedOracle(dice, game.num_sides, game.house.wild_ones, [x.challenges.tolist() for x in tr.payoffs])
  o.counts = lambda history, hand: hand
  for e in range(epochs):
    for _ in range(per):
      tr.iterate(); o.iterate(); compare(tr, o)
    resp = tr.expand(2**50)
    # give the oracle the same tree
    sync(tr, o)
    print(name, dice, "nodes", tr.tree.num_nodes, "e", 0.5*resp.sum(), "diff", compare(tr, o))
def nodes(tr):
  t = tr.tree; hist = [()]*t.num_nodes
  for n in range(1, t.num_nodes):
    r = t.parent_row[n]; p = np.searchsorted(t.row_begin, r, side="right")-1
    hist[n] = (*hist[p], int(t.claim[r]))
  return hist
def compare(tr, o):
  worst = 0
  t = tr.tree; C = tr.hands.order.num_claims
  for n, h in enumerate(nodes(tr)):
    acts = [guarded_oracle.DUDO if c == C else int(c) for c in t.claim[t.row_begin[n]:t.row_begin[n+1]]]
    assert acts == o.actions(h), (h, acts, o.actions(h))
    w = t.value_begin[n+1]-t.value_begin[n]
    for name, table in (("regret", o.regret), ("cumulative", o.cumulative), ("adversary_regret", o.adversary_regret)):
      upd = getattr(tr.tables, "adversary_update" if name[0] == "a" else "policy_update")[n]
      x = getattr(tr.tables, name)[t.table_begin[n]:t.table_begin[n+1]].reshape(len(acts), w)
      for hand in range(len(o.chances[len(h)%2])):
        for i, a in enumerate(acts):
          y = table[h, hand].get(a, 0.0)
          z = x[i, hand]
          if name != "cumulative" and upd < tr.iteration:
            z = z*(tr._discounts[tr.iteration]/tr._discounts[upd] if z > 0 else tr.negative**(tr.iteration-upd))
          worst = max(worst, abs(z-y)/(1 if name != "cumulative" else tr.iteration**4))
    for hand in range(len(o.chances[len(h)%2])):
      z = tr.tables.unstored_regret[t.value_begin[n]+hand]; upd = tr.tables.adversary_update[n]
      if upd < tr.iteration: z = z*(tr._discounts[tr.iteration]/tr._discounts[upd] if z > 0 else tr.negative**(tr.iteration-upd))
      y = o.adversary_regret[h, hand].get(guarded_oracle.UNSTORED, 0.0)
      worst = max(worst, abs(z-y))
  assert worst < 1e-9, worst
  return worst
def sync(tr, o):
  before = o.size_all if hasattr(o, "size_all") else None
  t = tr.tree; C = tr.hands.order.num_claims
  old = {h: list(c) for h, c in o.nodes.items()}
  o.nodes = {h: [int(c) for c in t.claim[t.row_begin[n]:t.row_begin[n+1]] if c != C] for n, h in enumerate(nodes(tr))}
  width = lambda h: -(-len(o.chances[len(h)%2])//16)*16
  size = lambda ns: sum((len(c)+(h != ()))*width(h) for h, c in ns.items())
  k = (size(old)/size(o.nodes))**tr.forgetting
  for table in (o.regret, o.adversary_regret):
    for key, regrets in table.items():
      for a in regrets: regrets[a] *= k
  for (h, hand), claim in o.unstored_claim.items():
    if claim in o.nodes[h] and o.adversary_regret[h, hand].get("unstored", 0.0) > 0: o.adversary_regret[h, hand]["unstored"] = 0.0
check("dudo(numdice=1,dice_sides=3)", (1, 1), 12, 4)
check("dudo(numdice=2,dice_sides=2)", (2, 1), 8, 3)
check("dudo(numdice=1)", (1, 1), 5, 2)
check("dudo(start_dice=2v1,dice_sides=3)", (2, 1), 4, 2)
