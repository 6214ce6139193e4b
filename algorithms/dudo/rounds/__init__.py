"""A round of two-player Dudo, and what follows a challenge."""
