"""One round of Dudo for 2 to 6 players: `dudo_single_round`, from its rules."""
