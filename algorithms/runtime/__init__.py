"""What knows nothing about games.

Compiled code, random numbers, files, jobs, memory, and the base of all
solvers.
"""
