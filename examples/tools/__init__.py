"""Programs that make the files and pages that ship."""
