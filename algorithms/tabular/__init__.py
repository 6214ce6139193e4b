"""Any OpenSpiel game as arrays, and what iterates on them."""
