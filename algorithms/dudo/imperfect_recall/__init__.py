"""Matches of Dudo whose players remember an abstraction of the claims."""
