"""Programs of one subject; the README of `examples/` lists them."""
