"""What knows nothing about games.

Compiled code, random numbers, arguments, files, memory, and the base of all
solvers.
"""
