"""Whole matches of two-player Dudo, round by round."""
