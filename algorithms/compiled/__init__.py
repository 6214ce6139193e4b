"""Any OpenSpiel game as arrays, and what iterates on them.

Serves `cfr`, `fictitious_play`, `regret_matching` and `exploitability`.
"""
