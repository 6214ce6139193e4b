"""Programs that make the papers' figures and tables."""
