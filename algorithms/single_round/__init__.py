"""Four-player Dudo (`dudo_single_round`), made from its rules.

Serves `pfsi`, `pass_through`, `simulation` and `exploitability`.
"""
