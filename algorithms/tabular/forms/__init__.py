"""Array representations of a game, with their traversals."""
