"""Whole matches of two-player Dudo, round by round.

Serves `fsicfr`, `simulation` and `exploitability`.
"""
