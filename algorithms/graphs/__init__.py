"""Fixed-strategy iteration on graphs, whatever game they come from.

Serves `fsicfr`, `pfsi` and `pass_through`.
"""
