"""What the programs share: how they start, Ctrl-C, figures."""
