"""Matches of Dudo whose players remember all claims of a round."""
