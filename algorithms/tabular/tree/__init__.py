"""The tree of a game: histories, information states, public states."""
