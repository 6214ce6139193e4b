"""Programs that use dudo_spiel."""
