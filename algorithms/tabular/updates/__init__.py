"""What a solver does with the values of information sets."""
