"""What solvers of any game need: compiled code, files, threads, their base.

Also random numbers, jobs, progress bars and free memory. Nothing here knows a
game.
"""
