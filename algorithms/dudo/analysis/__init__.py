"""What policies do and what actions are worth: exact values and games."""
