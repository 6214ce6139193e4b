"""Fixed-strategy iteration on graphs, whatever game they come from."""
