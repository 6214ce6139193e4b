"""Fixed-strategy iteration on graphs, without any rules of Dudo.

Serves `fsicfr`, `pfsi` and `pass_through`.
"""
