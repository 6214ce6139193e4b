"""Policies with perfect recall in little space."""
