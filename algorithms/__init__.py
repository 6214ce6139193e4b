"""Solvers for OpenSpiel games."""
