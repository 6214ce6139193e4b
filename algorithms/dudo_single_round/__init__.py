"""Four-player Dudo (`dudo_single_round`), made from its rules."""
