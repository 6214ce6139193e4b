"""Solvers for OpenSpiel games, and what measures and plays their policies.

What to import:

  cfr: CFR, CFR+, linear, discounted and predictive CFR on any game that
    fits into memory.
  fictitious_play: best-decision and extensive-form fictitious play on the same.
  fsicfr: fixed-strategy iteration CFR for two players, and whole matches of
    two-player Dudo up to five dice each.
  perfect_recall: whole matches of two-player Dudo with perfect recall, with
    exact exploitability.
  pfsi: fixed-strategy iteration for n players, plain and pruned; one round of
    Dudo with 2 to 6 players.
  pass_through: pass-through CFR for n players, pruned or by Monte Carlo.
  regret_matching: games of one simultaneous move, such as matrix games and
    Blotto.
  qlearning: an agent that learns when to doubt in Dudo.
  convergence: how good any solver is on any game, on its way.
  jobs: independent calls, on the cores of this machine or on a Ray cluster.
  exploitability: values, best responses, NashConv, bounds.
  policies: policies in files, and the kinds of policies.
  policy_bots: bots by name, trained policies included.
  simulation: millions of games between policies and bots.

Internal packages, lowest layer first; each imports only from earlier ones:

  runtime: compiled code, random numbers, files, threads, the base of solvers.
  tabular: any OpenSpiel game as arrays, and what iterates on them.
  graphs: fixed-strategy iteration on graphs, whatever game they come from.
  dudo_single_round, dudo: one round of Dudo with 2 to 6 players; matches of
    two-player Dudo.
  doubt: Q-learning of when to doubt.
"""
