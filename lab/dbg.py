exec(open("/tmp/g/lab/check.py").read().split("check(\"dudo(numdice=1,dice_sides=3)")[0].replace('assert worst < 1e-9, worst','pass').replace("worst = max(worst, abs(z-y))", "worst = show(worst, abs(z-y), h, hand, 'U', z, y, tr, n)").replace("worst = max(worst, abs(z-y)/(1 if name != \"cumulative\" else tr.iteration**4))", "worst = show(worst, abs(z-y)/(1 if name != \"cumulative\" else tr.iteration**4), h, hand, name+str(a), z, y, tr, n)"))
def show(w, d, h, hand, a, z, y, tr, n):
  if d > 1e-9: print(tr.iteration, h, "hand", hand, a, z, y, "upd", tr.tables.policy_update[n], tr.tables.adversary_update[n])
  return max(w, d)
try: check("dudo(numdice=2,dice_sides=2)", (2, 1), 6, 3)
except Exception as e: print(e)
